"""Cells of simulations, and the surface that they have: triangles in one order, which stays while the cells stay.

Cells are numbered and ordered as VTK does it (The VTK User's Guide, "VTK File Formats", figures of linear and nonlinear cell types). Faces
of cells with a volume that no other such cell shares are the surface. The sign of the cell's volume, in the points given, turns them
outward, so that neither a cell that is inside out nor the two orders in use for wedges matter. Cells that are surfaces themselves are
taken as they are. Curved cells count as flat between their corners, which come first in all of them; polygons of fewer than three corners
are dropped.

Invariant: only points that belong to triangles are kept, in the order of their numbers.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.io.limits import refuse
from pliant.io.polygons import Rows, checked_polygons, triangulate

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Faces = NDArray[np.int32]
CellTypes = NDArray[np.uint8]

TRIANGLE, STRIP, POLYGON, PIXEL, QUAD, VOXEL = 5, 6, 7, 8, 9, 11
LINE_TYPES = (0, 1, 2, 3, 4, 21, 35, 68, 75)  # nothing, points and curves: they have no surface
MAX_POINTS = 1 << 31
NO_SURFACE = "has no surface: no cells that are triangles, polygons or solids"

# Numbers of corners of cells that are surfaces; 0: as many as there are.
SURFACE_CORNERS = {TRIANGLE: 3, STRIP: 0, POLYGON: 0, PIXEL: 4, QUAD: 4, 22: 3, 23: 4, 28: 4, 30: 4, 34: 3, 69: 3, 70: 4, 76: 3, 77: 4}

_TETRA = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))
_HEXAHEDRON = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
_VOXEL = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (1, 3, 7, 5), (3, 2, 6, 7), (2, 0, 4, 6))
_WEDGE = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
_PYRAMID = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))


def _prism(sides: int) -> tuple[tuple[int, ...], ...]:
    walls = tuple((k, (k + 1) % sides, (k + 1) % sides + sides, k + sides) for k in range(sides))
    return (tuple(range(sides))[::-1], tuple(range(sides, 2 * sides)), *walls)


# The faces of cells that have a volume.
SOLID_FACES = (dict.fromkeys((10, 24, 71, 78), _TETRA) | dict.fromkeys((12, 25, 29, 33, 72, 79), _HEXAHEDRON)
               | dict.fromkeys((13, 26, 31, 32, 73, 80), _WEDGE) | dict.fromkeys((14, 27, 37, 74, 81), _PYRAMID)
               | {VOXEL: _VOXEL, 15: _prism(5), 16: _prism(6)})  # fmt: skip


class Cells(NamedTuple):
    """Cell c is of type `types[c]` and has the points connectivity[offsets[c]:offsets[c + 1]]."""

    types: CellTypes  # (c,)
    offsets: Indices  # (c + 1,) from 0, rising
    connectivity: Indices  # (m,)

    def equals(self, other: Cells) -> bool:
        """Whether the surface is the same, wherever points are."""
        return self is other or (np.array_equal(self.types, other.types) and np.array_equal(self.offsets, other.offsets)
                                 and np.array_equal(self.connectivity, other.connectivity))  # fmt: skip


NO_CELLS = Cells(np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.int64))


class VtkGrid(NamedTuple):
    """What a file of a simulation says of one moment."""

    points: Floats  # (n, 3)
    cells: Cells
    displacement: Floats | None = None  # (n, 3), where there is such a field


class CellFaces(NamedTuple):
    """Faces of cells, of k corners each."""

    corners: Indices  # (r, k)
    cells: Indices  # (r,) the cell of each


class GridSurface(NamedTuple):
    """The triangles of a grid."""

    point_ids: Indices  # (k,) the points that are kept, rising
    faces: Faces  # (f, 3) of kept points
    curved: bool  # whether there were cells that bend between their corners
    lines: int  # cells left out because they are points or curves
    cell_of_face: Rows | None  # (f,) the cell of each face; None: face i is of cell i
    crossing: int  # polygons that cross themselves


def cell_types(path: Path, values: NDArray[np.generic]) -> CellTypes:
    """Types of cells, which have numbers below 256."""
    if values.dtype.kind not in "iu" or (len(values) and not 0 <= values.min() <= values.max() < 256):
        raise refuse(path, "types of cells: expected integers from 0 to 255")
    return values.astype(np.uint8)


def to_int64(path: Path, name: str, values: NDArray[np.generic]) -> Indices:
    """Integers as int64. What is beyond becomes negative, and so is refused where indices are examined."""
    if values.dtype.kind not in "iu":
        raise refuse(path, f"{name}: expected integers, got {values.dtype}")
    return values.astype(np.int64)


def merge_grids(path: Path, parts: list[VtkGrid]) -> VtkGrid:
    """Several grids as one: points one after the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    ends = np.cumsum([0, *(len(part.cells.connectivity) for part in parts)])
    offsets = [part.cells.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    connectivity = [part.cells.connectivity + start for part, start in zip(parts, starts[:-1], strict=True)]
    cells = Cells(np.concatenate([part.cells.types for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets]),
                  np.concatenate(connectivity))  # fmt: skip
    fields = [part.displacement for part in parts if part.displacement is not None]
    if fields and len(fields) != len(parts):
        raise refuse(path, "has a displacement in some of its pieces only")
    return VtkGrid(np.concatenate([part.points for part in parts]), cells, np.concatenate(fields) if fields else None)


def check_grid(path: Path, grid: VtkGrid) -> VtkGrid:
    """The same grid, if its cells have the points that their types need, and these exist."""
    types, offsets, connectivity = grid.cells
    if len(grid.points) >= MAX_POINTS:
        raise refuse(path, f"has {len(grid.points):,} points, expected less than {MAX_POINTS:,}")
    if len(offsets) != len(types) + 1 or offsets[0] != 0 or offsets[-1] != len(connectivity) or (np.diff(offsets) < 0).any():
        raise refuse(path, "cells: offsets do not rise from 0 to the number of corners")
    if len(connectivity) and not 0 <= connectivity.min() <= connectivity.max() < len(grid.points):
        worst = connectivity.min() if connectivity.min() < 0 else connectivity.max()
        raise refuse(path, f"cells: point {worst} is named, expected 0 to {len(grid.points) - 1}")
    if grid.displacement is not None and grid.displacement.shape != grid.points.shape:
        raise refuse(path, f"has {len(grid.displacement)} displacements of {len(grid.points)} points")
    return grid


def extract_surface(path: Path, grid: VtkGrid) -> GridSurface:
    """The triangles of a checked grid, which may be none."""
    types, sizes = grid.cells.types, np.diff(grid.cells.offsets)
    surfaces = list[CellFaces]()
    walls: dict[int, list[CellFaces]] = {}
    curved, lines = False, 0
    for kind in np.unique(types).tolist():
        rows = np.flatnonzero(types == kind)
        if kind in LINE_TYPES:
            lines += len(rows)
        elif kind in SOLID_FACES:
            count = 1 + max(max(face) for face in SOLID_FACES[kind])
            curved = curved or bool((sizes[rows] > count).any())
            for face in _oriented_faces(grid.points, _cell_corners(path, kind, grid.cells, rows, count), SOLID_FACES[kind]):
                walls.setdefault(face.shape[1], []).append(CellFaces(face, rows))
        elif kind in SURFACE_CORNERS:
            curved = curved or bool(SURFACE_CORNERS[kind] and (sizes[rows] > SURFACE_CORNERS[kind]).any())
            surfaces += _cell_surfaces(path, kind, grid.cells, rows)
        else:
            raise refuse(path, f"has cells of VTK's type {kind}, which is not read; expected triangles, quads, polygons, tetrahedra, "
                               "hexahedra, wedges or pyramids (ParaView's filter Tetrahedralize makes these of others)")  # fmt: skip
    surfaces += [_boundary_faces(some) for _, some in sorted(walls.items())]
    if not surfaces:
        return GridSurface(np.empty(0, np.int64), np.empty((0, 3), np.int32), curved, lines, None, 0)
    polygons = checked_polygons(path, np.concatenate([each.corners.ravel() for each in surfaces]),
                                np.concatenate([np.full(*each.corners.shape) for each in surfaces]), len(grid.points),
                                np.concatenate([each.cells for each in surfaces]), "cell")  # fmt: skip
    found, cell_of_face, crossing = triangulate(grid.points, polygons)
    is_used = np.zeros(len(grid.points), np.bool_)
    is_used[found] = True
    number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return GridSurface(np.flatnonzero(is_used), number[found], curved, lines, cell_of_face, crossing)


def _cell_surfaces(path: Path, kind: int, cells: Cells, rows: Indices) -> list[CellFaces]:
    """Polygons of cells of one type that are surfaces, in parts of as many corners each."""
    sizes = np.diff(cells.offsets)[rows]
    if SURFACE_CORNERS[kind]:
        corners = _cell_corners(path, kind, cells, rows, SURFACE_CORNERS[kind])
        return [CellFaces(corners[:, [0, 1, 3, 2]] if kind == PIXEL else corners, rows)]
    found = list[CellFaces]()
    for size in np.unique(sizes[sizes >= 3]).tolist():
        some = rows[sizes == size]
        corners = _cell_corners(path, kind, cells, some, size)
        found.append(CellFaces(_strip_triangles(corners), np.repeat(some, size - 2)) if kind == STRIP else CellFaces(corners, some))
    return found


def _cell_corners(path: Path, kind: int, cells: Cells, rows: Indices, count: int) -> Indices:
    """(r, count) the first points of some cells of one type."""
    if (np.diff(cells.offsets)[rows] < count).any():
        raise refuse(path, f"cells of VTK's type {kind}: expected at least {count} points each")
    found: Indices = cells.connectivity[cells.offsets[rows][:, None] + np.arange(count)]
    return found


def _oriented_faces(points: Floats, cells: Indices, faces: tuple[tuple[int, ...], ...]) -> list[Indices]:
    """Each face of all cells (r, k), outward: sums of tetrahedra from a corner of the cell to its faces' fans tell which way that is."""
    volume = np.zeros(len(cells))
    origin = points[cells[:, 0]]
    with np.errstate(over="ignore", invalid="ignore"):
        for face in faces:
            a = points[cells[:, face[0]]] - origin
            for second, third in pairwise(face[1:]):
                b, c = points[cells[:, second]] - origin, points[cells[:, third]] - origin
                volume += np.einsum("ij,ij->i", a, np.cross(b, c))
    inside_out = (volume < 0)[:, None]
    return [np.where(inside_out, cells[:, face[::-1]], cells[:, face]) for face in faces]


def _boundary_faces(parts: list[CellFaces]) -> CellFaces:
    """Those faces, of k corners each, whose set of corners no other has."""
    faces, cells = (np.concatenate(each) for each in zip(*parts, strict=True))
    keys = np.sort(faces, axis=1)
    order = np.lexsort(keys.T)
    keys = keys[order]
    differs = np.ones(len(keys) + 1, np.bool_)
    differs[1:-1] = (keys[1:] != keys[:-1]).any(axis=1)
    unshared = np.sort(order[differs[:-1] & differs[1:]])  # as they came
    return CellFaces(faces[unshared], cells[unshared])


def _strip_triangles(corners: Indices) -> Indices:
    """(r, k) strips as r (k − 2) triangles; every other one is turned, so that all face the same side."""
    at = np.arange(corners.shape[1] - 2)
    odd = at % 2
    made: Indices = np.stack([corners[:, at], corners[:, at + 1 + odd], corners[:, at + 2 - odd]], axis=2)
    return made.reshape(-1, 3)
