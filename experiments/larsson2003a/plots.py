"""The plots of paper B's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.clock import Run
from experiments.figures import find, ms, parts
from experiments.larsson2003a.runs import AUTO, BOTTOM_UP, HYBRID, LAZY, MORPH, WORLD
from experiments.paper import HALF, TREES
from experiments.plots import NAMES, TITLES, TREE_COLOURS, Styles, legend, steps, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito); other methods are dashed.
STYLES: Styles = {
    MORPH: {"color": "#0072B2", "linewidth": 2.0, "zorder": 5},
    HYBRID: {"color": "#D55E00", "linestyle": "--"},
    HALF: {"color": "#CC79A7", "linestyle": "--"},
    BOTTOM_UP: {"color": "#009E73", "linestyle": "-."},
    LAZY: {"color": "#56B4E9", "linestyle": "-."},
    WORLD: {"color": "#E69F00", "linestyle": "--"},
    AUTO: {"color": "#555555", "linestyle": ":"},
}


def plot_65(figure: Figure, runs: list[Run]) -> None:
    """Two bodies."""
    steps(figure, runs, f"Fig 6.5: two bodies of {runs[0]['faces']:,} triangles pass through each other", STYLES)


def plot_68(figure: Figure, runs: list[Run]) -> None:
    """Time against triangles, both on logarithmic scales."""
    shown = parts(runs)
    figure.set_size_inches(11, 4.2 * len(shown))
    axes = figure.subplots(len(shown), 2, squeeze=False, sharex=True, sharey="row")
    for part, row in zip(shown, axes, strict=True):
        for tree, ax in zip(TREES, row, strict=True):
            some = [run for run in runs if (run["part"], run["tree"]) == (part, tree)]
            for name in dict.fromkeys(run["method"] for run in some):
                same = [run for run in some if run["method"] == name]
                times = [ms(run).mean() for run in same]
                ax.plot([run["faces"] for run in same], times, marker="o", markersize=4, label=name, **STYLES[name])
            ax.set_xscale("log")
            ax.set_yscale("log")
            tidy(ax, f"{TITLES[part]}, BVHs of {NAMES[tree]}")
        row[0].set_ylabel("ms a step")
    for ax in axes[-1]:
        ax.set_xlabel("triangles per swimmer")
    legend(axes[0])
    figure.suptitle(f"Fig 6.8: {runs[0]['bodies']} swimmers")


def plot_savings(figure: Figure, runs: list[Run]) -> None:
    """Bars: a panel for each scene."""
    shown = parts(runs)
    figure.set_size_inches(5.5 * len(shown), 3.8)
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for part, ax in zip(shown, axes, strict=True):
        names = list(dict.fromkeys(run["method"] for run in runs if run["part"] == part))
        for i, tree in enumerate(TREES):
            pairs = [(find(runs, part, tree, name), find(runs, part, tree, MORPH)) for name in names]
            heights = [float(ms(run).mean() / ms(morph).mean()) if run and morph else 0.0 for run, morph in pairs]
            ax.bar(np.arange(len(names)) + 0.4 * (i - 0.5), heights, 0.38, color=TREE_COLOURS[tree], label=f"BVHs of {NAMES[tree]}")
        ax.axhline(1, color="#555555", linewidth=0.8)
        ax.set_xticks(range(len(names)), names, rotation=30)
        tidy(ax, part)
    axes[0].set_ylabel("time ÷ morph")
    axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle("One option at a time")


PLOTS = {"fig-6.5": plot_65, "fig-6.8": plot_68, "savings": plot_savings}
