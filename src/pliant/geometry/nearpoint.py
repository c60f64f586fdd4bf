"""One point against a leaf of eight triangles, in float32: how far is it from each, at least and at most?

Corners are relative to the point, which is 0. A nearest point is sought on the three edges and in the face; it need not be the nearest, but
is always a point of the triangle, a mean of corners with weights from 0 to 1, so its distance is not too short (but for rounding); and
along its direction the triangle is nowhere nearer than its nearest corner: a bound that is not too long, as in `geometry/near.py`.

What rounds is less than ROUNDING of the largest distance of a corner: of the distance itself, and of the size of the leaf.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import greatest, least, root, where
from pliant.geometry.near import ONE, SHORT, TINY, ZERO, clamped, dot, nearer

INF = np.float32(np.inf)


@helper
def on_edge(best, ax, ay, az, ux, uy, uz):
    """The point of the edge a + t u that is nearest to 0, if it is nearer."""
    t = clamped(-dot(ax, ay, az, ux, uy, uz) / greatest(dot(ux, uy, uz, ux, uy, uz), TINY))
    return nearer(best, ax + t * ux, ay + t * uy, az + t * uz)


@helper
def bound_points(t, x, y, z):
    """(least, most) distance of the point (x, y, z) from triangles t: vectors."""
    ax, ay, az, bx, by, bz, cx, cy, cz = t.ax - x, t.ay - y, t.az - z, t.bx - x, t.by - y, t.bz - z, t.cx - x, t.cy - y, t.cz - z
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    # Weights of the foot in the plane, and where it is beyond an edge of a point that is in the triangle all the same.
    p = greatest(dot(by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx, nx, ny, nz), ZERO)
    q = greatest(dot(cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax, nx, ny, nz), ZERO)
    r = greatest(dot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx, nx, ny, nz), ZERO)
    total = p + (q + r)
    over = ONE / total
    p, q, r = p * over, q * over, r * over
    mx, my, mz = dot(p, q, r, ax, bx, cx), dot(p, q, r, ay, by, cy), dot(p, q, r, az, bz, cz)
    best = where(total > TINY, dot(mx, my, mz, mx, my, mz), INF), mx, my, mz
    best = on_edge(best, ax, ay, az, ux, uy, uz)
    best = on_edge(best, ax, ay, az, vx, vy, vz)
    best = on_edge(best, bx, by, bz, vx - ux, vy - uy, vz - uz)
    far = root(greatest(best[0], TINY))                                 # squares may have underflowed: no direction is longer than 1
    short = SHORT / far
    x, y, z = best[1] * short, best[2] * short, best[3] * short
    return least(dot(x, y, z, ax, ay, az), least(dot(x, y, z, bx, by, bz), dot(x, y, z, cx, cy, cz))), far
