"""The distinct vertices under each lane of a tree: one copy of them per level, built once per tree.

For volume types that depend on the box of their points alone, vertices that fill a block of the motion (`motion/free.py`) are replaced by
the two corners of its box, which `update` computes anyway. So the volume around a few thousand vertices takes a few hundred rows, if
vertices that are near each other in the tree have near indices: `reorder_vertices` makes it so.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.motion.free import BLOCK, block_row
from pliant.tree.nodes import subtree_leaf_ranges


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
    """Of each block, the last lane that named it and how many of its vertices: int64, −1 and 0 at first; empty where there are none."""
    lane: np.ndarray
    count: np.ndarray


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
                    b = v // BLOCK
                    if has_blocks and blocks.count[b] == min(BLOCK, len(last_lane) - b * BLOCK):
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
            b = v // BLOCK
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


def vertex_spans(tree, n_points, use_blocks=False):
    """The VertexSpans of a tree; with `use_blocks`, rows of blocks stand for the vertices that fill them."""
    ranges, n_blocks = subtree_leaf_ranges(tree), -(-n_points // BLOCK) if use_blocks else 0
    spans, order = np.zeros((*tree.child.shape, 2), np.int64), np.zeros(0, np.int32)
    for _ in range(2):                                                  # how many, then which
        blocks = BlockScratch(np.full(n_blocks, -1), np.zeros(n_blocks, np.int64))
        n = list_vertices(tree.child, tree.count, ranges, tree.vertices, tree.begins, blocks, np.full(n_points, -1), spans, order)
        order = order if len(order) else np.zeros(n, np.int32)
    levels, ends = np.zeros(len(tree.child), np.int32), np.zeros(len(tree.child), np.int32)
    list_levels(tree.child, tree.count, levels, ends)
    return VertexSpans(spans, order, levels, ends, np.argsort(levels, kind="stable").astype(np.int32), np.bincount(levels).cumsum())
