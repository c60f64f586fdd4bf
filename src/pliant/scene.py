"""Scenes: which faces of which of many bodies intersect? A broad phase over boxes, then BVHs, pair by pair.

The boxes come from the bodies' updates and cost nothing; a body whose box overlaps no other is never refitted. The result for a pair of
bodies of which neither has moved since the last query is cached.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.body import Body
from pliant.broadphase.sweep import SweepAndPrune
from pliant.core import validate
from pliant.core.threads import ReadWriteLock
from pliant.query.collide.narrow_phase import (
    PairResults,
    can_batch,
    collide_batched,
    concat_results,
    empty_results,
    world_boxes,
    wrap_pairs,
)
from pliant.query.collide.self_collide import ADJACENT_MODES, self_collide_validated
from pliant.query.collide.two_bodies import collide_validated
from pliant.query.options import DEFAULT_TRAVERSAL, Traversal, check_traversal
from pliant.query.proximity.distance import box_gaps, nearest_bodies
from pliant.query.proximity.within import pairs_within
from pliant.query.scheduler import deadline, time_is_up, workspace
from pliant.results import Distance, ScenePairs, Stats

P = ParamSpec("P")
R = TypeVar("R")
EACH_PAIR = "each"                                                      # one pair of faces for each two bodies that intersect


class _Member(NamedTuple):
    """A body of a scene: its slot in the broad phase, its group, the box that the user guarantees, and the mask of rays that
    see it."""
    body: Body
    slot: int
    group: str | None
    box: NDArray[np.float64] | None
    mask: int


class _Options(NamedTuple):
    """Options of a scene query, and its deadline."""
    first: bool | str
    contacts: bool
    adjacent: str
    traversal: Traversal
    deadline: float | None

    @property
    def answer_key(self) -> tuple[Any, ...]:
        """The options that the answer depends on."""
        return self.first, self.contacts, self.adjacent


class _CachedAnswer(NamedTuple):
    """The last answer, its options, and its pairs (p, 2) of ids, sorted."""
    answer_key: tuple[Any, ...]
    tested: NDArray[np.int64]
    found: PairResults


def _synchronized(method: Callable[Concatenate[Scene, P], R]) -> Callable[Concatenate[Scene, P], R]:
    """Serialize a method that reads or writes the tables of a scene: members, the broad phase, the last answer."""
    @wraps(method)
    def locked(self: Scene, /, *args: P.args, **options: P.kwargs) -> R:
        with self._guard.refit_lock:
            return method(self, *args, **options)
    return locked


class Scene:
    """Bodies that may intersect each other. Add and remove them at any time; ids are never reused.

    Update the bodies as usual, then query. A query may or may not see an update that runs at the same time. Several threads may use one
    scene; their calls take turns, each with as many threads as there are.

    >>> import pliant as pl
    >>> corners, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> scene = pl.Scene([pl.Body.rigid(corners, faces), pl.Body.rigid(corners, faces)])
    >>> scene[1].update([[1, 0, 0, 0.2], [0, 1, 0, 0.2], [0, 0, 1, 0.2]])
    >>> pairs = scene.collide()
    >>> pairs.bodies[0].tolist(), pairs.faces.tolist()
    ([0, 1], [[3, 0], [3, 1], [3, 2]])
    """

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self._guard = ReadWriteLock()
        self._members: dict[int, _Member] = {}
        self._id_of_slot: list[int] = []                                # of each slot; −1: free
        self._free_slots: list[int] = []
        self._next_id = 0
        self._slots_reused = False                                      # a slot was used twice: ids are not in the order of slots
        self._sweep, self._stale_bodies = SweepAndPrune(), set[Body]()  # stale: bodies that the broad phase has yet to read
        self._last_answer: _CachedAnswer | None = None
        self._moved_ids: set[int] = set()                               # ids of bodies that have moved since the last answer
        self._id_of: dict[Body, int] = {}
        self._fixed_box_slots: set[int] = set()                         # slots whose box was given, once the broad phase has it
        self._ignored: set[tuple[Hashable, Hashable]] = set()
        self._groups: set[str] = set()                                  # of all bodies ever added, whether or not they are still here
        for body in bodies:
            self.add(body)

    # --- members -------------------------------------------------------------------------------------------------------------

    @_synchronized
    def add(self, body: Body, *, group: str | None = None, box: ArrayLike | None = None, mask: int = 0xFFFFFFFF) -> int:
        """Add a body; returns its id. `group` is a name for `ignore`. `box` (2, 3), low and high corner, is one that the body will never
        leave: the broad phase then skips its updates. Rays see the body if their mask shares a bit with its own."""
        validate.check_body("body", body)
        if body in self._id_of:
            raise ValueError(f"body: is already in the scene, with id {self._id_of[body]}")
        if group is not None and not isinstance(group, str):
            raise TypeError(f"group: expected a name, got {type(group).__name__} {group!r}")
        bounds, mask_bits = None if box is None else validate.box("box", box), validate.integer("mask", mask, range(1 << 63))
        self._slots_reused |= bool(self._free_slots)
        slot = self._free_slots.pop() if self._free_slots else len(self._id_of_slot)
        if slot == len(self._id_of_slot):
            self._id_of_slot.append(-1)
        number = self._id_of_slot[slot] = self._next_id
        self._next_id += 1
        self._members[number], self._id_of[body] = _Member(body, slot, group, bounds, mask_bits), number
        if group is not None:
            self._groups.add(group)
        body.observers = (*body.observers, self)
        self._stale_bodies.add(body)
        return number

    @_synchronized
    def remove(self, number: int) -> None:
        """Take a body out of the scene."""
        member = self._member("number", number)
        self._sweep.remove(np.array([member.slot]))
        self._id_of_slot[member.slot] = -1
        self._fixed_box_slots.discard(member.slot)
        self._free_slots.append(member.slot)
        member.body.observers = tuple(scene for scene in member.body.observers if scene is not self)
        self._stale_bodies.discard(member.body)
        del self._members[number], self._id_of[member.body]
        self._moved_ids.discard(number)
        self._ignored = {pair for pair in self._ignored if number not in pair}

    @_synchronized
    def ignore(self, first: int | str, second: int | str) -> None:
        """Never report pairs between these two, each the id of a body or the name of a group that a body was added with; a group and
        itself: pairs of its bodies with each other; an id and itself: self-collisions of the body. The rule of a group also holds for
        bodies that are added to it later."""
        self._ignored.add(self._ignore_rule(first, second))

    @_synchronized
    def unignore(self, first: int | str, second: int | str) -> None:
        """Take an `ignore` back."""
        self._ignored.discard(self._ignore_rule(first, second))

    def __len__(self) -> int:
        """The number of bodies."""
        return len(self._members)

    def __iter__(self) -> Iterator[int]:
        """The ids, in the order in which bodies were added."""
        return iter(list(self._members))

    def __contains__(self, member: object) -> bool:
        """Is there a body with this id, or is this body in the scene?"""
        return member in self._id_of if isinstance(member, Body) else isinstance(member, Hashable) and member in self._members

    def __copy__(self) -> Scene:
        """Another scene of the same bodies, with the same ids, groups and rules."""
        return self._copy_with({number: member.body for number, member in self._members.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        """Another scene of copies of the bodies, with the same ids, groups and rules."""
        return self._copy_with({number: copy.deepcopy(member.body, memo) for number, member in self._members.items()})

    @_synchronized
    def _copy_with(self, bodies: dict[int, Body]) -> Scene:
        """A scene like this one, with these bodies for its ids."""
        scene = Scene()
        for number, body in bodies.items():
            member, scene._next_id = self._members[number], number
            scene.add(body, group=member.group, box=member.box, mask=member.mask)
        scene._next_id, scene._groups, scene._ignored = self._next_id, set(self._groups), set(self._ignored)
        return scene

    def __reduce__(self) -> str:
        raise TypeError("a Scene cannot be pickled; save its bodies, and make it again")

    def __getitem__(self, number: int) -> Body:
        """The body with this id."""
        return self._member("number", number).body

    def mark_stale(self, body: Body) -> None:
        """Note that a body of the scene has moved; bodies call this."""
        self._stale_bodies.add(body)

    @_synchronized
    def members_with_faces(self) -> tuple[list[Body], list[int], list[int]]:
        """For queries: bodies with faces, their ids and masks."""
        members = [(member.body, number, member.mask) for number, member in self._members.items() if len(member.body)]
        bodies, numbers, masks = zip(*members, strict=True) if members else ((), (), ())
        return list(bodies), list(numbers), list(masks)

    def _member(self, name: str, number: Any) -> _Member:
        member = self._members.get(int(number)) if isinstance(number, (int, np.integer)) and not isinstance(number, bool) else None
        if member is None:
            raise KeyError(f"{name}: no body of the scene has the id {number!r}")
        return member

    def _ignore_rule(self, first: Any, second: Any) -> tuple[Hashable, Hashable]:
        for name, value in (("first", first), ("second", second)):
            if not isinstance(value, str):
                self._member(name, value)
            elif value not in self._groups:
                group_names = ", ".join(map(repr, sorted(self._groups))) or "none"
                raise KeyError(f"{name}: no body was added with the group {value!r}; the groups are: {group_names}")
        a, b = sorted((first, second), key=lambda value: (isinstance(value, str), value))
        return a, b

    # --- queries ---------------------------------------------------------------------------------------------------------------

    @_synchronized
    def candidates(self) -> NDArray[np.int64]:
        """(p, 2) ids of bodies whose boxes overlap and that are not ignored, the lower one first, sorted."""
        self._refresh_sweep()
        pairs = np.array(self._id_of_slot, np.int64)[self._sweep.pairs()]
        if self._slots_reused:                                          # slots are not in the order of ids any more
            pairs = _sorted_rows(np.sort(pairs, axis=1))
        if self._ignored:
            pairs = pairs[[not self._is_ignored(i, j) for i, j in pairs.tolist()]]
        return pairs

    @_synchronized
    def collide(self, *, self_pairs: bool = False, adjacent: str = "exact", first: bool | str = False, contacts: bool = False,
                traversal: Traversal = DEFAULT_TRAVERSAL, budget_ms: float | None = None) -> ScenePairs:
        """All pairs of intersecting faces of different bodies; with `self_pairs` also those of each body with itself (`self_collide`).

        `first=True` stops at the first pair of faces; `first="each"` finds one for each two bodies that intersect. Which one may vary.
        `budget_ms`: stop about so many milliseconds after the call; `complete` says whether all pairs were tested, `unresolved` which pairs
            of
        bodies were not. The broad phase counts, but is not interrupted. The rest as for `collide` and `self_collide`.
        """
        time_limit = deadline(budget_ms)
        self_pairs, contacts = validate.flag("self_pairs", self_pairs), validate.flag("contacts", contacts)
        first = validate.choice("first", first, (EACH_PAIR,)) if isinstance(first, str) else validate.flag("first", first)
        check_traversal(traversal)
        options = _Options(first, contacts, validate.choice("adjacent", adjacent, ADJACENT_MODES), traversal, time_limit)
        tested, moved_ids = self.candidates(), frozenset(self._moved_ids)
        if self_pairs:
            ids = np.array([i for i in self._members if (i, i) not in self._ignored], np.int64).reshape(-1, 1)
            tested = _sorted_rows(np.concatenate([tested, np.repeat(ids, 2, axis=1)]))
        found = empty_results(contacts)
        if len(tested):
            found = (self._query_until_hit if first and first != EACH_PAIR else self._query_pairs)(
                tested, self._cached_rows(tested, options), options)
        tested = tested[:len(found.ends)]
        arrays, counters = dict(found.arrays), found.counters
        self._last_answer = _CachedAnswer(options.answer_key, tested.copy(),
                                          found._replace(arrays={name: array.copy() for name, array in arrays.items()}))
        self._moved_ids -= moved_ids                                    # the caller may write to the returned arrays: hence the copies
        complete = bool(found.complete.all()) or bool(first and first != EACH_PAIR and found.counts.any())
        return ScenePairs(np.repeat(tested, found.counts, axis=0), arrays.pop("faces"), Stats(*counters.sum(0).tolist()), tested, counters,
                          **arrays, complete=complete, unresolved=None if complete else tested[~found.complete])

    @_synchronized
    def distance(self) -> Distance:
        """The least distance between two bodies of the scene that are not ignored, as in `pliant.distance`; `bodies` has their ids."""
        ids = [number for number, member in self._members.items() if len(member.body)]
        pairs = [(i, j) for i, one in enumerate(ids) for j, other in enumerate(ids) if i < j and not self._is_ignored(one, other)]
        bodies = [self._members[number].body for number in ids]
        return nearest_bodies(bodies, ids, bodies, ids, np.array(pairs, np.int64).reshape(-1, 2))

    @_synchronized
    def within(self, tolerance: float, *, self_pairs: bool = False, points: bool = False) -> ScenePairs:
        """All pairs of faces of different bodies within the tolerance of each other, as in `pliant.within`; with `self_pairs` also
        those of each body with itself (`self_within`)."""
        tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
        ids = sorted(number for number, member in self._members.items() if len(member.body))
        boxes = np.array([self._members[number].body.bounds for number in ids]).reshape(-1, 2, 3)
        first, second = np.nonzero(np.tril(box_gaps(boxes, boxes) <= tolerance, 0 if validate.flag("self_pairs", self_pairs) else -1).T)
        pairs = np.array(ids, np.int64)[np.stack([first, second], axis=1)] if ids else np.empty((0, 2), np.int64)
        tested = pairs[[(i, j) not in self._ignored if i == j else not self._is_ignored(i, j) for i, j in pairs.tolist()]]
        return pairs_within({number: self._members[number].body for number in ids}, tested.reshape(-1, 2), tolerance, points)

    def _query_until_hit(self, pairs: NDArray[np.int64], cached_rows: NDArray[np.int64], options: _Options) -> PairResults:
        """Query pairs of bodies, up to the first that has a pair of faces."""
        answers = []
        for k in range(len(pairs)):
            if time_is_up(options.deadline) and (cached_rows[k:] < 0).all():
                answers.append(empty_results(options.contacts, len(pairs) - k))
                break
            answers.append(self._cached_found(cached_rows[[k]]) if cached_rows[k] >= 0 else self._query_pair(pairs[k], options))
            if answers[-1].ends[-1]:
                break
        return concat_results(answers)

    def _query_pairs(self, pairs: NDArray[np.int64], cached_rows: NDArray[np.int64], options: _Options) -> PairResults:
        """Query all pairs of bodies: from the cache, in one call for all that can be batched, one by one for the rest."""
        answers, rows = [], []                                          # answers, and the rows of `pairs` that each is for
        if (cached_rows >= 0).any():
            rows.append(np.flatnonzero(cached_rows >= 0))
            answers.append(self._cached_found(cached_rows[cached_rows >= 0]))
        new = np.flatnonzero(cached_rows < 0)
        ids, body_rows = np.unique(pairs[new], return_inverse=True)
        body_rows, bodies = body_rows.reshape(-1, 2), [self._members[number].body for number in ids.tolist()]
        batch_ids = _batch_ids(bodies, options.traversal)[body_rows]
        batched = (batch_ids[:, 0] == batch_ids[:, 1]) & (batch_ids[:, 0] >= 0) & (body_rows[:, 0] != body_rows[:, 1])
        for batch_id in set(batch_ids[batched, 0].tolist()):
            in_batch = batched & (batch_ids[:, 0] == batch_id)
            found = collide_batched(bodies, body_rows[in_batch], options.traversal.full_sat, options.contacts, options.first == EACH_PAIR,
                                    options.deadline)
            if found is None:
                batched &= ~in_batch
            else:
                rows.append(new[in_batch])
                answers.append(found)
        single = new[~batched]
        for k, row in enumerate(single.tolist()):
            if time_is_up(options.deadline):
                rows.append(single[k:])
                answers.append(empty_results(options.contacts, len(single) - k))
                break
            rows.append(single[k:k + 1])
            answers.append(self._query_pair(pairs[row], options))
        return answers[0] if len(answers) == 1 else concat_results(answers).select(np.argsort(np.concatenate(rows)))

    def _query_pair(self, ids: NDArray[np.int64], options: _Options) -> PairResults:
        """The pairs of two bodies, or of one with itself; none after the deadline."""
        if time_is_up(options.deadline):
            return empty_results(options.contacts, 1)
        a, b = (self._members[number].body for number in ids.tolist())
        with workspace() as work:
            return wrap_pairs(self_collide_validated(work, a, options.adjacent, bool(options.first), options.contacts, options.deadline)
                              if a is b else
                              collide_validated(work, a, b, bool(options.first), options.contacts, options.traversal, options.deadline))

    def _cached_rows(self, queried: NDArray[np.int64], options: _Options) -> NDArray[np.int64]:
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

    def _update_sweep(self, moved: list[_Member]) -> None:
        boxes, slots, unchanged = world_boxes([member.body for member in moved]), np.array([member.slot for member in moved], np.int64), []
        new_fixed = set[int]()                                          # kept only when the broad phase has all of them
        for k, member in enumerate(moved):
            if member.box is not None:
                box = boxes[k]
                if _exceeds(box, member.box):                           # a transform makes boxes loose: use the vertices
                    box = np.stack([member.body.vertices.min(0), member.body.vertices.max(0)])
                if _exceeds(box, member.box):
                    raise ValueError(f"body {self._id_of[member.body]} has left the box it was added with: it is in {box.tolist()}, "
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

    def _is_ignored(self, i: int, j: int) -> bool:
        names = [[number] if (group := self._members[number].group) is None else [number, group] for number in (i, j)]
        return any(self._ignore_rule(p, q) in self._ignored for p in names[0] for q in names[1])


def _exceeds(box: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool((box[0] < other[0]).any() or (box[1] > other[1]).any())


def _sorted_rows(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows, sorted."""
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _batch_ids(bodies: list[Body], traversal: Traversal) -> NDArray[np.int64]:
    """Bodies with the same number can be queried in one call; −1: not batched."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault((body.options.volume_type.name, body.options.arity), len(numbers))
                     if not traversal.descend_larger and can_batch(body) else -1 for body in bodies], np.int64)
