"""One point against a leaf of eight triangles, in float32: how far is it from each, at least and at most?

Corners are relative to the point, which is 0. A nearest point is sought on the three edges and in the face; it need not be the nearest, but
is always a point of the triangle, a mean of corners with weights from 0 to 1, so its distance is not too short (but for rounding); and
along its direction the triangle is nowhere nearer than its nearest corner: a bound that is not too long, as in
`geometry/distance_bounds.py`.

ROUNDING. e = 2**-24, D the largest distance of a corner, which is at most that of the nearest point plus the size of the leaf. A corner
made relative is off by e D. Whatever p, q, r come out as, none is below 0, and their shares are the weights of a point of the triangle:
what counts is rounded after that, two sums, a quotient and a product for the weights, three more for the mean, relative to weights times
corners before these cancel. With that of the corners the point is off by less than 8 e D, and its length by 3 e of itself: the upper
bound is too short by less than 11 e D. The lower bound is as in `distance_bounds.py`: off by less than 4.7 e D for the products and e D
for the corners. ROUNDING is 16 e.

RANGE. With S the size of a leaf, weights are below 12 D² S², and their sum below 36 D² S²: D S <= 2**60 keeps it below 2**126, and its
inverse a normal number. An infinite sum would make the point, and with it both bounds, no number, and the triangle would be lost: callers
see to it (MAX_PRODUCT in `query/proximity/closest_point.py`). As in `distance_bounds.py` a way shorter than 2**-50 is divided by that.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import maximum, minimum, sqrt, where
from pliant.geometry.distance_bounds import MIN_SQUARE, ONE, SHRINK, ZERO, clamp01, dot, shorter_vector

INF = np.float32(np.inf)
MIN_LENGTH = np.float32(2.0**-50)                                       # the root of TINY


@helper
def edge_vector(best, ax, ay, az, ux, uy, uz):
    """The point of the edge a + t u that is nearest to 0, if it is nearer."""
    t = clamp01(-dot(ax, ay, az, ux, uy, uz) / maximum(dot(ux, uy, uz, ux, uy, uz), MIN_SQUARE))
    return shorter_vector(best, ax + t * ux, ay + t * uy, az + t * uz)


@helper
def bound_point_distances(t, x, y, z):
    """(least, most) distance of the point (x, y, z) from triangles t: vectors."""
    ax, ay, az, bx, by, bz, cx, cy, cz = t.ax - x, t.ay - y, t.az - z, t.bx - x, t.by - y, t.bz - z, t.cx - x, t.cy - y, t.cz - z
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    # Weights of the foot in the plane, and where it is beyond an edge of a point that is in the triangle all the same.
    p = maximum(dot(by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx, nx, ny, nz), ZERO)
    q = maximum(dot(cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax, nx, ny, nz), ZERO)
    r = maximum(dot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, nx, ny, nz), ZERO)
    total = p + (q + r)
    inverse_total = ONE / total
    p, q, r = p * inverse_total, q * inverse_total, r * inverse_total
    mx, my, mz = dot(p, q, r, ax, bx, cx), dot(p, q, r, ay, by, cy), dot(p, q, r, az, bz, cz)
    best = where(total > MIN_SQUARE, dot(mx, my, mz, mx, my, mz), INF), mx, my, mz
    best = edge_vector(best, ax, ay, az, ux, uy, uz)
    best = edge_vector(best, ax, ay, az, vx, vy, vz)
    best = edge_vector(best, bx, by, bz, vx - ux, vy - uy, vz - uz)
    length = maximum(sqrt(best[0]), MIN_LENGTH)                         # squares may have underflowed: no direction is longer than 1
    inverse_length = SHRINK / length
    x, y, z = best[1] * inverse_length, best[2] * inverse_length, best[3] * inverse_length
    return minimum(dot(x, y, z, ax, ay, az), minimum(dot(x, y, z, bx, by, bz), dot(x, y, z, cx, cy, cz))), length
