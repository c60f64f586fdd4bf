"""Volumes around points, where a box says too little: the smallest ball, the narrowest slab (Larsson and Akenine-Möller 2008, section 2).

Of all points the 26 extreme ones along 13 directions are taken; what is found from these few is then enlarged to enclose all. Passes over
all points: one for the extreme ones, at most MAX_PIVOTS to let points that are still outside join the ball, one for its radius, two for
their covariance, whose axes are three candidates beside the report's 26, and one for all slabs at once: nine at most. So a fit is linear
in the points, whatever they are.

Points are named by order[begin : end] in flat float32 rows x y z ·, as in `enclose_points`.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.simd import extract, maximum, minimum, sqrt
from pliant.core.stack import load8, stack_float32, stack_float64, stack_int64, store_vector
from pliant.geometry.min_sphere import OUTSIDE_FACTOR, min_sphere, pivot, squared_distance
from pliant.geometry.principal_axes import spread_axes
from pliant.volume.aabb import HALF
from pliant.volume.protocol import RitterFit, TightestFit, fit
from pliant.volume.sphere import Sphere, grow_radius, point_error, squared_half_diagonal, squared_norm

N_DIRECTIONS, N_SLABS = 13, 32                                          # directions, and lanes for all slabs
MAX_PIVOTS = 4                                                          # points that may join the ball of the extreme ones
N_EXTREMES = 2 * N_DIRECTIONS
N_BALL_COORDS, N_NORMALS, N_ENDS = 3 * (N_EXTREMES + MAX_PIVOTS), 3 * N_SLABS, 2 * N_SLABS
HUGE = np.float32(3e38)


@helper
def project_on_directions(x, y, z, out):
    """A point along 13 directions: axes, diagonals, edges of a cube."""
    out[0], out[1], out[2] = x, y, z
    out[3], out[4], out[5], out[6] = x + y + z, x + y - z, x - y + z, x - y - z
    out[7], out[8], out[9], out[10], out[11], out[12] = x + y, x - y, x + z, x - z, y + z, y - z


@routine
def extreme_points(points, order, begin, end, extreme_ids):
    """Set names[2 k] and names[2 k + 1] to the points that are first and last along direction k."""
    low, high, projected = stack_float32(N_DIRECTIONS), stack_float32(N_DIRECTIONS), stack_float32(N_DIRECTIONS)
    for k in range(N_DIRECTIONS):
        low[k], high[k] = HUGE, -HUGE
    for at in range(begin, end):
        v = np.int64(order[at])
        project_on_directions(points[4 * v], points[4 * v + 1], points[4 * v + 2], projected)
        for k in range(N_DIRECTIONS):
            if projected[k] < low[k]:
                low[k], extreme_ids[2 * k] = projected[k], v
            if projected[k] > high[k]:
                high[k], extreme_ids[2 * k + 1] = projected[k], v


@helper
def farthest_point(points, order, begin, end, x, y, z):
    """(the point farthest from a place, its squared distance)."""
    best, most = np.int64(order[begin]), np.float32(-1)
    for at in range(begin, end):
        v = np.int64(order[at])
        d = squared_norm(points[4 * v] - x, points[4 * v + 1] - y, points[4 * v + 2] - z)
        if d > most:
            best, most = v, d
    return best, most


@routine
def ball_center(extreme_ids, points, order, begin, end, out):
    """Set out[:3] to the middle of the smallest ball, or nearly: that of the extreme points, and a few more that are outside."""
    coords, support, n, o = stack_float64(N_BALL_COORDS), stack_int64(4), np.int64(N_EXTREMES), 4 * extreme_ids[0]
    for i in range(n):
        for k in range(3):
            coords[3 * i + k] = np.float64(points[4 * extreme_ids[i] + k]) - points[o + k]
    size = min_sphere(coords, n, support, out)
    for _ in range(MAX_PIVOTS):
        v, _ = farthest_point(points, order, begin, end, np.float32(out[0] + points[o]), np.float32(out[1] + points[o + 1]),
                              np.float32(out[2] + points[o + 2]))
        for k in range(3):
            coords[3 * n + k] = np.float64(points[4 * v + k]) - points[o + k]
        if squared_distance(coords, n, out[0], out[1], out[2]) <= out[3] * OUTSIDE_FACTOR:
            break
        x, y, z = out[0], out[1], out[2]
        size = pivot(coords, support, size, n, out)
        n += 1
        if size == 0:
            out[0], out[1], out[2] = x, y, z
            break
    out[0], out[1], out[2] = out[0] + points[o], out[1] + points[o + 1], out[2] + points[o + 2]


@helper
def smallest_sphere(extreme_ids, low, high, points, order, begin, end):
    """The smallest ball, and a little more; at most that of the box low … high."""
    out, center_row = stack_float64(4), (low + high) * HALF
    ball_center(extreme_ids, points, order, begin, end, out)
    x, y, z = np.float32(out[0]), np.float32(out[1]), np.float32(out[2])
    most, corner = farthest_point(points, order, begin, end, x, y, z)[1], squared_half_diagonal(center_row, low, high)
    if not most < corner:
        x, y, z, most = extract(center_row, 0), extract(center_row, 1), extract(center_row, 2), corner
    return Sphere(x, y, z, grow_radius(sqrt(most), point_error(low, high)))


@fit.register(TightestFit, Sphere)
def _(method, like, low, high, points, order, begin, end):
    extreme_ids = stack_int64(N_EXTREMES)
    extreme_points(points, order, begin, end, extreme_ids)
    return smallest_sphere(extreme_ids, low, high, points, order, begin, end)


@fit.register(RitterFit, Sphere)
def _(method, like, low, high, points, order, begin, end):
    # From one to the farthest, from there to the farthest; between these two, and grown for each that is outside (Ritter 1990).
    p = 4 * np.int64(order[begin])
    p = 4 * farthest_point(points, order, begin, end, points[p], points[p + 1], points[p + 2])[0]
    q, gap = farthest_point(points, order, begin, end, points[p], points[p + 1], points[p + 2])
    x, y, z = (points[p] + points[4 * q]) * HALF, (points[p + 1] + points[4 * q + 1]) * HALF, (points[p + 2] + points[4 * q + 2]) * HALF
    radius = sqrt(gap) * HALF
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        d = sqrt(squared_norm(points[v] - x, points[v + 1] - y, points[v + 2] - z))
        if d > radius:
            share = (d - radius) / d * HALF
            x, y, z = x + (points[v] - x) * share, y + (points[v + 1] - y) * share, z + (points[v + 2] - z) * share
            radius = (radius + d) * HALF
    return Sphere(x, y, z, grow_radius(sqrt(farthest_point(points, order, begin, end, x, y, z)[1]), point_error(low, high)))


@helper
def set_normal(normals, k, x, y, z):
    """Set normal k to a direction, of length 1; to an axis if it is none."""
    length = np.sqrt(x * x + y * y + z * z)
    over = 1.0 / length if length > 0.0 else 0.0
    normals[k], normals[N_SLABS + k] = np.float32(x * over), np.float32(y * over)
    normals[2 * N_SLABS + k] = np.float32(z * over) if length > 0.0 else np.float32(1)


@helper
def set_triangle_normal(normals, k, points, extreme_ids):
    """Set normal 13 + k to that of the triangle of the extreme points along direction k and the one that is farthest from their line."""
    p, q = 4 * extreme_ids[2 * k], 4 * extreme_ids[2 * k + 1]
    x, y, z = np.float64(points[q] - points[p]), np.float64(points[q + 1] - points[p + 1]), np.float64(points[q + 2] - points[p + 2])
    nx, ny, nz, most = 0.0, 0.0, 0.0, 0.0
    for i in range(N_EXTREMES):
        r = 4 * extreme_ids[i]
        u, v, w = np.float64(points[r] - points[p]), np.float64(points[r + 1] - points[p + 1]), np.float64(points[r + 2] - points[p + 2])
        cx, cy, cz = y * w - z * v, z * u - x * w, x * v - y * u
        area = cx * cx + cy * cy + cz * cz
        if area > most:
            nx, ny, nz, most = cx, cy, cz, area
    set_normal(normals, N_DIRECTIONS + k, nx, ny, nz)


@helper
def set_normals(normals, points, extreme_ids, order, begin, end):
    """The 13 directions, 13 triangles, and the axes of the covariance; one of them again until the lanes are full."""
    for k in range(3):
        set_normal(normals, k, 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
    for k in range(4):
        set_normal(normals, 3 + k, 1.0, 1.0 if k < 2 else -1.0, 1.0 if k % 2 == 0 else -1.0)
    for k in range(2):
        sign = 1.0 - 2 * k
        set_normal(normals, 7 + k, 1.0, sign, 0.0)
        set_normal(normals, 9 + k, 1.0, 0.0, sign)
        set_normal(normals, 11 + k, 0.0, 1.0, sign)
    for k in range(N_DIRECTIONS):
        set_triangle_normal(normals, k, points, extreme_ids)
    frame = stack_float32(9)
    spread_axes(points, order, begin, end, frame)
    for k in range(N_EXTREMES, N_SLABS):
        at = 3 * min(k - N_EXTREMES, 2)
        set_normal(normals, k, np.float64(frame[at]), np.float64(frame[at + 1]), np.float64(frame[at + 2]))


@helper
def project_on_normals(normals, at, x, y, z):
    """A point along eight normals."""
    return load8(normals, at) * x + (load8(normals, N_SLABS + at) * y + load8(normals, 2 * N_SLABS + at) * z)


@routine
def set_slabs(normals, ends, extreme_ids, cx, cy, cz, points, order, begin, end):
    """Set the 29 candidates: normals, and how far points are from a centre along them, at least and at most."""
    set_normals(normals, points, extreme_ids, order, begin, end)
    v = 4 * np.int64(order[begin])
    x, y, z = points[v] - cx, points[v + 1] - cy, points[v + 2] - cz
    a = b = project_on_normals(normals, 0, x, y, z)
    c = d = project_on_normals(normals, 8, x, y, z)
    e = f = project_on_normals(normals, 16, x, y, z)
    g = h = project_on_normals(normals, 24, x, y, z)
    for at in range(begin + 1, end):
        v = 4 * np.int64(order[at])
        x, y, z = points[v] - cx, points[v + 1] - cy, points[v + 2] - cz
        p, q = project_on_normals(normals, 0, x, y, z), project_on_normals(normals, 8, x, y, z)
        r, s = project_on_normals(normals, 16, x, y, z), project_on_normals(normals, 24, x, y, z)
        a, b, c, d = minimum(a, p), maximum(b, p), minimum(c, q), maximum(d, q)
        e, f, g, h = minimum(e, r), maximum(f, r), minimum(g, s), maximum(h, s)
    store_vector(ends, 0, a)
    store_vector(ends, 8, c)
    store_vector(ends, 16, e)
    store_vector(ends, 24, g)
    store_vector(ends, N_SLABS, b)
    store_vector(ends, N_SLABS + 8, d)
    store_vector(ends, N_SLABS + 16, f)
    store_vector(ends, N_SLABS + 24, h)


@helper
def slab(normals, ends, k):
    """(normal, ends) of candidate k."""
    return normals[k], normals[N_SLABS + k], normals[2 * N_SLABS + k], ends[k], ends[N_SLABS + k]


@routine
def narrowest_slab(extreme_ids, cx, cy, cz, points, order, begin, end):
    """(normal, how far points are from a centre along it, at least and at most) of the narrowest of 29 slabs."""
    normals, ends = stack_float32(N_NORMALS), stack_float32(N_ENDS)
    set_slabs(normals, ends, extreme_ids, cx, cy, cz, points, order, begin, end)
    best = np.int64(0)
    for k in range(1, N_SLABS):
        if ends[N_SLABS + k] - ends[k] < ends[N_SLABS + best] - ends[best]:
            best = np.int64(k)
    return slab(normals, ends, best)


@routine
def slab_beside_parent(extreme_ids, parent, ball, points, order, begin, end):
    """As `narrowest_slab`: of the candidates that which leaves the least of the ball together with the slab of the parent, a slab cut ball
    (section 6 of the report proposes it and gives no rule).

    Of two slabs of widths w and W at an angle with sine s a plane across both shows a parallelogram of area w W / s, in the ball at most
    min(w, W) times its diameter. So a child of a flat parent takes the same direction if that makes it clearly flatter, and another one if
    the parent has cut there already: long thin triangles are then cut twice, by levels in turns."""
    normals, ends = stack_float32(N_NORMALS), stack_float32(N_ENDS)
    set_slabs(normals, ends, extreme_ids, ball.x, ball.y, ball.z, points, order, begin, end)
    diameter, best, smallest = ball.radius + ball.radius, np.int64(0), HUGE
    parents_width = minimum(parent.e - parent.f, diameter) if parent.radius >= 0 else diameter
    for k in range(N_SLABS):
        x, y, z, low, high = slab(normals, ends, k)
        width = high - low
        sine = sqrt(squared_norm(parent.ny * z - parent.nz * y, parent.nz * x - parent.nx * z, parent.nx * y - parent.ny * x))
        area = minimum(width, parents_width) * diameter
        if width * parents_width < area * sine:
            area = width * parents_width / sine
        if area < smallest:
            best, smallest = np.int64(k), area
    return slab(normals, ends, best)


@routine
def perpendicular_slab(extreme_ids, nx, ny, nz, cx, cy, cz, points, order, begin, end):
    """(normal, ends) of the slab across n and the longest way between two extreme points, as `narrowest_slab`; any across n if there is no
    such way beside n."""
    most, mx, my, mz = 0.0, 0.0, 0.0, 0.0
    for k in range(N_DIRECTIONS):
        p, q = 4 * extreme_ids[2 * k], 4 * extreme_ids[2 * k + 1]
        x, y, z = np.float64(points[q] - points[p]), np.float64(points[q + 1] - points[p + 1]), np.float64(points[q + 2] - points[p + 2])
        u, v, w = ny * z - nz * y, nz * x - nx * z, nx * y - ny * x
        if u * u + v * v + w * w > most:
            mx, my, mz, most = u, v, w, u * u + v * v + w * w
    if not most > 0.0:
        steep = abs(nx) > 0.5
        mx, my, mz = (-np.float64(ny), np.float64(nx), 0.0) if steep else (0.0, -np.float64(nz), np.float64(ny))
        most = mx * mx + my * my + mz * mz
    over = 1.0 / np.sqrt(most)
    a, b, c, low, high = np.float32(mx * over), np.float32(my * over), np.float32(mz * over), HUGE, -HUGE
    for at in range(begin, end):
        v = 4 * np.int64(order[at])
        d = a * (points[v] - cx) + (b * (points[v + 1] - cy) + c * (points[v + 2] - cz))
        low, high = minimum(low, d), maximum(high, d)
    return a, b, c, low, high
