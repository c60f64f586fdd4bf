"""The plots of paper D's experiments, from the runs in the JSON file. Needs Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.bitar2011.runs import ACTIVE, ALL, AUTO, BEST, DEFAULTS, NEXT, OWN, TABLE_2
from experiments.bitar2011.tables import Key, Total, first_all, key, shown, totals
from experiments.clock import Run
from experiments.figures import mean, ms, parts
from experiments.paper import PAPER
from experiments.plots import Styles, legend, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito).
SAID, MEASURED = "#999999", "#0072B2"
STYLES: Styles = {
    ALL: {"color": "#000000"},
    BEST: {"color": "#D55E00", "linewidth": 2.0, "zorder": 5},
    NEXT: {"color": "#E69F00"},
    ACTIVE: {"color": "#009E73"},
    AUTO: {"color": "#56B4E9", "linestyle": "--"},
    DEFAULTS: {"color": "#0072B2", "linewidth": 2.0},
}


def style(each: Key) -> dict[str, Any]:
    """The style of a line; dotted with the paper's parameters."""
    return STYLES[each.method] | ({"linestyle": ":"} if each.parameters == PAPER else {})


def named(each: Key) -> str:
    """The label of a method and its parameters."""
    return shown(each.method) + (f" ({each.parameters})" if each.parameters in (PAPER, OWN) else "")


def plot_2(figure: Figure, runs: list[Run]) -> None:
    """Time relative to refit all, the paper's and as measured."""
    every = totals(runs)
    base, keys = first_all(every), list(every)
    figure.set_size_inches(9, 1.2 + 0.32 * len(keys))
    ax = figure.subplots()
    for row, each in enumerate(keys):
        said = TABLE_2.get(each.method)
        if said and said.seconds and each.parameters != OWN:
            ax.barh(row - 0.2, said.seconds / (TABLE_2[ALL].seconds or 1.0), 0.4, color=SAID, label="paper")
        if base:
            ax.barh(row + 0.2, every[each].ms / base.ms, 0.4, color=MEASURED, label="measured")
    ax.set_yticks(range(len(keys)), [named(each) for each in keys])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel("time ÷ refit all")
    ax.axvline(1.0, color="#000000", linewidth=0.8)
    bars = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(bars.values(), bars.keys(), frameon=False, fontsize="small")
    tidy(ax, "Table 2: update and distance, five scenes")


def plot_trees(figure: Figure, runs: list[Run]) -> None:
    """Milliseconds a frame of each method, a group of bars for each kind of BVH."""
    every = totals(runs)
    names = list(dict.fromkeys(each[:2] for each in every))
    kinds = list(dict.fromkeys(each[2:] for each in every))
    figure.set_size_inches(11, 4.2)
    ax, wide = figure.subplots(), 0.8 / len(names)
    for number, name in enumerate(names):
        mine = {each[2:]: (each, total) for each, total in every.items() if each[:2] == name}
        at = [kinds.index(kind) - 0.4 + (number + 0.5) * wide for kind in mine]
        each = next(iter(mine.values()))[0]
        look = {"color": style(each)["color"], "alpha": 0.5 if each.parameters == PAPER else 1.0}
        ax.bar(at, [a_frame(total) for _, total in mine.values()], 0.9 * wide, label=named(each), **look)
    ax.set_xticks(range(len(kinds)), [f"{volume}, arity {arity}" for volume, arity in kinds])
    ax.set_ylabel("ms a frame")
    ax.legend(frameon=False, fontsize="small")
    tidy(ax, "Update and distance, five scenes")


def a_frame(total: Total) -> float:
    """Milliseconds."""
    return total.ms / total.frames


def plot_sizes(figure: Figure, runs: list[Run]) -> None:
    """Time and refitted volumes against triangles, both on logarithmic scales, a row for each scene."""
    rows = parts(runs)
    figure.set_size_inches(11, 3.8 * len(rows))
    axes = figure.subplots(len(rows), 2, squeeze=False, sharex=True)
    for part, row in zip(rows, axes, strict=True):
        mine = [run for run in runs if run["part"] == part]
        for each in dict.fromkeys(map(key, mine)):
            some = [run for run in mine if key(run) == each]
            for ax, heights in zip(row, ([mean(ms(run)) for run in some], [mean(run["n_u"]) for run in some]), strict=True):
                ax.plot([run["asked"] for run in some], heights, marker="o", markersize=4, label=named(each), **style(each))
        for ax, label in zip(row, ("ms a frame", "volumes refitted a frame"), strict=True):
            ax.set_xscale("log")
            ax.set_yscale("log" if label == "ms a frame" else "symlog")  # 0 may occur
            ax.set_ylim(bottom=None if label == "ms a frame" else 0)
            ax.set_ylabel(label)
            tidy(ax, part)
    for ax in axes[-1]:
        ax.set_xlabel("triangles of each body")
    legend(axes[0][:1])


def plot_self(figure: Figure, runs: list[Run]) -> None:
    """Time against frames, a column for each body."""
    columns = parts(runs)
    figure.set_size_inches(11, 4.2)
    axes = figure.subplots(1, len(columns), squeeze=False)
    for part, ax in zip(columns, axes[0], strict=True):
        for run in (run for run in runs if run["part"] == part):
            ax.plot(range(1, run["steps"] + 1), ms(run), label=named(key(run)), **style(key(run)))
        ax.set_yscale("log")
        ax.set_xlabel("frame")
        ax.set_ylabel("ms a frame")
        tidy(ax, part)
    legend(axes[0])


PLOTS = {"table-2": plot_2, "families": plot_trees, "sizes": plot_sizes, "arity": plot_trees, "self": plot_self}
