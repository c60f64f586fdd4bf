"""Axis-aligned boxes: six scalars, the default. Exact to enclose, cheap to merge, loose around what is long and tilted.

The empty box is inverted (low +inf, high −inf), so that no test passes for it and merging with it changes nothing.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import extract, fabs, maximum, minimum, reduce_max, reduce_min, where
from pliant.volume.protocol import (
    MAX_ULP_BOUND,
    MIN_NORMAL,
    ULP,
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
    overlap,
    ray_interval,
    register_volume_type,
    round_down,
    round_up,
    separating_gap,
    separation,
    size,
    support_value,
    transform_volume,
)

INF, ZERO, HALF, ONE, TWO_ULP = np.float32(np.inf), np.float32(0), np.float32(0.5), np.float32(1), np.float32(2) * ULP
SCALE_UP = np.float32(1 + 2.0**-20)
SCALE_DOWN = np.float32(1 - 2.0**-20)                                   # below 1 by more than the rounding of a squared distance


class Box(NamedTuple):
    """All points between (lox, loy, loz) and (hix, hiy, hiz), faces included."""
    lox: float
    loy: float
    loz: float
    hix: float
    hiy: float
    hiz: float


register_volume_type(VolumeType("aabb", Box, empty=Box(INF, INF, INF, -INF, -INF, -INF), merge_exact=True, from_box=True))


@helper
def triangle_bounds(t):
    """The box of a triangle, or of each lane, not rounded further."""
    return Box(minimum(t.ax, minimum(t.bx, t.cx)), minimum(t.ay, minimum(t.by, t.cy)), minimum(t.az, minimum(t.bz, t.cz)),
               maximum(t.ax, maximum(t.bx, t.cx)), maximum(t.ay, maximum(t.by, t.cy)), maximum(t.az, maximum(t.bz, t.cz)))


@overlap.register(Box, Box)
def _(a, b):
    x = (a.lox <= b.hix) & (a.hix >= b.lox)
    y = (a.loy <= b.hiy) & (a.hiy >= b.loy)
    z = (a.loz <= b.hiz) & (a.hiz >= b.loz)
    return x & y & z


@separation.register(Box, Box)
def _(a, b):
    x = maximum(maximum(a.lox - b.hix, b.lox - a.hix), ZERO)
    y = maximum(maximum(a.loy - b.hiy, b.loy - a.hiy), ZERO)
    z = maximum(maximum(a.loz - b.hiz, b.loz - a.hiz), ZERO)
    return (x * x + y * y + z * z) * SCALE_DOWN


@ray_interval.register(Box)
def _(a, ray):
    # Slabs, entered by the side that the direction comes from, so that the inverted empty box is left before it is entered. Where the
    # direction is 0 and the origin lies in a face, 0 · inf is NaN; `minimum` and `maximum` give their second operand when they cannot
    # compare, so a NaN falls away. SCALE_UP covers the roundings of both ends (Ize 2013).
    s = ray.margin
    x, y, z = (a.lox - (ray.x + s)) * ray.inv_x, (a.loy - (ray.y + s)) * ray.inv_y, (a.loz - (ray.z + s)) * ray.inv_z
    p, q, r = (a.hix - (ray.x - s)) * ray.inv_x, (a.hiy - (ray.y - s)) * ray.inv_y, (a.hiz - (ray.z - s)) * ray.inv_z
    ahead_x, ahead_y, ahead_z = ray.inv_x >= 0, ray.inv_y >= 0, ray.inv_z >= 0
    near = maximum(where(ahead_z, z, r), maximum(where(ahead_y, y, q), maximum(where(ahead_x, x, p), ray.t_near)))
    far = minimum(where(ahead_z, r, z), minimum(where(ahead_y, q, y), minimum(where(ahead_x, p, x), ray.t_far)))
    return near, far * SCALE_UP


@merge.register(Box)
def _(a):
    return Box(reduce_min(a.lox), reduce_min(a.loy), reduce_min(a.loz), reduce_max(a.hix), reduce_max(a.hiy), reduce_max(a.hiz))


@inflate.register(Box)
def _(a, distance):
    return Box(round_down(a.lox - distance), round_down(a.loy - distance), round_down(a.loz - distance),
               round_up(a.hix + distance), round_up(a.hiy + distance), round_up(a.hiz + distance))


@transform_volume.register(Box, Translation)
def _(a, transform):
    return Box(a.lox + (transform.x - transform.margin), a.loy + (transform.y - transform.margin), a.loz + (transform.z - transform.margin),
               a.hix + (transform.x + transform.margin), a.hiy + (transform.y + transform.margin), a.hiz + (transform.z + transform.margin))


@blend.register(Box, Box)
def _(a, b, s, t):
    return Box(add_down(a.lox * s, b.lox * t), add_down(a.loy * s, b.loy * t), add_down(a.loz * s, b.loz * t),
               add_up(a.hix * s, b.hix * t), add_up(a.hiy * s, b.hiy * t), add_up(a.hiz * s, b.hiz * t))


@helper
def sum_ulp_bound(p, q):
    """More than what rounds in the sum of two rounded numbers; finite."""
    return minimum((fabs(p) + fabs(q)) * TWO_ULP, MAX_ULP_BOUND) + MIN_NORMAL


@helper
def add_down(p, q):
    """At most the sum of what rounds to p and what rounds to q."""
    return (p + q) - sum_ulp_bound(p, q)


@helper
def add_up(p, q):
    """At least that sum."""
    return (p + q) + sum_ulp_bound(p, q)


@negate.register(Box)
def _(a):
    return Box(-a.hix, -a.hiy, -a.hiz, -a.lox, -a.loy, -a.loz)


@size.register(Box)
def _(a):
    x, y, z = a.hix - a.lox, a.hiy - a.loy, a.hiz - a.loz
    return maximum(x, maximum(y, z))


@min_half_extent.register(Box)
def _(a):
    return minimum(a.hix - a.lox, minimum(a.hiy - a.loy, a.hiz - a.loz)) * HALF


@center.register(Box)
def _(a):
    return (a.lox + a.hix) * HALF, (a.loy + a.hiy) * HALF, (a.loz + a.hiz) * HALF


@support_value.register(Box)
def _(a, x, y, z):
    cx, cy, cz = center(a)
    p, q, r = maximum(a.hix - cx, cx - a.lox), maximum(a.hiy - cy, cy - a.loy), maximum(a.hiz - cz, cz - a.loz)
    return (fabs(x) * p + (fabs(y) * q + fabs(z) * r)) * SCALE_UP


@separating_gap.register(Box)
def _(a, b, x, y, z):
    return maximum(gap(a, b, x, y, z, ONE, ZERO, ZERO), maximum(gap(a, b, x, y, z, ZERO, ONE, ZERO), gap(a, b, x, y, z, ZERO, ZERO, ONE)))


@enclose_box.register(Box)
def _(like, low, high):
    low, high = round_down(low), round_up(high)
    return Box(extract(low, 0), extract(low, 1), extract(low, 2), extract(high, 0), extract(high, 1), extract(high, 2))


@enclose_points.register(Box)
def _(like, low, high, points, order, begin, end):
    return enclose_box(like, low, high)
