"""Two volumes of types without a test of their own: separated if a gap is found along a direction in which either is flat, or along the
way from middle to middle.

Every convex volume says how far it reaches along a direction (`support_value`), and a direction along which two of them do not reach each
other separates them; which ones to try is all that a pair of types could know better. Types that have a better test define it.
"""
from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, sqrt, where
from pliant.volume.aabb import INF, SCALE_DOWN, ZERO
from pliant.volume.obb_sat import RotatedBox
from pliant.volume.protocol import (
    MIN_NORMAL,
    VOLUME_TYPES,
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
    """The widest gap between a and b that is found; at most their distance."""
    ax, ay, az = center(a)
    bx, by, bz = center(b)
    x, y, z = bx - ax, by - ay, bz - az
    length = sqrt(x * x + (y * y + z * z))
    over = where(length > MIN_NORMAL, SCALE_DOWN / maximum(length, MIN_NORMAL), ZERO)  # the way between middles, a little shorter than 1
    flat = maximum(separating_gap(a, b, x, y, z), separating_gap(b, a, -x, -y, -z))
    return maximum(flat, gap(a, b, x, y, z, x * over, y * over, z * over))


@helper
def both_nonempty(a, b):
    """Are both something?"""
    return (size(a) >= ZERO) & (size(b) >= ZERO)


def _overlap(a, b):
    return (widest_gap(a, b) <= ZERO) & both_nonempty(a, b)


def _separation(a, b):
    far = maximum(widest_gap(a, b), ZERO)
    return where(both_nonempty(a, b), far * far * SCALE_DOWN, INF)


def _no_cross_axes(a, b):
    return fabs(size(a)) < ZERO


def _fit(method, like, low, high, points, order, begin, end):
    return enclose_points(like, low, high, points, order, begin, end)


def register_defaults():
    """Define the tests between all volume types. Called when all are registered."""
    volumes = list(dict.fromkeys(volume_type.volume for volume_type in VOLUME_TYPES.values()))
    for a in volumes:
        for method in (TightestFit, DefaultFit):
            if (method, a) not in fit.table:
                fit.register(method, a)(_fit)
        for b in (*volumes, RotatedBox):
            if (a, b) not in separation.table:
                separation.register(a, b)(_separation)
            if (a, b) not in overlap.table:
                overlap.register(a, b)(_overlap)
            if (a, b) not in sat_cross_axes.table:
                sat_cross_axes.register(a, b)(_no_cross_axes)
