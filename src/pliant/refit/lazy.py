"""On demand: volumes follow when a query reaches them (thesis A 5.3.3, "top-down from the shared vertices of a node").

A node is refreshed from the vertices under it, without looking at its children: a lane is the volume around its distinct vertices
(`vertex_spans.py`). Or with some levels below it: then the deepest of these are made from vertices, and the others from their children.

Loops reach this through an address (`core/function_pointer.py`); the entry is compiled once per (volume type, W). Two threads may refresh
a node at once: they write the same bits, and the stamp after them.
"""
from functools import cache

import numpy as np

from pliant.core import jit
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer
from pliant.core.jit import helper, kernel
from pliant.core.soa import load_bounds, put_lane
from pliant.refit.leaf_fill import CONTEXT, requested_lanes, requested_node, requested_stamp, stamp_if_ready
from pliant.refit.policy import Policy, register_policy
from pliant.refit.refit_node import enclose_range, merge_and_stamp
from pliant.refit.vertex_spans import aligned_blocks, vertex_spans
from pliant.tree.nodes import node_dtype

ALL_LEVELS = 1 << 20                                                    # levels: more than a tree has


@kernel
def refit_subtree(nodes, points, spans, order, levels, ends, by_level, level_ends, frame, i, merged_lanes, n_levels):
    """Make node i, and all under it that are less than `n_levels` levels down, up to date; the number of volumes set. `merged_lanes`
    are merged from the nodes under them, which are up to date: then n_levels is 1."""
    n_refitted, end_level = 0, np.int64(levels[i]) + n_levels
    if i == 0:                                                          # no pass over the many nodes that are deeper
        for at in range(np.int64(level_ends[min(n_levels, len(level_ends)) - 1]) - 1, -1, -1):
            n_refitted += refit_one(nodes, points, spans, order, np.int64(by_level[at]), levels, end_level, merged_lanes, frame)
        return n_refitted
    for j in range(i if n_levels == 1 else np.int64(ends[i]) - 1, i - 1, -1):
        if levels[j] < end_level:
            n_refitted += refit_one(nodes, points, spans, order, j, levels, end_level, merged_lanes, frame)
    return n_refitted


@helper
def refit_one(nodes, points, spans, order, j, levels, end_level, merged_lanes, frame):
    """Node j: lanes above nodes of a level before `end_level`, and `merged_lanes`, from these nodes, others from their vertices."""
    like = load_bounds(nodes, j)
    for k in range(nodes[j]["count"]):
        child = np.int64(nodes[j]["child"][k])
        if child >= 0 and (levels[j] + 1 < end_level or merged_lanes >> k & 1):
            put_lane(nodes, j, k, load_bounds(nodes, child))
        else:
            put_lane(nodes, j, k, enclose_range(like, points, order, spans[j, k, 0], spans[j, k, 1]))
    return merge_and_stamp(nodes, j, frame)


@kernel
def refit_each_node(nodes, points, spans, order, levels, ends, by_level, level_ends, frame):
    """Every node from the vertices under it."""
    for i in range(len(nodes)):
        refit_subtree(nodes, points, spans, order, levels, ends, by_level, level_ends, frame, i, 0, 1)


# --- the entry -----------------------------------------------------------------------------------------------------------------

@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of `refit_subtree` for nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        record = array_at(as_pointer(context), 1, CONTEXT)[0]
        nodes = array_at(as_pointer(record["nodes"]), record["n_nodes"], node)
        if stamp_if_ready(i, nodes, array_at(as_pointer(record["ready"]), record["n_nodes"], np.int32), np.int32(record["frame"])):
            return np.int64(0)
        points = array_at(as_pointer(record["points"]), record["n_points"], np.float32)
        spans = array_at(as_pointer(record["spans"]), (record["n_nodes"], width, 2), np.int64)
        order = array_at(as_pointer(record["order"]), record["n_order"], np.int32)
        levels = array_at(as_pointer(record["levels"]), record["n_nodes"], np.int32)
        ends = array_at(as_pointer(record["ends"]), record["n_nodes"], np.int32)
        by_level = array_at(as_pointer(record["by_level"]), record["n_nodes"], np.int32)
        level_ends = array_at(as_pointer(record["level_ends"]), record["n_tree_levels"], np.int64)
        return refit_subtree(nodes, points, spans, order, levels, ends, by_level, level_ends,
                             requested_stamp(i, nodes, np.int32(record["frame"])), requested_node(i), requested_lanes(i),
                             record["n_levels"] if i else record["root_levels"])

    def enter_python(context, i):
        bvh = CONTEXTS[context]
        if stamp_if_ready(i, bvh.nodes, bvh.ready, bvh.frame):
            return 0
        return refit_subtree(bvh.nodes, bvh.rows, *bvh.tree_state, requested_stamp(i, bvh.nodes, bvh.frame), requested_node(i),
                             requested_lanes(i), int(bvh.record["n_levels" if i else "root_levels"][0]))

    return address_of(enter_python if jit.DISABLED else enter)


def vertex_spans_of(bvh):
    """The VertexSpans of its tree; on a new tree they are made, and given to the context with their entry."""
    if bvh.tree_state is None:
        motion = bvh.motion if bvh.has_blocks and bvh.options.volume_type.from_box else None
        n = len(bvh.points) // 4
        spans = vertex_spans(bvh.tree, n) if motion is None else vertex_spans(bvh.tree, n, motion.use_blocks(aligned_blocks(bvh.tree, n)))
        bvh.set_context(spans=spans.spans, order=spans.order, levels=spans.levels, ends=spans.ends, by_level=spans.by_level,
                        level_ends=spans.level_ends, n_order=len(spans.order), n_tree_levels=len(spans.level_ends),
                        entry=entry_for(bvh.options.volume_type.volume, bvh.tree.width)[0])
        bvh.tree_state = spans
    return bvh.tree_state


def prepare_bvh(bvh, root_levels, n_levels):
    """`root_levels` levels follow with the root (0: as with any other node), `n_levels` with others."""
    vertex_spans_of(bvh)
    levels = root_levels or n_levels, n_levels
    if bvh.levels_on_demand != levels:                                  # writing them costs more than a query of one ray does elsewhere
        bvh.set_context(root_levels=levels[0], n_levels=n_levels)
        bvh.levels_on_demand = levels


def refit_on_demand(bvh):
    """From now on all on demand, node by node."""
    prepare_bvh(bvh, 1, 1)


def refit_bvh(bvh):
    """Nothing, yet."""
    refit_on_demand(bvh)


register_policy(Policy("lazy", refit_bvh, on_demand=True))
