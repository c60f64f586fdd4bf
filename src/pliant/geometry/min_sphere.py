"""The smallest enclosing sphere of points.

Two to four points on its surface determine it: its support. It is found by pivoting (Gärtner 1999): the farthest point joins the support,
and the smallest enclosing sphere of these at most five points is found by trying all subsets with the new point as support. The radius
grows with every step, so the same support never returns; iteration ends where no point is farther out by more than 2**-40 of the squared
radius. Duplicates never join, since they are not outside. Degenerate subsets on a line, a plane or a circle, whose sphere is that of fewer
points, are skipped.

Points are rows x y z in a flat float64 buffer, relative to one of them: from farther away, rounding would lose a fraction of that distance.
Results are not right to the last bit: callers take the center and measure the radius that encloses all points.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.stack import stack_float64, stack_int64

OUTSIDE_FACTOR = 1 + 2.0**-40                                           # times the squared radius: outside
DEGENERATE = 2.0**-40                                                   # of the largest determinant with such sides: counts as 0
MAX_PIVOTS = 64                                                         # fewer than ten are needed; a limit in case rounding cycles


@helper
def squared_distance(points, i, x, y, z):
    """The squared distance of point i from (x, y, z)."""
    u, v, w = points[3 * i] - x, points[3 * i + 1] - y, points[3 * i + 2] - z
    return u * u + v * v + w * w


@helper
def farthest_point(points, n, x, y, z):
    """(index of the point farthest from (x, y, z), its squared distance)."""
    best, farthest_square = np.int64(0), -1.0
    for i in range(n):
        d = squared_distance(points, i, x, y, z)
        if d > farthest_square:
            best, farthest_square = np.int64(i), d
    return best, farthest_square


@routine
def circumsphere(points, at, n, out):
    """Set out[:4] to center and squared radius of the smallest sphere through the points at[0], … at[n − 1], n <= 4; is there one? With
    a, b, c the offsets of the others from the first point o, the center is o + p a + q b + r c, where twice the dot products of
    p a + q b + r c with a, b, c are a², b², c²: linear equations with the Gram matrix of a, b, c."""
    o, g, f = 3 * at[0], stack_float64(9), stack_float64(3)
    for i in range(1, 4):
        for j in range(1, 4):
            s = 0.0
            for k in range(3):
                u = points[3 * at[i] + k] - points[o + k] if i < n else 0.0
                v = points[3 * at[j] + k] - points[o + k] if j < n else 0.0
                s += u * v
            g[3 * (i - 1) + j - 1] = s if i < n and j < n else 1.0 if i == j else 0.0
        f[i - 1] = 0.5 * g[4 * (i - 1)] if i < n else 0.0
    p, q, r = g[4] * g[8] - g[5] * g[7], g[5] * g[6] - g[3] * g[8], g[3] * g[7] - g[4] * g[6]
    det = g[0] * p + g[1] * q + g[2] * r
    if not det > DEGENERATE * (g[0] * g[4] * g[8]):
        return n == 1 and put_sphere(points, o, 0.0, 0.0, 0.0, out)
    s, t = g[2] * g[7] - g[1] * g[8], g[0] * g[8] - g[2] * g[6]
    u, v, w = g[1] * g[6] - g[0] * g[7], g[1] * g[5] - g[2] * g[4], g[2] * g[3] - g[0] * g[5]
    k = g[0] * g[4] - g[1] * g[3]
    a, b, c = (p * f[0] + s * f[1] + v * f[2]) / det, (q * f[0] + t * f[1] + w * f[2]) / det, (r * f[0] + u * f[1] + k * f[2]) / det
    x, y, z = 0.0, 0.0, 0.0
    if n > 1:
        x, y, z = scaled_offset(points, at[1], o, a)
    if n > 2:
        along = scaled_offset(points, at[2], o, b)
        x, y, z = x + along[0], y + along[1], z + along[2]
    if n > 3:
        along = scaled_offset(points, at[3], o, c)
        x, y, z = x + along[0], y + along[1], z + along[2]
    return put_sphere(points, o, x, y, z, out)


@helper
def scaled_offset(points, i, o, share):
    """`share` times the offset from o to point i."""
    return (points[3 * i] - points[o]) * share, (points[3 * i + 1] - points[o + 1]) * share, (points[3 * i + 2] - points[o + 2]) * share


@helper
def put_sphere(points, o, x, y, z, out):
    out[0], out[1], out[2], out[3] = points[o] + x, points[o + 1] + y, points[o + 2] + z, x * x + y * y + z * z
    return True


@routine
def pivot(points, support, n, new, out):
    """Add a point outside the sphere to the support: set out[:4] to the smallest enclosing sphere of these points, and `support` to
    its support; returns the size of that. Tries all subsets with the new point; of their spheres that contain all points, the smallest
    counts."""
    at, best, of, sphere = stack_int64(4), stack_int64(4), np.int64(0), stack_float64(4)
    out[3] = np.inf
    for chosen in range(1 << n):
        at[0], m = new, np.int64(1)
        for i in range(n):
            if chosen >> i & 1 and m < 4:
                at[m] = support[i]
                m += 1
        if m == 1 or m - 1 < popcount(chosen) or not circumsphere(points, at, m, sphere) or not sphere[3] < out[3]:
            continue
        holds = True
        for i in range(n):
            holds &= squared_distance(points, support[i], sphere[0], sphere[1], sphere[2]) <= sphere[3] * OUTSIDE_FACTOR
        if holds:
            of = m
            for i in range(4):
                out[i], best[i] = sphere[i], at[i]
    for i in range(of):
        support[i] = best[i]
    return of


@helper
def popcount(chosen):
    return np.int64(chosen & 1) + (chosen >> 1 & 1) + (chosen >> 2 & 1) + (chosen >> 3 & 1)


@routine
def min_sphere(points, n, support, out):
    """Set out[:4] to center and squared radius of the smallest enclosing sphere of n >= 1 points, but for rounding, and support (4,) to its
    support; returns the size of that."""
    size, last_square = np.int64(1), -1.0
    support[0] = 0
    out[0], out[1], out[2], out[3] = points[0], points[1], points[2], 0.0
    for _ in range(MAX_PIVOTS):
        new, farthest_square = farthest_point(points, n, out[0], out[1], out[2])
        if farthest_square <= out[3] * OUTSIDE_FACTOR or out[3] <= last_square:
            break
        last_square, x, y, z = out[3], out[0], out[1], out[2]
        found = pivot(points, support, size, new, out)
        if found == 0:                                                  # all subsets are degenerate: keep this center
            out[0], out[1], out[2], support[0], size = x, y, z, new, np.int64(1)
            break
        size = found
    out[3] = farthest_point(points, n, out[0], out[1], out[2])[1]
    return size
