"""The nearest point of a body, or of a scene, to each of many points; with a sign for closed bodies."""
from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import threads as pool
from pliant.core import validate
from pliant.core.jit import silent
from pliant.core.soa import aligned
from pliant.core.sorting import DIGIT, sort_digits
from pliant.core.threads import Reading
from pliant.errors import MeshError
from pliant.geometry.inside import AMBIGUOUS, count_crossings, open_edge
from pliant.geometry.point_triangle import point_entry
from pliant.motion.rigid import IDENTITY, invert, rounding
from pliant.query.proximity.closest_point import ASKED, FARTHEST, MOST_PRODUCT, SHORT, number_cells, seek
from pliant.query.proximity.distance import stretch_of
from pliant.query.ray.cast import hits_along, members_of
from pliant.query.traverse import COUNTERS
from pliant.results import Closest, Stats

CHUNK = 1 << 12                                                         # points between looks at Ctrl-C: some ten milliseconds
MEASURED = 1 << 20                                                      # points times faces that are measured in about 0.1 s
FEW = 64                                                                # points that come as they are
CELL_BITS = 30
BEHIND = -2.0**-20                                                      # of t, which is about 1: what is behind is left to exact signs


class Answers(NamedTuple):
    """What goes back: (n,), flat (n, 3), (n,) int32, (n,) int64, flat (n, 2)."""
    distance: NDArray[np.float64]
    points: NDArray[np.float64]
    face: NDArray[np.int32]
    body: NDArray[np.int64]
    uv: NDArray[np.float64]


def closest(target: Any, points: ArrayLike, *, max_distance: float = np.inf, signed: bool = False) -> Closest:
    """The nearest point of a body or of a scene to each of n points: how far it is, where, on which face.

    points : (n, 3), or (3,) for one
    max_distance : farther than that is nowhere: a distance of inf and no face
    signed : distances inside a closed body are negative. Its faces must be counter-clockwise from outside, and every edge must have two;
        inside is where its winding number is above 0, exactly

    Distances are right to 1e-12 of the size of the face and its distance, and 0 exactly for points on a face. Of faces that are as near the
    smallest body's, then the smallest counts; a corner or an edge is as far for each of its faces. Points with NaN or infinity are nowhere.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> found = pl.closest(body, [[0.25, 0.25, -2], [3, 0, 0]])
    >>> found.distance.tolist(), found.points.tolist(), found.face.tolist()
    ([2.0, 2.0], [[0.25, 0.25, 0.0], [1.0, 0.0, 0.0]], [0, 0])
    """
    flat, _ = validate.vectors("points", points)
    most = validate.limit("max_distance", max_distance)
    signed = validate.flag("signed", signed)
    bodies, numbers, _ = members_of(target)
    n = len(flat) // 3
    answers = Answers(np.full(n, most), np.full(3 * n, np.nan), np.full(n, -1, np.int32), np.full(n, -1, np.int64), np.zeros(2 * n))
    stats = Stats()
    if bodies and n:
        with Reading(*(body.guard for body in bodies)):
            if signed:
                for body in bodies:
                    check_closed(body)
            stats = _Search(bodies, numbers, flat, answers).run()
            if signed:
                sign(bodies, numbers, flat, answers)
    answers.distance[answers.face < 0] = np.inf
    return Closest(answers.distance, answers.points.reshape(-1, 3), answers.face, answers.body, answers.uv.reshape(-1, 2), stats)


def check_closed(body: Any) -> None:
    """Refuse what has no inside."""
    one, other = open_edge(body.mesh())
    if one >= 0:
        raise MeshError(f"signed: the body is not closed: the edge between vertices {one} and {other} does not belong to two faces that "
                        "go around it in opposite ways; ask without signed")


def sign(bodies: list[Any], numbers: list[int], flat: NDArray[np.float64], answers: Answers) -> None:
    """Make distances inside negative."""
    points = flat.reshape(-1, 3)
    for body, number in zip(bodies, numbers, strict=True):
        low, high = body.box()
        rows = np.flatnonzero((answers.body == number) & (answers.distance > 0) & ((points >= low) & (points <= high)).all(axis=1))
        if len(rows):
            inside = rows[encloses(body, points[rows])]
            answers.distance[inside] = -answers.distance[inside]


def encloses(body: Any, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,): is the winding number of the surface around each point (n, 3) in the body's box above 0? Exactly, by rays in directions that
    meet no edge: a random one all but never does."""
    vertices, turns, left = body.placed_vertices()[0], np.zeros(len(points), np.int64), np.arange(len(points))
    size, rng = float(np.abs(body.box()).max()), np.random.default_rng(len(points))
    while len(left):
        direction = rng.standard_normal(3) * 2.0 ** min(max(np.frexp(size)[1], -960), 1020)
        flat, some = np.ascontiguousarray(points[left]), np.zeros(len(left), np.int64)
        hits = hits_along(body, flat, direction, BEHIND)
        with silent():
            count_crossings(flat.reshape(-1), direction, hits["ray"], hits["face"], vertices, body.corners, some)
        turns[left] = some
        left = left[some >= AMBIGUOUS // 2]
    return turns > 0


def order_of(flat: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of the points, neighbours together."""
    n = len(flat) // 3
    if n <= FEW:
        return np.arange(n)
    keys, room = np.empty(n, np.int64), np.empty(n, np.int64)
    number_cells(flat, keys)
    if sort_digits(keys, room, n, CELL_BITS, np.empty(1 << DIGIT, np.int64)):
        keys = room
    return keys >> CELL_BITS


class _Search:
    """All points of a query, and the bodies that they may be near to."""

    def __init__(self, bodies: list[Any], numbers: list[int], flat: NDArray[np.float64], answers: Answers) -> None:
        self.flat, self.order, self.answers, self.lock = flat, order_of(flat), answers, threading.Lock()
        self.shapes = [body.shape_at(body.motion.scale) for body in bodies]
        self.counters = np.zeros(len(COUNTERS), np.int64)
        self.counters[COUNTERS.index("n_u")] = sum(shape.follow() for shape in self.shapes)
        self.asked = [asked_of(body, shape, number) for body, shape, number in zip(bodies, self.shapes, numbers, strict=True)]
        self.flats = [body.motion.flat for body in bodies]
        self.boxes = np.array([body.box() for body in bodies])

    def run(self) -> Stats:
        """Answer all points. Those so far away that float32 says nothing are measured against every face: few between looks at Ctrl-C."""
        with np.errstate(all="ignore"):
            far = np.nanmax(np.where(np.abs(self.flat) < np.inf, np.abs(self.flat), 0.0))
            blind = any(may_be_blind(far, about[0]) for about in self.asked)
        size = max(MEASURED // max(len(shape.faces) for shape in self.shapes), 1) if blind else CHUNK
        pool.in_chunks(len(self.order), min(size, CHUNK), self.work)
        return Stats(*self.counters.tolist())

    def work(self, begin: int, end: int) -> None:
        """Answer some of the points: the nearest bodies first, the others unless they are certainly too far."""
        nearest_first, aways = [0], np.zeros(1)
        if len(self.asked) > 1:
            some = self.order[begin:end]
            rows = self.flat.reshape(-1, 3)[some]
            rows = rows[np.isfinite(rows).all(axis=1)]
            low, high = (rows.min(axis=0), rows.max(axis=0)) if len(rows) else (np.zeros(3), np.zeros(3))
            aways = np.maximum(self.boxes[:, 0] - high, low - self.boxes[:, 1]).max(axis=1) * SHORT
            nearest_first = np.argsort(aways, kind="stable").tolist()
        counted = np.zeros(len(COUNTERS), np.int64)
        for k in nearest_first:
            if len(self.asked) > 1 and aways[k] > self.answers.distance[some].max():
                break
            asked = self.asked[k].copy()
            with silent():
                seek(self.shapes[k].nodes, self.shapes[k].leaves, self.flats[k], asked, self.flat, self.order, begin, end, self.answers)
            counted += [asked[name][0] for name in COUNTERS]
        with self.lock:
            self.counters += counted


def may_be_blind(far: float, about: Any) -> bool:
    """May a point with no larger coordinate than this be too far from a body for float32? As `seek` says, and on the safe side."""
    reach = about["reach"] * about["scale"]
    size = 4 * (far + np.abs(about["origin"]).max() + np.abs(about["m"]).max()) * about["scale"]
    return not (size < FARTHEST and (size + reach) * reach < MOST_PRODUCT)


def asked_of(body: Any, shape: Any, number: int) -> NDArray[Any]:
    """A body as points see it."""
    motion, placement = body.motion, body.placement
    asked = aligned(1, ASKED)
    about = asked[0]
    about["frame"], about["entry"], about["fill"], about["context"] = shape.frame, shape.entry, shape.fill, shape.context
    about["number"], about["placed"], about["exact"] = number, placement is not None, point_entry()[0]
    about["scale"], about["reach"], about["stretch"], about["origin"] = motion.scale, motion.reach, stretch_of(placement), motion.origin
    box = body.box()
    about["box"][:3], about["box"][4:7] = box
    if placement is not None:
        back = np.zeros(12)
        invert(placement, back)
        back[[3, 7, 11]] = placement[[3, 7, 11]]
        about["m"], about["back"], about["doubt"] = placement, back, rounding(placement, motion.box)
    else:
        about["m"] = IDENTITY
    return asked
