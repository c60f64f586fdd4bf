"""How far the boxes of two bodies are apart: a lower bound of the distance of their faces, as it is measured.

Boxes are rows (6,): low and high corner. All loops need memory only for what they return.
"""
import numpy as np
from numpy.typing import NDArray

from pliant.core.jit import helper, ignore_float_errors, kernel
from pliant.query.proximity.far_field import box_distance
from pliant.query.proximity.leaf_distance import DISTANCE_ERROR, LENGTH_ERROR


@helper
def box_error(boxes, i):
    """By how much the distance of a face in box i may be measured too small, whatever the other face is, if its body is no larger."""
    half_extent = 0.0
    for k in range(3):
        half_extent = max(half_extent, 0.5 * boxes[i, k + 3] - 0.5 * boxes[i, k])
    return 4.0 * DISTANCE_ERROR * half_extent


@helper
def box_gap(boxes, i, others, j):
    """A lower bound of the measured distance of faces in box i and in box j of the others."""
    gap = box_distance(boxes, i, others, j) * (1.0 - LENGTH_ERROR)
    return max(gap - max(box_error(boxes, i), box_error(others, j)), 0.0)


@kernel
def pair_gaps(boxes, others, pairs, max_gap, gaps):
    """Keep the pairs (p, 2) of a box and another whose gap is at most `max_gap`: they and their `gaps` (p,) move to the front. How many."""
    n = 0
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        gap = box_gap(boxes, i, others, j)
        pairs[n, 0], pairs[n, 1], gaps[n] = i, j, gap
        n += gap <= max_gap
    return n


@kernel
def nearest_boxes(boxes, numbers, others, other_numbers, best):
    """Write the box and the other with the smallest gap to `best` (2,); those of one number are the same body. −1: there are none."""
    smallest, best[0], best[1] = np.inf, -1, -1
    for i in range(len(boxes)):
        for j in range(len(others)):
            if numbers[i] != other_numbers[j]:
                gap = box_gap(boxes, i, others, j)
                if gap < smallest or best[0] < 0:
                    smallest, best[0], best[1] = gap, i, j


@kernel
def collect_cross_pairs(boxes, numbers, others, other_numbers, max_gap, pairs, gaps):
    """The pairs (p, 2) of a box and another whose gap is at most `max_gap`, sorted, as far as there is room; how many there are."""
    n = 0
    for i in range(len(boxes)):
        for j in range(len(others)):
            if numbers[i] != other_numbers[j]:
                gap = box_gap(boxes, i, others, j)
                if gap <= max_gap:
                    if n < len(pairs):
                        pairs[n, 0], pairs[n, 1], gaps[n] = i, j, gap
                    n += 1
    return n


def cross_pairs(boxes: NDArray[np.float64], numbers: NDArray[np.int64], others: NDArray[np.float64], other_numbers: NDArray[np.int64],
                max_gap: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(pairs (p, 2), gaps (p,)) of boxes and others whose gap is at most `max_gap`, sorted; not those of the same number."""
    pairs, gaps = np.empty((0, 2), np.int64), np.empty(0)
    with ignore_float_errors():
        while len(pairs) < (n := collect_cross_pairs(boxes, numbers, others, other_numbers, max_gap, pairs, gaps)):
            pairs, gaps = np.empty((n, 2), np.int64), np.empty(n)
    return pairs, gaps


def pairs_of_one(boxes: NDArray[np.float64], others: NDArray[np.float64], max_gap: float) -> NDArray[np.int64]:
    """The rows of the others whose gap to the one box (1, 6) is at most `max_gap`."""
    return cross_pairs(boxes, np.array([-1]), others, np.arange(len(others)), max_gap)[0][:, 1]
