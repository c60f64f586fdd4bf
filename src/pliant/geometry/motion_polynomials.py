"""The polynomials of two features that move linearly, in integers: differences, areas, the volume (`geometry/motion_exact.py`).

Coordinates are integers in units of 2**lowest, of at most B bits, n = ⌈(B + 4) ÷ 64⌉ digits: differences need B + 2 bits, areas 2 B + 6, f
3 B + 12. An interval is halved at most 6 B + 24 times (`geometry/bernstein_exact.py`): there f takes 21 n digits, an area 14 n, the
remainder of f by an area 49 n, and its square times an area 112 n.

The scratch z begins with STATE offsets, and has room for all of these; polynomials are computed when they are first used.
"""
import math

import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.simd import ctz
from pliant.geometry.limbs import add, copy, multiply, put_float, shift

VERTEX_FACE, EDGE_EDGE = 0, 1
MANTISSA_SCALE = 9007199254740992.0                                     # 2**53
NO_EXPONENT = 10000
X, Y, Z, XY, ZX, SIDES = 0, 1, 2, 3, 4, 5                               # polynomials; SIDES … SIDES + 3 are differences of corners
N_POLYNOMIALS = 9
N_RECORDS = 5                                                           # intervals that wait, and the one that is worked on

# offsets in the state, which the arena follows
N, D, Q, F, G, K, WIDE, KIND, MODE = range(9)                           # digits; sizes of numbers; what is asked for
DIFFERENCES, POLYNOMIALS, LOCAL, RECORDS, TEMPORARY, RATIO, REST = range(10, 17)
RECORD, DEPTH, KNOWN, DOUBLED = 17, 18, 24, 52
STATE = 64


@routine
def exponent_range(t):
    """(lowest, bits): all coordinates are integers of so many bits in units of 2**lowest."""
    lowest, highest = np.int64(NO_EXPONENT), np.int64(-NO_EXPONENT)
    for i in range(24):
        if t[i] != 0.0:
            m, e = math.frexp(t[i])
            lowest = min(lowest, np.int64(e) - 53 + ctz(np.int64(abs(m) * MANTISSA_SCALE)))
            highest = max(highest, np.int64(e))
    return (lowest, highest - lowest) if highest >= lowest else (np.int64(0), np.int64(1))


@routine
def lay_out(z, n, kind):
    """Divide the scratch for coordinates of n digits."""
    z[N], z[KIND] = n, kind
    z[D], z[Q], z[F], z[G], z[K], z[WIDE] = n + 2, 2 * n + 2, 21 * n + 4, 14 * n + 4, 6 * n + 4, 113 * n + 8
    at = np.int64(STATE)
    z[DIFFERENCES], at = at, at + 18 * z[D]
    z[POLYNOMIALS], at = at, at + 9 * N_POLYNOMIALS * z[Q]
    z[LOCAL], at = at, at + 3 * z[G]
    z[RECORDS], at = at, at + N_RECORDS * (4 * z[F] + z[K])
    z[REST], at = at, at + z[K]
    z[TEMPORARY], at = at, at + 10 * z[WIDE]
    z[RATIO], at = at, at + 2 * z[WIDE]
    for i in range(3 * N_POLYNOMIALS):
        z[KNOWN + i] = 0


@routine
def put_differences(z, t, kind, lowest):
    """u, v, w at the start, then at the end."""
    first, second = z[TEMPORARY], z[TEMPORARY] + z[WIDE]
    for end in range(2):
        for row in range(3):
            p = row + 1
            q = 0
            if kind == EDGE_EDGE and row > 0:
                p = 4 - row
                q = 2 if row == 1 else 0
            for k in range(3):
                put_float(z, first, t[12 * end + 3 * p + k], lowest)
                put_float(z, second, t[12 * end + 3 * q + k], lowest)
                add(z, z[DIFFERENCES] + (9 * end + 3 * row + k) * z[D], first, second, -1)


@helper
def difference(z, end, row, k):
    return z[DIFFERENCES] + (9 * end + 3 * row + k) * z[D]


@routine
def add_minor(z, r, end, i, other_end, j, k, temporary):
    """r += component k of row i at one end × row j at the other."""
    a, b = (k + 1) % 3, (k + 2) % 3
    multiply(z, temporary, difference(z, end, i, a), difference(z, other_end, j, b))
    add(z, r, r, temporary, 1)
    multiply(z, temporary, difference(z, end, i, b), difference(z, other_end, j, a))
    add(z, r, r, temporary, -1)


@routine
def area(z, which, k):
    """The place of X, Y or Z along axis k, times 2: three coefficients; computed when it is first used."""
    number = 3 * which + k
    place, size, temporary = z[POLYNOMIALS] + 3 * number * z[Q], z[Q], z[TEMPORARY]
    if z[KNOWN + number] == 0:
        z[KNOWN + number] = 1
        i, j = which, (which + 1) % 3
        for c in range(3):
            z[place + c * size] = 0
        add_minor(z, place, 0, i, 0, j, k, temporary)
        shift(z, place, place, 1)
        add_minor(z, place + size, 0, i, 1, j, k, temporary)
        add_minor(z, place + size, 1, i, 0, j, k, temporary)
        add_minor(z, place + 2 * size, 1, i, 1, j, k, temporary)
        shift(z, place + 2 * size, place + 2 * size, 1)
    return place


@routine
def polynomial(z, which, k):
    """The place of any of the polynomials along axis k, times 2."""
    if which < XY:
        return area(z, which, k)
    number = 3 * which + k
    place, size = z[POLYNOMIALS] + 3 * number * z[Q], z[Q]
    if z[KNOWN + number] != 0:
        return place
    z[KNOWN + number] = 1
    if which < SIDES:
        base, x = area(z, Y if which == XY else Z, k), area(z, X, k)
        for c in range(3):
            add(z, place + c * size, base + c * size, x + c * size, 1 if which == XY else -1)
        return place
    corner = which - SIDES
    for end in range(2):
        r = place + 2 * end * size
        if z[KIND] == VERTEX_FACE:
            copy(z, r, difference(z, end, corner, k))
        else:                                                           # w, w + v, w − u, w + v − u
            copy(z, r, difference(z, end, 2, k))
            if corner & 1:
                add(z, r, r, difference(z, end, 1, k), 1)
            if corner & 2:
                add(z, r, r, difference(z, end, 0, k), -1)
    add(z, place + size, place, place + 2 * size, 1)
    shift(z, place, place, 1)
    shift(z, place + 2 * size, place + 2 * size, 1)
    return place


@routine
def put_plane(z, out):
    """6 f = 6 X · w as a cubic; is it not 0 throughout?"""
    size, f, temporary, product = z[Q], z[F], z[TEMPORARY], z[TEMPORARY] + z[WIDE]
    for c in range(4):
        z[out + c * f] = 0
    for k in range(3):
        x, start, end = area(z, X, k), difference(z, 0, 2, k), difference(z, 1, 2, k)
        multiply(z, temporary, x, start)
        add(z, out, out, temporary, 1)
        multiply(z, temporary, x, end)
        add(z, out + f, out + f, temporary, 1)
        multiply(z, temporary, x + size, start)
        shift(z, temporary, temporary, 1)
        add(z, out + f, out + f, temporary, 1)
        multiply(z, temporary, x + size, end)
        shift(z, temporary, temporary, 1)
        add(z, out + 2 * f, out + 2 * f, temporary, 1)
        multiply(z, temporary, x + 2 * size, start)
        add(z, out + 2 * f, out + 2 * f, temporary, 1)
        multiply(z, temporary, x + 2 * size, end)
        add(z, out + 3 * f, out + 3 * f, temporary, 1)
    shift(z, product, out, 1)
    add(z, out, out, product, 1)
    shift(z, product, out + 3 * f, 1)
    add(z, out + 3 * f, out + 3 * f, product, 1)
    return z[out] != 0 or z[out + f] != 0 or z[out + 2 * f] != 0 or z[out + 3 * f] != 0


@routine
def put_elevated(z, out, place):
    """Three times a quadratic as a cubic; is it not 0 throughout?"""
    size, f, temporary = z[Q], z[F], z[TEMPORARY]
    for end in range(2):
        c, r = place + 2 * end * size, out + 3 * end * f
        shift(z, temporary, c, 1)
        add(z, r, c, temporary, 1)                                      # 3 c0
        shift(z, temporary, place + size, 1)
        add(z, out + (1 + end) * f, c, temporary, 1)                    # c0 + 2 c1
    return z[place] != 0 or z[place + size] != 0 or z[place + 2 * size] != 0
