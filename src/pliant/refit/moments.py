"""Moments of the faces below each node and in each leaf, for winding numbers far away (Barill et al. 2018).

The solid angle of a surface is the flux of x / |x|³ through it. Around a center c, for a point q with x = c − q, R = |x| and u = x / R, it
is to second order

    4 π w = N · u / R² + (tr T − 3 u T u) / R³ + (7.5 S u u u − 4.5 V · u) / R⁴,      V_k = Σ_i S_iik

where N = ∫ n dA, T is the symmetric part of ∫ n h dA, S that of ∫ n h h dA, and h the vector from c to a point of the surface. The field is
harmonic, so the other parts do not count.

ERROR. The term of order k is at most (k + 1) |h|^k / R^(k + 2) for each area, since the gradient of |h|^(k + 1) P_(k + 1) is at most
(k + 1) |h|^k. With M = ∫ |h|³ dA and ρ = r / R, where r is the largest |h|, all terms from the third on sum to at most
M (4 − 3 ρ) / (1 − ρ)² / R⁵. M of a node follows from those of its children by the inequality of Minkowski: M^(1/3) of a child about another
center is at most M^(1/3) + |d| A^(1/3), for the way d between the centers and the area A.

All lengths are times `unit`, a power of two that makes the reach of the body about 1: none of this leaves the range of float32.
Row i is that of node i, row n_nodes + i that of leaf i. They follow all at once when they are asked for, in one pass, leaves first.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, ignore_float_errors, kernel
from pliant.core.simd import maximum, reduce_add, reduce_max, sqrt
from pliant.core.soa import aligned_zeros, lanes, load_bounds, stamp
from pliant.core.stack import load8, stack_float32

# Of a row of float32: the center, the square of the distance from which the moments serve, N, the coefficients of x², y², z², x y, y z, z x
# of u, those of x³, y³, z³, x² y, x² z, x y², y² z, x z², y z², x y z, and the error times R⁵; all but the first two over 4π.
CENTER, FAR_SQUARED, NORMAL, QUADRATIC, CUBIC, ERROR, ROW_SIZE = 0, 3, 4, 7, 13, 23, 24
# Of a row of float64: area, radius, M^(1/3), box, center, N, T, S.
AREA, RADIUS, CUBE_ROOT, LOW, HIGH, CENTER_64, NORMAL_64, T_XX, S_XXX, SUMS_SIZE = 0, 1, 2, 3, 6, 9, 12, 15, 21, 31
HALF, THIRD, TWELFTH, NINE, TWO = np.float32(0.5), np.float32(1 / 3), np.float32(1 / 12), np.float32(9), np.float32(2)


class Moments(NamedTuple):
    """Rows (n_nodes + n_leaves, ROW_SIZE) float32 and sums (…, SUMS_SIZE) float64; `unit` as above; the `version` of the BVH. A cluster
    is far from `opening` times its radius on."""
    rows: np.ndarray
    sums: np.ndarray
    unit: float
    version: int
    opening: float


def moments_of(bvh, reach, opening):
    """The Moments of a BVH that has been refitted, for a body of this reach; all its leaves are up to date then."""
    with bvh.guard.refit_lock, ignore_float_errors():
        known = bvh.moments
        if known is None or (known.version, known.opening) != (bvh.version, opening):
            n = len(bvh.nodes) + len(bvh.leaves)
            rows, sums = (aligned_zeros((n, ROW_SIZE), np.float32), np.zeros((n, SUMS_SIZE))) if known is None else known[:2]
            unit = math.ldexp(1.0, min(max(-math.frexp(reach)[1], -100), 100))
            bvh.moments = None                                          # Ctrl-C: whatever is half done is done again
            set_leaf_moments(bvh.leaves, len(bvh.nodes), bvh.frame, bvh.fill, bvh.context, np.float32(unit), opening, rows, sums)
            merge_moments(bvh.tree.child, bvh.tree.count, opening, rows, sums)
            known = bvh.moments = Moments(rows, sums, unit, bvh.version, opening)
        return known


@kernel
def set_leaf_moments(leaves, n_nodes, frame, fill, context, unit, opening, rows, sums):
    """The moments of all leaves, eight faces at a time."""
    mask = stack_float32(8)
    for i in range(len(leaves)):
        if stamp(leaves, i) != frame:
            call_address(fill, context, i)
        set_one_leaf(leaves, i, unit, mask, sums[n_nodes + i])
        write_row(sums[n_nodes + i], opening, rows[n_nodes + i])


@helper
def set_one_leaf(leaves, i, unit, mask, out):
    """The sums of leaf i; `mask` is scratch."""
    for k in range(8):
        mask[k] = np.float32(np.int64(leaves[i]["used"]) >> k & 1)
    box, t = load_bounds(leaves, i), lanes(leaves, i)
    x, y, z = (box.lox + box.hix) * HALF, (box.loy + box.hiy) * HALF, (box.loz + box.hiz) * HALF
    ax, ay, az = (t.ax - x) * unit, (t.ay - y) * unit, (t.az - z) * unit
    bx, by, bz = (t.bx - x) * unit, (t.by - y) * unit, (t.bz - z) * unit
    cx, cy, cz = (t.cx - x) * unit, (t.cy - y) * unit, (t.cz - z) * unit
    px, py, pz, qx, qy, qz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    used = load8(mask, 0) * HALF
    nx, ny, nz = (py * qz - pz * qy) * used, (pz * qx - px * qz) * used, (px * qy - py * qx) * used
    area = sqrt(nx * nx + (ny * ny + nz * nz))
    total = reduce_add(area)
    over = THIRD / total if total > np.float32(0) else np.float32(0)
    mx = reduce_add(area * (ax + (bx + cx))) * over
    my, mz = reduce_add(area * (ay + (by + cy))) * over, reduce_add(area * (az + (bz + cz))) * over
    ax, ay, az, bx, by, bz, cx, cy, cz = ax - mx, ay - my, az - mz, bx - mx, by - my, bz - mz, cx - mx, cy - my, cz - mz
    far = maximum(ax * ax + (ay * ay + az * az), maximum(bx * bx + (by * by + bz * bz), cx * cx + (cy * cy + cz * cz)))
    out[AREA], out[RADIUS] = total, np.sqrt(np.float64(reduce_max(far))) * (1 + 2.0**-20)
    out[CUBE_ROOT] = np.cbrt(np.float64(reduce_add(area * (far * sqrt(far)))) * (1 + 2.0**-20))
    for k, low, high, center, moved in ((0, box.lox, box.hix, x, mx), (1, box.loy, box.hiy, y, my), (2, box.loz, box.hiz, z, mz)):
        out[LOW + k], out[HIGH + k] = np.float64(low) * unit, np.float64(high) * unit
        out[CENTER_64 + k] = np.float64(center) * unit + moved
    gx, gy, gz = (ax + (bx + cx)) * THIRD, (ay + (by + cy)) * THIRD, (az + (bz + cz)) * THIRD
    out[NORMAL_64], out[NORMAL_64 + 1], out[NORMAL_64 + 2] = reduce_add(nx), reduce_add(ny), reduce_add(nz)
    out[T_XX], out[T_XX + 1], out[T_XX + 2] = reduce_add(nx * gx), reduce_add(ny * gy), reduce_add(nz * gz)
    out[T_XX + 3], out[T_XX + 4] = reduce_add(nx * gy + ny * gx) * HALF, reduce_add(ny * gz + nz * gy) * HALF
    out[T_XX + 5] = reduce_add(nz * gx + nx * gz) * HALF
    xx = (ax * ax + bx * bx + cx * cx + gx * gx * NINE) * TWELFTH       # means of products over a face
    yy = (ay * ay + by * by + cy * cy + gy * gy * NINE) * TWELFTH
    zz = (az * az + bz * bz + cz * cz + gz * gz * NINE) * TWELFTH
    xy = (ax * ay + bx * by + cx * cy + gx * gy * NINE) * TWELFTH
    yz = (ay * az + by * bz + cy * cz + gy * gz * NINE) * TWELFTH
    zx = (az * ax + bz * bx + cz * cx + gz * gx * NINE) * TWELFTH
    out[S_XXX], out[S_XXX + 1], out[S_XXX + 2] = reduce_add(nx * xx), reduce_add(ny * yy), reduce_add(nz * zz)
    out[S_XXX + 3], out[S_XXX + 4] = reduce_add(nx * xy * TWO + ny * xx) * THIRD, reduce_add(nx * zx * TWO + nz * xx) * THIRD
    out[S_XXX + 5], out[S_XXX + 6] = reduce_add(ny * xy * TWO + nx * yy) * THIRD, reduce_add(ny * yz * TWO + nz * yy) * THIRD
    out[S_XXX + 7], out[S_XXX + 8] = reduce_add(nz * zx * TWO + nx * zz) * THIRD, reduce_add(nz * yz * TWO + ny * zz) * THIRD
    out[S_XXX + 9] = reduce_add(nx * yz + (ny * zx + nz * xy)) * THIRD


@kernel
def merge_moments(child, count, opening, rows, sums):
    """The moments of all nodes; children come after their parents."""
    n_nodes = len(child)
    for i in range(n_nodes - 1, -1, -1):
        out, area = sums[i], 0.0
        for k in range(SUMS_SIZE):
            out[k] = 0.0
        for k in range(3):
            out[LOW + k], out[HIGH + k] = np.inf, -np.inf
        for j in range(count[i]):
            own = sums[np.int64(child[i, j]) if child[i, j] >= 0 else n_nodes + np.int64(~child[i, j])]
            area += own[AREA]
            for k in range(3):
                out[LOW + k], out[HIGH + k] = min(out[LOW + k], own[LOW + k]), max(out[HIGH + k], own[HIGH + k])
                out[CENTER_64 + k] += own[AREA] * own[CENTER_64 + k]
        out[AREA], radius, square = area, 0.0, 0.0
        for k in range(3):
            out[CENTER_64 + k] = out[CENTER_64 + k] / area if area > 0.0 else 0.5 * (out[LOW + k] + out[HIGH + k])
            square += max(out[HIGH + k] - out[CENTER_64 + k], out[CENTER_64 + k] - out[LOW + k]) ** 2
        for j in range(count[i]):
            own = sums[np.int64(child[i, j]) if child[i, j] >= 0 else n_nodes + np.int64(~child[i, j])]
            x, y, z = own[CENTER_64] - out[CENTER_64], own[CENTER_64 + 1] - out[CENTER_64 + 1], own[CENTER_64 + 2] - out[CENTER_64 + 2]
            length = np.sqrt(x * x + y * y + z * z)
            radius = max(radius, length + own[RADIUS])
            out[CUBE_ROOT] += (own[CUBE_ROOT] + length * np.cbrt(own[AREA])) ** 3
            add_moved(own, x, y, z, out)
        out[CUBE_ROOT] = np.cbrt(out[CUBE_ROOT])
        out[RADIUS] = min(radius, np.sqrt(square)) * (1 + 2.0**-20)
        write_row(out, opening, rows[i])


@helper
def add_moved(own, x, y, z, out):
    """Add N, T and S of a child whose center is at (x, y, z)."""
    nx, ny, nz = own[NORMAL_64], own[NORMAL_64 + 1], own[NORMAL_64 + 2]
    txx, tyy, tzz, txy, tyz, tzx = own[T_XX], own[T_XX + 1], own[T_XX + 2], own[T_XX + 3], own[T_XX + 4], own[T_XX + 5]
    out[NORMAL_64] += nx
    out[NORMAL_64 + 1] += ny
    out[NORMAL_64 + 2] += nz
    out[T_XX] += txx + nx * x
    out[T_XX + 1] += tyy + ny * y
    out[T_XX + 2] += tzz + nz * z
    out[T_XX + 3] += txy + 0.5 * (nx * y + ny * x)
    out[T_XX + 4] += tyz + 0.5 * (ny * z + nz * y)
    out[T_XX + 5] += tzx + 0.5 * (nz * x + nx * z)
    out[S_XXX] += own[S_XXX] + 2 * txx * x + nx * x * x
    out[S_XXX + 1] += own[S_XXX + 1] + 2 * tyy * y + ny * y * y
    out[S_XXX + 2] += own[S_XXX + 2] + 2 * tzz * z + nz * z * z
    out[S_XXX + 3] += own[S_XXX + 3] + (2 * (txx * y + 2 * txy * x) + 2 * nx * x * y + ny * x * x) / 3
    out[S_XXX + 4] += own[S_XXX + 4] + (2 * (txx * z + 2 * tzx * x) + 2 * nx * x * z + nz * x * x) / 3
    out[S_XXX + 5] += own[S_XXX + 5] + (2 * (tyy * x + 2 * txy * y) + 2 * ny * x * y + nx * y * y) / 3
    out[S_XXX + 6] += own[S_XXX + 6] + (2 * (tyy * z + 2 * tyz * y) + 2 * ny * y * z + nz * y * y) / 3
    out[S_XXX + 7] += own[S_XXX + 7] + (2 * (tzz * x + 2 * tzx * z) + 2 * nz * x * z + nx * z * z) / 3
    out[S_XXX + 8] += own[S_XXX + 8] + (2 * (tzz * y + 2 * tyz * z) + 2 * nz * y * z + ny * z * z) / 3
    out[S_XXX + 9] += own[S_XXX + 9] + (2 * (txy * z + tyz * x + tzx * y) + nx * y * z + ny * x * z + nz * x * y) / 3


@helper
def write_row(own, opening, row):
    """The row of float32 that these sums give."""
    over, tail = 1.0 / (4.0 * np.pi), (4 - 3 / opening) / (1 - 1 / opening) ** 2  # see ERROR
    for k in range(3):
        row[CENTER + k], row[NORMAL + k] = own[CENTER_64 + k], own[NORMAL_64 + k] * over
    row[FAR_SQUARED] = (opening * own[RADIUS]) ** 2 * (1 + 2.0**-20)
    trace = own[T_XX] + own[T_XX + 1] + own[T_XX + 2]
    for k in range(3):
        row[QUADRATIC + k], row[QUADRATIC + 3 + k] = (trace - 3 * own[T_XX + k]) * over, -6 * own[T_XX + 3 + k] * over
    xxx, yyy, zzz, xxy, xxz = own[S_XXX], own[S_XXX + 1], own[S_XXX + 2], own[S_XXX + 3], own[S_XXX + 4]
    xyy, yyz, xzz, yzz, xyz = own[S_XXX + 5], own[S_XXX + 6], own[S_XXX + 7], own[S_XXX + 8], own[S_XXX + 9]
    x, y, z = 4.5 * (xxx + xyy + xzz), 4.5 * (xxy + yyy + yzz), 4.5 * (xxz + yyz + zzz)
    row[CUBIC], row[CUBIC + 1], row[CUBIC + 2] = (7.5 * xxx - x) * over, (7.5 * yyy - y) * over, (7.5 * zzz - z) * over
    row[CUBIC + 3], row[CUBIC + 4], row[CUBIC + 5] = (22.5 * xxy - y) * over, (22.5 * xxz - z) * over, (22.5 * xyy - x) * over
    row[CUBIC + 6], row[CUBIC + 7], row[CUBIC + 8] = (22.5 * yyz - z) * over, (22.5 * xzz - x) * over, (22.5 * yzz - y) * over
    row[CUBIC + 9], row[ERROR] = 45 * xyz * over, own[CUBE_ROOT] ** 3 * tail * over * (1 + 2.0**-20)
