"""All pairs of faces that are no farther apart than a tolerance, of two bodies or of one with itself.

Two steps. `traverse` collects all pairs that may be: volumes and triangles in float32, by bounds that are never too large
(`query/proximity/leaf_distance.py`). Then each is measured in float64, which decides (`geometry/triangle_distance.py`).
"""
from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from pliant.core import memory, validate
from pliant.core import threads as pool
from pliant.core.function_pointer import call_address
from pliant.core.jit import kernel
from pliant.core.simd import movemask
from pliant.core.sorting import sort_pairs
from pliant.core.stack import stack_float64
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, ArgumentTypeError, TooManyPairsError
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_triangle_distance
from pliant.geometry.triangle_overlap import EXACT
from pliant.motion.rigid import IDENTITY, transform_coordinate
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.leaf_overlap import face_bits
from pliant.query.collide.self_collide import set_up_self
from pliant.query.collide.two_bodies import bind_trees
from pliant.query.proximity.distance import (
    distance_error,
    leaf_arrays,
    max_stretch,
    near_visitor,
    self_leaf_arrays,
    set_up_near_pair,
)
from pliant.query.proximity.leaf_distance import DISTANCE_STATE, Candidates, Near, NearSelf, NearTransformed, bind_leaf_stage
from pliant.query.scheduler import ResumableLoop, run_loop, workspace
from pliant.query.target import BodyGroup, QueryBody, check_body
from pliant.query.traverse import overlaps, pack_pair, traverse, visit_leaves
from pliant.results import DistancePairs, PointPairs, SceneDistancePairs, Stats
from pliant.volume.protocol import separation

PAIRS_PER_CHUNK = 1 << 11                                               # pairs between looks at Ctrl-C
MEMORY_CHECK_PAIRS = 1 << 16                                            # pairs for which asking how much memory there is takes longest
MAX_TOLERANCE = 2.0**60                                                 # squares of more do not fit into float32: empty lanes would be near
BYTES_PER_PAIR = 8 * (1 + 6) + 8                                        # of a pair and what is measured


def _overlaps(visitor, state, volumes, volume):
    return movemask(separation(volumes, volume) <= state["limit"])


def _visit_leaves(visitor, state, leaves_a, a, leaves_b, b, keys):
    return call_address(state["leaf_entry"], state["address"], pack_pair(a, b))


for _visitor in (Near, NearTransformed, NearSelf):
    overlaps.register(_visitor)(_overlaps)
    visit_leaves.register(_visitor)(_visit_leaves)


@kernel
def measure_pairs(pairs, m_a, flat_a, faces_a, m_b, flat_b, faces_b, begin, end, distances, points):
    """Distances (m,) and, if there is room for them, nearest points (m, 6) of the pairs from `begin` to `end`; how many took exact
    arithmetic."""
    n_exact, t = 0, stack_float64(26)
    for i in range(begin, end):
        in_filter_range = True
        for c in range(3):
            v, w = 3 * np.int64(faces_a[pairs[i, 0], c]), 3 * np.int64(faces_b[pairs[i, 1], c])
            for k in range(3):
                t[3 * c + k] = transform_coordinate(m_a, k, flat_a[v], flat_a[v + 1], flat_a[v + 2])
                t[9 + 3 * c + k] = transform_coordinate(m_b, k, flat_b[w], flat_b[w + 1], flat_b[w + 2])
            in_filter_range &= point_in_range(t, 3 * c) & point_in_range(t, 9 + 3 * c)
        n_exact += triangle_triangle_distance(t, np.int64(in_filter_range)) >= EXACT
        distances[i] = t[DISTANCE]
        if len(points) > 0:
            for k in range(6):
                points[i, k] = t[POINTS + k]
    return n_exact


@overload
def within(a: QueryBody, b: QueryBody, tolerance: float, *, points: Literal[True]) -> PointPairs: ...


@overload
def within(a: QueryBody, b: QueryBody, tolerance: float, *, points: bool = ...) -> DistancePairs: ...


@overload
def within(a: BodyGroup, b: QueryBody, tolerance: float, *, points: bool = ...) -> SceneDistancePairs: ...


@overload
def within(a: QueryBody, b: BodyGroup, tolerance: float, *, points: bool = ...) -> SceneDistancePairs: ...


def within(a: QueryBody | BodyGroup, b: QueryBody | BodyGroup, tolerance: float, *,
           points: bool = False) -> DistancePairs | SceneDistancePairs:
    """All pairs of faces of two bodies within a tolerance of each other, sorted, with their `distances`.

    Parameters
    ----------
    a, b : the bodies. One may be a `Scene`: then the pairs of the other with all bodies of the scene, as `ScenePairs`
    tolerance : a finite number, 0 or more
    points : add the closest `points` (2, 3) of each pair, one on each face

    Distances are those of `distance`; with a tolerance of 0 the pairs are those of `collide`.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> pairs = pl.within(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]), 2.5)
    >>> pairs.faces.tolist(), pairs.distances.tolist()
    ([[0, 0]], [2.0])
    """
    tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
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
    return within_validated(a, b, tolerance, points)


@overload
def self_within(body: QueryBody, tolerance: float, *, points: Literal[True]) -> PointPairs: ...


@overload
def self_within(body: QueryBody, tolerance: float, *, points: bool = ...) -> DistancePairs: ...


def self_within(body: QueryBody, tolerance: float, *, points: bool = False) -> DistancePairs:
    """All pairs of non-adjacent faces of a body within a tolerance of each other; the lower index is first in each pair.

    Parameters
    ----------
    body : a `Body`. Faces are adjacent if they share a vertex by index; with `Body(…, weld=True)` also vertices at the same position
    tolerance, points : as for `within`

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_within(stack, 1.5).distances.tolist()
    [1.0]
    """
    tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
    check_body("body", body)
    return self_within_validated(body, tolerance, points)


def within_validated(a, b, tolerance, points):
    """`within` after all checks."""
    with workspace() as space, ReadLock(a._guard, b._guard):
        setup = set_up_near_pair(space, a, b, tolerance)
        if setup is None:
            return pairs_in_tolerance(a, b, np.empty((0, 2), np.int32), Stats(), tolerance, points)
        max_tolerance = MAX_TOLERANCE / setup.scale
        if tolerance > max_tolerance and joint_extent(a, b) > max_tolerance / 4:
            return pairs_in_tolerance(a, b, all_pairs(len(a.faces), len(b.faces), tolerance), Stats(), tolerance, points)
        visitor, stretch, error = near_visitor(setup), max_stretch(setup.transform_a), distance_error(a, b)
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
        scale, stretch, error = body._motion.scale, max_stretch(body._matrix), distance_error(body, body)
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
    m = len(pairs)
    if m > MEMORY_CHECK_PAIRS and not memory.fits_in_memory(BYTES_PER_PAIR * m):
        raise TooManyPairsError(f"{m:,} pairs may be within {tolerance}, and memory for their distances is not available; ask for less")
    distances, nearest_points = np.empty(m), np.empty((m if points else 0, 6))
    bodies = [(IDENTITY if body._matrix is None else body._matrix, body._motion.flat, body._welded_faces) for body in (a, b)]
    n_exact = sum(pool.map_chunks(m, PAIRS_PER_CHUNK, lambda begin,
                                  end: measure_pairs(pairs, *bodies[0], *bodies[1], begin, end, distances, nearest_points)))
    in_tolerance = distances <= tolerance
    touching = np.flatnonzero(distances == 0.0) if points else ()
    if len(touching):                                                   # a point that they have in common, twice
        nearest_points[touching] = np.tile(contacts_of([(pairs[touching], a, b)])["segments"][:, 0], 2)
    in_range, work = pairs[in_tolerance], stats + Stats(n_exact=n_exact)
    if not points:
        return DistancePairs(in_range, work, distances=distances[in_tolerance])
    return PointPairs(in_range, work, distances=distances[in_tolerance], points=nearest_points[in_tolerance].reshape(-1, 2, 3))


def pairs_within(bodies: dict[int, Any], id_pairs: NDArray[np.int64], tolerance: float, points: bool) -> SceneDistancePairs:
    """What is within the tolerance, of these pairs (p, 2) of ids, sorted; the same twice: a body and itself."""
    found = [self_within_validated(bodies[i], tolerance, points) if i == j
             else within_validated(bodies[i], bodies[j], tolerance, points)
             for i, j in id_pairs.tolist()]
    faces = np.concatenate([np.empty((0, 2), np.int32), *(pairs.faces for pairs in found)])
    distances = np.concatenate([np.empty(0), *(pairs.distances for pairs in found)])
    ends = np.concatenate([np.empty((0, 2, 3)), *(pairs.points for pairs in found)]) if points else None
    counters = np.array([pairs.stats for pairs in found], np.int64).reshape(-1, len(Stats()))
    return SceneDistancePairs(np.repeat(id_pairs, [len(pairs) for pairs in found], axis=0), faces, Stats(*counters.sum(0).tolist()),
                              id_pairs, counters, distances=distances, points=ends)
