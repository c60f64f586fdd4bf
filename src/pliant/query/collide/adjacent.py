"""The faces around each vertex of a body: the pairs of adjacent faces that intersect in more than what they share.

The loop goes through the vertices: one test of a vertex fan (`geometry/vertex_fan.py`) may prove all its faces disjoint; else they are
tested pair by pair (`geometry/adjacent_faces.py`). It needs no BVH; the image engine uses it as well.
"""
from functools import partial

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import load
from pliant.geometry.adjacent_faces import adjacent_overlap
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_overlap import EXACT
from pliant.geometry.vertex_fan import HAS_NEXT, ROW_SIZE, TURNS_MASK, fan_disjoint
from pliant.query.collide.leaf_overlap import COLLIDE_STATE, face_bits, set_collide_fields
from pliant.query.collide.transformed import clamp_float32
from pliant.query.scheduler import ResumableLoop
from pliant.query.traverse import (
    BUDGET_SPENT,
    CONTINUE,
    DONE,
    EARLY_EXIT,
    EXACT_COST,
    OUTPUT_FULL,
    QUERY_STATE,
    init_query,
    pack_pair,
    unpack_low,
)

SPARE_ENTRIES = 4                                                       # entries that `compare_adjacent` may push


@helper
def ordered_key(state, f, g):
    return (min(f, g) << state["key_bits"]) | max(f, g)


@kernel
def compare_adjacent(stars, begins, vertex_faces, faces, points, vertices, query, stack, keys):
    """Test pairs of faces that share a vertex. On the stack: rows [first, last) of `stars`, packed; or ~vertex and the first of its faces
    still to be tested against those after it. Stops for the reasons of `traverse`."""
    state = query[0]
    position, budget, corner_error_bound = state["position"], state["budget"], state["corner_error"]
    reason = DONE
    while position > 0:
        if budget <= 0:
            reason = BUDGET_SPENT
            break
        position -= 1
        at, end = stack[position] >> 32, unpack_low(stack[position])
        if at < 0:
            reason, row = compare_fan(begins, vertex_faces, faces, vertices, keys, state, ~at, end, budget)
            if reason == OUTPUT_FULL or reason == BUDGET_SPENT:
                stack[position] = pack_pair(at, row)
                position += 1
            if reason != CONTINUE:
                break
            budget -= EXACT_COST
            reason = DONE
            continue
        folded_vertex = np.int64(-1)                                    # a vertex whose fan may intersect itself
        while at < end and budget > 0 and folded_vertex < 0:
            row = ROW_SIZE * at
            if load(stars, row + 1) & TURNS_MASK == 0 or not fan_disjoint(points, stars, row, corner_error_bound):
                folded_vertex = np.int64(load(stars, row))
            while load(stars, ROW_SIZE * at + 1) & HAS_NEXT:
                at += 1
            at += 1
            budget -= 1
        if at < end:
            stack[position] = pack_pair(at, end)
            position += 1
        if folded_vertex >= 0:
            stack[position] = pack_pair(~folded_vertex, 0)
            position += 1
    state["position"], state["budget"] = position, budget
    return reason


@helper
def face_fits(vertices, faces, f):
    """Are the corners of a face in the range of the filters?"""
    return point_in_range(vertices, 3 * np.int64(faces[f, 0])) & point_in_range(vertices, 3 * np.int64(faces[f, 1])) & point_in_range(
        vertices, 3 * np.int64(faces[f, 2]))


@helper
def compare_fan(begins, vertex_faces, faces, vertices, keys, state, v, row, budget):
    """Test the faces around v pair by pair, from `row` on: (CONTINUE, or why it stopped, the next row). The budget counts pairs here."""
    first, last, in_filter_range = np.int64(begins[v]), np.int64(begins[v + 1]), state["in_filter_range"] != 0
    found, n_p, n_exact = state["found"], np.int64(0), np.int64(0)
    reason = CONTINUE
    while first + row + 1 < last:
        if found + (last - first) > len(keys):
            reason = OUTPUT_FULL
            break
        if n_p > budget:
            reason = BUDGET_SPENT
            break
        f = np.int64(vertex_faces[first + row])
        for k in range(first + row + 1, last):
            g = np.int64(vertex_faces[k])
            answer = adjacent_overlap(vertices, faces, f, g, v,
                                      in_filter_range or (face_fits(vertices, faces, f) and face_fits(vertices, faces, g)))
            n_exact += answer >= EXACT
            if answer & 1:
                keys[found] = ordered_key(state, f, g)
                found += 1
        n_p += last - first - row - 1
        row += 1
        if state["first_only"] and found > state["found"]:
            reason = EARLY_EXIT
            break
    state["found"] = found
    state["n_p"] += n_p
    state["n_exact"] += n_exact
    return reason, row


def init_self_query(space, body, dtype):
    """Start the query of a body with itself, without its BVH; the state (1,) of this type, which has PAIR_FIELDS."""
    motion, query = body._motion, space.record(dtype)
    state = query[0]
    box, origin, reach = motion.box, motion.origin, motion.reach
    init_query(space.record(QUERY_STATE), box, origin, reach, box, origin, reach, motion.scale, 0.0)
    state["descend_larger"] = False
    _, in_filter_range, error_bound = body._world_vertices()
    error_bound = clamp_float32(error_bound * motion.scale)             # volumes and leaves stay in model space, exact tests do not
    state["margin"], state["corner_error"] = clamp_float32(2.1 * error_bound), clamp_float32(float(state["corner_error"]) + error_bound)
    state["in_filter_range"], state["key_bits"] = in_filter_range, face_bits(body)
    return query


def adjacent_loop(space, body, first):
    """The loop over faces that share a vertex; None if there are none. It needs no BVH."""
    mesh = body._topology()
    n, flat = len(mesh.fan_parts), body._world_vertices()[0]
    if n == 0:
        return None
    points = body._motion.points
    query = init_self_query(space, body, COLLIDE_STATE)
    set_collide_fields(query[0], first)
    space.reserve_stack(n + SPARE_ENTRIES)
    space.stack[:n] = mesh.fan_parts
    query["position"], query["n_v"] = n, 0
    resume = partial(compare_adjacent, mesh.fans, mesh.begins, mesh.vertex_faces, mesh.faces, points, flat)
    return ResumableLoop(resume, query, SPARE_ENTRIES, (points, mesh))
