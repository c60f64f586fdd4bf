"""Encoded frames wait in an unnamed temporary file until it is known how many of them fit into a report.

When there are too many, every second one is dropped, repeatedly; the first stays, and priority frames as long as they fit. The rest is
encoded again, chunk by chunk: this takes memory for a few frames, whatever the length of the animation.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from pliant.report.data import Snapshot
from pliant.report.encode import Decoder, Encoder, Frame, QuantizedBody, Quantizer, deflate

CHUNK_BYTES = 1 << 20  # bytes before deflating; the frame that exceeds them is still in the chunk
MAX_INFLATED = 512 << 20  # bytes of all chunks: the page has them in memory


class ExtremePoints:
    """The outermost points of all frames in 26 directions, those of a cube's corners, edges and sides: the camera must show them."""

    AXES = np.array([(x, y, z) for x in (0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) > (0, 0, 0)], np.float64)  # (13, 3)

    def __init__(self) -> None:
        self.reach, self.points = np.full(2 * len(self.AXES), -np.inf), np.zeros((2 * len(self.AXES), 3))

    def add(self, piece: QuantizedBody) -> None:
        """Add the vertices of a body."""
        if not piece.grid.size:
            return
        projections = self.AXES.astype(np.float32) @ piece.grid.astype(np.float32)
        ends = np.concatenate([projections.argmax(axis=1), projections.argmin(axis=1)])
        points = piece.zero + piece.step * piece.grid[:, ends].T
        reach = (np.concatenate([self.AXES, -self.AXES]) * points).sum(axis=1)
        farther = reach > self.reach
        self.reach[farther], self.points[farther] = reach[farther], points[farther]


class FrameStore:
    """Snapshots of a number of bodies, as deflated chunks of frames. `priority`: indices in `ReportData.frames` to drop last."""

    def __init__(self, bodies: int, priority: Iterable[int] = ()) -> None:
        self.bodies, self.priority = bodies, set(priority)
        self.stride, self.snapshot_count = 1, 0  # every stride-th snapshot is kept; snapshots so far
        self.faces: list[int] = []  # of each body in the first snapshot
        self.vertex_ids: list[NDArray[np.int32] | None] = []  # of each body there: which vertices are drawn; None: all
        self.extremes = ExtremePoints()
        self._quantizers = [Quantizer() for _ in range(bodies)]
        self._reset()

    def _reset(self) -> None:
        self.stored: list[tuple[int, int]] = []  # of each frame: its index in ReportData.frames, and the number of the snapshot
        self.lengths: list[int] = []  # of each chunk
        self.inflated_bytes = 0
        self._file: IO[bytes] = tempfile.TemporaryFile()
        self._coder, self._waiting = Encoder(), bytearray()

    def close(self) -> None:
        """Delete all frames."""
        self._file.close()

    def add(self, place: int, snapshot: Snapshot) -> None:
        """Add the next snapshot, unless it is to be dropped."""
        number, self.snapshot_count = self.snapshot_count, self.snapshot_count + 1
        if self._is_stored(place, number):
            none = [np.zeros(0, np.int32)] * self.bodies
            marks = zip(snapshot.marked, snapshot.near or none, snapshot.quiet or none, strict=True)
            meshes = zip(self._quantizers, snapshot.meshes, marks, strict=True)
            pieces = [grid.quantize(np.asarray(mesh[0]), np.asarray(mesh[1]), each) for grid, mesh, each in meshes]
            for piece in pieces:
                self.extremes.add(piece)
            if not self.faces:
                self.faces = [len(piece.faces) for piece in pieces]
                self.vertex_ids = [None if each.used_vertices is None else each.used_vertices.astype(np.int32) for each in self._quantizers]
            self._append(Frame(place, pieces), number)

    def _is_stored(self, place: int, number: int) -> bool:
        return number % self.stride == 0 or place in self.priority

    def _append(self, frame: Frame, number: int) -> None:
        coded = self._coder.frame(frame)
        self.inflated_bytes += len(coded)
        self.stored.append((frame.place, number))
        self._waiting += coded
        if len(self._waiting) >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting frames as a chunk."""
        if self._waiting:
            chunk = deflate(bytes(self._waiting))
            self._file.write(chunk)
            self.lengths.append(len(chunk))
            self._waiting.clear()

    def chunks(self) -> Iterator[bytes]:
        """All flushed chunks."""
        return _read(self._file, self.lengths)

    def fit(self, maximum: int) -> bool:
        """Drop frames until chunks have at most so many bytes, as base64; False if the first frame alone has more."""
        while self.encoded_bytes > maximum or self.inflated_bytes > MAX_INFLATED:
            if len(self.stored) <= 1:
                return False
            self._drop_every_second()
        return True

    @property
    def encoded_bytes(self) -> int:
        """Bytes of all chunks in base64: four for three, rounded up."""
        return sum(4 * -(-length // 3) for length in self.lengths)

    def _drop_every_second(self) -> None:
        """Drop every second frame; if all but the first are priority frames, drop these."""
        if sum(number % self.stride == 0 for _, number in self.stored) > 1:
            self.stride *= 2
        else:
            self.priority.clear()
        self.flush()
        old, chunks, decoder, remaining = self._file, self.chunks(), Decoder(self.bodies), iter(self.stored)
        self._reset()
        with old:
            for chunk in chunks:
                for frame in decoder.frames(zlib.decompress(chunk)):
                    place, number = next(remaining)
                    if self._is_stored(place, number):
                        self._append(frame, number)
        self.flush()


def _read(file: IO[bytes], lengths: Iterable[int]) -> Iterator[bytes]:
    file.seek(0)
    for length in lengths:
        yield file.read(length)
