"""How far apart are two bodies, or what of a body is nearest to itself? The least distance of two faces, exactly where, and which."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.self_collide import SelfCollide, init_self_query_bvh
from pliant.query.collide.transformed import CollideTransformed
from pliant.query.collide.two_bodies import Collide, bind_trees, set_up_pair
from pliant.query.proximity.branch_and_bound import UNKNOWN_BOUND, branch_and_bound
from pliant.query.proximity.far_field import far_apart, nearest_faces
from pliant.query.proximity.leaf_distance import Nearest, PairTransformed, PairUntransformed, SelfPair, bind_leaf_stage
from pliant.query.ray.cast import bodies_of
from pliant.query.scheduler import CALL_BUDGET, read_stats, workspace
from pliant.query.target import BodyGroup, QueryBody, check_body
from pliant.query.traverse import BUDGET_SPENT, pack_pair
from pliant.results import Distance, Stats

NO_LOOSENESS = np.zeros(0, np.float32)
NO_POINTS = np.full((2, 3), np.nan)
LENGTH_ERROR = 2.0**-40                                                 # above all roundings of distances in float64


class NearestLeaves(NamedTuple):
    """Which leaves of which trees were nearest last time: where to look first."""
    trees: tuple[Any, Any]
    leaves: tuple[int, int]


def distance(a: QueryBody | BodyGroup, b: QueryBody | BodyGroup) -> Distance:
    """The least distance between two bodies, the points where it is, and their faces. Either may be a scene: then that of the nearest of
    its bodies, whose ids are in `bodies`; a body that is in both is not compared with itself.

    0 if they meet, exactly then (`collide`); which faces and points are named then may vary. Else the distance is right to 1e-12 of the
    size of the two faces and their distance, and of several pairs of faces that are as near the lowest counts, the face of `a` first. A
    body without faces is infinitely far away: the distance is inf, faces are −1 and points NaN. The leaves that were nearest in the last
    query of the same bodies are looked at first, so a coherent motion costs little.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> apart = pl.distance(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]))
    >>> apart.distance, apart.points.tolist(), apart.faces.tolist()
    (2.0, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], [0, 0])
    """
    if a is b:
        raise ValueError("distance: a and b are the same; self_distance(body) finds what of a body is nearest to itself, scene.distance() "
                         "the nearest two bodies of a scene")
    if isinstance(a, BodyGroup) or isinstance(b, BodyGroup):
        from pliant.query.proximity.scene import nearest_bodies

        (bodies, ids, _), (others, other_ids, _) = bodies_of(a, "a"), bodies_of(b, "b")
        pairs = [(i, j) for i, one in enumerate(bodies) for j, other in enumerate(others) if one is not other]
        return nearest_bodies(bodies, ids, others, other_ids, np.array(pairs, np.int64).reshape(-1, 2))
    check_body("a", a)
    check_body("b", b)
    return distance_validated(a, b)


def self_distance(body: QueryBody) -> Distance:
    """The least distance between two faces of a body that share no vertex, as `distance`; the lower face first. inf if there are none.

    Vertices are shared by index; `Body(…, weld=True)` also counts those that lie at one place.

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_distance(stack).distance
    1.0
    """
    check_body("body", body)
    with workspace() as space, ReadLock(body.guard):
        if len(body.faces) < 2:
            return no_distance()
        bvh, flat = init_self_query_bvh(space, body, False), body.world_vertices()[0]
        adjacency = bvh.masks(body.mesh())
        space.query["check_shared"] = adjacency.hubs
        visitor = SelfCollide(flat, flat, space.keys, adjacency.begins, adjacency.others, adjacency.masks)
        return set_common_point(search_nearest(space, SelfPair(), bvh, bvh, visitor, body.motion.scale, body.matrix, body.distance_cache,
                                               body), body, body)


def distance_validated(a: QueryBody, b: QueryBody, max_distance: float = np.inf) -> Distance:
    """`distance` after all checks; nothing, if they are farther apart than `most`."""
    with workspace() as space, ReadLock(a.guard, b.guard):
        if not (len(a.faces) and len(b.faces)):
            return no_distance()
        if far_apart(a, b):
            return far_distance(a, b)
        setup = set_up_pair(space, a, b, max_distance)
        if setup is None:
            return no_distance()
        if setup.transform_a is None:
            visitor: Any = Collide(a.motion.flat, b.motion.flat, space.keys)
            return set_common_point(search_nearest(space, PairUntransformed(), setup.bvh_a, setup.bvh_b, visitor, setup.scale, None,
                                                   a.distance_cache, b, max_distance), a, b)
        visitor = CollideTransformed(a.motion.flat, b.motion.flat, space.keys, setup.transform_a, setup.transform_b)
        return set_common_point(search_nearest(space, PairTransformed(), setup.bvh_a, setup.bvh_b, visitor, setup.scale, setup.transform_a,
                                               a.distance_cache, b, max_distance), a, b)


def far_distance(a: QueryBody, b: QueryBody) -> Distance:
    """`distance` of bodies that are far apart."""
    best = nearest_faces(a.world_vertices()[0], a.welded_faces, b.world_vertices()[0], b.welded_faces)[0]
    return Distance(float(best["distance"]), best["ends"].reshape(2, 3).copy(), np.array([best["f"], best["g"]], np.int32),
                    Stats(n_p=int(best["n_p"]), n_exact=int(best["n_exact"])))


def set_common_point(found: Distance, a: QueryBody, b: QueryBody) -> Distance:
    """Faces that meet have a point in common: that, twice."""
    if found.distance == 0.0:
        found.points[:] = contacts_of([(found.faces[None], a, b)])["segments"][0, 0]
    return found


def no_distance(stats: Stats = Stats()) -> Distance:  # noqa: B008 - a tuple
    """Of nothing."""
    return Distance(np.inf, NO_POINTS.copy(), np.array([-1, -1], np.int32), stats)


def max_stretch(transform: Any) -> float:
    """By how much lengths in model space may exceed those in the world, and more than what rounds."""
    if transform is None:
        return 1 + LENGTH_ERROR
    rotation = transform.reshape(3, 4)[:, :3]
    return 1 + LENGTH_ERROR + 2 * float(np.abs(rotation.T @ rotation - np.eye(3)).max())


def search_nearest(space: Any, kind: Any, bvh_a: Any, bvh_b: Any, visitor: Any, scale: float, transform: Any, nearest_leaves: Any,
                   other: Any,
                   max_distance: float = np.inf) -> Distance:
    """The nearest two faces of two shapes, if they are no farther apart than `most`; where they were last time is in `known`, by the other
    body, and is noted there."""
    tree_args, _ = bind_trees(space, bvh_a, bvh_b)
    lower_bounds, state = space.waiting(), space.query[0]
    keep_alive = bind_leaf_stage(space.query, Nearest(), kind, bvh_a, bvh_b, visitor, max_distance, scale, max_stretch(transform))
    lower_bounds[0] = UNKNOWN_BOUND
    last = nearest_leaves.get(other)
    if last is not None and last.trees[0] is bvh_a.tree and last.trees[1] is bvh_b.tree:
        space.stack[1], lower_bounds[1], state["position"] = pack_pair(~last.leaves[0], ~last.leaves[1]), 0.0, 2
    looseness = [NO_LOOSENESS if shape.looseness is None else shape.looseness for shape in (bvh_a, bvh_b)]
    reason = BUDGET_SPENT
    while reason == BUDGET_SPENT:
        state["budget"] = CALL_BUDGET
        with ignore_float_errors():
            reason = branch_and_bound(visitor, *tree_args, *looseness, space.query, space.stack, lower_bounds)
    del keep_alive
    if state["face_a"] < 0:
        return no_distance(read_stats(state))
    nearest_leaves[other] = NearestLeaves((bvh_a.tree, bvh_b.tree), (int(state["leaf_a"]), int(state["leaf_b"])))
    return Distance(float(state["best"]), state["ends"].reshape(2, 3).copy(), np.array([state["face_a"], state["face_b"]], np.int32),
                    read_stats(state))
