"""Two trees, nearest first: branch and bound. Resumable, and specialised on the pair of (family, W) and on how the bodies lie.

Waiting pairs of nodes or leaves, named as in `traverse.py`, have the least squared distance of what is under them beside them, in `waits`.
The loop takes the last one, drops it if nothing under it can be nearer than what was found, and else opens the larger of the two; its
children wait so that the nearest is taken next (Bitar 2011, III.1, follows that alone; here all are visited that may be nearer). Two leaves
go to `query/proximity/leaf_distance.py`, by address. Pairs as near as the nearest so far are looked at too: answers do not depend on what came first.

A policy may want to know how loose volumes are (`refit/inflated.py`): for every node that is opened, `marks` keeps how much farther than
the node itself its nearest child was, at most.
"""
import numpy as np

from pliant.core.function_pointer import invoke
from pliant.core.jit import helper, kernel
from pliant.core.simd import bits, element, first, root
from pliant.core.soa import lane, lanes, whole
from pliant.query.traverse import (
    BUDGET,
    DONE,
    EXACT_COST,
    GOING,
    around,
    fetch,
    freshen,
    freshen_leaf,
    itself,
    low_name,
    packed,
    ways,
)
from pliant.volume.protocol import carry, separation, size

ZERO, INF = np.float32(0), np.float32(np.inf)
UNKNOWN = np.float32(-1)                                                # how far apart two roots are


@helper
def push(stack, waits, base, position, pair, far):
    """Put a pair among those from `base` on, which are sorted, the nearest last."""
    while position > base and waits[position - 1] < far:
        stack[position], waits[position] = stack[position - 1], waits[position - 1]
        position -= 1
    stack[position], waits[position] = pair, far


@helper
def mark(marks, i, bound, fars, count):
    """Node i, so far apart from another volume, was opened: its children are farther by the least of `fars`."""
    if len(marks) > 0 and bound >= ZERO:
        nearest = INF
        for k in range(count):
            nearest = min(nearest, element(fars, k))
        marks[i] = max(marks[i], np.float32(root(nearest) - root(bound)))


@kernel
def approach(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, marks_a, marks_b, query, stack, waits):
    """Go on with the query, whose state is in `query` (1,), `stack` and `waits`."""
    state = query[0]
    position, budget, n_v, n_u = state["position"], state["budget"], state["n_v"], state["n_u"]
    frame_a, entry_a, fill_a, context_a = state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"]
    frame_b, entry_b, fill_b, context_b = state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"]
    to_a, to_b = ways(visitor, state)
    reason = DONE

    while position > 0:
        if budget <= 0:
            reason = BUDGET
            break
        budget -= 1
        position -= 1
        entry, bound = stack[position], waits[position]
        if bound > state["limit"]:
            continue
        a, b = entry >> 32, low_name(entry)
        if a < 0 and b < 0:
            freshen_leaf(leaves_a, ~a, frame_a, fill_a, context_a)
            freshen_leaf(leaves_b, ~b, frame_b, fill_b, context_b)
            exact = state["n_x"]
            reason = invoke(state["leaf"], state["me"], packed(~a, ~b))
            budget -= EXACT_COST * (state["n_x"] - exact)
            if reason != GOING:
                break
            reason = DONE
            continue

        base = position
        if a >= 0:
            n_u += freshen(nodes_a, a, frame_a, entry_a, context_a)
        if itself(visitor) and a == b:
            count = np.int64(nodes_a[a]["count"])
            for i in range(count):
                child = nodes_a[a]["child"][i]
                fetch(nodes_a, leaves_a, child)
                fars = separation(lanes(nodes_a, a), carry(lane(nodes_a, a, i), to_a))
                some = bits(fars <= state["limit"]) & ((np.int64(1) << count) - 1) & (np.int64(-2) << i)
                n_v += count - 1 - i
                while some != 0:
                    j, some = first(some), some & (some - 1)
                    push(stack, waits, base, position, packed(child, nodes_a[a]["child"][j]), element(fars, j))
                    position += 1
            for i in range(count):
                child = nodes_a[a]["child"][i]
                stack[position], waits[position] = packed(child, child), ZERO
                position += 1
            continue
        if b >= 0:
            n_u += freshen(nodes_b, b, frame_b, entry_b, context_b)
        if b < 0 or (a >= 0 and size(whole(nodes_a, a)) >= size(whole(nodes_b, b))):
            count = np.int64(nodes_a[a]["count"])
            fars = separation(lanes(nodes_a, a), carry(around(nodes_b, slots_b, b), to_a))
            some = bits(fars <= state["limit"]) & ((np.int64(1) << count) - 1)
            mark(marks_a, a, bound, fars, count)
            while some != 0:
                i, some = first(some), some & (some - 1)
                fetch(nodes_a, leaves_a, nodes_a[a]["child"][i])
                push(stack, waits, base, position, packed(nodes_a[a]["child"][i], b), element(fars, i))
                position += 1
        else:
            count = np.int64(nodes_b[b]["count"])
            fars = separation(lanes(nodes_b, b), carry(around(nodes_a, slots_a, a), to_b))
            some = bits(fars <= state["limit"]) & ((np.int64(1) << count) - 1)
            mark(marks_b, b, bound, fars, count)
            while some != 0:
                j, some = first(some), some & (some - 1)
                fetch(nodes_b, leaves_b, nodes_b[b]["child"][j])
                push(stack, waits, base, position, packed(a, nodes_b[b]["child"][j]), element(fars, j))
                position += 1
        n_v += count

    state["position"], state["budget"], state["n_v"], state["n_u"] = position, budget, n_v, n_u
    return reason
