"""Do two triangles meet? Closed convex hulls of float64 corners, decided exactly; coplanar and degenerate ones included.

The six corners lie in one buffer of 18 numbers: triangle A at offset 0, B at 9 (any two offsets will do). After Guigue and Devillers
(2003) the whole test is a sequence of orientation signs, so exact signs make it exact. Three stages, cheapest first:

  QUICK   filtered signs. The corners of each against the plane of the other, one error bound per plane; then two orientations that
          compare the intervals which the triangles cut from the common line of their planes.
  FLAT    some sign is unsure, as in a flat sheet: seen along the axis of the larger normal, is an edge line of one certainly between
          them? Shadows apart means triangles apart, coplanar or not, without exact arithmetic.
  EXACT   the same signs, exactly. All three 0: coplanar, or one is degenerate; `overlap_special`.

INTERVALS. Let p be the corner of A that is alone on its side of the plane of B (the others on the other side or in it), q and r the
next ones around; p′, q′, r′ likewise of B. Exchange q′, r′ if p is below B, and q, r if p′ is below A; then both lone corners count as
above. Along N × N′ the edges of A meet the common line in the order pr, pq and those of B in the order p′q′, p′r′. Hence the triangles
meet iff orient3d(p, q, p′, q′) <= 0 and orient3d(p, r, p′, r′) >= 0. Every edge used has ends of different sign: it crosses the line once.

PLANES. The side of x is Σ_k d_k (u_i v_j − u_j v_i), d = x − a. As in `predicates.py` a term passes 8 roundings relative to |d_k u_i v_j|,
and with m the larger of |u| and |v|, both rounded once and nothing cancelled, |u_i v_j| + |u_j v_i| <= 2 m_i m_j. The sum of m_i m_j |d_k|
passes 8 roundings too (u, v, product, constant, d, product, two sums): E3_PLANE = 2 E3 covers both. One bound serves all points.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.soa import record_class
from pliant.geometry.predicates import E3, UNSURE, filtered_sign, orient2d, orient2d_filter, orient3d, orient3d_filter

FILTERED, PROJECTED, EXACT = 0, 2, 4                                    # added to 0 (apart) or 1 (meet): the stage that decided
UNRESOLVED = -1                                                         # what all filters together leave to exact arithmetic
E3_PLANE = 2 * E3                                                       # |u_i v_j| + |u_j v_i| <= 2 m_i m_j, m the larger of |u|, |v|


@record_class
class Triangle(NamedTuple):
    """Corners a, b, c: scalars, or vectors of one lane a triangle."""
    ax: float
    ay: float
    az: float
    bx: float
    by: float
    bz: float
    cx: float
    cy: float
    cz: float


def _lone_corner(a, b, c):
    """Packed (p, q, r, below) for three signs: offsets of the corner alone on its side and of the next two; is p below?"""
    signs = (a, b, c)
    above, below = signs.count(1), signs.count(-1)
    if above == 1:
        p, under = signs.index(1), 0
    elif below == 1:
        p, under = signs.index(-1), 1
    elif above == 2 and below == 0:
        p, under = signs.index(0), 1
    elif below == 2 and above == 0:
        p, under = signs.index(0), 0
    else:
        p, under = 0, 0                                                 # all on one side or all in the plane: never asked
    return 3 * p | 3 * ((p + 1) % 3) << 4 | 3 * ((p + 2) % 3) << 8 | under << 12


LONE_CORNERS = np.array([_lone_corner(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)], np.int64)


@helper
def lone_corner(a, b, c):
    return LONE_CORNERS[9 * a + 3 * b + c + 13]


@helper
def interval_order(f, g):
    """Offsets p, q, r of A and p′, q′, r′ of B, exchanged as the interval test wants."""
    p, q, r = f & 15, (f >> 4) & 15, (f >> 8) & 15
    pp, qq, rr = g & 15, (g >> 4) & 15, (g >> 8) & 15
    if g >> 12:
        q, r = r, q
    if f >> 12:
        qq, rr = rr, qq
    return p, q, r, pp, qq, rr


# --- filters -----------------------------------------------------------------------------------------------------------------

@helper
def plane(t, a):
    """The normal of the triangle at a, and the factors of the error bound of normal · (x − a)."""
    ux, uy, uz = t[a + 3] - t[a], t[a + 4] - t[a + 1], t[a + 5] - t[a + 2]
    vx, vy, vz = t[a + 6] - t[a], t[a + 7] - t[a + 1], t[a + 8] - t[a + 2]
    mx, my, mz = max(abs(ux), abs(vx)), max(abs(uy), abs(vy)), max(abs(uz), abs(vz))
    return (uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx, E3_PLANE * (my * mz), E3_PLANE * (mz * mx), E3_PLANE * (mx * my))


@helper
def plane_side(n, t, a, x):
    """The filtered side of the point at x of the plane n through the point at a."""
    dx, dy, dz = t[x] - t[a], t[x + 1] - t[a + 1], t[x + 2] - t[a + 2]
    return filtered_sign(n[0] * dx + n[1] * dy + n[2] * dz, n[3] * abs(dx) + n[4] * abs(dy) + n[5] * abs(dz))


@helper
def dominant_axis(x, y, z):
    x, y, z = abs(x), abs(y), abs(z)
    if x >= y and x >= z:
        return 0
    return 1 if y >= z else 2


@helper
def overlap_filter(t, a, b):
    """0 or 1 plus the stage that decided, or UNRESOLVED; corners in the range of the filters (`geometry/predicates.py`)."""
    n = plane(t, a)
    s0, s1, s2 = plane_side(n, t, a, b), plane_side(n, t, a, b + 3), plane_side(n, t, a, b + 6)
    if s0 == s1 and s1 == s2 and s0 * s0 == 1:
        return FILTERED
    m = plane(t, b)
    t0, t1, t2 = plane_side(m, t, b, a), plane_side(m, t, b, a + 3), plane_side(m, t, b, a + 6)
    if t0 == t1 and t1 == t2 and t0 * t0 == 1:
        return FILTERED
    if max(max(s0, max(s1, s2)), max(t0, max(t1, t2))) < UNSURE and (s0 | s1 | s2) != 0 and (t0 | t1 | t2) != 0:
        result = interval_filter(t, a, b, lone_corner(t0, t1, t2), lone_corner(s0, s1, s2))
        return FILTERED + result if result != UNSURE else UNRESOLVED
    if n[0] * n[0] + n[1] * n[1] + n[2] * n[2] >= m[0] * m[0] + m[1] * m[1] + m[2] * m[2]:
        k = dominant_axis(n[0], n[1], n[2])
    else:
        k = dominant_axis(m[0], m[1], m[2])
    nk = n[0] if k == 0 else n[1] if k == 1 else n[2]
    result = projections_filter(t, a, b, k, (s0 | s1 | s2) == 0 and nk != 0.0)
    return PROJECTED + result if result != UNSURE else UNRESOLVED


@kernel
def overlap_stage(t, a, b):
    """0 or 1 plus the stage that decided; corners in the range of the filters."""
    result = overlap_filter(t, a, b)
    return result if result != UNRESOLVED else EXACT + overlap_exact(t, a, b)


@helper
def interval_filter(t, a, b, f, g):
    p, q, r, pp, qq, rr = interval_order(f, g)
    s = orient3d_filter(t, a + p, a + q, b + pp, b + qq)
    if s == 1:
        return 0
    o = orient3d_filter(t, a + p, a + r, b + pp, b + rr)
    if o == -1:
        return 0
    return UNSURE if s == UNSURE or o == UNSURE else 1


@helper
def beyond_line_filter(t, p, q, r, u, e, f):
    """Seen along an axis (coordinates e, f are left): is all of the triangle at u strictly beyond the line p q, seen from r?"""
    c = orient2d_filter(t[p + e], t[p + f], t[q + e], t[q + f], t[r + e], t[r + f])
    s = orient2d_filter(t[p + e], t[p + f], t[q + e], t[q + f], t[u + e], t[u + f])
    o = orient2d_filter(t[p + e], t[p + f], t[q + e], t[q + f], t[u + 3 + e], t[u + 3 + f])
    m = orient2d_filter(t[p + e], t[p + f], t[q + e], t[q + f], t[u + 6 + e], t[u + 6 + f])
    if c * c != 1:
        return UNSURE
    if s == -c and o == -c and m == -c:
        return 1
    certain = (s == c) | (o == c) | (m == c) | (s == 0) | (o == 0) | (m == 0)
    return 0 if certain else UNSURE                                     # certain: a corner that is not beyond


@routine
def projections_filter(t, a, b, k, coplanar):
    """0 if the shadows along axis k are certainly apart. If the triangles are known to be coplanar, with a shadow that has area, and
    certainly no edge line parts them, they meet: 1. Otherwise UNSURE."""
    e, f = (k + 1) % 3, (k + 2) % 3
    worst = 0
    for _ in range(2):
        for i in range(3):
            p, q, r = a + 3 * i, a + 3 * ((i + 1) % 3), a + 3 * ((i + 2) % 3)
            result = beyond_line_filter(t, p, q, r, b, e, f)
            if result == 1:
                return 0
            worst = max(worst, result)
        a, b = b, a
    return 1 if coplanar and worst == 0 else UNSURE


# --- exact -------------------------------------------------------------------------------------------------------------------

@helper
def same_point(t, p, q):
    return t[p] == t[q] and t[p + 1] == t[q + 1] and t[p + 2] == t[q + 2]


@routine
def exact_plane_side(t, a, x):
    """The side of the point at x of the plane of the triangle at a; a corner in common needs no arithmetic."""
    if same_point(t, a, x) or same_point(t, a + 3, x) or same_point(t, a + 6, x):
        return 0
    return orient3d(t, a, a + 3, a + 6, x)


@routine
def orient2d_k(t, p, q, r, k):
    """orient2d of three points seen along axis k."""
    e, f = (k + 1) % 3, (k + 2) % 3
    return orient2d(t[p + e], t[p + f], t[q + e], t[q + f], t[r + e], t[r + f])


@lazy_compiled
def overlap_exact(t, a, b):
    """0 or 1 for any finite corners, every sign exact."""
    s0, s1, s2 = exact_plane_side(t, a, b), exact_plane_side(t, a, b + 3), exact_plane_side(t, a, b + 6)
    if s0 == s1 and s1 == s2 and s0 != 0:
        return 0
    t0, t1, t2 = exact_plane_side(t, b, a), exact_plane_side(t, b, a + 3), exact_plane_side(t, b, a + 6)
    if t0 == t1 and t1 == t2 and t0 != 0:
        return 0
    if (s0 | s1 | s2) == 0 or (t0 | t1 | t2) == 0:
        return overlap_special(t, a, b)
    p, q, r, pp, qq, rr = interval_order(lone_corner(t0, t1, t2), lone_corner(s0, s1, s2))
    if orient3d(t, a + p, a + q, b + pp, b + qq) > 0:
        return 0
    return 1 if orient3d(t, a + p, a + r, b + pp, b + rr) >= 0 else 0


@routine
def projection_axis(t, p, q, r):
    """An axis along which three points cast a shadow with area; −1: they are on one line."""
    for k in range(3):
        if orient2d_k(t, p, q, r, k) != 0:
            return k
    return -1


@helper
def lex_less(t, p, q):
    """Lexicographic order of points, which along a line is their order."""
    if t[p] != t[q]:
        return t[p] < t[q]
    if t[p + 1] != t[q + 1]:
        return t[p + 1] < t[q + 1]
    return t[p + 2] < t[q + 2]


@routine
def segment_ends(t, a):
    """The first and the last of the three corners at a, which lie on one line."""
    p = q = a
    for r in (a + 3, a + 6):
        if lex_less(t, r, p):
            p = r
        if lex_less(t, q, r):
            q = r
    return p, q


@routine
def overlap_special(t, a, b):
    """Coplanar triangles, or at least one degenerate."""
    k, m = projection_axis(t, a, a + 3, a + 6), projection_axis(t, b, b + 3, b + 6)
    if k >= 0 and m >= 0:
        return coplanar_overlap(t, a, b, k)
    if k < 0 and m < 0:
        return segments_overlap(t, a, b)
    if m < 0:
        a, b, m = b, a, k
    p, q = segment_ends(t, a)                                           # a is the segment p q, b a triangle seen along m
    s, o = exact_plane_side(t, b, p), exact_plane_side(t, b, q)
    if s * o > 0:
        return 0
    if s == 0 and o == 0:
        return coplanar_segment_overlap(t, p, q, b, m)
    s, o, r = orient3d(t, p, q, b, b + 3), orient3d(t, p, q, b + 3, b + 6), orient3d(t, p, q, b + 6, b)
    return 1 if (s >= 0 and o >= 0 and r >= 0) or (s <= 0 and o <= 0 and r <= 0) else 0


@routine
def coplanar_overlap(t, a, b, k):
    """Two triangles of one plane, seen along k: apart iff an edge line of one has the other strictly beyond it."""
    for _ in range(2):
        c = orient2d_k(t, a, a + 3, a + 6, k)
        for i in range(3):
            p, q = a + 3 * i, a + 3 * ((i + 1) % 3)
            if orient2d_k(t, p, q, b, k) == -c and orient2d_k(t, p, q, b + 3, k) == -c and orient2d_k(t, p, q, b + 6, k) == -c:
                return 0
        a, b = b, a
    return 1


@routine
def coplanar_segment_overlap(t, p, q, b, k):
    """A segment (or point) p q in the plane of the triangle b, seen along k: apart iff an edge line, or its own line, parts them."""
    c = orient2d_k(t, b, b + 3, b + 6, k)
    for i in range(3):
        r, s = b + 3 * i, b + 3 * ((i + 1) % 3)
        if orient2d_k(t, r, s, p, k) == -c and orient2d_k(t, r, s, q, k) == -c:
            return 0
    f, g, h = orient2d_k(t, p, q, b, k), orient2d_k(t, p, q, b + 3, k), orient2d_k(t, p, q, b + 6, k)
    return 0 if f == g and g == h and f != 0 else 1


@routine
def segments_overlap(t, a, b):
    """Both degenerate: two segments or points."""
    p, q = segment_ends(t, a)
    r, s = segment_ends(t, b)
    if orient3d(t, p, q, r, s) != 0:
        return 0
    for k in range(3):                                                  # an axis along which the plane of the four points shows area
        f, g = orient2d_k(t, p, q, r, k), orient2d_k(t, p, q, s, k)
        h, i = orient2d_k(t, r, s, p, k), orient2d_k(t, r, s, q, k)
        if (f | g | h | i) != 0:
            return 1 if f * g <= 0 and h * i <= 0 else 0
    return 0 if lex_less(t, q, r) or lex_less(t, s, p) else 1           # all on one line
