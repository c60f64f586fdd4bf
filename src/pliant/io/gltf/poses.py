"""Where the nodes of a glTF file are in a frame: their matrices in the world, worked out once for all actors, and weights of morph targets.

A thread keeps the frame that it asked for last, so that actors share it, and threads do not wait for each other.

Invariant: `stretch` bounds how far the matrix of a node is from rigid in any frame, times between frames included.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from pliant.io.animation import Floats
from pliant.io.gltf.buffers import Flags, Indices
from pliant.io.gltf.clips import Clip
from pliant.io.gltf.nodes import FAR, Nodes, composed, stretch_of
from pliant.io.limits import refuse

MOST_FRAMES = 1_000_000
ROUNDED = 1e-3  # of a frame: so much may be missing at the end of a clip, whose times are float32
RIGID = 4e-6  # a stretch that bodies accept as rigid: with exp(2 × RIGID) − 1 below the 1e-5 that they allow


class Poses:
    """All frames of a clip; of no clip, the one frame in which everything rests. `nodes` are taken over: held channels are their rest."""

    def __init__(self, nodes: Nodes, clip: Clip | None, rate: float) -> None:
        self.nodes, self.rate, self._clip = nodes, rate, clip
        self._path = nodes.path
        self._tracks = clip.tracks if clip else []
        self._held = {node: value for node, path, value in clip.held if path == "weights"} if clip else {}
        for node, path, value in clip.held if clip else []:
            if path != "weights":
                getattr(nodes, path)[node] = value
        self.frames = self._count(clip, rate)
        animated = self._animated()
        self.moving, self._animated_nodes = self._below(animated), np.flatnonzero(animated)
        self._levels = [some[self.moving[some]] for some in nodes.levels if self.moving[some].any()]
        at_rest = composed(nodes.translation, nodes.rotation, nodes.scale)
        self._local = np.where(nodes.fixed[:, None, None], nodes.matrix, at_rest)
        self._rest = self._placed(self._local.copy(), nodes.levels)
        self.stretch = self._stretch()
        self._kept = threading.local()

    def _count(self, clip: Clip | None, rate: float) -> int:
        length = (clip.end - clip.start) * rate if clip else 0.0
        if not length < MOST_FRAMES:
            raise refuse(self._path, f"its clip has more than {MOST_FRAMES:,} frames at {rate:g} a second")
        return math.floor(length + ROUNDED) + 1

    def _animated(self) -> Flags:
        """(n,): nodes that tracks move."""
        found = np.zeros(len(self.nodes), bool)
        for track in self._tracks:
            found[track.nodes] = True
        return found

    def _below(self, found: Flags) -> Flags:
        """These nodes, and all that hang on them."""
        made = found.copy()
        if made.any():
            for some in self.nodes.levels[1:]:
                made[some] |= made[self.nodes.parents[some]]
        return made

    def _placed(self, matrices: Floats, levels: list[Indices]) -> Floats:
        """Matrices in the world, from those at parents, for nodes of these levels; those of the others are in the world already."""
        parents = self.nodes.parents
        with np.errstate(over="ignore", invalid="ignore"):
            for some in levels:
                above = parents[some]
                if above[0] >= 0:  # all of a level or none
                    matrices[some] = matrices[above] @ matrices[some]
        bad = ~np.isfinite(matrices).all(axis=(1, 2))
        if bad.any():
            raise refuse(self._path, f"nodes[{int(bad.argmax())}]: its matrix in the world is beyond the largest numbers")
        matrices.flags.writeable = False
        return matrices

    def _stretch(self) -> Floats:
        """(n,): that of every node in the world, which is at most the sum of its own and of those above it. For |s − 1| <= ¼ the stretch of
        a scale s is at most 2 |s − 1|."""
        local = stretch_of(self._local)
        for track in self._tracks:
            if track.path == "scale":
                low, high = track.extremes()
                off = 2 * np.maximum(np.abs(low - 1), np.abs(high - 1)).max(axis=1)
                local[track.nodes] = np.where(off <= 0.5, off, FAR)
        for some in self.nodes.levels[1:]:
            local[some] += local[self.nodes.parents[some]]
        return local

    def rigid(self, node: int) -> bool:
        """Is its matrix rigid in every frame, as bodies see it?"""
        return bool(self.stretch[node] <= RIGID)

    def time(self, frame: int) -> float:
        """Of a frame, in seconds."""
        return 0.0 if self._clip is None else min(self._clip.start + frame / self.rate, self._clip.end)

    def world(self, frame: int) -> Floats:
        """(n, 4, 4), read-only: the matrix of every node in the world."""
        if not self._tracks:
            return self._rest
        kept: tuple[int, Floats] | None = getattr(self._kept, "last", None)
        if kept is None or kept[0] != frame:
            kept = self._kept.last = frame, self._worked_out(self.time(frame))
        return kept[1]

    def _worked_out(self, time: float) -> Floats:
        some = self._animated_nodes
        at = np.full(len(self.nodes), -1)
        at[some] = np.arange(len(some))
        parts = {path: getattr(self.nodes, path)[some] for path in ("translation", "rotation", "scale")}
        for track in self._tracks:
            parts[track.path][at[track.nodes]] = track.at(time)
        made = np.where(self.moving[:, None, None], self._local, self._rest)
        made[some] = composed(**parts)
        return self._placed(made, self._levels)

    def weights(self, node: int, frame: int) -> Floats | None:
        """(k,) weights of the morph targets of a node, where the clip says them."""
        if self._clip is not None and node in self._clip.weights:
            now: Floats = self._clip.weights[node].at(self.time(frame))[0]
            return now
        return self._held.get(node)

    def morphs(self, node: int) -> bool:
        """Do its weights change?"""
        return self._clip is not None and node in self._clip.weights
