"""Exact sums and products of float64, as expansions: a number is a sum of non-overlapping doubles, smallest first, no zeros.

After Shewchuk (1997, "Adaptive precision floating-point arithmetic and fast robust geometric predicates"): `two_sum` is his (and
Knuth's) six-operation sum, `grow_expansion` his Grow-Expansion with elimination of zeros.

Valid while no operation over- or underflows; `geometry/predicates.py` states the range in which none does.
"""
from fractions import Fraction

import llvmlite.binding as llvm
from numba import types

from pliant.core.jit import DISABLED, helper, routine
from pliant.core.vectors import instruction

SPLITTER = 134217729.0                                                  # 2**27 + 1


def fma(a, b, c):
    """a · b + c with one rounding (llvm.fma: never llvm.fmuladd, which may round twice)."""
    return float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))


@instruction(fma)
def _(context, a, b, c):
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, args: builder.fma(*args)


def _has_fma():
    """Has this processor a fused multiply-add? Without one `fma` would be a library call."""
    features = llvm.get_host_cpu_features()
    return not features or features.get("fma", False) or "neon" in features or llvm.get_process_triple().startswith(("aarch64", "arm64"))


HAS_FMA = DISABLED or _has_fma()


@helper
def two_sum(a, b):
    """(s, e): s = fl(a + b), s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@helper
def two_difference(a, b):
    """(d, e): d = fl(a − b), d + e = a − b exactly."""
    return two_sum(a, -b)


@helper
def split(a):
    """a as a sum of two numbers of at most 26 bits (Dekker, Veltkamp)."""
    t = SPLITTER * a
    high = t - (t - a)
    return high, a - high


@helper
def two_product_split(a, b):
    """`two_product` without fused multiply-add: 14 to 58 % slower."""
    p = a * b
    ah, al = split(a)
    bh, bl = split(b)
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


@helper
def two_product(a, b):
    """(p, e): p = fl(a · b), p + e = a · b exactly."""
    if HAS_FMA:
        p = a * b
        return p, fma(a, b, -p)
    return two_product_split(a, b)


@routine
def grow_expansion(h, n, x):
    """Add x to the expansion h of n terms; returns its new length."""
    k = 0
    for i in range(n):
        x, low = two_sum(x, h[i])
        if low != 0.0:
            h[k] = low
            k += 1
    if x != 0.0:
        h[k] = x
        k += 1
    return k


@routine
def grow_product(h, n, a, b):
    """Add a · b to the expansion h of n terms; returns its new length. Not inlined: callers contain a dozen of these calls, and everything
    built on them would compile them again."""
    p, e = two_product(a, b)
    if e != 0.0:
        n = grow_expansion(h, n, e)
    if p != 0.0:
        n = grow_expansion(h, n, p)
    return n


@routine
def minor(h, a, a_low, b, b_low, c, c_low, d, d_low):
    """h = (a + a_low)(b + b_low) − (c + c_low)(d + d_low), at most 16 terms; returns their number."""
    n = 0
    if a_low != 0.0 or b_low != 0.0:
        n = grow_product(h, n, a_low, b_low)
        n = grow_product(h, n, a, b_low)
        n = grow_product(h, n, a_low, b)
    if c_low != 0.0 or d_low != 0.0:
        n = grow_product(h, n, -c_low, d_low)
        n = grow_product(h, n, -c, d_low)
        n = grow_product(h, n, -c_low, d)
    n = grow_product(h, n, a, b)
    return grow_product(h, n, -c, d)


@routine
def grow_scaled(h, n, m, count, d, d_low):
    """h += m · (d + d_low), m an expansion of `count` terms; returns the new length of h."""
    if d_low != 0.0:
        for i in range(count):
            n = grow_product(h, n, m[i], d_low)
    if d != 0.0:
        for i in range(count):
            n = grow_product(h, n, m[i], d)
    return n


@helper
def sign_of(h, n):
    """The sign of an expansion: that of its largest term."""
    if n == 0:
        return 0
    return 1 if h[n - 1] > 0.0 else -1


@helper
def estimate(h, n):
    """The value of an expansion, to about one rounding."""
    total = 0.0
    for i in range(n):
        total += h[i]
    return total
