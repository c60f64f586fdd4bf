"""What a check found, for people: the report, and plots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.check.journal import Arrays, Journal
from pliant.check.results import Sums
from pliant.check.worker import FAR
from pliant.io.animation import Animation
from pliant.report.data import Character, Indices, Snapshot, Story
from pliant.report.hierarchy import hierarchy_of
from pliant.report.html import write_report


class Count(NamedTuple):
    """The size of a body in the first frame."""

    vertices: int
    faces: int


class Cast(NamedTuple):
    """Who is in a report, as they are in the first frame."""

    characters: list[Character]
    counts: list[Count]
    faces: list[Indices]
    origin: NDArray[np.float64]  # drawn in the middle: float32 has seven digits


def cast_of(animation: Animation, bodies: list[Body], drawn: bool) -> Cast:
    """The bodies of an animation; their trees, if they are drawn."""
    characters = [Character(actor.name, actor.kind, hierarchy_of(body) if drawn and actor.kind != "soup" else None)
                  for actor, body in zip(animation.actors, bodies, strict=True)]  # fmt: skip
    counts = [Count(body.motion.count, len(body.faces)) for body in bodies]
    boxes = np.array([body.box() for body in bodies if len(body)]).reshape(-1, 2, 3)
    origin = 0.5 * boxes[:, 0].min(axis=0) + 0.5 * boxes[:, 1].max(axis=0) if len(boxes) else np.zeros(3)
    return Cast(characters, counts, [np.array(body.faces) for body in bodies], origin)


def write(path: Path, animation: Animation, cast: Cast, journal: Journal, sums: Sums, summary: dict[str, Any], most_bytes: int) -> Path:
    """The report of a finished check."""
    meetings = [each._replace(centre=moved(each.centre, cast.origin)) for each in sums.worst]
    story = Story(title=animation.name, facts=facts_of(summary), notes=list(animation.notes), bodies=cast.characters,
                  frames=np.array(sums.frames, np.int32), counts=counts_of(sums, summary["options"]["within"] is not None),
                  meetings=meetings, more=sums.meetings - len(meetings), loads=sums.loads, snapshots=snapshots(cast, journal),
                  rate=animation.rate, up=animation.up, unit=animation.unit)  # fmt: skip
    return write_report(path, story, most_bytes)


def moved(point: tuple[float, float, float], origin: NDArray[np.float64]) -> tuple[float, float, float]:
    """A point as the report has it: from the origin."""
    with np.errstate(over="ignore"):
        x, y, z = np.clip(np.array(point) - origin, -FAR, FAR).tolist()
    return x, y, z


def placed(shapes: Arrays, place: int, origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vertices of a body, from the origin."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(shapes[f"v{place}"] + (shapes[f"m{place}"] - origin), -FAR, FAR))


def counts_of(sums: Sums, near: bool) -> dict[str, NDArray[np.int64]]:
    """Pairs of faces in every frame, by what matters: who meets, or, with a tolerance, whether they do."""
    if near:
        return {"meet": sums.touching, "near": sums.between + sums.alone - sums.touching}
    return {"between bodies": sums.between, "with themselves": sums.alone}


def facts_of(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What stands at the head of the report."""
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


def snapshots(cast: Cast, journal: Journal) -> Iterator[Snapshot]:
    """The frames that are drawn."""
    for frame in journal.drawn:
        shapes, rows = journal.shapes(frame), journal.pairs(frame)
        meshes = [(placed(shapes, place, cast.origin), shapes.get(f"f{place}", faces)) for place, faces in enumerate(cast.faces)]
        marked = [np.unique(rows["faces"][rows["bodies"] == place]) for place in range(len(cast.faces))]
        yield Snapshot(frame, meshes, marked)


def prepare_plots() -> None:
    """Load what draws plots."""
    from pliant.check import plots

    plots.available()


def write_plots(folder: Path, summary: dict[str, Any], sums: Sums, journal: Journal) -> list[Path]:
    """Plots, where Matplotlib is installed."""
    from pliant.check import plots

    counts = counts_of(sums, summary["options"]["within"] is not None)
    return plots.write(folder, summary, counts, journal) if plots.available() else []
