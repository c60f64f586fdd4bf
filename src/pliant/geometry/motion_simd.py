"""One float32 feature that moves against eight: which are certainly apart throughout, by more than a margin?

The stage before `geometry/linear_motion.py`, for a vertex and a face, or two edges, with positions at the start and at the end. Features
and eight of them have the same types: fields are numbers or vectors. Two tests:

- *Directions.* For any fixed direction d, d · (p(t) − q(t)) is linear in t: what is apart along d at both ends, on the same side, is apart
  throughout. Tried are the axes, the way between the centers, the normal halfway, and the directions across each edge halfway.
- *Signs.* The volume of the four points is a cubic in t, whose Bernstein coefficients are determinants that mix the ends. If all have one
  sign, the points are never in one plane.

All corners are local, as in `geometry/overlap_simd.py`: relative to the low corner of a box with sides E_k that holds both features at both
ends; DELTA bounds, per coordinate, the distance from the true corner. The range is the same: coordinates of up to 2**28.

BOUND of a comparison along a direction, whatever it is: 2 DELTA + 12 e E_k for each |d_k|, e = 2**-24, as derived there, and TINY for
underflow. With a margin, a bound of the length of d times the margin is added, and 2**-18 of that for what rounds. The bound is the sum of
the components or √3 times the largest, whichever is less: squares of directions would overflow.
BOUND of a determinant of differences of corners: Σ_k E_k (8 DELTA (E_i + E_j) + 40 e E_i E_j), as there, where rounding needs only 96 of
120 e E_x E_y E_z. Coefficients 1 and 2 are thirds of three determinants: they add 12 for the sum of two minors and 18 for the last sum,
below the 72 that three determinants leave: three times the bound is theirs. Halves of sums that serve as directions need no bound.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, minimum, movemask
from pliant.geometry.overlap_simd import BOUND_FACTOR, E4, E12, E40, EIGHT, TINY, TWO, product_bound

ZERO, HALF, THREE, SQRT3 = np.float32(0), np.float32(0.5), np.float32(3), np.float32(1.7320509)
MARGIN_FACTOR = np.float32(1 + 2.0**-18)


class MovingPoint(NamedTuple):
    """A vertex at the start and at the end."""
    x: float
    y: float
    z: float
    x1: float
    y1: float
    z1: float


class MovingEdge(NamedTuple):
    """Two ends of an edge at the start, then at the end."""
    ax: float
    ay: float
    az: float
    bx: float
    by: float
    bz: float
    ax1: float
    ay1: float
    az1: float
    bx1: float
    by1: float
    bz1: float


class MovingTriangle(NamedTuple):
    """Three corners at the start, then at the end."""
    ax: float
    ay: float
    az: float
    bx: float
    by: float
    bz: float
    cx: float
    cy: float
    cz: float
    ax1: float
    ay1: float
    az1: float
    bx1: float
    by1: float
    bz1: float
    cx1: float
    cy1: float
    cz1: float


class MotionErrors(NamedTuple):
    """What is uncertain: 2 DELTA + 12 e E_k along each axis, and the bound of a determinant."""
    gx: float
    gy: float
    gz: float
    volume: float


@helper
def motion_errors(delta, x, y, z):
    """The errors between features in a box with sides x, y, z around both ends of both; `delta` as the corners had it before they were made
    local."""
    two = TWO * delta
    x, y, z = x + two, y + two, z + two
    delta = delta + E4 * maximum(x, maximum(y, z))                      # the local corner rounds once more, and so does the way to it
    two = TWO * delta
    return MotionErrors((two + E12 * x) * BOUND_FACTOR, (two + E12 * y) * BOUND_FACTOR, (two + E12 * z) * BOUND_FACTOR,
                        product_bound(x, y, z, x, y, z, EIGHT * delta, E40))


@helper
def direction_bound(dx, dy, dz, errors, margin):
    """What a gap along a direction, whose length need not be 1, must exceed."""
    bound = fabs(dx) * errors.gx + (fabs(dy) * errors.gy + (fabs(dz) * errors.gz + TINY))
    if margin > ZERO:
        x, y, z = fabs(dx), fabs(dy), fabs(dz)
        bound = bound + minimum(x + (y + z), SQRT3 * maximum(x, maximum(y, z))) * (margin * MARGIN_FACTOR)
    return bound


@helper
def range_gap(low, high, low1, high1, other_low, other_high, other_low1, other_high1):
    """How far two ranges are apart at both ends, on the same side."""
    return maximum(minimum(other_low - high, other_low1 - high1), minimum(low - other_high, low1 - other_high1))


@helper
def dot(dx, dy, dz, x, y, z):
    return dx * x + (dy * y + dz * z)


@helper
def edge_range(dx, dy, dz, e):
    """(low, high) along a direction at the start, and at the end."""
    a, b = dot(dx, dy, dz, e.ax, e.ay, e.az), dot(dx, dy, dz, e.bx, e.by, e.bz)
    c, d = dot(dx, dy, dz, e.ax1, e.ay1, e.az1), dot(dx, dy, dz, e.bx1, e.by1, e.bz1)
    return minimum(a, b), maximum(a, b), minimum(c, d), maximum(c, d)


@helper
def triangle_range(dx, dy, dz, t):
    a, b, c = dot(dx, dy, dz, t.ax, t.ay, t.az), dot(dx, dy, dz, t.bx, t.by, t.bz), dot(dx, dy, dz, t.cx, t.cy, t.cz)
    p, q, r = dot(dx, dy, dz, t.ax1, t.ay1, t.az1), dot(dx, dy, dz, t.bx1, t.by1, t.bz1), dot(dx, dy, dz, t.cx1, t.cy1, t.cz1)
    return (minimum(a, minimum(b, c)), maximum(a, maximum(b, c)), minimum(p, minimum(q, r)), maximum(p, maximum(q, r)))


@helper
def face_gap(dx, dy, dz, p, t):
    """How far a vertex and a face are apart along a direction, times its length."""
    a, b = dot(dx, dy, dz, p.x, p.y, p.z), dot(dx, dy, dz, p.x1, p.y1, p.z1)
    return range_gap(a, a, b, b, *triangle_range(dx, dy, dz, t))


@helper
def edge_gap(dx, dy, dz, e, o):
    """The same of two edges."""
    return range_gap(*edge_range(dx, dy, dz, e), *edge_range(dx, dy, dz, o))


@helper
def face_parted(dx, dy, dz, p, t, errors, margin):
    return movemask(face_gap(dx, dy, dz, p, t) > direction_bound(dx, dy, dz, errors, margin))


@helper
def edges_parted(dx, dy, dz, e, o, errors, margin):
    return movemask(edge_gap(dx, dy, dz, e, o) > direction_bound(dx, dy, dz, errors, margin))


@helper
def axes_part_face(p, t, errors, margin):
    """Lanes that are apart along an axis."""
    x = range_gap(p.x, p.x, p.x1, p.x1, minimum(t.ax, minimum(t.bx, t.cx)), maximum(t.ax, maximum(t.bx, t.cx)),
                  minimum(t.ax1, minimum(t.bx1, t.cx1)), maximum(t.ax1, maximum(t.bx1, t.cx1)))
    y = range_gap(p.y, p.y, p.y1, p.y1, minimum(t.ay, minimum(t.by, t.cy)), maximum(t.ay, maximum(t.by, t.cy)),
                  minimum(t.ay1, minimum(t.by1, t.cy1)), maximum(t.ay1, maximum(t.by1, t.cy1)))
    z = range_gap(p.z, p.z, p.z1, p.z1, minimum(t.az, minimum(t.bz, t.cz)), maximum(t.az, maximum(t.bz, t.cz)),
                  minimum(t.az1, minimum(t.bz1, t.cz1)), maximum(t.az1, maximum(t.bz1, t.cz1)))
    return movemask((x > axis_bound(errors.gx, margin)) | (y > axis_bound(errors.gy, margin)) | (z > axis_bound(errors.gz, margin)))


@helper
def axis_bound(error, margin):
    """`direction_bound` of an axis."""
    return error + margin * MARGIN_FACTOR


@helper
def axes_part_edges(e, o, errors, margin):
    """Lanes that are apart along an axis."""
    x = range_gap(minimum(e.ax, e.bx), maximum(e.ax, e.bx), minimum(e.ax1, e.bx1), maximum(e.ax1, e.bx1),
                  minimum(o.ax, o.bx), maximum(o.ax, o.bx), minimum(o.ax1, o.bx1), maximum(o.ax1, o.bx1))
    y = range_gap(minimum(e.ay, e.by), maximum(e.ay, e.by), minimum(e.ay1, e.by1), maximum(e.ay1, e.by1),
                  minimum(o.ay, o.by), maximum(o.ay, o.by), minimum(o.ay1, o.by1), maximum(o.ay1, o.by1))
    z = range_gap(minimum(e.az, e.bz), maximum(e.az, e.bz), minimum(e.az1, e.bz1), maximum(e.az1, e.bz1),
                  minimum(o.az, o.bz), maximum(o.az, o.bz), minimum(o.az1, o.bz1), maximum(o.az1, o.bz1))
    return movemask((x > axis_bound(errors.gx, margin)) | (y > axis_bound(errors.gy, margin)) | (z > axis_bound(errors.gz, margin)))


@helper
def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@helper
def volume_coefficients(ux, uy, uz, vx, vy, vz, wx, wy, wz, px, py, pz, qx, qy, qz, rx, ry, rz):
    """Coefficients 0 and 3, and three times 1 and 2, of (u × v) · w as u, v, w become p, q, r."""
    x, y, z = cross(ux, uy, uz, vx, vy, vz)
    a, b, c = cross(px, py, pz, qx, qy, qz)
    k, m, n = cross(ux, uy, uz, qx, qy, qz)
    f, g, h = cross(px, py, pz, vx, vy, vz)
    k, m, n = k + f, m + g, n + h
    return (dot(wx, wy, wz, x, y, z), dot(rx, ry, rz, a, b, c),
            dot(rx, ry, rz, x, y, z) + dot(wx, wy, wz, k, m, n), dot(wx, wy, wz, a, b, c) + dot(rx, ry, rz, k, m, n))


@helper
def one_sign(first, last, second, third, bound):
    """Lanes whose coefficients certainly have one sign."""
    low, high = minimum(THREE * minimum(first, last), minimum(second, third)), maximum(THREE * maximum(first, last), maximum(second, third))
    return movemask((low > THREE * bound) | (high < -(THREE * bound)))


@helper
def face_volume(p, t):
    """`volume_coefficients` of a vertex and a face."""
    return volume_coefficients(
        t.ax - p.x, t.ay - p.y, t.az - p.z, t.bx - p.x, t.by - p.y, t.bz - p.z, t.cx - p.x, t.cy - p.y, t.cz - p.z,
        t.ax1 - p.x1, t.ay1 - p.y1, t.az1 - p.z1, t.bx1 - p.x1, t.by1 - p.y1, t.bz1 - p.z1, t.cx1 - p.x1, t.cy1 - p.y1, t.cz1 - p.z1)


@helper
def edge_volume(e, o):
    """`volume_coefficients` of two edges."""
    return volume_coefficients(
        e.bx - e.ax, e.by - e.ay, e.bz - e.az, o.bx - o.ax, o.by - o.ay, o.bz - o.az, o.ax - e.ax, o.ay - e.ay, o.az - e.az,
        e.bx1 - e.ax1, e.by1 - e.ay1, e.bz1 - e.az1, o.bx1 - o.ax1, o.by1 - o.ay1, o.bz1 - o.az1,
        o.ax1 - e.ax1, o.ay1 - e.ay1, o.az1 - e.az1)


@helper
def vertex_face_candidates(point, triangle, mask, errors, margin):
    """Of the lanes of `mask`, those not certainly more than the margin apart throughout. One of point and triangle has vectors."""
    p, t = point, triangle
    mask &= ~axes_part_face(p, t, errors, margin)
    if mask == 0:
        return mask
    ax, ay, az = HALF * (t.ax + t.ax1), HALF * (t.ay + t.ay1), HALF * (t.az + t.az1)
    bx, by, bz = HALF * (t.bx + t.bx1), HALF * (t.by + t.by1), HALF * (t.bz + t.bz1)
    cx, cy, cz = HALF * (t.cx + t.cx1), HALF * (t.cy + t.cy1), HALF * (t.cz + t.cz1)
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    mask &= ~face_parted(nx, ny, nz, p, t, errors, margin)
    if mask == 0:
        return mask
    if margin <= ZERO:
        mask &= ~one_sign(*face_volume(p, t), errors.volume)
        if mask == 0:
            return mask
    px, py, pz = HALF * (p.x + p.x1), HALF * (p.y + p.y1), HALF * (p.z + p.z1)
    mask &= ~face_parted((ax + bx + cx) - THREE * px, (ay + by + cy) - THREE * py, (az + bz + cz) - THREE * pz, p, t, errors, margin)
    if mask == 0:
        return mask
    return mask & ~(face_parted(*cross(ux, uy, uz, nx, ny, nz), p, t, errors, margin)
                    | face_parted(*cross(vx, vy, vz, nx, ny, nz), p, t, errors, margin)
                    | face_parted(*cross(cx - bx, cy - by, cz - bz, nx, ny, nz), p, t, errors, margin))


@helper
def edge_edge_candidates(edge, edges, mask, errors, margin):
    """The same of an edge and eight edges."""
    e, o = edge, edges
    mask &= ~axes_part_edges(e, o, errors, margin)
    if mask == 0:
        return mask
    ax, ay, az = HALF * (e.ax + e.ax1), HALF * (e.ay + e.ay1), HALF * (e.az + e.az1)
    cx, cy, cz = HALF * (o.ax + o.ax1), HALF * (o.ay + o.ay1), HALF * (o.az + o.az1)
    ux, uy, uz = HALF * (e.bx + e.bx1) - ax, HALF * (e.by + e.by1) - ay, HALF * (e.bz + e.bz1) - az
    vx, vy, vz = HALF * (o.bx + o.bx1) - cx, HALF * (o.by + o.by1) - cy, HALF * (o.bz + o.bz1) - cz
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    mask &= ~edges_parted(nx, ny, nz, e, o, errors, margin)
    if mask == 0:
        return mask
    wx, wy, wz = (cx - ax) + HALF * (vx - ux), (cy - ay) + HALF * (vy - uy), (cz - az) + HALF * (vz - uz)
    mask &= ~edges_parted(wx, wy, wz, e, o, errors, margin)
    if mask == 0:
        return mask
    if margin <= ZERO:
        mask &= ~one_sign(*edge_volume(e, o), errors.volume)
        if mask == 0:
            return mask
    mask &= ~(edges_parted(*cross(ux, uy, uz, nx, ny, nz), e, o, errors, margin)
              | edges_parted(*cross(vx, vy, vz, nx, ny, nz), e, o, errors, margin))
    if mask == 0:
        return mask
    return mask & ~(edges_parted(*cross(ux, uy, uz, *cross(wx, wy, wz, ux, uy, uz)), e, o, errors, margin)
                    | edges_parted(*cross(vx, vy, vz, *cross(wx, wy, wz, vx, vy, vz)), e, o, errors, margin))
