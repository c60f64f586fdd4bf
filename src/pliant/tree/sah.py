"""Binned surface area heuristic, top-down (Wald 2007): the default builder. Deterministic.

A node starts as one set of faces; the set with the largest box is split in two until there are `arity` sets, or none holds more than
`leaf` faces. A split bins the face boxes by their midpoints into at most 32 slices along all three axes and takes the plane with the
least area × leaves on both sides.

Depth is bounded: sets whose midpoints coincide are halved by position, and below `DEPTH_LIMIT` levels every split is at the median
along the widest axis, so that faces spaced like 1, 2, 4, 8, … cannot make a list out of the tree.

Each face is a row of 8 float32: low x y z, its number as bits, high x y z, 1. A set is 16 float32: box low, box high, and the same of
the doubled midpoints low + high; rows of four are one register.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.simd import bits, element, four, four_of, greatest, item, least, put_four, truncate
from pliant.core.soa import aligned
from pliant.tree.nodes import WIDTHS, Builder, register, tree_of_spans

BINS = 32
DEPTH_LIMIT = 24
NUMBER_BITS = 0x3F800000                                                # numbers stand for floats from 1 up: never NaN, never denormal
INF, ZERO, ONE = np.float32(np.inf), np.float32(0), np.float32(1)
FINEST = np.float32(1e-18)                                              # narrower than this is no extent: 16 / FINEST must not overflow
NEARLY_ALL = np.float32(0.99)                                           # keeps the last midpoint out of bin number `bins`


@helper
def half_area(low, high):
    size = high - low
    x, y, z = element(size, 0), element(size, 1), element(size, 2)
    return x * y + y * z + z * x


@kernel
def gather(points, faces, rows, numbers, sets):
    """Fill the rows with the boxes of the faces, and set 0 with all of them."""
    low_all = low_mid = four_of(INF)
    high_all = high_mid = four_of(-INF)
    for i in range(len(faces)):
        a, b, c = four(points, 4 * faces[i, 0]), four(points, 4 * faces[i, 1]), four(points, 4 * faces[i, 2])
        low, high = least(a, least(b, c)), greatest(a, greatest(b, c))
        put_four(rows, 8 * i, low)
        put_four(rows, 8 * i + 4, high)
        numbers[8 * i + 3] = NUMBER_BITS + i
        rows[8 * i + 7] = ONE
        middle = low + high
        low_all, high_all = least(low_all, low), greatest(high_all, high)
        low_mid, high_mid = least(low_mid, middle), greatest(high_mid, middle)
    put_set(sets, 0, low_all, high_all, low_mid, high_mid)


@helper
def put_set(sets, s, low, high, low_mid, high_mid):
    put_four(sets, 16 * s, low)
    put_four(sets, 16 * s + 4, high)
    put_four(sets, 16 * s + 8, low_mid)
    put_four(sets, 16 * s + 12, high_mid)


@helper
def swap_rows(rows, i, j):
    a, b, c, d = four(rows, 8 * i), four(rows, 8 * i + 4), four(rows, 8 * j), four(rows, 8 * j + 4)
    put_four(rows, 8 * i, c)
    put_four(rows, 8 * i + 4, d)
    put_four(rows, 8 * j, a)
    put_four(rows, 8 * j + 4, b)


@helper
def midpoint(rows, i, axis):
    """Twice the middle of face i's box."""
    return rows[8 * i + axis] + rows[8 * i + 4 + axis]


@helper
def put_in_bin(bins, counts, j, low, high):
    put_four(bins, 8 * j, least(four(bins, 8 * j), low))
    put_four(bins, 8 * j + 4, greatest(four(bins, 8 * j + 4), high))
    counts[j] += 1


@helper
def bins_for(n):
    """How many bins n faces are sorted into. Sixteen at least: with four, as is common, leaves are less full (6.7 instead of 7.5 of 8
    faces), and queries 8 % slower, for a build that is 8 % quicker."""
    return min(BINS, 16 + n // 16)


@routine
def best_plane(rows, begin, end, sets, s, leaf, bins, counts, areas):
    """(axis, bin, scale) of the cheapest plane for set s, faces begin … end; axis −1 if the midpoints cannot be told apart."""
    low_mid = four(sets, 16 * s + 8)
    extent = four(sets, 16 * s + 12) - low_mid
    n_bins = bins_for(end - begin)
    wide = np.float32(n_bins) * NEARLY_ALL
    empty_low, empty_high = four_of(INF), four_of(-INF)
    scale = areas[0:4]
    for axis in range(3):
        scale[axis] = wide / element(extent, axis) if element(extent, axis) > FINEST else ZERO
        for j in range(axis * BINS, axis * BINS + n_bins):
            put_four(bins, 8 * j, empty_low)
            put_four(bins, 8 * j + 4, empty_high)
            counts[j] = 0
    scale[3] = ZERO
    scales = four(scale, 0)
    for i in range(begin, end):
        low, high = four(rows, 8 * i), four(rows, 8 * i + 4)
        bin_of = truncate(((low + high) - low_mid) * scales)
        put_in_bin(bins, counts, np.int64(element(bin_of, 0)), low, high)
        put_in_bin(bins, counts, np.int64(element(bin_of, 1)) + BINS, low, high)
        put_in_bin(bins, counts, np.int64(element(bin_of, 2)) + 2 * BINS, low, high)

    best, best_axis, best_bin = INF, -1, 0
    for axis in range(3):
        if scale[axis] == ZERO:
            continue
        low, high, n = empty_low, empty_high, 0
        for j in range(n_bins - 1, 0, -1):                              # what a plane before bin j would cost on its right
            k = axis * BINS + j
            low, high, n = least(low, four(bins, 8 * k)), greatest(high, four(bins, 8 * k + 4)), n + counts[k]
            areas[4 + j] = half_area(low, high) * np.float32((n + leaf - 1) // leaf) if n > 0 else INF
        low, high, n = empty_low, empty_high, 0
        for j in range(1, n_bins):
            k = axis * BINS + j - 1
            low, high, n = least(low, four(bins, 8 * k)), greatest(high, four(bins, 8 * k + 4)), n + counts[k]
            if n > 0 and areas[4 + j] < INF:
                cost = half_area(low, high) * np.float32((n + leaf - 1) // leaf) + areas[4 + j]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, j
    return best_axis, best_bin, scale[max(best_axis, 0)]


@routine
def part_at(rows, spare, begin, end, axis, scale, plane, sets, s, r, bins, away):
    """Bring the faces in bins before the plane to the front, in order; sets s and r become the two parts. Where the second begins.

    Without branches on the side, which nobody could predict: every row is written to both places, and one of the two moves on; the midpoint
    goes into both sets, pushed to infinity in one of them by a look-up (`away`), which no compiler turns into a branch. Boxes of the parts
    are those of their bins.
    """
    start, border = sets[16 * s + 8 + axis], np.float32(plane)
    away[0], away[1] = INF, ZERO
    low_m = low_n = four_of(INF)
    high_m = high_n = four_of(-INF)
    left, right = begin, 0
    for i in range(begin, end):
        low, high = four(rows, 8 * i), four(rows, 8 * i + 4)
        middle = low + high
        before = bits(((middle - start) * scale) < border) >> axis & 1
        put_four(rows, 8 * left, low)                                   # left <= i: what stood there was read
        put_four(rows, 8 * left + 4, high)
        put_four(spare, 8 * right, low)
        put_four(spare, 8 * right + 4, high)
        here, there = item(away, before), item(away, 1 - before)
        low_m, high_m = least(low_m, middle + here), greatest(high_m, middle - here)
        low_n, high_n = least(low_n, middle + there), greatest(high_n, middle - there)
        left, right = left + before, right + (1 - before)
    for i in range(0, 8 * right, 4):
        put_four(rows, 8 * left + i, four(spare, i))
    low_l = low_r = four_of(INF)
    high_l = high_r = four_of(-INF)
    for j in range(axis * BINS, axis * BINS + plane):
        low_l, high_l = least(low_l, four(bins, 8 * j)), greatest(high_l, four(bins, 8 * j + 4))
    for j in range(axis * BINS + plane, axis * BINS + bins_for(end - begin)):
        low_r, high_r = least(low_r, four(bins, 8 * j)), greatest(high_r, four(bins, 8 * j + 4))
    put_set(sets, s, low_l, high_l, low_m, high_m)
    put_set(sets, r, low_r, high_r, low_n, high_n)
    return left


@routine
def measure(rows, begin, end, sets, s):
    """Set s from its faces."""
    low_all, high_all = four(rows, 8 * begin), four(rows, 8 * begin + 4)
    low_mid = high_mid = low_all + high_all
    for i in range(begin + 1, end):
        low, high = four(rows, 8 * i), four(rows, 8 * i + 4)
        middle = low + high
        low_all, high_all = least(low_all, low), greatest(high_all, high)
        low_mid, high_mid = least(low_mid, middle), greatest(high_mid, middle)
    put_set(sets, s, low_all, high_all, low_mid, high_mid)


@routine
def part_at_median(rows, begin, cut, end, sets, s):
    """Bring the lowest faces along the widest axis of set s before the cut (Hoare's selection); the middle makes it the median."""
    extent = four(sets, 16 * s + 12) - four(sets, 16 * s + 8)
    x, y, z = element(extent, 0), element(extent, 1), element(extent, 2)
    axis = 0 if x >= y and x >= z else (1 if y >= z else 2)
    low, high = begin, end - 1
    while low < high:
        pivot = midpoint(rows, (low + high) // 2, axis)
        i, j = low, high
        while i <= j:
            while midpoint(rows, i, axis) < pivot:
                i += 1
            while midpoint(rows, j, axis) > pivot:
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
def which_to_split(sets, spans, n, arity, leaf, depth):
    """The set to split next, −1: none. The one with the largest box among those too large for one node of leaves. Then the smallest, if
    there is room for all its leaves here: that saves it a node of its own (10,392 nodes instead of 18,369 for 327,680 triangles)."""
    chosen, best = -1, -ONE
    for s in range(n):
        faces = spans[s, 1] - spans[s, 0]
        if faces > leaf * arity:
            weight = np.float32(faces) if depth >= DEPTH_LIMIT else half_area(four(sets, 16 * s), four(sets, 16 * s + 4))
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
def grow_tree(rows, spare, arity, leaf, sets, spans, waiting, waiting_sets, scratch, counts, child, count, leaf_spans):
    """Build; (nodes, leaves). `waiting` (k, 5): parent, lane, begin, end, depth. Leaves are numbered as they come."""
    bins, areas = scratch[0:8 * 3 * BINS], scratch[8 * 3 * BINS:]
    n_nodes, n_leaves, top = 0, 0, 1
    while top > 0:
        top -= 1
        node, depth = n_nodes, waiting[top, 4]
        n_nodes += 1
        if waiting[top, 0] >= 0:
            child[waiting[top, 0], waiting[top, 1]] = node
        spans[0, 0], spans[0, 1] = waiting[top, 2], waiting[top, 3]
        for k in range(0, 16, 4):
            put_four(sets, k, four(waiting_sets, 16 * top + k))

        n = 1
        while n < arity:
            widest = which_to_split(sets, spans, n, arity, leaf, depth)
            if widest < 0:
                break
            begin, end, axis = spans[widest, 0], spans[widest, 1], -1
            if depth < DEPTH_LIMIT:
                axis, plane, scale = best_plane(rows, begin, end, sets, widest, leaf, bins, counts, areas)
            if axis >= 0:
                cut = part_at(rows, spare, begin, end, axis, scale, plane, sets, widest, n, bins, areas)
            else:
                cut = (begin + end) // 2
                part_at_median(rows, begin, cut, end, sets, widest)
                measure(rows, begin, cut, sets, widest)
                measure(rows, cut, end, sets, n)
            spans[widest, 0], spans[widest, 1], spans[n, 0], spans[n, 1] = begin, cut, cut, end
            n += 1

        count[node] = n
        for s in range(n):
            if spans[s, 1] - spans[s, 0] <= leaf:
                leaf_spans[n_leaves, 0], leaf_spans[n_leaves, 1] = spans[s, 0], spans[s, 1]
                child[node, s] = ~n_leaves
                n_leaves += 1
            else:
                waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3] = node, s, spans[s, 0], spans[s, 1]
                waiting[top, 4] = depth + 1
                for k in range(0, 16, 4):
                    put_four(waiting_sets, 16 * top + k, four(sets, 16 * s + k))
                top += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n, width = len(faces), WIDTHS[arity]
    rows = aligned(8 * n + 8, np.float32)
    sets = np.empty(16 * arity, np.float32)
    gather(points.reshape(-1), faces, rows, rows.view(np.int32), sets)
    room = (DEPTH_LIMIT + n.bit_length() + 2) * arity
    waiting = np.zeros((room, 5), np.int64)
    waiting[0] = -1, 0, 0, n, 0
    waiting_sets = np.zeros(16 * room, np.float32)
    waiting_sets[:16] = sets[:16]
    child, count = np.zeros((n, width), np.int32), np.zeros(n, np.int32)       # every node has two children or more
    leaf_spans = np.zeros((n, 2), np.int64)
    spare, spans, scratch = aligned(8 * n + 8, np.float32), np.zeros((arity, 2), np.int64), np.empty(8 * 3 * BINS + 4 + BINS, np.float32)
    n_nodes, n_leaves = grow_tree(rows, spare, arity, leaf, sets, spans, waiting, waiting_sets, scratch, np.zeros(3 * BINS, np.int64),
                                  child, count, leaf_spans)
    return tree_of_spans(child[:n_nodes], count[:n_nodes], leaf_spans[:n_leaves], numbers_of(rows), faces)


def numbers_of(rows):
    """The faces in the order that the rows have come to."""
    return rows.view(np.int32)[3:-8:8] - NUMBER_BITS


register(Builder("sah", build))
