"""Query one frame after another: move the bodies, query the scene, sort the rows in the order of the animation's bodies.

A `FrameWorker` has its own bodies, so that several work on different frames at once. Results do not depend on the worker, the policy or
earlier queries: the rows of a frame are always the same.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.body import Body
from pliant.check.depth import DepthFinder, PairDepths
from pliant.check.enclosed import EnclosedFinder
from pliant.check.pair_keys import row_changes, run_starts
from pliant.check.plan import CheckOptions, PairFilter
from pliant.core.jit import compile_seconds
from pliant.errors import FileError, MeshError
from pliant.io.animation import Animation
from pliant.report.data import Contact
from pliant.scene import Scene

Rows = NDArray[np.int32]

NO_ROWS: Rows = np.zeros((0, 2), np.int32)
MAX_COORDINATE = 1e38  # drawn vertices are clamped to this range


class FrameResult(NamedTuple):
    """The sorted pairs of a frame, the seconds that it took, and the bodies in that frame."""

    frame: int
    bodies: Rows  # (m, 2) body indices, the lower one first
    faces: Rows  # (m, 2) a face of each
    distances: NDArray[np.float64] | None  # (m,), with a tolerance
    read_seconds: float
    query_seconds: float
    changed: Rows | None = None  # ascending indices of bodies that have other faces than in the first frame
    enclosed: Rows = NO_ROWS  # (k, 2) outer and inner bodies, whose faces do not intersect


class FrameWorker:
    """The bodies of an animation, in one frame at a time."""

    def __init__(self, animation: Animation, options: CheckOptions, pair_filter: PairFilter) -> None:
        self.animation, self.options, self.asked = animation, options, pair_filter
        self.first_faces: list[Rows] = []  # of each body in the first frame; empty: unknown
        self._compared: list[tuple[Body, bool]] = []  # of each body: the object that was compared with its first faces, and the result
        self._depths = DepthFinder(options.min_depth)
        self.bodies: list[Body] = []
        self.frame: int | None = None  # where the bodies are; None: elsewhere
        self.scene, self._places, self._ids = Scene(), dict[int, int](), dict[int, int]()  # body index by scene id, and back
        self._enclosed = EnclosedFinder()
        self._any_self = bool(pair_filter.allowed_self.any())
        self._scene_groups: set[int] = set()  # body kinds that have a group in the scene
        self._body_options: dict[str, Any] = {"policy": options.policy, "volume": options.volume, "weld": options.weld}

    def move(self, frame: int | None) -> None:
        """Move all bodies to a frame; None: to their rest pose."""
        label = "rest pose" if frame is None else f"frame {frame}"
        self.frame = None
        for place, actor in enumerate(self.animation.actors):
            before = self.bodies[place] if self.bodies[place:] else None
            try:
                body = actor.rest(**self._body_options) if frame is None else actor.at(frame, before, **self._body_options)
            except FileError:
                raise
            except (MeshError, ValueError) as error:
                raise FileError(f"{self.animation.name}: {label}, {actor.name}: {error}") from None
            if body is not before:
                self._replace(place, before, body)
        self.frame = frame

    def is_tested(self, place: int) -> bool:
        """Whether a body is tested with any other, or with itself."""
        return place in self._ids

    def _replace(self, place: int, before: Body | None, body: Body) -> None:
        """Put a body into the scene, in the group of its kind; the scene has only bodies that the filter tests."""
        if before is None:
            self.bodies.append(body)
        else:
            self.bodies[place] = body
        kind = int(self.asked.body_kinds[place])
        allowed_pairs, allowed_self = self.asked.allowed_pairs[kind], self.asked.allowed_self[kind]
        if not (allowed_self or allowed_pairs.any()):
            return
        if place in self._ids:
            self.scene.remove(self._ids[place])
            del self._places[self._ids[place]]
        group = None if allowed_pairs.all() else _group_name(kind)  # ignore rules of groups cost time
        new = self._ids[place] = self.scene.add(body, group=group)
        self._places[new] = place
        if group is not None and kind not in self._scene_groups:
            self._scene_groups.add(kind)
            for other in self._scene_groups & set(np.flatnonzero(~allowed_pairs).tolist()):
                self.scene.ignore(group, _group_name(other))
        if self._any_self and not allowed_self:
            self.scene.ignore(new, new)

    def check_frame(self, frame: int) -> FrameResult:
        """The pairs of that frame."""
        started = time.perf_counter()
        self.move(frame)
        moved, compiled = time.perf_counter(), compile_seconds()
        bodies, faces, distances = self._query()
        changed = self._changed_bodies()
        enclosed = self._find_enclosed(bodies if distances is None else bodies[distances == 0])
        seconds = time.perf_counter() - moved - (compile_seconds() - compiled)  # compiled kernels are cached for the next run
        return FrameResult(frame, bodies, faces, distances, moved - started, max(seconds, 0.0), changed, enclosed)

    def pairs_at(self, frame: int | None) -> tuple[Rows, Rows, Rows]:
        """(bodies, faces) of the pairs that intersect in a frame, or in the rest pose; outer and inner bodies."""
        self.move(frame)
        bodies, faces, distances = self._query()
        touching = slice(None) if distances is None else distances == 0
        return bodies[touching], faces[touching], self._find_enclosed(bodies[touching])

    def _changed_bodies(self) -> Rows:
        """Ascending indices of the bodies that have other faces than in the first frame."""
        for place in range(len(self._compared), len(self.first_faces)):
            self._compared.append((self.bodies[place], np.array_equal(self.bodies[place].faces, self.first_faces[place])))
        for place, (body, _) in enumerate(self._compared):
            if body is not self.bodies[place]:
                self._compared[place] = self.bodies[place], np.array_equal(self.bodies[place].faces, self.first_faces[place])
        return np.array([place for place, (_, same) in enumerate(self._compared) if not same], np.int32)

    def measure(self, frame: int, bodies: Rows, faces: Rows, wanted: NDArray[np.bool_]) -> PairDepths:
        """The depths of those pairs of faces (m, 2) of the bodies (m, 2), sorted by these, that are wanted; 0 of others. All intersect in
        that frame."""
        if wanted.any():
            self.move(frame)
        return self._depths.find(self.bodies, bodies, faces, wanted)

    def _query(self) -> tuple[Rows, Rows, NDArray[np.float64] | None]:
        options = self.options
        if options.engine == "image":
            found = [(i, j, self._query_image(i, j)) for i, j in self._candidate_pairs()]
        elif options.within is None:
            pairs = self.scene.collide(self_pairs=self._any_self, adjacent=options.adjacent)
            return self._sort_rows(pairs.bodies, pairs.faces, None)
        else:
            near = self.scene.within(options.within, self_pairs=self._any_self)
            assert near.distances is not None
            # Distance queries skip faces that share a vertex, but these may intersect.
            found = [(i, i, pliant.self_collide(self.scene[i], adjacent=options.adjacent).faces) for i,
                     j in self._candidate_pairs() if i == j]
            bodies = np.concatenate([near.bodies, *(np.full((len(rows), 2), i) for i, _, rows in found)])
            faces = np.concatenate([near.faces, *(rows for _, _, rows in found)])
            return self._sort_rows(bodies, faces, np.concatenate([near.distances, np.zeros(len(faces) - len(near))]))
        bodies = np.concatenate([np.zeros((0, 2), np.int64), *(np.tile([i, j], (len(rows), 1)) for i, j, rows in found)])
        return self._sort_rows(bodies, np.concatenate([np.zeros((0, 2), np.int32), *(rows for _, _, rows in found)]), None)

    def _find_enclosed(self, touching: Rows) -> Rows:
        """(k, 2): outer and inner bodies, of the pairs that are tested and not among those that touch, which are sorted."""
        if not self.options.enclosed:
            return NO_ROWS
        known = set(map(tuple, touching[run_starts(touching)].tolist()))
        pairs = [(min(i, j), max(i, j)) for i, j in ((self._places[i], self._places[j]) for i, j in self.scene.candidates().tolist())]
        return np.array(self._enclosed.find(self.bodies, [pair for pair in pairs if pair not in known]), np.int32).reshape(-1, 2)

    def _candidate_pairs(self) -> list[tuple[int, int]]:
        """Ids of bodies whose boxes overlap, and of those tested with themselves."""
        single = [(number, number) for number, place in self._places.items() if self.asked.allowed_self[self.asked.body_kinds[place]]]
        return [(i, j) for i, j in self.scene.candidates().tolist()] + single

    def _query_image(self, i: int, j: int) -> Rows:
        device = self.options.device
        if i == j:
            return np.asarray(pliant.self_collide(self.scene[i], adjacent=self.options.adjacent, engine="image", device=device).faces)
        return np.asarray(pliant.collide(self.scene[i], self.scene[j], engine="image", device=device).faces)

    def _sort_rows(self, ids: NDArray[np.int64], faces: Rows, distances: NDArray[np.float64] | None) -> tuple[Rows, Rows, Any]:
        """Rows sorted by bodies and faces, each once; of duplicates the one with the smaller distance."""
        places = np.zeros(max(self._places, default=0) + 1, np.int32)
        for number, place in self._places.items():
            places[number] = place
        bodies = places[ids].reshape(-1, 2)
        swapped = bodies[:, 0] > bodies[:, 1]
        bodies[swapped], faces = bodies[swapped, ::-1], np.where(swapped[:, None], faces[:, ::-1], faces).astype(np.int32)
        if is_ascending(*bodies.T, *faces.T):  # as queries of a scene mostly are
            return bodies, faces, distances
        keys = (faces[:, 1], faces[:, 0], bodies[:, 1], bodies[:, 0])
        order = np.lexsort(keys if distances is None else (distances, *keys))
        rows = np.concatenate([bodies, faces], axis=1)[order]
        new = np.ones(len(rows), bool)
        new[1:] = row_changes(rows)
        rows = np.ascontiguousarray(rows[new])
        return rows[:, :2], rows[:, 2:], None if distances is None else distances[order][new]


def _group_name(kind: int) -> str:
    """The name of the scene group of a body kind."""
    return f"kind {kind}"


def is_ascending(*columns: NDArray[Any]) -> bool:
    """Whether each row is after the one before, by the first column in which they differ."""
    after = np.zeros(max(len(columns[0]) - 1, 0), bool)
    for column in reversed(columns):
        after = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & after)
    return bool(after.all())


def box_of(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(low, high) of points (n, 3). By columns, which is several times as fast as along short rows."""
    return np.array([column.min() for column in points.T]), np.array([column.max() for column in points.T])


def find_contacts(frame: int, pairs: Rows, faces: Rows, bodies: Sequence[Body]) -> list[Contact]:
    """The number of pairs of faces of every two bodies, and where they are. `pairs` (m, 2) are body indices, sorted."""
    if not len(pairs):
        return []
    begins = [*run_starts(pairs).tolist(), len(pairs)]
    vertices = {place: bodies[place].vertices for place in set(pairs[:, 0].tolist())}
    found = []
    for begin, end in pairwise(begins):
        first, second = pairs[begin].tolist()
        is_corner = np.zeros(len(vertices[first]), bool)
        is_corner[bodies[first].faces[faces[begin:end, 0]]] = True
        low, high = box_of(vertices[first][is_corner])
        x, y, z = (0.5 * low + 0.5 * high).tolist()
        radius = min(math.hypot(*(0.5 * high - 0.5 * low).tolist()), sys.float_info.max)
        found.append(Contact(frame, first, second, end - begin, (x, y, z), radius))
    return found


def drawn_arrays(bodies: Sequence[Body], faces: Sequence[Rows]) -> dict[str, NDArray[Any]]:
    """What a report draws of a frame: for each body its center, its vertices relative to that in float32, and its faces if they differ from
    those of the first frame."""
    arrays: dict[str, NDArray[Any]] = {}
    for place, (body, first_faces) in enumerate(zip(bodies, faces, strict=True)):
        vertices = body.vertices
        low, high = box_of(vertices) if len(vertices) else (np.zeros(3), np.zeros(3))
        center = 0.5 * low + 0.5 * high
        with np.errstate(over="ignore"):
            arrays[f"v{place}"] = np.clip(vertices - center, -MAX_COORDINATE, MAX_COORDINATE).astype(np.float32)
        arrays[f"m{place}"] = center
        if not np.array_equal(body.faces, first_faces):
            arrays[f"f{place}"] = body.faces
    return arrays
