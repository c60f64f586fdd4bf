"""Scenes in USD files (.usd, .usda, .usdc, .usdz): every mesh of the stage that is active and visible is an actor.

A process of its own reads the file (`apart`, `usdscene`) and says what each mesh is, in numbers, and where it is in a frame; here bodies
are made of that.

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
from pliant.io.animation import PLAIN, RATE, Actor, Animation, Faces, Floats, Frames, Moved, Settings
from pliant.io.limits import examined, plain, refuse, size_of
from pliant.io.subprocess_client import Apart
from pliant.io.usd.meshes import Arrays, finite
from pliant.io.usd.scene import MOST_ACTORS, MOST_FRAMES
from pliant.io.usd.stage import MOST_BYTES

MOST_JOINTS = 1_000_000

Pose = Callable[[int], Arrays]


class Carried(Moved):
    """Vertices that matrices move: `make(**options)` is the body, `pose(frame)` what its update takes."""

    def __init__(self, path: Path, name: str, kind: str, frames: int, make: Callable[..., Body], pose: Callable[[int], Floats]) -> None:
        super().__init__(path, name, frames)
        self.kind = kind
        self._make, self._pose = make, pose

    def _made(self, **options: Any) -> Body:
        return self._make(**options)

    def _move(self, body: Body, frame: int) -> None:
        with examined(self._path):
            pose = self._pose(frame)
        body.update(pose)


def read_usd(path: str | Path, settings: Settings = PLAIN) -> Animation:
    """The animation in a USD file, which needs usd-core: pip install 'pliant[usd]'. A process of its own reads it, since damaged files may
    crash the library: if it ends, that is a `FileError`. The file is read as it is on disk when this is called."""
    path = Path(path)
    size_of(path, MOST_BYTES)
    scene = Apart("pliant.io.usd.scene", "Scene", str(path), None if settings.rate is None else float(settings.rate))
    moving = False
    try:
        with examined(path):
            actors = list(_actors(path, scene))
            about, _ = scene.ask(path, "about")
            frames, rate = max(actor.frames for actor in actors), float(about["rate"])
            rate = rate if 0 < rate < math.inf else settings.rate or RATE
            notes, files = tuple(plain(note) for note in about["notes"]), tuple(Path(file) for file in about["files"])
            moving = not all(actor.kind == "rigid" and actor.frames == 1 for actor in actors)
            return Animation(path.stem, actors, frames, rate, plain(about["up"]), plain(about["unit"]), notes, files)
    finally:
        if not moving:  # nothing more will be asked
            scene.close()


def _actors(path: Path, scene: Apart) -> Iterator[Actor]:
    """The actors of all meshes that the other process finds."""
    for number in range(MOST_ACTORS + 1):
        head, arrays = scene.ask(path, "following")
        if head is None:
            return

        def pose(frame: int, number: int = number) -> Arrays:
            return tuple(scene.ask(path, "at", number, frame)[1])

        yield _actor(path, str(head["name"]), head, tuple(arrays), pose)
    raise refuse(path, f"has more than {MOST_ACTORS:,} meshes")


def _actor(path: Path, name: str, head: dict[str, Any], arrays: Arrays, pose: Pose) -> Actor:
    """The actor of a mesh; `usdmeshes.Told` says what the arrays of each kind are."""
    kind, frames = head["kind"], int(head["frames"])
    if not 1 <= frames <= MOST_FRAMES:
        raise refuse(path, f"{name}: has {frames:,} frames, at most {MOST_FRAMES:,} are read")
    if kind == "rigid":
        rest, faces, matrix = _floats(arrays[0], -1, 3), _faces(arrays[1]), _floats(arrays[2], 4, 4)
        return _rigid(path, name, frames, _placed(rest, matrix), faces, pose)
    if kind == "blended":
        rest, faces = _floats(arrays[0], -1, 3), _faces(arrays[1])
        weights = _weights(len(rest), int(head["joints"]), *arrays[2:]) if arrays[2:] else np.ones((len(rest), 1))
        return Carried(path, name, "blended", frames, lambda **options: Body.blended(rest, faces, weights, **options),
                       lambda frame: _numbers(pose(frame)[0], "f"))  # fmt: skip
    if kind not in ("free", "soup"):
        raise refuse(path, f"{name}: is of kind {kind!r:.40}, which is none")
    return _free(path, name, frames, _faces(arrays[0]) if kind == "free" else None, pose)


def _rigid(path: Path, name: str, frames: int, placed: Floats, faces: Faces, pose: Pose) -> Actor:
    def matrix(frame: int) -> Floats:
        return np.eye(4) if frames == 1 else _floats(pose(frame)[0], 4, 4)

    return Carried(path, name, "rigid", frames, lambda **options: Body.rigid(placed, faces, **options), matrix)


def _free(path: Path, name: str, frames: int, faces: Faces | None, pose: Pose) -> Actor:
    """Vertices, and faces if there are none yet, of each frame."""

    def read(frame: int) -> tuple[Floats, Faces]:
        with examined(path):
            rows, matrix, *rest = pose(frame)
            vertices = _placed(_floats(rows, -1, 3), _floats(matrix, 4, 4))
            return finite(path, name, vertices), _faces(rest[0]) if faces is None else faces

    return Frames(name, frames, read, soup=faces is None)


def _weights(vertices: int, joints: int, named: NDArray[Any], shares: NDArray[Any]) -> csr_array:
    """(n, m) of each vertex and joint, from as many joints and shares for each vertex."""
    if not 0 < joints <= MOST_JOINTS or not vertices or len(named) % vertices:
        raise ValueError(f"{len(named):,} weights of {joints:,} joints for {vertices:,} vertices")
    rows = np.repeat(np.arange(vertices), len(named) // vertices)
    made = coo_array((_numbers(shares, "f"), (rows, _numbers(named, "i"))), shape=(vertices, joints)).tocsr()
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _placed(rows: Floats, matrix: Floats) -> Floats:
    """(n, 3) in the world, by a matrix (4, 4) for rows."""
    made: Floats = rows @ matrix[:3, :3] + matrix[3, :3]
    return made


def _numbers(values: NDArray[Any], kind: str) -> NDArray[Any]:
    if values.dtype.kind != kind:
        raise TypeError(f"numbers of type {values.dtype}, expected {kind}")
    return values


def _floats(values: NDArray[Any], rows: int, columns: int) -> Floats:
    """As float64 in this shape; -1 rows are any."""
    return _numbers(values, "f").astype(np.float64, copy=False).reshape(rows, columns)


def _faces(values: NDArray[Any]) -> Faces:
    return _numbers(values, "i").astype(np.int32, copy=False).reshape(-1, 3)
