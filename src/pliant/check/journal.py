"""Finished frames on disk: an append-only file, so that a killed check can resume.

A record is its kind, its frame, its length, a CRC of all of it, and the content. A record that is torn, because the process was killed
while it was written, is the last one: it is cut off, and its frame is checked again. Frames may come in any order.

Invariant: a frame is done when its pairs are in the file; its shapes, if there are any, were written before. Depths come later, when all
frames are done and it is known which pairs count. The motion from a frame to the next one is that of the first; it needs the pairs of both.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, FileError

RECORD_HEADER = struct.Struct("<4sIQI")  # kind, frame, bytes, CRC-32
PLAN, WELDS, SHAPES, PAIRS, DEPTHS, MOTION = b"PLAN", b"WELD", b"SHAP", b"PAIR", b"DEEP", b"MOVE"
MAX_PLAN = 1 << 20  # maximum bytes of a plan
SYNC_SECONDS = 1.0  # seconds between syncs: a killed process loses nothing, a power failure about so much

ArrayDict = dict[str, NDArray[Any]]


class Journal:
    """The journal of a check with this `plan`. A file with another plan is refused; a missing file is created."""

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self.path, self._positions, self._file_lock = path, dict[bytes, dict[int, tuple[int, int]]](), threading.Lock()
        text = json.dumps(plan, sort_keys=True).encode()
        self._file = open(path, "r+b" if path.exists() else "w+b")
        try:
            lock_file(self._file, path)
            end = self._scan(text)
            self._file.truncate(end)
            self._file.seek(end)
            self._synced = time.monotonic()
            if not end:
                self._append(PLAN, 0, text)
                self.sync()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def done(self) -> set[int]:
        """Frames whose pairs are in the file."""
        return set(self._positions.get(PAIRS, ()))

    @property
    def drawn_frames(self) -> list[int]:
        """Finished frames whose shapes are in the file, ascending."""
        return sorted(set(self._positions.get(SHAPES, ())) & self.done)

    @property
    def measured(self) -> set[int]:
        """Frames whose depths are in the file."""
        return set(self._positions.get(DEPTHS, ()))

    @property
    def moved(self) -> set[int]:
        """Frames whose motion to the next one is in the file."""
        return set(self._positions.get(MOTION, ()))

    def add(self, frame: int, pairs: ArrayDict, shapes: ArrayDict | None) -> None:
        """Append the rows of a finished frame."""
        if shapes is not None:
            self._append(SHAPES, frame, pack_arrays(shapes))
        self._append(PAIRS, frame, pack_arrays(pairs))
        self._sync_sometimes()

    def add_depths(self, frame: int, depths: ArrayDict) -> None:
        """Append further columns of the pairs of a finished frame."""
        self._append(DEPTHS, frame, pack_arrays(depths))
        self._sync_sometimes()

    def add_motion(self, frame: int, rows: ArrayDict) -> None:
        """Append the rows of the motion from a finished frame to the next one."""
        self._append(MOTION, frame, pack_arrays(rows))
        self._sync_sometimes()

    def _sync_sometimes(self) -> None:
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def add_welds(self, welds: ArrayDict) -> None:
        """Append the weld maps of the check, unless they are there."""
        if WELDS not in self._positions:
            self._append(WELDS, 0, pack_arrays(welds))

    def pairs(self, frame: int) -> ArrayDict:
        """The pairs that `add` was given, with the columns of `add_depths`."""
        depths = unpack_arrays(self._read(DEPTHS, frame)) if frame in self._positions.get(DEPTHS, ()) else {}
        return unpack_arrays(self._read(PAIRS, frame)) | depths

    def motion(self, frame: int) -> ArrayDict | None:
        """The rows that `add_motion` was given; None of the last frame, and if the motion is not checked."""
        return unpack_arrays(self._read(MOTION, frame)) if frame in self._positions.get(MOTION, ()) else None

    def shapes(self, frame: int) -> ArrayDict:
        """The shapes that `add` was given."""
        return unpack_arrays(self._read(SHAPES, frame))

    def sync(self) -> None:
        """Flush everything to the disk."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Sync and close the file."""
        if not self._file.closed:
            self.sync()
            self._file.close()

    def _append(self, kind: bytes, frame: int, content: bytes) -> None:
        record = RECORD_HEADER.pack(kind, frame, len(content), record_checksum(kind, frame, content)) + content
        with self._file_lock:
            begin = self._file.seek(0, os.SEEK_END)
            self._file.write(record)
            self._file.flush()
        self._positions.setdefault(kind, {})[frame] = begin + RECORD_HEADER.size, len(content)

    def _read(self, kind: bytes, frame: int) -> bytes:
        begin, length = self._positions[kind][frame]
        with self._file_lock:
            self._file.seek(begin)
            return self._file.read(length)

    def _scan(self, plan: bytes) -> int:
        """Find all records; returns where the last complete one ends."""
        size, end = os.fstat(self._file.fileno()).st_size, 0
        while end + RECORD_HEADER.size <= size:
            self._file.seek(end)
            kind, frame, length, crc = RECORD_HEADER.unpack(self._file.read(RECORD_HEADER.size))
            begin = end + RECORD_HEADER.size
            if kind not in (PLAN, WELDS, SHAPES, PAIRS, DEPTHS, MOTION) or length > size - begin or (kind == PLAN) != (end == 0):
                break
            content = self._file.read(length)
            if record_checksum(kind, frame, content) != crc:
                break
            if kind == PLAN and content != plan:
                raise FileError(f"{self.path}: is of another check, {plan_difference(content, plan)}; --overwrite begins anew")
            self._positions.setdefault(kind, {})[frame] = begin, length
            end = begin + length
        if not end and size > RECORD_HEADER.size + MAX_PLAN:
            raise FileError(f"{self.path}: is not the journal of a check; --overwrite begins anew")
        return end


def stored_welds(path: Path, plan: dict[str, Any]) -> ArrayDict:
    """The weld maps in a journal whose plan has these items; nothing if there are none."""
    try:
        with open(path, "rb") as file:
            head = json.loads(_read_record(file, PLAN))
            if any(head.get(name) != value for name, value in json.loads(json.dumps(plan)).items()):
                return {}
            return unpack_arrays(_read_record(file, WELDS))
    except (OSError, struct.error, ValueError, AttributeError, RecursionError):
        return {}


def _read_record(file: BinaryIO, expected: bytes) -> bytes:
    """The content of the next record; an ArgumentError if it is of another kind, or torn."""
    kind, frame, length, crc = RECORD_HEADER.unpack(file.read(RECORD_HEADER.size))
    content = file.read(length) if length <= os.fstat(file.fileno()).st_size else b""
    if kind != expected or record_checksum(kind, frame, content) != crc:
        raise ArgumentError(f"a record of kind {kind!r}")
    return content


def lock_file(file: BinaryIO, path: Path) -> None:
    """Lock the file: two checks would corrupt each other's records. The lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileError(f"{path}: another check is at work in this folder") from None


def discard_journal(path: Path) -> None:
    """Delete a journal, unless a check is using it."""
    with open(path, "rb") as file:
        lock_file(file, path)
        path.unlink()


def record_checksum(kind: bytes, frame: int, content: bytes) -> int:
    """The CRC-32 of a record."""
    return zlib.crc32(content, zlib.crc32(kind + frame.to_bytes(4, "little")))


def plan_difference(theirs: bytes, ours: bytes) -> str:
    """The first difference of two plans, in words."""
    try:
        one, other = json.loads(theirs), json.loads(ours)
        name = next(name for name in other if one.get(name) != other[name])
        if isinstance(one.get(name), dict) and isinstance(other[name], dict):
            one, other = one[name], other[name]
            name = next(name for name in other if one.get(name) != other[name])
        return f"whose {name} was {json.dumps(one.get(name))[:80]} and is {json.dumps(other[name])[:80]} now"
    except (ValueError, AttributeError, StopIteration, RecursionError):
        return "which cannot be read"


def pack_arrays(arrays: ArrayDict) -> bytes:
    """Arrays as bytes: their names, dtypes and shapes, then all values."""
    head = json.dumps([[name, array.dtype.str, array.shape] for name, array in arrays.items()]).encode()
    return b"".join([struct.pack("<I", len(head)), head, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())])


def unpack_arrays(content: bytes) -> ArrayDict:
    """The arrays of `pack_arrays`, read-only."""
    (length,) = struct.unpack_from("<I", content)
    found, begin = dict[str, NDArray[Any]](), 4 + length
    for name, dtype, shape in json.loads(content[4:begin]):
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(content, dtype, count, begin).reshape(shape)
        begin += found[name].nbytes
    return found
