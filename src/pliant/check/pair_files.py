"""The files of pairs, format "pliant pairs 4": NPZ, Parquet, CSV; and what is known of faces (`face_table.py`).

Pairs of faces that intersect are intervals of frames (`static_pairs.py`), so that one that stays is a row and not a row for each frame.
Near pairs of a tolerance have another distance in each frame, and a row for each. Pairs that touch only between two frames have a row and
a time. The same pairs give the same bytes. `docs/checking.md`
explains all columns.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.check.classify import BETWEEN, KNOWN, NEW, STATES, STATIC
from pliant.check.face_table import face_table
from pliant.check.journal import Journal
from pliant.check.pair_keys import Keys, contains, split_keys
from pliant.check.report_meta import ReportMeta
from pliant.check.static_pairs import Intervals
from pliant.core.archive import META, atomic_file
from pliant.errors import MissingExtraError

FORMAT = "pliant pairs 4"
FILE_STATES = (*STATES[: KNOWN + 1], STATES[BETWEEN])  # by number
ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # of ZIP members, fixed: the same pairs give the same bytes
TABLE_COLUMNS = ("first", "last", "body_a", "body_b", "face_a", "face_b", "state")
NO_TIME = np.nan  # of pairs that a frame shows
#: Arrays of the NPZ: dtype, and numbers in a row.
LAYOUT: dict[str, tuple[str, int]] = {
    "names": ("|u1", 1), "face_counts": ("<i8", 1), "frames": ("<i4", 1),
    "static_bodies": ("<i4", 2), "static_faces": ("<i4", 2), "static_state": ("|u1", 1),
    "first": ("<i4", 1), "last": ("<i4", 1), "bodies": ("<i4", 2), "faces": ("<i4", 2), "state": ("|u1", 1),
    "polygon_of_face": ("<i4", 1), "material_of_face": ("<i4", 1), "bone_of_face": ("<i4", 1), "materials": ("|u1", 1), "bones": ("|u1", 1),
    "near_frame": ("<i4", 1), "near_bodies": ("<i4", 2), "near_faces": ("<i4", 2), "near_distance": ("<f8", 1),
    "motion_frame": ("<i4", 1), "motion_time": ("<f8", 1), "motion_bodies": ("<i4", 2), "motion_faces": ("<i4", 2),
    "motion_kind": ("|i1", 1),
}  # fmt: skip


class PairSource(NamedTuple):
    """What a file of pairs is written from."""

    journal: Journal
    frames: list[int]
    meta: ReportMeta
    intervals: Intervals
    known: Keys  # ascending
    header: dict[str, Any]  # `within`, `between_frames`, `baseline`, `enclosed`

    @property
    def has_baseline(self) -> bool:
        """Whether pairs are compared with a baseline; then static pairs are known or new."""
        return self.header["baseline"] is not None

    def static(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """(bodies, faces, states) of static pairs, sorted."""
        bodies, faces = split_keys(self.meta.offsets, self.intervals.static)
        order = np.lexsort((faces[:, 1], faces[:, 0], bodies[:, 1], bodies[:, 0]))
        known = contains(self.known, self.intervals.static[order])
        return bodies[order], faces[order], np.where(known, KNOWN, NEW if self.has_baseline else STATIC).astype(np.uint8)

    def rows(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint8]]]:
        """(intervals (m, 6), states) of all others, some at a time."""
        for chunk in self.intervals.chunks():
            yield chunk[:, :6], np.where(chunk[:, 6] > 0, KNOWN, NEW).astype(np.uint8)

    def near(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Near pairs of each frame: columns frame, bodies, faces, distance; none without a tolerance."""
        for frame in self.frames if self.header["within"] is not None else ():
            rows = self.journal.pairs(frame)
            separate = rows["distance"] > 0
            yield {"frame": np.full(int(separate.sum()), frame, np.int32), **{name: rows[name][separate] for name in
                                                                            ("bodies", "faces", "distance")}}  # fmt: skip

    def motion(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Pairs that touch only between each frame and the next: columns frame, after, bodies, faces, time, kind."""
        for frame, after in pairwise(self.frames):
            rows = self.journal.motion(frame)
            if rows is not None:
                count = len(rows["time"])
                yield {"frame": np.full(count, frame, np.int32), "after": np.full(count, after, np.int32),
                       **{name: rows[name] for name in ("time", "bodies", "faces", "kind")}}  # fmt: skip

    def count(self, prefix: str) -> int:
        """The number of rows of the arrays with this prefix, of PARTS; else of intervals."""
        return sum(len(rows["frame"]) for rows in PARTS[prefix](self)) if prefix in PARTS else self.intervals.size


#: Rows of some frames at a time, by the prefix of their arrays.
PARTS = {"near_": PairSource.near, "motion_": PairSource.motion}


def part_of(name: str) -> str:
    """The prefix of an array, if it is one of PARTS."""
    return next((prefix for prefix in PARTS if name.startswith(prefix)), "")


def write_pairs(path: Path, source: PairSource) -> Path:
    """Write all pairs in the format of the suffix."""
    {".npz": write_npz, ".parquet": write_parquet, ".csv": write_csv}[path.suffix](path, source)
    return path


def write_npz(path: Path, source: PairSource) -> None:
    """Write one array a column, and `meta`, JSON as bytes; not compressed, so that it can be mapped into memory."""
    static_bodies, static_faces, static_state = source.static()
    table = face_table(source.meta)
    arrays: dict[str, NDArray[Any]] = {
        META: np.frombuffer(json.dumps({"format": FORMAT, "states": FILE_STATES, **source.header}).encode(), np.uint8),
        "names": np.frombuffer(json.dumps([body.name for body in source.meta.bodies]).encode(), np.uint8),
        "face_counts": np.array([count.faces for count in source.meta.counts], np.int64),
        "frames": np.array(source.frames, np.int32),
        "static_bodies": static_bodies, "static_faces": static_faces, "static_state": static_state,
        "polygon_of_face": table.polygon, "material_of_face": table.material, "bone_of_face": table.bone,
        "materials": np.frombuffer(json.dumps(table.materials).encode(), np.uint8),
        "bones": np.frombuffer(json.dumps(table.bones).encode(), np.uint8),
    }  # fmt: skip
    columns: dict[str, Any] = {"first": 0, "last": 1, "bodies": slice(2, 4), "faces": slice(4, 6)}
    counts = {prefix: source.count(prefix) for prefix in ("", *PARTS)}
    with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in (META, *LAYOUT):
            dtype, width = LAYOUT.get(name, ("|u1", 1))
            prefix = part_of(name)
            count = len(arrays[name]) if name in arrays else counts[prefix]
            with archive.open(zipfile.ZipInfo(f"{name}.npy", ZIP_DATE), "w", force_zip64=True) as member:
                head = {"descr": dtype, "fortran_order": False, "shape": (count, width) if width > 1 else (count,)}
                np.lib.format.write_array_header_1_0(member, head)
                if name in arrays:
                    member.write(np.ascontiguousarray(arrays[name], dtype).tobytes())
                elif prefix:
                    for rows in PARTS[prefix](source):
                        member.write(np.ascontiguousarray(rows[name.removeprefix(prefix)], dtype).tobytes())
                else:
                    for chunk, states in source.rows():
                        member.write(np.ascontiguousarray(states if name == "state" else chunk[:, columns[name]], dtype).tobytes())


def table_parts(source: PairSource) -> Iterator[list[NDArray[Any]]]:
    """The columns of one table: static pairs, the others, near pairs, those between frames; TABLE_COLUMNS and `extra_columns`."""
    extra = extra_columns(source)

    def part(*columns: NDArray[Any], distance: NDArray[Any] | float = 0.0, time: NDArray[Any] | float = NO_TIME) -> list[NDArray[Any]]:
        more = {"distance": distance, "time": time}
        return [*columns, *(np.broadcast_to(np.float64(more[name]), len(columns[0])) for name in extra)]

    bodies, faces, states = source.static()
    ends = [np.full(len(states), frame, np.int32) for frame in (source.frames[0], source.frames[-1])]
    yield part(*ends, *bodies.T, *faces.T, states)
    for chunk, states in source.rows():
        yield part(*chunk.T, states)
    for rows in source.near():
        yield part(rows["frame"], rows["frame"], *rows["bodies"].T, *rows["faces"].T, np.zeros(len(rows["frame"]), np.uint8),
                   distance=rows["distance"])  # fmt: skip
    for rows in source.motion():
        state = np.full(len(rows["frame"]), FILE_STATES.index(STATES[BETWEEN]), np.uint8)
        yield part(rows["frame"], rows["after"], *rows["bodies"].T, *rows["faces"].T, state, time=rows["time"])


def extra_columns(source: PairSource) -> list[str]:
    """The columns after TABLE_COLUMNS: with a tolerance the distance, with the motion between frames the time."""
    asked = {"distance": source.header["within"] is not None, "time": source.header["between_frames"]}
    return [name for name, wanted in asked.items() if wanted]


def write_parquet(path: Path, source: PairSource) -> None:
    """Write the columns of `table_parts`; the states are numbers, whose names and those of bodies are in the metadata of the schema."""
    arrow, parquet = parquet_package()
    extra = extra_columns(source)
    kinds = [*([arrow.int32()] * 6), arrow.uint8(), *([arrow.float64()] * len(extra))]
    header = {"format": FORMAT, "states": FILE_STATES, **source.header, "bodies": [body.name for body in source.meta.bodies],
              "face_counts": [count.faces for count in source.meta.counts], "frames": source.frames}  # fmt: skip
    schema = arrow.schema(list(zip((*TABLE_COLUMNS, *extra), kinds, strict=True)), metadata={"pliant": json.dumps(header)})
    with atomic_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for columns in table_parts(source):
            if len(columns[0]):
                writer.write_table(arrow.table([np.ascontiguousarray(column) for column in columns], schema=schema))


def write_faces(path: Path, meta: ReportMeta) -> Path:
    """Write a row for each face of each body as Parquet: its polygon, and the names of its material and its bone."""
    arrow, parquet = parquet_package()
    label = arrow.dictionary(arrow.int32(), arrow.string())
    columns = {"body": arrow.int32(), "face": arrow.int32(), "polygon": arrow.int32(), "material": label, "bone": label}
    header = {"format": FORMAT, "bodies": [body.name for body in meta.bodies]}
    schema = arrow.schema(list(columns.items()), metadata={"pliant": json.dumps(header)})
    table, counts = face_table(meta), np.diff(meta.offsets)
    body = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    face = (np.arange(meta.offsets[-1]) - meta.offsets[body]).astype(np.int32)

    def names_of(rows: NDArray[np.int32], names: list[str]) -> Any:
        rows = rows if len(rows) else np.full(len(face), -1, np.int32)
        return arrow.DictionaryArray.from_arrays(arrow.array(rows, mask=rows < 0), arrow.array(names, arrow.string()))

    polygon = table.polygon if len(table.polygon) else face
    content = [body, face, polygon, names_of(table.material, table.materials), names_of(table.bone, table.bones)]
    with atomic_file(path) as file:
        parquet.write_table(arrow.table(content, schema=schema), file)
    return path


def write_csv(path: Path, source: PairSource) -> None:
    """Write the columns of `table_parts` as text, with the labels of frames, names of bodies, and polygons, materials and bones where the
    file has them."""
    with atomic_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        writer = csv.writer(text, lineterminator="\n")
        extra = extra_columns(source)
        writer.writerow([*TABLE_COLUMNS, "name_a", "name_b", "polygon_a", "polygon_b", "material_a", "material_b", "bone_a", "bone_b",
                         *extra])  # fmt: skip
        names = [spreadsheet_text(body.name) for body in source.meta.bodies]
        for columns in table_parts(source):
            for row in zip(*(column.tolist() for column in columns), strict=True):
                first, last, a, b, one, other, state, *numbers = row
                more = dict(zip(extra, numbers, strict=True))
                sides = [(a, one), (b, other)]
                may_differ = [source.meta.bodies[body].kind == "soup" and last != source.frames[0] for body in (a, b)]
                labels = ["" if other_faces else spreadsheet_text(str(find(*side)))
                          for find in (source.meta.polygon, source.meta.material, source.meta.bone)
                          for side, other_faces in zip(sides, may_differ, strict=True)]  # fmt: skip
                shown = "near" if more.get("distance", 0.0) > 0 else FILE_STATES[state]
                numbers = ["" if math.isnan(number) else number for number in numbers]
                frames = [spreadsheet_text(source.meta.frame_label(frame)) for frame in (first, last)]
                writer.writerow([*frames, a, b, one, other, shown, names[a], names[b], *labels, *numbers])
        text.flush()
        text.detach()


def write_events(path: Path, summary: dict[str, Any], meta: ReportMeta) -> Path:
    """Write the events of a summary as CSV, with the labels of frames."""
    columns = ("kind", "state", "body_a", "body_b", "bone_a", "bone_b", "first", "last", "frames", "worst_frame", "depth", "depth_kind",
               "distance", "worst_pairs", "pairs", "between_pairs", "time")  # fmt: skip
    with atomic_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in summary["events"]:
            labels = [*row["names"], *(bone or "" for bone in row["bones"])]
            names = dict(zip(("body_a", "body_b", "bone_a", "bone_b"), map(spreadsheet_text, labels), strict=True))
            frames = {name: spreadsheet_text(meta.frame_label(row[name])) for name in ("first", "last", "worst_frame")}
            writer.writerow([{**row, **names, **frames}[name] for name in columns])
        text.flush()
        text.detach()
    return path


def spreadsheet_text(text: str) -> str:
    """A text that spreadsheets show and do not calculate: names come from files that may be hostile."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def parquet_package() -> tuple[Any, Any]:
    """The library that writes Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("Parquet needs PyArrow: pip install 'pliant[parquet]', or --format npz") from None
    return pyarrow, parquet
