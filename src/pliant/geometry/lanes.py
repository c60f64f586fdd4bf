"""One float32 triangle against a leaf of eight: which are certainly apart, which certainly meet, in float64?

The stage before `geometry/triangles.py`, in three steps: the corners of the eight against the plane of the one, the corners of the one
against the planes of the eight, and the interval test of `triangles.py` with every lane's corners brought into place. With s and t the
signs of the lone corners p of the one and p′ of the other, exchange q′ and r′ where s ≠ t; they meet iff
t · orient3d(p, q, p′, q′) <= 0 <= t · orient3d(p, r, p′, r′). Only lanes with a sign inside its error bound need float64.

All corners are local: relative to the low corner of the box around both leaves, whose sides are E_k. So 0 <= x_k <= E_k, up to errors.
DELTA bounds, per coordinate, the distance between a local corner and the true one; coordinates stay below 2**40, so that nothing
overflows, and DELTA above 2**-50, so that the least bound, 96 DELTA³, is far above float32's smallest number.

BOUND of a plane. e = 2**-24; m_i is the larger |component| of the edges u, v. A difference of corners is off by h_i = 2 DELTA + e|·|; a
minor n_k = u_i v_j − u_j v_i by 2 (m_i h_j + m_j h_i + h_i h_j) + 4 e m_i m_j <= 4 DELTA (M_i + M_j) + 8 e M_i M_j with M = m + 2 DELTA,
which takes in the products of errors. The determinant n · x − n · a takes six products, summed in two chains of three and four: rounding
stays below 12 e Σ |n_k| E_k; and d = x − a is off by 2 DELTA. Together, since |d_k| <= E_k:
    Σ_k E_k (4 DELTA (M_i + M_j) + 8 e M_i M_j) + |n_k| (2 DELTA + 12 e E_k).
BOUND of an orientation of corners of both: the same with E_k for every difference and 2 E_i E_j for |n_k|, less than
    Σ_k E_k (8 DELTA (E_i + E_j) + 40 e E_i E_j).
A factor 1.05 covers the rounding of the bounds themselves and E_k + 2 DELTA for E_k. Contracting a·b + c only lowers an error.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, greatest, least, magnitude, where

TWO, FOUR, EIGHT, SLACK = np.float32(2), np.float32(4), np.float32(8), np.float32(1.05)
E2, E8, E12, E40 = (np.float32(factor * 2.0**-24) for factor in (2, 8, 12, 40))


class Doubt(NamedTuple):
    """What is uncertain between two leaves: DELTA, the sides E of the box around both, 2 DELTA + 12 e E_k, the bound of orientations."""
    delta: float
    ex: float
    ey: float
    ez: float
    gx: float
    gy: float
    gz: float
    orient: float


class Plane(NamedTuple):
    """n · x − k is positive above the plane; its error is at most `bound`."""
    nx: float
    ny: float
    nz: float
    k: float
    bound: float


@helper
def doubt_between(delta, ex, ey, ez):
    """The errors between two leaves in a box with these sides; `delta` as the corners had it before they were made local."""
    two = TWO * delta
    ex, ey, ez = ex + two, ey + two, ez + two
    delta = delta + E2 * greatest(ex, greatest(ey, ez))                  # the local corner rounds once more, and its origin once
    two, eight = TWO * delta, EIGHT * delta
    orient = ex * (eight * (ey + ez) + E40 * (ey * ez)) + ey * (eight * (ez + ex) + E40 * (ez * ex))
    orient = orient + ez * (eight * (ex + ey) + E40 * (ex * ey))
    return Doubt(delta, ex, ey, ez, two + E12 * ex, two + E12 * ey, two + E12 * ez, orient * SLACK)


@helper
def plane_of(t, doubt):
    """The plane of a triangle, or the planes of eight."""
    ux, uy, uz = t.bx - t.ax, t.by - t.ay, t.bz - t.az
    vx, vy, vz = t.cx - t.ax, t.cy - t.ay, t.cz - t.az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    two, four = TWO * doubt.delta, FOUR * doubt.delta
    mx, my, mz = larger(ux, vx) + two, larger(uy, vy) + two, larger(uz, vz) + two
    bound = ((my + mz) * four + my * mz * E8) * doubt.ex + magnitude(nx) * doubt.gx
    bound = ((mz + mx) * four + mz * mx * E8) * doubt.ey + magnitude(ny) * doubt.gy + bound
    bound = ((mx + my) * four + mx * my * E8) * doubt.ez + magnitude(nz) * doubt.gz + bound
    return Plane(nx, ny, nz, t.ax * nx + (t.ay * ny + t.az * nz), bound * SLACK)


@helper
def larger(a, b):
    return greatest(magnitude(a), magnitude(b))


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
    certain = bits(sure(a, b, c, plane.bound) & sure(d, e, f, planes.bound))

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
    return near, near & certain & bits((f < -doubt.orient) & (g > doubt.orient))
