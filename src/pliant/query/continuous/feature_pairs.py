"""Two leaves: the pairs of their features. What `traverse` does with leaves in queries of features, and the visitors of these.

Of two leaves, vertices of one are compared with faces of the other and edges with edges, each feature once, by its owner
(`tree/features.py`): one against eight in float32 lanes, by swept boxes. Pairs that are left go one by one, as four points in float64, to a
function by address, which decides: `process`. Two int64 are put out for each pair that counts (`pack_features`, and a number's bits).

`MovingPairs` finds pairs that collide; `NearPairs`, whose bodies stand still, pairs within a tolerance. With `…Self` of one body: features
that share a vertex are no pair.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import call_address
from pliant.core.jit import helper
from pliant.core.simd import ctz, maximum, movemask
from pliant.core.soa import field_lanes, lane, lanes, load_bounds
from pliant.core.sort_keys import float_bits
from pliant.core.sorting import is_among
from pliant.core.stack import stack_float64
from pliant.geometry.feature_distance import DISTANCE, FOUR_POINTS
from pliant.query.continuous.direction_filter import (
    edges_parted,
    edges_parted_across,
    vertex_face_parted,
    vertex_face_parted_across,
)
from pliant.query.continuous.swept_tree import FeatureSide, Fixed, bounds_meet, inflated, motion_bounds
from pliant.query.traverse import CONTINUE, OUTPUT_FULL, frames, is_self, overlaps, state_dtype, visit_leaves
from pliant.tree.features import MovingEdge, MovingTriangle
from pliant.tree.nodes import LEAF_WIDTH

VERTEX_FACE, FACE_VERTEX, EDGE_EDGE = range(3)                          # kinds of pairs
ID_BITS = 31
ID_MASK = (1 << ID_BITS) - 1
MAX_OWNED = 3 * LEAF_WIDTH                                              # vertices, or edges, of a leaf
MAX_OUTPUT = 2 * (2 * MAX_OWNED * LEAF_WIDTH + MAX_OWNED * MAX_OWNED)   # int64 of two leaves
MIN_DISTANCE_IN, LATEST, TIME, CCD_SIZE = 24, 25, 26, 32                # in the buffer of `decide_moving`; points at 0 and at 12
IN_RANGE_BIT = 2                                                        # of the second argument of an entry, above the kind
FEATURE_FIELDS = [(name, np.int64) for name in ("entry", "in_filter_range", "first_only", "keys_exact")] + [
    (name, np.float64) for name in ("tolerance", "rest_distance", "best")] + [
    (name, np.float32) for name in ("limit", "latest", "latest_margin", "box_margin")]
FEATURE_STATE = state_dtype(FEATURE_FIELDS)
FACE_KEYS, EDGE_KEYS = MovingTriangle._fields.index("key_a"), MovingEdge._fields.index("key_a")
ZERO, ONE = np.float32(0), np.float32(1)
LATEST_ERROR = 2.0**-20                                                 # of gaps at a time that is computed


class Exclusions(NamedTuple):
    """Pairs that are left out: `rest_a`, `rest_b` flat vertices at rest, empty if these do not matter; `begins`, `neighbors`: for each
    vertex of one body the vertices that are too near along edges, sorted, empty if none are."""
    rest_a: np.ndarray
    rest_b: np.ndarray
    begins: np.ndarray
    neighbors: np.ndarray


class MovingPairs(NamedTuple):
    """Pairs of features of two bodies that collide."""
    side_a: FeatureSide
    side_b: FeatureSide


class MovingPairsSelf(NamedTuple):
    """Pairs of features of one body that collide."""
    side_a: FeatureSide
    side_b: FeatureSide


class NearPairs(NamedTuple):
    """Pairs of features of two bodies within a tolerance."""
    side_a: FeatureSide
    side_b: FeatureSide
    exclusions: Exclusions


class NearPairsSelf(NamedTuple):
    """Pairs of features of one body within a tolerance."""
    side_a: FeatureSide
    side_b: FeatureSide
    exclusions: Exclusions


@generic("visitor")
def process(visitor, state, kind, i, j, keys):
    """Decide a pair of features, put it out if it counts."""


# --- boxes -----------------------------------------------------------------------------------------------------------------------------

@helper
def apart_at_both_ends(a, b, margin):
    """Is one beyond the other along an axis, by more than the margin, at the start and at the end?"""
    x = ((a.lox0 - b.hix0 > margin) & (a.lox1 - b.hix1 > margin)) | ((b.lox0 - a.hix0 > margin) & (b.lox1 - a.hix1 > margin))
    y = ((a.loy0 - b.hiy0 > margin) & (a.loy1 - b.hiy1 > margin)) | ((b.loy0 - a.hiy0 > margin) & (b.loy1 - a.hiy1 > margin))
    z = ((a.loz0 - b.hiz0 > margin) & (a.loz1 - b.hiz1 > margin)) | ((b.loz0 - a.hiz0 > margin) & (b.loz1 - a.hiz1 > margin))
    return x | (y | z)


@helper
def beyond_until(gap0, gap1, margin, latest, latest_margin):
    """Is a gap above the margin at the start and at the latest time?"""
    return (gap0 > margin) & (gap0 + (gap1 - gap0) * latest > latest_margin)


@helper
def apart_until(a, b, margin, latest, latest_margin):
    """As `apart_at_both_ends`, from the start to the latest time."""
    x = (beyond_until(a.lox0 - b.hix0, a.lox1 - b.hix1, margin, latest, latest_margin)
         | beyond_until(b.lox0 - a.hix0, b.lox1 - a.hix1, margin, latest, latest_margin))
    y = (beyond_until(a.loy0 - b.hiy0, a.loy1 - b.hiy1, margin, latest, latest_margin)
         | beyond_until(b.loy0 - a.hiy0, b.loy1 - a.hiy1, margin, latest, latest_margin))
    z = (beyond_until(a.loz0 - b.hiz0, a.loz1 - b.hiz1, margin, latest, latest_margin)
         | beyond_until(b.loz0 - a.hiz0, b.loz1 - a.hiz1, margin, latest, latest_margin))
    return x | (y | z)


@helper
def squared_gap(a, b):
    """The squared distance of boxes at the start."""
    x = maximum(maximum(a.lox0 - b.hix0, b.lox0 - a.hix0), ZERO)
    y = maximum(maximum(a.loy0 - b.hiy0, b.loy0 - a.hiy0), ZERO)
    z = maximum(maximum(a.loz0 - b.hiz0, b.loz0 - a.hiz0), ZERO)
    return x * x + (y * y + z * z)


def _moving_overlaps(visitor, state, volumes, volume):
    if state["latest"] < ONE:
        return movemask(apart_until(volumes, volume, state["margin"], state["latest"], state["latest_margin"]) ^ True)
    return movemask(apart_at_both_ends(volumes, volume, state["margin"]) ^ True)


def _near(visitor, state, volumes, volume):
    return movemask(squared_gap(volumes, volume) <= state["limit"])


def _frames(visitor, state):
    return Fixed(), Fixed()


for _class in (MovingPairs, MovingPairsSelf):
    overlaps.register(_class)(_moving_overlaps)
for _class in (NearPairs, NearPairsSelf):
    overlaps.register(_class)(_near)
for _class in (MovingPairs, MovingPairsSelf, NearPairs, NearPairsSelf):
    frames.register(_class)(_frames)


@is_self.register(MovingPairs)
def _(visitor):
    return False


@is_self.register(NearPairs)
def _(visitor):
    return False


@is_self.register(MovingPairsSelf)
def _(visitor):
    return True


@is_self.register(NearPairsSelf)
def _(visitor):
    return True


@helper
def equal(a, b):
    """Lanes in which two keys are equal."""
    return (a <= b) & (a >= b)


@helper
def vertex_of_face(p, leaves, f):
    """Lanes in which a vertex is a corner of a face of leaf f, by keys."""
    return equal(field_lanes(leaves, f, FACE_KEYS), p.key) | (
        equal(field_lanes(leaves, f, FACE_KEYS + 1), p.key) | equal(field_lanes(leaves, f, FACE_KEYS + 2), p.key))


@helper
def edges_share_vertex(e, groups, h):
    """Lanes in which an edge shares a vertex with one of group h, by keys."""
    a, b = field_lanes(groups, h, EDGE_KEYS), field_lanes(groups, h, EDGE_KEYS + 1)
    return (equal(a, e.key_a) | equal(a, e.key_b)) | (equal(b, e.key_a) | equal(b, e.key_b))


# --- two leaves ------------------------------------------------------------------------------------------------------------------------

@helper
def scan_vertices_faces(visitor, state, side, vertex_leaves, v, face_leaves, f, kind, keys):
    """Pairs of the vertices that leaf v owns, of the body of `side`, and the faces of leaf f."""
    margin = state["box_margin"]
    leaf_box, used_faces = motion_bounds(load_bounds(face_leaves, f), margin), np.int64(face_leaves[f]["used"])
    groups = side.vertex_groups
    for g in range(np.int64(side.vertex_begins[v]), np.int64(side.vertex_begins[v + 1])):
        near = bounds_meet(groups, g, leaf_box) & groups[g]["used"]
        while near != 0:
            i, near = ctz(near), near & (near - 1)
            point = lane(groups, g, i)
            mask = bounds_meet(face_leaves, f, inflated(point, margin)) & used_faces
            if is_self(visitor) and state["keys_exact"] != 0:
                mask &= ~movemask(vertex_of_face(point, face_leaves, f))
            if mask == 0:
                continue
            faces = lanes(face_leaves, f)
            mask &= ~movemask(vertex_face_parted(point, faces, state["margin"]))
            if mask != 0:
                mask &= ~movemask(vertex_face_parted_across(point, faces, state["margin"]))
            while mask != 0:
                j, mask = ctz(mask), mask & (mask - 1)
                process(visitor, state, kind, np.int64(groups[g]["ids"][i]), np.int64(face_leaves[f]["ids"][j]), keys)


@helper
def scan_edges(visitor, state, leaves_a, a, leaves_b, b, same, keys):
    """Pairs of the edges that leaves a and b own."""
    groups_a, groups_b, begins_a, begins_b = (visitor.side_a.edge_groups, visitor.side_b.edge_groups, visitor.side_a.edge_begins,
                                              visitor.side_b.edge_begins)
    margin = state["box_margin"]
    leaf_box = motion_bounds(load_bounds(leaves_b, b), margin)
    for g in range(np.int64(begins_a[a]), np.int64(begins_a[a + 1])):
        near = bounds_meet(groups_a, g, leaf_box) & groups_a[g]["used"]
        while near != 0:
            i, near = ctz(near), near & (near - 1)
            edge = lane(groups_a, g, i)
            box = inflated(edge, margin)
            for h in range(g if same else np.int64(begins_b[b]), np.int64(begins_b[b + 1])):
                mask = bounds_meet(groups_b, h, box) & groups_b[h]["used"]
                if same and h == g:
                    mask &= np.int64(-2) << i
                if is_self(visitor) and state["keys_exact"] != 0:
                    mask &= ~movemask(edges_share_vertex(edge, groups_b, h))
                if mask == 0:
                    continue
                edges = lanes(groups_b, h)
                mask &= ~movemask(edges_parted(edge, edges, state["margin"]))
                if mask != 0:
                    mask &= ~movemask(edges_parted_across(edge, edges, state["margin"]))
                while mask != 0:
                    j, mask = ctz(mask), mask & (mask - 1)
                    process(visitor, state, EDGE_EDGE, np.int64(groups_a[g]["ids"][i]), np.int64(groups_b[h]["ids"][j]), keys)


def _visit_leaves(visitor, state, leaves_a, a, leaves_b, b, keys):
    if state["found"] + MAX_OUTPUT > len(keys):
        return OUTPUT_FULL
    if leaves_a[a]["used"] == 0 or leaves_b[b]["used"] == 0:
        return CONTINUE
    same = is_self(visitor) and a == b
    scan_vertices_faces(visitor, state, visitor.side_a, leaves_a, a, leaves_b, b, VERTEX_FACE, keys)
    if not same:
        scan_vertices_faces(visitor, state, visitor.side_b, leaves_b, b, leaves_a, a, FACE_VERTEX, keys)
    scan_edges(visitor, state, leaves_a, a, leaves_b, b, same, keys)
    return CONTINUE


for _class in (MovingPairs, MovingPairsSelf, NearPairs, NearPairsSelf):
    visit_leaves.register(_class)(_visit_leaves)


# --- two features ----------------------------------------------------------------------------------------------------------------------

@helper
def pack_features(kind, i, j):
    """Kind and features of a pair in one int64."""
    return (np.int64(kind) << (2 * ID_BITS)) | (i << ID_BITS) | j


@helper
def put_out(state, kind, i, j, value, keys):
    """Put out a pair and a number."""
    found = state["found"]
    keys[found], keys[found + 1] = pack_features(kind, i, j), float_bits(value)
    state["found"] = found + 2


@helper
def share_vertex(side, kind, i, j):
    """Do two features of one body share a vertex?"""
    if kind == EDGE_EDGE:
        p, q, r, s = side.edges[i, 0], side.edges[i, 1], side.edges[j, 0], side.edges[j, 1]
        return (p == r) | (p == s) | (q == r) | (q == s)
    return (side.faces[j, 0] == i) | (side.faces[j, 1] == i) | (side.faces[j, 2] == i)


@helper
def copy_vertex(vertices, v, t, at):
    """t[at : at + 3] = vertex v."""
    at_vertex = 3 * np.int64(v)
    t[at], t[at + 1], t[at + 2] = vertices[at_vertex], vertices[at_vertex + 1], vertices[at_vertex + 2]


@helper
def copy_points(side_i, vertices_i, side_j, vertices_j, kind, i, j, t, at):
    """t[at : at + 12] = the four points of a pair: a vertex i and a face j, or two edges."""
    if kind == EDGE_EDGE:
        copy_vertex(vertices_i, side_i.edges[i, 0], t, at)
        copy_vertex(vertices_i, side_i.edges[i, 1], t, at + 3)
        copy_vertex(vertices_j, side_j.edges[j, 0], t, at + 6)
        copy_vertex(vertices_j, side_j.edges[j, 1], t, at + 9)
    else:
        copy_vertex(vertices_i, i, t, at)
        for k in range(3):
            copy_vertex(vertices_j, side_j.faces[j, k], t, at + 3 + 3 * k)


@helper
def decide_moving(state, side_i, side_j, kind, entry_kind, i, j, keys):
    """Put a pair out if it collides, not later than the best so far where only the first counts."""
    t = stack_float64(CCD_SIZE)
    copy_points(side_i, side_i.start, side_j, side_j.start, entry_kind, i, j, t, 0)
    copy_points(side_i, side_i.end, side_j, side_j.end, entry_kind, i, j, t, FOUR_POINTS)
    t[MIN_DISTANCE_IN], t[LATEST] = state["tolerance"], state["best"]
    state["n_p"] += 1
    state["n_exact"] += call_address(state["entry"], t, np.int64(entry_kind))
    time = t[TIME]
    if time <= state["best"]:
        put_out(state, kind, j if kind == FACE_VERTEX else i, i if kind == FACE_VERTEX else j, time, keys)
        if state["first_only"] != 0 and time < state["best"]:
            state["best"] = time
            state["latest"] = np.float32(time + LATEST_ERROR)
            state["latest_margin"] = state["margin"] + np.float32(LATEST_ERROR)


@process.register(MovingPairs)
def _(visitor, state, kind, i, j, keys):
    if kind == FACE_VERTEX:
        decide_moving(state, visitor.side_b, visitor.side_a, kind, VERTEX_FACE, i, j, keys)
    else:
        decide_moving(state, visitor.side_a, visitor.side_b, kind, kind, i, j, keys)


@helper
def ordered(kind, i, j):
    """The features of a pair of one body: of two edges the lower comes first."""
    return (j, i) if kind == EDGE_EDGE and j < i else (i, j)


@helper
def kind_of_self(kind):
    """In one body a face and a vertex are a vertex and a face."""
    return EDGE_EDGE if kind == EDGE_EDGE else VERTEX_FACE


@process.register(MovingPairsSelf)
def _(visitor, state, kind, i, j, keys):
    if not share_vertex(visitor.side_a, kind, i, j):
        i, j = ordered(kind, i, j)
        decide_moving(state, visitor.side_a, visitor.side_a, kind_of_self(kind), kind_of_self(kind), i, j, keys)


@helper
def decide_near(state, side_i, rest_i, side_j, rest_j, kind, entry_kind, i, j, keys):
    """Put a pair out if it is within the tolerance, and was not at rest."""
    t = stack_float64(CCD_SIZE)
    copy_points(side_i, side_i.start, side_j, side_j.start, entry_kind, i, j, t, 0)
    argument = np.int64(entry_kind) | (state["in_filter_range"] << IN_RANGE_BIT)
    state["n_p"] += 1
    state["n_exact"] += call_address(state["entry"], t, argument)
    distance = t[DISTANCE]
    if not distance <= state["tolerance"]:
        return
    if len(rest_i) > 0:
        copy_points(side_i, rest_i, side_j, rest_j, entry_kind, i, j, t, 0)
        call_address(state["entry"], t, np.int64(entry_kind))
        if t[DISTANCE] <= state["rest_distance"]:
            return
    put_out(state, kind, j if kind == FACE_VERTEX else i, i if kind == FACE_VERTEX else j, distance, keys)


@process.register(NearPairs)
def _(visitor, state, kind, i, j, keys):
    e = visitor.exclusions
    if kind == FACE_VERTEX:
        decide_near(state, visitor.side_b, e.rest_b, visitor.side_a, e.rest_a, kind, VERTEX_FACE, i, j, keys)
    else:
        decide_near(state, visitor.side_a, e.rest_a, visitor.side_b, e.rest_b, kind, kind, i, j, keys)


@helper
def within_rings(side, begins, neighbors, kind, i, j):
    """Are two features of one body near along its edges?"""
    if len(neighbors) == 0:
        return False
    near = False
    if kind == EDGE_EDGE:
        for k in range(2):
            for m in range(2):
                v = np.int64(side.edges[i, k])
                near = near or is_among(neighbors, begins[v], begins[v + 1], side.edges[j, m])
    else:
        for m in range(3):
            near = near or is_among(neighbors, begins[i], begins[i + 1], side.faces[j, m])
    return near


@process.register(NearPairsSelf)
def _(visitor, state, kind, i, j, keys):
    side, e = visitor.side_a, visitor.exclusions
    if not (share_vertex(side, kind, i, j) or within_rings(side, e.begins, e.neighbors, kind, i, j)):
        i, j = ordered(kind, i, j)
        decide_near(state, side, e.rest_a, side, e.rest_a, kind_of_self(kind), kind_of_self(kind), i, j, keys)
