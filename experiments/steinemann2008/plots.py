"""The plots of paper M's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.clock import Run
from experiments.figures import mean, ms, parts
from experiments.paper import LABELS, PAPER, PLIANT
from experiments.plots import tidy
from experiments.steinemann2008.runs import AUTO, BEST_BOUND, BOTTOM_UP, FRONT, OUR_BOUND, PAPERS_BOUND
from experiments.steinemann2008.tables import heading, named, on
from experiments.steinemann2008.tightness import OPTIMAL, UPDATE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000", "#999999", "#882255", "#117733")
ROOTS = {PAPERS_BOUND: "#E69F00", OUR_BOUND: "#009E73", UPDATE: "#0072B2", OPTIMAL: "#000000"}
DRAWN = (PAPERS_BOUND, "greedy, AABB", OUR_BOUND, BEST_BOUND)
WAYS = {(BOTTOM_UP, PAPER): "#999999", (FRONT, PAPER): "#E69F00", (BOTTOM_UP, PLIANT): "#000000", (AUTO, PLIANT): "#0072B2"}


def plot_1(figure: Figure, runs: list[Run]) -> None:
    """Microseconds against vertices, a line for each number of nodes."""
    figure.set_size_inches(9, 5.2)
    ax = figure.subplots()
    for method, colour in ROOTS.items():
        for number, nodes in enumerate(dict.fromkeys(run["nodes"] for run in runs)):
            some = [run for run in runs if run["method"] == method and run["nodes"] == nodes]
            ax.plot([run["vertices"] for run in some], [np.mean(run["us"]) for run in some], color=colour, marker="o", markersize=4,
                    linestyle=("-", "--", ":")[number % 3], label=f"{method}, {nodes} nodes")  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("vertices")
    ax.set_ylabel("µs")
    below(figure, ax, 4)
    tidy(ax, "Table 1: what a root costs")


def plot_5(figure: Figure, runs: list[Run]) -> None:
    """Ratios against levels, mean and largest, a row for each number of nodes; of the library's bounds those that differ most."""
    counts = list(dict.fromkeys(run["nodes"] for run in runs))
    figure.set_size_inches(11, 3.8 * len(counts))
    axes = figure.subplots(len(counts), 2, squeeze=False, sharex=True)
    for nodes, row in zip(counts, axes, strict=True):
        for ax, what in zip(row, ("mean", "largest"), strict=True):
            shown = [run for run in runs if run["nodes"] == nodes and (run["method"] in DRAWN or not run["options"])]
            for number, run in enumerate(shown):
                look = {"linestyle": "--" if not run["options"] else "-", "linewidth": 1.2 if not run["options"] else 2.0}
                ax.plot(run[what], color=COLOURS[number % len(COLOURS)], label=run["method"], **look)
            ax.set_yscale("log")
            ax.set_ylabel("radius ÷ that of the smallest box")
            tidy(ax, f"{nodes} nodes, {what}")
    for ax in axes[-1]:
        ax.set_xlabel("level (0: the root)")
        ax.set_xticks(range(0, max(len(run["mean"]) for run in runs), 3))
    below(figure, axes[0][0], 5)


def plot_4(figure: Figure, runs: list[Run]) -> None:
    """Milliseconds a frame, a group of bars for each setting: updates, and on top of them queries."""
    names = list(dict.fromkeys((run["tree"], named(run)) for run in runs))
    figure.set_size_inches(12, 4.6)
    ax, wide = figure.subplots(), 0.85 / len(names)
    for number, (tree, name) in enumerate(names):
        some = {run["part"]: run for run in runs if (run["tree"], named(run)) == (tree, name)}
        at = [parts(runs).index(part) - 0.425 + (number + 0.5) * wide for part in some]
        updates, both = (np.array([np.mean(rows(run)) for run in some.values()]) for rows in (lambda run: run["update_ms"], ms))
        colour = COLOURS[number % len(COLOURS)]
        ax.bar(at, both, 0.9 * wide, color=colour, label=f"{name} ({on(tree)})")
        ax.bar(at, updates, 0.9 * wide, color="#FFFFFF", alpha=0.35, hatch="////", linewidth=0)
    ax.set_xticks(range(len(parts(runs))), [heading(runs, part).replace(", ", "\n") for part in parts(runs)], fontsize="small")
    ax.set_yscale("log")
    ax.set_ylabel("ms a frame; hatched: updates")
    below(figure, ax, 5)
    tidy(ax, "Update and all pairs")


def plot_radius(figure: Figure, runs: list[Run]) -> None:
    """Milliseconds and refitted volumes against nodes a vertex."""
    figure.set_size_inches(10, 4.0)
    axes = figure.subplots(1, 2)
    for (method, tree), colour in WAYS.items():
        some = [run for run in runs if (run["method"], run["tree"]) == (method, tree)]
        label = f"{method} ({LABELS[tree]})"
        for ax, heights in zip(axes, ([mean(ms(run)) for run in some], [mean(run["n_u"]) for run in some]), strict=True):
            ax.plot([run["influences"] for run in some], heights, color=colour, marker="o", markersize=4, label=label)
    for ax, label in zip(axes, ("ms a frame", "volumes refitted a frame"), strict=True):
        ax.set_xlabel("nodes a vertex")
        ax.set_ylabel(label)
        ax.set_yscale("log")
        tidy(ax, "")
    below(figure, axes[0], 4)


def below(figure: Figure, ax: Axes, columns: int) -> None:
    """One legend for all panels, outside them."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


PLOTS = {"table-1": plot_1, "fig-5": plot_5, "table-4": plot_4, "fish": plot_4, "radius": plot_radius}
