"""Binned surface area heuristic, top-down (Wald 2007): the default builder. Deterministic.

A node starts as one set of faces; the set with the largest box is split in two until there are `arity` sets, or none holds more than
`leaf` faces. A split bins the face boxes by their midpoints into at most 32 slices along all three axes and takes the plane with the
least area × leaves on both sides.

Depth is bounded: sets whose midpoints coincide are halved by position, and below `MAX_DEPTH` levels every split is at the median
along the widest axis, so that faces spaced like 1, 2, 4, 8, … cannot make a list out of the tree.

Each face is a row of 8 float32: low x y z, its number as bits, high x y z, 1. A set is 16 float32: box low, box high, and the same of
the doubled midpoints low + high; rows of four are one register.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.simd import extract, load, load4, maximum, minimum, movemask, splat4, store4, to_int32
from pliant.core.soa import aligned_zeros
from pliant.tree.build_state import append_children, finish_build, pop_set, split_span, start_build
from pliant.tree.nodes import Builder, register_builder

MAX_BINS = 32
MAX_DEPTH = 24
FACE_ID_BIAS = 0x3F800000                                               # numbers stand for floats from 1 up: never NaN, never denormal
INF, ZERO, ONE = np.float32(np.inf), np.float32(0), np.float32(1)
MIN_EXTENT = np.float32(1e-18)                                          # narrower than this is no extent: 16 / MIN_EXTENT must not overflow
BIN_SCALE = np.float32(0.99)                                            # keeps the last midpoint out of bin number `bins`


@helper
def half_area(low, high):
    size = high - low
    x, y, z = extract(size, 0), extract(size, 1), extract(size, 2)
    return x * y + y * z + z * x


@kernel
def gather_boxes(points, faces, rows, numbers, sets):
    """Fill the rows with the boxes of the faces, and set 0 with all of them."""
    low_all = low_mid = splat4(INF)
    high_all = high_mid = splat4(-INF)
    for i in range(len(faces)):
        a, b, c = load4(points, 4 * faces[i, 0]), load4(points, 4 * faces[i, 1]), load4(points, 4 * faces[i, 2])
        low, high = minimum(a, minimum(b, c)), maximum(a, maximum(b, c))
        store4(rows, 8 * i, low)
        store4(rows, 8 * i + 4, high)
        numbers[8 * i + 3] = FACE_ID_BIAS + i
        rows[8 * i + 7] = ONE
        midpoint = low + high
        low_all, high_all = minimum(low_all, low), maximum(high_all, high)
        low_mid, high_mid = minimum(low_mid, midpoint), maximum(high_mid, midpoint)
    store_set(sets, 0, low_all, high_all, low_mid, high_mid)


@helper
def store_set(sets, s, low, high, low_mid, high_mid):
    store4(sets, 16 * s, low)
    store4(sets, 16 * s + 4, high)
    store4(sets, 16 * s + 8, low_mid)
    store4(sets, 16 * s + 12, high_mid)


@helper
def swap_rows(rows, i, j):
    a, b, c, d = load4(rows, 8 * i), load4(rows, 8 * i + 4), load4(rows, 8 * j), load4(rows, 8 * j + 4)
    store4(rows, 8 * i, c)
    store4(rows, 8 * i + 4, d)
    store4(rows, 8 * j, a)
    store4(rows, 8 * j + 4, b)


@helper
def doubled_midpoint(rows, i, axis):
    """Twice the middle of face i's box."""
    return rows[8 * i + axis] + rows[8 * i + 4 + axis]


@helper
def add_to_bin(bins, counts, j, low, high):
    store4(bins, 8 * j, minimum(load4(bins, 8 * j), low))
    store4(bins, 8 * j + 4, maximum(load4(bins, 8 * j + 4), high))
    counts[j] += 1


@helper
def bin_count(n):
    """How many bins n faces are sorted into. Sixteen at least: with four, as is common, leaves are less full (6.7 instead of 7.5 of 8
    faces), and queries 8 % slower, for a build that is 8 % quicker."""
    return min(MAX_BINS, 16 + n // 16)


@routine
def best_split(rows, begin, end, sets, s, leaf, bins, counts, areas):
    """(axis, bin, scale) of the cheapest plane for set s, faces begin … end; axis −1 if the midpoints cannot be told apart."""
    low_mid = load4(sets, 16 * s + 8)
    extent = load4(sets, 16 * s + 12) - low_mid
    n_bins = bin_count(end - begin)
    bin_range = np.float32(n_bins) * BIN_SCALE
    empty_low, empty_high = splat4(INF), splat4(-INF)
    scale = areas[0:4]
    for axis in range(3):
        scale[axis] = bin_range / extract(extent, axis) if extract(extent, axis) > MIN_EXTENT else ZERO
        for j in range(axis * MAX_BINS, axis * MAX_BINS + n_bins):
            store4(bins, 8 * j, empty_low)
            store4(bins, 8 * j + 4, empty_high)
            counts[j] = 0
    scale[3] = ZERO
    scales = load4(scale, 0)
    for i in range(begin, end):
        low, high = load4(rows, 8 * i), load4(rows, 8 * i + 4)
        bin_of = to_int32(((low + high) - low_mid) * scales)
        add_to_bin(bins, counts, np.int64(extract(bin_of, 0)), low, high)
        add_to_bin(bins, counts, np.int64(extract(bin_of, 1)) + MAX_BINS, low, high)
        add_to_bin(bins, counts, np.int64(extract(bin_of, 2)) + 2 * MAX_BINS, low, high)

    best, best_axis, best_bin = INF, -1, 0
    for axis in range(3):
        if scale[axis] == ZERO:
            continue
        low, high, n = empty_low, empty_high, 0
        for j in range(n_bins - 1, 0, -1):                              # what a plane before bin j would cost on its right
            k = axis * MAX_BINS + j
            low, high, n = minimum(low, load4(bins, 8 * k)), maximum(high, load4(bins, 8 * k + 4)), n + counts[k]
            areas[4 + j] = half_area(low, high) * np.float32((n + leaf - 1) // leaf) if n > 0 else INF
        low, high, n = empty_low, empty_high, 0
        for j in range(1, n_bins):
            k = axis * MAX_BINS + j - 1
            low, high, n = minimum(low, load4(bins, 8 * k)), maximum(high, load4(bins, 8 * k + 4)), n + counts[k]
            if n > 0 and areas[4 + j] < INF:
                cost = half_area(low, high) * np.float32((n + leaf - 1) // leaf) + areas[4 + j]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, j
    return best_axis, best_bin, scale[max(best_axis, 0)]


@routine
def partition_at_bin(rows, spare, begin, end, axis, scale, plane, sets, s, r, bins, push):
    """Bring the faces in bins before the plane to the front, in order; sets s and r become the two parts. Where the second begins.

    Without branches on the side, which nobody could predict: every row is written to both places, and one of the two moves on; the midpoint
    goes into both sets, pushed to infinity in one of them by a look-up (`push`), which no compiler turns into a branch. Boxes of the parts
    are those of their bins.
    """
    start, first_right_bin = sets[16 * s + 8 + axis], np.float32(plane)
    push[0], push[1] = INF, ZERO
    low_m = low_n = splat4(INF)
    high_m = high_n = splat4(-INF)
    left, right = begin, 0
    for i in range(begin, end):
        low, high = load4(rows, 8 * i), load4(rows, 8 * i + 4)
        midpoint = low + high
        before = movemask(((midpoint - start) * scale) < first_right_bin) >> axis & 1
        store4(rows, 8 * left, low)                                     # left <= i: what stood there was read
        store4(rows, 8 * left + 4, high)
        store4(spare, 8 * right, low)
        store4(spare, 8 * right + 4, high)
        here, there = load(push, before), load(push, 1 - before)
        low_m, high_m = minimum(low_m, midpoint + here), maximum(high_m, midpoint - here)
        low_n, high_n = minimum(low_n, midpoint + there), maximum(high_n, midpoint - there)
        left, right = left + before, right + (1 - before)
    for i in range(0, 8 * right, 4):
        store4(rows, 8 * left + i, load4(spare, i))
    low_l = low_r = splat4(INF)
    high_l = high_r = splat4(-INF)
    for j in range(axis * MAX_BINS, axis * MAX_BINS + plane):
        low_l, high_l = minimum(low_l, load4(bins, 8 * j)), maximum(high_l, load4(bins, 8 * j + 4))
    for j in range(axis * MAX_BINS + plane, axis * MAX_BINS + bin_count(end - begin)):
        low_r, high_r = minimum(low_r, load4(bins, 8 * j)), maximum(high_r, load4(bins, 8 * j + 4))
    store_set(sets, s, low_l, high_l, low_m, high_m)
    store_set(sets, r, low_r, high_r, low_n, high_n)
    return left


@routine
def measure_set(rows, begin, end, sets, s):
    """Set s from its faces."""
    low_all, high_all = load4(rows, 8 * begin), load4(rows, 8 * begin + 4)
    low_mid = high_mid = low_all + high_all
    for i in range(begin + 1, end):
        low, high = load4(rows, 8 * i), load4(rows, 8 * i + 4)
        midpoint = low + high
        low_all, high_all = minimum(low_all, low), maximum(high_all, high)
        low_mid, high_mid = minimum(low_mid, midpoint), maximum(high_mid, midpoint)
    store_set(sets, s, low_all, high_all, low_mid, high_mid)


@routine
def partition_at_median(rows, begin, cut, end, sets, s):
    """Bring the lowest faces along the widest axis of set s before the cut (Hoare's selection); the middle makes it the median."""
    extent = load4(sets, 16 * s + 12) - load4(sets, 16 * s + 8)
    x, y, z = extract(extent, 0), extract(extent, 1), extract(extent, 2)
    axis = 0 if x >= y and x >= z else (1 if y >= z else 2)
    low, high = begin, end - 1
    while low < high:
        pivot = doubled_midpoint(rows, (low + high) // 2, axis)
        i, j = low, high
        while i <= j:
            while doubled_midpoint(rows, i, axis) < pivot:
                i += 1
            while doubled_midpoint(rows, j, axis) > pivot:
                j -= 1
            if i <= j:
                swap_rows(rows, i, j)
                i += 1
                j -= 1
        if cut <= j:
            high = j
        elif cut >= i:
            low = i
        else:
            break


@helper
def choose_set_to_split(sets, spans, n, arity, leaf, depth):
    """The set to split next, −1: none. The one with the largest box among those too large for one node of leaves. Then the smallest, if
    there is room for all its leaves here: that saves it a node of its own (10,392 nodes instead of 18,369 for 327,680 triangles)."""
    chosen, best = -1, -ONE
    for s in range(n):
        faces = spans[s, 1] - spans[s, 0]
        if faces > leaf * arity:
            weight = np.float32(faces) if depth >= MAX_DEPTH else half_area(load4(sets, 16 * s), load4(sets, 16 * s + 4))
            if weight > best:
                chosen, best = s, weight
    if chosen >= 0:
        return chosen
    fewest = leaf * arity + 1
    for s in range(n):
        faces = spans[s, 1] - spans[s, 0]
        if leaf < faces < fewest:
            chosen, fewest = s, faces
    return chosen if n == 1 or (fewest + fewest // 4 + leaf - 1) // leaf <= arity - n + 1 else -1


@kernel
def build_nodes(rows, spare, arity, leaf, sets, stack_sets, scratch, counts, state):
    """Build; (nodes, leaves)."""
    bins, areas = scratch[0:8 * 3 * MAX_BINS], scratch[8 * 3 * MAX_BINS:]
    spans, n_nodes, n_leaves, top = state.spans, 0, 0, 1
    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)
        for k in range(0, 16, 4):
            store4(sets, k, load4(stack_sets, 16 * top + k))

        n = 1
        while n < arity:
            widest = choose_set_to_split(sets, spans, n, arity, leaf, depth)
            if widest < 0:
                break
            begin, end, axis = spans[widest, 0], spans[widest, 1], -1
            if depth < MAX_DEPTH:
                axis, plane, scale = best_split(rows, begin, end, sets, widest, leaf, bins, counts, areas)
            if axis >= 0:
                cut = partition_at_bin(rows, spare, begin, end, axis, scale, plane, sets, widest, n, bins, areas)
            else:
                cut = (begin + end) // 2
                partition_at_median(rows, begin, cut, end, sets, widest)
                measure_set(rows, begin, cut, sets, widest)
                measure_set(rows, cut, end, sets, n)
            split_span(spans, widest, cut, n)
            n += 1

        at = top
        for s in range(n):
            if spans[s, 1] - spans[s, 0] > leaf:                        # where `append_children` puts it
                for k in range(0, 16, 4):
                    store4(stack_sets, 16 * at + k, load4(sets, 16 * s + k))
                at += 1
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n = len(faces)
    rows = aligned_zeros(8 * n + 8, np.float32)
    sets = np.empty(16 * arity, np.float32)
    gather_boxes(points.reshape(-1), faces, rows, rows.view(np.int32), sets)
    state = start_build(n, arity, MAX_DEPTH)
    stack_sets = np.zeros(16 * len(state.stack), np.float32)
    stack_sets[:16] = sets[:16]
    spare, scratch = aligned_zeros(8 * n + 8, np.float32), np.empty(8 * 3 * MAX_BINS + 4 + MAX_BINS, np.float32)
    n_nodes, n_leaves = build_nodes(rows, spare, arity, leaf, sets, stack_sets, scratch, np.zeros(3 * MAX_BINS, np.int64), state)
    return finish_build(state, n_nodes, n_leaves, face_order(rows), faces)


def face_order(rows):
    """The faces in the order that the rows have come to."""
    return rows.view(np.int32)[3:-8:8] - FACE_ID_BIAS


register_builder(Builder("sah", build))
