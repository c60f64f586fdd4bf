"""Oriented boxes: fifteen scalars, tight around what is flat or long in any direction (Gottschalk, Lin and Manocha 1996).

A point p is in one if |u · (p − c)| <= hx, |v · (p − c)| <= hy and |w · (p − c)| <= hz, with u, v, w the rows of r: units that are
perpendicular to each other but for rounding, OWN in each entry. Seen from the axes of another, it is a box that is turned, and `obb_sat.py`
says whether they meet: six axes in `overlap`, nine more in `skew`.

Boxes are fitted along the axes of the covariance of the points, or, better and slower, along the sides of large triangles (Larsson and
Källberg 2011: ditetrahedron boxes), whichever is smallest, an axis-aligned one included.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, element, first, greatest, highest, least, lowest, magnitude, root, where
from pliant.core.soa import either
from pliant.core.stack import integers, singles
from pliant.geometry.principal_axes import spread_axes, triangle_axes
from pliant.volume.aabb import HALF, INF, ONE, TWO_ULP, WIDER, ZERO, Box
from pliant.volume.fitting import N_NAMES, extremes
from pliant.volume.obb_sat import FOUR, TurnedBox
from pliant.volume.planes import CLEARLY, amid_direction, between_planes, leaned
from pliant.volume.protocol import (
    NEARLY,
    Best,
    Family,
    Shift,
    Turn,
    around,
    blend,
    carry,
    enclose,
    fit,
    gap,
    inflate,
    merge,
    middle,
    mirror,
    moved,
    overlap,
    part,
    pierce,
    register,
    size,
    skew,
    span,
    thickness,
    turned,
    up,
)
from pliant.volume.slabs import wide
from pliant.volume.sphere import TWO, Sphere, reaches, squared

OWN, EIGHT = np.float32(2.0**-20), np.float32(8)                        # how far axes are from units that are perpendicular, and more
SOME = np.float32(1 / 16)
NEARER = ONE - OWN                                                      # so that axes are no longer than 1


class OrientedBox(NamedTuple):
    """Middle, half sides, and the axes along which these are: rows of r."""
    x: float
    y: float
    z: float
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


EMPTY = OrientedBox(ZERO, ZERO, ZERO, -INF, -INF, -INF, ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE)
register(Family("obb", OrientedBox, EMPTY, fitted=True))


@helper
def as_turned(a):
    """The same as a box that was turned: its axes are columns there."""
    return TurnedBox(a.x, a.y, a.z, a.hx, a.hy, a.hz, a.r00, a.r10, a.r20, a.r01, a.r11, a.r21, a.r02, a.r12, a.r22, OWN)


@helper
def along_axes(a, x, y, z):
    """A way along the axes of a."""
    return (a.r00 * x + (a.r01 * y + a.r02 * z), a.r10 * x + (a.r11 * y + a.r12 * z), a.r20 * x + (a.r21 * y + a.r22 * z))


@helper
def own_box(a):
    """A box seen along its own axes, from its middle."""
    return Box(-a.hx, -a.hy, -a.hz, a.hx, a.hy, a.hz)


@helper
def seen_from(a, b):
    """A turned box b along the axes of a, from its middle."""
    x, y, z = b.cx - a.x, b.cy - a.y, b.cz - a.z
    more = (magnitude(x) + (magnitude(y) + magnitude(z))) * NEARLY
    x, y, z = along_axes(a, x, y, z)
    p, q, r = along_axes(a, b.r00, b.r10, b.r20), along_axes(a, b.r01, b.r11, b.r21), along_axes(a, b.r02, b.r12, b.r22)
    return TurnedBox(x, y, z, b.hx + more, b.hy + more, b.hz + more, p[0], q[0], r[0], p[1], q[1], r[1], p[2], q[2], r[2],
                     b.loose + FOUR * OWN)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@overlap.on(OrientedBox, TurnedBox)
def _(a, b):
    return overlap(own_box(a), seen_from(a, b))


@skew.on(OrientedBox, TurnedBox)
def _(a, b):
    return skew(own_box(a), seen_from(a, b))


@overlap.on(OrientedBox, OrientedBox)
def _(a, b):
    box, other = own_box(a), seen_from(a, as_turned(b))
    some = overlap(box, other)
    if bits(some) == 0:
        return some
    return some & (where(skew(box, other), ZERO, ONE) > ZERO)


@overlap.on(OrientedBox, Sphere)
def _(a, b):
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    more = (magnitude(x) + (magnitude(y) + magnitude(z))) * NEARLY + (a.hx + (a.hy + a.hz)) * OWN
    x, y, z = along_axes(a, x, y, z)
    x, y, z = (greatest(magnitude(x) - (a.hx + more), ZERO), greatest(magnitude(y) - (a.hy + more), ZERO),
               greatest(magnitude(z) - (a.hz + more), ZERO))
    return reaches(squared(x, y, z), b.radius + more) & (a.hx >= ZERO)


@overlap.on(Sphere, OrientedBox)
def _(a, b):
    return overlap(a, as_turned(b))


# --- one volume ------------------------------------------------------------------------------------------------------------------

@pierce.on(OrientedBox)
def _(a, ray):
    x, y, z = ray.x - a.x, ray.y - a.y, ray.z - a.z
    near, far = between_planes(ray.near, ray.far, ray, x, y, z, a.r00, a.r01, a.r02, -a.hx, a.hx)
    near, far = between_planes(near, far, ray, x, y, z, a.r10, a.r11, a.r12, -a.hy, a.hy)
    near, far = between_planes(near, far, ray, x, y, z, a.r20, a.r21, a.r22, -a.hz, a.hz)
    return where(a.hx >= ZERO, near, INF), where(a.hx >= ZERO, far, -INF)


@helper
def boxed(a, ux, uy, uz, vx, vy, vz):
    """One box around all lanes of a, along u, v and what is perpendicular to both."""
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    low_u, high_u = ends(a, ux, uy, uz)
    low_v, high_v = ends(a, vx, vy, vz)
    low_w, high_w = ends(a, wx, wy, wz)
    p, q, r = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    x, y, z = ux * p + (vx * q + wx * r), uy * p + (vy * q + wy * r), uz * p + (vz * q + wz * r)
    more = (magnitude(p) + (magnitude(q) + magnitude(r))) * (EIGHT * OWN)      # the middle may be off along each axis
    return OrientedBox(x, y, z, (high_u - low_u) * HALF + more, (high_v - low_v) * HALF + more, (high_w - low_w) * HALF + more,
                       ux, uy, uz, vx, vy, vz, wx, wy, wz)


@helper
def ends(a, x, y, z):
    """Where the lanes of a begin and end along a direction."""
    some, at = a.hx >= ZERO, a.x * x + (a.y * y + a.z * z)
    more = (magnitude(a.x * x) + (magnitude(a.y * y) + magnitude(a.z * z))) * NEARLY + span(a, x, y, z)
    return lowest(where(some, at - more, INF)), highest(where(some, at + more, -INF))


@helper
def smaller(a, b):
    """That of two boxes which is smaller, clearly: rounding does not choose."""
    return either(extent(b) * CLEARLY < extent(a), b, a)


@helper
def extent(a):
    """What is to be small: the surface; and the diagonal, so that a needle is more than a point."""
    return a.hx * a.hy + (a.hy * a.hz + a.hz * a.hx) + squared(a.hx, a.hy, a.hz) * SOME


@merge.on(OrientedBox)
def _(a):
    # Along the axes, along those of the largest, or with the thinnest side amid those of all.
    k = first(bits(size(a) >= highest(size(a))))
    ux, uy, uz = element(a.r00, k), element(a.r01, k), element(a.r02, k)
    vx, vy, vz = element(a.r10, k), element(a.r11, k), element(a.r12, k)
    best = smaller(boxed(a, ONE, ZERO, ZERO, ZERO, ONE, ZERO), boxed(a, ux, uy, uz, vx, vy, vz))
    wx, wy, wz = amid_direction(a.r20, a.r21, a.r22, a.hx >= ZERO, element(a.r20, k), element(a.r21, k), element(a.r22, k))
    px, py, pz, qx, qy, qz = leaned(ux, uy, uz, vx, vy, vz, wx, wy, wz)
    best = smaller(best, boxed(a, px, py, pz, qx, qy, qz))
    return either(highest(a.hx) >= ZERO, best, EMPTY)


@helper
def with_halves(a, x, y, z, hx, hy, hz):
    """A box along the axes of a."""
    return OrientedBox(x, y, z, hx, hy, hz, a.r00, a.r01, a.r02, a.r10, a.r11, a.r12, a.r20, a.r21, a.r22)


@inflate.on(OrientedBox)
def _(a, distance):
    more = distance * WIDER
    return with_halves(a, a.x, a.y, a.z, up(a.hx + more), up(a.hy + more), up(a.hz + more))


@carry.on(OrientedBox, Shift)
def _(a, way):
    more = TWO * way.slack
    return with_halves(a, a.x + way.x, a.y + way.y, a.z + way.z, a.hx + more, a.hy + more, a.hz + more)


@carry.on(OrientedBox, Turn)
def _(a, way):
    x, y, z = moved(way, a.x, a.y, a.z)
    more = TWO * way.slack + (a.hx + (a.hy + a.hz)) * (EIGHT * way.loose + OWN)
    p, q, r = turned(way, a.r00, a.r01, a.r02), turned(way, a.r10, a.r11, a.r12), turned(way, a.r20, a.r21, a.r22)
    return TurnedBox(x, y, z, a.hx + more, a.hy + more, a.hz + more, p[0], q[0], r[0], p[1], q[1], r[1], p[2], q[2], r[2],
                     EIGHT * way.loose + FOUR * OWN)


@mirror.on(OrientedBox)
def _(a):
    return with_halves(a, -a.x, -a.y, -a.z, a.hx, a.hy, a.hz)


@blend.on(OrientedBox, OrientedBox)
def _(a, b, s, t):
    # Along the axes of either what both reach; of the two boxes the smaller.
    x, y, z = a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t
    more = (magnitude(a.x) + magnitude(a.y) + magnitude(a.z)) * s + (magnitude(b.x) + magnitude(b.y) + magnitude(b.z)) * t
    more = more * (TWO * TWO_ULP)
    p, q, r = span(b, a.r00, a.r01, a.r02), span(b, a.r10, a.r11, a.r12), span(b, a.r20, a.r21, a.r22)
    one = with_halves(a, x, y, z, up(a.hx * s + p * t + more), up(a.hy * s + q * t + more), up(a.hz * s + r * t + more))
    p, q, r = span(a, b.r00, b.r01, b.r02), span(a, b.r10, b.r11, b.r12), span(a, b.r20, b.r21, b.r22)
    return smaller(one, with_halves(b, x, y, z, up(b.hx * t + p * s + more), up(b.hy * t + q * s + more), up(b.hz * t + r * s + more)))


@size.on(OrientedBox)
def _(a):
    return where(a.hx >= ZERO, root(extent(a)) * TWO, -INF)


@thickness.on(OrientedBox)
def _(a):
    return least(a.hx, least(a.hy, a.hz))


@middle.on(OrientedBox)
def _(a):
    return a.x, a.y, a.z


@span.on(OrientedBox)
def _(a, x, y, z):
    return span(as_turned(a), x, y, z)


@part.on(OrientedBox)
def _(a, b, x, y, z):
    return greatest(gap(a, b, x, y, z, a.r00 * NEARER, a.r01 * NEARER, a.r02 * NEARER),
                    greatest(gap(a, b, x, y, z, a.r10 * NEARER, a.r11 * NEARER, a.r12 * NEARER),
                             gap(a, b, x, y, z, a.r20 * NEARER, a.r21 * NEARER, a.r22 * NEARER)))


# --- around points -----------------------------------------------------------------------------------------------------------------

@around.on(OrientedBox)
def _(like, low, high):
    # The thinnest side comes last, as where boxes are fitted.
    centre = (low + high) * HALF
    side, m = greatest(high - centre, centre - low), wide(low, high)
    x, y, z = element(side, 0), element(side, 1), element(side, 2)
    thin_x, thin_y = (x <= y) & (x <= z), (y < x) & (y <= z)
    # Axes y z x, z x y or x y z.
    p, q, r = where(thin_x, y, where(thin_y, z, x)), where(thin_x, z, where(thin_y, x, y)), where(thin_x, x, where(thin_y, y, z))
    one, two = where(thin_x, ONE, ZERO), where(thin_y, ONE, ZERO)
    rest = ONE - one - two
    return OrientedBox(element(centre, 0), element(centre, 1), element(centre, 2), p + m, q + m, r + m,
                       rest, one, two, two, rest, one, one, two, rest)


@helper
def projected(frame, points, order, begin, end, m):
    """The box around points along the axes of a frame."""
    v = 4 * np.int64(order[begin])
    x, y, z = points[v], points[v + 1], points[v + 2]
    ux, uy, uz, vx, vy, vz, wx, wy, wz = frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    low_u = low_v = low_w = high_u = high_v = high_w = ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x, points[v + 1] - y, points[v + 2] - z
        s, t, o = ux * p + (uy * q + uz * r), vx * p + (vy * q + vz * r), wx * p + (wy * q + wz * r)
        low_u, high_u, low_v, high_v, low_w, high_w = (least(low_u, s), greatest(high_u, s), least(low_v, t), greatest(high_v, t),
                                                       least(low_w, o), greatest(high_w, o))
    p, q, r = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    more = m + (high_u - low_u + (high_v - low_v) + (high_w - low_w)) * (TWO * OWN)
    return OrientedBox(x + (ux * p + (vx * q + wx * r)), y + (uy * p + (vy * q + wy * r)), z + (uz * p + (vz * q + wz * r)),
                       (high_u - low_u) * HALF + more, (high_v - low_v) * HALF + more, (high_w - low_w) * HALF + more,
                       ux, uy, uz, vx, vy, vz, wx, wy, wz)


@enclose.on(OrientedBox)
def _(like, low, high, points, order, begin, end):
    frame = singles(9)
    spread_axes(points, order, begin, end, frame)
    return smaller(around(like, low, high), projected(frame, points, order, begin, end, wide(low, high)))


@fit.on(Best, OrientedBox)
def _(how, like, low, high, points, order, begin, end):
    frame, names, found = singles(9), integers(N_NAMES), enclose(like, low, high, points, order, begin, end)
    extremes(points, order, begin, end, names)
    if not triangle_axes(points, names, N_NAMES, frame):
        return found
    return smaller(found, projected(frame, points, order, begin, end, wide(low, high)))
