"""Results of a check, for programs: all pairs of faces in one file, and a summary.

Both are made from the journal, frame by frame: memory does not grow with frames. The same pairs give the same bytes, however often the
check was stopped and resumed.

Columns of the pairs, sorted by all of these in this order: `frame`; `bodies`, two indices into the list of bodies, the lower one first
(the same twice for a self-collision); `faces`, a face of each; with a tolerance also `distance`, 0 where they intersect.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.check.journal import ArrayDict, Journal
from pliant.check.plan import CheckOptions
from pliant.check.report_meta import ReportMeta
from pliant.check.worker import FrameResult
from pliant.core.archive import META, atomic_file
from pliant.errors import MissingExtraError
from pliant.io.animation import Animation
from pliant.report.data import Contact
from pliant.report.html import MAX_ROWS

MAX_ENCLOSED = 10_000  # maximum rows of enclosed bodies in the summary
MAX_WORST = 20  # maximum rows of tables in the summary
ROW_GROUP = 1 << 20  # rows of a Parquet row group
ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # of ZIP members, fixed: the same pairs give the same bytes


def journal_rows(result: FrameResult, contacts: list[Contact]) -> ArrayDict:
    """A result as the journal stores it."""
    touching = np.ones(len(result.faces), bool) if result.distances is None else result.distances == 0
    ends = np.cumsum([each.pairs for each in contacts], dtype=np.int64)
    touching_pairs = np.diff(np.concatenate([[0], np.cumsum(touching)])[np.concatenate([[0], ends])]) if contacts else np.zeros(0, np.int64)
    arrays: ArrayDict = {"bodies": result.bodies, "faces": result.faces,
                         "contacts": np.array([[m.first, m.second, m.pairs] for m in contacts], np.int64).reshape(-1, 3),
                         "touching": touching_pairs.astype(np.int64),
                         "places": np.array([[*m.centre, m.radius] for m in contacts], np.float64).reshape(-1, 4),
                         "enclosed": result.enclosed,
                         "seconds": np.array([result.read_seconds, result.query_seconds])}  # fmt: skip
    if result.distances is not None:
        arrays["distance"] = result.distances
    return arrays


def read_contacts(frame: int, rows: ArrayDict) -> list[Contact]:
    """The contacts of a frame in the journal."""
    both = zip(rows["contacts"].tolist(), rows["places"].tolist(), strict=True)
    return [Contact(frame, first, second, pairs, (x, y, z), radius) for (first, second, pairs), (x, y, z, radius) in both]


def write_pairs(path: Path, journal: Journal, frames: list[int], meta: ReportMeta, options: CheckOptions) -> Path:
    """Write all pairs, as NPZ or as Parquet, by the suffix."""
    header = {"format": "pliant pairs 1", "bodies": [body.name for body in meta.bodies], "within": options.within}
    (write_parquet if path.suffix == ".parquet" else write_npz)(path, journal, frames, header)
    return path


def frame_columns(rows: ArrayDict, frame: int) -> ArrayDict:
    """The columns of a frame."""
    numbers = np.full(len(rows["faces"]), frame, np.int32)
    return {"frame": numbers, **{name: rows[name] for name in ("bodies", "faces", "distance") if name in rows}}


def write_npz(path: Path, journal: Journal, frames: list[int], header: dict[str, Any]) -> None:
    """Write one array a column, and `meta`, JSON as bytes; not compressed, so that it can be mapped into memory."""
    count = sum(len(journal.pairs(frame)["faces"]) for frame in frames)
    kinds = {name: (array.dtype, array.shape[1:]) for name, array in frame_columns(journal.pairs(frames[0]), 0).items()}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, (dtype, shape) in {META: (text.dtype, ()), **kinds}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", ZIP_DATE), "w", force_zip64=True) as member:
                size = len(text) if name == META else count
                head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size, *shape)}
                np.lib.format.write_array_header_1_0(member, head)
                if name == META:
                    member.write(text.tobytes())
                else:
                    for frame in frames:
                        member.write(np.ascontiguousarray(frame_columns(journal.pairs(frame), frame)[name]).tobytes())


def write_parquet(path: Path, journal: Journal, frames: list[int], header: dict[str, Any]) -> None:
    """Write columns frame, body_a, body_b, face_a, face_b, and distance; names of bodies in the metadata of the schema."""
    arrow, parquet = parquet_package()
    fields = [(name, arrow.int32()) for name in ("frame", "body_a", "body_b", "face_a", "face_b")]
    if "distance" in journal.pairs(frames[0]):
        fields.append(("distance", arrow.float64()))
    schema = arrow.schema(fields, metadata={"pliant": json.dumps(header)})
    waiting: list[list[Any]] = []

    def flush() -> None:
        if waiting:
            parts = [np.concatenate(part) for part in zip(*waiting, strict=True)]
            writer.write_table(arrow.table(parts, schema=schema))
            waiting.clear()

    with atomic_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
        count = 0
        for frame in frames:
            found = frame_columns(journal.pairs(frame), frame)
            waiting.append([found["frame"], *found["bodies"].T, *found["faces"].T, *([found["distance"]] if "distance" in found else [])])
            count += len(found["frame"])
            if count >= ROW_GROUP:
                flush()
                count = 0
        flush()


def parquet_package() -> tuple[Any, Any]:
    """The library that writes Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Parquet needs PyArrow: pip install 'pliant[parquet]', or --format npz") from None
    return pyarrow, parquet


class CheckTotals(NamedTuple):
    """Sums over the frames of a journal."""

    frames: list[int]
    between: NDArray[np.int64]  # (k,) pairs of faces of different bodies, in each frame
    self_pairs: NDArray[np.int64]  # of bodies with themselves
    touching: NDArray[np.int64]  # intersecting pairs, of both
    bodies: dict[tuple[int, int], PairTotals]  # by two body indices
    worst: list[Contact]  # the contacts with the most pairs, most first
    contact_count: int  # of all contacts
    loads: NDArray[np.int64]  # (l, 3) frame, body, pairs in which it takes part
    seconds: NDArray[np.float64]  # reading, queries
    enclosed: NDArray[np.int64]  # (e, 3) frame, outer, inner body


class PairTotals(NamedTuple):
    """Pairs of two bodies, or of one with itself, in all frames."""

    pairs: int = 0
    frames: int = 0
    worst_frame: int = 0
    worst_pairs: int = 0

    def add(self, contact: Contact) -> PairTotals:
        """With one more frame, later than those so far."""
        worse = contact.pairs > self.worst_pairs
        return PairTotals(self.pairs + contact.pairs, self.frames + 1, contact.frame if worse else self.worst_frame,
                          contact.pairs if worse else self.worst_pairs)  # fmt: skip


def sum_frames(journal: Journal, frames: list[int]) -> CheckTotals:
    """Add up all frames, in this order."""
    between, self_pairs, touching = (np.zeros(len(frames), np.int64) for _ in range(3))
    bodies, worst, loads = dict[tuple[int, int], PairTotals](), list[Contact](), list[NDArray[np.int64]]()
    seconds, contact_count, enclosed = np.zeros(2), 0, [np.zeros((0, 3), np.int64)]
    for k, frame in enumerate(frames):
        rows = journal.pairs(frame)
        found, seconds, touching[k] = read_contacts(frame, rows), seconds + rows["seconds"], rows["touching"].sum()
        enclosed.append(np.insert(rows["enclosed"].astype(np.int64), 0, frame, axis=1))
        load = Counter[int]()
        for each in found:
            two = each.first, each.second
            (self_pairs if each.first == each.second else between)[k] += each.pairs
            bodies[two] = bodies.get(two, PairTotals()).add(each)
            for body in {*two}:
                load[body] += each.pairs
        contact_count += len(found)
        worst = sorted([*worst, *found], key=sort_key)[:MAX_ROWS]
        loads.append(np.array([[frame, *item] for item in sorted(load.items())], np.int64).reshape(-1, 3))
    return CheckTotals(frames, between, self_pairs, touching, bodies, worst, contact_count, np.concatenate(loads), seconds,
                       np.concatenate(enclosed))


def make_summary(animation: Animation, options: CheckOptions, meta: ReportMeta, sums: CheckTotals) -> dict[str, Any]:
    """The content of `summary.json`."""
    names, total, frames = [body.name for body in meta.bodies], sums.between + sums.self_pairs, sums.frames
    order = np.lexsort((np.array(frames), -total))[:MAX_WORST].tolist()
    return {
        "format": "pliant check 2", "pliant": pliant.__version__, "name": animation.name,
        "files": [file.name for file in animation.files[:1000]], "notes": list(animation.notes),
        "rate": animation.rate, "up": animation.up, "unit": animation.unit, "options": asdict(options),
        "bodies": [{"name": name, "kind": body.kind, "vertices": count.vertices, "faces": count.faces}
                   for name, body, count in zip(names, meta.bodies, meta.counts, strict=True)],
        "pairs": int(total.sum()), "touching": int(sums.touching.sum()), "frames_with_pairs": int((total > 0).sum()),
        "frames": frames, "between": sums.between.tolist(), "with_self": sums.self_pairs.tolist(), "touching_pairs": sums.touching.tolist(),
        "by_bodies": [{"bodies": list(two), "names": [names[k] for k in two], **pair._asdict()}
                      for two, pair in sorted(sums.bodies.items(), key=lambda item: (-item[1].pairs, item[0]))],
        "enclosed": len(sums.enclosed),
        "enclosed_bodies": [{"frame": frame, "outer": outer, "inner": inner}
                            for frame, outer, inner in sums.enclosed[:MAX_ENCLOSED].tolist()],
        "worst_frames": [{"frame": frames[k], "pairs": int(total[k])} for k in order if total[k]],
        "worst_contacts": [each._asdict() for each in sums.worst[:MAX_WORST]],
        "seconds": {"reading": round(float(sums.seconds[0]), 3), "queries": round(float(sums.seconds[1]), 3)},
    }  # fmt: skip


def sort_key(contact: Contact) -> tuple[int, int, int, int]:
    """The order of rows in tables: most pairs first."""
    return -contact.pairs, contact.frame, contact.first, contact.second
