"""How far apart are two bodies, or what of a body is nearest to itself? The least distance of two faces, exactly where, and which."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError
from pliant.motion.rigid import IDENTITY
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.self_collide import set_up_self
from pliant.query.collide.two_bodies import bind_trees, set_up_pair
from pliant.query.proximity.branch_and_bound import UNKNOWN_BOUND, branch_and_bound
from pliant.query.proximity.far_field import far_apart, nearest_faces
from pliant.query.proximity.leaf_distance import (
    DISTANCE_ERROR,
    DISTANCE_STATE,
    LeafArrays,
    Near,
    Nearest,
    NearSelf,
    NearTransformed,
    bind_leaf_stage,
    max_box_gap,
    max_stretch,
)
from pliant.query.scheduler import CALL_BUDGET, read_stats, workspace
from pliant.query.target import BodyGroup, QueryBody, check_body
from pliant.query.traverse import BUDGET_SPENT, pack_pair
from pliant.results import Distance, Stats

NO_LOOSENESS = np.zeros(0, np.float32)
NO_POINTS = np.full((2, 3), np.nan)


class NearestLeaves(NamedTuple):
    """The leaves that were nearest in the last query, and their trees: the next query visits them first."""
    trees: tuple[Any, Any]
    leaves: tuple[int, int]


def distance(a: QueryBody | BodyGroup, b: QueryBody | BodyGroup) -> Distance:
    """The distance of two bodies, the closest points and their faces.

    Parameters
    ----------
    a, b : bodies or scenes. With a scene, the distance to the nearest of its bodies, whose ids are in `bodies`; a body that is in
        both is not compared with itself

    The distance is 0 exactly if the bodies intersect (`collide`); then `faces` and `points` are of any pair that intersects.
    Otherwise it is accurate to 1e-12 of the size of the two faces and of the distance. Of pairs of faces at the same distance the
    lowest indices count, first those of `a`. Without faces the distance is inf, faces are −1 and points NaN. The search starts at the
    leaves that were nearest in the last query of the same bodies, so coherent motion is cheap.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> apart = pl.distance(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]))
    >>> apart.distance, apart.points.tolist(), apart.faces.tolist()
    (2.0, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], [0, 0])
    """
    if a is b:
        raise ArgumentError("distance: a and b are the same; self_distance(body) finds the nearest two non-adjacent faces of a body, "
                            "scene.distance() the nearest two bodies of a scene")
    if isinstance(a, BodyGroup):
        return a._distance_between(a, b)
    if isinstance(b, BodyGroup):
        return b._distance_between(a, b)
    check_body("a", a)
    check_body("b", b)
    return distance_validated(a, b)


def self_distance(body: QueryBody) -> Distance:
    """The smallest distance between two non-adjacent faces of a body; inf if there are none.

    Parameters
    ----------
    body : a `Body`. Faces are adjacent if they share a vertex by index; with `Body(…, weld=True)` also vertices at the same position

    `faces` has the lower index first; everything else is as for `distance`.

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_distance(stack).distance
    1.0
    """
    check_body("body", body)
    with workspace() as space, ReadLock(body._guard):
        if len(body.faces) < 2:
            return no_distance()
        query, bvh, vertices, adjacency = set_up_self(space, body, DISTANCE_STATE)
        arrays = self_leaf_arrays(bvh, vertices, space.keys, adjacency)
        lengths = Lengths(np.inf, body._motion.scale, stretch_of(body._matrix), distance_error(body, body))
        return set_common_point(search_nearest(space, query, NearSelf(), bvh, bvh, arrays, lengths, body._distance_cache, body), body, body)


def distance_validated(a: QueryBody, b: QueryBody, max_distance: float = np.inf) -> Distance:
    """`distance` after all checks; `no_distance` if the bodies are farther apart than `max_distance`."""
    with workspace() as space, ReadLock(a._guard, b._guard):
        if not (len(a.faces) and len(b.faces)):
            return no_distance()
        if far_apart(a, b):
            return far_distance(a, b)
        setup = set_up_near_pair(space, a, b, max_distance)
        if setup is None:
            return no_distance()
        arrays = leaf_arrays(setup, a, b, space.keys)
        lengths = Lengths(max_distance, setup.scale, stretch_of(setup.transform_a), distance_error(a, b))
        return set_common_point(search_nearest(space, setup.query, near_visitor(setup), setup.bvh_a, setup.bvh_b, arrays, lengths,
                                               a._distance_cache, b), a, b)


def set_up_near_pair(space: Any, a: Any, b: Any, max_distance: float) -> Any:
    """`set_up_pair` of a distance query; None if the boxes of the bodies are too far apart for `max_distance`."""
    max_gap = max_box_gap(max_distance, a._motion.reach, b._motion.reach)
    return set_up_pair(space, a, b, (DISTANCE_STATE, DISTANCE_STATE), max_gap)


def distance_error(a: Any, b: Any) -> float:
    """By how much bounds may exceed a measured distance."""
    return float(max(a._motion.reach, b._motion.reach) * DISTANCE_ERROR)


def near_visitor(setup: Any) -> Near | NearTransformed:
    """The visitor of distance queries of two bodies."""
    return Near() if setup.transform_a is None else NearTransformed()


def leaf_arrays(setup: Any, a: Any, b: Any, keys: Any) -> LeafArrays:
    """The arrays of the leaf stage for two bodies."""
    arrays = setup.bvh_a.leaves, setup.bvh_b.leaves, a._motion.flat, b._motion.flat, keys
    return LeafArrays(*arrays) if setup.transform_a is None else LeafArrays(*arrays, setup.transform_a, setup.transform_b)


def self_leaf_arrays(bvh: Any, vertices: Any, keys: Any, adjacency: Any) -> LeafArrays:
    """The arrays of the leaf stage for one body and itself."""
    return LeafArrays(bvh.leaves, bvh.leaves, vertices, vertices, keys, begins=adjacency.begins, others=adjacency.others,
                      masks=adjacency.masks)


def far_distance(a: QueryBody, b: QueryBody) -> Distance:
    """`distance` of two bodies that are far apart."""
    best = nearest_faces(a._world_vertices()[0], a._welded_faces, b._world_vertices()[0], b._welded_faces)[0]
    return Distance(float(best["distance"]), best["ends"].reshape(2, 3).copy(), np.array([best["f"], best["g"]], np.int32),
                    Stats(n_p=int(best["n_p"]), n_exact=int(best["n_exact"])))


def set_common_point(found: Distance, a: QueryBody, b: QueryBody) -> Distance:
    """For faces that intersect, set both nearest points to a common point."""
    if found.distance == 0.0:
        found.points[:] = contacts_of([(found.faces[None], a, b)])["segments"][0, 0]
    return found


def no_distance(stats: Stats = Stats()) -> Distance:  # noqa: B008 - a tuple
    """The Distance of bodies without faces."""
    return Distance(np.inf, NO_POINTS.copy(), np.array([-1, -1], np.int32), stats)


def stretch_of(transform: Any) -> float:
    """`max_stretch`; None is no transform."""
    return float(max_stretch(IDENTITY if transform is None else transform))


class Lengths(NamedTuple):
    """The largest distance that counts; scale and stretch of the frame of a; the error of bounds."""
    max_distance: float
    scale: float
    stretch: float
    distance_error: float


def search_nearest(space: Any, query: Any, visitor: Any, bvh_a: Any, bvh_b: Any, arrays: LeafArrays, lengths: Lengths, nearest_leaves: Any,
                   other: Any) -> Distance:
    """The nearest two faces of two BVHs, if they are no farther apart than `max_distance`. `nearest_leaves` maps the other body to the
    leaves that were nearest in the last query; the result is stored there."""
    state = query[0]
    tree_args, _ = bind_trees(space, state, bvh_a, bvh_b)
    lower_bounds = space.waiting()
    keep_alive = bind_leaf_stage(query, Nearest(), visitor, arrays, *lengths)
    lower_bounds[0] = UNKNOWN_BOUND
    last = nearest_leaves.get(other)
    if last is not None and last.trees[0] is bvh_a.tree and last.trees[1] is bvh_b.tree:
        space.stack[1], lower_bounds[1], state["position"] = pack_pair(~last.leaves[0], ~last.leaves[1]), 0.0, 2
    looseness = [NO_LOOSENESS if shape.looseness is None else shape.looseness for shape in (bvh_a, bvh_b)]
    reason = BUDGET_SPENT
    while reason == BUDGET_SPENT:
        state["budget"] = CALL_BUDGET
        with ignore_float_errors():
            reason = branch_and_bound(visitor, *tree_args, *looseness, query, space.stack, lower_bounds)
    del keep_alive
    if state["face_a"] < 0:
        return no_distance(read_stats(state))
    nearest_leaves[other] = NearestLeaves((bvh_a.tree, bvh_b.tree), (int(state["leaf_a"]), int(state["leaf_b"])))
    return Distance(float(state["best"]), state["ends"].reshape(2, 3).copy(), np.array([state["face_a"], state["face_b"]], np.int32),
                    read_stats(state))
