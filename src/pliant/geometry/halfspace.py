"""The side of a plane on which a point lies: the sign of a x + b y + c z + d, exact for every finite float64.

FILTER. A product passes three roundings, d two, so the sum is off by less than 4 U P, P the sum of the absolute terms; P itself comes out
low by no more than 3 U of itself, and the bound, 5 U P, rounds once. If P is between 2**-900 and 2**1000, no term has overflowed, and
underflow loses less than 2**-1073, which is negligible beside U P: coordinates may be of any size.

EXACT. Every factor is a mantissa in [½, 1) and a power of two; a product of mantissas is a sum of two float64 and a multiple of 2**-106.
From the largest power down, terms whose powers follow each other within MAX_GAP bits are added as an expansion, relative to the first:
they span at most 3 MAX_GAP + 106 bits, so nothing over- or underflows. If their sum is not 0, it is a multiple of 2**-106 of the smallest,
and the remaining terms, beyond another MAX_GAP, cannot change its sign.
"""
import math

import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.stack import stack_float64, stack_int64
from pliant.geometry.expansion import grow_expansion, sign_of, two_product
from pliant.geometry.predicates import UNSURE, U

MIN_SIZE, MAX_SIZE = 2.0**-900, 2.0**1000
FILTER_ERROR = 5 * U
MAX_GAP = 200                                                           # bits
ZERO_POWER = -10000                                                     # the power of a term that is 0: below every other


@helper
def side_rounded(a, b, c, d, x, y, z):
    """(a x + b y + c z + d rounded, sum P of its absolute terms)."""
    p, q, r = a * x, b * y, c * z
    return (p + q) + (r + d), (abs(p) + abs(q)) + (abs(r) + abs(d))


@helper
def side_filter(a, b, c, d, x, y, z):
    """−1 or 1, or UNSURE."""
    value, size = side_rounded(a, b, c, d, x, y, z)
    if MIN_SIZE <= size <= MAX_SIZE and abs(value) > FILTER_ERROR * size:
        return np.int64(1) if value > 0.0 else np.int64(-1)
    return np.int64(UNSURE)


@helper
def put_term(terms, powers, k, u, v):
    """Insert u · v as term k; terms stay sorted, largest power first."""
    m, e = math.frexp(u)
    n, f = math.frexp(v)
    high, low = two_product(m, n)
    power = np.int64(e) + np.int64(f) if high != 0.0 else np.int64(ZERO_POWER)
    while k > 0 and powers[k - 1] < power:
        powers[k], terms[2 * k], terms[2 * k + 1] = powers[k - 1], terms[2 * k - 2], terms[2 * k - 1]
        k -= 1
    powers[k], terms[2 * k], terms[2 * k + 1] = power, low, high


@routine
def side_exact(a, b, c, d, x, y, z):
    """−1, 0 or 1."""
    terms, powers, h = stack_float64(8), stack_int64(4), stack_float64(8)
    put_term(terms, powers, np.int64(0), a, x)
    put_term(terms, powers, np.int64(1), b, y)
    put_term(terms, powers, np.int64(2), c, z)
    put_term(terms, powers, np.int64(3), d, 1.0)
    k = 0
    while k < 4 and powers[k] != ZERO_POWER:
        largest, n = powers[k], 0
        while True:
            shift = 2.0 ** (powers[k] - largest)
            if terms[2 * k] != 0.0:
                n = grow_expansion(h, n, terms[2 * k] * shift)
            n = grow_expansion(h, n, terms[2 * k + 1] * shift)
            k += 1
            if k == 4 or powers[k] < powers[k - 1] - MAX_GAP:
                break
        if n > 0:
            return np.int64(sign_of(h, n))
    return np.int64(0)
