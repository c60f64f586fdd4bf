"""One float32 triangle against a leaf of eight: which are certainly apart, which certainly meet, in float64?

The stage before `geometry/triangle_overlap.py`, in three steps: the corners of the eight against the plane of the one, the corners of the one
against the planes of the eight, and the interval test of `triangle_overlap.py` with every lane's corners brought into place. With s and t the
signs of the lone corners p of the one and p′ of the other, exchange q′ and r′ where s ≠ t; they meet iff
t · orient3d(p, q, p′, q′) <= 0 <= t · orient3d(p, r, p′, r′). Only lanes with a sign inside its error bound need float64.

All corners are local: relative to the low corner of the box around both leaves, whose sides are E_k. So 0 <= x_k <= E_k, up to errors.
DELTA bounds, per coordinate, the distance between a local corner and the true one.

RANGE. Let L be the largest of all E_k and S that of one leaf. Normals stay below 2 S², values of planes and orientations below 12 L³; a
direction e × n of `beyond` below 4 S³, its products with corners below 12 S³ L, and their difference below 24 S³ L. An infinity would
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
from pliant.core.simd import bits, greatest, least, magnitude, where

TWO, FOUR, EIGHT, SLACK = np.float32(2), np.float32(4), np.float32(8), np.float32(1.05)
TINY = np.float32(2.0**-120)                                            # far above what underflow can do to a product of four lengths
E4, E8, E12, E40 = (np.float32(factor * 2.0**-24) for factor in (4, 8, 12, 40))


class Doubt(NamedTuple):
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
def doubt_between(delta, a, b, x, y, z):
    """The errors between leaves with boxes a and b, in a box with sides x, y, z around both; `delta` as their corners had it before they
    were made local."""
    two = TWO * delta
    x, y, z = x + two, y + two, z + two
    delta = delta + E4 * greatest(x, greatest(y, z))                     # the local corner rounds once more, and so does the way to it
    two = TWO * delta
    return Doubt(delta, (two + E12 * x) * SLACK, (two + E12 * y) * SLACK, (two + E12 * z) * SLACK,
                 products(x, y, z, x, y, z, EIGHT * delta, E40), plane_part(a, x, y, z, delta), plane_part(b, x, y, z, delta))


@helper
def plane_part(a, x, y, z, delta):
    """The part of the bound that all planes of a leaf with this box share."""
    two = TWO * delta
    return products(x, y, z, a.hix - a.lox + two, a.hiy - a.loy + two, a.hiz - a.loz + two, FOUR * delta, E8)


@helper
def products(x, y, z, u, v, w, sums, squares):
    """Σ x_k (sums (u_i + u_j) + squares u_i u_j), and a little more."""
    first, second, third = sums * (v + w) + squares * (v * w), sums * (w + u) + squares * (w * u), sums * (u + v) + squares * (u * v)
    return (x * first + y * second + z * third) * SLACK


@helper
def plane_of(t, doubt, shared):
    """The plane of a triangle, or the planes of eight; `shared` is what their bounds have in common."""
    ux, uy, uz = t.bx - t.ax, t.by - t.ay, t.bz - t.az
    vx, vy, vz = t.cx - t.ax, t.cy - t.ay, t.cz - t.az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    bound = magnitude(nx) * doubt.gx + (magnitude(ny) * doubt.gy + (magnitude(nz) * doubt.gz + shared))
    return Plane(nx, ny, nz, t.ax * nx + (t.ay * ny + t.az * nz), bound)


@helper
def sides(p, t):
    """The corners of t against the plane. One of the two is a vector."""
    return (t.ax * p.nx + (t.ay * p.ny + (t.az * p.nz - p.k)), t.bx * p.nx + (t.by * p.ny + (t.bz * p.nz - p.k)),
            t.cx * p.nx + (t.cy * p.ny + (t.cz * p.nz - p.k)))


@helper
def apart(a, b, c, bound):
    """All three certainly on one side."""
    return (least(a, least(b, c)) > bound) | (greatest(a, greatest(b, c)) < -bound)


@helper
def sure(a, b, c, bound):
    """All three signs certain, none 0."""
    return least(magnitude(a), least(magnitude(b), magnitude(c))) > bound


@helper
def lone(a, b, c):
    """Which corner is alone: not the first, then not the second; and is it above?"""
    x, y, z = a > 0, b > 0, c > 0
    not_first, not_second = y ^ z, x ^ z
    return not_first, not_second, where(not_first, where(not_second, c, b), a) > 0


@helper
def rotated(not_first, not_second, a, b, c):
    """(p, q, r) with the lone one first."""
    return (where(not_first, where(not_second, c, b), a), where(not_first, where(not_second, a, c), b),
            where(not_first, where(not_second, b, a), c))


@helper
def determinant(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """(u × v) · w"""
    return (uy * vz - uz * vy) * wx + ((uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz)


@helper
def straddling(plane, others, near):
    """Of the lanes `near`, those not certainly on one side of the plane of one."""
    a, b, c = sides(plane, others)
    return near & ~bits(apart(a, b, c, plane.bound))


@helper
def compare(one, plane, others, planes, near, doubt):
    """(maybe, yes): of the lanes `near`, those not certainly apart, and among them those that certainly meet."""
    d, e, f = sides(planes, one)
    near &= ~bits(apart(d, e, f, planes.bound))
    if near == 0:
        return near, near
    a, b, c = sides(plane, others)
    certain = near & bits(sure(a, b, c, plane.bound) & sure(d, e, f, planes.bound))
    if certain == 0:                                                     # as in flat sheets
        return near, certain

    not_first, not_second, up = lone(a, b, c)                            # corners of the others against the plane of one
    kx, lx, mx = rotated(not_first, not_second, others.ax, others.bx, others.cx)
    ky, ly, my = rotated(not_first, not_second, others.ay, others.by, others.cy)
    kz, lz, mz = rotated(not_first, not_second, others.az, others.bz, others.cz)
    not_first, not_second, above = lone(d, e, f)                         # corners of one against the planes of the others
    px, qx, rx = rotated(not_first, not_second, one.ax, one.bx, one.cx)
    py, qy, ry = rotated(not_first, not_second, one.ay, one.by, one.cy)
    pz, qz, rz = rotated(not_first, not_second, one.az, one.bz, one.cz)
    swap = up ^ above
    vx, vy, vz = kx - px, ky - py, kz - pz
    f = determinant(qx - px, qy - py, qz - pz, vx, vy, vz, where(swap, mx, lx) - px, where(swap, my, ly) - py, where(swap, mz, lz) - pz)
    g = determinant(rx - px, ry - py, rz - pz, vx, vy, vz, where(swap, lx, mx) - px, where(swap, ly, my) - py, where(swap, lz, mz) - pz)
    f, g = where(up, f, -f), where(up, g, -g)
    near &= ~(certain & bits((f > doubt.orient) | (g < -doubt.orient)))
    return near, certain & bits((f < -doubt.orient) & (g > doubt.orient))


@helper
def gap_along(dx, dy, dz, mine, yours, doubt):
    """(how much farther along d all of `yours` is than all of `mine`, the bound of its error). Any d will do: nothing depends on its
    precision. One or both of the triangles are vectors."""
    a = mine.ax * dx + (mine.ay * dy + mine.az * dz)
    b = mine.bx * dx + (mine.by * dy + mine.bz * dz)
    c = mine.cx * dx + (mine.cy * dy + mine.cz * dz)
    p = yours.ax * dx + (yours.ay * dy + yours.az * dz)
    q = yours.bx * dx + (yours.by * dy + yours.bz * dz)
    r = yours.cx * dx + (yours.cy * dy + yours.cz * dz)
    bound = magnitude(dx) * doubt.gx + (magnitude(dy) * doubt.gy + (magnitude(dz) * doubt.gz + TINY))
    return least(p, least(q, r)) - greatest(a, greatest(b, c)), bound


@helper
def parted(dx, dy, dz, mine, yours, doubt):
    """Is all of `yours` certainly farther along d than `mine`?"""
    gap, bound = gap_along(dx, dy, dz, mine, yours, doubt)
    return bits(gap > bound)


@helper
def beyond(ex, ey, ez, plane, mine, yours, doubt):
    """Seen along the normal of `plane`, whose triangle `mine` has the edge e: is all of `yours` certainly beyond it?"""
    return parted(ey * plane.nz - ez * plane.ny, ez * plane.nx - ex * plane.nz, ex * plane.ny - ey * plane.nx, mine, yours, doubt)


@helper
def beside(one, plane, others, planes, near, doubt):
    """Of the lanes `near`, those that nothing certainly parts from one, neither the way from middle to middle nor an edge. For flat sheets,
    where no plane can; one by one in float64 the same took three times as long."""
    near &= ~parted((others.ax + others.bx + others.cx) - (one.ax + one.bx + one.cx),
                    (others.ay + others.by + others.cy) - (one.ay + one.by + one.cy),
                    (others.az + others.bz + others.cz) - (one.az + one.bz + one.cz), one, others, doubt)
    if near == 0:
        return near
    near &= ~(beyond(one.bx - one.ax, one.by - one.ay, one.bz - one.az, plane, one, others, doubt)
              | beyond(one.cx - one.bx, one.cy - one.by, one.cz - one.bz, plane, one, others, doubt)
              | beyond(one.ax - one.cx, one.ay - one.cy, one.az - one.cz, plane, one, others, doubt))
    if near == 0:
        return near
    return near & ~(beyond(others.bx - others.ax, others.by - others.ay, others.bz - others.az, planes, others, one, doubt)
                    | beyond(others.cx - others.bx, others.cy - others.by, others.cz - others.bz, planes, others, one, doubt)
                    | beyond(others.ax - others.cx, others.ay - others.cy, others.az - others.cz, planes, others, one, doubt))
