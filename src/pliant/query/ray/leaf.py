"""What rays meet of one body: a batch of rays, each brought into the body's frame, and the test of a leaf.

A ray o + t d is brought to where it enters the body's box, relative to the body's origin and times its scale, and becomes float32 there:
p + s e, where e is d over its longest component, so that s is a length along that axis. However far away a ray starts, what rounds is a
share of the body's reach. With u = 2**-24, in units of the reach, a point of the ray is off by u for its start and 2 u for its direction,
and a side of a volume by 4 u for the products and differences on the way to it: 8 u along any axis are enough. RELATIVE_MARGIN is twice
that.

A leaf is looked at in two stages. `candidates` takes eight triangles at once, in float32, along the ray (Woop, Benthin and Wald 2013): with
corners x, y sheared so that the ray is the axis z, three products say on which side it passes the edges. A corner is off by less than the
slack, so where m bounds |x| and |y| of all corners, a product is off by less than 4 slack m for the corners and 4 u m² for its own
roundings: with m <= 6 reach below 8 slack m. m is the sum of the sides of the leaf's box: a triangle that is hit has no corner farther from
the ray. What is left goes to the exact test (`geometry/ray_triangle.py`), in float64, in the world.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import helper
from pliant.core.simd import ctz, maximum, minimum, movemask
from pliant.core.soa import field_lanes, load_bounds, packed_dtype, prefetch, stamp
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import in_range, point_in_range
from pliant.geometry.ray_triangle import BUFFER_SIZE, DIRECTION, HIT, ORIGIN, RESULT, UNSURE, hit_filter
from pliant.motion.rigid import transform_coordinate
from pliant.query.collide.leaf_overlap import copy_corners
from pliant.query.collide.transformed import transform_corners
from pliant.query.traverse import COUNTERS, refresh_leaf

BATCH = 64                                                              # rays that are looked at together
CLOSEST_HIT, ANY_HIT, ALL_HITS = range(3)                               # what is wanted of a ray
GOING, FULL, NEEDS_REFIT = range(3)                                     # what came of a batch; NEEDS_REFIT: a body must be refitted first
RELATIVE_MARGIN = 2.0**-20                                              # of the reach
FLOAT64_ERROR = 2.0**-48                                                # of all numbers in float64
MAX_INVERSE = 2.0**60                                                   # of 1 / e, in float32
UNBOUNDED_MARGIN = 2.0**45                                              # the slack of a ray that meets all: beyond any reach
MAX_FLOAT32 = 3e38                                                      # in float32
EIGHT = np.float32(8)

# Rows of BATCH float32 of the rays in a body's frame: start, 1 / e, start / e at either side of the slack, shears along the axes beside
# the longest, the sign of that, the slack, and how far the ray counts.
START, INV_DIR, LOW, HIGH, SHEAR_X, SHEAR_Y, SIGN, MARGIN, LIMIT, N_LOCAL_ROWS = 0, 3, 6, 9, 12, 13, 14, 15, 16, 17


def record_dtype(scalars, rows, indices):
    """The dtype of these float64, rows of float64 and int64, in whole cache lines."""
    return packed_dtype([(name, np.dtype(np.float64)) for name in scalars]
                        + [(name, np.dtype((np.float64, (n,)))) for name, n in rows.items()]
                        + [(name, np.dtype(np.int64)) for name in indices])


# One ray, and what was found so far. `best` is the largest t that still counts; d over a power of two, `grow`, has an ordinary size;
# `axis` is that of d's longest component. The fourth of a row is padding.
RAY_DTYPE = record_dtype(("t_min", "best", "u", "v", "scale"), {"o": 4, "d": 4}, ("face", "body", "axis", "in_filter_range", "ray", "mask"))
# What a batch is about: addresses of rays, of bodies and of where hits go if all are wanted; bits of the rays to look at, and how many at
# a time; what is counted. `world` has the rays once more, in rows of BATCH float64: origins, 1 / n, doubts of a start, limits in units
# of n, n, which is d / grow, and grow.
INV_STEP, START_ERROR, T_MIN, T_BEST, STEP, SCALE, N_WORLD_ROWS = 3, 6, 7, 8, 9, 12, 13
BATCH_DTYPE = record_dtype((), {},
                           ("ray_states", "bodies", "hits", "n_hits", "hit_capacity", "world", "mask", "has_masks", "kind", "exact",
                            "stale_body", "reason",
                                    "batch_size", *COUNTERS))
# A body as rays see it: addresses of its context, its place and its entry, its number, which rays see it, the box around it in the world
# (low at 0, high at 4), whether its tree has followed it, the address of skips if it is searched along them, and, if it is placed, the way
# to the world, the way back, and how far they round.
BODY_DTYPE = record_dtype(("transform_error",), {"box": 8, "matrix": 12, "inverse": 12},
                          ("context", "vertex_frame", "entry", "body_id", "mask", "transformed", "ready", "skips"))
HIT_DTYPE = np.dtype([("ray", np.int64), ("t", np.float64), ("body", np.int64), ("face", np.int64), ("u", np.float64), ("v", np.float64)])


class BatchView(NamedTuple):
    """A body, the rays of a batch that come near it, and its refresh callbacks. `local` holds rows of BATCH float32 (see above), `exact`
    a row of starts and one of units with s = t · grow · unit − start; `ray_axes` 4 · the number of the ray, and that of its longest
    axis."""
    leaves: np.ndarray
    points: np.ndarray
    flat: np.ndarray
    bodies: np.ndarray
    body_index: int
    ray_states: np.ndarray
    world: np.ndarray
    hits: np.ndarray
    batch: np.ndarray
    local: np.ndarray
    t_map: np.ndarray
    ray_axes: np.ndarray
    frame: int
    entry: int
    fill: int
    context: int


@helper
def load(view, row, j):
    """A number of ray j."""
    return view.local[row * BATCH + j]


# --- leaves ----------------------------------------------------------------------------------------------------------------------------

@helper
def edge_functions(view, i, j, axis):
    """Of the triangles of leaf i as ray j sees them, whose longest axis this is: (on which side it passes each edge, what these numbers
    may be off by, how far along the ray the corners are)."""
    leaves = view.leaves
    x, y = np.int64(axis == 0), 2 - np.int64(axis == 2)
    margin, box = load(view, MARGIN, j), load_bounds(leaves, i)
    m = (box.hix - box.lox) + (box.hiy - box.loy) + (box.hiz - box.loz) + EIGHT * margin
    error_bound = EIGHT * margin * m
    start_x, start_y, start_z = load(view, START + x, j), load(view, START + y, j), load(view, START + axis, j)
    shear_x, shear_y, sign = load(view, SHEAR_X, j), load(view, SHEAR_Y, j), load(view, SIGN, j)
    az, bz = field_lanes(leaves, i, axis) - start_z, field_lanes(leaves, i, 3 + axis) - start_z
    cz = field_lanes(leaves, i, 6 + axis) - start_z
    ax, ay = (field_lanes(leaves, i, x) - start_x) - az * shear_x, (field_lanes(leaves, i, y) - start_y) - az * shear_y
    bx, by = (field_lanes(leaves, i, 3 + x) - start_x) - bz * shear_x, (field_lanes(leaves, i, 3 + y) - start_y) - bz * shear_y
    cx, cy = (field_lanes(leaves, i, 6 + x) - start_x) - cz * shear_x, (field_lanes(leaves, i, 6 + y) - start_y) - cz * shear_y
    return (cx * by - cy * bx, ax * cy - ay * cx, bx * ay - by * ax), error_bound, (az * sign, bz * sign, cz * sign)


@helper
def leaf_candidates(view, i, j, axis):
    """Bits of the triangles of leaf i that ray j, whose longest axis this is, may hit before its limit."""
    leaves, margin = view.leaves, load(view, MARGIN, j)
    if margin >= UNBOUNDED_MARGIN:
        return np.int64(leaves[i]["used"])
    (u, v, w), error_bound, (a, b, c) = edge_functions(view, i, j, axis)
    inside = (minimum(u, minimum(v, w)) >= -error_bound) | (maximum(u, maximum(v, w)) <= error_bound)
    in_interval = (maximum(a, maximum(b, c)) >= -margin) & (minimum(a, minimum(b, c)) <= load(view, LIMIT, j) + margin)
    return movemask(inside & in_interval) & leaves[i]["used"]


@helper
def leaf_corner(leaves, leaf, c, i, flat):
    """Corner c of triangle i of a leaf."""
    v = 3 * np.int64(leaves[leaf]["corner"][c, i])
    return flat[v], flat[v + 1], flat[v + 2]


@helper
def leaf_triangle_exact(leaves, leaf, i, flat, body, ray, exact, in_filter_range):
    """The exact test of a ray and triangle i of a leaf: MISS or HIT, t, u, v. `good`: are both in the range of the filters?"""
    buffer = stack_float64(BUFFER_SIZE)
    for k in range(3):
        buffer[ORIGIN + k], buffer[DIRECTION + k] = ray["o"][k], ray["d"][k]
    if body["transformed"] != 0:
        transform_corners(leaves, leaf, i, flat, body["matrix"], buffer, 0)
    else:
        copy_corners(leaves, leaf, i, flat, buffer, 0)
    hit = call_address(exact, buffer, 2 * ray["axis"] + in_filter_range)
    return hit, buffer[RESULT], buffer[RESULT + 1], buffer[RESULT + 2]


@helper
def hit_leaf_triangle(leaves, leaf, i, flat, body, ray, exact, body_in_range):
    """Does the ray hit triangle i of a leaf? (MISS or HIT, t, u, v, whether that took more than the filter.)

    Stages round t differently, so which of them decides depends on the ray and on this triangle alone: where not all vertices of the body
    are in the range of the filters (`in_filter_range`), or where they are transformed, these three are looked at."""
    ax, ay, az = leaf_corner(leaves, leaf, 0, i, flat)
    bx, by, bz = leaf_corner(leaves, leaf, 1, i, flat)
    cx, cy, cz = leaf_corner(leaves, leaf, 2, i, flat)
    usable = ray["in_filter_range"]
    if body["transformed"] != 0:
        m = body["matrix"]
        ax, ay, az = transform_coordinate(m, 0, ax, ay, az), transform_coordinate(m, 1, ax, ay, az), transform_coordinate(m, 2, ax, ay, az)
        bx, by, bz = transform_coordinate(m, 0, bx, by, bz), transform_coordinate(m, 1, bx, by, bz), transform_coordinate(m, 2, bx, by, bz)
        cx, cy, cz = transform_coordinate(m, 0, cx, cy, cz), transform_coordinate(m, 1, cx, cy, cz), transform_coordinate(m, 2, cx, cy, cz)
    if body_in_range == 0 or body["transformed"] != 0:
        usable &= np.int64(in_range(ax) & in_range(ay) & in_range(az) & in_range(bx) & in_range(by) & in_range(bz) & in_range(cx)
                           & in_range(cy) & in_range(cz))
    if usable != 0:
        o, d = ray["o"], ray["d"]
        hit, t, u, v = hit_filter(ax, ay, az, bx, by, bz, cx, cy, cz, o[0], o[1], o[2], d[0], d[1], d[2], ray["axis"])
        if hit != UNSURE:
            return np.int64(hit), t, u, v, np.int64(0)
    hit, t, u, v = leaf_triangle_exact(leaves, leaf, i, flat, body, ray, exact, usable)
    return hit, t, u, v, np.int64(1)


@helper
def hit_triangle(t, axis, body_in_range, usable, exact):
    """The same for a ray and a triangle in a buffer (`geometry/ray_triangle.py`); `good`: is the ray in the range of the filters?"""
    if body_in_range == 0:
        usable &= np.int64(point_in_range(t, 0) & point_in_range(t, 3) & point_in_range(t, 6))
    if usable != 0:
        hit, ray_t, u, v = hit_filter(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[ORIGIN], t[ORIGIN + 1], t[ORIGIN + 2],
                                      t[DIRECTION], t[DIRECTION + 1], t[DIRECTION + 2], axis)
        if hit != UNSURE:
            return np.int64(hit), ray_t, u, v, np.int64(0)
    hit = call_address(exact, t, 2 * axis + usable)
    return hit, t[RESULT], t[RESULT + 1], t[RESULT + 2], np.int64(1)


@helper
def is_closer(ray, t, body_id, face):
    """Is this hit nearer than the best, or as near with a smaller name?"""
    if t != ray["best"]:
        return t < ray["best"]
    return (ray["face"] < 0) | (body_id < ray["body"]) | ((body_id == ray["body"]) & (face < ray["face"]))


@helper
def round_up_float32(x):
    """A float32 that is not below x; the largest if x is none (where products have overflowed)."""
    return np.float32(x * (1 + 2.0**-22) if x < 0.9 * MAX_FLOAT32 else MAX_FLOAT32)


@helper
def prefetch_corners(view, leaf, mask):
    """Start loading the corners of these triangles of a leaf: for a ray of its own way that is the longest wait."""
    while mask != 0:
        i, mask = ctz(mask), mask & (mask - 1)
        for c in range(3):
            prefetch(view.flat, 3 * np.int64(view.leaves[leaf]["corner"][c, i]))


@helper
def test_candidates(view, in_filter_range, leaf, mask, j):
    """The exact test of ray j and these triangles of a leaf; GOING, or FULL."""
    leaves, body, batch = view.leaves, view.bodies[view.body_index], view.batch[0]
    ray, stop = view.ray_states[view.ray_axes[j] >> 2], np.int64(GOING)
    while mask != 0:
        i, mask = ctz(mask), mask & (mask - 1)
        hit, t, u, v, exact_used = hit_leaf_triangle(leaves, leaf, i, view.flat, body, ray, batch["exact"], in_filter_range)
        batch["n_exact"] += exact_used
        face, body_id = np.int64(leaves[leaf]["face"][i]), body["body_id"]
        if hit != HIT or t < ray["t_min"] or not is_closer(ray, t, body_id, face):
            continue
        if batch["kind"] == ALL_HITS:
            if batch["n_hits"] == batch["hit_capacity"]:
                stop = np.int64(FULL)
                break
            record = view.hits[batch["n_hits"]]
            record["ray"], record["t"], record["body"], record["face"] = ray["ray"], t, body_id, face
            record["u"], record["v"] = u, v
            batch["n_hits"] += 1
            continue
        ray["best"], ray["u"], ray["v"], ray["face"], ray["body"] = t, u, v, face, body_id
        if batch["kind"] == ANY_HIT:                                    # nothing more counts
            ray["best"], view.local[LIMIT * BATCH + j] = -np.inf, -MAX_FLOAT32
            view.world[T_BEST * BATCH + (view.ray_axes[j] >> 2)] = -np.inf
            break
        view.world[T_BEST * BATCH + (view.ray_axes[j] >> 2)] = t * ray["scale"]
        if load(view, MARGIN, j) >= UNBOUNDED_MARGIN:
            continue
        limit = round_up_float32(t * ray["scale"] * view.t_map[BATCH + j] - view.t_map[j]) + load(view, MARGIN, j)
        view.local[LIMIT * BATCH + j] = minimum(load(view, LIMIT, j), limit)
    return stop


@helper
def prefetch_points(view, leaf):
    """Start loading what a leaf will be filled from, if it is stale: its record is there already."""
    if stamp(view.leaves, leaf) != view.frame:
        for c in range(3):
            for i in range(8):
                prefetch(view.points, 4 * np.int64(view.leaves[leaf]["corner"][c, i]))


@helper
def refresh_view_leaf(view, leaf):
    refresh_leaf(view.leaves, leaf, view.frame, view.fill, view.context)
