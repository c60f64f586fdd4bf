"""The simulation of ``pliant demo``: bodies that deform, fly about in a box, and bounce off each other where they intersect.

A frame is: deform, update, broad phase, narrow phase with contacts, response. The response is the simplest that keeps bodies apart: an
impulse along the mean contact normal of each pair of bodies, and nothing about spin or friction.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.core.jit import compile_seconds
from pliant.results import ScenePairs, Stats
from pliant.shapes import Swarm

BOX_SCALE = 0.74  # of the standard swarm's box: denser, so that there is more to see
CRUISE_SPEED = 0.045  # units a frame; bodies have a radius of about 1
CONTACT_SPEED = 0.04  # of the cruising speed: what bodies in contact gain in a frame, at least
RESTITUTION = 0.3  # of the speed of approach that is left after an impact
DAMPING = 0.05  # of the difference to the cruising speed, lost in a frame


class FrameStats(NamedTuple):
    """One frame: what was found, the work behind it, and seconds spent."""

    pairs: int  # of faces
    touching: int  # pairs of bodies
    tested: int  # pairs of bodies whose boxes overlap
    stats: Stats
    deform: float
    update: float
    broad: float
    narrow: float

    @property
    def collision_seconds(self) -> float:
        """Seconds of collision detection."""
        return self.update + self.broad + self.narrow


class FrameState(NamedTuple):
    """A frame: the vertices of all bodies, and the intersecting pairs."""

    frame: int
    vertices: list[NDArray[np.float64]]
    pairs: ScenePairs


class SwarmSimulation:
    """The moving swarm. ``steps`` has every finished frame, ``pairs`` the pairs of the last, ``peak`` the frame with the most pairs."""

    def __init__(self, shapes: Swarm) -> None:
        self.shapes, self.faces = shapes, shapes.faces
        self.centres = shapes.centres(0)
        ahead = shapes.centres(1) - self.centres
        self.velocities = CRUISE_SPEED * ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
        self.bodies = [pliant.Body(vertices, self.faces) for vertices in self.vertices_at(0)]
        self.scene = pliant.Scene(self.bodies)
        self.steps: list[FrameStats] = []
        self.pairs: ScenePairs | None = None
        self.peak: FrameState | None = None

    def vertices_at(self, k: int) -> list[NDArray[np.float64]]:
        """The vertices of all bodies: shapes of frame k at the current positions."""
        return [self.shapes.shape(i, k) + centre for i, centre in enumerate(self.centres)]

    def advance(self) -> FrameStats:
        """Simulate the next frame."""
        k, times = len(self.steps), [running_time()]
        vertices = self.vertices_at(k)
        times.append(running_time())
        for body, positions in zip(self.bodies, vertices, strict=True):
            body.update(positions)
        times.append(running_time())
        self.scene.candidates()
        times.append(running_time())
        pairs = self.scene.collide(contacts=True)
        times.append(running_time())
        touching = self.respond(pairs, vertices)
        deform, update, broad, narrow = np.diff(times).tolist()
        step = FrameStats(len(pairs), touching, len(pairs.tested), pairs.stats, deform, update, broad, narrow)
        self.steps.append(step)
        self.pairs = pairs
        if pairs and (self.peak is None or len(pairs) > len(self.peak.pairs)):
            self.peak = FrameState(k, vertices, pairs)
        return step

    def respond(self, pairs: ScenePairs, vertices: list[NDArray[np.float64]]) -> int:
        """Apply contact responses and move the bodies; returns the number of intersecting pairs of bodies."""
        contact_pairs, directions = separation_directions(pairs, vertices, self.faces)
        for (i, j), direction in zip(contact_pairs.tolist(), directions, strict=True):
            closing = float(direction @ (self.velocities[i] - self.velocities[j]))
            impulse = 0.5 * (1 + RESTITUTION) * max(closing, 0.0) + CONTACT_SPEED * CRUISE_SPEED
            self.velocities[i] -= impulse * direction
            self.velocities[j] += impulse * direction
        outside = np.abs(self.centres) > BOX_SCALE * self.shapes.half
        self.velocities = np.where(outside, -np.sign(self.centres) * np.abs(self.velocities), self.velocities)
        speeds = np.linalg.norm(self.velocities, axis=1, keepdims=True)
        self.velocities *= 1 + DAMPING * (CRUISE_SPEED / np.maximum(speeds, 0.1 * CRUISE_SPEED) - 1)
        self.centres = self.centres + self.velocities
        return len(contact_pairs)


def running_time() -> float:
    """A clock that stands still while kernels are compiled, or loaded: the first contact that needs exact arithmetic waits for these."""
    return float(time.perf_counter() - compile_seconds())


def separation_directions(
    pairs: ScenePairs, vertices: list[NDArray[np.float64]], faces: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pairs of intersecting bodies, (p, 2), and for each the direction (p, 3) that separates the second from the first.

    It is the mean of the contact normals, weighted by depth. The minimum translation of two faces does not depend on inside and outside:
    so each normal is first flipped to agree with the normal of the first body's face and against that of the second.
    """
    assert pairs.normals is not None and pairs.depths is not None
    corners = np.stack([np.stack(vertices)[pairs.bodies[:, c, None], faces[pairs.faces[:, c]]] for c in (0, 1)])
    normals = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), 1e-300)
    sides = np.sign(((normals[0] - normals[1]) * pairs.normals).sum(axis=1))
    contact_pairs, which = np.unique(pairs.bodies, axis=0, return_inverse=True)
    sums = np.zeros((len(contact_pairs), 3))
    np.add.at(sums, which.ravel(), (sides * pairs.depths)[:, None] * pairs.normals)
    return contact_pairs, sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
