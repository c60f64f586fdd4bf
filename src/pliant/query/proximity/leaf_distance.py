"""Two leaves: which of their triangles are near each other? The last step of every query about distances.

It is the same for all volume types, policies and motions, so it is compiled once a visitor and called by address. Boxes come first, eight
at a time, then bounds of distances (`geometry/distance_bounds.py`); what they leave is for the visitor: `reached`. How far apart is near
stands in the state: `radius`, a length in the frame of a and times the scale, which may shrink on the way, and `limit`, its square.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, as_pointer, call_address
from pliant.core.jit import DISABLED, helper, ignore_float_errors, kernel
from pliant.core.simd import ctz, extract, maximum, minimum, movemask, popcount, reduce_max, reduce_min
from pliant.core.soa import lanes, load_bounds
from pliant.core.stack import load8, load_lane, stack_float32, stack_float64, store_vector, store_vectors
from pliant.geometry.distance_bounds import AXES, BOUND, LEAF_A, LEAF_B, ROUNDING, ZERO, bound_distances, max_along, min_along
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_distance_entry
from pliant.geometry.triangle_overlap import EXACT
from pliant.query.collide.leaf_overlap import (
    box_to_frame_a,
    copy_corners,
    corner_error,
    pair_key,
    points_fit,
    skip_pair,
    to_frame_a,
    translate,
    translate_box,
)
from pliant.query.collide.self_collide import SelfCollide
from pliant.query.collide.transformed import CollideTransformed, transform_corners
from pliant.query.collide.two_bodies import Collide
from pliant.query.traverse import CONTINUE, EARLY_EXIT, OUTPUT_FULL, QUERY_STATE, is_self, unpack_low
from pliant.tree.adjacency import find_mask
from pliant.tree.nodes import LEAF_DTYPE, LEAF_WIDTH
from pliant.volume.aabb import SCALE_UP, triangle_bounds
from pliant.volume.protocol import MIN_NORMAL, separation

LOCAL_CORNER_ERROR, FOUR = np.float32(2.0**-21), np.float32(4)          # roundings of a corner that is made local; of a way between two
BOX_ROW, PROJECTION_ROW = 22, 28                                        # rows of scratch after those of `bound_gaps`: six, and one
MAX_FLOAT32 = 3e38                                                      # in float32


# --- what is wanted --------------------------------------------------------------------------------------------------------------------

class Candidates(NamedTuple):
    """All pairs whose distance may be within the radius: keys."""
    wanted: int = 0


class Nearest(NamedTuple):
    """The nearest pair: `best`, `face_a`, `face_b` and `ends`; the radius shrinks with it."""
    wanted: int = 1


@generic("wanted", "visitor")
def visit_near_pair(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    """Triangle i of leaf a and j of leaf b are near each other; `rows` as `bound_gaps` has left them."""


@generic("visitor")
def put_corners(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    """Their corners in the world, at t[0 : 18]; are they in the range of the filters?"""


def _put_untransformed(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    copy_corners(leaves_a, a, i, visitor.vertices_a, t, 0)
    copy_corners(leaves_b, b, j, visitor.vertices_b, t, 9)
    return np.int64(state["in_filter_range"] != 0 or points_fit(t, 6))


put_corners.register(Collide)(_put_untransformed)
put_corners.register(SelfCollide)(_put_untransformed)


@put_corners.register(CollideTransformed)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j, t):
    good = transform_corners(leaves_a, a, i, visitor.vertices_a, visitor.matrix_a, t, 0)
    return np.int64(good & transform_corners(leaves_b, b, j, visitor.vertices_b, visitor.matrix_b, t, 9))


def _collect_pair(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    visitor.keys[state["found"]] = pair_key(visitor, state, np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]))
    state["found"] += 1


def _measure_pair(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j):
    t = stack_float64(26)
    in_filter_range = put_corners(visitor, state, leaves_a, a, i, leaves_b, b, j, t)
    state["n_exact"] += call_address(state["gap_entry"], t, in_filter_range) >= EXACT
    f, g, distance = np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]), t[DISTANCE]
    swapped = np.int64(is_self(visitor) and f > g)                      # of one body the lower face comes first
    if swapped:
        f, g = g, f
    best, is_lower = state["best"], (f, g) < (state["face_a"], state["face_b"])
    if distance < best or (distance == best and is_lower):
        state["face_a"], state["face_b"], state["best"], state["leaf_a"], state["leaf_b"] = f, g, distance, a, b
        ends = state["ends"]
        for k in range(3):
            ends[k], ends[k + 3] = t[POINTS + 3 * swapped + k], t[POINTS + 3 - 3 * swapped + k]
        if distance < best:
            shrink_radius(state, distance)
            state["direction_x"], state["direction_y"] = rows[8 * AXES + j], rows[8 * AXES + 8 + j]
            state["direction_z"] = rows[8 * AXES + 16 + j]


for _visitor in (Collide, CollideTransformed, SelfCollide):
    visit_near_pair.register(Candidates, _visitor)(_collect_pair)
    visit_near_pair.register(Nearest, _visitor)(_measure_pair)


@helper
def shrink_radius(state, distance):
    """Only what may be measured as no farther apart than this counts from now on: in the frame of a, times the scale, rounded up."""
    radius = np.float32(min((distance + state["distance_error"]) * state["scale"] * state["stretch"], MAX_FLOAT32)) * SCALE_UP
    state["radius"], state["limit"] = radius, radius * radius * SCALE_UP + MIN_NORMAL


# --- two leaves ------------------------------------------------------------------------------------------------------------------------

@helper
def separated_along_centers(one, others, limit):
    """Bits of the triangles that are farther from one than the square root of the limit, along the ways w between their middles, which are
    three times as long: in units of |w|, and squared. It spares most of `bound_gaps`: 39 → 18 ms a frame, cloth of 100,000 within half an
    edge."""
    x = (one.ax + one.bx + one.cx) - (others.ax + others.bx + others.cx)
    y = (one.ay + one.by + one.cy) - (others.ay + others.by + others.cy)
    z = (one.az + one.bz + one.cz) - (others.az + others.bz + others.cz)
    gap = maximum(min_along(one, x, y, z) - max_along(others, x, y, z), ZERO)
    return movemask(gap * gap > limit * (x * x + (y * y + z * z)) * SCALE_UP)


@helper
def scan_leaf_pair(wanted, visitor, state, leaves_a, a, leaves_b, b, skip):
    """Look at the pairs of two leaves, but for those whose bit 8 i + j of `skip` is set."""
    box_a, model_box_b = load_bounds(leaves_a, a), load_bounds(leaves_b, b)
    box_b = box_to_frame_a(visitor, state, model_box_b)
    ox, oy, oz = minimum(box_a.lox, box_b.lox), minimum(box_a.loy, box_b.loy), minimum(box_a.loz, box_b.loz)
    size = maximum(maximum(box_a.hix, box_b.hix) - ox, maximum(maximum(box_a.hiy, box_b.hiy) - oy, maximum(box_a.hiz, box_b.hiz) - oz))
    # A corner is off by `error` and by what making it local rounds, along each axis; a distance by sqrt(12) times that.
    margin = FOUR * (corner_error(visitor, state, model_box_b) + LOCAL_CORNER_ERROR * size) + ROUNDING * size
    threshold = state["radius"] + margin
    limit = threshold * threshold * SCALE_UP + MIN_NORMAL
    triangles_a = translate(lanes(leaves_a, a), -ox, -oy, -oz)
    boxes_a = triangle_bounds(triangles_a)
    mask_a = movemask(separation(boxes_a, translate_box(box_b, -ox, -oy, -oz)) <= limit) & leaves_a[a]["used"]
    if mask_a == 0:
        return
    triangles_b = to_frame_a(visitor, state, lanes(leaves_b, b), model_box_b, ox, oy, oz)
    boxes_b = triangle_bounds(triangles_b)
    mask_b = movemask(separation(boxes_b, translate_box(box_a, -ox, -oy, -oz)) <= limit) & leaves_b[b]["used"]
    if mask_b == 0:
        return
    # What is near elsewhere lies along one direction, mostly: that parts most pairs.
    x, y, z = state["direction_x"], state["direction_y"], state["direction_z"]
    low_a, high_b = min_along(triangles_a, x, y, z), max_along(triangles_b, x, y, z)
    mask_a &= movemask(low_a - reduce_max(high_b) <= threshold)
    mask_b &= movemask(reduce_min(low_a) - high_b <= threshold)
    if mask_a == 0 or mask_b == 0:
        return
    rows = stack_float32(240)
    store_vector(rows, 8 * PROJECTION_ROW, low_a)
    store_vectors(rows, LEAF_A, triangles_a)
    store_vectors(rows, LEAF_B, triangles_b)
    store_vectors(rows, BOX_ROW, boxes_a)
    while mask_a != 0:
        i, mask_a = ctz(mask_a), mask_a & (mask_a - 1)
        mask = movemask(separation(boxes_b, load_lane(rows, BOX_ROW, i, boxes_a)) <= limit) & mask_b & ~(skip >> (LEAF_WIDTH * i))
        mask &= movemask(rows[8 * PROJECTION_ROW + i] - high_b <= threshold)
        if mask == 0:
            continue
        state["n_p"] += popcount(mask)
        mask &= ~separated_along_centers(load_lane(rows, LEAF_A, i, triangles_b), triangles_b, limit)
        if mask == 0:
            continue
        bound_distances(rows, i)
        lower_bounds = load8(rows, 8 * BOUND)
        mask &= movemask(lower_bounds <= threshold)
        while mask != 0:
            j, mask = ctz(mask), mask & (mask - 1)
            if extract(lower_bounds, j) > threshold or skip_pair(visitor, state, leaves_a, a, i, leaves_b, b, j):
                continue
            visit_near_pair(wanted, visitor, state, rows, leaves_a, a, i, leaves_b, b, j)
            threshold = state["radius"] + margin
            limit = threshold * threshold * SCALE_UP + MIN_NORMAL


# --- called by address -----------------------------------------------------------------------------------------------------------------

class PairUntransformed(NamedTuple):
    """Two bodies that are where they are."""
    kind: int = 0


class PairTransformed(NamedTuple):
    """Two bodies, at least one of them placed."""
    kind: int = 1


class SelfPair(NamedTuple):
    """A body and itself."""
    kind: int = 2


class PythonContext:
    """JIT off: what the addresses in a query stand for."""

    def __init__(self, query, leaves_a, leaves_b, visitor):
        self.query, self.leaves_a, self.leaves_b, self.visitor = query, leaves_a, leaves_b, visitor


@generic("kind")
def make_visitor(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    """The visitor of this kind."""


@make_visitor.register(PairUntransformed)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return Collide(flat_a, flat_b, keys)


@make_visitor.register(PairTransformed)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return CollideTransformed(flat_a, flat_b, keys, m_a, m_b)


@make_visitor.register(SelfPair)
def _(kind, flat_a, flat_b, keys, m_a, m_b, begins, others, masks):
    return SelfCollide(flat_a, flat_b, keys, begins, others, masks)


@generic("visitor")
def scan_leaves(visitor, wanted, state, leaves_a, a, leaves_b, b):
    """`scan_leaf_pair` of two leaves of different bodies, or of one."""


def _scan_two_bodies(visitor, wanted, state, leaves_a, a, leaves_b, b):
    scan_leaf_pair(wanted, visitor, state, leaves_a, a, leaves_b, b, np.int64(0))


scan_leaves.register(Collide)(_scan_two_bodies)
scan_leaves.register(CollideTransformed)(_scan_two_bodies)


@scan_leaves.register(SelfCollide)
def _(visitor, wanted, state, leaves_a, a, leaves_b, b):
    low, high = min(a, b), max(a, b)
    scan_leaf_pair(wanted, visitor, state, leaves_a, low, leaves_a, high,
                   find_mask(visitor.begins, visitor.others, visitor.masks, low, high))


@helper
def process_leaf_pair(wanted, visitor, state, leaves_a, leaves_b, pair):
    """CONTINUE, or why the loop must stop; OUTPUT_FULL before anything is written."""
    if state["found"] + LEAF_WIDTH * LEAF_WIDTH > len(visitor.keys):
        return np.int64(OUTPUT_FULL)
    scan_leaves(visitor, wanted, state, leaves_a, pair >> 32, leaves_b, unpack_low(pair))
    return np.int64(EARLY_EXIT if state["best"] == 0.0 else CONTINUE)


@cache
def leaf_entry(wanted, kind):
    """(address, what keeps it alive) of the stage of two leaves: (a query's address, two packed leaves) -> CONTINUE, OUTPUT_FULL,
    EARLY_EXIT."""
    def enter(address, pair):
        state = array_at(as_pointer(address), 1, QUERY_STATE)[0]
        leaves_a = array_at(as_pointer(state["leaves_a"]), state["n_leaves_a"], LEAF_DTYPE)
        leaves_b = array_at(as_pointer(state["leaves_b"]), state["n_leaves_b"], LEAF_DTYPE)
        visitor = make_visitor(
            kind, array_at(as_pointer(state["flat_a"]), state["n_flat_a"], np.float64),
            array_at(as_pointer(state["flat_b"]), state["n_flat_b"], np.float64),
            array_at(as_pointer(state["keys"]), state["n_keys"], np.int64),
            array_at(as_pointer(state["m_a"]), state["n_m_a"], np.float64), array_at(as_pointer(state["m_b"]), state["n_m_b"], np.float64),
            array_at(as_pointer(state["begins"]), state["n_begins"], np.int32),
            array_at(as_pointer(state["others"]), state["n_others"], np.int32),
            array_at(as_pointer(state["masks"]), state["n_masks"], np.int64))
        return process_leaf_pair(wanted, visitor, state, leaves_a, leaves_b, pair)

    def enter_python(address, pair):
        context = CONTEXTS[address]
        return process_leaf_pair(wanted, context.visitor, context.query[0], context.leaves_a, context.leaves_b, pair)

    return address_of(enter_python if DISABLED else enter)


@kernel
def set_leaf_stage(query, leaves_a, leaves_b, flat_a, flat_b, m_a, m_b, keys, begins, others, masks, leaf, gap, distance, scale, stretch):
    """Nothing is found yet, and what is farther apart than the distance does not count. Where everything is: addresses."""
    state = query[0]
    state["address"], state["leaf_entry"], state["gap_entry"] = query.ctypes.data, leaf, gap
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
    state["direction_x"], state["direction_y"], state["direction_z"] = 0.0, 0.0, 0.0
    shrink_radius(state, distance)


NO_MATRIX, NO_INDICES, NO_MASKS = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64)


def bind_leaf_stage(query, wanted, kind, bvh_a, bvh_b, visitor, distance, scale, stretch):
    """Let a query know where all that the stage of two leaves needs is, and what is near; what must be kept alive while it runs. `scale`
    and `stretch`: what a length in the world is in the frame of a, at most."""
    matrices = (visitor.matrix_a, visitor.matrix_b) if isinstance(visitor, CollideTransformed) else (NO_MATRIX, NO_MATRIX)
    neighbors = (visitor.begins, visitor.others, visitor.masks) if isinstance(visitor, SelfCollide) else (NO_INDICES, NO_INDICES, NO_MASKS)
    with ignore_float_errors():
        set_leaf_stage(query, bvh_a.leaves, bvh_b.leaves, visitor.vertices_a, visitor.vertices_b, *matrices, visitor.keys, *neighbors,
                       leaf_entry(wanted, kind)[0], triangle_distance_entry()[0], distance, scale, stretch)
    context = PythonContext(query, bvh_a.leaves, bvh_b.leaves, visitor)
    if DISABLED:
        CONTEXTS[query.ctypes.data] = context
    return context
