"""Two trees, one loop. Resumable, and specialised on the pair of (family, W) and on the visitor, on nothing else.

Waiting pairs of nodes (>= 0) or leaves (~leaf) are packed as a << 32 | b on `stack`. The loop pops a pair, refreshes what is older than
its frame through the body's entry, and pushes the pairs of children that the visitor cares for, of both or of the larger one (`larger`);
two leaves go to the visitor. It returns why it stopped and can take up where it left:

    DONE      no pair is left                     BUDGET    as many pairs were visited as allowed: time to look at the clock, at Ctrl-C
    FULL      the visitor has no room for more    ENOUGH    the visitor has all it wants

A visitor is a NamedTuple of what its query needs; it defines `near`, `touch`, `itself` and `ways` for its class. Where a tree is compared
with itself, a node paired with itself means all pairs of its children, each with itself included.
"""
import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import invoke
from pliant.core.jit import helper, kernel
from pliant.core.simd import first
from pliant.core.soa import lane, lanes, prefetch, stamp, whole
from pliant.volume.protocol import Shift, carry, size

DONE, FULL, BUDGET, ENOUGH, GOING = range(5)
MASK = 0xFFFFFFFF
EXACT_COST = 32                                                         # of exact tests, in pairs of nodes: 0.3 to 26 µs against 60 ns
SLACK = 2.0**-22                                                        # of the largest coordinate: above every rounding of `carry`
DELTA = 2.0**-23 * (1 + 2.0**-19)                                       # of the larger reach: see `begin`
LEAST_DELTA = 2.0**-50                                                  # see geometry/overlap_simd.py
BLUR = 2.0**-38                                                         # of the larger reach: above errors of distances, geometry/triangle_distance.py

COUNTERS = ("n_v", "n_p", "n_u", "n_x")
NEARBY = tuple(name for what in ("leaves_a", "leaves_b", "flat_a", "flat_b", "m_a", "m_b", "keys", "begins", "others", "masks")
               for name in (what, f"n_{what}"))                         # addresses and lengths, for entries that look at two leaves
QUERY = np.dtype([(name, np.int64) for name in (
    "position", "budget", "found", *COUNTERS,                           # how far it is
    "first", "plain", "low", "exact", "hubs",                           # what the visitor wants: collide.py, selfcollide.py
    "frame_a", "entry_a", "fill_a", "context_a",                        # how the bodies make things true
    "frame_b", "entry_b", "fill_b", "context_b", "full", "larger",
    "me", "leaf", "gap", "face_a", "face_b", "leaf_a", "leaf_b", *NEARBY)]                                   # distances: nearby.py
    + [(name, np.float32) for name in ("x", "y", "z", "slack", "delta", "loose",           # from b's origin to a's, and the roundings
                                       "radius", "limit", "way_x", "way_y", "way_z")]                   # what is near, squared, and where
    + [(name, np.float64) for name in ("scale", "stretch", "best",      # frames against the world; the least distance so far
                                       "blur")]                         # and by how much more bounds may exceed one that is measured
    + [("turn", np.float64, (12,)), ("to_a", np.float32, (12,)), ("to_b", np.float32, (12,)),         # as x, y, z where bodies are placed
       ("ends", np.float64, (6,))])                                     # points of the least distance


@generic("visitor")
def near(visitor, state, volumes, volume):
    """Bits of the lanes of `volumes` that must be looked into together with `volume`."""


@generic("visitor")
def itself(visitor):
    """Is this a query of one tree with itself? A constant, so that other loops know nothing of it."""


@generic("visitor")
def ways(visitor, state):
    """(from b's frame to a's, from a's to b's), for `carry`."""


@helper
def shifts(state):
    """The `ways` between bodies that are not turned against each other."""
    return (Shift(state["x"], state["y"], state["z"], state["slack"]), Shift(-state["x"], -state["y"], -state["z"], state["slack"]))


@generic("visitor")
def touch(visitor, state, leaves_a, a, leaves_b, b):
    """Look at the triangles of leaves a and b; GOING, or why the loop must stop. FULL leaves the pair on the stack."""


@helper
def packed(a, b):
    """Two signed 32-bit names in one int64."""
    return (np.int64(a) << 32) | (np.int64(b) & MASK)


@helper
def low_name(entry):
    """The second of two packed names."""
    return np.int64(np.int32(entry & MASK))


@helper
def freshen(nodes, i, frame, entry, context):
    """Make node i true to its frame; the number of volumes set."""
    return np.int64(0) if stamp(nodes, i) == frame else invoke(entry, context, i)


@helper
def freshen_leaf(leaves, i, frame, fill, context):
    """Make the triangles of leaf i true to its frame."""
    if stamp(leaves, i) != frame:
        invoke(fill, context, i)


@helper
def freshen_leaves(nodes, i, some, leaves, frame, fill, context):
    """Make true the leaves among these children of node i: several at once wait less for memory than each when it is its turn."""
    while some != 0:
        k, some = first(some), some & (some - 1)
        child = np.int64(nodes[i]["child"][k])
        if child < 0:
            freshen_leaf(leaves, ~child, frame, fill, context)


@helper
def fetch(nodes, leaves, child):
    """Start loading a child that is about to wait on the stack: where trees exceed the caches, half the time would go into waiting."""
    if child < 0:
        prefetch(leaves, np.int64(~child))
    else:
        prefetch(nodes, np.int64(child))


@helper
def around(nodes, slots, name):
    """The volume around a node, or around a leaf: that is a lane of its parent."""
    if name >= 0:
        return whole(nodes, name)
    return lane(nodes, np.int64(slots[~name, 0]), np.int64(slots[~name, 1]))


@helper
def way(a, b, scale):
    """(b − a) · scale; neither the difference of huge numbers nor a number of a tiny body's scale may overflow on the way."""
    difference = b - a
    return difference * scale if abs(difference) < np.inf else b * scale - a * scale


@helper
def beyond(low, high, tolerance, blur):
    """Does a box that begins at `low` lie more than the tolerance beyond one that ends at `high`, whatever a distance is off by? 0: exactly
    that, since distances of faces that do not meet are above 0."""
    return low > high and low - high > (tolerance * (1 + 2.0**-40) + blur if tolerance > 0.0 else 0.0)


@kernel
def begin(query, box_a, origin_a, reach_a, box_b, origin_b, reach_b, scale, tolerance):
    """Set the query at the pair of roots (stack[0] = 0), unless the exact boxes are farther apart than the tolerance; lengths in it are
    times the scale."""
    state, blur = query[0], max(reach_a, reach_b) * BLUR
    for k in range(3):
        if beyond(box_a[k], box_b[k + 4], tolerance, blur) or beyond(box_b[k], box_a[k + 4], tolerance, blur):
            return False
    state["blur"] = blur
    x, y, z = way(origin_a[0], origin_b[0], scale), way(origin_a[1], origin_b[1], scale), way(origin_a[2], origin_b[2], scale)
    reach, shift = max(reach_a, reach_b) * scale, max(abs(x), max(abs(y), abs(z)))
    # The error of a corner, but for what making it local adds (`geometry/overlap_simd.py`), with e = 2**-24: of a, e · reach; of b, e · reach and
    # as much for the way to the leaf's low corner; of b's box, e · reach for either body. Origins are coarse (`motion/free.py`), so the
    # shift is nearly always exact in float32; where it is not, its rounding counts too.
    inexact = (x != np.float32(x)) | (y != np.float32(y)) | (z != np.float32(z))
    state["x"], state["y"], state["z"] = x, y, z
    state["slack"], state["delta"] = (reach + shift) * SLACK, max((reach + (shift if inexact else 0.0)) * DELTA, LEAST_DELTA)
    restart(state)
    return True


@helper
def restart(state):
    """At the pair of roots, with nothing found."""
    state["position"], state["found"] = 1, 0
    state["n_v"], state["n_p"], state["n_u"], state["n_x"] = 1, 0, 0, 0


@kernel
def traverse(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack):
    """Go on with the query, whose state is in `query` (1,) and `stack`."""
    state = query[0]
    position, budget = state["position"], state["budget"]
    n_v, n_u = state["n_v"], state["n_u"]
    frame_a, entry_a, fill_a, context_a = state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"]
    frame_b, entry_b, fill_b, context_b = state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"]
    larger = state["larger"] != 0
    to_a, to_b = ways(visitor, state)
    reason = DONE

    while position > 0:
        if budget == 0:
            reason = BUDGET
            break
        budget -= 1
        entry = stack[position - 1]
        a, b = entry >> 32, low_name(entry)
        if a < 0 and b < 0:
            freshen_leaf(leaves_a, ~a, frame_a, fill_a, context_a)
            freshen_leaf(leaves_b, ~b, frame_b, fill_b, context_b)
            exact = state["n_x"]
            reason = touch(visitor, state, leaves_a, ~a, leaves_b, ~b)
            budget = max(budget - EXACT_COST * (state["n_x"] - exact), 0)
            if reason != GOING:
                position -= reason != FULL
                break
            reason = DONE
            position -= 1
            continue

        position -= 1
        if a >= 0:
            n_u += freshen(nodes_a, a, frame_a, entry_a, context_a)
        if itself(visitor) and a == b:
            count = np.int64(nodes_a[a]["count"])
            for i in range(count):
                child = nodes_a[a]["child"][i]
                fetch(nodes_a, leaves_a, child)
                some = near(visitor, state, lanes(nodes_a, a), carry(lane(nodes_a, a, i), to_a)) & (np.int64(-2) << i)
                n_v += count - 1 - i
                while some != 0:
                    j, some = first(some), some & (some - 1)
                    stack[position] = packed(child, nodes_a[a]["child"][j])
                    position += 1
                stack[position] = packed(child, child)
                position += 1
            freshen_leaves(nodes_a, a, (np.int64(1) << count) - 1, leaves_a, frame_a, fill_a, context_a)
            continue
        if b >= 0:
            n_u += freshen(nodes_b, b, frame_b, entry_b, context_b)
        one = larger and a >= 0 and b >= 0
        if a < 0 or (one and size(whole(nodes_b, b)) > size(whole(nodes_a, a))):
            some = near(visitor, state, lanes(nodes_b, b), carry(around(nodes_a, slots_a, a), to_b))
            n_v += nodes_b[b]["count"]
            while some != 0:
                j, some = first(some), some & (some - 1)
                stack[position] = packed(a, nodes_b[b]["child"][j])
                position += 1
        elif b < 0 or one:
            some = near(visitor, state, lanes(nodes_a, a), carry(around(nodes_b, slots_b, b), to_a))
            n_v += nodes_a[a]["count"]
            while some != 0:
                i, some = first(some), some & (some - 1)
                stack[position] = packed(nodes_a[a]["child"][i], b)
                position += 1
        else:
            # Lanes of a against all of b, then each that meets it against the lanes of b.
            many = near(visitor, state, lanes(nodes_a, a), carry(whole(nodes_b, b), to_a))
            of_a, of_b = np.int64(0), np.int64(0)                       # children that wait on the stack from now on
            n_v += nodes_a[a]["count"]
            while many != 0:
                i, many = first(many), many & (many - 1)
                some = near(visitor, state, lanes(nodes_b, b), carry(lane(nodes_a, a, i), to_b))
                n_v += nodes_b[b]["count"]
                if some == 0:
                    continue
                fetch(nodes_a, leaves_a, nodes_a[a]["child"][i])
                new, of_a, of_b = some & ~of_b, of_a | (np.int64(1) << i), of_b | some
                while new != 0:
                    j, new = first(new), new & (new - 1)
                    fetch(nodes_b, leaves_b, nodes_b[b]["child"][j])
                while some != 0:
                    j, some = first(some), some & (some - 1)
                    stack[position] = packed(nodes_a[a]["child"][i], nodes_b[b]["child"][j])
                    position += 1
            freshen_leaves(nodes_a, a, of_a, leaves_a, frame_a, fill_a, context_a)
            freshen_leaves(nodes_b, b, of_b, leaves_b, frame_b, fill_b, context_b)

    state["position"], state["budget"], state["n_v"], state["n_u"] = position, budget, n_v, n_u
    return reason
