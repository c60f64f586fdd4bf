"""Polygons of a file, and the triangles that they become: once for a mesh, by the positions of its first frame.

Readers describe a mesh by `Polygons`; frames with equal polygons have the triangles of the first one. Triangles need no kernel
(`geometry/polygon.py`), so files of triangles compile nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.io.limits import MAX_POLYGON_CORNERS, MAX_SQUARED_CORNERS, refuse

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Rows = NDArray[np.int32]

STEPS_PER_CALL = 1 << 27  # of the kernel, some tenths of a second: Ctrl-C is noticed between calls


class Polygons(NamedTuple):
    """Polygon i has counts[i] corners, which follow those of polygon i − 1."""

    corners: Indices  # (m,) vertices
    counts: Indices  # (p,) 3 or more
    rows: Indices  # (p,) their numbers in the file

    def equals(self, other: Polygons | None) -> bool:
        """Whether these are the same polygons, wherever their vertices are."""
        return self is other or (other is not None and all(map(np.array_equal, self, other)))

    def take(self, chosen: Indices) -> Polygons:
        """Some of the polygons, in this order."""
        counts = self.counts[chosen]
        before = (np.cumsum(self.counts) - self.counts)[chosen] - (np.cumsum(counts) - counts)
        return Polygons(self.corners[np.repeat(before, counts) + np.arange(counts.sum())], counts, self.rows[chosen])

    def reversed(self) -> Polygons:
        """The same polygons, the other way round from their first corners."""
        ends = np.cumsum(self.counts)
        starts = ends - self.counts
        place = np.repeat(starts + ends, self.counts) - np.arange(len(self.corners))
        place[starts] = starts
        return self._replace(corners=self.corners[place])


class Triangulation(NamedTuple):
    """The triangles of some polygons."""

    faces: Rows  # (f, 3) in the order of the polygons, n − 2 for each
    polygon_of_face: Rows | None  # (f,) the number in the file of each face's polygon; None: face i is polygon i
    crossing: int  # polygons that cross themselves; their triangles overlap


def checked_polygons(path: Path, corners: Indices, counts: Indices, vertices: int, rows: Indices | None = None,
                     what: str = "face") -> Polygons:  # fmt: skip
    """Polygons of a file without those of fewer than three corners. A `FileError` if one has too many, or a corner that is no vertex.

    rows : their numbers in the file; None: 0, 1, …
    what : what the file calls a polygon
    """
    numbers = np.arange(len(counts)) if rows is None else rows
    if len(counts) and counts.max() > MAX_POLYGON_CORNERS:
        worst = int((counts > MAX_POLYGON_CORNERS).argmax())
        raise refuse(path, f"{what} {numbers[worst]} has {counts[worst]:,} corners, at most {MAX_POLYGON_CORNERS:,} are read")
    if len(counts) and counts.max() > 4:
        squares = counts[counts > 4] ** 2
        if squares.sum() > MAX_SQUARED_CORNERS:
            raise refuse(path, f"has {len(squares):,} polygons of up to {counts.max():,} corners, too many: the squares of these numbers add "
                               f"up to {squares.sum():,}, at most {MAX_SQUARED_CORNERS:,} is read")  # fmt: skip
    found = Polygons(corners, counts, numbers)
    if len(counts) and counts.min() < 3:
        found = found.take(np.flatnonzero(counts >= 3))
    bad = (found.corners < 0) | (found.corners >= vertices)
    if bad.any():
        place = int(bad.argmax())
        row = found.rows[np.searchsorted(np.cumsum(found.counts), place, side="right")]
        raise refuse(path, f"{what} {row} has the corner {found.corners[place]}, but vertices go from 0 to {vertices - 1}")
    if vertices > np.iinfo(np.int32).max:
        raise refuse(path, f"has {vertices:,} vertices, too many for one body")
    return found


def triangulate(vertices: Floats, polygons: Polygons) -> Triangulation:
    """The triangles of checked polygons whose vertices are here."""
    corners, counts, rows = polygons
    if not len(counts) or counts.max() == 3:
        return Triangulation(corners.reshape(-1, 3).astype(np.int32), _number_faces(rows), 0)
    from pliant.core.jit import ignore_float_errors  # not in the process that reads USD files, which only describes polygons
    from pliant.geometry.polygon import triangulate_polygons, triangulate_quads

    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    faces, crossing = np.empty((int((counts - 2).sum()), 3), np.int32), np.zeros(1, np.int64)
    scratch = _scratch(int(counts.max())) if counts.max() > 4 else None
    points, corners, first = np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(corners), 0
    while first < len(counts):
        with ignore_float_errors():
            if scratch is None:
                first = triangulate_quads(points, corners, begins, first, STEPS_PER_CALL, faces)
            else:
                first = triangulate_polygons(points, corners, begins, first, STEPS_PER_CALL, crossing, faces, *scratch)
    return Triangulation(faces, _number_faces(np.repeat(rows, counts - 2)), int(crossing[0]))


def _scratch(count: int) -> tuple[Floats, Indices, Indices]:
    """Scratch of the kernel for polygons of up to so many corners."""
    return np.empty((count, 2)), np.empty((count, 4), np.int64), np.empty(3 * count, np.int64)


def _number_faces(rows: Indices) -> Rows | None:
    """The polygon of each face, unless each face has its own number."""
    return None if np.array_equal(rows, np.arange(len(rows))) else rows.astype(np.int32)


def crossing_note(name: str, count: int) -> tuple[str, ...]:
    """What is said of a mesh with polygons that cross themselves."""
    return (f"{name}: {count:,} polygons cross themselves; their triangles overlap.",) if count else ()
