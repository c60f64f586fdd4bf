"""The nearest point of a body, or of a scene, to each of many points; with a sign for closed bodies."""
from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import threads as pool
from pliant.core import validate
from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.errors import MeshError
from pliant.query.proximity.closest_point import MAX_COORDINATE, MAX_PRODUCT, ROUND_DOWN, search_points
from pliant.query.proximity.inside import winding_numbers
from pliant.query.proximity.point_batch import POINTS_PER_CHUNK, body_context, morton_order
from pliant.query.ray.cast import bodies_of
from pliant.query.target import BodyGroup, QueryBody
from pliant.query.traverse import COUNTERS
from pliant.results import Closest, HitTriangles, Stats, surface_version

MEASURED_PER_CHUNK = 1 << 20                                            # points times faces that are measured in about 0.1 s


class ClosestArrays(NamedTuple):
    """What goes back: (n,), flat (n, 3), (n,) int32, (n,) int64, flat (n, 2)."""
    distance: NDArray[np.float64]
    points: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]


def closest(target: QueryBody | BodyGroup, points: ArrayLike, *, max_distance: float = np.inf, signed: bool = False) -> Closest:
    """The closest point of a body or a scene to each of n points: its distance, its position and its face.

    Parameters
    ----------
    target : a `Body` or a `Scene`
    points : (n, 3), or (3,) for one
    max_distance : ignore faces farther away; points without a face within it get distance inf and face −1
    signed : distances inside are negative. The body must be closed: each edge belongs to two faces, and faces are counter-clockwise
        seen from outside. A point is inside where its winding number is above 0, computed exactly

    Distances are accurate to 1e-12 of the size of the face and of the distance, and exactly 0 for points on a face. Of faces at the
    same distance, the body with the lowest id counts, then the face with the lowest index; a corner or an edge is equally far from
    all its faces. Points with NaN or infinity get distance inf and face −1.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> found = pl.closest(body, [[0.25, 0.25, -2], [3, 0, 0]])
    >>> found.distance.tolist(), found.point.tolist(), found.face.tolist()
    ([2.0, 2.0], [[0.25, 0.25, 0.0], [1.0, 0.0, 0.0]], [0, 0])
    """
    bodies, body_ids, _ = bodies_of(target)
    flat, _ = validate.vectors("points", points)
    farthest = validate.nonnegative("max_distance", max_distance)
    signed, version = validate.flag("signed", signed), surface_version(target)
    n = len(flat) // 3
    answers = ClosestArrays(np.full(n, farthest), np.full(3 * n, np.nan), np.full(n, -1, np.int32), np.full(n, -1, np.int64),
                            np.zeros(2 * n))
    stats = Stats()
    if bodies and n:
        with ReadLock(*(body._guard for body in bodies)):
            if signed:
                for body in bodies:
                    check_closed(body)
            stats = _ClosestSearch(bodies, body_ids, flat, answers).run()
            if signed:
                stats += negate_inside(bodies, body_ids, flat, answers)
    answers.distance[answers.face < 0] = np.inf
    return Closest(answers.face, answers.body, answers.uv.reshape(-1, 2), stats, HitTriangles(target, version, answers.body, answers.face),
                   answers.distance, answers.points.reshape(-1, 3))


def check_closed(body: Any) -> None:
    """Refuse what has no inside."""
    one, other = body._open_edges().first
    if one >= 0:
        raise MeshError(f"signed: the body is not closed: the edge between vertices {one} and {other} does not belong to two faces that "
                        "go around it in opposite ways; ask without signed")


def negate_inside(bodies: list[Any], body_ids: list[int], flat: NDArray[np.float64], answers: ClosestArrays) -> Stats:
    """Make distances inside negative; the work."""
    stats = Stats()
    for body, body_id in zip(bodies, body_ids, strict=True):
        rows = np.flatnonzero((answers.body == body_id) & (answers.distance > 0))
        if len(rows):
            (windings,), work = winding_numbers((body,), flat, rows)
            inside = rows[windings[rows] > 0]
            answers.distance[inside] = -answers.distance[inside]
            stats += work
    return stats


class _ClosestSearch:
    """All points of a query, and the bodies that they may be near to."""

    def __init__(self, bodies: list[Any], body_ids: list[int], flat: NDArray[np.float64], answers: ClosestArrays) -> None:
        self.flat, self.order, self.answers, self.lock = flat, morton_order(flat), answers, threading.Lock()
        self.shapes = [body._bvh_at(body._motion.scale) for body in bodies]
        self.counters = np.zeros(len(COUNTERS), np.int64)
        self.counters[COUNTERS.index("n_u")] = sum(shape.refit() for shape in self.shapes)
        self.asked = [body_context(body, shape, number) for body, shape, number in zip(bodies, self.shapes, body_ids, strict=True)]
        self.vertex_arrays = [body._motion.flat for body in bodies]
        self.boxes = np.array([body._world_box() for body in bodies])

    def run(self) -> Stats:
        """Answer all points. Those so far away that float32 says nothing are measured against every face: few between looks at Ctrl-C."""
        with np.errstate(all="ignore"):
            far = np.nanmax(np.where(np.abs(self.flat) < np.inf, np.abs(self.flat), 0.0))
            blind = any(exceeds_float32(far, each[0]) for each in self.asked)
        size = max(MEASURED_PER_CHUNK // max(len(shape.faces) for shape in self.shapes), 1) if blind else POINTS_PER_CHUNK
        pool.map_chunks(len(self.order), min(size, POINTS_PER_CHUNK), self.search_range)
        return Stats(*self.counters.tolist())

    def search_range(self, begin: int, end: int) -> None:
        """Answer some of the points: the nearest bodies first, the others unless they are certainly too far."""
        body_order, gaps = [0], np.zeros(1)
        if len(self.asked) > 1:
            order = self.order[begin:end]
            rows = self.flat.reshape(-1, 3)[order]
            rows = rows[np.isfinite(rows).all(axis=1)]
            low, high = (rows.min(axis=0), rows.max(axis=0)) if len(rows) else (np.zeros(3), np.zeros(3))
            gaps = np.maximum(self.boxes[:, 0] - high, low - self.boxes[:, 1]).max(axis=1) * ROUND_DOWN
            body_order = np.argsort(gaps, kind="stable").tolist()
        counts = np.zeros(len(COUNTERS), np.int64)
        for k in body_order:
            if len(self.asked) > 1 and gaps[k] > self.answers.distance[order].max():
                break
            context = self.asked[k].copy()
            with ignore_float_errors():
                search_points(self.shapes[k].nodes, self.shapes[k].leaves, self.vertex_arrays[k], context, self.flat, self.order, begin,
                              end, self.answers)
            counts += [context[name][0] for name in COUNTERS]
        with self.lock:
            self.counters += counts


def exceeds_float32(largest: float, context: Any) -> bool:
    """May a point with no larger coordinate than this be too far from a body for float32? As `search_points` says, and on the safe side."""
    reach = context["reach"] * context["scale"]
    size = 4 * (largest + np.abs(context["origin"]).max() + np.abs(context["matrix"]).max()) * context["scale"]
    return not (size < MAX_COORDINATE and (size + reach) * reach < MAX_PRODUCT)
