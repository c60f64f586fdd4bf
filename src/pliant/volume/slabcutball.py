"""Slab cut balls: a ball, and of it what lies between two parallel planes of any direction (Larsson and Akenine-Möller 2008).

Nine scalars, as tight around what is flat as an oriented box, and turned by turning a point and a normal. `fitting.py` makes them.

A point p is in one if |p − c| <= r and f <= n · (p − c) <= e, whatever the length of n; that is 1 but for rounding, so that planes are at
the distances e and f. Both are clamped to ±r, and the slab need not contain the centre.

OVERLAP. The report bounds what the slab leaves of a ball by a cylinder; here it is exact: along a direction at an angle to n with cosine
k and sine s, a ball cut to z in [f, e] reaches k z + s sqrt(r² − z²) at the z nearest to k r, which is r if k r is in the slab. So each
slab is compared with all that is left of the other ball, which covers all tests of Fig 8 but the first, without a case for each side and
without a constant for what counts as aligned. Two balls first; if no lane passes, nothing more is asked.

Errors: s comes from the cross product, which is right to 2**-22 where slabs are parallel, just where sqrt(1 − k²) would be off by 2**-11.
Products along a direction are right to 2**-21 of the radius, for which NEARLY makes up.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, element, first, greatest, highest, least, lowest, magnitude, root, where
from pliant.core.soa import either
from pliant.core.stack import integers
from pliant.volume.aabb import HALF, INF, LESS, ONE, TWO_ULP, WIDER, ZERO
from pliant.volume.fitting import N_NAMES, extremes, narrowest_slab, smallest_around
from pliant.volume.planes import CLEARLY, TINIEST, amid_direction, between_planes
from pliant.volume.protocol import (
    NEARLY,
    Family,
    Shift,
    Turn,
    around,
    blend,
    carry,
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
    turned,
    up,
)
from pliant.volume.slabs import wide
from pliant.volume.sphere import TWO, Sphere, away, corner_distance, reaches, squared, with_radius

PI, THREE, FOUR, EIGHT = np.float32(np.pi), np.float32(3), np.float32(4), np.float32(8)


class SlabCutBall(NamedTuple):
    """All points within the radius of (x, y, z) that are between the planes at f and e from there along n."""
    x: float
    y: float
    z: float
    radius: float
    nx: float
    ny: float
    nz: float
    f: float
    e: float


EMPTY = SlabCutBall(ZERO, ZERO, ZERO, -INF, ZERO, ZERO, ONE, ZERO, ZERO)
register(Family("slabcutball", SlabCutBall, EMPTY, fitted=True))


@helper
def ball_of(a):
    """The ball that is cut."""
    return Sphere(a.x, a.y, a.z, a.radius)


@helper
def cut(ball, nx, ny, nz, f, e):
    """A ball between two planes; planes beyond it come back to its surface."""
    most = ball.radius * WIDER
    return SlabCutBall(ball.x, ball.y, ball.z, ball.radius, nx, ny, nz, greatest(f, -most), least(e, most))


@helper
def support(a, k, s):
    """How far a reaches from its centre along a direction at an angle of cosine k and sine s, or a little more, to its normal."""
    # Near the pole r² − z² is small, but z, a height along a normal that is a unit but for rounding, is off by a share of r: that moves
    # the root by up to 2**-11 r. So it is taken of no less than what is left when z is less by NEARLY r.
    z = least(greatest(a.radius * k, a.f), a.e)
    rest = (a.radius - z) * (a.radius + z) + a.radius * a.radius * (NEARLY + NEARLY)
    return k * z + s * root(greatest(rest, ZERO)) + a.radius * NEARLY


@helper
def sine(nx, ny, nz, x, y, z):
    """The length of a cross product, and what may have rounded."""
    return root(squared(ny * z - nz * y, nz * x - nx * z, nx * y - ny * x)) * WIDER


def area(a):
    """The area of its surface: of a zone, and two circles (eq. 4).

    >>> import numpy as np
    >>> round(float(area(SlabCutBall(0, 0, 0, 1, 0, 0, 1, -1, 1)) / np.pi), 6)
    4.0
    """
    return PI * (TWO * a.radius * (a.e - a.f) + TWO * a.radius * a.radius - a.e * a.e - a.f * a.f)


def volume(a):
    """Its volume: that of circles from f to e (eq. 5, where |f| must be −f).

    >>> import numpy as np
    >>> round(float(volume(SlabCutBall(0, 0, 0, 1, 0, 0, 1, -1, 1)) / np.pi), 6)
    1.333333
    """
    return PI / THREE * (a.e * (THREE * a.radius * a.radius - a.e * a.e) - a.f * (THREE * a.radius * a.radius - a.f * a.f))


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@helper
def slabs_apart(a, b):
    """How far apart b is from the slab of a, and a from the slab of b; at most that."""
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    k, s = a.nx * b.nx + (a.ny * b.ny + a.nz * b.nz), sine(a.nx, a.ny, a.nz, b.nx, b.ny, b.nz)
    p, q = a.nx * x + (a.ny * y + a.nz * z), b.nx * x + (b.ny * y + b.nz * z)
    less = (magnitude(x) + (magnitude(y) + magnitude(z))) * NEARLY
    one = greatest(p - support(b, -k, s) - a.e, a.f - p - support(b, k, s))
    other = greatest(-q - support(a, -k, s) - b.e, b.f + q - support(a, k, s))
    return greatest(one, other) - less


@overlap.on(SlabCutBall, SlabCutBall)
def _(a, b):
    some = reaches(squared(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)
    if bits(some) == 0:
        return some
    return some & (slabs_apart(a, b) <= ZERO)


@separation.on(SlabCutBall, SlabCutBall)
def _(a, b):
    flat = greatest(slabs_apart(a, b), ZERO)
    return greatest(away(squared(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius), flat * flat * LESS)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@pierce.on(SlabCutBall)
def _(a, ray):
    near, far = pierce(ball_of(a), ray)
    return between_planes(near, far, ray, ray.x - a.x, ray.y - a.y, ray.z - a.z, a.nx, a.ny, a.nz, a.f, a.e)


@merge.on(SlabCutBall)
def _(a):
    # Around all balls; and the narrowest of the slabs along the axes and amid all normals, turned to the side of the largest ball's.
    ball, some = merge(ball_of(a)), a.radius >= ZERO
    k = first(bits(a.radius >= highest(a.radius)))
    x, y, z = amid_direction(a.nx, a.ny, a.nz, some, element(a.nx, k), element(a.ny, k), element(a.nz, k))
    best = narrower(narrower(spread(a, ball, x, y, z), spread(a, ball, ONE, ZERO, ZERO)),
                    narrower(spread(a, ball, ZERO, ONE, ZERO), spread(a, ball, ZERO, ZERO, ONE)))
    return either(ball.radius >= ZERO, best, EMPTY)


@helper
def spread(a, ball, nx, ny, nz):
    """The ball, cut to what all lanes of a leave of it along n."""
    along = nx * (a.x - ball.x) + (ny * (a.y - ball.y) + nz * (a.z - ball.z))
    k, s = nx * a.nx + (ny * a.ny + nz * a.nz), sine(nx, ny, nz, a.nx, a.ny, a.nz)
    some, more = a.radius >= ZERO, ball.radius * (NEARLY + NEARLY)
    e, f = highest(where(some, along + support(a, k, s), -INF)), lowest(where(some, along - support(a, -k, s), INF))
    return cut(ball, nx, ny, nz, f - more, e + more)


@helper
def narrower(a, b):
    """That of two whose planes are closer."""
    return either((b.e - b.f) * CLEARLY < a.e - a.f, b, a)


@inflate.on(SlabCutBall)
def _(a, distance):
    ball, more = inflate(ball_of(a), distance), distance * WIDER
    return cut(ball, a.nx, a.ny, a.nz, -up(more - a.f), up(more + a.e))


@carry.on(SlabCutBall, Shift)
def _(a, way):
    more = TWO * way.slack                                              # as the centre may be off along n
    return cut(carry(ball_of(a), way), a.nx, a.ny, a.nz, a.f - more, a.e + more)


@carry.on(SlabCutBall, Turn)
def _(a, way):
    # What is turned is no rotation to the last bit: planes move by a share of the radius, and the normal must be made a unit again.
    x, y, z = turned(way, a.nx, a.ny, a.nz)
    over, more = ONE / root(squared(x, y, z)), a.radius * (EIGHT * way.loose + NEARLY) + FOUR * way.slack
    return cut(carry(ball_of(a), way), x * over, y * over, z * over, (a.f - more) * over, (a.e + more) * over)


@mirror.on(SlabCutBall)
def _(a):
    return SlabCutBall(-a.x, -a.y, -a.z, a.radius, -a.nx, -a.ny, -a.nz, a.f, a.e)


@blend.on(SlabCutBall, SlabCutBall)
def _(a, b, s, t):
    # As of balls; and along either normal what both reach, of which the narrower counts.
    ball = blend(ball_of(a), ball_of(b), s, t)
    k, sin = a.nx * b.nx + (a.ny * b.ny + a.nz * b.nz), sine(a.nx, a.ny, a.nz, b.nx, b.ny, b.nz)
    reach = (magnitude(a.x) + magnitude(a.y) + magnitude(a.z)) * s + (magnitude(b.x) + magnitude(b.y) + magnitude(b.z)) * t
    more = ball.radius * NEARLY + reach * TWO_ULP * TWO
    one = cut(ball, a.nx, a.ny, a.nz, a.f * s - support(b, -k, sin) * t - more, a.e * s + support(b, k, sin) * t + more)
    other = cut(ball, b.nx, b.ny, b.nz, b.f * t - support(a, -k, sin) * s - more, b.e * t + support(a, k, sin) * s + more)
    return narrower(one, other)


@size.on(SlabCutBall)
def _(a):
    return a.radius * TWO


@thickness.on(SlabCutBall)
def _(a):
    return least(a.radius, (a.e - a.f) * HALF)


@middle.on(SlabCutBall)
def _(a):
    return a.x, a.y, a.z


@span.on(SlabCutBall)
def _(a, x, y, z):
    # `support` along n / |n|, times |n|. A cosine that is less by NEARLY would count twice for a ball that is not cut, and a length that
    # is more would take away where the slab is on the other side: so both are as near as they can be, off by 6 e and 3 e, e = 2**-24,
    # and what they take of the radius, and the sine with them, is added.
    length = root(squared(x, y, z))
    over = ONE / greatest(length, TINIEST)
    reach = support(a, (x * a.nx + (y * a.ny + z * a.nz)) * over, sine(x, y, z, a.nx, a.ny, a.nz) * over * WIDER)
    return length * (reach + a.radius * NEARLY)


@part.on(SlabCutBall)
def _(a, b, x, y, z):
    return gap(a, b, x, y, z, a.nx, a.ny, a.nz)


# --- around points -----------------------------------------------------------------------------------------------------------------

@around.on(SlabCutBall)
def _(like, low, high):
    # Around the box, cut along its shortest side.
    centre = (low + high) * HALF
    ball, m = with_radius(centre, low, high, corner_distance(centre, low, high)), wide(low, high)
    side = greatest(high - centre, centre - low)
    x, y, z = element(side, 0), element(side, 1), element(side, 2)
    along_x, along_y = (x <= y) & (x <= z), y <= z
    half = least(x, least(y, z)) + m
    nx = where(along_x, ONE, ZERO)
    ny = where(along_x, ZERO, where(along_y, ONE, ZERO))
    return cut(ball, nx, ny, ONE - nx - ny, -half, half)


@enclose.on(SlabCutBall)
def _(like, low, high, points, order, begin, end):
    names, m = integers(N_NAMES), wide(low, high)
    extremes(points, order, begin, end, names)
    ball = smallest_around(names, low, high, points, order, begin, end)
    nx, ny, nz, f, e = narrowest_slab(names, ball.x, ball.y, ball.z, points, order, begin, end)
    return cut(ball, nx, ny, nz, f - m, e + m)
