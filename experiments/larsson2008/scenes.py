"""The scenes of paper S (section 5): two rigid bodies each, in 500 frames.

    spheres      of radius 0.95 and 1, repeatedly subdivided icosahedra; they pass straight through each other and rotate. In frame 250 they
                 are concentric: in frames 244 to 256 the smaller is inside the larger, and all of its surface is close (CLOSE)
    knots        two intertwined tubes that never touch, rotated together: close along a curve, alike in every frame
    quadrupeds   animals that start inside each other, rotate about all axes and slowly move apart; in place of the paper's horses
    hands        skeletons of hands, one falls through the other

The numbers of triangles are exactly the paper's, also of quadrupeds and hands, which have other shapes (`bodies.py`). The paper specifies
the spheres completely but for their rotation; what it says of the others is above.

Frames are POSED: the transforms of the bodies. Of 500 frames a scene plays those of its list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.larsson2001.scenes import Faces, Rows, pose, rotation, sphere, unit
from experiments.larsson2008.bodies import hand, quadruped

FRAMES = 500
CLOSE = range(244, 257)  # frames of spheres in parallel close proximity
AWAY = (0.31, 0.17, -0.12)  # distance of the second body from the first at which they intersect

# Spheres: radii, the frame in which they are concentric, and rotations, radians a frame about an axis.
RADII, MEETING = (0.95, 1.0), 250
TURNS = (((0.31, 0.77, 0.55), 0.011), ((-0.62, 0.21, 0.73), -0.007))

# Knots: triangles are twice rows × vertices of a row, by level. Both wind around a ring twice while they go along it three times, a
# quarter of a winding apart; radii of ring and winding, and the free share of the distance between the tubes. The paper gives neither the
# distance nor the shape of triangles: with these, the tests of volumes are close to those of its Table 3. Few vertices around a tube make
# triangles longer across it than along it: balls need more tests, slab cut balls and boxes hardly more.
ROWS, AROUND = {1: (294, 306), 2: (490, 510), 3: (784, 816)}, {1: 6, 2: 7, 3: 7}
RING, WINDING, FREE = 2.0, 0.5, 0.085
LEVELS = {f"L{level}": level for level in ROWS}

# Quadrupeds: distance at the start and the end, its direction, and angles about x, y and z through which both rotate.
APART, DIRECTION = (0.25, 1.25), (0.66, 0.68, 0.33)
ANGLES = ((5.1, 3.7, 7.9), (-4.3, 6.7, -3.1))

# Hands: the height of the falling hand at the start and the end, its rotation, and its horizontal offset from the other hand. They are
# nearly parallel, so that most bones of one meet bones of the other: then the tests of volumes are close to those of Table 3.
HEIGHTS, FALLING, BESIDE = (0.24, -0.24), ((0.0, 1.0, 0.3), 0.1), (0.03, 0.03)

Mesh = tuple[Rows, Faces]


class Posed(NamedTuple):
    """The transforms (2, 4, 4) of rigid bodies."""

    poses: Rows


class Rigids(NamedTuple):
    """Two rigid bodies; `at` gives the transforms (2, 4, 4) of a frame, and the frames in `shown` are played."""

    meshes: tuple[Mesh, Mesh]
    at: Callable[[int], Rows]
    shown: Sequence[int]

    @property
    def faces(self) -> Faces:
        """The faces of the first body."""
        return self.meshes[0][1]

    @property
    def frames(self) -> int:
        """The number of frames that are played."""
        return len(self.shown)

    def play(self) -> Iterator[Posed]:
        """All frames that are played, in order."""
        return (Posed(self.at(k)) for k in self.shown)

    def start(self) -> Posed:
        """The first frame."""
        return Posed(self.at(self.shown[0]))

    def deep(self) -> Posed:
        """The bodies almost concentric: they intersect in every scene."""
        poses = np.stack([np.eye(4)] * 2)
        poses[1, :3, 3] = AWAY
        return Posed(poses)


def every(step: int) -> range:
    """Every `step`-th of all frames."""
    return range(0, FRAMES, step)


# --- spheres ---------------------------------------------------------------------------------------------------------------------


def spheres(faces: int, shown: Sequence[int]) -> Rigids:
    """Spheres of 20 · 4^k triangles each."""
    vertices, triangles = sphere(faces)
    return Rigids(((RADII[0] * vertices, triangles), (RADII[1] * vertices, triangles)), spheres_at, shown)


def spheres_at(k: int) -> Rows:
    """Frame k: from (−1, 0, 0) and (1, 0, 0) towards each other, and through each other."""
    far = 1 - k / MEETING
    return np.stack([pose(rotation(unit(*axis), speed * k), np.array([side * far, 0, 0]))
                     for side, (axis, speed) in zip((-1, 1), TURNS, strict=True)])  # fmt: skip


# --- knots -----------------------------------------------------------------------------------------------------------------------


def knots(level: int, shown: Sequence[int]) -> Rigids:
    """Two knots of the paper's level 1, 2 or 3."""
    thick = 0.5 * (1 - FREE) * nearest()
    one, other = (tube(start, rows, AROUND[level], thick) for start, rows in zip((0.0, 0.5 * np.pi), ROWS[level], strict=True))
    return Rigids((one, other), knots_at, shown)


def curve(along: Rows, start: float) -> tuple[Rows, Rows]:
    """Points (n, 3) of a knot, and the directions (n, 3) away from the ring; `along` 0 … 2π."""
    turn, wind = 2 * along, 3 * along + start
    outward, up = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1), np.array([0.0, 0.0, 1.0])
    away = np.cos(wind)[:, None] * outward + np.sin(wind)[:, None] * up
    return RING * outward + WINDING * away, away


@cache
def nearest() -> float:
    """The distance between the two knots. By threefold symmetry one third of the way round suffices."""
    one = curve(np.linspace(0, 2 * np.pi / 3, 240), 0.0)[0]
    other = curve(np.linspace(0, 2 * np.pi, 2_880), 0.5 * np.pi)[0]
    return float(np.sqrt(((one[:, None] - other) ** 2).sum(axis=2).min()))


def tube(start: float, rows: int, around: int, thick: float) -> Mesh:
    """A closed tube about a knot, its triangles in a fixed shuffled order."""
    along = 2 * np.pi * np.arange(rows) / rows
    middle, away = curve(along, start)
    ahead = curve(along + 1e-6, start)[0] - middle
    side = np.cross(ahead, away)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    third = np.cross(side, ahead)
    third /= np.linalg.norm(third, axis=1, keepdims=True)
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.cos(angle)[None, :, None] * third[:, None] + np.sin(angle)[None, :, None] * side[:, None]
    vertices = (middle[:, None] + thick * ring).reshape(-1, 3)
    i, j = (index.reshape(-1) for index in np.indices((rows, around)))
    a, b = i * around + j, i * around + (j + 1) % around
    c, d = (i + 1) % rows * around + (j + 1) % around, (i + 1) % rows * around + j
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return vertices, faces[np.random.default_rng(len(faces)).permutation(len(faces))].astype(np.int32)


def knots_at(k: int) -> Rows:
    """Frame k: both rotated together."""
    turn = rotation(unit(0.48, 0.36, 0.80), 4 * np.pi * k / FRAMES) @ rotation(unit(1, 0, 0), 2 * np.pi * k / FRAMES)
    return np.stack([pose(turn, np.zeros(3))] * 2)


# --- quadrupeds and hands --------------------------------------------------------------------------------------------------------


def quadrupeds(faces: int, shown: Sequence[int]) -> Rigids:
    """Two quadrupeds of so many triangles each."""
    return Rigids((quadruped(faces), quadruped(faces)), quadrupeds_at, shown)


def quadrupeds_at(k: int) -> Rows:
    """Frame k: rotated about x, then y, then z, and moved apart."""
    passed = k / (FRAMES - 1)
    away = 0.5 * (APART[0] + (APART[1] - APART[0]) * passed) * unit(*DIRECTION)
    return np.stack([pose(turned(passed * np.array(angles)), side * away) for side, angles in zip((-1, 1), ANGLES, strict=True)])


def turned(angles: Rows) -> Rows:
    """The rotation (3, 3) about x, then y, then z."""
    result = np.eye(3)
    for axis, angle in zip(np.eye(3), angles, strict=True):
        result = rotation(axis, float(angle)) @ result
    return result


def hands(faces: int, shown: Sequence[int]) -> Rigids:
    """Two hands of so many triangles each."""
    return Rigids((hand(faces), hand(faces)), hands_at, shown)


def hands_at(k: int) -> Rows:
    """Frame k: the second falls through the first."""
    height = HEIGHTS[0] + (HEIGHTS[1] - HEIGHTS[0]) * k / (FRAMES - 1)
    axis, angle = FALLING
    return np.stack([np.eye(4), pose(rotation(unit(*axis), angle), np.array([*BESIDE, height]))])
