"""Which points are inside a mesh, by the winding number of its surface around each."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import threads as pool
from pliant.core import validate
from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.motion.rigid import invert_rotation
from pliant.query.proximity.cap import border_cap
from pliant.query.proximity.crossings import LARGE_GROUP, ON_SURFACE, count_crossings, mark_clear
from pliant.query.proximity.point_batch import POINTS_PER_CHUNK, body_context, morton_order
from pliant.query.proximity.winding import sum_windings
from pliant.query.target import QueryBody, check_body
from pliant.query.traverse import COUNTERS
from pliant.refit.moments import moments_of
from pliant.results import Inside, Stats

OPENING, CAP_OPENING = 2.0, 4.0                                         # clusters are far from so many radii on; see refit/moments.py
MAX_BORDER = 0.25                                                       # edges of a border for each face, for which it is worth a cap


def inside(body: QueryBody, points: ArrayLike) -> Inside:
    """Which of n points are inside a body, by the winding number of its surface around each.

    Parameters
    ----------
    body : a `Body` with faces that are counter-clockwise seen from outside. It need not be closed
    points : (n, 3), or (3,) for one; finite

    A point is inside where its winding number is above 0.5, and on the surface. The winding number is the solid angle that all faces fill
    as seen from the point, over 4π, with the sign of their sides. Of a closed body it is an integer, and exact. Of an open one it is a
    fraction; `error` bounds its error for each point, about 0.002 unless more than a quarter as many edges as faces are open.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    >>> found = pl.inside(body, [[0.25, 0.25, 0.25], [0.5, 0.5, 0.5], [0, 0, 0]])
    >>> found.inside.tolist(), found.on_surface.tolist()
    ([True, False, True], [False, False, True])
    """
    check_body("body", body)
    flat, _ = validate.vectors("points", points)
    validate.check_finite("points", flat.reshape(-1, 3))
    n = len(flat) // 3
    if not (len(body) and n):
        return make_inside(np.zeros(n), np.zeros(n), Stats())
    with ReadLock(body._guard):
        border = len(body._open_edges().border)
        if border == 0:
            (counts,), stats = winding_numbers((body,), flat)
            return make_inside(np.where(counts == ON_SURFACE, np.nan, counts), np.zeros(n), stats)
        if border <= len(body) * MAX_BORDER:
            return make_inside(*windings_of_capped(body, flat))
        return make_inside(*winding_fractions(body, flat, np.arange(n), OPENING))


def make_inside(windings: NDArray[np.float64], errors: NDArray[np.float64], stats: Stats) -> Inside:
    """The result for these winding numbers, NaN for points on the surface."""
    on = np.isnan(windings)
    errors[on] = 0.0
    return Inside(on | (windings > 0.5), windings, on, errors, stats)


def winding_numbers(parts: tuple[Any, ...], flat: NDArray[np.float64],
                    rows: NDArray[np.int64] | None = None) -> tuple[list[NDArray[np.int64]], Stats]:
    """For each part of a closed surface, (n,) what it adds to the winding numbers around n flat points, or these rows of them, ON_SURFACE
    for points on it; the work. For those who read the bodies."""
    order = morton_order(flat) if rows is None else rows[morton_order(flat.reshape(-1, 3)[rows].reshape(-1))]
    spans, stats, windings = np.full(len(order), LARGE_GROUP, np.uint8), Stats(), [np.zeros(len(flat) // 3, np.int64) for _ in parts]
    bvhs = [part._bvh_at(part._motion.scale) for part in parts]
    stats += Stats(n_u=sum(bvh.refit() for bvh in bvhs))
    contexts = [body_context(part, bvh, 0) for part, bvh in zip(parts, bvhs, strict=True)]
    for bvh, context in zip(bvhs, contexts, strict=True):
        context["box"] = contexts[0]["box"]                             # outside that of the first part, which encloses all, it is 0

        def mark(begin: int, end: int, context: NDArray[Any], bvh: Any = bvh) -> None:
            mark_clear(bvh.nodes, bvh.leaves, context, flat, order, begin, end, spans)
        stats += run_chunks(len(order), context, mark)
    for part, bvh, context, found in zip(parts, bvhs, contexts, windings, strict=True):
        def count(begin: int, end: int, context: NDArray[Any], part: Any = part, bvh: Any = bvh, found: NDArray[Any] = found) -> None:
            count_crossings(bvh.nodes, bvh.leaves, part._motion.flat, context, flat, order, begin, end, spans, vertical_direction(part),
                            found)
        stats += run_chunks(len(order), context, count)
    return windings, stats


def winding_fractions(body: Any, flat: NDArray[np.float64], rows: NDArray[np.int64],
                      opening: float) -> tuple[NDArray[np.float64], NDArray[np.float64], Stats]:
    """(n,) the winding numbers of any body around these rows of n flat points, NaN for points on it and 0 for the others, and bounds of
    their errors; the work. For those who read the body."""
    bvh, windings, errors = body._bvh_at(body._motion.scale), np.zeros(len(flat) // 3), np.zeros(len(flat) // 3)
    refitted, order = bvh.refit(), rows[morton_order(flat.reshape(-1, 3)[rows].reshape(-1))]
    moments, context = moments_of(bvh, body._motion.reach * body._motion.scale, opening), body_context(body, bvh, 0)

    def add_up(begin: int, end: int, context: NDArray[Any]) -> None:
        sum_windings(bvh.tree.child, bvh.tree.count, bvh.leaves, body._motion.flat, context, moments.rows, np.float32(moments.unit), flat,
                     order, begin, end, windings, errors)
    return windings, errors, run_chunks(len(order), context, add_up) + Stats(n_u=refitted)


def windings_of_capped(body: Any, flat: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], Stats]:
    """What `winding_fractions` gives, for a body with a short border. Faces that close it make the winding number an integer, which is
    exact, and what they add themselves is taken away again. Points on these faces go the longer way."""
    cap = border_cap(body)
    (counts, cap_counts), stats = winding_numbers((body, cap), flat)
    parts, errors, more = winding_fractions(cap, flat, np.arange(len(counts)), CAP_OPENING)
    stats += more
    with np.errstate(invalid="ignore"):
        windings = np.where(counts == ON_SURFACE, np.nan, counts + cap_counts - parts)
    on_cap = np.flatnonzero((cap_counts == ON_SURFACE) & (counts != ON_SURFACE))
    if len(on_cap):
        parts, bounds, more = winding_fractions(body, flat, on_cap, OPENING)
        windings[on_cap], errors[on_cap], stats = parts[on_cap], bounds[on_cap], stats + more
    return windings, errors, stats


def run_chunks(n: int, context: NDArray[Any], function: Callable[[int, int, NDArray[Any]], None]) -> Stats:
    """Call the function with chunks of 0 … n and a copy of the context each, in the pool; what the copies have counted."""
    counters, lock = np.zeros(len(COUNTERS), np.int64), threading.Lock()

    def run(begin: int, end: int) -> None:
        own = context.copy()
        with ignore_float_errors():
            function(begin, end, own)
        with lock:
            counters[:] += [own[name][0] for name in COUNTERS]
    pool.map_chunks(n, POINTS_PER_CHUNK, run)
    return Stats(*counters.tolist())


def vertical_direction(body: Any) -> NDArray[np.float64]:
    """(3,) where the z axis of the world points in the frame of a body; its longest component is ±1."""
    if body._matrix is None:
        return np.array([0.0, 0.0, 1.0])
    inverse = np.zeros(12)
    invert_rotation(body._matrix, inverse)
    direction = inverse[[2, 6, 10]]
    return np.asarray(direction / np.abs(direction).max())
