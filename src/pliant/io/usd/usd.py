"""Scenes in USD files (.usd, .usda, .usdc, .usdz): every mesh of the stage that is active and visible is an actor.

A process of its own reads the file (`subprocess_client.py`, `scene.py`) and says what each mesh is, in numbers, and where it is in a
frame; here bodies are made of that.

Invariant: numbers of that process are examined as those of a file are, since a crafted file may have made it say anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from pliant.body import Body
from pliant.io.animation import DEFAULT_RATE, DEFAULT_SETTINGS, Actor, Animation, Faces, Floats, FrameActor, MovingActor, Settings
from pliant.io.limits import display_name, file_errors, printable, refuse, size_of
from pliant.io.polygons import Polygons, Triangulation, checked_polygons, crossing_note, triangulate
from pliant.io.resampling import number_labels
from pliant.io.subprocess_client import SubprocessClient
from pliant.io.usd.meshes import ArrayTuple, check_finite
from pliant.io.usd.scene import MAX_ACTORS, MAX_FRAMES
from pliant.io.usd.stage import MAX_LAYER_BYTES

MAX_JOINTS = 1_000_000

ReadPose = Callable[[int], ArrayTuple]


class MatrixActor(MovingActor):
    """Vertices that matrices move: `make(**options)` is the body, `pose(frame)` what its update takes."""

    def __init__(self, path: Path, name: str, kind: str, frames: int, make: Callable[..., Body], pose: Callable[[int], Floats]) -> None:
        super().__init__(path, name, frames)
        self.kind = kind
        self._make, self._pose = make, pose

    def _make_body(self, **options: Any) -> Body:
        return self._make(**options)

    def _move(self, body: Body, frame: int) -> None:
        with file_errors(self._path):
            pose = self._pose(frame)
        body.update(pose)


def read_usd(path: str | Path, settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """Read a USD file, which needs usd-core: pip install 'pliant[usd]'. A separate process reads it, since damaged files may crash the
    library; a crash is a `FileError`. The file is read as it is on disk at the time of the call."""
    path = Path(path)
    size_of(path, MAX_LAYER_BYTES)
    scene = SubprocessClient("pliant.io.usd.scene", "SceneService", str(path), None if settings.rate is None else float(settings.rate))
    animated = False
    try:
        with file_errors(path):
            made = list(_make_actors(path, scene))
            actors = [actor for actor, _ in made]
            metadata, _ = scene.request(path, "metadata")
            frames, rate = max(actor.frames for actor in actors), float(metadata["rate"])
            rate = rate if 0 < rate < math.inf else settings.rate or DEFAULT_RATE
            notes, files = tuple(printable(note) for note in metadata["notes"]), tuple(Path(file) for file in metadata["files"])
            animated = not all(actor.kind == "rigid" and actor.frames == 1 for actor in actors)
            notes += tuple(note for _, some in made for note in some)
            labels = number_labels(float(metadata["start"]) + float(metadata["step"]) * np.arange(frames)) if frames > 1 else None
            return Animation(path.stem, actors, frames, rate, printable(metadata["up"]), printable(metadata["unit"]), notes, files,
                             frame_labels=labels)  # fmt: skip
    finally:
        if not animated:  # nothing more will be asked
            scene.close()


def _make_actors(path: Path, scene: SubprocessClient) -> Iterator[tuple[Actor, tuple[str, ...]]]:
    """The actors of all meshes that the other process finds, with notes."""
    for number in range(MAX_ACTORS + 1):
        head, arrays = scene.request(path, "next_mesh")
        if head is None:
            return

        def pose(frame: int, number: int = number) -> ArrayTuple:
            return tuple(scene.request(path, "pose", number, frame)[1])

        yield _make_actor(path, str(head["name"]), head, tuple(arrays), pose)
    raise refuse(path, f"has more than {MAX_ACTORS:,} meshes")


def _make_actor(path: Path, name: str, head: dict[str, Any], arrays: ArrayTuple, pose: ReadPose) -> tuple[Actor, tuple[str, ...]]:
    """The actor of a mesh, and notes; `meshes.MeshRecord` says what the arrays of each kind are."""
    kind, frames = head["kind"], int(head["frames"])
    if not 1 <= frames <= MAX_FRAMES:
        raise refuse(path, f"{name}: has {frames:,} frames, at most {MAX_FRAMES:,} are read")
    if kind not in ("rigid", "blended", "free", "soup"):
        raise refuse(path, f"{name}: is of kind {kind!r:.40}, which is none")
    rest, polygons, more = _float_rows(arrays[0], -1, 3), _polygons(path, name, arrays[1:4], len(arrays[0])), arrays[4:]
    labels = dict[str, tuple[list[str], NDArray[Any]]]()  # names, and the one of each polygon of the file
    for kind_of_label in ("bones", "materials"):
        if names := [display_name(str(each)) for each in head[kind_of_label]]:
            labels[kind_of_label], more = (names, more[-1]), more[:-1]
    found = triangulate(rest, polygons)
    actor: Actor
    if kind == "rigid":
        actor = _rigid_actor(path, name, frames, _to_world(rest, _float_rows(more[0], 4, 4)), found.faces, pose)
    elif kind == "blended":
        weights = _weight_matrix(len(rest), int(head["joints"]), *more) if more else np.ones((len(rest), 1))
        actor = MatrixActor(path, name, "blended", frames, lambda **options: Body.blended(rest, found.faces, weights, **options),
                            lambda frame: _check_kind(pose(frame)[0], "f"))  # fmt: skip
    elif kind == "free":
        actor = FrameActor(name, frames, lambda frame: (_frame_vertices(path, name, pose, frame)[0], found.faces))
    else:
        actor = _soup_actor(path, name, frames, polygons, found, pose)
    actor.polygon_of_face, actor.source_name = found.polygon_of_face, printable(str(head["source"]))
    rows = np.arange(len(found.faces)) if found.polygon_of_face is None else found.polygon_of_face
    for what, take in (("materials", actor.take_materials), ("bones", actor.take_bones)):
        if what in labels:
            names, of_polygon = labels[what]
            take(names, _check_kind(of_polygon, "i").astype(np.int32).clip(-1, len(names) - 1)[rows])
    return actor, crossing_note(name, found.crossing)


def _rigid_actor(path: Path, name: str, frames: int, vertices: Floats, faces: Faces, pose: ReadPose) -> Actor:
    def matrix(frame: int) -> Floats:
        return np.eye(4) if frames == 1 else _float_rows(pose(frame)[0], 4, 4)

    return MatrixActor(path, name, "rigid", frames, lambda **options: Body.rigid(vertices, faces, **options), matrix)


def _soup_actor(path: Path, name: str, frames: int, polygons: Polygons, first: Triangulation, pose: ReadPose) -> Actor:
    """Vertices and polygons of each frame; where polygons are those of the first frame, its triangles."""

    def read(frame: int) -> tuple[Floats, Triangulation]:
        vertices, arrays = _frame_vertices(path, name, pose, frame)
        with file_errors(path):
            found = _polygons(path, name, arrays, len(vertices))
            return vertices, first if found.equals(polygons) else triangulate(vertices, found)

    def mesh(frame: int) -> tuple[Floats, Faces]:
        vertices, found = read(frame)
        return vertices, found.faces

    return FrameActor(name, frames, mesh, soup=True, read_polygons=lambda frame: read(frame)[1].polygon_of_face)


def _frame_vertices(path: Path, name: str, pose: ReadPose, frame: int) -> tuple[Floats, ArrayTuple]:
    """(n, 3) in the world, by points and the matrix that places them; and what comes after these."""
    with file_errors(path):
        rows, matrix, *more = pose(frame)
        return check_finite(path, name, _to_world(_float_rows(rows, -1, 3), _float_rows(matrix, 4, 4))), tuple(more)


def _polygons(path: Path, name: str, arrays: ArrayTuple, vertices: int) -> Polygons:
    """Polygons that the other process has sent, which may be anything."""
    corners, counts, rows = (_check_kind(each, "i").astype(np.int64, copy=False).reshape(-1) for each in arrays)
    if len(rows) != len(counts) or (counts < 3).any() or counts.sum() != len(corners):
        raise refuse(path, f"{name}: {len(counts):,} faces do not have {len(corners):,} corners")
    return checked_polygons(path, corners, counts, vertices, rows, f"{name}: face")


def _weight_matrix(vertices: int, joints: int, joint_ids: NDArray[Any], weights: NDArray[Any]) -> csr_array:
    """(n, m) of each vertex and joint, from as many joints and shares for each vertex."""
    if not 0 < joints <= MAX_JOINTS or not vertices or len(joint_ids) % vertices:
        raise ValueError(f"{len(joint_ids):,} weights of {joints:,} joints for {vertices:,} vertices")
    rows = np.repeat(np.arange(vertices), len(joint_ids) // vertices)
    made = coo_array((_check_kind(weights, "f"), (rows, _check_kind(joint_ids, "i"))), shape=(vertices, joints)).tocsr()
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _to_world(rows: Floats, matrix: Floats) -> Floats:
    """(n, 3) in the world, by a matrix (4, 4) for rows."""
    made: Floats = rows @ matrix[:3, :3] + matrix[3, :3]
    return made


def _check_kind(values: NDArray[Any], kind: str) -> NDArray[Any]:
    if values.dtype.kind != kind:
        raise TypeError(f"numbers of type {values.dtype}, expected {kind}")
    return values


def _float_rows(values: NDArray[Any], rows: int, columns: int) -> Floats:
    """As float64 in this shape; -1 rows are any."""
    return _check_kind(values, "f").astype(np.float64, copy=False).reshape(rows, columns)
