"""Which bodies a ray, or a batch of them, may meet, nearest first.

A few bodies are compared one by one with a whole batch, as if it were one thick ray: along each axis starts and steps lie in intervals, and
where those miss a box, all rays do. Many go into a tree of boxes, made anew for every query, and each ray goes through it alone (thesis C
7.3.3 names both: root boxes sorted along the axes, and a hierarchy of the scene). All in float64: boxes are those of the world.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import element, first, four, greatest, highest, least, lowest, quad, where
from pliant.core.stack import floats, integers
from pliant.motion.rigid import LEAST
from pliant.query.ray.leaf import BATCH, BEST, DOUBT, FAR_AWAY, NEAR, PER
from pliant.query.ray.single import ROOM
from pliant.query.ray.transform import inside, widened


class Roots(NamedTuple):
    """Room for the numbers of all bodies, sorted by where they are entered, and for what rays have cost in each of them; and, if they are
    many, a tree of their boxes: links as in `Tree`, `boxes` of eight float64 for each lane of each node, low at 0 and high at 4."""
    nears: np.ndarray
    order: np.ndarray
    passed: np.ndarray
    child: np.ndarray
    count: np.ndarray
    faces: np.ndarray
    boxes: np.ndarray


@helper
def meets(wide, j, boxes, at):
    """(where ray j enters a box, does it at all, as far as it counts)?"""
    near, far = inside(wide, j, boxes, at, wide[NEAR * BATCH + j], wide[BEST * BATCH + j])
    return near, near <= far


@helper
def insert(roots, n, near, k):
    """Add body k to the n that are sorted by where they are entered."""
    nears, order = roots.nears, roots.order
    while n > 0 and nears[n - 1] > near:
        nears[n], order[n] = nears[n - 1], order[n - 1]
        n -= 1
    nears[n], order[n] = near, k


@helper
def extremes(wide, number, mask):
    """The least and the largest of a row, of the rays of the mask; infinite where a number is NaN."""
    low, high, at = quad(np.inf, np.inf, np.inf, np.inf), quad(-np.inf, -np.inf, -np.inf, -np.inf), number * BATCH
    one_low, one_high = np.inf, -np.inf
    for k in range(0, BATCH, 4):
        some = (mask >> k) & 15
        numbers = four(wide, at + k)
        numbers = where(numbers <= np.inf, numbers, np.inf)
        if some == 15:
            low, high = least(numbers, low), greatest(numbers, high)
            continue
        while some != 0:
            j, some = first(some), some & (some - 1)
            one_low, one_high = min(one_low, element(numbers, j)), max(one_high, element(numbers, j))
    return min(lowest(low), one_low), max(highest(high), one_high)


@helper
def gather(wide, mask, thick):
    """The rays of the mask as one thick ray, for `sort_all`: along each axis the least and the largest start and 1 / step at 4 k; then the
    least and the largest t, and what is uncertain of a start."""
    for k in range(3):
        thick[4 * k], thick[4 * k + 1] = extremes(wide, k, mask)
        thick[4 * k + 2], thick[4 * k + 3] = extremes(wide, PER + k, mask)
    thick[12], thick[13], thick[14] = extremes(wide, NEAR, mask)[0], extremes(wide, BEST, mask)[1], extremes(wide, DOUBT, mask)[1]


@helper
def thick_meets(thick, box):
    """(where the thick ray enters a box, at the earliest, does it at all)? Intervals, as in `packet.py`; of an axis along which rays go
    both ways, or not at all, only the starts are known: nothing."""
    near, far, doubt = thick[12], thick[13], widened(thick[14], box, 0)
    for k in range(3):
        low, high = thick[4 * k + 2], thick[4 * k + 3]
        if (low > 0.0 or high < 0.0) and abs(low) < np.inf and abs(high) < np.inf:
            first_side, last_side = box[k] - doubt, box[k + 4] + doubt
            ahead = low > 0.0
            enter = first_side - thick[4 * k + 1] if ahead else last_side - thick[4 * k]
            leave = last_side - thick[4 * k] if ahead else first_side - thick[4 * k + 1]
            near = max(near, min(enter * low, enter * high))
            far = min(far, max(leave * low, leave * high))
    near, far = near - (FAR_AWAY * abs(near) + LEAST), far + (FAR_AWAY * abs(far) + LEAST)
    return near, near <= far


@helper
def sort_all(wide, bodies, mask, roots):
    """List the bodies that the rays of the mask may meet, nearest first; how many."""
    n, thick = 0, floats(15)
    gather(wide, mask, thick)
    for k in range(len(bodies)):
        near, hit = thick_meets(thick, bodies[k]["box"])
        if hit:
            insert(roots, n, near, k)
            n += 1
    return n


@helper
def sort_some(wide, j, mask, bodies, roots):
    """The same for ray j, which sees bodies of this mask, through the tree of boxes."""
    n, top, stack = 0, 1, integers(ROOM)
    stack[0] = 0
    while top > 0:
        top -= 1
        i = stack[top]
        for c in range(roots.count[i]):
            if not meets(wide, j, roots.boxes, 8 * (8 * i + c))[1]:
                continue
            child = np.int64(roots.child[i, c])
            if child >= 0:
                stack[top] = child
                top += 1
                continue
            for f in range(8):
                k = np.int64(roots.faces[~child, f])
                if k >= 0 and bodies[k]["mask"] & mask != 0:
                    near, hit = meets(wide, j, bodies[k]["box"], 0)
                    if hit:
                        insert(roots, n, near, k)
                        n += 1
    return n


@kernel
def bound(roots, seen):
    """Set the boxes of a tree of bodies; children come after their parents."""
    for i in range(len(roots.child) - 1, -1, -1):
        for c in range(roots.count[i]):
            at, child = 8 * (8 * i + c), np.int64(roots.child[i, c])
            for k in range(3):
                low, high = np.inf, -np.inf
                for f in range(8):
                    if child >= 0 and f < roots.count[child]:
                        below = 8 * (8 * child + f) + k
                        low, high = min(low, roots.boxes[below]), max(high, roots.boxes[below + 4])
                    elif child < 0 and roots.faces[~child, f] >= 0:
                        box = seen[roots.faces[~child, f]]["box"]
                        low, high = min(low, box[k]), max(high, box[k + 4])
                roots.boxes[at + k], roots.boxes[at + k + 4] = low, high
