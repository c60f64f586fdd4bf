"""Spheres: four scalars, the least that a volume can be, and no matter how it is turned. Loose around all that is flat or long.

The empty sphere has radius −inf: nothing meets it, and so it stays whatever is added. Every other has a radius of at least 2**-60, so that
its square is no subnormal number, however small the body is (`motion/free.py`, LIMITS).

Errors: squared distances are right to 2**-20 of themselves, and more, which SCALE_DOWN and SCALE_UP make up for. Fields are float32 and
mean what they say; what rounds on the way to a centre goes into the radius.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import extract, fabs, load, load4, maximum, minimum, reduce_max, reduce_min, sqrt, transpose4x3, where
from pliant.volume.aabb import HALF, INF, ONE, SCALE_DOWN, SCALE_UP, TWO_ULP, ZERO, Box
from pliant.volume.obb_sat import RotatedBox
from pliant.volume.protocol import (
    REL_ERROR,
    ULP,
    RigidTransform,
    Translation,
    VolumeType,
    blend,
    center,
    enclose_box,
    enclose_points,
    inflate,
    merge,
    min_half_extent,
    negate,
    overlap,
    ray_interval,
    register_volume_type,
    sat_cross_axes,
    separating_gap,
    separation,
    size,
    support_value,
    transform_point,
    transform_volume,
)

TWO, MIN_RADIUS = np.float32(2), np.float32(2.0**-60)


class Sphere(NamedTuple):
    """All points within the radius of (x, y, z), the surface included."""
    x: float
    y: float
    z: float
    radius: float


register_volume_type(VolumeType("sphere", Sphere, empty=Sphere(ZERO, ZERO, ZERO, -INF), loosened_by_merge=True))


@helper
def squared_norm(x, y, z):
    return x * x + y * y + z * z


@helper
def within_radius(d2, radius):
    """Is a squared distance, rounded as ever, at most that of this radius?"""
    return (d2 * SCALE_DOWN <= radius * radius) & (radius >= ZERO)


@helper
def squared_gap(d2, radius):
    """At most the square of what is between a point at this squared distance and a sphere of this radius."""
    rest = maximum(sqrt(d2) * SCALE_DOWN - radius * SCALE_UP, ZERO)
    return rest * rest * SCALE_DOWN


@helper
def squared_distance_to_box(a, b):
    """The squared distance from the middle of a sphere a to a box b."""
    x = maximum(maximum(b.lox - a.x, a.x - b.hix), ZERO)
    y = maximum(maximum(b.loy - a.y, a.y - b.hiy), ZERO)
    z = maximum(maximum(b.loz - a.z, a.z - b.hiz), ZERO)
    return squared_norm(x, y, z)


@helper
def grow_radius(radius, error):
    """At least radius + error, whatever rounds."""
    return radius * SCALE_UP + (error + MIN_RADIUS)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@overlap.register(Sphere, Sphere)
def _(a, b):
    return within_radius(squared_norm(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)


@overlap.register(Sphere, Box)
def _(a, b):
    return within_radius(squared_distance_to_box(a, b), a.radius) & (b.lox <= b.hix)  # an infinite radius must not find empty boxes


@overlap.register(Box, Sphere)
def _(a, b):
    return within_radius(squared_distance_to_box(b, a), b.radius) & (a.lox <= a.hix)


@overlap.register(Sphere, RotatedBox)
def _(a, b):
    # The way from the box to the sphere along the axes of the box; these are no rotation to the last bit (`obb_sat.py`).
    x, y, z = a.x - b.cx, a.y - b.cy, a.z - b.cz
    more = b.rotation_error * (b.hx + b.hy + b.hz + a.radius)
    p = maximum(fabs(x * b.r00 + (y * b.r10 + z * b.r20)) - (b.hx + more), ZERO)
    q = maximum(fabs(x * b.r01 + (y * b.r11 + z * b.r21)) - (b.hy + more), ZERO)
    r = maximum(fabs(x * b.r02 + (y * b.r12 + z * b.r22)) - (b.hz + more), ZERO)
    return within_radius(squared_norm(p, q, r), a.radius + more) & (b.hx >= ZERO)


@sat_cross_axes.register(Sphere, RotatedBox)
def _(a, b):
    return a.radius < a.radius                                          # nothing finer is known


@sat_cross_axes.register(Sphere, Sphere)
def _(a, b):
    return a.radius < a.radius


@sat_cross_axes.register(Box, Sphere)
def _(a, b):
    return a.lox < a.lox


@separation.register(Sphere, Sphere)
def _(a, b):
    return squared_gap(squared_norm(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)


@separation.register(Sphere, Box)
def _(a, b):
    return squared_gap(squared_distance_to_box(a, b), a.radius)


@separation.register(Box, Sphere)
def _(a, b):
    return squared_gap(squared_distance_to_box(b, a), b.radius)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@ray_interval.register(Sphere)
def _(a, ray):
    # From the point of the ray that is next to the centre half a chord to either side. Where the direction is 0 that point is NaN, which
    # limits nothing: `minimum` and `maximum` give their second operand when they cannot compare.
    x, y, z = a.x - ray.x, a.y - ray.y, a.z - ray.z
    u, v, w = ONE / ray.inv_x, ONE / ray.inv_y, ONE / ray.inv_z
    length = squared_norm(u, v, w)
    t = (x * u + y * v + z * w) / length
    # Both t · direction and what is left of the way to the centre are off by a share of the latter.
    radius = grow_radius(a.radius, (fabs(x) + fabs(y) + fabs(z)) * REL_ERROR + ray.margin * TWO)
    rest = radius * radius - squared_norm(x - t * u, y - t * v, z - t * w) * SCALE_DOWN
    half = sqrt(maximum(rest, ZERO) / length)
    more = (fabs(t) + half) * REL_ERROR + ray.margin * TWO / sqrt(length)
    misses = (rest < ZERO) | (a.radius < ZERO)
    near, far = maximum(t - (half + more), ray.t_near), minimum(t + (half + more), ray.t_far)
    return where(misses, INF, near), where(misses, -INF, far)


@merge.register(Sphere)
def _(a):
    # The middle of the box around all, where empty ones have no part; then as far as any of them reaches.
    x, y, z = (midpoint_or_zero(reduce_min(a.x - a.radius), reduce_max(a.x + a.radius)),
               midpoint_or_zero(reduce_min(a.y - a.radius), reduce_max(a.y + a.radius)),
               midpoint_or_zero(reduce_min(a.z - a.radius), reduce_max(a.z + a.radius)))
    return Sphere(x, y, z, grow_radius(reduce_max(sqrt(squared_norm(a.x - x, a.y - y, a.z - z)) + a.radius), ZERO))


@helper
def midpoint_or_zero(low, high):
    """The middle; 0 where low and high are those of nothing."""
    return where(low <= high, (low + high) * HALF, ZERO)


@inflate.register(Sphere)
def _(a, distance):
    return Sphere(a.x, a.y, a.z, grow_radius(a.radius + distance, ZERO))


@transform_volume.register(Sphere, Translation)
def _(a, transform):
    return Sphere(a.x + transform.x, a.y + transform.y, a.z + transform.z, a.radius + TWO * transform.margin)  # sqrt(3), and what rounds


@transform_volume.register(Sphere, RigidTransform)
def _(a, transform):
    x, y, z = transform_point(transform, a.x, a.y, a.z)
    return Sphere(x, y, z, a.radius + (a.radius * TWO * transform.rotation_error + TWO * transform.margin))


@negate.register(Sphere)
def _(a):
    return Sphere(-a.x, -a.y, -a.z, a.radius)


@blend.register(Sphere, Sphere)
def _(a, b, s, t):
    # |s p + t q − (s a + t b)| <= s |p − a| + t |q − b| (thesis B 6.3).
    x, y, z, p, q, r = a.x * s, a.y * s, a.z * s, b.x * t, b.y * t, b.z * t
    size = fabs(x) + fabs(y) + fabs(z) + fabs(p) + fabs(q) + fabs(r)
    return Sphere(x + p, y + q, z + r, grow_radius(a.radius * s + b.radius * t, size * TWO_ULP))


@size.register(Sphere)
def _(a):
    return a.radius * TWO


@min_half_extent.register(Sphere)
def _(a):
    return a.radius


@center.register(Sphere)
def _(a):
    return a.x, a.y, a.z


@support_value.register(Sphere)
def _(a, x, y, z):
    return a.radius * (sqrt(squared_norm(x, y, z)) * SCALE_UP)


@separating_gap.register(Sphere)
def _(a, b, x, y, z):
    return a.radius * ZERO - INF                                        # it is nowhere flat


@enclose_box.register(Sphere)
def _(like, low, high):
    center_row = (low + high) * HALF
    return make_sphere(center_row, low, high, squared_half_diagonal(center_row, low, high))


@helper
def squared_half_diagonal(center_row, low, high):
    """The square of half the diagonal of a box."""
    side = maximum(high - center_row, center_row - low)
    return squared_norm(extract(side, 0), extract(side, 1), extract(side, 2))


@helper
def point_error(low, high):
    """More than the way that points between these rows were moved by rounding them."""
    most = maximum(fabs(low), fabs(high))
    return (extract(most, 0) + extract(most, 1) + extract(most, 2)) * ULP


@helper
def make_sphere(center_row, low, high, d2):
    """The sphere around this point as far as a squared distance, and what the points were rounded by."""
    return Sphere(extract(center_row, 0), extract(center_row, 1), extract(center_row, 2), grow_radius(sqrt(d2), point_error(low, high)))


@enclose_points.register(Sphere)
def _(like, low, high, points, order, begin, end):
    center_row = (low + high) * HALF
    cx, cy, cz = extract(center_row, 0), extract(center_row, 1), extract(center_row, 2)
    x, y, z = transpose4x3(load4(points, 4 * np.int64(load(order, begin))), load4(points, 4 * np.int64(load(order, begin + 1))),
                           load4(points, 4 * np.int64(load(order, begin + 2))), load4(points, 4 * np.int64(load(order, begin + 3))))
    most = squared_norm(x - cx, y - cy, z - cz)
    for at in range(begin + 4, end, 4):
        x, y, z = transpose4x3(load4(points, 4 * np.int64(load(order, at))), load4(points, 4 * np.int64(load(order, at + 1))),
                               load4(points, 4 * np.int64(load(order, at + 2))), load4(points, 4 * np.int64(load(order, at + 3))))
        most = maximum(most, squared_norm(x - cx, y - cy, z - cz))
    return make_sphere(center_row, low, high, minimum(reduce_max(most), squared_half_diagonal(center_row, low, high)))
