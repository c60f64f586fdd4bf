"""Closest points of corners and edges on edges and faces: the candidates of `geometry/triangle_distance.py`, which proves their precision.

Two sorted triangles lie in one buffer of 18 numbers, A at 0 and B at TRI_B. Edge k is opposite corner k; it runs from the earlier corner
to the later one, so it is the same in every face. Three vector lanes hold the corners or edges of one triangle.

EDGE_PAIR_ERROR, of `edge_pair_filter`. With L the longest edge and M the largest difference of coordinates, U = 2**-53: n = e × f by
rounded products is off by less than 6 U L², whatever cancels, and |d| <= 1.8 M. So d · n is off by less than 20 U M L², d · (f × n) by
less than 40 U M L³, and n² by 20 U L⁴ <= 40 U M L³. EDGE_PAIR_ERROR = 256 U.
"""
import math
from typing import NamedTuple

from pliant.core.jit import helper, routine
from pliant.core.simd import fabs, maximum, minimum, movemask, vector4
from pliant.geometry.expansion import two_product
from pliant.geometry.triangle_overlap import lex_less, same_point

TRI_B = 9
MIN_SQUARE = 1e-280                                                     # squared lengths and areas below this count as 0
EDGE_PAIR_ERROR = 2.0**-45
CORNER_CORNER, EDGE_CORNER, CORNER_EDGE, EDGE_EDGE, FACE_CORNER, CORNER_FACE = range(6)  # kinds of candidates


# --- order -------------------------------------------------------------------------------------------------------------------

@helper
def before_branchless(t, p, q):
    """`lex_less` without branches, which would be mispredicted."""
    return (t[p] < t[q]) | ((t[p] == t[q]) & ((t[p + 1] < t[q + 1]) | ((t[p + 1] == t[q + 1]) & (t[p + 2] < t[q + 2]))))


@helper
def sort_corners(t, a):
    """The offsets of the corners of the triangle at a, sorted."""
    p, q, r = a, a + 3, a + 6
    swap = before_branchless(t, q, p)
    p, q = q if swap else p, p if swap else q
    swap = before_branchless(t, r, q)
    q, r = r if swap else q, q if swap else r
    swap = before_branchless(t, q, p)
    return q if swap else p, p if swap else q, r


@helper
def copy_point(t, p, c, at):
    c[at], c[at + 1], c[at + 2] = t[p], t[p + 1], t[p + 2]


@helper
def sort_triangles(t, c):
    """Copy two triangles with their corners sorted, and the triangles sorted by them; were the triangles swapped?"""
    p, q, r = sort_corners(t, 0)
    i, j, k = sort_corners(t, TRI_B)
    swap = lex_less(t, i, p)
    if same_point(t, p, i):
        swap = lex_less(t, k, r) if same_point(t, q, j) else lex_less(t, j, q)
    a, b = (TRI_B, 0) if swap else (0, TRI_B)
    copy_point(t, p, c, a)
    copy_point(t, q, c, a + 3)
    copy_point(t, r, c, a + 6)
    copy_point(t, i, c, b)
    copy_point(t, j, c, b + 3)
    copy_point(t, k, c, b + 6)
    return swap


# --- candidates --------------------------------------------------------------------------------------------------------------

class Vectors(NamedTuple):
    """Three vectors or points in four lanes; the last one is repeated."""
    x: float
    y: float
    z: float


@helper
def load_points(c, p, q, r):
    """The points at p, q and r."""
    return Vectors(vector4(c[p], c[q], c[r], c[r]), vector4(c[p + 1], c[q + 1], c[r + 1], c[r + 1]),
                   vector4(c[p + 2], c[q + 2], c[r + 2], c[r + 2]))


@helper
def edge_starts(c, b):
    """The first corners of the three edges."""
    return load_points(c, b + 3, b, b)


@helper
def edge_ends(c, b):
    return load_points(c, b + 6, b + 6, b + 3)


@helper
def subtract(a, x, y, z):
    return Vectors(a.x - x, a.y - y, a.z - z)


@helper
def dot(a, b):
    return a.x * b.x + a.y * b.y + a.z * b.z


@helper
def dot_one(a, x, y, z):
    return a.x * x + a.y * y + a.z * z


@helper
def edge_start(k):
    return 3 if k == 0 else 0


@helper
def edge_end(k):
    return 3 if k == 2 else 6


@helper
def difference(c, p, q):
    """q − p."""
    return c[q] - c[p], c[q + 1] - c[p + 1], c[q + 2] - c[p + 2]


@helper
def cross(ax, ay, az, bx, by, bz):
    """a × b, each component right to a few U of itself (PRECISION in `geometry/triangle_distance.py`)."""
    return difference_of_products(ay, bz, az, by), difference_of_products(az, bx, ax, bz), difference_of_products(ax, by, ay, bx)


@helper
def difference_of_products(a, b, c, d):
    """a b − c d, from exact products."""
    p, p_low = two_product(a, b)
    q, q_low = two_product(c, d)
    return (p - q) + (p_low - q_low)


@helper
def clamp01(x):
    """x clamped to [0, 1]."""
    return minimum(maximum(x, 0.0), 1.0)


@helper
def safe_inverse(square):
    return 1.0 / square if square > MIN_SQUARE else 0.0


@helper
def squares_to_edge(a, ex, ey, ez, inverse):
    """The squared distances of points a from the edge e; a is relative to the start of the edge."""
    t = clamp01(dot_one(a, ex, ey, ez) * inverse)
    offsets = Vectors(a.x - t * ex, a.y - t * ey, a.z - t * ez)
    return dot(offsets, offsets)


@helper
def squares_to_edges(a, e, inverse):
    """The squared distances of one point from three edges e; a is the point relative to the start of each edge."""
    t = clamp01(dot(a, e) * inverse)
    offsets = Vectors(a.x - t * e.x, a.y - t * e.y, a.z - t * e.z)
    return dot(offsets, offsets)


@helper
def edge_parameter(c, p, q, x):
    """The parameter, from 0 to 1, of the point on the edge from p to q that is closest to the point at x."""
    ex, ey, ez = difference(c, p, q)
    wx, wy, wz = difference(c, p, x)
    return clamp01((wx * ex + wy * ey + wz * ez) * safe_inverse(ex * ex + ey * ey + ez * ez))


@helper
def candidate_offset(c, kind, i, j, s, t):
    """The offset r of a candidate, from its point on A to its point on B."""
    p = edge_start(i) if kind == EDGE_CORNER or kind == EDGE_EDGE else 0 if kind == FACE_CORNER else 3 * i
    q = TRI_B + (edge_start(j) if kind == CORNER_EDGE or kind == EDGE_EDGE else 0 if kind == CORNER_FACE else 3 * j)
    x, y, z = difference(c, p, q)
    if kind == EDGE_CORNER or kind == EDGE_EDGE:
        ex, ey, ez = difference(c, p, edge_end(i))
        x, y, z = x - s * ex, y - s * ey, z - s * ez
    if kind == CORNER_EDGE or kind == EDGE_EDGE:
        ex, ey, ez = difference(c, q, TRI_B + edge_end(j))
        x, y, z = x + t * ex, y + t * ey, z + t * ez
    if kind == FACE_CORNER or kind == CORNER_FACE:
        a = 0 if kind == FACE_CORNER else TRI_B
        sign = -1.0 if kind == FACE_CORNER else 1.0
        ex, ey, ez = difference(c, a, a + 3)
        fx, fy, fz = difference(c, a, a + 6)
        x, y, z = x + sign * (s * ex + t * fx), y + sign * (s * ey + t * fy), z + sign * (s * ez + t * fz)
    return x, y, z


@helper
def put_weights(w, kind, i, j, s, t):
    """Set w[0 : 3] and w[3 : 6] to the barycentric coordinates of a candidate's points on A and on B."""
    for k in range(6):
        w[k] = 0.0
    if kind == EDGE_CORNER or kind == EDGE_EDGE:
        w[edge_start(i) // 3], w[edge_end(i) // 3] = 1.0 - s, s
    elif kind == FACE_CORNER:
        w[0], w[1], w[2] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[i] = 1.0
    if kind == CORNER_EDGE or kind == EDGE_EDGE:
        w[3 + edge_start(j) // 3], w[3 + edge_end(j) // 3] = 1.0 - t, t
    elif kind == CORNER_FACE:
        w[3], w[4], w[5] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[3 + j] = 1.0


@helper
def edge_pair_filter(d, ex, ey, ez, f, limit, size, longest):
    """Mask of the edges f that may have a closest pair of points with the edge e, interior to both edges and closer than sqrt(limit). d is
    the offset from start to start, `longest` the square of the longest edge."""
    n = Vectors(ey * f.z - ez * f.y, ez * f.x - ex * f.z, ex * f.y - ey * f.x)
    area, line = dot(n, n), dot(d, n)
    rise = dot(d, Vectors(f.y * n.z - f.z * n.y, f.z * n.x - f.x * n.z, f.x * n.y - f.y * n.x))
    fall = d.x * (ey * n.z - ez * n.y) + d.y * (ez * n.x - ex * n.z) + d.z * (ex * n.y - ey * n.x)
    line_error = EDGE_PAIR_ERROR * size * longest
    error, area_max = line_error * math.sqrt(longest), area + EDGE_PAIR_ERROR * (longest * longest)
    line = maximum(fabs(line) - line_error, 0.0)
    return movemask((rise > -error) & (rise < area + error) & (fall > -error) & (fall < area + error)
                    & (line * line <= area_max * limit)) & 7


@helper
def edge_edge_parameters(dx, dy, dz, ex, ey, ez, fx, fy, fz):
    """(found, s, t): the closest points s e and d + t f of the lines of two edges; found if both are interior to the edges."""
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    rise = dx * (fy * nz - fz * ny) + dy * (fz * nx - fx * nz) + dz * (fx * ny - fy * nx)
    if not ((area > MIN_SQUARE) & (rise > 0.0) & (rise < area)):
        return False, 0.0, 0.0
    s = rise / area
    t = (s * (ex * fx + ey * fy + ez * fz) - (dx * fx + dy * fy + dz * fz)) * safe_inverse(fx * fx + fy * fy + fz * fz)
    return (t > 0.0) & (t < 1.0), s, t


@helper
def second_is_reference(c, i, j):
    """Is edge j of B the second edge of `edge_edge_parameters`? That is the longer one, or the later one, so that it is the same for all
    faces that share it."""
    ex, ey, ez = difference(c, edge_start(i), edge_end(i))
    fx, fy, fz = difference(c, TRI_B + edge_start(j), TRI_B + edge_end(j))
    p, q = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
    if p != q:
        return q > p
    a, b = edge_start(i), TRI_B + edge_start(j)
    return lex_less(c, edge_end(i), TRI_B + edge_end(j)) if same_point(c, a, b) else lex_less(c, a, b)


@routine
def edge_pair_parameters(c, i, j):
    """`edge_edge_parameters` of edge i of A and edge j of B."""
    dx, dy, dz = difference(c, edge_start(i), TRI_B + edge_start(j))
    ex, ey, ez = difference(c, edge_start(i), edge_end(i))
    fx, fy, fz = difference(c, TRI_B + edge_start(j), TRI_B + edge_end(j))
    if second_is_reference(c, i, j):
        return edge_edge_parameters(dx, dy, dz, ex, ey, ez, fx, fy, fz)
    found, t, s = edge_edge_parameters(-dx, -dy, -dz, fx, fy, fz, ex, ey, ez)
    return found, s, t


@helper
def face_uv(c, a, p):
    """(mask, u, v): the projections u e + v f of three points p onto the plane of the triangle at a; the mask has those inside the
    triangle. p is relative to the first corner."""
    ex, ey, ez = difference(c, a, a + 3)
    fx, fy, fz = difference(c, a, a + 6)
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    v = dot_one(p, ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex) * safe_inverse(area)
    u = (dot_one(p, ex, ey, ez) - v * (ex * fx + ey * fy + ez * fz)) * safe_inverse(ex * ex + ey * ey + ez * ez)
    return movemask((u > 0.0) & (v > 0.0) & (u + v < 1.0)) & 7, u, v
