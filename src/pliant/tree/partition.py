"""Partitioned trees, top-down (paper S, section 3): builder "partition". Deterministic.

A set of faces is cut in two by a plane through the middle of the longest side of its box, in place, as quicksort does; faces go by their
midpoints. The box is the one around the triangles of the set, not around their midpoints; a midpoint is the middle of a triangle's own
box, and one that lies on a plane belongs above it.

If the smaller part has less than a tenth of the faces, the set is cut through the middle of the other sides instead, the second longest
first; then, along the longest side, at the median of seven midpoints. These are pseudo-random, seeded from where the set begins and ends,
so that equal meshes have equal trees. The paper ends here, and midpoints that coincide would be parted for ever; what the seven leave worse
than a tenth, too, is halved at the true median, midpoints that coincide by position. So every part has a tenth of the faces or more, and
building takes O(n log n) whatever the mesh. A set of fewer than eight faces is sorted by insertion along its longest side, and halved.

The paper's trees are binary, one face a leaf. Of wider ones a node starts as one set, and what is cut next is for `tree/sah.py` to say.
With larger leaves planes would leave them half empty; there, a set of at most `arity` leaves is halved at medians, as in `tree/split.py`.

Nine tenths a level could make 200 levels of 2^30 faces. Below MAX_DEPTH there are only medians: no more than MAX_DEPTH + log2 n.

Rows and sets are those of `tree/sah.py`: a face is 8 float32, low x y z, its number as bits, high x y z, 1; midpoints are doubled.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.simd import extract, load4
from pliant.core.soa import aligned_zeros
from pliant.tree.build_state import append_children, finish_build, leaf_aligned_middle, pop_set, split_span, start_build
from pliant.tree.nodes import Builder, register_builder
from pliant.tree.sah import choose_set_to_split, doubled_midpoint, face_order, gather_boxes, measure_set, partition_at_median, swap_rows
from pliant.tree.split import split_at_medians

MAX_DEPTH = 96                                                          # with log2 MAX_FACES less than MAX_LEVELS
MAX_IMBALANCE = 10                                                      # a part has one in so many of the faces, or more
INSERTION_SORT_SIZE = 8                                                 # smaller sets are sorted
N_SAMPLES = 7
LCG_FACTOR, LCG_MODULUS = 48_271, 2**31 - 1                             # of Park and Miller's generator


@helper
def axis_by_length(sets, s, rank):
    """The axis of the longest (rank 0), second longest or shortest side of the box of set s. Of equal sides the first is the longest."""
    size = load4(sets, 16 * s + 4) - load4(sets, 16 * s)
    x, y, z = extract(size, 0), extract(size, 1), extract(size, 2)
    above_x = (1 if y > x else 0) + (1 if z > x else 0)                 # how many sides are longer
    above_y = (1 if x >= y else 0) + (1 if z > y else 0)
    return 0 if above_x == rank else (1 if above_y == rank else 2)


@helper
def is_balanced(begin, cut, end):
    """Have both parts a tenth of the faces?"""
    return MAX_IMBALANCE * min(cut - begin, end - cut) >= end - begin


@routine
def partition_at_plane(rows, begin, end, axis, plane):
    """Bring the faces below the plane to the front (Hoare); where the others begin. The plane is doubled, as midpoints are."""
    i, j = begin, end - 1
    while True:
        while i <= j and doubled_midpoint(rows, i, axis) < plane:
            i += 1
        while i <= j and doubled_midpoint(rows, j, axis) >= plane:
            j -= 1
        if i > j:
            return i
        swap_rows(rows, i, j)
        i += 1
        j -= 1


@routine
def median_of_samples(rows, begin, end, axis, samples):
    """The median of seven midpoints of the set, chosen by a generator that starts from the set's place."""
    random = (begin + end * LCG_FACTOR) % LCG_MODULUS + 1
    for k in range(N_SAMPLES):
        random = random * LCG_FACTOR % LCG_MODULUS
        value, at = doubled_midpoint(rows, begin + random % (end - begin), axis), k
        while at > 0 and samples[at - 1] > value:
            samples[at] = samples[at - 1]
            at -= 1
        samples[at] = value
    return samples[N_SAMPLES // 2]


@routine
def insertion_sort(rows, begin, end, axis):
    """Insertion sort by midpoints; equal ones keep their order."""
    for i in range(begin + 1, end):
        j = i
        while j > begin and doubled_midpoint(rows, j - 1, axis) > doubled_midpoint(rows, j, axis):
            swap_rows(rows, j - 1, j)
            j -= 1


@routine
def split_at_median(rows, begin, end, leaf, sets, s):
    """Cut set s at the median, into whole leaves; where the second part begins."""
    cut = leaf_aligned_middle(begin, end, leaf)
    if end - begin < INSERTION_SORT_SIZE:
        insertion_sort(rows, begin, end, axis_by_length(sets, s, 0))
    else:
        partition_at_median(rows, begin, cut, end, sets, s)
    return cut


@routine
def split_set(rows, begin, end, leaf, sets, s, samples):
    """Cut set s by the rules above; where the second part begins."""
    for rank in range(3):
        axis = axis_by_length(sets, s, rank)
        cut = partition_at_plane(rows, begin, end, axis, sets[16 * s + axis] + sets[16 * s + 4 + axis])
        if is_balanced(begin, cut, end):
            return cut
    axis = axis_by_length(sets, s, 0)
    cut = partition_at_plane(rows, begin, end, axis, median_of_samples(rows, begin, end, axis, samples))
    return cut if is_balanced(begin, cut, end) else split_at_median(rows, begin, end, leaf, sets, s)


@kernel
def build_nodes(rows, arity, leaf, limit, sets, samples, state):
    """Build; (nodes, leaves)."""
    median_size = INSERTION_SORT_SIZE - 1 if leaf == 1 else leaf * arity  # so many are halved
    spans, n_nodes, n_leaves, top = state.spans, 0, 0, 1
    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)

        n = 1
        if leaf > 1 and spans[0, 1] - spans[0, 0] <= median_size:
            n = split_at_medians(rows, arity, leaf, sets, spans)
        else:
            measure_set(rows, spans[0, 0], spans[0, 1], sets, 0)
            while n < arity:
                s = choose_set_to_split(sets, spans, n, arity, leaf, depth)
                if s < 0:
                    break
                begin, end = spans[s, 0], spans[s, 1]
                if depth < limit and end - begin > median_size:
                    cut = split_set(rows, begin, end, leaf, sets, s, samples)
                else:
                    cut = split_at_median(rows, begin, end, leaf, sets, s)
                measure_set(rows, begin, cut, sets, s)
                measure_set(rows, cut, end, sets, n)
                split_span(spans, s, cut, n)
                n += 1
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf, limit=MAX_DEPTH):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n = len(faces)
    rows, sets = aligned_zeros(8 * n + 8, np.float32), np.empty(16 * arity, np.float32)
    gather_boxes(points.reshape(-1), faces, rows, rows.view(np.int32), sets)
    state = start_build(n, arity, limit)
    n_nodes, n_leaves = build_nodes(rows, arity, leaf, limit, sets, np.zeros(N_SAMPLES, np.float32), state)
    return finish_build(state, n_nodes, n_leaves, face_order(rows), faces)


register_builder(Builder("partition", build))
