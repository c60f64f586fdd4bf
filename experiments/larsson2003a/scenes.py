"""The scenes of paper B (thesis 6.4): two morphing bodies that pass through each other, and twelve swimmers in a close group.

Frames are MORPHED: weights of the targets, and a rigid transform, of each body. Methods without morphing get the blended vertices, equal to
the bit to those of a morphing body.

The paper shows its bodies in pictures. Its text fixes the rest: three targets, two of them active, 400 steps; the first contact of the two
bodies at step 41, the last at 364; swimmers of 564, 2,256, 9,024 and 36,096 triangles of the same shape that roll, and intersect without
deep interpenetration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from experiments.larsson2001.scenes import Faces, Rows, placed, pose, rotation, unit
from experiments.larsson2003a.swimmer import swimmer
from pliant import shapes
from pliant.motion.morph import Morph

# Two bodies: times of the bumps and lengths of the axes, in each target.
TIMES = (0.0, 1.3, 2.9)
LENGTHS = ((1.0, 1.0, 1.0), (1.4, 0.8, 0.9), (0.7, 1.2, 1.3))
TURNS = {-1: (0.31, 0.25, -0.92), 1: (-0.32, 0.21, 0.92)}  # axes of rotation of the two bodies: no two edges of boxes stay parallel
START, END = 1.35, 1.22  # distance from the origin, at the first and the last step

# Swimmers: columns, rows and layers of the group and their spacing; how far a swimmer strays from its position; strokes of the tail
# and rotations about its axis in all frames; how far it swims in them.
GROUP, SPACING, STRAY = (2, 3, 2), (2.2, 0.56, 0.52), (0.25, 0.05, 0.05)
STROKES, ROLLS, WAY = (4.0, 6.0), (0.4, 1.0), 12.0
STRAIGHT = 1  # the target in which the swimmer is straight


class Morphed(NamedTuple):
    """Weights (bodies, k) of the targets of a motion that all bodies share, and the rigid transforms (bodies, 4, 4)."""

    motion: Any
    weights: Rows
    poses: Rows

    def blend(self, clock: Callable[[], float] = time.perf_counter) -> tuple[list[Rows], float]:
        """The blended vertices (n, 3) of each body, and the seconds of blending into allocated memory."""
        made, seconds = [], 0.0
        for weights in self.weights:
            self.motion.update(weights)
            start = clock()
            self.motion.complete()
            seconds += clock() - start
            made.append(self.motion.flat.reshape(-1, 3).copy())
        return made, seconds

    @property
    def model(self) -> list[Rows]:
        """The blended vertices of each body."""
        return self.blend()[0]

    def world(self) -> list[Rows]:
        """The transformed vertices, equal to the bit to `Body.vertices` with that transform."""
        return [placed(vertices, at) for vertices, at in zip(self.model, self.poses, strict=True)]


class Morphing:
    """A scene of bodies with the same faces (m, 3) and targets (k, n, 3); BVHs are built on target `rest`."""

    rest = 0

    def __init__(self, targets: Rows, faces: Faces, frames: int) -> None:
        self.targets, self.faces, self.frames = targets, faces, frames

    @cached_property
    def motion(self) -> Any:
        """The morph that blends the targets."""
        return Morph(self.targets, False, None)

    def play(self) -> Iterator[Morphed]:
        """All frames in order."""
        return (self.frame(k) for k in range(self.frames))

    def frame(self, k: int) -> Morphed:
        """Frame k (0 … frames - 1)."""
        raise NotImplementedError

    def start(self) -> Morphed:
        """The first frame, with all bodies in the shape that BVHs are built on."""
        first = self.frame(0)
        return first._replace(weights=np.tile(np.eye(len(self.targets))[self.rest], (len(first.weights), 1)))

    def deep(self) -> Morphed:
        """A frame in which all bodies intersect."""
        middle = self.frame(self.frames // 2)
        poses = middle.poses.copy()
        poses[:, :3, 3] = poses[:, :3, 3].mean(axis=0) + 0.4 * (poses[:, :3, 3] - poses[:, :3, 3].mean(axis=0))
        return middle._replace(poses=poses)


class Passing(Morphing):
    """Two bodies that pass through each other, from the first target to the second and on to the third; made by `passing`."""

    def frame(self, k: int) -> Morphed:
        """Frame k (0 … frames - 1)."""
        weights, poses = moment(k, self.frames)
        return Morphed(self.motion, np.stack([weights, weights]), poses)


class Swimmers(Morphing):
    """Swimmers in a close group that beat their tails and roll; made by `swimmers`."""

    rest = STRAIGHT

    def __init__(self, bodies: int, targets: Rows, faces: Faces, frames: int) -> None:
        super().__init__(targets, faces, frames)
        self.bodies = bodies

    def frame(self, k: int) -> Morphed:
        """Frame k (0 … frames - 1)."""
        passed, weights, poses = k / max(self.frames - 1, 1), [], []
        for body in range(self.bodies):
            rng = np.random.default_rng([68, body])
            column, row, file = np.unravel_index(body % int(np.prod(GROUP)), GROUP)
            place: Rows = np.array(SPACING) * (column + 0.5 * (row % 2), row + 0.5 * (file % 2), file)
            phases, speeds = rng.uniform(0, 2 * np.pi, (2, 3)), rng.uniform(1.0, 2.5, 3)
            place += np.array(STRAY) * np.sin(2 * np.pi * speeds * passed + phases[0]) + [WAY * passed, 0, 0]
            weights.append(chain(1 + np.sin(2 * np.pi * rng.uniform(*STROKES) * passed + phases[1, 0])))
            roll = phases[1, 1] + rng.choice([-1, 1]) * 2 * np.pi * rng.uniform(*ROLLS) * passed
            turn = rotation(unit(0, 0, 1), 0.10 * np.sin(2 * np.pi * passed + phases[1, 2])) @ rotation(unit(1, 0, 0), roll)
            poses.append(pose(turn, place))
        return Morphed(self.motion, np.stack(weights), np.stack(poses))


def chain(way: float) -> Rows:
    """Weights (3,) between the first target (0), the second (1) and the third (2): never more than two are active."""
    return np.array([np.interp(way, [0, 1, 2], row) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1])])


def moment(k: int, frames: int) -> tuple[Rows, Rows]:
    """Weights (3,) of both bodies of Fig 6.5 at frame k of so many, and their transforms (2, 4, 4)."""
    way = 2 * k / max(frames - 1, 1)
    far = (START if way < 1 else END) * (1 - way)
    poses = [pose(rotation(unit(*axis), 0.5 * way), np.array([side * far, 0.1 * side, 0.05])) for side, axis in TURNS.items()]
    return chain(way), np.stack(poses)


def passing(faces: int, frames: int) -> Passing:
    """The scene of Fig 6.5, with bodies of 20 · 4^k triangles, 320 or more."""
    scene = shapes.bumpy_pair(faces, 2)
    targets = [shapes.bumpy(scene.directions, moment) * np.array(lengths) for moment, lengths in zip(TIMES, LENGTHS, strict=True)]
    return Passing(np.stack(targets), scene.faces, frames)


def swimmers(bodies: int, faces: int, frames: int) -> Swimmers:
    """The scene of Fig 6.8, with bodies of 564 · 4^k triangles."""
    return Swimmers(bodies, *swimmer(faces), frames)
