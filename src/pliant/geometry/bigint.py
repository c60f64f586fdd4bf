"""Orientation signs and values of any finite float64, by fixed-point integers of up to 6,600 bits on the stack.

The last stage of `geometry/predicates.py`, for coordinates whose products would over- or underflow. Numbers are rows of digits of 24
bits, least first, in units of 2**lowest, where 2**lowest divides every coordinate. Digits are signed and may exceed 24 bits between
carries: a product of two digits below 2**26 is below 2**52, and at most 96 · 3 of them are added before a carry: below 2**62.

VALUES are the sum of the five highest digits. The highest is at least 1, so the omitted digits are less than 2**-96 of the value. The five
are added from the smallest up, each partial sum below 2 · 2**-24 of the next digit: less than 2 U of rounding. The relative error bound
2**-50 is 8 U.
"""
import math

import numpy as np

from pliant.core.jit import kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_int64

DIGIT_BITS = 24
DIGIT_MASK = (1 << DIGIT_BITS) - 1
MANTISSA_SCALE = 9007199254740992.0                                     # 2**53
NO_EXPONENT = 10000                                                     # beyond every exponent


@routine
def put_difference(h, at, n, x, y, lowest):
    """h[at : at + n] = x − y."""
    for i in range(at, at + n):
        h[i] = 0
    for term in range(2):
        m, e = math.frexp(x if term == 0 else y)
        k = np.int64(m * MANTISSA_SCALE)
        if k == 0:
            continue
        shift = np.int64(e) - 53 - lowest
        sign = np.int64(1) if (k > 0) == (term == 0) else np.int64(-1)
        i, s, k = at + shift // DIGIT_BITS, shift % DIGIT_BITS, abs(k)
        for _ in range(3):
            t = (k & DIGIT_MASK) << s
            h[i] += sign * (t & DIGIT_MASK)
            h[i + 1] += sign * (t >> DIGIT_BITS)
            k >>= DIGIT_BITS
            i += 1


@routine
def carry(h, n):
    """Normalize all digits to 0 … 2**24 − 1, except the last, which takes the sign."""
    c = np.int64(0)
    for i in range(n - 1):
        c += h[i]
        h[i] = c & DIGIT_MASK
        c >>= DIGIT_BITS
    h[n - 1] += c


@routine
def add_product(h, a, i, n, b, j, m, sign):
    """h += sign · a[i : i + n] · b[j : j + m]."""
    for k in range(n):
        f = sign * a[i + k]
        if f != 0:
            for o in range(m):
                h[k + o] += f * b[j + o]


@routine
def sign_of_digits(h, n):
    carry(h, n)
    if h[n - 1] < 0:
        return -1
    for i in range(n):
        if h[i] != 0:
            return 1
    return 0


@routine
def value_of_digits(h, n):
    """(m, e): the value is m · 2**e, with relative error below 2**-50; m is 0 or 2**24 > |m| >= 1. The digits become those of |m|."""
    sign = sign_of_digits(h, n)
    if sign < 0:
        for i in range(n):
            h[i] = -h[i]
        carry(h, n)
    top = n - 1
    while top > 0 and h[top] == 0:
        top -= 1
    m = 0.0
    for i in range(max(top - 4, 0), top + 1):
        m += float(h[i]) * 2.0 ** (DIGIT_BITS * (i - top))
    return sign * m, DIGIT_BITS * top


@routine
def extend_exponents(lowest, highest, x):
    """(lowest, highest): the range of bit exponents, extended to include those of x."""
    if x == 0.0:
        return lowest, highest
    e = np.int64(math.frexp(x)[1])
    return min(lowest, e - 53), max(highest, e)


@routine
def orient2d_digits(ax, ay, bx, by, cx, cy, t):
    """(b − a) × (c − a) as digits in t (192); returns (number of digits, exponent of their unit), no digits if all coordinates are 0."""
    lowest, highest = NO_EXPONENT, -NO_EXPONENT
    for x in (ax, ay, bx, by, cx, cy):
        lowest, highest = extend_exponents(lowest, highest, x)
    if highest < lowest:
        return 0, 0
    n = (highest - lowest) // DIGIT_BITS + 5
    h = stack_int64(384)                                                # 4 differences
    put_difference(h, 0, n, bx, ax, lowest)
    put_difference(h, n, n, by, ay, lowest)
    put_difference(h, 2 * n, n, cx, ax, lowest)
    put_difference(h, 3 * n, n, cy, ay, lowest)
    for i in range(2 * n):
        t[i] = 0
    add_product(t, h, 0, n, h, 3 * n, n, 1)
    add_product(t, h, n, n, h, 2 * n, n, -1)
    return 2 * n, 2 * lowest


@routine
def orient3d_digits(t, a, b, c, d, s, d_is_vector):
    """((b − a) × (c − a)) · (d − a) as digits in s (288), for points at offsets of the buffer t; returns what `orient2d_digits` does. With
    `d_is_vector`, the last factor is d itself."""
    lowest, highest = NO_EXPONENT, -NO_EXPONENT
    for p in (a, b, c, d):
        for k in range(3):
            lowest, highest = extend_exponents(lowest, highest, t[p + k])
    if highest < lowest:
        return 0, 0
    n = (highest - lowest) // DIGIT_BITS + 5
    h, m = stack_int64(864), stack_int64(192)                           # 9 differences, a minor
    row = 0
    for p in (b, c, d):
        for k in range(3):
            put_difference(h, row * n, n, t[p + k], 0.0 if d_is_vector and row > 5 else t[a + k], lowest)
            row += 1
    for i in range(3 * n):
        s[i] = 0
    for k in range(3):
        x, y = (k + 1) % 3, (k + 2) % 3
        for i in range(2 * n):
            m[i] = 0
        add_product(m, h, x * n, n, h, (3 + y) * n, n, 1)
        add_product(m, h, y * n, n, h, (3 + x) * n, n, -1)
        carry(m, 2 * n)
        add_product(s, m, 0, 2 * n, h, (6 + k) * n, n, 1)
    return 3 * n, 3 * lowest


@kernel
def orient2d_bigint(ax, ay, bx, by, cx, cy):
    """The sign of (b − a) × (c − a)."""
    t = stack_int64(192)
    n, _ = orient2d_digits(ax, ay, bx, by, cx, cy, t)
    return sign_of_digits(t, n) if n > 0 else 0


@lazy_compiled
def orient3d_bigint(t, a, b, c, d):
    """The sign of ((b − a) × (c − a)) · (d − a), for points at offsets of the buffer t."""
    s = stack_int64(288)
    n, _ = orient3d_digits(t, a, b, c, d, s, False)
    return sign_of_digits(s, n) if n > 0 else 0


@routine
def orient2d_bigint_value(ax, ay, bx, by, cx, cy):
    """(m, e): (b − a) × (c − a) is m · 2**e, with relative error below 2**-50."""
    t = stack_int64(192)
    n, exponent = orient2d_digits(ax, ay, bx, by, cx, cy, t)
    m, e = value_of_digits(t, n) if n > 0 else (0.0, 0)
    return m, e + exponent


@routine
def orient3d_bigint_value(t, a, b, c, d, d_is_vector=False):
    """(m, e): ((b − a) × (c − a)) · (d − a) is m · 2**e, with relative error below 2**-50; `d_is_vector` as for `orient3d_digits`."""
    s = stack_int64(288)
    n, exponent = orient3d_digits(t, a, b, c, d, s, d_is_vector)
    m, e = value_of_digits(s, n) if n > 0 else (0.0, 0)
    return m, e + exponent
