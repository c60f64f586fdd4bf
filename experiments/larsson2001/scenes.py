"""The scenes of paper A (thesis 5.4): two bumpy spheres pushed into each other, and many bodies that bounce off each other in a box.

A scene yields FRAMES: the vertices of each body in its own model space, and its rigid transform. Methods with volumes in world space get
the transformed vertices, the others vertices and transforms: the same positions to the bit, so all must find the same pairs.

The paper says little about its bodies. Its results fix the rest: the first contact at step 60 of 200, 3,760 pairs of faces in the last
step, and pairs in proportion to faces. Two smooth surfaces intersect in curves, and their pairs would grow with the square root of faces;
so the bumps here become smaller with the faces: they are about four edges long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant import shapes
from pliant.motion.rigid import transform_vertices

Rows = NDArray[np.float64]
Faces = NDArray[np.int32]

# Two spheres: distances of the centres at the first and the last step; height of bumps; waves are `PITCH` times as short as those of
# `shapes.bumpy` at STANDARD faces.
START, END, AMPLITUDE, PITCH, STANDARD = 2.76, 0.38, 0.10, 4.5, 20_480
DURATION = 4.0  # of the push, in units of time of `shapes.bumpy`

# Many bodies: space per body at the start, and later in the box that confines centres; speed in units per step of FLIGHT, where bodies
# have a radius of about 1; speed that bodies in contact gain in a step, as a share; share of the approach speed left after an impact.
SPACING = {"bumpy": (2.5, 1.7), "arms": (2.9, 1.8)}
CRUISE, PUSH, BOUNCE, DAMPING = 0.045, 0.05, 0.3, 0.05
FLIGHT = 200  # steps in which bodies deform for DURATION · 2 and fly FLIGHT · CRUISE; fewer frames make longer steps


class Frame(NamedTuple):
    """Vertices (n, 3) of each body in model space, and the rigid transforms (bodies, 4, 4)."""

    model: list[Rows]
    poses: Rows
    weights: None = None  # there is nothing to blend

    def blend(self, clock: Callable[[], float] = time.perf_counter) -> tuple[list[Rows], float]:
        """The vertices of each body, and the seconds of blending: none."""
        return self.model, 0.0

    def world(self) -> list[Rows]:
        """The transformed vertices, equal to the bit to `Body.vertices` with that transform."""
        return [placed(vertices, pose) for vertices, pose in zip(self.model, self.poses, strict=True)]


class Scene(Protocol):
    """Bodies with the same faces that move for a number of frames, each a `Frame` or, for morphing bodies, a `Morphed`."""

    @property
    def faces(self) -> Faces:
        """(m, 3), the same for all bodies."""

    @property
    def frames(self) -> int:
        """The number of bodies."""

    def play(self) -> Iterator[Any]:
        """All frames in order."""

    def start(self) -> Any:
        """The frame in which BVHs are built."""

    def deep(self) -> Any:
        """A frame in which all bodies intersect, to warm up."""


def placed(vertices: Rows, pose: Rows) -> Rows:
    """Vertices (n, 3) after a rigid transform (4, 4)."""
    out = np.empty_like(vertices)
    transform_vertices(np.ascontiguousarray(pose[:3]).reshape(-1), vertices.reshape(-1), out.reshape(-1))
    return out


# --- spheres of any of the paper's sizes ---------------------------------------------------------------------------------------


def sphere(faces: int) -> tuple[Rows, Faces]:
    """A unit sphere of exactly 20 · 4^k or 8 · 2^k faces, which come in a fixed shuffled order: (n, 3) and (faces, 3)."""
    fourths, halves = np.log2(faces / 20) / 2, np.log2(faces / 8)
    if fourths == int(fourths) and fourths >= 0:
        vertices, triangles = shapes.icosphere(int(fourths))
    elif halves == int(halves) and halves >= 0:
        vertices, triangles = halved_octahedron(int(halves))
    else:
        raise ValueError(f"faces must be 20 · 4^k or 8 · 2^k, not {faces!r}")
    return vertices, np.ascontiguousarray(triangles[np.random.default_rng(faces).permutation(faces)])


def halved_octahedron(times: int) -> tuple[Rows, Faces]:
    """A unit sphere made by bisecting every face of an octahedron, `times` times: 8 · 2^times faces, without a seam.

    A face (a, b, c) is bisected across its edge ab, and its parts across the edges at c: an adjacent face always bisects the same edge.
    """
    vertices = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
    faces = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]])
    for _ in range(times):
        a, b, c = faces.T
        sides, which = np.unique(np.minimum(a, b) * len(vertices) + np.maximum(a, b), return_inverse=True)
        first, second = np.divmod(sides, len(vertices))
        middles = vertices[first] + vertices[second]
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        m = len(vertices) + which
        vertices = np.concatenate([vertices, middles])
        faces = np.concatenate([np.column_stack([c, a, m]), np.column_stack([b, c, m])])
    return vertices, faces.astype(np.int32)


# --- two bodies ----------------------------------------------------------------------------------------------------------------


class Push(NamedTuple):
    """Two bumpy spheres that deform and turn while they are pushed into each other; made by `push`."""

    faces: Faces
    directions: Rows
    frames: int
    pitch: float

    def play(self) -> Iterator[Frame]:
        """All frames in order."""
        return (self.frame(k) for k in range(self.frames))

    def start(self) -> Frame:
        """The first frame."""
        return self.frame(0)

    def deep(self) -> Frame:
        """The last frame."""
        return self.frame(self.frames - 1)

    def frame(self, k: int) -> Frame:
        """Frame k (0 … frames - 1)."""
        passed = k / max(self.frames - 1, 1)
        time = DURATION * passed
        # Nearly along the diagonal: the boxes of the bodies overlap from the start, so that only the BVHs can tell the bodies apart.
        away = 0.5 * (START + (END - START) * passed) * unit(0.61, 0.57, -0.55)
        turns = rotation(unit(0.31, 0.77, 0.55), 0.4 + 0.11 * time), rotation(unit(-0.62, 0.21, 0.73), 1.9 - 0.07 * time)
        model = [shapes.bumpy(self.directions, at, AMPLITUDE, self.pitch) for at in (time, 17.3 - 0.9 * time)]
        return Frame(model, np.stack([pose(turns[0], -away), pose(turns[1], away)]))


def push(faces: int, frames: int, *, fine: bool = True) -> Push:
    """The scene of Fig 5.3 and Table 5.1. Bumps are as fine as the mesh; without `fine` they are those of 20,480 faces."""
    directions, triangles = sphere(faces)
    return Push(triangles, directions, frames, PITCH * float(np.sqrt(faces / STANDARD)) if fine else PITCH)


# --- many bodies ---------------------------------------------------------------------------------------------------------------


class Crowd(NamedTuple):
    """Bodies that deform, turn, and bounce off each other and the walls of a box; made by `crowd`.
    `start_at` and `velocities` (bodies, 3)."""

    faces: Faces
    directions: Rows
    frames: int
    kind: str
    half: float
    start_at: Rows
    velocities: Rows

    def play(self) -> Iterator[Frame]:
        """All frames in order. A scene of its own finds the pairs for the collision response."""
        centres, velocities = self.start_at.copy(), self.velocities.copy()
        bodies = [pliant.Body(vertices, self.faces) for vertices in self.frame(0, centres).world()]
        scene = pliant.Scene(bodies)
        for k in range(self.frames):
            frame = self.frame(k, centres)
            yield frame
            for body, vertices in zip(bodies, frame.world(), strict=True):
                body.update(vertices)
            respond(np.unique(scene.collide().bodies, axis=0), centres, velocities, self.half)
            centres = centres + FLIGHT / self.frames * velocities

    def start(self) -> Frame:
        """The first frame."""
        return self.frame(0, self.start_at)

    def deep(self) -> Frame:
        """The first frame, with all bodies near the origin."""
        return self.frame(0, 0.4 * self.start_at)

    def frame(self, k: int, centres: Rows) -> Frame:
        """The shapes of frame k in their orientation, with these centres (bodies, 3)."""
        model, poses, passed = [], [], k / max(self.frames - 1, 1)
        time = 2 * DURATION * passed
        for body, centre in enumerate(centres):
            rng = np.random.default_rng([54, body])
            turn = rotation(unit(*rng.normal(size=3)), rng.uniform(0, 2 * np.pi) + rng.uniform(-2.4, 2.4) * passed)
            poses.append(pose(turn, centre))
            if self.kind == "arms":
                model.append(shapes.armed(self.directions, time, body))
            else:
                size, amplitude, pitch = rng.uniform(0.88, 1.12), rng.uniform(0.1, 0.2), rng.uniform(0.55, 1.15)
                own = rng.uniform(0, 100) + rng.uniform(0.7, 1.3) * time
                model.append(size * shapes.bumpy(self.directions, own, amplitude, pitch))
        return Frame(model, np.stack(poses))


def crowd(bodies: int, faces: int, frames: int, kind: str) -> Crowd:
    """The scene of Fig 5.4: bodies start apart, in the cells of a cube, and fly into a denser box; kind "bumpy" or "arms"."""
    directions, triangles = sphere(faces)
    rng, cells = np.random.default_rng(27), int(np.ceil(np.cbrt(bodies) - 1e-9))
    wide, dense = SPACING[kind]
    sites = np.stack(np.unravel_index(rng.permutation(cells**3)[:bodies], (cells,) * 3), axis=1)
    start = wide * (sites + 0.5 - 0.5 * cells) + rng.uniform(-0.1, 0.1, (bodies, 3))
    velocities = rng.normal(size=(bodies, 3))
    velocities *= CRUISE / np.linalg.norm(velocities, axis=1, keepdims=True)
    return Crowd(triangles, directions, frames, kind, 0.5 * dense * cells, start, velocities)


def respond(meeting: NDArray[np.int64], centres: Rows, velocities: Rows, half: float) -> None:
    """The simplest collision response: each pair (p, 2) of intersecting bodies gets an impulse along the line of centres; walls reflect."""
    for i, j in meeting.tolist():
        line = centres[j] - centres[i]
        line /= max(float(np.linalg.norm(line)), 1e-12)
        closing = float(line @ (velocities[i] - velocities[j]))
        impulse = 0.5 * (1 + BOUNCE) * max(closing, 0.0) + PUSH * CRUISE
        velocities[i] -= impulse * line
        velocities[j] += impulse * line
    outside = np.abs(centres) > half
    velocities[outside] = -(np.sign(centres) * np.abs(velocities))[outside]
    speeds = np.linalg.norm(velocities, axis=1, keepdims=True)
    velocities *= 1 + DAMPING * (CRUISE / np.maximum(speeds, 0.1 * CRUISE) - 1)


# --- transforms ----------------------------------------------------------------------------------------------------------------


def unit(x: float, y: float, z: float) -> Rows:
    """The unit vector (3,) along (x, y, z)."""
    direction: Rows = np.array([x, y, z]) / np.sqrt(x * x + y * y + z * z)
    return direction


def rotation(axis: Rows, angle: float) -> Rows:
    """The (3, 3) rotation by `angle` radians about a unit axis (Rodrigues' formula)."""
    cross = np.cross(np.eye(3), axis)
    matrix: Rows = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return matrix


def pose(turn: Rows, move: Rows) -> Rows:
    """A rigid transform (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, move
    return matrix
