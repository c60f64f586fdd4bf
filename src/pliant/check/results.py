"""What a check found, for programs: all pairs of faces in one file, and a summary.

Both are made from the journal, frame by frame: memory does not grow with frames. The same pairs give the same bytes, however often the
check was stopped and went on.

Columns of the pairs, sorted by all of these in this order: `frame`; `bodies`, two places in the list of bodies, the lower one first (the
same twice: a body meets itself); `faces`, a face of each; with a tolerance also `distance`, 0 where they meet.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.check.journal import Arrays, Journal
from pliant.check.plan import Question
from pliant.check.worker import Answer
from pliant.core.archive import META, whole_file
from pliant.io.animation import Animation
from pliant.report.data import Meeting
from pliant.report.html import MOST_ROWS

if TYPE_CHECKING:
    from pliant.check.write_report import Cast

WORST = 20  # rows of tables in the summary
ROWS = 1 << 20  # of a row group
EPOCH = (1980, 1, 1, 0, 0, 0)  # of members: the same pairs give the same bytes


def rows_of(answer: Answer, meetings: list[Meeting]) -> Arrays:
    """An answer as the journal keeps it."""
    touching = np.ones(len(answer.faces), bool) if answer.distances is None else answer.distances == 0
    ends = np.cumsum([each.pairs for each in meetings], dtype=np.int64)
    meet = np.diff(np.concatenate([[0], np.cumsum(touching)])[np.concatenate([[0], ends])]) if meetings else np.zeros(0, np.int64)
    arrays: Arrays = {"bodies": answer.bodies, "faces": answer.faces,
                      "meetings": np.array([[m.first, m.second, m.pairs] for m in meetings], np.int64).reshape(-1, 3),
                      "touching": meet.astype(np.int64),
                      "places": np.array([[*m.centre, m.radius] for m in meetings], np.float64).reshape(-1, 4),
                      "seconds": np.array([answer.reading, answer.asking])}  # fmt: skip
    if answer.distances is not None:
        arrays["distance"] = answer.distances
    return arrays


def meetings_of(frame: int, rows: Arrays) -> list[Meeting]:
    """The meetings of a frame in the journal."""
    both = zip(rows["meetings"].tolist(), rows["places"].tolist(), strict=True)
    return [Meeting(frame, first, second, pairs, (x, y, z), radius) for (first, second, pairs), (x, y, z, radius) in both]


def write_pairs(path: Path, journal: Journal, frames: list[int], cast: Cast, question: Question) -> Path:
    """All pairs, as NPZ or as Parquet, by the name's suffix."""
    about = {"format": "pliant pairs 1", "bodies": [character.name for character in cast.characters], "within": question.within}
    (write_parquet if path.suffix == ".parquet" else write_npz)(path, journal, frames, about)
    return path


def columns(rows: Arrays, frame: int) -> Arrays:
    """The columns of a frame."""
    numbers = np.full(len(rows["faces"]), frame, np.int32)
    return {"frame": numbers, **{name: rows[name] for name in ("bodies", "faces", "distance") if name in rows}}


def write_npz(path: Path, journal: Journal, frames: list[int], about: dict[str, Any]) -> None:
    """One array a column, and `meta`, JSON as bytes; not compressed, so that it can be mapped into memory."""
    count = sum(len(journal.pairs(frame)["faces"]) for frame in frames)
    kinds = {name: (array.dtype, array.shape[1:]) for name, array in columns(journal.pairs(frames[0]), 0).items()}
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, (dtype, shape) in {META: (text.dtype, ()), **kinds}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True) as member:
                size = len(text) if name == META else count
                head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size, *shape)}
                np.lib.format.write_array_header_1_0(member, head)
                if name == META:
                    member.write(text.tobytes())
                else:
                    for frame in frames:
                        member.write(np.ascontiguousarray(columns(journal.pairs(frame), frame)[name]).tobytes())


def write_parquet(path: Path, journal: Journal, frames: list[int], about: dict[str, Any]) -> None:
    """Columns frame, body_a, body_b, face_a, face_b, and distance; names of bodies in the metadata of the schema."""
    arrow, parquet = parquet_package()
    fields = [(name, arrow.int32()) for name in ("frame", "body_a", "body_b", "face_a", "face_b")]
    if "distance" in journal.pairs(frames[0]):
        fields.append(("distance", arrow.float64()))
    schema = arrow.schema(fields, metadata={"pliant": json.dumps(about)})
    waiting: list[list[Any]] = []

    def flush() -> None:
        if waiting:
            parts = [np.concatenate(part) for part in zip(*waiting, strict=True)]
            writer.write_table(arrow.table(parts, schema=schema))
            waiting.clear()

    with whole_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
        count = 0
        for frame in frames:
            found = columns(journal.pairs(frame), frame)
            waiting.append([found["frame"], *found["bodies"].T, *found["faces"].T, *([found["distance"]] if "distance" in found else [])])
            count += len(found["frame"])
            if count >= ROWS:
                flush()
                count = 0
        flush()


def parquet_package() -> tuple[Any, Any]:
    """The library that writes Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet needs PyArrow: pip install 'pliant[parquet]', or --format npz") from None
    return pyarrow, parquet


class Sums(NamedTuple):
    """What frames of a journal add up to."""

    frames: list[int]
    between: NDArray[np.int64]  # (k,) pairs of faces of different bodies, in each frame
    alone: NDArray[np.int64]  # of bodies with themselves
    touching: NDArray[np.int64]  # that meet, of both
    bodies: dict[tuple[int, int], Pair]  # by two places
    worst: list[Meeting]  # some, the worst first
    meetings: int  # all of them
    loads: NDArray[np.int64]  # (l, 3) frame, body, pairs in which it takes part
    seconds: NDArray[np.float64]  # reading, queries


class Pair(NamedTuple):
    """Two bodies, or one with itself, in all frames."""

    pairs: int = 0
    frames: int = 0
    worst_frame: int = 0
    worst_pairs: int = 0

    def plus(self, meeting: Meeting) -> Pair:
        """And in one more, which comes after those so far."""
        worse = meeting.pairs > self.worst_pairs
        return Pair(self.pairs + meeting.pairs, self.frames + 1, meeting.frame if worse else self.worst_frame,
                    meeting.pairs if worse else self.worst_pairs)  # fmt: skip


def sums_of(journal: Journal, frames: list[int]) -> Sums:
    """Add up all frames, in this order."""
    between, alone, touching = (np.zeros(len(frames), np.int64) for _ in range(3))
    bodies, worst, loads, seconds, meetings = dict[tuple[int, int], Pair](), list[Meeting](), list[NDArray[np.int64]](), np.zeros(2), 0
    for k, frame in enumerate(frames):
        rows = journal.pairs(frame)
        found, seconds, touching[k] = meetings_of(frame, rows), seconds + rows["seconds"], rows["touching"].sum()
        load = Counter[int]()
        for each in found:
            two = each.first, each.second
            (alone if each.first == each.second else between)[k] += each.pairs
            bodies[two] = bodies.get(two, Pair()).plus(each)
            for body in {*two}:
                load[body] += each.pairs
        meetings += len(found)
        worst = sorted([*worst, *found], key=worst_first)[:MOST_ROWS]
        loads.append(np.array([[frame, *item] for item in sorted(load.items())], np.int64).reshape(-1, 3))
    return Sums(frames, between, alone, touching, bodies, worst, meetings, np.concatenate(loads), seconds)


def summary_of(animation: Animation, question: Question, cast: Cast, sums: Sums) -> dict[str, Any]:
    """What `summary.json` holds."""
    names, total, frames = [character.name for character in cast.characters], sums.between + sums.alone, sums.frames
    order = np.lexsort((np.array(frames), -total))[:WORST].tolist()
    return {
        "format": "pliant check 1", "pliant": pliant.__version__, "name": animation.name,
        "files": [file.name for file in animation.files[:1000]], "notes": list(animation.notes),
        "rate": animation.rate, "up": animation.up, "unit": animation.unit, "options": asdict(question),
        "bodies": [{"name": name, "kind": character.kind, "vertices": count.vertices, "faces": count.faces}
                   for name, character, count in zip(names, cast.characters, cast.counts, strict=True)],
        "pairs": int(total.sum()), "touching": int(sums.touching.sum()), "frames_with_pairs": int((total > 0).sum()),
        "frames": frames, "between": sums.between.tolist(), "with_self": sums.alone.tolist(), "touching_pairs": sums.touching.tolist(),
        "by_bodies": [{"bodies": list(two), "names": [names[k] for k in two], **pair._asdict()}
                      for two, pair in sorted(sums.bodies.items(), key=lambda item: (-item[1].pairs, item[0]))],
        "worst_frames": [{"frame": frames[k], "pairs": int(total[k])} for k in order if total[k]],
        "worst_meetings": [each._asdict() for each in sums.worst[:WORST]],
        "seconds": {"reading": round(float(sums.seconds[0]), 3), "queries": round(float(sums.seconds[1]), 3)},
    }  # fmt: skip


def worst_first(meeting: Meeting) -> tuple[int, int, int, int]:
    """The order of tables."""
    return -meeting.pairs, meeting.frame, meeting.first, meeting.second
