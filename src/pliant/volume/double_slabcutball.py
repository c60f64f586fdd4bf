"""Balls cut by two slabs: for long thin triangles, around which a ball with one slab is a disc (Larsson and Akenine-Möller 2008, 6).

Fourteen scalars: a slab cut ball, and a second slab with the same centre, fitted across the length of what the first leaves. Along a
direction it reaches no farther than the ball cut by either slab alone does; that is what `span` says, and all tests are those of
`generic_overlap.py` with two directions instead of one.
"""
from typing import NamedTuple

from pliant.core.jit import helper
from pliant.core.simd import maximum, minimum
from pliant.core.stack import stack_int64
from pliant.volume.aabb import INF, ONE, ZERO
from pliant.volume.fitting import N_EXTREMES, extreme_points, narrowest_slab, perpendicular_slab, smallest_sphere
from pliant.volume.planes import clip_ray_to_slab
from pliant.volume.protocol import (
    RigidTransform,
    Translation,
    VolumeType,
    blend,
    center,
    enclose_box,
    enclose_points,
    fields,
    gap,
    inflate,
    merge,
    min_half_extent,
    negate,
    ray_interval,
    register_volume_type,
    separating_gap,
    size,
    support_value,
    transform_volume,
)
from pliant.volume.slabcutball import SlabCutBall, cut_ball
from pliant.volume.slabs import sum_error
from pliant.volume.sphere import TWO

DoubleSlabCutBall = NamedTuple("DoubleSlabCutBall", fields(f"{' '.join(SlabCutBall._fields)} mx my mz g h"))
DoubleSlabCutBall.__doc__ = """A slab cut ball, restricted to the points between the planes at g and h from its center along m."""

EMPTY = DoubleSlabCutBall(ZERO, ZERO, ZERO, -INF, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ZERO, ONE, ZERO, ZERO)
register_volume_type(VolumeType("double_slabcutball", DoubleSlabCutBall, EMPTY, loosened_by_merge=True))


@helper
def first_cut(a):
    """Cut by the first slab alone."""
    return SlabCutBall(a.x, a.y, a.z, a.radius, a.nx, a.ny, a.nz, a.f, a.e)


@helper
def second_cut(a):
    """Cut by the second slab alone."""
    return SlabCutBall(a.x, a.y, a.z, a.radius, a.mx, a.my, a.mz, a.g, a.h)


@helper
def combine_cuts(a, b):
    """One ball, cut by the slabs of a and of b."""
    return DoubleSlabCutBall(a.x, a.y, a.z, a.radius, a.nx, a.ny, a.nz, a.f, a.e, b.nx, b.ny, b.nz, b.f, b.e)


@ray_interval.register(DoubleSlabCutBall)
def _(a, ray):
    near, far = ray_interval(first_cut(a), ray)
    return clip_ray_to_slab(near, far, ray, ray.x - a.x, ray.y - a.y, ray.z - a.z, a.mx, a.my, a.mz, a.g, a.h)


@merge.register(DoubleSlabCutBall)
def _(a):
    # Each slab as if there were no other: the balls are the same.
    return combine_cuts(merge(first_cut(a)), merge(second_cut(a)))


@inflate.register(DoubleSlabCutBall)
def _(a, distance):
    return combine_cuts(inflate(first_cut(a), distance), inflate(second_cut(a), distance))


@transform_volume.register(DoubleSlabCutBall, Translation)
def _(a, transform):
    return combine_cuts(transform_volume(first_cut(a), transform), transform_volume(second_cut(a), transform))


@transform_volume.register(DoubleSlabCutBall, RigidTransform)
def _(a, transform):
    return combine_cuts(transform_volume(first_cut(a), transform), transform_volume(second_cut(a), transform))


@negate.register(DoubleSlabCutBall)
def _(a):
    return combine_cuts(negate(first_cut(a)), negate(second_cut(a)))


@blend.register(DoubleSlabCutBall, DoubleSlabCutBall)
def _(a, b, s, t):
    return combine_cuts(blend(first_cut(a), first_cut(b), s, t), blend(second_cut(a), second_cut(b), s, t))


@size.register(DoubleSlabCutBall)
def _(a):
    return a.radius * TWO


@min_half_extent.register(DoubleSlabCutBall)
def _(a):
    return minimum(min_half_extent(first_cut(a)), min_half_extent(second_cut(a)))


@center.register(DoubleSlabCutBall)
def _(a):
    return a.x, a.y, a.z


@support_value.register(DoubleSlabCutBall)
def _(a, x, y, z):
    return minimum(support_value(first_cut(a), x, y, z), support_value(second_cut(a), x, y, z))


@separating_gap.register(DoubleSlabCutBall)
def _(a, b, x, y, z):
    return maximum(gap(a, b, x, y, z, a.nx, a.ny, a.nz), gap(a, b, x, y, z, a.mx, a.my, a.mz))


@enclose_box.register(DoubleSlabCutBall)
def _(like, low, high):
    a = enclose_box(first_cut(like), low, high)
    # The second shortest side of the box is not known here any more; the slab of the ball itself does no harm.
    return combine_cuts(a, cut_ball(a, a.ny, a.nz, a.nx, -a.radius, a.radius))


@enclose_points.register(DoubleSlabCutBall)
def _(like, low, high, points, order, begin, end):
    extreme_ids, m = stack_int64(N_EXTREMES), sum_error(low, high)
    extreme_points(points, order, begin, end, extreme_ids)
    ball = smallest_sphere(extreme_ids, low, high, points, order, begin, end)
    nx, ny, nz, f, e = narrowest_slab(extreme_ids, ball.x, ball.y, ball.z, points, order, begin, end)
    mx, my, mz, g, h = perpendicular_slab(extreme_ids, nx, ny, nz, ball.x, ball.y, ball.z, points, order, begin, end)
    return combine_cuts(cut_ball(ball, nx, ny, nz, f - m, e + m), cut_ball(ball, mx, my, mz, g - m, h + m))
