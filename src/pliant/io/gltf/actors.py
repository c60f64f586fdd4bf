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
from pliant.io.animation import Actor, Floats, Frames, Moved
from pliant.io.gltf.meshes import Skin, Surface
from pliant.io.gltf.poses import Poses
from pliant.io.limits import refuse


class Bound(NamedTuple):
    """A skin and the weights (n, m), sparse, by which a surface follows it."""

    skin: Skin
    weights: Any


class Posed(Moved):
    """An actor that the matrix of a node, weights or joints move."""

    def __init__(self, path: Path, name: str, node: int, poses: Poses, moves: bool) -> None:
        super().__init__(path, name, poses.frames if moves else 1)
        self._node, self._poses = node, poses


class Rigid(Posed):
    """Vertices that the matrix of a node places; that stay where they are, if `baked`."""

    kind = "rigid"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: Surface, baked: bool) -> None:
        super().__init__(path, name, node, poses, bool(poses.moving[node]))
        self._baked, self._surface = baked, surface

    def _made(self, **options: Any) -> Body:
        vertices = self._surface.vertices
        return Body.rigid(carried(self._poses.world(0)[self._node], vertices) if self._baked else vertices, self._surface.faces, **options)

    def _move(self, body: Body, frame: int) -> None:
        if not self._baked:
            body.update(self._poses.world(frame)[self._node])


class Stretched(Posed):
    """Vertices that one affine map carries: that of a node."""

    kind = "blended"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: Surface) -> None:
        super().__init__(path, name, node, poses, True)
        self._surface = surface

    def _made(self, **options: Any) -> Body:
        vertices, faces, *_ = self._surface
        return Body.blended(vertices, faces, np.ones((len(vertices), 1)), **options)

    def _move(self, body: Body, frame: int) -> None:
        body.update(self._poses.world(frame)[self._node][None])


class Skinned(Posed):
    """Vertices at rest that follow joints."""

    kind = "blended"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: Surface, weights: Floats, bound: Bound) -> None:
        super().__init__(path, name, node, poses, bool(poses.moving[bound.skin.joints].any()))
        self._surface, self._weights, self._bound = surface, weights, bound

    def _made(self, **options: Any) -> Body:
        return Body.blended(morphed(self._surface, self._weights), self._surface.faces, self._bound.weights, **options)

    def _move(self, body: Body, frame: int) -> None:
        body.update(self._bound.skin.maps(self._poses.world(frame)))


class Morphing(Posed):
    """A base and displacements; the matrix of the node places them, or has been applied to both, if `baked`."""

    kind = "morph"

    def __init__(self, path: Path, name: str, node: int, poses: Poses, surface: Surface, weights: Floats, baked: bool) -> None:
        super().__init__(path, name, node, poses, bool(poses.moving[node]) or poses.morphs(node))
        self._baked, self._weights, self._surface = baked, weights, surface

    def _made(self, **options: Any) -> Body:
        base, faces, targets, *_ = self._surface
        if self._baked and targets is not None:
            matrix = self._poses.world(0)[self._node]
            base = carried(matrix, base)
            with np.errstate(over="ignore", invalid="ignore"):
                targets = targets @ matrix[:3, :3].T
        return Body.morph(targets, faces, base=base, relative=True, **options)

    def _move(self, body: Body, frame: int) -> None:
        weights = self._poses.weights(self._node, frame)
        matrix = None if self._baked else self._poses.world(frame)[self._node]
        body.update(self._weights if weights is None else weights, transform=matrix)


def carried(matrix: Floats, vertices: Floats) -> Floats:
    """Vertices (n, 3) where a matrix (4, 4) puts them; bodies refuse those that are beyond the largest numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        made: Floats = vertices @ matrix[:3, :3].T + matrix[:3, 3]
    return made


def turned(surface: Surface, matrix: Floats) -> Surface:
    """The surface with its faces the other way round, a view of them, if a matrix (4, 4) mirrors."""
    with np.errstate(all="ignore"):
        mirrors = np.linalg.slogdet(matrix[:3, :3])[0] < 0
    return surface._replace(faces=surface.faces[:, ::-1]) if mirrors else surface


def morphed(surface: Surface, weights: Floats) -> Floats:
    """(n, 3): base + Σ w_i d_i."""
    with np.errstate(over="ignore", invalid="ignore"):
        made: Floats = surface.vertices if surface.targets is None else surface.vertices + np.tensordot(weights, surface.targets, 1)
    return made


def actor_of(path: Path, name: str, node: int, poses: Poses, surface: Surface, weights: Floats, bound: Bound | None) -> Actor:
    """The actor of a node. `weights` (k,) are those of its morph targets where the clip says nothing of them."""
    held = poses.weights(node, 0) if not poses.morphs(node) else None
    weights = weights if held is None else held
    if bound is not None:
        return _skinned(path, name, node, poses, surface, weights, bound)
    rigid, moving, surface = poses.rigid(node), bool(poses.moving[node]), turned(surface, poses.world(0)[node])
    if surface.targets is not None:
        if rigid or not moving:
            return Morphing(path, name, node, poses, surface, weights, not rigid)
        return _worked_out(path, name, poses, surface,
                           lambda frame: carried(poses.world(frame)[node], _at(poses, node, frame, surface, weights)))  # fmt: skip
    return Rigid(path, name, node, poses, surface, not rigid) if rigid or not moving else Stretched(path, name, node, poses, surface)


def _skinned(path: Path, name: str, node: int, poses: Poses, surface: Surface, weights: Floats, bound: Bound) -> Actor:
    if not poses.morphs(node):
        return Skinned(path, name, node, poses, surface, weights, bound)

    def vertices(frame: int) -> Floats:
        maps = bound.skin.maps(poses.world(frame))
        with np.errstate(over="ignore", invalid="ignore"):
            each = (bound.weights @ maps.reshape(-1, 12)).reshape(-1, 3, 4)
            made: Floats = np.einsum("nij,nj->ni", each[:, :, :3], _at(poses, node, frame, surface, weights)) + each[:, :, 3]
        return made

    return _worked_out(path, name, poses, surface, vertices)


def _at(poses: Poses, node: int, frame: int, surface: Surface, weights: Floats) -> Floats:
    """The surface as its morph targets shape it in a frame."""
    now = poses.weights(node, frame)
    return morphed(surface, weights if now is None else now)


def _worked_out(path: Path, name: str, poses: Poses, surface: Surface, vertices: Any) -> Frames:
    """A free actor whose vertices are a function of the frame."""

    def read(frame: int) -> tuple[Floats, Any]:
        try:
            rows = vertices(frame)
        except MeshError as error:
            raise refuse(path, f"{name}, frame {frame}: {error}") from None
        if not np.isfinite(rows).all():
            raise refuse(path, f"{name}, frame {frame}: vertices are beyond the largest numbers")
        return rows, surface.faces

    return Frames(name, poses.frames, read)
