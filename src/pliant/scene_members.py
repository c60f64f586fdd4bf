"""The bodies of a scene: ids, names, groups and rules of pairs that are not reported. `Scene` (`scene.py`) adds the queries."""
from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.body import Body
from pliant.broadphase.ignore_rules import IgnoreRules
from pliant.broadphase.sweep import SweepAndPrune
from pliant.core import validate
from pliant.core.threads import ReadWriteLock
from pliant.errors import ArgumentError, ArgumentTypeError, UnknownIdError
from pliant.query.ray.target_cache import RayTargetCache
from pliant.query.target import BodyGroup, check_body

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="SceneMembers")
MemberLike: TypeAlias = int | str | Body                                # how a body of a scene is named: its id, its name, itself


class Member(NamedTuple):
    """A body of a scene: its slot in the broad phase, its name, its group, the box that the user guarantees, and the mask of rays that
    see it."""
    body: Body
    slot: int
    name: str | None
    group: str | None
    box: NDArray[np.float64] | None
    mask: int


def synchronized(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Serialize a method that reads or writes the tables of a scene: members, the broad phase, the last answer."""
    @wraps(method)
    def locked(self: S, /, *args: P.args, **options: P.kwargs) -> R:
        with self._guard.refit_lock:
            return method(self, *args, **options)
    return locked


class SceneMembers(BodyGroup):
    """The bodies of a scene, and which pairs of them count."""

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        self._guard = ReadWriteLock()
        self._members: dict[int, Member] = {}
        self._id_of_slot: list[int] = []                                # of each slot; −1: free
        self._free_slots: list[int] = []
        self._next_id = 0
        self._slots_reused = False                                      # a slot was used twice: ids are not in the order of slots
        self._sweep, self._stale_bodies = SweepAndPrune(), set[Body]()  # stale: bodies that the broad phase has yet to read
        self._moved_ids: set[int] = set()                               # ids of bodies that have moved since the last answer
        self._id_of: dict[Body, int] = {}
        self._fixed_box_slots: set[int] = set()                         # slots whose box was given, once the broad phase has it
        self._ignored: set[tuple[Hashable, Hashable]] = set()
        self._ray_targets = RayTargetCache()
        self._with_faces: tuple[list[Body], list[int], list[int]] | None = None  # for `_members_with_faces`
        self._rules: IgnoreRules | None = None                          # `_ignored` as arrays, made when it is first needed
        self._groups: dict[str, int] = {}                               # numbers of groups, of all bodies ever added
        self._id_of_name: dict[str, int] = {}
        self._version = 0                                               # changes with every update of a body
        for body in bodies:
            self.add(body)

    @synchronized
    def add(self, body: Body, *, name: str | None = None, group: str | None = None, box: ArrayLike | None = None,
            mask: int = 0xFFFFFFFF) -> int:
        """Add a body; returns its id.

        Parameters
        ----------
        body : a `Body`; a scene has each body once
        name : a name for this body, accepted wherever an id is
        group : a name for several bodies, for `ignore`
        box : (2, 3), low and high corner of a box that the body will never leave: the broad phase then skips its updates
        mask : an integer; a ray tests the body if its own mask shares a bit with this one
        """
        check_body("body", body)
        if body in self._id_of:
            raise ArgumentError(f"body: is already in the scene, with id {self._id_of[body]}; body.copy() makes another")
        for word, value, others in (("name", name, self._groups), ("group", group, self._id_of_name)):
            if value is not None and not isinstance(value, str):
                raise ArgumentTypeError(f"{word}: expected a string, got {type(value).__name__} {value!r}")
            if value in others:
                raise ArgumentError(f"{word}: {value!r} is already the {'name of a group' if word == 'name' else 'name of a body'}")
        if name in self._id_of_name:
            raise ArgumentError(f"name: the scene has a body named {name!r} already, with id {self._id_of_name[str(name)]}")
        bounds, mask_bits = None if box is None else validate.box("box", box), validate.integer("mask", mask, range(1 << 63))
        self._slots_reused |= bool(self._free_slots)
        slot = self._free_slots.pop() if self._free_slots else len(self._id_of_slot)
        if slot == len(self._id_of_slot):
            self._id_of_slot.append(-1)
        number = self._id_of_slot[slot] = self._next_id
        self._next_id += 1
        self._members[number], self._id_of[body] = Member(body, slot, name, group, bounds, mask_bits), number
        if name is not None:
            self._id_of_name[name] = number
        if group is not None:
            self._groups.setdefault(group, len(self._groups))
        self._rules = self._with_faces = None
        body._observers = (*body._observers, self)
        self._mark_stale(body)
        return number

    @synchronized
    def remove(self, member: MemberLike) -> None:
        """Remove a body; its id is not used again.

        member : its id, its name or the body itself
        """
        number = self._id("member", member)
        body, slot, name, *_ = self._members[number]
        self._sweep.remove(np.array([slot]))
        self._id_of_slot[slot] = -1
        self._fixed_box_slots.discard(slot)
        self._free_slots.append(slot)
        body._observers = tuple(scene for scene in body._observers if scene is not self)
        self._stale_bodies.discard(body)
        del self._members[number], self._id_of[body]
        self._rules = self._with_faces = None
        self._ray_targets.clear()
        if name is not None:
            del self._id_of_name[name]
        self._moved_ids.discard(number)
        self._ignored = {pair for pair in self._ignored if number not in pair}
        self._version += 1

    @synchronized
    def update(self, states: Mapping[MemberLike, Any]) -> None:
        """Update several bodies in one call.

        states : {id, name or body: state}. A state is the argument of `Body.update` of that body: vertices, weights, maps or a
            matrix; or a dict of its keyword arguments

        All states are validated before the first body changes. If one is invalid, the error names it, and all bodies are unchanged.

        >>> import pliant as pl
        >>> scene, corners = pl.Scene(), [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
        >>> a = scene.add(pl.Body(corners, [[0, 1, 2]]), name="cloth")
        >>> b = scene.add(pl.Body.rigid(corners, [[0, 1, 2]]))
        >>> scene.update({"cloth": [[0, 0, 1], [1, 0, 1], [0, 1, 1]], b: {"transform": [[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]]}})
        >>> scene[a].vertices[0].tolist(), scene[b].vertices[0].tolist()
        ([0.0, 0.0, 1.0], [5.0, 0.0, 0.0])
        """
        if not isinstance(states, Mapping):
            raise ArgumentTypeError(f"states: expected a dict {{id: state}}, got {type(states).__name__}")
        checked: dict[int, Any] = {}
        for member, state in states.items():
            number = self._id("states", member)
            if number in checked:
                raise ArgumentError(f"states: body {member!r} is named twice")
            body = self._members[number].body
            try:
                checked[number] = body._check_update(**state) if isinstance(state, Mapping) else body._check_update(state)
            except (ValueError, TypeError) as error:
                kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
                raise kind(f"states: body {member!r}: {error}") from None
        for number, update in checked.items():
            self._members[number].body._apply(update)

    @synchronized
    def ignore(self, first: MemberLike, second: MemberLike) -> None:
        """Never report pairs of these two.

        first, second : each a body (by id, by name or itself) or the name of a group. The same body twice: its self-collisions; the
            same group twice: pairs of its bodies with each other. The rule of a group includes bodies that are added to it later
        """
        self._ignored.add(self._ignore_rule(first, second))
        self._rules = None

    @synchronized
    def unignore(self, first: MemberLike, second: MemberLike) -> None:
        """Undo an `ignore`.

        first, second : as for `ignore`
        """
        self._ignored.discard(self._ignore_rule(first, second))
        self._rules = None

    @property
    def bodies(self) -> list[Body]:
        """The bodies, in the order in which they were added."""
        return [member.body for member in list(self._members.values())]

    def items(self) -> Iterator[tuple[int, Body]]:
        """(id, body) of all bodies, in the order in which they were added."""
        return iter([(number, member.body) for number, member in list(self._members.items())])

    def id_of(self, member: MemberLike) -> int:
        """The id of a body.

        member : the body, or its name
        """
        return self._id("member", member)

    def name_of(self, member: MemberLike) -> str | None:
        """The name that a body was added with, or None.

        member : the body, or its id
        """
        return self._members[self._id("member", member)].name

    def __len__(self) -> int:
        """The number of bodies."""
        return len(self._members)

    def __iter__(self) -> Iterator[int]:
        """The ids, in the order in which bodies were added."""
        return iter(list(self._members))

    def __contains__(self, member: object) -> bool:
        """Is there a body with this id or name, or is this body in the scene?"""
        if isinstance(member, Body):
            return member in self._id_of
        return isinstance(member, Hashable) and (member in self._members or member in self._id_of_name)

    def __repr__(self) -> str:
        names = f", {len(self._id_of_name)} named" if self._id_of_name else ""
        return f"Scene({len(self)} bodies{names})"

    def __copy__(self) -> Self:
        """Another scene of the same bodies, with the same ids, groups and rules."""
        return self._copy_with({number: member.body for number, member in self._members.items()})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Another scene of copies of the bodies, with the same ids, groups and rules."""
        return self._copy_with({number: copy.deepcopy(member.body, memo) for number, member in self._members.items()})

    @synchronized
    def _copy_with(self, bodies: dict[int, Body]) -> Self:
        """A scene like this one, with these bodies for its ids."""
        members = [(number, body, self._members[number]) for number, body in bodies.items()]
        rows = [(number, body, member.name, member.group, member.box, member.mask) for number, body, member in members]
        return make_scene(type(self), rows, self._next_id, self._groups, self._ignored)

    def __reduce__(self) -> tuple[Any, ...]:
        """Bodies, ids, names, groups, boxes, masks and rules: for worker processes."""
        with self._guard.refit_lock:
            rows = [(number, body, name, group, box, mask) for number, (body, _, name, group, box, mask) in self._members.items()]
            return make_scene, (type(self), rows, self._next_id, self._groups, self._ignored)

    def __getitem__(self, member: int | str) -> Body:
        """The body with this id or name."""
        return self._members[self._id("member", member)].body

    def _mark_stale(self, body: Body) -> None:
        """Note that a body of the scene has moved; bodies call this."""
        self._version += 1
        self._stale_bodies.add(body)

    @synchronized
    def _members_with_faces(self) -> tuple[list[Body], list[int], list[int]]:
        """For queries: bodies with faces, their ids and masks."""
        if self._with_faces is None:
            members = [(member.body, number, member.mask) for number, member in self._members.items() if len(member.body)]
            bodies, numbers, masks = zip(*members, strict=True) if members else ((), (), ())
            self._with_faces = list(bodies), list(numbers), list(masks)
        return self._with_faces

    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): world positions of the vertices of these faces; for results (`results.Surface`)."""
        triangles = np.empty((len(faces), 3, 3))
        for number in np.unique(bodies).tolist():
            rows = bodies == number
            triangles[rows] = self._members[number].body._world_triangles(bodies[rows], faces[rows])
        return triangles

    def _id(self, argument: str, member: object) -> int:
        """The id of a body that is named by its id, its name or itself."""
        if isinstance(member, (int, np.integer)) and not isinstance(member, bool):
            number = int(member) if int(member) in self._members else None
        elif isinstance(member, (str, Body)):
            number = self._id_of_name.get(member) if isinstance(member, str) else self._id_of.get(member)
        else:
            number = None
        if number is None:
            if isinstance(member, Body):
                raise UnknownIdError(f"{argument}: this body is not in the scene; scene.add(body) adds it")
            if isinstance(member, str):
                names = ", ".join(map(repr, self._id_of_name)) or "none"
                raise UnknownIdError(f"{argument}: no body of the scene has the name {member!r}; the names are: {names}")
            raise UnknownIdError(f"{argument}: no body of the scene has the id {member!r}")
        return number

    def _ignore_rule(self, first: MemberLike, second: MemberLike) -> tuple[Hashable, Hashable]:
        """The two ids or names of groups, in one order."""
        sides: list[int | str] = []
        for argument, value in (("first", first), ("second", second)):
            if isinstance(value, str) and value not in self._id_of_name:
                if value not in self._groups:
                    groups, names = (", ".join(map(repr, sorted(names))) or "none" for names in (self._groups, self._id_of_name))
                    raise UnknownIdError(f"{argument}: no body was added with the group {value!r}; the groups are: {groups}; the names of "
                                         f"bodies are: {names}")
                sides.append(value)
            else:
                sides.append(self._id(argument, value))
        a, b = sorted(sides, key=lambda value: (isinstance(value, str), value))
        return a, b

    def _counted(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(p,) bool: which of these pairs (p, 2) of slots of different bodies no rule ignores."""
        if self._rules is None:
            names = [(0, 0)] * len(self._id_of_slot)
            for number, member in self._members.items():
                names[member.slot] = number, number if member.group is None else ~self._groups[member.group]
            rules = [[~self._groups[side] if isinstance(side, str) else side for side in rule] for rule in self._ignored]
            self._rules = IgnoreRules(names, rules)
        return self._rules.counted(slots)


def make_scene(kind: type[S], rows: Iterable[tuple[Any, ...]], next_id: int, groups: dict[str, int],
               ignored: set[tuple[Hashable, Hashable]]) -> S:
    """A scene of bodies with these ids, names, groups, boxes and masks."""
    scene = kind()
    for number, body, name, group, box, mask in rows:
        scene._next_id = number
        scene.add(body, name=name, group=group, box=box, mask=mask)
    scene._next_id, scene._groups, scene._ignored, scene._rules = next_id, dict(groups), set(ignored), None
    return scene
