"""Write the report and the plots of a check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.check.journal import ArrayDict, Journal
from pliant.check.report_meta import ReportMeta
from pliant.check.results import CheckTotals
from pliant.check.worker import MAX_COORDINATE
from pliant.io.animation import Animation
from pliant.report.data import ReportData, Snapshot
from pliant.report.html import write_report


def write(path: Path, animation: Animation, meta: ReportMeta, journal: Journal, sums: CheckTotals, summary: dict[str, Any],
          most_bytes: int) -> Path:
    """Write the report of a finished check."""
    contacts = [each._replace(centre=relative_point(each.centre, meta.origin)) for each in sums.worst]
    data = ReportData(title=animation.name, facts=report_facts(summary), notes=list(animation.notes), bodies=meta.bodies,
                      frames=np.array(sums.frames, np.int32), counts=pair_counts(sums, summary["options"]["within"] is not None),
                      contacts=contacts, omitted_contacts=sums.contact_count - len(contacts), body_pairs=sums.loads,
                      snapshots=read_snapshots(meta, journal),
                      rate=animation.rate, up=animation.up, unit=animation.unit)  # fmt: skip
    return write_report(path, data, most_bytes)


def relative_point(point: tuple[float, float, float], origin: NDArray[np.float64]) -> tuple[float, float, float]:
    """A point relative to the origin."""
    with np.errstate(over="ignore"):
        x, y, z = np.clip(np.array(point) - origin, -MAX_COORDINATE, MAX_COORDINATE).tolist()
    return x, y, z


def relative_vertices(shapes: ArrayDict, place: int, origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vertices of a body, relative to the origin."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(shapes[f"v{place}"] + (shapes[f"m{place}"] - origin), -MAX_COORDINATE, MAX_COORDINATE))


def pair_counts(sums: CheckTotals, with_tolerance: bool) -> dict[str, NDArray[np.int64]]:
    """Pairs of faces in every frame: between bodies and self-collisions, or, with a tolerance, intersecting and near."""
    if with_tolerance:
        return {"meet": sums.touching, "near": sums.between + sums.self_pairs - sums.touching}
    return {"between bodies": sums.between, "with themselves": sums.self_pairs}


def report_facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts at the head of the report."""
    frames, options = summary["frames"], summary["options"]
    facts = [
        ("frames", f"{len(frames):,}, {frames[0]} to {frames[-1]}" if len(frames) > 1 else f"1, number {frames[0]}"),
        ("bodies", f"{len(summary['bodies']):,}, {sum(body['faces'] for body in summary['bodies']):,} triangles"),
        ("pairs of triangles", f"{summary['pairs']:,} in {summary['frames_with_pairs']:,} frames"),
    ]
    if options["within"] is not None:
        facts.append(("no farther apart than", f"{options['within']:g}{' ' + summary['unit'] if summary['unit'] else ''}; "
                      f"{summary['touching']:,} pairs meet"))  # fmt: skip
    if options["engine"] != "tree":
        facts.append(("engine", f"{options['engine']}, {options['device']}"))
    return facts


def read_snapshots(meta: ReportMeta, journal: Journal) -> Iterator[Snapshot]:
    """The frames that are drawn."""
    for frame in journal.drawn_frames:
        shapes, rows = journal.shapes(frame), journal.pairs(frame)
        meshes = [(relative_vertices(shapes, place, meta.origin), shapes.get(f"f{place}", faces)) for place, faces in enumerate(meta.faces)]
        marked = [np.unique(rows["faces"][rows["bodies"] == place]) for place in range(len(meta.faces))]
        yield Snapshot(frame, meshes, marked)


def prepare_plots() -> None:
    """Load Matplotlib."""
    from pliant.check import plots

    plots.has_matplotlib()


def write_plots(folder: Path, summary: dict[str, Any], sums: CheckTotals, journal: Journal) -> list[Path]:
    """Write plots, if Matplotlib is installed."""
    from pliant.check import plots

    counts = pair_counts(sums, summary["options"]["within"] is not None)
    return plots.write_plots(folder, summary, counts, journal) if plots.has_matplotlib() else []
