"""The intersection segment of two triangles, and the minimum translation that separates them.

INTERSECTION. Two triangles of different planes share a segment, or a point, of the line in which the planes intersect. Its ends are points
where an edge of one crosses the plane of the other; exact signs choose the edges (the interval test of `geometry/triangle_overlap.py`), and
an end is
    (|d_q| p + |d_p| q) / (|d_p| + |d_q|),    d_p, d_q the orientations of the ends of the edge against the plane.
They differ in sign, so nothing cancels, and the relative error of an end is that of d_p and d_q: 6e-14 by `orient3d_value`, however nearly
parallel the planes are. Coplanar triangles share a polygon. Its corners are corners of one triangle inside the other and crossings of
edges; the result is its longest chord.

DEPTH is the minimum translation distance: the length of the shortest translation of one triangle after which the two at most touch.
NORMAL is its direction. Along a unit vector d the translation is o(d) = max d · A − min d · B. The minimum is attained where d is normal
to a face of the Minkowski difference A − B: the normal of A or of B, or perpendicular to an edge of each. Every d gives a translation that
separates the two, so rounding can make the result longer, never wrong. `cross` keeps directions precise where edges are nearly parallel.
Any translation off their plane separates coplanar triangles: depth 0.

PRECISION. s = |d_p| / |d_q| is off by less than 2 VALUE_ERROR of itself and one rounding. So the weights s / (1 + s) and 1 / (1 + s) are
off by less than VALUE_ERROR / 2, and each by two roundings of itself; products and sum round twice more, relative to weights times
coordinates: an end is off by VALUE_ERROR of the edge and 5 U of the larger coordinate, along each axis (subnormal numbers by 2**-1073
more). DIRECTIONS: a component of `cross` is a difference of two products of differences, off by E2 of their sizes before they cancel;
where that may exceed VALUE_ERROR of the largest component, all three are exact but for one rounding. Where products underflow, for edges
shorter than 2**-450 of the largest coordinate, a direction may be lost: the translation is then longer.

Corners are sorted first, and so are the triangles, to give the same bits for every order of corners and triangles.
Buffers are flat: t[0 : 9] and t[9 : 18] the triangles, t[18 : 27] a triangle that is a point, t[27 : 72] up to 15 corners of a
polygon, t[72 : 78] the result.
"""
import math

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_float64
from pliant.geometry.expansion import estimate, minor, two_difference
from pliant.geometry.predicates import E2, VALUE_ERROR, orient2d_value, orient3d, orient3d_value
from pliant.geometry.triangle_overlap import (
    exact_plane_side,
    interval_order,
    lex_less,
    lone_corner,
    orient2d_k,
    overlap_exact,
    projection_axis,
    same_point,
)

POINT, POLYGON, SEGMENT, BUFFER_SIZE = 18, 27, 72, 78


# --- order -------------------------------------------------------------------------------------------------------------------

@helper
def swap_numbers(t, p, q, n):
    """Swap n numbers at p with those at q."""
    for k in range(n):
        t[p + k], t[q + k] = t[q + k], t[p + k]


@routine
def sort_triangles(t):
    """Sort the corners of both triangles, and then the triangles; were these swapped?"""
    for a in (0, 9):
        for p, q in ((0, 3), (3, 6), (0, 3)):
            if lex_less(t, a + q, a + p):
                swap_numbers(t, a + p, a + q, 3)
    for p in (0, 3, 6):
        if not same_point(t, p, 9 + p):
            if lex_less(t, 9 + p, p):
                swap_numbers(t, 0, 9, 9)
                return True
            return False
    return False


# --- intersection ----------------------------------------------------------------------------------------------------------------

@helper
def magnitude_ratio(m, e, n, f):
    """|m · 2**e| / |n · 2**f|; 0 or infinite outside the float64 range."""
    k = int(min(max(e - f, -2000), 2000))
    return abs(float(m) / float(n)) * math.ldexp(1.0, k >> 1) * math.ldexp(1.0, k - (k >> 1))


@helper
def put_interpolated(t, p, q, r, out):
    """Put (r p + q) / (r + 1) at out, r >= 0."""
    weight = r / (1.0 + r) if r <= 1.0 else 1.0 / (1.0 + 1.0 / r)
    other = 1.0 / (1.0 + r)
    for k in range(3):
        x, y = t[p + k], t[q + k]
        t[out + k] = min(max(x * weight + y * other, min(x, y)), max(x, y))


@helper
def put_point(t, p, out):
    t[out], t[out + 1], t[out + 2] = t[p], t[p + 1], t[p + 2]


@routine
def put_crossing(t, b, p, s, q, o, out):
    """Put the point where the segment p q crosses the plane of the triangle at b at out; s and o are the signs of its ends, not both 0 and
    not equal."""
    if s == 0:
        put_point(t, p, out)
    elif o == 0:
        put_point(t, q, out)
    else:
        if lex_less(t, q, p):
            p, q = q, p
        m, e = orient3d_value(t, b, b + 3, b + 6, p)
        n, f = orient3d_value(t, b, b + 3, b + 6, q)
        put_interpolated(t, p, q, magnitude_ratio(n, f, m, e), out)


@helper
def select(k, x, y, z):
    return x if k == 0 else y if k == 3 else z


@routine
def intersection_segment(t, out):
    """Put the ends of the intersection of two overlapping triangles at out and out + 3; are the triangles coplanar?"""
    s0, s1, s2 = exact_plane_side(t, 0, 9), exact_plane_side(t, 0, 12), exact_plane_side(t, 0, 15)
    t0, t1, t2 = exact_plane_side(t, 9, 0), exact_plane_side(t, 9, 3), exact_plane_side(t, 9, 6)
    if (s0 | s1 | s2) == 0 or (t0 | t1 | t2) == 0:
        return special_segment(t, out)
    p, q, r, pp, qq, rr = interval_order(lone_corner(t0, t1, t2), lone_corner(s0, s1, s2))
    if orient3d(t, p, r, 9 + pp, 9 + qq) <= 0:                          # the later of the two starts
        put_crossing(t, 9, p, select(p, t0, t1, t2), r, select(r, t0, t1, t2), out)
    else:
        put_crossing(t, 0, 9 + pp, select(pp, s0, s1, s2), 9 + qq, select(qq, s0, s1, s2), out)
    if orient3d(t, p, q, 9 + pp, 9 + rr) <= 0:                          # the earlier of the two ends
        put_crossing(t, 0, 9 + pp, select(pp, s0, s1, s2), 9 + rr, select(rr, s0, s1, s2), out + 3)
    else:
        put_crossing(t, 9, p, select(p, t0, t1, t2), q, select(q, t0, t1, t2), out + 3)
    return False


@lazy_compiled
def special_segment(t, out):
    """`intersection_segment` of coplanar or degenerate triangles. A degenerate triangle is the segment from its first corner to its last,
    since corners are sorted."""
    k, m = projection_axis(t, 0, 3, 6), projection_axis(t, 9, 12, 15)
    if (k < 0) != (m < 0):
        a, b = (0, 9) if k < 0 else (9, 0)
        s, o = exact_plane_side(t, b, a), exact_plane_side(t, b, a + 6)
        if s != 0 or o != 0:
            put_crossing(t, b, a, s, a + 6, o, out)
            put_point(t, out, out + 3)
            return False
    n = np.int64(0)
    for a, b in ((0, 9), (9, 0)):
        for p in (a, a + 3, a + 6):
            if point_in_triangle(t, b, p):
                put_point(t, p, POLYGON + 3 * n)
                n += 1
    axis = k if k >= 0 else m if m >= 0 else crossing_axis(t)
    if axis >= 0:
        for p, q in ((0, 3), (3, 6), (0, 6)):
            for r, s in ((9, 12), (12, 15), (9, 15)):
                n = add_edge_crossing(t, p, q, r, s, axis, n)
    put_longest_chord(t, n, out)
    return True


@routine
def point_in_triangle(t, b, p):
    """Is the point at p in the triangle at b, which may be degenerate? The point lies in its plane."""
    for k in (0, 3, 6):
        put_point(t, p, POINT + k)
    return overlap_exact(t, POINT, b) == 1


@routine
def crossing_axis(t):
    """A projection axis along which the plane of two coplanar segments has area; −1: they lie on one line."""
    for p, q, r in ((0, 6, 9), (0, 6, 15), (9, 15, 0), (9, 15, 6)):
        k = projection_axis(t, p, q, r)
        if k >= 0:
            return k
    return -1


@routine
def add_edge_crossing(t, p, q, r, s, k, n):
    """Add the crossing of the coplanar segments p q and r s to the polygon of n corners, if it is interior to both. Returns the new n."""
    if orient2d_k(t, r, s, p, k) * orient2d_k(t, r, s, q, k) >= 0 or orient2d_k(t, p, q, r, k) * orient2d_k(t, p, q, s, k) >= 0:
        return n
    e, f = (k + 1) % 3, (k + 2) % 3
    m, i = orient2d_value(t[r + e], t[r + f], t[s + e], t[s + f], t[p + e], t[p + f])
    o, j = orient2d_value(t[r + e], t[r + f], t[s + e], t[s + f], t[q + e], t[q + f])
    put_interpolated(t, p, q, magnitude_ratio(o, j, m, i), POLYGON + 3 * n)
    return n + 1


@routine
def put_longest_chord(t, n, out):
    """Put the two corners of the polygon that are farthest apart at out and out + 3."""
    best, scale, i, j = -1.0, normalizing_scale(t, POLYGON, 3 * n), np.int64(0), np.int64(0)
    for p in range(n):
        for q in range(p, n):
            d = length(*scaled_difference(t, POLYGON + 3 * p, POLYGON + 3 * q, scale))
            if d > best:
                best, i, j = d, p, q
    put_point(t, POLYGON + 3 * i, out)
    put_point(t, POLYGON + 3 * j, out + 3)


# --- lengths and directions, safe from overflow and underflow -----------------------------------------------------------------------

@routine
def normalizing_scale(t, start, n):
    """A power of two that scales the largest of n numbers to near 1."""
    largest = 0.0
    for k in range(start, start + n):
        largest = max(largest, abs(t[k]))
    return math.ldexp(1.0, min(max(-math.frexp(largest)[1], -1022), 1022))


@helper
def scaled_difference(t, p, q, scale):
    """(q − p) · scale"""
    return t[q] * scale - t[p] * scale, t[q + 1] * scale - t[p + 1] * scale, t[q + 2] * scale - t[p + 2] * scale


@helper
def length(x, y, z):
    m = max(abs(x), max(abs(y), abs(z)))
    if m == 0.0:
        return 0.0
    x, y, z = x / m, y / m, z / m
    return m * math.sqrt(x * x + y * y + z * z)


@helper
def normalize(x, y, z):
    """The vector scaled to length 1; (0, 0, 0) stays."""
    m = max(abs(x), max(abs(y), abs(z)))
    if m == 0.0:
        return 0.0, 0.0, 0.0
    x, y, z = x / m, y / m, z / m
    f = 1.0 / math.sqrt(x * x + y * y + z * z)
    return x * f, y * f, z * f


@helper
def cross_component(t, p, q, r, s, e, f, scale):
    """(rounded value, sum of absolute terms) of one component of (q − p) × (s − r)."""
    a, b = t[q + e] * scale - t[p + e] * scale, t[s + f] * scale - t[r + f] * scale
    c, d = t[q + f] * scale - t[p + f] * scale, t[s + e] * scale - t[r + e] * scale
    return a * b - c * d, abs(a * b) + abs(c * d)


@routine
def exact_cross_component(t, p, q, r, s, e, f, scale):
    """The same component, exact but for one rounding, as long as products do not underflow."""
    a, a_low = two_difference(t[q + e] * scale, t[p + e] * scale)
    b, b_low = two_difference(t[s + f] * scale, t[r + f] * scale)
    c, c_low = two_difference(t[q + f] * scale, t[p + f] * scale)
    d, d_low = two_difference(t[s + e] * scale, t[r + e] * scale)
    h = stack_float64(16)
    return estimate(h, minor(h, a, a_low, b, b_low, c, c_low, d, d_low))


@routine
def cross(t, p, q, r, s, scale):
    """(q − p) × (s − r), times the scale squared; off by less than 2**-44 of its length, unless it underflows (DIRECTIONS)."""
    x, x_size = cross_component(t, p, q, r, s, 1, 2, scale)
    y, y_size = cross_component(t, p, q, r, s, 2, 0, scale)
    z, z_size = cross_component(t, p, q, r, s, 0, 1, scale)
    if E2 * max(x_size, max(y_size, z_size)) > VALUE_ERROR * max(abs(x), max(abs(y), abs(z))):
        x = exact_cross_component(t, p, q, r, s, 1, 2, scale)
        y = exact_cross_component(t, p, q, r, s, 2, 0, scale)
        z = exact_cross_component(t, p, q, r, s, 0, 1, scale)
    return x, y, z


# --- minimum translation ---------------------------------------------------------------------------------------------------------

@helper
def project(t, d, a, scale):
    """The minimum and the maximum of d · (x − o) over the corners x of the triangle at a; o is the first corner of the first triangle."""
    low, high = np.inf, -np.inf
    for p in (a, a + 3, a + 6):
        x, y, z = scaled_difference(t, 0, p, scale)
        distance = d[0] * x + d[1] * y + d[2] * z
        low, high = min(low, distance), max(high, distance)
    return low, high


@routine
def shorter_translation(t, d, best, scale):
    """(length, direction) of the shorter of the translation `best` and that along ±d."""
    if d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0:
        return best
    low_a, high_a = project(t, d, 0, scale)
    low_b, high_b = project(t, d, 9, scale)
    if high_a - low_b < best[0]:
        best = high_a - low_b, d[0], d[1], d[2]
    if high_b - low_a < best[0]:
        best = high_b - low_a, -d[0], -d[1], -d[2]
    return best


@routine
def minimum_translation(t):
    """(length, x, y, z): the shortest translation of the triangle at 9 that separates it from the one at 0; they are not coplanar."""
    scale, best = normalizing_scale(t, 0, 18), (np.inf, 0.0, 0.0, 1.0)
    for a in (0, 9):
        best = shorter_translation(t, normalize(*cross(t, a, a + 3, a, a + 6, scale)), best, scale)
    for p, q in ((0, 3), (3, 6), (0, 6)):
        for r, s in ((9, 12), (12, 15), (9, 15)):
            best = shorter_translation(t, normalize(*cross(t, p, q, r, s, scale)), best, scale)
    return max(best[0], 0.0) / scale, best[1], best[2], best[3]


@routine
def common_normal(t):
    """A unit normal of the plane of all six corners. Any perpendicular if they lie on a line; the z axis if they are one point."""
    scale, farthest, longest, normal = normalizing_scale(t, 0, 18), np.int64(0), 0.0, (0.0, 0.0, 0.0)
    for p in range(3, 18, 3):
        if length(*scaled_difference(t, 0, p, scale)) > length(*scaled_difference(t, 0, farthest, scale)):
            farthest = p
    for p in range(3, 18, 3):
        across = cross(t, 0, farthest, 0, p, scale)
        if length(*across) > longest:
            longest, normal = length(*across), across
    if longest == 0.0:                                                  # a line: rotate it by a right angle about x, or about z
        x, y, z = scaled_difference(t, 0, farthest, scale)
        normal = (0.0, z, -y) if abs(x) <= max(abs(y), abs(z)) else (y, -x, 0.0)
    x, y, z = normalize(*normal)
    return (x, y, z) if x != 0.0 or y != 0.0 or z != 0.0 else (0.0, 0.0, 1.0)


# --- many pairs ----------------------------------------------------------------------------------------------------------------

@kernel
def contacts(corners_a, corners_b, begin, end, segments, normals, depths, coplanar, t):
    """Fill rows begin … end of segments (m, 2, 3), normals (m, 3), depths (m,) and coplanar (m,) for pairs of overlapping triangles, given
    by corners (m, 9). `t` is scratch for BUFFER_SIZE numbers."""
    for i in range(begin, end):
        for k in range(9):
            t[k], t[9 + k] = corners_a[i, k], corners_b[i, k]
        sign = -1.0 if sort_triangles(t) else 1.0
        coplanar[i] = intersection_segment(t, SEGMENT)
        last = lex_less(t, SEGMENT + 3, SEGMENT)
        for k in range(3):
            segments[i, 0, k], segments[i, 1, k] = t[SEGMENT + 3 * last + k], t[SEGMENT + 3 - 3 * last + k]
        if coplanar[i]:
            depths[i], normal = 0.0, common_normal(t)
        else:
            depths[i], x, y, z = minimum_translation(t)
            normal = x, y, z
        normals[i, 0], normals[i, 1], normals[i, 2] = sign * normal[0], sign * normal[1], sign * normal[2]
