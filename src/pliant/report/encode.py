"""Frames in few bytes, for a page that plays them: positions on a grid of 16 bits, stored as residuals of a prediction.

Each body has its own grid, whose zero follows the center of its box, so that bodies may go anywhere; its step changes only where the body
has grown or shrunk much. No vertex is moved by more than 1/16,000 of the longest side of that box.

A chunk holds whole frames. Inflated it is, little-endian, frame after frame:

    int32           the index of the frame in `ReportData.frames`
    int32 (b, 6)    of each of b bodies: mode, vertices, faces, and the faces of three marks; −1 where faces or marks are unchanged
    float64 (b, 4)  of each body: the zero of its grid (x, y, z) and its step
    bytes           of each body: faces, positions (3, n), faces of each mark, as `byte_planes` of their deltas or residuals

The marks are: intersecting, near, known. Faces and those of marks are deltas from the previous entry. Positions are residuals of one of
three predictions: zero, the previous frame, or the linear extrapolation of the two previous frames (ORDER_BITS of the mode); with
NEIGHBOUR_BIT, these are deltas from the previous vertex. With SAME_BIT, positions are unchanged and not stored. All arithmetic is modulo
2¹⁶ or 2³².
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError

Ints = NDArray[Any]

MARKS = 3  # lists of marked faces
ORDER_BITS, NEIGHBOUR_BIT, SAME_BIT = 3, 4, 8  # bits of a mode
ZLIB_LEVEL = 4  # 6 takes six times as long and saves 4 % (100 frames of a cloth of 50,000 triangles: 1.5 s, 2.8 MB)
NEW_STEPS, MIN_STEPS, MAX_STEPS = 10_000, 7_000, 32_000  # steps in half a side: of a new grid, and where it becomes too coarse or too small


class QuantizedBody(NamedTuple):
    """A body in a frame, on its grid: vertex i is at zero + step · grid[:, i]."""

    grid: NDArray[np.int16]  # (3, n)
    zero: NDArray[np.float64]  # (3,)
    step: float
    faces: NDArray[np.int32]  # (f, 3); the same array while they do not change
    marks: Sequence[NDArray[np.int32]]  # MARKS lists of faces, ascending


class Frame(NamedTuple):
    """All bodies in a frame."""

    place: int  # index in ReportData.frames
    pieces: Sequence[QuantizedBody]


class Quantizer:
    """Puts one body on its grid, frame after frame. Vertices without a face are left out: they are not drawn."""

    def __init__(self) -> None:
        self.step = 0.0
        self.source_faces: Ints | None = None
        self.count = -1
        self.used_vertices: NDArray[np.intp] | None = None  # None: all
        self.faces = np.empty((0, 3), np.int32)

    def quantize(self, vertices: Ints, faces: Ints, marks: Sequence[Ints]) -> QuantizedBody:
        """The body on its grid."""
        self._connect(len(vertices), faces)
        marks = [np.asarray(mark, np.int32) for mark in marks]
        rows = np.asarray(vertices if self.used_vertices is None else vertices[self.used_vertices], np.float64)
        if not len(rows):
            return QuantizedBody(np.zeros((3, 0), np.int16), np.zeros(3), 1.0, self.faces, marks)
        columns = np.ascontiguousarray(rows.T)  # sums and extremes along short rows take several times as long
        low, high = 0.5 * columns.min(axis=1), 0.5 * columns.max(axis=1)  # halves, since the sum of large numbers may overflow
        zero, half = low + high, float((high - low).max())
        if not np.isfinite(half):
            raise ArgumentError("vertices: expected finite numbers")
        if not MIN_STEPS * self.step <= half <= MAX_STEPS * self.step or not self.step:
            self.step = max(half / NEW_STEPS, np.finfo(float).tiny) if half else 1.0
        grid = np.rint((columns - zero[:, None]) / self.step).astype(np.int16)
        return QuantizedBody(grid, zero, self.step, self.faces, marks)

    def _connect(self, count: int, faces: Ints) -> None:
        """Find the used vertices again if the faces have changed."""
        source = self.source_faces
        if count == self.count and source is not None and _equal(faces, source):
            return
        if faces.ndim != 2 or faces.shape[1] != 3 or (faces.size and not 0 <= faces.min() <= faces.max() < count):
            raise ArgumentError(f"faces: expected shape (f, 3), vertices from 0 to {count - 1}")
        is_used = np.zeros(count, bool)
        is_used[faces] = True
        self.source_faces, self.count = faces, count
        self.used_vertices = None if is_used.all() else np.flatnonzero(is_used)
        self.faces = np.asarray((np.cumsum(is_used) - 1)[faces], np.int32).reshape(-1, 3)


def _equal(faces: Ints, source: Ints) -> bool:
    return faces is source or np.array_equal(faces, source)


def zigzag(values: Ints) -> Ints:
    """Signed integers as unsigned ones of their size, small if they are near zero."""
    bits = 8 * values.itemsize - 1
    return ((values << 1) ^ (values >> bits)).view(f"u{values.itemsize}")


def byte_planes(values: Ints) -> bytes:
    """Signed integers as bytes: all lowest ones, then all that come next, and so on; the higher ones are zero nearly always."""
    return np.ascontiguousarray(zigzag(values).ravel().view(np.uint8).reshape(-1, values.itemsize).T).tobytes()


def from_byte_planes(data: bytes, count: int, kind: type[np.signedinteger[Any]]) -> Ints:
    """The integers of `byte_planes`."""
    size = np.dtype(kind).itemsize
    mixed = np.ascontiguousarray(np.frombuffer(data, np.uint8, count * size).reshape(size, count).T).view(f"u{size}").ravel()
    return (mixed >> 1).view(kind) ^ -(mixed & 1).view(kind)


def deltas(values: Ints) -> Ints:
    """Differences from the previous entry along the last axis; the first is kept."""
    found = values.copy()
    found[..., 1:] -= values[..., :-1]
    return found


def predict(order: int, before: Ints, earlier: Ints) -> Ints:
    """Predict positions from those of the last two frames."""
    return before if order == 1 else before + (before - earlier)


class Encoder:
    """Frames to bytes, in order."""

    def __init__(self) -> None:
        self.history: dict[int, list[QuantizedBody]] = {}  # by body, up to two frames, the last one first

    def frame(self, frame: Frame) -> bytes:
        """The bytes of a frame in a chunk."""
        head, places, parts = [], [], []
        for body, piece in enumerate(frame.pieces):
            history = self.history.get(body, [])
            before = history[0].marks if history else [np.zeros(0, np.int32)] * MARKS
            new_marks = [mark if not np.array_equal(mark, old) else None for mark, old in zip(piece.marks, before, strict=True)]
            new_faces = not history or piece.grid.shape != history[0].grid.shape or not _equal(piece.faces, history[0].faces)
            if new_faces or piece.step != history[0].step:
                history = []
            mode, coded = _encode_positions(piece.grid, [each.grid for each in history])
            faces = byte_planes(deltas(piece.faces.ravel())) if new_faces else b""
            head.append((mode, piece.grid.shape[1], len(piece.faces) if new_faces else -1,
                         *(-1 if mark is None else len(mark) for mark in new_marks)))
            places.append((*piece.zero, piece.step))
            parts += [faces, coded, *(byte_planes(deltas(mark)) for mark in new_marks if mark is not None)]
            self.history[body] = [piece, *history[:1]]
        count = len(frame.pieces)
        rows = np.array(head, "<i4").reshape(count, 3 + MARKS).tobytes(), np.array(places, "<f8").reshape(count, 4).tobytes()
        return b"".join([np.array([frame.place], "<i4").tobytes(), *rows, *parts])


def _encode_positions(grid: NDArray[np.int16], history: Sequence[NDArray[np.int16]]) -> tuple[int, bytes]:
    """(mode, bytes) of positions, in the mode with the smallest residuals."""
    if history and np.array_equal(grid, history[0]):
        return SAME_BIT, b""
    residuals: dict[int, Ints] = {}
    for order in range(len(history) + 1):
        residual = grid - predict(order, history[0], history[-1]) if order else grid
        residuals |= {order: residual, order | NEIGHBOUR_BIT: deltas(residual)}
    mode = min(residuals, key=lambda each: int(zigzag(residuals[each]).sum(dtype=np.int64)))
    return mode, byte_planes(residuals[mode])


class Decoder:
    """Bytes to frames, in order: the inverse of `Encoder`."""

    def __init__(self, bodies: int) -> None:
        self.bodies = bodies
        self.history: dict[int, list[QuantizedBody]] = {}

    def frames(self, chunk: bytes) -> Iterator[Frame]:
        """All frames of an inflated chunk."""
        at = 0
        while at < len(chunk):
            place = int(np.frombuffer(chunk, "<i4", 1, at)[0])
            head = np.frombuffer(chunk, "<i4", (3 + MARKS) * self.bodies, at + 4).reshape(-1, 3 + MARKS).tolist()
            begin = at + 4 + 4 * (3 + MARKS) * self.bodies
            places = np.frombuffer(chunk, "<f8", 4 * self.bodies, begin).reshape(-1, 4)
            at = begin + 32 * self.bodies
            pieces = []
            for body, (mode, vertices, faces, *marked) in enumerate(head):
                sizes = 12 * max(faces, 0), 0 if mode & SAME_BIT else 6 * vertices, *(4 * max(count, 0) for count in marked)
                ends = at + np.cumsum([0, *sizes])
                parts = [chunk[begin:end] for begin, end in pairwise(ends)]
                history, at = self.history.get(body, []), int(ends[-1])
                connected = history[0].faces if faces < 0 else _decode_deltas(parts[0], 3 * faces).reshape(-1, 3)
                grid = history[0].grid if mode & SAME_BIT else _decode_positions(mode, parts[1], vertices, [each.grid for each in history])
                old = history[0].marks if history else [np.zeros(0, np.int32)] * MARKS
                marks = [old[k] if count < 0 else _decode_deltas(parts[2 + k], count) for k, count in enumerate(marked)]
                pieces.append(QuantizedBody(grid, places[body, :3], float(places[body, 3]), connected, marks))
                self.history[body] = [pieces[-1], *history[:1]]
            yield Frame(place, pieces)


def _decode_deltas(data: bytes, count: int) -> NDArray[np.int32]:
    return np.cumsum(from_byte_planes(data, count, np.int32), dtype=np.int32)


def _decode_positions(mode: int, data: bytes, count: int, history: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    residual = from_byte_planes(data, 3 * count, np.int16).reshape(3, count)
    if mode & NEIGHBOUR_BIT:
        residual = np.cumsum(residual, axis=1, dtype=np.int16)
    return residual + predict(mode & ORDER_BITS, history[0], history[-1]) if mode & ORDER_BITS else residual


def deflate(data: bytes) -> bytes:
    """Compress as the page inflates: the format zlib (RFC 1950), which `DecompressionStream` calls deflate."""
    return zlib.compress(data, ZLIB_LEVEL)
