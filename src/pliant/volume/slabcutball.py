"""Slab cut balls: a ball, and of it what lies between two parallel planes of any direction (Larsson and Akenine-Möller 2008).

Nine scalars, as tight around what is flat as an oriented box, and turned by turning a point and a normal. `fitting.py` makes them.

A point p is in one if |p − c| <= r and f <= n · (p − c) <= e, whatever the length of n; that is 1 but for rounding, so that planes are at
the distances e and f. Both are clamped to ±r, and the slab need not contain the centre.

OVERLAP. The report bounds what the slab leaves of a ball by a cylinder; here it is exact: along a direction at an angle to n with cosine
k and sine s, a ball cut to z in [f, e] reaches k z + s sqrt(r² − z²) at the z nearest to k r, which is r if k r is in the slab. So each
slab is compared with all that is left of the other ball, on the side of its middle: that covers all tests of Fig 8 but the first, without
a constant for what counts as aligned. Two balls first; if no lane passes, the slabs are not compared.

Errors: s comes from the cross product, which is right to 2**-22 where slabs are parallel, just where sqrt(1 − k²) would be off by 2**-11.
Products along a direction are right to 2**-21 of the radius. Normals of lengths 1 + a and 1 + b, |a| and |b| < 2**-20.8, make k z + s w
wrong by 3 |b| of the radius and, as z is sought at k r though k² + s² is not 1, by |a| + |b| more: together less than LENGTH_ERROR. The
root is of z that is off by |b| of the radius, see `support_at_angle`.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import ctz, extract, fabs, maximum, minimum, movemask, reduce_max, reduce_min, sqrt, where
from pliant.core.soa import select
from pliant.core.stack import stack_int64
from pliant.volume.aabb import HALF, INF, ONE, SCALE_DOWN, SCALE_UP, TWO_ULP, ZERO
from pliant.volume.fitting import N_EXTREMES, extreme_points, narrowest_slab, slab_beside_parent, smallest_sphere
from pliant.volume.planes import MIN_LENGTH, TIE_FACTOR, clip_ray_to_slab, mean_direction
from pliant.volume.protocol import (
    REL_ERROR,
    ParentFit,
    RigidTransform,
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
    separating_gap,
    separation,
    size,
    support_value,
    transform_volume,
)
from pliant.volume.slabs import sum_error
from pliant.volume.sphere import TWO, Sphere, make_sphere, squared_gap, squared_half_diagonal, squared_norm, within_radius

PI, THREE, FOUR, EIGHT = np.float32(np.pi), np.float32(3), np.float32(4), np.float32(8)
ROUNDED_ROTATION = np.float32(2.0**-22 + 2.0**-26)                      # `rotation_error` of matrices orthogonal up to 2**-27
LENGTH_ERROR = REL_ERROR * FOUR                                         # of the radius: what normals of other lengths than 1 are good for


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
register_volume_type(VolumeType("slabcutball", SlabCutBall, EMPTY, loosened_by_merge=True))


@helper
def ball_of(a):
    """The ball that is cut."""
    return Sphere(a.x, a.y, a.z, a.radius)


@helper
def cut_ball(ball, nx, ny, nz, f, e):
    """A ball between two planes; planes beyond it come back to its surface."""
    limit = ball.radius * SCALE_UP
    return SlabCutBall(ball.x, ball.y, ball.z, ball.radius, nx, ny, nz, maximum(f, -limit), minimum(e, limit))


@helper
def support_at_angle(a, k, s):
    """How far a reaches from its centre along a direction at an angle of cosine k and sine s, or a little more, to its normal."""
    # Near the pole r² − z² is small, but z, a height along a normal that is a unit but for rounding, is off by a share of r: that moves
    # the root by up to 2**-11 r. So it is taken of no less than what is left when z is less by REL_ERROR r.
    z = minimum(maximum(a.radius * k, a.f), a.e)
    remainder = (a.radius - z) * (a.radius + z) + a.radius * a.radius * (REL_ERROR + REL_ERROR)
    return k * z + s * sqrt(maximum(remainder, ZERO)) + a.radius * LENGTH_ERROR


@helper
def sine(nx, ny, nz, x, y, z):
    """The length of a cross product, and what may have rounded."""
    return sqrt(squared_norm(ny * z - nz * y, nz * x - nx * z, nx * y - ny * x)) * SCALE_UP


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
def gap_along_slab(a, b, p, k, s):
    """The gap between the slab of a and b, on the side on which b can be: at most the distance of b from the slab. `p` is the height of
    b's centre above a's, along the normal of a; k and s are the cosine and the sine between the normals.

    The middle of b, its centre moved along its own normal to the middle of its slab, is a point of b. Where b lies beyond one plane of the
    slab of a, so does this point: so the other plane need not be tested, and no separation is lost but by rounding.
    """
    above = p + k * ((b.e + b.f) * HALF) >= (a.e + a.f) * HALF
    sign = where(above, ONE, -ONE)
    return sign * p - support_at_angle(b, -sign * k, s) - where(above, a.e, -a.f)


@helper
def slab_gap(a, b):
    """How far apart b is from the slab of a, and a from the slab of b; at most that."""
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    k, s = a.nx * b.nx + (a.ny * b.ny + a.nz * b.nz), sine(a.nx, a.ny, a.nz, b.nx, b.ny, b.nz)
    p, q = a.nx * x + (a.ny * y + a.nz * z), b.nx * x + (b.ny * y + b.nz * z)
    error = (fabs(x) + (fabs(y) + fabs(z))) * REL_ERROR
    return maximum(gap_along_slab(a, b, p, k, s), gap_along_slab(b, a, -q, k, s)) - error


@overlap.register(SlabCutBall, SlabCutBall)
def _(a, b):
    some = within_radius(squared_norm(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius)
    if movemask(some) == 0:
        return some
    return some & (slab_gap(a, b) <= ZERO)


@separation.register(SlabCutBall, SlabCutBall)
def _(a, b):
    flat = maximum(slab_gap(a, b), ZERO)
    return maximum(squared_gap(squared_norm(b.x - a.x, b.y - a.y, b.z - a.z), a.radius + b.radius), flat * flat * SCALE_DOWN)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@ray_interval.register(SlabCutBall)
def _(a, ray):
    near, far = ray_interval(ball_of(a), ray)
    return clip_ray_to_slab(near, far, ray, ray.x - a.x, ray.y - a.y, ray.z - a.z, a.nx, a.ny, a.nz, a.f, a.e)


@merge.register(SlabCutBall)
def _(a):
    # Around all balls; and the narrowest of the slabs along the axes and amid all normals, turned to the side of the largest ball's.
    ball, some = merge(ball_of(a)), a.radius >= ZERO
    k = ctz(movemask(a.radius >= reduce_max(a.radius)))
    x, y, z = mean_direction(a.nx, a.ny, a.nz, some, extract(a.nx, k), extract(a.ny, k), extract(a.nz, k))
    best = narrower_slab(narrower_slab(merge_along(a, ball, x, y, z), merge_along(a, ball, ONE, ZERO, ZERO)),
                         narrower_slab(merge_along(a, ball, ZERO, ONE, ZERO), merge_along(a, ball, ZERO, ZERO, ONE)))
    return select(ball.radius >= ZERO, best, EMPTY)


@helper
def merge_along(a, ball, nx, ny, nz):
    """The ball, cut to what all lanes of a leave of it along n."""
    along = nx * (a.x - ball.x) + (ny * (a.y - ball.y) + nz * (a.z - ball.z))
    k, s = nx * a.nx + (ny * a.ny + nz * a.nz), sine(nx, ny, nz, a.nx, a.ny, a.nz)
    nonempty, margin = a.radius >= ZERO, ball.radius * (REL_ERROR + REL_ERROR)
    e = reduce_max(where(nonempty, along + support_at_angle(a, k, s), -INF))
    f = reduce_min(where(nonempty, along - support_at_angle(a, -k, s), INF))
    return cut_ball(ball, nx, ny, nz, f - margin, e + margin)


@helper
def narrower_slab(a, b):
    """That of two whose planes are closer."""
    return select((b.e - b.f) * TIE_FACTOR < a.e - a.f, b, a)


@inflate.register(SlabCutBall)
def _(a, distance):
    ball, more = inflate(ball_of(a), distance), distance * SCALE_UP
    return cut_ball(ball, a.nx, a.ny, a.nz, -round_up(more - a.f), round_up(more + a.e))


@transform_volume.register(SlabCutBall, Translation)
def _(a, transform):
    more = TWO * transform.margin                                       # as the centre may be off along n
    return cut_ball(transform_volume(ball_of(a), transform), a.nx, a.ny, a.nz, a.f - more, a.e + more)


@transform_volume.register(SlabCutBall, RigidTransform)
def _(a, transform):
    # The matrix is not orthogonal to the last bit, so planes move by a share of the radius. That of a rotation in float64 is, but for
    # rounding to float32; then the normal is not normalised again, which took 6 % of a query of bodies in parallel close proximity: its
    # length is off by less than 2**-21.7 more, for which `support_at_angle` has room. Otherwise its squared length is 1 + d with
    # |d| < 2**-13, so (3 − length²) / 2 is 1 / length up to 3 d² / 8, less than the rounding.
    x, y, z = rotate(transform, a.nx, a.ny, a.nz)
    more = a.radius * (EIGHT * transform.rotation_error + REL_ERROR) + FOUR * transform.margin
    f, e = a.f - more, a.e + more
    if transform.rotation_error > ROUNDED_ROTATION:
        over = THREE * HALF - squared_norm(x, y, z) * HALF
        x, y, z, f, e = x * over, y * over, z * over, f * over, e * over
    return cut_ball(transform_volume(ball_of(a), transform), x, y, z, f, e)


@negate.register(SlabCutBall)
def _(a):
    return SlabCutBall(-a.x, -a.y, -a.z, a.radius, -a.nx, -a.ny, -a.nz, a.f, a.e)


@blend.register(SlabCutBall, SlabCutBall)
def _(a, b, s, t):
    # As of balls; and along either normal what both reach, of which the narrower counts.
    ball = blend(ball_of(a), ball_of(b), s, t)
    k, sin = a.nx * b.nx + (a.ny * b.ny + a.nz * b.nz), sine(a.nx, a.ny, a.nz, b.nx, b.ny, b.nz)
    reach = (fabs(a.x) + fabs(a.y) + fabs(a.z)) * s + (fabs(b.x) + fabs(b.y) + fabs(b.z)) * t
    more = ball.radius * REL_ERROR + reach * TWO_ULP * TWO
    one = cut_ball(ball, a.nx, a.ny, a.nz, a.f * s - support_at_angle(b, -k, sin) * t - more,
                   a.e * s + support_at_angle(b, k, sin) * t + more)
    other = cut_ball(ball, b.nx, b.ny, b.nz, b.f * t - support_at_angle(a, -k, sin) * s - more,
                     b.e * t + support_at_angle(a, k, sin) * s + more)
    return narrower_slab(one, other)


@size.register(SlabCutBall)
def _(a):
    return a.radius * TWO


@min_half_extent.register(SlabCutBall)
def _(a):
    return minimum(a.radius, (a.e - a.f) * HALF)


@center.register(SlabCutBall)
def _(a):
    return a.x, a.y, a.z


@support_value.register(SlabCutBall)
def _(a, x, y, z):
    # `support_at_angle` along n / |n|, times |n|. A cosine that is less by REL_ERROR would count twice for a ball that is not cut, and a
    # length that
    # is more would take away where the slab is on the other side: so both are as near as they can be, off by 6 e and 3 e, e = 2**-24,
    # and what they take of the radius, and the sine with them, is added.
    length = sqrt(squared_norm(x, y, z))
    over = ONE / maximum(length, MIN_LENGTH)
    reach = support_at_angle(a, (x * a.nx + (y * a.ny + z * a.nz)) * over, sine(x, y, z, a.nx, a.ny, a.nz) * over * SCALE_UP)
    return length * (reach + a.radius * REL_ERROR)


@separating_gap.register(SlabCutBall)
def _(a, b, x, y, z):
    return gap(a, b, x, y, z, a.nx, a.ny, a.nz)


# --- around points -----------------------------------------------------------------------------------------------------------------

@enclose_box.register(SlabCutBall)
def _(like, low, high):
    # Around the box, cut along its shortest side.
    centre = (low + high) * HALF
    ball, m = make_sphere(centre, low, high, squared_half_diagonal(centre, low, high)), sum_error(low, high)
    side = maximum(high - centre, centre - low)
    x, y, z = extract(side, 0), extract(side, 1), extract(side, 2)
    along_x, along_y = (x <= y) & (x <= z), y <= z
    half = minimum(x, minimum(y, z)) + m
    nx = where(along_x, ONE, ZERO)
    ny = where(along_x, ZERO, where(along_y, ONE, ZERO))
    return cut_ball(ball, nx, ny, ONE - nx - ny, -half, half)


@enclose_points.register(SlabCutBall)
def _(like, low, high, points, order, begin, end):
    extreme_ids, m = stack_int64(N_EXTREMES), sum_error(low, high)
    extreme_points(points, order, begin, end, extreme_ids)
    ball = smallest_sphere(extreme_ids, low, high, points, order, begin, end)
    nx, ny, nz, f, e = narrowest_slab(extreme_ids, ball.x, ball.y, ball.z, points, order, begin, end)
    return cut_ball(ball, nx, ny, nz, f - m, e + m)


@fit.register(ParentFit, SlabCutBall)
def _(method, like, low, high, points, order, begin, end):
    extreme_ids, m = stack_int64(N_EXTREMES), sum_error(low, high)
    extreme_points(points, order, begin, end, extreme_ids)
    ball = smallest_sphere(extreme_ids, low, high, points, order, begin, end)
    nx, ny, nz, f, e = slab_beside_parent(extreme_ids, like, ball, points, order, begin, end)
    return cut_ball(ball, nx, ny, nz, f - m, e + m)
