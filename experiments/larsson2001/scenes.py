"""The scenes of paper A (thesis 5.4): two bumpy spheres pushed into each other, and many bodies that bounce about in a box.

A scene gives FRAMES: the vertices of each body in its own model space, and where it is, a rigid pose. Methods that keep volumes in the
world are given the placed vertices, the others vertices and poses: the same positions to the bit, so that all must find the same pairs.

The paper says little about its bodies. What it reports fixes the rest: the first contact at step 60 of 200, 3,760 pairs of faces in the
last one, and pairs that grow in proportion to faces. On a surface that stays the same under a finer mesh they would grow with the square
root, since bodies meet in curves; so bumps here get smaller as faces do, some four edges long.
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

# Two spheres: centres apart at the first and the last step; height of bumps; waves are `PITCH` times as short as those of
# `shapes.bumpy` at STANDARD faces.
START, END, AMPLITUDE, PITCH, STANDARD = 2.76, 0.38, 0.10, 4.5, 20_480
DURATION = 4.0  # of the push, in the time of `shapes.bumpy`

# A crowd: the room that a body has at the start, and later, in the box that centres keep to; speed in units a step of FLIGHT, where bodies
# have a radius of about 1; what bodies in contact gain in a step, of that speed; what is left of an approach after an impact.
ROOM = {"bumpy": (2.5, 1.7), "arms": (2.9, 1.8)}
CRUISE, PUSH, BOUNCE, DAMPING = 0.045, 0.05, 0.3, 0.05
FLIGHT = 200  # steps in which bodies deform for DURATION · 2 and fly FLIGHT · CRUISE; with other frames steps are longer or shorter


class Frame(NamedTuple):
    """Vertices (n, 3) of each body in model space, and the poses (bodies, 4, 4) that place them."""

    model: list[Rows]
    poses: Rows
    weights: None = None  # there is nothing to blend

    def blend(self, clock: Callable[[], float] = time.perf_counter) -> tuple[list[Rows], float]:
        """The vertices of each body, and the seconds that blending them took: none."""
        return self.model, 0.0

    def world(self) -> list[Rows]:
        """The placed vertices, to the bit what a placed body says they are."""
        return [placed(vertices, pose) for vertices, pose in zip(self.model, self.poses, strict=True)]


class Scene(Protocol):
    """Bodies of equal faces that move for a number of frames, each a `Frame` or, where bodies morph, a `larsson2003a_scenes.Morphed`."""

    @property
    def faces(self) -> Faces:
        """(m, 3), the same for all bodies."""

    @property
    def frames(self) -> int:
        """How many there are."""

    def play(self) -> Iterator[Any]:
        """All frames in order."""

    def start(self) -> Any:
        """The frame that trees are built on."""

    def deep(self) -> Any:
        """A frame in which all bodies meet: for warming up."""


def placed(vertices: Rows, pose: Rows) -> Rows:
    """Vertices (n, 3) in a pose (4, 4)."""
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
    """A unit sphere made by cutting every face of an octahedron in two, `times` times: 8 · 2^times faces, without a seam.

    A face (a, b, c) is cut across its side ab, and its parts across the sides that c had: a neighbour always cuts the same side.
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
        # Nearly along the diagonal of boxes: those of the bodies meet from the start, and trees have to tell that the bodies do not.
        away = 0.5 * (START + (END - START) * passed) * unit(0.61, 0.57, -0.55)
        turns = rotation(unit(0.31, 0.77, 0.55), 0.4 + 0.11 * time), rotation(unit(-0.62, 0.21, 0.73), 1.9 - 0.07 * time)
        model = [shapes.bumpy(self.directions, at, AMPLITUDE, self.pitch) for at in (time, 17.3 - 0.9 * time)]
        return Frame(model, np.stack([pose(turns[0], -away), pose(turns[1], away)]))


def push(faces: int, frames: int, *, fine: bool = True) -> Push:
    """The scene of Fig 5.3 and Table 5.1. Bumps are as fine as the mesh; without `fine` they are always those of 20,480 faces."""
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
        """All frames in order. Bodies fly as the pairs found by a scene of its own tell them to."""
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
        """The first frame with all bodies near the origin."""
        return self.frame(0, 0.4 * self.start_at)

    def frame(self, k: int, centres: Rows) -> Frame:
        """The shapes of frame k, turned as they are then, with these centres (bodies, 3)."""
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
    wide, dense = ROOM[kind]
    sites = np.stack(np.unravel_index(rng.permutation(cells**3)[:bodies], (cells,) * 3), axis=1)
    start = wide * (sites + 0.5 - 0.5 * cells) + rng.uniform(-0.1, 0.1, (bodies, 3))
    velocities = rng.normal(size=(bodies, 3))
    velocities *= CRUISE / np.linalg.norm(velocities, axis=1, keepdims=True)
    return Crowd(triangles, directions, frames, kind, 0.5 * dense * cells, start, velocities)


def respond(meeting: NDArray[np.int64], centres: Rows, velocities: Rows, half: float) -> None:
    """The simplest response: each pair (p, 2) of bodies that meet takes an impulse along the line of centres; walls reflect."""
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


# --- placing -------------------------------------------------------------------------------------------------------------------


def unit(x: float, y: float, z: float) -> Rows:
    """The direction of (x, y, z), (3,)."""
    direction: Rows = np.array([x, y, z]) / np.sqrt(x * x + y * y + z * z)
    return direction


def rotation(axis: Rows, angle: float) -> Rows:
    """The (3, 3) matrix that turns by `angle` radians about a unit axis (Rodrigues' formula)."""
    cross = np.cross(np.eye(3), axis)
    matrix: Rows = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return matrix


def pose(turn: Rows, move: Rows) -> Rows:
    """A (4, 4) matrix."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, move
    return matrix
