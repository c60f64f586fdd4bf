"""One BVH, many points: the winding number of a closed surface around each, by the faces above it.

Points come in an order that keeps neighbours together. If no face meets the box around 64 of them, they share the winding number of the
first; else the same is tried for eight, and then each point is on its own. Away from the surface this leaves one point of 64.

Boxes and triangles are compared with the vertical line in float32. A triangle that the line passes for certain, and above the point for
certain, counts at once; what is left, a few triangles in a hundred points, goes to the exact test (`geometry/inside.py`), in float64, in
the world.

In the frame of a transformed body the line leans. It runs along `direction`, whose longest component, on axis k, is ±1; shears make it the
axis, as for rays (`query/ray/leaf.py`).

Errors. A coordinate of the point, or of a corner, is off by less than an eighth of the margin (`Line`), which is four times that of
`closest_point.py` for a line that leans. A sheared coordinate is a difference of two, and rounds by less than as much again: it is off by
less than the margin. A product of two of them, each at most m, is off by less than 2 margin m + margin² for these and 3 · 2**-24 m² for
itself, and m is at most 6 reach, 2**-20 of which is below the margin: the difference of two products by less than 8 margin (m + margin).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import ANY, generic
from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz, fabs, maximum, minimum, movemask, popcount
from pliant.core.soa import field_lanes, lanes, load_bounds
from pliant.core.stack import stack_float64, stack_int64
from pliant.geometry.inside import ON_FACE, POINT, crossing
from pliant.query.proximity.closest_point import EPS32_2, MAX_COORDINATE, MIN_ERROR
from pliant.query.proximity.point_batch import put_triangle
from pliant.query.traverse import prefetch_child, refresh_leaf, refresh_node
from pliant.volume.aabb import Box
from pliant.volume.protocol import Ray, overlap, ray_interval

EIGHT, ZERO, INF = np.float32(8), np.float32(0), np.float32(np.inf)
LARGE_GROUP, GROUP_RATIO = 64, 8                                        # points that are tried together: 64, then 8
ON_SURFACE = np.iinfo(np.int64).min                                     # instead of a winding number
MAX_INVERSE = np.float32(2.0**60)                                       # of 1 / direction
FAR = np.float32(2.0**32)                                               # beyond the end of every body along the line


class Line(NamedTuple):
    """The upper half of the vertical line through a point, in the frame of the body, in float32: the point, 1 / direction, shears along
    the axes after `axis`, which is that of the longest component, the sign of that, and the margin. Does the line lean?"""
    x: float
    y: float
    z: float
    inv_x: float
    inv_y: float
    inv_z: float
    shear_1: float
    shear_2: float
    axis: int
    sign: float
    margin: float
    leans: int


@generic("like")
def children_on_line(like, nodes, i, line):
    """Bits of the children of node i that the line may pass. `like` is a volume of their type."""


@helper
def on_leaning_line(nodes, i, line):
    near, far = ray_interval(lanes(nodes, i), Ray(line.x, line.y, line.z, line.inv_x, line.inv_y, line.inv_z, ZERO, FAR, line.margin))
    return movemask(near <= far)


@children_on_line.register(ANY)
def _(like, nodes, i, line):
    return on_leaning_line(nodes, i, line)


@children_on_line.register(Box)
def _(like, nodes, i, line):
    if line.leans != 0:
        return on_leaning_line(nodes, i, line)
    s = line.margin
    return movemask((field_lanes(nodes, i, 0) <= line.x + s) & (field_lanes(nodes, i, 3) >= line.x - s)
                    & (field_lanes(nodes, i, 1) <= line.y + s) & (field_lanes(nodes, i, 4) >= line.y - s)
                    & (field_lanes(nodes, i, 5) >= line.z - s))


@helper
def faces_above(leaves, leaf, line):
    """(what faces of a leaf that the line certainly passes above the point add to the winding number, bits of those that are unsure)."""
    k, margin = line.axis, line.margin
    i, j = (k + 1) % 3, (k + 2) % 3
    start = line.x if k == 0 else line.y if k == 1 else line.z
    start_1, start_2 = line.x if i == 0 else line.y if i == 1 else line.z, line.x if j == 0 else line.y if j == 1 else line.z
    az, bz, cz = field_lanes(leaves, leaf, k) - start, field_lanes(leaves, leaf, 3 + k) - start, field_lanes(leaves, leaf, 6 + k) - start
    ax, ay = field_lanes(leaves, leaf, i) - start_1, field_lanes(leaves, leaf, j) - start_2
    bx, by = field_lanes(leaves, leaf, 3 + i) - start_1, field_lanes(leaves, leaf, 3 + j) - start_2
    cx, cy = field_lanes(leaves, leaf, 6 + i) - start_1, field_lanes(leaves, leaf, 6 + j) - start_2
    if line.leans != 0:
        ax, ay = ax - az * line.shear_1, ay - az * line.shear_2
        bx, by = bx - bz * line.shear_1, by - bz * line.shear_2
        cx, cy = cx - cz * line.shear_1, cy - cz * line.shear_2
    largest = maximum(maximum(fabs(ax), fabs(ay)), maximum(maximum(fabs(bx), fabs(by)), maximum(fabs(cx), fabs(cy))))
    error = (largest + margin) * (EIGHT * margin)
    u, v, w = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    low, high = minimum(u, minimum(v, w)), maximum(u, maximum(v, w))
    az, bz, cz = az * line.sign, bz * line.sign, cz * line.sign
    used = np.int64(leaves[leaf]["used"])
    unsure = movemask(((low >= -error) | (high <= error)) & (maximum(az, maximum(bz, cz)) >= -margin)) & used
    if unsure == 0:
        return np.int64(0), unsure
    above = movemask(minimum(az, minimum(bz, cz)) > margin) & unsure
    up, down = movemask(low > error) & above, movemask(high < -error) & above
    total = popcount(up) - popcount(down)
    return total if line.sign > ZERO else -total, unsure & ~(up | down)


@helper
def in_box(box, x, y, z):
    """Is a point in a box (8,) in the world? NaN is not."""
    return (x >= box[0]) & (x <= box[4]) & (y >= box[1]) & (y <= box[5]) & (z >= box[2]) & (z <= box[6])


@helper
def to_frame(asked, x, y, z):
    """A point of the world in the frame of the body, relative to its origin and times its scale, in float64."""
    origin, inverse, scale = asked["origin"], asked["inverse"], asked["scale"]
    if asked["transformed"] != 0:
        x, y, z = x - inverse[3], y - inverse[7], z - inverse[11]
        x, y, z = (inverse[0] * x + (inverse[1] * y + inverse[2] * z), inverse[4] * x + (inverse[5] * y + inverse[6] * z),
                   inverse[8] * x + (inverse[9] * y + inverse[10] * z))
    return (x - origin[0]) * scale, (y - origin[1]) * scale, (z - origin[2]) * scale


@helper
def margin_of(asked, size):
    """The margin of a point with no larger coordinate than `size`, in its body's frame; infinite where float32 says nothing."""
    size += asked["reach"] * asked["scale"]
    if not size < MAX_COORDINATE:
        return np.float32(np.inf)
    return np.float32((EPS32_2 * size + asked["error_bound"] * asked["scale"]) * (16.0 if asked["transformed"] != 0 else 4.0) + MIN_ERROR)


@helper
def box_of_points(asked, points, order, begin, end):
    """A box around points in the frame of the body, margins included; infinite where float32 says nothing."""
    low_x = low_y = low_z = np.inf
    high_x = high_y = high_z = -np.inf
    for at in range(begin, end):
        r = 3 * order[at]
        x, y, z = to_frame(asked, points[r], points[r + 1], points[r + 2])
        low_x, low_y, low_z = min(low_x, x), min(low_y, y), min(low_z, z)
        high_x, high_y, high_z = max(high_x, x), max(high_y, y), max(high_z, z)
    s = margin_of(asked, max(max(max(high_x, -low_x), max(high_y, -low_y)), max(high_z, -low_z)))
    return Box(np.float32(low_x) - s, np.float32(low_y) - s, np.float32(low_z) - s,
               np.float32(high_x) + s, np.float32(high_y) + s, np.float32(high_z) + s)


@helper
def push_children(nodes, leaves, i, mask, stack, top):
    """Put the children of node i in the mask on the stack; the new top."""
    while mask != 0:
        k, mask = ctz(mask), mask & (mask - 1)
        stack[top] = np.int64(nodes[i]["child"][k])
        prefetch_child(nodes, leaves, stack[top])
        top += 1
    return top


@helper
def faces_meet_box(leaves, leaf, box):
    """May a face of the leaf meet the box? By the box around each face."""
    a = lanes(leaves, leaf)
    separated = ((minimum(a.ax, minimum(a.bx, a.cx)) > box.hix) | (maximum(a.ax, maximum(a.bx, a.cx)) < box.lox)
                 | (minimum(a.ay, minimum(a.by, a.cy)) > box.hiy) | (maximum(a.ay, maximum(a.by, a.cy)) < box.loy)
                 | (minimum(a.az, minimum(a.bz, a.cz)) > box.hiz) | (maximum(a.az, maximum(a.bz, a.cz)) < box.loz))
    return np.int64(leaves[leaf]["used"]) & ~movemask(separated) != 0


@helper
def is_clear(nodes, leaves, asked, box, stack):
    """Does no face meet the box? Then the winding number is the same for all points in it."""
    if not box.hix - box.lox < np.inf:
        return False
    frame, entry, fill, context = asked["frame"], asked["entry"], asked["fill"], asked["context"]
    top, n_v, n_u, n_p, clear = np.int64(1), np.int64(0), np.int64(0), np.int64(0), True
    stack[0] = 0
    while top > 0:
        top -= 1
        current = stack[top]
        if current >= 0:
            n_u += refresh_node(nodes, current, frame, entry, context)
            count = np.int64(nodes[current]["count"])
            n_v += count
            mask = movemask(overlap(lanes(nodes, current), box)) & ((np.int64(1) << count) - 1)
            top = push_children(nodes, leaves, current, mask, stack, top)
        else:
            refresh_leaf(leaves, ~current, frame, fill, context)
            n_p += popcount(np.int64(leaves[~current]["used"]))
            if faces_meet_box(leaves, ~current, box):
                clear, top = False, np.int64(0)
    asked["n_v"] += n_v
    asked["n_u"] += n_u
    asked["n_p"] += n_p
    return clear


@kernel
def mark_clear(nodes, leaves, body, points, order, begin, end, spans):
    """Find the points that share a winding number, among order[begin : end]: those from position `at` on whose box meets no face, as many
    as spans[at]. At first that is LARGE_GROUP, or what is left by the other faces of a closed surface."""
    asked, stack, at = body[0], stack_int64(912), begin
    while at < end:
        size = np.int64(spans[at])
        last = min(at + size, end)
        if size > 1 and not is_clear(nodes, leaves, asked, box_of_points(asked, points, order, at, last), stack):
            for i in range(at, last):
                spans[i] = size // GROUP_RATIO
            if size > GROUP_RATIO:
                continue
        at = last


@helper
def winding_by_line(nodes, leaves, flat, asked, line, t, stack):
    """The winding number around the point at t[POINT], in the world, of which `line` goes up; or ON_SURFACE."""
    frame, entry, fill, context = asked["frame"], asked["entry"], asked["fill"], asked["context"]
    n_v, n_p, n_u, n_exact = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    winding, top, blind = np.int64(0), np.int64(1), line.margin == INF
    stack[0] = 0
    while top > 0:
        top -= 1
        current = stack[top]
        if current >= 0:
            n_u += refresh_node(nodes, current, frame, entry, context)
            count = np.int64(nodes[current]["count"])
            n_v += count
            mask = (np.int64(1) << count) - 1
            if not blind:
                mask &= children_on_line(load_bounds(nodes, current), nodes, current, line)
            top = push_children(nodes, leaves, current, mask, stack, top)
            continue
        leaf = ~current
        refresh_leaf(leaves, leaf, frame, fill, context)
        used = np.int64(leaves[leaf]["used"])
        n_p += popcount(used)
        if blind:
            total, unsure = np.int64(0), used
        else:
            total, unsure = faces_above(leaves, leaf, line)
        winding += total
        while unsure != 0:
            k, unsure = ctz(unsure), unsure & (unsure - 1)
            put_triangle(leaves, leaf, k, flat, asked, t)
            n_exact += 1
            found = crossing(t)
            if found == ON_FACE:
                winding, unsure, top = np.int64(ON_SURFACE), np.int64(0), np.int64(0)
            else:
                winding += found
    asked["n_v"] += n_v
    asked["n_p"] += n_p
    asked["n_u"] += n_u
    asked["n_exact"] += n_exact
    return winding


@kernel
def count_crossings(nodes, leaves, flat, body, points, order, begin, end, spans, direction, windings):
    """windings[r] = the winding number around point r, or ON_SURFACE, for r in order[begin : end], once for as many as `spans` says
    (`mark_clear`). `body` (1,) is a BODY_CONTEXT, the vertical direction (3,) float64 is in its frame. Of an open surface, what it adds to
    the winding number of a closed one."""
    asked = body[0]
    box, leans = asked["box"], np.int64(asked["transformed"])
    t, stack = stack_float64(20), stack_int64(912)
    axis = np.int64(0) if abs(direction[0]) == 1.0 else np.int64(1) if abs(direction[1]) == 1.0 else np.int64(2)
    sign = np.float32(direction[axis])
    shear_1, shear_2 = np.float32(direction[(axis + 1) % 3] * direction[axis]), np.float32(direction[(axis + 2) % 3] * direction[axis])
    inv_x, inv_y, inv_z = clamped_inverse(direction[0]), clamped_inverse(direction[1]), clamped_inverse(direction[2])
    at = begin
    while at < end:
        last = min(at + spans[at], end)
        r = order[at]
        x, y, z = points[3 * r], points[3 * r + 1], points[3 * r + 2]
        winding = np.int64(0)
        if in_box(box, x, y, z):
            t[POINT], t[POINT + 1], t[POINT + 2] = x, y, z
            x, y, z = to_frame(asked, x, y, z)
            line = Line(np.float32(x), np.float32(y), np.float32(z), inv_x, inv_y, inv_z, shear_1, shear_2, axis, sign,
                        margin_of(asked, max(abs(x), max(abs(y), abs(z)))), leans)
            winding = winding_by_line(nodes, leaves, flat, asked, line, t, stack)
        for i in range(at, last):
            windings[order[i]] = winding
        at = last


@helper
def clamped_inverse(x):
    """1 / x in float32, not beyond MAX_INVERSE."""
    return np.float32(min(max(1.0 / x, -MAX_INVERSE), MAX_INVERSE)) if x != 0.0 else MAX_INVERSE
