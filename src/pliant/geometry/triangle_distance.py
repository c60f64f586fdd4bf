"""How far apart are two triangles, and which of their points are nearest? A point and a triangle: `geometry/point_triangle.py`.

Two triangles that do not meet are nearest in corners, edges or faces: two corners, a corner and an edge, two edges, a corner and a face.
Each of these is tried. Every candidate is a pair of points of the triangles, weighted means of their corners with weights from 0 to 1,
and its distance is that of these points: it can be too long, never too short.

PRECISION. M is the longest side of the box around both triangles, U = 2**-53. Coordinates enter as differences alone, each rounded once:
that moves a corner by U M at most, and the distance by no more. Of the differences all further steps are correct to a few U M, because
  corner and edge    the foot w · e / e² on the edge is off by a few U |w| along the edge;
  two edges e, f     with n = e × f and h = f × n their plane has the right-angled axes f and h. Where s e − t f is to be D, the way
                     from edge to edge, s = D · h / n² makes it so along h, and then t = (s e · f − D · f) / f² along f. An error of s moves
                     s e by U M / τ, τ being the sine between the edges, but of that only U M is along h; the rest is made good by t, which
                     is found from the s that was computed. So D − (s e − t f) is right to a few U M, if n is right to a part of itself
                     and not of |e| |f|. A difference of exact products is (`cross`): to a few (U + U² / τ), enough if τ > 2**-44;
  τ below that       the middle of the parallelogram of all s e − t f is within τ M of its sides, which are corners and edges: what is
                     found or missed there makes no difference of 1e-13 M;
  corner and face    the same with two edges of the face.
A foot that is found beyond an edge, but is not, is within a few U M of it: then the candidate of that edge is as good. So distances are
right to about 1e-14 M; the promise is 1e-12.

MARGIN. Of candidates which differ by rounding alone the one with fewer free points is meant: two corners, unless a corner and an edge are
nearer by MARGIN M, and these unless edges or a face are. So a corner or an edge that faces share is as far for each of them, to the bit.

PARTED. For a way r and all ways d from corner to corner, |d_k| <= M, d · r passes 4 roundings (difference, product, two sums) relative to
Σ|d_k r_k| <= M Σ|r_k|, whatever cancels: where it exceeds SEPARATION_ERROR M Σ|r_k|, which is 16 U, a plane across r is between the
triangles. Products may underflow, by less than 3 · 2**-1074, if r is tiny: TINY.

ORDER. Corners are sorted, and the triangles by them: the same bits for every order of corners and triangles. Whether they meet is decided
exactly (`geometry/triangle_overlap.py`), unless a plane across the way between the nearest points is certainly between them, or their boxes
are apart.

SCALE. Squares and fourth powers neither overflow nor vanish while M is from SMALL to LARGE. Otherwise differences, not coordinates, are
scaled by a power of two. Distances beyond all float64 are infinite; those below the smallest, of triangles that are apart, are it.
"""
import math
from functools import cache

import numpy as np

from pliant.core.function_pointer import address_of, floats_at
from pliant.core.jit import DISABLED, helper, kernel, routine
from pliant.core.simd import ctz, extract, maximum, minimum, movemask, reduce_max, reduce_min, where
from pliant.core.stack import stack_float64
from pliant.geometry.closest_features import (
    CORNER_CORNER,
    CORNER_EDGE,
    CORNER_FACE,
    EDGE_CORNER,
    EDGE_EDGE,
    FACE_CORNER,
    MIN_SQUARE,
    TRI_B,
    Vectors,
    candidate_offset,
    difference,
    dot,
    dot_one,
    edge_end,
    edge_ends,
    edge_pair_filter,
    edge_pair_parameters,
    edge_parameter,
    edge_start,
    edge_starts,
    face_uv,
    load_points,
    put_weights,
    safe_inverse,
    sort_triangles,
    squares_to_edge,
    squares_to_edges,
    subtract,
)
from pliant.geometry.ray_triangle import ldexp
from pliant.geometry.triangle_overlap import EXACT, overlap_exact, overlap_stage

POINTS, DISTANCE, BUFFER_SIZE = 18, 24, 26                              # in a buffer of two triangles, which are at 0 and SECOND
MIN_SIZE, MAX_SIZE = 2.0**-100, 2.0**100
MARGIN = 2.0**-46
SEPARATION_ERROR = 2.0**-49
TINY = 2.0**-1000
NEAREST_RATIO = 1 - 2.0**-46
MIN_DISTANCE = 5e-324


@helper
def squared_limit(square, size):
    """What squares must be below to be nearer by more than the margin."""
    length = max(math.sqrt(square) - MARGIN * size, 0.0)
    return length * length


@helper
def min_projection(d0, d1, d2, x, y, z):
    """The least of all ways from corner to corner along r = (x, y, z), times |r|."""
    return reduce_min(minimum(dot_one(d0, x, y, z), minimum(dot_one(d1, x, y, z), dot_one(d2, x, y, z))))


@routine
def closest_points(c, size, w):
    """(the distance of two sorted triangles that do not meet, is a plane certainly between them); the weights of the points into w.

    Nothing is nearer than r by more than a share of 2**-46 once all ways from corner to corner are as long along r."""
    corners = load_points(c, TRI_B, TRI_B + 3, TRI_B + 6)
    d0, d1, d2 = subtract(corners, c[0], c[1], c[2]), subtract(corners, c[3], c[4], c[5]), subtract(corners, c[6], c[7], c[8])
    s0, s1, s2 = dot(d0, d0), dot(d1, d1), dot(d2, d2)
    best = reduce_min(minimum(s0, minimum(s1, s2)))
    which = (movemask(s0 <= best) & 7) | (movemask(s1 <= best) & 7) << 3 | (movemask(s2 <= best) & 7) << 6
    kind, i, j, s, t = CORNER_CORNER, ctz(which) // 3, ctz(which) % 3, 0.0, 0.0
    x, y, z = candidate_offset(c, CORNER_CORNER, i, j, 0.0, 0.0)
    projection = min_projection(d0, d1, d2, x, y, z)
    if projection < NEAREST_RATIO * best:
        starts, ends = edge_starts(c, TRI_B), edge_ends(c, TRI_B)
        f = Vectors(ends.x - starts.x, ends.y - starts.y, ends.z - starts.z)
        squares = dot(f, f)
        inverses = where(squares > MIN_SQUARE, 1.0 / maximum(squares, MIN_SQUARE), 0.0)
        longest, which, limit = reduce_max(squares), np.int64(-1), squared_limit(best, size)
        for k in range(3):
            a, b = edge_start(k), edge_end(k)
            ex, ey, ez = difference(c, a, b)
            square = ex * ex + ey * ey + ez * ez
            longest = max(longest, square)
            squares = squares_to_edge(subtract(corners, c[a], c[a + 1], c[a + 2]), ex, ey, ez, safe_inverse(square))
            smallest = reduce_min(squares)
            if smallest < limit:
                limit, which = smallest, 6 * k + ctz(movemask(squares <= smallest) & 7)
            a = 3 * k
            squares = squares_to_edges(Vectors(c[a] - starts.x, c[a + 1] - starts.y, c[a + 2] - starts.z), f, inverses)
            smallest = reduce_min(squares)
            if smallest < limit:
                limit, which = smallest, 6 * k + 3 + ctz(movemask(squares <= smallest) & 7)
        if which >= 0:
            i, j = which // 6, which % 3
            if which % 6 < 3:
                kind, s = EDGE_CORNER, edge_parameter(c, edge_start(i), edge_end(i), TRI_B + 3 * j)
            else:
                kind, t = CORNER_EDGE, edge_parameter(c, TRI_B + edge_start(j), TRI_B + edge_end(j), 3 * i)
            x, y, z = candidate_offset(c, kind, i, j, s, t)
            best = x * x + y * y + z * z
            projection = min_projection(d0, d1, d2, x, y, z)
        if projection < NEAREST_RATIO * best:
            limit = squared_limit(best, size)
            for m in range(3):
                a = edge_start(m)
                ex, ey, ez = difference(c, a, edge_end(m))
                which = edge_pair_filter(subtract(starts, c[a], c[a + 1], c[a + 2]), ex, ey, ez, f, limit, size, longest)
                while which != 0:
                    k, which = ctz(which), which & (which - 1)
                    found, p, q = edge_pair_parameters(c, m, k)
                    if found:
                        rx, ry, rz = candidate_offset(c, EDGE_EDGE, m, k, p, q)
                        square = rx * rx + ry * ry + rz * rz
                        if square < limit:
                            best, limit, kind, i, j, s, t = square, square, EDGE_EDGE, m, k, p, q
            for face_kind in (FACE_CORNER, CORNER_FACE):
                if face_kind == FACE_CORNER:
                    which, u, v = face_uv(c, 0, d0)
                else:
                    which, u, v = face_uv(c, TRI_B, subtract(load_points(c, 0, 3, 6), c[TRI_B], c[TRI_B + 1], c[TRI_B + 2]))
                while which != 0:
                    k, which = ctz(which), which & (which - 1)
                    p, q = extract(u, k), extract(v, k)
                    rx, ry, rz = candidate_offset(c, face_kind, k, k, p, q)
                    square = rx * rx + ry * ry + rz * rz
                    if square < limit:
                        best, limit, kind, i, j, s, t = square, square, face_kind, k, k, p, q
            x, y, z = candidate_offset(c, kind, i, j, s, t)
            best = x * x + y * y + z * z
            projection = min_projection(d0, d1, d2, x, y, z)
    put_weights(w, kind, i, j, s, t)
    return math.sqrt(x * x + y * y + z * z), projection > SEPARATION_ERROR * size * (abs(x) + abs(y) + abs(z)) + TINY


# --- two triangles -----------------------------------------------------------------------------------------------------------

@helper
def coordinate_range(c, k, n):
    """The least and the greatest of c[k], c[k + 3], … of n points."""
    low = high = c[k]
    for i in range(1, n):
        low, high = min(low, c[k + 3 * i]), max(high, c[k + 3 * i])
    return low, high


@helper
def put_in_unit_box(c, n, half, y):
    """y = n points c of any finite numbers, from their low corner on and times a power of two, so that M is below 1; the exponent that
    takes lengths back. Half of M is given, which need not be a number of float64."""
    prescale, size = 1.0, 0.0
    if half > MAX_SIZE:
        prescale, size = 0.25, 0.5 * half
    else:
        for k in range(3):
            low, high = coordinate_range(c, k, n)
            size = max(size, high - low)
    e = math.frexp(size)[1]
    for k in range(3):
        low = coordinate_range(c, k, n)[0]
        for i in range(n):
            y[3 * i + k] = ldexp(c[3 * i + k] * prescale - low * prescale, -e)
    return e if prescale == 1.0 else e + 2


@routine
def closest_points_scaled(c, half, w):
    """`closest_points` of any finite numbers; half of M is given."""
    y = stack_float64(18)
    exponent = put_in_unit_box(c, 6, half, y)
    distance, separated = closest_points(y, 1.0, w)
    return ldexp(distance, exponent), separated


@helper
def put_weighted_mean(c, a, w, at, out, to):
    """The weighted mean of three corners, inside their box."""
    for k in range(3):
        x, y, z = c[a + k], c[a + 3 + k], c[a + 6 + k]
        mean = x * w[at] + y * w[at + 1] + z * w[at + 2]
        out[to + k] = min(max(mean, min(x, min(y, z))), max(x, max(y, z)))


@kernel
def triangle_triangle_distance(t, in_filter_range):
    """The distance of two triangles at t[0 : 9] and t[9 : 18], put at t[24], and their nearest points, at t[18 : 21] and t[21 : 24].

    0 if they meet, which is exact, and the distance is 0 then (of the points each is on its triangle, but they need not be one); else 1.
    Plus EXACT where exact arithmetic was needed. `in_filter_range`: all corners are in the range of the filters of
    `geometry/predicates.py`."""
    c, w = stack_float64(18), stack_float64(6)
    swapped = sort_triangles(t, c)
    half, boxes = 0.0, True
    for k in range(3):
        low_a, high_a = coordinate_range(c, k, 3)
        low_b, high_b = coordinate_range(c, TRI_B + k, 3)
        half = max(half, 0.5 * max(high_a, high_b) - 0.5 * min(low_a, low_b))
        boxes = boxes and low_a <= high_b and low_b <= high_a
    size = 2.0 * half if half <= MAX_SIZE else MAX_SIZE
    if half >= MIN_SIZE and half <= MAX_SIZE:
        distance, separated = closest_points(c, size, w)
    else:
        distance, separated = closest_points_scaled(c, half, w)
    put_weighted_mean(c, 0, w, 0, t, POINTS + 3 if swapped else POINTS)
    put_weighted_mean(c, TRI_B, w, 3, t, POINTS if swapped else POINTS + 3)
    stage = 0
    if boxes and not separated:
        stage = overlap_stage(t, 0, TRI_B) if in_filter_range else EXACT + overlap_exact(t, 0, TRI_B)
    intersecting = stage & 1
    t[DISTANCE] = 0.0 if intersecting else max(distance, MIN_DISTANCE)
    return np.int64(1 - intersecting + (stage & EXACT))


@cache
def triangle_distance_entry():
    """(address, what keeps it alive) of `triangle_triangle_distance` for 26 float64; see `core/function_pointer.py`."""
    def enter(corners, in_filter_range):
        return triangle_triangle_distance(floats_at(corners), in_filter_range)

    return address_of(triangle_triangle_distance if DISABLED else enter)
