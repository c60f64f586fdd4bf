"""Dual-tree traversal of two BVHs. Resumable, and specialised on the pair of (volume type, W) and on the visitor, on nothing else.

Pairs of nodes (>= 0) or leaves (~leaf) wait on `stack`, packed as a << 32 | b. The loop pops a pair, refreshes volumes that are older than
the frame through the body's entry, and pushes the pairs of children that overlap, of both nodes or of the larger one (`descend_larger`);
two leaves go to the visitor. It returns why it stopped and can be resumed:

    DONE           no pair is left             BUDGET_SPENT    the budget of pairs is spent: time to read the clock, to handle Ctrl-C
    OUTPUT_FULL    the visitor has no space    EARLY_EXIT      the visitor needs no more pairs

A visitor is a NamedTuple of the query's data; `overlaps`, `visit_leaves`, `is_self` and `frames` are registered for its class. Where a BVH
is compared with itself, a node paired with itself means all pairs of its children, each with itself included.

`QUERY_STATE` is the record of every loop over two BVHs. A query appends fields of its own: `PAIR_FIELDS` and `COLLIDE_FIELDS`
(`collide/leaf_overlap.py`), `TRANSFORM_FIELDS` (`collide/transformed.py`), `SELF_FIELDS` (`collide/self_collide.py`), `DISTANCE_FIELDS`
(`proximity/leaf_distance.py`). A loop is compiled for each visitor, and a visitor has one type of record, so this adds no specialisation.
Kernels that set only the common fields get the end of the record, a QUERY_STATE, and are compiled once.
"""
import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz
from pliant.core.soa import lane, lanes, load_bounds, prefetch, stamp
from pliant.volume.protocol import size, transform_volume

DONE, OUTPUT_FULL, BUDGET_SPENT, EARLY_EXIT, CONTINUE = range(5)
LOW_32_BITS = 0xFFFFFFFF
EXACT_COST = 32                                                         # of an exact test, in pairs of nodes: 0.3 to 26 µs against 60 ns
TRANSLATION_ERROR = 2.0**-22                                            # of the largest coordinate: above the rounding of transform_volume
CORNER_ERROR = 2.0**-23 * (1 + 2.0**-19)                                # of the larger reach: see `init_query`
MIN_CORNER_ERROR = 2.0**-50                                             # see geometry/overlap_simd.py

COUNTERS = ("n_v", "n_p", "n_u", "n_exact")
LOOP_FIELDS = [(name, np.int64) for name in (
    "position", "budget", "found", *COUNTERS,                           # progress
    "frame_a", "entry_a", "fill_a", "context_a",                        # refresh callbacks of both bodies
    "frame_b", "entry_b", "fill_b", "context_b", "descend_larger")] + [
    (name, np.float32) for name in ("x", "y", "z", "margin", "corner_error")]  # offset from b's frame to a's, and error bounds


def state_dtype(*parts):
    """The record of a query: the fields of these parts, each part aligned to 8 bytes, then LOOP_FIELDS. The common fields are last, because
    Numba takes a record for a subtype of one that has its first fields, and calls functions that were compiled for that one."""
    names, formats, offsets, end = [], [], [], 0
    for part in (*parts, LOOP_FIELDS):
        dtype = np.dtype(part)
        names += dtype.names
        formats += [dtype.fields[name][0] for name in dtype.names]
        offsets += [end + dtype.fields[name][1] for name in dtype.names]
        end += -(-dtype.itemsize // 8) * 8
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end})


QUERY_STATE = state_dtype()


@generic("visitor")
def overlaps(visitor, state, volumes, volume):
    """Bits of the lanes of `volumes` whose pairs with `volume` must be visited."""


@generic("visitor")
def is_self(visitor):
    """Does this query compare one BVH with itself? A constant: other loops are compiled without that branch."""


@generic("visitor")
def frames(visitor, state):
    """(from b's frame to a's, from a's to b's), for `transform_volume`."""


@generic("visitor")
def visit_leaves(visitor, state, leaves_a, a, leaves_b, b, keys):
    """Process the triangles of leaves a and b; CONTINUE, or why the loop must stop. OUTPUT_FULL leaves the pair on the stack. Output goes
    to `keys`, from state["found"] on."""


@helper
def pack_pair(a, b):
    """Pack two signed 32-bit entries into one int64."""
    return (np.int64(a) << 32) | (np.int64(b) & LOW_32_BITS)


@helper
def unpack_low(entry):
    """The second of two packed entries."""
    return np.int64(np.int32(entry & LOW_32_BITS))


@helper
def bind_contexts(state, context_a, address_a, context_b, address_b):
    """Store the refresh callbacks of both BVHs in the query state, from their CONTEXT records (`refit/leaf_fill.py`)."""
    state["frame_a"], state["entry_a"], state["fill_a"] = context_a["frame"], context_a["entry"], context_a["fill"]
    state["frame_b"], state["entry_b"], state["fill_b"] = context_b["frame"], context_b["entry"], context_b["fill"]
    state["context_a"], state["context_b"] = address_a, address_b


@helper
def refresh_node(nodes, i, frame, entry, context):
    """Bring node i up to date with its frame; the number of volumes refitted."""
    return np.int64(0) if stamp(nodes, i) == frame else call_address(entry, context, i)


@helper
def refresh_leaf(leaves, i, frame, fill, context):
    """Bring the triangles of leaf i up to date with its frame."""
    if stamp(leaves, i) != frame:
        call_address(fill, context, i)


@helper
def refresh_leaves(nodes, i, mask, leaves, frame, fill, context):
    """Refresh the leaves among these children of node i: refreshing several at once waits less for memory than one by one."""
    while mask != 0:
        k, mask = ctz(mask), mask & (mask - 1)
        child = np.int64(nodes[i]["child"][k])
        if child < 0:
            refresh_leaf(leaves, ~child, frame, fill, context)


@helper
def prefetch_child(nodes, leaves, child):
    """Prefetch a child that is pushed on the stack: where BVHs exceed the caches, half the time would go into waiting."""
    if child < 0:
        prefetch(leaves, np.int64(~child))
    else:
        prefetch(nodes, np.int64(child))


@helper
def enclosing(nodes, slots, entry):
    """The volume that encloses a node, or a leaf: a lane of its parent."""
    if entry >= 0:
        return load_bounds(nodes, entry)
    return lane(nodes, np.int64(slots[~entry, 0]), np.int64(slots[~entry, 1]))


@helper
def scaled_offset(a, b, scale):
    """(b − a) · scale, without overflow for huge coordinates or for the scale of a tiny body."""
    difference = b - a
    return difference * scale if abs(difference) < np.inf else b * scale - a * scale


@helper
def gap_exceeds(low, high, max_gap):
    """Is the gap from `high`, the end of one box, to `low`, the start of another, above `max_gap`?"""
    return low > high and low - high > max_gap


@kernel
def init_query(query, box_a, origin_a, reach_a, box_b, origin_b, reach_b, scale, max_gap):
    """Start a query (1,) of QUERY_STATE at the pair of roots (stack[0] = 0); False if the gap between the exact boxes exceeds `max_gap`
    along an axis. Lengths in the state are times the scale."""
    state = query[0]
    for k in range(3):
        if gap_exceeds(box_a[k], box_b[k + 4], max_gap) or gap_exceeds(box_b[k], box_a[k + 4], max_gap):
            return False
    x, y = scaled_offset(origin_a[0], origin_b[0], scale), scaled_offset(origin_a[1], origin_b[1], scale)
    z = scaled_offset(origin_a[2], origin_b[2], scale)
    reach, shift = max(reach_a, reach_b) * scale, max(abs(x), max(abs(y), abs(z)))
    # The error of a corner, but for what making it local adds (`geometry/overlap_simd.py`), with e = 2**-24: of a, e · reach; of b, e ·
    # reach and as much for the offset to the leaf's low corner; of b's box, e · reach for either body. Origins are coarse
    # (`motion/free.py`), so the shift is nearly always exact in float32; where it is not, its rounding counts too.
    inexact = (x != np.float32(x)) | (y != np.float32(y)) | (z != np.float32(z))
    state["x"], state["y"], state["z"] = x, y, z
    state["margin"] = (reach + shift) * TRANSLATION_ERROR
    state["corner_error"] = max((reach + (shift if inexact else 0.0)) * CORNER_ERROR, MIN_CORNER_ERROR)
    reset_query(state)
    return True


@helper
def reset_query(state):
    """Reset the query to the pair of roots, with nothing found."""
    state["position"], state["found"] = 1, 0
    state["n_v"], state["n_p"], state["n_u"], state["n_exact"] = 1, 0, 0, 0


@kernel
def traverse(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, keys):
    """Resume the query whose state is in `query` (1,) and `stack`; its output goes to `keys`."""
    state = query[0]
    position, budget = state["position"], state["budget"]
    n_v, n_u = state["n_v"], state["n_u"]
    frame_a, entry_a, fill_a, context_a = state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"]
    frame_b, entry_b, fill_b, context_b = state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"]
    descend_larger = state["descend_larger"] != 0
    to_a, to_b = frames(visitor, state)
    reason = DONE

    while position > 0:
        if budget == 0:
            reason = BUDGET_SPENT
            break
        budget -= 1
        entry = stack[position - 1]
        a, b = entry >> 32, unpack_low(entry)
        if a < 0 and b < 0:
            refresh_leaf(leaves_a, ~a, frame_a, fill_a, context_a)
            refresh_leaf(leaves_b, ~b, frame_b, fill_b, context_b)
            n_exact_before = state["n_exact"]
            reason = visit_leaves(visitor, state, leaves_a, ~a, leaves_b, ~b, keys)
            budget = max(budget - EXACT_COST * (state["n_exact"] - n_exact_before), 0)
            if reason != CONTINUE:
                position -= reason != OUTPUT_FULL
                break
            reason = DONE
            position -= 1
            continue

        position -= 1
        if a >= 0:
            n_u += refresh_node(nodes_a, a, frame_a, entry_a, context_a)
        if is_self(visitor) and a == b:
            count = np.int64(nodes_a[a]["count"])
            for i in range(count):
                child = nodes_a[a]["child"][i]
                prefetch_child(nodes_a, leaves_a, child)
                mask = overlaps(visitor, state, lanes(nodes_a, a), transform_volume(lane(nodes_a, a, i), to_a)) & (np.int64(-2) << i)
                n_v += count - 1 - i
                while mask != 0:
                    j, mask = ctz(mask), mask & (mask - 1)
                    stack[position] = pack_pair(child, nodes_a[a]["child"][j])
                    position += 1
                stack[position] = pack_pair(child, child)
                position += 1
            refresh_leaves(nodes_a, a, (np.int64(1) << count) - 1, leaves_a, frame_a, fill_a, context_a)
            continue
        if b >= 0:
            n_u += refresh_node(nodes_b, b, frame_b, entry_b, context_b)
        one_side = descend_larger and a >= 0 and b >= 0
        if a < 0 or (one_side and size(load_bounds(nodes_b, b)) > size(load_bounds(nodes_a, a))):
            mask = overlaps(visitor, state, lanes(nodes_b, b), transform_volume(enclosing(nodes_a, slots_a, a), to_b))
            n_v += nodes_b[b]["count"]
            while mask != 0:
                j, mask = ctz(mask), mask & (mask - 1)
                stack[position] = pack_pair(a, nodes_b[b]["child"][j])
                position += 1
        elif b < 0 or one_side:
            mask = overlaps(visitor, state, lanes(nodes_a, a), transform_volume(enclosing(nodes_b, slots_b, b), to_a))
            n_v += nodes_a[a]["count"]
            while mask != 0:
                i, mask = ctz(mask), mask & (mask - 1)
                stack[position] = pack_pair(nodes_a[a]["child"][i], b)
                position += 1
        else:
            # Children of a against the bounds of b, then each that overlaps them against the children of b.
            mask_a = overlaps(visitor, state, lanes(nodes_a, a), transform_volume(load_bounds(nodes_b, b), to_a))
            pushed_a, pushed_b = np.int64(0), np.int64(0)               # children pushed on the stack
            n_v += nodes_a[a]["count"]
            while mask_a != 0:
                i, mask_a = ctz(mask_a), mask_a & (mask_a - 1)
                mask = overlaps(visitor, state, lanes(nodes_b, b), transform_volume(lane(nodes_a, a, i), to_b))
                n_v += nodes_b[b]["count"]
                if mask == 0:
                    continue
                prefetch_child(nodes_a, leaves_a, nodes_a[a]["child"][i])
                new_b, pushed_a, pushed_b = mask & ~pushed_b, pushed_a | (np.int64(1) << i), pushed_b | mask
                while new_b != 0:
                    j, new_b = ctz(new_b), new_b & (new_b - 1)
                    prefetch_child(nodes_b, leaves_b, nodes_b[b]["child"][j])
                while mask != 0:
                    j, mask = ctz(mask), mask & (mask - 1)
                    stack[position] = pack_pair(nodes_a[a]["child"][i], nodes_b[b]["child"][j])
                    position += 1
            refresh_leaves(nodes_a, a, pushed_a, leaves_a, frame_a, fill_a, context_a)
            refresh_leaves(nodes_b, b, pushed_b, leaves_b, frame_b, fill_b, context_b)

    state["position"], state["budget"], state["n_v"], state["n_u"] = position, budget, n_v, n_u
    return reason
