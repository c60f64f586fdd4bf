"""Ear clipping of a polygon in the plane (Meisters 1975; O'Rourke 1998, "Computational Geometry in C", section 1.6), with exact signs.

An EAR is a corner that turns left and whose triangle contains no other corner; cutting it off leaves a polygon with a corner less. A simple
polygon that goes counterclockwise always has one, also if corners lie on a straight edge. Edges of holes are connected by bridges, which
are passed twice, so corners may be at one place: such a corner blocks a corner of a triangle if one of its edges enters the triangle there.
Corners where the polygon stays in place or returns are cut off as they are met, by triangles without an area.

- Ears are clipped in turn, so the triangles of a circle are no slivers, and no vertex has more than a few.
- Thin triangles come last, if they cannot be avoided: files round corners on a straight edge to one side or the other.

Only the neighbors of an ear are tested again: n corners take O(n²) steps, whatever they are. `plane` (n, 2) float64 has the corners. Per
corner, in `links` (n, 4) int64: the previous and the next corner that is left, the stamp of its valid entry in the queue, and the sign of
its turn. `queue` (3 n,) int64 has entries stamp << 32 | corner.
"""
import numpy as np

from pliant.core.jit import helper, routine
from pliant.geometry.predicates import orient2d

PREVIOUS, NEXT, STAMP, TURN = 0, 1, 2, 3
RESCANS = 4                                                             # all corners are tested again, if none is left in the queue
THIN = 2.0**-16                                                         # height of a triangle that is avoided, in units of its longest edge
CLIPPED = -1                                                            # the stamp of a corner that is gone


@helper
def write_triangle(triangles, row, corners, start, a, b, c):
    triangles[row, 0], triangles[row, 1], triangles[row, 2] = corners[start + a], corners[start + b], corners[start + c]


@routine
def turn(plane, i, j, k):
    """The sign of corners i, j, k: 1 if they turn left."""
    return orient2d(plane[i, 0], plane[i, 1], plane[j, 0], plane[j, 1], plane[k, 0], plane[k, 1])


@helper
def same_place(plane, i, j):
    return plane[i, 0] == plane[j, 0] and plane[i, 1] == plane[j, 1]


@helper
def is_thin(plane, i, j, k):
    """Is the triangle much longer than high, or too large or small to tell?"""
    ux, uy, vx, vy = plane[j, 0] - plane[i, 0], plane[j, 1] - plane[i, 1], plane[k, 0] - plane[i, 0], plane[k, 1] - plane[i, 1]
    wx, wy = vx - ux, vy - uy
    return not abs(ux * vy - uy * vx) > THIN * max(ux * ux + uy * uy, max(vx * vx + vy * vy, wx * wx + wy * wy))


@routine
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


@routine
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


@routine
def is_spike(plane, p, i, q):
    """Of corners on one line: does the polygon return at i, or stay there?"""
    if same_place(plane, p, i) or same_place(plane, i, q):
        return True
    axis = 0 if plane[p, 0] != plane[i, 0] else 1
    return (plane[p, axis] > plane[i, axis]) == (plane[q, axis] > plane[i, axis])


@routine
def enters(plane, links, w, p, i, q):
    """Does an edge of w, which is at the place of i, go into the angle of p, i, q, which turns left?"""
    for side in range(2):
        z = links[w, side]
        if turn(plane, i, q, z) > 0 and turn(plane, i, z, p) > 0:
            return True
    return False


@routine
def is_ear(plane, links, i, convex, thin):
    """May corner i be clipped, also if its triangle is thin? Also stores the sign of its turn."""
    p, q = links[i, PREVIOUS], links[i, NEXT]
    sign = np.int64(turn(plane, p, i, q))
    links[i, TURN] = sign
    if sign <= 0:
        return sign == 0 and is_spike(plane, p, i, q)
    if not thin and is_thin(plane, p, i, q):
        return False
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


@routine
def clip_ears(plane, n, convex, force, corners, start, triangles, row, links, queue):
    """Clip ears until one triangle is left; with `force`, corners that are none where there is no ear. Was that possible?"""
    for i in range(n):
        links[i, PREVIOUS], links[i, NEXT], links[i, STAMP] = i - 1 if i > 0 else n - 1, i + 1 if i + 1 < n else 0, 0
    head, tail, left, rescans, thin = np.int64(0), np.int64(0), n, RESCANS, False
    for i in range(n):
        if is_ear(plane, links, i, convex, thin):
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
            thin = True
            head = tail = np.int64(0)
            for _ in range(left):
                links[i, STAMP] += 1
                if is_ear(plane, links, i, convex, thin):
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
            if is_ear(plane, links, k, convex, thin):
                if tail == len(queue):
                    tail = compact(links, queue, head, tail)
                    head = np.int64(0)
                queue[tail] = links[k, STAMP] << 32 | k
                tail += 1
    p, q = links[i, PREVIOUS], links[i, NEXT]
    write_triangle(triangles, row, corners, start, p, i, q)
    return force or turn(plane, p, i, q) >= 0


@routine
def compact(links, queue, head, tail):
    """Move the valid entries of the queue, one for each corner at most, to its beginning; their number."""
    count = np.int64(0)
    for k in range(head, tail):
        if links[queue[k] & 0xFFFFFFFF, STAMP] == queue[k] >> 32:
            queue[count] = queue[k]
            count += 1
    return count


@routine
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
