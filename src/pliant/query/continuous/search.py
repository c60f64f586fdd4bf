"""The search for pairs of features: set up both swept trees, run `traverse`, unpack what was put out."""
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core import memory
from pliant.core.jit import ignore_float_errors
from pliant.errors import TooManyPairsError
from pliant.query.continuous.feature_pairs import (
    FEATURE_STATE,
    ID_BITS,
    ID_MASK,
    Exclusions,
    MovingPairs,
    MovingPairsSelf,
    NearPairs,
    NearPairsSelf,
)
from pliant.query.continuous.swept_tree import KEY_MASK, ROUNDING, bounds_of, frame_around, give_arrays_back, swept_tree
from pliant.query.scheduler import ResumableLoop, run_loop
from pliant.query.traverse import reset_query, traverse
from pliant.results import Stats

RELATIVE_ROUNDING = 2.0**-20                                            # of a distance in the frame
INF = np.float32(np.inf)
BOX_ROUNDING = 2.0**-21                                                 # of a side of a box that is inflated
MAX_MARGIN, MAX_LIMIT = 5.0, 100.0                                      # above all gaps of boxes, below those of empty lanes
NO_EXCLUSIONS = Exclusions(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int32))
BYTES_PER_RESULT = 200
CALL_BUDGET = 1 << 12                                                   # pairs of nodes per call: leaves may have hundreds of features


class FeatureRows(NamedTuple):
    """Pairs of features: `kinds` (m,) int8, `features` (m, 2) int32, and a number for each, a time or a distance."""
    kinds: np.ndarray
    features: np.ndarray
    values: np.ndarray
    stats: Stats
    sides: Any = None                                                   # the FeatureSide of both bodies; None if nothing was compared


def no_rows():
    """No pairs."""
    return FeatureRows(np.zeros(0, np.int8), np.zeros((0, 2), np.int32), np.zeros(0), Stats())


def shared_box(a, b, distance, union):
    """(low, high) of the part of space that matters to two moving bodies; that of all if `union`, None if they stay farther apart."""
    box_a, box_b = bounds_of(a), bounds_of(b)
    with np.errstate(over="ignore", invalid="ignore"):
        grown = distance * (1 + RELATIVE_ROUNDING) + 2.0**-50 * max(np.abs(box_a).max(), np.abs(box_b).max()) if distance > 0.0 else 0.0
        low, high = np.maximum(box_a[:3], box_b[:3]), np.minimum(box_a[3:], box_b[3:])
        if not (low - grown <= high).all():
            return None
        if union:
            return np.minimum(box_a[:3], box_b[:3]), np.maximum(box_a[3:], box_b[3:])
        return np.minimum(low, high) - grown, np.maximum(low, high) + grown


def search_features(space, a, b, distance, entry, *, near=False, first=False, exclusions=NO_EXCLUSIONS, in_filter_range=False, best=1.0,
                    rest_distance=0.0):
    """The FeatureRows of two MovingBody, or of one where b is None: with `near` those within a distance, else those that collide, or come
    within the distance. Unsorted. `best`: times that are later do not count."""
    if any(len(each.body.faces) == 0 for each in (a, b) if each is not None):
        return no_rows()
    box = shared_box(a, a if b is None else b, distance, first or b is None)
    if box is None:
        return no_rows()
    frame, halves = frame_around(*box)
    with ignore_float_errors():
        tree_a = swept_tree(a, frame, halves)
        tree_b = tree_a if b is None else swept_tree(b, frame, halves)
    visitor: Any
    if near:
        visitor = (NearPairsSelf if b is None else NearPairs)(tree_a.side, tree_b.side, exclusions)
    else:
        visitor = (MovingPairsSelf if b is None else MovingPairs)(tree_a.side, tree_b.side)
    query = space.record(FEATURE_STATE)
    set_up_state(query[0], distance, float(frame[3]), entry[0], first, in_filter_range, best)
    query[0]["rest_distance"], query[0]["keys_exact"] = rest_distance, a.body._motion.count <= KEY_MASK
    query[0]["n_u"] = sum(len(each.nodes) + len(each.leaves) for each in ({id(t): t for t in (tree_a, tree_b)}.values()))
    stack_size = (tree_a.tree.depth + tree_b.tree.depth + 2) * tree_a.tree.child.shape[1] * tree_b.tree.child.shape[1]
    space.reserve_stack(stack_size)
    space.stack[0] = 0
    args = (tree_a.nodes, tree_a.leaves, tree_a.tree.slots, tree_b.nodes, tree_b.leaves, tree_b.tree.slots)
    loop = ResumableLoop(partial(traverse, visitor, *args), query, stack_size, (entry, tree_a, tree_b), CALL_BUDGET)
    words, stats, _ = run_loop(loop, space)
    give_arrays_back(a.body, tree_a)
    if b is not None:
        give_arrays_back(b.body, tree_b)
    check_memory(len(words) // 2)
    packed, values = np.ascontiguousarray(words.reshape(-1, 2).T)
    kinds = (packed.view(np.uint64) >> np.uint64(2 * ID_BITS)).astype(np.int8)
    features = np.stack([(packed >> ID_BITS) & ID_MASK, packed & ID_MASK], axis=1).astype(np.int32)
    return FeatureRows(kinds, features, values.view(np.float64), stats, (tree_a.side, tree_b.side))


def set_up_state(state, distance, scale, entry_address, first, in_filter_range, best):
    """Start a query whose state is of FEATURE_STATE at the pair of roots."""
    with np.errstate(over="ignore"):
        length = distance * scale * (1 + RELATIVE_ROUNDING) + (ROUNDING if distance > 0.0 else 0.0)
        margin, limit = min(length, MAX_MARGIN), min(length * length * (1 + RELATIVE_ROUNDING), MAX_LIMIT)
    state["margin"], state["limit"] = np.nextafter(np.float32(margin), INF) if margin > 0 else 0.0, limit
    state["latest"], state["latest_margin"] = 1.0, 0.0
    state["box_margin"] = state["margin"] * (1 + RELATIVE_ROUNDING) + BOX_ROUNDING if margin > 0 else 0.0
    state["entry"], state["first_only"], state["in_filter_range"] = entry_address, first, in_filter_range
    state["tolerance"], state["best"] = distance, best
    state["descend_larger"], state["frame_a"], state["frame_b"] = False, 0, 0
    state["context_a"] = state["context_b"] = state["entry_a"] = state["entry_b"] = state["fill_a"] = state["fill_b"] = 0
    reset_query(state)


def check_memory(m):
    """Refuse more results than memory has room for."""
    if not memory.fits_in_memory(BYTES_PER_RESULT * m):
        raise TooManyPairsError(f"{m:,} pairs of features were found, and memory for them is not available; ask for a smaller distance, or "
                                "test fewer faces at a time")
