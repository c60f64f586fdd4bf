"""Feet of corners and edges on edges and faces: the candidates of `geometry/triangle_distance.py`, which says why they are precise.

Two sorted triangles lie in one buffer of 18 numbers, A at 0 and B at SECOND. Edge k is opposite corner k; it runs from the earlier corner
to the later one, so it is the same in every face. Where three lanes are at work, they are the corners or edges of one triangle.

DOUBT of `edges_near`. With L the longest edge and M the largest difference of coordinates, U = 2**-53: n = e × f by rounded products is off
by less than 6 U L², whatever cancels, and |d| <= 1.8 M. So d · n is off by less than 20 U M L², d · (f × n) by less than 40 U M L³, and
n² by 20 U L⁴ <= 40 U M L³. DOUBT = 256 U.
"""
import math
from typing import NamedTuple

from pliant.core.jit import helper, routine
from pliant.core.simd import bits, greatest, least, magnitude, quad
from pliant.geometry.expansion import two_product
from pliant.geometry.triangle_overlap import before, same

SECOND = 9
FLAT = 1e-280                                                           # squares of lengths and areas below count as 0
DOUBT = 2.0**-45
CORNERS, EDGE_CORNER, CORNER_EDGE, EDGES, FACE_CORNER, CORNER_FACE = range(6)    # kinds of candidates


# --- order -------------------------------------------------------------------------------------------------------------------

@helper
def comes_before(t, p, q):
    """`before` without branches, which would be mispredicted."""
    return (t[p] < t[q]) | ((t[p] == t[q]) & ((t[p + 1] < t[q + 1]) | ((t[p + 1] == t[q + 1]) & (t[p + 2] < t[q + 2]))))


@helper
def in_order(t, a):
    """The offsets of the corners of the triangle at a, sorted."""
    p, q, r = a, a + 3, a + 6
    swap = comes_before(t, q, p)
    p, q = q if swap else p, p if swap else q
    swap = comes_before(t, r, q)
    q, r = r if swap else q, q if swap else r
    swap = comes_before(t, q, p)
    return q if swap else p, p if swap else q, r


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

class Lanes(NamedTuple):
    """Three vectors, or points, in four lanes; the last is twice in."""
    x: float
    y: float
    z: float


@helper
def lanes_of(c, p, q, r):
    """The points at p, q and r."""
    return Lanes(quad(c[p], c[q], c[r], c[r]), quad(c[p + 1], c[q + 1], c[r + 1], c[r + 1]), quad(c[p + 2], c[q + 2], c[r + 2], c[r + 2]))


@helper
def starts_of(c, b):
    """The first corners of the three edges."""
    return lanes_of(c, b + 3, b, b)


@helper
def ends_of(c, b):
    return lanes_of(c, b + 6, b + 6, b + 3)


@helper
def minus(a, x, y, z):
    return Lanes(a.x - x, a.y - y, a.z - z)


@helper
def dot(a, b):
    return a.x * b.x + a.y * b.y + a.z * b.z


@helper
def along(a, x, y, z):
    return a.x * x + a.y * y + a.z * z


@helper
def start(k):
    return 3 if k == 0 else 0


@helper
def end(k):
    return 3 if k == 2 else 6


@helper
def difference(c, p, q):
    """q − p."""
    return c[q] - c[p], c[q + 1] - c[p + 1], c[q + 2] - c[p + 2]


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
    return least(greatest(x, 0.0), 1.0)


@helper
def inverse_of(square):
    return 1.0 / square if square > FLAT else 0.0


@helper
def from_edge(a, ex, ey, ez, inverse):
    """The squared distances of points, seen from the start of the edge e, from their feet on the edge."""
    t = share(along(a, ex, ey, ez) * inverse)
    feet = Lanes(a.x - t * ex, a.y - t * ey, a.z - t * ez)
    return dot(feet, feet)


@helper
def from_edges(a, e, inverse):
    """The same of one point, seen from the starts of three edges."""
    t = share(dot(a, e) * inverse)
    feet = Lanes(a.x - t * e.x, a.y - t * e.y, a.z - t * e.z)
    return dot(feet, feet)


@helper
def edge_share(c, p, q, x):
    """Where the foot of the point at x on the edge from p to q is, from 0 to 1."""
    ex, ey, ez = difference(c, p, q)
    wx, wy, wz = difference(c, p, x)
    return share((wx * ex + wy * ey + wz * ez) * inverse_of(ex * ex + ey * ey + ez * ez))


@helper
def way(c, kind, i, j, s, t):
    """The way r from the point on A to that on B of a candidate."""
    p = start(i) if kind == EDGE_CORNER or kind == EDGES else 0 if kind == FACE_CORNER else 3 * i
    q = SECOND + (start(j) if kind == CORNER_EDGE or kind == EDGES else 0 if kind == CORNER_FACE else 3 * j)
    x, y, z = difference(c, p, q)
    if kind == EDGE_CORNER or kind == EDGES:
        ex, ey, ez = difference(c, p, end(i))
        x, y, z = x - s * ex, y - s * ey, z - s * ez
    if kind == CORNER_EDGE or kind == EDGES:
        ex, ey, ez = difference(c, q, SECOND + end(j))
        x, y, z = x + t * ex, y + t * ey, z + t * ez
    if kind == FACE_CORNER or kind == CORNER_FACE:
        a = 0 if kind == FACE_CORNER else SECOND
        one = -1.0 if kind == FACE_CORNER else 1.0
        ex, ey, ez = difference(c, a, a + 3)
        fx, fy, fz = difference(c, a, a + 6)
        x, y, z = x + one * (s * ex + t * fx), y + one * (s * ey + t * fy), z + one * (s * ez + t * fz)
    return x, y, z


@helper
def put_weights(w, kind, i, j, s, t):
    """The weights of the corners of A, w[0 : 3], and of B, w[3 : 6], in the points of a candidate."""
    for k in range(6):
        w[k] = 0.0
    if kind == EDGE_CORNER or kind == EDGES:
        w[start(i) // 3], w[end(i) // 3] = 1.0 - s, s
    elif kind == FACE_CORNER:
        w[0], w[1], w[2] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[i] = 1.0
    if kind == CORNER_EDGE or kind == EDGES:
        w[3 + start(j) // 3], w[3 + end(j) // 3] = 1.0 - t, t
    elif kind == CORNER_FACE:
        w[3], w[4], w[5] = max(1.0 - (s + t), 0.0), s, t
    else:
        w[3 + j] = 1.0


@helper
def edges_near(d, ex, ey, ez, f, limit, size, longest):
    """Which of the edges f may have feet inside the edge e and inside itself, nearer than the root of `limit`? d is the way from start to
    start, `longest` the square of the longest edge."""
    n = Lanes(ey * f.z - ez * f.y, ez * f.x - ex * f.z, ex * f.y - ey * f.x)
    area, line = dot(n, n), dot(d, n)
    rise = dot(d, Lanes(f.y * n.z - f.z * n.y, f.z * n.x - f.x * n.z, f.x * n.y - f.y * n.x))
    other = d.x * (ey * n.z - ez * n.y) + d.y * (ez * n.x - ex * n.z) + d.z * (ex * n.y - ey * n.x)
    across = DOUBT * size * longest
    doubt, more = across * math.sqrt(longest), area + DOUBT * (longest * longest)
    line = greatest(magnitude(line) - across, 0.0)
    return bits((rise > -doubt) & (rise < area + doubt) & (other > -doubt) & (other < area + doubt) & (line * line <= more * limit)) & 7


@helper
def feet(dx, dy, dz, ex, ey, ez, fx, fy, fz):
    """(found, s, t): the points s e and d + t f of two edges that are next to each other, if both are inside."""
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    rise = dx * (fy * nz - fz * ny) + dy * (fz * nx - fx * nz) + dz * (fx * ny - fy * nx)
    if not ((area > FLAT) & (rise > 0.0) & (rise < area)):
        return False, 0.0, 0.0
    s = rise / area
    t = (s * (ex * fx + ey * fy + ez * fz) - (dx * fx + dy * fy + dz * fz)) * inverse_of(fx * fx + fy * fy + fz * fz)
    return (t > 0.0) & (t < 1.0), s, t


@helper
def second_leads(c, i, j):
    """Which of two edges is the second of `feet`: the longer one, or the later one, so that it is the same for all faces that share it."""
    ex, ey, ez = difference(c, start(i), end(i))
    fx, fy, fz = difference(c, SECOND + start(j), SECOND + end(j))
    p, q = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
    if p != q:
        return q > p
    a, b = start(i), SECOND + start(j)
    return before(c, end(i), SECOND + end(j)) if same(c, a, b) else before(c, a, b)


@routine
def edge_feet(c, i, j):
    """`feet` of edge i of A and edge j of B."""
    dx, dy, dz = difference(c, start(i), SECOND + start(j))
    ex, ey, ez = difference(c, start(i), end(i))
    fx, fy, fz = difference(c, SECOND + start(j), SECOND + end(j))
    if second_leads(c, i, j):
        return feet(dx, dy, dz, ex, ey, ez, fx, fy, fz)
    found, t, s = feet(-dx, -dy, -dz, fx, fy, fz, ex, ey, ez)
    return found, s, t


@helper
def face_feet(c, a, p):
    """(which, u, v): the feet of three points p, seen from the first corner of the triangle at a, as u e + v f; which are inside."""
    ex, ey, ez = difference(c, a, a + 3)
    fx, fy, fz = difference(c, a, a + 6)
    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    v = along(p, ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex) * inverse_of(area)
    u = (along(p, ex, ey, ez) - v * (ex * fx + ey * fy + ez * fz)) * inverse_of(ex * ex + ey * ey + ez * ez)
    return bits((u > 0.0) & (v > 0.0) & (u + v < 1.0)) & 7, u, v
