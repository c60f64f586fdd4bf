"""Two trees, nearest first: branch and bound. Resumable, and specialised on the pair of (volume type, W) and on how the bodies lie.

Waiting pairs of nodes or leaves, named as in `traverse.py`, have the least squared distance of what is under them beside them, in
`lower_bounds`.
The loop takes the last one, drops it if nothing under it can be nearer than what was found, and else opens the larger of the two; its
children wait so that the nearest is taken next (Bitar 2011, III.1, follows that alone; here all are visited that may be nearer). Two leaves
go to `query/proximity/leaf_distance.py`, by address. Pairs as near as the nearest so far are looked at too: answers do not depend on what
came first.

A policy may want to know how loose volumes are (`refit/inflated.py`): for every node that is opened, `looseness_a` and `looseness_b` keep
how much farther than the node itself its nearest child was, at most.
"""
import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz, extract, movemask, sqrt
from pliant.core.soa import lane, lanes, load_bounds
from pliant.query.traverse import (
    BUDGET_SPENT,
    CONTINUE,
    DONE,
    EXACT_COST,
    enclosing,
    frames,
    is_self,
    pack_pair,
    prefetch_child,
    refresh_leaf,
    refresh_node,
    unpack_low,
)
from pliant.volume.protocol import separation, size, transform_volume

ZERO, INF = np.float32(0), np.float32(np.inf)
UNKNOWN_BOUND = np.float32(-1)                                          # how far apart two roots are


@helper
def push_sorted(stack, lower_bounds, base, position, pair, lower_bound):
    """Put a pair among those from `base` on, which are sorted, the nearest last."""
    while position > base and lower_bounds[position - 1] < lower_bound:
        stack[position], lower_bounds[position] = stack[position - 1], lower_bounds[position - 1]
        position -= 1
    stack[position], lower_bounds[position] = pair, lower_bound


@helper
def record_looseness(looseness, i, bound, squared_gaps, count):
    """Node i, so far apart from another volume, was opened: its children are farther by the least of `squared_gaps`."""
    if len(looseness) > 0 and bound >= ZERO:
        nearest = INF
        for k in range(count):
            nearest = min(nearest, extract(squared_gaps, k))
        looseness[i] = max(looseness[i], np.float32(sqrt(nearest) - sqrt(bound)))


@kernel
def branch_and_bound(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, looseness_a, looseness_b, query, stack, lower_bounds):
    """Go on with the query, whose state is in `query` (1,), `stack` and `lower_bounds`."""
    state = query[0]
    position, budget, n_v, n_u = state["position"], state["budget"], state["n_v"], state["n_u"]
    frame_a, entry_a, fill_a, context_a = state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"]
    frame_b, entry_b, fill_b, context_b = state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"]
    to_a, to_b = frames(visitor, state)
    reason = DONE

    while position > 0:
        if budget <= 0:
            reason = BUDGET_SPENT
            break
        budget -= 1
        position -= 1
        entry, bound = stack[position], lower_bounds[position]
        if bound > state["limit"]:
            continue
        a, b = entry >> 32, unpack_low(entry)
        if a < 0 and b < 0:
            refresh_leaf(leaves_a, ~a, frame_a, fill_a, context_a)
            refresh_leaf(leaves_b, ~b, frame_b, fill_b, context_b)
            n_exact_before = state["n_exact"]
            reason = call_address(state["leaf_entry"], state["address"], pack_pair(~a, ~b))
            budget -= EXACT_COST * (state["n_exact"] - n_exact_before)
            if reason != CONTINUE:
                break
            reason = DONE
            continue

        base = position
        if a >= 0:
            n_u += refresh_node(nodes_a, a, frame_a, entry_a, context_a)
        if is_self(visitor) and a == b:
            count = np.int64(nodes_a[a]["count"])
            for i in range(count):
                child = nodes_a[a]["child"][i]
                prefetch_child(nodes_a, leaves_a, child)
                squared_gaps = separation(lanes(nodes_a, a), transform_volume(lane(nodes_a, a, i), to_a))
                mask = movemask(squared_gaps <= state["limit"]) & ((np.int64(1) << count) - 1) & (np.int64(-2) << i)
                n_v += count - 1 - i
                while mask != 0:
                    j, mask = ctz(mask), mask & (mask - 1)
                    push_sorted(stack, lower_bounds, base, position, pack_pair(child, nodes_a[a]["child"][j]), extract(squared_gaps, j))
                    position += 1
            for i in range(count):
                child = nodes_a[a]["child"][i]
                stack[position], lower_bounds[position] = pack_pair(child, child), ZERO
                position += 1
            continue
        if b >= 0:
            n_u += refresh_node(nodes_b, b, frame_b, entry_b, context_b)
        if b < 0 or (a >= 0 and size(load_bounds(nodes_a, a)) >= size(load_bounds(nodes_b, b))):
            count = np.int64(nodes_a[a]["count"])
            squared_gaps = separation(lanes(nodes_a, a), transform_volume(enclosing(nodes_b, slots_b, b), to_a))
            mask = movemask(squared_gaps <= state["limit"]) & ((np.int64(1) << count) - 1)
            record_looseness(looseness_a, a, bound, squared_gaps, count)
            while mask != 0:
                i, mask = ctz(mask), mask & (mask - 1)
                prefetch_child(nodes_a, leaves_a, nodes_a[a]["child"][i])
                push_sorted(stack, lower_bounds, base, position, pack_pair(nodes_a[a]["child"][i], b), extract(squared_gaps, i))
                position += 1
        else:
            count = np.int64(nodes_b[b]["count"])
            squared_gaps = separation(lanes(nodes_b, b), transform_volume(enclosing(nodes_a, slots_a, a), to_b))
            mask = movemask(squared_gaps <= state["limit"]) & ((np.int64(1) << count) - 1)
            record_looseness(looseness_b, b, bound, squared_gaps, count)
            while mask != 0:
                j, mask = ctz(mask), mask & (mask - 1)
                prefetch_child(nodes_b, leaves_b, nodes_b[b]["child"][j])
                push_sorted(stack, lower_bounds, base, position, pack_pair(a, nodes_b[b]["child"][j]), extract(squared_gaps, j))
                position += 1
        n_v += count

    state["position"], state["budget"], state["n_v"], state["n_u"] = position, budget, n_v, n_u
    return reason
