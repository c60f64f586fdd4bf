"""The slow, exact reference for rays: which faces a ray hits, and where. Companion of `naive`.

The ray is O + t D. With a, b, c the corners of a face as seen from O, the three numbers

    (b × c) · D      (c × a) · D      (a × b) · D

say on which side of the three edges the line of the ray passes. The face is hit if they are all ≥ 0 or all ≤ 0, and not all 0: edges and
corners count for every face around them; a face without area, and one that the ray lies in the plane of, is never hit. Divided by
their sum the three are the weights of the corners, and t = (b × c) · a divided by the same sum.

All of it is computed in Python integers over a power of two; t and the weights are fractions. Nothing is rounded, so limits are compared
with the t of real numbers. Nothing of the library is imported.

Shapes: vertices (n, 3) float64; faces (m, 3) integers; origin and direction (3,). Several bodies are {id: (vertices, faces)}.
"""

from fractions import Fraction
from math import inf, isnan
from typing import NamedTuple

import numpy as np

from naive import _cross, _dot, _minus, _one_sign, exact

FILTER = 1e-13                                                          # about a hundred times what three products in float64 may be off


class Hit(NamedTuple):
    """A face that is hit, at O + t D; u and v are the weights of its corners 1 and 2. Fractions."""

    face: int
    t: Fraction
    u: Fraction
    v: Fraction


class Known(NamedTuple):
    """A hit among several bodies. Sorted as the answers of the library are: by t, then body, then face."""

    t: Fraction
    body: int
    face: int
    u: Fraction
    v: Fraction


def is_ray(origin, direction, t_min=0.0, t_max=inf):
    """Can this hit anything? Numbers that are none, no direction, and limits in the wrong order hit nothing."""
    if isnan(t_min) or isnan(t_max) or t_min > t_max:
        return False
    return bool(np.isfinite(origin).all() and np.isfinite(direction).all() and np.any(direction))


def meet(corners, origin, direction):
    """Where the ray's whole line meets a face of corners (3, 3): (t, u, v), or None."""
    points, power = exact(np.vstack([origin, corners]))
    way, way_power = exact(direction)
    o, *corners = map(tuple, points.tolist())
    a, b, c = (_minus(corner, o) for corner in corners)
    d = tuple(way.tolist())
    weights = _dot(_cross(b, c), d), _dot(_cross(c, a), d), _dot(_cross(a, b), d)
    if not _one_sign(weights):
        return None
    total = sum(weights)
    # Three coordinates of points above, two of points and one of the direction below.
    t = Fraction(_dot(_cross(b, c), a), total) * Fraction(2) ** (power - way_power)
    return t, Fraction(weights[1], total), Fraction(weights[2], total)


def maybe(corners, origin, direction):
    """The numbers of faces, corners (m, 3, 3), that may be hit. The others are not: two of the three signs are opposite beyond doubt."""
    with np.errstate(all="ignore"):
        seen, way = corners - origin, direction / np.abs(direction).max()
        size = np.abs(seen).max(axis=(1, 2), keepdims=True)
        a, b, c = np.moveaxis(seen / np.where(size > 0, size, 1.0), 1, 0)
        sides = np.stack([np.cross(p, q) @ way for p, q in ((b, c), (c, a), (a, b))])
    missed = (sides > FILTER).any(axis=0) & (sides < -FILTER).any(axis=0)
    return np.flatnonzero(~missed | ~np.isfinite(sides).all(axis=0))


def hits(vertices, faces, origin, direction, t_min=0.0, t_max=inf, every=False):
    """All faces that are hit with t_min ≤ t ≤ t_max, in the order of their numbers. `every`: no face is left out by a quick look."""
    vertices, origin, direction = (np.asarray(given, dtype=np.float64) for given in (vertices, origin, direction))
    faces = np.asarray(faces, dtype=np.intp).reshape(-1, 3)
    if not is_ray(origin, direction, t_min, t_max):
        return []
    corners = vertices.reshape(-1, 3)[faces]
    found = []
    for face in range(len(faces)) if every else maybe(corners, origin, direction).tolist():
        met = meet(corners[face], origin, direction)
        if met is not None and t_min <= met[0] <= t_max:
            found.append(Hit(face, *met))
    return found


def cast_all(bodies, origin, direction, t_min=0.0, t_max=inf, mask=-1, masks=None):
    """All hits, sorted. A ray sees a body where its mask and the body's, `masks` {id: mask}, have a bit in common."""
    seen = {i: mesh for i, mesh in bodies.items() if mask & (-1 if masks is None else masks[i])}
    return sorted(Known(hit.t, i, hit.face, hit.u, hit.v)
                  for i, (vertices, faces) in seen.items() for hit in hits(vertices, faces, origin, direction, t_min, t_max))


def cast(bodies, *ray, **options):
    """The first hit, or None."""
    return next(iter(cast_all(bodies, *ray, **options)), None)


def occluded(bodies, *ray, **options):
    """Is anything hit?"""
    return bool(cast_all(bodies, *ray, **options))
