"""Axis-aligned boxes: six scalars, the default. Exact to enclose, cheap to merge, loose around what is long and tilted.

The empty box is inverted (low +inf, high −inf), so that no test passes for it and merging with it changes nothing.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import element, greatest, highest, least, lowest, magnitude, where
from pliant.volume.protocol import (
    MOST,
    TINY,
    ULP,
    Family,
    Shift,
    around,
    blend,
    carry,
    down,
    enclose,
    gap,
    inflate,
    merge,
    middle,
    mirror,
    overlap,
    part,
    pierce,
    register,
    separation,
    size,
    span,
    thickness,
    up,
)

INF, ZERO, HALF, ONE, TWO_ULP = np.float32(np.inf), np.float32(0), np.float32(0.5), np.float32(1), np.float32(2) * ULP
WIDER = np.float32(1 + 2.0**-20)
LESS = np.float32(1 - 2.0**-20)                                         # below 1 by more than the rounding of a squared distance


class Box(NamedTuple):
    """All points between (lox, loy, loz) and (hix, hiy, hiz), faces included."""
    lox: float
    loy: float
    loz: float
    hix: float
    hiy: float
    hiz: float


register(Family("aabb", Box, empty=Box(INF, INF, INF, -INF, -INF, -INF), merge_exact=True))


@helper
def bounds(t):
    """The box of a triangle, or of each lane, not rounded further."""
    return Box(least(t.ax, least(t.bx, t.cx)), least(t.ay, least(t.by, t.cy)), least(t.az, least(t.bz, t.cz)),
               greatest(t.ax, greatest(t.bx, t.cx)), greatest(t.ay, greatest(t.by, t.cy)), greatest(t.az, greatest(t.bz, t.cz)))


@overlap.on(Box, Box)
def _(a, b):
    x = (a.lox <= b.hix) & (a.hix >= b.lox)
    y = (a.loy <= b.hiy) & (a.hiy >= b.loy)
    z = (a.loz <= b.hiz) & (a.hiz >= b.loz)
    return x & y & z


@separation.on(Box, Box)
def _(a, b):
    x = greatest(greatest(a.lox - b.hix, b.lox - a.hix), ZERO)
    y = greatest(greatest(a.loy - b.hiy, b.loy - a.hiy), ZERO)
    z = greatest(greatest(a.loz - b.hiz, b.loz - a.hiz), ZERO)
    return (x * x + y * y + z * z) * LESS


@pierce.on(Box)
def _(a, ray):
    # Slabs, entered by the side that the direction comes from, so that the inverted empty box is left before it is entered. Where the
    # direction is 0 and the origin lies in a face, 0 · inf is NaN; `least` and `greatest` give their second operand when they cannot
    # compare, so a NaN falls away. WIDER covers the roundings of both ends (Ize 2013).
    s = ray.slack
    x, y, z = (a.lox - (ray.x + s)) * ray.over_x, (a.loy - (ray.y + s)) * ray.over_y, (a.loz - (ray.z + s)) * ray.over_z
    p, q, r = (a.hix - (ray.x - s)) * ray.over_x, (a.hiy - (ray.y - s)) * ray.over_y, (a.hiz - (ray.z - s)) * ray.over_z
    ahead_x, ahead_y, ahead_z = ray.over_x >= 0, ray.over_y >= 0, ray.over_z >= 0
    near = greatest(where(ahead_z, z, r), greatest(where(ahead_y, y, q), greatest(where(ahead_x, x, p), ray.near)))
    far = least(where(ahead_z, r, z), least(where(ahead_y, q, y), least(where(ahead_x, p, x), ray.far)))
    return near, far * WIDER


@merge.on(Box)
def _(a):
    return Box(lowest(a.lox), lowest(a.loy), lowest(a.loz), highest(a.hix), highest(a.hiy), highest(a.hiz))


@inflate.on(Box)
def _(a, distance):
    return Box(down(a.lox - distance), down(a.loy - distance), down(a.loz - distance),
               up(a.hix + distance), up(a.hiy + distance), up(a.hiz + distance))


@carry.on(Box, Shift)
def _(a, way):
    return Box(a.lox + (way.x - way.slack), a.loy + (way.y - way.slack), a.loz + (way.z - way.slack),
               a.hix + (way.x + way.slack), a.hiy + (way.y + way.slack), a.hiz + (way.z + way.slack))


@blend.on(Box, Box)
def _(a, b, s, t):
    return Box(below(a.lox * s, b.lox * t), below(a.loy * s, b.loy * t), below(a.loz * s, b.loz * t),
               above(a.hix * s, b.hix * t), above(a.hiy * s, b.hiy * t), above(a.hiz * s, b.hiz * t))


@helper
def doubt(p, q):
    """More than what rounds in the sum of two rounded numbers; finite, as `rounding`."""
    return least((magnitude(p) + magnitude(q)) * TWO_ULP, MOST) + TINY


@helper
def below(p, q):
    """At most the sum of what rounds to p and what rounds to q."""
    return (p + q) - doubt(p, q)


@helper
def above(p, q):
    """At least that sum."""
    return (p + q) + doubt(p, q)


@mirror.on(Box)
def _(a):
    return Box(-a.hix, -a.hiy, -a.hiz, -a.lox, -a.loy, -a.loz)


@size.on(Box)
def _(a):
    x, y, z = a.hix - a.lox, a.hiy - a.loy, a.hiz - a.loz
    return greatest(x, greatest(y, z))


@thickness.on(Box)
def _(a):
    return least(a.hix - a.lox, least(a.hiy - a.loy, a.hiz - a.loz)) * HALF


@middle.on(Box)
def _(a):
    return (a.lox + a.hix) * HALF, (a.loy + a.hiy) * HALF, (a.loz + a.hiz) * HALF


@span.on(Box)
def _(a, x, y, z):
    cx, cy, cz = middle(a)
    p, q, r = greatest(a.hix - cx, cx - a.lox), greatest(a.hiy - cy, cy - a.loy), greatest(a.hiz - cz, cz - a.loz)
    return (magnitude(x) * p + (magnitude(y) * q + magnitude(z) * r)) * WIDER


@part.on(Box)
def _(a, b, x, y, z):
    return greatest(gap(a, b, x, y, z, ONE, ZERO, ZERO), greatest(gap(a, b, x, y, z, ZERO, ONE, ZERO), gap(a, b, x, y, z, ZERO, ZERO, ONE)))


@around.on(Box)
def _(like, low, high):
    low, high = down(low), up(high)
    return Box(element(low, 0), element(low, 1), element(low, 2), element(high, 0), element(high, 1), element(high, 2))


@enclose.on(Box)
def _(like, low, high, points, order, begin, end):
    return around(like, low, high)
