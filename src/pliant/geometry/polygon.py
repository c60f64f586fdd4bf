"""Triangulation of polygons in space: fans and diagonals where these suffice, else ear clipping (`geometry/ear_clipping.py`).

A polygon of n corners becomes n − 2 triangles of its corners, in its direction, whatever it is. It is projected along the axis that is
nearest to its normal (Newell's): leaving out a coordinate rounds nothing, so signs of `geometry/predicates.py` are exact for the corners as
they are. If the projected polygon is simple, triangles overlap neither there nor in space, and all have an area, also where corners lie on
a straight edge. One that is not flat is projected along its normal, which rounds, since along the axis triangles might be folded. Where it
crosses itself the other of both projections is tried, then the other axes. If it crosses itself everywhere, corners are clipped although
triangles overlap.

- Polygons of up to FAN_CORNERS corners become a fan around the first, where it sees all others.
- Quads: the diagonal that gives no fold in the plane of the normal; of two the shorter one, or the first if they are as long.
- All others: ears, one after the other.

Scratch is that of `geometry/ear_clipping.py`.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.geometry.ear_clipping import THIN, clip_ears, crosses_itself, is_convex, is_thin, same_place, turn, write_triangle
from pliant.geometry.predicates import E3, E3_DD, orient2d

FAN_CORNERS = 8
PROJECTIONS = 4                                                         # along the nearest axis, along the normal, along two other axes
FLATNESS = 2.0**-16                                                     # distance from the plane that counts as flat, in units of the size
MIN_PART = 2.0**-10                                                     # of the normal's part along an axis, in units of the largest one
SHORTER = 1.0 - 2.0**-20                                                # diagonals whose ratio is nearer to 1 are as long


@kernel
def triangulate_polygons(points, corners, begins, first, budget, crossing, triangles, plane, links, queue):
    """Triangulate polygons first, first + 1, … until they have taken `budget` steps, n² for polygons whose ears are searched.

    points (n, 3); polygon i has the corners corners[begins[i] : begins[i + 1]], three or more, all of which are points; triangles
    (Σ (count − 2), 3) are written, those of polygon i from row begins[i] − 2 i on; crossing (1,) counts the polygons that cross themselves
    in every projection; plane, links and queue are scratch for the polygon with the most corners. Returns the next polygon.
    """
    i = first
    while i < len(begins) - 1 and budget > 0:
        n = begins[i + 1] - begins[i]
        budget -= n
        if n > 4:
            budget -= triangulate_one(points, corners, begins[i], n, triangles, begins[i] - 2 * i, crossing, plane, links, queue)
        else:
            triangulate_small(points, corners, begins[i], n, triangles, begins[i] - 2 * i)
        i += 1
    return i


@kernel
def triangulate_quads(points, corners, begins, first, budget, triangles):
    """`triangulate_polygons` for triangles and quads, which most files have: compiled in a third of the time."""
    i = first
    while i < len(begins) - 1 and budget > 0:
        n = begins[i + 1] - begins[i]
        budget -= n
        triangulate_small(points, corners, begins[i], n, triangles, begins[i] - 2 * i)
        i += 1
    return i


@routine
def triangulate_small(points, corners, start, n, triangles, row):
    """Triangulate a triangle or a quad."""
    if n == 3:
        write_triangle(triangles, row, corners, start, 0, 1, 2)
    else:
        triangulate_quad(points, corners, start, triangles, row)


@routine
def triangulate_one(points, corners, start, n, triangles, row, crossing, plane, links, queue):
    """Triangulate a polygon of five corners or more; the steps that it has taken."""
    nx, ny, nz, finite, flat = newell_normal(points, corners, start, n)
    if not finite:
        write_fan(triangles, row, corners, start, n)
        return n
    for attempt in range(PROJECTIONS):
        kind = attempt if flat or attempt > 1 else 1 - attempt
        if attempt > 1 and not nth_part(attempt - 1, abs(nx), abs(ny), abs(nz)) > MIN_PART * nth_part(0, abs(nx), abs(ny), abs(nz)):
            break                                                       # seen from the side
        project(points, corners, start, n, kind, nx, ny, nz, plane)
        orient_left(plane, n)
        if attempt == 0 and n <= FAN_CORNERS and is_fan(plane, n):
            write_fan(triangles, row, corners, start, n)
            return n
        convex = is_convex(plane, n)
        if convex or not crosses_itself(plane, n):
            if clip_ears(plane, n, convex, False, corners, start, triangles, row, links, queue):
                return n if convex else n * n
    crossing[0] += 1
    project(points, corners, start, n, 0 if flat else 1, nx, ny, nz, plane)
    orient_left(plane, n)
    clip_ears(plane, n, False, True, corners, start, triangles, row, links, queue)
    return PROJECTIONS * n * n


# --- the plane ---------------------------------------------------------------------------------------------------------------

@routine
def newell_normal(points, corners, start, n):
    """(x, y, z, are all corners finite?, are they in a plane?): the area vector, in units of the polygon's size."""
    o, size = corners[start], 0.0
    for k in range(n):
        c = corners[start + k]
        for axis in range(3):
            if not np.isfinite(points[c, axis]):
                return 0.0, 0.0, 0.0, False, False
        x, y, z = difference(points, o, c, 1.0)
        size = max(size, max(abs(x), max(abs(y), abs(z))))
    nx, ny, nz, px, py, pz, height = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if size == 0.0:
        return nx, ny, nz, True, True
    for k in range(1, n):
        x, y, z = difference(points, o, corners[start + k], 1.0)
        qx, qy, qz = x / size, y / size, z / size
        nx, ny, nz = nx + (py * qz - pz * qy), ny + (pz * qx - px * qz), nz + (px * qy - py * qx)
        px, py, pz = qx, qy, qz
    for k in range(1, n):
        x, y, z = difference(points, o, corners[start + k], 1.0)
        height = max(height, abs(x / size * nx + y / size * ny + z / size * nz))
    return nx, ny, nz, True, height <= FLATNESS * np.sqrt(nx * nx + ny * ny + nz * nz)


@helper
def difference(points, i, j, scale):
    """The vector from point i to point j times half the scale; the difference is rounded, and cannot overflow."""
    return (scale * (0.5 * points[j, 0] - 0.5 * points[i, 0]), scale * (0.5 * points[j, 1] - 0.5 * points[i, 1]),
            scale * (0.5 * points[j, 2] - 0.5 * points[i, 2]))


@helper
def nth_axis(attempt, x, y, z):
    """The axis with the largest part of a vector, the second or the third; of equal ones the lower one first."""
    a = np.int64(0)
    if y > x:
        a = np.int64(1)
    if z > max(x, y):
        a = np.int64(2)
    if attempt == 0:
        return a
    b, c = (a + 1) % 3, (a + 2) % 3
    u, v = (y if b == 1 else z if b == 2 else x), (y if c == 1 else z if c == 2 else x)
    return (b if u >= v else c) if attempt == 1 else (c if u >= v else b)


@helper
def nth_part(attempt, x, y, z):
    """The largest part of a vector, the second or the third."""
    axis = nth_axis(attempt, x, y, z)
    return x if axis == 0 else y if axis == 1 else z


@routine
def project(points, corners, start, n, kind, nx, ny, nz, plane):
    """Write the corners into a plane: along an axis exactly, or, for kind 1, along the normal, rounded."""
    if kind != 1:
        axis = nth_axis(max(kind - 1, 0), abs(nx), abs(ny), abs(nz))
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for k in range(n):
            plane[k, 0], plane[k, 1] = points[corners[start + k], u], points[corners[start + k], v]
        return
    axis = nth_axis(2, abs(nx), abs(ny), abs(nz))                       # the least part: its axis is not along the normal
    ax, ay, az = (1.0 if axis == 0 else 0.0), (1.0 if axis == 1 else 0.0), (1.0 if axis == 2 else 0.0)
    ux, uy, uz = ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax
    vx, vy, vz = ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
    length_u, length_v = np.sqrt(ux * ux + uy * uy + uz * uz), np.sqrt(vx * vx + vy * vy + vz * vz)
    o = corners[start]
    for k in range(n):
        c = corners[start + k]
        x, y, z = difference(points, o, c, 0.25)                        # sums of large ones stay finite
        plane[k, 0] = x * (ux / length_u) + y * (uy / length_u) + z * (uz / length_u) if length_u > 0.0 else 0.0
        plane[k, 1] = x * (vx / length_v) + y * (vy / length_v) + z * (vz / length_v) if length_v > 0.0 else 0.0


@routine
def orient_left(plane, n):
    """Let a simple polygon go counterclockwise: exchange the coordinates if its lowest corner turns right. If that is a spike, by the sign
    of the area, which is rounded."""
    low = np.int64(0)
    for k in range(1, n):
        if plane[k, 0] < plane[low, 0] or (plane[k, 0] == plane[low, 0] and plane[k, 1] < plane[low, 1]):
            low = np.int64(k)
    before, after = (low + n - 1) % n, (low + 1) % n
    while before != low and same_place(plane, before, low):
        before = (before + n - 1) % n
    while after != low and same_place(plane, after, low):
        after = (after + 1) % n
    sign = turn(plane, before, low, after)
    if sign == 0:
        x, y, size, area, px, py = plane[low, 0], plane[low, 1], 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            size = max(size, max(0.5 * plane[k, 0] - 0.5 * x, abs(0.5 * plane[k, 1] - 0.5 * y)))
        for k in range(low + 1, low + n if size > 0.0 else low):
            qx, qy = (0.5 * plane[k % n, 0] - 0.5 * x) / size, (0.5 * plane[k % n, 1] - 0.5 * y) / size
            area += px * qy - py * qx
            px, py = qx, qy
        sign = -1 if area < 0.0 else 1
    if sign < 0:
        for k in range(n):
            plane[k, 0], plane[k, 1] = plane[k, 1], plane[k, 0]


# --- easy polygons -----------------------------------------------------------------------------------------------------------

@routine
def write_fan(triangles, row, corners, start, n):
    for k in range(n - 2):
        write_triangle(triangles, row + k, corners, start, 0, k + 1, k + 2)


@routine
def is_fan(plane, n):
    """Are the directions from the first corner to the others in order, within half a turn, and no triangle thin?"""
    for k in range(2, n):
        if turn(plane, 0, k - 1, k) <= 0 or turn(plane, 0, 1, k) <= 0 or is_thin(plane, 0, k - 1, k):
            return False
    return True


@helper
def facing(ux, uy, uz, vx, vy, vz, nx, ny, nz):
    """((u × v) · n, its sign beyond rounding; 0 if that may be the other one). Coordinates of u and v are rounded twice, n is as it is."""
    p, q, r, s, o, m = uy * vz, uz * vy, uz * vx, ux * vz, ux * vy, uy * vx
    det = (p - q) * nx + (r - s) * ny + (o - m) * nz
    bound = 2.0 * E3 * ((abs(p) + abs(q)) * abs(nx) + (abs(r) + abs(s)) * abs(ny) + (abs(o) + abs(m)) * abs(nz)) + E3_DD
    return det, np.int64(det > bound) - np.int64(det < -bound)


@routine
def triangulate_quad(points, corners, start, triangles, row):
    """Two triangles: without a fold, and none thin, if there are such; along the shorter diagonal, or else the first."""
    a, b, c, d = corners[start], corners[start + 1], corners[start + 2], corners[start + 3]
    size = 0.0
    for axis in range(3):
        low = min(min(points[a, axis], points[b, axis]), min(points[c, axis], points[d, axis]))
        high = max(max(points[a, axis], points[b, axis]), max(points[c, axis], points[d, axis]))
        size = max(size, 0.5 * high - 0.5 * low)
    scale = 0.5 / size if size > 2.0**-1000 else 1.0
    ex, ey, ez = difference(points, a, c, scale)
    fx, fy, fz = difference(points, b, d, scale)
    nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    ux, uy, uz = difference(points, a, b, scale)
    vx, vy, vz = difference(points, a, d, scale)
    wx, wy, wz = difference(points, c, b, scale)
    zx, zy, zz = difference(points, c, d, scale)
    (area_abc, abc), (area_acd, acd) = facing(ux, uy, uz, ex, ey, ez, nx, ny, nz), facing(ex, ey, ez, vx, vy, vz, nx, ny, nz)
    (area_dab, dab), (area_bcd, bcd) = facing(ux, uy, uz, vx, vy, vz, nx, ny, nz), facing(zx, zy, zz, wx, wy, wz, nx, ny, nz)
    if abc == 0 or acd == 0 or dab == 0 or bcd == 0:                    # along the axis these signs are exact
        axis = nth_axis(0, abs(nx), abs(ny), abs(nz))
        u, v = (axis + 1) % 3, (axis + 2) % 3
        sign = 1 if (nx if axis == 0 else ny if axis == 1 else nz) >= 0.0 else -1
        abc = abc if abc != 0 else sign * axis_turn(points, a, b, c, u, v)
        acd = acd if acd != 0 else sign * axis_turn(points, a, c, d, u, v)
        dab = dab if dab != 0 else sign * axis_turn(points, d, a, b, u, v)
        bcd = bcd if bcd != 0 else sign * axis_turn(points, b, c, d, u, v)
    first, second = abc > 0 and acd > 0, dab > 0 and bcd > 0
    if first and second:                                                # both pairs of areas add up to n · n
        thin = THIN * (nx * nx + ny * ny + nz * nz)
        first, second = min(area_abc, area_acd) > thin, min(area_dab, area_bcd) > thin
    if first == second:
        second = fx * fx + fy * fy + fz * fz < SHORTER * (ex * ex + ey * ey + ez * ez)
    if second:
        write_triangle(triangles, row, corners, start, 0, 1, 3)
        write_triangle(triangles, row + 1, corners, start, 1, 2, 3)
    else:
        write_fan(triangles, row, corners, start, 4)


@routine
def axis_turn(points, i, j, k, u, v):
    """The sign of three points seen along an axis; 0 if they are not finite."""
    size = abs(points[i, u]) + abs(points[i, v]) + abs(points[j, u]) + abs(points[j, v]) + abs(points[k, u]) + abs(points[k, v])
    if not size < np.inf:
        return 0
    return orient2d(points[i, u], points[i, v], points[j, u], points[j, v], points[k, u], points[k, v])
