"""Balls cut by two slabs: for long thin triangles, around which a ball with one slab is a disc (Larsson and Akenine-Möller 2008, 6).

Fourteen scalars: a slab cut ball, and a second slab with the same centre, fitted across the length of what the first leaves. Along a
direction it reaches no farther than the ball cut by either slab alone does; that is what `span` says, and all tests are those of
`generic_overlap.py` with two directions instead of one.
"""
from typing import NamedTuple

from pliant.core.jit import helper
from pliant.core.simd import greatest, least
from pliant.core.stack import integers
from pliant.volume.aabb import INF, ONE, ZERO
from pliant.volume.fitting import N_NAMES, extremes, narrowest_slab, slab_across, smallest_around
from pliant.volume.planes import between_planes
from pliant.volume.protocol import (
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
    part,
    pierce,
    register,
    size,
    span,
    thickness,
)
from pliant.volume.slabcutball import SlabCutBall, cut
from pliant.volume.slabs import wide
from pliant.volume.sphere import TWO


class TwiceCutBall(NamedTuple):
    """A slab cut ball, and of it what is between the planes at g and h from its centre along m."""
    x: float
    y: float
    z: float
    radius: float
    nx: float
    ny: float
    nz: float
    f: float
    e: float
    mx: float
    my: float
    mz: float
    g: float
    h: float


EMPTY = TwiceCutBall(ZERO, ZERO, ZERO, -INF, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ZERO, ONE, ZERO, ZERO)
register(Family("slabcutball2", TwiceCutBall, EMPTY, fitted=True))


@helper
def once(a):
    """Cut by the first slab alone."""
    return SlabCutBall(a.x, a.y, a.z, a.radius, a.nx, a.ny, a.nz, a.f, a.e)


@helper
def other(a):
    """Cut by the second slab alone."""
    return SlabCutBall(a.x, a.y, a.z, a.radius, a.mx, a.my, a.mz, a.g, a.h)


@helper
def both(a, b):
    """One ball, cut by the slabs of a and of b."""
    return TwiceCutBall(a.x, a.y, a.z, a.radius, a.nx, a.ny, a.nz, a.f, a.e, b.nx, b.ny, b.nz, b.f, b.e)


@pierce.on(TwiceCutBall)
def _(a, ray):
    near, far = pierce(once(a), ray)
    return between_planes(near, far, ray, ray.x - a.x, ray.y - a.y, ray.z - a.z, a.mx, a.my, a.mz, a.g, a.h)


@merge.on(TwiceCutBall)
def _(a):
    # Each slab as if there were no other: the balls are the same.
    return both(merge(once(a)), merge(other(a)))


@inflate.on(TwiceCutBall)
def _(a, distance):
    return both(inflate(once(a), distance), inflate(other(a), distance))


@carry.on(TwiceCutBall, Shift)
def _(a, way):
    return both(carry(once(a), way), carry(other(a), way))


@carry.on(TwiceCutBall, Turn)
def _(a, way):
    return both(carry(once(a), way), carry(other(a), way))


@mirror.on(TwiceCutBall)
def _(a):
    return both(mirror(once(a)), mirror(other(a)))


@blend.on(TwiceCutBall, TwiceCutBall)
def _(a, b, s, t):
    return both(blend(once(a), once(b), s, t), blend(other(a), other(b), s, t))


@size.on(TwiceCutBall)
def _(a):
    return a.radius * TWO


@thickness.on(TwiceCutBall)
def _(a):
    return least(thickness(once(a)), thickness(other(a)))


@middle.on(TwiceCutBall)
def _(a):
    return a.x, a.y, a.z


@span.on(TwiceCutBall)
def _(a, x, y, z):
    return least(span(once(a), x, y, z), span(other(a), x, y, z))


@part.on(TwiceCutBall)
def _(a, b, x, y, z):
    return greatest(gap(a, b, x, y, z, a.nx, a.ny, a.nz), gap(a, b, x, y, z, a.mx, a.my, a.mz))


@around.on(TwiceCutBall)
def _(like, low, high):
    a = around(once(like), low, high)
    # The second shortest side of the box is not known here any more; the slab of the ball itself does no harm.
    return both(a, cut(a, a.ny, a.nz, a.nx, -a.radius, a.radius))


@enclose.on(TwiceCutBall)
def _(like, low, high, points, order, begin, end):
    names, m = integers(N_NAMES), wide(low, high)
    extremes(points, order, begin, end, names)
    ball = smallest_around(names, low, high, points, order, begin, end)
    nx, ny, nz, f, e = narrowest_slab(names, ball.x, ball.y, ball.z, points, order, begin, end)
    mx, my, mz, g, h = slab_across(names, nx, ny, nz, ball.x, ball.y, ball.z, points, order, begin, end)
    return both(cut(ball, nx, ny, nz, f - m, e + m), cut(ball, mx, my, mz, g - m, h + m))
