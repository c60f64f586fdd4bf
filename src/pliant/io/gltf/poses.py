"""Where the nodes of a glTF file are in a frame: their matrices in the world, worked out once for all actors, and weights of morph targets.

A thread keeps the frame that it asked for last, so that actors share it, and threads do not wait for each other.

Invariant: `stretch` bounds how far the matrix of a node is from rigid in any frame, times between frames included.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from pliant.io.animation import REST, Floats
from pliant.io.gltf.buffers import Flags, Indices
from pliant.io.gltf.clips import Clip
from pliant.io.gltf.nodes import NOT_RIGID, NodeTree, compose, stretch_bounds
from pliant.io.limits import refuse

MAX_FRAMES = 1_000_000
END_TOLERANCE = 1e-3  # of a frame: so much may be missing at the end of a clip, whose times are float32
RIGID_STRETCH = 4e-6  # a stretch that bodies accept as rigid: with exp(2 × RIGID_STRETCH) − 1 below the 1e-5 that they allow


class Poses:
    """All frames of a clip; of no clip, the one frame in which everything rests. `nodes` are taken over: held channels are their rest."""

    def __init__(self, nodes: NodeTree, clip: Clip | None, rate: float) -> None:
        self.nodes, self.rate, self._clip = nodes, rate, clip
        self._path = nodes.path
        self._tracks = clip.tracks if clip else []
        self._constant_weights = {node: value for node, path, value in clip.constants if path == "weights"} if clip else {}
        for node, path, value in clip.constants if clip else []:
            if path != "weights":
                getattr(nodes, path)[node] = value
        self.frames = self._frame_count(clip, rate)
        animated = self._animated()
        self.is_animated, self._animated_nodes = self._with_descendants(animated), np.flatnonzero(animated)
        self._levels = [some[self.is_animated[some]] for some in nodes.levels if self.is_animated[some].any()]
        at_rest = compose(nodes.translation, nodes.rotation, nodes.scale)
        self._local = np.where(nodes.has_matrix[:, None, None], nodes.matrix, at_rest)
        self._rest = self._to_world(self._local.copy(), nodes.levels)
        self.stretch = self._stretch()
        self._thread_local = threading.local()

    def _frame_count(self, clip: Clip | None, rate: float) -> int:
        length = (clip.end - clip.start) * rate if clip else 0.0
        if not length < MAX_FRAMES:
            raise refuse(self._path, f"its clip has more than {MAX_FRAMES:,} frames at {rate:g} a second")
        return math.floor(length + END_TOLERANCE) + 1

    def _animated(self) -> Flags:
        """(n,): nodes that tracks move."""
        found = np.zeros(len(self.nodes), bool)
        for track in self._tracks:
            found[track.nodes] = True
        return found

    def _with_descendants(self, found: Flags) -> Flags:
        """These nodes, and all that hang on them."""
        made = found.copy()
        if made.any():
            for some in self.nodes.levels[1:]:
                made[some] |= made[self.nodes.parents[some]]
        return made

    def _to_world(self, matrices: Floats, levels: list[Indices]) -> Floats:
        """Matrices in the world, from those at parents, for nodes of these levels; those of the others are in the world already."""
        parents = self.nodes.parents
        with np.errstate(over="ignore", invalid="ignore"):
            for nodes in levels:
                above = parents[nodes]
                if above[0] >= 0:  # all of a level or none
                    matrices[nodes] = matrices[above] @ matrices[nodes]
        bad = ~np.isfinite(matrices).all(axis=(1, 2))
        if bad.any():
            raise refuse(self._path, f"nodes[{int(bad.argmax())}]: its matrix in the world is beyond the largest numbers")
        matrices.flags.writeable = False
        return matrices

    def _stretch(self) -> Floats:
        """(n,): that of every node in the world, which is at most the sum of its own and of those above it. For |s − 1| <= ¼ the stretch of
        a scale s is at most 2 |s − 1|."""
        local = stretch_bounds(self._local)
        for track in self._tracks:
            if track.path == "scale":
                low, high = track.extremes()
                deviation = 2 * np.maximum(np.abs(low - 1), np.abs(high - 1)).max(axis=1)
                local[track.nodes] = np.where(deviation <= 0.5, deviation, NOT_RIGID)
        for nodes in self.nodes.levels[1:]:
            local[nodes] += local[self.nodes.parents[nodes]]
        return local

    def rigid(self, node: int) -> bool:
        """Is its matrix rigid in every frame, as bodies see it?"""
        return bool(self.stretch[node] <= RIGID_STRETCH)

    def time(self, frame: int) -> float:
        """Of a frame, in seconds."""
        return 0.0 if self._clip is None else min(self._clip.start + frame / self.rate, self._clip.end)

    def world(self, frame: int) -> Floats:
        """(n, 4, 4), read-only: the matrix of every node in the world; for REST without the tracks of the clip."""
        if not self._tracks or frame == REST:
            return self._rest
        cached: tuple[int, Floats] | None = getattr(self._thread_local, "last", None)
        if cached is None or cached[0] != frame:
            cached = self._thread_local.last = frame, self._world_matrices(self.time(frame))
        return cached[1]

    def _world_matrices(self, time: float) -> Floats:
        nodes = self._animated_nodes
        at = np.full(len(self.nodes), -1)
        at[nodes] = np.arange(len(nodes))
        parts = {path: getattr(self.nodes, path)[nodes] for path in ("translation", "rotation", "scale")}
        for track in self._tracks:
            parts[track.path][at[track.nodes]] = track.sample(time)
        made = np.where(self.is_animated[:, None, None], self._local, self._rest)
        made[nodes] = compose(**parts)
        return self._to_world(made, self._levels)

    def weights(self, node: int, frame: int) -> Floats | None:
        """(k,) weights of the morph targets of a node, where the clip says them; for REST it says none."""
        if self._clip is not None and node in self._clip.weights and frame != REST:
            now: Floats = self._clip.weights[node].sample(self.time(frame))[0]
            return now
        return self._constant_weights.get(node)

    def has_animated_weights(self, node: int) -> bool:
        """Do its weights change?"""
        return self._clip is not None and node in self._clip.weights
