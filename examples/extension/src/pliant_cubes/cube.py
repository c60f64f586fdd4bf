"""A bounding-volume type: axis-aligned cubes, four scalars, as wide along every axis as along the widest."""
from typing import NamedTuple

from pliant.core.jit import helper
from pliant.core.simd import extract, fabs, maximum, reduce_max, reduce_min
from pliant.volume.aabb import HALF, INF, ONE, SCALE_UP, TWO_ULP, ZERO, Box
from pliant.volume.protocol import (
    RigidTransform,
    Translation,
    VolumeType,
    blend,
    center,
    enclose_box,
    enclose_points,
    gap,
    inflate,
    merge,
    min_half_extent,
    negate,
    ray_interval,
    register_volume_type,
    round_down,
    round_up,
    separating_gap,
    size,
    support_value,
    transform_point,
    transform_volume,
)
from pliant.volume.sphere import TWO, grow_radius, midpoint_or_zero, point_error


class Cube(NamedTuple):
    """All points no farther than half from (x, y, z) along each axis."""
    x: float
    y: float
    z: float
    half: float


register_volume_type(VolumeType("cube", Cube, empty=Cube(ZERO, ZERO, ZERO, -INF)))


@helper
def max_norm(x, y, z):
    return maximum(fabs(x), maximum(fabs(y), fabs(z)))


# --- from points, from siblings -----------------------------------------------------------------------------------------

@enclose_box.register(Cube)
def _(like, low, high):
    midpoint = (low + high) * HALF
    side = maximum(high - midpoint, midpoint - low)
    half = max_norm(extract(side, 0), extract(side, 1), extract(side, 2))
    return Cube(extract(midpoint, 0), extract(midpoint, 1), extract(midpoint, 2), grow_radius(half, point_error(low, high)))


@enclose_points.register(Cube)
def _(like, low, high, points, order, begin, end):
    return enclose_box(like, low, high)                                 # reading the points would not make it tighter


@merge.register(Cube)
def _(a):
    x, y, z = (midpoint_or_zero(reduce_min(a.x - a.half), reduce_max(a.x + a.half)),
               midpoint_or_zero(reduce_min(a.y - a.half), reduce_max(a.y + a.half)),
               midpoint_or_zero(reduce_min(a.z - a.half), reduce_max(a.z + a.half)))
    return Cube(x, y, z, grow_radius(reduce_max(max_norm(a.x - x, a.y - y, a.z - z) + a.half), ZERO))


# --- from volumes --------------------------------------------------------------------------------------------------------

@inflate.register(Cube)
def _(a, distance):
    return Cube(a.x, a.y, a.z, grow_radius(a.half + distance, ZERO))


@transform_volume.register(Cube, Translation)
def _(a, transform):
    return Cube(a.x + transform.x, a.y + transform.y, a.z + transform.z, a.half + TWO * transform.margin)


@transform_volume.register(Cube, RigidTransform)
def _(a, transform):
    x, y, z = transform_point(transform, a.x, a.y, a.z)
    widest = maximum(fabs(transform.r00) + (fabs(transform.r01) + fabs(transform.r02)),
                     maximum(fabs(transform.r10) + (fabs(transform.r11) + fabs(transform.r12)),
                             fabs(transform.r20) + (fabs(transform.r21) + fabs(transform.r22))))
    return Cube(x, y, z, grow_radius(a.half * (widest + TWO * TWO * transform.rotation_error), TWO * transform.margin))


@negate.register(Cube)
def _(a):
    return Cube(-a.x, -a.y, -a.z, a.half)


@blend.register(Cube, Cube)
def _(a, b, s, t):
    x, y, z, p, q, r = a.x * s, a.y * s, a.z * s, b.x * t, b.y * t, b.z * t
    return Cube(x + p, y + q, z + r, grow_radius(a.half * s + b.half * t, (max_norm(x, y, z) + max_norm(p, q, r)) * TWO_ULP))


# --- measures ----------------------------------------------------------------------------------------------------------

@ray_interval.register(Cube)
def _(a, ray):
    box = Box(round_down(a.x - a.half), round_down(a.y - a.half), round_down(a.z - a.half),
              round_up(a.x + a.half), round_up(a.y + a.half), round_up(a.z + a.half))
    return ray_interval(box, ray)


@size.register(Cube)
def _(a):
    return a.half * TWO


@min_half_extent.register(Cube)
def _(a):
    return a.half


@center.register(Cube)
def _(a):
    return a.x, a.y, a.z


@support_value.register(Cube)
def _(a, x, y, z):
    return a.half * ((fabs(x) + (fabs(y) + fabs(z))) * SCALE_UP)


@separating_gap.register(Cube)
def _(a, b, x, y, z):
    return maximum(gap(a, b, x, y, z, ONE, ZERO, ZERO), maximum(gap(a, b, x, y, z, ZERO, ONE, ZERO), gap(a, b, x, y, z, ZERO, ZERO, ONE)))
