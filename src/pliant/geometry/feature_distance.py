"""The distance of two features and their closest points: a vertex and a face, or two edges.

The four points lie in one buffer: the vertex and the three corners of the face, or the two ends of either edge. A vertex and a face are
those of `geometry/point_triangle.py`. Two edges are measured as there, from differences of coordinates alone:
`geometry/triangle_distance.py` explains precision, margins, order and scale. M is the longest side of the box around the four points. Ends
are sorted, and edges by them: the same bits for every order. The distance is 0 if and only if the features touch, decided exactly:
EXACT_RATIO M is above the error of a distance, also of nearly parallel edges, and features that are farther apart need no exact test.

WEIGHTS: the sum of the four points times their weights is the gap, from the closest point of the first feature to that of the second: those
of the first feature are −1 in all, those of the second 1.
"""
import math
from functools import cache

import numpy as np

from pliant.core.function_pointer import address_of, floats_at
from pliant.core.jit import DISABLED, helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_float64
from pliant.geometry.closest_features import copy_point, difference, edge_edge_parameters, safe_inverse
from pliant.geometry.point_triangle import BUFFER_SIZE, CORNER, EDGE, FACE, POINT, WEIGHTS, edge_point, point_triangle_distance
from pliant.geometry.point_triangle import DISTANCE as POINT_DISTANCE
from pliant.geometry.ray_triangle import ldexp
from pliant.geometry.triangle_distance import MAX_SIZE, MIN_DISTANCE, MIN_SIZE, coordinate_range, put_in_unit_box, squared_limit
from pliant.geometry.triangle_overlap import lex_less, overlap_exact, overlap_stage, same_point

FOUR_POINTS, DISTANCE, PAIR_WEIGHTS, FEATURE_BUFFER_SIZE = 12, 12, 13, 17  # points, then distance and weights
ON_VERTEX, ON_EDGE, ON_FACE = range(3)                                  # where a closest point is
CLOSEST_BITS = 2                                                        # of a result: where on the first feature, and above it the second
EXACT_RATIO = 2.0**-40                                                  # of M: nearer than that, the exact test is asked
EDGE_PAIR_KIND, KIND_MASK = 2, 3


@helper
def edge_parameters(c, size):
    """(distance, s, t) of two sorted edges, c[0 : 6] the first one, the first one's closest point at s, the second one's at t."""
    ex, ey, ez = difference(c, 0, 3)
    fx, fy, fz = difference(c, 6, 9)
    dx, dy, dz = difference(c, 0, 6)
    best, s, t = dx * dx + dy * dy + dz * dz, 0.0, 0.0
    for k in range(1, 4):
        x, y, z = difference(c, 3 * (k & 1), 6 + 3 * (k >> 1))
        square = x * x + y * y + z * z
        if square < best:
            best, s, t = square, 1.0 * (k & 1), 1.0 * (k >> 1)
    e_square, f_square = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
    e_inverse, f_inverse = safe_inverse(e_square), safe_inverse(f_square)
    limit = squared_limit(best, size)
    for k in range(2):
        x, y, z = difference(c, 6 + 3 * k, 0)                           # from an end of the second edge to the start of the first
        square, u = edge_point(x, y, z, ex, ey, ez, e_inverse)
        if square < limit:
            best, limit, s, t = square, square, u, 1.0 * k
    for k in range(2):
        x, y, z = difference(c, 3 * k, 6)
        square, u = edge_point(x, y, z, fx, fy, fz, f_inverse)
        if square < limit:
            best, limit, s, t = square, square, 1.0 * k, u
    limit = squared_limit(best, size)
    if f_square >= e_square:                                            # the longer one is the reference, of two as long the second
        found, u, w = edge_edge_parameters(dx, dy, dz, ex, ey, ez, fx, fy, fz)
    else:
        found, w, u = edge_edge_parameters(-dx, -dy, -dz, fx, fy, fz, ex, ey, ez)
    if found:
        x, y, z = (dx - u * ex) + w * fx, (dy - u * ey) + w * fy, (dz - u * ez) + w * fz
        square = x * x + y * y + z * z
        if square < limit:
            best, s, t = square, u, w
    return math.sqrt(best), s, t


@routine
def edge_parameters_scaled(c, half):
    """`edge_parameters` of any finite numbers; and are the edges close? Half of M is given."""
    y = stack_float64(12)
    exponent = put_in_unit_box(c, 4, half, y)
    distance, s, t = edge_parameters(y, 1.0)
    return ldexp(distance, exponent), s, t, distance <= EXACT_RATIO


@lazy_compiled
def edges_touch(t, in_filter_range):
    """Do two edges have a point in common? Exact: as two triangles without area."""
    c = stack_float64(18)
    for k in range(2):
        copy_point(t, 6 * k, c, 9 * k)
        copy_point(t, 6 * k + 3, c, 9 * k + 3)
        copy_point(t, 6 * k + 3, c, 9 * k + 6)
    return overlap_stage(c, 0, 9) & 1 if in_filter_range else overlap_exact(c, 0, 9)


@kernel
def edge_edge_distance(t, in_filter_range):
    """The closest features of two edges at t[0 : 6] and t[6 : 12], with their distance at t[12] and weights at t[13 : 17]."""
    c = stack_float64(12)
    flip_a, flip_b = lex_less(t, 3, 0), lex_less(t, 9, 6)
    a, b, p, q = 3 if flip_a else 0, 0 if flip_a else 3, 9 if flip_b else 6, 6 if flip_b else 9
    swap = lex_less(t, q, b) if same_point(t, a, p) else lex_less(t, p, a)
    copy_point(t, p if swap else a, c, 0)
    copy_point(t, q if swap else b, c, 3)
    copy_point(t, a if swap else p, c, 6)
    copy_point(t, b if swap else q, c, 9)
    half = 0.0
    for k in range(3):
        low, high = coordinate_range(c, k, 4)
        half = max(half, 0.5 * high - 0.5 * low)
    if half >= MIN_SIZE and half <= MAX_SIZE:
        distance, u, w = edge_parameters(c, 2.0 * half)
        close = distance <= EXACT_RATIO * (2.0 * half)
    else:
        distance, u, w, close = edge_parameters_scaled(c, half)
    u, w = w if swap else u, u if swap else w
    on_a = ON_VERTEX if u == 0.0 or u == 1.0 else ON_EDGE
    on_b = ON_VERTEX if w == 0.0 or w == 1.0 else ON_EDGE
    u, w = 1.0 - u if flip_a else u, 1.0 - w if flip_b else w
    t[PAIR_WEIGHTS], t[PAIR_WEIGHTS + 1], t[PAIR_WEIGHTS + 2], t[PAIR_WEIGHTS + 3] = u - 1.0, -u, 1.0 - w, w
    if close and edges_touch(t, in_filter_range):
        t[DISTANCE] = 0.0
    else:
        t[DISTANCE] = max(distance, MIN_DISTANCE)
    return np.int64(on_a | on_b << CLOSEST_BITS | close << 2 * CLOSEST_BITS)


@kernel
def vertex_face_distance(t, in_filter_range):
    """The closest features of a vertex at t[0 : 3] and a face at t[3 : 12], with their distance at t[12] and weights at t[13 : 17]."""
    c = stack_float64(BUFFER_SIZE)
    for k in range(9):
        c[k] = t[3 + k]
    copy_point(t, 0, c, POINT)
    feature = point_triangle_distance(c, in_filter_range)
    u, v = c[WEIGHTS], c[WEIGHTS + 1]
    w = 0.0 if feature == EDGE else max(1.0 - (u + v), 0.0)             # on the edge opposite the first corner 1 − (u + v) may round
    if feature == FACE:
        on = ON_FACE
    elif feature < CORNER:
        on = ON_EDGE
    else:
        on = ON_VERTEX
    t[DISTANCE] = c[POINT_DISTANCE]
    t[PAIR_WEIGHTS], t[PAIR_WEIGHTS + 1], t[PAIR_WEIGHTS + 2], t[PAIR_WEIGHTS + 3] = -1.0, w, u, v
    return np.int64(ON_VERTEX | on << CLOSEST_BITS)


@helper
def feature_distance(t, kind, in_filter_range):
    """Of either kind."""
    return edge_edge_distance(t, in_filter_range) if kind == EDGE_PAIR_KIND else vertex_face_distance(t, in_filter_range)


@cache
def feature_distance_entry():
    """(address, what keeps it alive) for calls by address: (buffer of float64, kind | 4 · are the points in the range of the filters) ->
    1 if an exact test was needed."""
    def enter(points, argument):
        t = floats_at(points)
        return feature_distance(t, argument & KIND_MASK, argument > KIND_MASK) >> 2 * CLOSEST_BITS

    def enter_python(points, argument):
        return feature_distance(points, argument & KIND_MASK, argument > KIND_MASK) >> 2 * CLOSEST_BITS

    return address_of(enter_python if DISABLED else enter)
