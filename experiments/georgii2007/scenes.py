"""The scenes of paper G (section 8): the five of Table 1. The cloth is in `cloth.py`, the motion of creatures in `creatures.py`.

    soft rabbits    two of 12K triangles together, bounce off each other; they wobble, and flatten at the contact (Fig 8)
    soft horses     two of 32K, nearly coincident and wobbling, so that their surfaces intersect over and over (Fig 8)
    creatures       ten of 320K with four shuttles; their tentacles retract when they are hit, and grow again (Fig 9)
    rigid rabbits   sixty of 500K that fall into a box and bounce there (Fig 10)
    dragons         two coils of 800K that go through each other (Fig 10)

A SCENE has a number of PARTS, closed surfaces with constant faces and moving vertices; a frame is all parts as one mesh, whose
self-collision is computed, as in the paper. `view` is the direction of projection: along it the depth complexity, the maximum number of
surfaces on a ray, is about that of the paper, 8 and 16. `covers` is the share of the picture's width that the scene takes: the paper does
not give it, and with these as many rays show a collision as in the paper.

Shapes and motions differ from the paper's, which describes them only as above; they were chosen so that counts are close to those of
Table 1, which `tests/experiments/test_georgii2007_scenes.py` holds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.georgii2007.bodies import Mesh, dragon, horse, joined, rabbit
from experiments.georgii2007.creatures import Swarm, swarm
from experiments.larsson2001.scenes import Faces, Rows, pose, rotation, unit

Direction = tuple[float, float, float]


class Frame(NamedTuple):
    """All parts as one mesh: vertices (n, 3) float64 and faces (f, 3) int32; `k` is its number."""

    vertices: Rows
    faces: Faces
    k: int


class Scene(NamedTuple):
    """Moving parts: the faces (f, 3) of each, `whole`, those of all as one mesh, and `at`, which returns the vertices (n, 3) of each in
    frame k. `closed`: every part is closed. `swarm`: computes the vertices, where a device can do so as well. `covers`: 1, the whole
    picture, where the paper has no counts."""

    name: str
    faces: tuple[Faces, ...]
    whole: Faces
    at: Callable[[int], list[Rows]]
    frames: int
    view: Direction
    closed: bool
    swarm: Swarm | None
    covers: float

    def parts(self, k: int) -> list[Mesh]:
        """Vertices and faces of each part in frame k, 0 … frames; frame 0 is the start, and is not played."""
        if not 0 <= k <= self.frames:
            raise ValueError(f"k must be in 0 … {self.frames}, not {k}")
        return list(zip(self.at(k), self.faces, strict=True))

    def frame(self, k: int) -> Frame:
        """All parts of frame k as one mesh."""
        return Frame(np.concatenate([vertices for vertices, _ in self.parts(k)]), self.whole, k)


def scene(name: str, rest: list[Mesh], at: Callable[[int], list[Rows]], frames: int, view: Direction, closed: bool = True,
          swarm: Swarm | None = None, covers: float = 1.0) -> Scene:  # fmt: skip
    """A scene whose parts have these faces and numbers of vertices."""
    if frames < 1:
        raise ValueError(f"frames must be 1 or more, not {frames!r}")
    return Scene(name, tuple(faces for _, faces in rest), joined(rest)[1], at, frames, view, closed, swarm, covers)


# --- deformations of soft bodies -------------------------------------------------------------------------------------------------

# Waves that displace all of space: (direction and height of the displacement, waves a unit, angular speed, phase). A displacement is along
# one direction and varies along another; the sum of heights times waves is less than 1, so that nothing folds.
WOBBLE = (
    ((0.030, -0.012, 0.020), (2.1, 5.3, 1.7), 5.1, 0.3),
    ((-0.014, 0.026, 0.018), (4.7, 1.9, -3.1), -6.3, 1.9),
    ((0.016, 0.020, -0.024), (-2.9, 3.7, 4.3), 7.7, 4.1),
)


def wobbled(vertices: Rows, time: float, waves: Any = WOBBLE, much: float = 1.0) -> Rows:
    """Vertices (n, 3) displaced by the waves, at a time in seconds."""
    moved = vertices.copy()
    for push, along, speed, phase in waves:
        moved += np.sin(vertices @ np.array(along) + (speed * time + phase))[:, None] * (much * np.array(push))
    return moved


def flattened(vertices: Rows, along: Rows, much: float) -> Rows:
    """Vertices compressed by `much` along a direction (3,), and expanded across it, with the same volume."""
    short, wide = 1 - much, 1 / np.sqrt(1 - much)
    return np.asarray(wide * vertices + np.outer(vertices @ along, (short - wide) * along))


# --- soft bodies -----------------------------------------------------------------------------------------------------------------

SECONDS = 2.0  # duration of the scene

# Rabbits: the direction of their motion, the largest and the smallest distance of their centres, the number of bounces, the flattening; the
# projection is across the motion, so that few rays go through the contact.
FLIGHT, FAR, CLOSE, BOUNCES, FLAT, ACROSS = (0.86, 0.38, 0.34), 1.3, 0.82, 3, 0.18, (-0.3, 0.0, 0.95)
HARES = (((0.2, 0.3, 0.93), 0.4), ((-0.3, 0.5, 0.81), 3.4))  # initial rotations about an axis
SPIN = (0.35, -0.3)  # radians a second


def soft_rabbits(faces: int, frames: int) -> Scene:
    """Two of half as many faces each."""
    rest, triangles = rabbit(faces // 4 * 2)
    line = unit(*FLIGHT)

    def at(k: int) -> list[Rows]:
        passed = k / frames
        time, way = SECONDS * passed, abs(np.cos(np.pi * BOUNCES * passed + 0.3))
        made = []
        for side, (axis, angle), spin in zip((-1, 1), HARES, SPIN, strict=True):
            turned = wobbled(rest, time + 3.0 * side) @ rotation(unit(*axis), angle + spin * time).T
            made.append(flattened(turned, line, FLAT * (1 - way)) + 0.5 * side * (CLOSE + (FAR - CLOSE) * way) * line)
        return made

    return scene("soft rabbits", [(rest, triangles)] * 2, at, frames, ACROSS, covers=0.16)


# Horses: their distance, its direction, their relative rotation, and small waves on their surfaces. A wave of one is a trough of the other,
# and nearly as steep as it can be without a fold: their surfaces intersect at large angles.
TANGLE, BESIDE, TWIST, SWING = 0.12, (0.3, 0.85, 0.44), 0.03, 0.02
SKIN = (
    ((0.0064, 0.0640, 0.0), (13.93, 0.0, 1.39), 9.1, 0.7),
    ((0.0034, 0.0, 0.0010), (0.0, 13.73, 2.75), 13.7, 5.0),
)


def soft_horses(faces: int, frames: int) -> Scene:
    """Two of half as many faces each."""
    rest, triangles = horse(faces // 4 * 2)

    def at(k: int) -> list[Rows]:
        time, made = SECONDS * k / frames, []
        for side in (-1, 1):
            moved = wobbled(wobbled(rest, time, SKIN, side), time)
            turned = moved @ rotation(unit(0.4, 0.3, 0.87), side * (TWIST + SWING * np.sin(3 * time))).T
            made.append(turned + 0.5 * side * TANGLE * (1.5 + np.sin(4 * time)) * unit(*BESIDE))
        return made

    return scene("soft horses", [(rest, triangles)] * 2, at, frames, (0.12, 0.98, 0.16), covers=0.29)


# --- many rigid bodies -----------------------------------------------------------------------------------------------------------

# Bodies in a box open above: its width for each column of bodies, the distance of centres below which bodies repel each other, the
# strength of that and of the walls, gravity, the share of speed left after a second; time steps of a fall of FALL seconds.
SPACING, NEAR, HARD, GRAVITY, LEFT, FALL, KNOTS = 1.45, 1.50, 900.0, 9.81, 0.75, 2.0, 1_200


@cache
def fall(bodies: int) -> Rows:
    """Centres (KNOTS + 1, bodies, 3) of bodies that fall from the cells of a grid, and bounce."""
    rng = np.random.default_rng(60)
    wide = max(1, round(np.cbrt(bodies)))
    k = np.arange(bodies)
    sites = np.stack([k % wide, k // wide % wide, k // wide**2], axis=1) * [1.0, 1.0, 1.25] + rng.uniform(-0.16, 0.16, (bodies, 3))
    half = 0.5 * SPACING * wide
    centres = SPACING * (sites + [0.5, 0.5, 0.6]) - [half, half, 0.0]
    velocities = rng.normal(0, 0.8, (bodies, 3))
    low, high, step = np.array([0.55 - half, 0.55 - half, 0.45]), np.array([half - 0.55, half - 0.55, np.inf]), FALL / KNOTS
    made = [centres]
    for _ in range(KNOTS):
        gaps = centres[:, None] - centres
        apart = np.sqrt((gaps * gaps).sum(axis=2)) + np.diag(np.full(bodies, np.inf))
        push = (np.maximum(NEAR / apart - 1, 0)[:, :, None] * gaps).sum(axis=1) + np.clip(centres, low, high) - centres
        velocities = (velocities + step * (HARD * push - [0, 0, GRAVITY])) * LEFT**step
        centres = centres + step * velocities
        made.append(centres)
    return np.array(made)


def rigid_rabbits(bodies: int, faces: int, frames: int) -> Scene:
    """So many bodies of one shape, with as many faces together."""
    rest, triangles = rabbit(round(faces / bodies / 2) * 2)
    rest = rest - 0.5 * (rest.min(axis=0) + rest.max(axis=0))
    rng = np.random.default_rng(500)
    spins = [(unit(*rng.normal(size=3)), rng.uniform(0, 2 * np.pi), rng.uniform(-3, 3)) for _ in range(bodies)]
    centres = fall(bodies)

    def at(k: int) -> list[Rows]:
        passed = k / frames
        middles = centres[round(passed * (len(centres) - 1))]
        return [rest @ rotation(axis, angle + speed * passed).T + middle
                for (axis, angle, speed), middle in zip(spins, middles, strict=True)]  # fmt: skip

    return scene("rigid rabbits", [(rest, triangles)] * bodies, at, frames, (0.60, 0.60, 0.50), covers=0.64)


# --- dragons ---------------------------------------------------------------------------------------------------------------------

APART, THROUGH = ((1.30, 1.00, 1.70), (1.10, 0.95, 1.50)), ((0.21, 0.34, 0.92), 0.9, 1.5)  # start and end of the motion; rotation


def dragons(faces: int, frames: int) -> Scene:
    """Two of half as many faces each; one stays, the other rotates and goes through it."""
    rest, triangles = dragon(faces // 2)

    def at(k: int) -> list[Rows]:
        passed = k / frames
        axis, start, end = THROUGH
        place = pose(rotation(unit(*axis), start + (end - start) * passed) @ rotation(unit(1, 0, 0), 0.35), np.zeros(3))
        where = (1 - passed) * np.array(APART[0]) + passed * np.array(APART[1])
        return [rest, rest @ place[:3, :3].T + where]

    return scene("dragons", [(rest, triangles)] * 2, at, frames, (0.60, -0.70, 0.30))


# --- creatures -------------------------------------------------------------------------------------------------------------------


def creatures(bodies: int, shuttles: int, fine: tuple[int, int, int, int], frames: int) -> Scene:
    """So many creatures and shuttles; `fine`: cuts, rings and rows of a creature, and cuts of a shuttle."""
    moved = swarm(bodies, shuttles, fine, frames)
    ends = np.cumsum([len(vertices) for vertices, _ in moved.parts])[:-1]

    def at(k: int) -> list[Rows]:
        return np.split(moved.vertices(k), ends)

    return scene("creatures", moved.parts, at, frames, (0.55, 0.78, 0.30), swarm=moved, covers=0.63)
