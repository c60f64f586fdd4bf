"""Initial-shape trees, top-down (paper A, 5.3.2; C, 7.3.1): builders "centre" and "mean". Deterministic.

The box of a set of faces is cut along its one, two or three longest sides, for arity 2, 4 and 8; every face goes where its midpoint
lies, and sub-volumes without faces are dropped. "centre" cuts through the middle of the box, "mean" through the mean of the midpoints.
The box is the one around the triangles, as in the paper, not the one around the midpoints; a midpoint is the middle of a triangle's own
box, and one that lies on a plane belongs above it.

A set of at most `leaf` faces is a leaf, a larger one a node. With leaf=1 every node is cut by these rules down to single faces: the
paper's trees. With larger leaves they would leave a face or two in most sub-volumes of small sets; there, a set of at most `arity`
leaves is halved at medians instead, into as few leaves as can be: 6.6 of 8 faces in a leaf instead of 3.3, and queries 23 % quicker
(two bumpy spheres of 20,480 faces).

A set that planes cannot part, because all midpoints lie on one side, is also halved at the median along the longest side of the box of
the midpoints, and so is the larger part, until there are `arity` sets. Midpoints that coincide are halved by position. Below MAX_DEPTH
levels there are only medians: faces spaced like 1, 2, 4, 8, … cannot make a list out of the tree, which has no more than
MAX_DEPTH + log2 n levels.

Rows and sets are those of `tree/sah.py`: a face is 8 float32, low x y z, its number as bits, high x y z, 1; midpoints are doubled.
"""
from functools import partial

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.simd import extract, load4, movemask, store4
from pliant.core.soa import aligned_zeros
from pliant.tree.build_state import append_children, finish_build, largest_span, leaf_aligned_middle, pop_set, split_span, start_build
from pliant.tree.nodes import Builder, register_builder
from pliant.tree.sah import face_order, gather_boxes, measure_set, partition_at_median

MAX_DEPTH = 48                                                          # with log2 MAX_FACES less than MAX_LEVELS
INF = np.float32(np.inf)
N_OCTANTS = 8                                                           # sub-volumes: bit k of a number is set above the plane of axis k


@helper
def set_planes_at_center(sets, planes):
    """Twice the middle of the box of set 0, x y z."""
    store4(planes, 0, load4(sets, 0) + load4(sets, 4))


@routine
def set_planes_at_mean(rows, begin, end, planes):
    """Twice the mean of the midpoints, x y z; summed in float64, since float32 would lose small faces among many."""
    x = y = z = 0.0
    for i in range(begin, end):
        midpoint = load4(rows, 8 * i) + load4(rows, 8 * i + 4)
        x, y, z = x + extract(midpoint, 0), y + extract(midpoint, 1), z + extract(midpoint, 2)
    n = end - begin
    planes[0], planes[1], planes[2] = x / n, y / n, z / n


@helper
def keep_longest_axes(sets, planes, arity):
    """Take away the planes across the shortest sides of the box of set 0: all but one for arity 2, all but two for 4. Of equal sides the
    first is the longest."""
    size = load4(sets, 4) - load4(sets, 0)
    x, y, z = extract(size, 0), extract(size, 1), extract(size, 2)
    above_x = (1 if y > x else 0) + (1 if z > x else 0)                 # how many sides are longer
    above_y = (1 if x >= y else 0) + (1 if z > y else 0)
    above_z = (1 if x >= z else 0) + (1 if y >= z else 0)
    n_axes = 1 if arity == 2 else (2 if arity == 4 else 3)
    planes[0] = planes[0] if above_x < n_axes else INF
    planes[1] = planes[1] if above_y < n_axes else INF
    planes[2] = planes[2] if above_z < n_axes else INF


@routine
def partition_at_planes(rows, spare, begin, end, planes, offsets, spans):
    """Sort the rows by sub-volume, in order; the spans of those that hold faces, and how many. One: nothing was parted."""
    plane_row = load4(planes, 0)
    for s in range(N_OCTANTS):
        offsets[s] = 0
    for i in range(begin, end):
        offsets[movemask((load4(rows, 8 * i) + load4(rows, 8 * i + 4)) >= plane_row) & 7] += 1
    n, start = 0, begin
    for s in range(N_OCTANTS):
        faces = offsets[s]
        offsets[s] = start - begin
        if faces > 0:
            spans[n, 0], spans[n, 1] = start, start + faces
            n, start = n + 1, start + faces
    if n == 1:
        return 1
    for i in range(begin, end):
        low, high = load4(rows, 8 * i), load4(rows, 8 * i + 4)
        s = movemask((low + high) >= plane_row) & 7
        store4(spare, 8 * offsets[s], low)
        store4(spare, 8 * offsets[s] + 4, high)
        offsets[s] += 1
    for i in range(0, 8 * (end - begin), 4):
        store4(rows, 8 * begin + i, load4(spare, i))
    return n


@routine
def split_at_medians(rows, arity, leaf, sets, spans):
    """Halve the set spans[0], and always the largest, until there are `arity` or all are leaves; how many there are."""
    n = 1
    while n < arity:
        largest = largest_span(spans, n)
        begin, end = spans[largest, 0], spans[largest, 1]
        if end - begin <= leaf:
            break
        cut = leaf_aligned_middle(begin, end, leaf)
        measure_set(rows, begin, end, sets, 0)
        partition_at_median(rows, begin, cut, end, sets, 0)
        split_span(spans, largest, cut, n)
        n += 1
    return n


@kernel
def build_nodes(rows, spare, arity, leaf, at_mean, limit, sets, planes, offsets, state):
    """Build; (nodes, leaves)."""
    spans, n_nodes, n_leaves, top = state.spans, 0, 0, 1
    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)
        n, begin, end = 1, spans[0, 0], spans[0, 1]
        if depth < limit and end - begin > (1 if leaf == 1 else leaf * arity):
            measure_set(rows, begin, end, sets, 0)
            if at_mean:
                set_planes_at_mean(rows, begin, end, planes)
            else:
                set_planes_at_center(sets, planes)
            keep_longest_axes(sets, planes, arity)
            n = partition_at_planes(rows, spare, begin, end, planes, offsets, spans)
        if n == 1:
            n = split_at_medians(rows, arity, leaf, sets, spans)
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf, at_mean, limit=MAX_DEPTH):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n = len(faces)
    rows, spare, sets = aligned_zeros(8 * n + 8, np.float32), aligned_zeros(8 * n + 8, np.float32), np.empty(16, np.float32)
    gather_boxes(points.reshape(-1), faces, rows, rows.view(np.int32), sets)
    state = start_build(n, arity, limit)
    n_nodes, n_leaves = build_nodes(rows, spare, arity, leaf, at_mean, limit, sets, np.full(4, INF), np.zeros(N_OCTANTS, np.int64), state)
    return finish_build(state, n_nodes, n_leaves, face_order(rows), faces)


register_builder(Builder("centre", partial(build, at_mean=False)))
register_builder(Builder("mean", partial(build, at_mean=True)))
