"""Triangulation of polygons in space by ear clipping (Meisters 1975; O'Rourke 1998, "Computational Geometry in C", section 1.6).

A polygon of n corners becomes n − 2 triangles of its corners, in its direction, whatever it is. It is projected along the axis that is
nearest to its normal (Newell's): leaving out a coordinate rounds nothing, so signs of `geometry/predicates.py` are exact for the corners as
they are. If the projected polygon is simple, triangles overlap neither there nor in space, and all have an area, also where corners lie on
a straight edge. A polygon that crosses itself there, as one that is far from flat may, is tried in the plane of its normal, which rounds,
and along the other axes. If it crosses itself everywhere, corners are clipped although triangles overlap.

An EAR is a corner that turns left and whose triangle contains no other corner. The edges of holes are connected by bridges, which are
passed twice: so corners may be at the same place. One at a corner of the triangle blocks it if an edge of it enters the triangle.

- Polygons of up to FAN_CORNERS corners become a fan around the first, where it sees all others.
- Quads: the diagonal that gives no fold in the plane of the normal; of two the shorter one, or the first if they are as long.
- Ears are clipped in turn, so the triangles of a circle are no slivers, and no vertex has more than a few.

Per corner, in `links` (k, 4) int64: the previous and the next corner that is left, the stamp of its valid entry in the queue, and the sign
of its turn. `queue` (3 k,) has entries stamp << 32 | corner. `plane` (k, 2) float64 has the projected corners.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.geometry.predicates import E3, E3_DD, orient2d

FAN_CORNERS = 8
PREVIOUS, NEXT, STAMP, TURN = 0, 1, 2, 3
PROJECTIONS = 4                                                         # the best axis, the plane of the normal, two other axes
MIN_PART = 2.0**-10                                                     # of the normal's part along an axis, in units of the largest one
RESCANS = 4                                                             # all corners are tested again, if none is left in the queue
SHORTER = 1.0 - 2.0**-20                                                # diagonals whose ratio is nearer to 1 are as long
CLIPPED = -1                                                            # the stamp of a corner that is gone


@kernel
def triangulate_polygons(points, corners, begins, first, budget, crossing, triangles, plane, links, queue):
    """Triangulate polygons first, first + 1, … until they have taken `budget` steps, n² for polygons whose ears are searched.

    points (n, 3); polygon i has the corners corners[begins[i] : begins[i + 1]], three or more, all of which are points; triangles
    (Σ (count − 2), 3) are written, those of polygon i from row begins[i] − 2 i on; crossing (1,) is the number of polygons so far that cross
    themselves in every projection; plane, links and queue are scratch for the polygon with the most corners. Returns the next polygon.
    """
    i = first
    while i < len(begins) - 1 and budget > 0:
        n = begins[i + 1] - begins[i]
        start, row = begins[i], begins[i] - 2 * i
        budget -= n
        if n == 3:
            write_triangle(triangles, row, corners, start, 0, 1, 2)
        elif n == 4:
            triangulate_quad(points, corners, start, triangles, row)
        elif n > 4:
            budget -= triangulate_one(points, corners, start, n, triangles, row, crossing, plane, links, queue)
        i += 1
    return i


@helper
def write_triangle(triangles, row, corners, start, a, b, c):
    triangles[row, 0], triangles[row, 1], triangles[row, 2] = corners[start + a], corners[start + b], corners[start + c]


@kernel
def triangulate_one(points, corners, start, n, triangles, row, crossing, plane, links, queue):
    """Triangulate a polygon of five corners or more; the steps that it has taken."""
    nx, ny, nz, finite = newell_normal(points, corners, start, n)
    if not finite:
        write_fan(triangles, row, corners, start, n)
        return n
    for attempt in range(PROJECTIONS):
        if attempt > 1 and not nth_part(attempt - 1, abs(nx), abs(ny), abs(nz)) > MIN_PART * nth_part(0, abs(nx), abs(ny), abs(nz)):
            break                                                       # seen from the side
        project(points, corners, start, n, attempt, nx, ny, nz, plane)
        orient_left(plane, n)
        if attempt == 0 and n <= FAN_CORNERS and is_fan(plane, n):
            write_fan(triangles, row, corners, start, n)
            return n
        convex = is_convex(plane, n)
        if convex or not crosses_itself(plane, n):
            if clip_ears(plane, n, convex, False, corners, start, triangles, row, links, queue):
                return n if convex else n * n
    crossing[0] += 1
    project(points, corners, start, n, 0, nx, ny, nz, plane)
    orient_left(plane, n)
    clip_ears(plane, n, False, True, corners, start, triangles, row, links, queue)
    return PROJECTIONS * n * n


# --- the plane ---------------------------------------------------------------------------------------------------------------

@kernel
def newell_normal(points, corners, start, n):
    """(x, y, z, are all corners finite?): the area vector, in units of the polygon's size."""
    a = corners[start]
    ox, oy, oz = points[a, 0], points[a, 1], points[a, 2]
    size = 0.0
    for k in range(n):
        c = corners[start + k]
        for axis in range(3):
            if not np.isfinite(points[c, axis]):
                return 0.0, 0.0, 0.0, False
        size = max(size, abs(0.5 * points[c, 0] - 0.5 * ox), abs(0.5 * points[c, 1] - 0.5 * oy), abs(0.5 * points[c, 2] - 0.5 * oz))
    if size == 0.0:
        return 0.0, 0.0, 0.0, True
    nx, ny, nz, px, py, pz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(1, n):
        c = corners[start + k]
        qx, qy, qz = (0.5 * points[c, 0] - 0.5 * ox) / size, (0.5 * points[c, 1] - 0.5 * oy) / size, (0.5 * points[c, 2] - 0.5 * oz) / size
        nx, ny, nz = nx + (py * qz - pz * qy), ny + (pz * qx - px * qz), nz + (px * qy - py * qx)
        px, py, pz = qx, qy, qz
    return nx, ny, nz, True


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


@kernel
def project(points, corners, start, n, attempt, nx, ny, nz, plane):
    """Write the corners into the plane: along an axis exactly, or, the second time, rounded into the plane of the normal."""
    if attempt != 1:
        axis = nth_axis(max(attempt - 1, 0), abs(nx), abs(ny), abs(nz))
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


@helper
def turn(plane, i, j, k):
    """The sign of corners i, j, k: 1 if they turn left."""
    return orient2d(plane[i, 0], plane[i, 1], plane[j, 0], plane[j, 1], plane[k, 0], plane[k, 1])


@helper
def same_place(plane, i, j):
    return plane[i, 0] == plane[j, 0] and plane[i, 1] == plane[j, 1]


@kernel
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

@kernel
def write_fan(triangles, row, corners, start, n):
    for k in range(n - 2):
        write_triangle(triangles, row + k, corners, start, 0, k + 1, k + 2)


@kernel
def is_fan(plane, n):
    """Are the directions from the first corner to the others in order, within half a turn?"""
    for k in range(2, n):
        if turn(plane, 0, k - 1, k) <= 0 or turn(plane, 0, 1, k) <= 0:
            return False
    return True


@kernel
def is_convex(plane, n):
    """Does every corner turn left, and the polygon go around once? The latter: it descends along x once, with y for equal x."""
    falls = np.int64(0)
    for k in range(n):
        j = k + 1 if k + 1 < n else np.int64(0)
        i = j + 1 if j + 1 < n else np.int64(0)
        if turn(plane, k, j, i) <= 0:
            return False
        rises_before = plane[j, 0] > plane[k, 0] or (plane[j, 0] == plane[k, 0] and plane[j, 1] > plane[k, 1])
        rises_after = plane[i, 0] > plane[j, 0] or (plane[i, 0] == plane[j, 0] and plane[i, 1] > plane[j, 1])
        falls += rises_before and not rises_after
    return falls == 1


@helper
def facing(ux, uy, uz, vx, vy, vz, nx, ny, nz):
    """The sign of (u × v) · n beyond rounding; 0 if that may be the other one. Coordinates of u and v are rounded twice, n is as it is."""
    p, q, r, s, o, m = uy * vz, uz * vy, uz * vx, ux * vz, ux * vy, uy * vx
    det = (p - q) * nx + (r - s) * ny + (o - m) * nz
    bound = 2.0 * E3 * ((abs(p) + abs(q)) * abs(nx) + (abs(r) + abs(s)) * abs(ny) + (abs(o) + abs(m)) * abs(nz)) + E3_DD
    return np.int64(det > bound) - np.int64(det < -bound)


@kernel
def triangulate_quad(points, corners, start, triangles, row):
    """Two triangles: without a fold, if there are such, along the shorter diagonal, or else the first."""
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
    abc, acd = facing(ux, uy, uz, ex, ey, ez, nx, ny, nz), facing(ex, ey, ez, vx, vy, vz, nx, ny, nz)
    dab, bcd = facing(ux, uy, uz, vx, vy, vz, nx, ny, nz), facing(zx, zy, zz, wx, wy, wz, nx, ny, nz)
    if abc == 0 or acd == 0 or dab == 0 or bcd == 0:                    # along the axis these signs are exact
        axis = nth_axis(0, abs(nx), abs(ny), abs(nz))
        u, v = (axis + 1) % 3, (axis + 2) % 3
        sign = 1 if (nx if axis == 0 else ny if axis == 1 else nz) >= 0.0 else -1
        abc = abc if abc != 0 else sign * axis_turn(points, a, b, c, u, v)
        acd = acd if acd != 0 else sign * axis_turn(points, a, c, d, u, v)
        dab = dab if dab != 0 else sign * axis_turn(points, d, a, b, u, v)
        bcd = bcd if bcd != 0 else sign * axis_turn(points, b, c, d, u, v)
    first, second = abc > 0 and acd > 0, dab > 0 and bcd > 0
    if first == second:
        second = fx * fx + fy * fy + fz * fz < SHORTER * (ex * ex + ey * ey + ez * ez)
    if second:
        write_triangle(triangles, row, corners, start, 0, 1, 3)
        write_triangle(triangles, row + 1, corners, start, 1, 2, 3)
    else:
        write_fan(triangles, row, corners, start, 4)


@kernel
def axis_turn(points, i, j, k, u, v):
    """The sign of three points seen along an axis; 0 if they are not finite."""
    size = abs(points[i, u]) + abs(points[i, v]) + abs(points[j, u]) + abs(points[j, v]) + abs(points[k, u]) + abs(points[k, v])
    if not size < np.inf:
        return 0
    return orient2d(points[i, u], points[i, v], points[j, u], points[j, v], points[k, u], points[k, v])


# --- ears --------------------------------------------------------------------------------------------------------------------

@kernel
def crosses_itself(plane, n):
    """Do two edges cross, each inside the other?"""
    for i in range(n):
        j = i + 1 if i + 1 < n else np.int64(0)
        ax, ay, bx, by = plane[i, 0], plane[i, 1], plane[j, 0], plane[j, 1]
        low_x, high_x, low_y, high_y = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
        for k in range(i + 2, n):
            m = k + 1 if k + 1 < n else np.int64(0)
            cx, cy, dx, dy = plane[k, 0], plane[k, 1], plane[m, 0], plane[m, 1]
            if (cx < low_x) & (dx < low_x) | (cx > high_x) & (dx > high_x) | (cy < low_y) & (dy < low_y) | (cy > high_y) & (dy > high_y):
                continue
            if orient2d(ax, ay, bx, by, cx, cy) * orient2d(ax, ay, bx, by, dx, dy) < 0:
                if orient2d(cx, cy, dx, dy, ax, ay) * orient2d(cx, cy, dx, dy, bx, by) < 0:
                    return True
    return False


@kernel
def is_spike(plane, p, i, q):
    """Of corners on one line: does the polygon return at i, or stay there?"""
    if same_place(plane, p, i) or same_place(plane, i, q):
        return True
    axis = 0 if plane[p, 0] != plane[i, 0] else 1
    return (plane[p, axis] > plane[i, axis]) == (plane[q, axis] > plane[i, axis])


@helper
def enters(plane, links, w, p, i, q):
    """Does an edge of w, which is at the place of i, go into the angle of p, i, q, which turns left?"""
    for side in range(2):
        z = links[w, side]
        if turn(plane, i, q, z) > 0 and turn(plane, i, z, p) > 0:
            return True
    return False


@kernel
def is_ear(plane, links, i, convex):
    """May corner i be clipped? Also stores the sign of its turn."""
    p, q = links[i, PREVIOUS], links[i, NEXT]
    sign = np.int64(turn(plane, p, i, q))
    links[i, TURN] = sign
    if sign <= 0:
        return sign == 0 and is_spike(plane, p, i, q)
    if convex:
        return True
    px, py, ix, iy, qx, qy = plane[p, 0], plane[p, 1], plane[i, 0], plane[i, 1], plane[q, 0], plane[q, 1]
    low_x, high_x = min(px, min(ix, qx)), max(px, max(ix, qx))
    low_y, high_y = min(py, min(iy, qy)), max(py, max(iy, qy))
    w = links[q, NEXT]
    while w != p:
        x, y = plane[w, 0], plane[w, 1]
        if (x >= low_x) & (x <= high_x) & (y >= low_y) & (y <= high_y):
            if same_place(plane, w, i):
                if enters(plane, links, w, p, i, q):
                    return False
            elif same_place(plane, w, p):
                if enters(plane, links, w, q, p, i):
                    return False
            elif same_place(plane, w, q):
                if enters(plane, links, w, i, q, p):
                    return False
            elif (orient2d(px, py, ix, iy, x, y) >= 0 and orient2d(ix, iy, qx, qy, x, y) >= 0
                  and orient2d(qx, qy, px, py, x, y) >= 0):
                return False
        w = links[w, NEXT]
    return True


@kernel
def clip_ears(plane, n, convex, force, corners, start, triangles, row, links, queue):
    """Clip ears until one triangle is left; with `force`, corners that are none where there is no ear. Was that possible?"""
    for i in range(n):
        links[i, PREVIOUS], links[i, NEXT], links[i, STAMP] = i - 1 if i > 0 else n - 1, i + 1 if i + 1 < n else 0, 0
    head, tail, left, rescans, i = np.int64(0), np.int64(0), n, RESCANS, np.int64(0)
    for i in range(n):
        if is_ear(plane, links, i, convex):
            queue[tail] = i
            tail += 1
    i = np.int64(0)
    while left > 3:
        found = np.int64(-1)
        while head < tail and found < 0:
            entry = queue[head]
            head += 1
            if links[entry & 0xFFFFFFFF, STAMP] == entry >> 32:
                found = entry & 0xFFFFFFFF
        if found < 0 and rescans > 0:
            rescans -= 1
            head = tail = np.int64(0)
            for _ in range(left):
                links[i, STAMP] += 1
                if is_ear(plane, links, i, convex):
                    queue[tail] = links[i, STAMP] << 32 | i
                    tail += 1
                i = links[i, NEXT]
            if tail > 0:
                continue
            rescans = 0
        if found < 0:
            if not force:
                return False
            found = least_bad(links, i, left)
        p, q = links[found, PREVIOUS], links[found, NEXT]
        write_triangle(triangles, row, corners, start, p, found, q)
        row, left, i = row + 1, left - 1, q
        links[p, NEXT], links[q, PREVIOUS], links[found, STAMP] = q, p, CLIPPED
        for k in (p, q):
            links[k, STAMP] += 1
            if is_ear(plane, links, k, convex):
                if tail == len(queue):
                    tail = compact(links, queue, head, tail)
                    head = np.int64(0)
                queue[tail] = links[k, STAMP] << 32 | k
                tail += 1
    p, q = links[i, PREVIOUS], links[i, NEXT]
    write_triangle(triangles, row, corners, start, p, i, q)
    return force or turn(plane, p, i, q) >= 0


@kernel
def compact(links, queue, head, tail):
    """Move the valid entries of the queue, one for each corner at most, to its beginning; their number."""
    kept = np.int64(0)
    for k in range(head, tail):
        if links[queue[k] & 0xFFFFFFFF, STAMP] == queue[k] >> 32:
            queue[kept] = queue[k]
            kept += 1
    return kept


@kernel
def least_bad(links, i, left):
    """The next corner that turns left; if there is none, one that does not turn; else any."""
    flat = np.int64(-1)
    for _ in range(left):
        if links[i, TURN] > 0:
            return i
        if links[i, TURN] == 0:
            flat = i
        i = links[i, NEXT]
    return flat if flat >= 0 else i
