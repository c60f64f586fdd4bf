"""A mesh of a file as it is there, before anybody calls it a body: what readers of single meshes hand out.

Invariant: faces are triangles, and their corners are vertices of the part. Numbers may still be infinite or not numbers at all; `Body`
refuses these, and the actor says in which file they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.geometry.mesh import weld_map
from pliant.io.animation import Faces, Floats
from pliant.io.limits import refuse

Indices = NDArray[np.int64]

MAX_PARTS = 10_000  # of one file
EMPTY_MESH = np.zeros((0, 3)), np.zeros((0, 3), np.int32)


class MeshPart(NamedTuple):
    """A mesh of a file."""

    name: str
    vertices: Floats  # (n, 3)
    faces: Faces  # (f, 3)
    rows: Indices | None = None  # (n,) which of the file's vertices these are; None: all of them, in their order
    file_vertices: int | None = None  # how many vertices the file has, where these are some of them
    unindexed: bool = False  # no two faces share vertices, because the format has no way to say so (STL)
    materials: list[str] | None = None  # their names
    material_of_face: NDArray[np.int32] | None = None  # (f,), −1 for none
    polygon_of_face: NDArray[np.int32] | None = None  # (f,) the polygon of the file that a triangle is part of


def to_float64(numbers: NDArray[Any]) -> Floats:
    """The same numbers in float64. That some are none is said later, by whoever knows their place."""
    with np.errstate(all="ignore"):
        return numbers.astype(np.float64)


def fan_triangulate(corners: Indices, counts: Indices) -> Indices:
    """(f, 3) triangles of polygons, whose corners follow each other: those of polygon i are `counts[i]`. A polygon becomes a fan around its
    first corner, which is right for convex ones; one of fewer than three corners becomes nothing."""
    triangles = np.maximum(counts - 2, 0)
    start = np.repeat(np.cumsum(counts) - counts, triangles)
    step = np.arange(len(start)) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    found: Indices = corners[np.stack([start, start + step + 1, start + step + 2], axis=1)]
    return found


def single_part(path: Path, name: str, vertices: Floats, faces: Indices, unindexed: bool = False) -> list[MeshPart]:
    """The one part of a file; none, if there are no faces."""
    return [MeshPart(name, vertices, checked_faces(path, faces, len(vertices)), unindexed=unindexed)] if len(faces) else []


def checked_faces(path: Path, faces: Indices, count: int) -> Faces:
    """Faces as bodies want them; refused where a corner is no vertex."""
    bad = ((faces < 0) | (faces >= count)).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise refuse(path, f"triangle {row} has the corners {faces[row].tolist()}, but vertices go from 0 to {count - 1}")
    if count > np.iinfo(np.int32).max:
        raise refuse(path, f"has {count:,} vertices, too many for one body")
    return faces.astype(np.int32)


def welded_part(part: MeshPart, earlier_faces: Faces | None = None) -> MeshPart:
    """A loose part, whose vertices at one place become one: the faces around it are adjacent then, and not in contact.

    `like`: faces of an earlier frame. What was one vertex there stays one, and what were two stay two, as long as no face is torn off: so a
    surface that touches itself in a later frame is seen to do so. If one is, the places of this frame decide."""
    if not part.unindexed:
        return part
    if earlier_faces is not None and len(earlier_faces) == len(part.faces):
        vertices = part.vertices[np.unique(earlier_faces, return_index=True)[1]]
        if np.array_equal(vertices[earlier_faces], part.vertices[part.faces]):
            return MeshPart(part.name, vertices, earlier_faces)
    lowest, faces = np.unique(weld_map(part.vertices + 0.0, 0.0), return_inverse=True)
    return MeshPart(part.name, part.vertices[lowest], faces.reshape(-1, 3).astype(np.int32))
