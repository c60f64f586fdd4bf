"""Distances of the triangles of two leaves. The last step of every distance query.

It is the same for all volume types, policies and motions, so it is compiled once for each visitor and called by address. Boxes are compared
first, eight at a time, then bounds of distances (`geometry/distance_bounds.py`); `visit_near_pair` gets the remaining pairs. The state has
the largest distance that counts: `radius`, a length in the frame of a and times the scale, which may shrink during the query, and `limit`,
its square.
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
    PAIR_FIELDS,
    Collide,
    box_to_frame_a,
    copy_corners,
    corner_error,
    pair_key,
    points_fit,
    share_bodies,
    skip_pair,
    to_frame_a,
    translate,
    translate_box,
)
from pliant.query.collide.self_collide import SELF_FIELDS, SelfCollide
from pliant.query.collide.transformed import TRANSFORM_FIELDS, CollideTransformed, transform_corners
from pliant.query.traverse import CONTINUE, EARLY_EXIT, OUTPUT_FULL, frames, is_self, state_dtype, unpack_low
from pliant.tree.adjacency import find_mask
from pliant.tree.nodes import LEAF_DTYPE, LEAF_WIDTH
from pliant.volume.aabb import SCALE_UP, triangle_bounds
from pliant.volume.protocol import MIN_NORMAL, separation

LOCAL_CORNER_ERROR = np.float32(2.0**-21)                               # of a leaf pair's size: rounding of a corner that is made local
CORNERS_TO_DISTANCE = np.float32(4)                                     # error of a distance over that of a corner: above sqrt(12)
DISTANCE_ERROR = 2.0**-38                                               # of the larger reach: above that of triangle_distance.py
LENGTH_ERROR = 2.0**-40                                                 # of a distance: above all its roundings in float64
BOX_ROW, PROJECTION_ROW = 22, 28                                        # rows of scratch after those of `bound_distances`: six, and one
MAX_RADIUS = 3e38                                                       # just below the largest float32

# Addresses and lengths of the arrays of the leaf stage; its entries; the nearest pair so far.
DISTANCE_FIELDS = [(name, np.int64) for array in ("leaves_a", "leaves_b", "vertices_a", "vertices_b", "keys", "matrix_a", "matrix_b",
                                                  "begins", "others", "masks") for name in (array, f"n_{array}")]
DISTANCE_FIELDS += [(name, np.int64) for name in ("address", "leaf_entry", "distance_entry", "face_a", "face_b", "leaf_a", "leaf_b")]
DISTANCE_FIELDS += [(name, np.float32) for name in ("radius", "limit", "direction_x", "direction_y", "direction_z")]
DISTANCE_FIELDS += [(name, np.float64) for name in ("scale", "stretch", "best",  # frame lengths over world lengths; least distance so far
                                                    "distance_error")]  # by how much bounds may exceed a measured distance
DISTANCE_FIELDS += [("ends", np.float64, (6,))]                         # nearest points
# One type for all visitors, so that kernels that only set it are compiled once.
DISTANCE_STATE = state_dtype(DISTANCE_FIELDS, SELF_FIELDS, PAIR_FIELDS, TRANSFORM_FIELDS)


# --- visitors --------------------------------------------------------------------------------------------------------------------------

class Near(NamedTuple):
    """Two bodies without transforms."""
    kind: int = 0


class NearTransformed(NamedTuple):
    """Two bodies, at least one with a transform."""
    kind: int = 1


class NearSelf(NamedTuple):
    """One body and itself."""
    kind: int = 2


for _near, _collide in ((Near, Collide), (NearTransformed, CollideTransformed), (NearSelf, SelfCollide)):
    share_bodies(_near, _collide, is_self, frames, pair_key, skip_pair, box_to_frame_a, to_frame_a, corner_error)


NO_MATRIX, NO_INDICES, NO_MASKS = np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int64)


class LeafArrays(NamedTuple):
    """The arrays of the leaf stage: leaves, flat vertices, output, transforms (12,), adjacency masks; empty where a visitor needs none."""
    leaves_a: np.ndarray
    leaves_b: np.ndarray
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray
    matrix_a: np.ndarray = NO_MATRIX
    matrix_b: np.ndarray = NO_MATRIX
    begins: np.ndarray = NO_INDICES
    others: np.ndarray = NO_INDICES
    masks: np.ndarray = NO_MASKS


# --- what is wanted --------------------------------------------------------------------------------------------------------------------

class Candidates(NamedTuple):
    """All pairs whose distance may be within the radius: keys."""
    wanted: int = 0


class Nearest(NamedTuple):
    """The nearest pair: `best`, `face_a`, `face_b` and `ends`; the radius shrinks with it."""
    wanted: int = 1


@generic("wanted")
def visit_near_pair(wanted, visitor, state, rows, arrays, a, i, b, j):
    """Process triangle i of leaf a and j of leaf b, which may be within the radius; `rows` as `bound_distances` has left them."""


@generic("visitor")
def put_corners(visitor, state, arrays, a, i, b, j, t):
    """Write the world corners of both triangles to t[0 : 18]; are they in the range of the filters?"""


def _put_untransformed(visitor, state, arrays, a, i, b, j, t):
    copy_corners(arrays.leaves_a, a, i, arrays.vertices_a, t, 0)
    copy_corners(arrays.leaves_b, b, j, arrays.vertices_b, t, 9)
    return np.int64(state["in_filter_range"] != 0 or points_fit(t, 6))


put_corners.register(Near)(_put_untransformed)
put_corners.register(NearSelf)(_put_untransformed)


@put_corners.register(NearTransformed)
def _(visitor, state, arrays, a, i, b, j, t):
    good = transform_corners(arrays.leaves_a, a, i, arrays.vertices_a, arrays.matrix_a, t, 0)
    return np.int64(good & transform_corners(arrays.leaves_b, b, j, arrays.vertices_b, arrays.matrix_b, t, 9))


@visit_near_pair.register(Candidates)
def _(wanted, visitor, state, rows, arrays, a, i, b, j):
    f, g = np.int64(arrays.leaves_a[a]["face"][i]), np.int64(arrays.leaves_b[b]["face"][j])
    arrays.keys[state["found"]] = pair_key(visitor, state, f, g)
    state["found"] += 1


@visit_near_pair.register(Nearest)
def _(wanted, visitor, state, rows, arrays, a, i, b, j):
    t = stack_float64(26)
    in_filter_range = put_corners(visitor, state, arrays, a, i, b, j, t)
    state["n_exact"] += call_address(state["distance_entry"], t, in_filter_range) >= EXACT
    f, g, distance = np.int64(arrays.leaves_a[a]["face"][i]), np.int64(arrays.leaves_b[b]["face"][j]), t[DISTANCE]
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


@helper
def shrink_radius(state, distance):
    """Set the radius: from now on only pairs count that may be measured as no farther apart than `distance`. In the frame of a, times the
    scale, rounded up."""
    radius = np.float32(min((distance + state["distance_error"]) * state["scale"] * state["stretch"], MAX_RADIUS)) * SCALE_UP
    state["radius"], state["limit"] = radius, radius * radius * SCALE_UP + MIN_NORMAL


# --- two leaves ------------------------------------------------------------------------------------------------------------------------

@helper
def separated_along_centers(one, others, limit):
    """Bits of the triangles that are farther from one than the square root of the limit, projected on the line w between the centers. The
    sums of corners are three times the centers, so w is three times as long; gaps are in units of |w|, and squared. Most pairs then need no
    `bound_distances`: 39 → 18 ms a frame, cloth of 100,000 triangles within half an edge."""
    x = (one.ax + one.bx + one.cx) - (others.ax + others.bx + others.cx)
    y = (one.ay + one.by + one.cy) - (others.ay + others.by + others.cy)
    z = (one.az + one.bz + one.cz) - (others.az + others.bz + others.cz)
    gap = maximum(min_along(one, x, y, z) - max_along(others, x, y, z), ZERO)
    return movemask(gap * gap > limit * (x * x + (y * y + z * z)) * SCALE_UP)


@helper
def scan_leaf_pair(wanted, visitor, state, arrays, a, b, skip):
    """Process the pairs of triangles of two leaves, except those whose bit 8 i + j of `skip` is set."""
    leaves_a, leaves_b = arrays.leaves_a, arrays.leaves_b
    box_a, model_box_b = load_bounds(leaves_a, a), load_bounds(leaves_b, b)
    box_b = box_to_frame_a(visitor, state, model_box_b)
    ox, oy, oz = minimum(box_a.lox, box_b.lox), minimum(box_a.loy, box_b.loy), minimum(box_a.loz, box_b.loz)
    size = maximum(maximum(box_a.hix, box_b.hix) - ox, maximum(maximum(box_a.hiy, box_b.hiy) - oy, maximum(box_a.hiz, box_b.hiz) - oz))
    # A corner is off by its error and by the rounding of its local coordinates, along each axis; a distance by sqrt(12) times that.
    margin = CORNERS_TO_DISTANCE * (corner_error(visitor, state, model_box_b) + LOCAL_CORNER_ERROR * size) + ROUNDING * size
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
    # Along the direction of the nearest pair so far most other pairs are separated too.
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
            visit_near_pair(wanted, visitor, state, rows, arrays, a, i, b, j)
            threshold = state["radius"] + margin
            limit = threshold * threshold * SCALE_UP + MIN_NORMAL


# --- called by address -----------------------------------------------------------------------------------------------------------------

@generic("visitor")
def scan_leaves(visitor, wanted, state, arrays, a, b):
    """`scan_leaf_pair` of two leaves of different bodies, or of one."""


def _scan_two_bodies(visitor, wanted, state, arrays, a, b):
    scan_leaf_pair(wanted, visitor, state, arrays, a, b, np.int64(0))


scan_leaves.register(Near)(_scan_two_bodies)
scan_leaves.register(NearTransformed)(_scan_two_bodies)


@scan_leaves.register(NearSelf)
def _(visitor, wanted, state, arrays, a, b):
    low, high = min(a, b), max(a, b)
    scan_leaf_pair(wanted, visitor, state, arrays, low, high, find_mask(arrays.begins, arrays.others, arrays.masks, low, high))


@helper
def process_leaf_pair(wanted, visitor, state, arrays, pair):
    """CONTINUE, or why the loop must stop; OUTPUT_FULL before anything is written."""
    if state["found"] + LEAF_WIDTH * LEAF_WIDTH > len(arrays.keys):
        return np.int64(OUTPUT_FULL)
    scan_leaves(visitor, wanted, state, arrays, pair >> 32, unpack_low(pair))
    return np.int64(EARLY_EXIT if state["best"] == 0.0 else CONTINUE)


class PythonContext:
    """JIT off: what the address of a query stands for."""

    def __init__(self, query, arrays):
        self.query, self.arrays = query, arrays


@cache
def leaf_entry(wanted, visitor):
    """(address, object to keep alive) of the leaf stage of this visitor: (address of a DISTANCE_STATE, two packed leaves) -> CONTINUE, or
    why the loop must stop."""
    def enter(address, pair):
        state = array_at(as_pointer(address), 1, DISTANCE_STATE)[0]
        arrays = LeafArrays(
            array_at(as_pointer(state["leaves_a"]), state["n_leaves_a"], LEAF_DTYPE),
            array_at(as_pointer(state["leaves_b"]), state["n_leaves_b"], LEAF_DTYPE),
            array_at(as_pointer(state["vertices_a"]), state["n_vertices_a"], np.float64),
            array_at(as_pointer(state["vertices_b"]), state["n_vertices_b"], np.float64),
            array_at(as_pointer(state["keys"]), state["n_keys"], np.int64),
            array_at(as_pointer(state["matrix_a"]), state["n_matrix_a"], np.float64),
            array_at(as_pointer(state["matrix_b"]), state["n_matrix_b"], np.float64),
            array_at(as_pointer(state["begins"]), state["n_begins"], np.int32),
            array_at(as_pointer(state["others"]), state["n_others"], np.int32),
            array_at(as_pointer(state["masks"]), state["n_masks"], np.int64))
        return process_leaf_pair(wanted, visitor, state, arrays, pair)

    def enter_python(address, pair):
        context = CONTEXTS[address]
        return process_leaf_pair(wanted, visitor, context.query[0], context.arrays, pair)

    return address_of(enter_python if DISABLED else enter)


@kernel
def max_stretch(m):
    """The largest ratio of a length in model space to its length in the world, for a transform (12,), with a margin for rounding."""
    largest = 0.0
    for j in range(3):
        for k in range(3):
            product = m[j] * m[k] + m[4 + j] * m[4 + k] + m[8 + j] * m[8 + k]
            largest = max(largest, abs(product - (1.0 if j == k else 0.0)))
    return 1.0 + LENGTH_ERROR + 2.0 * largest


@helper
def max_box_gap(max_distance, reach_a, reach_b):
    """How far the boxes of two bodies may be apart along an axis if their measured distance may be `max_distance`. With a distance of 0 no
    error is allowed for: distances of faces that do not intersect are above 0."""
    return max_distance * (1.0 + LENGTH_ERROR) + max(reach_a, reach_b) * DISTANCE_ERROR if max_distance > 0.0 else 0.0


@helper
def reset_leaf_stage(state, max_distance, scale, stretch, distance_error):
    """Nothing is found, and pairs farther apart than `max_distance` do not count."""
    state["scale"], state["stretch"], state["distance_error"] = scale, stretch, distance_error
    state["best"], state["face_a"], state["face_b"], state["leaf_a"], state["leaf_b"] = np.inf, -1, -1, -1, -1
    state["direction_x"], state["direction_y"], state["direction_z"] = 0.0, 0.0, 0.0
    shrink_radius(state, max_distance)


@kernel
def set_leaf_stage(query, arrays, leaf_entry_address, distance_entry_address, max_distance, scale, stretch, distance_error):
    """Start the leaf stage: nothing is found, and pairs farther apart than `max_distance` do not count. Stores the addresses of arrays."""
    state = query[0]
    state["address"], state["leaf_entry"], state["distance_entry"] = query.ctypes.data, leaf_entry_address, distance_entry_address
    state["leaves_a"], state["n_leaves_a"] = arrays.leaves_a.ctypes.data, len(arrays.leaves_a)
    state["leaves_b"], state["n_leaves_b"] = arrays.leaves_b.ctypes.data, len(arrays.leaves_b)
    state["vertices_a"], state["n_vertices_a"] = arrays.vertices_a.ctypes.data, len(arrays.vertices_a)
    state["vertices_b"], state["n_vertices_b"] = arrays.vertices_b.ctypes.data, len(arrays.vertices_b)
    state["keys"], state["n_keys"] = arrays.keys.ctypes.data, len(arrays.keys)
    state["matrix_a"], state["n_matrix_a"] = arrays.matrix_a.ctypes.data, len(arrays.matrix_a)
    state["matrix_b"], state["n_matrix_b"] = arrays.matrix_b.ctypes.data, len(arrays.matrix_b)
    state["begins"], state["n_begins"] = arrays.begins.ctypes.data, len(arrays.begins)
    state["others"], state["n_others"] = arrays.others.ctypes.data, len(arrays.others)
    state["masks"], state["n_masks"] = arrays.masks.ctypes.data, len(arrays.masks)
    reset_leaf_stage(state, max_distance, scale, stretch, distance_error)


def bind_leaf_stage(query, wanted, visitor, arrays, max_distance, scale, stretch, distance_error):
    """Start the leaf stage of a query whose state is of DISTANCE_STATE; returns an object to keep alive while it runs. `scale` and
    `stretch`: how many times as long a length is in the frame of a as in the world, at most."""
    with ignore_float_errors():
        set_leaf_stage(query, arrays, leaf_entry(wanted, visitor)[0], triangle_distance_entry()[0], max_distance, scale, stretch,
                       distance_error)
    context = PythonContext(query, arrays)
    if DISABLED:
        CONTEXTS[query.ctypes.data] = context
    return context
