"""The plots of paper S's experiments (Fig 11), from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.clock import Run
from experiments.figures import find, mean, ms, parts
from experiments.larsson2001.scenes import Rows
from experiments.larsson2008.runs import ALIGNED, BALLS, BOXES, COVARIANCE, NEAR, ON, RITTER, SLABS
from experiments.plots import NAMES, Styles, legend, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito); dotted lines differ only in the fit.
STYLES: Styles = {
    BALLS: {"color": "#E69F00"},
    RITTER: {"color": "#E69F00", "linestyle": ":"},
    SLABS: {"color": "#0072B2", "linewidth": 2.0, "zorder": 5},
    BOXES: {"color": "#D55E00"},
    COVARIANCE: {"color": "#D55E00", "linestyle": ":"},
    ALIGNED: {"color": "#009E73", "linestyle": "--"},
}
WHAT = {"n_v": "volumes tested a frame", "ms": "ms a frame"}


def series(runs: list[Run], part: str, tree: str, name: str, what: str) -> tuple[Rows, Rows] | None:
    """Frames and their counts; frames in close proximity, which were played separately, are merged in."""
    found = [run for each in (part, part + NEAR) if (run := find(runs, each, tree, name))]
    if not found:
        return None
    frames = np.concatenate([run["shown"][: run["steps"]] for run in found])
    values = np.concatenate([ms(run) if what == "ms" else np.array(run[what], float) for run in found])
    first = np.unique(frames, return_index=True)[1]
    return frames[first], values[first]


def plot_frames(figure: Figure, runs: list[Run]) -> None:
    """The first scene: tests and time against frames, a row for each kind of BVH."""
    part = parts(runs)[0]
    trees = [tree for tree in ON if any(run["tree"] == tree for run in runs)]
    figure.set_size_inches(11, 3.6 * len(trees))
    axes = figure.subplots(len(trees), 2, squeeze=False, sharex=True, sharey="col")
    for tree, row in zip(trees, axes, strict=True):
        for (what, label), ax in zip(WHAT.items(), row, strict=True):
            for name in ON[tree]:
                line = series(runs, part, tree, name, what)
                if line is not None:
                    ax.plot(*line, label=name, **STYLES[name])
            ax.set_yscale("log")
            ax.set_ylabel(label)
            tidy(ax, f"BVHs of {NAMES[tree]}")
    for ax in axes[-1]:
        ax.set_xlabel("frame")
    for row in axes:
        legend(row[:1], "lower center")
    figure.suptitle(f"Fig 11: {part}, {max(runs[0]['both']):,} triangles")


def plot_knots(figure: Figure, runs: list[Run]) -> None:
    """Tests and time against triangles, both on logarithmic scales."""
    figure.set_size_inches(11, 4.2)
    axes: Any = figure.subplots(1, 2)
    tree = next(iter(ON))
    for (what, label), ax in zip(WHAT.items(), axes, strict=True):
        for name in ON[tree]:
            some = [run for part in parts(runs) if (run := find(runs, part, tree, name))]
            if some:
                heights = [mean(ms(run)) if what == "ms" else mean(run[what]) for run in some]
                ax.plot([sum(run["both"]) for run in some], heights, marker="o", markersize=4, label=name, **STYLES[name])
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("triangles of both knots")
        ax.set_ylabel(label)
        tidy(ax, f"BVHs of {NAMES[tree]}")
    legend(axes)
    figure.suptitle("Knots: close along a curve")


PLOTS = {"spheres": plot_frames, "knots": plot_knots, "quadrupeds": plot_frames, "hands": plot_frames}
