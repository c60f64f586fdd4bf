"""Numbered files: every file is a frame, and is read when it is asked for.

Invariant: the first file says which bodies there are. A later one has as many, in the same order; their faces may be others, and then the
actor is a soup. A file without faces is a frame in which there is nothing, as simulations of fluids begin.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pliant.io.animation import DEFAULT_RATE, Animation, Floats, FrameActor, Mesh
from pliant.io.limits import refuse
from pliant.io.mesh_part import EMPTY_MESH, MeshPart, matched_part, welded_part
from pliant.io.polygons import Rows, crossing_note
from pliant.io.unindexed import UnindexedActor

LoadParts = Callable[[Path], list[MeshPart]]
PartsOfFile = dict[Path, list[MeshPart]]

DIGITS = re.compile("[0-9]+")
SEPARATORS = " ._-"  # what stands between a name and a number


def read_sequence(files: Sequence[Path], load: LoadParts, name: str, ends: PartsOfFile | None = None,
                  labels: list[str] | None = None) -> Animation:  # fmt: skip
    """The animation of these files, in this order; `load` gives the parts of one. A body that is named as its file is gets `name`.

    ends : the parts of the first file and of the last one, if these have been read
    labels : the numbers of the frames
    """
    reader = SequenceReader(files, load, ends)
    is_single = len(reader.first_parts) == 1 and reader.first_parts[0].name == reader.first_path.stem
    actors = [
        UnindexedActor(name if is_single else part.name, len(files), partial(reader.corners, k), files.__getitem__)
        if part.unindexed and not reader.is_soup[k] else
        FrameActor(name if is_single else part.name, len(files), partial(reader.read, k), reader.is_soup[k], files.__getitem__,
                   part.polygon_of_face, partial(reader.polygons, k))
        for k, part in enumerate(reader.first_parts)
    ]
    for actor, part in zip(actors, reader.first_parts, strict=True):
        actor.take_materials(part.materials, part.material_of_face)
    notes = tuple(note for part in reader.first_parts for note in crossing_note(part.name, part.crossing))
    return Animation(name, actors, len(files), DEFAULT_RATE, notes=notes, files=tuple(files), frame_labels=labels)


class SequenceReader:
    """Reads the files of a sequence. Every thread keeps the parts of the file that it has read last, since the actors of a frame ask for
    them one after the other; nothing else is kept but the faces of the first file."""

    def __init__(self, files: Sequence[Path], load: LoadParts, ends: PartsOfFile | None = None) -> None:
        self._files, self._load, self._last = files, load, threading.local()
        ends = ends or {path: load(path) for path in (files[0], files[-1])}
        self.first_path = next((path for path, parts in ends.items() if parts), files[0])
        if not ends[self.first_path]:
            raise refuse(self.first_path, "holds no faces, and neither does the last file of the sequence")
        self.first_parts = [part._replace(vertices=EMPTY_MESH[0]) for part in ends[self.first_path]]  # names and faces
        end_parts = [self._match_parts(path, parts) for path, parts in ends.items()]
        # what comes between is seen later
        self.is_soup = [any(not self._same_faces(k, parts[k]) for parts in end_parts) for k in range(len(self.first_parts))]

    def read(self, k: int, frame: int) -> Mesh:
        """Vertices and faces of body k."""
        part = welded_part(self._part(k, frame))
        return part.vertices, self.first_parts[k].faces if self._same_faces(k, part) else part.faces

    def corners(self, k: int, frame: int) -> Floats:
        """(3 f, 3): the corners of all faces of body k."""
        part = self._part(k, frame)
        return part.vertices[part.faces.ravel()]

    def polygons(self, k: int, frame: int) -> Rows | None:
        """The polygon of each face of body k."""
        return self._part(k, frame).polygon_of_face

    def _part(self, k: int, frame: int) -> MeshPart:
        if getattr(self._last, "frame", None) != frame:
            self._last.parts, self._last.frame = self._match_parts(self._files[frame], self._load(self._files[frame])), frame
        part: MeshPart = self._last.parts[k]
        return part

    def _same_faces(self, k: int, part: MeshPart) -> bool:
        return np.array_equal(part.faces, self.first_parts[k].faces)

    def _match_parts(self, path: Path, parts: list[MeshPart]) -> list[MeshPart]:
        """The parts of a file as the bodies of the first one."""
        if not parts:
            return [MeshPart(part.name, *EMPTY_MESH) for part in self.first_parts]
        if len(parts) != len(self.first_parts):
            raise refuse(path, f"holds {len(parts)} bodies, expected {len(self.first_parts)}, as many as {self.first_path.name} has")
        return [matched_part(part, first) for part, first in zip(parts, self.first_parts, strict=True)]


class FileRun(NamedTuple):
    """Files that are the frames of one sequence, or a file alone."""

    name: str  # what their names have in common, which may be nothing; of one file its stem
    files: list[Path]
    numbers: Sequence[int] = ()  # of the files, rising; none of one file
    missing: int | None = None  # the first number that is not there, where the others rise by equal steps

    def notes(self) -> tuple[str, ...]:
        """What a user may not expect of frames: that numbers are missing."""
        if self.missing is None:
            return ()
        note = f"{self.files[0].name} … {self.files[-1].name} are {len(self.files):,} frames of one sequence"
        return (f"{note}, one after the other, though numbers are missing, the first of them {self.missing}",)


def group_numbered(files: Sequence[Path]) -> list[FileRun]:
    """Files that differ in one number of their names, and in nothing else, in the order of that number: a run each. A file that is like no
    other is a run of its own. Where several numbers differ, that which most files differ in counts, and of two such the later one."""
    order = {path: k for k, path in enumerate(files)}
    groups: dict[tuple[int, Path, str, str, str], list[Path]] = {}
    for path in order:
        for place, run in enumerate(DIGITS.finditer(path.stem)):
            groups.setdefault((place, path.parent, path.stem[: run.start()], path.stem[run.end() :], path.suffix), []).append(path)
    runs, used = list[FileRun](), set[Path]()
    for (place, _, before, after, _), group in sorted(groups.items(), key=lambda item: (-len(item[1]), -item[0][0])):
        unused = [path for path in group if path not in used]
        if len(unused) > 1:
            used.update(unused)
            runs.append(FileRun(f"{before.strip(SEPARATORS)} {after.strip(SEPARATORS)}".strip(), *_sort_by_number(unused, place)))
    runs += [FileRun(path.stem, [path]) for path in order if path not in used]
    return sorted(runs, key=lambda run: min(order[path] for path in run.files))


def _sort_by_number(files: list[Path], place: int) -> tuple[list[Path], list[int], int | None]:
    """The files in the order of that number of their names, these numbers, and the first one that is missing: every tenth is no gap, but
    what is left out of such a row."""
    by_number: dict[int, Path] = {}
    for path in files:
        number = int(DIGITS.findall(path.stem)[place])
        if by_number.setdefault(number, path) != path:
            raise refuse(path, f"has the same number as {by_number[number].name}")
    numbers = sorted(by_number)
    steps = [later - number for number, later in pairwise(numbers)]
    step = math.gcd(*steps)
    missing = (number + step for number, each in zip(numbers[:-1], steps, strict=True) if each > step)
    return [by_number[number] for number in numbers], numbers, next(missing, None)
