"""One tree, many rays: what they pass, nearest first.

Rays that go their own ways are searched in turns (`trace_single`): N_SLOTS of them at a time, a node each, so that while one waits for
memory the others go on; children that wait are keys (`core/sort_keys.py`), where the ray enters them and their name, farthest first.
Specialised on the volume type and on W, on nothing else.
"""
import numpy as np

from pliant.core.dispatch import ANY, generic
from pliant.core.jit import helper
from pliant.core.simd import ctz, extract, maximum, minimum, movemask, popcount
from pliant.core.soa import field_lanes, lanes, load_bounds
from pliant.core.sort_keys import key_index, key_value, pack_key
from pliant.core.stack import stack_int64
from pliant.query.ray.leaf import (
    GOING,
    HIGH,
    INV_DIR,
    LIMIT,
    LOW,
    MARGIN,
    START,
    leaf_candidates,
    load,
    prefetch_corners,
    refresh_view_leaf,
    test_candidates,
)
from pliant.query.traverse import prefetch_child, refresh_node
from pliant.volume.aabb import Box
from pliant.volume.protocol import Ray, ray_interval

N_SLOTS, STACK_SIZE, STACKS_SIZE = 8, 912, 8 * 912                      # MAX_LEVELS times seven that wait, and eight more
ZERO = np.float32(0)


@generic("like")
def hit_children(like, nodes, i, view, j):
    """(where ray j enters each child of node i, bits of those that it passes before its limit). `like` is a volume of their type."""


@helper
def local_ray(view, j):
    """Ray j as the protocol of volumes takes it."""
    return Ray(load(view, START, j), load(view, START + 1, j), load(view, START + 2, j), load(view, INV_DIR, j), load(view, INV_DIR + 1, j),
               load(view, INV_DIR + 2, j), ZERO, load(view, LIMIT, j), load(view, MARGIN, j))


@hit_children.register(ANY)
def _(like, nodes, i, view, j):
    near, far = ray_interval(lanes(nodes, i), local_ray(view, j))
    return near, movemask(near <= far)


@hit_children.register(Box)
def _(like, nodes, i, view, j):
    # The formula of `ray_interval`, with rows of the sides that are entered and left chosen by number and products made one with
    # differences.
    x, y, z = load(view, INV_DIR, j), load(view, INV_DIR + 1, j), load(view, INV_DIR + 2, j)
    p, q, r = 3 * np.int64(x < ZERO), 3 * np.int64(y < ZERO), 3 * np.int64(z < ZERO)
    # From below a side is passed later by the slack, from above sooner.
    near_x, far_x = field_lanes(nodes, i, p) * x - load(view, LOW + p, j), field_lanes(nodes, i, 3 - p) * x - load(view, HIGH - p, j)
    near_y = field_lanes(nodes, i, 1 + q) * y - load(view, LOW + 1 + q, j)
    far_y = field_lanes(nodes, i, 4 - q) * y - load(view, HIGH + 1 - q, j)
    near_z = field_lanes(nodes, i, 2 + r) * z - load(view, LOW + 2 + r, j)
    far_z = field_lanes(nodes, i, 5 - r) * z - load(view, HIGH + 2 - r, j)
    near = maximum(maximum(near_x, near_y), maximum(near_z, ZERO))
    far = minimum(minimum(far_x, far_y), minimum(far_z, load(view, LIMIT, j)))
    return near, movemask(near <= far)


@helper
def trace_single(view, nodes, in_filter_range, count):
    """Search for what each of `count` rays meets; GOING, or FULL."""
    stacks, names, rays = stack_int64(STACKS_SIZE), stack_int64(N_SLOTS), stack_int64(N_SLOTS)
    tops, masks = stack_int64(N_SLOTS), stack_int64(N_SLOTS)
    n_v, n_u, n_p, next_ray, active, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(GOING)
    for lane in range(N_SLOTS):
        names[lane], tops[lane], rays[lane], masks[lane] = 0, lane * STACK_SIZE, next_ray, 0
        if next_ray < count:
            next_ray += 1
            active += 1
        else:
            rays[lane] = -1
    while active > 0 and stop == GOING:
        for lane in range(N_SLOTS):
            j = rays[lane]
            if j < 0:
                continue
            name, top = names[lane], tops[lane]
            if name >= 0:
                n_u += refresh_node(nodes, name, view.frame, view.entry, view.context)
                t_enter, mask = hit_children(load_bounds(nodes, name), nodes, name, view, j)
                n_v += nodes[name]["count"]
                if mask != 0:
                    k, mask = ctz(mask), mask & (mask - 1)
                    child = np.int64(nodes[name]["child"][k])
                    if mask != 0:
                        base = top
                        stacks[top] = pack_key(extract(t_enter, k), child)
                        top += 1
                        while mask != 0:
                            k, mask = ctz(mask), mask & (mask - 1)
                            key, slot = pack_key(extract(t_enter, k), np.int64(nodes[name]["child"][k])), top
                            while slot > base and stacks[slot - 1] < key:
                                stacks[slot] = stacks[slot - 1]
                                slot -= 1
                            stacks[slot] = key
                            top += 1
                        top -= 1
                        child = key_index(stacks[top])
                    prefetch_child(nodes, view.leaves, child)
                    names[lane], tops[lane] = child, top
                    continue
            elif masks[lane] != 0:
                stop = test_candidates(view, in_filter_range, ~name, masks[lane], j)
                masks[lane] = 0
                if stop != GOING:
                    break
            else:
                refresh_view_leaf(view, ~name)
                mask = leaf_candidates(view, ~name, j, view.ray_axes[j] & 3)
                n_p += popcount(np.int64(view.leaves[~name]["used"]))
                if mask != 0:                                           # when its turn comes again
                    prefetch_corners(view, ~name, mask)
                    masks[lane] = mask
                    continue
            # The next that waits and is not too far, or the next ray.
            low, limit, found = lane * STACK_SIZE, load(view, LIMIT, j), False
            while top > low:
                top -= 1
                if key_value(stacks[top]) <= limit:
                    found = True
                    break
            if found:
                names[lane] = key_index(stacks[top])
                prefetch_child(nodes, view.leaves, names[lane])
            else:
                names[lane] = 0
                if next_ray < count:
                    rays[lane] = next_ray
                    next_ray += 1
                else:
                    rays[lane] = -1
                    active -= 1
            tops[lane] = top
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
