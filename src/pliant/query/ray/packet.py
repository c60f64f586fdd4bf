"""Rays that go the same way: one search for the whole batch, as if it were one thick ray.

Along each axis the starts and the steps of all rays lie in intervals; where the thick ray misses a volume, all of them do (interval
arithmetic; Boulos, Wald and Shirley 2006). Of a leaf that it meets, eight rays at a time are compared with its box, and those that meet it
with its triangles. So the search itself, its branches and its waiting for memory, is paid once for up to 64 rays. Volumes must be boxes;
other families, and rays that part, go the way of `single.py`.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.jit import helper
from pliant.core.simd import bits, element, first, greatest, highest, least, lowest, ones, where
from pliant.core.soa import row, whole
from pliant.core.sort_keys import keyed, name_of, number_of
from pliant.core.stack import eight, integers, singles
from pliant.query.ray.leaf import (
    BATCH,
    GOING,
    HIGH,
    LIMIT,
    LOW,
    OVER,
    SHEAR_X,
    SHEAR_Y,
    SIGN,
    START,
    WIDTH,
    candidates,
    fetch_corners,
    fresh,
    settle,
)
from pliant.query.ray.single import ROOM
from pliant.query.traverse import fetch, freshen
from pliant.volume.aabb import Box
from pliant.volume.protocol import FAMILIES

LEAST_COUNT = 16                                                        # fewer rays go alone
SPREAD = np.float32(0.6)                                               # of directions, and of starts over the reach
FAR = np.float32(3e38)
ZERO = np.float32(0)


class Slab(NamedTuple):
    """The thick ray along one axis: the number of the side that it enters first (3 more: the high one), the side of its start that counts
    there, that which counts where it leaves, and the interval of 1 / e; no side at all, −1, where the rays are of two minds."""
    side: int
    enter: float
    leave: float
    low: float
    high: float


@helper
def lowest_of(local, number, count):
    """The least of a row, of which whole vectors are read: `together` has filled up the last."""
    low = eight(local, number * BATCH)
    for j in range(8, count, 8):
        low = least(low, eight(local, number * BATCH + j))
    return lowest(low)


@helper
def highest_of(local, number, count):
    """The largest."""
    high = eight(local, number * BATCH)
    for j in range(8, count, 8):
        high = greatest(high, eight(local, number * BATCH + j))
    return highest(high)


@generic("like")
def together(like, view, count, reach):
    """Do these rays go the same way, through volumes that can be searched so?"""


def _never(like, view, count, reach):
    return False


for _family in {family.volume for family in FAMILIES.values()} - {Box}:
    together.on(_family)(_never)


@together.on(Box)
def _(like, view, count, reach):
    if count < LEAST_COUNT:
        return False
    local, axis = view.local, view.who[0] & 3
    for j in range(1, count):
        if view.who[j] & 3 != axis:
            return False
    for j in range(count, (count + 7) & ~7):                            # whole vectors, of rays that never count
        for number in range(LIMIT):
            local[number * BATCH + j] = local[number * BATCH]
        local[LIMIT * BATCH + j] = -FAR
    if lowest_of(local, SIGN, count) != highest_of(local, SIGN, count):
        return False
    width = greatest(highest_of(local, SHEAR_X, count) - lowest_of(local, SHEAR_X, count),
                     highest_of(local, SHEAR_Y, count) - lowest_of(local, SHEAR_Y, count))
    for k in range(START, START + 3):
        width = greatest(width, (highest_of(local, k, count) - lowest_of(local, k, count)) / np.float32(reach))
    return width <= SPREAD


@helper
def slab_of(view, k, count, slack):
    """The thick ray along axis k."""
    local = view.local
    low, high = lowest_of(local, OVER + k, count), highest_of(local, OVER + k, count)
    first_start, last_start = lowest_of(local, START + k, count) - slack, highest_of(local, START + k, count) + slack
    if low > ZERO:
        return Slab(k, last_start, first_start, low, high)
    if high < ZERO:
        return Slab(k + 3, first_start, last_start, low, high)
    return Slab(-1, ZERO, ZERO, ZERO, ZERO)


@helper
def narrowed(nodes, i, slab, near, far):
    """The part of the thick ray that may lie in the children of node i along one more axis."""
    if slab.side < 0:
        return near, far
    other = slab.side + 3 if slab.side < 3 else slab.side - 3
    enter, leave = row(nodes, i, slab.side) - slab.enter, row(nodes, i, other) - slab.leave
    return greatest(near, least(enter * slab.low, enter * slab.high)), least(far, greatest(leave * slab.low, leave * slab.high))


@helper
def rays_through(view, leaf, at):
    """Bits of the rays at, at + 1, … at + 7 that meet the box of a leaf before their limits."""
    local, box = view.local, whole(view.leaves, leaf)
    x, y, z = eight(local, OVER * BATCH + at), eight(local, (OVER + 1) * BATCH + at), eight(local, (OVER + 2) * BATCH + at)
    p, q = x * box.lox - eight(local, LOW * BATCH + at), x * box.hix - eight(local, HIGH * BATCH + at)
    r, s = y * box.loy - eight(local, (LOW + 1) * BATCH + at), y * box.hiy - eight(local, (HIGH + 1) * BATCH + at)
    u, v = z * box.loz - eight(local, (LOW + 2) * BATCH + at), z * box.hiz - eight(local, (HIGH + 2) * BATCH + at)
    near = greatest(greatest(least(p, q), least(r, s)), greatest(least(u, v), ZERO))
    far = least(least(greatest(p, q), greatest(r, s)), least(greatest(u, v), eight(local, LIMIT * BATCH + at)))
    return bits(near <= far)


@helper
def gather(view, groups, count, slack):
    """Rows of eight lanes, one for each eight rays, of what `Slab` says of them along each axis, and of their farthest limit; lanes without
    rays never count. Axes along which the rays of a lane are of two minds are let through."""
    for g in range(8):
        begin = 8 * g
        for k in range(3):
            if begin < count:
                over = eight(view.local, (OVER + k) * BATCH + begin)
                low, high, start = lowest(over), highest(over), eight(view.local, (START + k) * BATCH + begin)
                if low < ZERO and high > ZERO:
                    low = high = ZERO
                groups[8 * (4 * k) + g], groups[8 * (4 * k + 1) + g] = low, high
                groups[8 * (4 * k + 2) + g], groups[8 * (4 * k + 3) + g] = lowest(start) - slack, highest(start) + slack
            else:
                for i in range(4):
                    groups[8 * (4 * k + i) + g] = ZERO


@helper
def lanes_through(groups, k, low_side, high_side, near, far):
    """The part of each eight rays that may lie between two sides along axis k."""
    low, high = eight(groups, 32 * k), eight(groups, 32 * k + 8)
    first_start, last_start = eight(groups, 32 * k + 16), eight(groups, 32 * k + 24)
    q, r = low_side - last_start, high_side - first_start
    # Ahead the low side is entered, latest started nearest; behind it is the high side.
    ahead, free = low > ZERO, (low >= ZERO) & (high <= ZERO)
    enter, leave = where(ahead, q, r), where(ahead, r, q)
    near = greatest(near, where(free, near, least(enter * low, enter * high)))
    return near, least(far, where(free, far, greatest(leave * low, leave * high)))


@helper
def groups_through(view, groups, leaf):
    """Bits of the groups of eight rays that may meet the box of a leaf."""
    box = whole(view.leaves, leaf)
    near, far = eight(groups, 96), eight(groups, 104)
    near, far = lanes_through(groups, 0, box.lox, box.hix, near, far)
    near, far = lanes_through(groups, 1, box.loy, box.hiy, near, far)
    near, far = lanes_through(groups, 2, box.loz, box.hiz, near, far)
    return bits(near <= far)


@helper
def note_limits(view, groups, count):
    """How far each group of eight rays counts, and all of them."""
    limit = -FAR
    for g in range(8):
        groups[96 + g] = ZERO
        groups[104 + g] = highest(eight(view.local, LIMIT * BATCH + 8 * g)) if 8 * g < count else -FAR
        limit = greatest(limit, groups[104 + g])
    return limit


@helper
def march(view, nodes, plain, count):
    """Search for what `count` rays meet that go together; GOING, or FULL."""
    stack, waiting, local = integers(ROOM), integers(BATCH), view.local        # waiting: a ray and bits of triangles
    slack = highest_of(local, WIDTH, count)
    x, y, z = slab_of(view, 0, count, slack), slab_of(view, 1, count, slack), slab_of(view, 2, count, slack)
    groups = singles(112)
    gather(view, groups, count, slack)
    limit = note_limits(view, groups, count)
    n_v, n_u, n_p, top, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(1), np.int64(GOING)
    stack[0] = 0
    while top > 0 and stop == GOING:
        top -= 1
        if number_of(stack[top]) > limit:
            continue
        name = name_of(stack[top])
        if name >= 0:
            n_u += freshen(nodes, name, view.frame, view.entry, view.context)
            near, far = narrowed(nodes, name, x, row(nodes, name, 0) * ZERO, row(nodes, name, 0) * ZERO + limit)
            near, far = narrowed(nodes, name, y, near, far)
            near, far = narrowed(nodes, name, z, near, far)
            some, base = bits(near <= far) & ((np.int64(1) << nodes[name]["count"]) - 1), top
            n_v += nodes[name]["count"]
            while some != 0:
                k, some = first(some), some & (some - 1)
                child = np.int64(nodes[name]["child"][k])
                fetch(nodes, view.leaves, child)
                key, place = keyed(element(near, k), child), top
                while place > base and stack[place - 1] < key:
                    stack[place] = stack[place - 1]
                    place -= 1
                stack[place] = key
                top += 1
            continue
        leaf, n = ~name, 0
        fresh(view, leaf)
        some_groups = groups_through(view, groups, leaf)
        while some_groups != 0:
            at, some_groups = 8 * first(some_groups), some_groups & (some_groups - 1)
            rays = rays_through(view, leaf, at)
            while rays != 0:
                k, rays = first(rays), rays & (rays - 1)
                some = candidates(view, leaf, at + k)
                n_p += ones(np.int64(view.leaves[leaf]["used"]))
                if some != 0:
                    fetch_corners(view, leaf, some)
                    waiting[n] = (at + k) << 8 | some
                    n += 1
        for k in range(n):
            stop = settle(view, plain, leaf, waiting[k] & 255, waiting[k] >> 8)
            if stop != GOING:
                break
        if n > 0:
            limit = note_limits(view, groups, count)
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
