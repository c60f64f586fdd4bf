"""Creatures and shuttles of paper G (Fig 9): their motion, written once as a formula for one vertex, on the CPU and on a device.

A vertex has a rest position, a body, and, on a tentacle, a LIMB: one of all tentacles of the swarm. A frame is PARAMETERS alone, a rigid
transform of each body and four numbers of each limb, from which all vertices are computed (`carried`). A tentacle is scaled along its axis,
and sways across it in waves that increase outward. Both move whole cross sections in order, so a tentacle never intersects itself, but it
may intersect others of its creature, other creatures and passing shuttles. Then it retracts, and grows again where nothing is. So the
parameters of a frame depend on the collisions of the last. A device keeps the rest shapes, and receives parameters alone.

    rest (n, 3) float64, owner (n,) int32 body of a vertex, limb (n,) int32 or −1, axes (limbs, 10): along and two across, and the root
    poses (bodies, 12) rows of 3 × 4 matrices; sways (limbs, 4): grown length, height of waves, and two phases
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from experiments.georgii2007.bodies import LIMBS, LONG, Mesh, creature, joined, shuttle
from experiments.larsson2001.scenes import Faces, Rows, pose, rotation, unit
from pliant.core.jit import helper, kernel

Found = Callable[[Rows, Faces], Any]  # pairs (m, 2) of intersecting faces

WAVE = 3.4  # radians a unit along a tentacle
SWAY = (0.16, 0.34)  # heights of waves, relative to the length
LEAST, BACK, GROW = 0.25, 6.0, 0.5  # of a tentacle: its minimum length; the speeds of retraction and growth, in lengths a second
SECONDS = 3.0  # duration of the scene
SPACING, DRIFT = 2.6, 0.16  # distance between creatures, and amplitude of their motion
FLY = 1.6  # units a second, shuttles


class Parameters(NamedTuple):
    """A frame: transforms (bodies, 12) and sways (limbs, 4)."""

    poses: Rows
    sways: Rows


class Rest(NamedTuple):
    """The constant arrays, as described above."""

    vertices: Rows
    owner: NDArray[np.int32]
    limb: NDArray[np.int32]
    axes: Rows


class Swarm(NamedTuple):
    """Creatures, then shuttles: vertices at rest, of each part and of all, the faces of all as one mesh, the limb (f,) of each or −1, and
    all frames."""

    rest: Rest
    parts: list[Mesh]
    faces: Faces
    limb: NDArray[np.int32]
    played: list[Parameters]

    def vertices(self, k: int) -> Rows:
        """Vertices (n, 3) of frame k."""
        return moved(self.rest, self.played[k])


@helper
def carried(i, vertices, owner, limb, axes, poses, sways):  # type: ignore[no-untyped-def]
    """The position of vertex i: from the frame of its tentacle, if it has one, to that of its body, to world space."""
    x, y, z = vertices[i, 0], vertices[i, 1], vertices[i, 2]
    t, b = limb[i], owner[i]
    if t >= 0:
        along = axes[t, 0] * x + axes[t, 1] * y + axes[t, 2] * z
        left = axes[t, 3] * x + axes[t, 4] * y + axes[t, 5] * z
        right = axes[t, 6] * x + axes[t, 7] * y + axes[t, 8] * z
        root, out = axes[t, 9], sways[t, 0] * max(along - axes[t, 9], 0.0)
        far = sways[t, 1] * out * out / LONG
        along = min(along, root) + out
        left += far * sin(WAVE * out + sways[t, 2])
        right += far * cos(0.8 * WAVE * out + sways[t, 3])
        x = axes[t, 0] * along + axes[t, 3] * left + axes[t, 6] * right
        y = axes[t, 1] * along + axes[t, 4] * left + axes[t, 7] * right
        z = axes[t, 2] * along + axes[t, 5] * left + axes[t, 8] * right
    return (
        poses[b, 0] * x + poses[b, 1] * y + poses[b, 2] * z + poses[b, 3],
        poses[b, 4] * x + poses[b, 5] * y + poses[b, 6] * z + poses[b, 7],
        poses[b, 8] * x + poses[b, 9] * y + poses[b, 10] * z + poses[b, 11],
    )


@kernel
def carry_all(vertices, owner, limb, axes, poses, sways, out):  # type: ignore[no-untyped-def]
    """All vertices (n, 3) into `out`."""
    for i in range(len(vertices)):
        out[i, 0], out[i, 1], out[i, 2] = carried(i, vertices, owner, limb, axes, poses, sways)


def moved(rest: Rest, parameters: Parameters) -> Rows:
    """Vertices (n, 3) with these parameters."""
    out = np.empty_like(rest.vertices)
    carry_all(*rest, *parameters, out)
    return out


# --- a swarm ---------------------------------------------------------------------------------------------------------------------


class Flight(NamedTuple):
    """The parameters of the motion, drawn once: centres (creatures, 3), paths, rotations and shuttles; phases (limbs, 4)."""

    centres: Rows
    ways: Rows
    turns: list[tuple[Rows, float, float]]
    lines: list[tuple[Rows, Rows]]
    phases: Rows

    def at(self, passed: float, grown: Rows) -> Parameters:
        """The parameters at a time, 0 … 1, with limbs of these lengths (limbs,)."""
        time, poses = SECONDS * passed, []
        for centre, way, (axis, angle, speed) in zip(self.centres, self.ways, self.turns, strict=True):
            poses.append(pose(rotation(axis, angle + speed * time), centre + DRIFT * np.sin(1.3 * time + 2 * way) * way))
        for start, ahead in self.lines:
            poses.append(pose(facing(ahead), start + FLY * time * ahead))
        heights = SWAY[0] + (SWAY[1] - SWAY[0]) * self.phases[:, 0]
        sways = np.stack([grown, heights, self.phases[:, 1] + 2.2 * time, self.phases[:, 2] - 1.7 * time], axis=1)
        return Parameters(np.stack(poses)[:, :3].reshape(-1, 12).copy(), sways)


def facing(ahead: Rows) -> Rows:
    """A (3, 3) rotation that takes x to a direction."""
    side = np.cross([0.0, 0.0, 1.0], ahead)
    side /= np.linalg.norm(side)
    return np.stack([ahead, side, np.cross(ahead, side)], axis=1)


def flight(bodies: int, shuttles: int) -> Flight:
    """Creatures in the cells of a flat grid, with small offsets; shuttles on lines through the middle of it."""
    rng = np.random.default_rng(320)
    wide = int(np.ceil(np.sqrt(bodies)))
    k = np.arange(bodies)
    centres = SPACING * np.stack([k % wide - 0.5 * (wide - 1), rng.uniform(-0.35, 0.35, bodies), k // wide - 0.5 * (bodies // wide - 1)], 1)
    ways = rng.normal(size=(bodies, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    turns = [(unit(*rng.normal(size=3)), rng.uniform(0, 6), rng.uniform(-0.25, 0.25)) for _ in range(bodies)]
    lines = []
    for _ in range(shuttles):
        ahead = unit(1.0, rng.uniform(-0.3, 0.3), rng.uniform(-0.4, 0.4))
        middle = rng.uniform(-0.6, 0.6, 3) * [0.5, 0.8, 0.5 * SPACING * wide]
        lines.append((middle - 0.5 * FLY * SECONDS * ahead, ahead))
    return Flight(centres, ways, turns, lines, rng.uniform(0, 1, (bodies * LIMBS, 3)) * [1, 2 * np.pi, 2 * np.pi])


def still(bodies: int, shuttles: int, fine: tuple[int, int, int, int]) -> Swarm:
    """A swarm without frames."""
    one, other = creature(*fine[:3]), shuttle(fine[3])
    parts = [(one.vertices, one.faces)] * bodies + [other] * shuttles
    limbs = [np.where(one.limb >= 0, one.limb + LIMBS * k, -1) for k in range(bodies)] + [np.full(len(other[0]), -1)] * shuttles
    owner = np.repeat(np.arange(len(parts)), [len(vertices) for vertices, _ in parts])
    axes = np.tile(np.concatenate([one.axes.reshape(LIMBS, 9), np.full((LIMBS, 1), one.root)], axis=1), (bodies, 1))
    limb, (vertices, faces) = np.concatenate(limbs).astype(np.int32), joined(parts)
    return Swarm(Rest(vertices, owner.astype(np.int32), limb, axes), parts, faces, limb[faces].max(axis=1), [])


def swarm(bodies: int, shuttles: int, fine: tuple[int, int, int, int], frames: int, found: Found | None = None) -> Swarm:
    """All frames, 0 … frames: each starts with the limbs of the last, shorter where `found`, or a BVH, reports collisions."""
    whole, way = still(bodies, shuttles, fine), flight(bodies, shuttles)
    ask, grown = found or SelfCollider(), np.ones(bodies * LIMBS)
    for k in range(frames + 1):
        whole.played.append(way.at(k / frames, grown))
        if k < frames:
            grown = after(grown, whole.limb, ask(whole.vertices(k), whole.faces), SECONDS / frames)
    return whole


class SelfCollider:
    """Queries a BVH that is built once."""

    def __init__(self) -> None:
        self.body: pliant.Body | None = None

    def __call__(self, vertices: Rows, faces: Faces) -> Any:
        if self.body is None:
            self.body = pliant.Body(vertices, faces)
        self.body.update(vertices)
        return pliant.self_collide(self.body, adjacent="ignore").faces


def after(grown: Rows, limb: NDArray[np.int32], pairs: Any, seconds: float) -> Rows:
    """The lengths of limbs (limbs,) after so many seconds: those with colliding faces, in pairs (m, 2), retract."""
    hit = np.zeros(len(grown), bool)
    touched = limb[np.asarray(pairs).reshape(-1)]
    hit[touched[touched >= 0]] = True
    return np.clip(grown + np.where(hit, -BACK, GROW) * seconds, LEAST, 1.0)
