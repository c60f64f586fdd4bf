"""Trees by covariance, top-down (paper M, 4.1; Gottschalk, Lin and Manocha 1996): builder "covariance". Deterministic.

A set of faces is cut in two at the median along the axis on which its midpoints are spread the most, the eigenvector of the largest
eigenvalue of their covariance, whichever way that points. A midpoint is the middle of a triangle's own box. Of midpoints that are level
there, those of faces with smaller numbers come first: what becomes of a set depends on the set alone, never on how it came about.

Where spreads are equal, as in a cube or a square, any axis is right, and rounding would choose one at random, most often askew, which is
bad for boxes. Products of two coordinates that are no larger than what rounding of midpoints could have made of none count as none, so
that such sets are cut across a coordinate axis. Midpoints that coincide are halved by position.

The paper's trees are binary, one face a leaf. Of wider ones a node is cut again and again, always its largest part, of equal ones the
first, until there are `arity` parts or all are leaves: every set in a wide tree is one of the binary tree. With larger leaves medians are
moved to whole leaves, and a tree of n faces has ⌈n / leaf⌉ of them, the fewest possible. Binary trees have ⌈log2⌉ of that many levels.

Sets are ranges of `order`, the numbers of the faces; numbers ascend in every set. `middles` are flat float32 rows x y z ·, doubled
midpoints. A level reads every face a fixed number of times, but for the selection of medians, which does so on the average: O(n log n).
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.soa import aligned_zeros
from pliant.core.stack import stack_float32, stack_float64
from pliant.geometry.principal_axes import covariance, principal_axes
from pliant.tree.build_state import append_children, finish_build, largest_span, leaf_aligned_middle, pop_set, split_span, start_build
from pliant.tree.nodes import Builder, register_builder
from pliant.tree.partition import LCG_FACTOR, LCG_MODULUS
from pliant.tree.sah import gather_boxes

MIDPOINT_ERROR = 2.0**-23                                               # of a doubled midpoint: its corners, and their sum


@helper
def clear_rounding_noise(a, n, x, y, z):
    """Clear what is off the diagonal of the sums of products (9,) of n midpoints about their mean, where rounding may have made it."""
    spread = a[0] + a[4] + a[8]
    most = MIDPOINT_ERROR * np.sqrt(spread * (spread + n * (x * x + y * y + z * z)))
    for i in range(3):
        for j in range(i):
            if abs(a[3 * i + j]) <= most:
                a[3 * i + j] = a[3 * j + i] = 0.0


@routine
def set_split_axis(midpoints, order, begin, end, axis):
    """Set axis[:3] to the unit vector along which the midpoints of a set are spread the most."""
    a, frame = stack_float64(9), stack_float32(9)
    x, y, z = covariance(midpoints, order, begin, end, a)
    clear_rounding_noise(a, end - begin, x, y, z)
    principal_axes(a, frame)
    axis[0], axis[1], axis[2] = frame[0], frame[1], frame[2]


@routine
def quickselect(values, begin, at, end):
    """What would stand at `at` if values[begin : end] were sorted (Hoare). Pivots are pseudo-random, seeded from the place of the set:
    the middle of values that rise and fall again, as around a body, is their greatest."""
    low, high, random = begin, end - 1, (begin + end * LCG_FACTOR) % LCG_MODULUS + 1
    while low < high:
        random = random * LCG_FACTOR % LCG_MODULUS
        pivot, i, j = values[low + random % (high - low + 1)], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if at <= j:
            high = j
        elif at >= i:
            low = i
        else:
            break
    return values[at]


@routine
def partition_along_axis(midpoints, order, begin, cut, end, axis, scratch, spare_order):
    """Bring the lowest faces along the axis before the cut. Both parts keep their order. `scratch` (2, n) and `spare_order` (n,) are
    scratch."""
    heights, selected = scratch[0], scratch[1]
    for at in range(begin, end):
        m = 4 * np.int64(order[at])
        heights[at] = axis[0] * midpoints[m] + axis[1] * midpoints[m + 1] + axis[2] * midpoints[m + 2]
        selected[at] = heights[at]
    median, n_ties_below = quickselect(selected, begin, cut, end), cut - begin
    for at in range(begin, end):
        n_ties_below -= 1 if heights[at] < median else 0                # so many of those on the border go before the cut
    left, right = begin, 0
    for at in range(begin, end):                                        # to both places, and one moves on: nobody could predict the side
        face, goes_left = order[at], 1 if heights[at] < median else 0
        if n_ties_below > 0 and heights[at] == median:
            goes_left, n_ties_below = 1, n_ties_below - 1
        order[left], spare_order[right] = face, face
        left, right = left + goes_left, right + (1 - goes_left)
    for k in range(right):
        order[left + k] = spare_order[k]


@kernel
def build_nodes(midpoints, order, arity, leaf, axis, scratch, spare_order, state):
    """Build; (nodes, leaves)."""
    spans, n_nodes, n_leaves, top = state.spans, 0, 0, 1
    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)

        n = 1
        while n < arity:
            largest = largest_span(spans, n)
            begin, end = spans[largest, 0], spans[largest, 1]
            if end - begin <= leaf:
                break
            cut = leaf_aligned_middle(begin, end, leaf)
            if end - begin > 2:                                         # two need no axis: half of all cuts down to single faces
                set_split_axis(midpoints, order, begin, end, axis)
                partition_along_axis(midpoints, order, begin, cut, end, axis, scratch, spare_order)
            split_span(spans, largest, cut, n)
            n += 1
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1
    return n_nodes, n_leaves


def doubled_midpoints(points, faces):
    """Flat rows x y z · of the doubled midpoints of faces (f, 3) int32 of points (n, 4) float32."""
    rows = aligned_zeros(8 * len(faces) + 8, np.float32)
    gather_boxes(points.reshape(-1), faces, rows, rows.view(np.int32), np.empty(16, np.float32))
    return (rows[:-8].reshape(-1, 8)[:, :4] + rows[:-8].reshape(-1, 8)[:, 4:]).reshape(-1)


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n = len(faces)
    order, spare_order, state = np.arange(n, dtype=np.int32), np.empty(n, np.int32), start_build(n, arity, 0)
    n_nodes, n_leaves = build_nodes(doubled_midpoints(points, faces), order, arity, leaf, np.empty(3), np.empty((2, n)), spare_order, state)
    return finish_build(state, n_nodes, n_leaves, order, faces)


register_builder(Builder("covariance", build))
