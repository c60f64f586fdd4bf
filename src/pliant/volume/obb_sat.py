"""Boxes of bodies that are turned against each other: separating axes (Gottschalk, Lin and Manocha 1996; thesis B 6.3).

Eight boxes along the axes of their body against one of another body, which is a box along turned axes: they are apart if some axis parts
them, of the three faces of either (`overlap`, "lite", six axes) or of the nine pairs of edges (`sat_cross_axes`, the rest of "full",
fifteen).

Errors: entries of the rotation are off by `rotation_error`, which the absolute entries carry on top, times four: projections of both boxes
and, for boxes that meet, of the way between their middles are off by no more. Roundings of places are in the half sides of the rotated
box, which `margin` widens.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, where
from pliant.volume.aabb import HALF, INF, SCALE_DOWN, SCALE_UP, ZERO, Box
from pliant.volume.protocol import (
    REL_ERROR,
    ROTATION,
    RigidTransform,
    center,
    fields,
    gap,
    overlap,
    sat_cross_axes,
    separating_gap,
    separation,
    size,
    support_value,
    transform_point,
    transform_volume,
)

FOUR = np.float32(4)


RotatedBox = NamedTuple("RotatedBox", fields(f"cx cy cz hx hy hz {ROTATION} rotation_error"))
RotatedBox.__doc__ = """Center c and half sides h along the box's own axes, which are the columns of r."""


@transform_volume.register(Box, RigidTransform)
def _(a, transform):
    x, y, z, p, q, r = center_half_extents(a)
    x, y, z = transform_point(transform, x, y, z)
    return RotatedBox(x, y, z, p + transform.margin, q + transform.margin, r + transform.margin,
                      transform.r00, transform.r01, transform.r02, transform.r10, transform.r11, transform.r12, transform.r20,
                      transform.r21, transform.r22, FOUR * transform.rotation_error)


@helper
def center_half_extents(a):
    """Middles and half sides of boxes."""
    return ((a.lox + a.hix) * HALF, (a.loy + a.hiy) * HALF, (a.loz + a.hiz) * HALF,
            (a.hix - a.lox) * HALF, (a.hiy - a.loy) * HALF, (a.hiz - a.loz) * HALF)


@helper
def abs_rotation(b):
    """|r|, and a little more."""
    return (fabs(b.r00) + b.rotation_error, fabs(b.r01) + b.rotation_error, fabs(b.r02) + b.rotation_error, fabs(b.r10) + b.rotation_error,
            fabs(b.r11) + b.rotation_error, fabs(b.r12) + b.rotation_error, fabs(b.r20) + b.rotation_error, fabs(b.r21) + b.rotation_error,
            fabs(b.r22) + b.rotation_error)


@overlap.register(Box, RotatedBox)
def _(a, b):
    mx, my, mz, sx, sy, sz = center_half_extents(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = abs_rotation(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    overlapping = fabs(tx) <= sx + (s00 * b.hx + (s01 * b.hy + s02 * b.hz))
    overlapping = overlapping & (fabs(ty) <= sy + (s10 * b.hx + (s11 * b.hy + s12 * b.hz)))
    overlapping = overlapping & (fabs(tz) <= sz + (s20 * b.hx + (s21 * b.hy + s22 * b.hz)))
    more = b.rotation_error * (b.hx + b.hy + b.hz)                      # its own axes are neither units nor perpendicular to the last bit
    overlapping = overlapping & (fabs(tx * b.r00 + (ty * b.r10 + tz * b.r20)) <= sx * s00 + (sy * s10 + (sz * s20 + (b.hx + more))))
    overlapping = overlapping & (fabs(tx * b.r01 + (ty * b.r11 + tz * b.r21)) <= sx * s01 + (sy * s11 + (sz * s21 + (b.hy + more))))
    return overlapping & (fabs(tx * b.r02 + (ty * b.r12 + tz * b.r22)) <= sx * s02 + (sy * s12 + (sz * s22 + (b.hz + more))))


@separation.register(Box, RotatedBox)
def _(a, b):
    # The larger of two distances: between a and the box around b along a's axes, and the other way round.
    mx, my, mz, sx, sy, sz = center_half_extents(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = abs_rotation(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    x = maximum(fabs(tx) - (sx + (s00 * b.hx + (s01 * b.hy + s02 * b.hz))), ZERO)
    y = maximum(fabs(ty) - (sy + (s10 * b.hx + (s11 * b.hy + s12 * b.hz))), ZERO)
    z = maximum(fabs(tz) - (sz + (s20 * b.hx + (s21 * b.hy + s22 * b.hz))), ZERO)
    far = fabs(tx) + (fabs(ty) + fabs(tz))
    # its own axes are neither units nor perpendicular to the last bit
    more = b.rotation_error * (b.hx + b.hy + b.hz + far) + far * REL_ERROR
    p = fabs(tx * b.r00 + (ty * b.r10 + tz * b.r20)) - (sx * s00 + (sy * s10 + (sz * s20 + (b.hx + more))))
    q = fabs(tx * b.r01 + (ty * b.r11 + tz * b.r21)) - (sx * s01 + (sy * s11 + (sz * s21 + (b.hy + more))))
    r = fabs(tx * b.r02 + (ty * b.r12 + tz * b.r22)) - (sx * s02 + (sy * s12 + (sz * s22 + (b.hz + more))))
    p, q, r = maximum(p, ZERO), maximum(q, ZERO), maximum(r, ZERO)
    far = maximum(x * x + (y * y + z * z), (p * p + (q * q + r * r)) * maximum(SCALE_DOWN - FOUR * b.rotation_error, ZERO)) * SCALE_DOWN
    return where((a.lox <= a.hix) & (b.hx >= ZERO), far, INF)


@sat_cross_axes.register(Box, RotatedBox)
def _(a, b):
    mx, my, mz, sx, sy, sz = center_half_extents(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = abs_rotation(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    separated = fabs(tz * b.r10 - ty * b.r20) > sy * s20 + (sz * s10 + (b.hy * s02 + b.hz * s01))
    separated = separated | (fabs(tz * b.r11 - ty * b.r21) > sy * s21 + (sz * s11 + (b.hx * s02 + b.hz * s00)))
    separated = separated | (fabs(tz * b.r12 - ty * b.r22) > sy * s22 + (sz * s12 + (b.hx * s01 + b.hy * s00)))
    separated = separated | (fabs(tx * b.r20 - tz * b.r00) > sx * s20 + (sz * s00 + (b.hy * s12 + b.hz * s11)))
    separated = separated | (fabs(tx * b.r21 - tz * b.r01) > sx * s21 + (sz * s01 + (b.hx * s12 + b.hz * s10)))
    separated = separated | (fabs(tx * b.r22 - tz * b.r02) > sx * s22 + (sz * s02 + (b.hx * s11 + b.hy * s10)))
    separated = separated | (fabs(ty * b.r00 - tx * b.r10) > sx * s10 + (sy * s00 + (b.hy * s22 + b.hz * s21)))
    separated = separated | (fabs(ty * b.r01 - tx * b.r11) > sx * s11 + (sy * s01 + (b.hx * s22 + b.hz * s20)))
    return separated | (fabs(ty * b.r02 - tx * b.r12) > sx * s12 + (sy * s02 + (b.hx * s21 + b.hy * s20)))


@size.register(RotatedBox)
def _(a):
    return maximum(a.hx, maximum(a.hy, a.hz))


@center.register(RotatedBox)
def _(a):
    return a.cx, a.cy, a.cz


@support_value.register(RotatedBox)
def _(a, x, y, z):
    more = a.rotation_error * (fabs(x) + (fabs(y) + fabs(z)))
    p, q, r = (fabs(a.r00 * x + (a.r10 * y + a.r20 * z)) + more, fabs(a.r01 * x + (a.r11 * y + a.r21 * z)) + more,
               fabs(a.r02 * x + (a.r12 * y + a.r22 * z)) + more)
    return (a.hx * p + (a.hy * q + a.hz * r)) * SCALE_UP


@separating_gap.register(RotatedBox)
def _(a, b, x, y, z):
    return maximum(gap(a, b, x, y, z, a.r00, a.r10, a.r20),
                   maximum(gap(a, b, x, y, z, a.r01, a.r11, a.r21), gap(a, b, x, y, z, a.r02, a.r12, a.r22)))
