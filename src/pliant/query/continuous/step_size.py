"""How far bodies may move towards other states until features touch.

The earliest impact bounds the step from above. What a caller computes from it, start + s · (end − start) in float64, is rounded: features
that touch just after s may touch in the rounded positions. So these are tested too, as the end of a motion, and s shrinks by units in the
last place, twice as many each time, until nothing touches on the way to them.
"""
from __future__ import annotations

from itertools import cycle

import numpy as np

from pliant.core import validate
from pliant.core.threads import ReadLock
from pliant.query.collide.self_collide import self_collide
from pliant.query.collide.two_bodies import collide
from pliant.query.continuous.ccd import check_two
from pliant.query.continuous.ends import end_vertices, moving
from pliant.query.continuous.entries import moving_pair_entry
from pliant.query.continuous.search import search_features
from pliant.query.continuous.swept_tree import MovingBody
from pliant.query.scheduler import Workspace, workspace
from pliant.query.target import QueryBody, check_body
from pliant.typing import BodyEnd

ULP = 2.0**-52


def step_size(a: QueryBody, b: QueryBody, end_a: BodyEnd, end_b: BodyEnd, *, min_distance: float = 0.0, check: bool = True) -> float:
    """A number s from 0 to 1 such that no features of two bodies touch while they move from their present states by s of the way to others:
    neither on the way nor in the positions start + s · (end − start) as float64 rounds them.

    Parameters
    ----------
    a, b, end_a, end_b : as for `ccd`
    min_distance : features that come within this distance count as touching. The smaller of several steps rounds differently: who combines
        steps needs a distance above that rounding, or `Scene.step_size`, which tests all bodies at the step that it returns
    check : also look whether the bodies intersect at the start, where an edge may be in the middle of a face and no features touch: then
        0. False trusts the caller

    >>> import pliant as pl
    >>> floor = pl.Body([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]])
    >>> tip = pl.Body([[1, 1, 1], [1, 1, 2], [2, 1, 2]], [[0, 1, 2]])
    >>> 0.2499 < pl.step_size(floor, tip, None, tip.vertices - [0, 0, 4]) < 0.25
    True
    """
    min_distance, check = validate.number("min_distance", min_distance, 0.0), validate.flag("check", check)
    check_two("step_size", a, b)
    ends = end_vertices("end_a", a, end_a), end_vertices("end_b", b, end_b)
    if check and collide(a, b, first=True):
        return 0.0
    with workspace() as space, ReadLock(a._guard, b._guard):
        return certified_step(space, [(moving(a, ends[0]), moving(b, ends[1]))], min_distance)


def self_step_size(body: QueryBody, end: BodyEnd, *, min_distance: float = 0.0, check: bool = True) -> float:
    """As `step_size` for one body: no features that share no vertex touch. `check` looks for self-intersections at the start.

    Parameters
    ----------
    body, end, min_distance, check : as for `self_ccd` and `step_size`

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.self_step_size(body, body.vertices + [0, 0, 1])
    1.0
    """
    min_distance, check = validate.number("min_distance", min_distance, 0.0), validate.flag("check", check)
    check_body("body", body)
    end_rows = end_vertices("end", body, end)
    if check and self_collide(body, first=True):
        return 0.0
    with workspace() as space, ReadLock(body._guard):
        return certified_step(space, [(moving(body, end_rows), None)], min_distance)


def earliest(space: Workspace, a: MovingBody, b: MovingBody | None, min_distance: float, latest: float = 1.0) -> float:
    """The time of the earliest impact up to the latest time that counts; inf if there is none."""
    found = search_features(space, a, b, min_distance, moving_pair_entry(), first=True, best=latest)
    return float(found.values.min(initial=np.inf))


def certified_step(space: Workspace, pairs: list[tuple[MovingBody, MovingBody | None]], min_distance: float) -> float:
    """The step of all these pairs of moving bodies, whose locks are held; one that moves alone stands in a pair with None."""
    time = np.inf
    for a, b in pairs:
        time = min(time, earliest(space, a, b, min_distance, min(time, 1.0)))
    if time == 0.0:
        return 0.0
    step = float(np.nextafter(time, 0.0)) if time < np.inf else 1.0
    untested = len(pairs)                                               # pairs whose rounded positions of this step are not tested
    for a, b in cycle(pairs):
        smaller = shrink_step(space, a, b, min_distance, step)
        untested = untested - 1 if smaller == step else len(pairs) - 1  # a smaller step rounds differently for all others
        step = smaller
        if not untested:
            break
    return step


def shrink_step(space: Workspace, a: MovingBody, b: MovingBody | None, min_distance: float, step: float) -> float:
    """The step, or a smaller one, for which nothing touches on the way to the rounded positions of two moving bodies."""
    shrinkage = ULP
    while step > 0.0:
        partial = [None if each is None else moved_part(each, step) for each in (a, b)]
        if step == 1.0 and all(each is None or np.array_equal(each.end, full.end) for each, full in zip(partial, (a, b), strict=True)):
            return step                                                 # these positions have been tested
        time = earliest(space, partial[0], partial[1], min_distance)
        if time == np.inf:
            return step
        step = min(step * (1.0 - shrinkage), step * time) if time < 0.5 else step * (1.0 - shrinkage)
        shrinkage = min(2.0 * shrinkage, 0.5)
    return 0.0


def moved_part(body: MovingBody, step: float) -> MovingBody:
    """A moving body that stops at the positions of this step, as a caller computes them."""
    with np.errstate(over="ignore", invalid="ignore"):
        stop = body.start + step * (body.end - body.start)
    return body._replace(end=np.where(np.isfinite(stop), stop, body.end) if body.end is not body.start else body.start)
