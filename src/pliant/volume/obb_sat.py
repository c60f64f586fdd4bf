"""Boxes of bodies that are turned against each other: separating axes (Gottschalk, Lin and Manocha 1996; thesis B 6.3).

Eight boxes along the axes of their body against one of another body, which is a box along turned axes: they are apart if some axis parts
them, of the three faces of either (`overlap`, "lite", six axes) or of the nine pairs of edges (`skew`, the rest of "full", fifteen).

Errors: entries of the rotation are off by `loose`, which the absolute entries carry on top, times four: projections of both boxes
and, for boxes that meet, of the way between their middles are off by no more. Roundings of places are in the half sides of the turned
box, which `slack` widens.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import greatest, magnitude, where
from pliant.volume.aabb import HALF, INF, LESS, WIDER, ZERO, Box
from pliant.volume.protocol import NEARLY, Turn, carry, gap, middle, moved, overlap, part, separation, size, skew, span

FOUR = np.float32(4)


class TurnedBox(NamedTuple):
    """Middle c and half sides h along its own axes, which are the columns of r."""
    cx: float
    cy: float
    cz: float
    hx: float
    hy: float
    hz: float
    r00: float
    r01: float
    r02: float
    r10: float
    r11: float
    r12: float
    r20: float
    r21: float
    r22: float
    loose: float


@carry.on(Box, Turn)
def _(a, way):
    x, y, z, p, q, r = halves(a)
    x, y, z = moved(way, x, y, z)
    return TurnedBox(x, y, z, p + way.slack, q + way.slack, r + way.slack,
                     way.r00, way.r01, way.r02, way.r10, way.r11, way.r12, way.r20, way.r21, way.r22, FOUR * way.loose)


@helper
def halves(a):
    """Middles and half sides of boxes."""
    return ((a.lox + a.hix) * HALF, (a.loy + a.hiy) * HALF, (a.loz + a.hiz) * HALF,
            (a.hix - a.lox) * HALF, (a.hiy - a.loy) * HALF, (a.hiz - a.loz) * HALF)


@helper
def absolute(b):
    """|r|, and a little more."""
    return (magnitude(b.r00) + b.loose, magnitude(b.r01) + b.loose, magnitude(b.r02) + b.loose, magnitude(b.r10) + b.loose,
            magnitude(b.r11) + b.loose, magnitude(b.r12) + b.loose, magnitude(b.r20) + b.loose, magnitude(b.r21) + b.loose,
            magnitude(b.r22) + b.loose)


@overlap.on(Box, TurnedBox)
def _(a, b):
    mx, my, mz, sx, sy, sz = halves(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = absolute(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    meet = magnitude(tx) <= sx + (s00 * b.hx + (s01 * b.hy + s02 * b.hz))
    meet = meet & (magnitude(ty) <= sy + (s10 * b.hx + (s11 * b.hy + s12 * b.hz)))
    meet = meet & (magnitude(tz) <= sz + (s20 * b.hx + (s21 * b.hy + s22 * b.hz)))
    more = b.loose * (b.hx + b.hy + b.hz)                               # its own axes are neither units nor perpendicular to the last bit
    meet = meet & (magnitude(tx * b.r00 + (ty * b.r10 + tz * b.r20)) <= sx * s00 + (sy * s10 + (sz * s20 + (b.hx + more))))
    meet = meet & (magnitude(tx * b.r01 + (ty * b.r11 + tz * b.r21)) <= sx * s01 + (sy * s11 + (sz * s21 + (b.hy + more))))
    return meet & (magnitude(tx * b.r02 + (ty * b.r12 + tz * b.r22)) <= sx * s02 + (sy * s12 + (sz * s22 + (b.hz + more))))


@separation.on(Box, TurnedBox)
def _(a, b):
    # The larger of two distances: between a and the box around b along a's axes, and the other way round.
    mx, my, mz, sx, sy, sz = halves(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = absolute(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    x = greatest(magnitude(tx) - (sx + (s00 * b.hx + (s01 * b.hy + s02 * b.hz))), ZERO)
    y = greatest(magnitude(ty) - (sy + (s10 * b.hx + (s11 * b.hy + s12 * b.hz))), ZERO)
    z = greatest(magnitude(tz) - (sz + (s20 * b.hx + (s21 * b.hy + s22 * b.hz))), ZERO)
    far = magnitude(tx) + (magnitude(ty) + magnitude(tz))
    more = b.loose * (b.hx + b.hy + b.hz + far) + far * NEARLY          # its own axes are neither units nor perpendicular to the last bit
    p = magnitude(tx * b.r00 + (ty * b.r10 + tz * b.r20)) - (sx * s00 + (sy * s10 + (sz * s20 + (b.hx + more))))
    q = magnitude(tx * b.r01 + (ty * b.r11 + tz * b.r21)) - (sx * s01 + (sy * s11 + (sz * s21 + (b.hy + more))))
    r = magnitude(tx * b.r02 + (ty * b.r12 + tz * b.r22)) - (sx * s02 + (sy * s12 + (sz * s22 + (b.hz + more))))
    p, q, r = greatest(p, ZERO), greatest(q, ZERO), greatest(r, ZERO)
    far = greatest(x * x + (y * y + z * z), (p * p + (q * q + r * r)) * greatest(LESS - FOUR * b.loose, ZERO)) * LESS
    return where((a.lox <= a.hix) & (b.hx >= ZERO), far, INF)


@skew.on(Box, TurnedBox)
def _(a, b):
    mx, my, mz, sx, sy, sz = halves(a)
    s00, s01, s02, s10, s11, s12, s20, s21, s22 = absolute(b)
    tx, ty, tz = b.cx - mx, b.cy - my, b.cz - mz
    apart = magnitude(tz * b.r10 - ty * b.r20) > sy * s20 + (sz * s10 + (b.hy * s02 + b.hz * s01))
    apart = apart | (magnitude(tz * b.r11 - ty * b.r21) > sy * s21 + (sz * s11 + (b.hx * s02 + b.hz * s00)))
    apart = apart | (magnitude(tz * b.r12 - ty * b.r22) > sy * s22 + (sz * s12 + (b.hx * s01 + b.hy * s00)))
    apart = apart | (magnitude(tx * b.r20 - tz * b.r00) > sx * s20 + (sz * s00 + (b.hy * s12 + b.hz * s11)))
    apart = apart | (magnitude(tx * b.r21 - tz * b.r01) > sx * s21 + (sz * s01 + (b.hx * s12 + b.hz * s10)))
    apart = apart | (magnitude(tx * b.r22 - tz * b.r02) > sx * s22 + (sz * s02 + (b.hx * s11 + b.hy * s10)))
    apart = apart | (magnitude(ty * b.r00 - tx * b.r10) > sx * s10 + (sy * s00 + (b.hy * s22 + b.hz * s21)))
    apart = apart | (magnitude(ty * b.r01 - tx * b.r11) > sx * s11 + (sy * s01 + (b.hx * s22 + b.hz * s20)))
    return apart | (magnitude(ty * b.r02 - tx * b.r12) > sx * s12 + (sy * s02 + (b.hx * s21 + b.hy * s20)))


@size.on(TurnedBox)
def _(a):
    return greatest(a.hx, greatest(a.hy, a.hz))


@middle.on(TurnedBox)
def _(a):
    return a.cx, a.cy, a.cz


@span.on(TurnedBox)
def _(a, x, y, z):
    more = a.loose * (magnitude(x) + (magnitude(y) + magnitude(z)))
    p, q, r = (magnitude(a.r00 * x + (a.r10 * y + a.r20 * z)) + more, magnitude(a.r01 * x + (a.r11 * y + a.r21 * z)) + more,
               magnitude(a.r02 * x + (a.r12 * y + a.r22 * z)) + more)
    return (a.hx * p + (a.hy * q + a.hz * r)) * WIDER


@part.on(TurnedBox)
def _(a, b, x, y, z):
    return greatest(gap(a, b, x, y, z, a.r00, a.r10, a.r20),
                    greatest(gap(a, b, x, y, z, a.r01, a.r11, a.r21), gap(a, b, x, y, z, a.r02, a.r12, a.r22)))
