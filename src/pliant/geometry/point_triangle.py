"""The point of a triangle that is nearest to a point, and its distance: `geometry/triangle_distance.py` explains precision, margins, order
and scale.

M is here the largest component of the ways from the point to the corners. What is nearest, the FEATURE, is 0 inside the triangle, 1, 2 or 3
on the edge opposite the first, second or third corner, 4, 5 or 6 a corner. A corner or an edge is as far for each of its faces, to the
bit (unless one of these is 2**200 times as large as another). Whether the point is on the triangle is decided exactly: then, and only
then, is the distance 0. CLOSE: of a point that is on it the computed distance is below the error of distances, about 1e-14 M, and
2**-44 M = 5.7e-14 M is more; farther points need no exact test.
"""
import math
from functools import cache

import numpy as np

from pliant.core.function_pointer import address_of, floats_at
from pliant.core.jit import DISABLED, helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_float64
from pliant.geometry.closest_features import MIN_SQUARE, clamp01, copy_point, cross, safe_inverse, sort_corners
from pliant.geometry.ray_triangle import ldexp
from pliant.geometry.triangle_distance import MAX_SIZE, MIN_DISTANCE, MIN_SIZE, squared_limit
from pliant.geometry.triangle_overlap import overlap_exact, overlap_stage

POINT, NEAREST, DISTANCE, WEIGHTS, BUFFER_SIZE = 9, 12, 15, 16, 20
FACE, EDGE, CORNER = 0, 1, 4
EXACT_RATIO = 2.0**-44                                                  # of M: nearer than that, the exact test is asked


@helper
def edge_point(px, py, pz, ex, ey, ez, inverse):
    """(squared distance, t) of the point t of the edge e from p that is next to 0."""
    t = clamp01(-(px * ex + py * ey + pz * ez) * inverse)
    x, y, z = px + t * ex, py + t * ey, pz + t * ez
    return x * x + y * y + z * z, t


@helper
def closest_feature(px, py, pz, qx, qy, qz, rx, ry, rz, size):
    """(distance from 0, feature, barycentric coordinates u, v) of a triangle with sorted corners p, q, r."""
    one, two, three = px * px + py * py + pz * pz, qx * qx + qy * qy + qz * qz, rx * rx + ry * ry + rz * rz
    # Choices rather than branches, which would be mispredicted.
    closer = two < one
    best, feature, u, v = two if closer else one, CORNER + 1 if closer else CORNER, 1.0 if closer else 0.0, 0.0
    closer = three < best
    best, feature = three if closer else best, CORNER + 2 if closer else feature
    u, v = 0.0 if closer else u, 1.0 if closer else v

    ex, ey, ez, fx, fy, fz, dx, dy, dz = qx - px, qy - py, qz - pz, rx - px, ry - py, rz - pz, rx - qx, ry - qy, rz - qz
    inverse_e = safe_inverse(ex * ex + ey * ey + ez * ez)
    limit = squared_limit(best, size)
    square, t = edge_point(px, py, pz, ex, ey, ez, inverse_e)
    closer = square < limit
    best, limit, feature = square if closer else best, square if closer else limit, EDGE + 2 if closer else feature
    u, v = t if closer else u, 0.0 if closer else v
    square, t = edge_point(px, py, pz, fx, fy, fz, safe_inverse(fx * fx + fy * fy + fz * fz))
    closer = square < limit
    best, limit, feature = square if closer else best, square if closer else limit, EDGE + 1 if closer else feature
    u, v = 0.0 if closer else u, t if closer else v
    square, t = edge_point(qx, qy, qz, dx, dy, dz, safe_inverse(dx * dx + dy * dy + dz * dz))
    closer = square < limit
    best, feature = square if closer else best, EDGE if closer else feature
    u, v = 1.0 - t if closer else u, t if closer else v

    nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
    area = nx * nx + ny * ny + nz * nz
    hx, hy, hz = nz * ey - ny * ez, nx * ez - nz * ex, ny * ex - nx * ey  # e × n: the way is from p to 0
    rise = px * hx + py * hy + pz * hz
    if (area > MIN_SQUARE) & (rise > 0.0) & (rise < area):
        q = rise / area
        p = -((px * ex + py * ey + pz * ez) + q * (ex * fx + ey * fy + ez * fz)) * inverse_e
        if (p > 0.0) & (p + q < 1.0):
            x, y, z = px + (p * ex + q * fx), py + (p * ey + q * fy), pz + (p * ez + q * fz)
            square = x * x + y * y + z * z
            if square < squared_limit(best, size):
                best, feature, u, v = square, FACE, p, q
    return math.sqrt(best), feature, u, v


@routine
def closest_feature_scaled(t, p, q, r):
    """`reach` of any finite numbers; and is the point close?"""
    y = stack_float64(9)
    prescale = 1.0
    for k in range(3):
        if max(abs(t[p + k]), max(abs(t[q + k]), max(abs(t[r + k]), abs(t[POINT + k])))) > 2.0**1000:
            prescale = 0.25                                             # of differences, which else might overflow
    size = 0.0
    for k in range(3):
        x = t[POINT + k] * prescale
        y[k], y[3 + k], y[6 + k] = t[p + k] * prescale - x, t[q + k] * prescale - x, t[r + k] * prescale - x
        size = max(max(size, abs(y[k])), max(abs(y[3 + k]), abs(y[6 + k])))
    e = math.frexp(size)[1]
    for k in range(9):
        y[k] = ldexp(y[k], -e)
    distance, feature, u, v = closest_feature(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7], y[8], 1.0)
    return ldexp(distance, e if prescale == 1.0 else e + 2), feature, u, v, distance <= EXACT_RATIO


@lazy_compiled
def point_on_triangle(t, in_filter_range):
    """Is the point a point of the triangle? Exact."""
    c = stack_float64(18)
    for k in range(9):
        c[k] = t[k]
    for k in range(3):
        copy_point(t, POINT, c, 9 + 3 * k)
    return overlap_stage(c, 0, 9) & 1 if in_filter_range else overlap_exact(c, 0, 9)


@kernel
def point_triangle_distance(t, in_filter_range):
    """The feature of the triangle at t[0 : 9] that is nearest to the point at t[9 : 12]; its nearest point is put at t[12 : 15], the
    distance at t[15], its barycentric coordinates u and v, which are from 0 to 1 and so is their sum, at t[16] and t[17].
    `in_filter_range` as in `triangle_triangle_distance`."""
    p, q, r = sort_corners(t, 0)
    ox, oy, oz = 0.5 * t[POINT], 0.5 * t[POINT + 1], 0.5 * t[POINT + 2]
    half = max(max(abs(0.5 * t[p] - ox), max(abs(0.5 * t[p + 1] - oy), abs(0.5 * t[p + 2] - oz))),
               max(max(abs(0.5 * t[q] - ox), max(abs(0.5 * t[q + 1] - oy), abs(0.5 * t[q + 2] - oz))),
                   max(abs(0.5 * t[r] - ox), max(abs(0.5 * t[r + 1] - oy), abs(0.5 * t[r + 2] - oz)))))
    if half >= MIN_SIZE and half <= MAX_SIZE:
        x, y, z, size = t[POINT], t[POINT + 1], t[POINT + 2], 2.0 * half
        distance, feature, u, v = closest_feature(t[p] - x, t[p + 1] - y, t[p + 2] - z, t[q] - x, t[q + 1] - y, t[q + 2] - z,
                                                  t[r] - x, t[r + 1] - y, t[r + 2] - z, size)
        close = distance <= EXACT_RATIO * size
    else:
        distance, feature, u, v, close = closest_feature_scaled(t, p, q, r)
    w = max(1.0 - (u + v), 0.0)
    for k in range(3):
        x, y, z = t[p + k], t[q + k], t[r + k]
        t[NEAREST + k] = min(max(x * w + y * u + z * v, min(x, min(y, z))), max(x, max(y, z)))
    t[WEIGHTS] = w if p == 3 else u if q == 3 else v                    # back to the corners as they came
    t[WEIGHTS + 1] = w if p == 6 else u if q == 6 else v
    if feature != FACE:
        kind = EDGE if feature < CORNER else CORNER
        k = feature - kind
        feature = kind + (p if k == 0 else q if k == 1 else r) // 3
    if close and point_on_triangle(t, in_filter_range):
        t[DISTANCE] = 0.0
        copy_point(t, POINT, t, NEAREST)
    else:
        t[DISTANCE] = max(distance, MIN_DISTANCE)
    return np.int64(feature)


@cache
def point_triangle_entry():
    """(address, what keeps it alive) of `point_triangle_distance` for 20 float64; see `core/function_pointer.py`."""
    def enter(corners, in_filter_range):
        return point_triangle_distance(floats_at(corners), in_filter_range != 0)

    return address_of(point_triangle_distance if DISABLED else enter)
