"""A genetic search for the least score, with the numbers of thesis D, section IV; PyGAD runs it.

Thirty members, fifty generations; the better half stays and the other is replaced; nine children in ten mix two parents, one is a copy of
one; a gene in a hundred is drawn anew. The thesis says no more. Here parents win a contest of three, and a mixed gene is drawn evenly
between those of its parents and half as far beyond (blend crossover): where a genome has one gene, exchanging genes would find nothing new.

The search depends on the seed and on scores alone: with the same scores it asks for the same genomes in the same order. So a search
that was stopped needs none of its insides to go on: it starts again, and what was scored is known.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import MissingExtraError
from pliant.tune.criteria import Gene, Genome, genome

CROSSOVER_RATE, MUTATION_RATE = 0.9, 0.01  # probabilities: of a child, of a gene
BLEND_MARGIN = 0.5  # how far children may lie outside of their parents, in distances between them
TOURNAMENT_SIZE = 3  # members of which the best becomes a parent
MIN_POPULATION, MAX_COUNT = 4, 10_000  # members, and generations


class SearchPlan(NamedTuple):
    """How long to search."""

    population: int = 30
    generations: int = 50
    seed: int = 0


class _SearchError(BaseException):
    """An error on its way through the library, which would print others or, in old versions, end the process."""


def evolve(genes: Sequence[Gene], score: Callable[[Genome], float], plan: SearchPlan, on_generation: Callable[[int], None]) -> None:
    """Call `score` for genomes that get better and better, again for some that were scored before, and `turn(generation)` after each
    generation, 0 being the first members: random ones, and the start of each gene. What `score` raises ends the search."""
    pygad = import_pygad()
    rng = np.random.default_rng(plan.seed)
    survivors = plan.population // 2
    low, high = (np.array([getattr(gene, name) for gene in genes]) for name in ("low", "high"))
    initial = rng.uniform(low, high, (plan.population, len(genes)))
    initial[0] = [gene.start for gene in genes]
    errors: list[Exception] = []

    def fitness(_: Any, values: NDArray[np.float64], __: Any) -> float:
        try:
            return -score(genome(genes, values))
        except Exception as error:
            errors.append(error)
            raise _SearchError from None

    def mix(parents: NDArray[np.float64], shape: tuple[int, int], ga: Any) -> NDArray[np.float64]:
        count = shape[0]
        mother, father = (np.asarray(parents, np.float64)[(np.arange(count) + k) % len(parents)] for k in (0, 1))
        margin = BLEND_MARGIN * np.abs(father - mother)
        blended = rng.uniform(np.minimum(mother, father) - margin, np.maximum(mother, father) + margin)
        return np.where(rng.random((count, 1)) < ga.crossover_probability, np.clip(blended, low, high), mother)

    with _saved_random_state():
        search = pygad.GA(
            num_generations=plan.generations, initial_population=initial, fitness_func=fitness,
            num_parents_mating=plan.population - survivors, keep_elitism=survivors, parent_selection_type="tournament",
            K_tournament=TOURNAMENT_SIZE,
            crossover_type=mix, crossover_probability=CROSSOVER_RATE, mutation_type="random", mutation_probability=MUTATION_RATE,
            gene_space=[{"low": gene.low, "high": gene.high} for gene in genes], random_seed=plan.seed % 2**32, suppress_warnings=True,
            logger=_null_logger(), on_start=None, on_fitness=lambda ga, _: on_generation(int(ga.generations_completed)),
        )  # fmt: skip
        try:
            search.run()
        except _SearchError:
            raise errors[0] from None
    on_generation(plan.generations)


def import_pygad() -> Any:
    """PyGAD, if it is there."""
    try:
        import pygad
    except ImportError as error:
        raise MissingExtraError("tuning needs PyGAD, which is not installed: pip install 'pliant[tune]' or pip install pygad") from error
    return pygad


def _null_logger() -> logging.Logger:
    """A logger of nobody: errors are raised, and progress is the caller's."""
    logger = logging.Logger("pliant tune")
    logger.addHandler(logging.NullHandler())
    return logger


@contextlib.contextmanager
def _saved_random_state() -> Iterator[None]:
    """Old versions of the library seed the generators that a whole process shares."""
    python_state, numpy_state = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
