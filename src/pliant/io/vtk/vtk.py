"""Simulations in VTK's files: a moment (.vtk, .vtu, .vtp), or a list of moments with their times (.pvd, and .series as ParaView writes it).

The surface of every moment is read when it is asked for (`cells`, `series`). Lists name files in their own folder or below it; no others
are opened. A part of a .pvd collection is an actor; where it has no file for a time it stays as it was.

VTK's own library is too heavy to ask for, and meshio, which is light, reads no PolyData and unfolds compressed arrays without a limit: so
these files are read here, with NumPy alone.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pliant.core.validate_table import read_bytes
from pliant.io.animation import PLAIN, RATE, Animation, Frames, Settings
from pliant.io.limits import examined, inside, refuse, size_of, title
from pliant.io.vtk import legacy, xml
from pliant.io.vtk.safe_xml import attribute, parse, parts_of
from pliant.io.vtk.surface import Grid
from pliant.io.vtk.time_series import actor, rate_of

MOST_LIST = 1 << 26  # bytes
MOST_VALUES = 1_000_000  # of JSON: a value takes up to a hundred times the bytes of its text
MOST_FILES, MOST_ACTORS = 100_000, 10_000  # names of a list, each of which is looked up; and parts
GRIDS: dict[str, Callable[[Path], Grid]] = {".vtk": legacy.read_grid, ".vtu": xml.read_grid, ".vtp": xml.read_grid}


class _Moment(NamedTuple):
    """A line of a list."""

    time: float
    part: str
    file: Path


def read_vtk(path: str | Path, settings: Settings = PLAIN) -> Animation:
    """The animation in a file of VTK, or in a list of such files."""
    path = Path(path)
    with examined(path):
        size_of(path)
        suffix = path.suffix.lower()
        if suffix in (".pvd", ".series"):
            return _series(path, _collection(path) if suffix == ".pvd" else _json(path), settings)
        return _series(path, [_Moment(0.0, "", path)], settings)


def read_vtk_sequence(paths: Sequence[str | Path], name: str, settings: Settings = PLAIN) -> Animation:
    """Files of one moment each, in this order, as an animation of this name. Nothing says when they are, so the usual rate is theirs."""
    files = [Path(path) for path in paths]
    if not files:
        raise ValueError("paths: expected some files, got none")
    made, notes = actor(name, len(files), lambda frame: _grid(files[frame]), files.__getitem__, len(set(files)))
    return Animation(name, [made], len(files), RATE if settings.rate is None else settings.rate, notes=notes, files=tuple(files))


def _grid(path: Path) -> Grid:
    """What a file of one moment holds."""
    suffix = path.suffix.lower()
    if suffix not in GRIDS:
        raise refuse(path, f"is not a file of one moment that is read; expected {', '.join(GRIDS)} (of parallel and multi-block files, "
                           "ParaView's filters Merge Blocks and Clean to Grid make one)")  # fmt: skip
    return GRIDS[suffix](path)


def _collection(path: Path) -> list[_Moment]:
    """The lines of a .pvd file: a part's file at a time."""
    root = parse(path, parts_of(path, MOST_LIST))
    if root.tag != "VTKFile" or root.get("type") != "Collection":
        raise refuse(path, "is not a <VTKFile> of type Collection")
    lines = root.findall("Collection/DataSet")
    files = _files(path, [attribute(path, each, "file") for each in lines])
    return [_Moment(_time(path, attribute(path, each, "timestep", default="0")), each.get("name") or each.get("part") or "", file)
            for each, file in zip(lines, files, strict=True)]  # fmt: skip


def _json(path: Path) -> list[_Moment]:
    """The lines of a .series file: {"file-series-version": "1.0", "files": [{"name": …, "time": …}, …]}."""
    text = read_bytes(path, MOST_LIST, "list of files")
    if sum(text.count(sign) for sign in (b",", b":", b"[", b"{")) > MOST_VALUES:
        raise refuse(path, f"has more than {MOST_VALUES:,} values")
    try:
        content = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(path, f"not JSON: {str(error) or type(error).__name__}") from None
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, list) or not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in files):
        raise refuse(path, "has no list of files, each with its name and time")
    found = _files(path, [each["name"] for each in files])
    return [_Moment(_time(path, each.get("time", number)), "", found[number]) for number, each in enumerate(files)]


def _files(path: Path, names: list[str]) -> list[Path]:
    """The files that a list names, each looked up once."""
    known = dict.fromkeys(names, path)
    if len(known) > MOST_FILES:
        raise refuse(path, f"lists {len(known):,} files, at most {MOST_FILES:,} are read")
    for name in known:
        known[name] = inside(path, name)
    return [known[name] for name in names]


def _time(path: Path, value: object) -> float:
    try:
        time = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        time = math.nan
    if not math.isfinite(time):
        raise refuse(path, f"a time is {value!r:.40}, expected a finite number")
    return time


def _series(path: Path, moments: list[_Moment], settings: Settings) -> Animation:
    """An actor for each part, all as long as there are times."""
    times = sorted({moment.time for moment in moments})
    parts: dict[str, dict[float, Path]] = {}
    for moment in moments:
        if parts.setdefault(moment.part, {}).setdefault(moment.time, moment.file) != moment.file:
            raise refuse(path, f"has two files for one part at time {moment.time:g}: {moment.file.name[:60]}")
    if not moments or len(parts) > MOST_ACTORS:
        raise refuse(path, f"lists {len(moments):,} files; expected some, of at most {MOST_ACTORS:,} parts")
    stem = path.name.partition(".")[0] or path.stem
    made = [_actor(f"{stem} {title(part)}" if len(parts) > 1 else stem, files, times) for part, files in parts.items()]
    rate, notes = rate_of(times, settings)
    return Animation(stem, [each for each, _ in made], len(times), rate, notes=notes + tuple(note for _, some in made for note in some),
                     files=tuple(dict.fromkeys([path, *(moment.file for moment in moments)])))  # fmt: skip


def _actor(name: str, files: dict[float, Path], times: list[float]) -> tuple[Frames, tuple[str, ...]]:
    """A part: at a time without a file the one before it, or the first."""
    own = sorted(files)

    def shown(frame: int) -> Path:
        return files[own[max(bisect_right(own, times[frame]) - 1, 0)]]

    return actor(name, len(times), lambda frame: _grid(shown(frame)), shown, len(set(files.values())))
