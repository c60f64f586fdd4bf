"""The first contact of two features that move linearly, exactly, for all finite float64: the last stage of `geometry/linear_motion.py`.

Three vectors make both kinds of features one. With u = a − p, v = b − p, w = c − p for a vertex and a face, or u and v along the edges and
w from the start of one to that of the other, all four points are in one plane where f = (u × v) · w = 0. Then areas decide, seen along an
axis: X = u × v, Y = v × w, Z = w × u. A vertex is in a face iff no two of X, Y, Z have opposite signs; edges cross iff neither Y and X +
Y, nor Z and Z − X, have the same sign. If one of these areas is not 0, that axis alone decides; if all are 0 along all axes, everything
lies on one line, and the features touch iff their boxes do: iff in no coordinate all differences of their corners have one sign. This
holds for degenerate features too.

f has degree 3 in t, areas 2, differences 1. The contact times are closed: the first is 0, or a root of f; if f is 0 throughout, a root of
an area along an axis where not all are 0 throughout; if there is none, a root of a difference. The test is made at each root, with exact
signs (`geometry/bernstein_exact.py`). Where coordinates have one digit, that is before the interval of the root is narrowed for its time:
numbers are short then. So motion in a plane, along a line, rest and collapse are no special cases.
"""
import math

import numpy as np

from pliant.core.jit import routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_int64
from pliant.geometry.bernstein_exact import (
    DOUBLE_ROOT_DEPTH,
    double_root,
    halve,
    last_sign,
    quadratic_sign,
    restrict,
    restrict_cubic,
    root_estimate,
    sign_at_root,
    sign_changes,
)
from pliant.geometry.limbs import add, bits_of, copy, put_small, shift, sign_of_limbs, value_of_limbs
from pliant.geometry.motion_polynomials import (
    DEPTH,
    DOUBLED,
    KIND,
    LOCAL,
    MODE,
    RATIO,
    RECORD,
    RECORDS,
    REST,
    SIDES,
    TEMPORARY,
    VERTEX_FACE,
    WIDE,
    XY,
    ZX,
    F,
    G,
    K,
    N,
    Q,
    X,
    Y,
    Z,
    exponent_range,
    lay_out,
    polynomial,
    put_differences,
    put_elevated,
    put_plane,
)
from pliant.geometry.ray_triangle import ldexp

TIME_BITS = 42                                                          # the first contact is at most 2**-TIME_BITS after its time
SHORT = 4                                                               # digits of nearly all coordinates
AT_START, AT_ROOT, AT_RATIO, AT_LEFT = 0, 1, 2, 3                       # where signs are asked for


@routine
def sign_at(z, which, k):
    """The sign of a polynomial at the time in question: the start, the root of the record, or a point of its interval."""
    place, size, mode = polynomial(z, which, k), z[Q], z[MODE]
    if mode == AT_START or (z[place] == 0 and z[place + size] == 0 and z[place + 2 * size] == 0):
        return sign_of_limbs(z, place)
    record = z[RECORD]
    local, local_size, temporary, wide = z[LOCAL], z[G], z[TEMPORARY], z[WIDE]
    if z[DEPTH] == 0 and mode == AT_ROOT:
        return sign_at_root(z, record, z[F], place, size, temporary, wide)
    restrict(z, local, local_size, place, size, record + 4 * z[F], z[REST], temporary, wide)
    if mode == AT_LEFT:
        return sign_of_limbs(z, local)
    if mode == AT_RATIO:
        return quadratic_sign(z, local, local_size, z[RATIO], z[RATIO] + wide, temporary, wide)
    return sign_at_root(z, record, z[F], local, local_size, temporary, wide)


@routine
def touch_at(z, mode):
    """Do the features touch then? All four points are in one plane."""
    z[MODE] = mode
    if mode != AT_START:
        m = z[DEPTH]
        put_small(z, z[REST], np.int64(1))
        shift(z, z[REST], z[REST], m)
        add(z, z[REST], z[REST], z[RECORD] + 4 * z[F], -1)
    for k in range(3):
        if z[KIND] == VERTEX_FACE:
            a, b, c = sign_at(z, X, k), sign_at(z, Y, k), sign_at(z, Z, k)
            if min(a, min(b, c)) < 0 < max(a, max(b, c)):
                return False
            if a != 0 or b != 0 or c != 0:
                return True
        else:
            a, b = sign_at(z, Y, k), sign_at(z, XY, k)
            if a * b > 0:
                return False
            c, d = sign_at(z, Z, k), sign_at(z, ZX, k)
            if c * d > 0:
                return False
            if a != 0 or b != 0 or c != 0 or d != 0:
                return True
    for k in range(3):
        low = high = sign_at(z, SIDES, k)
        for corner in range(1, 3 if z[KIND] == VERTEX_FACE else 4):
            sign = sign_at(z, SIDES + corner, k)
            low, high = min(low, sign), max(high, sign)
        if low > 0 or high < 0:
            return False
    return True


@routine
def time_of(z, k, m):
    """k ÷ 2**m as float64, rounded down."""
    extra = max(bits_of(z, k) - 53, np.int64(0))
    if extra > 0:
        shift(z, z[TEMPORARY], k, -extra)
        return ldexp(value_of_limbs(z, z[TEMPORARY], 0), extra - m)
    return ldexp(value_of_limbs(z, k, 0), -m)


@routine
def first_hit(z, best):
    """The time of the first root of the cubic in the first record at which the features touch, or `best`, if that is earlier."""
    f, span, temporary, wide = z[F], 4 * z[F] + z[K], z[TEMPORARY], z[WIDE]
    records = z[RECORDS]
    put_small(z, records + 4 * f, np.int64(0))
    z[DEPTH + 1], z[DOUBLED] = 0, 0
    if z[records + 3 * f] == 0 and best > 1.0:                          # a root at t = 1
        z[RECORD], z[DEPTH] = records, 0
        put_small(z, records + 4 * f, np.int64(1))
        if touch_at(z, AT_LEFT):
            best = 1.0
        put_small(z, records + 4 * f, np.int64(0))
    waiting = np.int64(1)
    while waiting > 0:
        waiting -= 1
        record = records + waiting * span
        k, m = record + 4 * f, z[DEPTH + 1 + waiting]
        z[RECORD], z[DEPTH] = record, m
        changes = sign_changes(z, record, f, 4)
        if changes == 0 or time_of(z, k, m) >= best:
            continue
        if changes == 1 and (m >= TIME_BITS or z[N] == 1):
            if touch_at(z, AT_ROOT):
                best = min(best, root_time(z, waiting))
            continue
        if changes == 1 and narrow(z, waiting):
            waiting += 1
            continue
        if changes > 1 and m == DOUBLE_ROOT_DEPTH and z[DOUBLED] == 0:
            if double_root(z, record, f, z[RATIO], z[RATIO] + wide, temporary, wide):
                z[DOUBLED] = 1
                if touch_at(z, AT_RATIO):
                    best = min(best, ratio_time(z, k, m))
        if changes == 2 and z[DOUBLED] != 0:
            continue
        other = record + span
        halve(z, record, other, record, f, temporary)
        shift(z, k, k, 1)
        copy(z, other + 4 * f, k)
        put_small(z, temporary, np.int64(1))
        add(z, other + 4 * f, k, temporary, 1)
        z[DEPTH + 1 + waiting], z[DEPTH + 2 + waiting] = m + 1, m + 1
        if z[other] == 0:                                               # a root in the middle
            z[RECORD], z[DEPTH] = other, m + 1
            time = time_of(z, other + 4 * f, m + 1)
            if time < best and touch_at(z, AT_LEFT):
                best = time
        first, second = sign_changes(z, record, f, 4), sign_changes(z, other, f, 4)
        if first == 0 and second > 0:                                   # the right one takes the place of the left one
            for c in range(4):
                copy(z, record + c * f, other + c * f)
            copy(z, k, other + 4 * f)
            waiting += 1
        elif first > 0 and second > 0:                                  # the left one comes first
            for c in range(4):
                exchange(z, record + c * f, other + c * f, temporary)
            exchange(z, k, other + 4 * f, temporary)
            waiting += 2
        elif first > 0:
            waiting += 1
    return best


@routine
def narrow(z, number):
    """Replace a record that has one root by one of depth TIME_BITS with the same root, if an estimate finds it at once."""
    f, wide, temporary = z[F], z[WIDE], z[TEMPORARY]
    record = z[RECORDS] + number * (4 * f + z[K])
    other = record + 4 * f + z[K]
    k, rest, at, bits = record + 4 * f, z[REST], z[RATIO], TIME_BITS - z[DEPTH + 1 + number]
    place = np.int64(ldexp(root_estimate(z, record, f), bits))
    rising = last_sign(z, record, f, 4)
    for _ in range(3):
        if place < 0 or place >> bits > 0:
            return False
        put_small(z, at, place)
        put_small(z, rest, (np.int64(1) << bits) - place)
        restrict_cubic(z, other, record, f, at, rest, temporary, wide)
        first, last = sign_of_limbs(z, other) * rising, sign_of_limbs(z, other + 3 * f) * rising
        if first < 0 < last:
            for c in range(4):
                copy(z, record + c * f, other + c * f)
            shift(z, k, k, bits)
            add(z, k, k, at, 1)
            z[DEPTH + 1 + number] = TIME_BITS
            return True
        if first == 0 or last == 0:
            return False
        place += 1 if last < 0 else -1
    return False


@routine
def root_time(z, number):
    """The time of the one root of a record: its interval is halved TIME_BITS times."""
    f, span, temporary = z[F], 4 * z[F] + z[K], z[TEMPORARY]
    record = z[RECORDS] + number * span
    other, k = record + span, record + 4 * f
    while z[DEPTH + 1 + number] < TIME_BITS and not narrow(z, number):
        halve(z, record, other, record, f, temporary)
        shift(z, k, k, 1)
        z[DEPTH + 1 + number] += 1
        right = z[other] == 0 or sign_changes(z, record, f, 4) == 0
        if right:
            put_small(z, temporary, np.int64(1))
            add(z, k, k, temporary, 1)
        if z[other] == 0:                                               # the root itself
            break
        if right:
            for c in range(4):
                copy(z, record + c * f, other + c * f)
    return time_of(z, k, z[DEPTH + 1 + number])


@routine
def exchange(z, a, b, temporary):
    copy(z, temporary, a)
    copy(z, a, b)
    copy(z, b, temporary)


@routine
def ratio_time(z, k, m):
    """The time x ÷ (1 + x) in the interval (k, k + 1) ÷ 2**m, rounded down by less than 2**-TIME_BITS."""
    exponent = max(bits_of(z, z[RATIO]), bits_of(z, z[RATIO] + z[WIDE]))
    a, b = value_of_limbs(z, z[RATIO], exponent), value_of_limbs(z, z[RATIO] + z[WIDE], exponent)
    share = math.floor(ldexp(a / (a + b), TIME_BITS + 2) - 1.0)
    return max(ldexp(ldexp(value_of_limbs(z, k, 0), TIME_BITS + 2) + share, -TIME_BITS - 2 - m), 0.0)


@routine
def first_contact_of(z):
    """The time of the first contact; inf: none."""
    record = z[RECORDS]
    moves = put_plane(z, record)
    if sign_of_limbs(z, record) == 0 and touch_at(z, AT_START):
        return 0.0
    if moves:
        return first_hit(z, np.inf)
    best = np.inf
    for group in range(2):                                              # areas, then differences
        for k in range(3):
            used = False
            for i in range(3 if z[KIND] == VERTEX_FACE else 4):
                which = SIDES + i
                if group == 0:
                    which = i if z[KIND] == VERTEX_FACE else i + 1      # X, Y, Z or Y, Z, X + Y, Z − X
                if put_elevated(z, record, polynomial(z, which, k)):
                    used = True
                    best = first_hit(z, best)
            if used:
                return best
    return best


@lazy_compiled
def first_contact_exact(t, kind):
    """1 if the features touch, and t[24] is the time, the first; else 0. Coordinates of up to 4 digits."""
    lowest, bits = exponent_range(t)
    n = (bits + 4 + 63) // 64
    if n > SHORT:
        return first_contact_long(t, kind)
    z = stack_int64(8700)
    lay_out(z, n, kind)
    put_differences(z, t, kind, lowest)
    t[24] = first_contact_of(z)
    return np.int64(t[24] < np.inf)


@lazy_compiled
def first_contact_long(t, kind):
    """The same for any finite numbers."""
    lowest, bits = exponent_range(t)
    z = stack_int64(70000)
    lay_out(z, (bits + 4 + 63) // 64, kind)
    put_differences(z, t, kind, lowest)
    t[24] = first_contact_of(z)
    return np.int64(t[24] < np.inf)
