"""On demand: volumes follow when a query reaches them (thesis A 5.3.3, "top-down from the shared vertices of a node").

A node is made true from the vertices under it, without looking at its children: a lane is the volume around its distinct vertices. Or with
some levels below it: then the deepest of these are made from vertices, and the others from their children. `spans` (n, W, 2) and
`order` list the vertices, built once per tree: one copy of them per level.

Loops reach this through an address (`core/function_pointer.py`); the entry is compiled once per (family, W). Two threads may refresh a node at
once: they write the same bits, and the stamp after them.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import kernel
from pliant.core.soa import put_lane, whole
from pliant.refit.leaf_fill import CONTEXT, came_to_ready, kept_of, node_of, stamp_for
from pliant.refit.policy import Policy, register
from pliant.refit.refit_node import settle, volume_of
from pliant.tree.nodes import node_dtype, ranges_of

ALL = 1 << 20                                                           # levels: more than a tree has


class Spans(NamedTuple):
    """What `refresh` reads of a tree: spans (n, W, 2) and order, the distinct vertices under each lane; levels (n,) int32, 0 for the root;
    ends (n,) int32: the nodes under i are i + 1 … ends[i] − 1."""
    spans: np.ndarray
    order: np.ndarray
    levels: np.ndarray
    ends: np.ndarray


@kernel
def refresh(nodes, points, spans, order, levels, ends, frame, i, kept, deep):
    """Make node i, and all under it that are less than `deep` levels down, true to the points; the number of volumes set. Lanes in `kept`
    follow from the nodes under them, which are true: then deep is 1."""
    updated, most = 0, np.int64(levels[i]) + deep
    for j in range(i if deep == 1 else np.int64(ends[i]) - 1, i - 1, -1):
        if levels[j] >= most:
            continue
        like = whole(nodes, j)
        for k in range(nodes[j]["count"]):
            child = np.int64(nodes[j]["child"][k])
            if child >= 0 and (levels[j] + 1 < most or kept >> k & 1):
                put_lane(nodes, j, k, whole(nodes, child))
            else:
                put_lane(nodes, j, k, volume_of(like, points, order, spans[j, k, 0], spans[j, k, 1]))
        updated += settle(nodes, j, frame)
    return updated


@kernel
def refresh_each(nodes, points, spans, order, levels, ends, frame):
    """Every node from the vertices under it."""
    for i in range(len(nodes)):
        refresh(nodes, points, spans, order, levels, ends, frame, i, 0, 1)


# --- the distinct vertices under each lane -------------------------------------------------------------------------------------

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


@kernel
def list_levels(child, count, levels, ends):
    """Fill levels, 0 at first, and ends. Children come after parents, and a subtree is a range."""
    for i in range(len(child)):
        for k in range(count[i]):
            if child[i, k] >= 0:
                levels[child[i, k]] = levels[i] + 1
    for i in range(len(child) - 1, -1, -1):
        ends[i] = i + 1
        for k in range(count[i]):
            if child[i, k] >= 0:
                ends[i] = max(ends[i], ends[child[i, k]])


def spans_of(tree, n_points):
    """The Spans of a tree."""
    ranges = ranges_of(tree)
    spans = np.zeros((*tree.child.shape, 2), np.int64)
    lists = tree.child, tree.count, ranges, tree.vertices, tree.begins
    order = np.zeros(list_vertices(*lists, np.full(n_points, -1), spans, np.zeros(0, np.int32)), np.int32)
    list_vertices(*lists, np.full(n_points, -1), spans, order)
    levels, ends = np.zeros(len(tree.child), np.int32), np.zeros(len(tree.child), np.int32)
    list_levels(tree.child, tree.count, levels, ends)
    return Spans(spans, order, levels, ends)


# --- the entry -----------------------------------------------------------------------------------------------------------------

@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of `refresh` for nodes of this class and width."""
    node = node_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        nodes = array_at(pointer(about["nodes"]), about["n_nodes"], node)
        if came_to_ready(i, nodes, array_at(pointer(about["ready"]), about["n_nodes"], np.int32), np.int32(about["frame"])):
            return np.int64(0)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        spans = array_at(pointer(about["spans"]), (about["n_nodes"], width, 2), np.int64)
        order = array_at(pointer(about["order"]), about["n_order"], np.int32)
        levels = array_at(pointer(about["levels"]), about["n_nodes"], np.int32)
        ends = array_at(pointer(about["ends"]), about["n_nodes"], np.int32)
        return refresh(nodes, points, spans, order, levels, ends, stamp_for(i, nodes, np.int32(about["frame"])), node_of(i), kept_of(i),
                       about["deep"] if i else about["upper"])

    def enter_python(context, i):
        shape = CONTEXTS[context]
        if came_to_ready(i, shape.nodes, shape.ready, shape.frame):
            return 0
        return refresh(shape.nodes, shape.points, *shape.kept, stamp_for(i, shape.nodes, shape.frame), node_of(i), kept_of(i),
                       int(shape.about["deep" if i else "upper"][0]))

    return address_of(enter_python if jit.DISABLED else enter)


def prepare(shape, upper, deep):
    """`upper` levels follow with the root (0: as with any other node), `deep` with others. On a new tree also: what its entry needs."""
    if shape.kept is None:
        spans = spans_of(shape.tree, len(shape.points) // 4)
        shape.know(spans=spans.spans, order=spans.order, levels=spans.levels, ends=spans.ends, n_order=len(spans.order),
                   entry=entry_for(shape.options.family.volume, shape.tree.width)[0])
        shape.kept = spans
    shape.know(upper=upper or deep, deep=deep)


def refit(shape):
    """From now on all on demand, node by node."""
    prepare(shape, 1, 1)


def follow(shape):
    """Nothing, yet."""
    refit(shape)


register(Policy("lazy", follow))
