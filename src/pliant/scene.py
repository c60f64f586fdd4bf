"""Many bodies, one question: which faces of which bodies meet? A broad phase over boxes, then trees, pair by pair.

The boxes come from the bodies' updates and cost nothing; a body whose box meets no other is never refitted. Whatever neither body of a pair
has touched since the last query is answered from memory.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.body import Body
from pliant.broadphase.sweep import Sweep
from pliant.core import validate
from pliant.core.threads import Guard
from pliant.query.budget import deadline, late
from pliant.query.collide.narrow_phase import Found, ask_many, boxes_of, found_in, joined, nothing, possible
from pliant.query.collide.self_collide import ADJACENT, within
from pliant.query.collide.two_bodies import DESCEND, SAT, How, between
from pliant.query.proximity.scene import gaps_of, near, nearest
from pliant.query.scheduler import workspace
from pliant.results import ScenePairs, Separation, Stats

P = ParamSpec("P")
R = TypeVar("R")
EACH = "each"                                                           # two bodies that meet: one pair of faces


class _Member(NamedTuple):
    """A body of a scene: where the broad phase keeps its box, its group, the box that the user vouches for, and
    which rays see it."""
    body: Body
    slot: int
    group: str | None
    box: NDArray[np.float64] | None
    mask: int


class _Options(NamedTuple):
    """How a scene is asked, and until when."""
    first: bool | str
    contacts: bool
    adjacent: str
    how: How
    until: float | None

    @property
    def meaning(self) -> tuple[Any, ...]:
        """What of it the answer depends on."""
        return self.first, self.contacts, self.adjacent


class _Told(NamedTuple):
    """The last answer, and to what: the options, and the pairs (p, 2) of ids, sorted."""
    meaning: tuple[Any, ...]
    tested: NDArray[np.int64]
    found: Found


def _one_at_a_time(method: Callable[Concatenate[Scene, P], R]) -> Callable[Concatenate[Scene, P], R]:
    """A method that reads or writes the tables of a scene: members, the broad phase, the last answer. Threads take turns."""
    @wraps(method)
    def locked(self: Scene, /, *args: P.args, **options: P.kwargs) -> R:
        with self._guard.refit:
            return method(self, *args, **options)
    return locked


class Scene:
    """Bodies that may meet each other. Add and remove them at any time; ids are never used again.

    Update the bodies as ever, then ask. An update that runs while the scene is asked may or may not be seen. Several threads may use one
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
        self._guard = Guard()
        self._members: dict[int, _Member] = {}
        self._ids: list[int] = []                                       # of each slot; −1: free
        self._free: list[int] = []
        self._next = 0
        self._shuffled = False                                          # a slot was used twice: ids are not in the order of slots
        self._sweep, self._stale = Sweep(), set[Body]()                 # stale: bodies that the broad phase has not heard of yet
        self._told: _Told | None = None
        self._moved: set[int] = set()                                   # ids of those that have moved since that was told
        self._id_of: dict[Body, int] = {}
        self._boxed: set[int] = set()                                   # slots whose box was given, and told to the broad phase
        self._ignored: set[tuple[Hashable, Hashable]] = set()
        self._groups: set[str] = set()                                  # that bodies were added with, whether or not these are still here
        for body in bodies:
            self.add(body)

    # --- who is in it --------------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def add(self, body: Body, *, group: str | None = None, box: ArrayLike | None = None, mask: int = 0xFFFFFFFF) -> int:
        """Add a body; its id. `group` is a name for `ignore`. `box` (2, 3), low and high corner, is one that the body will never leave: the
        broad phase then need not follow its updates. Rays see the body if their mask shares a bit with its own."""
        validate.body("body", body)
        if body in self._id_of:
            raise ValueError(f"body: is already in the scene, with id {self._id_of[body]}")
        if group is not None and not isinstance(group, str):
            raise TypeError(f"group: expected a name, got {type(group).__name__} {group!r}")
        bounds, bits = None if box is None else validate.box("box", box), validate.integer("mask", mask, range(1 << 63))
        self._shuffled |= bool(self._free)
        slot = self._free.pop() if self._free else len(self._ids)
        if slot == len(self._ids):
            self._ids.append(-1)
        number = self._ids[slot] = self._next
        self._next += 1
        self._members[number], self._id_of[body] = _Member(body, slot, group, bounds, bits), number
        if group is not None:
            self._groups.add(group)
        body.watchers = (*body.watchers, self)
        self._stale.add(body)
        return number

    @_one_at_a_time
    def remove(self, number: int) -> None:
        """Take a body out of the scene."""
        member = self._member("number", number)
        self._sweep.remove(np.array([member.slot]))
        self._ids[member.slot] = -1
        self._boxed.discard(member.slot)
        self._free.append(member.slot)
        member.body.watchers = tuple(scene for scene in member.body.watchers if scene is not self)
        self._stale.discard(member.body)
        del self._members[number], self._id_of[member.body]
        self._moved.discard(number)
        self._ignored = {pair for pair in self._ignored if number not in pair}

    @_one_at_a_time
    def ignore(self, first: int | str, second: int | str) -> None:
        """Never report pairs between these two, each the id of a body or the name of a group that a body was added with; a group and
        itself: pairs of its bodies with each other; an id and itself: self-collisions of the body. The rule of a group also holds for
        bodies that are added to it later."""
        self._ignored.add(self._rule(first, second))

    @_one_at_a_time
    def heed(self, first: int | str, second: int | str) -> None:
        """Take an `ignore` back."""
        self._ignored.discard(self._rule(first, second))

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
        return self._with({number: member.body for number, member in self._members.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> Scene:
        """Another scene of copies of the bodies, with the same ids, groups and rules."""
        return self._with({number: copy.deepcopy(member.body, memo) for number, member in self._members.items()})

    @_one_at_a_time
    def _with(self, bodies: dict[int, Body]) -> Scene:
        """A scene like this one, with other bodies for its ids."""
        scene = Scene()
        for number, body in bodies.items():
            member, scene._next = self._members[number], number
            scene.add(body, group=member.group, box=member.box, mask=member.mask)
        scene._next, scene._groups, scene._ignored = self._next, set(self._groups), set(self._ignored)
        return scene

    def __reduce__(self) -> str:
        raise TypeError("a Scene cannot be pickled; save its bodies, and make it again")

    def __getitem__(self, number: int) -> Body:
        """The body with this id."""
        return self._member("number", number).body

    def note(self, body: Body) -> None:
        """Called by a body of the scene that has moved."""
        self._stale.add(body)

    @_one_at_a_time
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

    def _rule(self, first: Any, second: Any) -> tuple[Hashable, Hashable]:
        for name, value in (("first", first), ("second", second)):
            if not isinstance(value, str):
                self._member(name, value)
            elif value not in self._groups:
                known = ", ".join(map(repr, sorted(self._groups))) or "none"
                raise KeyError(f"{name}: no body was added with the group {value!r}; the groups are: {known}")
        a, b = sorted((first, second), key=lambda value: (isinstance(value, str), value))
        return a, b

    # --- the question ----------------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def candidates(self) -> NDArray[np.int64]:
        """(p, 2) ids of bodies whose boxes meet and that are not ignored, the lower one first, sorted."""
        self._follow()
        pairs = np.array(self._ids, np.int64)[self._sweep.pairs()]
        if self._shuffled:                                # slots are not in the order of ids any more
            pairs = _in_order(np.sort(pairs, axis=1))
        if self._ignored:
            pairs = pairs[[not self._is_ignored(i, j) for i, j in pairs.tolist()]]
        return pairs

    @_one_at_a_time
    def collide(self, *, self_pairs: bool = False, adjacent: str = "exact", first: bool | str = False, contacts: bool = False,
                sat: str = "full", descend: str = "both", budget_ms: float | None = None) -> ScenePairs:
        """All pairs of faces of different bodies that meet; with `self_pairs` also those of each body with itself (`self_collide`).

        `first=True` stops at the first pair of faces; `first="each"` finds one for each two bodies that meet. Which one may vary.
        `budget_ms`: stop about so many milliseconds after the call; `complete` says whether all was looked at, `undecided` which pairs of
        bodies were not. The broad phase counts, but is not broken off. The rest as for `collide` and `self_collide`.
        """
        until = deadline(budget_ms)
        self_pairs, contacts = validate.flag("self_pairs", self_pairs), validate.flag("contacts", contacts)
        first = validate.choice("first", first, (EACH,)) if isinstance(first, str) else validate.flag("first", first)
        how = How(validate.choice("sat", sat, SAT) == "full", validate.choice("descend", descend, DESCEND) == "larger")
        options = _Options(first, contacts, validate.choice("adjacent", adjacent, ADJACENT), how, until)
        asked, moved = self.candidates(), frozenset(self._moved)
        if self_pairs:
            ids = np.array([i for i in self._members if (i, i) not in self._ignored], np.int64).reshape(-1, 1)
            asked = _in_order(np.concatenate([asked, np.repeat(ids, 2, axis=1)]))
        found = nothing(contacts)
        if len(asked):
            found = (self._ask_in_turn if first and first != EACH else self._ask)(asked, self._remembered(asked, options), options)
        asked = asked[:len(found.ends)]
        arrays, counters = dict(found.arrays), found.counters
        self._told = _Told(options.meaning, asked.copy(), found._replace(arrays={name: array.copy() for name, array in arrays.items()}))
        self._moved -= moved                                            # what is given away may be written to: hence the copies
        complete = bool(found.done.all()) or bool(first and first != EACH and found.counts.any())
        return ScenePairs(np.repeat(asked, found.counts, axis=0), arrays.pop("faces"), Stats(*counters.sum(0).tolist()), asked, counters,
                          **arrays, complete=complete, undecided=None if complete else asked[~found.done])

    @_one_at_a_time
    def distance(self) -> Separation:
        """The least distance between two bodies of the scene that are not ignored, as `pliant.distance`; `bodies` has their ids."""
        ids = [number for number, member in self._members.items() if len(member.body)]
        pairs = [(i, j) for i, one in enumerate(ids) for j, other in enumerate(ids) if i < j and not self._is_ignored(one, other)]
        bodies = [self._members[number].body for number in ids]
        return nearest(bodies, ids, bodies, ids, np.array(pairs, np.int64).reshape(-1, 2))

    @_one_at_a_time
    def within(self, tolerance: float, *, self_pairs: bool = False, points: bool = False) -> ScenePairs:
        """All pairs of faces of different bodies that are no farther apart than the tolerance, as `pliant.within`; with `self_pairs` also
        those of each body with itself (`self_within`)."""
        tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
        ids = sorted(number for number, member in self._members.items() if len(member.body))
        boxes = np.array([self._members[number].body.box() for number in ids]).reshape(-1, 2, 3)
        first, second = np.nonzero(np.tril(gaps_of(boxes, boxes) <= tolerance, 0 if validate.flag("self_pairs", self_pairs) else -1).T)
        pairs = np.array(ids, np.int64)[np.stack([first, second], axis=1)] if ids else np.empty((0, 2), np.int64)
        asked = pairs[[(i, j) not in self._ignored if i == j else not self._is_ignored(i, j) for i, j in pairs.tolist()]]
        return near({number: self._members[number].body for number in ids}, asked.reshape(-1, 2), tolerance, points)

    def _ask_in_turn(self, asked: NDArray[np.int64], known: NDArray[np.int64], options: _Options) -> Found:
        """Answers until one has a pair of faces."""
        parts = []
        for k in range(len(asked)):
            if late(options.until) and (known[k:] < 0).all():
                parts.append(nothing(options.contacts, len(asked) - k))
                break
            parts.append(self._recalled(known[[k]]) if known[k] >= 0 else self._ask_one(asked[k], options))
            if parts[-1].ends[-1]:
                break
        return joined(parts)

    def _ask(self, asked: NDArray[np.int64], known: NDArray[np.int64], options: _Options) -> Found:
        """All answers: from memory, in one call for all bodies that can be asked so, one by one for the rest."""
        parts, rows = [], []                                            # answers, and which pairs each is about
        if (known >= 0).any():
            rows.append(np.flatnonzero(known >= 0))
            parts.append(self._recalled(known[known >= 0]))
        new = np.flatnonzero(known < 0)
        ids, places = np.unique(asked[new], return_inverse=True)
        places, bodies = places.reshape(-1, 2), [self._members[number].body for number in ids.tolist()]
        kinds = _kinds(bodies, options.how)[places]
        alike = (kinds[:, 0] == kinds[:, 1]) & (kinds[:, 0] >= 0) & (places[:, 0] != places[:, 1])
        for kind in set(kinds[alike, 0].tolist()):
            some = alike & (kinds[:, 0] == kind)
            found = ask_many(bodies, places[some], options.how.full, options.contacts, options.first == EACH, options.until)
            if found is None:
                alike &= ~some
            else:
                rows.append(new[some])
                parts.append(found)
        single = new[~alike]
        for k, row in enumerate(single.tolist()):
            if late(options.until):
                rows.append(single[k:])
                parts.append(nothing(options.contacts, len(single) - k))
                break
            rows.append(single[k:k + 1])
            parts.append(self._ask_one(asked[row], options))
        return parts[0] if len(parts) == 1 else joined(parts).take(np.argsort(np.concatenate(rows)))

    def _ask_one(self, ids: NDArray[np.int64], options: _Options) -> Found:
        """The pairs of two bodies, or of one with itself; after the time, nothing."""
        if late(options.until):
            return nothing(options.contacts, 1)
        a, b = (self._members[number].body for number in ids.tolist())
        with workspace() as work:
            return found_in(within(work, a, options.adjacent, bool(options.first), options.contacts, options.until) if a is b else
                            between(work, a, b, bool(options.first), options.contacts, options.how, options.until))

    def _remembered(self, asked: NDArray[np.int64], options: _Options) -> NDArray[np.int64]:
        """The row of the last answer for each pair of bodies that have not moved since and that was answered in full; −1: ask."""
        told, rows = self._told, np.full(len(asked), -1)
        if told is None or told.meaning != options.meaning or not len(told.tested) or len(self._moved) == len(self._members):
            return rows
        before, now = (pairs[:, 0] << 32 | pairs[:, 1] for pairs in (told.tested, asked))
        moved = np.isin(asked, list(self._moved)).any(axis=1)
        at = np.minimum(np.searchsorted(before, now), len(before) - 1)
        same = (before[at] == now) & ~moved & told.found.done[at]
        rows[same] = at[same]
        return rows

    def _recalled(self, rows: NDArray[np.int64]) -> Found:
        """These rows of the last answer; they have cost nothing."""
        assert self._told is not None
        found = self._told.found.take(rows)
        return found._replace(counters=np.zeros_like(found.counters))

    def _follow(self) -> None:
        """Tell the broad phase who has moved."""
        stale = []
        while self._stale:                                              # one by one: others may be noted meanwhile
            stale.append(self._stale.pop())
        try:
            numbers = sorted(self._id_of[body] for body in stale)
            self._tell([self._members[number] for number in numbers if len(self._members[number].body)])
            self._moved.update(numbers)
        except BaseException:
            self._stale.update(stale)
            raise

    def _tell(self, moved: list[_Member]) -> None:
        boxes, slots, given = boxes_of([member.body for member in moved]), np.array([member.slot for member in moved], np.int64), []
        boxed = set[int]()                                              # known as such only when the broad phase has heard of all
        for k, member in enumerate(moved):
            if member.box is not None:
                box = boxes[k]
                if _outside(box, member.box):                           # a transform makes boxes loose: look at the vertices
                    box = np.stack([member.body.vertices.min(0), member.body.vertices.max(0)])
                if _outside(box, member.box):
                    raise ValueError(f"body {self._id_of[member.body]} has left the box it was added with: it is in {box.tolist()}, "
                                     f"the box is {member.box.tolist()}; remove it and add it with a larger one, or without")
                boxes[k] = member.box
                if member.slot in self._boxed:
                    given.append(k)
                boxed.add(member.slot)
        if given:
            slots, boxes = np.delete(slots, given), np.delete(boxes, given, axis=0)
        if len(slots):
            self._sweep.set(slots, boxes.reshape(-1, 6))
        self._boxed |= boxed

    def _is_ignored(self, i: int, j: int) -> bool:
        names = [[number] if (group := self._members[number].group) is None else [number, group] for number in (i, j)]
        return any(self._rule(p, q) in self._ignored for p in names[0] for q in names[1])


def _outside(box: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool((box[0] < other[0]).any() or (box[1] > other[1]).any())


def _in_order(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorted rows."""
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _kinds(bodies: list[Body], how: How) -> NDArray[np.int64]:
    """Bodies with the same number can be asked in one call; −1: alone."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault((body.options.family.name, body.options.arity), len(known))
                     if not how.larger and possible(body) else -1 for body in bodies], np.int64)
