"""Read files and folders as one animation.

The suffix chooses the reader; other packages may register readers. The module of a reader is imported when a file needs it. Files whose
names differ only in a number are frames of one sequence. A point cache moves the mesh that it belongs to. Files of a folder that another
file lists are read as that file says. Every other file is a scene; all scenes are merged.

Invariant: only the named files are opened and, of a folder, those that are in it after all links are resolved.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pliant.core.registry import Registry, check_callable
from pliant.core.validate import integer
from pliant.core.validate_rig import positive
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.io.animation import DEFAULT_SETTINGS, Animation, FrameActor, Settings
from pliant.io.limits import UniqueNames, display_name, file_errors, printable, refuse, resolve_inside, size_of
from pliant.io.mesh_part import MeshPart
from pliant.io.numbered import BODIES, FRAMES, check_kind, kind_note, kind_of_files
from pliant.io.resampling import resample
from pliant.io.sequence import FileRun, LoadParts, group_numbered, read_sequence

MAX_START = 10**9  # numbers of frames


class Format(NamedTuple):
    """The reader of a suffix."""

    module: str  # of pliant.io, imported when a file needs it; empty if `function` is one
    function: str | Callable[..., Animation]  # (path, settings) -> Animation; of caches (mesh, path, settings) -> Animation
    numbered: bool = False  # numbered files are frames of a sequence
    lists_files: bool = False  # a file names others


MESH, NPZ, CACHE = Format("meshes", "read_mesh", True), Format("npz", "read_npz", True), Format("point_cache", "read_cached_mesh")
VTK = Format("vtk.vtk", "read_vtk", True)

FORMATS: dict[str, Format] = Registry("reader")
FORMATS.update({
    **dict.fromkeys((".obj", ".ply", ".stl", ".off"), MESH),
    ".npz": NPZ,
    **dict.fromkeys((".pc2", ".mdd"), CACHE),
    **dict.fromkeys((".glb", ".gltf"), Format("gltf.gltf", "read_gltf", lists_files=True)),
    **dict.fromkeys((".vtk", ".vtu", ".vtp"), VTK),
    **dict.fromkeys((".pvd", ".series"), Format("vtk.vtk", "read_vtk", lists_files=True)),
    **dict.fromkeys((".xdmf", ".xmf"), Format("vtk.xdmf", "read_xdmf", lists_files=True)),
    **dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), Format("usd.usd", "read_usd", lists_files=True)),
})


def register_reader(suffixes: str | Sequence[str], function: Callable[[Path, Settings], Animation], *, numbered: bool = False,
                    lists_files: bool = False) -> None:  # fmt: skip
    """Add a file format.

    suffixes : one or several, such as ".cubes", in lower case; files match in any case
    function : (path, settings) -> Animation; any exception that it raises becomes a `FileError` that names the file. Frames of a
        `FrameActor` are resampled, if `Animation.rate` is not the rate of the settings. A reader that plays clips lists them in
        `Animation.clips`
    numbered : files whose names differ only in a number are frames of one animation; each file then has one frame, of a `FrameActor`
    lists_files : a file names others, which are in `Animation.files`; in a folder these are not read twice
    """
    names = [suffixes] if isinstance(suffixes, str) else list(suffixes)
    for suffix in names:
        if not isinstance(suffix, str) or suffix != Path(f"file{suffix}").suffix or suffix != suffix.lower():
            raise ArgumentError(f"reader: expected suffixes such as '.cubes', in lower case, got {suffix!r:.80}")
    check_callable(f"reader of {', '.join(names)}", function, "path", "settings")
    for suffix in names:
        FORMATS.add(suffix, Format("", _checked_reader(function), numbered, lists_files))  # type: ignore[attr-defined]


def _checked_reader(function: Callable[[Path, Settings], Animation]) -> Callable[[Path, Settings], Animation]:
    """The reader of another package, with errors that name the file."""

    def read_file(path: Path, settings: Settings) -> Animation:
        with file_errors(path):
            found = function(path, settings)
            if not isinstance(found, Animation) or not found.actors:
                raise ArgumentTypeError(f"its reader returned {found!r:.80}, expected an Animation with actors")
            return found

    return read_file


def read(paths: str | Path | Sequence[str | Path], settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """Read a file, or several files and folders, as one animation.

    paths : one path or several, of files with a known suffix and of folders. Files whose names differ only in a number are frames of one
        body, in the order of that number. A folder stands for its files or, if it has none, for its folders, one body each. Files that
        another file of the folder lists, such as a .pvd, are not read twice. A point cache moves the mesh of the same name or, if there is
        none, the mesh named right before it
    settings : samples per second, clips, and what numbered files are, where files leave a choice

    The animation has as many frames as the longest of the files; names of bodies are made unique. A file that is damaged or has an unknown
    format is a `FileError`. Cost: headers and frame 0 at most; `Actor.at` reads each frame when it is needed.

    >>> import numpy as np, pliant as pl, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "triangle.npz"
    ...     np.savez(path, faces=[[0, 1, 2]], vertices=np.eye(3))
    ...     animation = pl.read(path)
    ...     body = animation.actors[0].at(0)
    >>> animation.frames, len(body)
    (1, 1)
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    wrong = [paths] if not isinstance(paths, Sequence) else [path for path in paths if not isinstance(path, str | Path)]
    if wrong:
        raise ArgumentTypeError(f"paths: expected a path, or several, of str or pathlib.Path, got {type(wrong[0]).__name__}")
    if not paths:
        raise ArgumentError(f"paths: expected at least one file or folder, got {paths!r:.80}")
    if settings.rate is not None:
        positive("rate", settings.rate)
    check_kind(settings.numbered)
    if settings.start is not None:
        integer("start", settings.start, range(-MAX_START, MAX_START))
    runs, files, already_read = list[FileRun](), list[Path](), dict[Path, Animation]()
    for path in dict.fromkeys(map(Path, paths)):
        with file_errors(path):  # names that are too long
            folder = path.is_dir()
        if folder:
            runs += _group_runs(files) + _folder_runs(path, settings, already_read)
            files = []
        else:
            size_of(path)
            if path.suffix.lower() not in FORMATS:
                raise refuse(path, f"has no known suffix; known are {' '.join(FORMATS)}")
            files.append(path)
    readers = _make_readers(runs + _group_runs(files), settings, already_read)
    found = _merge([resample(reading(), settings.rate) for reading in readers])
    if settings.clips and not found.clips:
        raise ArgumentError(f"clip: expected none, as {found.name} has no clips, got {settings.clips[0]!r:.100}")
    labels = found.frame_labels if settings.start is None else [str(settings.start + frame) for frame in range(found.frames)]
    return found._replace(asked=settings, frame_labels=labels)


def _group_runs(files: list[Path]) -> list[FileRun]:
    """Sequences and single files, in the order in which they were named first. A mesh that has a cache of its own name is no frame."""
    form = {path: FORMATS[path.suffix.lower()] for path in files}
    caches = {path.stem for path in files if form[path] is CACHE}
    series = {path: None for path in files if form[path].numbered and not (form[path] is MESH and path.stem in caches)}
    runs = group_numbered(list(series)) + [FileRun(path.stem, [path]) for path in form if path not in series]
    order = {path: k for k, path in enumerate(files)}
    return sorted(runs, key=lambda run: min(order[path] for path in run.files))


def _folder_runs(path: Path, settings: Settings, already_read: dict[Path, Animation], recursive: bool = True) -> list[FileRun]:
    """The runs of a folder; if it has no files that are known, those of its folders. A single run is named as the folder is."""
    with file_errors(path):  # folders that may not be entered
        entries = sorted(each for each in path.iterdir() if not each.name.startswith("."))
        files = [each for each in entries if each.suffix.lower() in FORMATS and not each.is_dir()]
        folders = [each for each in entries if each.is_dir() and resolve_inside(each, each.name)] if recursive and not files else []
        for each in files:
            size_of(resolve_inside(each, each.name))
    runs = _group_runs(_drop_listed(files, settings, already_read))
    if not files and recursive:
        runs = [run for each in folders for run in _folder_runs(each, settings, already_read, recursive=False)]
        if not runs:
            raise refuse(path, f"holds no files that are known, and neither do its folders; known are {' '.join(FORMATS)}")
        return runs
    return [runs[0]._replace(name=path.resolve().name)] if len(runs) == 1 and len(runs[0].files) > 1 else runs


def _drop_listed(files: list[Path], settings: Settings, already_read: dict[Path, Animation]) -> list[Path]:
    """The files that no other one of them lists. Lists are read for that, and `known` then."""
    lists, listed = [path for path in files if FORMATS[path.suffix.lower()].lists_files], set[Path]()
    for path in lists if len(files) > 1 else ():
        if path.resolve() not in listed:
            already_read[path] = _read_function(path)(path, settings)
            listed |= {each.resolve() for each in already_read[path].files} - {path.resolve()}
    return [path for path in files if path.resolve() not in listed]


def _make_readers(runs: list[FileRun], settings: Settings, already_read: dict[Path, Animation]) -> list[Callable[[], Animation]]:
    """How each animation is read, unless it is known; meshes that a cache moves are read with it."""
    mesh_of_cache = _match_caches(runs)
    return [_make_reader(run, mesh_of_cache.get(run.files[0]), settings, already_read) for run in runs
            if run.files[0] not in mesh_of_cache.values()]


def _make_reader(run: FileRun, mesh: Path | None, settings: Settings, already_read: dict[Path, Animation]) -> Callable[[], Animation]:
    path = run.files[0]
    if path in already_read:
        found = already_read.pop(path)
        return lambda: found
    if mesh is not None:
        return lambda: _read_function(path)(mesh, path, settings)
    if len(run.files) == 1:
        return lambda: _read_function(path)(path, settings)
    return lambda: _read_run(run, settings)


def _read_function(path: Path) -> Callable[..., Animation]:
    """The function that reads files of this suffix."""
    form = FORMATS[path.suffix.lower()]
    if callable(form.function):
        return form.function
    found: Callable[..., Animation] = getattr(importlib.import_module(f"pliant.io.{form.module}"), form.function)
    return found


def _match_caches(runs: list[FileRun]) -> dict[Path, Path]:
    """By each cache the mesh that it moves: of the same name, else right before it, else the only one there is."""
    single = [run.files[0] for run in runs if len(run.files) == 1]
    meshes = [path for path in single if FORMATS[path.suffix.lower()] is MESH]
    found = dict[Path, Path]()
    for k, path in enumerate(single):
        if FORMATS[path.suffix.lower()] is not CACHE:
            continue
        unmatched = [mesh for mesh in meshes if mesh not in found.values()]
        same_stem = [mesh for mesh in unmatched if mesh.stem == path.stem]
        candidates = [mesh for mesh in same_stem if mesh.parent == path.parent] or same_stem
        candidates = candidates or [mesh for mesh in unmatched if k and mesh == single[k - 1]] or (unmatched if len(meshes) == 1 else [])
        if not candidates:
            raise refuse(path, f"moves a mesh, and there is none for it: name that before it, such as {path.stem}.obj {path.name}")
        found[path] = candidates[0]
    return found


def _read_run(run: FileRun, settings: Settings) -> Animation:
    path = run.files[0]
    name = run.name or path.resolve().parent.name or "frames"
    labels, is_vtk, ends = [str(number) for number in run.numbers], FORMATS[path.suffix.lower()] is VTK, None
    kind, load = settings.numbered, _part_loader(path, settings)
    if kind is None:
        kind, ends = (FRAMES, None) if is_vtk else kind_of_files(run.files, load)  # numbered files of VTK are steps of a simulation
        notes = run.notes() or (() if is_vtk and len(run.files) > 2 else kind_note(run.files, kind))
    else:
        notes = ()
    if kind == BODIES:
        function = _read_function(path)
        return _merge([function(each, settings) for each in run.files])._replace(name=name, notes=notes)
    if is_vtk:
        from pliant.io.vtk.vtk import read_vtk_sequence

        found = read_vtk_sequence(run.files, name, labels)
    else:
        found = read_sequence(run.files, load, name, ends, labels)
    return found._replace(notes=notes + found.notes)


def _part_loader(path: Path, settings: Settings) -> LoadParts:
    """What reads a file of a sequence."""
    if FORMATS[path.suffix.lower()] is MESH:
        from pliant.io.meshes import read_parts

        return read_parts
    function = _read_function(path)

    def load(path: Path) -> list[MeshPart]:
        found = function(path, settings)
        if found.frames != 1 or not all(isinstance(actor, FrameActor) for actor in found.actors):
            raise refuse(path, f"holds {found.frames:,} frames; expected one, since it is itself a frame of a sequence")
        return [MeshPart(actor.name, *actor.mesh(0), polygon_of_face=actor.polygon_of_face)
                for actor in found.actors if isinstance(actor, FrameActor)]  # fmt: skip

    return load


def _merge(animations: list[Animation]) -> Animation:
    """All animations as one scene."""
    notes = [note for each in animations for note in each.notes]
    up = _common_value("axis that points up", [each.up for each in animations], notes)
    unit = _common_value("unit of length", [each.unit for each in animations], notes)
    rates = list(dict.fromkeys(each.rate for each in animations if each.frames > 1)) or [animations[0].rate]
    if len(rates) > 1:
        distinct = ", ".join(f"{rate:g}" for rate in rates)
        notes.append(f"The files play at {distinct} frames a second; frames of one number are shown together")
    names = [display_name(each.name) for each in animations]
    name = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    actors = [actor for each in animations for actor in each.actors]
    unique_names = UniqueNames(actor.name for actor in actors)
    for actor in actors:
        actor.name = unique_names.assign(actor.name)
    files = tuple(dict.fromkeys(path for each in animations for path in each.files))
    clips = tuple(clip for each in animations for clip in each.clips)
    frames = max(each.frames for each in animations)
    return Animation(name, actors, frames, rates[0], up, unit, tuple(map(printable, notes)), files, clips=clips,
                     frame_labels=_common_labels(animations, frames))  # fmt: skip


def _common_labels(animations: list[Animation], frames: int) -> list[str] | None:
    """The numbers of frames, if those of all animations that move agree and are others than those here."""
    known = [each.frame_labels for each in animations if each.frames > 1]
    longest = next((labels for labels in known if labels is not None and len(labels) == frames), None)
    if longest is None or any(labels is None or labels != longest[: len(labels)] for labels in known):
        return None
    return None if longest == [str(frame) for frame in range(frames)] else longest


def _common_value(what: str, values: list[str], notes: list[str]) -> str:
    """What files say, if all that say anything say the same; else nothing, and a note."""
    distinct = list(dict.fromkeys(each for each in values if each))
    if len(distinct) > 1:
        notes.append(f"The files do not agree on the {what} ({', '.join(distinct)}); coordinates are taken as they are")
        return ""
    return distinct[0] if distinct else ""
