"""Animations to tune for, from all files that `pliant check` reads: one body or two of them, with all frames in memory.

Welded vertices become one, so that queries of a body with itself cost what they cost in a check. Faces must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError
from pliant.io.animation import DEFAULT_SETTINGS, Actor, Settings
from pliant.io.limits import refuse
from pliant.io.read import read
from pliant.render.npz import MAX_ARRAY_BYTES

MAX_LISTED = 20  # names of bodies in a message

MovingMesh = tuple[NDArray[np.int32], NDArray[np.float64]]


def read_bodies(paths: Sequence[Path], names: Sequence[str] = (), settings: Settings = DEFAULT_SETTINGS, most: int = 2) -> list[MovingMesh]:
    """Faces and vertices in all frames of the bodies with these names; of all bodies, if there are not more than `most`."""
    found = read(paths, settings)
    actors = {actor.name: actor for actor in found.actors}
    known = ", ".join(list(actors)[:MAX_LISTED]) + (", …" if len(actors) > MAX_LISTED else "")
    wrong = [name for name in names if name not in actors]
    if wrong:
        raise ArgumentError(f"body: expected one of {known}, got {wrong[0]!r:.100}")
    if not 1 <= len(names or actors) <= most:
        raise ArgumentError(f"body: {found.name} has {len(actors)} bodies ({known}); expected one or two, which --body NAME chooses")
    return [_moving_mesh(paths[0], actors[name]) for name in dict.fromkeys(names or actors)]


def _moving_mesh(path: Path, actor: Actor) -> MovingMesh:
    """All frames of an actor."""
    body = actor.at(0, weld=True)
    used, faces = np.unique(body._welded_faces, return_inverse=True)
    size = 24 * actor.frames * len(used)
    if size > MAX_ARRAY_BYTES:
        raise refuse(path, f"{actor.name}: takes {size:,} bytes in memory, at most {MAX_ARRAY_BYTES:,} are used")
    vertices = np.empty((actor.frames, len(used), 3))
    for frame in range(actor.frames):
        moved = actor.at(frame, body, weld=True)
        if moved is not body:
            raise refuse(path, f"{actor.name}: its faces change in frame {frame}; a policy is tuned for faces that stay")
        vertices[frame] = moved.vertices[used]
    return faces.reshape(-1, 3).astype(np.int32), vertices
