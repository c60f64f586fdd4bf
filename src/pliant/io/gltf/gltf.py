"""Animations in glTF 2.0 files, .gltf and .glb: every node of the scene that has a mesh is an actor.

The steps, each in a file of its own: the container and its JSON (`document.py`), numbers in buffers (`buffers.py`), the tree of
nodes (`nodes.py`), surfaces and skins (`meshes.py`), clips (`clips.py`), where nodes are in a frame (`poses.py`), and
bodies (`actors.py`). Images and textures are never opened, and nothing outside the folder of the file.

Invariant: what is wrong with a file is a `FileError` of one line; it comes before memory is asked for.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.core.validate_rig import positive
from pliant.errors import MeshError
from pliant.io.animation import DEFAULT_SETTINGS, Actor, Animation, Floats, Settings
from pliant.io.bones import Bones, find_bones
from pliant.io.gltf.actors import SkinBinding, make_actor
from pliant.io.gltf.buffers import Accessors
from pliant.io.gltf.clip_choice import choose_clips, clip_infos, frame_labels, sampling
from pliant.io.gltf.clips import read_clips
from pliant.io.gltf.document import Document, read_document
from pliant.io.gltf.meshes import MAX_VERTICES, GltfSurface, Skin, read_mesh, read_skin
from pliant.io.gltf.nodes import NodeTree
from pliant.io.gltf.poses import Poses
from pliant.io.limits import UniqueNames, file_errors, refuse

MAX_ACTORS = 10_000
IGNORED_EXTENSIONS = {"EXT_mesh_gpu_instancing": "instances are left out", "KHR_node_visibility": "nodes that are hidden are read as well"}


def read_gltf(path: Path, settings: Settings = DEFAULT_SETTINGS) -> Animation:
    """Read a .gltf or .glb file. `settings.clip` chooses among several clips; `settings.rate` is the number of samples per second."""
    rate = None if settings.rate is None else positive("rate", settings.rate)
    notes: list[str] = []
    with file_errors(path):
        document = read_document(path)
    clips = choose_clips(document, settings.clips, notes)
    with file_errors(path):
        return _read_animation(document, clips, rate, notes)


def _read_animation(document: Document, clips: list[int], wanted_rate: float | None, notes: list[str]) -> Animation:
    path, data, nodes = document.file, Accessors(document), NodeTree(document)
    mesh_nodes = MeshNodes(data, nodes, notes)
    clip = read_clips(data, clips, nodes.has_matrix, mesh_nodes.targets(), notes) if clips else None
    rate, baked = sampling(clip, wanted_rate)
    poses = Poses(nodes, clip, rate)
    actors = mesh_nodes.actors(poses)
    if not actors:
        raise refuse(path, "has no triangles in its scene")
    notes += _skipped_features(document)
    return Animation(path.stem, actors, poses.frames, rate, "y", "m", tuple(dict.fromkeys(notes)), tuple(data.files),
                     clips=clip_infos(data, clips), frame_labels=frame_labels(clip, rate, baked, poses.frames))  # fmt: skip


def _skipped_features(document: Document) -> list[str]:
    """What a file has and nobody reads."""
    used = {name for name in document.items("extensionsUsed") if isinstance(name, str)}
    found = [f"{name}: {what}" for name, what in IGNORED_EXTENSIONS.items() if name in used]
    if document.count("scenes") > 1:
        found.append(f"of {document.count('scenes')} scenes the default one is read")
    return found


class MeshNodes:
    """The nodes of the scene that have meshes, with what they share: every mesh and skin is read once."""

    def __init__(self, data: Accessors, nodes: NodeTree, notes: list[str]) -> None:
        self._data, self._notes, document = data, notes, data.document
        self._surfaces: dict[tuple[int, bool], GltfSurface | None] = {}
        self._skins: dict[int, Skin] = {}
        self._bindings: dict[tuple[int, int], SkinBinding] = {}
        self._mesh_nodes: list[tuple[int, GltfSurface, int, int | None]] = []  # node, surface, mesh, skin
        vertices = 0
        for node in nodes.scene_nodes(document):
            entry = document.get("nodes", node)
            mesh = document.index(entry, "mesh", "meshes")
            if mesh is None:
                continue
            skin = document.index(entry, "skin", "skins")
            surface = self._surface(mesh, skin is not None)
            if surface is None:
                continue
            self._mesh_nodes.append((node, surface, mesh, skin))
            vertices += len(surface.vertices)
            if len(self._mesh_nodes) > MAX_ACTORS or vertices > MAX_VERTICES:
                raise refuse(data.path,
                             f"{entry.name}: with it there are {len(self._mesh_nodes):,} nodes with {vertices:,} vertices; at most "
                                        f"{MAX_ACTORS:,} and {MAX_VERTICES:,} are read")  # fmt: skip

    def _surface(self, mesh: int, skinned: bool) -> GltfSurface | None:
        if (mesh, skinned) not in self._surfaces:
            self._surfaces[mesh, skinned] = read_mesh(self._data, mesh, skinned, self._notes)
        return self._surfaces[mesh, skinned]

    def _bind_skin(self, surface: GltfSurface, mesh: int, skin: int | None) -> SkinBinding | None:
        """How a mesh follows a skin; None where there is none."""
        if skin is None:
            return None
        if skin not in self._skins:
            self._skins[skin] = read_skin(self._data, skin)
        if (mesh, skin) not in self._bindings:
            idle = int((~surface.joint_weights.any(axis=1)).sum())
            if idle:
                self._notes.append(f"meshes[{mesh}]: {idle:,} vertices have no weights; they follow the first joint that they name")
            self._data.spend(2 * surface.joint_weights.size, f"meshes[{mesh}] with skins[{skin}]")
            try:
                weights = self._skins[skin].weights(surface)
                self._bindings[mesh, skin] = SkinBinding(self._skins[skin], weights, self._bones(surface, self._skins[skin]))
            except MeshError as error:
                raise refuse(self._data.path, f"meshes[{mesh}] with skins[{skin}]: {error}") from None
        return self._bindings[mesh, skin]

    def _bones(self, surface: GltfSurface, skin: Skin) -> Bones:
        """The bone of each face, by the names of the nodes that are joints."""
        names = [self._data.document.get("nodes", node).display_name() or f"node {node}" for node in skin.joints.tolist()]
        self._data.spend(len(surface.faces), "bones of faces")
        return find_bones(names, surface.faces.ravel(), np.full(len(surface.faces), 3), surface.joints, surface.joint_weights)

    def targets(self) -> dict[int, int]:
        """How many morph targets nodes have, where they have any."""
        return {node: len(surface.targets) for node, surface, *_ in self._mesh_nodes if surface.targets is not None}

    def actors(self, poses: Poses) -> list[Actor]:
        """All of them, each with a name of its own."""
        names, made = [self._node_name(node) for node, *_ in self._mesh_nodes], list[Actor]()
        unique_names = UniqueNames(names)
        for (node, surface, mesh, skin), name in zip(self._mesh_nodes, names, strict=True):
            weights, bound = self._weights(node, surface), self._bind_skin(surface, mesh, skin)
            made.append(make_actor(self._data.path, unique_names.assign(name), node, poses, surface, weights, bound))
            made[-1].source_name = name
            made[-1].take_materials(surface.materials, surface.material_of_face)
            if bound is not None:
                made[-1].take_bones(*bound.bones)
        return made

    def _weights(self, node: int, surface: GltfSurface) -> Floats:
        """(k,) weights of the morph targets of a node: its own, else those of the mesh."""
        if surface.targets is None:
            return np.zeros(0)
        return np.array(self._data.document.get("nodes", node).numbers("weights", len(surface.weights), surface.weights.tolist()))

    def _node_name(self, node: int) -> str:
        """The name of a node, else that of its mesh, else its number."""
        document = self._data.document
        entry = document.get("nodes", node)
        return entry.display_name() or document.get("meshes", entry.integer("mesh")).display_name() or f"node {node}"
