"""Rays that go the same way: one search for the whole batch, as if it were one thick ray.

Along each axis the starts and the steps of all rays lie in intervals; where the thick ray misses a volume, all of them do (interval
arithmetic; Boulos, Wald and Shirley 2006). Of a leaf that it meets, eight rays at a time are compared with its box, and those that meet it
with its triangles. So the search itself, its branches and its waiting for memory, is paid once for up to 64 rays. Volumes must be boxes;
other volume types, and rays that diverge, are traced by `single.py`.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import ANY, generic
from pliant.core.jit import helper
from pliant.core.simd import ctz, extract, maximum, minimum, movemask, popcount, reduce_max, reduce_min, where
from pliant.core.soa import field_lanes, load_bounds
from pliant.core.sort_keys import key_index, key_value, pack_key
from pliant.core.stack import load8, stack_float32, stack_int64
from pliant.query.ray.leaf import (
    BATCH,
    GOING,
    HIGH,
    INV_DIR,
    LIMIT,
    LOW,
    MARGIN,
    SHEAR_X,
    SHEAR_Y,
    SIGN,
    START,
    leaf_candidates,
    prefetch_corners,
    prefetch_points,
    refresh_view_leaf,
    test_candidates,
)
from pliant.query.ray.single import STACK_SIZE
from pliant.query.traverse import prefetch_child, refresh_node
from pliant.volume.aabb import Box

MIN_PACKET_SIZE = 16                                                    # fewer rays go alone
MAX_SPREAD = np.float32(0.6)                                            # of directions, and of starts over the reach
MAX_LIMIT = np.float32(3e38)
ZERO, ALL_GROUPS = np.float32(0), 255


class PacketAxis(NamedTuple):
    """The thick ray along one axis: the number of the side that it enters first (3 more: the high one), the side of its start that counts
    there, that which counts where it leaves, and the interval of 1 / e; no side at all, −1, where direction signs differ."""
    side: int
    enter: float
    leave: float
    low: float
    high: float


@helper
def row_minimum(local, row, count):
    """The least of a row, of which whole vectors are read: `is_coherent` has filled up the last."""
    low = load8(local, row * BATCH)
    for j in range(8, count, 8):
        low = minimum(low, load8(local, row * BATCH + j))
    return reduce_min(low)


@helper
def row_maximum(local, row, count):
    """The largest."""
    high = load8(local, row * BATCH)
    for j in range(8, count, 8):
        high = maximum(high, load8(local, row * BATCH + j))
    return reduce_max(high)


@generic("like")
def is_coherent(like, view, count, reach):
    """Do these rays go the same way, through volumes that can be searched so?"""


@is_coherent.register(ANY)
def _(like, view, count, reach):
    return False


@is_coherent.register(Box)
def _(like, view, count, reach):
    if count < MIN_PACKET_SIZE:
        return False
    local, axis = view.local, view.ray_axes[0] & 3
    others = np.int64(0)
    for j in range(count):                                              # no early exit: vectors
        others |= view.ray_axes[j] ^ axis
    if others & 3 != 0:
        return False
    for j in range(count, (count + 7) & ~7):                            # whole vectors, of rays that never count
        for row_number in range(LIMIT):
            local[row_number * BATCH + j] = local[row_number * BATCH]
        local[LIMIT * BATCH + j] = -MAX_LIMIT
    if row_minimum(local, SIGN, count) != row_maximum(local, SIGN, count):
        return False
    width = maximum(row_maximum(local, SHEAR_X, count) - row_minimum(local, SHEAR_X, count),
                    row_maximum(local, SHEAR_Y, count) - row_minimum(local, SHEAR_Y, count))
    for k in range(START, START + 3):
        width = maximum(width, (row_maximum(local, k, count) - row_minimum(local, k, count)) / np.float32(reach))
    return width <= MAX_SPREAD


@helper
def packet_axis(view, k, count, margin):
    """The thick ray along axis k."""
    local = view.local
    low, high = row_minimum(local, INV_DIR + k, count), row_maximum(local, INV_DIR + k, count)
    first_start, last_start = row_minimum(local, START + k, count) - margin, row_maximum(local, START + k, count) + margin
    if low > ZERO:
        return PacketAxis(k, last_start, first_start, low, high)
    if high < ZERO:
        return PacketAxis(k + 3, first_start, last_start, low, high)
    return PacketAxis(-1, ZERO, ZERO, ZERO, ZERO)


@helper
def clip_packet(nodes, i, packet, near, far):
    """The part of the thick ray that may lie in the children of node i along one more axis."""
    if packet.side < 0:
        return near, far
    opposite = packet.side + 3 if packet.side < 3 else packet.side - 3
    enter, leave = field_lanes(nodes, i, packet.side) - packet.enter, field_lanes(nodes, i, opposite) - packet.leave
    return maximum(near, minimum(enter * packet.low, enter * packet.high)), minimum(far, maximum(leave * packet.low, leave * packet.high))


@helper
def ray_box_mask(view, leaf, at):
    """Bits of the rays at, at + 1, … at + 7 that meet the box of a leaf before their limits."""
    local, box = view.local, load_bounds(view.leaves, leaf)
    x, y, z = load8(local, INV_DIR * BATCH + at), load8(local, (INV_DIR + 1) * BATCH + at), load8(local, (INV_DIR + 2) * BATCH + at)
    p, q = x * box.lox - load8(local, LOW * BATCH + at), x * box.hix - load8(local, HIGH * BATCH + at)
    r, s = y * box.loy - load8(local, (LOW + 1) * BATCH + at), y * box.hiy - load8(local, (HIGH + 1) * BATCH + at)
    u, v = z * box.loz - load8(local, (LOW + 2) * BATCH + at), z * box.hiz - load8(local, (HIGH + 2) * BATCH + at)
    near = maximum(maximum(minimum(p, q), minimum(r, s)), maximum(minimum(u, v), ZERO))
    far = minimum(minimum(maximum(p, q), maximum(r, s)), minimum(maximum(u, v), load8(local, LIMIT * BATCH + at)))
    return movemask(near <= far)


@helper
def gather_groups(view, groups, count, margin):
    """Rows of eight lanes, one for each eight rays, of what `PacketAxis` says of them along each axis, and of their farthest limit; lanes
    without rays never count. Axes along which direction signs of a lane differ are let through."""
    for g in range(8):
        begin, groups[96 + g] = 8 * g, ZERO
        for k in range(3):
            if begin < count:
                over = load8(view.local, (INV_DIR + k) * BATCH + begin)
                low, high, start = reduce_min(over), reduce_max(over), load8(view.local, (START + k) * BATCH + begin)
                if low < ZERO and high > ZERO:
                    low = high = ZERO
                groups[8 * (4 * k) + g], groups[8 * (4 * k + 1) + g] = low, high
                groups[8 * (4 * k + 2) + g], groups[8 * (4 * k + 3) + g] = reduce_min(start) - margin, reduce_max(start) + margin
            else:
                for i in range(4):
                    groups[8 * (4 * k + i) + g] = ZERO


@helper
def clip_groups(groups, k, low_side, high_side, near, far):
    """The part of each eight rays that may lie between two sides along axis k."""
    low, high = load8(groups, 32 * k), load8(groups, 32 * k + 8)
    first_start, last_start = load8(groups, 32 * k + 16), load8(groups, 32 * k + 24)
    q, r = low_side - last_start, high_side - first_start
    # Ahead the low side is entered, latest started nearest; behind it is the high side.
    positive, unbounded = low > ZERO, (low >= ZERO) & (high <= ZERO)
    enter, leave = where(positive, q, r), where(positive, r, q)
    near = maximum(near, where(unbounded, near, minimum(enter * low, enter * high)))
    return near, minimum(far, where(unbounded, far, maximum(leave * low, leave * high)))


@helper
def group_box_mask(view, groups, leaf):
    """Bits of the groups of eight rays that may meet the box of a leaf."""
    box = load_bounds(view.leaves, leaf)
    near, far = load8(groups, 96), load8(groups, 104)
    near, far = clip_groups(groups, 0, box.lox, box.hix, near, far)
    near, far = clip_groups(groups, 1, box.loy, box.hiy, near, far)
    near, far = clip_groups(groups, 2, box.loz, box.hiz, near, far)
    return movemask(near <= far)


@helper
def update_limits(view, groups, count, some):
    """Set how far these groups of eight rays count; how far any of them all does."""
    for g in range(8):
        if some >> g & 1:
            groups[104 + g] = reduce_max(load8(view.local, LIMIT * BATCH + 8 * g)) if 8 * g < count else -MAX_LIMIT
    return reduce_max(load8(groups, 104))


@helper
def trace_packet(view, nodes, in_filter_range, count):
    """Search for what `count` rays meet that go together; GOING, or FULL."""
    stack, pending, local = stack_int64(STACK_SIZE), stack_int64(BATCH), view.local  # waiting: a ray and bits of triangles
    margin = row_maximum(local, MARGIN, count)
    axis = view.ray_axes[0] & 3                                         # the same for all
    x, y, z = packet_axis(view, 0, count, margin), packet_axis(view, 1, count, margin), packet_axis(view, 2, count, margin)
    groups = stack_float32(112)
    gather_groups(view, groups, count, margin)
    limit = update_limits(view, groups, count, np.int64(ALL_GROUPS))
    n_v, n_u, n_p, top, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(1), np.int64(GOING)
    stack[0] = 0
    while top > 0 and stop == GOING:
        top -= 1
        if key_value(stack[top]) > limit:
            continue
        name = key_index(stack[top])
        if name >= 0:
            n_u += refresh_node(nodes, name, view.frame, view.entry, view.context)
            near, far = clip_packet(nodes, name, x, field_lanes(nodes, name, 0) * ZERO, field_lanes(nodes, name, 0) * ZERO + limit)
            near, far = clip_packet(nodes, name, y, near, far)
            near, far = clip_packet(nodes, name, z, near, far)
            mask, base = movemask(near <= far) & ((np.int64(1) << nodes[name]["count"]) - 1), top
            n_v += nodes[name]["count"]
            while mask != 0:
                k, mask = ctz(mask), mask & (mask - 1)
                child = np.int64(nodes[name]["child"][k])
                prefetch_child(nodes, view.leaves, child)
                key, slot = pack_key(extract(near, k), child), top
                while slot > base and stack[slot - 1] < key:
                    stack[slot] = stack[slot - 1]
                    slot -= 1
                stack[slot] = key
                top += 1
            continue
        leaf, n = ~name, 0
        if top > 0 and key_index(stack[top - 1]) < 0:
            prefetch_points(view, ~key_index(stack[top - 1]))
        refresh_view_leaf(view, leaf)
        group_mask = group_box_mask(view, groups, leaf)
        while group_mask != 0:
            begin, group_mask = 8 * ctz(group_mask), group_mask & (group_mask - 1)
            ray_mask = ray_box_mask(view, leaf, begin)
            while ray_mask != 0:
                k, ray_mask = ctz(ray_mask), ray_mask & (ray_mask - 1)
                mask = leaf_candidates(view, leaf, begin + k, axis)
                n_p += popcount(np.int64(view.leaves[leaf]["used"]))
                if mask != 0:
                    prefetch_corners(view, leaf, mask)
                    pending[n] = (begin + k) << 8 | mask
                    n += 1
        some = np.int64(0)
        for k in range(n):
            some |= np.int64(1) << (pending[k] >> 11)
            stop = test_candidates(view, in_filter_range, leaf, pending[k] & 255, pending[k] >> 8)
            if stop != GOING:
                break
        if n > 0:
            limit = update_limits(view, groups, count, some)
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
