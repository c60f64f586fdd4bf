"""The slow, exact reference for contacts: where two triangles meet, and how far one must move to part them. Companion of `naive`.

Every quantity is rational until the last step: lengths are compared as squares, and only the depth, a root, is rounded, to 64 bits.
"""

from fractions import Fraction
from itertools import combinations, product
from math import isqrt
from typing import NamedTuple

import naive
from naive import _corners, _cross, _dot, _minus


class Contact(NamedTuple):
    """The common part of two triangles that meet.

    points: its extreme points, sorted tuples of three fractions. ends: two of them, farthest apart (equal for a point).
    coplanar: all six corners in one plane. depth: length of the shortest move that parts the two, a fraction.
    """

    points: list
    ends: tuple
    coplanar: bool
    depth: Fraction


def square(u):
    """The squared length."""
    return _dot(u, u)


def root(value):
    """The square root of a fraction, as a fraction with at least 64 right bits."""
    if value == 0:
        return Fraction(0)
    shift = max(0, 64 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return Fraction(isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)


def in_one_plane(p, q):
    """Do all corners, integer vectors, lie in one plane, or on a line, or at a point?"""
    first, *others = p + q
    edges = [_minus(corner, first) for corner in others]
    return all(_dot(_cross(u, v), w) == 0 for u, v, w in combinations(edges, 3))


def reach(p, q, direction):
    """How far q must move along a direction until it is beyond p, times the length of the direction."""
    return max(_dot(corner, direction) for corner in p) - min(_dot(corner, direction) for corner in q)


def directions(p, q):
    """The normals of all faces that the set of differences of p and q can have, unless it is flat: a face of one, or an edge of each."""
    edges_p, edges_q = ([_minus(v, u) for u, v in combinations(corners, 2)] for corners in (p, q))
    normals = [_cross(*edges[:2]) for edges in (edges_p, edges_q)] + [_cross(u, v) for u, v in product(edges_p, edges_q)]
    return [normal for normal in normals if any(normal)]


def contact(p, q):
    """The `Contact` of two triangles (3, 3) of float64, None if they are apart.

    A move parts them when it takes the set of differences q - p, a polyhedron around the origin, off the origin:
    the shortest one is to its nearest face.
    """
    points = naive.common(p, q)
    if not points:
        return None
    pairs = list(combinations(points, 2)) or [(points[0], points[0])]
    ends = max(pairs, key=lambda pair: square(_minus(*pair)))
    p, q, exponent = _corners(p, q)
    if in_one_plane(p, q):
        return Contact(points, ends, True, Fraction(0))
    squares = [Fraction(min(reach(p, q, d), reach(q, p, d)) ** 2, square(d)) for d in directions(p, q)]
    return Contact(points, ends, False, root(min(squares)) * Fraction(2) ** exponent)
