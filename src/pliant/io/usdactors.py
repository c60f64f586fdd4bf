"""Actors of a USD stage: a mesh, as the body whose bounds are the best for how it moves.

    rigid       points never change, and the matrix in the world is the first one, moved rigidly, in every frame
    blended     joints carry the points (`usdskin`); or points never change, and the matrix scales or shears as it changes
    free, soup  points, or faces, change with time; joints carry points that change, but not those of faces that do

USD multiplies rows by matrices: (v, 1) M; bodies multiply columns, so matrices are transposed on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.body import Body
from pliant.core.check import RIGID
from pliant.errors import MeshError
from pliant.io.animation import Actor, Faces, Floats, Frames
from pliant.io.guard import refuse
from pliant.io.usdskin import Skin, maps_of, weights_of, worked_out
from pliant.io.usdstage import asking

MOST_LOOKED_AT = 20_000  # matrices of a mesh that are worked out to see how it moves: about a second


class Clock(NamedTuple):
    """Which time codes of a stage the frames are at."""

    path: Path
    stage: Any  # kept: its prims do not keep it alive
    start: float
    step: float
    frames: int

    def code(self, pxr: Any, frame: int) -> Any:
        """The time code of a frame."""
        return pxr.Usd.TimeCode(self.start + self.step * frame)

    def sampled(self, value: Callable[[Any, Any], Floats]) -> Callable[[int], Floats]:
        """`value(pxr, time code)` as a function of the frame, for any thread."""

        def at(frame: int) -> Floats:
            with asking(self.path) as pxr:
                return value(pxr, self.code(pxr, frame))

        return at


class Moved(Actor):
    """Vertices that matrices move: `made(**options)` is the body, `pose(frame)` what its update takes."""

    def __init__(self, path: Path, name: str, kind: str, frames: int, made: Callable[..., Body], pose: Callable[[int], Floats]) -> None:
        super().__init__(name, frames)
        self.kind = kind
        self._path, self._made, self._pose = path, made, pose

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        try:
            fresh = body is None
            body = self._made(**options) if body is None else body
            if fresh or self.frames > 1:
                body.update(self._pose(self.within(frame)))
        except MeshError as error:
            raise refuse(self._path, f"{self.name}, frame {frame}: {error}") from None
        return body


def actor_of(pxr: Any, path: Path, name: str, mesh: Any, clock: Clock, skin: Skin | None) -> Actor | None:
    """The actor of a UsdGeom.Mesh; None if it has no faces."""
    first, points, changing = clock.code(pxr, 0), mesh.GetPointsAttr(), _changing(mesh)
    rest = rows_of(path, name, points.Get(first))
    faces = faces_of(path, name, mesh, first, len(rest))
    if not len(faces):
        return None
    if skin is not None and not changing:
        return _skinned(pxr, path, name, mesh, clock, skin, rest, faces)
    if changing or points.ValueMightBeTimeVarying():
        return _free(path, name, mesh, clock, changing, faces)
    return _carried(path, name, mesh, clock, rest, faces)


def _changing(mesh: Any) -> bool:
    """Whether faces may differ from frame to frame."""
    return any(attribute.ValueMightBeTimeVarying() for attribute in _topology(mesh))


def _topology(mesh: Any) -> tuple[Any, Any, Any]:
    """The attributes that say what the faces are."""
    return mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr(), mesh.GetHoleIndicesAttr()


def rows_of(path: Path, name: str, points: Any) -> Floats:
    """(n, 3) finite points."""
    rows = np.array(() if points is None else points, np.float64).reshape(-1, 3)
    if not np.isfinite(rows).all():
        raise refuse(path, f"{name}: point {int((~np.isfinite(rows).all(axis=1)).argmax())} is not finite")
    return rows


def faces_of(path: Path, name: str, mesh: Any, time: Any, points: int) -> Faces:
    """(f, 3): faces without holes, cut into fans, counterclockwise seen from outside after the matrix of the mesh has been applied."""
    named = (attribute.Get(time) for attribute in _topology(mesh))
    counts, corners, holes = (np.array(() if each is None else each, np.int64) for each in named)
    if (len(counts) and counts.min() < 0) or counts.sum() != len(corners):
        raise refuse(path, f"{name}: faces have {counts.sum():,} corners, {len(corners):,} are there")
    if len(corners) and not 0 <= corners.min() <= corners.max() < points:
        raise refuse(path, f"{name}: a face names point {corners.min() if corners.min() < 0 else corners.max()} of {points}")
    pieces = np.maximum(counts - 2, 0)
    pieces[holes[(holes >= 0) & (holes < len(counts))]] = 0
    face = np.repeat(np.arange(len(counts)), pieces)
    first = (np.cumsum(counts) - counts)[face]
    second = first + 1 + np.arange(len(face)) - (np.cumsum(pieces) - pieces)[face]
    made: Faces = corners[np.stack([first, second, second + 1], axis=1)].astype(np.int32)
    mirrored = np.linalg.det(_world(mesh, time)[:3, :3]) < 0
    return made[:, ::-1] if (mesh.GetOrientationAttr().Get(time) == "leftHanded") != mirrored else made


def _world(mesh: Any, time: Any) -> Floats:
    """(4, 4) that takes columns of the mesh into the world."""
    matrix = np.array(mesh.ComputeLocalToWorldTransform(time), np.float64).T
    if not np.isfinite(matrix).all() or not np.array_equal(matrix[3], (0, 0, 0, 1)):
        raise ValueError(f"{mesh.GetPath()}: its matrix is not affine and finite")
    return matrix


def _carried(path: Path, name: str, mesh: Any, clock: Clock, rest: Floats, faces: Faces) -> Actor:
    """Points that never change. Scale and shear that never change are applied to them once."""
    with asking(path) as pxr:
        start = _world(mesh, clock.code(pxr, 0))
        still = not _may_move(pxr, mesh.GetPrim())
        back = np.linalg.inv(start).astype(np.float64) if abs(np.linalg.det(start[:3, :3])) > 0 else None
    matrix = clock.sampled(lambda _, time: _world(mesh, time))
    placed: Floats = rest @ start[:3, :3].T + start[:3, 3]

    def solid(**options: Any) -> Body:
        return Body.rigid(placed, faces, **options)

    def stretched(**options: Any) -> Body:
        return Body.blended(rest, faces, np.ones((len(rest), 1)), **options)

    if still:
        return Moved(path, name, "rigid", 1, solid, lambda frame: np.eye(4))
    if back is not None and _stays_rigid(mesh, clock, back):
        return Moved(path, name, "rigid", clock.frames, solid, lambda frame: _upright(matrix(frame) @ back))
    return Moved(path, name, "blended", clock.frames, stretched, lambda frame: matrix(frame)[None])


def _stays_rigid(mesh: Any, clock: Clock, back: Floats) -> bool:
    """Whether the matrix, seen from the first one, is rigid in every frame. Frames are looked at, or, where these are fewer, the times that
    something is said of and the middles between them: there a matrix that is interpolated differs most from a rigid one. If both are very
    many, the answer is no, since other bodies are right too."""
    with asking(clock.path) as pxr:
        said = _said(pxr, mesh.GetPrim())
        said = np.unique(np.concatenate([said, (said[1:] + said[:-1]) / 2]))
        last = clock.start + clock.step * (clock.frames - 1)
        inner = np.concatenate([[clock.start], said[(said > clock.start) & (said < last)], [last]])
        times = inner if len(inner) < clock.frames else clock.start + clock.step * np.arange(clock.frames)
        return len(times) <= MOST_LOOKED_AT and all(_is_rigid(_world(mesh, pxr.Usd.TimeCode(time)) @ back) for time in times.tolist())


def _said(pxr: Any, prim: Any) -> Floats:
    """The times that something is said of in the matrix of a prim or of any above it, rising."""
    times: list[float] = []
    while prim and not prim.IsPseudoRoot():
        if prim.IsA(pxr.UsdGeom.Xformable):
            times += pxr.UsdGeom.Xformable(prim).GetTimeSamples()
        prim = prim.GetParent()
    return np.unique(np.array(times, np.float64))


def _may_move(pxr: Any, prim: Any) -> bool:
    """Whether the matrix of a prim or of any above it may change."""
    while prim and not prim.IsPseudoRoot():
        if prim.IsA(pxr.UsdGeom.Xformable) and pxr.UsdGeom.Xformable(prim).TransformMightBeTimeVarying():
            return True
        prim = prim.GetParent()
    return False


def _upright(matrix: Floats) -> Floats:
    """The same, with the last row as it is but for rounding."""
    matrix[3] = 0, 0, 0, 1
    return matrix


def _is_rigid(matrix: Floats) -> bool:
    """Whether bodies would take it, with room to spare."""
    turn = matrix[:3, :3]
    return bool(np.abs(turn.T @ turn - np.eye(3)).max() < RIGID / 2 and np.linalg.det(turn) > 0)


def _free(path: Path, name: str, mesh: Any, clock: Clock, changing: bool, faces: Faces) -> Actor:
    """Points, perhaps faces, that change."""

    def read(frame: int) -> tuple[Floats, Faces]:
        with asking(path) as pxr:
            time = clock.code(pxr, frame)
            rows, matrix = rows_of(path, name, mesh.GetPointsAttr().Get(time)), _world(mesh, time)
            now = faces_of(path, name, mesh, time, len(rows)) if changing else faces
        if not changing and len(now) and now.max() >= len(rows):
            raise refuse(path, f"{name}, frame {frame}: {len(rows)} points are there, faces name {now.max()}")
        return rows @ matrix[:3, :3].T + matrix[:3, 3], now

    return Frames(name, clock.frames, read, soup=changing)


def _skinned(pxr: Any, path: Path, name: str, mesh: Any, clock: Clock, skin: Skin, rest: Floats, faces: Faces) -> Actor:
    """Points that joints carry, or blend shapes too."""

    def points(time: Any) -> Floats:
        rows = rows_of(path, name, mesh.GetPointsAttr().Get(time))
        if len(rows) != len(rest):
            raise refuse(path, f"{name}: {len(rows)} points at time code {time.GetValue():g}, of {len(rest)} the joints are known")
        return rows

    varying = mesh.GetPointsAttr().ValueMightBeTimeVarying()
    weights = None if varying else weights_of(skin, len(rest), clock.code(pxr, 0))
    if weights is None:
        vertices = clock.sampled(worked_out(skin, points if varying else lambda _: rest))
        return Frames(name, clock.frames, lambda frame: (rows_of(path, name, vertices(frame)), faces))
    maps = clock.sampled(lambda pxr, time: maps_of(pxr, skin, time))
    return Moved(path, name, "blended", clock.frames, lambda **options: Body.blended(rest, faces, weights, **options), maps)
