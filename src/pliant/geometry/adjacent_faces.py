"""Exact overlap test of two adjacent faces of a mesh: do they intersect in more than the vertices they share?

Points are offsets into one flat buffer of vertices, as in `geometry/predicates.py`. Results are 0 or 1 plus the stage that decided.

ONE SHARED VERTEX, faces (x, a, b) and (x, c, d). If the faces share a point other than x, they share a piece of the ray from x through
it. So only the angles at x count: two arcs ab and cd on a sphere around x, each shorter than half a circle. Let s be the sides of c, d of
the plane x a b and t those of a, b of the plane x c d. The arcs cross properly iff s_c = t_b = −s_d = −t_a: both pass through the planes,
at the same one of the two antipodal places. Otherwise they intersect only if an end of one lies in the other. A degenerate face is two
rays from x. These tests are rarely needed, because some plane through x nearly always separates {a, b} from {c, d} with certainty. Any
normal may be tried; the difference of the two bisectors works (edges of unit 1-norm first, then of unit length).

TWO SHARED VERTICES, faces (x, y, c) and (x, y, d): they overlap iff they are coplanar with c and d on one side of the edge; then the
normals (y − x) × (c − x) and (y − x) × (d − x) are positive multiples of each other. There is no overlap if one component certainly has
opposite signs, as in flat sheets, or if orient3d ≠ 0, as in bent ones. If just one face is degenerate, the other contains no more of its
line than the edge: no overlap. If both are degenerate, all points lie on a line: overlap iff c and d lie beyond the same end of the edge.
If x = y: iff c and d lie on one ray from x.

THREE SHARED VERTICES: always overlap. A face that lists a vertex twice is the segment it spans; a missing corner is then x itself.

FILTERS. Planes through x: w is any direction and is taken as exact. A term w_k (p_k − x_k) passes 4 roundings (difference, product, two
sums) relative to its own size, and the computed sum of sizes is low by 4 more: E_DOT = 5 U. w is not a coordinate, so its products may
underflow, by less than 3 · 2**-1074: TINY. Components of normals are 2D orientations: E2, of products of differences before they cancel.
"""
import math

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.lazy_compile import lazy_compiled
from pliant.geometry.predicates import E2, UNSURE, U, filtered_sign, orient3d, orient3d_filter
from pliant.geometry.triangle_overlap import EXACT, FILTERED, PROJECTED, UNRESOLVED, lex_less, orient2d_k, projection_axis, same_point

E_DOT = 5 * U
TINY = 2.0**-1000


# --- filters -----------------------------------------------------------------------------------------------------------------

@helper
def dot_sign(wx, wy, wz, x, y, z):
    """The filtered sign of w · (x, y, z), where (x, y, z) is a difference, rounded once."""
    p, q, r = wx * x, wy * y, wz * z
    return filtered_sign(p + q + r, E_DOT * (abs(p) + abs(q) + abs(r)) + TINY)


@helper
def separated_by_plane(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz, la, lb, lc, ld):
    """Does the plane with normal a / la + b / lb − c / lc − d / ld certainly separate a, b from c, d?"""
    if min(min(la, lb), min(lc, ld)) == 0.0:
        return False
    fa, fb, fc, fd = 1.0 / la, 1.0 / lb, 1.0 / lc, 1.0 / ld
    wx = (ax * fa + bx * fb) - (cx * fc + dx * fd)
    wy = (ay * fa + by * fb) - (cy * fc + dy * fd)
    wz = (az * fa + bz * fb) - (cz * fc + dz * fd)
    return (dot_sign(wx, wy, wz, ax, ay, az) == 1 and dot_sign(wx, wy, wz, bx, by, bz) == 1
            and dot_sign(wx, wy, wz, cx, cy, cz) == -1 and dot_sign(wx, wy, wz, dx, dy, dz) == -1)


@helper
def one_norm(x, y, z):
    return abs(x) + abs(y) + abs(z)


@helper
def length(x, y, z):
    return math.sqrt(x * x + y * y + z * z)


@helper
def overlap_at_vertex_filter(t, x, a, b, c, d):
    """`overlap_at_vertex`, or UNRESOLVED; corners must be in the filter range."""
    ox, oy, oz = t[x], t[x + 1], t[x + 2]
    ax, ay, az, bx, by, bz = t[a] - ox, t[a + 1] - oy, t[a + 2] - oz, t[b] - ox, t[b + 1] - oy, t[b + 2] - oz
    cx, cy, cz, dx, dy, dz = t[c] - ox, t[c + 1] - oy, t[c + 2] - oz, t[d] - ox, t[d + 1] - oy, t[d + 2] - oz
    if separated_by_plane(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz,
                          one_norm(ax, ay, az), one_norm(bx, by, bz), one_norm(cx, cy, cz), one_norm(dx, dy, dz)):
        return FILTERED
    if separated_by_plane(ax, ay, az, bx, by, bz, cx, cy, cz, dx, dy, dz,
                          length(ax, ay, az), length(bx, by, bz), length(cx, cy, cz), length(dx, dy, dz)):
        return FILTERED
    s, o = orient3d_filter(t, x, a, b, c), orient3d_filter(t, x, a, b, d)
    if s == o and s * s == 1:
        return PROJECTED
    p, q = orient3d_filter(t, x, c, d, a), orient3d_filter(t, x, c, d, b)
    if p == q and p * p == 1:
        return PROJECTED
    if s * s == 1 and o * o == 1 and p * p == 1 and q * q == 1:
        return PROJECTED + np.int64(s == q)
    return UNRESOLVED


@kernel
def overlap_at_vertex(t, x, a, b, c, d, in_filter_range):
    """Faces (x, a, b) and (x, c, d): do they intersect in more than x? `in_filter_range`: all corners are in the filter range."""
    result = overlap_at_vertex_filter(t, x, a, b, c, d) if in_filter_range else UNRESOLVED
    return result if result != UNRESOLVED else EXACT + overlap_at_vertex_exact(t, x, a, b, c, d)


@helper
def component_sign(p, q):
    return filtered_sign(p - q, E2 * (abs(p) + abs(q)))


@helper
def overlap_at_edge_filter(t, x, y, c, d):
    """`overlap_at_edge`, or UNRESOLVED; corners must be in the filter range."""
    ox, oy, oz = t[x], t[x + 1], t[x + 2]
    ex, ey, ez = t[y] - ox, t[y + 1] - oy, t[y + 2] - oz
    cx, cy, cz, dx, dy, dz = t[c] - ox, t[c + 1] - oy, t[c + 2] - oz, t[d] - ox, t[d + 1] - oy, t[d + 2] - oz
    if (component_sign(ey * cz, ez * cy) * component_sign(ey * dz, ez * dy) == -1
            or component_sign(ez * cx, ex * cz) * component_sign(ez * dx, ex * dz) == -1
            or component_sign(ex * cy, ey * cx) * component_sign(ex * dy, ey * dx) == -1):
        return FILTERED
    s = orient3d_filter(t, x, y, c, d)
    return PROJECTED if s != UNSURE and s != 0 else UNRESOLVED


@kernel
def overlap_at_edge(t, x, y, c, d, in_filter_range):
    """Faces (x, y, c) and (x, y, d): do they intersect in more than the edge x y?"""
    result = overlap_at_edge_filter(t, x, y, c, d) if in_filter_range else UNRESOLVED
    return result if result != UNRESOLVED else EXACT + overlap_at_edge_exact(t, x, y, c, d)


# --- exact -------------------------------------------------------------------------------------------------------------------

@helper
def lex_compare(t, p, q):
    """−1, 0, 1: lexicographic order of two points, their order along any line."""
    return 0 if same_point(t, p, q) else -1 if lex_less(t, p, q) else 1


@routine
def same_ray(t, x, c, d):
    """Do c and d lie on one ray from x, both away from it?"""
    s = lex_compare(t, x, c)
    return s != 0 and s == lex_compare(t, x, d) and projection_axis(t, x, c, d) < 0


@routine
def in_angle(t, x, a, b, c, k):
    """Is c ≠ x, in the plane of the angle a x b, inside the angle or on a side? The angle projects along k with nonzero area."""
    s = orient2d_k(t, x, a, b, k)
    return orient2d_k(t, x, a, c, k) * s >= 0 and orient2d_k(t, x, c, b, k) * s >= 0


@lazy_compiled
def overlap_at_vertex_exact(t, x, a, b, c, d):
    """0 or 1 for any finite corners."""
    k, m = projection_axis(t, x, a, b), projection_axis(t, x, c, d)
    if k >= 0 and m >= 0:
        s, o = orient3d(t, x, a, b, c), orient3d(t, x, a, b, d)
        if s * o > 0:
            return 0
        p, q = orient3d(t, x, c, d, a), orient3d(t, x, c, d, b)
        if p * q > 0:
            return 0
        if s != 0 and o != 0 and p != 0 and q != 0:
            return np.int64(s == q)
        return np.int64((s == 0 and in_angle(t, x, a, b, c, k)) or (o == 0 and in_angle(t, x, a, b, d, k))
                        or (p == 0 and in_angle(t, x, c, d, a, m)) or (q == 0 and in_angle(t, x, c, d, b, m)))
    if k < 0 and m < 0:
        return np.int64(same_ray(t, x, a, c) or same_ray(t, x, a, d) or same_ray(t, x, b, c) or same_ray(t, x, b, d))
    if m < 0:                                                           # let x a b be the degenerate one
        a, b, c, d, m = c, d, a, b, k
    return np.int64((not same_point(t, a, x) and orient3d(t, x, c, d, a) == 0 and in_angle(t, x, c, d, a, m))
                    or (not same_point(t, b, x) and orient3d(t, x, c, d, b) == 0 and in_angle(t, x, c, d, b, m)))


@lazy_compiled
def overlap_at_edge_exact(t, x, y, c, d):
    """0 or 1 for any finite corners."""
    if orient3d(t, x, y, c, d) != 0:
        return 0
    k, m = projection_axis(t, x, y, c), projection_axis(t, x, y, d)
    if k >= 0 and m >= 0:
        return np.int64(orient2d_k(t, x, y, c, k) == orient2d_k(t, x, y, d, k))
    if k >= 0 or m >= 0:
        return 0
    if same_point(t, x, y):
        return np.int64(same_ray(t, x, c, d))
    if lex_less(t, y, x):
        x, y = y, x
    return np.int64((lex_less(t, c, x) and lex_less(t, d, x)) or (lex_less(t, y, c) and lex_less(t, y, d)))


# --- two faces by vertex index -----------------------------------------------------------------------------------------------

@helper
def has_vertex(faces, f, v):
    """Does face f have vertex v?"""
    return faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v


@helper
def other_corners(faces, f, x, y):
    """The corners of face f other than x and y, as offsets; missing ones are x."""
    p = q = x
    for k in range(3):
        v = np.int64(faces[f, k])
        if v != x and v != y:
            p, q = v, p
    return 3 * p, 3 * q


@routine
def shared_vertices(faces, f, g, v):
    """(k, y): the number of distinct vertices that two faces share, v among them, and another shared vertex. k = 0 if v is not the lowest
    of them, so that each pair of adjacent faces is tested at one vertex only."""
    k, y = 1, v
    for c in range(3):
        w = np.int64(faces[f, c])
        repeated = w == v or (c > 0 and w == faces[f, 0]) or (c > 1 and w == faces[f, 1])
        if not repeated and has_vertex(faces, g, w):
            if w < v:
                return 0, v
            k, y = k + 1, w
    return k, y


@helper
def corner_roles(faces, f, g, v):
    """(k, y, a, b, c, d) of two faces around v: `shared_vertices`, and the other corners of f and g."""
    k, y = shared_vertices(faces, f, g, v)
    a, b = other_corners(faces, f, v, y)
    c, d = other_corners(faces, g, v, y)
    return k, y, a, b, c, d


@helper
def adjacent_overlap_filter(t, faces, f, g, v):
    """`adjacent_overlap`, or UNRESOLVED; corners must be in the filter range."""
    k, y, a, b, c, d = corner_roles(faces, f, g, v)
    if k == 1:
        return overlap_at_vertex_filter(t, 3 * v, a, b, c, d)
    return overlap_at_edge_filter(t, 3 * v, 3 * y, a, c) if k == 2 else FILTERED + np.int64(k == 3)


@kernel
def adjacent_overlap(t, faces, f, g, v, in_filter_range):
    """Faces f and g, both around v: do they intersect in more than the vertices they share? FILTERED (0) where another shared vertex
    tests the pair."""
    k, y, a, b, c, d = corner_roles(faces, f, g, v)
    if k == 1:
        return overlap_at_vertex(t, 3 * v, a, b, c, d, in_filter_range)
    return overlap_at_edge(t, 3 * v, 3 * y, a, c, in_filter_range) if k == 2 else FILTERED + np.int64(k == 3)
