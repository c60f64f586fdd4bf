"""Distances of many pairs of bodies, as scenes query them: in one call for all that can be batched (`query/proximity/batch.py`), one by one
for the rest."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core.jit import ignore_float_errors
from pliant.query.collide.batch_task import world_boxes
from pliant.query.collide.many_pairs import merge_results
from pliant.query.collide.narrow_phase import batch_rows, batch_types, query_batch
from pliant.query.collide.pair_results import PairResults
from pliant.query.proximity.batch import NO_RANK, NearestTask, WithinTask
from pliant.query.proximity.box_gaps import cross_pairs, nearest_boxes
from pliant.query.proximity.distance import distance_validated, no_distance
from pliant.query.proximity.far_field import FAR_RATIO, far_apart
from pliant.query.proximity.within import MAX_TOLERANCE, self_within_validated, within_validated
from pliant.results import Distance, SceneDistancePairs, Stats

FIRST_CHUNK, CHUNK_GROWTH = 1 << 8, 4                                   # pairs of bodies of the first batch; how batches grow
NO_BODIES = (-1, -1)


# --- within a tolerance ----------------------------------------------------------------------------------------------------------------

def pairs_within(bodies: list[Any], pairs: NDArray[np.int64], id_pairs: NDArray[np.int64], tolerance: float,
                 points: bool) -> SceneDistancePairs:
    """What is within the tolerance, of these pairs (p, 2) of indices into `bodies`, sorted; the same twice: a body and itself. `id_pairs`
    are their ids."""
    parts, rows, batched = [], [], np.zeros(len(pairs), np.bool_)
    task = WithinTask(tolerance, points)
    for batch in batch_rows(batch_types(bodies), pairs) if tolerance <= MAX_TOLERANCE else []:
        found = query_batch(bodies, pairs[batch], task)
        if found is not None:
            parts.append(found)
            rows.append(batch)
            batched[batch] = True
    for row in np.flatnonzero(~batched).tolist():
        parts.append(_within_one_pair(*(bodies[k] for k in pairs[row].tolist()), tolerance, points))
        rows.append(np.array([row]))
    if not parts:
        parts, rows = [_no_pairs(points)], [np.zeros(0, np.intp)]
    found = merge_results(parts, rows, False)
    return SceneDistancePairs(np.repeat(id_pairs, found.counts, axis=0), found.arrays["faces"], Stats(*found.counters.sum(0).tolist()),
                              id_pairs, found.counters, distances=found.arrays["distances"], points=found.arrays.get("points"))


def _within_one_pair(a: Any, b: Any, tolerance: float, points: bool) -> PairResults:
    """The results of two bodies, or of one with itself."""
    found = self_within_validated(a, tolerance, points) if a is b else within_validated(a, b, tolerance, points)
    arrays = {"faces": found.faces, "distances": found.distances} | ({"points": found.points} if points else {})
    return PairResults(np.array([len(found)]), np.array([found.stats], np.int64), arrays, np.ones(1, np.bool_))


def _no_pairs(points: bool) -> PairResults:
    """The results of no bodies."""
    arrays = {"faces": np.empty((0, 2), np.int32), "distances": np.empty(0)} | ({"points": np.empty((0, 2, 3))} if points else {})
    return PairResults(np.zeros(0, np.int64), np.zeros((0, len(Stats())), np.int64), arrays, np.zeros(0, np.bool_))


# --- the nearest pair ------------------------------------------------------------------------------------------------------------------

class NearestBodies(NamedTuple):
    """The nearest two bodies so far, and the work: `found` is their Distance, `ids` those of both. Of several that are as near the smallest
    ids count."""
    found: Distance = no_distance()
    ids: tuple[int, int] = NO_BODIES
    stats: Stats = Stats()

    @property
    def is_known(self) -> bool:
        """Has a pair been found?"""
        return bool(self.found.faces[0] >= 0)

    @property
    def rank(self) -> int:
        """What decides between pairs of bodies that are as near."""
        return _rank(*self.ids) if self.is_known else NO_RANK

    def result(self) -> Distance:
        """What the user gets."""
        found = self.found
        return Distance(found.distance, found.points, found.faces, self.stats, np.array(self.ids, np.int64))

    def with_pair(self, a: Any, b: Any, ids: tuple[int, int]) -> NearestBodies:
        """Also of these two bodies."""
        found = distance_validated(a, b, self.found.distance)
        nearer = found.faces[0] >= 0 and (found.distance, _rank(*ids)) < (self.found.distance, self.rank)
        return NearestBodies(found, ids, self.stats + found.stats) if nearer else self._replace(stats=self.stats + found.stats)


def _rank(first_id: Any, second_id: Any) -> Any:
    """One number for two ids, in their order; an id may be −1."""
    return (first_id << 32) + second_id


def nearest_of_pairs(best: NearestBodies, bodies: list[Any], pairs: NDArray[np.int64], id_pairs: NDArray[np.int64],
                     gaps: NDArray[np.float64]) -> NearestBodies:
    """The nearest two bodies of these pairs (p, 2) of indices into `bodies`, and of those before. `gaps` (p,) are lower bounds of their
    distances: the pairs are queried in the order of these, a growing number at a time, until the next gap is too large."""
    ranks = _rank(id_pairs[:, 0], id_pairs[:, 1])
    order = np.lexsort((ranks, gaps))
    pairs, id_pairs, gaps, ranks = pairs[order], id_pairs[order], gaps[order], ranks[order]
    begin, size, types = 0, FIRST_CHUNK, _distance_types(bodies)
    while begin < len(pairs) and (gaps[begin], ranks[begin]) < (best.found.distance, best.rank):
        chunk = slice(begin, begin + size)
        best = _nearest_of_chunk(best, bodies, types, pairs[chunk], id_pairs[chunk], gaps[chunk], ranks[chunk])
        begin, size = begin + size, CHUNK_GROWTH * size
    return best


def _distance_types(bodies: list[Any]) -> NDArray[np.int64]:
    """`batch_types`, without bodies whose policy wants to know how loose volumes are."""
    observed = np.array([body._bvh_at(body._motion.scale).looseness is not None for body in bodies], np.bool_)
    return np.where(observed, -1, batch_types(bodies))


def _nearest_of_chunk(best: NearestBodies, bodies: list[Any], types: NDArray[np.int64], pairs: NDArray[np.int64],
                      id_pairs: NDArray[np.int64], gaps: NDArray[np.float64], ranks: NDArray[np.int64]) -> NearestBodies:
    """`nearest_of_pairs` for a part of them, in order."""
    single, far_rows = np.ones(len(pairs), np.bool_), _far_rows(bodies, pairs, gaps)
    for batch in batch_rows(types, pairs):
        rows = np.setdiff1d(batch, far_rows, assume_unique=True)
        task = NearestTask(gaps[rows], ranks[rows], best.found.distance, best.rank)
        found = query_batch(bodies, pairs[rows], task) if len(rows) else None
        if found is None:
            continue
        single[rows] = False
        best = best._replace(stats=best.stats + Stats(*found.counters.sum(0).tolist()))
        if task.best is not None:
            nearest = task.best
            distance = Distance(nearest.distance, nearest.points.reshape(2, 3), nearest.faces, Stats())
            best = best._replace(found=distance, ids=tuple(id_pairs[rows[nearest.row]].tolist()))
    for row in np.flatnonzero(single).tolist():
        if (gaps[row], ranks[row]) < (best.found.distance, best.rank):
            i, j = pairs[row].tolist()
            best = best.with_pair(bodies[i], bodies[j], tuple(id_pairs[row].tolist()))
    return best


def _far_rows(bodies: list[Any], pairs: NDArray[np.int64], gaps: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rows of the pairs that are `far_apart`, which have a search of their own."""
    rows = np.flatnonzero(gaps > 0.0)
    used, places = np.unique(pairs[rows], return_inverse=True)
    boxes = world_boxes([bodies[k] for k in used.tolist()])
    with np.errstate(over="ignore"):
        sizes = (boxes[:, 1] - boxes[:, 0]).max(axis=1)[places.reshape(-1, 2)].max(axis=1)
        suspects = rows[gaps[rows] > 0.5 * FAR_RATIO * sizes]           # half: a gap has been rounded down
    return np.array([row for row in suspects.tolist() if far_apart(*(bodies[k] for k in pairs[row].tolist()))], np.intp)


def nearest_of_groups(group: tuple[list[Any], list[int], Any], other: tuple[list[Any], list[int], Any]) -> Distance:
    """The nearest body of one group and of another, (bodies, ids, …) each; a body that is in both is not compared with itself. The pair
    with the nearest boxes is queried first: then only pairs count whose boxes are nearer than its faces."""
    (bodies, ids, _), (others, other_ids, _) = group, other
    numbers = {body: k for k, body in enumerate([*bodies, *others])}
    sides = [(world_boxes(side).reshape(-1, 6), np.array([numbers[body] for body in side], np.int64)) for side in (bodies, others)]
    nearest, best = np.empty(2, np.int64), NearestBodies()
    with ignore_float_errors():
        nearest_boxes(*sides[0], *sides[1], nearest)
    if nearest[0] >= 0:
        i, j = nearest.tolist()
        best = best.with_pair(bodies[i], others[j], (ids[i], other_ids[j]))
        pairs, gaps = cross_pairs(*sides[0], *sides[1], best.found.distance)
        id_pairs = np.stack([np.array(ids, np.int64)[pairs[:, 0]], np.array(other_ids, np.int64)[pairs[:, 1]]], axis=1)
        best = nearest_of_pairs(best, [*bodies, *others], pairs + np.array([0, len(bodies)]), id_pairs, gaps)
    return best.result()
