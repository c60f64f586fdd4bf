"""Meshes of cases, and how they move: small, with many coplanar, touching and degenerate faces; smooth and closed ones as well.

A mesh is (vertices (n, 3) float64, faces (m, 3) int32). Everything is drawn from one NumPy generator.
"""
import numpy as np

from pliant import shapes

CLOSED = ("sphere", "rounded", "tetrahedron", "box", "boxes")           # every edge has two faces, counter-clockwise from outside


def decimals(rng, count, reach):
    """(count, 3): coordinates with one decimal, or small integers."""
    rows = rng.integers(-reach, reach + 1, (count, 3)).astype(np.float64)
    return rows / 10 if rng.random() < 0.7 else rows


def soup(rng):
    """Triangles that share nothing, small ones at different places or large ones in one."""
    count, reach = int(rng.integers(1, 40)), int(rng.choice([3, 10, 30]))
    near = decimals(rng, 3 * count, max(1, reach // int(rng.choice([1, 4]))))
    at = np.repeat(rng.integers(-reach, reach + 1, (count, 3)) / 10, 3, axis=0)
    return near + at if rng.random() < 0.5 else near, np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def scattered(rng):
    """Small triangles, one decimal, so many that trees have some depth."""
    count = int(rng.integers(9, 40))
    rows = np.repeat(rng.standard_normal((count, 3)), 3, axis=0) + rng.standard_normal((3 * count, 3)) * 0.2
    return np.round(rows, 1), np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def lattice(rng):
    """Faces between few points with small integers as coordinates: many meet, are coplanar, degenerate or share vertices."""
    points = rng.integers(0, 4, (int(rng.integers(3, 14)), 3)).astype(np.float64)
    return points, rng.integers(0, len(points), (int(rng.integers(1, 30)), 3)).astype(np.int32)


def sphere(rng):
    directions, faces = shapes.icosphere(int(rng.choice([0, 0, 1, 1, 2])))
    return shapes.bumpy(directions, float(rng.integers(0, 50)), 0.2), faces


def rounded(rng):
    """A sphere with coordinates of one decimal."""
    directions, faces = shapes.icosphere(int(rng.choice([0, 0, 1])))
    return np.round(directions * int(rng.integers(5, 15))) / 10, faces


def tetrahedron(rng):
    """Closed, of four faces, outward; possibly flat."""
    points = decimals(rng, 4, 9)
    if np.linalg.det(points[1:] - points[0]) < 0:
        points = points[[0, 2, 1, 3]]
    return points, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)


def box(rng):
    """Twelve faces with a side of a tenth of an integer."""
    low, side = decimals(rng, 1, 5)[0], int(rng.integers(1, 20)) / 10
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], np.float64)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners * side + low, np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))], np.int32)


def boxes(rng):
    """Several of them, in one mesh."""
    parts = [box(rng) for _ in range(int(rng.integers(2, 5)))]
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in parts[:-1]])
    return (np.concatenate([vertices for vertices, _ in parts]),
            np.concatenate([faces + start for (_, faces), start in zip(parts, starts, strict=True)]).astype(np.int32))


def sheet(rng):
    """A flat grid, along an axis plane, with bumps of whole tenths or without."""
    vertices, faces = shapes.sheet(int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    if rng.random() < 0.5:
        vertices[:, 2] = rng.integers(-1, 2, len(vertices)) / 10
    return vertices[:, rng.permutation(3)], faces


KINDS = {f.__name__: f for f in (soup, lattice, sphere, rounded, tetrahedron, box, boxes, sheet)}


def mesh(rng):
    """(kind, vertices, faces)."""
    kind = str(rng.choice(list(KINDS), p=np.array([4, 3, 2, 2, 2, 1, 1, 2]) / 17))
    vertices, faces = KINDS[kind](rng)
    if rng.random() < 0.4:
        vertices = vertices + decimals(rng, 1, 10)
    return kind, np.ascontiguousarray(vertices), faces


# --- motion ----------------------------------------------------------------------------------------------------------------------

def _shift(rng, vertices, start, size):
    return vertices + decimals(rng, 1, 10) * size


def _jitter(rng, vertices, start, size):
    return vertices + rng.integers(-2, 3, vertices.shape) / 10 * size


def nudged(rng, vertices, size):
    """Small steps, of whole tenths or of any length: what was enclosed may just have left its volume."""
    if rng.random() < 0.5:
        return _jitter(rng, vertices, vertices, size)
    return vertices + rng.standard_normal(vertices.shape) * size * float(rng.choice([0.01, 0.1, 0.5]))


def _wave(rng, vertices, start, size):
    return vertices + 0.2 * size * np.sin(vertices / size * 2 + float(rng.integers(0, 9)))


def _new(rng, vertices, start, size):
    return decimals(rng, len(vertices), 12) * size


def _flat(rng, vertices, start, size):
    """All in one axis plane, or all at one point."""
    made, axes = vertices.copy(), rng.random(3) < 0.5
    made[:, axes] = vertices[:1, axes]
    return made


def _back(rng, vertices, start, size):
    return start.copy()


def _larger(rng, vertices, start, size):
    """Times a power of two that may leave the range of float32 filters."""
    return vertices * 2.0 ** int(rng.choice([-60, -20, -3, 3, 10, 31, 34, 60])) if 1e-9 < size < 1e9 else vertices * 0.5


def _far(rng, vertices, start, size):
    return vertices + rng.choice([-1, 1], 3) * size * 10.0 ** int(rng.integers(2, 8))


def _tiny(rng, vertices, start, size):
    made = vertices.copy()
    made[rng.integers(0, len(made)), rng.integers(0, 3)] = 1e-200 * rng.choice([-1, 1])
    return made


MOVES = {f.__name__[1:]: f for f in (_shift, _jitter, _wave, _new, _flat, _back, _larger, _far, _tiny)}


def moved(rng, vertices, start, size):
    """(kind, vertices): where vertices (n, 3) go; `size` is the unit of the case."""
    kind = str(rng.choice(list(MOVES), p=np.array([4, 4, 3, 2, 1, 3, 1, 1, 1]) / 20))
    with np.errstate(all="ignore"):
        made = MOVES[kind](rng, vertices, start, size)
    return (kind, made) if np.isfinite(made).all() and np.abs(made).max(initial=0.0) < 2.0**1010 else ("back", start.copy())
