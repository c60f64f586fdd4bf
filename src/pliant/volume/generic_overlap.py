"""The tests of two bounding volumes whose types define none for each other: they are apart if a gap is found along a direction in which
either is flat, or along the line between their centers.

Every convex volume has a support along each direction (`support_value`); two volumes whose supports leave a gap along some direction are
apart. Only the choice of directions could use more about a pair of types, and types that have a better test define it. The functions here
are the defaults of the generic functions, also for types that are registered later.
"""
from pliant.core.dispatch import ANY
from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, sqrt, where
from pliant.volume.aabb import INF, SCALE_DOWN, ZERO
from pliant.volume.protocol import (
    MIN_NORMAL,
    DefaultFit,
    TightestFit,
    center,
    enclose_points,
    fit,
    gap,
    overlap,
    sat_cross_axes,
    separating_gap,
    separation,
    size,
)


@helper
def widest_gap(a, b):
    """The widest gap between a and b along the tried directions; at most their distance."""
    ax, ay, az = center(a)
    bx, by, bz = center(b)
    x, y, z = bx - ax, by - ay, bz - az
    length = sqrt(x * x + (y * y + z * z))
    over = where(length > MIN_NORMAL, SCALE_DOWN / maximum(length, MIN_NORMAL), ZERO)  # the line between centers, a little shorter than 1
    flat = maximum(separating_gap(a, b, x, y, z), separating_gap(b, a, -x, -y, -z))
    return maximum(flat, gap(a, b, x, y, z, x * over, y * over, z * over))


@helper
def both_nonempty(a, b):
    """Is neither of them empty?"""
    return (size(a) >= ZERO) & (size(b) >= ZERO)


@overlap.register(ANY, ANY)
def _(a, b):
    return (widest_gap(a, b) <= ZERO) & both_nonempty(a, b)


@separation.register(ANY, ANY)
def _(a, b):
    far = maximum(widest_gap(a, b), ZERO)
    return where(both_nonempty(a, b), far * far * SCALE_DOWN, INF)


@sat_cross_axes.register(ANY, ANY)
def _(a, b):
    return fabs(size(a)) < ZERO


def _enclose_points(method, like, low, high, points, order, begin, end):
    return enclose_points(like, low, high, points, order, begin, end)


fit.register(TightestFit, ANY)(_enclose_points)
fit.register(DefaultFit, ANY)(_enclose_points)
