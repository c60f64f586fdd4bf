"""Figures from runs as they are in the JSON file: what tables and plots of all papers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.clock import Run, fixed
from experiments.fits import exponent
from experiments.larsson2001.scenes import Rows
from pliant.report.tables import figure


def ms(run: Run) -> Rows:
    """Milliseconds of each step: updating, refitting and asking."""
    total: Rows = np.array(run["update_ms"]) + np.array(run["query_ms"])
    return total


def bare(run: Run) -> Rows:
    """The same without the fixed cost of calls."""
    left: Rows = np.maximum(ms(run) - fixed(run), 1e-6)
    return left


def find(runs: list[Run], part: str, tree: str, name: str) -> Run | None:
    """The run of a method, if it was made."""
    return next((run for run in runs if (run["part"], run["tree"], run["method"]) == (part, tree, name)), None)


def contact(runs: list[Run], part: str) -> int:
    """The first step with pairs; the number of steps if there is none."""
    pairs = next(run["pairs"] for run in runs if run["part"] == part)
    return next((k for k, found in enumerate(pairs) if found), len(pairs))


def mean(values: Any) -> float | None:
    """The mean, if there is any value."""
    return float(np.mean(values)) if len(values) else None


def over(one: float | None, other: float | None) -> str:
    """How many times the other."""
    return figure(one / other, " ×") if one is not None and other else "–"


def parts(runs: list[Run]) -> list[str]:
    """The parts that have runs, in order."""
    return list(dict.fromkeys(run["part"] for run in runs))


def growth(faces: list[int], column: list[float | None]) -> float:
    """The exponent of what is known."""
    known = [(n, value) for n, value in zip(faces, column, strict=True) if value]
    return exponent([n for n, _ in known], [value for _, value in known])
