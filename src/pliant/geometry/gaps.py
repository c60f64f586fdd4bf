"""How far apart are two triangles, and which of their points are nearest? A point and a triangle: `geometry/pointgap.py`.

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

ORDER. Corners are sorted, and the triangles by them: the same bits for every order of corners and triangles, but for the points of equally
near candidates of several pairs. Whether two triangles meet is decided exactly (`geometry/triangles.py`), if no plane across the way
between the nearest points is certainly between them.

SCALE. Squares and fourth powers neither overflow nor vanish while M is from SMALL to LARGE. Otherwise differences, not coordinates, are
scaled by a power of two. Distances beyond all float64 are infinite; those below the smallest, of triangles that are apart, are it.
"""
import math
from functools import cache

import numpy as np

from pliant.core.call import address_of, array_at, pointer
from pliant.core.jit import DISABLED, helper, kernel, routine
from pliant.core.stack import floats
from pliant.geometry.expansion import two_product
from pliant.geometry.rays import scaled
from pliant.geometry.triangles import EXACT, before, overlap_exact, overlap_stage, same

SECOND, POINTS, DISTANCE, ROOM = 9, 18, 24, 26                          # in a buffer of two triangles
SMALL, LARGE = 2.0**-100, 2.0**100
MARGIN = 2.0**-46
FLAT = 1e-280                                                           # squares of lengths and areas below count as 0
SURE = 2.0**-49                                                         # 5 U and more: of Σ|x_k r_k|, what rounding may do to x · r
NEAREST = 1 - 2.0**-46
LEAST = 5e-324
CORNERS, EDGE_CORNER, CORNER_EDGE, EDGES, FACE_CORNER, CORNER_FACE = range(6)    # kinds of candidates
WAYS, EDGES_A, EDGES_B, SQUARES, INVERSES, NUMBERS = 0, 27, 36, 45, 51, 57       # what `measure` makes: D_ij = b_j − a_i, e_k, f_k, …


# --- order -------------------------------------------------------------------------------------------------------------------

@helper
def in_order(t, a):
    """The offsets of the corners of the triangle at a, sorted."""
    p, q, r = a, a + 3, a + 6
    if before(t, q, p):
        p, q = q, p
    if before(t, r, q):
        q, r = r, q
    if before(t, q, p):
        p, q = q, p
    return p, q, r


@helper
def copy_point(t, p, c, at):
    c[at], c[at + 1], c[at + 2] = t[p], t[p + 1], t[p + 2]


@helper
def put_sorted(t, c):
    """Copy two triangles, both and their corners sorted; were they exchanged?"""
    p, q, r = in_order(t, 0)
    i, j, k = in_order(t, SECOND)
    swap = before(t, i, p)
    if same(t, p, i):
        swap = before(t, k, r) if same(t, q, j) else before(t, j, q)
    a, b = (SECOND, 0) if swap else (0, SECOND)
    copy_point(t, p, c, a)
    copy_point(t, q, c, a + 3)
    copy_point(t, r, c, a + 6)
    copy_point(t, i, c, b)
    copy_point(t, j, c, b + 3)
    copy_point(t, k, c, b + 6)
    return swap


# --- candidates --------------------------------------------------------------------------------------------------------------

@helper
def cross(ax, ay, az, bx, by, bz):
    """a × b, each component right to a few U of itself (see PRECISION)."""
    return minus_products(ay, bz, az, by), minus_products(az, bx, ax, bz), minus_products(ax, by, ay, bx)


@helper
def minus_products(a, b, c, d):
    """a b − c d."""
    p, p_low = two_product(a, b)
    q, q_low = two_product(c, d)
    return (p - q) + (p_low - q_low)


@helper
def share(x):
    """x from 0 to 1."""
    return min(max(x, 0.0), 1.0)


@helper
def start(k):
    """The first corner of the edge opposite corner k; corners being sorted, edges are the same from either side."""
    return 1 if k == 0 else 0


@helper
def end(k):
    return 1 if k == 2 else 2


@helper
def measure(c, g):
    """Put into g the ways between corners, the edges, their squared lengths and the inverses of those."""
    for i in range(3):
        for j in range(3):
            for k in range(3):
                g[WAYS + 9 * i + 3 * j + k] = c[SECOND + 3 * j + k] - c[3 * i + k]
    for i in range(6):
        a, at = (0, EDGES_A + 3 * i) if i < 3 else (SECOND, EDGES_B + 3 * (i - 3))
        p, q = a + 3 * start(i % 3), a + 3 * end(i % 3)
        x, y, z = c[q] - c[p], c[q + 1] - c[p + 1], c[q + 2] - c[p + 2]
        g[at], g[at + 1], g[at + 2] = x, y, z
        square = x * x + y * y + z * z
        g[SQUARES + i] = square
        g[INVERSES + i] = 1.0 / square if square > FLAT else 0.0


@helper
def from_edge(x, y, z, g, e, inverse):
    """(squared distance, t): the point (x, y, z), seen from the start of the edge at e, and the point t of the edge next to it."""
    t = share((x * g[e] + y * g[e + 1] + z * g[e + 2]) * inverse)
    u, v, w = x - t * g[e], y - t * g[e + 1], z - t * g[e + 2]
    return u * u + v * v + w * w, t


@helper
def foot(x, y, z, g, at):
    """(inside, u, v): the point of a face next to (x, y, z), seen from the face's first corner, as u e + v f, if it is inside. At g[at]
    are e, f, h = n × e, 1 / n², e · f and 1 / e²."""
    v = (x * g[at + 6] + y * g[at + 7] + z * g[at + 8]) * g[at + 9]
    u = ((x * g[at] + y * g[at + 1] + z * g[at + 2]) - v * g[at + 10]) * g[at + 11]
    return (v > 0.0) & (u > 0.0) & (u + v < 1.0), u, v


@helper
def put_face(ex, ey, ez, fx, fy, fz, inverse, g, at):
    """Put what `foot` asks for; has the face an area?"""
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    square = nx * nx + ny * ny + nz * nz
    g[at], g[at + 1], g[at + 2], g[at + 3], g[at + 4], g[at + 5] = ex, ey, ez, fx, fy, fz
    g[at + 6], g[at + 7], g[at + 8] = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
    g[at + 9] = 1.0 / square if square > FLAT else 0.0
    g[at + 10], g[at + 11] = ex * fx + ey * fy + ez * fz, inverse
    return square > FLAT


@helper
def feet(dx, dy, dz, ex, ey, ez, fx, fy, fz, square, inverse):
    """(found, s, t): the points s e and d + t f of two edges that are next to each other, if both are inside. `square` is f²."""
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    hx, hy, hz = fy * nz - fz * ny, fz * nx - fx * nz, fx * ny - fy * nx
    rise = dx * hx + dy * hy + dz * hz
    if not ((area > FLAT) & (rise > 0.0) & (rise < area)):
        return False, 0.0, 0.0
    s = rise / area
    t = (s * (ex * fx + ey * fy + ez * fz) - (dx * fx + dy * fy + dz * fz)) * inverse
    return (t > 0.0) & (t < 1.0), s, t


@helper
def bound_below(square, size):
    """What squares must be below to be nearer by more than the margin."""
    length = max(math.sqrt(square) - MARGIN * size, 0.0)
    return length * length


@helper
def certified(g, x, y, z, share_of):
    """Are all ways from corner to corner at least that share of r² long along r = (x, y, z)? Then so is the distance of |r|, and nothing
    can be nearer by more."""
    least = math.inf
    for i in range(9):
        least = min(least, g[3 * i] * x + g[3 * i + 1] * y + g[3 * i + 2] * z)
    return least >= share_of * (x * x + y * y + z * z)


@helper
def between(g, x, y, z, size):
    """Is a plane across r = (x, y, z) certainly between the triangles?"""
    least = math.inf
    for i in range(9):
        least = min(least, g[3 * i] * x + g[3 * i + 1] * y + g[3 * i + 2] * z)
    return least > SURE * size * (abs(x) + abs(y) + abs(z))


@helper
def way(g, kind, i, j, s, t):
    """The way r from the point on A to that on B of a candidate."""
    at = 9 * (start(i) if kind == EDGE_CORNER or kind == EDGES else 0 if kind == FACE_CORNER else i)
    at += 3 * (start(j) if kind == CORNER_EDGE or kind == EDGES else 0 if kind == CORNER_FACE else j)
    x, y, z = g[at], g[at + 1], g[at + 2]
    if kind == EDGE_CORNER or kind == EDGES:
        e = EDGES_A + 3 * i
        x, y, z = x - s * g[e], y - s * g[e + 1], z - s * g[e + 2]
    if kind == CORNER_EDGE or kind == EDGES:
        e = EDGES_B + 3 * j
        x, y, z = x + t * g[e], y + t * g[e + 1], z + t * g[e + 2]
    if kind == FACE_CORNER or kind == CORNER_FACE:
        e = EDGES_A if kind == FACE_CORNER else EDGES_B
        one = -1.0 if kind == FACE_CORNER else 1.0
        x += one * (s * g[e + 6] + t * g[e + 3])
        y += one * (s * g[e + 7] + t * g[e + 4])
        z += one * (s * g[e + 8] + t * g[e + 5])
    return x, y, z


@helper
def put_weights(w, kind, i, j, s, t):
    """The weights of the corners of A, w[0 : 3], and of B, w[3 : 6], in the points of a candidate."""
    for k in range(6):
        w[k] = 0.0
    if kind == EDGE_CORNER or kind == EDGES:
        w[start(i)], w[end(i)] = 1.0 - s, s
    elif kind == FACE_CORNER:
        w[0], w[1], w[2] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[i] = 1.0
    if kind == CORNER_EDGE or kind == EDGES:
        w[3 + start(j)], w[3 + end(j)] = 1.0 - t, t
    elif kind == CORNER_FACE:
        w[3], w[4], w[5] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[3 + j] = 1.0


@routine
def nearest(c, size, w):
    """(the distance of two sorted triangles of which none is inside the other, is a plane certainly between them); weights into w."""
    g, face = floats(NUMBERS), floats(12)
    measure(c, g)
    kind, at_a, at_b, s, t = CORNERS, 0, 0, 0.0, 0.0
    best = math.inf
    for i in range(3):
        for j in range(3):
            at = 9 * i + 3 * j
            square = g[at] * g[at] + g[at + 1] * g[at + 1] + g[at + 2] * g[at + 2]
            if square < best:
                best, at_a, at_b = square, i, j
    x, y, z = way(g, CORNERS, at_a, at_b, 0.0, 0.0)
    if not certified(g, x, y, z, NEAREST):
        limit = bound_below(best, size)
        for i in range(3):
            for j in range(3):
                at = 9 * start(i) + 3 * j
                square, share_of = from_edge(g[at], g[at + 1], g[at + 2], g, EDGES_A + 3 * i, g[INVERSES + i])
                if square < limit:
                    best, limit, kind, at_a, at_b, s = square, square, EDGE_CORNER, i, j, share_of
                at = 9 * i + 3 * start(j)
                square, share_of = from_edge(-g[at], -g[at + 1], -g[at + 2], g, EDGES_B + 3 * j, g[INVERSES + 3 + j])
                if square < limit:
                    best, limit, kind, at_a, at_b, t = square, square, CORNER_EDGE, i, j, share_of
        x, y, z = way(g, kind, at_a, at_b, s, t)
        if kind == CORNERS or not certified(g, x, y, z, NEAREST):
            limit = bound_below(best, size)
            for i in range(3):
                ex, ey, ez = g[EDGES_A + 3 * i], g[EDGES_A + 3 * i + 1], g[EDGES_A + 3 * i + 2]
                for j in range(3):
                    at, f = 9 * start(i) + 3 * start(j), EDGES_B + 3 * j
                    dx, dy, dz = g[at], g[at + 1], g[at + 2]
                    if second_leads(c, g, i, j):
                        found, p, q = feet(dx, dy, dz, ex, ey, ez, g[f], g[f + 1], g[f + 2], g[SQUARES + 3 + j], g[INVERSES + 3 + j])
                    else:
                        found, q, p = feet(-dx, -dy, -dz, g[f], g[f + 1], g[f + 2], ex, ey, ez, g[SQUARES + i], g[INVERSES + i])
                    if found:
                        x, y, z = way(g, EDGES, i, j, p, q)
                        square = x * x + y * y + z * z
                        if square < limit:
                            best, limit, kind, at_a, at_b, s, t = square, square, EDGES, i, j, p, q
            for one in range(2):
                e, f, k = (EDGES_A + 6, EDGES_A + 3, 2) if one == 0 else (EDGES_B + 6, EDGES_B + 3, 5)
                if not put_face(g[e], g[e + 1], g[e + 2], g[f], g[f + 1], g[f + 2], g[INVERSES + k], face, 0):
                    continue
                for i in range(3):
                    at = 3 * i if one == 0 else 9 * i
                    sign = 1.0 if one == 0 else -1.0
                    inside, p, q = foot(sign * g[at], sign * g[at + 1], sign * g[at + 2], face, 0)
                    if inside:
                        this = FACE_CORNER if one == 0 else CORNER_FACE
                        x, y, z = way(g, this, i, i, p, q)
                        square = x * x + y * y + z * z
                        if square < limit:
                            best, limit, kind, at_a, at_b, s, t = square, square, this, i, i, p, q
            x, y, z = way(g, kind, at_a, at_b, s, t)
    put_weights(w, kind, at_a, at_b, s, t)
    return math.sqrt(best), between(g, x, y, z, size)


@helper
def second_leads(c, g, i, j):
    """Which of two edges is the second of `feet`: the longer one, or the later one, so that it is the same for all faces that share it."""
    p, q = g[SQUARES + i], g[SQUARES + 3 + j]
    if p != q:
        return q > p
    a, b = 3 * start(i), SECOND + 3 * start(j)
    return before(c, 3 * end(i), SECOND + 3 * end(j)) if same(c, a, b) else before(c, a, b)


# --- two triangles -----------------------------------------------------------------------------------------------------------

@helper
def low_and_high(c, k, n):
    """The least and the greatest of c[k], c[k + 3], … of n points."""
    low = high = c[k]
    for i in range(1, n):
        low, high = min(low, c[k + 3 * i]), max(high, c[k + 3 * i])
    return low, high


@routine
def nearest_scaled(c, half, w):
    """`nearest` of any finite numbers; half of M is given, which need not be a number of float64."""
    y = floats(18)
    first, size = 1.0, 0.0
    if half > LARGE:
        first, size = 0.25, 0.5 * half
    else:
        for k in range(3):
            low, high = low_and_high(c, k, 6)
            size = max(size, high - low)
    e = math.frexp(size)[1]
    for k in range(3):
        low = low_and_high(c, k, 6)[0]
        for i in range(6):
            y[3 * i + k] = scaled(c[3 * i + k] * first - low * first, -e)
    distance, apart = nearest(y, 1.0, w)
    return scaled(distance, e) if first == 1.0 else scaled(distance, e + 2), apart


@helper
def put_mean(c, a, w, at, out, to):
    """The weighted mean of three corners, inside their box."""
    for k in range(3):
        x, y, z = c[a + k], c[a + 3 + k], c[a + 6 + k]
        mean = x * w[at] + y * w[at + 1] + z * w[at + 2]
        out[to + k] = min(max(mean, min(x, min(y, z))), max(x, max(y, z)))


@kernel
def triangle_gap(t, plain):
    """The distance of two triangles at t[0 : 9] and t[9 : 18], put at t[24], and their nearest points, at t[18 : 21] and t[21 : 24].

    0 if they meet, which is exact, and the distance is 0 then (of the points each is on its triangle, but they need not be one); else 1.
    Plus EXACT where exact arithmetic was needed. `plain`: all corners are in the range of the filters of `geometry/predicates.py`."""
    c, w = floats(18), floats(6)
    swapped = put_sorted(t, c)
    half, boxes = 0.0, True
    for k in range(3):
        low_a, high_a = low_and_high(c, k, 3)
        low_b, high_b = low_and_high(c, SECOND + k, 3)
        half = max(half, 0.5 * max(high_a, high_b) - 0.5 * min(low_a, low_b))
        boxes = boxes and low_a <= high_b and low_b <= high_a
    size = 2.0 * half if half <= LARGE else LARGE
    if half >= SMALL and half <= LARGE:
        distance, apart = nearest(c, size, w)
    else:
        distance, apart = nearest_scaled(c, half, w)
    put_mean(c, 0, w, 0, t, POINTS + 3 if swapped else POINTS)
    put_mean(c, SECOND, w, 3, t, POINTS if swapped else POINTS + 3)
    stage = 0
    if boxes and not apart:
        stage = overlap_stage(t, 0, SECOND) if plain else EXACT + overlap_exact(t, 0, SECOND)
    meet = stage & 1
    t[DISTANCE] = 0.0 if meet else max(distance, LEAST)
    return np.int64(1 - meet + (stage & EXACT))


@cache
def gap_entry():
    """(address, what keeps it alive) of `triangle_gap` for 26 float64; see `core/call.py`."""
    def enter(corners, plain):
        return triangle_gap(array_at(pointer(corners), ROOM, np.float64), plain != 0)

    return address_of(triangle_gap if DISABLED else enter)
