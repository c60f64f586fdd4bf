"""Two leaves: which of their triangles are near each other? The last step of every query about distances.

It is the same for all families, policies and motions, so it is compiled once a visitor and called by address. Boxes come first, eight at a
time, then bounds of distances (`geometry/distance_bounds.py`); what they leave is for the visitor: `reached`. How far apart is near stands in the
state: `radius`, a length in the frame of a and times the scale, which may shrink on the way, and `limit`, its square.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, invoke, pointer
from pliant.core.jit import DISABLED, helper, kernel, silent
from pliant.core.simd import bits, element, first, greatest, highest, least, lowest, ones
from pliant.core.soa import lanes, whole
from pliant.core.stack import eight, floats, one_of, put_lanes, put_rows, singles
from pliant.geometry.distance_bounds import LEAST, OURS, ROUNDING, THEIRS, WAYS, ZERO, bound_gaps, farthest_along, nearest_along
from pliant.geometry.triangle_distance import DISTANCE, POINTS, gap_entry
from pliant.geometry.triangle_overlap import EXACT
from pliant.query.collide.leaf_overlap import all_fit, copy_corners, error, key_of, moved, moved_box, seen, seen_box, unwanted
from pliant.query.collide.self_collide import SelfCollide
from pliant.query.collide.transformed import CollidePlaced, place_corners
from pliant.query.collide.two_bodies import Collide
from pliant.query.traverse import ENOUGH, FULL, GOING, QUERY, itself, low_name
from pliant.tree.adjacency import mask_between
from pliant.tree.nodes import LEAF, LEAF_DTYPE
from pliant.volume.aabb import WIDER, bounds
from pliant.volume.protocol import TINY, separation

E8, FOUR = np.float32(2.0**-21), np.float32(4)                          # roundings of a corner that is made local; of a way between two
BOXES, HEADS = 22, 28                                                   # rows of scratch after those of `bound_gaps`: six, and one
LARGEST = 3e38                                                          # in float32


# --- what is wanted --------------------------------------------------------------------------------------------------------------------

class Candidates(NamedTuple):
    """All pairs whose distance may be within the radius: keys."""
    wanted: int = 0


class Nearest(NamedTuple):
    """The nearest pair: `best`, `face_a`, `face_b` and `ends`; the radius shrinks with it."""
    wanted: int = 1


@generic("wanted", "visitor")
def reached(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    """Triangle i of leaf a and j of leaf b are near each other; `rows` as `bound_gaps` has left them."""


@generic("visitor")
def put_corners(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    """Their corners in the world, at t[0 : 18]; are they in the range of the filters?"""


def _put_as_they_are(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    copy_corners(leaves_a, a, i, visitor.vertices_a, t, 0)
    copy_corners(leaves_b, b, j, visitor.vertices_b, t, 9)
    return np.int64(state["plain"] != 0 or all_fit(t, 6))


put_corners.on(Collide)(_put_as_they_are)
put_corners.on(SelfCollide)(_put_as_they_are)


@put_corners.on(CollidePlaced)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    good = place_corners(leaves_a, a, i, visitor.vertices_a, visitor.matrix_a, t, 0)
    return np.int64(good & place_corners(leaves_b, b, j, visitor.vertices_b, visitor.matrix_b, t, 9))


def _note(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    visitor.keys[state["found"]] = key_of(visitor, state, np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]))
    state["found"] += 1


def _measure(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    t = floats(26)
    plain = put_corners(visitor, state, leaves_a, a, i, leaves_b, b, j, t)
    state["n_x"] += invoke(state["gap"], t, plain) >= EXACT
    f, g, distance = np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]), t[DISTANCE]
    turned = np.int64(itself(visitor) and f > g)                        # of one body the lower face comes first
    if turned:
        f, g = g, f
    best, before = state["best"], (f, g) < (state["face_a"], state["face_b"])
    if distance < best or (distance == best and before):
        state["face_a"], state["face_b"], state["best"], state["leaf_a"], state["leaf_b"] = f, g, distance, a, b
        ends = state["ends"]
        for k in range(3):
            ends[k], ends[k + 3] = t[POINTS + 3 * turned + k], t[POINTS + 3 - 3 * turned + k]
        if distance < best:
            narrow_to(state, distance)
            state["way_x"], state["way_y"], state["way_z"] = rows[8 * WAYS + j], rows[8 * WAYS + 8 + j], rows[8 * WAYS + 16 + j]


for _visitor in (Collide, CollidePlaced, SelfCollide):
    reached.on(Candidates, _visitor)(_note)
    reached.on(Nearest, _visitor)(_measure)


@helper
def narrow_to(state, distance):
    """Only what may be measured as no farther apart than this counts from now on: in the frame of a, times the scale, rounded up."""
    radius = np.float32(min((distance + state["blur"]) * state["scale"] * state["stretch"], LARGEST)) * WIDER
    state["radius"], state["limit"] = radius, radius * radius * WIDER + TINY


# --- two leaves ------------------------------------------------------------------------------------------------------------------------

@helper
def far_along(one, others, limit):
    """Bits of the triangles that are farther from one than the square root of the limit, along the ways w between their middles, which are
    three times as long: in units of |w|, and squared. It spares most of `bound_gaps`: 39 → 18 ms a frame, cloth of 100,000 within half an
    edge."""
    x = (one.ax + one.bx + one.cx) - (others.ax + others.bx + others.cx)
    y = (one.ay + one.by + one.cy) - (others.ay + others.by + others.cy)
    z = (one.az + one.bz + one.cz) - (others.az + others.bz + others.cz)
    gap = greatest(nearest_along(one, x, y, z) - farthest_along(others, x, y, z), ZERO)
    return bits(gap * gap > limit * (x * x + (y * y + z * z)) * WIDER)


@helper
def scan(wanted, visitor, state, leaves_a, a, leaves_b, b, skip):
    """Look at the pairs of two leaves, but for those whose bit 8 i + j of `skip` is set."""
    box_a, own_box_b = whole(leaves_a, a), whole(leaves_b, b)
    box_b = seen_box(visitor, state, own_box_b)
    ox, oy, oz = least(box_a.lox, box_b.lox), least(box_a.loy, box_b.loy), least(box_a.loz, box_b.loz)
    size = greatest(greatest(box_a.hix, box_b.hix) - ox, greatest(greatest(box_a.hiy, box_b.hiy) - oy, greatest(box_a.hiz, box_b.hiz) - oz))
    # A corner is off by `error` and by what making it local rounds, along each axis; a distance by sqrt(12) times that.
    margin = FOUR * (error(visitor, state, own_box_b) + E8 * size) + ROUNDING * size
    far = state["radius"] + margin
    limit = far * far * WIDER + TINY
    ours = moved(lanes(leaves_a, a), -ox, -oy, -oz)
    our_boxes = bounds(ours)
    mine = bits(separation(our_boxes, moved_box(box_b, -ox, -oy, -oz)) <= limit) & leaves_a[a]["used"]
    if mine == 0:
        return
    theirs = seen(visitor, state, lanes(leaves_b, b), own_box_b, ox, oy, oz)
    their_boxes = bounds(theirs)
    close = bits(separation(their_boxes, moved_box(box_a, -ox, -oy, -oz)) <= limit) & leaves_b[b]["used"]
    if close == 0:
        return
    # What is near elsewhere lies along one direction, mostly: that parts most pairs.
    x, y, z = state["way_x"], state["way_y"], state["way_z"]
    heads, tails = nearest_along(ours, x, y, z), farthest_along(theirs, x, y, z)
    mine &= bits(heads - highest(tails) <= far)
    close &= bits(lowest(heads) - tails <= far)
    if mine == 0 or close == 0:
        return
    rows = singles(240)
    put_lanes(rows, 8 * HEADS, heads)
    put_rows(rows, OURS, ours)
    put_rows(rows, THEIRS, theirs)
    put_rows(rows, BOXES, our_boxes)
    while mine != 0:
        i, mine = first(mine), mine & (mine - 1)
        some = bits(separation(their_boxes, one_of(rows, BOXES, i, our_boxes)) <= limit) & close & ~(skip >> (LEAF * i))
        some &= bits(rows[8 * HEADS + i] - tails <= far)
        if some == 0:
            continue
        state["n_p"] += ones(some)
        some &= ~far_along(one_of(rows, OURS, i, theirs), theirs, limit)
        if some == 0:
            continue
        bound_gaps(rows, i)
        least_of = eight(rows, 8 * LEAST)
        some &= bits(least_of <= far)
        while some != 0:
            j, some = first(some), some & (some - 1)
            if element(least_of, j) > far or unwanted(visitor, state, leaves_a, a, i, leaves_b, b, j):
                continue
            reached(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j)
            far = state["radius"] + margin
            limit = far * far * WIDER + TINY


# --- called by address -----------------------------------------------------------------------------------------------------------------

class Apart(NamedTuple):
    """Two bodies that are where they are."""
    kind: int = 0


class Placed(NamedTuple):
    """Two bodies, at least one of them placed."""
    kind: int = 1


class Same(NamedTuple):
    """A body and itself."""
    kind: int = 2


class Job:
    """JIT off: what the addresses in a query stand for."""

    def __init__(self, query, leaves_a, leaves_b, visitor):
        self.query, self.leaves_a, self.leaves_b, self.visitor = query, leaves_a, leaves_b, visitor


@generic("kind")
def visitor_of(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    """The visitor of this kind."""


@visitor_of.on(Apart)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return Collide(flat_a, flat_b, keys)


@visitor_of.on(Placed)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return CollidePlaced(flat_a, flat_b, keys, m_a, m_b)


@visitor_of.on(Same)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return SelfCollide(flat_a, flat_b, keys, begins, others, masks)


@generic("visitor")
def look(visitor, wanted, state, leaves_a, a, leaves_b, b):
    """`scan` two leaves of different bodies, or of one."""


def _look(visitor, wanted, state, leaves_a, a, leaves_b, b):
    scan(wanted, visitor, state, leaves_a, a, leaves_b, b, np.int64(0))


look.on(Collide)(_look)
look.on(CollidePlaced)(_look)


@look.on(SelfCollide)
def _(visitor, wanted, state, leaves_a, a, leaves_b, b):
    low, high = min(a, b), max(a, b)
    scan(wanted, visitor, state, leaves_a, low, leaves_a, high, mask_between(visitor.begins, visitor.others, visitor.masks, low, high))


@helper
def compare(wanted, visitor, state, leaves_a, leaves_b, pair):
    """GOING, or why the loop must stop; FULL before anything is written."""
    if state["found"] + LEAF * LEAF > len(visitor.keys):
        return np.int64(FULL)
    look(visitor, wanted, state, leaves_a, pair >> 32, leaves_b, low_name(pair))
    return np.int64(ENOUGH if state["best"] == 0.0 else GOING)


@cache
def leaf_entry(wanted, kind):
    """(address, what keeps it alive) of the stage of two leaves: (a query's address, two packed names of leaves) -> GOING, FULL, ENOUGH."""
    def enter(address, pair):
        state = array_at(pointer(address), 1, QUERY)[0]
        leaves_a = array_at(pointer(state["leaves_a"]), state["n_leaves_a"], LEAF_DTYPE)
        leaves_b = array_at(pointer(state["leaves_b"]), state["n_leaves_b"], LEAF_DTYPE)
        visitor = visitor_of(
            kind, array_at(pointer(state["flat_a"]), state["n_flat_a"], np.float64),
            array_at(pointer(state["flat_b"]), state["n_flat_b"], np.float64), array_at(pointer(state["keys"]), state["n_keys"], np.int64),
            array_at(pointer(state["m_a"]), state["n_m_a"], np.float64), array_at(pointer(state["m_b"]), state["n_m_b"], np.float64),
            array_at(pointer(state["begins"]), state["n_begins"], np.int32),
            array_at(pointer(state["others"]), state["n_others"], np.int32),
            array_at(pointer(state["masks"]), state["n_masks"], np.int64))
        return compare(wanted, visitor, state, leaves_a, leaves_b, pair)

    def enter_python(address, pair):
        job = CONTEXTS[address]
        return compare(wanted, job.visitor, job.query[0], job.leaves_a, job.leaves_b, pair)

    return address_of(enter_python if DISABLED else enter)


@kernel
def set_up(query, leaves_a, leaves_b, flat_a, flat_b, m_a, m_b, keys, begins, others, masks, leaf, gap, distance, scale, stretch):
    """Nothing is found yet, and what is farther apart than the distance does not count. Where everything is: addresses."""
    state = query[0]
    state["me"], state["leaf"], state["gap"] = query.ctypes.data, leaf, gap
    state["leaves_a"], state["n_leaves_a"] = leaves_a.ctypes.data, len(leaves_a)
    state["leaves_b"], state["n_leaves_b"] = leaves_b.ctypes.data, len(leaves_b)
    state["flat_a"], state["n_flat_a"] = flat_a.ctypes.data, len(flat_a)
    state["flat_b"], state["n_flat_b"] = flat_b.ctypes.data, len(flat_b)
    state["m_a"], state["n_m_a"] = m_a.ctypes.data, len(m_a)
    state["m_b"], state["n_m_b"] = m_b.ctypes.data, len(m_b)
    state["keys"], state["n_keys"] = keys.ctypes.data, len(keys)
    state["begins"], state["n_begins"] = begins.ctypes.data, len(begins)
    state["others"], state["n_others"] = others.ctypes.data, len(others)
    state["masks"], state["n_masks"] = masks.ctypes.data, len(masks)
    state["scale"], state["stretch"], state["best"], state["face_a"], state["face_b"] = scale, stretch, np.inf, -1, -1
    state["way_x"], state["way_y"], state["way_z"] = 0.0, 0.0, 0.0
    narrow_to(state, distance)


NO_MATRIX, NO_NAMES, NO_MASKS = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64)


def tell(query, wanted, kind, p, q, visitor, distance, scale, stretch):
    """Let a query know where all that the stage of two leaves needs is, and what is near; what must be kept alive while it runs. `scale`
    and `stretch`: what a length in the world is in the frame of a, at most."""
    matrices = (visitor.matrix_a, visitor.matrix_b) if isinstance(visitor, CollidePlaced) else (NO_MATRIX, NO_MATRIX)
    names = (visitor.begins, visitor.others, visitor.masks) if isinstance(visitor, SelfCollide) else (NO_NAMES, NO_NAMES, NO_MASKS)
    with silent():
        set_up(query, p.leaves, q.leaves, visitor.vertices_a, visitor.vertices_b, *matrices, visitor.keys, *names,
               leaf_entry(wanted, kind)[0], gap_entry()[0], distance, scale, stretch)
    job = Job(query, p.leaves, q.leaves, visitor)
    if DISABLED:
        CONTEXTS[query.ctypes.data] = job
    return job
