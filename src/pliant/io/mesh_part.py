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
from pliant.io.limits import display_name, refuse
from pliant.io.polygons import Indices, Polygons, Rows, triangulate

MAX_PARTS = 10_000  # of one file
EMPTY_MESH = np.zeros((0, 3)), np.zeros((0, 3), np.int32)


class MeshPart(NamedTuple):
    """A mesh of a file."""

    name: str
    vertices: Floats  # (n, 3)
    faces: Faces  # (f, 3)
    rows: Indices | None = None  # (n,) which of the file's vertices these are; None: all of them, in their order
    file_vertices: int | None = None  # how many vertices the file has, where these are some of them
    materials: list[str] | None = None  # names of the materials of its faces; None: the file names none
    material_of_face: Faces | None = None  # (f,) the material of each face, −1 for none
    unindexed: bool = False  # no two faces share vertices, because the format has no way to say so (STL)
    polygon_of_face: Rows | None = None  # (f,) the number in the file of the polygon that each face belongs to; None: face i is polygon i
    polygons: Polygons | None = None  # these; None where there are only triangles that the reader has made
    crossing: int = 0  # polygons that cross themselves


def with_materials(part: MeshPart, names: list[str], label_of_polygon: Indices) -> MeshPart:
    """The part with the materials of its faces. `label_of_polygon`: of each polygon of the file, a row of `names`, or 0 for none."""
    if len(names) < 2:
        return part
    label = label_of_polygon[np.arange(len(part.faces)) if part.polygon_of_face is None else part.polygon_of_face]
    used = np.unique(label[label > 0])
    if not len(used):
        return part
    material = np.where(label > 0, np.searchsorted(used, label), -1).astype(np.int32)
    return part._replace(materials=[display_name(names[k]) for k in used], material_of_face=material)


def to_float64(numbers: NDArray[Any]) -> Floats:
    """The same numbers in float64. That some are none is said later, by whoever knows their place."""
    with np.errstate(all="ignore"):
        return numbers.astype(np.float64)


def polygon_part(name: str, vertices: Floats, polygons: Polygons) -> MeshPart:
    """A mesh of checked polygons."""
    faces, polygon_of_face, crossing = triangulate(vertices, polygons)
    return MeshPart(name, vertices, faces, polygon_of_face=polygon_of_face, polygons=polygons, crossing=crossing)


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


def matched_part(part: MeshPart, first: MeshPart) -> MeshPart:
    """A part of a later frame: with the triangles of the first one if it has the same polygons."""
    if part.polygons is not None and part.polygons.equals(first.polygons):
        return part._replace(faces=first.faces, polygon_of_face=first.polygon_of_face)
    return part


def welded_part(part: MeshPart) -> MeshPart:
    """An unindexed part, whose vertices at one place become one: the faces around it are adjacent then, and not in contact. For several
    frames `unindexed.py` does this.
    """
    if not part.unindexed:
        return part
    vertices, faces = join_corners(part.vertices[part.faces.ravel()])
    return part._replace(vertices=vertices, faces=faces, unindexed=False)


def join_corners(corners: Floats) -> tuple[Floats, Faces]:
    """Vertices (n, 3) and faces (f, 3) of corners (3 f, 3): those at the same position are one vertex."""
    lowest, faces = np.unique(weld_map(corners + 0.0, 0.0), return_inverse=True)
    return corners[lowest], faces.reshape(-1, 3).astype(np.int32)
