"""What a contact promises, checked in rational arithmetic against `naive_contacts`."""

from fractions import Fraction

import numpy as np

import naive
from naive import _dot, _minus
from naive_contacts import contact, root, square

TOLERANCE = Fraction(1, 10**12)                                         # of the largest coordinate of the pair
SMALLEST = 2 * Fraction(5e-324)                                         # subnormal answers are rounded, however small all is


def fractions(rows):
    """Rows of float64 as tuples of fractions."""
    return [tuple(map(Fraction, row)) for row in np.asarray(rows, np.float64).reshape(-1, 3).tolist()]


def tolerance(p, q):
    return TOLERANCE * Fraction(float(np.abs(np.stack([p, q])).max())) + SMALLEST


def close(u, v, within):
    """Are two points, of fractions, within this distance of each other?"""
    return square(_minus(u, v)) <= within**2


def check_ends(ends, right, within):
    """The ends are those of the common part, in order."""
    first, last = ends
    assert first[0] <= last[0] + 2 * within
    if right.coplanar:                                                  # a longest chord; there may be several
        assert all(any(close(end, point, within) for point in right.points) for end in ends)
        longest = root(square(_minus(*right.ends)))
        assert abs(root(square(_minus(first, last))) - longest) <= 2 * within
    else:
        in_order = close(first, right.ends[0], within) and close(last, right.ends[1], within)
        swapped = close(first, right.ends[1], within) and close(last, right.ends[0], within)
        assert in_order or (swapped and abs(right.ends[0][0] - right.ends[1][0]) <= 2 * within)


def check_move(p, q, normal, depth, right, within):
    """The normal is of unit length, and along it the second triangle must go as far as the depth says, which is the least there is."""
    assert abs(square(normal) - 1) <= Fraction(1, 10**14)
    assert depth >= 0
    assert abs(depth - right.depth) <= within
    heights_p, heights_q = ([_dot(corner, normal) for corner in corners] for corners in (p, q))
    if right.coplanar:
        assert max(heights_p + heights_q) - min(heights_p + heights_q) <= 2 * within
    else:
        assert abs(max(heights_p) - min(heights_q) - depth) <= 2 * within


def check_contact(p, q, segment, normal, depth, coplanar):
    """One row of an answer: triangles p and q, (3, 3) float64, and what is said about them."""
    right, within = contact(p, q), tolerance(p, q)
    assert right is not None
    assert bool(coplanar) == right.coplanar
    assert np.isfinite(segment).all()
    assert np.isfinite(normal).all()
    assert np.isfinite(depth)
    check_ends(fractions(segment), right, within)
    check_move(fractions(p), fractions(q), fractions(normal)[0], Fraction(float(depth)), right, within)
    return right


def check_contacts(pairs, triangles_a, triangles_b):
    """All rows of an answer; the right contacts. Failures name the triangles."""
    m = len(pairs)
    for array, shape, dtype in ((pairs.segments, (m, 2, 3), np.float64), (pairs.normals, (m, 3), np.float64),
                                (pairs.depths, (m,), np.float64), (pairs.coplanar, (m,), np.bool_)):
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.flags.c_contiguous
    found = []
    for k, (i, j) in enumerate(pairs.faces.tolist()):
        p, q = triangles_a[i], triangles_b[j]
        try:
            found.append(check_contact(p, q, pairs.segments[k], pairs.normals[k], pairs.depths[k], pairs.coplanar[k]))
        except AssertionError as error:
            said = pairs.segments[k].tolist(), pairs.normals[k].tolist(), float(pairs.depths[k]), bool(pairs.coplanar[k])
            raise AssertionError(f"{error}\n{p.tolist()}\n{q.tolist()}\nsaid {said}\nright {describe(p, q)}") from error
    return found


def describe(p, q):
    right = contact(p, q)
    return right and [[list(map(float, end)) for end in right.ends], right.coplanar, float(right.depth)]


def meets_when_moved(p, q, move):
    """Does q, moved by a vector and rounded, still meet p?"""
    return naive.triangles_meet_fast(p, q + move)
