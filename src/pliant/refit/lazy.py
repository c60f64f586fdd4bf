"""Lazy: volumes follow when a query reaches them, from the top down (thesis A 5.2, "top-down from the shared vertices of a node").

A node is made true from the vertices under it, without looking at its children: an inner lane is the box of its distinct vertices, a
lane that is a leaf is filled. `spans` (n, W, 2) and `order` list the distinct vertices of every inner lane, built once per tree: one
copy of the vertices per level.

Loops reach this through an address (`core/call.py`); the entry is compiled once per (family, W). Two threads may refresh a node at
once: they write the same bits, and the stamp after them.
"""
from functools import lru_cache

import numpy as np

from pliant.core import jit
from pliant.core.call import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import kernel
from pliant.core.records import aligned, put_lane, whole
from pliant.core.simd import four, greatest, least
from pliant.refit.bottom_up import fill, settle
from pliant.refit.policy import Policy, register
from pliant.tree.nodes import LEAF, LEAF_DTYPE, node_dtype
from pliant.volume.protocol import around

CONTEXT = np.dtype([(name, np.int64) for name in ("nodes", "leaves", "corners", "points", "spans", "order",
                                                  "n_nodes", "n_leaves", "n_points", "n_order", "frame")])


@kernel
def refresh(nodes, leaves, corners, points, spans, order, frame, i):
    """Make node i, and the leaves right under it, true to the points; the number of volumes set."""
    like = whole(nodes, i)
    for k in range(nodes[i]["count"]):
        child = np.int64(nodes[i]["child"][k])
        if child < 0:
            put_lane(nodes, i, k, fill(leaves, ~child, corners, points, like))
            continue
        begin = np.int64(spans[i, k, 0])
        low = high = four(points, 4 * order[begin])
        for at in range(begin + 1, spans[i, k, 1]):
            row = four(points, 4 * order[at])
            low, high = least(low, row), greatest(high, row)
        put_lane(nodes, i, k, around(like, low, high))
    return settle(nodes, i, frame)


# --- the distinct vertices under each lane -------------------------------------------------------------------------------------

@kernel
def leaf_ranges(child, count, ranges):
    """ranges (n, 2): the leaves under each node, [first, last + 1). Children come after parents."""
    for i in range(len(child) - 1, -1, -1):
        low, high = np.int64(1 << 40), np.int64(0)
        for k in range(count[i]):
            c = np.int64(child[i, k])
            if c < 0:
                low, high = min(low, ~c), max(high, ~c + 1)
            else:
                low, high = min(low, ranges[c, 0]), max(high, ranges[c, 1])
        ranges[i, 0], ranges[i, 1] = low, high


@kernel
def list_vertices(child, count, ranges, corners, seen, spans, order):
    """Fill spans and, where there is room, order; how many entries there are. `seen` (vertices,) int64 starts at −1."""
    n, mark = 0, 0
    for i in range(len(child)):
        for k in range(count[i]):
            c = np.int64(child[i, k])
            if c < 0:
                continue
            spans[i, k, 0] = n
            for leaf in range(ranges[c, 0], ranges[c, 1]):
                for corner in range(3):
                    for j in range(LEAF):
                        v = corners[leaf, corner, j]
                        if seen[v] != mark:
                            seen[v] = mark
                            if n < len(order):
                                order[n] = v
                            n += 1
            spans[i, k, 1] = n
            mark += 1
    return n


def vertices_under(tree, n_points):
    """(spans (n, W, 2), order): the distinct vertices under each lane that is a node."""
    ranges = np.zeros((len(tree.child), 2), np.int64)
    leaf_ranges(tree.child, tree.count, ranges)
    spans = np.zeros((*tree.child.shape, 2), np.int64)
    room = list_vertices(tree.child, tree.count, ranges, tree.corners, np.full(n_points, -1), spans, np.zeros(0, np.int32))
    order = np.zeros(max(room, 1), np.int32)
    list_vertices(tree.child, tree.count, ranges, tree.corners, np.full(n_points, -1), spans, order)
    return spans, order


# --- the entry -----------------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=None)
def entry_for(volume, width):
    """(address, what keeps it alive) of `refresh` for nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        nodes = array_at(pointer(about["nodes"]), about["n_nodes"], node)
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        corners = array_at(pointer(about["corners"]), (about["n_leaves"], 3, 8), np.int32)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        spans = array_at(pointer(about["spans"]), (about["n_nodes"], width, 2), np.int64)
        order = array_at(pointer(about["order"]), about["n_order"], np.int32)
        return refresh(nodes, leaves, corners, points, spans, order, np.int32(about["frame"]), i)

    def enter_python(context, i):
        return refresh(*CONTEXTS[context], i)

    return address_of(enter_python if jit.DISABLED else enter)


def follow(shape):
    """Tell the entry which frame it is; on a new tree, make the entry's context first."""
    if shape.kept is None:
        spans, order = vertices_under(shape.tree, len(shape.points) // 4)
        context = aligned(1, CONTEXT)
        shape.kept = context, spans, order
        shape.entry, shape.context = entry_for(shape.options.family.volume, shape.tree.width)[0], context.ctypes.data
        arrays = {"nodes": shape.nodes, "leaves": shape.leaves, "corners": shape.tree.corners, "points": shape.points, "spans": spans, "order": order}
        for name, array in arrays.items():
            context[name] = array.ctypes.data
        context["n_nodes"], context["n_leaves"], context["n_points"], context["n_order"] = (
            len(shape.nodes), len(shape.leaves), len(shape.points), len(order))
    context, spans, order = shape.kept
    context["frame"] = shape.frame
    if jit.DISABLED:
        CONTEXTS[shape.context] = (shape.nodes, shape.leaves, shape.tree.corners, shape.points, spans, order, np.int32(shape.frame))


register(Policy("lazy", follow))
