"""Winding numbers, slowly: exact ones of closed surfaces in rational arithmetic, and solid angles of any surface in float64.

`winding_number(vertices, faces, point)` counts the faces that a ray in an arbitrary direction leaves and enters; if it meets an edge or
lies in the plane of a face, another direction is taken. None for a point on the surface.
"""

from fractions import Fraction

import numpy as np

import naive_distances

DIRECTIONS = [(3, 7, 11), (-5, 2, 13), (17, -19, 4), (23, 29, -31), (-37, -41, 43), (47, 3, -59), (2, 61, -67), (71, -5, 73)]


def _minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def _cross(u, v):
    return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]


def _dot(u, v):
    return sum(x * y for x, y in zip(u, v, strict=True))


def on_surface(vertices, faces, point):
    """Is the point on a face, exactly?"""
    return any(naive_distances.point_triangle(point, vertices[face]) == 0 for face in faces)


def winding_number(vertices, faces, point):
    """See the module."""
    if on_surface(vertices, faces, point):
        return None
    origin = [Fraction(float(x)) for x in point]
    rows = [_minus([Fraction(float(x)) for x in vertex], origin) for vertex in vertices]
    for direction in DIRECTIONS:
        found = _along([Fraction(x) for x in direction], rows, faces)
        if found is not None:
            return found
    raise AssertionError("every direction meets an edge")


def _along(direction, rows, faces):
    """Exits less entries of the ray from 0 along the direction; None if it may meet an edge."""
    total = 0
    for face in np.asarray(faces).tolist():
        a, b, c = (rows[v] for v in face)
        normal = _cross(_minus(b, a), _minus(c, a))
        if not any(normal):
            continue
        sides = [_dot(_cross(p, q), direction) for p, q in ((b, c), (c, a), (a, b))]
        if min(sides) < 0 < max(sides):
            continue
        if 0 in sides:
            return None
        orientation = 1 if sides[0] > 0 else -1
        if _dot(normal, a) * orientation > 0:                           # the face is ahead
            total += orientation
    return total


def solid_angles(vertices, faces, points):
    """(n,) winding numbers around points (n, 3): solid angles of all faces over 4 π, in float64 (van Oosterom and Strackee 1983)."""
    a, b, c = (vertices[faces[:, k]][None] - np.asarray(points)[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    above = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
    return np.arctan2(above, below).sum(1) / (2 * np.pi)
