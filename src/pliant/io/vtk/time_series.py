"""Moments of a simulation as an actor: a grid each, loaded when it is asked for, with the surface of the first as long as cells stay.

Solvers with a fixed mesh store it again and again, with a field of displacements. Where points do not move and there is such a field, it is
added to them; where they move, it is not, since they have moved by it already. Some moments are compared to tell which it is: the second,
the middle and the last, because a cycle ends where it began. One moment alone does not tell: its points are left where they are.

Invariant: displacements are added to the points of the first moment only; a frame with others is refused, whenever it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pliant.errors import ArgumentError
from pliant.io.animation import DEFAULT_RATE, Faces, Floats, FrameActor, Settings
from pliant.io.limits import file_errors, refuse
from pliant.io.polygons import crossing_note
from pliant.io.vtk.surface import NO_SURFACE, GridSurface, Indices, VtkGrid, check_grid, extract_surface

DISPLACEMENT_NAMES = ("displacement", "displacements", "displ", "disp")
STEP_TOLERANCE = 1e-3  # of a step: times that differ by less are evenly spaced; files round them to few digits
MAX_FRAMES = 1_000_000

LoadGrid = Callable[[int], VtkGrid]
FramePath = Callable[[int], Path]


def is_displacement(name: str) -> bool:
    """Whether a field is one that points are to be moved by."""
    return name.strip().lower() in DISPLACEMENT_NAMES


def make_actor(name: str, frames: int, load: LoadGrid, path_of: FramePath, distinct_grids: int) -> tuple[FrameActor, tuple[str, ...]]:
    """The actor whose grid in each frame is `load(frame)`, from the file `where(frame)`, and what is to be noted of it. `moments`: how many
    grids there are that differ; if it is one, it is read once."""

    def load_checked(frame: int) -> VtkGrid:
        with file_errors(path_of(frame)):
            return check_grid(path_of(frame), load(frame))

    first = load_checked(0)
    found, cells = extract_surface(path_of(0), first), first.cells
    rest, sampled, soup = None, 0, False
    for frame in sorted({0, 1, frames // 2, frames - 1}) if distinct_grids > 1 else (0,):
        grid = load_checked(frame) if frame else first
        same = grid.cells.equals(cells)
        soup = soup or not same
        if len((found if same else extract_surface(path_of(frame), grid)).faces):  # a moment in which there is nothing does not tell
            is_candidate = grid.displacement is not None if not sampled else rest is not None and np.array_equal(rest, grid.points)
            rest, sampled = grid.points if is_candidate else None, sampled + 1
    if not sampled:
        raise refuse(path_of(0), NO_SURFACE)
    field = "" if rest is None else "is added" if sampled > 1 else "is not added"
    if sampled == 1:
        rest = None

    def surface(grid: VtkGrid, path: Path) -> GridSurface:
        return found if grid.cells.equals(cells) else extract_surface(path, grid)

    def cells_of_faces(frame: int) -> Faces | None:
        return surface(load_checked(frame), path_of(frame)).cell_of_face

    def read(frame: int) -> tuple[Floats, Faces]:
        grid, path = load_checked(frame), path_of(frame)
        shape = surface(grid, path)
        if rest is None or not len(shape.faces):
            return _surface_points(path, grid, shape.point_ids, False), shape.faces
        if not np.array_equal(rest, grid.points):
            raise refuse(path, "has other points than the first frame, to which displacements are added")
        return _surface_points(path, grid, shape.point_ids, True), shape.faces

    if distinct_grids == 1:
        vertices = _surface_points(path_of(0), first, found.point_ids, False)
        return (FrameActor(name, frames, lambda _: (vertices.copy(), found.faces), source=path_of, polygon_of_face=found.cell_of_face),
                _surface_notes(name, found, field))
    return FrameActor(name, frames, read, soup, path_of, found.cell_of_face, cells_of_faces), _surface_notes(name, found, field)


def _surface_notes(name: str, found: GridSurface, field: str) -> tuple[str, ...]:
    """What is to be said of a surface, and of what is done with the field of displacements, if there is one."""
    sentences = {"is added": "points do not move by themselves; the field of displacements is added to them.",
                 "is not added": "the field of displacements is not added to points, which one frame does not ask for."}  # fmt: skip
    notes = []
    if found.curved:
        notes.append(f"{name}: curved cells are taken as flat between their corners.")
    if found.lines:
        notes.append(f"{name}: {found.lines:,} points or lines were left out.")
    if field:
        notes.append(f"{name}: {sentences[field]}")
    return *notes, *crossing_note(name, found.crossing)


def _surface_points(path: Path, grid: VtkGrid, used: Indices, displaced: bool) -> Floats:
    """(k, 3) where the points of a surface are."""
    rows: Floats = grid.points[used]
    if displaced:
        if grid.displacement is None:
            raise refuse(path, "has no field of displacements, which the first frame has")
        rows = rows + grid.displacement[used]
    if not np.isfinite(rows).all():
        raise refuse(path, f"point {int(used[~np.isfinite(rows).all(axis=1)][0])} is not finite")
    return rows


def frame_rate(times: Sequence[float], settings: Settings) -> tuple[float, tuple[str, ...]]:
    """Frames a second: what evenly spaced times say, else the usual, with a note. A user's rate needs evenly spaced times."""
    steps = np.diff(np.asarray(times, np.float64))
    if not len(steps):
        return DEFAULT_RATE, ()
    mean = float(steps.mean())
    if not (np.isfinite(mean) and mean > 0 and np.isfinite(1 / mean)) or np.abs(steps - mean).max() > STEP_TOLERANCE * mean:
        if settings.rate is not None:
            raise ArgumentError("rate: times are not evenly spaced, so that frames cannot be interpolated; leave --rate out")
        return DEFAULT_RATE, (f"Times are not evenly spaced; frames are played at {DEFAULT_RATE:g} a second.",)
    return 1 / mean, ()
