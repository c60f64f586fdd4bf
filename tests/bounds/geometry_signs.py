"""Attacks on the float64 filters of signs, and on values: `geometry/predicates.py`, `triangles.py`, `neighbours.py`, `halfspace.py`.

Filters give away value and bound; the error is that of the value against integers. Decisions of several signs are compared with
exact ones: an error of 1 against a bound of 0 where they differ.
"""

import numpy as np

import attack
import naive
from attack import cross, dot, integers, minus, scaled
from pliant.geometry import adjacent_faces, bigint, halfspace, predicates, triangle_overlap
from revealed import compiled, pair, revealed

RANGE = (1.0, 1.0, 1.0, 2.0**-240, 2.0**330)  # scales of points: ordinary ones, and the ends of what the filters promise
FINITE = (1.0, 2.0**-1040, 2.0**1000, 2.0**-500)


def in_range(points):
    size = np.abs(points)
    return bool(((size == 0) | ((size >= predicates.RANGE_MIN) & (size <= predicates.RANGE_MAX))).all())


def against(value, bound, exact, exponent):
    """(error, bound) of a float64 value of the integer `exact` · 2**exponent."""
    return abs(attack.Fraction(value) - scaled(exact, exponent)) if np.isfinite(value) else np.inf, bound


def determinant2(p, q, r):
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def determinant3(p, q, r, s):
    return dot(cross(minus(q, p), minus(r, p)), minus(s, p))


# --- predicates.py ------------------------------------------------------------------------------------------------------------------------

_both2 = revealed(predicates.orient2d_filter, filtered_sign=pair)
_both3 = revealed(predicates.orient3d_filter, filtered_sign=pair)
_pairs = revealed(predicates.orient3d_dd_filter, filtered_sign=pair)


@compiled
def run_orient2d(t):
    return _both2(t[0], t[1], t[2], t[3], t[4], t[5])


@compiled
def run_orient3d(t):
    return _both3(t, 0, 3, 6, 9)


@compiled
def run_pairs(t):
    return _pairs(t, 0, 3, 6, 9)


@compiled
def run_value2(t):
    return predicates.orient2d_value(t[0], t[1], t[2], t[3], t[4], t[5])


@compiled
def run_value3(t):
    return predicates.orient3d_value(t, 0, 3, 6, 9)


@compiled
def run_wide2(t):
    return bigint.orient2d_bigint_value(t[0], t[1], t[2], t[3], t[4], t[5])


@compiled
def run_wide3(t):
    return bigint.orient3d_bigint_value(t, 0, 3, 6, 9)


@attack.bound("orient2d_filter", "geometry/predicates.py", ("orient2d_filter", "E2", "U"), attack.families((3, 2), scales=RANGE), 30_000,
              section="FILTER")
def orient2d_filter(points):
    if not in_range(points):
        return None
    rows, e = integers(points)
    return against(*run_orient2d(points.reshape(-1)), determinant2(*rows), 2 * e)


@attack.bound("orient3d_filter", "geometry/predicates.py", ("orient3d_filter", "E3", "RANGE_MIN", "RANGE_MAX"),
              attack.families((4, 3), scales=RANGE), 30_000,
              section="FILTER")
def orient3d_filter(points):
    if not in_range(points):
        return None
    rows, e = integers(points)
    return against(*run_orient3d(points.reshape(-1)), determinant3(*rows), 3 * e)


@attack.bound("orient3d_pairs, the second filter", "geometry/predicates.py", ("E3_DD", "orient3d_dd_filter"),
              attack.families((4, 3), scales=RANGE),
              section="SECOND FILTER")
def orient3d_pairs(points):
    """The value is rounded once more than the bound is about: what counts is the error of the sum before."""
    if not in_range(points):
        return None
    rows, e = integers(points)
    value, bound = run_pairs(points.reshape(-1))
    exact = scaled(determinant3(*rows), 3 * e)
    error = abs(attack.Fraction(value) - exact)
    return max(error - abs(exact) / 2**53, 0), bound


def relative(run, exact, exponent, share):
    m, e = run
    right = scaled(exact, exponent)
    return abs(attack.Fraction(m) * attack.Fraction(2) ** int(e) - right), abs(right) * share


PRECISE = attack.Fraction(predicates.VALUE_ERROR)


@attack.bound("orient2d_value", "geometry/predicates.py", ("VALUE_ERROR",), attack.families((3, 2), scales=RANGE + FINITE), 10_000,
              section="VALUES")
def orient2d_value(points):
    rows, e = integers(points)
    return relative(run_value2(points.reshape(-1)), determinant2(*rows), 2 * e, PRECISE)


@attack.bound("orient3d_value", "geometry/predicates.py", ("VALUE_ERROR",), attack.families((4, 3), scales=RANGE + FINITE), 10_000,
              section="VALUES")
def orient3d_value(points):
    rows, e = integers(points)
    return relative(run_value3(points.reshape(-1)), determinant3(*rows), 3 * e, PRECISE)


@attack.bound("orient2d_wide_value", "geometry/bigint.py", (), attack.families((3, 2), scales=FINITE), 3_000,
              section="VALUES")
def orient2d_wide_value(points):
    rows, e = integers(points)
    return relative(run_wide2(points.reshape(-1)), determinant2(*rows), 2 * e, attack.Fraction(1, 2**50))


@attack.bound("orient3d_wide_value", "geometry/bigint.py", (), attack.families((4, 3), scales=FINITE), 3_000,
              section="VALUES")
def orient3d_wide_value(points):
    rows, e = integers(points)
    return relative(run_wide3(points.reshape(-1)), determinant3(*rows), 3 * e, attack.Fraction(1, 2**50))


# --- triangles.py -------------------------------------------------------------------------------------------------------------------------

_plane, _side = revealed(triangle_overlap.plane), revealed(triangle_overlap.plane_side, filtered_sign=pair)


@compiled
def run_side(t):
    return _side(_plane(t, 0), t, 0, 9)


@compiled
def run_overlap(t):
    return triangle_overlap.overlap_filter(t, 0, 9)


@compiled
def run_shadows(t, k):
    return triangle_overlap.projections_filter(t, 0, 9, k, False)


@attack.bound("plane and side", "geometry/triangle_overlap.py", ("E3_PLANE",), attack.families((4, 3), scales=RANGE), 30_000,
              section="PLANES")
def plane_and_side(points):
    if not in_range(points):
        return None
    rows, e = integers(points)
    return against(*run_side(points.reshape(-1)), determinant3(*rows), 3 * e)


def decided(answer, exact):
    """(error, bound) of a decision; the filter may leave it open."""
    return float(answer is not None and answer != exact), 0


@attack.bound("overlap_filter, decisions", "geometry/triangle_overlap.py",
              ("overlap_filter", "interval_filter", "beyond_line_filter", "projections_filter"), attack.families((6, 3), scales=RANGE),
              8_000,
              section="INTERVALS")
def overlap_filter(points):
    if not in_range(points):
        return None
    answer = run_overlap(points.reshape(-1))
    return decided(None if answer == triangle_overlap.UNRESOLVED else answer & 1, int(naive.triangles_meet_fast(points[:3], points[3:])))


@attack.bound("shadows_filter, decisions", "geometry/triangle_overlap.py", ("projections_filter", "beyond_line_filter"),
              attack.families((6, 3), scales=RANGE), 8_000,
              section="FLAT")
def shadows_filter(points):
    if not in_range(points):
        return None
    answer = min(run_shadows(points.reshape(-1), k) for k in range(3))
    return decided(0 if answer == 0 else None, int(naive.triangles_meet_fast(points[:3], points[3:])))


# --- adjacent_faces.py -------------------------------------------------------------------------------------------------------

_dot_sign, _component = revealed(adjacent_faces.dot_sign, filtered_sign=pair), revealed(adjacent_faces.component_sign, filtered_sign=pair)


@compiled
def run_dot(t):
    """w, x and p: the side of p − x of the plane across w."""
    return _dot_sign(t[0], t[1], t[2], t[6] - t[3], t[7] - t[4], t[8] - t[5])


@compiled
def run_component(t):
    """x, y and c of a plane: (y − x) × (c − x)."""
    return _component((t[2] - t[0]) * (t[5] - t[1]), (t[3] - t[1]) * (t[4] - t[0]))


@compiled
def run_vertex(t):
    return adjacent_faces.overlap_at_vertex_filter(t, 0, 3, 6, 9, 12), adjacent_faces.overlap_at_vertex_exact(t, 0, 3, 6, 9, 12)


@compiled
def run_edge(t):
    return adjacent_faces.overlap_at_edge_filter(t, 0, 3, 6, 9), adjacent_faces.overlap_at_edge_exact(t, 0, 3, 6, 9)


@attack.bound("dot_sign", "geometry/adjacent_faces.py", ("E_DOT", "TINY"), attack.families((3, 3), scales=RANGE),
              section="FILTERS")
def dot_sign(points):
    """w is any direction: also one so small that its products underflow."""
    if not in_range(points[1:]) or np.abs(points[0]).max() > 16:
        return None
    (w, x, p), e = integers(points)
    return against(*run_dot(points.reshape(-1)), dot(w, minus(p, x)), 2 * e)


@attack.bound("component", "geometry/adjacent_faces.py", (), attack.families((3, 2), scales=RANGE),
              section="FILTERS")
def component(points):
    if not in_range(points):
        return None
    rows, e = integers(points)
    return against(*run_component(points.reshape(-1)), determinant2(*rows), 2 * e)


@attack.bound("beyond_vertex_filter, decisions", "geometry/adjacent_faces.py", ("overlap_at_vertex_filter", "adjacent_overlap_filter"),
              attack.families((5, 3), scales=RANGE), 20_000,
              section="ONE SHARED VERTEX")
def beyond_vertex_filter(points):
    if not in_range(points):
        return None
    answer, exact = run_vertex(points.reshape(-1))
    return decided(None if answer == triangle_overlap.UNRESOLVED else answer & 1, exact)


@attack.bound("beyond_edge_filter, decisions", "geometry/adjacent_faces.py", ("overlap_at_edge_filter", "adjacent_overlap_filter"),
              attack.families((4, 3), scales=RANGE), 20_000,
              section="TWO SHARED VERTICES")
def beyond_edge_filter(points):
    if not in_range(points):
        return None
    answer, exact = run_edge(points.reshape(-1))
    return decided(None if answer == triangle_overlap.UNRESOLVED else answer & 1, exact)


# --- halfspace.py -------------------------------------------------------------------------------------------------------------------------

_rounded = revealed(halfspace.side_rounded)


@compiled
def run_half(t):
    return _rounded(t[0], t[1], t[2], t[6], t[3], t[4], t[5])


@attack.bound("side_filter of a half-space", "geometry/halfspace.py", ("side_filter", "FILTER_ERROR", "MIN_SIZE", "MAX_SIZE"),
              attack.families((3, 3), scales=(1.0, 1.0, 2.0**-500, 2.0**500)),
              section="FILTER")
def side_filter(points):
    """Rows: (a, b, c), the point, (d, ·, ·)."""
    value, size = run_half(points.reshape(-1))
    if not halfspace.MIN_SIZE <= size <= halfspace.MAX_SIZE:
        return None
    (n, x, (d, _, _)), e = integers(points)
    return against(value, halfspace.FILTER_ERROR * size, dot(n, x) + (d << -e), 2 * e)
