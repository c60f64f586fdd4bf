"""Which bodies a ray, or a batch of them, may meet, nearest first.

A few bodies are compared one by one with a whole batch, as if it were one thick ray: along each axis starts and steps lie in intervals, and
where those miss a box, all rays do. Many go into a tree of boxes, made anew for every query, and each ray goes through it alone (thesis C
7.3.3 names both: root boxes sorted along the axes, and a hierarchy of the scene). All in float64: boxes are those of the world.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz, extract, load4, maximum, minimum, reduce_max, reduce_min, vector4, where
from pliant.core.stack import stack_float64, stack_int64
from pliant.motion.rigid import UNDERFLOW_BOUND
from pliant.query.ray.leaf import BATCH, FLOAT64_ERROR, INV_STEP, START_ERROR, T_BEST, T_MIN
from pliant.query.ray.single import STACK_SIZE
from pliant.query.ray.transform import box_interval, box_margin


class TopLevel(NamedTuple):
    """Room for the numbers of all bodies, sorted by where they are entered, and for what rays have cost in each of them; and, if they are
    many, a tree of their boxes: links as in `Tree`, `boxes` of eight float64 for each lane of each node, low at 0 and high at 4."""
    t_enter: np.ndarray
    order: np.ndarray
    ray_tests: np.ndarray
    child: np.ndarray
    count: np.ndarray
    leaf_bodies: np.ndarray
    boxes: np.ndarray

    def with_own_lists(self):
        """The same for another thread."""
        return TopLevel(self.t_enter.copy(), self.order.copy(), self.ray_tests.copy(), *self[3:])


@helper
def hit_box(world, j, boxes, at):
    """(where ray j enters a box, does it at all, as far as it counts)?"""
    near, far = box_interval(world, j, boxes, at, world[T_MIN * BATCH + j], world[T_BEST * BATCH + j])
    return near, near <= far


@helper
def insert_body(top_level, n, near, k):
    """Add body k to the n that are sorted by where they are entered."""
    t_enter, order = top_level.t_enter, top_level.order
    while n > 0 and t_enter[n - 1] > near:
        t_enter[n], order[n] = t_enter[n - 1], order[n - 1]
        n -= 1
    t_enter[n], order[n] = near, k


@helper
def extremes(world, row, mask):
    """The least and the largest of a row, of the rays of the mask; infinite where a number is NaN."""
    low, high, at = vector4(np.inf, np.inf, np.inf, np.inf), vector4(-np.inf, -np.inf, -np.inf, -np.inf), row * BATCH
    one_low, one_high = np.inf, -np.inf
    for k in range(0, BATCH, 4):
        mask4 = (mask >> k) & 15
        numbers = load4(world, at + k)
        numbers = where(numbers <= np.inf, numbers, np.inf)
        if mask4 == 15:
            low, high = minimum(numbers, low), maximum(numbers, high)
            continue
        while mask4 != 0:
            j, mask4 = ctz(mask4), mask4 & (mask4 - 1)
            one_low, one_high = min(one_low, extract(numbers, j)), max(one_high, extract(numbers, j))
    return min(reduce_min(low), one_low), max(reduce_max(high), one_high)


@helper
def gather_packet(world, mask, packet):
    """The rays of the mask as one thick ray, for `sort_bodies`: along each axis the least and the largest start and 1 / step at 4 k; then
    the least and the largest t, and what is uncertain of a start."""
    for k in range(3):
        packet[4 * k], packet[4 * k + 1] = extremes(world, k, mask)
        packet[4 * k + 2], packet[4 * k + 3] = extremes(world, INV_STEP + k, mask)
    packet[12], packet[13] = extremes(world, T_MIN, mask)[0], extremes(world, T_BEST, mask)[1]
    packet[14] = extremes(world, START_ERROR, mask)[1]


@helper
def packet_hits_box(packet, box):
    """(where the thick ray enters a box, at the earliest, does it at all)? Intervals, as in `packet.py`; of an axis along which rays go
    both ways only the starts are known: nothing. Where none goes along an axis, starts must lie between the sides."""
    near, far, error = packet[12], packet[13], box_margin(packet[14], box, 0)
    for k in range(3):
        low, high = packet[4 * k + 2], packet[4 * k + 3]
        if (low > 0.0 or high < 0.0) and abs(low) < np.inf and abs(high) < np.inf:
            first_side, last_side = box[k] - error, box[k + 4] + error
            ahead = low > 0.0
            enter = first_side - packet[4 * k + 1] if ahead else last_side - packet[4 * k]
            leave = last_side - packet[4 * k] if ahead else first_side - packet[4 * k + 1]
            near = max(near, min(enter * low, enter * high))
            far = min(far, max(leave * low, leave * high))
        elif low == high and abs(low) == np.inf and (packet[4 * k] > box[k + 4] + error or packet[4 * k + 1] < box[k] - error):
            return 1.0, False
    near, far = near - (FLOAT64_ERROR * abs(near) + UNDERFLOW_BOUND), far + (FLOAT64_ERROR * abs(far) + UNDERFLOW_BOUND)
    return near, near <= far


@helper
def sort_bodies(world, bodies, mask, top_level):
    """List the bodies that the rays of the mask may meet, nearest first; how many."""
    n, packet = 0, stack_float64(15)
    gather_packet(world, mask, packet)
    for k in range(len(bodies)):
        near, hit = packet_hits_box(packet, bodies[k]["box"])
        if hit:
            insert_body(top_level, n, near, k)
            n += 1
    return n


@helper
def sort_bodies_by_tree(world, j, mask, bodies, top_level):
    """The same for ray j, which sees bodies of this mask, through the tree of boxes."""
    n, top, stack = 0, 1, stack_int64(STACK_SIZE)
    stack[0] = 0
    while top > 0:
        top -= 1
        i = stack[top]
        for c in range(top_level.count[i]):
            if not hit_box(world, j, top_level.boxes, 8 * (8 * i + c))[1]:
                continue
            child = np.int64(top_level.child[i, c])
            if child >= 0:
                stack[top] = child
                top += 1
                continue
            for f in range(8):
                k = np.int64(top_level.leaf_bodies[~child, f])
                if k >= 0 and bodies[k]["mask"] & mask != 0:
                    near, hit = hit_box(world, j, bodies[k]["box"], 0)
                    if hit:
                        insert_body(top_level, n, near, k)
                        n += 1
    return n


@kernel
def fit_boxes(top_level, bodies):
    """Set the boxes of a tree of bodies; children come after their parents."""
    for i in range(len(top_level.child) - 1, -1, -1):
        for c in range(top_level.count[i]):
            offset, child = 8 * (8 * i + c), np.int64(top_level.child[i, c])
            for k in range(3):
                low, high = np.inf, -np.inf
                for f in range(8):
                    if child >= 0 and f < top_level.count[child]:
                        below = 8 * (8 * child + f) + k
                        low, high = min(low, top_level.boxes[below]), max(high, top_level.boxes[below + 4])
                    elif child < 0 and top_level.leaf_bodies[~child, f] >= 0:
                        box = bodies[top_level.leaf_bodies[~child, f]]["box"]
                        low, high = min(low, box[k]), max(high, box[k + 4])
                top_level.boxes[offset + k], top_level.boxes[offset + k + 4] = low, high
