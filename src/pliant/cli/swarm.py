"""What moves in ``pliant demo``: bodies that deform as they like, fly about in a box, and bounce off each other where they meet.

A frame is: deform, update, broad phase, narrow phase with contacts, response. The response is the simplest that keeps bodies apart: an
impulse along the mean contact normal of each pair of bodies, and nothing about spin or friction.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.results import ScenePairs, Stats
from pliant.shapes import Swarm

ROOM = 0.74  # of the standard swarm's box: denser, so that there is more to see
CRUISE = 0.045  # units a frame; bodies have a radius of about 1
PUSH = 0.04  # of the cruising speed: what bodies in contact gain in a frame, at least
BOUNCE = 0.3  # of the speed of approach that is left after an impact
DAMPING = 0.05  # of the difference to the cruising speed, lost in a frame


class Step(NamedTuple):
    """One frame: what was found, the work behind it, and seconds spent."""

    pairs: int  # of faces
    touching: int  # pairs of bodies
    tested: int  # pairs of bodies whose boxes meet
    stats: Stats
    deform: float
    update: float
    broad: float
    narrow: float

    @property
    def counted(self) -> float:
        """Seconds of collision detection."""
        return self.update + self.broad + self.narrow


class Moment(NamedTuple):
    """A frame to remember: the vertices of all bodies, and what met."""

    frame: int
    vertices: list[NDArray[np.float64]]
    pairs: ScenePairs


class Flight:
    """The swarm in motion. ``steps`` has every frame done, ``pairs`` what met in the last, ``best`` the one with the most of them."""

    def __init__(self, shapes: Swarm) -> None:
        self.shapes, self.faces = shapes, shapes.faces
        self.centres = shapes.centres(0)
        ahead = shapes.centres(1) - self.centres
        self.velocities = CRUISE * ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
        self.bodies = [pliant.Body(vertices, self.faces) for vertices in self.place(0)]
        self.scene = pliant.Scene(self.bodies)
        self.steps: list[Step] = []
        self.pairs: ScenePairs | None = None
        self.best: Moment | None = None

    def place(self, k: int) -> list[NDArray[np.float64]]:
        """The shapes of frame k, where the bodies are now."""
        return [self.shapes.shape(i, k) + centre for i, centre in enumerate(self.centres)]

    def advance(self) -> Step:
        """Play the next frame."""
        k, clock = len(self.steps), [time.perf_counter()]
        vertices = self.place(k)
        clock.append(time.perf_counter())
        for body, positions in zip(self.bodies, vertices, strict=True):
            body.update(positions)
        clock.append(time.perf_counter())
        self.scene.candidates()
        clock.append(time.perf_counter())
        pairs = self.scene.collide(contacts=True)
        clock.append(time.perf_counter())
        touching = self.respond(pairs, vertices)
        deform, update, broad, narrow = np.diff(clock).tolist()
        step = Step(len(pairs), touching, len(pairs.tested), pairs.stats, deform, update, broad, narrow)
        self.steps.append(step)
        self.pairs = pairs
        if pairs and (self.best is None or len(pairs) > len(self.best.pairs)):
            self.best = Moment(k, vertices, pairs)
        return step

    def respond(self, pairs: ScenePairs, vertices: list[NDArray[np.float64]]) -> int:
        """Let bodies bounce and move on; how many pairs of them met."""
        meeting, directions = partings(pairs, vertices, self.faces)
        for (i, j), direction in zip(meeting.tolist(), directions, strict=True):
            closing = float(direction @ (self.velocities[i] - self.velocities[j]))
            impulse = 0.5 * (1 + BOUNCE) * max(closing, 0.0) + PUSH * CRUISE
            self.velocities[i] -= impulse * direction
            self.velocities[j] += impulse * direction
        outside = np.abs(self.centres) > ROOM * self.shapes.half
        self.velocities = np.where(outside, -np.sign(self.centres) * np.abs(self.velocities), self.velocities)
        speeds = np.linalg.norm(self.velocities, axis=1, keepdims=True)
        self.velocities *= 1 + DAMPING * (CRUISE / np.maximum(speeds, 0.1 * CRUISE) - 1)
        self.centres = self.centres + self.velocities
        return len(meeting)


def partings(
    pairs: ScenePairs, vertices: list[NDArray[np.float64]], faces: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pairs of bodies that meet, (p, 2), and for each the direction (p, 3) that takes the second away from the first.

    It is the mean of the contact normals, weighted by depth. The shortest move that parts two faces knows nothing of inside and outside:
    each normal is first turned to where the face of the first body looks and that of the second does not.
    """
    assert pairs.normals is not None and pairs.depths is not None
    corners = np.stack([np.stack(vertices)[pairs.bodies[:, c, None], faces[pairs.faces[:, c]]] for c in (0, 1)])
    looks = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    looks /= np.maximum(np.linalg.norm(looks, axis=2, keepdims=True), 1e-300)
    sides = np.sign(((looks[0] - looks[1]) * pairs.normals).sum(axis=1))
    meeting, which = np.unique(pairs.bodies, axis=0, return_inverse=True)
    sums = np.zeros((len(meeting), 3))
    np.add.at(sums, which.ravel(), (sides * pairs.depths)[:, None] * pairs.normals)
    return meeting, sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
