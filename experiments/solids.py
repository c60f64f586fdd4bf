"""Smooth solids made of strokes, and closed meshes of their surfaces with an exact number of triangles: animals and bones for paper S.

A STROKE is a segment with a radius at either end; several make a solid with a smooth surface (the zero set of a field to which each stroke
contributes, near the surface about a distance). The surface is meshed on a grid (surface nets, Gibson 1998): a vertex in every cell that it
crosses, a quadrilateral for every grid edge that it crosses. Vertices are then smoothed and projected to the surface.

The grid is as fine as possible without exceeding the number of triangles; then the longest edges are bisected until the number is exact:
a closed surface has an even number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.larsson2001.scenes import Faces, Rows

Indices = NDArray[np.int64]

NEAR, LEAST = 0.985, 0.9  # shares of the triangles: the aim of a grid, and its minimum
TRIES = 20  # attempts with other grids
EVEN, ONTO = 6, 3  # rounds of smoothing and projection
SKIP = 6  # distance, in grid vertices, between those that are always evaluated
BLOCK = 1 << 14  # points at a time: they stay in the caches


class Stroke(NamedTuple):
    """From `a`, with a radius `thick`, to `b`, with a radius `thin`; `wide` times as wide along y."""

    a: tuple[float, float, float]
    b: tuple[float, float, float]
    thick: float
    thin: float
    wide: float = 1.0


class Solid(NamedTuple):
    """Strokes, and the length over which they blend."""

    strokes: tuple[Stroke, ...]
    smooth: float

    def at(self, places: Rows) -> Rows:
        """The field at points (n, 3): below 0 inside."""
        return self.slope(places)[0]

    def slope(self, places: Rows) -> tuple[Rows, Rows]:
        """The field (n,) and its gradient, but for the contribution of the taper of strokes."""
        total, slopes = np.zeros(len(places)), np.zeros((len(places), 3))
        for stroke in self.strokes:
            a, b = np.array(stroke.a), np.array(stroke.b)
            way, off = b - a, places - a
            along = np.clip(off @ way / max(float(way @ way), 1e-30), 0, 1)
            off -= along[:, None] * way
            off[:, 1] /= stroke.wide
            far = np.sqrt(np.einsum("ij,ij->i", off, off))
            share = np.exp(np.clip((stroke.thick + (stroke.thin - stroke.thick) * along - far) / self.smooth, -60, 60))
            total += share
            off *= (share / np.maximum(far, 1e-30))[:, None]
            off[:, 1] /= stroke.wide
            slopes += off
        return -self.smooth * np.log(total), slopes / total[:, None]

    def box(self) -> tuple[Rows, Rows]:
        """Low and high corner of an enclosing box."""
        ends = np.array([(stroke.a, stroke.b) for stroke in self.strokes]).reshape(-1, 3)
        reach = max(max(stroke.thick, stroke.thin) * max(stroke.wide, 1) for stroke in self.strokes)
        room = reach + self.smooth * np.log(len(self.strokes))
        return ends.min(axis=0) - room, ends.max(axis=0) + room


def mesh(solid: Solid, faces: int) -> tuple[Rows, Faces]:
    """A closed mesh with exactly so many triangles, an even number: vertices (n, 3) and faces (faces, 3), oriented outward."""
    if faces != int(faces) or faces < 200 or faces % 2:
        raise ValueError(f"faces must be an even number, 200 or more, not {faces!r}")
    step = float(np.cbrt(np.prod(np.subtract(*solid.box()[::-1])))) / 20
    for _ in range(TRIES):
        vertices, quads = net(solid, step)
        share = 2 * len(quads) / faces
        if not LEAST <= share <= 1:
            step *= np.sqrt(share / NEAR)
            continue
        triangles = halved(vertices, quads)
        if closed(triangles, len(vertices)):
            break
        step *= 1.0065  # two sheets in one cell; another grid may separate them
    else:
        raise ValueError(f"faces: {faces} are too few for a solid with parts as thin as these")
    vertices = evened(solid, vertices, triangles)
    vertices, triangles = split_longest(vertices, triangles, (faces - len(triangles)) // 2)
    return onto(solid, vertices), triangles.astype(np.int32)


def net(solid: Solid, step: float) -> tuple[Rows, Indices]:
    """Vertices (n, 3), one in each cell of a grid of this step that the surface crosses, and quadrilaterals (m, 4), oriented outward."""
    low, high = solid.box()
    low = low - 1.5 * step
    shape = np.ceil((high - low) / step).astype(int) + 2
    axes = [low[k] + step * np.arange(shape[k]) for k in range(3)]
    field = on_grid(solid, axes, step)
    inside = field < 0

    corners = [tuple(slice(k, n - 1 + k) for k, n in zip(corner, shape, strict=True)) for corner in np.ndindex(2, 2, 2)]
    held = sum(inside[corner].astype(np.int8) for corner in corners)
    cells = np.argwhere((held > 0) & (held < 8))
    number = np.full(shape, -1, np.int64)
    number[tuple(cells.T)] = np.arange(len(cells))

    sums, crossings, quads = np.zeros((len(cells), 3)), np.zeros(len(cells)), []
    for axis in range(3):
        first = np.argwhere(np.diff(inside, axis=axis))  # grid edges that are crossed: their start vertices
        ahead = np.eye(3, dtype=int)[axis]
        here, there = field[tuple(first.T)], field[tuple((first + ahead).T)]
        places = first + (here / (here - there))[:, None] * ahead
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        around = np.stack([number[tuple((first - away).T)] for away in (0 * u, u, u + v, v)], axis=1)
        np.add.at(sums, around.reshape(-1), np.repeat(places, 4, axis=0))
        np.add.at(crossings, around.reshape(-1), 1.0)
        quads.append(np.where((here < 0)[:, None], around, around[:, ::-1]))
    return low + step * (sums / crossings[:, None]), np.concatenate(quads)


def on_grid(solid: Solid, axes: list[Rows], step: float) -> Rows:
    """The field at the vertices of a grid; where every SKIP-th value is far from 0, only the sign is right."""
    rough_axes = [axis[0] + SKIP * step * np.arange((len(axis) - 1) // SKIP + 2) for axis in axes]
    rough = solid.at(np.stack(np.meshgrid(*rough_axes, indexing="ij"), axis=-1).reshape(-1, 3)).reshape([len(axis) for axis in rough_axes])
    nearest = [(np.arange(len(axis)) + SKIP // 2) // SKIP for axis in axes]
    field = rough[np.ix_(*nearest)]
    steep = max(max(1 / stroke.wide, 1.0) * (1 + taper(stroke)) for stroke in solid.strokes)
    near = np.argwhere(np.abs(field) < steep * np.sqrt(3) * (SKIP / 2 + 2) * step)
    for i in range(0, len(near), BLOCK):
        some = near[i : i + BLOCK]
        field[tuple(some.T)] = solid.at(np.stack([axis[k] for axis, k in zip(axes, some.T, strict=True)], axis=1))
    return field


def taper(stroke: Stroke) -> float:
    """The change of the radius along a stroke."""
    return abs(stroke.thick - stroke.thin) / max(float(np.linalg.norm(np.subtract(stroke.a, stroke.b))), 1e-30)


def halved(vertices: Rows, quads: Indices) -> Indices:
    """Triangles (2 m, 3): quadrilaterals split along the shorter diagonal."""
    a, b, c, d = quads.T
    swap = np.linalg.norm(vertices[a] - vertices[c], axis=1) > np.linalg.norm(vertices[b] - vertices[d], axis=1)
    first = np.where(swap[:, None], np.stack([a, b, d], 1), np.stack([a, b, c], 1))
    second = np.where(swap[:, None], np.stack([b, c, d], 1), np.stack([a, c, d], 1))
    return np.stack([first, second], axis=1).reshape(-1, 3)


def closed(triangles: Indices, count: int) -> bool:
    """Does every edge belong to two triangles that run along it in opposite directions?"""
    one, other = triangles[:, [0, 1, 2]].reshape(-1), triangles[:, [1, 2, 0]].reshape(-1)
    there, back = np.sort(one * count + other), np.sort(other * count + one)
    return bool((np.diff(there) > 0).all() and np.array_equal(there, back))


def evened(solid: Solid, vertices: Rows, triangles: Indices) -> Rows:
    """Move each vertex to the centroid of its adjacent vertices, and project it to the surface."""
    one, other = triangles[:, [0, 1, 2]].reshape(-1), triangles[:, [1, 2, 0]].reshape(-1)  # each edge of a closed mesh in both directions
    valence = np.bincount(one, minlength=len(vertices))[:, None]
    for _ in range(EVEN):
        middles = np.stack([np.bincount(one, vertices[other, k], len(vertices)) for k in range(3)], axis=1) / valence
        vertices = onto(solid, 0.5 * vertices + 0.5 * middles, 1)
    return vertices


def onto(solid: Solid, vertices: Rows, times: int = ONTO) -> Rows:
    """Vertices moved along the gradient of the field, to its zero set."""
    for _ in range(times):
        height, slope = solid.slope(vertices)
        vertices = vertices - (height / np.maximum((slope * slope).sum(axis=1), 0.1))[:, None] * slope
    return vertices


def split_longest(vertices: Rows, triangles: Indices, times: int) -> tuple[Rows, Indices]:
    """Bisect so many edges, the longest first, no two of one triangle; each adds a vertex and two triangles."""
    if not times:
        return vertices, triangles
    sides = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    keys = sides.min(axis=1) * len(vertices) + sides.max(axis=1)
    pairs = np.argsort(keys, kind="stable").reshape(-1, 2)  # the two positions of every edge
    length = np.linalg.norm(np.subtract(*vertices[sides[pairs[:, 0]]].transpose(1, 0, 2)), axis=1)
    touched = np.zeros(len(triangles), bool)
    middles: list[Rows] = []
    cut: list[tuple[int, int, int]] = []
    for edge in np.argsort(-length, kind="stable"):
        around = pairs[edge] // 3
        if len(middles) == times:
            break
        if touched[around].any():
            continue
        touched[around] = True
        for place in pairs[edge]:
            a, b, c = np.roll(triangles[place // 3], -(place % 3))
            middle = len(vertices) + len(middles)
            cut += [(a, middle, c), (middle, b, c)]
        middles.append(vertices[sides[pairs[edge, 0]]].mean(axis=0))
    return np.concatenate([vertices, middles]), np.concatenate([triangles[~touched], np.array(cut)])
