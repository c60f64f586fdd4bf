"""Write the report and the plots of a check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.check.between_frames import motion_at
from pliant.check.classify import BETWEEN, KNOWN, NEAR, NEW, SHALLOW, STATES, STATIC, Classifier, event_pairs
from pliant.check.events import depth_text, event_title, frames_text, time_text
from pliant.check.journal import ArrayDict, Journal
from pliant.check.pair_keys import face_offsets
from pliant.check.report_meta import ReportMeta
from pliant.check.results import CheckTotals
from pliant.check.verdict import asides, headline, what_counts
from pliant.check.worker import MAX_COORDINATE
from pliant.io.animation import Animation
from pliant.report.data import ReportData, ReportEvent, Snapshot, Verdict
from pliant.report.html import write_report

MAX_MARKED = 500  # faces of an event between frames that are marked, of each body
QUIET_SERIES = {"in every frame": STATIC, "known": KNOWN, "shallow": SHALLOW}


def write(path: Path, animation: Animation, meta: ReportMeta, journal: Journal, sums: CheckTotals, summary: dict[str, Any],
          most_bytes: int, classifier: Classifier) -> Path:  # fmt: skip
    """Write the report of a finished check."""
    contacts = [each._replace(centre=relative_point(each.centre, meta.origin)) for each in sums.worst]
    frames = np.array(sums.frames, np.int32)
    data = ReportData(title=animation.name, facts=report_facts(summary), notes=summary["notes"], bodies=meta.bodies,
                      frames=frames, counts=pair_counts(sums, summary["options"]["within"] is not None),
                      contacts=contacts, omitted_contacts=sums.contact_count - len(contacts), body_pairs=sums.loads,
                      snapshots=read_snapshots(meta, journal, classifier),
                      rate=animation.rate, up=animation.up or summary["options"]["up"], unit=animation.unit,
                      quiet_counts=quiet_counts(sums),
                      verdict=Verdict(summary["verdict"], headline(summary), [what_counts(summary), *asides(summary)]),
                      events=[report_event(row, meta, journal, classifier) for row in summary["events"]],
                      omitted_events=sum(summary["event_counts"].values()) - len(summary["events"]),
                      frame_labels=summary["frame_labels"])  # fmt: skip
    return write_report(path, data, most_bytes)


def report_event(row: dict[str, Any], meta: ReportMeta, journal: Journal, classifier: Classifier) -> ReportEvent:
    """An event of the summary as a row of the report, with the place to look at."""
    labels = dict(enumerate(meta.frame_labels or ()))
    if row["state"] == STATES[BETWEEN]:
        motion = journal.motion(row["motion"][0])
        assert motion is not None
        faces, place, radius = motion_at(row, motion)
        return ReportEvent(row["bodies"][0], row["bodies"][1], row["kind"], row["state"], event_title(row), row["first"], row["last"],
                           f"{frames_text(row, labels)} (at {time_text(row, labels)})", row["worst_frame"], "–", row["between_pairs"],
                           relative_point(place, meta.origin), min(radius, MAX_COORDINATE), row["time"], row["motion"][0], row["motion"][1],
                           [np.unique(faces[:, side])[:MAX_MARKED].tolist() for side in (0, 1)])  # fmt: skip
    centre, radius = focus(row, meta, journal, classifier)
    depth = f"{row['distance']:.3g} apart" if row["kind"] == "near" else depth_text(row["depth"], row["depth_kind"])
    return ReportEvent(row["bodies"][0], row["bodies"][1], row["kind"], row["state"], event_title(row), row["first"], row["last"],
                       frames_text(row, labels), row["worst_frame"], depth, row["worst_pairs"], centre,
                       radius)  # fmt: skip


def focus(row: dict[str, Any], meta: ReportMeta, journal: Journal, classifier: Classifier) -> tuple[tuple[float, float, float], float]:
    """(center, radius) of the faces of an event in its worst frame; of the contact, if that frame is not drawn."""
    frame, (first, second) = row["worst_frame"], row["bodies"]
    found = journal.pairs(frame)
    mine = event_pairs(row, found, classifier)
    if frame in journal.drawn_frames and mine.any():
        shapes = journal.shapes(frame)
        corners = np.concatenate([relative_vertices(shapes, body, meta.origin)[
            shapes.get(f"f{body}", meta.faces[body])[np.unique(found["faces"][mine, column])]].reshape(-1, 3)
            for column, body in enumerate((first, second))])  # fmt: skip
        low, high = corners.min(axis=0), corners.max(axis=0)
        x, y, z = (0.5 * low + 0.5 * high).tolist()
        return (x, y, z), min(float(np.linalg.norm(0.5 * high - 0.5 * low)), MAX_COORDINATE)
    for two, place in zip(found["contacts"].tolist(), found["places"].tolist(), strict=True):
        if two[:2] == [first, second]:
            return relative_point((place[0], place[1], place[2]), meta.origin), min(place[3], MAX_COORDINATE)
    return (0.0, 0.0, 0.0), 0.0


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
    """New pairs of faces in every frame: between bodies and self-collisions, or, with a tolerance, intersecting ones and near misses."""
    passed = {"between frames": sums.states[:, BETWEEN]} if sums.states[:, BETWEEN].any() else {}
    if with_tolerance:
        return {"meet": sums.states[:, NEW], "near": sums.near_misses, **passed}
    return {"between bodies": sums.states[:, NEW] - sums.new_self, "with themselves": sums.new_self, **passed}


def quiet_counts(sums: CheckTotals) -> dict[str, NDArray[np.int64]]:
    """Pairs that do not count, in every frame; kinds that are there."""
    return {name: sums.states[:, state] for name, state in QUIET_SERIES.items() if sums.states[:, state].any()}


def report_facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts at the head of the report."""
    frames, options = summary["frames"], summary["options"]
    labels = summary["frame_labels"] or [str(frame) for frame in frames]
    unit = f" {summary['unit']}" if summary["unit"] else ""
    facts = [
        ("frames", f"{len(frames):,}, {labels[0]} to {labels[-1]}" if len(frames) > 1 else f"1, number {labels[0]}"),
        ("bodies", f"{len(summary['bodies']):,}, {sum(body['faces'] for body in summary['bodies']):,} triangles"),
    ]
    if summary["deepest"] and summary["deepest"]["depth_kind"] != "none":
        facts.append(("deepest", depth_text(summary["deepest"]["depth"], summary["deepest"]["depth_kind"], summary["unit"])))
    if summary["baseline"] is not None:
        facts.append(("compared with", summary["baseline"]))
    if options["within"] is not None:
        facts.append(("no farther apart than", f"{options['within']:g}{unit}"))
    if options["engine"] != "tree":
        facts.append(("engine", f"{options['engine']}, {options['device']}"))
    return facts


def read_snapshots(meta: ReportMeta, journal: Journal, classifier: Classifier) -> Iterator[Snapshot]:
    """The frames that are drawn."""
    for frame in journal.drawn_frames:
        shapes, rows = journal.shapes(frame), journal.pairs(frame)
        states = classifier.states(rows)
        meshes = [(relative_vertices(shapes, place, meta.origin), shapes.get(f"f{place}", faces)) for place, faces in enumerate(meta.faces)]
        near = states == NEAR
        if near.any():  # pairs of bodies that also touch are no near misses
            counts = rows["contacts"][:, 2]
            ends = np.cumsum(counts)
            near_counts = np.diff(np.concatenate([[0], np.cumsum(near)])[np.concatenate([[0], ends])])
            near &= np.repeat(near_counts == counts, counts)
        masks = states == NEW, near, (states == STATIC) | (states == KNOWN) | (states == SHALLOW)
        offsets = face_offsets([len(mesh[1]) for mesh in meshes])
        numbers = offsets[rows["bodies"]] + rows["faces"]
        yield Snapshot(frame, meshes, *(marked_faces(numbers[mask], offsets) for mask in masks))


def marked_faces(numbers: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    """The faces of each body among these numbers of faces (m, 2), see `pair_keys`, ascending."""
    is_marked = np.zeros(int(offsets[-1]), bool)
    is_marked[numbers] = True
    return [np.flatnonzero(is_marked[begin:end]).astype(np.int32) for begin, end in pairwise(offsets.tolist())]


def prepare_plots() -> None:
    """Load Matplotlib."""
    from pliant.check import plots

    plots.has_matplotlib()


def write_plots(folder: Path, summary: dict[str, Any], sums: CheckTotals, journal: Journal, classifier: Classifier) -> list[Path]:
    """Write plots, if Matplotlib is installed."""
    from pliant.check import plots

    counts = pair_counts(sums, summary["options"]["within"] is not None) | quiet_counts(sums)
    return plots.write_plots(folder, summary, counts, journal, classifier) if plots.has_matplotlib() else []
