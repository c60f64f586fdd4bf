"""What the plots of all papers share. Needs Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.clock import Run
from experiments.figures import ms, parts
from experiments.paper import PAPER, PLIANT, TREES, Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Styles = dict[str, dict[str, Any]]  # of lines, by method
TREE_COLOURS = {PAPER: "#E69F00", PLIANT: "#0072B2"}
NAMES = {PAPER: "the paper", PLIANT: "Pliant"}
TITLES = {"all": "all pairs", "first": "the first pair", "bumpy": "bumpy spheres", "arms": "bodies with arms"}


def missing() -> str | None:
    """Why plots cannot be drawn; None if they can."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        return "plots need Matplotlib: pip install 'pliant[experiments]'"
    return None


def draw(paper: Paper, data: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Write all plots for which there are runs; returns the names of the files, by experiment."""
    from matplotlib.figure import Figure

    drawn: dict[str, list[str]] = {}
    for name, experiment in data["experiments"].items():
        if not experiment["runs"]:
            continue
        figure = Figure(layout="constrained")
        paper.plots[name](figure, experiment["runs"])
        figure.savefig(folder / f"{name}.png", dpi=130)
        drawn[name] = [f"{name}.png"]
    return drawn


def steps(figure: Figure, runs: list[Run], what: str, styles: Styles) -> None:
    """Time against steps: a row for each part, a column for each kind of BVH."""
    rows = parts(runs)
    figure.set_size_inches(11, 3.6 * len(rows))
    axes = figure.subplots(len(rows), 2, squeeze=False, sharex=True, sharey="row")
    for part, row in zip(rows, axes, strict=True):
        for tree, ax in zip(TREES, row, strict=True):
            for run in (run for run in runs if (run["part"], run["tree"]) == (part, tree)):
                ax.plot(ms(run), label=run["method"], **styles[run["method"]])
            tidy(ax, f"{TITLES[part]}, BVHs of {NAMES[tree]}")
        row[0].set_ylabel("ms a step")
        row[0].set_ylim(0, 1.05 * max(float(np.percentile(ms(run), 99.5)) for run in runs if run["part"] == part))
    for ax in axes[-1]:
        ax.set_xlabel("step")
    legend(axes[0])
    figure.suptitle(what)


def legend(row: Any, place: str = "upper left") -> None:
    """One legend for all panels: in the last panel of a row that has lines, where there is room above them."""
    drawn = [ax for ax in row if ax.get_lines()]
    if drawn:
        drawn[-1].legend(frameon=False, fontsize="small", loc=place)


def tidy(ax: Axes, title: str) -> None:
    """The style of all plots."""
    ax.set_title(title, fontsize="medium")
    ax.grid(alpha=0.25)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
