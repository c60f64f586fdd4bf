"""Swept rectangles: all points within a radius of a rectangle (Larsen, Gottschalk, Lin and Manocha 2000). Made for distances.

Thirteen scalars: the middle, two axes u and v, which are units perpendicular to each other but for rounding, half sides a and b along them,
the radius, and the radius that the volume had when it was fitted, from which inflated hierarchies tell how loose it has become.

Two of them are apart if the rectangles are farther apart than their radii. The report finds the nearest points of two rectangles by cases;
here a few projections from one onto the other and back find a direction, and whatever direction that is, what both leave free along it is
a bound: no case can be forgotten, and there are no branches.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, element, first, greatest, highest, least, lowest, magnitude, root, where
from pliant.core.soa import either
from pliant.core.stack import integers, singles
from pliant.geometry.principal_axes import spread_axes, triangle_axes
from pliant.volume.aabb import HALF, INF, LESS, ONE, TWO_ULP, WIDER, ZERO
from pliant.volume.fitting import N_NAMES, extremes
from pliant.volume.obb import EIGHT, NEARER, OWN, SOME
from pliant.volume.planes import CLEARLY, TINIEST, amid_direction, between_planes, leaned
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
    separation,
    size,
    span,
    thickness,
    turned,
    up,
)
from pliant.volume.slabs import wide
from pliant.volume.sphere import SMALLEST, TWO, squared

FOUR = np.float32(4)


class SweptRectangle(NamedTuple):
    """All points within the radius of the rectangle of half sides a and b along u and v around (x, y, z)."""
    x: float
    y: float
    z: float
    ux: float
    uy: float
    uz: float
    vx: float
    vy: float
    vz: float
    a: float
    b: float
    radius: float
    original: float


EMPTY = SweptRectangle(ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, -INF, -INF)
register(Family("rss", SweptRectangle, EMPTY, fitted=True))


@helper
def normal(r):
    return r.uy * r.vz - r.uz * r.vy, r.uz * r.vx - r.ux * r.vz, r.ux * r.vy - r.uy * r.vx


@helper
def changed(r, x, y, z, a, b, radius, original):
    """A swept rectangle along the axes of r."""
    return SweptRectangle(x, y, z, r.ux, r.uy, r.uz, r.vx, r.vy, r.vz, a, b, radius, original)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@helper
def onto(r, x, y, z):
    """The point of a rectangle nearest to one, both from the middle of the rectangle."""
    s = least(greatest(r.ux * x + (r.uy * y + r.uz * z), -r.a), r.a)
    t = least(greatest(r.vx * x + (r.vy * y + r.vz * z), -r.b), r.b)
    return r.ux * s + r.vx * t, r.uy * s + r.vy * t, r.uz * s + r.vz * t


@helper
def apart(a, b):
    """How far a and b are apart, at least; negative where no direction is found that parts them."""
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    # From the middle of b onto a, onto b, onto a, onto b.
    p, q, r = onto(a, x, y, z)
    s, t, o = onto(b, p - x, q - y, r - z)
    p, q, r = onto(a, s + x, t + y, o + z)
    s, t, o = onto(b, p - x, q - y, r - z)
    nx, ny, nz = s + x - p, t + y - q, o + z - r
    length = root(squared(nx, ny, nz))
    over = where(length > TINIEST, LESS / greatest(length, TINIEST), ZERO)
    found = gap(a, b, x, y, z, nx * over, ny * over, nz * over)
    return greatest(found, greatest(part(a, b, x, y, z), part(b, a, -x, -y, -z)))


@overlap.on(SweptRectangle, SweptRectangle)
def _(a, b):
    return (apart(a, b) <= ZERO) & (a.radius >= ZERO) & (b.radius >= ZERO)


@separation.on(SweptRectangle, SweptRectangle)
def _(a, b):
    far = greatest(apart(a, b), ZERO)
    return where((a.radius >= ZERO) & (b.radius >= ZERO), far * far * LESS, INF)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@pierce.on(SweptRectangle)
def _(a, ray):
    # The box around it. Axes are perpendicular but for OWN: along each the rectangle reaches by so much of its other sides, however thin.
    x, y, z = ray.x - a.x, ray.y - a.y, ray.z - a.z
    p, q, r = normal(a)
    thick = a.radius * WIDER + (a.a + a.b) * OWN
    long, wide_ = a.a * WIDER + thick, a.b * WIDER + thick
    near, far = between_planes(ray.near, ray.far, ray, x, y, z, p, q, r, -thick, thick)
    near, far = between_planes(near, far, ray, x, y, z, a.ux, a.uy, a.uz, -long, long)
    near, far = between_planes(near, far, ray, x, y, z, a.vx, a.vy, a.vz, -wide_, wide_)
    return where(a.radius >= ZERO, near, INF), where(a.radius >= ZERO, far, -INF)


@helper
def ends(r, x, y, z):
    """Where the rectangles of all lanes begin and end along a direction."""
    some, at = r.radius >= ZERO, r.x * x + (r.y * y + r.z * z)
    more = (magnitude(r.x * x) + (magnitude(r.y * y) + magnitude(r.z * z))) * NEARLY + across(r, x, y, z)
    return lowest(where(some, at - more, INF)), highest(where(some, at + more, -INF))


@helper
def across(r, x, y, z):
    """How far a rectangle reaches from its middle along a direction of length 1, or a little less."""
    along = r.a * magnitude(r.ux * x + (r.uy * y + r.uz * z)) + r.b * magnitude(r.vx * x + (r.vy * y + r.vz * z))
    return along * WIDER + (r.a + r.b) * NEARLY


@helper
def swept(r, ux, uy, uz, vx, vy, vz):
    """One swept rectangle around all lanes of r along u and v: a rectangle around their rectangles, and the farthest way to it."""
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    low_u, high_u = ends(r, ux, uy, uz)
    low_v, high_v = ends(r, vx, vy, vz)
    low_w, high_w = ends(r, wx, wy, wz)
    p, q, o = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    x, y, z = ux * p + (vx * q + wx * o), uy * p + (vy * q + wy * o), uz * p + (vz * q + wz * o)
    more = (magnitude(p) + (magnitude(q) + magnitude(o))) * (EIGHT * OWN) + (high_u - low_u + (high_v - low_v)) * (FOUR * OWN)
    thick = magnitude(wx * (r.x - x) + (wy * (r.y - y) + wz * (r.z - z))) + across(r, wx, wy, wz)
    radius = highest(where(r.radius >= ZERO, (thick + r.radius) * WIDER, -INF)) + more
    return SweptRectangle(x, y, z, ux, uy, uz, vx, vy, vz, (high_u - low_u) * HALF, (high_v - low_v) * HALF, radius, radius)


@helper
def smaller(r, s):
    """That of two which is smaller, clearly: rounding does not choose."""
    return either(extent(s) * CLEARLY < extent(r), s, r)


@helper
def extent(r):
    """That of the box around it."""
    p, q = r.a + r.radius, r.b + r.radius
    return p * q + r.radius * (p + q) + squared(p, q, r.radius) * SOME


@merge.on(SweptRectangle)
def _(a):
    # Flat along an axis, as the largest, or amid all normals.
    some = a.radius >= ZERO
    k = first(bits(size(a) >= highest(size(a))))
    ux, uy, uz, vx, vy, vz = (element(a.ux, k), element(a.uy, k), element(a.uz, k), element(a.vx, k), element(a.vy, k), element(a.vz, k))
    wx, wy, wz = normal(a)
    nx, ny, nz = amid_direction(wx, wy, wz, some, element(wx, k), element(wy, k), element(wz, k))
    px, py, pz, qx, qy, qz = leaned(ux, uy, uz, vx, vy, vz, nx, ny, nz)
    best = smaller(swept(a, ux, uy, uz, vx, vy, vz), swept(a, px, py, pz, qx, qy, qz))
    best = smaller(best, swept(a, ONE, ZERO, ZERO, ZERO, ONE, ZERO))
    best = smaller(best, smaller(swept(a, ZERO, ONE, ZERO, ZERO, ZERO, ONE), swept(a, ZERO, ZERO, ONE, ONE, ZERO, ZERO)))
    return either(highest(a.radius) >= ZERO, best, EMPTY)


@inflate.on(SweptRectangle)
def _(a, distance):
    return changed(a, a.x, a.y, a.z, a.a, a.b, up(a.radius + distance * WIDER), a.original)


@carry.on(SweptRectangle, Shift)
def _(a, way):
    return changed(a, a.x + way.x, a.y + way.y, a.z + way.z, a.a, a.b, a.radius + FOUR * way.slack, a.original)


@carry.on(SweptRectangle, Turn)
def _(a, way):
    # Axes are made units perpendicular to each other again: a rectangle moves by a share of its sides.
    x, y, z = moved(way, a.x, a.y, a.z)
    ux, uy, uz = turned(way, a.ux, a.uy, a.uz)
    over = ONE / root(squared(ux, uy, uz))
    ux, uy, uz = ux * over, uy * over, uz * over
    vx, vy, vz = turned(way, a.vx, a.vy, a.vz)
    off = ux * vx + (uy * vy + uz * vz)
    vx, vy, vz = vx - off * ux, vy - off * uy, vz - off * uz
    over = ONE / root(squared(vx, vy, vz))
    more = (a.a + a.b + a.radius) * (EIGHT * way.loose + OWN) + FOUR * way.slack
    return SweptRectangle(x, y, z, ux, uy, uz, vx * over, vy * over, vz * over, a.a, a.b, a.radius + more, a.original)


@mirror.on(SweptRectangle)
def _(a):
    return changed(a, -a.x, -a.y, -a.z, a.a, a.b, a.radius, a.original)


@helper
def added(a, b, s, t):
    """Around s p + t q, along the axes of a: what b has beside them makes the radius larger."""
    x, y, z = a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t
    more = (magnitude(a.x) + magnitude(a.y) + magnitude(a.z)) * s + (magnitude(b.x) + magnitude(b.y) + magnitude(b.z)) * t
    p, q, r = normal(a)
    long, wide_, thick = across(b, a.ux, a.uy, a.uz), across(b, a.vx, a.vy, a.vz), across(b, p, q, r)
    radius = a.radius * s + (b.radius + thick) * t
    radius = up((radius + (a.a * s + b.a * t + (a.b * s + b.b * t)) * OWN) * WIDER + more * (TWO * TWO_ULP))
    return changed(a, x, y, z, a.a * s + long * t, a.b * s + wide_ * t, radius, a.original * s + b.original * t)


@blend.on(SweptRectangle, SweptRectangle)
def _(a, b, s, t):
    return smaller(added(a, b, s, t), added(b, a, t, s))


@size.on(SweptRectangle)
def _(a):
    return where(a.radius >= ZERO, root(extent(a)) * TWO, -INF)


@thickness.on(SweptRectangle)
def _(a):
    return a.radius


@middle.on(SweptRectangle)
def _(a):
    return a.x, a.y, a.z


@span.on(SweptRectangle)
def _(a, x, y, z):
    length = root(squared(x, y, z)) * WIDER
    along = a.a * magnitude(a.ux * x + (a.uy * y + a.uz * z)) + a.b * magnitude(a.vx * x + (a.vy * y + a.vz * z))
    return along * WIDER + length * (a.radius + (a.a + a.b) * NEARLY)


@part.on(SweptRectangle)
def _(a, b, x, y, z):
    p, q, r = normal(a)
    return greatest(gap(a, b, x, y, z, p * NEARER, q * NEARER, r * NEARER),
                    greatest(gap(a, b, x, y, z, a.ux * NEARER, a.uy * NEARER, a.uz * NEARER),
                             gap(a, b, x, y, z, a.vx * NEARER, a.vy * NEARER, a.vz * NEARER)))


# --- around points -----------------------------------------------------------------------------------------------------------------

@around.on(SweptRectangle)
def _(like, low, high):
    # The box, thinnest along the normal: axes y z, z x or x y.
    centre = (low + high) * HALF
    side, m = greatest(high - centre, centre - low), wide(low, high)
    x, y, z = element(side, 0), element(side, 1), element(side, 2)
    thin_x, thin_y = (x <= y) & (x <= z), (y < x) & (y <= z)
    a, b = where(thin_x, y, where(thin_y, z, x)), where(thin_x, z, where(thin_y, x, y))
    radius = least(x, least(y, z)) + TWO * m
    one, two = where(thin_x, ONE, ZERO), where(thin_y, ONE, ZERO)
    rest = ONE - one - two
    return SweptRectangle(element(centre, 0), element(centre, 1), element(centre, 2), rest, one, two, two, rest, one, a, b, radius, radius)


@helper
def fitted(frame, points, order, begin, end, m):
    """Along the axes of a frame, thin along its last. The radius is half the thickness; a rectangle of that thickness need not reach points
    by as much as the radius still does at their height; then the radius is how far it must reach."""
    v = 4 * np.int64(order[begin])
    x, y, z = points[v], points[v + 1], points[v + 2]
    ux, uy, uz, vx, vy, vz, wx, wy, wz = frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    low, high = ZERO, ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        o = wx * (points[v] - x) + (wy * (points[v + 1] - y) + wz * (points[v + 2] - z))
        low, high = least(low, o), greatest(high, o)
    flat, radius = (low + high) * HALF, (high - low) * HALF
    low_u, high_u, low_v, high_v = INF, -INF, INF, -INF
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x, points[v + 1] - y, points[v + 2] - z
        s, t, o = ux * p + (uy * q + uz * r), vx * p + (vy * q + vz * r), wx * p + (wy * q + wz * r) - flat
        free = root(greatest(radius * radius - o * o, ZERO))
        low_u, high_u = least(low_u, s + free), greatest(high_u, s - free)
        low_v, high_v = least(low_v, t + free), greatest(high_v, t - free)
    p, q = (low_u + high_u) * HALF, (low_v + high_v) * HALF
    a, b = greatest((high_u - low_u) * HALF, ZERO), greatest((high_v - low_v) * HALF, ZERO)
    cx, cy, cz = ux * p + (vx * q + wx * flat), uy * p + (vy * q + wy * flat), uz * p + (vz * q + wz * flat)
    most = ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x - cx, points[v + 1] - y - cy, points[v + 2] - z - cz
        s, t = magnitude(ux * p + (uy * q + uz * r)) - a, magnitude(vx * p + (vy * q + vz * r)) - b
        o = wx * p + (wy * q + wz * r)
        most = greatest(most, squared(greatest(s, ZERO), greatest(t, ZERO), o))
    radius = root(most) * WIDER + TWO * m + (a + b + root(most)) * (FOUR * OWN) + SMALLEST          # squares may have underflowed
    return SweptRectangle(x + cx, y + cy, z + cz, ux, uy, uz, vx, vy, vz, a, b, radius, radius)


@enclose.on(SweptRectangle)
def _(like, low, high, points, order, begin, end):
    frame, box = singles(9), around(like, low, high)
    spread_axes(points, order, begin, end, frame)
    return smaller(box, fitted(frame, points, order, begin, end, wide(low, high)))


@fit.on(Best, SweptRectangle)
def _(how, like, low, high, points, order, begin, end):
    frame, names, found = singles(9), integers(N_NAMES), enclose(like, low, high, points, order, begin, end)
    extremes(points, order, begin, end, names)
    if not triangle_axes(points, names, N_NAMES, frame):
        return found
    m = wide(low, high)
    for _ in range(3):                                                  # thin along each of its axes
        frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8] = (
            frame[3], frame[4], frame[5], frame[6], frame[7], frame[8], frame[0], frame[1], frame[2])
        found = smaller(found, fitted(frame, points, order, begin, end, m))
    return found
