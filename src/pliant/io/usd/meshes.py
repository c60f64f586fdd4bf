"""Meshes of a USD stage, in numbers: what suits how they move, as `usd` makes an actor of it.

    rigid       points never change, and the matrix in the world is the first one, moved rigidly, in every frame
    blended     joints carry the points (`skin.py`); or points never change, and the matrix scales or shears as it changes
    free, soup  points, or faces, change with time; joints carry points that change, but not those of faces that do

USD multiplies rows by matrices: (v, 1) M; bodies multiply columns, so matrices of poses are transposed on the way. Points are placed by
whoever asks: this process knows no bodies, and has one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core.validate import RIGID_TOLERANCE
from pliant.io.limits import refuse
from pliant.io.polygons import Polygons, checked_polygons
from pliant.io.usd.skin import Skin, convex_weights, joint_maps, make_deformer

Floats = NDArray[np.float64]
ArrayTuple = tuple[NDArray[Any], ...]

MAX_TESTED_MATRICES = 60_000  # matrices, of a mesh and of what is above it, that are worked out to see how it moves: about a second


class Clock(NamedTuple):
    """Which time codes of a stage the frames are at."""

    stage: Any  # kept: its prims do not keep it alive
    start: float
    step: float
    frames: int

    def time_code(self, pxr: Any, frame: int) -> Any:
        """The time code of a frame."""
        return pxr.Usd.TimeCode(self.start + self.step * frame)


class MeshRecord(NamedTuple):
    """A mesh: what it is, by kind, and where it is in a frame.

        all      points (n, 3) of the first frame, and polygons: corners (m,), counts (p,) and rows (p,), as in `io/polygons.py`; then
        rigid    the matrix (4, 4) that places points, for rows; at: (4, 4) that moves them from there
        blended  nothing; at: the map (1, 4, 4). With joints: joints (n k,), shares (n k,), k of each vertex; at: maps (m, 3, 4)
        free     nothing; at: points and the matrix (4, 4) that places them, for rows
        soup     nothing; at: points, the matrix and polygons
    """

    kind: str
    frames: int
    arrays: ArrayTuple
    pose: Callable[[int], ArrayTuple]
    joints: int = 0  # m


def read_mesh(pxr: Any, path: Path, name: str, mesh: Any, clock: Clock, skin: Skin | None) -> MeshRecord | None:
    """What a UsdGeom.Mesh says; None if it has no faces."""
    first, points, varying_faces = clock.time_code(pxr, 0), mesh.GetPointsAttr(), _has_varying_faces(mesh)
    rest = finite_points(path, name, points.Get(first))
    polygons = read_polygons(path, name, mesh, first, len(rest))
    if not len(polygons.counts):
        return None
    arrays = rest, *polygons
    if skin is not None and not varying_faces:
        return _skinned_mesh(pxr, path, name, mesh, clock, skin, arrays)
    if varying_faces or points.ValueMightBeTimeVarying():
        return _free_mesh(pxr, path, name, mesh, clock, varying_faces, arrays)
    return _static_mesh(pxr, mesh, clock, arrays)


def _has_varying_faces(mesh: Any) -> bool:
    """Whether faces may differ from frame to frame."""
    return any(attribute.ValueMightBeTimeVarying() for attribute in _topology(mesh))


def _topology(mesh: Any) -> tuple[Any, Any, Any]:
    """The attributes that say what the faces are."""
    return mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr(), mesh.GetHoleIndicesAttr()


def finite_points(path: Path, name: str, points: Any) -> Floats:
    """(n, 3) finite points."""
    return check_finite(path, name, np.array(() if points is None else points, np.float64).reshape(-1, 3))


def check_finite(path: Path, name: str, rows: Floats) -> Floats:
    """The same points (n, 3), none of which may be NaN or infinite."""
    if not np.isfinite(rows).all():
        raise refuse(path, f"{name}: point {int((~np.isfinite(rows).all(axis=1)).argmax())} is not finite")
    return rows


def read_polygons(path: Path, name: str, mesh: Any, time: Any, points: int) -> Polygons:
    """Faces that are no holes, counterclockwise seen from outside after the matrix of the mesh has been applied."""
    named = (attribute.Get(time) for attribute in _topology(mesh))
    counts, corners, holes = (np.array(() if each is None else each, np.int32) for each in named)
    total = int(counts.sum(dtype=np.int64))
    if (len(counts) and counts.min() < 0) or total != len(corners):
        raise refuse(path, f"{name}: faces have {total:,} corners, {len(corners):,} are there")
    if len(corners) and not 0 <= corners.min() <= corners.max() < points:
        raise refuse(path, f"{name}: a face names point {corners.min() if corners.min() < 0 else corners.max()} of {points}")
    found = Polygons(corners.astype(np.int64), counts.astype(np.int64), np.arange(len(counts)))
    if len(holes):
        found = found.take(np.setdiff1d(found.rows, holes))
    mirrored = np.linalg.det(_local_to_world(mesh, time)[:3, :3]) < 0
    reverse = (mesh.GetOrientationAttr().Get(time) == "leftHanded") != mirrored
    found = checked_polygons(path, found.corners, found.counts, points, found.rows, f"{name}: face")
    return found.reversed() if reverse else found


def _local_to_world(mesh: Any, time: Any) -> Floats:
    """(4, 4) that takes columns of the mesh into the world."""
    matrix = np.array(mesh.ComputeLocalToWorldTransform(time), np.float64).T
    if not np.isfinite(matrix).all() or not np.array_equal(matrix[3], (0, 0, 0, 1)):
        raise ValueError(f"{mesh.GetPath()}: its matrix is not affine and finite")
    return matrix


def _static_mesh(pxr: Any, mesh: Any, clock: Clock, arrays: ArrayTuple) -> MeshRecord:
    """Points that never change. Scale and shear that never change are applied to them once."""
    start = _local_to_world(mesh, clock.time_code(pxr, 0))
    if not _may_move(pxr, mesh.GetPrim()):
        return MeshRecord("rigid", 1, (*arrays, start.T), lambda _: (np.eye(4),))
    inverse = np.linalg.inv(start).astype(np.float64) if abs(np.linalg.det(start[:3, :3])) > 0 else None
    if inverse is not None and _stays_rigid(pxr, mesh, clock, inverse):
        return MeshRecord("rigid", clock.frames, (*arrays, start.T),
                          lambda frame: (_set_last_row(_local_to_world(mesh, clock.time_code(pxr, frame)) @ inverse),))
    return MeshRecord("blended", clock.frames, arrays, lambda frame: (_local_to_world(mesh, clock.time_code(pxr, frame))[None],))


def _stays_rigid(pxr: Any, mesh: Any, clock: Clock, inverse: Floats) -> bool:
    """Whether the matrix, seen from the first one, is rigid in every frame. Frames are looked at, or, where these are fewer, the times that
    something is said of and the middles between them: there a matrix that is interpolated differs most from a rigid one. If both are very
    many, the answer is no, since other bodies are right too."""
    samples = _sample_times(pxr, mesh.GetPrim())
    samples = np.unique(np.concatenate([samples, (samples[1:] + samples[:-1]) / 2]))
    last = clock.start + clock.step * (clock.frames - 1)
    inner = np.concatenate([[clock.start], samples[(samples > clock.start) & (samples < last)], [last]])
    times = inner if len(inner) < clock.frames else clock.start + clock.step * np.arange(clock.frames)
    depth = mesh.GetPrim().GetPath().pathElementCount
    return len(times) * depth <= MAX_TESTED_MATRICES and all(
        _is_rigid(_local_to_world(mesh, pxr.Usd.TimeCode(time)) @ inverse) for time in times.tolist())


def _sample_times(pxr: Any, prim: Any) -> Floats:
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


def _set_last_row(matrix: Floats) -> Floats:
    """The same, with the last row as it is but for rounding."""
    matrix[3] = 0, 0, 0, 1
    return matrix


def _is_rigid(matrix: Floats) -> bool:
    """Whether bodies would take it, with room to spare."""
    linear = matrix[:3, :3]
    return bool(np.abs(linear.T @ linear - np.eye(3)).max() < RIGID_TOLERANCE / 2 and np.linalg.det(linear) > 0)


def _free_mesh(pxr: Any, path: Path, name: str, mesh: Any, clock: Clock, varying_faces: bool,
               arrays: ArrayTuple) -> MeshRecord:  # fmt: skip
    """Points, perhaps faces, that change."""
    max_index = int(arrays[1].max())

    def at(frame: int) -> ArrayTuple:
        time = clock.time_code(pxr, frame)
        rows, matrix = finite_points(path, name, mesh.GetPointsAttr().Get(time)), _local_to_world(mesh, time).T
        if varying_faces:
            return rows, matrix, *read_polygons(path, name, mesh, time, len(rows))
        if max_index >= len(rows):
            raise refuse(path, f"{name}, frame {frame}: {len(rows)} points are there, faces name {max_index}")
        return rows, matrix

    return MeshRecord("soup" if varying_faces else "free", clock.frames, arrays, at)


def _skinned_mesh(pxr: Any, path: Path, name: str, mesh: Any, clock: Clock, skin: Skin, arrays: ArrayTuple) -> MeshRecord:
    """Points that joints carry, or blend shapes too. Nothing of a mesh is kept but for how many points it has: there may be crowds."""
    count = len(arrays[0])

    def points(time: Any) -> Floats:
        rows = finite_points(path, name, mesh.GetPointsAttr().Get(time))
        if len(rows) != count:
            raise refuse(path, f"{name}: {len(rows)} points at time code {time.GetValue():g}, of {count} the joints are known")
        return rows

    varying = mesh.GetPointsAttr().ValueMightBeTimeVarying()
    found = None if varying else convex_weights(skin, count, clock.time_code(pxr, 0))
    if found is None:
        vertices = make_deformer(pxr, skin, points)
        return MeshRecord("free", clock.frames, arrays, lambda frame: vertices(clock.time_code(pxr, frame)))
    arrays = *arrays, found.joint_ids, found.weights
    return MeshRecord("blended", clock.frames, arrays, lambda frame: (joint_maps(pxr, skin, clock.time_code(pxr, frame)),), found.joints)
