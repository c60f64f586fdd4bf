"""Many rays, batch after batch, each into all the bodies that it may meet, nearest first (`query/ray/top_level.py`).

A body is queried through its entry, whatever its volume type. A body whose BVH has not been refitted yet is not queried: the loop stops,
says which it needs, and is resumed; so what no ray comes near is never refitted.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer, call_address, floats_at
from pliant.core.jit import DISABLED, helper, kernel
from pliant.core.simd import ctz
from pliant.core.soa import load_bounds
from pliant.core.stack import stack_float32, stack_float64, stack_int64
from pliant.geometry.ray_triangle import hit_exact
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.rigid import invert_rotation, rounding_bound, world_bounds
from pliant.query.ray.leaf import (
    ALL_HITS,
    BATCH,
    BATCH_DTYPE,
    BODY_DTYPE,
    GOING,
    HIT_DTYPE,
    N_LOCAL_ROWS,
    N_WORLD_ROWS,
    NEEDS_REFIT,
    RAY_DTYPE,
    BatchView,
)
from pliant.query.ray.load_rays import TILE, begin_band, init_ray_state, load_batch, ray_at, tile_at
from pliant.query.ray.packet import is_coherent, trace_packet
from pliant.query.ray.single import trace_single
from pliant.query.ray.stackless import trace_stackless
from pliant.query.ray.top_level import sort_bodies, sort_bodies_by_tree
from pliant.query.ray.transform import transform_rays
from pliant.refit.leaf_fill import CONTEXT
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

MAX_SORTED_BODIES = 32                                                  # bodies
FIRST_BATCH, EXACT_COST, MAX_RAY_WORK, CALL_WORK = 8, 256, 1 << 16, 1 << 22  # rays; of an exact test; work for a ray, and for a call
LOCAL_SIZE, T_MAP_SIZE = N_LOCAL_ROWS * BATCH, 2 * BATCH


class BatchArrays(NamedTuple):
    """JIT off: what the addresses in a BATCH_DTYPE stand for."""
    batch: np.ndarray
    ray_states: np.ndarray
    bodies: np.ndarray
    hits: np.ndarray
    world: np.ndarray


@kernel
def set_body_records(bodies, columns, boxes, transforms):
    """Set records of bodies: `columns` (n, 7) int64 are row, context, motion, entry, number, mask and whether the BVH is ready; the
    boxes (n, 8) are those of their own frames; transforms (n, 12), or none, are 0 for bodies that have none."""
    corners = stack_float64(6)
    for k in range(len(columns)):
        body = bodies[columns[k, 0]]
        body["context"], body["vertex_frame"], body["entry"] = columns[k, 1], columns[k, 2], columns[k, 3]
        body["body_id"], body["mask"], body["ready"] = columns[k, 4], columns[k, 5], columns[k, 6]
        body["transformed"] = 0
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
def store_result(results, ray):
    """Write what a ray has hit."""
    hit, r = ray["face"] >= 0, ray["ray"]
    results.t[r] = ray["best"] if hit else np.inf
    results.face[r], results.body[r] = ray["face"], ray["body"]
    results.uv[2 * r], results.uv[2 * r + 1] = ray["u"] if hit else 0.0, ray["v"] if hit else 0.0


@helper
def store_miss(results, r):
    """Write that ray r has hit nothing."""
    results.t[r], results.face[r], results.body[r], results.uv[2 * r], results.uv[2 * r + 1] = np.inf, -1, -1, 0.0, 0.0


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
def list_bodies(world, bodies, mask, top_level):
    """How many bodies the rays of the mask may meet: listed, nearest first, unless there is one, or so many that each ray goes alone."""
    if mask == 0:
        return np.int64(0)
    if len(bodies) == 1 or len(bodies) > MAX_SORTED_BODIES:
        return np.int64(len(bodies))
    return np.int64(sort_bodies(world, bodies, mask, top_level))


@helper
def query_bodies(batch, ray_states, world, bodies, n, mask, batch_arg, top_level):
    """Look into all bodies that the rays of the mask may meet, n by `list_bodies`, those first that they enter first; GOING, or why
    not."""
    reason = np.int64(GOING)
    if len(bodies) == 1:
        return query_entry(batch, ray_states, bodies, 0, mask, batch_arg, top_level)
    if len(bodies) <= MAX_SORTED_BODIES:
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
        hits_before, reason = state["n_hits"], np.int64(GOING)
        n, before = min(end - r, state["batch_size"]), work_done(state)
        n_v, n_p, n_u, n_exact = state["n_v"], state["n_p"], state["n_u"], state["n_exact"]
        batch_begin = r & ~(BATCH - 1)                                  # of a whole batch, of which this may be a part
        begin, step = tile_at(batch_begin, rays.n, rays.width) if rays.width > 0 else (batch_begin, np.int64(TILE))
        if step != TILE and r % (TILE * rays.width) == 0:
            begin_band(rays, results, r, state["kind"])
        first = r - batch_begin
        traits = load_batch(rays, begin, step, first, n, world)
        n_bodies = list_bodies(world, bodies, traits.valid, top_level)
        if n_bodies > 0:
            for j in range(n):
                init_ray_state(rays, ray_at(begin, step, first + j), ray_states[j], world, j, traits)
            reason = query_bodies(batch, ray_states, world, bodies, n_bodies, traits.valid, batch_arg, top_level)
        if reason != GOING:
            state["reason"], state["n_hits"] = reason, hits_before
            state["n_v"], state["n_p"], state["n_u"], state["n_exact"] = n_v, n_p, n_u, n_exact
            return r
        if state["kind"] != ALL_HITS:
            for j in range(n):                                          # of a picture, misses are there already
                if n_bodies > 0 and (step == TILE or ray_states[j]["face"] >= 0):
                    store_result(results, ray_states[j])
                elif step == TILE:
                    store_miss(results, begin + first + j)
        r += n
        expensive = work_done(state) - before > MAX_RAY_WORK * n
        state["batch_size"] = max(state["batch_size"] // 2, 1) if expensive else BATCH if r & (BATCH - 1) == 0 else state["batch_size"]
    state["reason"] = GOING
    return r


# --- entries -----------------------------------------------------------------------------------------------------------------------------

@helper
def query_body(nodes, leaves, points, flat, motion_record, bodies, k, ray_states, world, hits, batch, skips, frame, entry, fill, context):
    """Look for what the rays of the mask meet in body k; GOING, or FULL."""
    local, t_map, ray_axes = stack_float32(LOCAL_SIZE), stack_float64(T_MAP_SIZE), stack_int64(BATCH)
    view = BatchView(leaves, points, flat, bodies, k, ray_states, world, hits, batch, local, t_map, ray_axes, frame, entry, fill, context)
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
        points = array_at(as_pointer(context["points"]), context["n_points"], np.float32)
        flat = array_at(as_pointer(motion_record[0]["flat"]), motion_record[0]["n_flat"], np.float64)
        skips = array_at(as_pointer(bodies[k]["skips"]), context["n_nodes"] if bodies[k]["skips"] != 0 else 0, np.int32)
        return query_body(nodes, leaves, points, flat, motion_record, bodies, k, ray_states, world, hits, batch, skips, context["frame"],
                          context["entry"], context["fill"], bodies[k]["context"])

    def enter_python(arrays, k):
        bvh = CONTEXTS[int(arrays.bodies[k]["context"])]
        motion = bvh.motion
        skips = bvh.skips() if arrays.bodies[k]["skips"] != 0 else np.zeros(0, np.int32)
        return query_body(bvh.nodes, bvh.leaves, bvh.rows, motion.flat, motion.record, arrays.bodies, k, arrays.ray_states, arrays.world,
                          arrays.hits, arrays.batch, skips, bvh.frame, bvh.entry, bvh.fill, bvh.context)

    return address_of(enter_python if DISABLED else enter)


@cache
def exact_test_entry():
    """(address, what keeps it alive) of the exact test on a buffer; its second argument is 2 · axis + plain."""
    def enter(buffer, code):
        return np.int64(hit_exact(floats_at(buffer), code >> 1, code & 1))

    def enter_python(buffer, code):
        return hit_exact(buffer, code >> 1, code & 1)

    return address_of(enter_python if DISABLED else enter)
