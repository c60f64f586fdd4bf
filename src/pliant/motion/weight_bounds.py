"""How far a limited convex combination reaches (Steinemann, Otaduy and Gross 2008, 5; Kavan and Zara 2005).

A vertex that few maps T_j move is at Σ w_j T_j v. Of all vertices under a node of a tree it is known between which limits l_j <= w_j <= h_j
their weights lie, what these sum up to, s, and a box around those that T_j moves. So along a direction n none is beyond

    max Σ w_j b_j   over   l_j <= w_j <= h_j,   Σ w_j = s,   with b_j the farthest that T_j takes its box along n,

a linear programme, whose dual is a function of one number: for every x

    Σ w_j b_j  <=  g(x) = s x + Σ l_j (b_j − x) + Σ (h_j − l_j) max(b_j − x, 0).

Any x gives a bound: to round x costs nothing. The two ways to bound differ in x alone:

    SECOND    x is the second largest b: that is eq. 12 of the paper, to the letter. A node with one map has no second: then its own b
    GREEDY    the x with the least g, the solution of the programme: b in descending order are filled up to h until the sum is s.
              g is convex and piecewise linear: two tangents that meet say where to look next

Weights need not sum up to 1 exactly: `lower` and `upper` bound s − Σ l_j, and of the two the worse counts.

Everything is written for lanes: those of a node are bounded at once. What a lane's vertices do not feel has limits 0, 0 there.

Rounding, with e = 2**-24 and m the largest |b|, |x|: of b itself, of n products and sums, and of a mass of at most MAX_MASS above x
(farther down g is not believed) less than (n + 24) 4 e m: `rounding_margin`.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, minimum, movemask, where
from pliant.core.soa import lanes, lanes_dtype, packed_dtype, record_class

SECOND, GREEDY = range(2)
BOUNDS = {"eq12": SECOND, "greedy": GREEDY}
LOWEST, ZERO, ONE = np.float32(-3e38), np.float32(0), np.float32(1)
MAX_MASS = np.float32(2)
CONVERGED = np.float32(2.0**-7)                                         # of the range of b: nearer to the least g nobody looks
MAX_STEPS = 8
ROUNDING = 2.0**-22


@record_class
class WeightRange(NamedTuple):
    """What one map has of the vertices of a lane: the least weight, and the room above it."""
    minimum: float
    width: float


@record_class
class RestBox(NamedTuple):
    """A box at rest around those vertices: centre and half extents."""
    x: float
    y: float
    z: float
    half_x: float
    half_y: float
    half_z: float


@record_class
class WeightSum(NamedTuple):
    """What weights have to sum up to beyond their least values: between `lower` and `upper`; axes of boxes that are turned."""
    lower: float
    upper: float
    ux: float
    uy: float
    uz: float
    vx: float
    vy: float
    vz: float
    wx: float
    wy: float
    wz: float


class NodeRanges(NamedTuple):
    """Weight ranges of nodes: those of node i go from begins[i] to begins[i + 1], of the maps `map_ids`; its rest boxes begin at starts[i],
    one for each, or one for all; `weight_sums` (n,). `planes` (m · D · 4,) are the rows of the maps along D directions, whose 1-norms are
    `norms` (D,); `empty` is a node without volumes."""
    weight_ranges: np.ndarray
    map_ids: np.ndarray
    begins: np.ndarray
    rest_boxes: np.ndarray
    starts: np.ndarray
    weight_sums: np.ndarray
    norms: np.ndarray
    planes: np.ndarray
    empty: np.ndarray


class TopBreakpoints(NamedTuple):
    """What one pass over the b of a direction says: Σ l b, the largest b and the room there, the second."""
    fixed: float
    top: float
    width: float
    second: float


class BreakpointSums(NamedTuple):
    """What a search for the least g also needs: Σ room, Σ room b, the smallest b."""
    widths: float
    moment: float
    bottom: float


@cache
def range_dtypes(width):
    """The records of a WeightRange, a RestBox and a WeightSum of each lane."""
    return tuple(packed_dtype([("lanes", lanes_dtype(kind, width))]) for kind in (WeightRange, RestBox, WeightSum))


@helper
def projection_ends(box, weight_sum, planes, at, oriented):
    """(farthest along n, farthest against it) that a map takes its boxes; planes[at : at + 4] is n · T, as a row of the map."""
    x, y, z, t = planes[at], planes[at + 1], planes[at + 2], planes[at + 3]
    center = box.x * x + (box.y * y + (box.z * z + t))
    if oriented != 0:
        u, v, w = (weight_sum.ux * x + (weight_sum.uy * y + weight_sum.uz * z), weight_sum.vx * x + (weight_sum.vy * y + weight_sum.vz * z),
                   weight_sum.wx * x + (weight_sum.wy * y + weight_sum.wz * z))
        half = box.half_x * fabs(u) + (box.half_y * fabs(v) + box.half_z * fabs(w))
    else:
        half = box.half_x * abs(x) + (box.half_y * abs(y) + box.half_z * abs(z))
    return center + half, half - center


@helper
def add_breakpoint(top, weight_range, b):
    """One more b. What has no room is no breakpoint of g."""
    high = where(weight_range.width > ZERO, b, LOWEST)
    larger = high > top.top
    return TopBreakpoints(top.fixed + weight_range.minimum * b, where(larger, high, top.top), where(larger, weight_range.width, top.width),
                          maximum(minimum(high, top.top), top.second))


@helper
def add_to_sums(sums, weight_range, b):
    """One more b."""
    return BreakpointSums(sums.widths + weight_range.width, sums.moment + weight_range.width * b,
                          minimum(sums.bottom, where(weight_range.width > ZERO, b, -LOWEST)))


@helper
def remainder(weight_sum, x):
    """What the sum has left, so that x times it is at most this."""
    return where(x >= ZERO, weight_sum.upper, weight_sum.lower)


@helper
def bound_at_largest(top, weight_sum):
    """g at the largest b that has room; at 0 if none has."""
    x = where(top.top > LOWEST, top.top, ZERO)
    return top.fixed + remainder(weight_sum, x) * x


@helper
def bound_at_second(top, weight_sum):
    """g at the second largest: eq. 12."""
    x = top.second
    return where(x > LOWEST, top.fixed + (top.width * (top.top - x) + remainder(weight_sum, x) * x), bound_at_largest(top, weight_sum))


class TangentSearch(NamedTuple):
    """Tangents left and right of the least g: where, g and slope there; the best bound so far; x to look at next; what g is at least."""
    x_left: float
    g_left: float
    s_left: float
    x_right: float
    g_right: float
    s_right: float
    best: float
    x: float
    floor: float


@helper
def tangent_intersection(x_left, g_left, s_left, x_right, g_right, s_right, best):
    """The TangentSearch with these tangents."""
    bend = s_right - s_left
    x = x_right - (g_right - g_left - s_left * (x_right - x_left)) / where(bend > ZERO, bend, ONE)
    inside = (bend > ZERO) & (x > x_left) & (x < x_right)
    x = where(inside, x, x_right)
    return TangentSearch(x_left, g_left, s_left, x_right, g_right, s_right, best, x, where(inside, g_left + s_left * (x - x_left), best))


@helper
def start_search(top, sums, weight_sum):
    """Between the smallest b and the second largest; where the largest has room for all that is left, that is the solution."""
    several = top.second > LOWEST
    bottom, second = where(several, sums.bottom, ZERO), where(several, top.second, ZERO)
    s_right = weight_sum.upper - top.width
    far = several & (s_right > ZERO) & (bottom < second)
    best = minimum(bound_at_largest(top, weight_sum), bound_at_second(top, weight_sum))
    g_left = top.fixed + (sums.moment - sums.widths * bottom) + weight_sum.upper * bottom
    return tangent_intersection(where(far, bottom, second), g_left, minimum(weight_sum.upper - sums.widths, ZERO), second,
                                bound_at_second(top, weight_sum), s_right, best)


@helper
def refine_search(search, weight_sum, above, mass, fixed):
    """The TangentSearch when at its x Σ room (b − x) over the b above is `above`, and the room of these `mass`."""
    sum_at = remainder(weight_sum, search.x)
    g, slope = fixed + (above + sum_at * search.x), sum_at - mass
    lower = slope < ZERO
    best = where(mass <= MAX_MASS, minimum(search.best, g), search.best)
    return tangent_intersection(where(lower, search.x, search.x_left), where(lower, g, search.g_left), where(lower, slope, search.s_left),
                                where(lower, search.x_right, search.x), where(lower, search.g_right, g),
                                where(lower, search.s_right, slope), best)


@helper
def not_converged(search, top, sums):
    """Lanes in which the best bound may be clearly above the least g."""
    return movemask(search.best - search.floor > maximum(top.top - sums.bottom, ZERO) * CONVERGED)


@helper
def bound_direction(ranges, begin, end, at, step, i, d, oriented, method):
    """(low, high) of the vertices of each lane of node i along direction d, not rounded outward. The node's weight ranges go from begin to
    end; its rest boxes begin at `at`, one for each, or with step 0 one for all."""
    weight_ranges, map_ids, rest_boxes, planes, directions = ranges.weight_ranges, ranges.map_ids, ranges.rest_boxes, ranges.planes, len(
        ranges.norms)
    weight_sum = lanes(ranges.weight_sums, i)
    zero = weight_sum.lower * ZERO
    lowest = zero + LOWEST
    top_high = top_low = TopBreakpoints(zero, lowest, zero, lowest)
    if method == SECOND:
        for e in range(begin, end):
            weight_range = lanes(weight_ranges, e)
            p, q = projection_ends(lanes(rest_boxes, at + step * (e - begin)), weight_sum, planes,
                                   4 * (np.int64(map_ids[e]) * directions + d), oriented)
            top_high, top_low = add_breakpoint(top_high, weight_range, p), add_breakpoint(top_low, weight_range, q)
        return -bound_at_second(top_low, weight_sum), bound_at_second(top_high, weight_sum)
    sums_high = sums_low = BreakpointSums(zero, zero, -lowest)
    for e in range(begin, end):
        weight_range = lanes(weight_ranges, e)
        p, q = projection_ends(lanes(rest_boxes, at + step * (e - begin)), weight_sum, planes, 4 * (np.int64(map_ids[e]) * directions + d),
                               oriented)
        top_high, top_low = add_breakpoint(top_high, weight_range, p), add_breakpoint(top_low, weight_range, q)
        sums_high, sums_low = add_to_sums(sums_high, weight_range, p), add_to_sums(sums_low, weight_range, q)
    search_high, search_low = start_search(top_high, sums_high, weight_sum), start_search(top_low, sums_low, weight_sum)
    for _ in range(MAX_STEPS):
        if not_converged(search_high, top_high, sums_high) | not_converged(search_low, top_low, sums_low) == 0:
            break
        above_high, mass_high, above_low, mass_low = zero, zero, zero, zero
        for e in range(begin, end):
            weight_range = lanes(weight_ranges, e)
            p, q = projection_ends(lanes(rest_boxes, at + step * (e - begin)), weight_sum, planes,
                                   4 * (np.int64(map_ids[e]) * directions + d), oriented)
            above_high = above_high + weight_range.width * maximum(p - search_high.x, ZERO)
            mass_high = mass_high + where(p > search_high.x, weight_range.width, ZERO)
            above_low = above_low + weight_range.width * maximum(q - search_low.x, ZERO)
            mass_low = mass_low + where(q > search_low.x, weight_range.width, ZERO)
        search_high = refine_search(search_high, weight_sum, above_high, mass_high, top_high.fixed)
        search_low = refine_search(search_low, weight_sum, above_low, mass_low, top_low.fixed)
    return -search_low.best, search_high.best


@helper
def rounding_margin(n, size):
    """More than what `bound` of n maps rounds by, where no |b| is larger than the size."""
    return (n + 24) * ROUNDING * size
