"""Many rays, batch after batch, each into all the bodies that it may meet, nearest first (`query/ray/top_level.py`).

A body is queried through its entry, whatever its volume type. A body whose BVH has not been refitted yet is not queried: the loop stops,
says which it needs, and is resumed; so what no ray comes near is never refitted.
"""
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer, call_address, floats_at
from pliant.core.jit import DISABLED, helper, kernel
from pliant.core.simd import ctz, extract, fabs, load4, maximum, movemask, store4, transpose4x3, vector4
from pliant.core.soa import load_bounds, prefetch
from pliant.core.stack import stack_float32, stack_float64, stack_int64
from pliant.geometry.predicates import lanes_in_range
from pliant.geometry.ray_triangle import hit_exact, ldexp
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.rigid import invert_rotation, rounding_bound, world_bounds
from pliant.query.ray.leaf import (
    ALL_HITS,
    BATCH,
    BATCH_DTYPE,
    BODY_DTYPE,
    GOING,
    HIT_DTYPE,
    INV_STEP,
    N_LOCAL_ROWS,
    N_WORLD_ROWS,
    NEEDS_REFIT,
    RAY_DTYPE,
    START_ERROR,
    STEP,
    BatchView,
)
from pliant.query.ray.packet import is_coherent, trace_packet
from pliant.query.ray.single import trace_single
from pliant.query.ray.stackless import trace_stackless
from pliant.query.ray.top_level import sort_bodies, sort_bodies_by_tree
from pliant.query.ray.transform import dominant_axis, inverse_step, shears_of, start_error, transform_rays
from pliant.refit.leaf_fill import CONTEXT
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

MAX_SORTED_BODIES, TILE = 32, 8                                         # bodies; rays, whose square is BATCH
MAX_UNSCALED = 2.0**20
FIRST_BATCH, EXACT_COST, MAX_RAY_WORK, CALL_WORK = 8, 256, 1 << 16, 1 << 22  # rays; of an exact test; work for a ray, and for a call
LOCAL_SIZE, T_MAP_SIZE = N_LOCAL_ROWS * BATCH, 2 * BATCH


class Rays(NamedTuple):
    """Flat origins and directions, limits and masks; those with a step of 0 are the same for all rays. If they are those of a picture,
    `width` says how many are in a row, a multiple of TILE, and they are taken in tiles; else it is 0."""
    origins: np.ndarray
    directions: np.ndarray
    t_min: np.ndarray
    t_max: np.ndarray
    masks: np.ndarray
    strides: np.ndarray                                                 # (5,) int64
    n: int
    width: int


class RayHits(NamedTuple):
    """What goes back: (n,), (n,), (n,), (2 n,)."""
    t: np.ndarray
    face: np.ndarray
    body: np.ndarray
    uv: np.ndarray


class BatchArrays(NamedTuple):
    """JIT off: what the addresses in a BATCH_DTYPE stand for."""
    batch: np.ndarray
    ray_states: np.ndarray
    bodies: np.ndarray
    hits: np.ndarray
    world: np.ndarray


@kernel
def set_body_records(bodies, columns, boxes, transforms):
    """Set the records of bodies: `columns` (n, 6) int64 are context, motion, entry, number, mask and whether the BVH is up to date; the
    boxes (n, 8) are those of their own frames; transforms (n, 12), or none, are 0 for bodies that have none."""
    corners = stack_float64(6)
    for k in range(len(bodies)):
        body = bodies[k]
        body["context"], body["vertex_frame"], body["entry"] = columns[k, 0], columns[k, 1], columns[k, 2]
        body["body_id"], body["mask"], body["ready"] = columns[k, 3], columns[k, 4], columns[k, 5]
        box, moved = boxes[k], False
        for i in range(12 if len(transforms) > 0 else 0):
            moved |= transforms[k, i] != 0.0
        if not moved:
            for i in range(8):
                body["box"][i] = box[i]
            continue
        transform = transforms[k]
        world_bounds(transform, box, corners)
        for i in range(3):
            body["box"][i], body["box"][4 + i] = corners[i], corners[3 + i]
        for i in range(12):
            body["matrix"][i], body["inverse"][i] = transform[i], 0.0
        invert_rotation(transform, body["inverse"])
        body["transform_error"], body["transformed"] = rounding_bound(transform, box), 1


@helper
def tile_at(r, n, width):
    """(the first ray of the batch at r of a picture, the way from there to the next row): tiles from left to right, then the next TILE
    rows; the last rows as they come."""
    band = r // (TILE * width)
    if (band + 1) * TILE * width > n:
        return r, np.int64(TILE)
    return band * TILE * width + (r - band * TILE * width) // TILE, width


@helper
def ray_at(begin, stride, i):
    """Ray i of a batch."""
    return begin + i // TILE * stride + i % TILE


@helper
def prefetch_tile(rays, results, begin, step):
    """Start loading what belongs to a tile: its rows are far from each other."""
    for i in range(TILE):
        r = min(begin + i * step, rays.n - TILE)
        for k in range(0, 3 * TILE, 8):
            prefetch(rays.origins, r * rays.strides[0] + (k if rays.strides[0] != 0 else 0))
            prefetch(rays.directions, r * rays.strides[1] + (k if rays.strides[1] != 0 else 0))
        prefetch(results.t, r)
        prefetch(results.face, r)
        prefetch(results.body, r)
        prefetch(results.uv, 2 * r)
        prefetch(results.uv, 2 * r + TILE)


@helper
def load_xyz(flat, i):
    """Lanes flat[i : i + 3], and one that is no one's."""
    return vector4(flat[i], flat[i + 1], flat[i + 2], 0.0)


@helper
def put_xyz(world, row, j, a, b, c):
    """Write of the rays j, j + 1, … the rows number, number + 1, number + 2."""
    store4(world, row * BATCH + j, a)
    store4(world, (row + 1) * BATCH + j, b)
    store4(world, (row + 2) * BATCH + j, c)


@helper
def normalize_directions(world, j, x, y, z):
    """Write four directions of any size, over powers of two that make them at least 1 and less than 2 long, as the steps j, j + 1, …; the
    powers. So a parameter of a step is no larger than the way to where it leads, which is finite."""
    scale = stack_float64(4)
    for k in range(4):
        longest = max(abs(extract(x, k)), max(abs(extract(y, k)), abs(extract(z, k))))
        e = math.frexp(longest)[1] - 1 if 0.0 < longest < np.inf else 0
        world[STEP * BATCH + j + k] = ldexp(extract(x, k), -e)
        world[(STEP + 1) * BATCH + j + k] = ldexp(extract(y, k), -e)
        world[(STEP + 2) * BATCH + j + k] = ldexp(extract(z, k), -e)
        scale[k] = ldexp(1.0, e)
    return vector4(scale[0], scale[1], scale[2], scale[3])


@helper
def load_vectors4(flat, stride, p, q, r, s):
    """x, y and z of four rays."""
    return transpose4x3(load_xyz(flat, stride * p), load_xyz(flat, stride * q), load_xyz(flat, stride * r), load_xyz(flat, stride * s))


@helper
def load_scalars4(flat, stride, p, q, r, s):
    return vector4(flat[stride * p], flat[stride * q], flat[stride * r], flat[stride * s])


@helper
def init_ray_state(rays, r, ray):
    """Begin to look for what ray r hits."""
    o, d = ray["o"], ray["d"]
    for k in range(3):
        o[k], d[k] = rays.origins[r * rays.strides[0] + k], rays.directions[r * rays.strides[1] + k]
    ray["t_min"], ray["best"] = rays.t_min[r * rays.strides[2]], rays.t_max[r * rays.strides[3]]
    ray["mask"] = rays.masks[r * rays.strides[4]]
    ray["ray"], ray["face"], ray["body"] = r, -1, -1


@helper
def load_rays4(rays, p, q, r, s, ray_states, world, j):
    """Load the rays p, q, r, s as the numbers j, j + 1, … of the batch; bits of those that can hit anything."""
    x, y, z = load_vectors4(rays.origins, rays.strides[0], p, q, r, s)
    u, v, w = load_vectors4(rays.directions, rays.strides[1], p, q, r, s)
    near, far = load_scalars4(rays.t_min, rays.strides[2], p, q, r, s), load_scalars4(rays.t_max, rays.strides[3], p, q, r, s)
    longest = maximum(fabs(u), maximum(fabs(v), fabs(w)))
    finite = x * 0.0 + y * 0.0 + z * 0.0 + u * 0.0 + v * 0.0 + w * 0.0 >= 0.0  # else NaN
    valid, in_filter_range = movemask(finite & (longest > 0.0) & (near <= far)), movemask(
        lanes_in_range(x) & lanes_in_range(y) & lanes_in_range(z) & lanes_in_range(u) & lanes_in_range(v) & lanes_in_range(w))
    scale, steps = vector4(1.0, 1.0, 1.0, 1.0), (u, v, w)
    if movemask((longest >= 1 / MAX_UNSCALED) & (longest <= MAX_UNSCALED)) != 15:
        scale = normalize_directions(world, j, u, v, w)
        steps = load4(world, STEP * BATCH + j), load4(world, (STEP + 1) * BATCH + j), load4(world, (STEP + 2) * BATCH + j)
    else:
        put_xyz(world, STEP, j, u, v, w)
    put_xyz(world, 0, j, x, y, z)
    put_xyz(world, INV_STEP, j, inverse_step(steps[0], u), inverse_step(steps[1], v), inverse_step(steps[2], w))
    put_xyz(world, START_ERROR, j, start_error(x, y, z), near * scale, far * scale)
    shears = shears_of(steps[0], steps[1], steps[2])
    init_ray_state(rays, p, ray_states[j])
    init_ray_state(rays, q, ray_states[j + 1])
    init_ray_state(rays, r, ray_states[j + 2])
    init_ray_state(rays, s, ray_states[j + 3])
    for k in range(4):
        ray = ray_states[j + k]
        ray["in_filter_range"], ray["scale"], ray["axis"] = in_filter_range >> k & 1, extract(scale, k), dominant_axis(shears, k)
    return valid


@helper
def store_result(results, ray):
    """Write what a ray has hit."""
    hit, r = ray["face"] >= 0, ray["ray"]
    results.t[r] = ray["best"] if hit else np.inf
    results.face[r], results.body[r] = ray["face"], ray["body"]
    results.uv[2 * r], results.uv[2 * r + 1] = ray["u"] if hit else 0.0, ray["v"] if hit else 0.0


@helper
def work_done(state):
    """What the batches so far have cost, in tests of a volume and a ray."""
    return state["n_v"] + state["n_p"] + EXACT_COST * state["n_exact"]


@helper
def query_entry(batch, ray_states, bodies, k, mask, batch_arg, top_level):
    """Look into body k with those rays of the mask that see it; GOING, or why not."""
    pending = mask if batch[0]["has_masks"] != 0 else np.int64(0)
    while pending != 0:
        j, pending = ctz(pending), pending & (pending - 1)
        if bodies[k]["mask"] & ray_states[j]["mask"] == 0:
            mask &= ~(np.int64(1) << j)
    if mask == 0:
        return np.int64(GOING)
    if bodies[k]["ready"] == 0:
        batch[0]["stale_body"] = k
        return np.int64(NEEDS_REFIT)
    batch[0]["mask"], work_before = mask, work_done(batch[0])
    reason = call_address(bodies[k]["entry"], batch_arg, k)
    top_level.ray_tests[k] += work_done(batch[0]) - work_before
    return reason


@helper
def query_bodies(batch, ray_states, world, bodies, mask, batch_arg, top_level):
    """Look into all bodies that the rays of the mask may meet, those first that they enter first; GOING, or why not."""
    reason = np.int64(GOING)
    if len(bodies) == 1:
        return query_entry(batch, ray_states, bodies, 0, mask, batch_arg, top_level)
    if len(bodies) <= MAX_SORTED_BODIES:
        n = sort_bodies(world, bodies, mask, top_level)
        for i in range(n):
            reason = query_entry(batch, ray_states, bodies, top_level.order[i], mask, batch_arg, top_level)
            if reason != GOING:
                break
        return reason
    while mask != 0:                                                    # rays into a crowd go alone
        j, mask = ctz(mask), mask & (mask - 1)
        ray = ray_states[j]
        n = sort_bodies_by_tree(world, j, ray["mask"], bodies, top_level)
        for i in range(n):
            if top_level.t_enter[i] > ray["best"] * ray["scale"]:
                break
            reason = query_entry(batch, ray_states, bodies, top_level.order[i], np.int64(1) << j, batch_arg, top_level)
            if reason != GOING:
                return reason
    return reason


@kernel
def trace_batches(rays, results, bodies, top_level, ray_states, batch, world, batch_arg, r, end):
    """Answer the rays from r on; the one at which it stopped, for the reason in the batch, or for want of time. `batch_arg` is the batch as
    entries take it. Batches are as large as their work allows: some rays meet thousands of faces, and Ctrl-C must not wait."""
    state = batch[0]
    work_limit = work_done(state) + CALL_WORK
    while r < end and work_done(state) < work_limit:
        hits_before, reason, mask = state["n_hits"], np.int64(GOING), np.int64(0)
        n, before = min(end - r, state["batch_size"]), work_done(state)
        n_v, n_p, n_u, n_exact = state["n_v"], state["n_p"], state["n_u"], state["n_exact"]
        batch_begin = r & ~(BATCH - 1)                                  # of a whole batch, of which this may be a part
        begin, step = tile_at(batch_begin, rays.n, rays.width) if rays.width > 0 else (batch_begin, np.int64(TILE))
        if step != TILE and r == batch_begin:
            prefetch_tile(rays, results, begin + TILE, step)
        for j in range(0, n, 4):
            i, last = r - batch_begin + j, r - batch_begin + n - 1
            valid = load_rays4(rays, ray_at(begin, step, i), ray_at(begin, step, min(i + 1, last)), ray_at(begin, step, min(i + 2, last)),
                               ray_at(begin, step, min(i + 3, last)), ray_states, world, j)
            mask |= (valid & ((np.int64(1) << min(n - j, 4)) - 1)) << j
        if mask != 0:
            reason = query_bodies(batch, ray_states, world, bodies, mask, batch_arg, top_level)
        if reason != GOING:
            state["reason"], state["n_hits"] = reason, hits_before
            state["n_v"], state["n_p"], state["n_u"], state["n_exact"] = n_v, n_p, n_u, n_exact
            return r
        if state["kind"] != ALL_HITS:
            for j in range(n):
                store_result(results, ray_states[j])
        r += n
        expensive = work_done(state) - before > MAX_RAY_WORK * n
        state["batch_size"] = max(state["batch_size"] // 2, 1) if expensive else BATCH if r & (BATCH - 1) == 0 else state["batch_size"]
    state["reason"] = GOING
    return r


# --- entries -----------------------------------------------------------------------------------------------------------------------------

@helper
def query_body(nodes, leaves, flat, motion_record, bodies, k, ray_states, world, hits, batch, skips, frame, entry, fill, context):
    """Look for what the rays of the mask meet in body k; GOING, or FULL."""
    local, t_map, ray_axes = stack_float32(LOCAL_SIZE), stack_float64(T_MAP_SIZE), stack_int64(BATCH)
    view = BatchView(leaves, flat, bodies, k, ray_states, world, hits, batch, local, t_map, ray_axes, frame, entry, fill, context)
    count = transform_rays(view, motion_record)
    if count == 0:
        return np.int64(GOING)
    if len(skips) > 0:
        return trace_stackless(view, nodes, skips, motion_record[0]["in_filter_range"], count)
    if is_coherent(load_bounds(nodes, 0), view, count, motion_record[0]["reach"] * motion_record[0]["scale"]):
        return trace_packet(view, nodes, motion_record[0]["in_filter_range"], count)
    return trace_single(view, nodes, motion_record[0]["in_filter_range"], count)


@cache
def trace_entry(volume, width):
    """(address, what keeps it alive) of the function (BATCH_DTYPE, number of a body) -> GOING or FULL for nodes of this kind."""
    node = node_dtype(volume, width)

    def enter(address, k):
        batch = array_at(as_pointer(address), 1, BATCH_DTYPE)
        state = batch[0]
        ray_states = array_at(as_pointer(state["ray_states"]), BATCH, RAY_DTYPE)
        bodies = array_at(as_pointer(state["bodies"]), k + 1, BODY_DTYPE)
        hits = array_at(as_pointer(state["hits"]), state["hit_capacity"], HIT_DTYPE)
        world = array_at(as_pointer(state["world"]), N_WORLD_ROWS * BATCH, np.float64)
        context = array_at(as_pointer(bodies[k]["context"]), 1, CONTEXT)[0]
        motion_record = array_at(as_pointer(bodies[k]["vertex_frame"]), 1, MOTION_DTYPE)
        nodes = array_at(as_pointer(context["nodes"]), context["n_nodes"], node)
        leaves = array_at(as_pointer(context["leaves"]), context["n_leaves"], LEAF_DTYPE)
        flat = array_at(as_pointer(motion_record[0]["flat"]), motion_record[0]["n_flat"], np.float64)
        skips = array_at(as_pointer(bodies[k]["skips"]), context["n_nodes"] if bodies[k]["skips"] != 0 else 0, np.int32)
        return query_body(nodes, leaves, flat, motion_record, bodies, k, ray_states, world, hits, batch, skips, context["frame"],
                          context["entry"], context["fill"], bodies[k]["context"])

    def enter_python(arrays, k):
        bvh = CONTEXTS[int(arrays.bodies[k]["context"])]
        motion = bvh.motion
        skips = bvh.skips() if arrays.bodies[k]["skips"] != 0 else np.zeros(0, np.int32)
        return query_body(bvh.nodes, bvh.leaves, motion.flat, motion.record, arrays.bodies, k, arrays.ray_states, arrays.world, arrays.hits,
                          arrays.batch,
                          skips, bvh.frame, bvh.entry, bvh.fill, bvh.context)

    return address_of(enter_python if DISABLED else enter)


@cache
def exact_test_entry():
    """(address, what keeps it alive) of the exact test on a buffer; its second argument is 2 · axis + plain."""
    def enter(buffer, code):
        return np.int64(hit_exact(floats_at(buffer), code >> 1, code & 1))

    def enter_python(buffer, code):
        return hit_exact(buffer, code >> 1, code & 1)

    return address_of(enter_python if DISABLED else enter)
