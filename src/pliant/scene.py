"""Scenes: which faces of which of many bodies intersect? A broad phase over boxes, then BVHs, pair by pair.

The boxes come from the bodies' updates and cost nothing; a body whose box overlaps no other is never refitted. The result for a pair of
bodies of which neither has moved since the last query is cached.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.broadphase.sweep import SweepAndPrune
from pliant.core import validate
from pliant.core.sorting import distinct_values
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.query.collide.batch_task import world_boxes
from pliant.query.collide.many_pairs import collide_pair, collide_pairs, merge_results
from pliant.query.collide.pair_results import PairResults, concat_results, empty_results
from pliant.query.continuous.ends import end_vertices, moving
from pliant.query.continuous.many_bodies import scene_impacts, swept_boxes
from pliant.query.continuous.step_size import certified_step
from pliant.query.options import DEFAULT_TRAVERSAL, ManyOptions, Traversal, check_many_options
from pliant.query.proximity.box_gaps import pairs_of_one
from pliant.query.proximity.many_pairs import NearestBodies, nearest_of_groups, nearest_of_pairs, pairs_within
from pliant.query.ray.cast import bodies_of
from pliant.query.scheduler import deadline, time_is_up, workspace
from pliant.results import Distance, SceneContactPairs, SceneDistancePairs, SceneImpacts, ScenePairs, Stats
from pliant.scene_members import Member, MemberLike, SceneMembers, synchronized
from pliant.typing import Adjacent, BodyEnd

R = TypeVar("R")

OUTSIDE = -1                                                            # the id of a body that is not in the scene


class _CachedAnswer(NamedTuple):
    """The last answer, its options, and its pairs (p, 2) of ids, sorted."""
    answer_key: tuple[Any, ...]
    tested: NDArray[np.int64]
    found: PairResults


class Scene(SceneMembers):
    """Bodies that may intersect each other, with a broad phase. Bodies are added and removed at any time; ids are never reused.

    Parameters
    ----------
    bodies : bodies to add; their ids are 0, 1, 2, …

    Methods that take the id of a body also take its name or the body itself. Iterating gives the ids; `items()` gives ids and bodies.
    Update the bodies as usual, then query. A query may or may not see an update that runs at the same time. Several threads may use
    one scene; their calls take turns, and each call may use all threads.

    >>> import pliant as pl
    >>> corners, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> scene = pl.Scene([pl.Body.rigid(corners, faces), pl.Body.rigid(corners, faces)])
    >>> scene[1].update([[1, 0, 0, 0.2], [0, 1, 0, 0.2], [0, 0, 1, 0.2]])
    >>> pairs = scene.collide()
    >>> pairs.bodies[0].tolist(), pairs.faces.tolist()
    ([0, 1], [[3, 0], [3, 1], [3, 2]])
    """

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        super().__init__(bodies)
        self._last_answer: _CachedAnswer | None = None
        self._last_nearest: tuple[int, int] | None = None               # ids of the nearest bodies in the last query: the next starts there

    @synchronized
    def candidates(self) -> NDArray[np.int64]:
        """(p, 2) ids of bodies whose boxes overlap and that are not ignored, the lower one first, sorted."""
        self._refresh_sweep()
        slots = self._sweep.pairs()
        return self._ids_of_pairs(slots[self._counted(slots)] if self._ignored else slots)[0]

    def _close_pairs(self, distance: float, beyond: float = -1.0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(ids (p, 2) as those of `candidates`, gaps (p,)) of bodies whose boxes are at most `distance` apart, but more than `beyond`."""
        slots, gaps = self._sweep.close_pairs(distance)
        wanted = self._counted(slots) & (gaps > beyond)
        pairs, order = self._ids_of_pairs(slots[wanted])
        return pairs, gaps[wanted][order]

    def _ids_of_pairs(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp] | slice]:
        """(ids (p, 2), the lower one first, sorted, their order) of sorted pairs of slots."""
        pairs = np.array(self._id_of_slot, np.int64)[slots]
        if not self._slots_reused:                                      # else slots are not in the order of ids any more
            return pairs, slice(None)
        pairs.sort(axis=1)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return pairs[order], order

    @overload
    def collide(self, *, self_pairs: bool = ..., adjacent: Adjacent = ..., first: bool | Literal["each"] = ..., contacts: Literal[True],
                traversal: Traversal = ..., budget_ms: float | None = ...) -> SceneContactPairs: ...

    @overload
    def collide(self, *, self_pairs: bool = ..., adjacent: Adjacent = ..., first: bool | Literal["each"] = ..., contacts: bool = ...,
                traversal: Traversal = ..., budget_ms: float | None = ...) -> ScenePairs: ...

    def collide(self, *, self_pairs: bool = False, adjacent: Adjacent = "exact", first: bool | Literal["each"] = False,
                contacts: bool = False, traversal: Traversal = DEFAULT_TRAVERSAL, budget_ms: float | None = None) -> ScenePairs:
        """All pairs of intersecting faces of different bodies.

        Parameters
        ----------
        self_pairs : also the pairs of each body with itself, as in `self_collide`
        adjacent : as in `self_collide`
        first : True stops at the first pair of faces; "each" finds one for each two bodies that intersect. Which one may vary
        contacts : as in `collide`
        traversal : changes the work, not the result: see `Traversal`
        budget_ms : stop about so many milliseconds after the call; `complete` tells whether all pairs were tested, `unresolved` which pairs
            of bodies were not. The broad phase counts, but is not interrupted
        """
        time_limit = deadline(budget_ms)
        return self._collide_all(validate.flag("self_pairs", self_pairs),
                                 check_many_options(first, contacts, adjacent, traversal, time_limit))

    @synchronized
    def _collide_all(self, self_pairs: bool, options: ManyOptions) -> ScenePairs:
        """`collide` after all checks."""
        tested, moved_ids = self.candidates(), frozenset(self._moved_ids)
        if self_pairs:
            ids = np.array([i for i in self._members if (i, i) not in self._ignored], np.int64).reshape(-1, 1)
            tested = _sorted_rows(np.concatenate([tested, np.repeat(ids, 2, axis=1)]))
        query = self._query_until_hit if options.stops_early else self._query_pairs
        found = query(tested, self._cached_rows(tested, options), options) if len(tested) else empty_results(options.contacts)
        tested = tested[:len(found.ends)] if len(found.ends) < len(tested) else tested
        self._last_answer = _CachedAnswer(options.answer_key, tested.copy(),
                                          found._replace(arrays={name: array.copy() for name, array in found.arrays.items()}))
        self._moved_ids -= moved_ids                                    # the caller may write to the returned arrays: hence the copies
        return _scene_pairs(tested, found, options)

    @synchronized
    def _collide_body(self, body: Body, scene_first: bool, options: ManyOptions) -> ScenePairs:
        """For `pliant.collide(body, scene)`, or `(scene, body)`: the pairs of one body with those of the scene."""
        own_id, ids = self._partners(body)
        boxes = world_boxes([body, *(self._members[number].body for number in ids.tolist())])
        ids = ids[((boxes[0, 0] <= boxes[1:, 1]) & (boxes[1:, 0] <= boxes[0, 1])).all(axis=1)] if len(body) else ids[:0]
        bodies = [body, *(self._members[number].body for number in ids.tolist())]
        pairs, id_pairs = (np.stack([np.full(len(ids), one), others], axis=1)
                           for one, others in ((0, np.arange(1, len(bodies))), (own_id, ids)))
        if scene_first:
            pairs, id_pairs = pairs[:, ::-1], id_pairs[:, ::-1]
        if not options.stops_early:
            found = collide_pairs(bodies, np.ascontiguousarray(pairs), options) if len(pairs) else empty_results(options.contacts)
        else:
            parts = [empty_results(options.contacts)]
            for i, j in pairs.tolist():
                parts.append(collide_pair(bodies[i], bodies[j], options))
                if parts[-1].ends[-1]:
                    break
            found = concat_results(parts)
        return _scene_pairs(np.ascontiguousarray(id_pairs)[:len(found.ends)], found, options)

    @synchronized
    def _within_body(self, body: Body, scene_first: bool, tolerance: float, points: bool) -> SceneDistancePairs:
        """For `pliant.within(body, scene, tolerance)`, or `(scene, body, …)`."""
        own_id, ids = self._partners(body)
        bodies = [body, *(self._members[number].body for number in ids.tolist())]
        boxes = world_boxes(bodies).reshape(-1, 6)
        rows = pairs_of_one(boxes[:1], boxes[1:], tolerance) if len(body) else np.zeros(0, np.int64)
        pairs, id_pairs = (np.stack([np.full(len(rows), one), others[rows]], axis=1)
                           for one, others in ((0, np.arange(1, len(bodies))), (own_id, ids)))
        if scene_first:
            pairs, id_pairs = pairs[:, ::-1], id_pairs[:, ::-1]
        return pairs_within(bodies, np.ascontiguousarray(pairs), np.ascontiguousarray(id_pairs), tolerance, points)

    def _distance_between(self, a: Body | Scene, b: Body | Scene) -> Distance:
        """For `pliant.distance(a, b)`, of which one is this scene."""
        return nearest_of_groups(bodies_of(a, "a"), bodies_of(b, "b"))

    def _partners(self, body: Body) -> tuple[int, NDArray[np.int64]]:
        """The id of a body, OUTSIDE if it is not in the scene, and those of the bodies that it is tested with, ascending."""
        own_id = self._id_of.get(body, OUTSIDE)
        ids = np.array(sorted(number for number, member in self._members.items() if number != own_id and len(member.body)), np.int64)
        if own_id != OUTSIDE:
            slots = np.array([self._members[number].slot for number in ids.tolist()], np.int64)
            ids = ids[self._counted(np.stack([np.full(len(ids), self._members[own_id].slot), slots], axis=1))]
        return own_id, ids

    @synchronized
    def distance(self) -> Distance:
        """The smallest distance of two bodies of the scene that are not ignored, as in `pliant.distance`; `bodies` has their ids."""
        self._refresh_sweep()
        best, searched = NearestBodies(), -1.0
        if (pair := self._last_nearest) is not None and all(number in self._members for number in pair):
            first, second = (self._members[number] for number in pair)
            if self._counted(np.array([[first.slot, second.slot]]))[0]:
                best = best.with_pair(first.body, second.body, pair)
        radius = best.found.distance if best.is_known else self._sweep.larger_radius(-1.0)
        while searched < radius:                                        # the first pair found tells how far to look
            pairs, gaps = self._close_pairs(radius, searched)
            bodies, rows = self._bodies_of_pairs(pairs)
            best, searched = nearest_of_pairs(best, bodies, rows, pairs, gaps), radius
            radius = best.found.distance if best.is_known else self._sweep.larger_radius(radius)
        self._last_nearest = best.ids if best.is_known else None
        return best.result()

    @synchronized
    def within(self, tolerance: float, *, self_pairs: bool = False, points: bool = False) -> SceneDistancePairs:
        """All pairs of faces of different bodies within a tolerance of each other.

        tolerance, points : as for `pliant.within`
        self_pairs : also the pairs of each body with itself, as in `pliant.self_within`
        """
        tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
        self_pairs = validate.flag("self_pairs", self_pairs)
        self._refresh_sweep()
        tested = self._close_pairs(tolerance)[0]
        if self_pairs:
            own = [number for number, member in self._members.items() if len(member.body) and (number, number) not in self._ignored]
            tested = _sorted_rows(np.concatenate([tested, np.repeat(np.array(own, np.int64).reshape(-1, 1), 2, axis=1)]))
        return pairs_within(*self._bodies_of_pairs(tested), tested, tolerance, points)

    def ccd(self, ends: Mapping[MemberLike, BodyEnd], *, self_pairs: bool = False, first: bool = False,
            min_distance: float = 0.0) -> SceneImpacts:
        """All pairs of features of different bodies that touch while bodies move from their present states to others, and when first. The
        bodies stay as they are.

        Parameters
        ----------
        ends : {id, name or body: end}, an end as for `pliant.ccd`; all other bodies do not move
        self_pairs : also the pairs of each body with itself, as in `pliant.self_ccd`
        first, min_distance : as for `pliant.ccd`

        >>> import pliant as pl
        >>> floor = pl.Body([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
        >>> tip = pl.Body([[1, 1, 1], [1, 1, 2], [2, 1, 2]], [[0, 1, 2]])
        >>> impacts = pl.Scene([floor, tip]).ccd({tip: tip.vertices - [0, 0, 4]}, first=True)
        >>> impacts.bodies.tolist(), impacts.times.tolist()
        ([[0, 1]], [0.25])
        """
        first, min_distance = validate.flag("first", first), validate.number("min_distance", min_distance, 0.0)
        with workspace() as space:
            return self._move(ends, validate.flag("self_pairs", self_pairs), min_distance,
                              lambda bodies, pairs, ids: scene_impacts(space, bodies, pairs, ids, first, min_distance))

    def step_size(self, ends: Mapping[MemberLike, BodyEnd], *, self_pairs: bool = False, min_distance: float = 0.0,
                  check: bool = True) -> float:
        """The largest common step of all bodies, as in `pliant.step_size`, such that no two touch.

        Parameters
        ----------
        ends, self_pairs : as for `ccd`
        min_distance, check : as for `pliant.step_size`
        """
        min_distance, check = validate.number("min_distance", min_distance, 0.0), validate.flag("check", check)
        self_pairs = validate.flag("self_pairs", self_pairs)
        if check and self.collide(first=True, self_pairs=self_pairs):
            self._checked_ends(ends)
            return 0.0
        with workspace() as space:
            return self._move(ends, self_pairs, min_distance, lambda bodies, pairs, ids: certified_step(
                space, [(bodies[i], None if i == j else bodies[j]) for i, j in pairs.tolist()], min_distance))

    def _checked_ends(self, ends: Mapping[MemberLike, BodyEnd]) -> dict[int, Any]:
        """The end vertices of bodies, by id."""
        if not isinstance(ends, Mapping):
            raise ArgumentTypeError(f"ends: expected a dict {{id: end}}, got {type(ends).__name__}")
        checked: dict[int, Any] = {}
        for member, end in ends.items():
            number = self._id("ends", member)
            if number in checked:
                raise ArgumentError(f"ends: body {member!r} is named twice")
            checked[number] = end_vertices(f"ends: body {member!r}", self._members[number].body, end)
        return checked

    @synchronized
    def _move(self, ends: Mapping[MemberLike, BodyEnd], self_pairs: bool, min_distance: float, query: Callable[..., R]) -> R:
        """What `query` answers to (moving bodies, pairs (p, 2) of indices whose boxes overlap, ids)."""
        checked = self._checked_ends(ends)
        numbers = sorted(number for number, member in self._members.items() if len(member.body))
        members = [self._members[number] for number in numbers]
        with ReadLock(*(member.body._guard for member in members)):
            bodies = [moving(member.body, checked.get(number)) for number, member in zip(numbers, members, strict=True)]
            sweep = SweepAndPrune()
            sweep.set(np.arange(len(bodies)), swept_boxes(bodies, min_distance))
            pairs = sweep.pairs() if bodies else np.zeros((0, 2), np.int64)
            slots, ids = np.array([member.slot for member in members], np.int64), np.array(numbers, np.int64)
            pairs = pairs[self._counted(slots[pairs])]
            if self_pairs:
                own = [k for k, number in enumerate(numbers) if (number, number) not in self._ignored]
                pairs = _sorted_rows(np.concatenate([pairs, np.repeat(np.array(own, np.int64).reshape(-1, 1), 2, axis=1)]))
            return query(bodies, pairs, ids)

    def _bodies_of_pairs(self, pairs: NDArray[np.int64]) -> tuple[list[Body], NDArray[np.int64]]:
        """(bodies, pairs (p, 2) of indices into them) of pairs of ids."""
        ids, places = distinct_values(pairs, self._next_id)
        return [self._members[number].body for number in ids.tolist()], places

    def _query_until_hit(self, pairs: NDArray[np.int64], cached_rows: NDArray[np.int64], options: ManyOptions) -> PairResults:
        """Query pairs of bodies, up to the first that has a pair of faces."""
        answers = []
        for k in range(len(pairs)):
            if time_is_up(options.deadline) and (cached_rows[k:] < 0).all():
                answers.append(empty_results(options.contacts, len(pairs) - k))
                break
            answers.append(self._cached_found(cached_rows[[k]]) if cached_rows[k] >= 0 else
                           collide_pair(self._members[pairs[k, 0]].body, self._members[pairs[k, 1]].body, options))
            if answers[-1].ends[-1]:
                break
        return concat_results(answers)

    def _query_pairs(self, pairs: NDArray[np.int64], cached_rows: NDArray[np.int64], options: ManyOptions) -> PairResults:
        """Query all pairs of bodies: from the cache, or in a narrow phase for all others."""
        answers, rows = [], []                                          # answers, and the rows of `pairs` that each is for
        is_new = cached_rows < 0
        if is_new.all():
            return collide_pairs(*self._bodies_of_pairs(pairs), options)
        known, new = np.flatnonzero(~is_new), np.flatnonzero(is_new)
        if len(known):
            rows.append(known)
            answers.append(self._cached_found(cached_rows[known]))
        if len(new):
            rows.append(new)
            answers.append(collide_pairs(*self._bodies_of_pairs(pairs[new]), options))
        return merge_results(answers, rows, options.contacts)

    def _cached_rows(self, queried: NDArray[np.int64], options: ManyOptions) -> NDArray[np.int64]:
        """For each pair of bodies its row in the last answer, if neither has moved since and it is complete; −1: query."""
        last, rows = self._last_answer, np.full(len(queried), -1)
        if last is None or last.answer_key != options.answer_key or not len(last.tested) or len(self._moved_ids) == len(self._members):
            return rows
        last_keys, keys = (pairs[:, 0] << 32 | pairs[:, 1] for pairs in (last.tested, queried))
        has_moved = np.isin(queried, list(self._moved_ids)).any(axis=1)
        at = np.minimum(np.searchsorted(last_keys, keys), len(last_keys) - 1)
        reusable = (last_keys[at] == keys) & ~has_moved & last.found.complete[at]
        rows[reusable] = at[reusable]
        return rows

    def _cached_found(self, rows: NDArray[np.int64]) -> PairResults:
        """These rows of the last answer, with zero counters."""
        assert self._last_answer is not None
        found = self._last_answer.found.select(rows)
        return found._replace(counters=np.zeros_like(found.counters))

    def _refresh_sweep(self) -> None:
        """Update the broad phase with the bodies that have moved."""
        stale = []
        while self._stale_bodies:                                       # one by one: others may be added meanwhile
            stale.append(self._stale_bodies.pop())
        try:
            numbers = sorted(self._id_of[body] for body in stale)
            self._update_sweep([self._members[number] for number in numbers if len(self._members[number].body)])
            self._moved_ids.update(numbers)
        except BaseException:
            self._stale_bodies.update(stale)
            raise

    def _update_sweep(self, moved: list[Member]) -> None:
        boxes, slots, unchanged = world_boxes([member.body for member in moved]), np.array([member.slot for member in moved], np.int64), []
        new_fixed = set[int]()                                          # kept only when the broad phase has all of them
        for k, member in enumerate(moved):
            if member.box is not None:
                box = boxes[k]
                if _exceeds(box, member.box):                           # a transform makes boxes loose: use the vertices
                    box = np.stack([member.body.vertices.min(0), member.body.vertices.max(0)])
                if _exceeds(box, member.box):
                    raise ArgumentError(f"body {self._id_of[member.body]} has left the box it was added with: it is in {box.tolist()}, "
                                     f"the box is {member.box.tolist()}; remove it and add it with a larger one, or without")
                boxes[k] = member.box
                if member.slot in self._fixed_box_slots:
                    unchanged.append(k)
                new_fixed.add(member.slot)
        if unchanged:
            slots, boxes = np.delete(slots, unchanged), np.delete(boxes, unchanged, axis=0)
        if len(slots):
            self._sweep.set(slots, boxes.reshape(-1, 6))
        self._fixed_box_slots |= new_fixed


def _scene_pairs(tested: NDArray[np.int64], found: PairResults, options: ManyOptions) -> ScenePairs:
    """The ScenePairs of these pairs (p, 2) of ids."""
    arrays, counts = dict(found.arrays), found.counts
    complete = bool(found.complete.all()) or (options.stops_early and bool(counts.any()))
    return (SceneContactPairs if options.contacts else ScenePairs)(
        tested.repeat(counts, axis=0), arrays.pop("faces"), Stats(*found.counters.sum(axis=0).tolist()), tested, found.counters,
        unresolved=None if complete else tested[~found.complete], complete=complete, **arrays)


def _exceeds(box: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool((box[0] < other[0]).any() or (box[1] > other[1]).any())


def _sorted_rows(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows, sorted."""
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
