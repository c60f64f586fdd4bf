"""When do two features that move linearly touch first? Float64 with error bounds; what they leave open goes to `geometry/motion_exact.py`.

A vertex p and a face a, b, c (VERTEX_FACE), or two edges a0 a1 and b0 b1 (EDGE_EDGE): a buffer t has four points at the start, t[0:12], and
at the end, t[12:24]. Positions are p + s (q − p) for times s from 0 to 1. Both features are closed sets; degenerate ones are the segments
or points that they span. `geometry/motion_exact.py` explains u, v, w, the cubic f and the areas X, Y, Z.

FILTER. A direction in which all corners are apart at both ends parts them throughout; axes are tried first, by comparisons alone. On an
interval of times polynomials lie between their Bernstein coefficients. It is free of contact if f has one sign there, or if two areas
forbid it; there is a contact if f changes its sign and all areas permit it. Otherwise the interval is halved, MAX_DEPTH times at most.

BOUND of f, in units of U = 2**-53. P is Σ |u_i v_j w_k| over the six terms, with each component the larger one of both ends. A coefficient
is a determinant, or a third of three: differences round by 3 in a product of three, its operations by 4, sums of three components 2, of
two determinants 2 more, the third 1: 12 P. The polar form at times with few bits takes three steps (1 − s) a + s b of 2 each, on values
below P: 6. Together with rounding of P itself (8) and second orders below 32 P. At any float64 time s, 1 − s rounds too: 3 more.
BOUND of an area: Q = |u_i v_j| + |u_j v_i|. Differences 2, product 1, difference 1, mean of two 1, two polar steps 4, rounding of Q 4:
below 16 Q. A sum of two areas rounds once more, covered by the sum of the bounds.

UNDERFLOW. With M the largest coordinate, a product that underflows loses 2**-1075, times 2 M at most once more: below UNDERFLOW (1 + M) in
all, which is added to the bounds. Where M > MAX_SIZE all is scaled by HUGE_SCALE, which may round small coordinates by 2**-1075: they are
multiplied by (2 M)² at most, so that (1 + M)² covers both. So the filter takes all finite numbers.
TIME_STEP: the root of f is bracketed by s ± TIME_STEP where both signs are certain.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.stack import stack_float64
from pliant.geometry.motion_exact import first_contact_exact
from pliant.geometry.motion_polynomials import EDGE_EDGE, VERTEX_FACE
from pliant.geometry.predicates import U

MISS, HIT, UNSURE = 0, 1, 2
F_BOUND, AREA_BOUND = 35 * U, 16 * U
UNDERFLOW = 2.0**-1060
MAX_SIZE, HUGE_SCALE = 2.0**330, 2.0**-700
TIME_STEP = 2.0**-42
MAX_DEPTH = 6                                                           # halvings of an interval
MAX_INTERVALS = 24                                                      # intervals that are looked at
NEWTON_STEPS = 60


@routine
def largest_coordinate(t):
    largest = 0.0
    for i in range(24):
        largest = max(largest, abs(t[i]))
    return largest


@helper
def scale_of(size):
    """(the largest coordinate as the filter sees it, what coordinates are multiplied by)."""
    return (size * HUGE_SCALE, HUGE_SCALE) if size > MAX_SIZE else (size, 1.0)


@routine
def parted_along_axes(t, kind):
    """Is one feature beyond the other along an axis, the same side at both ends?"""
    for k in range(3):
        below, above = True, True
        for at in (k, k + 12):
            if kind == VERTEX_FACE:
                low = high = t[at]
                other_low = min(t[at + 3], min(t[at + 6], t[at + 9]))
                other_high = max(t[at + 3], max(t[at + 6], t[at + 9]))
            else:
                low, high = min(t[at], t[at + 3]), max(t[at], t[at + 3])
                other_low, other_high = min(t[at + 6], t[at + 9]), max(t[at + 6], t[at + 9])
            below &= high < other_low
            above &= low > other_high
        if below | above:
            return True
    return False


@routine
def put_rows(t, kind, scale, d):
    """u, v, w at the start and at the end, nine numbers each, times scale, rounded."""
    for end in range(2):
        at, r = 12 * end, 9 * end
        for k in range(3):
            origin, p, q, o = t[at + k] * scale, t[at + 3 + k] * scale, t[at + 6 + k] * scale, t[at + 9 + k] * scale
            if kind == VERTEX_FACE:
                d[r + k], d[r + 3 + k], d[r + 6 + k] = p - origin, q - origin, o - origin
            else:
                d[r + k], d[r + 3 + k], d[r + 6 + k] = p - origin, o - q, q - origin


@helper
def larger(d, k):
    return max(abs(d[k]), abs(d[9 + k]))


@helper
def minor_of(d, a, b, i, j):
    return d[a + i] * d[b + j] - d[a + j] * d[b + i]


@routine
def put_area(d, row, other, i, j, out, at):
    """Bernstein coefficients of an area seen along one axis, and the bound of their errors."""
    a, b = 3 * row, 3 * other
    out[at] = minor_of(d, a, b, i, j)
    out[at + 1] = 0.5 * (minor_of(d, a, b + 9, i, j) + minor_of(d, a + 9, b, i, j))
    out[at + 2] = minor_of(d, a + 9, b + 9, i, j)
    out[at + 3] = AREA_BOUND * (larger(d, a + i) * larger(d, b + j) + larger(d, a + j) * larger(d, b + i))


@routine
def put_volume(d, f):
    """Bernstein coefficients of f, and the bound of their errors; returns the axis along which u × v is largest."""
    f[0] = f[1] = f[2] = f[3] = f[4] = 0.0
    axis, largest = 0, -1.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        first, last = minor_of(d, 0, 3, i, j), minor_of(d, 9, 12, i, j)
        inner = minor_of(d, 0, 12, i, j) + minor_of(d, 9, 3, i, j)
        start, end = d[6 + k], d[15 + k]
        f[0] += first * start
        f[1] += first * end + inner * start
        f[2] += last * start + inner * end
        f[3] += last * end
        f[4] += (larger(d, i) * larger(d, 3 + j) + larger(d, j) * larger(d, 3 + i)) * larger(d, 6 + k)
        size = abs(first) + abs(last) + abs(inner)
        if size > largest:
            axis, largest = k, size
    f[1] *= 1.0 / 3.0
    f[2] *= 1.0 / 3.0
    f[4] *= F_BOUND
    return axis


@helper
def widen(f, q, size):
    """Add to the bounds what underflow may do."""
    f[4] += UNDERFLOW * (1.0 + size) * (1.0 + size)
    for k in (3, 7, 11):
        q[k] += UNDERFLOW * (1.0 + size)


@helper
def sum_areas(q, kind):
    """Of two edges Z − X in the place of X, and X + Y last."""
    if kind == EDGE_EDGE:
        for k in range(3):
            q[12 + k] = q[k] + q[4 + k]
            q[k] = q[8 + k] - q[k]
        q[15] = q[3] + q[7]
        q[3] += q[11]


@helper
def polar3(f, a, b, c):
    """The polar form of a cubic."""
    x, y, z = (1.0 - a) * f[0] + a * f[1], (1.0 - a) * f[1] + a * f[2], (1.0 - a) * f[2] + a * f[3]
    x, y = (1.0 - b) * x + b * y, (1.0 - b) * y + b * z
    return (1.0 - c) * x + c * y


@helper
def area_range(q, at, a, b):
    """(least, greatest): an area lies between on the interval from a to b."""
    x, y = (1.0 - a) * q[at] + a * q[at + 1], (1.0 - a) * q[at + 1] + a * q[at + 2]
    first, inner = (1.0 - a) * x + a * y, (1.0 - b) * x + b * y
    x, y = (1.0 - b) * q[at] + b * q[at + 1], (1.0 - b) * q[at + 1] + b * q[at + 2]
    last = (1.0 - b) * x + b * y
    return min(first, min(inner, last)) - q[at + 3], max(first, max(inner, last)) + q[at + 3]


@routine
def areas_verdict(q, kind, a, b):
    """MISS: the areas forbid contact throughout the interval. HIT: they permit it throughout. Else UNSURE."""
    x_low, x_high = area_range(q, 0, a, b)
    y_low, y_high = area_range(q, 4, a, b)
    z_low, z_high = area_range(q, 8, a, b)
    if kind == VERTEX_FACE:
        low, high = min(x_low, min(y_low, z_low)), max(x_high, max(y_high, z_high))
        if low > 0.0 or high < 0.0:
            return HIT
        return MISS if max(x_low, max(y_low, z_low)) > 0.0 > min(x_high, min(y_high, z_high)) else UNSURE
    o_low, o_high = area_range(q, 12, a, b)
    if min(y_low, o_low) > 0.0 or max(y_high, o_high) < 0.0 or min(z_low, x_low) > 0.0 or max(z_high, x_high) < 0.0:
        return MISS
    crosses = (y_low > 0.0 > o_high or o_low > 0.0 > y_high) and (z_low > 0.0 > x_high or x_low > 0.0 > z_high)
    return HIT if crosses else UNSURE


@routine
def root_time(f, low, high, falls):
    """The root of f between two times, where it changes its sign once: (verdict, time), the time at most 2 TIME_STEP before it."""
    sign, bound, a, b = (-1.0 if falls else 1.0), f[4], low, high
    x, y = sign * polar3(f, a, a, a), sign * polar3(f, b, b, b)
    s = a
    for _ in range(NEWTON_STEPS):                                       # Illinois: regula falsi that halves the value of an end that stays
        if not b - a > TIME_STEP:
            break
        s = a - x * ((b - a) / (y - x))
        if not a < s < b:
            s = 0.5 * (a + b)
        z = sign * polar3(f, s, s, s)
        if z < 0.0:
            a, x, y = s, z, 0.5 * y
        elif z > 0.0:
            b, y, x = s, z, 0.5 * x
        else:
            break
        if abs(z) < bound:
            break
    before, after = max(s - TIME_STEP, low), min(s + TIME_STEP, high)
    if (before == low or sign * polar3(f, before, before, before) < -bound) and (
            after == high or sign * polar3(f, after, after, after) > bound):
        return HIT, before
    return UNSURE, before


@routine
def contact_filter(t, kind):
    """(MISS, HIT or UNSURE, the time of a hit): float64 alone."""
    if parted_along_axes(t, kind):
        return MISS, np.inf
    d, f, q, ends = stack_float64(18), stack_float64(5), stack_float64(16), stack_float64(16)
    size, scale = scale_of(largest_coordinate(t))
    put_rows(t, kind, scale, d)
    axis = put_volume(d, f)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    put_area(d, 0, 1, i, j, q, 0)
    put_area(d, 1, 2, i, j, q, 4)
    put_area(d, 2, 0, i, j, q, 8)
    widen(f, q, size)
    sum_areas(q, kind)
    bound = f[4]
    ends[0], ends[1] = 0.0, 1.0
    waiting, smallest = 1, 0.5**MAX_DEPTH
    for _ in range(MAX_INTERVALS):
        waiting -= 1
        a, b = ends[2 * waiting], ends[2 * waiting + 1]
        f0, f1, f2, f3 = polar3(f, a, a, a), polar3(f, a, a, b), polar3(f, a, b, b), polar3(f, b, b, b)
        if min(min(f0, f1), min(f2, f3)) <= bound and max(max(f0, f1), max(f2, f3)) >= -bound:
            verdict = areas_verdict(q, kind, a, b)
            if verdict == HIT and ((f0 > bound and f3 < -bound and (f1 > bound or f2 < -bound))
                                   or (f0 < -bound and f3 > bound and (f1 < -bound or f2 > bound))):
                return root_time(f, a, b, f0 > 0.0)
            if verdict != MISS:
                if b - a <= smallest:
                    return UNSURE, 0.0
                inner = 0.5 * (a + b)
                ends[2 * waiting], ends[2 * waiting + 1] = inner, b
                ends[2 * waiting + 2], ends[2 * waiting + 3] = a, inner
                waiting += 2
        if waiting == 0:
            return MISS, np.inf
    return UNSURE, 0.0


@routine
def first_contact(t, kind):
    """The time of the first contact, never later than the exact one and at most 2**-40 before, so that it is 0 if they touch at the start
    or that soon; inf if they never touch, exactly. For all finite numbers. t has room for 25 numbers. And was the exact stage needed?"""
    verdict, time = contact_filter(t, kind)
    if verdict == UNSURE:
        return (t[24] if first_contact_exact(t, kind) != 0 else np.inf), True
    return time, False


@helper
def first_contact_time(t, kind):
    """The time alone."""
    return first_contact(t, kind)[0]


@kernel
def contact_times(starts, ends, kind, begin, end, times):
    """times[i] of the first contact of rows of flat starts and ends, twelve numbers each."""
    t = stack_float64(25)
    for i in range(begin, end):
        for k in range(12):
            t[k], t[12 + k] = starts[12 * i + k], ends[12 * i + k]
        times[i] = first_contact_time(t, kind)
