"""Pairs of boxes that are no farther apart than a distance: one sweep (`broadphase/sweep_full.py`) over boxes inflated by half of it.

Candidates of the sweep are near along each axis; their gaps decide (`query/proximity/box_gaps.py`). Nothing is kept between calls: the
distance is another in each, and a sweep of 3,000 boxes takes less than a millisecond.
"""
import numpy as np

from pliant.broadphase.pair_set import check_memory, sort_keys
from pliant.core.jit import ignore_float_errors, kernel
from pliant.core.sorting import unpack_pairs
from pliant.query.proximity.box_gaps import box_error, pair_gaps

ROUND_UP = 1 + 2.0**-38                                                 # of a distance: above what `box_gap` takes off
ULP = 2.0**-52
PAIR_BYTES = 8 * 3                                                      # of two slots and a gap


@kernel
def inflate_boxes(boxes, slots, distance, out):
    """Boxes `slots`, inflated: any two whose gap is at most the distance overlap."""
    for i in slots:
        growth = 0.5 * distance * ROUND_UP + box_error(boxes, i)
        for k in range(3):
            low, high = boxes[i, k] - growth, boxes[i, k + 3] + growth
            out[i, k], out[i, k + 3] = low - abs(low) * ULP, high + abs(high) * ULP


def close_pairs(full_sweep, boxes, slots, slot_bits, distance):
    """(slots (p, 2) int64, i < j, gaps (p,)) of the boxes (s, 6) whose gap is at most the distance, sorted."""
    inflated = np.empty_like(boxes)
    with ignore_float_errors():
        inflate_boxes(boxes, slots, distance, inflated)
        keys = sort_keys(full_sweep.pairs_of(inflated, slots, slot_bits), 2 * slot_bits)
    check_memory(len(keys), PAIR_BYTES * len(keys))
    pairs, gaps = np.empty((len(keys), 2), np.int64), np.empty(len(keys))
    unpack_pairs(keys, slot_bits, slot_bits, pairs)
    with ignore_float_errors():
        n = pair_gaps(boxes, boxes, pairs, distance, gaps)
    return pairs[:n], gaps[:n]
