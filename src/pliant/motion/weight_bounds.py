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

Rounding, with e = 2**-24 and m the largest |b|, |x|: of b itself, of n products and sums, and of a mass of at most MASS above x (farther
down g is not believed) less than (n + 24) 4 e m: `slack`.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, greatest, least, magnitude, where
from pliant.core.soa import as_record, lanes, lanes_of, packed

SECOND, GREEDY = range(2)
BOUNDS = {"eq12": SECOND, "greedy": GREEDY}
NOWHERE, ZERO, ONE = np.float32(-3e38), np.float32(0), np.float32(1)
MASS = np.float32(2)
CLOSE = np.float32(2.0**-7)                                             # of the range of b: nearer to the least g nobody looks
STEPS = 8
ROUNDING = 2.0**-22


@as_record
class Share(NamedTuple):
    """What one map has of the vertices of a lane: the least weight, and the room above it."""
    base: float
    room: float


@as_record
class Hull(NamedTuple):
    """A box at rest around those vertices: centre and half extents."""
    x: float
    y: float
    z: float
    wide: float
    deep: float
    tall: float


@as_record
class Rest(NamedTuple):
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


class Heap(NamedTuple):
    """What one pass over the b of a direction says: Σ l b, the largest b and the room there, the second."""
    fixed: float
    top: float
    room: float
    second: float


class Depth(NamedTuple):
    """What a search for the least g also needs: Σ room, Σ room b, the smallest b."""
    rooms: float
    moment: float
    bottom: float


@cache
def limits_dtypes(width):
    """The records of a Share, a Hull and a Rest of each lane."""
    return tuple(packed([("lanes", lanes_of(kind, width))]) for kind in (Share, Hull, Rest))


@helper
def ends(hull, rest, planes, at, turned):
    """(farthest along n, farthest against it) that a map takes its boxes; planes[at : at + 4] is n · T, as a row of the map."""
    x, y, z, t = planes[at], planes[at + 1], planes[at + 2], planes[at + 3]
    middle = hull.x * x + (hull.y * y + (hull.z * z + t))
    if turned != 0:
        u, v, w = (rest.ux * x + (rest.uy * y + rest.uz * z), rest.vx * x + (rest.vy * y + rest.vz * z),
                   rest.wx * x + (rest.wy * y + rest.wz * z))
        half = hull.wide * magnitude(u) + (hull.deep * magnitude(v) + hull.tall * magnitude(w))
    else:
        half = hull.wide * abs(x) + (hull.deep * abs(y) + hull.tall * abs(z))
    return middle + half, half - middle


@helper
def piled(heap, share, b):
    """One more b. What has no room is no breakpoint of g."""
    high = where(share.room > ZERO, b, NOWHERE)
    more = high > heap.top
    return Heap(heap.fixed + share.base * b, where(more, high, heap.top), where(more, share.room, heap.room),
                greatest(least(high, heap.top), heap.second))


@helper
def deepened(depth, share, b):
    """One more b."""
    return Depth(depth.rooms + share.room, depth.moment + share.room * b, least(depth.bottom, where(share.room > ZERO, b, -NOWHERE)))


@helper
def remainder(rest, x):
    """What the sum has left, so that x times it is at most this."""
    return where(x >= ZERO, rest.upper, rest.lower)


@helper
def at_top(heap, rest):
    """g at the largest b that has room; at 0 if none has."""
    x = where(heap.top > NOWHERE, heap.top, ZERO)
    return heap.fixed + remainder(rest, x) * x


@helper
def at_second(heap, rest):
    """g at the second largest: eq. 12."""
    x = heap.second
    return where(x > NOWHERE, heap.fixed + (heap.room * (heap.top - x) + remainder(rest, x) * x), at_top(heap, rest))


class Search(NamedTuple):
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
def met(x_left, g_left, s_left, x_right, g_right, s_right, best):
    """The Search with these tangents."""
    bend = s_right - s_left
    x = x_right - (g_right - g_left - s_left * (x_right - x_left)) / where(bend > ZERO, bend, ONE)
    inside = (bend > ZERO) & (x > x_left) & (x < x_right)
    x = where(inside, x, x_right)
    return Search(x_left, g_left, s_left, x_right, g_right, s_right, best, x, where(inside, g_left + s_left * (x - x_left), best))


@helper
def begun(heap, depth, rest):
    """Between the smallest b and the second largest; where the largest has room for all that is left, that is the solution."""
    several = heap.second > NOWHERE
    bottom, second = where(several, depth.bottom, ZERO), where(several, heap.second, ZERO)
    s_right = rest.upper - heap.room
    far = several & (s_right > ZERO) & (bottom < second)
    best = least(at_top(heap, rest), at_second(heap, rest))
    g_left = heap.fixed + (depth.moment - depth.rooms * bottom) + rest.upper * bottom
    return met(where(far, bottom, second), g_left, least(rest.upper - depth.rooms, ZERO), second, at_second(heap, rest), s_right, best)


@helper
def narrowed(search, rest, above, mass, fixed):
    """The Search when at its x Σ room (b − x) over the b above is `above`, and the room of these `mass`."""
    rest_at = remainder(rest, search.x)
    g, slope = fixed + (above + rest_at * search.x), rest_at - mass
    lower = slope < ZERO
    best = where(mass <= MASS, least(search.best, g), search.best)
    return met(where(lower, search.x, search.x_left), where(lower, g, search.g_left), where(lower, slope, search.s_left),
               where(lower, search.x_right, search.x), where(lower, search.g_right, g), where(lower, search.s_right, slope), best)


@helper
def far_from(search, heap, depth):
    """Lanes in which the best bound may be clearly above the least g."""
    return bits(search.best - search.floor > greatest(heap.top - depth.bottom, ZERO) * CLOSE)


@helper
def bound(shares, which, begin, end, hulls, at, step, rests, i, planes, directions, d, turned, how):
    """(low, high) of the vertices of each lane of node i along direction d, not rounded outward. Of `shares` those from begin to end are
    the node's, of the maps `which`; of `hulls` those from `at` on, one for each, or with step 0 one for all; `planes` (m, directions, 4)
    are flat."""
    rest = lanes(rests, i)
    nothing = rest.lower * ZERO
    none = nothing + NOWHERE
    ahead = behind = Heap(nothing, none, nothing, none)
    if how == SECOND:
        for e in range(begin, end):
            share = lanes(shares, e)
            p, q = ends(lanes(hulls, at + step * (e - begin)), rest, planes, 4 * (np.int64(which[e]) * directions + d), turned)
            ahead, behind = piled(ahead, share, p), piled(behind, share, q)
        return -at_second(behind, rest), at_second(ahead, rest)
    deep = far = Depth(nothing, nothing, -none)
    for e in range(begin, end):
        share = lanes(shares, e)
        p, q = ends(lanes(hulls, at + step * (e - begin)), rest, planes, 4 * (np.int64(which[e]) * directions + d), turned)
        ahead, behind, deep, far = piled(ahead, share, p), piled(behind, share, q), deepened(deep, share, p), deepened(far, share, q)
    one, other = begun(ahead, deep, rest), begun(behind, far, rest)
    for _ in range(STEPS):
        if far_from(one, ahead, deep) | far_from(other, behind, far) == 0:
            break
        above, mass, over, weight = nothing, nothing, nothing, nothing
        for e in range(begin, end):
            share = lanes(shares, e)
            p, q = ends(lanes(hulls, at + step * (e - begin)), rest, planes, 4 * (np.int64(which[e]) * directions + d), turned)
            above, mass = above + share.room * greatest(p - one.x, ZERO), mass + where(p > one.x, share.room, ZERO)
            over, weight = over + share.room * greatest(q - other.x, ZERO), weight + where(q > other.x, share.room, ZERO)
        one, other = narrowed(one, rest, above, mass, ahead.fixed), narrowed(other, rest, over, weight, behind.fixed)
    return -other.best, one.best


@helper
def slack(n, size):
    """More than what `bound` of n maps rounds by, where no |b| is larger than the size."""
    return (n + 24) * ROUNDING * size
