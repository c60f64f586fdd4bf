"""All pairs of faces that are no farther apart than a tolerance, of two bodies or of one with itself.

Two steps. `traverse` collects all pairs that may be: volumes and triangles in float32, by bounds that are never too large
(`query/proximity/leaf_distance.py`). Then each is measured in float64, which decides (`geometry/triangle_distance.py`).
"""
from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from pliant.core import memory, validate
from pliant.core.function_pointer import call_address
from pliant.core.simd import movemask
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, ArgumentTypeError, TooManyPairsError
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.leaf_overlap import face_bits
from pliant.query.collide.self_collide import set_up_self
from pliant.query.collide.two_bodies import bind_trees
from pliant.query.proximity.distance import (
    distance_error,
    leaf_arrays,
    near_visitor,
    self_leaf_arrays,
    set_up_near_pair,
    stretch_of,
)
from pliant.query.proximity.features import near_features
from pliant.query.proximity.leaf_distance import DISTANCE_STATE, Candidates, Near, NearSelf, NearTransformed, bind_leaf_stage
from pliant.query.proximity.measure import BYTES_PER_PAIR, check_memory, measure_two
from pliant.query.scheduler import ResumableLoop, run_loop, workspace
from pliant.query.target import BodyGroup, QueryBody, check_body
from pliant.query.traverse import overlaps, pack_pair, traverse, visit_leaves
from pliant.results import DistancePairs, FeaturePairs, PointPairs, SceneDistancePairs, Stats
from pliant.volume.protocol import separation

MAX_TOLERANCE = 2.0**60                                                 # squares of more do not fit into float32: empty lanes would be near


def _overlaps(visitor, state, volumes, volume):
    return movemask(separation(volumes, volume) <= state["limit"])


def _visit_leaves(visitor, state, leaves_a, a, leaves_b, b, keys):
    return call_address(state["leaf_entry"], state["address"], pack_pair(a, b))


for _visitor in (Near, NearTransformed, NearSelf):
    overlaps.register(_visitor)(_overlaps)
    visit_leaves.register(_visitor)(_visit_leaves)


@overload
def within(a: QueryBody, b: QueryBody, tolerance: float, *, features: Literal[True], rest: tuple[ArrayLike, ArrayLike] | None = ...,
           rest_distance: float | None = ...) -> FeaturePairs: ...


@overload
def within(a: QueryBody, b: QueryBody, tolerance: float, *, points: Literal[True]) -> PointPairs: ...


@overload
def within(a: QueryBody, b: QueryBody, tolerance: float, *, points: bool = ...) -> DistancePairs: ...


@overload
def within(a: BodyGroup, b: QueryBody, tolerance: float, *, points: bool = ...) -> SceneDistancePairs: ...


@overload
def within(a: QueryBody, b: BodyGroup, tolerance: float, *, points: bool = ...) -> SceneDistancePairs: ...


def within(a: QueryBody | BodyGroup, b: QueryBody | BodyGroup, tolerance: float, *, points: bool = False, features: bool = False,
           rest: tuple[ArrayLike, ArrayLike] | None = None,
           rest_distance: float | None = None) -> DistancePairs | FeaturePairs | SceneDistancePairs:
    """All pairs of faces of two bodies within a tolerance of each other, sorted, with their `distances`.

    Parameters
    ----------
    a, b : the bodies. One may be a `Scene`: then the pairs of the other with all bodies of the scene, as `ScenePairs`
    tolerance : a finite number, 0 or more
    points : add the closest `points` (2, 3) of each pair, one on each face
    features : pairs of features instead, as simulators use them: a vertex and a face, or two edges, as `FeaturePairs` with distances,
        closest points, weights and normals. All of them, where pairs of faces name one nearest point each
    rest : with `features`, states of both bodies, as for `update`; pairs that are within `rest_distance` of each other there are left out
    rest_distance : by default the tolerance

    Distances are those of `distance`; with a tolerance of 0 the pairs are those of `collide`.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> pairs = pl.within(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]), 2.5)
    >>> pairs.faces.tolist(), pairs.distances.tolist()
    ([[0, 0]], [2.0])
    >>> found = pl.within(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]), 2.5, features=True)
    >>> len(found), found.kinds[0], found.features[0].tolist(), found.distances[0], found.weights[0].tolist()
    (10, np.int8(0), [0, 0], np.float64(2.0), [-1.0, 1.0, 0.0, 0.0])
    """
    tolerance, points, features = check_options(tolerance, points, features, rest=rest, rest_distance=rest_distance)
    if features and (isinstance(a, BodyGroup) or isinstance(b, BodyGroup)):
        raise ArgumentTypeError(f"{'a' if isinstance(a, BodyGroup) else 'b'}: expected a Body with features=True, got a Scene")
    if isinstance(a, BodyGroup) or isinstance(b, BodyGroup):
        scene, body, name = (a, b, "b") if isinstance(a, BodyGroup) else (b, a, "a")
        if isinstance(body, BodyGroup):
            raise ArgumentTypeError("within: a and b are scenes; scene.within(tolerance) tests the bodies of one, within(body, scene, "
                                    "tolerance) one body with all")
        check_body(name, body)
        return scene._within_body(body, scene is a, tolerance, points)
    check_body("a", a)
    check_body("b", b)
    if a is b:
        raise ArgumentError("within: a and b are the same body; self_within(body, tolerance) finds pairs of its faces")
    if features:
        return near_features(a, b, tolerance, rest, rest_distance)
    return within_validated(a, b, tolerance, points)


@overload
def self_within(body: QueryBody, tolerance: float, *, features: Literal[True], rest: ArrayLike | None = ...,
                rest_distance: float | None = ..., rings: int = ...) -> FeaturePairs: ...


@overload
def self_within(body: QueryBody, tolerance: float, *, points: Literal[True]) -> PointPairs: ...


@overload
def self_within(body: QueryBody, tolerance: float, *, points: bool = ...) -> DistancePairs: ...


def self_within(body: QueryBody, tolerance: float, *, points: bool = False, features: bool = False, rest: ArrayLike | None = None,
                rest_distance: float | None = None, rings: int = 0) -> DistancePairs | FeaturePairs:
    """All pairs of non-adjacent faces of a body within a tolerance of each other; the lower index is first in each pair.

    Parameters
    ----------
    body : a `Body`. Faces are adjacent if they share a vertex by index; with `Body(…, weld=True)` also vertices at the same position
    tolerance, points, features, rest_distance : as for `within`; features that share a vertex are no pair, and kinds are 0 and 2
    rest : with `features`, one state; pairs that are within `rest_distance` of each other there are left out
    rings : with `features`, leave out pairs of which so many edges, or fewer, lead from a vertex of one to a vertex of the other

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_within(stack, 1.5).distances.tolist()
    [1.0]
    """
    tolerance, points, features = check_options(tolerance, points, features, rest=rest, rest_distance=rest_distance, rings=rings or None)
    check_body("body", body)
    if features:
        return near_features(body, None, tolerance, rest, rest_distance, rings)
    return self_within_validated(body, tolerance, points)


def check_options(tolerance, points, features, **feature_options):
    """The first three, validated; options of features are refused without."""
    tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
    if validate.flag("features", features) and points:
        raise ArgumentTypeError("points: results with features=True always have points; leave it out")
    for name in [name for name, value in feature_options.items() if value is not None and not features]:
        raise ArgumentTypeError(f"{name}: an option of features=True, and features is False")
    return tolerance, points, features


def within_validated(a, b, tolerance, points):
    """`within` after all checks."""
    with workspace() as space, ReadLock(a._guard, b._guard):
        setup = set_up_near_pair(space, a, b, tolerance)
        if setup is None:
            return pairs_in_tolerance(a, b, np.empty((0, 2), np.int32), Stats(), tolerance, points)
        max_tolerance = MAX_TOLERANCE / setup.scale
        if tolerance > max_tolerance and joint_extent(a, b) > max_tolerance / 4:
            return pairs_in_tolerance(a, b, all_pairs(len(a.faces), len(b.faces), tolerance), Stats(), tolerance, points)
        visitor, stretch, error = near_visitor(setup), stretch_of(setup.transform_a), distance_error(a, b)
        tree_args, stack_size = bind_trees(space, setup.query[0], setup.bvh_a, setup.bvh_b)

        def resume(query, stack, keys):
            keep_alive = bind_leaf_stage(query, Candidates(), visitor, leaf_arrays(setup, a, b, keys), min(tolerance, max_tolerance),
                                         setup.scale, stretch, error)
            reason = traverse(visitor, *tree_args, query, stack, keys)
            del keep_alive
            return reason
        keys, stats, _ = run_loop(ResumableLoop(resume, setup.query, stack_size, (setup.bvh_a, setup.bvh_b)), space)
        return pairs_in_tolerance(a, b, sort_pairs(keys, face_bits(a), face_bits(b)), stats, tolerance, points)


def self_within_validated(body, tolerance, points):
    """`self_within` after all checks."""
    with workspace() as space, ReadLock(body._guard):
        if len(body.faces) < 2:
            return pairs_in_tolerance(body, body, np.empty((0, 2), np.int32), Stats(), tolerance, points)
        query, bvh, vertices, adjacency = set_up_self(space, body, DISTANCE_STATE)
        scale, stretch, error = body._motion.scale, stretch_of(body._matrix), distance_error(body, body)
        tree_args, stack_size = bind_trees(space, query[0], bvh, bvh)

        def resume(query, stack, keys):
            keep_alive = bind_leaf_stage(query, Candidates(), NearSelf(), self_leaf_arrays(bvh, vertices, keys, adjacency),
                                         min(tolerance, MAX_TOLERANCE / scale), scale, stretch, error)
            reason = traverse(NearSelf(), *tree_args, query, stack, keys)
            del keep_alive
            return reason
        keys, stats, _ = run_loop(ResumableLoop(resume, query, stack_size, (bvh, adjacency)), space)
        return pairs_in_tolerance(body, body, sort_pairs(keys, face_bits(body), face_bits(body)), stats, tolerance, points)


def joint_extent(a, b):
    """The longest side of a box around both bodies."""
    boxes = np.stack([a._world_box(), b._world_box()])
    with np.errstate(over="ignore"):
        return (boxes[:, 1].max(axis=0) - boxes[:, 0].min(axis=0)).max()


def all_pairs(m, n, tolerance):
    """(m n, 2) int32, sorted: for bodies so far apart that float32 knows nothing of their distance."""
    if not memory.fits_in_memory(2 * BYTES_PER_PAIR * m * n):
        raise TooManyPairsError(f"{m * n:,} pairs may be within {tolerance}, and memory for their distances is not available; ask for less")
    return np.stack(np.divmod(np.arange(m * n), n), axis=1).astype(np.int32)


def pairs_in_tolerance(a, b, pairs, stats, tolerance, points):
    """What the user gets: those of the pairs that are within the tolerance."""
    check_memory(len(pairs), tolerance)
    distances, nearest_points, exact = measure_two(a, b, pairs, points)
    in_tolerance = distances <= tolerance
    touching = np.flatnonzero(distances == 0.0) if points else ()
    if len(touching):
        set_common_points(nearest_points, touching, [(pairs[touching], a, b)])
    in_range, work = pairs[in_tolerance], stats + Stats(n_exact=int(exact.sum()))
    if not points:
        return DistancePairs(in_range, work, distances=distances[in_tolerance])
    return PointPairs(in_range, work, distances=distances[in_tolerance], points=nearest_points[in_tolerance].reshape(-1, 2, 3))


def set_common_points(points, rows, parts):
    """Where faces intersect, both nearest points are a point that they have in common: for these rows, whose faces are in `parts`."""
    points[rows] = np.tile(contacts_of(parts)["segments"][:, 0], 2)
