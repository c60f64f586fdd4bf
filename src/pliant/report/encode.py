"""Frames in few bytes, for a page that plays them: positions on a grid of 16 bits, told by how they differ from what was to be expected.

A body has a grid of its own, whose zero follows the middle of its box, so that bodies may go anywhere; its step changes only where the body
has grown or shrunk much. No vertex is moved by more than 1/16,000 of the longest side of that box.

A chunk holds whole frames. Inflated it is, little-endian, frame after frame:

    int32           the place of the frame in `Story.frames`
    int32 (b, 4)    of each of b bodies: mode, vertices, faces or −1 where they are as before, marked faces
    float64 (b, 4)  of each body: the zero of its grid (x, y, z) and its step
    bytes           of each body: faces, positions (3, n), marked faces, as `planes` of how they differ

Faces and marked faces differ from the entry before. Positions differ from nothing, from the frame before, or from where that frame and the
one before it lead in a straight line (ORDER of the mode); if NEIGHBOURS is set, these differences are told by how they differ from those of
the vertex before. SAME positions are not told again. All arithmetic is modulo 2¹⁶ or 2³².
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]

ORDER, NEIGHBOURS, SAME = 3, 4, 8  # bits of a mode
LEVEL = 4  # of zlib: 6 takes six times as long and saves 4 % (100 frames of a cloth of 50,000 triangles: 1.5 s, 2.8 MB)
FINE, FEWEST, MOST = 10_000, 7_000, 32_000  # steps in half a side: of a new grid, and where it becomes too coarse or too small


class Piece(NamedTuple):
    """A body in a frame, on its grid: vertex i is at zero + step · grid[:, i]."""

    grid: NDArray[np.int16]  # (3, n)
    zero: NDArray[np.float64]  # (3,)
    step: float
    faces: NDArray[np.int32]  # (f, 3); the very same while they do not change
    marked: NDArray[np.int32]  # rising


class Frame(NamedTuple):
    """All bodies at once."""

    place: int  # in Story.frames
    pieces: Sequence[Piece]


class Grid:
    """Puts one body on its grid, frame after frame. Vertices that no face has are left out: nobody sees them."""

    def __init__(self) -> None:
        self.step = 0.0
        self.given: Ints | None = None
        self.count = -1
        self.used: NDArray[np.intp] | None = None  # None: all
        self.faces = np.empty((0, 3), np.int32)

    def piece(self, vertices: Ints, faces: Ints, marked: Ints) -> Piece:
        """The body as it is told."""
        self._connect(len(vertices), faces)
        rows = np.asarray(vertices if self.used is None else vertices[self.used], np.float64)
        if not len(rows):
            return Piece(np.zeros((3, 0), np.int16), np.zeros(3), 1.0, self.faces, np.asarray(marked, np.int32))
        low, high = 0.5 * rows.min(axis=0), 0.5 * rows.max(axis=0)  # halves, since a sum of large numbers may not be one
        zero, half = low + high, float((high - low).max())
        if not np.isfinite(half):
            raise ValueError("vertices: expected finite numbers")
        if not FEWEST * self.step <= half <= MOST * self.step or not self.step:
            self.step = max(half / FINE, np.finfo(float).tiny) if half else 1.0
        grid = np.rint((rows - zero).T / self.step).astype(np.int16, order="C")
        return Piece(grid, zero, self.step, self.faces, np.asarray(marked, np.int32))

    def _connect(self, count: int, faces: Ints) -> None:
        """Note which vertices are used, where faces are new ones."""
        known = self.given
        if count == self.count and known is not None and _equal(faces, known):
            return
        if faces.ndim != 2 or faces.shape[1] != 3 or (faces.size and not 0 <= faces.min() <= faces.max() < count):
            raise ValueError(f"faces: expected shape (f, 3), vertices from 0 to {count - 1}")
        seen = np.zeros(count, bool)
        seen[faces] = True
        self.given, self.count = faces, count
        self.used = None if seen.all() else np.flatnonzero(seen)
        self.faces = np.asarray((np.cumsum(seen) - 1)[faces], np.int32).reshape(-1, 3)


def _equal(faces: Ints, known: Ints) -> bool:
    return faces is known or np.array_equal(faces, known)


def zigzag(values: Ints) -> Ints:
    """Signed integers as unsigned ones of their size, small if they are near zero."""
    bits = 8 * values.itemsize - 1
    return ((values << 1) ^ (values >> bits)).view(f"u{values.itemsize}")


def planes(values: Ints) -> bytes:
    """Signed integers as bytes: all lowest ones, then all that come next, and so on; the higher ones are zero nearly always."""
    return np.ascontiguousarray(zigzag(values).ravel().view(np.uint8).reshape(-1, values.itemsize).T).tobytes()


def from_planes(data: bytes, count: int, kind: type[np.signedinteger[Any]]) -> Ints:
    """What `planes` made bytes of."""
    size = np.dtype(kind).itemsize
    mixed = np.ascontiguousarray(np.frombuffer(data, np.uint8, count * size).reshape(size, count).T).view(f"u{size}").ravel()
    return (mixed >> 1).view(kind) ^ -(mixed & 1).view(kind)


def steps(values: Ints) -> Ints:
    """Entries by how they differ from the one before, along the last axis; the first differs from zero."""
    found = values.copy()
    found[..., 1:] -= values[..., :-1]
    return found


def expected(order: int, before: Ints, earlier: Ints) -> Ints:
    """Where positions are expected, from those of the last two frames."""
    return before if order == 1 else before + (before - earlier)


class Coder:
    """Frames to bytes, in order."""

    def __init__(self) -> None:
        self.past: dict[int, list[Piece]] = {}  # of each body up to two frames, the last one first

    def frame(self, frame: Frame) -> bytes:
        """A frame as a chunk has it."""
        head, places, parts = [], [], []
        for body, piece in enumerate(frame.pieces):
            past = self.past.get(body, [])
            fresh = not past or piece.grid.shape != past[0].grid.shape or not _equal(piece.faces, past[0].faces)
            if fresh or piece.step != past[0].step:
                past = []
            mode, coded = _positions(piece.grid, [each.grid for each in past])
            faces = planes(steps(piece.faces.ravel())) if fresh else b""
            head.append((mode, piece.grid.shape[1], len(piece.faces) if fresh else -1, len(piece.marked)))
            places.append((*piece.zero, piece.step))
            parts += [faces, coded, planes(steps(piece.marked))]
            self.past[body] = [piece, *past[:1]]
        count = len(frame.pieces)
        rows = np.array(head, "<i4").reshape(count, 4).tobytes(), np.array(places, "<f8").reshape(count, 4).tobytes()
        return b"".join([np.array([frame.place], "<i4").tobytes(), *rows, *parts])


def _positions(grid: NDArray[np.int16], past: Sequence[NDArray[np.int16]]) -> tuple[int, bytes]:
    """(mode, bytes) of positions, whichever mode leaves the smallest numbers."""
    if past and np.array_equal(grid, past[0]):
        return SAME, b""
    told: dict[int, Ints] = {}
    for order in range(len(past) + 1):
        rest = grid - expected(order, past[0], past[-1]) if order else grid
        told |= {order: rest, order | NEIGHBOURS: steps(rest)}
    mode = min(told, key=lambda each: int(zigzag(told[each]).sum(dtype=np.int64)))
    return mode, planes(told[mode])


class Decoder:
    """Bytes to frames, in order: the reverse of `Coder`."""

    def __init__(self, bodies: int) -> None:
        self.bodies = bodies
        self.past: dict[int, list[Piece]] = {}

    def frames(self, chunk: bytes) -> Iterator[Frame]:
        """All frames of an inflated chunk."""
        at = 0
        while at < len(chunk):
            place = int(np.frombuffer(chunk, "<i4", 1, at)[0])
            head = np.frombuffer(chunk, "<i4", 4 * self.bodies, at + 4).reshape(-1, 4).tolist()
            places = np.frombuffer(chunk, "<f8", 4 * self.bodies, at + 4 + 16 * self.bodies).reshape(-1, 4)
            at += 4 + 48 * self.bodies
            pieces = []
            for body, (mode, vertices, faces, marked) in enumerate(head):
                sizes = 12 * max(faces, 0), 0 if mode & SAME else 6 * vertices, 4 * marked
                ends = at + np.cumsum([0, *sizes])
                parts = [chunk[begin:end] for begin, end in pairwise(ends)]
                past, at = self.past.get(body, []), int(ends[-1])
                connected = past[0].faces if faces < 0 else _summed(parts[0], 3 * faces).reshape(-1, 3)
                grid = past[0].grid if mode & SAME else _placed(mode, parts[1], vertices, [each.grid for each in past])
                pieces.append(Piece(grid, places[body, :3], float(places[body, 3]), connected, _summed(parts[2], marked)))
                self.past[body] = [pieces[-1], *past[:1]]
            yield Frame(place, pieces)


def _summed(data: bytes, count: int) -> NDArray[np.int32]:
    return np.cumsum(from_planes(data, count, np.int32), dtype=np.int32)


def _placed(mode: int, data: bytes, count: int, past: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    rest = from_planes(data, 3 * count, np.int16).reshape(3, count)
    if mode & NEIGHBOURS:
        rest = np.cumsum(rest, axis=1, dtype=np.int16)
    return rest + expected(mode & ORDER, past[0], past[-1]) if mode & ORDER else rest


def deflated(data: bytes) -> bytes:
    """As the page inflates it: the format zlib (RFC 1950), which `DecompressionStream` calls deflate."""
    return zlib.compress(data, LEVEL)
