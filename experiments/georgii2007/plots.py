"""The plots of paper G's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.clock import Run
from experiments.figures import mean, ms, parts
from experiments.georgii2007.clock import CUDA, MOVED
from experiments.georgii2007.runs import PASSES, RESOLUTION
from experiments.georgii2007.tables import COLUMNS, PASS_NAMES, TABLE_1, images, label, made, share
from experiments.plots import tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito).
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#117733", "#D55E00", "#CC79A7", "#882255", "#999999")
SHADES = ("#404040", "#909090", "#C8C8C8", "#CC79A7", "#E8C6D8")  # of passes, from the first to the last


def colours(runs: list[Run]) -> dict[str, str]:
    """A colour for each engine that could run."""
    return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(dict.fromkeys(run["method"] for run in runs if made(run)))}


def plot_counts(figure: Figure, runs: list[Run]) -> None:
    """Counts relative to the paper's, a panel for each scene."""
    names = [part for part in parts(runs) if part in TABLE_1]
    figure.set_size_inches(12, 3.4)
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for part, ax in zip(names, axes, strict=True):
        for run, colour in zip(images(runs, part), COLOURS, strict=False):
            ratios = [np.mean(run[name]) / getattr(TABLE_1[part], name) for name in COLUMNS]
            ax.plot(range(len(COLUMNS)), ratios, color=colour, marker="o", markersize=4, linestyle="", label=run["method"])
        ax.axhline(1, color="#000000", linestyle=":")
        ax.set_xticks(range(len(COLUMNS)), ["candidates" if name == "met" else name for name in COLUMNS], rotation=60, fontsize="small")
        ax.set_yscale("log")
        tidy(ax, part)
    axes[0].set_ylabel("count ÷ the paper's")
    beneath(figure, axes[0], 3)


def plot_1(figure: Figure, runs: list[Run]) -> None:
    """Milliseconds a frame, a group of bars for each scene and a line for the paper; below, the shares of the passes."""
    figure.set_size_inches(12, 8.4)
    above, below = figure.subplots(2, 1)
    labels, names = list(dict.fromkeys(label(run) for run in runs)), colours(runs)
    wide = 0.85 / max(len(names), 1)
    for number, (name, colour) in enumerate(names.items()):
        mine = {label(run): run for run in runs if run["method"] == name and made(run)}
        at = [labels.index(each) - 0.425 + (number + 0.5) * wide for each in mine]
        above.bar(at, [mean(ms(run)) for run in mine.values()], 0.9 * wide, color=colour, label=name,
                  hatch="//" if next(iter(mine.values()))["kind"] in (CUDA, MOVED) else None)  # fmt: skip
    for k, each in enumerate(labels):
        said = TABLE_1.get(next(run["part"] for run in runs if label(run) == each))
        if said is not None:
            above.plot([k - 0.45, k + 0.45], [said.total] * 2, color="#000000", linestyle=":", label="the paper, 2007" if not k else None)
    above.set_xticks(range(len(labels)), labels, fontsize="small")
    above.set_yscale("log")
    above.set_ylabel("ms a frame")
    tidy(above, "Update and all pairs")
    stacked(below, [run for run in runs if run["passes_ms"]])
    beneath(figure, above, 5)


def stacked(ax: Axes, runs: list[Run]) -> None:
    """The share of each pass in the time of the image engine, a bar for each run."""
    rows = np.array([[run["passes_ms"][name] for name in PASS_NAMES] for run in runs]).reshape(-1, len(PASS_NAMES))
    parted = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)
    ends = np.cumsum(parted, axis=1)
    for k, name in enumerate(PASS_NAMES):
        ax.barh(range(len(runs)), parted[:, k], left=ends[:, k] - parted[:, k], color=SHADES[k], label=name, height=0.7)
    ax.set_yticks(range(len(runs)), [f"{run['part']}: {run['method']}" for run in runs], fontsize="x-small")
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="small", ncols=len(PASS_NAMES), loc="lower center", bbox_to_anchor=(0.5, 1.05))
    ax.set_xlabel("share of a frame")
    tidy(ax, "")


def plot_cloth(figure: Figure, runs: list[Run]) -> None:
    """Milliseconds against frames, a panel for each cloth, and pairs in the background."""
    labels, names = list(dict.fromkeys(label(run) for run in runs)), colours(runs)
    figure.set_size_inches(11, 3.9 * len(labels))
    axes = figure.subplots(len(labels), 1, squeeze=False)[:, 0]
    for each, ax in zip(labels, axes, strict=True):
        mine = [run for run in runs if label(run) == each and made(run)]
        for run in mine:
            ax.plot(ms(run), color=names[run["method"]], label=run["method"], linestyle="--" if run["kind"] in (CUDA, MOVED) else "-")
        ax.set_yscale("log")
        ax.set_ylabel("ms a frame")
        behind = ax.twinx()
        behind.fill_between(range(len(mine[0]["exact"])), mine[0]["exact"], color="#999999", alpha=0.2, linewidth=0)
        behind.set_ylabel("pairs (grey)")
        behind.set_ylim(0)
        ax.set_zorder(behind.get_zorder() + 1)  # lines over the background
        ax.patch.set_visible(False)
        tidy(ax, f"{each} triangles")
    axes[-1].set_xlabel("frame")
    beneath(figure, axes[0], 5)


def plot_misses(figure: Figure, runs: list[Run]) -> None:
    """Missed pairs against resolution, with the estimate, and against passes."""
    figure.set_size_inches(11, 4.4)
    axes = figure.subplots(1, 2)
    for part, colour in zip(parts(runs), COLOURS, strict=False):
        sizes = [run for run in runs if run["part"] == part and run["sweep"] == RESOLUTION]
        axes[0].plot([run["value"] for run in sizes], shares(sizes, "missed"), color=colour, marker="o", markersize=4, label=part)
        axes[0].plot([run["value"] for run in sizes], shares(sizes, "estimate"), color=colour, linestyle="--", linewidth=1)
        for rest, style in (("drop", "-"), ("mark", ":")):
            mine = [run for run in runs if run["part"] == part and run["sweep"] == PASSES and run["rest"] == rest]
            axes[1].plot([run["value"] for run in mine], shares(mine, "missed"), color=colour, linestyle=style, marker="o", markersize=3)
    axes[0].set_xscale("log", base=2)
    for ax, what in zip(axes, ("rays a side (dashed: estimate)", "passes (dotted: rest marked)"), strict=True):
        ax.set_xlabel(what)
        ax.set_ylabel("pairs missed, %")
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set_ylim(0)
        tidy(ax, "")
    beneath(figure, axes[0], 5)


def shares(runs: list[Run], name: str) -> list[float]:
    """Per cent; NaN if there are no pairs."""
    found = [share(run, name) for run in runs]
    return [float("nan") if each is None else 100 * each for each in found]


def beneath(figure: Figure, ax: Axes, columns: int) -> None:
    """One legend for all panels, outside them."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


PLOTS = {"counts": plot_counts, "table-1": plot_1, "cloth": plot_cloth, "misses": plot_misses}
