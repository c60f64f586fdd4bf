"""The score of a policy: the work of updates and queries over an animation, without building (thesis D, section IV).

By "seconds" it is what a clock says; by "counters" it is c_v n_v + c_p n_p + c_u n_u, which is the same on every machine and in every run.
Trees are built once: every policy that is scored gets bodies of its own on the same trees, in the first frame, with volumes fitted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import pliant
from pliant.body import Body
from pliant.core import validate
from pliant.motion.free import Free
from pliant.refit.policy import options_for
from pliant.results import Stats
from pliant.tune.animation import Animation

# Nanoseconds of a pair of volumes, a pair of triangles and an updated volume; docs/tuning.md says where they were measured.
WEIGHTS = (120.0, 170.0, 1100.0)
OPTIONS = ("volume", "build", "arity", "leaf", "weld")  # of bodies
REPEATS = 2  # plays by the clock; of each frame the quicker counts


class Query(NamedTuple):
    """A query that a policy is tuned for: its name in `pliant`, whether it takes a body alone, and whether it takes a tolerance."""

    name: str
    alone: bool = False
    tolerance: bool = False


QUERIES = {query.name: query for query in (
    Query("distance"), Query("self_distance", alone=True), Query("collide"), Query("self_collide", alone=True),
    Query("within", tolerance=True), Query("self_within", alone=True, tolerance=True),
)}  # fmt: skip


class Goal(NamedTuple):
    """What is asked in every frame, and what the work is measured in."""

    query: str = "distance"
    score: str = "counters"
    tolerance: float | None = None
    weights: tuple[float, float, float] = WEIGHTS


def goal(query: str, score: str, tolerance: float | None, weights: Sequence[float]) -> Goal:
    """A goal of checked values."""
    asked = QUERIES[validate.choice("query", query, QUERIES)]
    validate.choice("score", score, ("counters", "seconds"))
    if asked.tolerance == (tolerance is None):
        raise ValueError(f"tolerance: expected {'a number for' if asked.tolerance else 'none with'} query {query!r}, got {tolerance!r}")
    if tolerance is not None:
        tolerance = validate.number("tolerance", tolerance, 0.0)
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray) or len(weights) != 3:
        raise ValueError(f"weights: expected three numbers, for n_v, n_p and n_u, got {weights!r}")
    costs = [validate.number(f"weights[{i}]", weight, 0.0) for i, weight in enumerate(weights)]
    return Goal(query, score, tolerance, (costs[0], costs[1], costs[2]))


def plain_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of bodies as values that a file can hold; bodies look at what they mean."""
    given = {} if options is None else dict(options)
    for name, value in given.items():
        if name not in OPTIONS:
            raise ValueError(f"options: {name!r} is not known here; known are {', '.join(OPTIONS)}")
        if not isinstance(value, str | int | float | np.generic):
            raise TypeError(f"options: {name}: expected a name or a number, got {type(value).__name__}")
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}


class Stage:
    """The bodies of an animation, with their trees."""

    def __init__(self, animation: Animation, goal: Goal, options: Mapping[str, Any]) -> None:
        alone, count = QUERIES[goal.query].alone, len(animation.bodies)
        if not alone and count != 2:
            raise ValueError(f"{animation.name}: has one body, but query {goal.query!r} is between two")
        self.animation, self.goal = animation, goal
        self.built = [Body(frames[0], faces, **options) for faces, frames in animation.bodies]

    def bodies(self, policy: Mapping[str, Any]) -> list[Body]:
        """Bodies in the first frame, with this policy, on the trees that were built."""
        return [_again(body, policy) for body in self.built]

    def ask(self, bodies: list[Body]) -> Stats:
        """The query of a frame; with one about a body itself, that of each."""
        query = getattr(pliant, self.goal.query)
        more = () if self.goal.tolerance is None else (self.goal.tolerance,)
        total = Stats()
        for subjects in [(body,) for body in bodies] if QUERIES[self.goal.query].alone else [bodies]:
            total = total.plus(query(*subjects, *more).stats)
        return total

    def play(self, policy: Mapping[str, Any]) -> tuple[Stats, list[float]]:
        """All frames but the first, whose query fits all volumes and so belongs to building: counters of all, seconds of each."""
        bodies, total, seconds = self.bodies(policy), Stats(), []
        self.ask(bodies)
        for k in range(1, self.animation.frames):
            start = time.perf_counter()
            for body, (_, frames) in zip(bodies, self.animation.bodies, strict=True):
                if k < len(frames):
                    body.update(frames[k])
            stats = self.ask(bodies)
            seconds.append(time.perf_counter() - start)
            total = total.plus(stats)
        return total, seconds

    def score(self, policy: Mapping[str, Any]) -> float:
        """The work of the animation with this policy."""
        if self.goal.score == "seconds":
            plays = [self.play(policy)[1] for _ in range(REPEATS)]
            return float(sum(min(each) for each in zip(*plays, strict=True)))
        stats, _ = self.play(policy)
        v, p, u = self.goal.weights
        return v * stats.n_v + p * stats.n_p + u * stats.n_u


def scorer(animations: Sequence[Animation], goal: Goal, options: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], float]:
    """The work of all animations together, as a function of the policy."""
    stages = [Stage(animation, goal, options) for animation in animations]
    return lambda policy: sum(stage.score(policy) for stage in stages)


def _again(body: Body, policy: Mapping[str, Any]) -> Body:
    """A body on the tree of another, where that one is, with another policy."""
    was = body.options
    options = options_for(was.family.name, was.builder.name, policy, was.arity, was.leaf)
    other = Body.__new__(Body)
    assert body._shape is not None  # animations without faces are refused
    other._start(Free(body.vertices), body.faces, options, body._same, planted=body._shape.tree)
    return other
