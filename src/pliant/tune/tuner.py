"""`tune`: a genetic search for each criterion, the score of an animation, and a state that survives interruptions."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pliant
from pliant.core import validate
from pliant.core.threads import use_threads
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.tune import criteria as known
from pliant.tune.animation import Animation, check_animation, digest
from pliant.tune.criteria import CRITERIA, Genome
from pliant.tune.score import WEIGHTS, check_options, make_goal, scorer
from pliant.tune.search import MAX_COUNT, MIN_POPULATION, SearchPlan, evolve, import_pygad
from pliant.tune.state import Scores, read_state, write_state

SAVE_INTERVAL = 1.0  # seconds between two states on disk; an interruption writes one as well
SEEDS = range(2**32)
MAX_NAMES = 200  # characters of the names of all animations


class Row(NamedTuple):
    """The best of a criterion: its parameters, its score, and how many were scored for it."""

    criterion: str
    parameters: dict[str, float]
    score: float
    evaluations: int


class Report(NamedTuple):
    """How far a search is: the criterion, its generation of so many, and its best so far."""

    criterion: str
    generation: int
    generations: int
    best: Row


class Tuned(NamedTuple):
    """The policy with the least score, as `Body(policy=…)` takes it; the best of every criterion; and what they were tuned for."""

    policy: dict[str, str | float]
    score: float
    table: list[Row]
    metadata: dict[str, str | float]


def tune(animation: Animation | Sequence[Animation], *, query: str = "distance", score: str = "counters",
         criteria: Iterable[str] | None = None, population: int = 30, generations: int = 50, seed: int = 0,
         state: str | os.PathLike[str] | None = None, progress: Callable[[Report], None] | None = None,
         options: Mapping[str, Any] | None = None, tolerance: float | None = None,
         weights: Sequence[float] = WEIGHTS) -> Tuned:  # fmt: skip
    """Find the criterion and the parameters of policy "inflated" that cost the least over an animation, or over several together.

    Parameters
    ----------
    animation : an `Animation` of one body or two, or several animations, whose scores add up
    query : asked in every frame: "distance", "collide" or "within" between two bodies, "self_distance", "self_collide" or
        "self_within" of each
    score : "counters", the same on every machine and in every run, or "seconds"
    criteria : names of criteria; all if None. Those without parameters are scored once, each of the others has a search of its own
    population, generations : the members of a search, 4 or more, and how often half of them are replaced, 1 or more
    seed : searches with one seed find the same, if scores are counters
    state : a file in which everything that was scored is kept: called again with it, a search that was interrupted goes on where it
        was and finds what it would have found. The state of another animation or of other settings is refused
    progress : called with a `Report` after every score and every generation
    options : options of bodies: "volume", "build", "arity", "leaf", "weld"
    tolerance : of "within" and "self_within"
    weights : what a pair of volumes, a pair of triangles and an updated volume cost, for counters

    Needs PyGAD. Ctrl-C is a KeyboardInterrupt here as elsewhere; the state is written first.
    """
    several = [animation] if isinstance(animation, Animation) else list(animation)
    if not several:
        raise ArgumentError("animation: expected one or several, got none")
    animations = [check_animation(each) for each in several]
    query_goal, chosen = make_goal(query, score, tolerance, weights), _check_criteria(criteria)
    plan = SearchPlan(validate.integer("population", population, range(MIN_POPULATION, MAX_COUNT + 1)),
                      validate.integer("generations", generations, range(1, MAX_COUNT + 1)),
                      validate.integer("seed", seed, SEEDS))  # fmt: skip
    bodies = check_options(options)
    import_pygad()
    settings = {**query_goal._asdict(), "weights": list(query_goal.weights), **plan._asdict(), "options": bodies,
                "criteria": chosen, "version": pliant.__version__}  # fmt: skip
    score_policy = scorer(animations, query_goal, bodies)
    with use_threads(1):  # counters of threads that prune for each other depend on who comes first, and clocks on who else is at work
        cache = ScoreCache(animations, settings, None if state is None else Path(state), score_policy)
        try:
            table = [_best_of(criterion, cache, plan, progress) for criterion in chosen]
        finally:
            cache.write()
    best = min(table, key=lambda row: row.score)
    policy = known.policy(best.criterion, tuple(best.parameters.values()))
    metadata: dict[str, str | float] = {
        "animations": ", ".join(each.name for each in animations)[:MAX_NAMES], "digest": cache.digest, "query": query, "by": score,
        "score": best.score, "evaluations": sum(row.evaluations for row in table), **plan._asdict(), "version": pliant.__version__,
        "options": ", ".join(f"{name} {value}" for name, value in bodies.items()) or "as Body has them",
    }  # fmt: skip
    return Tuned(policy, best.score, table, metadata if query_goal.tolerance is None else {**metadata, "tolerance": query_goal.tolerance})


class ScoreCache:
    """Scores of genomes: each is worked out once, and kept on disk if there is a file for it."""

    def __init__(self, animations: list[Animation], settings: dict[str, Any], path: Path | None,
                 score_policy: Callable[[Mapping[str, Any]], float]) -> None:  # fmt: skip
        self.digest, self.settings, self.path, self.score_policy = digest(animations), settings, path, score_policy
        self.scores: Scores = {} if path is None else read_state(path, self.digest, settings)
        self.write()  # a file that cannot be written is better known now than after hours

    def score(self, criterion: str, genes: Genome) -> tuple[float, bool]:
        """The score, and whether it is new."""
        scores = self.scores.setdefault(criterion, {})
        is_new = genes not in scores
        if is_new:
            value = self.score_policy(known.policy(criterion, genes))
            if not 0 <= value < math.inf:
                raise ArgumentError(f"score: expected a finite number from 0 up, got {value!r} for {criterion} {genes}")
            scores[genes] = value
            if time.monotonic() - self.last_write >= SAVE_INTERVAL:
                self.write()
        return scores[genes], is_new

    def best(self, criterion: str) -> Row:
        """The least score, of several the one with the smallest parameters: whatever the order in which they came."""
        scores = self.scores[criterion]
        genes = min(scores, key=lambda each: (scores[each], each))
        return Row(criterion, known.parameters(criterion, genes), scores[genes], len(scores))

    def write(self) -> None:
        """Put everything on disk."""
        if self.path is not None:
            write_state(self.path, self.digest, self.settings, self.scores)
        self.last_write = time.monotonic()


def _best_of(criterion: str, cache: ScoreCache, plan: SearchPlan, progress: Callable[[Report], None] | None) -> Row:
    """Search the parameters of one criterion."""
    generation = 0

    def report_progress() -> None:
        if progress is not None:
            progress(Report(criterion, generation, plan.generations if genes else 0, cache.best(criterion)))

    def score(values: Genome) -> float:
        value, is_new = cache.score(criterion, values)
        if is_new:
            report_progress()
        return value

    def on_generation(number: int) -> None:
        nonlocal generation
        generation = number
        report_progress()

    genes = CRITERIA[criterion]
    try:
        if genes:
            # A seed of its own, so that what a criterion finds does not depend on which others are searched.
            criterion_seed = int.from_bytes(hashlib.sha256(f"{plan.seed} {criterion}".encode()).digest()[:4], "little")
            evolve(genes, score, plan._replace(seed=criterion_seed), on_generation)
        else:
            score(())
            on_generation(0)
    except KeyboardInterrupt:
        if cache.scores.get(criterion):
            report_progress()  # what was scored last is kept, and may not have been told
        raise
    return cache.best(criterion)


def _check_criteria(names: Iterable[str] | None) -> list[str]:
    """Those named, in the order of the registry, or all."""
    if isinstance(names, str):
        raise ArgumentTypeError(f"criteria: expected names in a list, got the text {names!r}")
    chosen = {validate.choice(f"criteria[{i}]", name, CRITERIA) for i, name in enumerate(names)} if names is not None else set(CRITERIA)
    if not chosen:
        raise ArgumentError(f"criteria: expected some of {', '.join(CRITERIA)}, got none")
    return [name for name in CRITERIA if name in chosen]
