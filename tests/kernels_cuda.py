"""Kernels that call what the CPU's kernels call. A module of its own, because `numba.cuda` is imported with it."""

from numba import cuda

from pliant.core.simd import add_rounded, fabs, maximum, minimum, mul_rounded, sqrt, where
from pliant.geometry.predicates import orient2d_filter, orient3d_filter
from pliant.volume.aabb import Box
from pliant.volume.protocol import inflate, overlap


@cuda.jit
def formulas(x, y, z, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = add_rounded(mul_rounded(x[i], y[i]), z[i])
        out[i, 1] = minimum(x[i], y[i])
        out[i, 2] = maximum(x[i], y[i])
        out[i, 3] = fabs(x[i])
        out[i, 4] = where(x[i] < y[i], y[i], z[i])
        out[i, 5] = sqrt(fabs(z[i]))


@cuda.jit
def signs(points, out):
    """points (n, 12): four of them in a row."""
    i = cuda.grid(1)
    if i < points.shape[0]:
        t = points[i]
        out[i, 0] = orient3d_filter(t, 0, 3, 6, 9)
        out[i, 1] = orient2d_filter(t[0], t[1], t[3], t[4], t[6], t[7])


@cuda.jit
def boxes(rows, out):
    """rows (n, 12): two boxes in a row."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        r = rows[i]
        a, b = Box(r[0], r[1], r[2], r[3], r[4], r[5]), Box(r[6], r[7], r[8], r[9], r[10], r[11])
        wide = inflate(a, fabs(r[0]))
        out[i, 0] = overlap(a, b)
        out[i, 1] = overlap(wide, b)
        out[i, 2] = wide.lox < a.lox and wide.hiz > a.hiz
