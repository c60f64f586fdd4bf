"""The triangles of a leaf follow when a query reaches it, whatever the policy; the volumes around them are the policies' affair.

Loops reach `fill` through an address (`core/function_pointer.py`). Two threads may fill a leaf at once: they write the same bits, and the
stamp after them.
"""
from functools import cache

import numpy as np

from pliant.core import jit
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer
from pliant.core.jit import helper, kernel
from pliant.core.simd import concat, extract, load4, maximum, minimum, transpose4x3
from pliant.core.soa import publish, put_bounds, put_lanes, stamp
from pliant.geometry.triangle_overlap import Triangle
from pliant.motion.motion import compute_vertex, prefetch_vertex
from pliant.tree.nodes import LEAF_DTYPE
from pliant.volume.aabb import Box

CONTEXT = np.dtype([(name, np.int64) for name in ("nodes", "leaves", "slots", "points", "spans", "order", "levels", "ends", "by_level",
                                                  "level_ends", "n_nodes", "n_leaves", "n_points", "n_order", "n_tree_levels", "frame",
                                                  "root_levels", "n_levels", "blend", "ready", "entry", "fill")])
AHEAD_FLAG = 1 << 62


@helper
def ahead_request(i, merged_lanes):
    """What an entry is asked to do ahead of queries (`front_tracking.py`): refresh node i, its `merged_lanes` from the nodes under them,
    which are up to date, and leave its stamp. Whoever comes to node i asks for it by its number."""
    return i | (merged_lanes << 32) | AHEAD_FLAG


@helper
def requested_node(request):
    """The node that an entry is asked about."""
    return request & 0xFFFFFFFF


@helper
def requested_lanes(request):
    """Bits of the lanes that are to follow from the nodes under them."""
    return (request & ~AHEAD_FLAG) >> 32


@helper
def requested_stamp(request, nodes, frame):
    """The stamp that the node gets: the one it has, or the frame's."""
    return stamp(nodes, requested_node(request)) if request & AHEAD_FLAG else frame


@helper
def stamp_if_ready(request, nodes, ready, frame):
    """Has a query come to a node that followed ahead? Then it is stamped, and that is all."""
    i = requested_node(request)
    if request & AHEAD_FLAG or ready[i] != frame:
        return False
    publish(nodes, i, frame)
    return True


@helper
def gather_corner(leaves, i, c, points):
    """Corner c of the eight triangles of leaf i: columns x, y, z, and the rows low and high around them."""
    at = leaves[i]["corner"]
    p, q, r, s = load4(points, 4 * at[c, 0]), load4(points, 4 * at[c, 1]), load4(points, 4 * at[c, 2]), load4(points, 4 * at[c, 3])
    t, u, v, w = load4(points, 4 * at[c, 4]), load4(points, 4 * at[c, 5]), load4(points, 4 * at[c, 6]), load4(points, 4 * at[c, 7])
    low = minimum(minimum(minimum(p, q), minimum(r, s)), minimum(minimum(t, u), minimum(v, w)))
    high = maximum(maximum(maximum(p, q), maximum(r, s)), maximum(maximum(t, u), maximum(v, w)))
    left, right = transpose4x3(p, q, r, s), transpose4x3(t, u, v, w)
    return concat(left[0], right[0]), concat(left[1], right[1]), concat(left[2], right[2]), low, high


@kernel
def fill_leaf(leaves, i, points, frame):
    """Set the triangles of leaf i and the box around them."""
    ax, ay, az, low_a, high_a = gather_corner(leaves, i, 0, points)
    bx, by, bz, low_b, high_b = gather_corner(leaves, i, 1, points)
    cx, cy, cz, low_c, high_c = gather_corner(leaves, i, 2, points)
    low, high = minimum(low_a, minimum(low_b, low_c)), maximum(high_a, maximum(high_b, high_c))
    put_lanes(leaves, i, Triangle(ax, ay, az, bx, by, bz, cx, cy, cz))
    put_bounds(leaves, i, Box(extract(low, 0), extract(low, 1), extract(low, 2), extract(high, 0), extract(high, 1), extract(high, 2)))
    publish(leaves, i, frame)
    return 0


@kernel
def fill_computed_leaf(leaves, i, state, rows, begins, frame):
    """Compute the vertices of leaf i, which are in these rows of a motion, then fill the leaf."""
    for at in range(begins[i], begins[i + 1]):
        prefetch_vertex(state, np.int64(rows[at]))
    for at in range(begins[i], begins[i + 1]):
        compute_vertex(state, np.int64(rows[at]))
    return fill_leaf(leaves, i, state.points, frame)


@cache
def fill_entry():
    """(address, what keeps it alive) of `fill`."""
    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        leaves = array_at(as_pointer(record["leaves"]), record["n_leaves"], LEAF_DTYPE)
        points = array_at(as_pointer(record["points"]), record["n_points"], np.float32)
        return np.int64(fill_leaf(leaves, i, points, np.int32(record["frame"])))

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        return fill_leaf(bvh.leaves, i, bvh.points, bvh.frame)

    return address_of(enter_python if jit.DISABLED else enter)
