"""One tree, many rays: what they pass, nearest first.

Rays that go their own ways are searched in turns (`wander`): SLOTS of them at a time, a node each, so that while one waits for memory the
others go on; children that wait are keys (`core/sort_keys.py`), where the ray enters them and their name, farthest first. Specialised on the
family and on W, on nothing else.
"""
import numpy as np

from pliant.core.dispatch import generic
from pliant.core.jit import helper
from pliant.core.simd import bits, element, first, greatest, least, ones
from pliant.core.soa import lanes, row, whole
from pliant.core.sort_keys import keyed, name_of, number_of
from pliant.core.stack import integers
from pliant.query.ray.leaf import GOING, HIGH, LIMIT, LOW, OVER, START, WIDTH, at, candidates, fetch_corners, fresh, settle
from pliant.query.traverse import fetch, freshen
from pliant.volume.aabb import Box
from pliant.volume.protocol import FAMILIES, Ray, pierce

SLOTS, ROOM, N_STACKS = 8, 912, 8 * 912                               # ROOM: MOST_LEVELS times seven that wait, and eight more
ZERO = np.float32(0)


@generic("like")
def passed(like, nodes, i, view, j):
    """(where ray j enters each child of node i, bits of those that it passes before its limit). `like` is a volume of their family."""


@helper
def ray_of(view, j):
    """Ray j as the protocol of volumes takes it."""
    return Ray(at(view, START, j), at(view, START + 1, j), at(view, START + 2, j), at(view, OVER, j), at(view, OVER + 1, j),
               at(view, OVER + 2, j), ZERO, at(view, LIMIT, j), at(view, WIDTH, j))


def _passed(like, nodes, i, view, j):
    near, far = pierce(lanes(nodes, i), ray_of(view, j))
    return near, bits(near <= far)


for _family in {family.volume for family in FAMILIES.values()} - {Box}:
    passed.on(_family)(_passed)


@passed.on(Box)
def _(like, nodes, i, view, j):
    # The formula of `pierce`, with rows of the sides that are entered and left chosen by number and products made one with differences.
    x, y, z = at(view, OVER, j), at(view, OVER + 1, j), at(view, OVER + 2, j)
    p, q, r = 3 * np.int64(x < ZERO), 3 * np.int64(y < ZERO), 3 * np.int64(z < ZERO)
    # From below a side is passed later by the slack, from above sooner.
    near_x, far_x = row(nodes, i, p) * x - at(view, LOW + p, j), row(nodes, i, 3 - p) * x - at(view, HIGH - p, j)
    near_y, far_y = row(nodes, i, 1 + q) * y - at(view, LOW + 1 + q, j), row(nodes, i, 4 - q) * y - at(view, HIGH + 1 - q, j)
    near_z, far_z = row(nodes, i, 2 + r) * z - at(view, LOW + 2 + r, j), row(nodes, i, 5 - r) * z - at(view, HIGH + 2 - r, j)
    near = greatest(greatest(near_x, near_y), greatest(near_z, ZERO))
    far = least(least(far_x, far_y), least(far_z, at(view, LIMIT, j)))
    return near, bits(near <= far)


@helper
def wander(view, nodes, plain, count):
    """Search for what each of `count` rays meets; GOING, or FULL."""
    stacks, names, rays, tops, some_of = integers(N_STACKS), integers(SLOTS), integers(SLOTS), integers(SLOTS), integers(SLOTS)
    n_v, n_u, n_p, next_ray, active, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(GOING)
    for s in range(SLOTS):
        names[s], tops[s], rays[s], some_of[s] = 0, s * ROOM, next_ray, 0
        if next_ray < count:
            next_ray += 1
            active += 1
        else:
            rays[s] = -1
    while active > 0 and stop == GOING:
        for s in range(SLOTS):
            j = rays[s]
            if j < 0:
                continue
            name, top = names[s], tops[s]
            if name >= 0:
                n_u += freshen(nodes, name, view.frame, view.entry, view.context)
                enters, some = passed(whole(nodes, name), nodes, name, view, j)
                n_v += nodes[name]["count"]
                if some != 0:
                    k, some = first(some), some & (some - 1)
                    child = np.int64(nodes[name]["child"][k])
                    if some != 0:
                        base = top
                        stacks[top] = keyed(element(enters, k), child)
                        top += 1
                        while some != 0:
                            k, some = first(some), some & (some - 1)
                            key, place = keyed(element(enters, k), np.int64(nodes[name]["child"][k])), top
                            while place > base and stacks[place - 1] < key:
                                stacks[place] = stacks[place - 1]
                                place -= 1
                            stacks[place] = key
                            top += 1
                        top -= 1
                        child = name_of(stacks[top])
                    fetch(nodes, view.leaves, child)
                    names[s], tops[s] = child, top
                    continue
            elif some_of[s] != 0:
                stop = settle(view, plain, ~name, some_of[s], j)
                some_of[s] = 0
                if stop != GOING:
                    break
            else:
                fresh(view, ~name)
                some = candidates(view, ~name, j)
                n_p += ones(np.int64(view.leaves[~name]["used"]))
                if some != 0:                                           # when its turn comes again
                    fetch_corners(view, ~name, some)
                    some_of[s] = some
                    continue
            # The next that waits and is not too far, or the next ray.
            low, limit, found = s * ROOM, at(view, LIMIT, j), False
            while top > low:
                top -= 1
                if number_of(stacks[top]) <= limit:
                    found = True
                    break
            if found:
                names[s] = name_of(stacks[top])
                fetch(nodes, view.leaves, names[s])
            else:
                names[s] = 0
                if next_ray < count:
                    rays[s] = next_ray
                    next_ray += 1
                else:
                    rays[s] = -1
                    active -= 1
            tops[s] = top
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
