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

from pliant.errors import ArgumentError
from pliant.io.animation import DEFAULT_RATE, DEFAULT_SETTINGS, Animation, FrameActor, Settings
from pliant.io.limits import display_name, file_errors, refuse, resolve_inside, size_of
from pliant.io.vtk import legacy, xml
from pliant.io.vtk.safe_xml import attribute, parse_xml, read_chunks
from pliant.io.vtk.surface import VtkGrid
from pliant.io.vtk.time_series import frame_rate, make_actor

MAX_LIST = 1 << 26  # bytes
MAX_VALUES = 1_000_000  # of JSON: a value takes up to a hundred times the bytes of its text
MAX_FILES, MAX_ACTORS = 100_000, 10_000  # names of a list, each of which is looked up; and parts
GRID_READERS: dict[str, Callable[[Path], VtkGrid]] = {".vtk": legacy.read_grid, ".vtu": xml.read_grid, ".vtp": xml.read_grid}


class _TimedFile(NamedTuple):
    """A line of a list."""

    time: float
    part: str
    file: Path


def read_vtk(path: str | Path, settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """Read a VTK file (.vtk, .vtu, .vtp), or a list of such files with their times (.pvd, .series)."""
    path = Path(path)
    with file_errors(path):
        size_of(path)
        suffix = path.suffix.lower()
        if suffix in (".pvd", ".series"):
            return _make_animation(path, _read_pvd(path) if suffix == ".pvd" else _read_series(path), settings)
        return _make_animation(path, [_TimedFile(0.0, "", path)], settings)


def read_vtk_sequence(paths: Sequence[str | Path], name: str, labels: list[str] | None = None) -> Animation:
    """Read VTK files as the frames of one animation, in this order. They have no times, so the rate is the default."""
    files = [Path(path) for path in paths]
    if not files:
        raise ArgumentError("paths: expected some files, got none")
    made, notes = make_actor(name, len(files), lambda frame: _read_grid(files[frame]), files.__getitem__, len(set(files)))
    return Animation(name, [made], len(files), DEFAULT_RATE, notes=notes, files=tuple(files), frame_labels=labels)


def _read_grid(path: Path) -> VtkGrid:
    """The grid of a file with one time step."""
    suffix = path.suffix.lower()
    if suffix not in GRID_READERS:
        raise refuse(path, f"is not a file of one moment that is read; expected {', '.join(GRID_READERS)} "
                           "(of parallel and multi-block files, ParaView's filters Merge Blocks and Clean to Grid make one)")  # fmt: skip
    return GRID_READERS[suffix](path)


def _read_pvd(path: Path) -> list[_TimedFile]:
    """The lines of a .pvd file: a part's file at a time."""
    root = parse_xml(path, read_chunks(path, MAX_LIST))
    if root.tag != "VTKFile" or root.get("type") != "Collection":
        raise refuse(path, "is not a <VTKFile> of type Collection")
    lines = root.findall("Collection/DataSet")
    files = _resolve_files(path, [attribute(path, each, "file") for each in lines])
    return [_TimedFile(_parse_time(path, attribute(path, each, "timestep", default="0")), each.get("name") or each.get("part") or "", file)
            for each, file in zip(lines, files, strict=True)]  # fmt: skip


def _read_series(path: Path) -> list[_TimedFile]:
    """The lines of a .series file: {"file-series-version": "1.0", "files": [{"name": …, "time": …}, …]}."""
    text = b"".join(read_chunks(path, MAX_LIST))
    if sum(text.count(sign) for sign in (b",", b":", b"[", b"{")) > MAX_VALUES:
        raise refuse(path, f"has more than {MAX_VALUES:,} values")
    try:
        content = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(path, f"not JSON: {str(error) or type(error).__name__}") from None
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, list) or not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in files):
        raise refuse(path, "has no list of files, each with its name and time")
    found = _resolve_files(path, [each["name"] for each in files])
    return [_TimedFile(_parse_time(path, each.get("time", number)), "", found[number]) for number, each in enumerate(files)]


def _resolve_files(path: Path, names: list[str]) -> list[Path]:
    """The files that a list names, each looked up once."""
    known = dict.fromkeys(names, path)
    if len(known) > MAX_FILES:
        raise refuse(path, f"lists {len(known):,} files, at most {MAX_FILES:,} are read")
    for name in known:
        known[name] = resolve_inside(path, name)
    return [known[name] for name in names]


def _parse_time(path: Path, value: object) -> float:
    try:
        time = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        time = math.nan
    if not math.isfinite(time):
        raise refuse(path, f"a time is {value!r:.40}, expected a finite number")
    return time


def _make_animation(path: Path, timed_files: list[_TimedFile], settings: Settings) -> Animation:
    """An actor for each part, all as long as there are times."""
    times = sorted({moment.time for moment in timed_files})
    parts: dict[str, dict[float, Path]] = {}
    for moment in timed_files:
        if parts.setdefault(moment.part, {}).setdefault(moment.time, moment.file) != moment.file:
            raise refuse(path, f"has two files for one part at time {moment.time:g}: {moment.file.name[:60]}")
    if not timed_files or len(parts) > MAX_ACTORS:
        raise refuse(path, f"lists {len(timed_files):,} files; expected some, of at most {MAX_ACTORS:,} parts")
    stem = path.name.partition(".")[0] or path.stem
    made = [_part_actor(f"{stem} {display_name(part)}" if len(parts) > 1 else stem, files, times) for part, files in parts.items()]
    rate, notes = frame_rate(times, settings)
    return Animation(stem, [each for each, _ in made], len(times), rate, notes=notes + tuple(note for _, some in made for note in some),
                     files=tuple(dict.fromkeys([path, *(moment.file for moment in timed_files)])))  # fmt: skip


def _part_actor(name: str, files: dict[float, Path], times: list[float]) -> tuple[FrameActor, tuple[str, ...]]:
    """A part: at a time without a file the one before it, or the first."""
    own = sorted(files)

    def path_of(frame: int) -> Path:
        return files[own[max(bisect_right(own, times[frame]) - 1, 0)]]

    return make_actor(name, len(times), lambda frame: _read_grid(path_of(frame)), path_of, len(set(files.values())))
