"""The nodes of a glTF file: who hangs on whom, and where each is at rest (glTF 2.0, section 3.5).

Invariants: every node has one parent at most and hangs on a root; `levels` name all nodes, parents before children, so that nothing here
recurses; rotations are unit quaternions (x, y, z, w); matrices are affine, for columns of coordinates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.io.animation import Floats
from pliant.io.gltf.buffers import Indices
from pliant.io.gltf.document import Document
from pliant.io.limits import refuse

MAX_NODES = 150_000  # read in a few seconds, also if each hangs on another
AFFINE_TOLERANCE = 1e-5  # how far the last row of a matrix may be from 0 0 0 1
NOT_RIGID = np.inf  # stretch of a map that is no rotation at all


class NodeTree:
    """All nodes: `parents` (n,), −1 for none; `translation` (n, 3), `rotation` (n, 4), `scale` (n, 3) at rest; `matrix` (n, 4, 4), which
    stands for these where `fixed` (n,) says that the file has one."""

    def __init__(self, document: Document) -> None:
        count = document.count("nodes")
        if count > MAX_NODES:
            raise refuse(document.file, f"has {count:,} nodes, at most {MAX_NODES:,} are read")
        self.path = document.file
        self.children: list[list[int]] = []
        self.translation, self.rotation, self.scale = np.zeros((count, 3)), np.tile((0.0, 0.0, 0.0, 1.0), (count, 1)), np.ones((count, 3))
        self.matrix, self.has_matrix = np.tile(np.eye(4), (count, 1, 1)), np.zeros(count, bool)
        parents = [-1] * count
        for node in range(count):
            self._read(document, node, parents)
        self.parents: Indices = np.array(parents, np.int64)
        self.levels = self._levels()

    def __len__(self) -> int:
        return len(self.parents)

    def _read(self, document: Document, node: int, parents: list[int]) -> None:
        entry = document.get("nodes", node)
        self.children.append(document.indices(entry, "children", "nodes") if "children" in entry else [])
        for child in self.children[-1]:
            if parents[child] >= 0:
                raise entry.refuse("children", f"nodes[{child}] hangs on nodes[{parents[child]}] already")
            parents[child] = node
        if "matrix" in entry:
            matrix = np.array(entry.numbers("matrix", 16)).reshape(4, 4).T
            if not (np.abs(matrix[3] - (0, 0, 0, 1)) <= AFFINE_TOLERANCE).all():
                raise entry.refuse("matrix", f"its last row is {matrix[3].tolist()}, expected 0 0 0 1")
            self.matrix[node, :3], self.has_matrix[node] = matrix[:3], True
            return
        for key, rows in (("translation", self.translation), ("rotation", self.rotation), ("scale", self.scale)):
            if key in entry:
                rows[node] = entry.numbers(key, rows.shape[1])
        if "rotation" in entry:
            self.rotation[node] = normalize(self.rotation[node])
            if not self.rotation[node].any():
                raise entry.refuse("rotation", "is 0 0 0 0, which is no rotation")

    def _levels(self) -> list[Indices]:
        """Nodes by the number of those above them: the roots first."""
        level, levels, visited = np.flatnonzero(self.parents < 0).tolist(), [], 0
        while level:
            levels.append(np.array(level, np.int64))
            visited += len(level)
            level = [child for node in level for child in self.children[node]]
        if visited < len(self):
            reached = np.zeros(len(self), bool)
            reached[np.concatenate([*levels, np.zeros(0, np.int64)])] = True
            raise refuse(self.path, f"nodes[{int((~reached).argmax())}].children: hangs on itself, by way of others")
        return levels

    def scene_nodes(self, document: Document) -> list[int]:
        """All nodes of the scene, parents before children: the default one, else the first, else everything."""
        if not document.count("scenes"):
            roots = np.flatnonzero(self.parents < 0).tolist()
        else:
            scene = document.get("scenes", document.index(document, "scene", "scenes") or 0)
            roots = list(dict.fromkeys(document.indices(scene, "nodes", "nodes")))
            for number, root in enumerate(roots):
                if self.parents[root] >= 0:
                    raise scene.refuse(f"nodes[{number}]", f"nodes[{root}] hangs on nodes[{self.parents[root]}], expected a root")
        found, stack = [], roots[::-1]
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(self.children[node][::-1])
        return found


def normalize(quaternions: Floats) -> Floats:
    """Quaternions (…, 4) of length 1; zeros where they have none."""
    largest = np.abs(quaternions).max(axis=-1, keepdims=True)  # first: squares of large ones do not fit
    scaled = quaternions / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True))
    made: Floats = scaled / np.where(lengths > 0, lengths, 1.0)
    return made


def compose(translation: Floats, rotation: Floats, scale: Floats) -> Floats:
    """(n, 4, 4): matrices T R S of translations (n, 3), unit quaternions (n, 4) and scales (n, 3)."""
    x, y, z, w = rotation.T
    made = np.zeros((len(rotation), 4, 4))
    made[:, 0, 0], made[:, 0, 1], made[:, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    made[:, 1, 0], made[:, 1, 1], made[:, 1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    made[:, 2, 0], made[:, 2, 1], made[:, 2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    made[:, :3, :3] *= scale[:, None, :]
    made[:, :3, 3], made[:, 3, 3] = translation, 1.0
    return made


def stretch_bounds(matrices: Floats) -> Floats:
    """(n,): how far affine maps (n, 4, 4) are from rigid ones, as a bound of |log σ| for all their factors σ of lengths; infinite for
    mirrors. M = R + small: |σ² − 1| <= f, the Frobenius norm of MᵀM − I, and so |log σ| <= f for f <= ½."""
    linear = matrices[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.sqrt(((np.swapaxes(linear, 1, 2) @ linear - np.eye(3)) ** 2).sum(axis=(1, 2)))
        proper = np.einsum("ni,ni->n", linear[:, :, 0], np.cross(linear[:, :, 1], linear[:, :, 2])) > 0
    made: NDArray[np.float64] = np.where((error <= 0.5) & proper, error, NOT_RIGID)
    return made
