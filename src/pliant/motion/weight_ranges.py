"""What maps have of some vertices, worked out once: the limits of weights and the boxes at rest that `weight_bounds.py` bounds with.

In float32, rounded outward: limits are wider than those of the weights, boxes larger than those of the vertices.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.soa import put_lane
from pliant.motion.weight_bounds import RestBox, WeightRange, WeightSum


class RangeScratch(NamedTuple):
    """For `collect_ranges`, with m maps: `map_ids` (m,) lists those that move some of the vertices. Of map j limits[j] are the smallest and
    largest weight, boxes[j] = low, high of the vertices that it moves; boxes[-1] is around all. `sums` are the smallest and largest sum of
    weights. `counts` (m,) are 0 between two calls."""
    counts: np.ndarray
    limits: np.ndarray
    boxes: np.ndarray
    sums: np.ndarray
    map_ids: np.ndarray


def range_scratch(m):
    """The RangeScratch for m maps."""
    return RangeScratch(np.zeros(m, np.int64), np.zeros((m, 2)), np.zeros((m + 1, 6)), np.zeros(2), np.zeros(m, np.int32))


@kernel
def collect_ranges(order, begin, end, skin, local, axes, scratch):
    """Fill the scratch for the vertices in the rows order[begin : end] of a skin (begins, map_ids, weights); the number of maps that move
    them. `axes` (3, 3), a row each, are those of the boxes; `local` (n, 3) are positions at rest."""
    (begins, maps, weights), (counts, limits, boxes, sums, map_ids), n = skin, scratch, 0
    sums[0], sums[1] = np.inf, -np.inf
    bounds = boxes[len(boxes) - 1]
    for k in range(3):
        bounds[k], bounds[k + 3] = np.inf, -np.inf
    for at in range(begin, end):
        r, total = np.int64(order[at]), 0.0
        x, y, z = local[r, 0], local[r, 1], local[r, 2]
        for k in range(3):
            p = axes[k, 0] * x + axes[k, 1] * y + axes[k, 2] * z
            bounds[k], bounds[k + 3] = min(bounds[k], p), max(bounds[k + 3], p)
        for e in range(begins[r], begins[r + 1]):
            j, w = np.int64(maps[e]), weights[e]
            box = boxes[j]
            total += w
            if counts[j] == 0:
                map_ids[n] = j
                n += 1
                limits[j, 0], limits[j, 1] = w, w
                for k in range(3):
                    box[k], box[k + 3] = np.inf, -np.inf
            counts[j] += 1
            limits[j, 0], limits[j, 1] = min(limits[j, 0], w), max(limits[j, 1], w)
            for k in range(3):
                p = axes[k, 0] * x + axes[k, 1] * y + axes[k, 2] * z
                box[k], box[k + 3] = min(box[k], p), max(box[k + 3], p)
        sums[0], sums[1] = min(sums[0], total), max(sums[1], total)
    for k in range(n):
        j = np.int64(map_ids[k])
        if counts[j] < end - begin:
            limits[j, 0] = 0.0                                          # some of them it does not move
        counts[j] = 0
    return n


@helper
def round_up_float32(value):
    """At least this, in float32; 0 stays 0."""
    return np.float32(value * (1 + 2.0**-22))


@helper
def weight_range(minimum, maximum):
    """The WeightRange of these weights."""
    base = np.float32(minimum * (1 - 2.0**-22))
    return WeightRange(base, round_up_float32(maximum - np.float64(base)))


@helper
def rest_box(box, to_xyz):
    """The RestBox of this box along axes, which `to_xyz` (3, 3) rotates back into x, y and z."""
    p, q, r = 0.5 * box[0] + 0.5 * box[3], 0.5 * box[1] + 0.5 * box[4], 0.5 * box[2] + 0.5 * box[5]
    x = np.float32(to_xyz[0, 0] * p + to_xyz[0, 1] * q + to_xyz[0, 2] * r)
    y = np.float32(to_xyz[1, 0] * p + to_xyz[1, 1] * q + to_xyz[1, 2] * r)
    z = np.float32(to_xyz[2, 0] * p + to_xyz[2, 1] * q + to_xyz[2, 2] * r)
    margin = (abs(p) + abs(q) + abs(r)) * 2.0**-22                      # for the rounding of the centre
    return RestBox(x, y, z, round_up_float32(box[3] - p + margin), round_up_float32(box[4] - q + margin),
                   round_up_float32(box[5] - r + margin))


@helper
def weight_sum(sums, minimum, to_xyz):
    """The WeightSum of weights that sum up to between these, their lowest values to `minimum`."""
    lower, upper = sums[0] * (1 - 2.0**-40) - minimum, sums[1] * (1 + 2.0**-40) - minimum
    return WeightSum(np.float32(lower - abs(lower) * 2.0**-22), np.float32(upper + abs(upper) * 2.0**-22), np.float32(to_xyz[0, 0]),
                     np.float32(to_xyz[1, 0]), np.float32(to_xyz[2, 0]), np.float32(to_xyz[0, 1]), np.float32(to_xyz[1, 1]),
                     np.float32(to_xyz[2, 1]), np.float32(to_xyz[0, 2]), np.float32(to_xyz[1, 2]), np.float32(to_xyz[2, 2]))


@kernel
def put_ranges(scratch, n, slots, to_xyz, ranges, at, step, i, k):
    """Write the results of `collect_ranges` for n maps to lane k of node i: of map j to weight range slots[j] and rest box slots[j] + at;
    with step 0, rest box `at` is around all."""
    _, limits, boxes, sums, map_ids = scratch
    minimum, last = 0.0, len(boxes) - 1
    for m in range(n):
        j = np.int64(map_ids[m])
        entry = weight_range(limits[j, 0], limits[j, 1])
        put_lane(ranges.weight_ranges, slots[j], k, entry)
        minimum += np.float64(entry.minimum)
        if step != 0:
            put_lane(ranges.rest_boxes, at + slots[j], k, rest_box(boxes[j], to_xyz))
    if step == 0:
        put_lane(ranges.rest_boxes, at, k, rest_box(boxes[last], to_xyz))
    put_lane(ranges.weight_sums, i, k, weight_sum(sums, minimum, to_xyz))
