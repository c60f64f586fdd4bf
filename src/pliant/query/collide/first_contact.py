"""First time of contact of two moving bodies, by back-tracking in time (thesis A 5.3): each step is a query that stops at one pair."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.core import validate
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.query.collide.two_bodies import collide
from pliant.query.target import QueryBody, check_body
from pliant.results import FirstContact

MotionPath = Callable[[float], Any]
MAX_STEPS = 10**9


def first_contact(a: QueryBody, b: QueryBody, path_a: MotionPath | None, path_b: MotionPath | None, *, start: float = 0.0,
                  stop: float = 1.0,
                  steps: int = 1, tolerance: float = 1e-6) -> FirstContact | None:
    """The first time between `start` and `stop` at which two bodies intersect, and the intersecting faces; None if there is none.

    Parameters
    ----------
    a, b : the bodies. They are updated along their paths, and left at the time of contact, or at `stop` if there is none
    path_a, path_b : functions from a time to the argument of `update`: vertices, or a matrix for a rigid body; None: the body is
        static
    start, stop : the interval of times
    steps : the number of times, evenly spaced from `start`, that are tested first
    tolerance : how close `.before` and `.time` must be

    Guaranteed: the bodies intersect at `.time` and not at `.before`, and the two are at most `tolerance` apart (or one unit in the
    last place); the bodies do not intersect at any earlier one of the `steps` times. A contact that begins and ends between two such
    times is missed: choose `steps` so that no body passes through the other within one step, or ask `ccd`, which misses nothing where
    vertices move on straight lines. If they intersect at `start`, `.time`
    and `.before` are both `start`.

    >>> import numpy as np, pliant as pl
    >>> floor = pl.Body([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> tip = np.array([[0, 0, 1], [0.1, 0, 2], [-0.1, 0, 2]])
    >>> found = pl.first_contact(floor, pl.Body(tip, [[0, 1, 2]]), None, lambda t: tip - [0, 0, 1.5 * t])
    >>> round(found.time, 5), found.pairs.faces.tolist()
    (0.66667, [[0, 0]])
    """
    check_body("a", a)
    check_body("b", b)
    start, stop = validate.number("start", start), validate.number("stop", stop)
    tolerance, steps = validate.number("tolerance", tolerance, minimum=0.0), validate.integer("steps", steps, range(1, MAX_STEPS))
    if not start <= stop:
        raise ArgumentError(f"stop: expected at least start, {start}, got {stop}")
    for name, path in (("path_a", path_a), ("path_b", path_b)):
        if path is not None and not callable(path):
            raise ArgumentTypeError(f"{name}: expected a function of time, or None for a body that stays, got {type(path).__name__}")

    def collide_at(time: float) -> bool:
        for body, path in ((a, path_a), (b, path_b)):
            if path is not None:
                body.update(path(time))
        return bool(collide(a, b, first=True))

    def contact_at(time: float, before: float) -> FirstContact:
        return FirstContact(time, before, collide(a, b))

    if collide_at(start):
        return contact_at(start, start)
    before = start
    for k in range(1, steps + 1):
        time = stop if k == steps else start * (1 - k / steps) + stop * (k / steps)
        if collide_at(time):
            break
        before = time
    else:
        return None
    in_contact = True                                                   # the bodies are at a time of contact
    while time - before > tolerance:
        midpoint = 0.5 * before + 0.5 * time
        if not before < midpoint < time:
            break
        in_contact = collide_at(midpoint)
        before, time = (before, midpoint) if in_contact else (midpoint, time)
    if not in_contact:
        collide_at(time)
    return contact_at(time, before)
