"""Moments of a simulation as an actor: a grid each, loaded when it is asked for, with the surface of the first as long as cells stay.

Solvers with a fixed mesh store it again and again, with a field of displacements. Where points of the first and the last moment are equal
and there is such a field, it is added to them; where points move, it is not, since they have moved by it already. One moment alone does not
tell which it is: its points are left where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pliant.io.animation import RATE, Faces, Floats, Frames, Settings
from pliant.io.cells import Grid, Indices, checked, surface
from pliant.io.guard import examined, refuse

DISPLACEMENTS = ("displacement", "displacements", "displ", "disp")
EVEN = 1e-3  # of a step: times that differ by less are evenly spaced; files round them to few digits
MOST_FRAMES = 1_000_000

Load = Callable[[int], Grid]


def is_displacement(name: str) -> bool:
    """Whether a field is one that points are to be moved by."""
    return name.strip().lower() in DISPLACEMENTS


def actor(name: str, frames: int, load: Load, paths: Sequence[Path]) -> tuple[Frames, tuple[str, ...]]:
    """The actor whose grid in each frame is `load(frame)`, from the file `paths[frame]`, and what is to be noted of it."""

    def loaded(frame: int) -> Grid:
        with examined(paths[frame]):
            return checked(paths[frame], load(frame))

    first, last = loaded(0), loaded(frames - 1)
    found = surface(paths[0], first)
    cells = first.cells
    moved = frames > 1 and first.displacement is not None and np.array_equal(first.points, last.points)

    def read(frame: int) -> tuple[Floats, Faces]:
        grid, path = loaded(frame), paths[frame]
        shape = found if grid.cells.same(cells) else surface(path, grid)
        return placed(path, grid, shape.used, moved), shape.faces

    soup = not last.cells.same(cells)
    notes = []
    if found.curved:
        notes.append(f"{name}: curved cells are taken as flat between their corners.")
    if found.lines:
        notes.append(f"{name}: {found.lines:,} points or lines were left out.")
    if frames == 1 and first.displacement is not None:
        notes.append(f"{name}: the field of displacements is not added to points, which one frame does not ask for.")
    if moved:
        notes.append(f"{name}: points do not move by themselves; the field of displacements is added to them.")
    return Frames(name, frames, read, soup), tuple(notes)


def placed(path: Path, grid: Grid, used: Indices, moved: bool) -> Floats:
    """(k, 3) where the points of a surface are."""
    rows: Floats = grid.points[used]
    if moved:
        if grid.displacement is None:
            raise refuse(path, "has no field of displacements, which the first frame has")
        rows = rows + grid.displacement[used]
    if not np.isfinite(rows).all():
        raise refuse(path, f"point {int(used[~np.isfinite(rows).all(axis=1)][0])} is not finite")
    return rows


def rate_of(times: Sequence[float], settings: Settings) -> tuple[float, tuple[str, ...]]:
    """Frames a second: what the user says, else what evenly spaced times say, else the usual, with a note."""
    if settings.rate is not None:
        return settings.rate, ()
    steps = np.diff(np.asarray(times, np.float64))
    if not len(steps):
        return RATE, ()
    mean = float(steps.mean())
    if not (np.isfinite(mean) and mean > 0 and np.isfinite(1 / mean)) or np.abs(steps - mean).max() > EVEN * mean:
        return RATE, (f"Times are not evenly spaced; frames are played at {RATE:g} a second.",)
    return 1 / mean, ()
