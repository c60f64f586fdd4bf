"""Figures computed from the runs in the JSON file, for the tables and plots of all papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.clock import Run, fixed
from experiments.fits import exponent
from experiments.larsson2001.scenes import Rows
from pliant.report.tables import figure


def ms(run: Run) -> Rows:
    """Milliseconds of each step: update, refit and query."""
    total: Rows = np.array(run["update_ms"]) + np.array(run["query_ms"])
    return total


def bare(run: Run) -> Rows:
    """The same without the fixed cost of calls: net times."""
    left: Rows = np.maximum(ms(run) - fixed(run), 1e-6)
    return left


def find(runs: list[Run], part: str, tree: str, name: str) -> Run | None:
    """The run of a method, or None."""
    return next((run for run in runs if (run["part"], run["tree"], run["method"]) == (part, tree, name)), None)


def contact(runs: list[Run], part: str) -> int:
    """The first step with pairs, or the number of steps."""
    pairs = next(run["pairs"] for run in runs if run["part"] == part)
    return next((k for k, found in enumerate(pairs) if found), len(pairs))


def mean(values: Any) -> float | None:
    """The mean, or None without values."""
    return float(np.mean(values)) if len(values) else None


def over(one: float | None, other: float | None) -> str:
    """A ratio, as text."""
    return figure(one / other, " ×") if one is not None and other else "–"


def parts(runs: list[Run]) -> list[str]:
    """The parts that have runs, in order."""
    return list(dict.fromkeys(run["part"] for run in runs))


def growth(faces: list[int], column: list[float | None]) -> float:
    """The exponent of growth, from the values that exist."""
    known = [(n, value) for n, value in zip(faces, column, strict=True) if value]
    return exponent([n for n, _ in known], [value for _, value in known])
