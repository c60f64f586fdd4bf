"""Lower bounds of the distances of one float32 triangle from a leaf of eight.

The stage before `geometry/triangle_distance.py`, which computes what remains in float64. The closest points are approximated from the nine
pairs of edges and the six corners above the interior of the other face. This float32 witness direction is unproven. But projecting all
corners on any direction n, |n| <= 1, gives a valid lower bound: the minimum of n · p of one triangle less the maximum of n · q of the
other. Where n points from one closest point to the other, the bound is nearly the distance itself.

ROUNDING. e = 2**-24, coordinates in [0, M], |n| <= 1. In n · p = n_x p_x + (n_y p_y + n_z p_z) the first product passes two roundings, the
others three, relative to their own sizes: less than e M sqrt(4 + 9 + 9) < 4.7 e M on either side, and the difference rounds by 1.8 e M
more: 11.2 e M, and callers allow for 16 (`ROUNDING`). |n| <= 1 holds because of SHRINK: the squared length of an offset is off by less than
8 e of itself, and its root, the quotient and the products with it by less than 4 e more. That needs squares that do not vanish. An offset
shorter than 2**-50 is divided by 2**-50, the root of MIN_SQUARE. In `corner_face_vector` the squared length is height · (height / n²),
never (height / n²)² n², which vanishes where a face is large: a face of 2**27 and a corner 2**-20 above it made n 2**30 long.

RANGE. Squared offsets stay below 3 M² and must be finite: M < 2**63. All else may overflow. Parameters that are NaN become 0 (`clamp01`).
A candidate whose length is infinite or NaN is not shorter. One with n² infinite has the offset 0, which gives no positive bound. So bodies
may be far apart, and leaves large; candidates are lost, which costs time, where n² > 2**128, for leaves of 2**31, or where the size of a
leaf times M exceeds 2**62.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.simd import maximum, minimum, sqrt, where
from pliant.core.stack import load8, load_lane, store_vector
from pliant.geometry.triangle_overlap import Triangle

LEAF_A, LEAF_B, BOUND, AXES = 0, 9, 18, 19                              # rows of eight float32: corners of both leaves; bounds; directions
ROUNDING = np.float32(2.0**-20)                                         # of the largest coordinate
ZERO, ONE, MIN_SQUARE, SHRINK = np.float32(0), np.float32(1), np.float32(2.0**-100), np.float32(1 - 2.0**-20)


@helper
def dot(ax, ay, az, bx, by, bz):
    return ax * bx + (ay * by + az * bz)


@helper
def clamp01(t):
    """t clamped to [0, 1]; 0 if it is NaN."""
    return minimum(maximum(t, ZERO), ONE)


@helper
def shorter_vector(best, x, y, z):
    """The shorter of two offsets: (squared length, x, y, z)."""
    length = dot(x, y, z, x, y, z)
    less = length < best[0]
    return where(less, length, best[0]), where(less, x, best[1]), where(less, y, best[2]), where(less, z, best[3])


@helper
def edge_edge_vector(best, px, py, pz, ux, uy, uz, a, qx, qy, qz, vx, vy, vz, e):
    """The shorter of `best` and the offset from the edge q + t v to the edge p + s u; a and e are the squared lengths of u and v."""
    rx, ry, rz = px - qx, py - qy, pz - qz
    b, c, f = dot(vx, vy, vz, ux, uy, uz), dot(rx, ry, rz, ux, uy, uz), dot(rx, ry, rz, vx, vy, vz)
    s = clamp01((b * f - c * e) / maximum(a * e - b * b, MIN_SQUARE))
    t = clamp01((b * s + f) / maximum(e, MIN_SQUARE))
    s = clamp01((b * t - c) / maximum(a, MIN_SQUARE))
    return shorter_vector(best, rx + (s * ux - t * vx), ry + (s * uy - t * vy), rz + (s * uz - t * vz))


@helper
def corner_face_vector(best, f, n, x, y, z, sign):
    """The shorter of `best` and the offset between the corner (x, y, z) and the plane of the face f with normal n, if the corner projects
    into the face; `sign` −1 reverses it."""
    nx, ny, nz, nn = n
    ax, ay, az = x - f.ax, y - f.ay, z - f.az
    bx, by, bz = x - f.bx, y - f.by, z - f.bz
    cx, cy, cz = x - f.cx, y - f.cy, z - f.cz
    u = dot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, nx, ny, nz)
    v = dot(by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx, nx, ny, nz)
    w = dot(cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax, nx, ny, nz)
    inside = (minimum(u, minimum(v, w)) >= ZERO) & (nn > MIN_SQUARE)
    height = dot(ax, ay, az, nx, ny, nz) * sign
    h = height / maximum(nn, MIN_SQUARE)
    length = h * height                                                 # not h² n², whose h² may vanish
    less = inside & (length < best[0])
    return where(less, length, best[0]), where(less, h * nx, best[1]), where(less, h * ny, best[2]), where(less, h * nz, best[3])


@helper
def normal(t):
    """(x, y, z, squared length) of the normal of a triangle."""
    ux, uy, uz = t.bx - t.ax, t.by - t.ay, t.bz - t.az
    vx, vy, vz = t.cx - t.ax, t.cy - t.ay, t.cz - t.az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return nx, ny, nz, dot(nx, ny, nz, nx, ny, nz)


@helper
def min_along(t, x, y, z):
    """The minimum of n · p over the corners p of triangles, n = (x, y, z)."""
    return minimum(dot(x, y, z, t.ax, t.ay, t.az), minimum(dot(x, y, z, t.bx, t.by, t.bz), dot(x, y, z, t.cx, t.cy, t.cz)))


@helper
def max_along(t, x, y, z):
    """The maximum of n · p over the corners p."""
    return maximum(dot(x, y, z, t.ax, t.ay, t.az), maximum(dot(x, y, z, t.bx, t.by, t.bz), dot(x, y, z, t.cx, t.cy, t.cz)))


@routine
def bound_distances(rows, i):
    """Triangle i of LEAF_A against all of LEAF_B: stores at BOUND lower bounds of their distances, but for ROUNDING, and at AXES the
    directions of these bounds."""
    q = Triangle(load8(rows, 8 * LEAF_B), load8(rows, 8 * LEAF_B + 8), load8(rows, 8 * LEAF_B + 16), load8(rows, 8 * LEAF_B + 24),
                 load8(rows, 8 * LEAF_B + 32), load8(rows, 8 * LEAF_B + 40), load8(rows, 8 * LEAF_B + 48), load8(rows, 8 * LEAF_B + 56),
                 load8(rows, 8 * LEAF_B + 64))
    p = load_lane(rows, LEAF_A, i, q)
    x, y, z = p.ax - q.ax, p.ay - q.ay, p.az - q.az
    best = dot(x, y, z, x, y, z), x, y, z
    n, m = normal(q), normal(p)
    best = corner_face_vector(best, q, n, p.ax, p.ay, p.az, ONE)
    best = corner_face_vector(best, q, n, p.bx, p.by, p.bz, ONE)
    best = corner_face_vector(best, q, n, p.cx, p.cy, p.cz, ONE)
    best = corner_face_vector(best, p, m, q.ax, q.ay, q.az, -ONE)
    best = corner_face_vector(best, p, m, q.bx, q.by, q.bz, -ONE)
    best = corner_face_vector(best, p, m, q.cx, q.cy, q.cz, -ONE)
    for j in range(3):                                                  # edges of LEAF_B, each with the three of triangle i
        at, to = 8 * (LEAF_B + 3 * j), 8 * (LEAF_B + 3 * ((j + 1) % 3))
        qx, qy, qz = load8(rows, at), load8(rows, at + 8), load8(rows, at + 16)
        vx, vy, vz = load8(rows, to) - qx, load8(rows, to + 8) - qy, load8(rows, to + 16) - qz
        e = dot(vx, vy, vz, vx, vy, vz)
        for k in range(3):
            at, to = 8 * (LEAF_A + 3 * k) + i, 8 * (LEAF_A + 3 * ((k + 1) % 3)) + i
            px, py, pz = rows[at], rows[at + 8], rows[at + 16]
            ux, uy, uz = rows[to] - px, rows[to + 8] - py, rows[to + 16] - pz
            best = edge_edge_vector(best, px, py, pz, ux, uy, uz, dot(ux, uy, uz, ux, uy, uz), qx, qy, qz, vx, vy, vz, e)
    inverse_length = SHRINK / sqrt(maximum(best[0], MIN_SQUARE))
    x, y, z = best[1] * inverse_length, best[2] * inverse_length, best[3] * inverse_length
    store_vector(rows, 8 * BOUND, min_along(p, x, y, z) - max_along(q, x, y, z))
    store_vector(rows, 8 * AXES, x)
    store_vector(rows, 8 * AXES + 8, y)
    store_vector(rows, 8 * AXES + 16, z)
