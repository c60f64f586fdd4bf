"""The distinct vertices under each lane of a tree: one copy of them per level, built once per tree.

For volume types that depend on the box of their points alone, vertices that fill a block of the motion (`motion/free.py`) are replaced by
the two corners of its box, which `update` computes anyway. So the volume around a few thousand vertices takes a few hundred rows, if
vertices that are near each other in the tree have near indices: `reorder_vertices` makes it so. Blocks that end where a lane of the upper
levels does leave only the vertices that lanes share: 11,240 rows instead of 28,388 for 512 lanes of a body of 81,920 triangles.
"""
import math
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.motion.free import BLOCK, block_row
from pliant.tree.nodes import subtree_leaf_ranges

NO_BLOCKS = np.zeros(0, np.int64)
UPPER_NODES = 2                                                         # times the square root of all nodes
MAX_BLOCK = 4 * BLOCK                                                   # vertices: when one moves, the box of its block is made anew


class VertexSpans(NamedTuple):
    """What lazy refits read of a tree: spans (n, W, 2) and order, the distinct vertices under each lane, and rows of
    blocks; levels (n,) int32, 0 for the root; ends (n,) int32: the nodes under i are i + 1 … ends[i] − 1; by_level (n,) int32, the nodes
    from the root downwards, and level_ends (levels,) int64: those of levels 0 … l are by_level[: level_ends[l]]."""
    spans: np.ndarray
    order: np.ndarray
    levels: np.ndarray
    ends: np.ndarray
    by_level: np.ndarray
    level_ends: np.ndarray


class BlockScratch(NamedTuple):
    """Of each block, the last lane that named it and how many of its vertices: int64, −1 and 0 at first; empty where there are none. Where
    blocks begin, and the block of each vertex."""
    lane: np.ndarray
    count: np.ndarray
    begins: np.ndarray
    of_vertex: np.ndarray


@kernel
def list_vertices(child, count, ranges, vertices, begins, blocks, last_lane, spans, order):
    """Fill spans and, where there is room, order; how many entries there are. `last_lane` (vertices,) int64 starts at −1."""
    n, lane = np.int64(0), np.int64(0)
    for i in range(len(child)):
        for k in range(count[i]):
            c = np.int64(child[i, k])
            leaf_begin, leaf_end = (~c, ~c + 1) if c < 0 else (ranges[c, 0], ranges[c, 1])
            begin, end = np.int64(begins[leaf_begin]), np.int64(begins[leaf_end])
            has_blocks = len(blocks.lane) > 0 and end - begin >= BLOCK
            if has_blocks:
                count_in_blocks(vertices, begin, end, lane, blocks, last_lane)
                lane += 1                                               # every vertex once more
            spans[i, k, 0] = n
            for at in range(begin, end):
                v = np.int64(vertices[at])
                if last_lane[v] != lane:
                    last_lane[v] = lane
                    b = np.int64(blocks.of_vertex[v]) if has_blocks else 0
                    size = blocks.begins[b + 1] - blocks.begins[b] if has_blocks else 0
                    if size > 2 and blocks.count[b] == size:            # the corners of its box are two rows
                        if blocks.lane[b] != lane:
                            blocks.lane[b] = lane
                            n = append(order, n, block_row(len(last_lane), b))
                            n = append(order, n, block_row(len(last_lane), b) + 1)
                    else:
                        n = append(order, n, v)
            while n % 4 != 0:                                           # `enclose_points` takes four at a time
                n = append(order, n, order[n - 1] if n <= len(order) else 0)
            spans[i, k, 1] = n
            lane += 1
    return n


@helper
def append(order, n, row):
    """Write entry n, if there is room; n + 1."""
    if n < len(order):
        order[n] = row
    return n + 1


@helper
def count_in_blocks(vertices, begin, end, lane, blocks, last_lane):
    """Count the distinct ones of these vertices in each of their blocks."""
    for at in range(begin, end):
        v = np.int64(vertices[at])
        if last_lane[v] != lane:
            last_lane[v] = lane
            b = np.int64(blocks.of_vertex[v])
            if blocks.lane[b] != lane:
                blocks.lane[b], blocks.count[b] = lane, 0
            blocks.count[b] += 1


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


@kernel
def number_lanes(child, count, ranges, vertices, begins, levels, bottom, lane_of_leaf, lane_of_vertex):
    """Number the lanes that the upper levels, down to `bottom`, are made from: lane_of_vertex (n,), −1 at first, has the first lane that
    names each vertex, in the order of leaves."""
    lane = 0
    for i in range(len(child)):
        for k in range(count[i]):
            c = np.int64(child[i, k])
            if c >= 0 and levels[i] == bottom:
                for leaf in range(ranges[c, 0], ranges[c, 1]):
                    lane_of_leaf[leaf] = lane
            elif c < 0 and levels[i] <= bottom:
                lane_of_leaf[~c] = lane
            lane += 1
    for leaf in range(len(lane_of_leaf)):
        for at in range(begins[leaf], begins[leaf + 1]):
            if lane_of_vertex[vertices[at]] < 0:
                lane_of_vertex[vertices[at]] = lane_of_leaf[leaf]


def level_lists(tree):
    """(levels, ends, by_level, level_ends) of `VertexSpans`."""
    levels, ends = np.zeros(len(tree.child), np.int32), np.zeros(len(tree.child), np.int32)
    list_levels(tree.child, tree.count, levels, ends)
    return levels, ends, np.argsort(levels, kind="stable").astype(np.int32), np.bincount(levels).cumsum()


def levels_by_count(level_ends):
    """The number of upper levels that hold at most UPPER_NODES · √n nodes, the root always."""
    return max(int(np.searchsorted(level_ends, UPPER_NODES * math.sqrt(level_ends[-1]), side="right")), 1)


def aligned_blocks(tree, n_points):
    """Where blocks begin that end where the lanes of the upper levels do, and `n_points`: of at most MAX_BLOCK vertices."""
    levels, _, _, level_ends = level_lists(tree)
    lanes = np.full(n_points, -1)
    number_lanes(tree.child, tree.count, subtree_leaf_ranges(tree), tree.vertices, tree.begins, levels, levels_by_count(level_ends) - 1,
                 np.zeros(len(tree.begins) - 1, np.int64), lanes)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(lanes)) + 1])
    lengths = np.diff(begins, append=n_points)
    parts = -(-lengths // MAX_BLOCK)
    nth = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(np.repeat(begins, parts) + nth * np.repeat(lengths, parts) // np.repeat(parts, parts), n_points)


def vertex_spans(tree, n_points, block_begins=NO_BLOCKS):
    """The VertexSpans of a tree; rows of blocks that begin there stand for the vertices that fill them."""
    ranges, n_blocks = subtree_leaf_ranges(tree), max(len(block_begins) - 1, 0)
    spans, order = np.zeros((*tree.child.shape, 2), np.int64), np.zeros(0, np.int32)
    of_vertex = np.repeat(np.arange(n_blocks, dtype=np.int32), np.diff(block_begins))
    for _ in range(2):                                                  # how many, then which
        blocks = BlockScratch(np.full(n_blocks, -1), np.zeros(n_blocks, np.int64), block_begins, of_vertex)
        n = list_vertices(tree.child, tree.count, ranges, tree.vertices, tree.begins, blocks, np.full(n_points, -1), spans, order)
        order = order if len(order) else np.zeros(n, np.int32)
    return VertexSpans(spans, order, *level_lists(tree))
