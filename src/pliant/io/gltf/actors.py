"""Actors of a glTF file: a node with a mesh, as the body whose bounds are the best for how it moves.

    rigid       its matrix in the world is rigid in every frame, or never changes
    blended     it has a skin: Σ w_j W_j B_j v; or one matrix that scales or shears, and changes
    morph       it has morph targets: base + Σ w_i d_i, placed by a rigid matrix or by one that never changes
    free        both at once, or morph targets under a matrix that scales and changes: vertices are worked out in every frame

Where the matrix of a node mirrors (its determinant is negative), faces turn the other way round (section 3.7.4), so that outside stays
outside. Faces of a body do not change: one that is mirrored from some frame on keeps those of the first.

A skin ignores the matrix of its node (glTF 2.0, section 3.7.3.3). Morph targets apply before it (section 3.7.2.2); where their weights
never change, to the surface at rest, once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.body import Body
from pliant.errors import MeshError
from pliant.io.animation import Actor, Floats, FrameActor, MovingActor
from pliant.io.bones import Bones
from pliant.io.gltf.meshes import GltfSurface, Skin
from pliant.io.gltf.poses import Poses
from pliant.io.limits import refuse
from pliant.welding import WeldMap, make_weld_map


class SkinBinding(NamedTuple):
    """A skin, the weights (n, m), sparse, by which a surface follows it, and the bone of each face."""

    skin: Skin
    weights: Any
    bones: Bones


class NodeActor(MovingActor):
    """An actor that the matrix of a node, weights or joints move."""

    has_rest = True

    def __init__(self, path: Path, name: str, node: int, poses: Poses, moves: bool) -> None:
        super().__init__(path, name, poses.frames if moves else 1)
        self._node, self._poses = node, poses


class RigidActor(NodeActor):
    """Vertices that the matrix of a node places; that stay where they are, if `baked`."""

    kind = "rigid"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: GltfSurface, baked: bool) -> None:
        super().__init__(path, name, node, poses, bool(poses.is_animated[node]))
        self._baked, self._surface = baked, surface

    def _make_body(self, **options: Any) -> Body:
        vertices = self._surface.vertices
        return Body.rigid(transform_points(self._poses.world(0)[self._node], vertices) if self._baked else vertices, self._surface.faces,
                          **options)

    def _move(self, body: Body, frame: int) -> None:
        if not self._baked:
            body.update(self._poses.world(frame)[self._node])


class AffineActor(NodeActor):
    """Vertices that one affine map carries: that of a node."""

    kind = "blended"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: GltfSurface) -> None:
        super().__init__(path, name, node, poses, True)
        self._surface = surface

    def _make_body(self, **options: Any) -> Body:
        vertices, faces, *_ = self._surface
        return Body.blended(vertices, faces, np.ones((len(vertices), 1)), **options)

    def _move(self, body: Body, frame: int) -> None:
        body.update(self._poses.world(frame)[self._node][None])


class SkinnedActor(NodeActor):
    """Vertices at rest that follow joints."""

    kind = "blended"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: GltfSurface, weights: Floats, bound: SkinBinding) -> None:
        super().__init__(path, name, node, poses, bool(poses.is_animated[bound.skin.joints].any()))
        self._surface, self._weights, self._bound = surface, weights, bound

    def _make_body(self, **options: Any) -> Body:
        return Body.blended(morph_vertices(self._surface, self._weights), self._surface.faces, self._bound.weights, **options)

    def _move(self, body: Body, frame: int) -> None:
        body.update(self._bound.skin.maps(self._poses.world(frame)))


class MorphActor(NodeActor):
    """A base and displacements; the matrix of the node places them, or has been applied to both, if `baked`."""

    kind = "morph"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: GltfSurface, weights: Floats, baked: bool) -> None:
        super().__init__(path, name, node, poses, bool(poses.is_animated[node]) or poses.has_animated_weights(node))
        self._baked, self._weights, self._surface = baked, weights, surface

    def _make_body(self, **options: Any) -> Body:
        base, faces, targets, *_ = self._surface
        if self._baked and targets is not None:
            matrix = self._poses.world(0)[self._node]
            base = transform_points(matrix, base)
            with np.errstate(over="ignore", invalid="ignore"):
                targets = targets @ matrix[:3, :3].T
        assert targets is not None                                      # a surface that morphs has targets
        return Body.morph(targets, faces, base=base, relative=True, **options)

    def _move(self, body: Body, frame: int) -> None:
        weights = self._poses.weights(self._node, frame)
        matrix = None if self._baked else self._poses.world(frame)[self._node]
        body.update(self._weights if weights is None else weights, transform=matrix)


def transform_points(matrix: Floats, vertices: Floats) -> Floats:
    """Vertices (n, 3) where a matrix (4, 4) puts them; bodies refuse those that are beyond the largest numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        made: Floats = vertices @ matrix[:3, :3].T + matrix[:3, 3]
    return made


def orient_faces(surface: GltfSurface, matrix: Floats) -> GltfSurface:
    """The surface with its faces the other way round, a view of them, if a matrix (4, 4) mirrors."""
    with np.errstate(all="ignore"):
        mirrors = np.linalg.slogdet(matrix[:3, :3])[0] < 0
    return surface._replace(faces=surface.faces[:, ::-1]) if mirrors else surface


def morph_vertices(surface: GltfSurface, weights: Floats) -> Floats:
    """(n, 3): base + Σ w_i d_i."""
    with np.errstate(over="ignore", invalid="ignore"):
        made: Floats = surface.vertices if surface.targets is None else surface.vertices + np.tensordot(weights, surface.targets, 1)
    return made


def make_actor(path: Path, name: str, node: int, poses: Poses, surface: GltfSurface, weights: Floats, bound: SkinBinding | None) -> Actor:
    """The actor of a node. `weights` (k,) are those of its morph targets where the clip says nothing of them."""
    constant = poses.weights(node, 0) if not poses.has_animated_weights(node) else None
    weights = weights if constant is None else constant
    if bound is not None:
        return _skinned_actor(path, name, node, poses, surface, weights, bound)
    rigid, moving, surface = poses.rigid(node), bool(poses.is_animated[node]), orient_faces(surface, poses.world(0)[node])
    if surface.targets is not None:
        if rigid or not moving:
            return MorphActor(path, name, node, poses, surface, weights, not rigid)
        return _free_actor(path, name, poses, surface, None,
                           lambda frame: transform_points(poses.world(frame)[node],
                                                          _morph_at(poses, node, frame, surface, weights)))  # fmt: skip
    return RigidActor(path, name, node, poses, surface, not rigid) if rigid or not moving else AffineActor(path, name, node, poses, surface)


def _skinned_actor(path: Path, name: str, node: int, poses: Poses, surface: GltfSurface, weights: Floats, bound: SkinBinding) -> Actor:
    if not poses.has_animated_weights(node):
        return SkinnedActor(path, name, node, poses, surface, weights, bound)

    def vertices(frame: int) -> Floats:
        maps = bound.skin.maps(poses.world(frame))
        with np.errstate(over="ignore", invalid="ignore"):
            each = (bound.weights @ maps.reshape(-1, 12)).reshape(-1, 3, 4)
            made: Floats = np.einsum("nij,nj->ni", each[:, :, :3], _morph_at(poses, node, frame, surface, weights)) + each[:, :, 3]
        return made

    return _free_actor(path, name, poses, surface, bound, vertices)


def _morph_at(poses: Poses, node: int, frame: int, surface: GltfSurface, weights: Floats) -> Floats:
    """The surface as its morph targets shape it in a frame."""
    now = poses.weights(node, frame)
    return morph_vertices(surface, weights if now is None else now)


def _free_actor(path: Path, name: str, poses: Poses, surface: GltfSurface, bound: SkinBinding | None, vertices: Any) -> FrameActor:
    """A free actor whose vertices are a function of the frame. Those with the same targets and weights stay together."""

    def read(frame: int) -> tuple[Floats, Any]:
        try:
            rows = vertices(frame)
        except MeshError as error:
            raise refuse(path, f"{name}, frame {frame}: {error}") from None
        if not np.isfinite(rows).all():
            raise refuse(path, f"{name}, frame {frame}: vertices are beyond the largest numbers")
        return rows, surface.faces

    def welds(tolerance: float) -> WeldMap:
        skin = None if bound is None else (bound.weights.indptr, bound.weights.indices, bound.weights.data)
        shapes = [surface.vertices, *(() if surface.targets is None else surface.targets)]
        made = make_weld_map(tolerance, shapes, len(surface.vertices), skin)
        assert made is not None
        return made

    return FrameActor(name, poses.frames, read, welds=welds, has_rest=True)
