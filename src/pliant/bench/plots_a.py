"""The plots of paper A's experiments, from runs as they are in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.bench.paper_a import ABLATIONS, AUTO, BOTTOM_UP, FINE, HYBRID, MODEL_2, MODEL_8, PAPER, PLIANT, SAME, TOP_DOWN, TREES
from pliant.bench.play import Run
from pliant.bench.tables_a import TABLE_51, find, ms, parts, sizes_51

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that stay apart for every eye (Okabe and Ito); competitors are dashed.
STYLES: dict[str, dict[str, Any]] = {
    HYBRID: {"color": "#0072B2", "linewidth": 2.0, "zorder": 5},
    TOP_DOWN: {"color": "#E69F00"},
    BOTTOM_UP: {"color": "#009E73"},
    AUTO: {"color": "#555555", "linestyle": ":"},
    MODEL_2: {"color": "#D55E00", "linestyle": "--"},
    MODEL_8: {"color": "#CC79A7", "linestyle": "--"},
}
TREE_COLOURS = {PAPER: "#E69F00", PLIANT: "#0072B2"}
NAMES = {PAPER: "the paper", PLIANT: "Pliant"}
TITLES = {"all": "all pairs", "first": "the first pair", "bumpy": "bumpy spheres", "arms": "bodies with arms"}


def missing() -> str | None:
    """Why there can be no plots; None: there can."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        return "plots need Matplotlib: pip install 'pliant[bench]'"
    return None


def draw(data: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Write all plots that the runs allow; the names of the files, by experiment."""
    from matplotlib.figure import Figure

    drawn: dict[str, list[str]] = {}
    for name, experiment in data["experiments"].items():
        if not experiment["runs"]:
            continue
        figure = Figure(layout="constrained")
        PLOTS[name](figure, experiment["runs"])
        figure.savefig(folder / f"{name}.png", dpi=130)
        drawn[name] = [f"{name}.png"]
    return drawn


def steps(figure: Figure, runs: list[Run], what: str) -> None:
    """Time against steps: a row for each part, a column for each kind of trees."""
    rows = parts(runs)
    figure.set_size_inches(11, 3.6 * len(rows))
    axes = figure.subplots(len(rows), 2, squeeze=False, sharex=True, sharey="row")
    for part, row in zip(rows, axes, strict=True):
        for tree, ax in zip(TREES, row, strict=True):
            for run in (run for run in runs if (run["part"], run["tree"]) == (part, tree)):
                ax.plot(ms(run), label=run["method"], **STYLES[run["method"]])
            tidy(ax, f"{TITLES[part]}, trees of {NAMES[tree]}")
        row[0].set_ylabel("ms a step")
        row[0].set_ylim(0, 1.05 * max(float(np.percentile(ms(run), 99.5)) for run in runs if run["part"] == part))
    for ax in axes[-1]:
        ax.set_xlabel("step")
    axes[0][-1].legend(frameon=False, fontsize="small", loc="upper left")  # the right panels have room above their lines
    figure.suptitle(what)


def plot_53(figure: Figure, runs: list[Run]) -> None:
    """Two bodies."""
    steps(figure, runs, f"Fig 5.3: two bodies of {runs[0]['faces']:,} triangles pushed into each other")


def plot_54(figure: Figure, runs: list[Run]) -> None:
    """Many bodies."""
    steps(figure, runs, f"Fig 5.4: {runs[0]['bodies']} bodies of {runs[0]['faces']:,} triangles")


def plot_51(figure: Figure, runs: list[Run]) -> None:
    """Time against faces, both on logarithmic scales."""
    figure.set_size_inches(11, 4.6)
    axes = figure.subplots(1, 2, sharey=True)
    for part, ax in zip((FINE, SAME), axes, strict=True):
        for tree, name in ((PAPER, HYBRID), (PLIANT, AUTO)):
            rows = [sizes_51(run, "") for run in runs if (run["part"], run["tree"], run["method"]) == (part, tree, name)]
            for which, style in (("worst", "-o"), ("first", "--o")):
                label = f"{name}, trees of {NAMES[tree]}, {'worst' if which == 'worst' else 'first contact'}"
                times = [row[which] or np.nan for row in rows]
                ax.plot([row["faces"] for row in rows], times, style, color=TREE_COLOURS[tree], markersize=4, label=label)
        if part == FINE:
            for column, style, label in ((1, "-s", "the paper, 2001, worst"), (0, "--s", "the paper, 2001, first contact")):
                ax.plot(list(TABLE_51), [row[column] for row in TABLE_51.values()], style, color="#999999", markersize=4, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        tidy(ax, part)
        ax.set_xlabel("faces a body")
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
            ax.bar(np.arange(len(names)) + 0.4 * (i - 0.5), heights, 0.38, color=TREE_COLOURS[tree], label=f"trees of {NAMES[tree]}")
        ax.set_xticks(range(len(names)), names, rotation=30 if max(map(len, names)) > 6 else 0)
        tidy(ax, part)
    axes[0].set_ylabel("ms a step")
    axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle("Ablations: hybrid updates, all pairs")


def tidy(ax: Axes, title: str) -> None:
    """The look of all."""
    ax.set_title(title, fontsize="medium")
    ax.grid(alpha=0.25)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


PLOTS = {"fig-5.3": plot_53, "table-5.1": plot_51, "fig-5.4": plot_54, "ablations": plot_ablations}
