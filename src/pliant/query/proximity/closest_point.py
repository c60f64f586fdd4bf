"""One tree, many points: which face is nearest to each? Branch and bound, nearest first, a point at a time.

Points come in an order that keeps neighbours together (`point_batch.py`), so the surface is no farther than the nearest point of the one
before: most of the tree is dropped at once, and what is left lies in the caches. Volumes and triangles are looked at in float32, by bounds
(`geometry/point_bounds.py`); what these leave over is measured in float64, in the world (`geometry/point_triangle.py`), when nothing nearer
is left.

Errors. A point is brought into the frame of the body, relative to its origin and times its scale. A coordinate is off by `point_error`, and
a corner by E of the body's reach: `base` is four times the sum. Lengths in float32 are off by ROUNDING of themselves; those whose squares
are subnormal, below 2**-62, by as much as they are, and a direction that is divided by such a length may be too long: LEAST is above that.

Overflow. Bounds of triangles are products of two distances from the point and two sides of a leaf, 36 (D S)² (`geometry/point_bounds.py`),
and must stay below 2**126. D <= size + R and S <= 2 R, where the point is at most `size` from the origin along each axis, and R is the
reach, both times the scale: so (size + R) R < MAX_PRODUCT. Beyond, the point is blind: it is measured against every face.
"""
import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz, extract, minimum, movemask, popcount, reduce_min
from pliant.core.soa import lanes, load_bounds
from pliant.core.sort_keys import key_index, key_value, pack_key
from pliant.core.stack import stack_float32, stack_float64, stack_int64
from pliant.geometry.distance_bounds import ROUNDING, ZERO, min_along
from pliant.geometry.point_bounds import INF, bound_point_distances
from pliant.geometry.point_triangle import DISTANCE, NEAREST, POINT, WEIGHTS
from pliant.query.proximity.point_batch import put_triangle
from pliant.query.traverse import prefetch_child, refresh_leaf, refresh_node
from pliant.volume.aabb import SCALE_UP, Box
from pliant.volume.protocol import MIN_NORMAL, separation

ROUND_DOWN = 1 - 2.0**-40                                               # of a distance: more than what rounds in float64
MIN_SQUARED_LENGTH = np.float32(2.0**-100)                              # of a squared way
EPS32_2, FOUR, HALF = 2.0**-23, 4.0, np.float32(0.5)                    # of a coordinate in float32, twice; see above
MAX_CANDIDATES = 64                                                     # candidates of a point; its stack is as in query/ray/single.py
MAX_FLOAT32, MIN_ERROR = 3e38, 2.0**-48                                 # in float32; of `base`
MAX_COORDINATE, MAX_PRODUCT = 2.0**60, 2.0**59                          # of a point that is not blind: squares and products are finite

@helper
def local_radius(distance, context):
    """A distance in the world, times the scale, as a length in the frame of the body, in float32, not less."""
    return np.float32(min(distance * context["stretch"], MAX_FLOAT32)) * SCALE_UP + MIN_NORMAL


@helper
def box_distance(box, x, y, z):
    """How far a point is from a box (8,) in the world, at least; less than a distance measured to what is in it, whatever rounds."""
    p, q, r = max(box[0] - x, max(x - box[4], 0.0)), max(box[1] - y, max(y - box[5], 0.0)), max(box[2] - z, max(z - box[6], 0.0))
    return max(p, max(q, r)) * ROUND_DOWN


@helper
def measure_triangle(leaves, triangle, flat, context, t, r, answers):
    """Measure the point at t[POINT] against triangle name & 7 of leaf name >> 3; take it if it is nearer than what point r has."""
    leaf, k = triangle >> 3, triangle & 7
    call_address(context["exact_entry"], t, put_triangle(leaves, leaf, k, flat, context, t))
    distance, face, body_id = t[DISTANCE], np.int64(leaves[leaf]["face"][k]), context["body_id"]
    best = answers.distance[r]
    wins_tie = distance == best and (body_id < answers.body[r] or answers.body[r] < 0
                                     or (body_id == answers.body[r] and face < answers.face[r]))
    if distance < best or wins_tie:
        answers.distance[r], answers.face[r], answers.body[r] = distance, face, body_id
        for i in range(3):
            answers.points[3 * r + i] = t[NEAREST + i]
        answers.uv[2 * r], answers.uv[2 * r + 1] = t[WEIGHTS], t[WEIGHTS + 1]


@helper
def projected_gap(box, triangles, x, y, z):
    """(How far it is from a point to the first corner of a leaf along the way w to the middle of its box, times |w|; |w|².)"""
    p, q, r = (box.lox + box.hix) * HALF - x, (box.loy + box.hiy) * HALF - y, (box.loz + box.hiz) * HALF - z
    return reduce_min(min_along(triangles, p, q, r)) - (p * x + (q * y + r * z)), p * p + (q * q + r * r)


@helper
def leaf_may_be_near(box, triangles, x, y, z, limit):
    """May a leaf be nearer to a point than the square root of the limit? Along the way w to the middle of its box, how far is it to its
    first corner? In units of |w|, and squared: no roots. A leaf is nearly flat, which its box is not: of those that are near enough by
    their boxes this leaves one of seven.

    Errors, with e = 2**-24, in units of |w|: the sum of three products is off by less than 3 e of Σ |w_k c_k| <= |w| |c|, for a corner c
    5.2 e of the reach, for the point 5.2 e of its size; corners and the point themselves by 1.8 e of the same; the limit allows for
    16 e (`base`, twice). Where |w|² is so small that it has lost digits, nothing is said; where other squares have, TINY is enough."""
    gap, squared_length = projected_gap(box, triangles, x, y, z)
    return not (gap > ZERO and gap * gap > limit * squared_length * SCALE_UP + MIN_NORMAL and squared_length > MIN_SQUARED_LENGTH)


@kernel
def search_points(nodes, leaves, flat, body, points, order, begin, end, answers):
    """What is nearest in one body to the points order[begin : end], unless something nearer is known."""
    asked = body[0]
    frame, entry, fill, context = asked["frame"], asked["entry"], asked["fill"], asked["context"]
    origin, inverse, scale = asked["origin"], asked["inverse"], asked["scale"]
    t, stack, candidates, lower_bounds = stack_float64(20), stack_int64(912), stack_int64(64), stack_float32(64)
    n_v, n_p, n_u, n_exact = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    has_last, last_x, last_y, last_z = False, 0.0, 0.0, 0.0             # a point of the surface, but for the rounding of its coordinates
    for at in range(begin, end):
        r = order[at]
        x, y, z = points[3 * r], points[3 * r + 1], points[3 * r + 2]
        if not abs(x) + abs(y) + abs(z) < np.inf or box_distance(asked["box"], x, y, z) > answers.distance[r]:
            continue
        t[POINT], t[POINT + 1], t[POINT + 2] = x, y, z
        radius = local_radius(answers.distance[r] * scale, asked)
        if has_last:
            p, q, o = (x - last_x) * scale, (y - last_y) * scale, (z - last_z) * scale
            rounding = 2 * asked["error_bound"] + (abs(last_x) + abs(last_y) + abs(last_z)) * 2.0**-50
            radius = min(radius, local_radius(np.sqrt(p * p + q * q + o * o) * (1 + 2.0**-40) + rounding * scale, asked))
        if asked["transformed"] != 0:
            x, y, z = x - inverse[3], y - inverse[7], z - inverse[11]
            x, y, z = (inverse[0] * x + (inverse[1] * y + inverse[2] * z), inverse[4] * x + (inverse[5] * y + inverse[6] * z),
                       inverse[8] * x + (inverse[9] * y + inverse[10] * z))
        x, y, z = (x - origin[0]) * scale, (y - origin[1]) * scale, (z - origin[2]) * scale
        size = max(abs(x), max(abs(y), abs(z)))
        reach = asked["reach"] * scale
        blind = not (size < MAX_COORDINATE and (size + reach) * reach < MAX_PRODUCT)
        point_error = np.float32(min(EPS32_2 * size + asked["error_bound"] * scale, MAX_FLOAT32))
        base_error = np.float32(min(FOUR * (point_error + EPS32_2 * reach) + MIN_ERROR, MAX_FLOAT32))
        px, py, pz = np.float32(x), np.float32(y), np.float32(z)
        point_box = Box(px - point_error, py - point_error, pz - point_error, px + point_error, py + point_error, pz + point_error)
        if blind:
            radius = INF
        n, top, current = 0, 0, np.int64(0)
        while True:
            threshold = radius * SCALE_UP + (base_error + base_error)
            limit = threshold * threshold * SCALE_UP + MIN_NORMAL
            if current >= 0:
                n_u += refresh_node(nodes, current, frame, entry, context)
                count = np.int64(nodes[current]["count"])
                all_children = (np.int64(1) << count) - 1
                n_v += count
                uppers = separation(lanes(nodes, current), point_box)
                mask = all_children if blind else movemask(uppers <= limit) & all_children
                if mask != 0:                                           # the nearest is next, the others wait as they come
                    nearest_mask = np.int64(0) if blind else movemask(uppers <= reduce_min(uppers)) & mask
                    k = ctz(nearest_mask if nearest_mask != 0 else mask)
                    mask &= ~(np.int64(1) << k)
                    next_child = np.int64(nodes[current]["child"][k])
                    while mask != 0:
                        j, mask = ctz(mask), mask & (mask - 1)
                        child = np.int64(nodes[current]["child"][j])
                        prefetch_child(nodes, leaves, child)
                        stack[top] = pack_key(np.float32(0) if blind else extract(uppers, j), child)
                        top += 1
                    prefetch_child(nodes, leaves, next_child)
                    current = next_child
                    continue
            else:
                leaf = ~current
                refresh_leaf(leaves, leaf, frame, fill, context)
                box, used = load_bounds(leaves, leaf), np.int64(leaves[leaf]["used"])
                if blind:
                    n_p += popcount(used)
                    n_exact += popcount(used)
                    while used != 0:
                        k, used = ctz(used), used & (used - 1)
                        measure_triangle(leaves, leaf << 3 | k, flat, asked, t, r, answers)
                elif leaf_may_be_near(box, lanes(leaves, leaf), px, py, pz, limit):
                    n_p += popcount(used)
                    lowers, uppers = bound_point_distances(lanes(leaves, leaf), px, py, pz)
                    margin = base_error + ROUNDING * ((box.hix - box.lox) + ((box.hiy - box.loy) + (box.hiz - box.loz)))
                    radius = minimum(radius, reduce_min(uppers) * SCALE_UP + margin)
                    mask = movemask(lowers <= radius * SCALE_UP + margin) & used
                    while mask != 0:
                        k, mask = ctz(mask), mask & (mask - 1)
                        if n == MAX_CANDIDATES:                         # keep what still counts; if that is all, measure it
                            n = drop_far_candidates(candidates, lower_bounds, n, radius * SCALE_UP + base_error)
                            if n == MAX_CANDIDATES:
                                for i in range(n):
                                    measure_triangle(leaves, candidates[i], flat, asked, t, r, answers)
                                n = 0
                        candidates[n], lower_bounds[n] = leaf << 3 | k, extract(lowers, k) - margin
                        n += 1
            threshold = radius * SCALE_UP + base_error
            limit = threshold * threshold * SCALE_UP + MIN_NORMAL
            has_next = False
            while top > 0 and not has_next:
                top -= 1
                has_next = key_value(stack[top]) <= limit
            if not has_next:
                break
            current = key_index(stack[top])
            prefetch_child(nodes, leaves, current)
        for i in range(n):
            if lower_bounds[i] <= radius * SCALE_UP:
                measure_triangle(leaves, candidates[i], flat, asked, t, r, answers)
                n_exact += 1
        if answers.body[r] == asked["body_id"]:
            has_last, last_x, last_y, last_z = True, answers.points[3 * r], answers.points[3 * r + 1], answers.points[3 * r + 2]
    asked["n_v"] += n_v
    asked["n_p"] += n_p
    asked["n_u"] += n_u
    asked["n_exact"] += n_exact


@helper
def drop_far_candidates(candidates, lower_bounds, n, radius):
    """Drop candidates that are too far; how many are left."""
    count = 0
    for i in range(n):
        if lower_bounds[i] <= radius:
            candidates[count], lower_bounds[count] = candidates[i], lower_bounds[i]
            count += 1
    return count
