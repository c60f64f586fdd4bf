"""Loops of `intersect.py` on the CPU: things in order, candidates a buffer at a time, and the exact test of each."""
import numpy as np

from pliant.core.function_pointer import invoke
from pliant.core.jit import helper, kernel
from pliant.core.simd import bits, first, four, joined
from pliant.core.stack import floats
from pliant.geometry.triangle_overlap import EXACT
from pliant.image.intersect import NAMES, box_at, business, copy_corners, count_in_strips, list_in_strips, reach_of, strip_for, strips
from pliant.image.pack import FAR, HIGH, LEFT, LOW, NEAR, RIGHT, SIDES
from pliant.image.pack_cpu import cut_down
from pliant.image.sample import matters
from pliant.query.collide.leaf_overlap import exact_entry
from pliant.query.scheduler import grown
from pliant.volume.aabb import Box
from pliant.volume.protocol import overlap

BUFFER = 1 << 15                                                        # candidates: about a millisecond of tests
LANES = 8
LOOKS = 1 << 20                                                         # pairs of boxes between looks at Ctrl-C


@kernel
def count_strips(boxes, size, strip, counts):
    for i in range(len(boxes) // SIDES):
        count_in_strips(boxes, i, size, strip, counts)


@kernel
def add_up(counts, begins):
    """begins[i]: how many come before cell i."""
    total = np.int64(0)
    for i in range(len(counts)):
        begins[i] = total
        total += counts[i]
    begins[len(counts)] = total
    return total


@kernel
def list_strips(boxes, size, strip, begins, counts, order, lined, stride):
    for i in range(len(boxes) // SIDES):
        list_in_strips(boxes, i, size, strip, begins, counts, order, lined, stride)


@helper
def eight(numbers, at):
    return joined(four(numbers, at), four(numbers, at + 4))


@helper
def boxes_at(lined, stride, p):
    """Those of eight things in the order, from p on."""
    return Box(eight(lined, stride * LEFT + p), eight(lined, stride * LOW + p), eight(lined, stride * NEAR + p),
               eight(lined, stride * RIGHT + p), eight(lined, stride * HIGH + p), eight(lined, stride * FAR + p))


@kernel
def sweep(faces, left, lined, stride, size, strip, first_b, itself, begins, order, state, candidates, met):
    """Go on with the sweep at the things state[0] and state[1] of the order; until it ends, or the buffer is full, or LOOKS pairs of boxes
    were compared. How many candidates f << 32 | g were found, f < g."""
    n, at, other, looks = 0, state[0], state[1], 0
    while at < len(order) and n + LANES <= len(candidates) and looks < LOOKS:
        i, row = order[at] & NAMES, order[at] >> 32
        box, end = box_at(lined, stride, at), reach_of(lined, stride, begins, size, at, row)
        while other < end and n + LANES <= len(candidates) and looks < LOOKS:
            some = bits(overlap(boxes_at(lined, stride, other), box)) & ((np.int64(1) << min(end - other, LANES)) - 1)
            while some != 0:
                k, some = other + first(some), some & (some - 1)
                if business(lined, stride, at, k, row, strip, size):
                    j = order[k] & NAMES
                    f, g = np.int64(left[i]), np.int64(left[j])
                    if matters(faces, f, g, first_b, itself):
                        candidates[n] = (min(f, g) << 32) | max(f, g)
                        met[i] = met[j] = 1
                        n += 1
            looks += LANES
            other += LANES
        if other >= end:
            at += 1
            other = at + 1
    state[0], state[1] = at, other
    state[2] += looks
    return n


@kernel
def test(faces, vertices_a, vertices_b, first_b, shift, plain, exact, candidates, n, keys, found):
    """Test n candidates; (how many keys there are then, how many took exact arithmetic)."""
    t, n_x = floats(18), 0
    for k in range(n):
        f, g = candidates[k] >> 32, candidates[k] & NAMES
        copy_corners(vertices_a, faces, f, np.int64(0), t, 0)
        if g < first_b:
            copy_corners(vertices_a, faces, g, np.int64(0), t, 9)
        else:
            copy_corners(vertices_b, faces, g, shift, t, 9)
        answer = invoke(exact, t, plain)
        n_x += answer >= EXACT
        if answer & 1:
            keys[found] = candidates[k]
            found += 1
    return found, n_x


def in_order(boxes, size, strip):
    """(where each cell of a strip begins, the order of the sweep, boxes in this order, from one side of them to the next)."""
    counts = np.zeros(strips(size, strip) * size, np.int32)
    count_strips(boxes, size, strip, counts)
    begins = np.empty(len(counts) + 1, np.int64)
    total = add_up(counts, begins)
    stride = total + LANES                                              # the last eight may reach beyond the end
    order, lined = np.empty(total, np.int64), np.zeros(SIDES * stride, np.float32)
    list_strips(boxes, size, strip, begins, counts, order, lined, stride)
    return begins, order, lined, stride


def meet(screen, faces, view, left, pixels, vertices_a, vertices_b, first_b, shift, itself, plain, enough):
    """(keys f << 32 | g of the faces that meet, in any order; boxes compared; pairs tested; how many exactly; things in candidates)."""
    boxes = np.empty(SIDES * len(left), np.float32)
    cut_down(screen, faces, left, pixels, view.slack, view.slack_z, boxes)
    strip = strip_for(float((boxes[HIGH::SIDES] - boxes[LOW::SIDES]).mean()) if len(left) else 1.0)
    begins, order, lined, stride = in_order(boxes, view.size, strip)
    state, candidates, met = np.array([0, 1, 0]), np.empty(BUFFER, np.int64), np.zeros(len(left), np.uint8)
    keys, found, tested, exactly, exact = np.empty(BUFFER, np.int64), 0, 0, 0, exact_entry()[0]
    while state[0] < len(order) and not (enough and found):
        n = sweep(faces, left, lined, stride, view.size, strip, first_b, itself, begins, order, state, candidates, met)
        while len(keys) < found + n:
            keys = grown(keys)
        found, n_x = test(faces, vertices_a, vertices_b, first_b, shift, plain, exact, candidates, n, keys, found)
        tested, exactly = tested + n, exactly + n_x
    return keys[:found], int(state[2]), tested, exactly, int(met.sum())
