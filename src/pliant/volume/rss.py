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
from pliant.core.simd import ctz, extract, fabs, maximum, minimum, movemask, reduce_max, reduce_min, sqrt, where
from pliant.core.soa import select
from pliant.core.stack import stack_float32, stack_int64
from pliant.geometry.principal_axes import spread_axes, triangle_axes
from pliant.volume.aabb import HALF, INF, ONE, SCALE_DOWN, SCALE_UP, TWO_ULP, ZERO
from pliant.volume.fitting import N_EXTREMES, extreme_points
from pliant.volume.obb import AXIS_ERROR, AXIS_SCALE, DIAGONAL_WEIGHT, EIGHT
from pliant.volume.planes import MIN_LENGTH, TIE_FACTOR, align_axes, clip_ray_to_slab, mean_direction
from pliant.volume.protocol import (
    REL_ERROR,
    RigidTransform,
    TightestFit,
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
    transform_point,
    transform_volume,
)
from pliant.volume.slabs import sum_error
from pliant.volume.sphere import MIN_RADIUS, TWO, squared_norm

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
    fitted_radius: float


EMPTY = SweptRectangle(ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, -INF, -INF)
register_volume_type(VolumeType("rss", SweptRectangle, EMPTY, loosened_by_merge=True))


@helper
def normal(r):
    return r.uy * r.vz - r.uz * r.vy, r.uz * r.vx - r.ux * r.vz, r.ux * r.vy - r.uy * r.vx


@helper
def with_half_extents(r, x, y, z, a, b, radius, fitted_radius):
    """A swept rectangle along the axes of r."""
    return SweptRectangle(x, y, z, r.ux, r.uy, r.uz, r.vx, r.vy, r.vz, a, b, radius, fitted_radius)


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@helper
def project_on_rectangle(r, x, y, z):
    """The point of a rectangle nearest to one, both from the middle of the rectangle."""
    s = minimum(maximum(r.ux * x + (r.uy * y + r.uz * z), -r.a), r.a)
    t = minimum(maximum(r.vx * x + (r.vy * y + r.vz * z), -r.b), r.b)
    return r.ux * s + r.vx * t, r.uy * s + r.vy * t, r.uz * s + r.vz * t


@helper
def rectangle_gap(a, b):
    """How far a and b are apart, at least; negative where no direction is found that parts them."""
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    # From the middle of b onto a, onto b, onto a, onto b.
    p, q, r = project_on_rectangle(a, x, y, z)
    s, t, o = project_on_rectangle(b, p - x, q - y, r - z)
    p, q, r = project_on_rectangle(a, s + x, t + y, o + z)
    s, t, o = project_on_rectangle(b, p - x, q - y, r - z)
    nx, ny, nz = s + x - p, t + y - q, o + z - r
    length = sqrt(squared_norm(nx, ny, nz))
    over = where(length > MIN_LENGTH, SCALE_DOWN / maximum(length, MIN_LENGTH), ZERO)
    found = gap(a, b, x, y, z, nx * over, ny * over, nz * over)
    return maximum(found, maximum(separating_gap(a, b, x, y, z), separating_gap(b, a, -x, -y, -z)))


@overlap.register(SweptRectangle, SweptRectangle)
def _(a, b):
    return (rectangle_gap(a, b) <= ZERO) & (a.radius >= ZERO) & (b.radius >= ZERO)


@separation.register(SweptRectangle, SweptRectangle)
def _(a, b):
    far = maximum(rectangle_gap(a, b), ZERO)
    return where((a.radius >= ZERO) & (b.radius >= ZERO), far * far * SCALE_DOWN, INF)


# --- one volume ------------------------------------------------------------------------------------------------------------------

@ray_interval.register(SweptRectangle)
def _(a, ray):
    # The box around it. Axes are perpendicular but for OWN: along each the rectangle reaches by so much of its other sides, however thin.
    x, y, z = ray.x - a.x, ray.y - a.y, ray.z - a.z
    p, q, r = normal(a)
    thick = a.radius * SCALE_UP + (a.a + a.b) * AXIS_ERROR
    long, wide_ = a.a * SCALE_UP + thick, a.b * SCALE_UP + thick
    near, far = clip_ray_to_slab(ray.t_near, ray.t_far, ray, x, y, z, p, q, r, -thick, thick)
    near, far = clip_ray_to_slab(near, far, ray, x, y, z, a.ux, a.uy, a.uz, -long, long)
    near, far = clip_ray_to_slab(near, far, ray, x, y, z, a.vx, a.vy, a.vz, -wide_, wide_)
    return where(a.radius >= ZERO, near, INF), where(a.radius >= ZERO, far, -INF)


@helper
def project_interval(r, x, y, z):
    """Where the rectangles of all lanes begin and end along a direction."""
    nonempty, at = r.radius >= ZERO, r.x * x + (r.y * y + r.z * z)
    margin = (fabs(r.x * x) + (fabs(r.y * y) + fabs(r.z * z))) * REL_ERROR + rectangle_support(r, x, y, z)
    return reduce_min(where(nonempty, at - margin, INF)), reduce_max(where(nonempty, at + margin, -INF))


@helper
def rectangle_support(r, x, y, z):
    """How far a rectangle reaches from its middle along a direction of length 1, or a little less."""
    along = r.a * fabs(r.ux * x + (r.uy * y + r.uz * z)) + r.b * fabs(r.vx * x + (r.vy * y + r.vz * z))
    return along * SCALE_UP + (r.a + r.b) * REL_ERROR


@helper
def merge_along(r, ux, uy, uz, vx, vy, vz):
    """One swept rectangle around all lanes of r along u and v: a rectangle around their rectangles, and the farthest way to it."""
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    low_u, high_u = project_interval(r, ux, uy, uz)
    low_v, high_v = project_interval(r, vx, vy, vz)
    low_w, high_w = project_interval(r, wx, wy, wz)
    p, q, o = (low_u + high_u) * HALF, (low_v + high_v) * HALF, (low_w + high_w) * HALF
    x, y, z = ux * p + (vx * q + wx * o), uy * p + (vy * q + wy * o), uz * p + (vz * q + wz * o)
    margin = (fabs(p) + (fabs(q) + fabs(o))) * (EIGHT * AXIS_ERROR) + (high_u - low_u + (high_v - low_v)) * (FOUR * AXIS_ERROR)
    thick = fabs(wx * (r.x - x) + (wy * (r.y - y) + wz * (r.z - z))) + rectangle_support(r, wx, wy, wz)
    radius = reduce_max(where(r.radius >= ZERO, (thick + r.radius) * SCALE_UP, -INF)) + margin
    return SweptRectangle(x, y, z, ux, uy, uz, vx, vy, vz, (high_u - low_u) * HALF, (high_v - low_v) * HALF, radius, radius)


@helper
def pick_smaller(r, s):
    """That of two which is smaller, clearly: rounding does not choose."""
    return select(fit_cost(s) * TIE_FACTOR < fit_cost(r), s, r)


@helper
def fit_cost(r):
    """That of the box around it."""
    p, q = r.a + r.radius, r.b + r.radius
    return p * q + r.radius * (p + q) + squared_norm(p, q, r.radius) * DIAGONAL_WEIGHT


@merge.register(SweptRectangle)
def _(a):
    # Flat along an axis, as the largest, or amid all normals.
    some = a.radius >= ZERO
    k = ctz(movemask(size(a) >= reduce_max(size(a))))
    ux, uy, uz, vx, vy, vz = (extract(a.ux, k), extract(a.uy, k), extract(a.uz, k), extract(a.vx, k), extract(a.vy, k), extract(a.vz, k))
    wx, wy, wz = normal(a)
    nx, ny, nz = mean_direction(wx, wy, wz, some, extract(wx, k), extract(wy, k), extract(wz, k))
    px, py, pz, qx, qy, qz = align_axes(ux, uy, uz, vx, vy, vz, nx, ny, nz)
    best = pick_smaller(merge_along(a, ux, uy, uz, vx, vy, vz), merge_along(a, px, py, pz, qx, qy, qz))
    best = pick_smaller(best, merge_along(a, ONE, ZERO, ZERO, ZERO, ONE, ZERO))
    best = pick_smaller(best, pick_smaller(merge_along(a, ZERO, ONE, ZERO, ZERO, ZERO, ONE),
                                           merge_along(a, ZERO, ZERO, ONE, ONE, ZERO, ZERO)))
    return select(reduce_max(a.radius) >= ZERO, best, EMPTY)


@inflate.register(SweptRectangle)
def _(a, distance):
    return with_half_extents(a, a.x, a.y, a.z, a.a, a.b, round_up(a.radius + distance * SCALE_UP), a.fitted_radius)


@transform_volume.register(SweptRectangle, Translation)
def _(a, transform):
    return with_half_extents(a, a.x + transform.x, a.y + transform.y, a.z + transform.z, a.a, a.b, a.radius + FOUR * transform.margin,
                             a.fitted_radius)


@transform_volume.register(SweptRectangle, RigidTransform)
def _(a, transform):
    # Axes are made units perpendicular to each other again: a rectangle moves by a share of its sides.
    x, y, z = transform_point(transform, a.x, a.y, a.z)
    ux, uy, uz = rotate(transform, a.ux, a.uy, a.uz)
    over = ONE / sqrt(squared_norm(ux, uy, uz))
    ux, uy, uz = ux * over, uy * over, uz * over
    vx, vy, vz = rotate(transform, a.vx, a.vy, a.vz)
    off = ux * vx + (uy * vy + uz * vz)
    vx, vy, vz = vx - off * ux, vy - off * uy, vz - off * uz
    over = ONE / sqrt(squared_norm(vx, vy, vz))
    more = (a.a + a.b + a.radius) * (EIGHT * transform.rotation_error + AXIS_ERROR) + FOUR * transform.margin
    return SweptRectangle(x, y, z, ux, uy, uz, vx * over, vy * over, vz * over, a.a, a.b, a.radius + more, a.fitted_radius)


@negate.register(SweptRectangle)
def _(a):
    return with_half_extents(a, -a.x, -a.y, -a.z, a.a, a.b, a.radius, a.fitted_radius)


@helper
def blend_along_a(a, b, s, t):
    """Around s p + t q, along the axes of a: what b has beside them makes the radius larger."""
    x, y, z = a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t
    more = (fabs(a.x) + fabs(a.y) + fabs(a.z)) * s + (fabs(b.x) + fabs(b.y) + fabs(b.z)) * t
    p, q, r = normal(a)
    long, wide_, thick = rectangle_support(b, a.ux, a.uy, a.uz), rectangle_support(b, a.vx, a.vy, a.vz), rectangle_support(b, p, q, r)
    radius = a.radius * s + (b.radius + thick) * t
    radius = round_up((radius + (a.a * s + b.a * t + (a.b * s + b.b * t)) * AXIS_ERROR) * SCALE_UP + more * (TWO * TWO_ULP))
    return with_half_extents(a, x, y, z, a.a * s + long * t, a.b * s + wide_ * t, radius, a.fitted_radius * s + b.fitted_radius * t)


@blend.register(SweptRectangle, SweptRectangle)
def _(a, b, s, t):
    return pick_smaller(blend_along_a(a, b, s, t), blend_along_a(b, a, t, s))


@size.register(SweptRectangle)
def _(a):
    return where(a.radius >= ZERO, sqrt(fit_cost(a)) * TWO, -INF)


@min_half_extent.register(SweptRectangle)
def _(a):
    return a.radius


@center.register(SweptRectangle)
def _(a):
    return a.x, a.y, a.z


@support_value.register(SweptRectangle)
def _(a, x, y, z):
    length = sqrt(squared_norm(x, y, z)) * SCALE_UP
    along = a.a * fabs(a.ux * x + (a.uy * y + a.uz * z)) + a.b * fabs(a.vx * x + (a.vy * y + a.vz * z))
    return along * SCALE_UP + length * (a.radius + (a.a + a.b) * REL_ERROR)


@separating_gap.register(SweptRectangle)
def _(a, b, x, y, z):
    p, q, r = normal(a)
    return maximum(gap(a, b, x, y, z, p * AXIS_SCALE, q * AXIS_SCALE, r * AXIS_SCALE),
                   maximum(gap(a, b, x, y, z, a.ux * AXIS_SCALE, a.uy * AXIS_SCALE, a.uz * AXIS_SCALE),
                           gap(a, b, x, y, z, a.vx * AXIS_SCALE, a.vy * AXIS_SCALE, a.vz * AXIS_SCALE)))


# --- around points -----------------------------------------------------------------------------------------------------------------

@enclose_box.register(SweptRectangle)
def _(like, low, high):
    # The box, thinnest along the normal: axes y z, z x or x y.
    centre = (low + high) * HALF
    side, m = maximum(high - centre, centre - low), sum_error(low, high)
    x, y, z = extract(side, 0), extract(side, 1), extract(side, 2)
    thin_x, thin_y = (x <= y) & (x <= z), (y < x) & (y <= z)
    a, b = where(thin_x, y, where(thin_y, z, x)), where(thin_x, z, where(thin_y, x, y))
    radius = minimum(x, minimum(y, z)) + TWO * m
    one, two = where(thin_x, ONE, ZERO), where(thin_y, ONE, ZERO)
    rest = ONE - one - two
    return SweptRectangle(extract(centre, 0), extract(centre, 1), extract(centre, 2), rest, one, two, two, rest, one, a, b, radius, radius)


@helper
def rectangle_along(frame, points, order, begin, end, m):
    """Along the axes of a frame, thin along its last. The radius is half the thickness; a rectangle of that thickness need not reach points
    by as much as the radius still does at their height; then the radius is how far it must reach."""
    v = 4 * np.int64(order[begin])
    x, y, z = points[v], points[v + 1], points[v + 2]
    ux, uy, uz, vx, vy, vz, wx, wy, wz = frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    low, high = ZERO, ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        o = wx * (points[v] - x) + (wy * (points[v + 1] - y) + wz * (points[v + 2] - z))
        low, high = minimum(low, o), maximum(high, o)
    flat, radius = (low + high) * HALF, (high - low) * HALF
    low_u, high_u, low_v, high_v = INF, -INF, INF, -INF
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x, points[v + 1] - y, points[v + 2] - z
        s, t, o = ux * p + (uy * q + uz * r), vx * p + (vy * q + vz * r), wx * p + (wy * q + wz * r) - flat
        half_chord = sqrt(maximum(radius * radius - o * o, ZERO))
        low_u, high_u = minimum(low_u, s + half_chord), maximum(high_u, s - half_chord)
        low_v, high_v = minimum(low_v, t + half_chord), maximum(high_v, t - half_chord)
    p, q = (low_u + high_u) * HALF, (low_v + high_v) * HALF
    a, b = maximum((high_u - low_u) * HALF, ZERO), maximum((high_v - low_v) * HALF, ZERO)
    cx, cy, cz = ux * p + (vx * q + wx * flat), uy * p + (vy * q + wy * flat), uz * p + (vz * q + wz * flat)
    most = ZERO
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        p, q, r = points[v] - x - cx, points[v + 1] - y - cy, points[v + 2] - z - cz
        s, t = fabs(ux * p + (uy * q + uz * r)) - a, fabs(vx * p + (vy * q + vz * r)) - b
        o = wx * p + (wy * q + wz * r)
        most = maximum(most, squared_norm(maximum(s, ZERO), maximum(t, ZERO), o))
    radius = sqrt(most) * SCALE_UP + TWO * m + (a + b + sqrt(most)) * (FOUR * AXIS_ERROR) + MIN_RADIUS  # squares may have underflowed
    return SweptRectangle(x + cx, y + cy, z + cz, ux, uy, uz, vx, vy, vz, a, b, radius, radius)


@enclose_points.register(SweptRectangle)
def _(like, low, high, points, order, begin, end):
    frame, box = stack_float32(9), enclose_box(like, low, high)
    spread_axes(points, order, begin, end, frame)
    return pick_smaller(box, rectangle_along(frame, points, order, begin, end, sum_error(low, high)))


@fit.register(TightestFit, SweptRectangle)
def _(method, like, low, high, points, order, begin, end):
    frame, extreme_ids, found = stack_float32(9), stack_int64(N_EXTREMES), enclose_points(like, low, high, points, order, begin, end)
    extreme_points(points, order, begin, end, extreme_ids)
    if not triangle_axes(points, extreme_ids, N_EXTREMES, frame):
        return found
    m = sum_error(low, high)
    for _ in range(3):                                                  # thin along each of its axes
        frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8] = (
            frame[3], frame[4], frame[5], frame[6], frame[7], frame[8], frame[0], frame[1], frame[2])
        found = pick_smaller(found, rectangle_along(frame, points, order, begin, end, m))
    return found
