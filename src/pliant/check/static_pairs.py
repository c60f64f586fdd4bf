"""From which frame to which a pair is there: pairs of all frames become intervals, so that a pair that stays is stored once.

A pair that is there in every checked frame, of two or more, is *static*. All others are intervals [first, last]: the pair is there in all
checked frames from `first` to `last`, and not in the checked frames next to these. Of a body whose faces change, an interval is one frame.

Memory is that of the pairs of two frames and of the static pairs: intervals go to a temporary file as soon as they end. So they come in the
order of their last frames, then of bodies and faces; the same pairs give the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.check.pair_keys import Keys, Rows, contains, split_keys

COLUMNS = 7  # first, last, body, body, face, face, whether the pair is known
CHUNK_ROWS = 1 << 18  # rows that are read at once


class Intervals(NamedTuple):
    """The intervals of a check.

    static : (s,) ascending keys of pairs that are there in every frame
    found_known : ascending keys of known pairs that are there in any frame
    size : the number of intervals in `file`
    file : intervals, int32 (count, COLUMNS)
    """

    static: Keys
    found_known: Keys
    size: int
    file: IO[bytes]

    def chunks(self) -> Iterator[NDArray[np.int32]]:
        """All intervals, some at a time."""
        self.file.seek(0)
        while content := self.file.read(4 * COLUMNS * CHUNK_ROWS):
            yield np.frombuffer(content, np.int32).reshape(-1, COLUMNS)

    def close(self) -> None:
        """Delete the file."""
        self.file.close()


class IntervalBuilder:
    """Takes the pairs of frame after frame. `offsets`: see `pair_keys`; `known`: ascending keys to look for."""

    def __init__(self, offsets: Keys, known: Keys) -> None:
        self._offsets, self._known = offsets, known
        self._seen = np.zeros(len(known), bool)
        self._keys, self._first = np.zeros(0, np.int64), np.zeros(0, np.int32)  # pairs of the last frame, and since when they are there
        self._unkeyed: tuple[Rows, Rows] = np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)  # those of the last frame without keys
        self._frames: list[int] = []
        self._file: IO[bytes] = tempfile.TemporaryFile()
        self._count = 0

    def add(self, frame: int, keys: Keys, unkeyed_bodies: Rows, unkeyed_faces: Rows) -> None:
        """The pairs of the next frame: ascending keys, and rows of pairs that have none."""
        places = np.searchsorted(keys, self._keys)
        stays = np.append(keys, -1)[places] == self._keys
        if self._frames:
            self._write(self._frames[-1], self._keys[~stays], self._first[~stays])
        first = np.full(len(keys), frame, np.int32)
        first[places[stays]] = self._first[stays]
        self._keys, self._first, self._unkeyed = keys, first, (unkeyed_bodies, unkeyed_faces)
        self._frames.append(frame)
        if len(self._known):
            self._seen |= contains(keys, self._known)

    def finish(self) -> Intervals:
        """The intervals of all frames."""
        is_static = np.full(len(self._keys), len(self._frames) > 1) & (self._first == (self._frames or [0])[0])
        if self._frames:
            self._write(self._frames[-1], self._keys[~is_static], self._first[~is_static])
        return Intervals(self._keys[is_static], self._known[self._seen], self._count, self._file)

    def close(self) -> None:
        """Delete what was written."""
        self._file.close()

    def _write(self, last: int, keys: Keys, first: NDArray[np.int32]) -> None:
        """Write the intervals that end in a frame, sorted by bodies and faces."""
        bodies, faces = split_keys(self._offsets, keys)
        unkeyed_bodies, unkeyed_faces = self._unkeyed
        rows = np.empty((len(keys) + len(unkeyed_faces), COLUMNS), np.int32)
        rows[:, 0], rows[:, 1] = np.concatenate([first, np.full(len(unkeyed_faces), last, np.int32)]), last
        rows[:, 2:4], rows[:, 4:6] = np.concatenate([bodies, unkeyed_bodies]), np.concatenate([faces, unkeyed_faces])
        rows[:, 6] = np.concatenate([contains(self._known, keys), np.zeros(len(unkeyed_faces), bool)])
        self._file.write(rows[np.lexsort((rows[:, 0], *rows[:, 5:1:-1].T))].tobytes())
        self._count += len(rows)
