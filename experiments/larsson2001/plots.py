"""The plots of paper A's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.clock import Run
from experiments.figures import find, ms, parts
from experiments.larsson2001.runs import ABLATIONS, AUTO, BOTTOM_UP, FINE, HYBRID, MODEL_2, MODEL_8, SAME, TOP_DOWN
from experiments.larsson2001.tables import TABLE_51, sizes_51
from experiments.paper import HALF, PAPER, PLIANT, TREES
from experiments.plots import NAMES, TREE_COLOURS, Styles, steps, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito); other methods are dashed.
STYLES: Styles = {
    HYBRID: {"color": "#0072B2", "linewidth": 2.0, "zorder": 5},
    HALF: {"color": "#56B4E9", "linestyle": "--"},
    TOP_DOWN: {"color": "#E69F00"},
    BOTTOM_UP: {"color": "#009E73"},
    AUTO: {"color": "#555555", "linestyle": ":"},
    MODEL_2: {"color": "#D55E00", "linestyle": "--"},
    MODEL_8: {"color": "#CC79A7", "linestyle": "--"},
}


def plot_53(figure: Figure, runs: list[Run]) -> None:
    """Two bodies."""
    steps(figure, runs, f"Fig 5.3: two bodies of {runs[0]['faces']:,} triangles pushed into each other", STYLES)


def plot_54(figure: Figure, runs: list[Run]) -> None:
    """Many bodies."""
    steps(figure, runs, f"Fig 5.4: {runs[0]['bodies']} bodies of {runs[0]['faces']:,} triangles", STYLES)


def plot_51(figure: Figure, runs: list[Run]) -> None:
    """Time against faces, both on logarithmic scales."""
    figure.set_size_inches(11, 4.6)
    axes = figure.subplots(1, 2, sharey=True)
    for part, ax in zip((FINE, SAME), axes, strict=True):
        for tree, name in ((PAPER, HYBRID), (PLIANT, AUTO)):
            rows = [sizes_51(run, "") for run in runs if (run["part"], run["tree"], run["method"]) == (part, tree, name)]
            for which, style in (("worst", "-o"), ("first", "--o")):
                label = f"{name}, BVHs of {NAMES[tree]}, {'worst' if which == 'worst' else 'first contact'}"
                times = [row[which] or np.nan for row in rows]
                ax.plot([row["faces"] for row in rows], times, style, color=TREE_COLOURS[tree], markersize=4, label=label)
        if part == FINE:
            for column, style, label in ((1, "-s", "the paper, 2001, worst"), (0, "--s", "the paper, 2001, first contact")):
                ax.plot(list(TABLE_51), [row[column] for row in TABLE_51.values()], style, color="#999999", markersize=4, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        tidy(ax, part)
        ax.set_xlabel("faces per body")
    axes[0].set_ylabel("ms")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    figure.suptitle("Table 5.1: more faces")


def plot_ablations(figure: Figure, runs: list[Run]) -> None:
    """Bars: a panel for each choice."""
    shown = [part for part in ABLATIONS if part in parts(runs)]
    figure.set_size_inches(3.2 * len(shown) + 1, 3.6)
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for part, ax in zip(shown, axes, strict=True):
        names = list(dict.fromkeys(run["method"] for run in runs if run["part"] == part))
        for i, tree in enumerate(TREES):
            found = [find(runs, part, tree, name) for name in names]
            heights = [float(ms(run).mean()) if run else 0.0 for run in found]
            ax.bar(np.arange(len(names)) + 0.4 * (i - 0.5), heights, 0.38, color=TREE_COLOURS[tree], label=f"BVHs of {NAMES[tree]}")
        ax.set_xticks(range(len(names)), names, rotation=30 if max(map(len, names)) > 6 else 0)
        tidy(ax, part)
    axes[0].set_ylabel("ms a step")
    axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle("Ablations: hybrid updates, all pairs")


PLOTS = {"fig-5.3": plot_53, "table-5.1": plot_51, "fig-5.4": plot_54, "ablations": plot_ablations}
