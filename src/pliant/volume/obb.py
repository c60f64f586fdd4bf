"""Oriented boxes: fifteen scalars, tight around what is flat or long in any direction (Gottschalk, Lin and Manocha 1996).

A point p is in one if |u · (p − c)| <= hx, |v · (p − c)| <= hy and |w · (p − c)| <= hz, with u, v, w the rows of r: units that are
perpendicular to each other but for rounding, OWN in each entry. Seen from the axes of another, it is a box that is turned, and `obb_sat.py`
says whether they meet: six axes in `overlap`, nine more in `sat_cross_axes`.

Boxes are fitted along the axes of the covariance of the points, or, better and slower, along the sides of large triangles (Larsson and
Källberg 2011: ditetrahedron boxes), whichever is smallest, an axis-aligned one included.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import ctz, extract, fabs, maximum, minimum, movemask, reduce_max, reduce_min, sqrt, where
from pliant.core.soa import select
from pliant.core.stack import stack_float32, stack_int64
from pliant.geometry.principal_axes import spread_axes, triangle_axes
from pliant.volume.aabb import HALF, INF, ONE, SCALE_UP, TWO_ULP, ZERO, Box
from pliant.volume.fitting import N_EXTREMES, extreme_points
from pliant.volume.obb_sat import FOUR, RotatedBox
from pliant.volume.planes import TIE_FACTOR, align_axes, clip_ray_to_slab, mean_direction
from pliant.volume.protocol import (
    REL_ERROR,
    RigidTransform,
    TightestFit,
    Translation,
    VolumeType,
    blend,
    center,
    enclose_box,
    enclose_points,
    fit,
    gap,
    inflate,
    merge,
    min_half_extent,
    negate,
    overlap,
    ray_interval,
    register_volume_type,
    rotate,
    round_up,
    sat_cross_axes,
    separating_gap,
    size,
    support_value,
    transform_point,
    transform_volume,
)
from pliant.volume.slabs import sum_error
from pliant.volume.sphere import TWO, Sphere, squared_norm, within_radius

AXIS_ERROR, EIGHT = np.float32(2.0**-20), np.float32(8)                 # how far axes are from units that are perpendicular, and more
DIAGONAL_WEIGHT = np.float32(1 / 16)
AXIS_SCALE = ONE - AXIS_ERROR                                           # so that axes are no longer than 1


class OrientedBox(NamedTuple):
    """Middle, half sides, and the axes along which these are: rows of r."""
    x: float
    y: float
    z: float
    hx: float
    hy: float
    hz: float
    r00: float
    r01: float
    r02: float
    r10: float
    r11: float
    r12: float
    r20: float
    r21: float
    r22: float


EMPTY = OrientedBox(ZERO, ZERO, ZERO, -INF, -INF, -INF, ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE)
register_volume_type(VolumeType("obb", OrientedBox, EMPTY, loosened_by_merge=True))


@helper
def as_rotated(a):
    """The same as a box that was turned: its axes are columns there."""
    return RotatedBox(a.x, a.y, a.z, a.hx, a.hy, a.hz, a.r00, a.r10, a.r20, a.r01, a.r11, a.r21, a.r02, a.r12, a.r22, AXIS_ERROR)


@helper
def to_axes(a, x, y, z):
    """A way along the axes of a."""
    return (a.r00 * x + (a.r01 * y + a.r02 * z), a.r10 * x + (a.r11 * y + a.r12 * z), a.r20 * x + (a.r21 * y + a.r22 * z))


@helper
def local_box(a):
    """A box seen along its own axes, from its middle."""
    return Box(-a.hx, -a.hy, -a.hz, a.hx, a.hy, a.hz)


@helper
def to_local(a, b):
    """An oriented box b along the axes of a, from its center."""
    x, y, z = b.cx - a.x, b.cy - a.y, b.cz - a.z
    margin = (fabs(x) + (fabs(y) + fabs(z))) * REL_ERROR
    x, y, z = to_axes(a, x, y, z)
    p, q, r = to_axes(a, b.r00, b.r10, b.r20), to_axes(a, b.r01, b.r11, b.r21), to_axes(a, b.r02, b.r12, b.r22)
    return RotatedBox(x, y, z, b.hx + margin, b.hy + margin, b.hz + margin, p[0], q[0], r[0], p[1], q[1], r[1], p[2], q[2], r[2],
                      b.rotation_error + FOUR * AXIS_ERROR)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@overlap.register(OrientedBox, RotatedBox)
def _(a, b):
    return overlap(local_box(a), to_local(a, b))


@sat_cross_axes.register(OrientedBox, RotatedBox)
def _(a, b):
    return sat_cross_axes(local_box(a), to_local(a, b))


@overlap.register(OrientedBox, OrientedBox)
def _(a, b):
    box, other = local_box(a), to_local(a, as_rotated(b))
    some = overlap(box, other)
    if movemask(some) == 0:
        return some
    return some & (where(sat_cross_axes(box, other), ZERO, ONE) > ZERO)


@overlap.register(OrientedBox, Sphere)
def _(a, b):
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    more = (fabs(x) + (fabs(y) + fabs(z))) * REL_ERROR + (a.hx + (a.hy + a.hz)) * AXIS_ERROR
    x, y, z = to_axes(a, x, y, z)
    x, y, z = (maximum(fabs(x) - (a.hx + more), ZERO), maximum(fabs(y) - (a.hy + more), ZERO), maximum(fabs(z) - (a.hz + more), ZERO))
    return within_radius(squared_norm(x, y, z), b.radius + more) & (a.hx >= ZERO)


@overlap.register(Sphere, OrientedBox)
def _(a, b):
    return overlap(a, as_rotated(b))


# --- one volume ------------------------------------------------------------------------------------------------------------------

@ray_interval.register(OrientedBox)
def _(a, ray):
    x, y, z = ray.x - a.x, ray.y - a.y, ray.z - a.z
    near, far = clip_ray_to_slab(ray.t_near, ray.t_far, ray, x, y, z, a.r00, a.r01, a.r02, -a.hx, a.hx)
    near, far = clip_ray_to_slab(near, far, ray, x, y, z, a.r10, a.r11, a.r12, -a.hy, a.hy)
    near, far = clip_ray_to_slab(near, far, ray, x, y, z, a.r20, a.r21, a.r22, -a.hz, a.hz)
    return where(a.hx >= ZERO, near, INF), where(a.hx >= ZERO, far, -INF)


@helper
def merge_along(a, ux, uy, uz, vx, vy, vz):
    """One box around all lanes of a, along u, v and what is perpendicular to both."""
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    low_u, high_u = project_interval(a, ux, uy, uz)
    low_v, high_v = project_interval(a, vx, vy, vz)
    low_w, high_w = project_interval(a, wx, wy, wz)
    p, q, r = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    x, y, z = ux * p + (vx * q + wx * r), uy * p + (vy * q + wy * r), uz * p + (vz * q + wz * r)
    margin = (fabs(p) + (fabs(q) + fabs(r))) * (EIGHT * AXIS_ERROR)     # the middle may be off along each axis
    return OrientedBox(x, y, z, (high_u - low_u) * HALF + margin, (high_v - low_v) * HALF + margin, (high_w - low_w) * HALF + margin,
                       ux, uy, uz, vx, vy, vz, wx, wy, wz)


@helper
def project_interval(a, x, y, z):
    """Where the lanes of a begin and end along a direction."""
    nonempty, at = a.hx >= ZERO, a.x * x + (a.y * y + a.z * z)
    margin = (fabs(a.x * x) + (fabs(a.y * y) + fabs(a.z * z))) * REL_ERROR + support_value(a, x, y, z)
    return reduce_min(where(nonempty, at - margin, INF)), reduce_max(where(nonempty, at + margin, -INF))


@helper
def pick_smaller(a, b):
    """That of two boxes which is smaller, clearly: rounding does not choose."""
    return select(fit_cost(b) * TIE_FACTOR < fit_cost(a), b, a)


@helper
def fit_cost(a):
    """What is to be small: the surface; and the diagonal, so that a needle is more than a point."""
    return a.hx * a.hy + (a.hy * a.hz + a.hz * a.hx) + squared_norm(a.hx, a.hy, a.hz) * DIAGONAL_WEIGHT


@merge.register(OrientedBox)
def _(a):
    # Along the axes, along those of the largest, or with the thinnest side amid those of all.
    k = ctz(movemask(size(a) >= reduce_max(size(a))))
    ux, uy, uz = extract(a.r00, k), extract(a.r01, k), extract(a.r02, k)
    vx, vy, vz = extract(a.r10, k), extract(a.r11, k), extract(a.r12, k)
    best = pick_smaller(merge_along(a, ONE, ZERO, ZERO, ZERO, ONE, ZERO), merge_along(a, ux, uy, uz, vx, vy, vz))
    wx, wy, wz = mean_direction(a.r20, a.r21, a.r22, a.hx >= ZERO, extract(a.r20, k), extract(a.r21, k), extract(a.r22, k))
    px, py, pz, qx, qy, qz = align_axes(ux, uy, uz, vx, vy, vz, wx, wy, wz)
    best = pick_smaller(best, merge_along(a, px, py, pz, qx, qy, qz))
    return select(reduce_max(a.hx) >= ZERO, best, EMPTY)


@helper
def with_half_extents(a, x, y, z, hx, hy, hz):
    """A box along the axes of a."""
    return OrientedBox(x, y, z, hx, hy, hz, a.r00, a.r01, a.r02, a.r10, a.r11, a.r12, a.r20, a.r21, a.r22)


@inflate.register(OrientedBox)
def _(a, distance):
    more = distance * SCALE_UP
    return with_half_extents(a, a.x, a.y, a.z, round_up(a.hx + more), round_up(a.hy + more), round_up(a.hz + more))


@transform_volume.register(OrientedBox, Translation)
def _(a, transform):
    more = TWO * transform.margin
    return with_half_extents(a, a.x + transform.x, a.y + transform.y, a.z + transform.z, a.hx + more, a.hy + more, a.hz + more)


@transform_volume.register(OrientedBox, RigidTransform)
def _(a, transform):
    x, y, z = transform_point(transform, a.x, a.y, a.z)
    more = TWO * transform.margin + (a.hx + (a.hy + a.hz)) * (EIGHT * transform.rotation_error + AXIS_ERROR)
    p, q, r = rotate(transform, a.r00, a.r01, a.r02), rotate(transform, a.r10, a.r11, a.r12), rotate(transform, a.r20, a.r21, a.r22)
    return RotatedBox(x, y, z, a.hx + more, a.hy + more, a.hz + more, p[0], q[0], r[0], p[1], q[1], r[1], p[2], q[2], r[2],
                      EIGHT * transform.rotation_error + FOUR * AXIS_ERROR)


@negate.register(OrientedBox)
def _(a):
    return with_half_extents(a, -a.x, -a.y, -a.z, a.hx, a.hy, a.hz)


@blend.register(OrientedBox, OrientedBox)
def _(a, b, s, t):
    # Along the axes of either what both reach; of the two boxes the smaller.
    x, y, z = a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t
    more = (fabs(a.x) + fabs(a.y) + fabs(a.z)) * s + (fabs(b.x) + fabs(b.y) + fabs(b.z)) * t
    more = more * (TWO * TWO_ULP)
    p, q, r = support_value(b, a.r00, a.r01, a.r02), support_value(b, a.r10, a.r11, a.r12), support_value(b, a.r20, a.r21, a.r22)
    one = with_half_extents(a, x, y, z, round_up(a.hx * s + p * t + more), round_up(a.hy * s + q * t + more),
                            round_up(a.hz * s + r * t + more))
    p, q, r = support_value(a, b.r00, b.r01, b.r02), support_value(a, b.r10, b.r11, b.r12), support_value(a, b.r20, b.r21, b.r22)
    return pick_smaller(one, with_half_extents(b, x, y, z, round_up(b.hx * t + p * s + more), round_up(b.hy * t + q * s + more),
                                               round_up(b.hz * t + r * s + more)))


@size.register(OrientedBox)
def _(a):
    return where(a.hx >= ZERO, sqrt(fit_cost(a)) * TWO, -INF)


@min_half_extent.register(OrientedBox)
def _(a):
    return minimum(a.hx, minimum(a.hy, a.hz))


@center.register(OrientedBox)
def _(a):
    return a.x, a.y, a.z


@support_value.register(OrientedBox)
def _(a, x, y, z):
    return support_value(as_rotated(a), x, y, z)


@separating_gap.register(OrientedBox)
def _(a, b, x, y, z):
    return maximum(gap(a, b, x, y, z, a.r00 * AXIS_SCALE, a.r01 * AXIS_SCALE, a.r02 * AXIS_SCALE),
                   maximum(gap(a, b, x, y, z, a.r10 * AXIS_SCALE, a.r11 * AXIS_SCALE, a.r12 * AXIS_SCALE),
                           gap(a, b, x, y, z, a.r20 * AXIS_SCALE, a.r21 * AXIS_SCALE, a.r22 * AXIS_SCALE)))


# --- around points -----------------------------------------------------------------------------------------------------------------

@enclose_box.register(OrientedBox)
def _(like, low, high):
    # The thinnest side comes last, as where boxes are fitted.
    centre = (low + high) * HALF
    side, m = maximum(high - centre, centre - low), sum_error(low, high)
    x, y, z = extract(side, 0), extract(side, 1), extract(side, 2)
    thin_x, thin_y = (x <= y) & (x <= z), (y < x) & (y <= z)
    # Axes y z x, z x y or x y z.
    p, q, r = where(thin_x, y, where(thin_y, z, x)), where(thin_x, z, where(thin_y, x, y)), where(thin_x, x, where(thin_y, y, z))
    one, two = where(thin_x, ONE, ZERO), where(thin_y, ONE, ZERO)
    rest = ONE - one - two
    return OrientedBox(extract(centre, 0), extract(centre, 1), extract(centre, 2), p + m, q + m, r + m,
                       rest, one, two, two, rest, one, one, two, rest)


@helper
def box_along(frame, points, order, begin, end, m):
    """The box around points along the axes of a frame."""
    v = 4 * np.int64(order[begin])
    x, y, z = points[v], points[v + 1], points[v + 2]
    ux, uy, uz, vx, vy, vz, wx, wy, wz = frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    low_u = low_v = low_w = high_u = high_v = high_w = ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x, points[v + 1] - y, points[v + 2] - z
        s, t, o = ux * p + (uy * q + uz * r), vx * p + (vy * q + vz * r), wx * p + (wy * q + wz * r)
        low_u, high_u, low_v, high_v, low_w, high_w = (minimum(low_u, s), maximum(high_u, s), minimum(low_v, t), maximum(high_v, t),
                                                       minimum(low_w, o), maximum(high_w, o))
    p, q, r = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    margin = m + (high_u - low_u + (high_v - low_v) + (high_w - low_w)) * (TWO * AXIS_ERROR)
    return OrientedBox(x + (ux * p + (vx * q + wx * r)), y + (uy * p + (vy * q + wy * r)), z + (uz * p + (vz * q + wz * r)),
                       (high_u - low_u) * HALF + margin, (high_v - low_v) * HALF + margin, (high_w - low_w) * HALF + margin,
                       ux, uy, uz, vx, vy, vz, wx, wy, wz)


@enclose_points.register(OrientedBox)
def _(like, low, high, points, order, begin, end):
    frame = stack_float32(9)
    spread_axes(points, order, begin, end, frame)
    return pick_smaller(enclose_box(like, low, high), box_along(frame, points, order, begin, end, sum_error(low, high)))


@fit.register(TightestFit, OrientedBox)
def _(method, like, low, high, points, order, begin, end):
    frame, extreme_ids, found = stack_float32(9), stack_int64(N_EXTREMES), enclose_points(like, low, high, points, order, begin, end)
    extreme_points(points, order, begin, end, extreme_ids)
    if not triangle_axes(points, extreme_ids, N_EXTREMES, frame):
        return found
    return pick_smaller(found, box_along(frame, points, order, begin, end, sum_error(low, high)))
