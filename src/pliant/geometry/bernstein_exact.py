"""Roots of polynomials of degree 3 in (0, 1), and signs of polynomials of degree 2 there, exactly, in integers of any length.

Coefficients are those of Bernstein polynomials without their binomials: B = (b0, b1, b2, b3) for Σ C(3, i) b_i s^i (1−s)^(3−i), and
C = (c0, c1, c2). Divided by (1−s)³ a cubic is b0 + 3 b1 x + 3 b2 x² + b3 x³ with x = s/(1−s) from 0 to ∞: both forms have the same signs.

ISOLATION (Descartes; Vincent, Collins and Akritas): without sign changes among the coefficients there is no root in the open interval, with
one exactly one, simple. Else the interval is halved, by additions and shifts alone (de Casteljau). Changes never become more by halving, so
at most three intervals wait. A double root would be halved for ever: after DOUBLE_ROOT_DEPTH halvings it is looked for once, by division.
Otherwise roots of integer coefficients of b bits are more than 2**-(2b + 6) apart (Mahler 1964), which bounds the depth and the scratch.

SIGN of g at the one simple root τ of f in the interval, f(0) < 0 < f(∞) after a change of sign. No sign change of g: known. Otherwise
G2² F = Q G + R with R = r1 x + r0, so that F has the sign of R at each root ρ of G: F(ρ) < 0 says ρ < τ. R is 0 at x* = −r0/r1, and the
sign of G(x*) says on which side of x* a root of G lies. No root is ever approximated, and no separation bound is needed here.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.geometry.limbs import add, bits_of, copy, multiply, shift, sign_of_limbs, value_of_limbs

ESTIMATE_STEPS = 100                                                    # of Newton's method, or halvings
DOUBLE_ROOT_DEPTH = 10                                                  # halvings, after which a double root is looked for


@routine
def halve(z, left, right, source, size, temporary):
    """The coefficients of a cubic on both halves of its interval, eight times as large: four numbers each, `size` apart. `left` may be
    `source`."""
    a, b, c, d = source, source + size, source + 2 * size, source + 3 * size
    add(z, temporary, b, c, 1)
    shift(z, right + 3 * size, d, 3)
    add(z, right + 2 * size, c, d, 1)
    add(z, left + size, a, b, 1)
    shift(z, left, a, 3)
    add(z, left + 2 * size, left + size, temporary, 1)
    add(z, right + size, temporary, right + 2 * size, 1)
    add(z, right, left + 2 * size, right + size, 1)
    copy(z, left + 3 * size, right)
    shift(z, left + size, left + size, 2)
    shift(z, left + 2 * size, left + 2 * size, 1)
    shift(z, right + size, right + size, 1)
    shift(z, right + 2 * size, right + 2 * size, 2)


@routine
def sign_changes(z, first, size, n):
    """The number of sign changes among n coefficients, zeros left out."""
    changes, last = 0, np.int64(0)
    for i in range(n):
        sign = sign_of_limbs(z, first + i * size)
        if sign != 0:
            changes += last == -sign
            last = sign
    return changes


@helper
def last_sign(z, first, size, n):
    """The sign of the last coefficient that is not 0: that of the polynomial just before the end."""
    sign = np.int64(0)
    for i in range(n):
        s = sign_of_limbs(z, first + i * size)
        sign = s if s != 0 else sign
    return sign


@routine
def restrict(z, out, out_size, c, size, k, rest, temporary, wide):
    """out = the coefficients of a quadratic on the interval (k, k + 1) ÷ 2**m, times 2**(2m); `rest` = 2**m − k. `c` has three numbers,
    `size` apart; temporary has five numbers `wide` apart."""
    a, b, u, v, w = temporary, temporary + wide, temporary + 2 * wide, temporary + 3 * wide, temporary + 4 * wide
    blend(z, a, c, c + size, k, rest, v, w)                             # the polar form at (k, 0), (k, 1)
    blend(z, b, c + size, c + 2 * size, k, rest, v, w)
    # at (k, k), (k, k + 1), (k + 1, k + 1)
    blend(z, out, a, b, k, rest, v, w)
    add(z, u, b, a, -1)
    add(z, out + out_size, out, u, 1)
    # second difference of the polar form: c0 − 2 c1 + c2
    add(z, v, c, c + 2 * size, 1)
    add(z, v, v, c + size, -1)
    add(z, v, v, c + size, -1)
    add(z, w, out + out_size, u, 1)
    add(z, out + 2 * out_size, w, v, 1)


@routine
def restrict_cubic(z, out, f, size, k, rest, temporary, wide):
    """out = the coefficients of a cubic on the interval (k, k + 1) ÷ 2**m, times 2**(3m); `rest` = 2**m − k. Four numbers each, `size`
    apart; temporary: eight numbers `wide` apart."""
    a, b, c, d, e, u, v = (temporary, temporary + wide, temporary + 2 * wide, temporary + 3 * wide, temporary + 4 * wide,
                           temporary + 5 * wide, temporary + 6 * wide)
    add(z, e, f + 3 * size, f, -1)                                      # third difference: b3 − 3 b2 + 3 b1 − b0
    add(z, u, f + size, f + 2 * size, -1)
    for _ in range(3):
        add(z, e, e, u, 1)
    blend(z, a, f, f + size, k, rest, u, v)                             # the polar form at (k, 0, 0), (k, 0, 1), (k, 1, 1)
    blend(z, b, f + size, f + 2 * size, k, rest, u, v)
    blend(z, c, f + 2 * size, f + 3 * size, k, rest, u, v)
    add(z, d, a, c, 1)                                                  # second difference there
    add(z, d, d, b, -1)
    add(z, d, d, b, -1)
    blend(z, a, a, b, k, rest, u, v)                                    # at (k, k, 0), (k, k, 1)
    blend(z, b, b, c, k, rest, u, v)
    blend(z, out, a, b, k, rest, u, v)
    add(z, c, b, a, -1)                                                 # each step of an argument from k to k + 1 adds a difference
    add(z, out + size, out, c, 1)
    add(z, c, c, d, 1)
    add(z, out + 2 * size, out + size, c, 1)
    add(z, c, c, d, 1)
    add(z, c, c, e, 1)
    add(z, out + 3 * size, out + 2 * size, c, 1)


@routine
def blend(z, r, a, b, k, rest, u, v):
    """r = rest · a + k · b"""
    multiply(z, u, a, rest)
    multiply(z, v, b, k)
    add(z, r, u, v, 1)


@routine
def root_estimate(z, f, size):
    """About where a cubic with one sign change is 0, from 0 to 1."""
    exponent = np.int64(0)
    for i in range(4):
        exponent = max(exponent, bits_of(z, f + i * size))
    a, b = value_of_limbs(z, f, exponent), value_of_limbs(z, f + size, exponent)
    c, d = value_of_limbs(z, f + 2 * size, exponent), value_of_limbs(z, f + 3 * size, exponent)
    if last_sign(z, f, size, 4) < 0:
        a, b, c, d = -a, -b, -c, -d
    low, high, s = 0.0, 1.0, 0.5
    for _ in range(ESTIMATE_STEPS):                                     # Newton, or a half where that leaves the bracket
        r = 1.0 - s
        p, q, o = r * a + s * b, r * b + s * c, r * c + s * d
        p, q = r * p + s * q, r * q + s * o
        value, slope = r * p + s * q, 3.0 * (q - p)
        if value < 0.0:
            low = s
        elif value > 0.0:
            high = s
        else:
            break
        after = s - value / slope if slope != 0.0 else low
        if not low < after < high:
            after = 0.5 * (low + high)
        if abs(after - s) < 2.0**-50:
            s = after
            break
        s = after
    return s


@routine
def remainder(z, r1, r0, f, f_size, c, size, temporary, wide):
    """r1 x + r0 = G2² F modulo G, for F in Bernstein form `f` and G in Bernstein form `c` (G2 = c2 not 0). temporary: five numbers `wide`
    apart."""
    g1, p, q, v, w = temporary, temporary + wide, temporary + 2 * wide, temporary + 3 * wide, temporary + 4 * wide
    g0, g2 = c, c + 2 * size
    shift(z, g1, c + size, 1)                                           # G1 = 2 c1
    shift(z, w, f + 2 * f_size, 1)
    add(z, w, w, f + 2 * f_size, 1)                                     # F2 = 3 b2
    # r1 = F3 (G1² − G0 G2) − F2 G1 G2 + F1 G2²
    multiply(z, p, g1, g1)
    multiply(z, q, g0, g2)
    add(z, p, p, q, -1)
    multiply(z, r1, f + 3 * f_size, p)
    multiply(z, p, g1, g2)
    multiply(z, v, w, p)
    add(z, r1, r1, v, -1)
    # r0 = F3 G1 G0 − F2 G0 G2 + F0 G2²
    multiply(z, v, w, q)
    multiply(z, p, g1, g0)
    multiply(z, r0, f + 3 * f_size, p)
    add(z, r0, r0, v, -1)
    multiply(z, p, g2, g2)
    multiply(z, v, f, p)
    add(z, r0, r0, v, 1)
    shift(z, w, f + f_size, 1)
    add(z, w, w, f + f_size, 1)                                         # F1 = 3 b1
    multiply(z, v, w, p)
    add(z, r1, r1, v, 1)


@routine
def quadratic_sign(z, c, size, numerator, denominator, temporary, wide):
    """The sign of G at x = numerator ÷ denominator. temporary: three numbers `wide` apart."""
    u, v, w = temporary, temporary + wide, temporary + 2 * wide
    multiply(z, u, denominator, denominator)
    multiply(z, w, c, u)
    multiply(z, u, numerator, denominator)
    multiply(z, v, c + size, u)
    shift(z, v, v, 1)
    add(z, w, w, v, 1)
    multiply(z, u, numerator, numerator)
    multiply(z, v, c + 2 * size, u)
    add(z, w, w, v, 1)
    return sign_of_limbs(z, w)


@routine
def sign_at_root(z, f, f_size, c, size, temporary, wide):
    """The sign of the quadratic c at the one root of the cubic f in (0, 1), which is simple and the only one: f has one sign change.
    temporary: ten numbers `wide` apart."""
    changes = sign_changes(z, c, size, 3)
    rising = last_sign(z, f, f_size, 4)                                 # of F at infinity
    s0, s1, s2 = sign_of_limbs(z, c), sign_of_limbs(z, c + size), sign_of_limbs(z, c + 2 * size)
    if changes == 0:
        return s0 if s0 != 0 else (s1 if s1 != 0 else s2)
    r1, r0, rest = temporary, temporary + wide, temporary + 2 * wide
    if s2 == 0:                                                         # c0 + 2 c1 x: the root −c0 ÷ (2 c1)
        return s1 * linear_root_side(z, f, f_size, c, size, rest, wide, rising)
    remainder(z, r1, r0, f, f_size, c, size, rest, wide)
    a, b = sign_of_limbs(z, r1) * rising, sign_of_limbs(z, r0) * rising
    if a == 0 and b == 0:                                               # G divides F
        return 0 if changes == 1 else s0
    at_pole = np.int64(0)                                               # the sign of G where R is 0
    if a * b < 0:
        z[r0] = -z[r0]
        if z[r1] < 0:
            z[r1], z[r0] = -z[r1], -z[r0]
        at_pole = quadratic_sign(z, c, size, r0, r1, rest, wide)
        if at_pole == 0:                                                # a root of G where F has one too: τ
            return 0
    if changes == 1:                                                    # one root ρ
        if a * b < 0:
            side = b if at_pole == s2 else a                            # ρ before x*: R has the sign of r0 there
        else:
            side = a if a != 0 else b
        return s2 if side < 0 else -s2                                  # F(ρ) < 0: ρ before τ
    if a * b < 0 and at_pole == -s2:                                    # x* between two roots
        return -s2
    return s2


@routine
def linear_root_side(z, f, f_size, c, size, temporary, wide, rising):
    """The sign of τ − ρ with ρ = −c0 ÷ (2 c1) > 0: that of −F(ρ), for F that rises. temporary: six numbers `wide` apart."""
    p, q = temporary, temporary + wide
    copy(z, p, c)
    z[p] = abs(z[p])
    shift(z, q, c + size, 1)
    z[q] = abs(z[q])
    return -cubic_sign(z, f, f_size, p, q, temporary + 2 * wide, wide) * rising


@routine
def add_tripled_product(z, r, a, b, temporary):
    """r += 3 a b"""
    multiply(z, temporary, a, b)
    add(z, r, r, temporary, 1)
    add(z, r, r, temporary, 1)
    add(z, r, r, temporary, 1)


@routine
def double_root(z, f, f_size, numerator, denominator, temporary, wide):
    """Has the cubic a double or triple root in (0, 1)? Then x = numerator ÷ denominator, both positive. temporary: twelve numbers `wide`
    apart."""
    g, rest = temporary, temporary + 3 * wide                           # f' ÷ 3
    for i in range(3):
        add(z, g + i * wide, f + (i + 1) * f_size, f + i * f_size, -1)
    if z[g + 2 * wide] == 0:
        # F' has degree 2 in x only if G2 is not 0: divide by G1 x + G0 otherwise; its root is −G0 ÷ G1
        if z[g + wide] == 0:
            return False
        copy(z, numerator, g)
        z[numerator] = -z[numerator]
        shift(z, denominator, g + wide, 1)
    else:
        remainder(z, denominator, numerator, f, f_size, g, wide, rest, wide)
        z[numerator] = -z[numerator]
        if z[denominator] == 0 and z[numerator] == 0:                   # F' divides F: a triple root −g1 ÷ g2, or a double one and −1
            multiply(z, rest, g + wide, g + wide)
            multiply(z, rest + wide, g, g + 2 * wide)
            add(z, rest, rest, rest + wide, -1)
            copy(z, denominator, g + 2 * wide)
            if z[rest] == 0:
                add(z, numerator, rest, g + wide, -1)
            else:
                add(z, numerator, g + 2 * wide, g + wide, -1)
                add(z, numerator, numerator, g + wide, -1)
    if z[denominator] < 0:
        z[denominator], z[numerator] = -z[denominator], -z[numerator]
    if z[denominator] == 0 or z[numerator] <= 0:
        return False
    return quadratic_sign(z, g, wide, numerator, denominator, rest, wide) == 0 and cubic_sign(
        z, f, f_size, numerator, denominator, rest, wide) == 0


@routine
def cubic_sign(z, f, f_size, numerator, denominator, temporary, wide):
    """The sign of F at x = numerator ÷ denominator. temporary: four numbers `wide` apart."""
    u, v, w, o = temporary, temporary + wide, temporary + 2 * wide, temporary + 3 * wide
    multiply(z, u, denominator, denominator)
    multiply(z, v, u, denominator)
    multiply(z, w, v, f)
    multiply(z, v, u, numerator)
    add_tripled_product(z, w, v, f + f_size, o)
    multiply(z, u, numerator, numerator)
    multiply(z, v, u, denominator)
    add_tripled_product(z, w, v, f + 2 * f_size, o)
    multiply(z, v, u, numerator)
    multiply(z, o, v, f + 3 * f_size)
    add(z, w, w, o, 1)
    return sign_of_limbs(z, w)
