"""Exact signs of orientation determinants of float64 points, and their values: filters first, then expansions, then wide integers.

Points lie in one flat buffer (a body's vertices, or a few corners on the stack) and are named by the offset of their x.

RANGE of filters and expansions: every coordinate is 0 or 2**-250 <= |x| <= 2**339. There every coordinate is a multiple of
2**-302, and so is every difference, rounded or not; a product of three is a multiple of 2**-906, which times the smallest constant
below (80 U² > 2**-100) is still a normal number: nothing underflows, neither values nor bounds. The largest value, six products of
three differences, is below 6 · 2**1020 < 2**1023: nothing overflows. So fl(x op y) = (x op y)(1 + d) with |d| <= U = 2**-53 holds
throughout, and errors of `two_sum` and `two_product` are doubles. `orient2d` and `orient3d` look at the range themselves and leave the
rest to `geometry/bigint.py`: they are right for every finite float64. Names that end in _filter want the range.

FILTER. det = Σ_k d_k (u_i v_j − u_j v_i), all letters differences. A term passes at most 8 roundings (u, v, product, minor, d, product, two
sums), so the error is at most ((1+U)⁸ − 1) P, P the sum of the absolute terms; P itself comes out low by at most (1−U)⁸, and the
product with the constant rounds once: below 9 U = E3. In the plane a term passes 4: E2 = 5 U. A bound of 0 means P = 0, hence det = 0:
axis-aligned planes are settled for free.
SECOND FILTER, in pairs high + low. Neglected or rounded terms in units of U² P: product of pairs 8, their difference 7 more, times w 20
more, sum of the lows 32: 67, E3_DD = 80 U².
VALUES are right to a part in PRECISE. The rounded one is taken where its bound, E P, is at most PRECISE of it, P being the sum of the terms
before they cancel; then the one in pairs by the same rule; else the expansion, summed up smallest first: its parts do not overlap, so
that each partial sum is below twice its last part, and all roundings together are below 4 U.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.simd import fabs
from pliant.core.stack import stack_float64
from pliant.geometry.bigint import orient2d_bigint, orient2d_bigint_value, orient3d_bigint, orient3d_bigint_value
from pliant.geometry.expansion import estimate, grow_scaled, minor, sign_of, two_difference, two_product, two_sum

U = 2.0**-53
E2 = 5 * U
E3 = 9 * U
E3_DD = 80 * U * U
VALUE_ERROR = 2.0**-44                                                  # of values: 6e-14
RANGE_MIN, RANGE_MAX = 2.0**-250, 2.0**339
UNSURE = 2                                                              # what a filter says when it cannot tell; signs are −1, 0, 1


@helper
def filtered_sign(det, bound):
    """The sign of det if the bound settles it, else UNSURE. Without branches, which would be mispredicted: 68 -> 48 ns a pair."""
    s = np.int64(det > bound) - np.int64(det < -bound)
    return s + UNSURE * (np.int64(s == 0) & np.int64(bound != 0.0))


@helper
def in_range(x):
    """Is x within the range of the filters?"""
    a = abs(x)
    return (a == 0.0) | ((a >= RANGE_MIN) & (a <= RANGE_MAX))


@helper
def lanes_in_range(x):
    """The same of vectors, lane by lane."""
    a = fabs(x)
    return (a <= 0.0) | ((a >= RANGE_MIN) & (a <= RANGE_MAX))


# --- in the plane ------------------------------------------------------------------------------------------------------------

@helper
def orient2d_filter(ax, ay, bx, by, cx, cy):
    p = (bx - ax) * (cy - ay)
    q = (by - ay) * (cx - ax)
    return filtered_sign(p - q, E2 * (abs(p) + abs(q)))


@routine
def orient2d_expansion(ax, ay, bx, by, cx, cy, h):
    """The determinant as an expansion in h (16), exact within the range; how many components."""
    ux, ux_low = two_difference(bx, ax)
    uy, uy_low = two_difference(by, ay)
    vx, vx_low = two_difference(cx, ax)
    vy, vy_low = two_difference(cy, ay)
    return minor(h, ux, ux_low, vy, vy_low, uy, uy_low, vx, vx_low)


@routine
def orient2d_expansion_sign(ax, ay, bx, by, cx, cy):
    """Exact within the range."""
    h = stack_float64(16)
    return sign_of(h, orient2d_expansion(ax, ay, bx, by, cx, cy, h))


@lazy_compiled
def orient2d_exact(t):
    """The sign for ax, ay, bx, by, cx, cy in t, any finite numbers."""
    ax, ay, bx, by, cx, cy = t[0], t[1], t[2], t[3], t[4], t[5]
    if in_range(ax) & in_range(ay) & in_range(bx) & in_range(by) & in_range(cx) & in_range(cy):
        return orient2d_expansion_sign(ax, ay, bx, by, cx, cy)
    return orient2d_bigint(ax, ay, bx, by, cx, cy)


@kernel
def orient2d(ax, ay, bx, by, cx, cy):
    """The sign of (b − a) × (c − a): 1 if a, b, c turn left. Right for all finite numbers."""
    if in_range(ax) & in_range(ay) & in_range(bx) & in_range(by) & in_range(cx) & in_range(cy):
        s = orient2d_filter(ax, ay, bx, by, cx, cy)
        if s != UNSURE:
            return s
    t = stack_float64(6)
    t[0], t[1], t[2], t[3], t[4], t[5] = ax, ay, bx, by, cx, cy
    return orient2d_exact(t)


# --- in space ----------------------------------------------------------------------------------------------------------------

@helper
def triple_product(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """((u × v) · w, rounded, the sum P of its absolute terms)."""
    p, q, r, s, o, m = uy * vz, uz * vy, uz * vx, ux * vz, ux * vy, uy * vx
    det = (p - q) * wx + (r - s) * wy + (o - m) * wz
    return det, (abs(p) + abs(q)) * abs(wx) + (abs(r) + abs(s)) * abs(wy) + (abs(o) + abs(m)) * abs(wz)


@helper
def orient3d_rounded(t, a, b, c, d):
    """(the determinant, rounded, the sum P of its absolute terms)."""
    ax, ay, az = t[a], t[a + 1], t[a + 2]
    return triple_product(t[b] - ax, t[b + 1] - ay, t[b + 2] - az, t[c] - ax, t[c + 1] - ay, t[c + 2] - az,
                          t[d] - ax, t[d + 1] - ay, t[d + 2] - az)


@helper
def orient3d_filter(t, a, b, c, d):
    det, size = orient3d_rounded(t, a, b, c, d)
    return filtered_sign(det, E3 * size)


@helper
def dd_product(a, a_low, b, b_low):
    p, e = two_product(a, b)
    return p, e + (a * b_low + a_low * b)


@helper
def dd_term(a, a_low, b, b_low, c, c_low, d, d_low, w, w_low):
    """(a b − c d) w of pairs: high, low, and the absolute size."""
    p, p_low = dd_product(a, a_low, b, b_low)
    q, q_low = dd_product(c, c_low, d, d_low)
    m, m_low = two_difference(p, q)
    r, r_low = dd_product(m, m_low + (p_low - q_low), w, w_low)
    return r, r_low, (abs(p) + abs(q)) * abs(w)


@helper
def dd_difference(t, a, b):
    """b − a as three pairs."""
    x, x_low = two_difference(t[b], t[a])
    y, y_low = two_difference(t[b + 1], t[a + 1])
    z, z_low = two_difference(t[b + 2], t[a + 2])
    return x, x_low, y, y_low, z, z_low


@routine
def triple_product_dd(ux, ux_low, uy, uy_low, uz, uz_low, vx, vx_low, vy, vy_low, vz, vz_low, wx, wx_low, wy, wy_low, wz, wz_low):
    """((u × v) · w of pairs, rounded at last, P)."""
    p, p_low, p_size = dd_term(uy, uy_low, vz, vz_low, uz, uz_low, vy, vy_low, wx, wx_low)
    q, q_low, q_size = dd_term(uz, uz_low, vx, vx_low, ux, ux_low, vz, vz_low, wy, wy_low)
    r, r_low, r_size = dd_term(ux, ux_low, vy, vy_low, uy, uy_low, vx, vx_low, wz, wz_low)
    s, s_low = two_sum(p, q)
    s, o_low = two_sum(s, r)
    return s + (s_low + o_low + p_low + q_low + r_low), p_size + q_size + r_size


@helper
def orient3d_dd(t, a, b, c, d):
    """(the determinant in pairs, rounded at last, P)."""
    return triple_product_dd(*dd_difference(t, a, b), *dd_difference(t, a, c), *dd_difference(t, a, d))


@routine
def orient3d_dd_filter(t, a, b, c, d):
    """The second filter."""
    det, size = orient3d_dd(t, a, b, c, d)
    return filtered_sign(det, E3_DD * size)


@routine
def triple_expansion(h, ux, ux_low, uy, uy_low, uz, uz_low, vx, vx_low, vy, vy_low, vz, vz_low, wx, wx_low, wy, wy_low, wz, wz_low):
    """(u × v) · w of pairs as an expansion in h (192), exact within the range; how many components."""
    m = stack_float64(16)
    n = grow_scaled(h, 0, m, minor(m, uy, uy_low, vz, vz_low, uz, uz_low, vy, vy_low), wx, wx_low)
    n = grow_scaled(h, n, m, minor(m, uz, uz_low, vx, vx_low, ux, ux_low, vz, vz_low), wy, wy_low)
    return grow_scaled(h, n, m, minor(m, ux, ux_low, vy, vy_low, uy, uy_low, vx, vx_low), wz, wz_low)


@helper
def orient3d_expansion(t, a, b, c, d, h):
    """The determinant as an expansion in h (192), exact within the range; how many components."""
    return triple_expansion(h, *dd_difference(t, a, b), *dd_difference(t, a, c), *dd_difference(t, a, d))


@lazy_compiled
def orient3d_expansion_sign(t, a, b, c, d):
    """Exact within the range."""
    h = stack_float64(192)
    return sign_of(h, orient3d_expansion(t, a, b, c, d, h))


@helper
def point_in_range(t, p):
    return in_range(t[p]) & in_range(t[p + 1]) & in_range(t[p + 2])


@kernel
def orient3d(t, a, b, c, d):
    """The sign of ((b − a) × (c − a)) · (d − a): 1 if d lies where the normal of a, b, c points. Right for all finite numbers."""
    if not (point_in_range(t, a) & point_in_range(t, b) & point_in_range(t, c) & point_in_range(t, d)):
        return orient3d_bigint(t, a, b, c, d)
    s = orient3d_filter(t, a, b, c, d)
    if s == UNSURE:
        s = orient3d_dd_filter(t, a, b, c, d)
    return s if s != UNSURE else orient3d_expansion_sign(t, a, b, c, d)


# --- values ------------------------------------------------------------------------------------------------------------------

@routine
def orient2d_value(ax, ay, bx, by, cx, cy):
    """(m, e): (b − a) × (c − a) is m · 2**e, up to `VALUE_ERROR` of itself. For all finite numbers."""
    if not (in_range(ax) & in_range(ay) & in_range(bx) & in_range(by) & in_range(cx) & in_range(cy)):
        return orient2d_bigint_value(ax, ay, bx, by, cx, cy)
    p, q = (bx - ax) * (cy - ay), (by - ay) * (cx - ax)
    if E2 * (abs(p) + abs(q)) <= VALUE_ERROR * abs(p - q):
        return p - q, 0
    h = stack_float64(16)
    return estimate(h, orient2d_expansion(ax, ay, bx, by, cx, cy, h)), 0


@routine
def orient3d_value(t, a, b, c, d):
    """(m, e): ((b − a) × (c − a)) · (d − a) is m · 2**e, up to `VALUE_ERROR` of itself. For all finite numbers."""
    if not (point_in_range(t, a) & point_in_range(t, b) & point_in_range(t, c) & point_in_range(t, d)):
        return orient3d_bigint_value(t, a, b, c, d)
    det, size = orient3d_rounded(t, a, b, c, d)
    if E3 * size > VALUE_ERROR * abs(det):
        det, size = orient3d_dd(t, a, b, c, d)
        if E3_DD * size > VALUE_ERROR * abs(det):
            h = stack_float64(192)
            det = estimate(h, orient3d_expansion(t, a, b, c, d, h))
    return det, 0
