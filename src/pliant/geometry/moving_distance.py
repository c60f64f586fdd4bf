"""When do two features that move linearly first come as close as a given distance? Conservative advancement along directions.

At a time s the nearest points give a direction n, |n| <= 1. Along n each pair of corners is at a distance that is linear in time and a
lower bound of theirs; the least of all pairs is a lower bound of the distance of the features. So nothing comes within the distance before
the time at which the first of these lines falls to it: that is the next s. Nobody proves anything about n: whatever it is, the lines are.
The search ends with a miss at s = 1, and with a hit where the features are nearer than the distance and TOLERANCE times the distance and
the extent, the largest difference of coordinates. Several n are tried, since the offset of nearest points is a poor direction where it is
short: also the offset made perpendicular to an edge, and the normal, so that the corners along the edge or in the face differ by rounding
alone.

TURNING. Where features turn, fixed directions advance slowly: an edge of length 1 that turns leaves them. So after a few steps directions
are tried that turn too: the normal u(s) × v(s), along which all corners are as far, f(s), a cubic; and c × e(s) for each edge e, a
constant c perpendicular to it now, along which both ends of the edge are as far. What lies along them are polynomials, and the length of
the direction is at most the polynomial whose Bernstein coefficients are the lengths of its own. So Bernstein coefficients of the
difference decide for a whole interval, and lose only to second order in its length. Intervals grow and shrink by factors of 4.

BOUND of the lines, in units of U = 2**-53, for coordinates relative to the first point and scaled so that the extent E is from 1 to 2:
relative coordinates round by 1 each, components of a pair's difference by 1 more: below 6 E U; the three products and two sums of n · d by
4 · 3 · 2 E U, and the mean of the ends at a time s by 6 · 2 E U more: below 64 E U in all. LINE_ERROR = 2**-46 E. A line is solved for its
time with a relative error of 8 U, while LINE_ERROR is subtracted twice. Directions are shortened by 2**-48, which covers the rounding of
their length.
BOUND of what turns: corners at a time are off by 6 E U, differences by 14 E U <= 28 U. With 1-norms |·| of u, v, w and c <= 1, f is off by
less than 28 U (|v| |w| + |w| |u| + |u| |v|) + 20 U |u| |v| |w|, and (c × e) · y by less than 59 U |y| + 56 U |e| + 11 U |e| |y|:
TURNING_ERROR = 64 U covers both.
"""
import math

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.stack import stack_float64
from pliant.geometry.closest_features import cross, edge_edge_parameters
from pliant.geometry.motion_polynomials import VERTEX_FACE
from pliant.geometry.point_triangle import closest_feature, edge_point, safe_inverse
from pliant.geometry.ray_triangle import ldexp

TOLERANCE = 0.9e-9                                                      # times distance and extent: a hit is at most so much farther
LINE_ERROR = 2.0**-46
SHORTENED = 1 - 2.0**-48
TURNING_ERROR = 2.0**-47
LENGTHENED = 1 + 2.0**-48
FIRST_STEPS = 3                                                         # along fixed directions alone
MAX_STEPS = 10_000
MIN_LENGTH = 2.0**-500
MAX_HALF = 2.0**1000                                                    # half a difference: above, differences may overflow
CORNERS, OFFSET, LENGTH, WEIGHTS, LATER = 24, 36, 39, 40, 44            # corners now, what `nearest` finds, corners later


@routine
def put_scaled(t, x):
    """Coordinates relative to the first point and scaled to an extent from 1 to 2: returns (is it not 0, its exponent)."""
    half = 0.0
    for i in range(24):
        half = max(half, abs(0.5 * t[i] - 0.5 * t[i % 3]))
    size = 0.0
    for i in range(24):
        x[i] = 0.5 * t[i] - 0.5 * t[i % 3] if half > MAX_HALF else t[i] - t[i % 3]
        size = max(size, abs(x[i]))
    e = math.frexp(size)[1] - 1
    for i in range(24):
        x[i] = ldexp(x[i], -e)
    return size > 0.0, e + 1 if half > MAX_HALF else e


@routine
def nearest(x, kind, s):
    """The corners at time s, the offset from the first feature to the second between their nearest points, its length, and weights."""
    for i in range(12):
        x[CORNERS + i] = (1.0 - s) * x[i] + s * x[12 + i]
    a, b, c, d = CORNERS, CORNERS + 3, CORNERS + 6, CORNERS + 9
    if kind == VERTEX_FACE:
        ax, ay, az = x[b] - x[a], x[b + 1] - x[a + 1], x[b + 2] - x[a + 2]
        bx, by, bz = x[c] - x[a], x[c + 1] - x[a + 1], x[c + 2] - x[a + 2]
        cx, cy, cz = x[d] - x[a], x[d + 1] - x[a + 1], x[d + 2] - x[a + 2]
        _, _, u, v = closest_feature(ax, ay, az, bx, by, bz, cx, cy, cz, 4.0)
        w = max(1.0 - (u + v), 0.0)
        put_offset(x, w * ax + (u * bx + v * cx), w * ay + (u * by + v * cy), w * az + (u * bz + v * cz))
        x[WEIGHTS], x[WEIGHTS + 1], x[WEIGHTS + 2], x[WEIGHTS + 3] = 1.0, -w, -u, -v
        return
    ex, ey, ez = x[b] - x[a], x[b + 1] - x[a + 1], x[b + 2] - x[a + 2]
    fx, fy, fz = x[d] - x[c], x[d + 1] - x[c + 1], x[d + 2] - x[c + 2]
    wx, wy, wz = x[c] - x[a], x[c + 1] - x[a + 1], x[c + 2] - x[a + 2]
    inverse_e, inverse_f = safe_inverse(ex * ex + ey * ey + ez * ez), safe_inverse(fx * fx + fy * fy + fz * fz)
    best, q = edge_point(wx, wy, wz, fx, fy, fz, inverse_f)             # an end of one on the other
    p = 0.0
    square, r = edge_point(wx - ex, wy - ey, wz - ez, fx, fy, fz, inverse_f)
    if square < best:
        best, p, q = square, 1.0, r
    square, r = edge_point(-wx, -wy, -wz, ex, ey, ez, inverse_e)
    if square < best:
        best, p, q = square, r, 0.0
    square, r = edge_point(-wx - fx, -wy - fy, -wz - fz, ex, ey, ez, inverse_e)
    if square < best:
        best, p, q = square, r, 1.0
    found, r, o = edge_edge_parameters(wx, wy, wz, ex, ey, ez, fx, fy, fz)
    if found:
        gx, gy, gz = wx + (o * fx - r * ex), wy + (o * fy - r * ey), wz + (o * fz - r * ez)
        if gx * gx + gy * gy + gz * gz < best:
            p, q = r, o
    put_offset(x, wx + (q * fx - p * ex), wy + (q * fy - p * ey), wz + (q * fz - p * ez))
    x[WEIGHTS], x[WEIGHTS + 1], x[WEIGHTS + 2], x[WEIGHTS + 3] = 1.0 - p, p, q - 1.0, -q


@helper
def put_offset(x, gx, gy, gz):
    x[OFFSET], x[OFFSET + 1], x[OFFSET + 2] = gx, gy, gz
    x[LENGTH] = math.sqrt(gx * gx + (gy * gy + gz * gz))


@helper
def perpendicular(gx, gy, gz, ex, ey, ez):
    """g without its component along e, twice, so that rounding of the first time goes too."""
    inverse = safe_inverse(ex * ex + ey * ey + ez * ez)
    for _ in range(2):
        share = (gx * ex + gy * ey + gz * ez) * inverse
        gx, gy, gz = gx - share * ex, gy - share * ey, gz - share * ez
    return gx, gy, gz


@helper
def line_value(x, first, second, nx, ny, nz):
    """n · (second − first) of two of eight corners, four at the start and four at the end."""
    p, q = 3 * first, 3 * second
    return nx * (x[q] - x[p]) + (ny * (x[q + 1] - x[p + 1]) + nz * (x[q + 2] - x[p + 2]))


@routine
def line_time(x, first, second, nx, ny, nz, s, limit):
    """How long after s n · (second − first) of two corners certainly stays above the limit: a time up to 1, or s."""
    start, end = line_value(x, first, second, nx, ny, nz), line_value(x, first + 4, second + 4, nx, ny, nz)
    now = (1.0 - s) * start + s * end - limit
    if now <= LINE_ERROR:
        return s
    if start <= end or end - limit > 2.0 * LINE_ERROR:
        return 1.0
    return min(s + (now - LINE_ERROR) / (start - end) * SHORTENED, 1.0)


@routine
def direction_time(x, kind, nx, ny, nz, s, limit):
    """How long after s the features certainly stay farther apart than the limit along a direction, of any length."""
    length = math.sqrt(nx * nx + (ny * ny + nz * nz))
    if not length > MIN_LENGTH:
        return s
    nx, ny, nz = nx / length * SHORTENED, ny / length * SHORTENED, nz / length * SHORTENED
    time = 1.0
    if kind == VERTEX_FACE:
        for k in range(1, 4):
            time = min(time, line_time(x, 0, k, nx, ny, nz, s, limit))
    else:
        for k in range(4):
            time = min(time, line_time(x, k & 1, 2 + (k >> 1), nx, ny, nz, s, limit))
    return time


@helper
def edge_row(x, p, q):
    """The way from one corner to another, now."""
    a, b = CORNERS + 3 * p, CORNERS + 3 * q
    return x[b] - x[a], x[b + 1] - x[a + 1], x[b + 2] - x[a + 2]


@routine
def plane_normal(x, kind, gx, gy, gz):
    """A normal of the face or of both edges, now, on the side of g: perpendicular to both ways to rounding, slivers too."""
    ux, uy, uz = edge_row(x, 1, 2) if kind == VERTEX_FACE else edge_row(x, 0, 1)
    vx, vy, vz = edge_row(x, 1, 3) if kind == VERTEX_FACE else edge_row(x, 2, 3)
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    if nx * gx + ny * gy + nz * gz < 0.0:
        nx, ny, nz = -nx, -ny, -nz
    return nx, ny, nz


@routine
def advance(x, kind, s, limit):
    """How long after s the features certainly stay farther apart than the limit, along the best of several directions."""
    gx, gy, gz = x[OFFSET], x[OFFSET + 1], x[OFFSET + 2]
    time = direction_time(x, kind, gx, gy, gz, s, limit)
    if time < 1.0:
        time = max(time, direction_time(x, kind, *plane_normal(x, kind, gx, gy, gz), s, limit))
    if time < 1.0:
        for k in range(3 if kind == VERTEX_FACE else 2):
            p, q = (1 + k, 1 + (k + 1) % 3) if kind == VERTEX_FACE else (2 * k, 2 * k + 1)
            nx, ny, nz = perpendicular(gx, gy, gz, *edge_row(x, p, q))
            time = max(time, direction_time(x, kind, nx, ny, nz, s, limit))
    return time


@helper
def now_and_later(x, p, q, k):
    """Component k of the way from one corner to another, now and later."""
    p, q = 3 * p + k, 3 * q + k
    return x[CORNERS + q] - x[CORNERS + p], x[LATER + q] - x[LATER + p]


@routine
def norm_of(x, p, q):
    """The larger 1-norm of both."""
    now, later = 0.0, 0.0
    for k in range(3):
        a, b = now_and_later(x, p, q, k)
        now, later = now + abs(a), later + abs(b)
    return max(now, later)


@routine
def stays_beyond_plane(x, kind, limit):
    """Do the features stay farther apart than the limit along u × v, from now to later?"""
    rows = ((0, 1), (0, 2), (0, 3)) if kind == VERTEX_FACE else ((0, 1), (2, 3), (0, 2))
    f0 = f1 = f2 = f3 = n0 = n1 = n2 = 0.0
    (a, b), (c, d), (e, g) = rows
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        ui, pi = now_and_later(x, a, b, i)
        uj, pj = now_and_later(x, a, b, j)
        vi, qi = now_and_later(x, c, d, i)
        vj, qj = now_and_later(x, c, d, j)
        wk, rk = now_and_later(x, e, g, k)
        first, last, inner = ui * vj - uj * vi, pi * qj - pj * qi, 0.5 * ((ui * qj - uj * qi) + (pi * vj - pj * vi))
        f0 += first * wk
        f1 += (first * rk + 2.0 * inner * wk) * (1.0 / 3.0)
        f2 += (last * wk + 2.0 * inner * rk) * (1.0 / 3.0)
        f3 += last * rk
        # of a face the normal is (b − a) × (c − a) for any origin: with u and v from the vertex it is the sum of three areas
        if kind == VERTEX_FACE:
            si, oi = now_and_later(x, 1, 2, i)
            sj, oj = now_and_later(x, 1, 2, j)
            ti, hi = now_and_later(x, 1, 3, i)
            tj, hj = now_and_later(x, 1, 3, j)
            first, last, inner = si * tj - sj * ti, oi * hj - oj * hi, 0.5 * ((si * hj - sj * hi) + (oi * tj - oj * ti))
        n0, n1, n2 = n0 + first * first, n1 + inner * inner, n2 + last * last
    u, v, w = norm_of(x, a, b), norm_of(x, c, d), norm_of(x, e, g)
    error = TURNING_ERROR * (v * w + w * u + u * v + u * v * w)
    more = TURNING_ERROR * (u + v + w + 1.0) * 4.0
    n0, n1, n2 = (limit * (math.sqrt(n0) * LENGTHENED + more), limit * (math.sqrt(n1) * LENGTHENED + more),
                  limit * (math.sqrt(n2) * LENGTHENED + more))
    p, q = (n0 + 2.0 * n1) * (1.0 / 3.0), (2.0 * n1 + n2) * (1.0 / 3.0)
    return min(min(f0 - n0, f1 - p), min(f2 - q, f3 - n2)) > error or max(max(f0 + n0, f1 + p), max(f2 + q, f3 + n2)) < -error


@routine
def stays_beyond_edge(x, kind, p, q, limit):
    """The same along c × e for the edge e from corner p to q, c perpendicular to it and to the offset now."""
    ex, px = now_and_later(x, p, q, 0)
    ey, py = now_and_later(x, p, q, 1)
    ez, pz = now_and_later(x, p, q, 2)
    cx, cy, cz = cross(ex, ey, ez, x[OFFSET], x[OFFSET + 1], x[OFFSET + 2])
    length = math.sqrt(cx * cx + (cy * cy + cz * cz))
    if not length > MIN_LENGTH:
        return False
    cx, cy, cz = cx / length * SHORTENED, cy / length * SHORTENED, cz / length * SHORTENED
    mx, my, mz = cy * ez - cz * ey, cz * ex - cx * ez, cx * ey - cy * ex
    ox, oy, oz = cy * pz - cz * py, cz * px - cx * pz, cx * py - cy * px
    edge = norm_of(x, p, q)
    more = TURNING_ERROR * (edge + 1.0)
    low = limit * (math.sqrt(mx * mx + (my * my + mz * mz)) * LENGTHENED + more)
    high = limit * (math.sqrt(ox * ox + (oy * oy + oz * oz)) * LENGTHENED + more)
    for k in range(3 if kind == VERTEX_FACE else 4):
        i, j = (0, 1 + k) if kind == VERTEX_FACE else (k & 1, 2 + (k >> 1))
        yx, zx = now_and_later(x, i, j, 0)
        yy, zy = now_and_later(x, i, j, 1)
        yz, zz = now_and_later(x, i, j, 2)
        first, last = mx * yx + (my * yy + mz * yz), ox * zx + (oy * zy + oz * zz)
        inner = 0.5 * ((mx * zx + (my * zy + mz * zz)) + (ox * yx + (oy * yy + oz * yz)))
        size = norm_of(x, i, j)
        if min(first - low, min(inner - 0.5 * (low + high), last - high)) <= TURNING_ERROR * (size + edge + edge * size):
            return False
    return True


@routine
def stays_beyond(x, kind, s, limit):
    """Do the features stay farther apart than the limit from now to the time s, along a direction that turns?"""
    for i in range(12):
        x[LATER + i] = (1.0 - s) * x[i] + s * x[12 + i]
    if stays_beyond_plane(x, kind, limit):
        return True
    for k in range(3 if kind == VERTEX_FACE else 2):
        p, q = (1 + k, 1 + (k + 1) % 3) if kind == VERTEX_FACE else (2 * k, 2 * k + 1)
        if stays_beyond_edge(x, kind, p, q, limit):
            return True
    return False


@routine
def advance_turning(x, kind, s, time, limit):
    """`time`, or a later one until which directions that turn keep the features apart."""
    step, grown = min(4.0 * (time - s), 1.0 - s), False
    while s + step > time:
        if stays_beyond(x, kind, s + step, limit):
            time, grown = s + step, True
            if time >= 1.0:
                break
            step = min(4.0 * step, 1.0 - s)
        elif grown:
            break
        else:
            step *= 0.25
    return time


@routine
def first_time_within(t, kind, distance):
    """The time at which the features first come within the distance > 0: never later than the exact one, 0 if they are at the start; inf if
    they stay farther apart. A hit is within the distance + 1e-9 · (distance + extent). For all finite numbers."""
    x = stack_float64(56)
    extended, e = put_scaled(t, x)
    if not extended or math.frexp(distance)[1] - e > 4:                 # more than twice the extent
        return 0.0
    limit = ldexp(distance, -e)
    hit, s = limit + TOLERANCE * (limit + 1.0), 0.0
    for number in range(MAX_STEPS):
        nearest(x, kind, s)
        if x[LENGTH] <= hit:
            return s
        time = advance(x, kind, s, limit)
        if number >= FIRST_STEPS and s < time < 1.0:
            time = advance_turning(x, kind, s, time, limit)
        if time >= 1.0:
            return np.inf
        if time <= s:
            return s
        s = time
    return s


@kernel
def times_within(starts, ends, kind, distance, begin, end, times):
    """`first_time_within` of rows of flat starts and ends, twelve numbers each."""
    t = stack_float64(24)
    for i in range(begin, end):
        for k in range(12):
            t[k], t[12 + k] = starts[12 * i + k], ends[12 * i + k]
        times[i] = first_time_within(t, kind, distance)
