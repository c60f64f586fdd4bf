"""One float32 triangle against a leaf of eight: which are certainly apart, which certainly meet, in float64?

The stage before `geometry/triangle_overlap.py`, in three steps: the corners of the eight against the plane of the one, the corners of the
one against the planes of the eight, and the interval test of `triangle_overlap.py` with every lane's corners brought into place. With s and
t the signs of the lone corners p of the one and p′ of the other, exchange q′ and r′ where s ≠ t; they meet iff
t · orient3d(p, q, p′, q′) <= 0 <= t · orient3d(p, r, p′, r′). Only lanes with a sign inside its error bound need float64.

All corners are local: relative to the low corner of the box around both leaves, whose sides are E_k. So 0 <= x_k <= E_k, up to errors.
DELTA bounds, per coordinate, the distance between a local corner and the true one.

RANGE. Let L be the largest of all E_k and S that of one leaf. Normals stay below 2 S², values of planes and orientations below 12 L³; a
direction e × n of `beyond_edge` below 4 S³, its products with corners below 12 S³ L, and their difference below 24 S³ L. An infinity would
say "certainly apart", so L <= 2**30.8 is needed. With R the largest |coordinate| of either body, a body is no longer than 2 R, or
2 sqrt(3) R where it is turned, and two bodies whose boxes overlap lie in a box of 5.5 R: R <= 2**28. At the other end DELTA >= 2**-50: the
least bound of a plane, 96 DELTA³ > 2**-144, exceeds what six products lose by underflow, 6 · 2**-150; so does TINY for products of four.

BOUND of a plane. e = 2**-24; S_i are the sides of the box of the leaf that the plane is from, plus 2 DELTA. A difference of corners is
off by h_i = 2 DELTA + e|·|; a minor n_k = u_i v_j − u_j v_i by 2 (|u_i| h_j + |u_j| h_i + h_i h_j) + 4 e |u_i u_j| with |u|, |v| <= S,
that is by 4 DELTA (S_i + S_j) + 8 e S_i S_j, which takes in the products of errors. The determinant n · x − n · a takes six products,
summed in two chains of three and four: rounding stays below 12 e Σ |n_k| E_k; and d = x − a is off by 2 DELTA. Together, since
|d_k| <= E_k:
    Σ_k E_k (4 DELTA (S_i + S_j) + 8 e S_i S_j) + |n_k| (2 DELTA + 12 e E_k).
The first part is one number for the whole leaf; with the sides of each triangle in its place, 172 of 37,718 pairs of two spheres need
float64 instead of 244, and every pair of leaves costs 25 operations more.
BOUND of an orientation of corners of both: the same with E_k for every difference and 2 E_i E_j for |n_k|, less than
    Σ_k E_k (8 DELTA (E_i + E_j) + 40 e E_i E_j).
BOUND of a comparison along a direction d, whatever it is: each side is off by Σ |d_k| (DELTA + 3 e E_k), the sum of the products of d
with a corner being taken before they cancel, and their difference rounds by e Σ |d_k| E_k more: 2 DELTA + 12 e E_k covers both sides.
A factor 1.05 covers the rounding of the bounds themselves and E_k + 2 DELTA for E_k. Contracting a·b + c only lowers an error.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, minimum, movemask, where

TWO, FOUR, EIGHT, BOUND_FACTOR = np.float32(2), np.float32(4), np.float32(8), np.float32(1.05)
TINY = np.float32(2.0**-120)                                            # far above what underflow can do to a product of four lengths
E4, E8, E12, E40 = (np.float32(factor * 2.0**-24) for factor in (4, 8, 12, 40))


class ErrorBounds(NamedTuple):
    """What is uncertain between two leaves: DELTA, 2 DELTA + 12 e E_k, the bound of orientations, and the part of the bounds of planes that
    does not depend on their normals."""
    delta: float
    gx: float
    gy: float
    gz: float
    orient: float
    plane_a: float
    plane_b: float


class Plane(NamedTuple):
    """n · x − k is positive above the plane; its error is at most `bound`."""
    nx: float
    ny: float
    nz: float
    k: float
    bound: float


@helper
def error_bounds(delta, a, b, x, y, z):
    """The errors between leaves with boxes a and b, in a box with sides x, y, z around both; `delta` as their corners had it before they
    were made local."""
    two = TWO * delta
    x, y, z = x + two, y + two, z + two
    delta = delta + E4 * maximum(x, maximum(y, z))                      # the local corner rounds once more, and so does the way to it
    two = TWO * delta
    return ErrorBounds(delta, (two + E12 * x) * BOUND_FACTOR, (two + E12 * y) * BOUND_FACTOR, (two + E12 * z) * BOUND_FACTOR,
                       product_bound(x, y, z, x, y, z, EIGHT * delta, E40), plane_bound(a, x, y, z, delta), plane_bound(b, x, y, z, delta))


@helper
def plane_bound(a, x, y, z, delta):
    """The part of the bound that all planes of a leaf with this box share."""
    two = TWO * delta
    return product_bound(x, y, z, a.hix - a.lox + two, a.hiy - a.loy + two, a.hiz - a.loz + two, FOUR * delta, E8)


@helper
def product_bound(x, y, z, u, v, w, sums, squares):
    """Σ x_k (sums (u_i + u_j) + squares u_i u_j), and a little more."""
    first, second, third = sums * (v + w) + squares * (v * w), sums * (w + u) + squares * (w * u), sums * (u + v) + squares * (u * v)
    return (x * first + y * second + z * third) * BOUND_FACTOR


@helper
def plane_of(t, errors, shared):
    """The plane of a triangle, or the planes of eight; `shared` is what their bounds have in common."""
    ux, uy, uz = t.bx - t.ax, t.by - t.ay, t.bz - t.az
    vx, vy, vz = t.cx - t.ax, t.cy - t.ay, t.cz - t.az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    bound = fabs(nx) * errors.gx + (fabs(ny) * errors.gy + (fabs(nz) * errors.gz + shared))
    return Plane(nx, ny, nz, t.ax * nx + (t.ay * ny + t.az * nz), bound)


@helper
def plane_sides(p, t):
    """The corners of t against the plane. One of the two is a vector."""
    return (t.ax * p.nx + (t.ay * p.ny + (t.az * p.nz - p.k)), t.bx * p.nx + (t.by * p.ny + (t.bz * p.nz - p.k)),
            t.cx * p.nx + (t.cy * p.ny + (t.cz * p.nz - p.k)))


@helper
def same_side(a, b, c, bound):
    """All three certainly on one side."""
    return (minimum(a, minimum(b, c)) > bound) | (maximum(a, maximum(b, c)) < -bound)


@helper
def signs_certain(a, b, c, bound):
    """All three signs certain, none 0."""
    return minimum(fabs(a), minimum(fabs(b), fabs(c))) > bound


@helper
def lone_corner(a, b, c):
    """Which corner is alone: not the first, then not the second; and is it above?"""
    x, y, z = a > 0, b > 0, c > 0
    not_first, not_second = y ^ z, x ^ z
    return not_first, not_second, where(not_first, where(not_second, c, b), a) > 0


@helper
def rotate_corners(not_first, not_second, a, b, c):
    """(p, q, r) with the lone one first."""
    return (where(not_first, where(not_second, c, b), a), where(not_first, where(not_second, a, c), b),
            where(not_first, where(not_second, b, a), c))


@helper
def determinant(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """(u × v) · w"""
    return (uy * vz - uz * vy) * wx + ((uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz)


@helper
def straddle_mask(plane, tris, mask):
    """Of the lanes of `mask`, those not certainly on one side of the plane of one."""
    a, b, c = plane_sides(plane, tris)
    return mask & ~movemask(same_side(a, b, c, plane.bound))


@helper
def interval_test(tri, plane, tris, planes, mask, errors):
    """(possible, certain): the lanes of `mask` that are not certainly disjoint, and among them those that certainly intersect."""
    d, e, f = plane_sides(planes, tri)
    mask &= ~movemask(same_side(d, e, f, planes.bound))
    if mask == 0:
        return mask, mask
    a, b, c = plane_sides(plane, tris)
    certain = mask & movemask(signs_certain(a, b, c, plane.bound) & signs_certain(d, e, f, planes.bound))
    if certain == 0:                                                    # as in flat sheets
        return mask, certain

    not_first, not_second, tris_above = lone_corner(a, b, c)            # corners of the others against the plane of one
    kx, lx, mx = rotate_corners(not_first, not_second, tris.ax, tris.bx, tris.cx)
    ky, ly, my = rotate_corners(not_first, not_second, tris.ay, tris.by, tris.cy)
    kz, lz, mz = rotate_corners(not_first, not_second, tris.az, tris.bz, tris.cz)
    not_first, not_second, tri_above = lone_corner(d, e, f)             # corners of one against the planes of the others
    px, qx, rx = rotate_corners(not_first, not_second, tri.ax, tri.bx, tri.cx)
    py, qy, ry = rotate_corners(not_first, not_second, tri.ay, tri.by, tri.cy)
    pz, qz, rz = rotate_corners(not_first, not_second, tri.az, tri.bz, tri.cz)
    swap = tris_above ^ tri_above
    vx, vy, vz = kx - px, ky - py, kz - pz
    f = determinant(qx - px, qy - py, qz - pz, vx, vy, vz, where(swap, mx, lx) - px, where(swap, my, ly) - py, where(swap, mz, lz) - pz)
    g = determinant(rx - px, ry - py, rz - pz, vx, vy, vz, where(swap, lx, mx) - px, where(swap, ly, my) - py, where(swap, lz, mz) - pz)
    f, g = where(tris_above, f, -f), where(tris_above, g, -g)
    mask &= ~(certain & movemask((f > errors.orient) | (g < -errors.orient)))
    return mask, certain & movemask((f < -errors.orient) & (g > errors.orient))


@helper
def separation_along(dx, dy, dz, tri_a, tri_b, errors):
    """(how much farther along d all of `tri_b` is than all of `tri_a`, the bound of its error). Any d will do: nothing depends on its
    precision. One or both of the triangles are vectors."""
    a = tri_a.ax * dx + (tri_a.ay * dy + tri_a.az * dz)
    b = tri_a.bx * dx + (tri_a.by * dy + tri_a.bz * dz)
    c = tri_a.cx * dx + (tri_a.cy * dy + tri_a.cz * dz)
    p = tri_b.ax * dx + (tri_b.ay * dy + tri_b.az * dz)
    q = tri_b.bx * dx + (tri_b.by * dy + tri_b.bz * dz)
    r = tri_b.cx * dx + (tri_b.cy * dy + tri_b.cz * dz)
    bound = fabs(dx) * errors.gx + (fabs(dy) * errors.gy + (fabs(dz) * errors.gz + TINY))
    return minimum(p, minimum(q, r)) - maximum(a, maximum(b, c)), bound


@helper
def separates(dx, dy, dz, tri_a, tri_b, errors):
    """Is all of `tri_b` certainly farther along d than `tri_a`?"""
    gap, bound = separation_along(dx, dy, dz, tri_a, tri_b, errors)
    return movemask(gap > bound)


@helper
def beyond_edge(ex, ey, ez, plane, tri_a, tri_b, errors):
    """Seen along the normal of `plane`, whose triangle `tri_a` has the edge e: is all of `tri_b` certainly beyond it?"""
    return separates(ey * plane.nz - ez * plane.ny, ez * plane.nx - ex * plane.nz, ex * plane.ny - ey * plane.nx, tri_a, tri_b, errors)


@helper
def edge_test(tri, plane, tris, planes, mask, errors):
    """Of the lanes of `mask`, those that nothing certainly parts from one, neither the way from middle to middle nor an edge. For flat
    sheets, where no plane can; one by one in float64 the same took three times as long."""
    mask &= ~separates((tris.ax + tris.bx + tris.cx) - (tri.ax + tri.bx + tri.cx),
                       (tris.ay + tris.by + tris.cy) - (tri.ay + tri.by + tri.cy),
                       (tris.az + tris.bz + tris.cz) - (tri.az + tri.bz + tri.cz), tri, tris, errors)
    if mask == 0:
        return mask
    mask &= ~(beyond_edge(tri.bx - tri.ax, tri.by - tri.ay, tri.bz - tri.az, plane, tri, tris, errors)
              | beyond_edge(tri.cx - tri.bx, tri.cy - tri.by, tri.cz - tri.bz, plane, tri, tris, errors)
              | beyond_edge(tri.ax - tri.cx, tri.ay - tri.cy, tri.az - tri.cz, plane, tri, tris, errors))
    if mask == 0:
        return mask
    return mask & ~(beyond_edge(tris.bx - tris.ax, tris.by - tris.ay, tris.bz - tris.az, planes, tris, tri, errors)
                    | beyond_edge(tris.cx - tris.bx, tris.cy - tris.by, tris.cz - tris.bz, planes, tris, tri, errors)
                    | beyond_edge(tris.ax - tris.cx, tris.ay - tris.cy, tris.az - tris.cz, planes, tris, tri, errors))
