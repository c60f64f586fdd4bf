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
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.motion.free import Free
from pliant.refit.policy import resolve_options
from pliant.results import Stats
from pliant.tune.animation import Animation

# Nanoseconds of a pair of volumes, a pair of triangles and an updated volume; docs/tuning.md says where they were measured.
WEIGHTS = (120.0, 170.0, 1100.0)
BODY_OPTIONS = ("volume", "build", "arity", "leaf", "weld")  # of bodies
REPEATS = 2  # plays by the clock; of each frame the quicker counts


class Query(NamedTuple):
    """A query that a policy is tuned for: its name in `pliant`, whether it takes a body alone, and whether it takes a tolerance."""

    name: str
    single_body: bool = False
    tolerance: bool = False


QUERIES = {query.name: query for query in (
    Query("distance"), Query("self_distance", single_body=True), Query("collide"), Query("self_collide", single_body=True),
    Query("within", tolerance=True), Query("self_within", single_body=True, tolerance=True),
)}  # fmt: skip


class Goal(NamedTuple):
    """What is asked in every frame, and what the work is measured in."""

    query: str = "distance"
    score: str = "counters"
    tolerance: float | None = None
    weights: tuple[float, float, float] = WEIGHTS


def make_goal(query: str, score: str, tolerance: float | None, weights: Sequence[float]) -> Goal:
    """A goal of checked values."""
    query_type = QUERIES[validate.choice("query", query, QUERIES)]
    validate.choice("score", score, ("counters", "seconds"))
    if query_type.tolerance == (tolerance is None):
        expected = "a number for" if query_type.tolerance else "none with"
        raise ArgumentError(f"tolerance: expected {expected} query {query!r}, got {tolerance!r}")
    if tolerance is not None:
        tolerance = validate.number("tolerance", tolerance, 0.0)
    if isinstance(weights, str) or not isinstance(weights, Sequence | np.ndarray) or len(weights) != 3:
        raise ArgumentError(f"weights: expected three numbers, for n_v, n_p and n_u, got {weights!r}")
    costs = [validate.number(f"weights[{i}]", weight, 0.0) for i, weight in enumerate(weights)]
    return Goal(query, score, tolerance, (costs[0], costs[1], costs[2]))


def check_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of bodies as values that a file can hold; bodies look at what they mean."""
    checked = {} if options is None else dict(options)
    for name, value in checked.items():
        if name not in BODY_OPTIONS:
            raise ArgumentError(f"options: {name!r} is not known here; known are {', '.join(BODY_OPTIONS)}")
        if not isinstance(value, str | int | float | np.generic):
            raise ArgumentTypeError(f"options: {name}: expected a name or a number, got {type(value).__name__}")
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in checked.items()}


class AnimationRun:
    """The bodies of an animation, with their trees."""

    def __init__(self, animation: Animation, goal: Goal, options: Mapping[str, Any]) -> None:
        single_body, count = QUERIES[goal.query].single_body, len(animation.bodies)
        if not single_body and count != 2:
            raise ArgumentError(f"{animation.name}: has one body, but query {goal.query!r} is between two")
        self.animation, self.goal = animation, goal
        self.built = [Body(frames[0], faces, **options) for faces, frames in animation.bodies]

    def bodies(self, policy: Mapping[str, Any]) -> list[Body]:
        """Bodies in the first frame, with this policy, on the trees that were built."""
        return [_body_on_tree(body, policy) for body in self.built]

    def query(self, bodies: list[Body]) -> Stats:
        """The query of a frame; with one about a body itself, that of each."""
        query = getattr(pliant, self.goal.query)
        tolerances = () if self.goal.tolerance is None else (self.goal.tolerance,)
        total = Stats()
        for subjects in [(body,) for body in bodies] if QUERIES[self.goal.query].single_body else [bodies]:
            total = total + query(*subjects, *tolerances).stats
        return total

    def run(self, policy: Mapping[str, Any]) -> tuple[Stats, list[float]]:
        """All frames but the first, whose query fits all volumes and so belongs to building: counters of all, seconds of each."""
        bodies, total, seconds = self.bodies(policy), Stats(), []
        self.query(bodies)
        for k in range(1, self.animation.frames):
            start = time.perf_counter()
            for body, (_, frames) in zip(bodies, self.animation.bodies, strict=True):
                if k < len(frames):
                    body.update(frames[k])
            stats = self.query(bodies)
            seconds.append(time.perf_counter() - start)
            total = total + stats
        return total, seconds

    def score(self, policy: Mapping[str, Any]) -> float:
        """The work of the animation with this policy."""
        if self.goal.score == "seconds":
            runs = [self.run(policy)[1] for _ in range(REPEATS)]
            return float(sum(min(each) for each in zip(*runs, strict=True)))
        stats, _ = self.run(policy)
        v, p, u = self.goal.weights
        return v * stats.n_v + p * stats.n_p + u * stats.n_u


def scorer(animations: Sequence[Animation], goal: Goal, options: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], float]:
    """The work of all animations together, as a function of the policy."""
    runs = [AnimationRun(animation, goal, options) for animation in animations]
    return lambda policy: sum(stage.score(policy) for stage in runs)


def _body_on_tree(body: Body, policy: Mapping[str, Any]) -> Body:
    """A body on the tree of another, where that one is, with another policy."""
    source_options = body._options
    options = resolve_options(source_options.volume_type.name, source_options.builder.name, policy, source_options.arity,
                              source_options.leaf)
    copy = Body.__new__(Body)
    assert body._bvh is not None  # animations without faces are refused
    copy._initialize(Free(body.vertices), body.faces, options, body._weld_map, tree=body._bvh.tree)
    return copy
