"""Plots of a check: how many pairs in every frame, and which bodies. Needs Matplotlib."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.check.classify import COLLISIONS, Classifier
from pliant.check.journal import Journal
from pliant.core.archive import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROWS, MAX_COLUMNS = 16, 600  # of the map of bodies: the pairs of bodies with the most contacts, and the maximum number of columns
COLOURS = {"between bodies": "#c0392b", "with themselves": "#e59866", "meet": "#c0392b", "near": "#f0c27b", "between frames": "#7d3c98",
           "in every frame": "#d5d8dc", "known": "#d5d8dc", "shallow": "#e5e8e8"}
MAX_NAME = 24  # characters of a name


def has_matplotlib() -> bool:
    """Whether Matplotlib is installed. This loads it, which takes half a second: run it beside other work."""
    try:
        import matplotlib.figure as _  # noqa: F401
    except ImportError:
        return False
    return True


def write_plots(folder: Path, summary: dict[str, Any], counts: dict[str, NDArray[np.int64]], journal: Journal,
                classifier: Classifier) -> list[Path]:  # fmt: skip
    """`pairs.png`, and with several pairs of bodies that collide `bodies.png`; none if there are no pairs."""
    from matplotlib.figure import Figure

    if not (summary["pairs"] or any(summary["between_frames"] or ())):
        return []
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    plot_frames(figure, summary["frames"], counts)
    files = [save_figure(figure, folder / "pairs.png")]
    colliding = [row for row in summary["by_bodies"] if row["new"]]
    if len(colliding) > 1:
        figure = Figure(figsize=(10, 1.6 + 0.32 * min(MAX_ROWS, len(colliding))), layout="constrained")
        plot_bodies(figure, colliding[:MAX_ROWS], summary["frames"], journal, classifier)
        files.append(save_figure(figure, folder / "bodies.png"))
    return files


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a PNG, whole or not at all."""
    with atomic_file(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # characters of names that the font lacks are drawn as boxes
        figure.savefig(file, format="png", dpi=130)
    return path


def plot_frames(figure: Figure, frames: list[int], counts: dict[str, NDArray[np.int64]]) -> None:
    """Plot pairs of faces in every frame, by kind."""
    from matplotlib.ticker import MaxNLocator

    ax = figure.subplots()
    edges = [*frames, 2 * frames[-1] - frames[-2] if len(frames) > 1 else frames[0] + 1]
    baseline = np.zeros(len(frames))
    for name, column in counts.items():
        if column.any():
            ax.stairs(baseline + column, edges, baseline=baseline, fill=True, color=COLOURS[name], label=name)
        baseline = baseline + column
    ax.set(xlabel="frame", ylabel="pairs of triangles", xlim=(edges[0], edges[-1]), ylim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)


def plot_bodies(figure: Figure, rows: list[dict[str, Any]], frames: list[int], journal: Journal, classifier: Classifier) -> None:
    """Plot which bodies collide when: a row for each two, darker where more pairs of faces do."""
    from matplotlib.ticker import MaxNLocator

    place = {tuple(row["bodies"]): k for k, row in enumerate(rows)}
    bins = min(MAX_COLUMNS, len(frames))
    table = np.zeros((len(rows), bins))
    for k, frame in enumerate(frames):
        found = journal.pairs(frame)
        for group in classifier.groups(found, classifier.states(found)):
            row = place.get((group.first, group.second))
            if row is not None and group.state in COLLISIONS:
                table[row, k * bins // len(frames)] = max(table[row, k * bins // len(frames)], group.pairs)
    ax = figure.subplots()
    extent = (frames[0] - 0.5, frames[-1] + 0.5, len(rows) - 0.5, -0.5)
    shown = ax.imshow(np.where(table > 0, table, np.nan), aspect="auto", interpolation="nearest", cmap="YlOrRd", vmin=0, extent=extent)
    ax.set_yticks(range(len(rows)), [row_title(row) for row in rows], fontsize=8)
    ax.set(xlabel="frame", title="colliding pairs of triangles, by bodies")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.colorbar(shown, ax=ax, pad=0.01)


def row_title(row: dict[str, Any]) -> str:
    """Two bodies, or one with itself; characters that Matplotlib would parse as mathematics are escaped."""
    one, other = ((name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…").replace("$", r"\$") for name in row["names"])
    return f"{one}, itself" if row["bodies"][0] == row["bodies"][1] else f"{one} – {other}"
