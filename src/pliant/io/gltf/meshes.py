"""Meshes and skins of a glTF file: all triangles of a mesh are one surface (glTF 2.0, sections 3.7.2 and 3.7.3).

Invariant: faces name vertices that are there; targets and shares have a row for each vertex. Primitives that share their attributes share
their vertices, and few of them are in no face.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.errors import MeshError
from pliant.io.animation import Faces, Floats
from pliant.io.gltf.buffers import Accessors, Indices
from pliant.io.gltf.document import COMPRESSION_EXTENSIONS, CONVERSION_HINT, Entry
from pliant.io.limits import refuse
from pliant.motion.skeleton import Skeleton

TRIANGLES, STRIP, FAN = 4, 5, 6
MAX_VERTICES = 1 << 24  # of a mesh, and of all actors, where it counts as often as it is used
MAX_JOINT_SETS = 64  # of joints and weights


class Attributes(NamedTuple):
    """The accessors of a primitive that matter here. Equal ones are the same vertices."""

    position: int
    targets: tuple[int | None, ...]  # displacements; None for a target that leaves positions alone
    joints: tuple[int, ...]
    weights: tuple[int, ...]


PrimitiveRows = list[tuple[Attributes, Indices | slice]]  # and which of their vertices


class GltfSurface(NamedTuple):
    """A mesh: vertices (n, 3), faces (f, 3), displacements `targets` (k, n, 3) with their weights (k,) where it has any, and of each vertex
    of a skinned one the joints (n, j) and how much it belongs to them (n, j). And the names of its materials, with the one of each face
    (f,), −1 for none."""

    vertices: Floats
    faces: Faces
    targets: Floats | None
    weights: Floats
    joints: Indices
    joint_weights: Floats
    materials: list[str]
    material_of_face: Faces


def read_mesh(data: Accessors, index: int, skinned: bool, notes: list[str]) -> GltfSurface | None:
    """A mesh; None for one without triangles."""
    mesh = data.document.get("meshes", index)
    parts: dict[Attributes, int] = {}  # and the first vertex of each
    faces: list[Faces] = []
    materials: list[int | None] = []  # of these
    total = 0
    for primitive in mesh.entries("primitives"):
        mode = primitive.integer("mode", TRIANGLES, 0, FAN)
        if mode < TRIANGLES:
            notes.append("primitives of points or lines are left out")
            continue
        attributes = _read_attributes(data, primitive, skinned)
        if attributes is None:
            notes.append("primitives without positions are left out")
            continue
        count = data.count(attributes.position)
        if attributes not in parts:
            parts[attributes], total = total, total + count
        if total > MAX_VERTICES:
            raise refuse(data.path, f"{mesh.name}: has {total:,} vertices, at most {MAX_VERTICES:,} are read")
        materials.append(data.document.index(primitive, "material", "materials"))
        faces.append(_read_faces(data, primitive, mode, count) + np.int32(parts[attributes]))
    if not sum(map(len, faces)):
        return None
    corners = np.concatenate(faces)
    rows = _used_vertices(corners, total)
    if rows is not None:
        corners = np.searchsorted(rows, corners).astype(np.int32)
    kept_rows = _primitive_rows(data, parts, rows)
    joints, joint_weights = _read_joint_weights(data, kept_rows, skinned)
    targets, weights = _read_targets(data, mesh, kept_rows)
    names, material_of_face = _name_materials(data, materials, [len(some) for some in faces])
    return GltfSurface(_read_positions(data, mesh, kept_rows), corners, targets, weights, joints, joint_weights, names, material_of_face)


def _name_materials(data: Accessors, materials: list[int | None], counts: list[int]) -> tuple[list[str], Faces]:
    """The names of the materials of primitives, and the material of each face, −1 for none."""
    used = sorted({index for index in materials if index is not None})
    numbers = [-1 if index is None else used.index(index) for index in materials]
    names = [data.document.get("materials", index).display_name() or f"material {index}" for index in used]
    return names, np.repeat(np.array(numbers, np.int32), counts)


def _used_vertices(corners: Faces, total: int) -> Indices | None:
    """The vertices that faces name, rising, where all others are most of them; else None, and all stay. Many meshes may share one large
    accessor, so this takes no more time than the faces are worth."""
    if 2 * corners.size < total:
        return np.unique(corners).astype(np.int64)
    is_used = np.zeros(total, bool)
    is_used[corners] = True
    return np.flatnonzero(is_used) if 2 * is_used.sum() < total else None


def _primitive_rows(data: Accessors, parts: dict[Attributes, int], rows: Indices | None) -> PrimitiveRows:
    """Of each primitive the vertices that are kept, by their number in it."""
    if rows is None:
        return [(part, slice(0, data.count(part.position))) for part in parts]
    ends = [(first, first + data.count(part.position)) for part, first in parts.items()]
    return [(part, rows[slice(*np.searchsorted(rows, end))] - end[0]) for part, end in zip(parts, ends, strict=True)]


def _row_count(rows: Indices | slice) -> int:
    return int(rows.stop) if isinstance(rows, slice) else len(rows)


def _read_positions(data: Accessors, mesh: Entry, parts: PrimitiveRows) -> Floats:
    """(n, 3): those of the accessor itself, where a mesh has all of one; else a copy, which counts."""
    if len(parts) == 1 and isinstance(parts[0][1], slice):
        return data.floats(parts[0][0].position, "VEC3")
    data.spend(3 * sum(_row_count(rows) for _, rows in parts), mesh.name)
    return np.concatenate([data.floats(part.position, "VEC3")[rows] for part, rows in parts])


def _read_attributes(data: Accessors, primitive: Entry, skinned: bool) -> Attributes | None:
    document, entry = data.document, primitive.entry("attributes")
    position = document.index(entry, "POSITION", "accessors")
    if position is None:
        return None
    compressed = [name for name in COMPRESSION_EXTENSIONS if name in primitive.entry("extensions")]
    if compressed and "bufferView" not in document.get("accessors", position):
        raise refuse(data.path, f"{primitive.name}: is one of {compressed[0]}, {CONVERSION_HINT}")
    targets = tuple(document.index(target, "POSITION", "accessors") for target in primitive.entries("targets"))
    joints, weights = list[int](), list[int]()
    while skinned and f"JOINTS_{len(joints)}" in entry and len(joints) < MAX_JOINT_SETS:
        weights.append(document.required_index(entry, f"WEIGHTS_{len(joints)}", "accessors"))
        joints.append(document.required_index(entry, f"JOINTS_{len(joints)}", "accessors"))
    if skinned and not joints:
        raise entry.refuse("JOINTS_0", "missing, but a node with this mesh has a skin")
    attributes = Attributes(position, targets, tuple(joints), tuple(weights))
    for other in (*targets, *joints, *weights):
        if other is not None and data.count(other) != data.count(position):
            raise entry.refuse("POSITION", f"accessors[{position}] has {data.count(position):,} elements, accessors[{other}] "
                                           f"{data.count(other):,}: expected as many")  # fmt: skip
    return attributes


def _read_faces(data: Accessors, primitive: Entry, mode: int, count: int) -> Faces:
    """(f, 3): triangles of a list, a strip or a fan; what is left over at its end is no triangle."""
    index = data.document.index(primitive, "indices", "accessors")
    if index is None:
        data.spend(count, primitive.name)
        corners: Faces = np.arange(count, dtype=np.int32)
    else:
        named = data.integers(index, "SCALAR")[:, 0]
        if named.max(initial=-1) >= count:
            raise primitive.refuse("indices", f"accessors[{index}] names vertex {named.max()}, but there are {count:,}")
        corners = named.astype(np.int32)
    if mode == TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    data.spend(2 * len(corners), primitive.name)
    if len(corners) < 3:
        return np.zeros((0, 3), np.int32)
    if mode == FAN:
        return np.stack([corners[1:-1], corners[2:], np.full(len(corners) - 2, corners[0])], axis=1)
    odd = np.arange(len(corners) - 2) % 2
    first = np.arange(len(corners) - 2)
    return np.stack([corners[:-2], corners[first + 1 + odd], corners[first + 2 - odd]], axis=1)


def _read_targets(data: Accessors, mesh: Entry, parts: PrimitiveRows) -> tuple[Floats | None, Floats]:
    """(k, n, 3) displacements and (k,) their weights; None where no target moves a vertex."""
    count, total = len(parts[0][0].targets), sum(_row_count(rows) for _, rows in parts)
    if any(len(part.targets) != count for part, _ in parts):
        raise mesh.refuse("primitives", "expected as many targets in all of them")
    weights = np.array(mesh.numbers("weights", count, [0.0] * count))
    if all(target is None for part, _ in parts for target in part.targets):
        return None, np.zeros(0)
    data.spend(3 * count * total, mesh.name)
    made, begin = np.zeros((count, total, 3)), 0
    for part, rows in parts:
        end = begin + _row_count(rows)
        for number, target in enumerate(part.targets):
            if target is not None:
                made[number, begin:end] = data.floats(target, "VEC3")[rows]
        begin = end
    return made, weights


def _read_joint_weights(data: Accessors, parts: PrimitiveRows, skinned: bool) -> tuple[Indices, Floats]:
    """(n, j) joints and weights, as many for all as the primitive with the most has; nothing if not skinned."""
    if not skinned:
        return np.zeros((0, 0), np.int64), np.zeros((0, 0))
    width = 4 * max(len(part.joints) for part, _ in parts)
    joints, weights = list[Indices](), list[Floats]()
    for part, rows in parts:
        count = _row_count(rows)
        data.spend(2 * width * count, "joints and weights")
        part_joints, part_weights = np.zeros((count, width), np.int64), np.zeros((count, width))
        for number, (joint_accessor, weight_accessor) in enumerate(zip(part.joints, part.weights, strict=True)):
            columns = slice(4 * number, 4 * number + 4)
            part_joints[:, columns] = data.integers(joint_accessor, "VEC4")[rows]
            part_weights[:, columns] = data.floats(weight_accessor, "VEC4")[rows]
        joints.append(part_joints)
        weights.append(part_weights)
    return np.concatenate(joints), np.concatenate(weights)


class Skin(NamedTuple):
    """Joints (m,), by their nodes, and how surfaces follow them."""

    joints: Indices
    skeleton: Skeleton

    def maps(self, world: Floats) -> Floats:
        """(m, 3, 4): where each joint carries what belongs to it, from the matrices (n, 4, 4) of all nodes in the world."""
        return self.skeleton.maps(world=world[self.joints])

    def weights(self, surface: GltfSurface) -> Any:
        """(n, m) sparse: how much each vertex belongs to each joint. One that belongs to none follows the first that it names."""
        joint_weights = surface.joint_weights.copy()
        joint_weights[~joint_weights.any(axis=1), 0] = 1.0
        return self.skeleton.weights(surface.joints, joint_weights)


def read_skin(data: Accessors, index: int) -> Skin:
    """A skin: its joints, and the inverse bind matrices, by default those that change nothing."""
    document, entry = data.document, data.document.get("skins", index)
    joints = document.indices(entry, "joints", "nodes")
    if not joints:
        raise entry.refuse("joints", "expected at least one")
    matrices, binds = None, document.index(entry, "inverseBindMatrices", "accessors")
    if binds is not None:
        if data.count(binds) < len(joints):
            raise entry.refuse("inverseBindMatrices", f"accessors[{binds}] has {data.count(binds):,} for {len(joints):,} joints")
        matrices = data.floats(binds, "MAT4")[: len(joints)].reshape(-1, 4, 4).swapaxes(1, 2)
    try:
        return Skin(np.array(joints, np.int64), Skeleton(np.full(len(joints), -1), matrices))
    except MeshError as error:
        raise refuse(data.path, f"{entry.name}: {error}") from None
