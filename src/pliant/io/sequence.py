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

from pliant.io.animation import RATE, Animation, Frames, Mesh, Settings
from pliant.io.limits import refuse
from pliant.io.mesh_part import NOTHING, Part, joined

Load = Callable[[Path], list[Part]]

DIGITS = re.compile("[0-9]+")
BETWEEN = " ._-"  # what stands between a name and a number


def read_sequence(files: Sequence[Path], load: Load, name: str, settings: Settings) -> Animation:
    """The animation of these files, in this order; `load` gives the parts of one. A body that is named as its file is gets `name`."""
    reader = Reader(files, load)
    alone = len(reader.first) == 1 and reader.first[0].name == reader.model.stem
    actors = [
        Frames(name if alone else part.name, len(files), partial(reader.read, k), reader.soup[k], source=files.__getitem__)
        for k, part in enumerate(reader.first)
    ]
    return Animation(name, actors, len(files), settings.rate or RATE, files=tuple(files))


class Reader:
    """Reads the files of a sequence. Every thread keeps the parts of the file that it has read last, since the actors of a frame ask for
    them one after the other; nothing else is kept but the faces of the first file."""

    def __init__(self, files: Sequence[Path], load: Load) -> None:
        self._files, self._load, self._last = files, load, threading.local()
        ends = {path: load(path) for path in (files[0], files[-1])}
        self.model = next((path for path, parts in ends.items() if parts), files[0])
        if not ends[self.model]:
            raise refuse(self.model, "holds no faces, and neither does the last file of the sequence")
        self.first = [joined(part)._replace(vertices=NOTHING[0]) for part in ends[self.model]]  # names and faces
        both = [self._matched(path, parts) for path, parts in ends.items()]
        self.soup = [any(not self._same(k, parts[k]) for parts in both) for k in range(len(self.first))]  # what comes between is seen later

    def read(self, k: int, frame: int) -> Mesh:
        """Vertices and faces of body k."""
        if getattr(self._last, "frame", None) != frame:
            self._last.parts, self._last.frame = self._matched(self._files[frame], self._load(self._files[frame])), frame
        part: Part = self._last.parts[k]
        return part.vertices, self.first[k].faces if self._same(k, part) else part.faces

    def _same(self, k: int, part: Part) -> bool:
        return np.array_equal(part.faces, self.first[k].faces)

    def _matched(self, path: Path, parts: list[Part]) -> list[Part]:
        """The parts of a file as the bodies of the first one."""
        if not parts:
            return [Part(part.name, *NOTHING) for part in self.first]
        if len(parts) != len(self.first):
            raise refuse(path, f"holds {len(parts)} bodies, expected {len(self.first)}, as many as {self.model.name} has")
        return [joined(part, first.faces) for part, first in zip(parts, self.first, strict=True)]


class Run(NamedTuple):
    """Files that are the frames of one sequence, or a file alone."""

    name: str  # what their names have in common, which may be nothing; of one file its stem
    files: list[Path]
    missing: int | None = None  # the first number that is not there, where the others rise by equal steps

    def notes(self) -> tuple[str, ...]:
        """What a user may not expect: that two files are a sequence, that one has a gap."""
        said, count = f"{self.files[0].name} … {self.files[-1].name} are {len(self.files):,} frames of one sequence", len(self.files)
        if self.missing is not None:
            return (f"{said}, one after the other, though numbers are missing, the first of them {self.missing}",)
        return (said,) if count == 2 else ()


def numbered(files: Sequence[Path]) -> list[Run]:
    """Files that differ in one number of their names, and in nothing else, in the order of that number: a run each. A file that is like no
    other is a run of its own. Where several numbers differ, that which most files differ in counts, and of two such the later one."""
    order = {path: k for k, path in enumerate(files)}
    groups: dict[tuple[int, Path, str, str, str], list[Path]] = {}
    for path in order:
        for place, run in enumerate(DIGITS.finditer(path.stem)):
            groups.setdefault((place, path.parent, path.stem[: run.start()], path.stem[run.end() :], path.suffix), []).append(path)
    runs, used = list[Run](), set[Path]()
    for (place, _, before, after, _), group in sorted(groups.items(), key=lambda item: (-len(item[1]), -item[0][0])):
        some = [path for path in group if path not in used]
        if len(some) > 1:
            used.update(some)
            runs.append(Run(f"{before.strip(BETWEEN)} {after.strip(BETWEEN)}".strip(), *_ordered(some, place)))
    runs += [Run(path.stem, [path]) for path in order if path not in used]
    return sorted(runs, key=lambda run: min(order[path] for path in run.files))


def _ordered(files: list[Path], place: int) -> tuple[list[Path], int | None]:
    """The files in the order of that number of their names, and the first number that is missing: every tenth is no gap, but what is left
    out of such a row."""
    known: dict[int, Path] = {}
    for path in files:
        number = int(DIGITS.findall(path.stem)[place])
        if known.setdefault(number, path) != path:
            raise refuse(path, f"has the same number as {known[number].name}")
    numbers = sorted(known)
    steps = [later - number for number, later in pairwise(numbers)]
    step = math.gcd(*steps)
    missing = (number + step for number, each in zip(numbers[:-1], steps, strict=True) if each > step)
    return [known[number] for number in numbers], next(missing, None)
