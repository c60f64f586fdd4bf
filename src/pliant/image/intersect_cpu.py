"""Loops of `intersect.py` on the CPU: things in order, candidates a buffer at a time, and the exact test of each."""
import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import helper, kernel
from pliant.core.simd import concat, ctz, load4, movemask
from pliant.core.stack import stack_float64
from pliant.geometry.triangle_overlap import EXACT
from pliant.image.intersect import (
    INDEX_MASK,
    box_at,
    copy_corners,
    count_in_strips,
    list_in_strips,
    owns_pair,
    strip_bits_for,
    strip_count,
    sweep_end,
)
from pliant.image.passes_cpu import clip_boxes
from pliant.image.sample import is_tested
from pliant.image.separate import BOX_SIZE, FAR, HIGH, LEFT, LOW, NEAR, RIGHT
from pliant.query.collide.leaf_overlap import exact_entry
from pliant.query.scheduler import grow_keys
from pliant.volume.aabb import Box
from pliant.volume.protocol import overlap

CANDIDATE_BUFFER = 1 << 15                                              # candidates: about a millisecond of tests
LANES = 8
MAX_BOX_TESTS = 1 << 20                                                 # pairs of boxes between looks at Ctrl-C


@kernel
def count_strips(boxes, size, strip_bits, counts):
    for i in range(len(boxes) // BOX_SIZE):
        count_in_strips(boxes, i, size, strip_bits, counts)


@kernel
def prefix_sum(counts, begins):
    """begins[i]: how many come before cell i."""
    total = np.int64(0)
    for i in range(len(counts)):
        begins[i] = total
        total += counts[i]
    begins[len(counts)] = total
    return total


@kernel
def list_strips(boxes, size, strip_bits, begins, counts, order, sorted_boxes, stride):
    for i in range(len(boxes) // BOX_SIZE):
        list_in_strips(boxes, i, size, strip_bits, begins, counts, order, sorted_boxes, stride)


@helper
def load_lanes(numbers, at):
    return concat(load4(numbers, at), load4(numbers, at + 4))


@helper
def load_boxes(sorted_boxes, stride, p):
    """Those of eight things in the order, from p on."""
    return Box(load_lanes(sorted_boxes, stride * LEFT + p), load_lanes(sorted_boxes, stride * LOW + p),
               load_lanes(sorted_boxes, stride * NEAR + p),
               load_lanes(sorted_boxes, stride * RIGHT + p), load_lanes(sorted_boxes, stride * HIGH + p),
               load_lanes(sorted_boxes, stride * FAR + p))


@kernel
def sweep(faces, packed_faces, sorted_boxes, stride, size, strip_bits, first_b, is_self, begins, order, state, candidates, in_candidate):
    """Go on with the sweep at the things state[0] and state[1] of the order; until it ends, or the buffer is full, or MAX_BOX_TESTS pairs
    of boxes were compared. How many candidates f << 32 | g were found, f < g."""
    n, at, other, box_tests = 0, state[0], state[1], 0
    while at < len(order) and n + LANES <= len(candidates) and box_tests < MAX_BOX_TESTS:
        i, row = order[at] & INDEX_MASK, order[at] >> 32
        box, end = box_at(sorted_boxes, stride, at), sweep_end(sorted_boxes, stride, begins, size, at, row)
        while other < end and n + LANES <= len(candidates) and box_tests < MAX_BOX_TESTS:
            mask = movemask(overlap(load_boxes(sorted_boxes, stride, other), box)) & ((np.int64(1) << min(end - other, LANES)) - 1)
            while mask != 0:
                k, mask = other + ctz(mask), mask & (mask - 1)
                if owns_pair(sorted_boxes, stride, at, k, row, strip_bits, size):
                    j = order[k] & INDEX_MASK
                    f, g = np.int64(packed_faces[i]), np.int64(packed_faces[j])
                    if is_tested(faces, f, g, first_b, is_self):
                        candidates[n] = (min(f, g) << 32) | max(f, g)
                        in_candidate[i] = in_candidate[j] = 1
                        n += 1
            box_tests += LANES
            other += LANES
        if other >= end:
            at += 1
            other = at + 1
    state[0], state[1] = at, other
    state[2] += box_tests
    return n


@kernel
def test_pairs(faces, vertices_a, vertices_b, first_b, shift, in_filter_range, exact_address, candidates, n, keys, found):
    """Test n candidates; (how many keys there are then, how many took exact arithmetic)."""
    t, exact_count = stack_float64(18), 0
    for k in range(n):
        f, g = candidates[k] >> 32, candidates[k] & INDEX_MASK
        copy_corners(vertices_a, faces, f, np.int64(0), t, 0)
        if g < first_b:
            copy_corners(vertices_a, faces, g, np.int64(0), t, 9)
        else:
            copy_corners(vertices_b, faces, g, shift, t, 9)
        answer = call_address(exact_address, t, in_filter_range)
        exact_count += answer >= EXACT
        if answer & 1:
            keys[found] = candidates[k]
            found += 1
    return found, exact_count


def sort_boxes(boxes, size, strip_bits):
    """(where each cell of a strip begins, the order of the sweep, boxes in this order, from one side of them to the next)."""
    counts = np.zeros(strip_count(size, strip_bits) * size, np.int32)
    count_strips(boxes, size, strip_bits, counts)
    begins = np.empty(len(counts) + 1, np.int64)
    total = prefix_sum(counts, begins)
    stride = total + LANES                                              # the last eight may reach beyond the end
    order, sorted_boxes = np.empty(total, np.int64), np.zeros(BOX_SIZE * stride, np.float32)
    list_strips(boxes, size, strip_bits, begins, counts, order, sorted_boxes, stride)
    return begins, order, sorted_boxes, stride


def intersect_faces(screen, faces, view, packed_faces, pixels, vertices_a, vertices_b, first_b, shift, is_self, in_filter_range,
                    stop_at_first):
    """(keys f << 32 | g of the faces that meet, in any order; boxes compared; pairs tested; how many exactly; things in candidates)."""
    boxes = np.empty(BOX_SIZE * len(packed_faces), np.float32)
    clip_boxes(screen, faces, packed_faces, pixels, view.error_xy, view.error_z, boxes)
    strip_bits = strip_bits_for(float((boxes[HIGH::BOX_SIZE] - boxes[LOW::BOX_SIZE]).mean()) if len(packed_faces) else 1.0)
    begins, order, sorted_boxes, stride = sort_boxes(boxes, view.size, strip_bits)
    state, candidates, in_candidate = np.array([0, 1, 0]), np.empty(CANDIDATE_BUFFER, np.int64), np.zeros(len(packed_faces), np.uint8)
    keys, found, tested, n_exact, exact_address = np.empty(CANDIDATE_BUFFER, np.int64), 0, 0, 0, exact_entry()[0]
    while state[0] < len(order) and not (stop_at_first and found):
        n = sweep(faces, packed_faces, sorted_boxes, stride, view.size, strip_bits, first_b, is_self, begins, order, state, candidates,
                  in_candidate)
        while len(keys) < found + n:
            keys = grow_keys(keys)
        found, exact_count = test_pairs(faces, vertices_a, vertices_b, first_b, shift, in_filter_range, exact_address, candidates, n, keys,
                                        found)
        tested, n_exact = tested + n, n_exact + exact_count
    return keys[:found], int(state[2]), tested, n_exact, int(in_candidate.sum())
