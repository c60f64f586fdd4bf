"""Spheres: four scalars, the least that a volume can be, and no matter how it is turned. Loose around all that is flat or long.

The empty sphere has radius −inf: nothing meets it, and so it stays whatever is added. Every other has a radius of at least 2**-60, so that
its square is no subnormal number, however small the body is (`motion/free.py`, LIMITS).

Errors: squared distances are right to 2**-20 of themselves, and more, which LESS and WIDER make up for. Fields are float32 and mean what
they say; what rounds on the way to a centre goes into the radius.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import columns, element, four, greatest, highest, item, least, lowest, magnitude, root, where
from pliant.volume.aabb import HALF, INF, LESS, ONE, TWO_ULP, WIDER, ZERO, Box
from pliant.volume.obb_sat import TurnedBox
from pliant.volume.protocol import (
    NEARLY,
    ULP,
    Family,
    Shift,
    Turn,
    around,
    blend,
    carry,
    enclose,
    inflate,
    merge,
    middle,
    mirror,
    moved,
    overlap,
    part,
    pierce,
    register,
    separation,
    size,
    skew,
    span,
    thickness,
)

TWO, SMALLEST = np.float32(2), np.float32(2.0**-60)


class Sphere(NamedTuple):
    """All points within the radius of (x, y, z), the surface included."""
    x: float
    y: float
    z: float
    radius: float


register(Family("sphere", Sphere, empty=Sphere(ZERO, ZERO, ZERO, -INF), fitted=True))


@helper
def squared(x, y, z):
    return x * x + y * y + z * z


@helper
def reaches(gap, radius):
    """Is a squared distance, rounded as ever, at most that of this radius?"""
    return (gap * LESS <= radius * radius) & (radius >= ZERO)


@helper
def away(gap, radius):
    """At most the square of what is between a point at this squared distance and a sphere of this radius."""
    rest = greatest(root(gap) * LESS - radius * WIDER, ZERO)
    return rest * rest * LESS


@helper
def to_box(a, b):
    """The squared distance from the middle of a sphere a to a box b."""
    x = greatest(greatest(b.lox - a.x, a.x - b.hix), ZERO)
    y = greatest(greatest(b.loy - a.y, a.y - b.hiy), ZERO)
    z = greatest(greatest(b.loz - a.z, a.z - b.hiz), ZERO)
    return squared(x, y, z)


@helper
def widened(radius, error):
    """At least radius + error, whatever rounds."""
    return radius * WIDER + (error + SMALLEST)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@overlap.on(Sphere, Sphere)
def _(a, b):
    return reaches(squared(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)


@overlap.on(Sphere, Box)
def _(a, b):
    return reaches(to_box(a, b), a.radius) & (b.lox <= b.hix)           # an infinite radius must not find empty boxes


@overlap.on(Box, Sphere)
def _(a, b):
    return reaches(to_box(b, a), b.radius) & (a.lox <= a.hix)


@overlap.on(Sphere, TurnedBox)
def _(a, b):
    # The way from the box to the sphere along the axes of the box; these are no rotation to the last bit (`obb_sat.py`).
    x, y, z = a.x - b.cx, a.y - b.cy, a.z - b.cz
    more = b.loose * (b.hx + b.hy + b.hz + a.radius)
    p = greatest(magnitude(x * b.r00 + (y * b.r10 + z * b.r20)) - (b.hx + more), ZERO)
    q = greatest(magnitude(x * b.r01 + (y * b.r11 + z * b.r21)) - (b.hy + more), ZERO)
    r = greatest(magnitude(x * b.r02 + (y * b.r12 + z * b.r22)) - (b.hz + more), ZERO)
    return reaches(squared(p, q, r), a.radius + more) & (b.hx >= ZERO)


@skew.on(Sphere, TurnedBox)
def _(a, b):
    return a.radius < a.radius                                          # nothing finer is known


@skew.on(Sphere, Sphere)
def _(a, b):
    return a.radius < a.radius


@skew.on(Box, Sphere)
def _(a, b):
    return a.lox < a.lox


@separation.on(Sphere, Sphere)
def _(a, b):
    return away(squared(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)


@separation.on(Sphere, Box)
def _(a, b):
    return away(to_box(a, b), a.radius)


@separation.on(Box, Sphere)
def _(a, b):
    return away(to_box(b, a), b.radius)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@pierce.on(Sphere)
def _(a, ray):
    # From the point of the ray that is next to the centre half a chord to either side. Where the direction is 0 that point is NaN, which
    # limits nothing: `least` and `greatest` give their second operand when they cannot compare.
    x, y, z = a.x - ray.x, a.y - ray.y, a.z - ray.z
    u, v, w = ONE / ray.over_x, ONE / ray.over_y, ONE / ray.over_z
    length = squared(u, v, w)
    t = (x * u + y * v + z * w) / length
    # Both t · direction and what is left of the way to the centre are off by a share of the latter.
    radius = widened(a.radius, (magnitude(x) + magnitude(y) + magnitude(z)) * NEARLY + ray.slack * TWO)
    rest = radius * radius - squared(x - t * u, y - t * v, z - t * w) * LESS
    half = root(greatest(rest, ZERO) / length)
    more = (magnitude(t) + half) * NEARLY + ray.slack * TWO / root(length)
    misses = (rest < ZERO) | (a.radius < ZERO)
    near, far = greatest(t - (half + more), ray.near), least(t + (half + more), ray.far)
    return where(misses, INF, near), where(misses, -INF, far)


@merge.on(Sphere)
def _(a):
    # The middle of the box around all, where empty ones have no part; then as far as any of them reaches.
    x, y, z = (between(lowest(a.x - a.radius), highest(a.x + a.radius)), between(lowest(a.y - a.radius), highest(a.y + a.radius)),
               between(lowest(a.z - a.radius), highest(a.z + a.radius)))
    return Sphere(x, y, z, widened(highest(root(squared(a.x - x, a.y - y, a.z - z)) + a.radius), ZERO))


@helper
def between(low, high):
    """The middle; 0 where low and high are those of nothing."""
    return where(low <= high, (low + high) * HALF, ZERO)


@inflate.on(Sphere)
def _(a, distance):
    return Sphere(a.x, a.y, a.z, widened(a.radius + distance, ZERO))


@carry.on(Sphere, Shift)
def _(a, way):
    return Sphere(a.x + way.x, a.y + way.y, a.z + way.z, a.radius + TWO * way.slack)          # sqrt(3), and what rounds


@carry.on(Sphere, Turn)
def _(a, way):
    x, y, z = moved(way, a.x, a.y, a.z)
    return Sphere(x, y, z, a.radius + (a.radius * TWO * way.loose + TWO * way.slack))


@mirror.on(Sphere)
def _(a):
    return Sphere(-a.x, -a.y, -a.z, a.radius)


@blend.on(Sphere, Sphere)
def _(a, b, s, t):
    # |s p + t q − (s a + t b)| <= s |p − a| + t |q − b| (thesis B 6.3).
    x, y, z, p, q, r = a.x * s, a.y * s, a.z * s, b.x * t, b.y * t, b.z * t
    size = magnitude(x) + magnitude(y) + magnitude(z) + magnitude(p) + magnitude(q) + magnitude(r)
    return Sphere(x + p, y + q, z + r, widened(a.radius * s + b.radius * t, size * TWO_ULP))


@size.on(Sphere)
def _(a):
    return a.radius * TWO


@thickness.on(Sphere)
def _(a):
    return a.radius


@middle.on(Sphere)
def _(a):
    return a.x, a.y, a.z


@span.on(Sphere)
def _(a, x, y, z):
    return a.radius * (root(squared(x, y, z)) * WIDER)


@part.on(Sphere)
def _(a, b, x, y, z):
    return a.radius * ZERO - INF                                        # it is nowhere flat


@around.on(Sphere)
def _(like, low, high):
    amid = (low + high) * HALF
    return with_radius(amid, low, high, corner_distance(amid, low, high))


@helper
def corner_distance(amid, low, high):
    """The square of half the diagonal of a box."""
    side = greatest(high - amid, amid - low)
    return squared(element(side, 0), element(side, 1), element(side, 2))


@helper
def rounded(low, high):
    """More than the way that points between these rows were moved by rounding them."""
    most = greatest(magnitude(low), magnitude(high))
    return (element(most, 0) + element(most, 1) + element(most, 2)) * ULP


@helper
def with_radius(amid, low, high, gap):
    """The sphere around this point as far as a squared distance, and what the points were rounded by."""
    return Sphere(element(amid, 0), element(amid, 1), element(amid, 2), widened(root(gap), rounded(low, high)))


@enclose.on(Sphere)
def _(like, low, high, points, order, begin, end):
    amid = (low + high) * HALF
    cx, cy, cz = element(amid, 0), element(amid, 1), element(amid, 2)
    x, y, z = columns(four(points, 4 * np.int64(item(order, begin))), four(points, 4 * np.int64(item(order, begin + 1))),
                      four(points, 4 * np.int64(item(order, begin + 2))), four(points, 4 * np.int64(item(order, begin + 3))))
    most = squared(x - cx, y - cy, z - cz)
    for at in range(begin + 4, end, 4):
        x, y, z = columns(four(points, 4 * np.int64(item(order, at))), four(points, 4 * np.int64(item(order, at + 1))),
                          four(points, 4 * np.int64(item(order, at + 2))), four(points, 4 * np.int64(item(order, at + 3))))
        most = greatest(most, squared(x - cx, y - cy, z - cz))
    return with_radius(amid, low, high, least(highest(most), corner_distance(amid, low, high)))
