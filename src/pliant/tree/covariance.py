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
from pliant.core.soa import aligned
from pliant.core.stack import floats, singles
from pliant.geometry.principal_axes import covariance, principal_axes
from pliant.tree.nodes import WIDTHS, Builder, register, tree_of_spans
from pliant.tree.partition import FACTOR, PRIME
from pliant.tree.sah import gather
from pliant.tree.split import half_way, largest_of, put_children

ROUNDING = 2.0**-23                                                     # of a doubled midpoint: its corners, and their sum


@helper
def forget_noise(a, n, x, y, z):
    """Clear what is off the diagonal of the sums of products (9,) of n midpoints about their mean, where rounding may have made it."""
    spread = a[0] + a[4] + a[8]
    most = ROUNDING * np.sqrt(spread * (spread + n * (x * x + y * y + z * z)))
    for i in range(3):
        for j in range(i):
            if abs(a[3 * i + j]) <= most:
                a[3 * i + j] = a[3 * j + i] = 0.0


@routine
def put_axis(middles, order, begin, end, axis):
    """Set axis[:3] to the unit vector along which the midpoints of a set are spread the most."""
    a, frame = floats(9), singles(9)
    x, y, z = covariance(middles, order, begin, end, a)
    forget_noise(a, end - begin, x, y, z)
    principal_axes(a, frame)
    axis[0], axis[1], axis[2] = frame[0], frame[1], frame[2]


@routine
def select(values, begin, at, end):
    """What would stand at `at` if values[begin : end] were sorted (Hoare). Pivots are pseudo-random, seeded from the place of the set:
    the middle of values that rise and fall again, as around a body, is their greatest."""
    low, high, chosen = begin, end - 1, (begin + end * FACTOR) % PRIME + 1
    while low < high:
        chosen = chosen * FACTOR % PRIME
        pivot, i, j = values[low + chosen % (high - low + 1)], low, high
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
def part(middles, order, begin, cut, end, axis, places, spare):
    """Bring the lowest faces along the axis before the cut. Both parts keep their order. `places` (2, n), `spare` (n,): room."""
    heights, shuffled = places[0], places[1]
    for at in range(begin, end):
        m = 4 * np.int64(order[at])
        heights[at] = axis[0] * middles[m] + axis[1] * middles[m + 1] + axis[2] * middles[m + 2]
        shuffled[at] = heights[at]
    border, level = select(shuffled, begin, cut, end), cut - begin
    for at in range(begin, end):
        level -= 1 if heights[at] < border else 0                       # so many of those on the border go before the cut
    left, right = begin, 0
    for at in range(begin, end):                                        # to both places, and one moves on: nobody could predict the side
        face, before = order[at], 1 if heights[at] < border else 0
        if level > 0 and heights[at] == border:
            before, level = 1, level - 1
        order[left], spare[right] = face, face
        left, right = left + before, right + (1 - before)
    for k in range(right):
        order[left + k] = spare[k]


@kernel
def grow_tree(middles, order, arity, leaf, axis, places, spare, spans, waiting, child, count, leaf_spans):
    """Build; (nodes, leaves). `waiting` (k, 5): parent, lane, begin, end, depth. Leaves are numbered as they come."""
    n_nodes, n_leaves, top = 0, 0, 1
    while top > 0:
        top -= 1
        node, depth = n_nodes, waiting[top, 4]
        n_nodes += 1
        if waiting[top, 0] >= 0:
            child[waiting[top, 0], waiting[top, 1]] = node
        spans[0, 0], spans[0, 1] = waiting[top, 2], waiting[top, 3]

        n = 1
        while n < arity:
            largest = largest_of(spans, n)
            begin, end = spans[largest, 0], spans[largest, 1]
            if end - begin <= leaf:
                break
            cut = half_way(begin, end, leaf)
            if end - begin > 2:                                         # two need no axis: half of all cuts down to single faces
                put_axis(middles, order, begin, end, axis)
                part(middles, order, begin, cut, end, axis, places, spare)
            spans[largest, 1], spans[n, 0], spans[n, 1] = cut, cut, end
            n += 1
        n_leaves, top = put_children(node, n, depth, leaf, spans, child, count, leaf_spans, n_leaves, waiting, top)
    return n_nodes, n_leaves


def middles_of(points, faces):
    """Flat rows x y z · of the doubled midpoints of faces (f, 3) int32 of points (n, 4) float32."""
    rows = aligned(8 * len(faces) + 8, np.float32)
    gather(points.reshape(-1), faces, rows, rows.view(np.int32), np.empty(16, np.float32))
    return (rows[:-8].reshape(-1, 8)[:, :4] + rows[:-8].reshape(-1, 8)[:, 4:]).reshape(-1)


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n, width = len(faces), WIDTHS[arity]
    order, spare = np.arange(n, dtype=np.int32), np.empty(n, np.int32)
    waiting = np.zeros(((n.bit_length() + 2) * arity, 5), np.int64)
    waiting[0] = -1, 0, 0, n, 0
    child, count = np.zeros((n, width), np.int32), np.zeros(n, np.int32)       # every node has two children or more
    leaf_spans = np.zeros((n, 2), np.int64)
    n_nodes, n_leaves = grow_tree(middles_of(points, faces), order, arity, leaf, np.empty(3), np.empty((2, n)), spare,
                                  np.zeros((arity, 2), np.int64), waiting, child, count, leaf_spans)
    return tree_of_spans(child[:n_nodes], count[:n_nodes], leaf_spans[:n_leaves], order, faces)


register(Builder("covariance", build))
