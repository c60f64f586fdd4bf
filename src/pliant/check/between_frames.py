"""What touches between two checked frames and in neither of them. Every vertex moves on a straight line from the one frame to the other.

An IMPACT is a vertex and a face, or two edges, that touch at some time between; `query/continuous` finds all of them, exactly. Most are of
collisions that the frames show: where a ball sinks into a floor, it touches new faces all the time. So impacts are joined to contacts:
two that have a pair of faces in common, one around each feature, are of one contact. A contact grows by impacts alone, hence each that a
frame shows, before or after, has a pair of faces that intersects in that frame. The others are what no frame shows; these are the result.
A contact with a pair that is known from a baseline is known.

Rigid bodies are not tested with themselves: their vertices turn, and straight lines would make them shrink on the way. Of two bodies, one
must move. Bodies whose faces change have no motion.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pliant.body import Body
from pliant.broadphase.sweep import SweepAndPrune
from pliant.check.journal import ArrayDict
from pliant.check.pair_keys import FACE_BITS, Keys, Rows, contains, run_starts
from pliant.check.worker import FrameWorker, box_of
from pliant.core.jit import compile_seconds
from pliant.query.continuous.entries import moving_pair_entry
from pliant.query.continuous.feature_pairs import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE
from pliant.query.continuous.many_bodies import swept_boxes
from pliant.query.continuous.search import FeatureRows, search_features
from pliant.query.continuous.swept_tree import MovingBody
from pliant.query.scheduler import workspace

Floats = NDArray[np.float64]

EMPTY_ROWS: ArrayDict = {
    "bodies": np.zeros((0, 2), np.int32), "faces": np.zeros((0, 2), np.int32), "time": np.zeros(0), "kind": np.zeros(0, np.int8),
    "places": np.zeros((0, 4)), "known": np.zeros(0, np.int64), "changed": np.zeros(0, np.int32), "seconds": np.zeros(1),
}  # fmt: skip


class FeatureStars(NamedTuple):
    """The faces around each feature of a mesh, ascending: of row r faces[starts[r] : starts[r + 1]]. Rows are vertices, then edges, then
    faces."""

    starts: NDArray[np.int64]
    faces: NDArray[np.int64]
    first_edge: int  # the row of edge 0
    first_face: int

    def rows(self, kinds: NDArray[np.int8], features: Rows, vertex_kind: int) -> NDArray[np.int64]:
        """(m,): the rows of the features of one side of impacts."""
        before = np.where(kinds == EDGE_EDGE, self.first_edge, np.where(kinds == vertex_kind, 0, self.first_face))
        return np.asarray(before + features.astype(np.int64))


def feature_stars(body: Body) -> FeatureStars:
    """The stars of a mesh whose welded vertices are one."""
    faces, edges, count = body._welded_faces.astype(np.int64), body.edges.astype(np.int64), body._motion.count
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    is_edge = ends[:, 0] != ends[:, 1]
    edge = np.searchsorted(edges[:, 0] * count + edges[:, 1], ends.min(axis=1) * count + ends.max(axis=1))
    of_corner = np.repeat(np.arange(len(faces)), 3)
    rows = np.concatenate([faces.reshape(-1), count + edge[is_edge], count + len(edges) + np.arange(len(faces))])
    incident = np.concatenate([of_corner, of_corner[is_edge], np.arange(len(faces))])
    order = np.lexsort((incident, rows))
    starts = np.searchsorted(rows[order], np.arange(count + len(edges) + len(faces) + 1))
    return FeatureStars(starts, incident[order], count, count + len(edges))


def face_pairs(impacts: FeatureRows, a: FeatureStars, b: FeatureStars) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(impact (k,), faces (k, 2)): all pairs of a face around the first feature and one around the second, of impact after impact; the
    first of each are the faces that own the features."""
    rows_a, rows_b = a.rows(impacts.kinds, impacts.features[:, 0], VERTEX_FACE), b.rows(impacts.kinds, impacts.features[:, 1], FACE_VERTEX)
    widths = b.starts[rows_b + 1] - b.starts[rows_b]
    counts = (a.starts[rows_a + 1] - a.starts[rows_a]) * widths
    impact = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(impact)) - np.repeat(np.cumsum(counts) - counts, counts)
    one = a.faces[a.starts[rows_a][impact] + place // widths[impact]]
    other = b.faces[b.starts[rows_b][impact] + place % widths[impact]]
    return impact, np.stack([one, other], axis=1)


def is_unseen(count: int, impact: NDArray[np.int64], keys: Keys, shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(count,): the impacts whose contact has no pair of faces that is `shown`. Pair i, with the key keys[i], is of impact[i]."""
    found = np.ones(count, bool)
    found[impact[shown]] = False
    if not found.any() or found.all():
        return found
    pairs, node = np.unique(keys, return_inverse=True)
    graph = coo_array((np.ones(len(impact), bool), (impact, count + node.ravel())), shape=(count + len(pairs),) * 2)
    labels = connected_components(graph, directed=False)[1][:count]
    return np.asarray(~np.isin(labels, labels[~found]))


class MotionFinder:
    """Checks the motion between frames, with the bodies of a worker."""

    def __init__(self, worker: FrameWorker, offsets: Keys) -> None:
        self.worker, self._offsets = worker, offsets
        self._stars: dict[int, tuple[Body, FeatureStars]] = {}  # by body index

    def find(self, frame: int, later: int, shown: Sequence[Keys], known: Keys, changed: NDArray[np.int32]) -> ArrayDict:
        """What touches between two frames and is not shown, as the journal stores it.

        shown : ascending keys of pairs of faces that intersect in the one frame, and in the other
        known : ascending keys of pairs of the baseline
        changed : bodies whose faces are others in one of the frames than in the first

        Pairs of faces (`bodies`, `faces`) are sorted; `time` is that of their first impact, in frames, and `kind` its kind. `places` has a
        row for each two bodies, where they touch first: center and radius. `known` are the known pairs that touch.
        """
        begin, compiled = time.perf_counter(), compile_seconds()
        bodies, changed = self._motions(frame, later, changed)
        pairs = self._candidates(bodies)
        parts, touched = list[ArrayDict](), list[Keys]()
        with workspace() as space:
            for i, j in pairs.tolist():
                one, other = bodies[i], bodies[j]
                assert one is not None and other is not None
                impacts = search_features(space, one, None if i == j else other, 0.0, moving_pair_entry())
                if len(impacts.values):
                    found, keys = self._unseen(i, j, impacts, shown, known)
                    touched.append(keys)
                    if len(found["time"]):
                        found["places"] = place_of(one, other, found)
                        parts.append(found)
        rows = {name: np.concatenate([none, *(part[name] for part in parts if name in part)]) for name, none in EMPTY_ROWS.items()}
        rows["time"] = frame + rows["time"] * (later - frame)
        rows["known"] = np.unique(np.concatenate([np.zeros(0, np.int64), *touched]))
        rows["changed"] = changed
        rows["seconds"] = np.array([max(time.perf_counter() - begin - (compile_seconds() - compiled), 0.0)])
        return rows

    def _motions(self, frame: int, later: int, changed: NDArray[np.int32]) -> tuple[list[MovingBody | None], NDArray[np.int32]]:
        """What each body does, None for those that are not tested; and those whose faces change."""
        worker = self.worker
        if worker.frame != frame:
            worker.move(frame)
        before = list(worker.bodies)
        moves = [actor.frames > 1 for actor in worker.animation.actors]
        starts = [body._world_vertices()[0].copy() if moving else None for body, moving in zip(before, moves, strict=True)]
        worker.move(later)
        found, without = list[MovingBody | None](), set(changed.tolist())
        for place, (body, start) in enumerate(zip(worker.bodies, starts, strict=True)):
            if body is not before[place]:
                without.add(place)
            if place in without or not len(body) or not worker.is_tested(place):
                found.append(None)
                continue
            end = body._world_vertices()[0]
            found.append(MovingBody(body, end if start is None or np.array_equal(start, end) else start, end))
        return found, np.array(sorted(place for place in without if worker.is_tested(place)), np.int32)

    def _candidates(self, bodies: Sequence[MovingBody | None]) -> NDArray[np.int64]:
        """(p, 2), sorted: the bodies that are tested with each other and whose boxes overlap on the way; twice the same for one with
        itself."""
        asked, kinds = self.worker.asked, self.worker.asked.body_kinds
        moving = [(place, body) for place, body in enumerate(bodies) if body is not None]
        places = np.array([place for place, _ in moving], np.int64)
        moves = np.array([body.start is not body.end for _, body in moving], bool)
        if not moves.any():
            return np.zeros((0, 2), np.int64)
        sweep = SweepAndPrune()
        sweep.set(np.arange(len(moving)), swept_boxes([body for _, body in moving], 0.0))
        pairs = sweep.pairs()
        pairs = places[pairs[moves[pairs].any(axis=1)]]
        pairs = np.sort(pairs[asked.allowed_pairs[kinds[pairs[:, 0]], kinds[pairs[:, 1]]]], axis=1)
        bends = np.array([self.worker.animation.actors[place].kind != "rigid" for place in places], bool)
        own = places[moves & bends & asked.allowed_self[kinds[places]]]
        found = np.concatenate([pairs, np.stack([own, own], axis=1)])
        return found[np.lexsort((found[:, 1], found[:, 0]))]

    def _unseen(self, i: int, j: int, impacts: FeatureRows, shown: Sequence[Keys], known: Keys) -> tuple[ArrayDict, Keys]:
        """Of the impacts of two bodies those that are not shown, as rows of different pairs of faces; the known pairs that touch."""
        stars = self._stars_of(i), self._stars_of(j)
        impact, faces = face_pairs(impacts, *stars)
        if i == j:
            tested = faces[:, 0] != faces[:, 1]
            if self.worker.options.adjacent == "ignore":
                corners = self.worker.bodies[i]._welded_faces[faces]
                tested &= ~(corners[:, 0, :, None] == corners[:, 1, None, :]).any(axis=(1, 2))
            impact, faces = impact[tested], np.sort(faces[tested], axis=1)
        numbers = faces + self._offsets[[i, j]]
        keys = (numbers[:, 0] << FACE_BITS) | numbers[:, 1]
        is_known = contains(known, keys)
        unseen = is_unseen(len(impacts.values), impact, keys, np.logical_or.reduce([is_known, *(contains(each, keys) for each in shown)]))
        unseen &= impacts.values > 0  # what touches at the start is for the frame
        first = np.flatnonzero(np.diff(impact, prepend=-1))  # of each impact the faces that own its features
        first = first[unseen[impact[first]]]
        order = first[np.lexsort((impacts.kinds[impact[first]], impacts.values[impact[first]], faces[first, 1], faces[first, 0]))]
        order = order[run_starts(faces[order].astype(np.int32))]
        rows: ArrayDict = {"bodies": np.tile(np.array([[i, j]], np.int32), (len(order), 1)), "faces": faces[order].astype(np.int32),
                           "time": impacts.values[impact[order]], "kind": impacts.kinds[impact[order]].astype(np.int8)}  # fmt: skip
        return rows, np.unique(keys[is_known])

    def _stars_of(self, place: int) -> FeatureStars:
        """The stars of a body, kept as long as it is the same."""
        body = self.worker.bodies[place]
        if place not in self._stars or self._stars[place][0] is not body:
            self._stars[place] = body, feature_stars(body)
        return self._stars[place][1]


def place_of(one: MovingBody, other: MovingBody, rows: ArrayDict) -> Floats:
    """(1, 4): center and radius of the faces that touch first, at that time; of the body where these are smaller."""
    t = float(rows["time"].min())
    faces = rows["faces"][rows["time"] == t]
    corners = [((1 - t) * each.start.reshape(-1, 3) + t * each.end.reshape(-1, 3))[each.body.faces[faces[:, side]]].reshape(-1, 3)
               for side, each in enumerate((one, other))]  # fmt: skip
    boxes = [box_of(each) for each in corners]
    radius, low, high = min(((math.hypot(*(0.5 * high - 0.5 * low)), low, high) for low, high in boxes), key=lambda each: each[0])
    return np.array([[*(0.5 * low + 0.5 * high), min(radius, sys.float_info.max)]])


class Passing(NamedTuple):
    """What two bodies, or one with itself, do between two frames and in neither of them.

    first, second : body indices, the lower one first
    pairs : pairs of faces that touch
    time : of the first of them, in frames
    before, after : these frames
    """

    first: int
    second: int
    pairs: int
    time: float
    before: int
    after: int


def passings(rows: ArrayDict, before: int, after: int) -> list[Passing]:
    """Those of the rows of a motion, sorted by bodies."""
    starts = run_starts(rows["bodies"])
    counts = np.diff(np.append(starts, len(rows["bodies"])))
    firsts = np.minimum.reduceat(rows["time"], starts) if len(starts) else np.zeros(0)
    return [Passing(one, other, count, first, before, after) for (one, other), count, first in zip(
        rows["bodies"][starts].tolist(), counts.tolist(), firsts.tolist(), strict=True)]  # fmt: skip


def motion_at(event: dict[str, Any], rows: ArrayDict) -> tuple[Rows, tuple[float, float, float], float]:
    """(faces (m, 2), center, radius) of an event of the summary in the rows of its motion."""
    starts = run_starts(rows["bodies"])
    found = (rows["bodies"][starts] == event["bodies"]).all(axis=1)
    *centre, radius = rows["places"][int(found.argmax())].tolist()
    return rows["faces"][(rows["bodies"] == event["bodies"]).all(axis=1)], (centre[0], centre[1], centre[2]), radius
