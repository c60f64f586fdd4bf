"""Rays, points and planes that are hard on queries: at vertices, at midpoints of edges, and one unit in the last place beside them."""
import numpy as np


def beside(rng, points):
    """Coordinates one float64 higher or lower, or as they are."""
    return np.nextafter(points, points + rng.integers(-1, 2, points.shape) * np.maximum(np.abs(points), 1e-300))


def places(rng, triangles, count, size):
    """(count, 3): points on a mesh or near it; `triangles` (m, 3, 3)."""
    if not len(triangles):
        return rng.integers(-20, 21, (count, 3)) / 10 * size
    rows = []
    for _ in range(count):
        a, b, c = triangles[rng.integers(len(triangles))][rng.permutation(3)]
        kind = rng.integers(7)
        point = (a if kind == 0 else 0.5 * a + 0.5 * b if kind == 1 else beside(rng, 0.5 * a + 0.5 * b) if kind == 2 else
                 (a + b + c) / 3 if kind == 3 else beside(rng, a) if kind == 4 else
                 0.75 * a + 0.25 * b if kind == 5 else rng.integers(-20, 21, 3) / 10 * size)
        rows.append(point)
    return np.array(rows)


def around(rng, triangles, count, size):
    """(count, 3): points at some distance of a mesh."""
    points = places(rng, triangles, count, size)
    return points + np.round(rng.standard_normal((count, 3)) * rng.choice([0.3, 1, 10]), 1) * size


def rays(rng, triangles, count, size):
    """(origins, directions), each (count, 3): axis-parallel or oblique, at special places of a mesh, from outside or from the surface."""
    aims = places(rng, triangles, count, size)
    along = np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1.0, 1.0], (count, 1))
    reach = size * rng.integers(0, 60, (count, 1)) / 10
    origins = np.where(rng.random((count, 1)) < 0.5, aims - along * reach, around(rng, triangles, count, size))
    directions = np.where((origins == aims - along * reach).all(1, keepdims=True), along, aims - origins)
    directions = directions * 2.0 ** rng.integers(-3, 4, (count, 1))
    return origins, np.where(np.isfinite(directions), directions, 1.0)


def points(rng, triangles, count, size):
    """(count, 3): points to ask `closest` about: on the surface, beside it, and around. Half of the time in pairs that are near each other:
    the search for a point starts with a bound from the one before."""
    made = np.where(rng.random((count, 1)) < 0.5, places(rng, triangles, count, size), around(rng, triangles, count, size))
    if rng.random() < 0.5:
        made[::2] = places(rng, triangles, len(made[::2]), size)
        made[1::2] = made[:-1:2] + rng.integers(-3, 4, (len(made[1::2]), 3)) / 10 * size
    return made


def planes(rng, triangles, count, size):
    """(count, 4): planes through places of a mesh, mostly along axes."""
    normals = np.where(rng.random((count, 1)) < 0.6, np.eye(3)[rng.integers(0, 3, count)] * rng.choice([-1.0, 1.0], (count, 1)),
                       rng.integers(-3, 4, (count, 3)) + np.array([0.5, 0, 0]))
    return np.column_stack([normals, -(normals * places(rng, triangles, count, size)).sum(axis=1)])
