"""Which pairs of faces are known: those of the rest pose, of a frame, or of an earlier check.

A file names bodies. A body of a file is the body of the animation with its name and its number of faces; of several with one name, the
first is the first. Pairs of bodies that the animation does not have, or whose numbers of faces have changed, are not known: a note says so.

A baseline file has the format "pliant baseline 1": an NPZ with `meta`, `names`, `face_counts`, and the sorted pairs `bodies` (m, 2) and
`faces` (m, 2). As in files of pairs, `meta` lists outer and inner bodies that do not intersect, `enclosed`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.check.pair_files import FORMAT, LAYOUT, parquet_package
from pliant.check.pair_keys import Keys, pair_keys
from pliant.check.plan import CheckOptions, PairFilter, parse_baseline
from pliant.check.report_meta import ReportMeta
from pliant.check.worker import FrameWorker
from pliant.core import archive
from pliant.core.archive import atomic_file
from pliant.errors import ArgumentError, FileError
from pliant.io.animation import Animation

BASELINE_FORMAT, BASELINE_FILE = "pliant baseline 1", "baseline.npz"
BASELINE_LAYOUT = {name: LAYOUT[name] for name in ("names", "face_counts", "bodies", "faces")}
MAX_BODIES = 1_000_000  # of a file
MAX_NAMES_BYTES = 1 << 28


class KnownPairs(NamedTuple):
    """Pairs of faces, with the names of their bodies.

    names : of the bodies
    face_counts : (n,) how many faces each has
    bodies, faces : (m, 2) the pairs
    enclosed : outer and inner bodies
    """

    names: list[str]
    face_counts: NDArray[np.int64]
    bodies: NDArray[np.int32]
    faces: NDArray[np.int32]
    enclosed: list[tuple[int, int]]


class Baseline(NamedTuple):
    """The known pairs of a check.

    label : what they are from, for people; None: there is no baseline
    keys : ascending
    notes : sentences about pairs that could not be used
    enclosed : outer and inner bodies
    """

    label: str | None
    keys: Keys
    notes: tuple[str, ...] = ()
    enclosed: frozenset[tuple[int, int]] = frozenset()


NO_BASELINE = Baseline(None, np.zeros(0, np.int64))


def find_baseline(animation: Animation, options: CheckOptions, pair_filter: PairFilter, meta: ReportMeta) -> Baseline:
    """The known pairs that the options name."""
    kind, frame = parse_baseline(options.baseline)
    if kind == "none":
        return NO_BASELINE
    if kind == "file":
        assert options.baseline is not None
        return match_pairs(options.baseline, read_known(Path(options.baseline)), meta, pair_filter)
    if frame is not None and frame >= animation.frames:
        raise ArgumentError(f"baseline: frame {frame} is none of the frames 0 to {animation.frames - 1}")
    moving = [actor.name for actor in animation.actors if not actor.has_rest and actor.frames > 1]
    if kind == "rest" and moving:
        more = f" and {len(moving) - 3:,} more" if len(moving) > 3 else ""
        raise ArgumentError(f"baseline: no rest pose is known of {', '.join(moving[:3])}{more}; use --baseline 'frame N'")
    worker = FrameWorker(animation, options, pair_filter)
    bodies, faces, enclosed = worker.pairs_at(frame)
    usable = np.array([np.array_equal(body.faces, first) for body, first in zip(worker.bodies, meta.faces, strict=True)], bool)
    rows = usable[bodies].all(axis=1)
    label = "the rest pose" if frame is None else f"frame {frame}"
    notes = () if rows.all() else (f"Pairs of {label} are unknown where faces have changed since.",)
    return Baseline(label, np.unique(pair_keys(meta.offsets, bodies[rows], faces[rows])), notes,
                    frozenset((outer, inner) for outer, inner in enclosed.tolist()))


def match_pairs(label: str, known: KnownPairs, meta: ReportMeta, pair_filter: PairFilter) -> Baseline:
    """The pairs of a file as those of this animation; pairs that are not tested are left out."""
    places: dict[str, list[int]] = {}
    for place, body in enumerate(meta.bodies):
        places.setdefault(body.name, []).append(place)
    counts = np.diff(meta.offsets)
    target, changed, missing, used = np.full(len(known.names), -1, np.int32), list[str](), list[str](), dict[str, int]()
    for number, name in enumerate(known.names):
        turn = used[name] = used.get(name, -1) + 1
        fitting = places.get(name, [])[turn : turn + 1]
        if not fitting:
            missing.append(name)
        elif counts[fitting[0]] != known.face_counts[number]:
            changed.append(name)
        else:
            target[number] = fitting[0]
    bodies, faces = target[known.bodies], known.faces
    rows = (bodies >= 0).all(axis=1)
    bodies, faces = bodies[rows], faces[rows]
    swapped = (bodies[:, 0] > bodies[:, 1]) | ((bodies[:, 0] == bodies[:, 1]) & (faces[:, 0] > faces[:, 1]))
    bodies, faces = (np.where(swapped[:, None], each[:, ::-1], each) for each in (bodies, faces))
    kinds = pair_filter.body_kinds[bodies]
    own = bodies[:, 0] == bodies[:, 1]
    tested = np.where(own, pair_filter.allowed_self[kinds[:, 0]], pair_filter.allowed_pairs[kinds[:, 0], kinds[:, 1]])
    notes = [f"The baseline's pairs of {_some(names)} are unknown: {why}." for names, why in
             ((changed, "numbers of faces have changed"), (missing, "there is no such body")) if names]  # fmt: skip
    enclosed = frozenset((int(target[outer]), int(target[inner])) for outer, inner in known.enclosed)
    return Baseline(label, np.unique(pair_keys(meta.offsets, bodies[tested], faces[tested])), tuple(notes), enclosed)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def read_known(path: Path) -> KnownPairs:
    """The pairs of a baseline file, of a file of pairs, or of a folder of results."""
    if path.is_dir():
        found = [path / name for name in ("pairs.npz", "pairs.parquet", BASELINE_FILE) if (path / name).is_file()]
        if not found:
            raise FileError(f"{path}: holds no pairs.npz, pairs.parquet or {BASELINE_FILE}")
        path = found[0]
    if path.suffix == ".parquet":
        return _checked(path, _read_parquet(path))
    layout = {name: (dtype, 1 + (width > 1)) for name, (dtype, width) in LAYOUT.items()}
    short = {name: layout[name] for name in BASELINE_LAYOUT}
    try:
        meta, arrays = archive.read(path, short)
        right = BASELINE_FORMAT
    except FileError:
        meta, arrays = archive.read(path, layout)
        right = FORMAT
    if meta.get("format") != right:
        raise FileError(f"{path}: its format is {meta.get('format')!r:.60}, expected {right!r}")
    names = _names(path, arrays["names"].tobytes())
    pairs = [(arrays["bodies"], arrays["faces"])]
    if right == FORMAT:
        pairs += [(arrays[f"{kind}_bodies"], arrays[f"{kind}_faces"]) for kind in ("static", "motion")]
    bodies, faces = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    return _checked(path, KnownPairs(names, arrays["face_counts"], bodies, faces, _enclosed(path, meta, len(names))))


def _names(path: Path, content: bytes) -> list[str]:
    try:
        names = json.loads(content) if len(content) <= MAX_NAMES_BYTES else None
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or len(names) > MAX_BODIES or not all(isinstance(name, str) for name in names):
        raise FileError(f"{path}: names of bodies cannot be read")
    return names


def _enclosed(path: Path, meta: dict[str, Any], count: int) -> list[tuple[int, int]]:
    """The outer and inner bodies in the head of a file with so many bodies."""
    rows = meta.get("enclosed", [])
    if not isinstance(rows, list) or len(rows) > MAX_BODIES or not all(
            isinstance(row, list) and len(row) == 2 and all(type(body) is int and 0 <= body < count for body in row) for row in rows):
        raise FileError(f"{path}: enclosed bodies cannot be read: expected a list of two indices below {count:,} each")
    return [(outer, inner) for outer, inner in rows]


def _read_parquet(path: Path) -> KnownPairs:
    _, parquet = parquet_package()
    try:
        table = parquet.read_table(path)
        header = json.loads(table.schema.metadata[b"pliant"])
        if header["format"] != FORMAT:
            raise FileError(f"{path}: its format is {header['format']!r:.60}, expected {FORMAT!r}")
        names, counts = _names(path, json.dumps(header["bodies"]).encode()), np.array(header["face_counts"], np.int64)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        touching = columns["distance"] == 0 if "distance" in columns else np.ones(len(table), bool)
        bodies, faces = (np.stack([columns[f"{what}_{side}"][touching] for side in "ab"], axis=1) for what in ("body", "face"))
    except FileError:
        raise
    except Exception as error:  # hostile files make the library raise almost anything
        raise FileError(f"{path}: not a readable file of pairs: {type(error).__name__} {error}") from None
    return KnownPairs(names, counts, bodies, faces, _enclosed(path, header, len(names)))


def _checked(path: Path, known: KnownPairs) -> KnownPairs:
    """The pairs of a file; an error where a row names a body or a face that the file does not have."""
    names, counts, bodies, faces, enclosed = known
    if len(counts) != len(names) or counts.ndim != 1 or (counts < 0).any():
        raise FileError(f"{path}: has {len(names):,} names and {len(counts):,} numbers of faces")
    if bodies.shape != faces.shape or bodies.shape[1:] != (2,):
        raise FileError(f"{path}: bodies of shape {bodies.shape} and faces of shape {faces.shape}, expected (m, 2)")
    bad = ((bodies < 0) | (bodies >= len(names)) | (faces < 0)).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise FileError(f"{path}: row {row} names bodies {bodies[row].tolist()} and faces {faces[row].tolist()}, which it does not have")
    bad = (faces >= counts[bodies]).any(axis=1)
    keep = ~bad  # faces of a frame in which a body has more of them than in the first
    return KnownPairs(names, counts, bodies[keep].astype(np.int32), faces[keep].astype(np.int32), enclosed)


def write_baseline(path: Path, known: KnownPairs) -> Path:
    """Write a baseline file: each pair once, sorted."""
    rows = np.unique(np.concatenate([known.bodies, known.faces], axis=1).astype(np.int32), axis=0)
    names = np.frombuffer(json.dumps(known.names).encode(), np.uint8)
    arrays: dict[str, Any] = {"names": names, "face_counts": np.asarray(known.face_counts, np.int64),
                              "bodies": rows[:, :2], "faces": rows[:, 2:]}  # fmt: skip
    with atomic_file(path) as file:
        archive.write(file, {"format": BASELINE_FORMAT, "enclosed": sorted(known.enclosed)}, arrays)
    return path


def accept(folder: Path, out: Path | None = None) -> tuple[Path, int]:
    """Write the pairs that a check found, in a folder or a file, as a baseline; returns its path and their number."""
    known = read_known(folder)
    path = out or (folder / BASELINE_FILE if folder.is_dir() else folder.with_name(BASELINE_FILE))
    rows = np.unique(np.concatenate([known.bodies, known.faces], axis=1), axis=0)
    return write_baseline(path, known), len(rows)
