"""Many bodies, one question: which faces of which bodies meet? A broad phase over boxes, then trees, pair by pair.

The boxes come from the bodies' updates and cost nothing; a body whose box meets no other is never refitted. Whatever neither body of a pair
has touched since the last query is answered from memory.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.body import Body
from pliant.broadphase.sweep import Sweep
from pliant.core import check
from pliant.query.collide import DESCEND, SAT, How, between
from pliant.query.drive import workspace
from pliant.query.many import ask_many, possible
from pliant.query.selfcollide import ADJACENT, within
from pliant.results import Pairs, ScenePairs, Stats

CONTACTS = ("segments", "normals", "depths", "coplanar")


class _Member(NamedTuple):
    """A body of a scene: where the broad phase keeps its box, its group, and the box that the user vouches for."""
    body: Body
    slot: int
    group: Hashable
    box: NDArray[np.float64] | None


class _Options(NamedTuple):
    """How a scene is asked."""
    first: bool
    contacts: bool
    adjacent: str
    how: How

    def meaning(self, alone: bool) -> tuple[Any, ...]:
        """What of it an answer about two bodies, or one alone, depends on."""
        return self.first, self.contacts, self.adjacent if alone else None


class _Known(NamedTuple):
    """An answer, and what it was an answer to: how often each body had moved, and the options; nobody has heard a `new` one yet."""
    moves: tuple[int, int]
    options: tuple[Any, ...]
    pairs: Pairs
    new: bool


class Scene:
    """Bodies that may meet each other. Add and remove them at any time; ids are never used again.

    Update the bodies as ever, then ask. An update that runs while the scene is asked may or may not be seen.

    >>> import pliant as pl
    >>> corners, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> scene = pl.Scene([pl.Body.rigid(corners, faces), pl.Body.rigid(corners, faces)])
    >>> scene[1].update([[1, 0, 0, 0.2], [0, 1, 0, 0.2], [0, 0, 1, 0.2]])
    >>> pairs = scene.collide()
    >>> pairs.bodies[0].tolist(), pairs.faces.tolist()
    ([0, 1], [[3, 0], [3, 1], [3, 2]])
    """

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self._members: dict[int, _Member] = {}
        self._ids: list[int] = []                                       # of each slot; −1: free
        self._free: list[int] = []
        self._next = 0
        self._sweep, self._stale, self._known = Sweep(), set[Body](), dict[tuple[int, int], _Known]()
        self._id_of: dict[Body, int] = {}
        self._boxed: set[int] = set()                                   # slots whose box was given, and told to the broad phase
        self._ignored: set[tuple[Hashable, Hashable]] = set()
        for body in bodies:
            self.add(body)

    # --- who is in it --------------------------------------------------------------------------------------------------------

    def add(self, body: Body, *, group: str | None = None, box: ArrayLike | None = None) -> int:
        """Add a body; its id. `group` is a name for `ignore`. `box` (2, 3), low and high corner, is one that the body will never leave: the
        broad phase then need not follow its updates."""
        check.body("body", body)
        if body in self._id_of:
            raise ValueError(f"body: is already in the scene, with id {self._id_of[body]}")
        if group is not None and not isinstance(group, str):
            raise TypeError(f"group: expected a name, got {type(group).__name__} {group!r}")
        bounds = None if box is None else check.box("box", box)
        slot = self._free.pop() if self._free else len(self._ids)
        if slot == len(self._ids):
            self._ids.append(-1)
        number = self._ids[slot] = self._next
        self._next += 1
        self._members[number], self._id_of[body] = _Member(body, slot, group, bounds), number
        body.watchers = (*body.watchers, self)
        self._stale.add(body)
        return number

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
        self._known = {ids: known for ids, known in self._known.items() if number not in ids}
        self._ignored = {pair for pair in self._ignored if number not in pair}

    def ignore(self, first: int | str, second: int | str) -> None:
        """Never report pairs between these two, each the id of a body or the name of a group; a group and itself: pairs inside it."""
        self._ignored.add(self._rule(first, second))

    def heed(self, first: int | str, second: int | str) -> None:
        """Take an `ignore` back."""
        self._ignored.discard(self._rule(first, second))

    def __len__(self) -> int:
        """The number of bodies."""
        return len(self._members)

    def __iter__(self) -> Iterator[int]:
        """The ids, in the order in which bodies were added."""
        return iter(list(self._members))

    def __contains__(self, number: object) -> bool:
        return number in self._members

    def __getitem__(self, number: int) -> Body:
        """The body with this id."""
        return self._member("number", number).body

    def note(self, body: Body) -> None:
        """Called by a body of the scene that has moved."""
        self._stale.add(body)

    def _member(self, name: str, number: Any) -> _Member:
        member = self._members.get(int(number)) if isinstance(number, (int, np.integer)) and not isinstance(number, bool) else None
        if member is None:
            raise KeyError(f"{name}: no body of the scene has the id {number!r}")
        return member

    def _rule(self, first: Any, second: Any) -> tuple[Hashable, Hashable]:
        for name, value in (("first", first), ("second", second)):
            if not isinstance(value, str):
                self._member(name, value)
        a, b = sorted((first, second), key=lambda value: (isinstance(value, str), value))
        return a, b

    # --- the question ----------------------------------------------------------------------------------------------------------

    def candidates(self) -> NDArray[np.int64]:
        """(p, 2) ids of bodies whose boxes meet and that are not ignored, the lower one first, sorted."""
        self._follow()
        ids = np.array(self._ids, np.int64)
        pairs = np.sort(ids[self._sweep.pairs()], axis=1)
        if self._ignored:
            pairs = pairs[[not self._is_ignored(int(i), int(j)) for i, j in pairs]]
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]

    def collide(self, *, self_pairs: bool = False, adjacent: str = "exact", first: bool = False, contacts: bool = False,
                sat: str = "full", descend: str = "both") -> ScenePairs:
        """All pairs of faces of different bodies that meet; with `self_pairs` also those of each body with itself (`self_collide`).

        `first` stops at the first pair of faces; the rest as for `collide` and `self_collide`.
        """
        self_pairs, first, contacts = check.flag("self_pairs", self_pairs), check.flag("first", first), check.flag("contacts", contacts)
        how = How(check.choice("sat", sat, SAT) == "full", check.choice("descend", descend, DESCEND) == "larger")
        adjacent = check.choice("adjacent", adjacent, ADJACENT)
        asked = self.candidates()
        if self_pairs:
            ids = np.array([i for i in self._members if (i, i) not in self._ignored], np.int64).reshape(-1, 1)
            asked = np.concatenate([asked, np.repeat(ids, 2, axis=1)])
            asked = asked[np.lexsort((asked[:, 1], asked[:, 0]))]
        options = _Options(first, contacts, adjacent, how)
        if not first:
            self._ask_together(asked, options)
        found, counters = [], np.zeros((len(asked), len(Stats._fields)), np.int64)
        with workspace() as work:
            for k, (i, j) in enumerate(asked.tolist()):
                pairs, stats = self._ask(work, i, j, options)
                counters[k] = stats
                if pairs:
                    found.append(((i, j), pairs))
                    if first:
                        asked, counters = asked[:k + 1], counters[:k + 1]
                        break
        self._known = {ids: self._known[ids] for ids in map(tuple, asked.tolist())}
        return _joined(found, asked, counters, contacts)

    def _ask_together(self, asked: NDArray[np.int64], options: _Options) -> None:
        """Ask about all pairs of bodies that can be asked in one call, and remember the answers."""
        groups: dict[Any, list[tuple[int, int]]] = {}
        for i, j in asked.tolist():
            a, b = self._members[i].body, self._members[j].body
            if i != j and not options.how.larger and possible(a, 1.0) and possible(b, 1.0) and self._recall(i, j, options) is None:
                kinds = a.options.family, a.options.arity, b.options.family, b.options.arity
                if kinds[:2] == kinds[2:]:
                    groups.setdefault(kinds, []).append((i, j))
        for group in groups.values():
            ids, places = np.unique(np.array(group, np.int64), return_inverse=True)
            bodies = [self._members[number].body for number in ids.tolist()]
            moves = [body.moves for body in bodies]
            places = places.reshape(-1, 2)
            answers = ask_many(bodies, places, options.contacts)
            for (i, j), (p, q), pairs in zip(group, places.tolist(), answers, strict=True):
                self._known[i, j] = _Known((moves[p], moves[q]), options.meaning(i == j), pairs, True)

    def _recall(self, i: int, j: int, options: _Options) -> _Known | None:
        """The answer about two bodies, if nothing has changed since."""
        known = self._known.get((i, j))
        moves = self._members[i].body.moves, self._members[j].body.moves
        return known if known is not None and known.moves == moves and known.options == options.meaning(i == j) else None

    def _ask(self, work: Any, i: int, j: int, options: _Options) -> tuple[Pairs, Stats]:
        """The pairs of two bodies, or of one with itself, and what they took."""
        a, b = self._members[i].body, self._members[j].body
        known = self._recall(i, j, options)
        if known is not None:
            if known.new:
                self._known[i, j] = known._replace(new=False)
            return known.pairs, known.pairs.stats if known.new else Stats()
        moves = a.moves, b.moves
        if a is b:
            pairs = within(work, a, options.adjacent, options.first, options.contacts)
        else:
            pairs = between(work, a, b, options.first, options.contacts, options.how)
        self._known[i, j] = _Known(moves, options.meaning(a is b), pairs, False)
        return pairs, pairs.stats

    def _follow(self) -> None:
        """Tell the broad phase who has moved."""
        stale = []
        while self._stale:                                              # one by one: others may be noted meanwhile
            stale.append(self._stale.pop())
        try:
            self._tell([self._members[self._id_of[body]] for body in sorted(stale, key=self._id_of.__getitem__) if len(body)])
        except BaseException:
            self._stale.update(stale)
            raise

    def _tell(self, moved: list[_Member]) -> None:
        slots, boxes = [], []
        for member in moved:
            box = member.body.box()
            if member.box is not None:
                if _outside(box, member.box):                           # a transform makes boxes loose: look at the vertices
                    box = np.stack([member.body.vertices.min(0), member.body.vertices.max(0)])
                if _outside(box, member.box):
                    raise ValueError(f"body {self._id_of[member.body]} has left the box it was added with: it is in {box.tolist()}, "
                                     f"the box is {member.box.tolist()}; remove it and add it with a larger one, or without")
                box = member.box
                if member.slot in self._boxed:
                    continue
                self._boxed.add(member.slot)
            slots.append(member.slot)
            boxes.append(box.reshape(6))
        if slots:
            self._sweep.set(np.array(slots), np.array(boxes))

    def _is_ignored(self, i: int, j: int) -> bool:
        names = [[number] if (group := self._members[number].group) is None else [number, group] for number in (i, j)]
        return any(self._rule(p, q) in self._ignored for p in names[0] for q in names[1])


def _outside(box: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool((box[0] < other[0]).any() or (box[1] > other[1]).any())


def _joined(found: list[Any], asked: NDArray[np.int64], counters: NDArray[np.int64], contacts: bool) -> ScenePairs:
    """One answer from those of pairs of bodies."""
    empty = {"faces": np.zeros((0, 2), np.int32), "segments": np.zeros((0, 2, 3)), "normals": np.zeros((0, 3)), "depths": np.zeros(0),
             "coplanar": np.zeros(0, np.bool_)}
    names = ("faces", *CONTACTS) if contacts else ("faces",)
    joined = {name: np.concatenate([empty[name], *(getattr(pairs, name) for _, pairs in found)]) for name in names}
    bodies = np.repeat(np.array([ids for ids, _ in found], np.int64).reshape(-1, 2), [len(pairs) for _, pairs in found], axis=0)
    return ScenePairs(bodies, joined.pop("faces"), Stats(*(int(n) for n in counters.sum(0))), asked, counters, **joined)
