"""Integers of any length in one flat scratch of int64: exact sums, products and signs, without limits but those of the scratch.

A number is named by the offset of its header: z[a] is its sign times the number of its digits, and digits of 64 bits follow, lowest first,
the highest not 0 (`core/carry.py`). Zero has no digits. So small numbers are cheap whatever the room they have.
Results may overwrite an argument in `add`, `negate`, `shift`, but not in `multiply`.
"""
import math

import numpy as np

from pliant.core.carry import add_carry, bit_length, digit_value, is_below, multiply_add, shift_left, shift_right, subtract_borrow
from pliant.core.jit import helper, routine
from pliant.geometry.ray_triangle import ldexp

LIMB_BITS = 64
MANTISSA_SCALE = 9007199254740992.0                                     # 2**53


@helper
def sign_of_limbs(z, a):
    """−1, 0 or 1."""
    return np.int64(z[a] > 0) - np.int64(z[a] < 0)


@routine
def copy(z, r, a):
    """r = a"""
    for i in range(abs(z[a]) + 1):
        z[r + i] = z[a + i]


@routine
def put_small(z, r, value):
    """r = value, an int64 above −2**63."""
    z[r] = np.int64(value > 0) - np.int64(value < 0)
    z[r + 1] = abs(value)


@routine
def put_float(z, r, x, lowest):
    """r = x · 2**−lowest, which must be an integer."""
    m, e = math.frexp(x)
    put_small(z, r, np.int64(m * MANTISSA_SCALE))
    shift(z, r, r, np.int64(e) - 53 - lowest)


@routine
def shift(z, r, a, bits):
    """r = a · 2**bits; of a negative count only bits that are 0 may be lost."""
    n = abs(z[a])
    sign = sign_of_limbs(z, a)
    limbs, bits = bits >> 6, bits & 63                                  # rounded down: bits is 0 … 63 now
    if n == 0 or n + limbs < 0:
        z[r] = 0
        return
    first = max(-limbs, 0)                                              # digits that are dropped, all 0 but for the bits that move up
    if limbs >= 0:
        top = shift_right(z[a + n], 64 - bits) if bits > 0 else np.int64(0)
        for i in range(n, 0, -1):
            low = shift_right(z[a + i - 1], 64 - bits) if bits > 0 and i > 1 else np.int64(0)
            z[r + limbs + i] = shift_left(z[a + i], bits) | low
        for i in range(1, limbs + 1):
            z[r + i] = 0
        n += limbs
        if top != 0:
            n += 1
            z[r + n] = top
    else:
        carry = shift_right(z[a + first], 64 - bits) if bits > 0 and first > 0 else np.int64(0)
        for i in range(first + 1, n + 1):
            digit = z[a + i]
            z[r + i - first] = shift_left(digit, bits) | carry
            carry = shift_right(digit, 64 - bits) if bits > 0 else np.int64(0)
        n -= first
        if carry != 0:
            n += 1
            z[r + n] = carry
        while n > 0 and z[r + n] == 0:
            n -= 1
    z[r] = sign * n


@routine
def add(z, r, a, b, sign):
    """r = a + sign · b, sign −1 or 1."""
    first, second = z[a], sign * z[b]
    n, m = abs(first), abs(second)
    if m == 0 or n == 0:
        source = a if m == 0 else b
        for i in range(1, max(n, m) + 1):
            z[r + i] = z[source + i]
        z[r] = first + second
        return
    if (first > 0) == (second > 0):
        if n < m:
            a, b, n, m = b, a, m, n
        carry = np.int64(0)
        for i in range(1, m + 1):
            z[r + i], carry = add_carry(z[a + i], z[b + i], carry)
        for i in range(m + 1, n + 1):
            z[r + i], carry = add_carry(z[a + i], np.int64(0), carry)
        if carry != 0:
            n += 1
            z[r + n] = carry
        z[r] = n if first > 0 else -n
        return
    if n == m:
        while n > 0 and z[a + n] == z[b + n]:
            n -= 1
        if n == 0:
            z[r] = 0
            return
        m = n
        larger = is_below(z[b + n], z[a + n])
    else:
        larger = n > m
    if not larger:
        a, b, n, m = b, a, m, n
    borrow = np.int64(0)
    for i in range(1, m + 1):
        z[r + i], borrow = subtract_borrow(z[a + i], z[b + i], borrow)
    for i in range(m + 1, n + 1):
        z[r + i], borrow = subtract_borrow(z[a + i], np.int64(0), borrow)
    while n > 0 and z[r + n] == 0:
        n -= 1
    z[r] = n if larger == (first > 0) else -n


@routine
def multiply(z, r, a, b):
    """r = a · b; r must be another place. Digits that are 0 at the low end, which sums of far exponents have, cost next to nothing."""
    n, m = abs(z[a]), abs(z[b])
    if n == 0 or m == 0:
        z[r] = 0
        return
    first, second = 1, 1
    while z[a + first] == 0:
        first += 1
    while z[b + second] == 0:
        second += 1
    for i in range(1, first + m):
        z[r + i] = 0
    for i in range(first, n + 1):
        factor, carry = z[a + i], np.int64(0)
        if factor != 0:
            for j in range(second, m + 1):
                z[r + i + j - 1], carry = multiply_add(factor, z[b + j], z[r + i + j - 1], carry)
        z[r + i + m] = carry
    n += m
    if z[r + n] == 0:
        n -= 1
    z[r] = n if (z[a] > 0) == (z[b] > 0) else -n


@routine
def bits_of(z, a):
    """The number of bits of |a|."""
    n = abs(z[a])
    return 64 * (n - 1) + bit_length(z[a + n]) if n > 0 else np.int64(0)


@routine
def value_of_limbs(z, a, exponent):
    """a · 2**−exponent as float64, with a relative error below 2**-51, where that does not over- or underflow."""
    n = abs(z[a])
    value = 0.0
    for i in range(max(n - 2, 1), n + 1):
        value += ldexp(digit_value(z[a + i]), 64 * (i - 1) - exponent)
    return value if z[a] >= 0 else -value
