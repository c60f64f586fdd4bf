"""A ray and a triangle: do they meet, exactly, and where?

The ray o + t d passes the edge from p to q on the side that the sign of ((p − o) × (q − o)) · d says. It hits the triangle a, b, c if it
passes all three edges on one side, edges and corners included, but not if all three signs are 0: then the triangle has no area, or the ray
lies in its plane. Signs are those of real numbers, so nothing slips through between two faces: what leaves a closed mesh meets one of its
faces (watertight; Woop, Benthin and Wald 2013 have it by rounding all faces alike).

The same three values, over their sum, are the weights of the corners c, a and b in the point that is hit; t is the weighted mean of where
the corners are along the ray. Sums are taken in the order of their terms' sizes, so that t does not depend on the order of the corners.

A buffer of 18 float64 holds the corners at 0, 3 and 6, o at ORIGIN, d at DIRECTION, and the answer, t and the weights u, v of the second
and third corner, at ANSWER. `pierced` is the filter, on the numbers themselves; `pierced_exact` settles what it leaves, and is right for
all finite numbers.
"""
import math

import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.lazy_compile import deferred
from pliant.core.simd import bits, cycled, element, magnitude, plus, quad, times
from pliant.core.stack import floats
from pliant.geometry.bigint import orient3d_wide_value
from pliant.geometry.expansion import estimate
from pliant.geometry.predicates import E3, E3_PAIRS, difference_pairs, triple_expansion, triple_in_pairs

ORIGIN, DIRECTION, ANSWER, SIZE = 9, 12, 15, 18
MISS, HIT, UNSURE = range(3)
PRECISE = 2.0**-44                                                      # of the farthest corner: what t may be off by after the filter
CLOSE = 2.0**-50                                                        # of a value in pairs
LARGE, SMALL, STEP = 2.0**1000, 2.0**-900, 500
NONE = -1 << 20                                                         # below every exponent


@helper
def sum_of(x, y, z):
    """x + y + z, the same for every order of them."""
    low, high = min(x, y), max(x, y)
    return (min(low, z) + max(low, min(high, z))) + max(high, z)


@helper
def minus(a, b):
    """a − b, rounded: never made one with a product."""
    return plus(a, -b)


@helper
def along(k, x, y, z):
    """Coordinate k."""
    return x if k == 0 else y if k == 1 else z


@helper
def pierced(ax, ay, az, bx, by, bz, cx, cy, cz, ox, oy, oz, dx, dy, dz, k):
    """The filter, in the range of `predicates.py`: (MISS, HIT or UNSURE, and t, u, v of a hit). k is the axis along which d is longest.

    For corners q, r that are near each other and far from o, u × v with u = (q − o) + (r − o) and v = r − q is (q − o) × (r − o) twice
    over and rounds by much less, and to the bit as much from either side.

    Error bound. u cancels where o lies between q and r, so |u| after rounding bounds nothing: û is off by U for each difference and U for
    the sum, that is by 2 U w, w = |q − o| + |r − o|. A term u_i v_j d_k so passes 8 roundings relative to w_i |v_j| |d_k|: two for u, and
    one each for v, the product and the minor, one for d and two for the sums. The sum P of these sizes comes out low by at most (1 − U)⁸,
    and the constant rounds once: 9 U = E3, as for `orient3d_filter`. Errors of the values move t by at most their sum over that of the
    values, times how far the corners are apart along the ray.
    Lanes are the edges b c, c a and a b; the fourth is no one's.
    """
    o = along(k, ox, oy, oz)
    x, y, z = along(k, ax, ay, az) - o, along(k, bx, by, bz) - o, along(k, cx, cy, cz) - o
    px, py, pz = quad(ax, bx, cx, cx), quad(ay, by, cy, cy), quad(az, bz, cz, cz)
    qx, qy, qz = cycled(px), cycled(py), cycled(pz)
    rx, ry, rz = cycled(qx), cycled(qy), cycled(qz)
    vx, vy, vz = minus(rx, qx), minus(ry, qy), minus(rz, qz)
    qx, qy, qz, rx, ry, rz = minus(qx, ox), minus(qy, oy), minus(qz, oz), minus(rx, ox), minus(ry, oy), minus(rz, oz)
    ux, uy, uz = plus(qx, rx), plus(qy, ry), plus(qz, rz)
    values = plus(plus(times(minus(times(uy, vz), times(uz, vy)), dx), times(minus(times(uz, vx), times(ux, vz)), dy)),
                  times(minus(times(ux, vy), times(uy, vx)), dz))
    wx, wy, wz = magnitude(qx) + magnitude(rx), magnitude(qy) + magnitude(ry), magnitude(qz) + magnitude(rz)
    vx, vy, vz = magnitude(vx), magnitude(vy), magnitude(vz)
    doubts = ((wy * vz + wz * vy) * abs(dx) + (wz * vx + wx * vz) * abs(dy) + (wx * vy + wy * vx) * abs(dz)) * E3
    left, right = bits(values > doubts) & 7, bits(values < -doubts) & 7
    if left != 0 and right != 0:
        return MISS, 0.0, 0.0, 0.0
    side = 1.0 if right == 0 else -1.0                                  # so that sums are of the same numbers from either side
    p, q, r = side * element(values, 0), side * element(values, 1), side * element(values, 2)
    total, doubt = sum_of(p, q, r), element(doubts, 0) + element(doubts, 1) + element(doubts, 2)
    low, high = min(x, min(y, z)), max(x, max(y, z))
    above, below = sum_of(p * x, q * y, r * z), total * along(k, dx, dy, dz)
    ordinary = (abs(above) < LARGE) & (abs(below) < LARGE) & (abs(below) > SMALL)      # products of four may leave the range
    if left | right != 7 or not (ordinary & (doubt * (high - low) <= PRECISE * max(high, -low) * total)):
        return UNSURE, 0.0, 0.0, 0.0
    over = 1.0 / total
    return HIT, above / below, q * over, r * over


@routine
def side(t, b, c, plain):
    """(m, e): ((b − o) × (c − o)) · d is m · 2**e but for a part in CLOSE, and 0 exactly if m is. `plain`: all is in the range."""
    if not plain:
        return orient3d_wide_value(t, ORIGIN, b, c, DIRECTION, True)
    u, v = difference_pairs(t, ORIGIN, b), difference_pairs(t, ORIGIN, c)
    dx, dy, dz = t[DIRECTION], t[DIRECTION + 1], t[DIRECTION + 2]
    value, size = triple_in_pairs(*u, *v, dx, 0.0, dy, 0.0, dz, 0.0)
    if E3_PAIRS * size > CLOSE * abs(value):
        h = floats(192)
        value = estimate(h, triple_expansion(h, *u, *v, dx, 0.0, dy, 0.0, dz, 0.0))
    return value, np.int64(0)


@helper
def scaled(x, e):
    """x · 2**e, infinite or 0 where that is beyond all numbers."""
    while e > STEP:
        x, e = x * 2.0**STEP, e - STEP
    while e < -STEP:
        x, e = x * 2.0**-STEP, e + STEP
        if x == 0.0:
            return x
    return x * 2.0**e


@deferred
def pierced_exact(t, k, plain):
    """MISS, or HIT with an answer. What lies beyond the largest numbers is not hit."""
    p, e = side(t, 3, 6, plain)
    q, f = side(t, 6, 0, plain)
    r, g = side(t, 0, 3, plain)
    if ((p > 0) | (q > 0) | (r > 0)) == ((p < 0) | (q < 0) | (r < 0)):
        return MISS
    most = max(e if p != 0 else NONE, max(f if q != 0 else NONE, g if r != 0 else NONE))
    p, q, r = scaled(abs(p), e - most), scaled(abs(q), f - most), scaled(abs(r), g - most)
    total = sum_of(p, q, r)
    p, q, r = p / total, q / total, r / total
    # Where the corners are along the axis, and d, as numbers of ordinary size times powers of two.
    o, x, y, z, d = t[ORIGIN + k], t[k], t[3 + k], t[6 + k], t[DIRECTION + k]
    f, g = math.frexp(max(max(abs(o), abs(x)), max(abs(y), abs(z))))[1] + 2, math.frexp(d)[1]
    o, x, y, z = scaled(o, -f), scaled(x, -f), scaled(y, -f), scaled(z, -f)
    t[ANSWER] = scaled(sum_of(p * (x - o), q * (y - o), r * (z - o)) / scaled(d, -g), f - g)
    t[ANSWER + 1], t[ANSWER + 2] = q, r
    return HIT if abs(t[ANSWER]) < math.inf else MISS
