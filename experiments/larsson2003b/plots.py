"""The plots of paper C's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.clock import Run
from experiments.figures import find, mean, parts
from experiments.larsson2003b.runs import AUTO, BOTTOM_UP, HYBRID, LAZY, RAYS, STACKLESS, WIDE
from experiments.larsson2003b.tables import predicted, total_with
from experiments.paper import LABELS, TREES
from experiments.plots import NAMES, TREE_COLOURS, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The parts of a frame, from the bottom; colours that colour-blind readers can distinguish (Okabe and Ito).
PARTS = {"take_ms": ("update", "#999999"), "refit_ms": ("refit before rays", "#D55E00"), "query_ms": ("rays", "#56B4E9")}
PART_COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#F0C050")


def plot_rendered(figure: Figure, runs: list[Run]) -> None:
    """The time of a frame by parts: a panel for each sampling, a bar for each method."""
    shown = parts(runs)
    figure.set_size_inches(4.2 * len(shown), 4.2)
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for part, ax in zip(shown, axes, strict=True):
        some = [run for run in runs if run["part"] == part]
        below: Any = np.zeros(len(some))
        for name, (label, colour) in PARTS.items():
            heights = np.array([np.mean(run[name]) for run in some])
            ax.bar(range(len(some)), heights, 0.7, bottom=below, color=colour, label=label)
            below = below + heights
        names = [f"{run['method']}, {LABELS[run['tree']]}" for run in some]
        ax.set_xticks(range(len(some)), names, rotation=40, ha="right", fontsize="small")
        tidy(ax, part)
    axes[0].set_ylabel("ms a frame")
    lowest = min(axes, key=lambda ax: float(ax.get_ylim()[1]))
    lowest.legend(frameon=False, fontsize="small", loc="upper right")
    one = runs[0]
    figure.suptitle(f"{one['show']}: mean of {one['steps']} of {one['of']} frames, BVHs of the paper and of Pliant")


def plot_77(figure: Figure, runs: list[Run]) -> None:
    """Predicted and measured ratios."""
    figure.set_size_inches(8, 4)
    ax = figure.subplots()
    names: list[str] = []
    bars: list[list[float]] = []
    for tree in TREES:
        for arity in dict.fromkeys(run["arity"] for run in runs):
            same = [run for run in runs if run["arity"] == arity]
            pairs = [(find(same, part, tree, BOTTOM_UP), find(same, part, tree, HYBRID)) for part in parts(runs)]
            if all(one and other for one, other in pairs):
                names.append(f"{LABELS[tree]}, k = {arity}")
                ratios = [float(np.mean(one["refit_ms"]) / np.mean(other["refit_ms"])) for one, other in pairs if one and other]
                bars.append([predicted(same[0]["faces"], arity), *ratios])
    labels = ("eq. 7.7", *parts(runs))
    for i, (label, colour) in enumerate(zip(labels, ("#999999", *PART_COLOURS[: len(labels) - 1]), strict=True)):
        x, width = np.arange(len(names)) + 0.8 * (i / len(labels) - 0.4), 0.7 / len(labels)
        ax.bar(x, [row[i] for row in bars], width, label=label, color=colour)
    ax.set_xticks(range(len(names)), names)
    ax.axhline(1, color="#555555", linewidth=0.8)
    tidy(ax, "Refit: bottom-up ÷ hybrid")
    ax.legend(frameon=False, fontsize="small")


def plot_picks(figure: Figure, runs: list[Run]) -> None:
    """Refitting everything, compared with one ray that causes refits."""
    figure.set_size_inches(8, 3.8)
    shown = parts(runs)
    for tree, ax in zip(TREES, figure.subplots(1, len(TREES)), strict=True):
        for i, (name, colour) in enumerate(((LAZY, "#0072B2"), (HYBRID, "#56B4E9"), (AUTO, "#009E73"))):
            pairs = [(find(runs, part, tree, BOTTOM_UP), find(runs, part, tree, name)) for part in shown]
            heights = [float(np.median(one["refit_ms"]) / np.median(other["query_ms"])) if one and other else 0.0 for one, other in pairs]
            ax.bar(np.arange(len(shown)) + 0.27 * (i - 1), heights, 0.25, label=name, color=colour)
        ax.set_xticks(range(len(shown)), [part.replace("in the", "in\nthe") for part in shown], fontsize="small")
        tidy(ax, f"Refit of all ÷ one ray, BVHs of {NAMES[tree]}")
        ax.legend(frameon=False, fontsize="small")


def plot_71(figure: Figure, runs: list[Run]) -> None:
    """Time against processors by eq. 7.1; crosses are measured."""
    rays = [run for run in runs if run["kind"] == RAYS]
    shown = parts(rays)
    figure.set_size_inches(5.5 * len(shown), 4)
    c = 2.0 ** np.arange(8)
    for part, ax in zip(shown, figure.subplots(1, len(shown), squeeze=False)[0], strict=True):
        for name, colour in ((BOTTOM_UP, "#D55E00"), (HYBRID, "#0072B2")):
            for run in (run for run in rays if (run["part"], run["method"]) == (part, name)):
                if run["threads"] == 1:
                    ax.plot(c, [total_with(run, n) for n in c], color=colour, label=name)
                ax.plot(run["threads"], total_with(run, 1), "x", color=colour)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xlabel("processors")
        ax.set_ylabel("ms a frame")
        tidy(ax, part)
        ax.legend(frameon=False, fontsize="small")
    figure.suptitle("Eq. 7.1: lines from the times of one thread, crosses measured")


def plot_traversals(figure: Figure, runs: list[Run]) -> None:
    """Stackless over wide: volumes and time."""
    figure.set_size_inches(8, 3.8)
    shown = parts(runs)
    for ax, (key, title) in zip(figure.subplots(1, 2), (("n_v", "volumes tested"), ("query_ms", "time")), strict=True):
        for i, tree in enumerate(TREES):
            pairs = [(find(runs, part, tree, STACKLESS), find(runs, part, tree, WIDE)) for part in shown]
            heights = [(mean(one[key]) or 0.0) / (mean(other[key]) or 1.0) if one and other else 0.0 for one, other in pairs]
            ax.bar(np.arange(len(shown)) + 0.4 * (i - 0.5), heights, 0.38, color=TREE_COLOURS[tree], label=f"BVHs of {NAMES[tree]}")
        ax.set_xticks(range(len(shown)), shown)
        ax.axhline(1, color="#555555", linewidth=0.8)
        tidy(ax, f"{title}, stackless ÷ wide")
        ax.legend(frameon=False, fontsize="small")


PLOTS = {"table-7.1": plot_rendered, "table-7.2": plot_rendered, "eq-7.7": plot_77, "picks": plot_picks, "eq-7.1": plot_71,
         "traversals": plot_traversals}  # fmt: skip
