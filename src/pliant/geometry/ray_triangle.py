"""A ray and a triangle: do they meet, exactly, and where?

The ray o + t d passes the edge from p to q on the side that the sign of ((p − o) × (q − o)) · d says. It hits the triangle a, b, c if it
passes all three edges on one side, edges and corners included, but not if all three signs are 0: then the triangle has no area, or the ray
lies in its plane. Signs are those of real numbers, so nothing slips through between two faces: what leaves a closed mesh meets one of its
faces (watertight; Woop, Benthin and Wald 2013 have it by rounding all faces alike).

The same three values, over their sum, are the weights of the corners c, a and b in the point that is hit; t is the weighted mean of where
the corners are along the ray. Sums are taken in the order of their terms' sizes, so that t does not depend on the order of the corners.

A buffer of 18 float64 holds the corners at 0, 3 and 6, o at ORIGIN, d at DIRECTION, and the answer, t and the weights u, v of the second
and third corner, at ANSWER. `hit_filter` is the filter, on the numbers themselves; `hit_exact` decides what it leaves, and is right for
all finite numbers.
"""
import math

import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.simd import add_rounded, extract, fabs, movemask, mul_rounded, rotate3, vector4
from pliant.core.stack import stack_float64
from pliant.geometry.bigint import orient3d_bigint_value
from pliant.geometry.expansion import estimate
from pliant.geometry.predicates import E3, E3_DD, dd_difference, triple_expansion, triple_product_dd

ORIGIN, DIRECTION, RESULT, BUFFER_SIZE = 9, 12, 15, 18
MISS, HIT, UNSURE = range(3)
T_ERROR = 2.0**-44                                                      # of the farthest corner: what t may be off by after the filter
DD_ERROR = 2.0**-50                                                     # of a value in pairs
MAX_VALUE, MIN_VALUE, MAX_SHIFT = 2.0**1000, 2.0**-900, 500
NO_EXPONENT = -1 << 20                                                  # below every exponent


@helper
def ordered_sum(x, y, z):
    """x + y + z, the same for every order of them."""
    low, high = min(x, y), max(x, y)
    return (min(low, z) + max(low, min(high, z))) + max(high, z)


@helper
def subtract(a, b):
    """a − b, rounded: never made one with a product."""
    return add_rounded(a, -b)


@helper
def coordinate(k, x, y, z):
    """Coordinate k."""
    return x if k == 0 else y if k == 1 else z


@helper
def hit_filter(ax, ay, az, bx, by, bz, cx, cy, cz, ox, oy, oz, dx, dy, dz, k):
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
    o = coordinate(k, ox, oy, oz)
    x, y, z = coordinate(k, ax, ay, az) - o, coordinate(k, bx, by, bz) - o, coordinate(k, cx, cy, cz) - o
    px, py, pz = vector4(ax, bx, cx, cx), vector4(ay, by, cy, cy), vector4(az, bz, cz, cz)
    qx, qy, qz = rotate3(px), rotate3(py), rotate3(pz)
    rx, ry, rz = rotate3(qx), rotate3(qy), rotate3(qz)
    vx, vy, vz = subtract(rx, qx), subtract(ry, qy), subtract(rz, qz)
    qx, qy, qz, rx, ry, rz = subtract(qx, ox), subtract(qy, oy), subtract(qz, oz), subtract(rx, ox), subtract(ry, oy), subtract(rz, oz)
    ux, uy, uz = add_rounded(qx, rx), add_rounded(qy, ry), add_rounded(qz, rz)
    values = add_rounded(add_rounded(mul_rounded(subtract(mul_rounded(uy, vz), mul_rounded(uz, vy)), dx),
                                     mul_rounded(subtract(mul_rounded(uz, vx), mul_rounded(ux, vz)), dy)),
                         mul_rounded(subtract(mul_rounded(ux, vy), mul_rounded(uy, vx)), dz))
    wx, wy, wz = fabs(qx) + fabs(rx), fabs(qy) + fabs(ry), fabs(qz) + fabs(rz)
    vx, vy, vz = fabs(vx), fabs(vy), fabs(vz)
    error_bounds = ((wy * vz + wz * vy) * abs(dx) + (wz * vx + wx * vz) * abs(dy) + (wx * vy + wy * vx) * abs(dz)) * E3
    left, right = movemask(values > error_bounds) & 7, movemask(values < -error_bounds) & 7
    if left != 0 and right != 0:
        return MISS, 0.0, 0.0, 0.0
    sign = 1.0 if right == 0 else -1.0                                  # so that sums are of the same numbers from either side
    p, q, r = sign * extract(values, 0), sign * extract(values, 1), sign * extract(values, 2)
    total, error_bound = ordered_sum(p, q, r), extract(error_bounds, 0) + extract(error_bounds, 1) + extract(error_bounds, 2)
    low, high = min(x, min(y, z)), max(x, max(y, z))
    above, below = ordered_sum(p * x, q * y, r * z), total * coordinate(k, dx, dy, dz)
    usable = (abs(above) < MAX_VALUE) & (abs(below) < MAX_VALUE) & (abs(below) > MIN_VALUE)  # products of four may leave the range
    if left | right != 7 or not (usable & (error_bound * (high - low) <= T_ERROR * max(high, -low) * total)):
        return UNSURE, 0.0, 0.0, 0.0
    inverse = 1.0 / total
    return HIT, above / below, q * inverse, r * inverse


@routine
def edge_side(t, b, c, in_filter_range):
    """(m, e): ((b − o) × (c − o)) · d is m · 2**e but for a part in CLOSE, and 0 exactly if m is. `in_filter_range`: all is in the
    range."""
    if not in_filter_range:
        return orient3d_bigint_value(t, ORIGIN, b, c, DIRECTION, True)
    u, v = dd_difference(t, ORIGIN, b), dd_difference(t, ORIGIN, c)
    dx, dy, dz = t[DIRECTION], t[DIRECTION + 1], t[DIRECTION + 2]
    value, size = triple_product_dd(*u, *v, dx, 0.0, dy, 0.0, dz, 0.0)
    if E3_DD * size > DD_ERROR * abs(value):
        h = stack_float64(192)
        value = estimate(h, triple_expansion(h, *u, *v, dx, 0.0, dy, 0.0, dz, 0.0))
    return value, np.int64(0)


@helper
def ldexp(x, e):
    """x · 2**e, infinite or 0 where that is beyond all numbers."""
    while e > MAX_SHIFT:
        x, e = x * 2.0**MAX_SHIFT, e - MAX_SHIFT
    while e < -MAX_SHIFT:
        x, e = x * 2.0**-MAX_SHIFT, e + MAX_SHIFT
        if x == 0.0:
            return x
    return x * 2.0**e


@lazy_compiled
def hit_exact(t, k, in_filter_range):
    """MISS, or HIT with an answer. What lies beyond the largest numbers is not hit."""
    p, e = edge_side(t, 3, 6, in_filter_range)
    q, f = edge_side(t, 6, 0, in_filter_range)
    r, g = edge_side(t, 0, 3, in_filter_range)
    if ((p > 0) | (q > 0) | (r > 0)) == ((p < 0) | (q < 0) | (r < 0)):
        return MISS
    max_exponent = max(e if p != 0 else NO_EXPONENT, max(f if q != 0 else NO_EXPONENT, g if r != 0 else NO_EXPONENT))
    p, q, r = ldexp(abs(p), e - max_exponent), ldexp(abs(q), f - max_exponent), ldexp(abs(r), g - max_exponent)
    total = ordered_sum(p, q, r)
    p, q, r = p / total, q / total, r / total
    # Where the corners are along the axis, and d, as numbers of ordinary size times powers of two.
    o, x, y, z, d = t[ORIGIN + k], t[k], t[3 + k], t[6 + k], t[DIRECTION + k]
    f, g = math.frexp(max(max(abs(o), abs(x)), max(abs(y), abs(z))))[1] + 2, math.frexp(d)[1]
    o, x, y, z = ldexp(o, -f), ldexp(x, -f), ldexp(y, -f), ldexp(z, -f)
    t[RESULT] = ldexp(ordered_sum(p * (x - o), q * (y - o), r * (z - o)) / ldexp(d, -g), f - g)
    t[RESULT + 1], t[RESULT + 2] = q, r
    return HIT if abs(t[RESULT]) < math.inf else MISS
