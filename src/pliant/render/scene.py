"""What is before the camera: bodies of a `Scene` with their materials, lights and a sky; and the surface where a ray has hit it.

Invariant: bodies are only read, and only where rays have hit them. Normals of vertices are added up for the faces that were hit, so that a
picture of few rays stays cheap however many triangles there are.

Shapes: everything about n rays has n rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.render.materials import Light, Material, Materials, Sky
from pliant.render.optics import dot, unit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


class HitSurface(NamedTuple):
    """Where rays have hit."""

    points: Floats  # (n, 3)
    faces: Floats  # (n, 3) normals of the faces, against the ray
    normals: Floats  # (n, 3) normals to shade with, against the ray
    leaving: Flags  # (n,) the ray comes from inside
    material: Indices  # (n,) row of the table


class RenderScene:
    """Bodies with materials, lights and a sky. The bodies may move, join and leave at any time between two pictures."""

    def __init__(self, lights: Sequence[Light] = (), sky: Sky | None = None) -> None:
        self.scene, self.lights, self.sky = pliant.Scene(), tuple(lights), sky or Sky()
        self._members: dict[int, _RenderBody] = {}
        self._materials: list[Material] = []
        self._table: Materials | None = None

    def add(self, body: pliant.Body, material: Material) -> int:
        """Its id in the scene."""
        number = self.scene.add(body)
        if material not in self._materials:
            self._materials.append(material)
            self._table = None
        self._members[number] = _RenderBody(body, self._materials.index(material), material.smooth)
        return number

    def remove(self, number: int) -> None:
        """Take a body away."""
        self.scene.remove(number)
        del self._members[number]

    @property
    def material_table(self) -> Materials:
        """The materials, a row each."""
        if self._table is None:
            self._table = Materials.from_list(self._materials)
        return self._table

    def cast(self, origins: Floats, directions: Floats, nearest: Floats) -> Any:
        """The nearest hit of each ray that is not nearer than that."""
        return pliant.cast(self.scene, origins, directions, t_min=nearest)

    def occluded(self, origins: Floats, directions: Floats, nearest: Floats, farthest: Floats) -> Flags:
        """(n,) is anything in between?"""
        return pliant.occluded(self.scene, origins, directions, t_min=nearest, t_max=farthest)

    def max_coordinate(self) -> float:
        """The largest coordinate of any body: what roundings of positions are relative to."""
        boxes = [np.abs(member.body.bounds).max() for member in self._members.values() if len(member.body)]
        return float(max(boxes, default=1.0))

    def surface(self, hits: Any, directions: Floats) -> HitSurface:
        """What `hits`, all of which have hit something, have met."""
        n = len(directions)
        corners, normals, material = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty(n, np.int64)
        weights = np.column_stack([1.0 - hits.uv.sum(axis=1), hits.uv])
        order = np.argsort(hits.body, kind="stable")
        numbers, counts = np.unique(hits.body, return_counts=True)
        for number, count, end in zip(numbers.tolist(), counts.tolist(), np.cumsum(counts).tolist(), strict=True):
            member, rows = self._members[number], order[end - count : end]
            faces = hits.face[rows]
            corners[rows] = member.vertices()[member.body._welded_faces[faces]]
            material[rows] = member.material
            if member.smooth:
                normals[rows] = np.einsum("nc,ncj->nj", weights[rows], member.normals(faces))
            else:
                normals[rows] = 0.0
        points = np.einsum("nc,ncj->nj", weights, corners)
        face_normals = unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        normals = np.where(dot(normals, normals) > 0.25, unit(normals), face_normals)  # shorter: normals of the corners cancel each other
        cosine = dot(directions, face_normals)
        leaving = cosine[:, 0] > 0
        faces_normal = np.where(cosine > 0, -face_normals, face_normals)
        normals = np.where(cosine > 0, -normals, normals)
        # A smooth normal may look away where the face does not; turned just so far that the ray grazes it.
        excess = dot(directions, normals)
        normals = np.where(excess > 0, unit(normals - (excess + 1e-6) * directions), normals)
        return HitSurface(points, faces_normal, normals, leaving, material)


class _RenderBody:
    """A body, and what is worked out about it when it is hit."""

    def __init__(self, body: pliant.Body, material: int, smooth: bool) -> None:
        self.body, self.material, self.smooth = body, material, smooth
        self._version, self._vertices = -1, np.empty((0, 3))
        self._incident_faces: tuple[Indices, Indices] | None = None

    def vertices(self) -> Floats:
        """(n, 3), fetched once for each time that the body moves."""
        if self._version != self.body._version:
            self._version, self._vertices = self.body._version, self.body.vertices
        return self._vertices

    def normals(self, faces: Indices) -> Floats:
        """(n, 3, 3): normals of the corners of these faces, of length 1: those of the faces around a vertex, the larger the more.

        Only the vertices asked for are looked at, with the faces around each; who these are is found out once. Welded vertices are one.
        """
        corners = self.body._welded_faces[faces]
        vertices, inverse = np.unique(corners, return_inverse=True)
        starts, incident_faces = self._vertex_faces()
        counts = starts[vertices + 1] - starts[vertices]
        first = np.cumsum(counts) - counts
        faces_near = incident_faces[np.repeat(starts[vertices] - first, counts) + np.arange(counts.sum())]
        faces_used, row = np.unique(faces_near, return_inverse=True) if 2 * len(vertices) < len(starts) else (np.arange(len(self.body)),
                                                                                                              faces_near)
        a, b, c = (self.vertices()[self.body._welded_faces[faces_used, k]] for k in range(3))
        areas = np.cross(b - a, c - a)
        normals = unit(np.add.reduceat(areas[row], first, axis=0))
        return normals[inverse.reshape(corners.shape)]

    def _vertex_faces(self) -> tuple[Indices, Indices]:
        """Faces around vertices, one vertex after the other, and where each begins."""
        if self._incident_faces is None:
            corners = self.body._welded_faces.ravel()
            order = np.argsort(corners, kind="stable")
            starts = np.searchsorted(corners[order], np.arange(self.body._motion.count + 1))
            self._incident_faces = starts, order // 3
        return self._incident_faces
