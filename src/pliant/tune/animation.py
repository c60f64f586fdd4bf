"""Animations that a policy is tuned for: one or two bodies, each a mesh with its vertices in all frames.

Read from an NPZ file (`faces`, `vertices` (k, n, 3), and `faces_b`, `vertices_b` of a second body), from a folder of such files, numbered,
or from any other file of an animation (`animation_files.py`).
Files may be hostile: sizes are compared with what is there, nothing is unpickled, and every number is examined.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.core.validate_table import is_regular_file
from pliant.errors import ArgumentError, ArgumentTypeError, FileError, MeshError
from pliant.io.animation import DEFAULT_SETTINGS, Settings
from pliant.io.archive import Member, members
from pliant.io.limits import file_errors
from pliant.io.read import FORMATS
from pliant.render.npz import MAX_ARRAY_BYTES, read_mesh
from pliant.tune.animation_files import MovingMesh, read_bodies

MAX_BODIES = 2
MAX_FRAMES = 100_000  # of a folder: one file each
MEMBERS = ("faces", "vertices"), ("faces_b", "vertices_b")
EXPECTED_MEMBERS = "expected faces and vertices, and perhaps faces_b and vertices_b"
CACHE_SUFFIXES = (".pc2", ".mdd")


class Animation(NamedTuple):
    """One body or two, each its faces (f, 3) and its vertices in all frames (k, n, 3). The animation is as long as the longer of them; a
    body that has ended stays as it is."""

    bodies: Sequence[tuple[Any, Any]]
    name: str = "animation"

    @property
    def frames(self) -> int:
        """How long it is."""
        return max(len(frames) for _, frames in self.bodies)


def check_animation(animation: Animation) -> Animation:
    """The same, as kernels want it."""
    if not isinstance(animation, Animation):
        raise ArgumentTypeError(f"animation: expected an Animation, or several, got {type(animation).__name__}")
    name = animation.name
    if not isinstance(animation.bodies, Sequence) or not 1 <= len(animation.bodies) <= MAX_BODIES:
        count = f"{len(animation.bodies)} bodies" if isinstance(animation.bodies, Sequence) else type(animation.bodies).__name__
        raise ArgumentError(f"{name}: expected one body or two, each (faces, frames), got {count}")
    bodies: list[MovingMesh] = []
    for i, body in enumerate(animation.bodies):
        if not isinstance(body, Sequence) or len(body) != 2:
            raise ArgumentTypeError(f"{name}: bodies[{i}]: expected (faces, frames), got {type(body).__name__}")
        rows = validate.targets(f"{name}: bodies[{i}] frames", body[1])
        faces = validate.faces(f"{name}: bodies[{i}] faces", body[0], rows.shape[1])
        if not len(faces):
            raise MeshError(f"{name}: bodies[{i}] has no faces, so there is nothing to tune")
        bodies.append((faces, rows))
    ready = Animation(bodies, str(name))
    if ready.frames < 2:
        raise MeshError(f"{name}: has one frame, expected two or more: nothing moves")
    return ready


def digest(animations: Iterable[Animation]) -> str:
    """What tells these animations from others; their names do not."""
    sha = hashlib.sha256()
    for animation in animations:
        sha.update(f"animation {len(animation.bodies)}".encode())
        for faces, frames in animation.bodies:
            for array in (faces, frames):
                sha.update(f"{array.dtype.str} {array.shape}".encode())
                sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def read_animations(names: Iterable[str | Path], bodies: Sequence[str] = (), settings: Settings = DEFAULT_SETTINGS) -> list[Animation]:
    """All animations of files and folders. A point cache belongs to the mesh before it.

    bodies : names of one body or two, in files with more
    settings : as for `pliant.read`
    """
    groups: list[list[Path]] = []
    for path in map(Path, names):
        if groups and path.suffix.lower() in CACHE_SUFFIXES:
            groups[-1].append(path)
        else:
            groups.append([path])
    return [read_animation(*paths, bodies=bodies, settings=settings) for paths in groups]


def read_animation(path: str | Path, *more: str | Path, bodies: Sequence[str] = (), settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """The animation in a file or a folder; what is wrong with it is a `FileError`.

    more : other files of the same animation, such as the point cache of a mesh
    bodies, settings : as for `read_animations`
    """
    path = Path(path)
    try:
        found = _read_arrays(path) if not more and not bodies and settings == DEFAULT_SETTINGS else None
        return check_animation(Animation(read_bodies([path, *map(Path, more)], bodies, settings) if found is None else found, path.stem))
    except FileError:
        raise
    except (ValueError, TypeError, OSError) as error:
        line = " ".join(str(error).split())
        raise FileError(line if line.startswith(str(path)) else f"{path}: {line}") from None


def _read_arrays(path: Path) -> list[MovingMesh] | None:
    """The bodies of an NPZ file or a folder of these; None for other files."""
    if path.is_dir():
        entries = [path, *(each for each in path.iterdir() if each.is_dir())]
        others = any(each.suffix.lower() in FORMATS and each.suffix != ".npz" for entry in entries for each in entry.iterdir())
        return None if others else _read_folder(path)
    if path.suffix.lower() in FORMATS and path.suffix.lower() != ".npz":
        return None
    return _read_file(path)


def _read_file(path: Path) -> list[MovingMesh]:
    if not is_regular_file(path):
        raise FileError(f"{path}: no such file or folder")
    with file_errors(path):
        file_members = members(path)
        unknown = sorted(set(file_members) - {name for pair in MEMBERS for name in pair})
        if unknown:
            raise ArgumentError(f"holds {unknown[0][:60]!r}; {EXPECTED_MEMBERS}")
        bodies = []
        for names in MEMBERS[: 1 + any(name in file_members for name in MEMBERS[1])]:
            missing = [name for name in names if name not in file_members]
            if missing:
                raise ArgumentError(f"holds no {missing[0]}; {EXPECTED_MEMBERS}")
            faces, vertices = (Member(path, file_members[name]).read_all(MAX_ARRAY_BYTES) for name in names)
            if vertices.ndim != 3:
                raise ArgumentError(f"{names[1]}: expected shape (k, n, 3), all frames, got {vertices.shape}")
            shapes = validate.targets(names[1], vertices)
            bodies.append((validate.faces(names[0], faces, shapes.shape[1]), shapes))
    return bodies


def _read_folder(path: Path) -> list[MovingMesh]:
    """A body of numbered meshes, or two in a folder each."""
    folders = sorted(each for each in path.iterdir() if each.is_dir())
    if not folders:
        return [_read_numbered(path)]
    if len(folders) != MAX_BODIES:
        raise FileError(f"{path}: holds {len(folders)} folders; expected numbered meshes, or two folders of them, one for each body")
    return [_read_numbered(each) for each in folders]


def _read_numbered(path: Path) -> MovingMesh:
    """The meshes of a folder in the order of the last number in their names; all must have the same faces."""
    files: dict[int, Path] = {}
    for file in path.glob("*.npz"):
        numbers = re.findall(r"\d{1,18}", file.stem)
        if not numbers:
            raise FileError(f"{file}: expected a number in its name, which says when it is shown")
        if files.setdefault(int(numbers[-1]), file) != file:
            raise FileError(f"{file}: has the same number as {files[int(numbers[-1])].name}")
    if not files:
        raise FileError(f"{path}: holds no meshes; expected files such as 0001.npz, with faces and vertices")
    if len(files) > MAX_FRAMES:
        raise FileError(f"{path}: holds {len(files):,} meshes, expected at most {MAX_FRAMES:,}")
    rows: list[NDArray[np.float64]] = []
    first_faces = None
    for number in sorted(files):
        shapes, faces = read_mesh(files[number])
        if len(shapes) != 1:
            raise FileError(f"{files[number]}: holds {len(shapes)} frames, expected one: vertices (n, 3)")
        if first_faces is None:
            first_faces = faces
        if shapes.shape[1:] != (rows[0].shape if rows else shapes.shape[1:]) or not np.array_equal(faces, first_faces):
            raise FileError(f"{files[number]}: expected as many vertices as {files[min(files)].name} has, and the same faces")
        rows.append(shapes[0])
    assert first_faces is not None
    return first_faces, np.array(rows)
