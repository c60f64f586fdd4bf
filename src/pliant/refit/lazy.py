"""Lazy: volumes follow when a query reaches them, from the top down (thesis A 5.2, "top-down from the shared vertices of a node").

A node is made true from the vertices under it, without looking at its children: a lane is the volume around its distinct vertices.
`spans` (n, W, 2) and `order` list them, built once per tree: one copy of the vertices per level.

Loops reach this through an address (`core/call.py`); the entry is compiled once per (family, W). Two threads may refresh a node at
once: they write the same bits, and the stamp after them.
"""
from functools import cache

import numpy as np

from pliant.core import jit
from pliant.core.call import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import kernel
from pliant.core.records import put_lane, whole
from pliant.refit.bottom_up import settle, volume_of
from pliant.refit.leaves import CONTEXT
from pliant.refit.policy import Policy, register
from pliant.tree.nodes import node_dtype


@kernel
def refresh(nodes, points, spans, order, frame, i):
    """Make node i true to the points; the number of volumes set."""
    like = whole(nodes, i)
    for k in range(nodes[i]["count"]):
        put_lane(nodes, i, k, volume_of(like, points, order, spans[i, k, 0], spans[i, k, 1]))
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
def list_vertices(child, count, ranges, vertices, begins, seen, spans, order):
    """Fill spans and, where there is room, order; how many entries there are. `seen` (vertices,) int64 starts at −1."""
    n, mark = 0, 0
    for i in range(len(child)):
        for k in range(count[i]):
            c = np.int64(child[i, k])
            begin, end = (~c, ~c + 1) if c < 0 else (ranges[c, 0], ranges[c, 1])
            spans[i, k, 0] = n
            for at in range(begins[begin], begins[end]):
                v = vertices[at]
                if seen[v] != mark:
                    seen[v] = mark
                    if n < len(order):
                        order[n] = v
                    n += 1
            while n % 4 != 0:                                           # `volume_of` takes four at a time
                if n < len(order):
                    order[n] = order[n - 1]
                n += 1
            spans[i, k, 1] = n
            mark += 1
    return n


def vertices_under(tree, n_points):
    """(spans (n, W, 2), order): the distinct vertices under each lane."""
    ranges = np.zeros((len(tree.child), 2), np.int64)
    leaf_ranges(tree.child, tree.count, ranges)
    spans = np.zeros((*tree.child.shape, 2), np.int64)
    lists = tree.child, tree.count, ranges, tree.vertices, tree.begins
    order = np.zeros(list_vertices(*lists, np.full(n_points, -1), spans, np.zeros(0, np.int32)), np.int32)
    list_vertices(*lists, np.full(n_points, -1), spans, order)
    return spans, order


# --- the entry -----------------------------------------------------------------------------------------------------------------

@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of `refresh` for nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        nodes = array_at(pointer(about["nodes"]), about["n_nodes"], node)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        spans = array_at(pointer(about["spans"]), (about["n_nodes"], width, 2), np.int64)
        order = array_at(pointer(about["order"]), about["n_order"], np.int32)
        return refresh(nodes, points, spans, order, np.int32(about["frame"]), i)

    def enter_python(context, i):
        shape = CONTEXTS[context]
        return refresh(shape.nodes, shape.points, *shape.kept, shape.frame, i)

    return address_of(enter_python if jit.DISABLED else enter)


def follow(shape):
    """Nothing, but on a new tree: what its entry needs."""
    if shape.kept is None:
        spans, order = shape.kept = vertices_under(shape.tree, len(shape.points) // 4)
        shape.know(spans=spans, order=order)
        shape.about["n_order"] = len(order)
        shape.entry = entry_for(shape.options.family.volume, shape.tree.width)[0]


register(Policy("lazy", follow))
