"""How often does a closed surface wind around a point? Exactly, by the faces that a ray from it crosses.

A ray o + t d, t > 0, that meets no edge of an oriented closed surface leaves through faces whose normals point along d, and enters
through the others: leavings less enterings are the winding number of the surface around o. It is 0 outside, and 1 inside a body whose faces
are counter-clockwise from outside.

Every sign is exact (`geometry/rays.py`, `geometry/predicates.py`): on which side the line passes each edge, and on which side of the face o
is. A line that meets an edge or a corner tells nothing; another direction does.
"""
import numpy as np

from pliant.core.jit import kernel
from pliant.core.stack import floats
from pliant.geometry.predicates import orient3d, point_fits
from pliant.geometry.rays import DIRECTION, ORIGIN, SIZE, side

AMBIGUOUS = 1 << 40                                                     # added to the winding number where an edge was met


@kernel
def count_crossings(points, direction, ray, face, vertices, faces, turns):
    """Add up turns (n,) int64 of rays from points, flat, along a direction (3,): what line ray[i] and face[i] contribute, for all faces
    that lines meet. AMBIGUOUS and more: a line meets an edge."""
    t = floats(SIZE)
    for i in range(len(ray)):
        r, f = np.int64(ray[i]), np.int64(face[i])
        for k in range(3):
            t[ORIGIN + k], t[DIRECTION + k] = points[3 * r + k], direction[k]
            for c in range(3):
                t[3 * c + k] = vertices[3 * np.int64(faces[f, c]) + k]
        plain = point_fits(t, 0) & point_fits(t, 3) & point_fits(t, 6) & point_fits(t, ORIGIN) & point_fits(t, DIRECTION)
        p, q, s = side(t, 3, 6, plain)[0], side(t, 6, 0, plain)[0], side(t, 0, 3, plain)[0]
        if p == 0 or q == 0 or s == 0:
            turns[r] += AMBIGUOUS
            continue
        along = 1 if p > 0 else -1                                      # of the normal and d
        if orient3d(t, 0, 3, 6, ORIGIN) == -along:                      # the face is ahead
            turns[r] += along
