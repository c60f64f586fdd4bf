"""The first experiment of paper C (thesis 7.4): nine deforming bodies of 81,920 triangles, all reflective, two lights, 280 frames.

The paper shows its bodies but does not define them. These are bumpy balls of coloured metal above a checkered floor. The
camera starts close to them, draws back until all are in view, goes in between two rows, and ends above all of them: in most frames more
than half of them are seen, in some only a few.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError
from pliant.render.animation import Actor, AnimatedScene, CameraPose
from pliant.render.keyframes import interpolate
from pliant.render.materials import Light, Material, Sky
from pliant.shapes import SUBDIVISIONS, bumpy, icosphere

Floats = NDArray[np.float64]

N_FRAMES = 280
FACES = 81_920
SPACING = 2.65  # between the middles of two bodies in a row
METALS = ("#e8b04a", "#d9694f", "#c9ced6", "#4fa3a5", "#e9e2d0", "#7a6fb0", "#c65b7c", "#5b8fd0", "#8fb35a")
FLOOR_HALF_SIDE = 400.0  # half its side

# Key frames of the camera: frame, eye, what it looks at.
CAMERA_KEYS = (
    (0, (5.2, -6.6, 2.6), (0.4, -0.4, 1.0)),
    (60, (7.7, -6.9, 4.4), (0.15, -0.1, 0.85)),
    (120, (1.4, -11.5, 3.4), (0.0, 0.0, 0.9)),
    (170, (-1.35, -6.2, 1.25), (-1.3, 2.0, 1.15)),
    (200, (-1.33, -2.4, 1.15), (-3.6, 2.6, 1.35)),
    (240, (-7.5, -7.2, 4.3), (-0.1, -0.1, 0.95)),
    (279, (-7.4, 6.6, 5.8), (0.0, 0.0, 0.6)),
)


def make_demo_spheres(faces: int = FACES) -> AnimatedScene:
    """The show; `faces` a body: 320, 1280, 5120, 20480, 81920 or 327680."""
    if faces not in SUBDIVISIONS:
        raise ArgumentError(f"faces must be one of {', '.join(map(str, SUBDIVISIONS))}, not {faces!r}")
    directions, triangles = icosphere(SUBDIVISIONS[faces])
    actors = [Actor(triangles, Material.mirror(tint, 0.84), partial(sphere_at, directions, body)) for body, tint in enumerate(METALS)]
    square = np.array([[-FLOOR_HALF_SIDE, -FLOOR_HALF_SIDE, 0.0], [FLOOR_HALF_SIDE, -FLOOR_HALF_SIDE, 0.0],
                       [FLOOR_HALF_SIDE, FLOOR_HALF_SIDE, 0.0], [-FLOOR_HALF_SIDE, FLOOR_HALF_SIDE, 0.0]])
    floor = Material(colour=(0.74, 0.73, 0.72), second=(0.50, 0.53, 0.58), checker=1.325, reflect=0.06)
    actors.append(Actor(np.array([[0, 1, 2], [0, 2, 3]], np.int32), floor, lambda frame: square, moves=False))
    lights = [Light((-7.0, -9.0, 13.0), (1.0, 0.93, 0.82), 1.15, radius=0.9), Light((11.0, 3.0, 9.0), (0.72, 0.84, 1.0), 0.55, radius=0.9)]
    sky = Sky((0.17, 0.34, 0.68), (0.93, 0.94, 0.96), (0.36, 0.35, 0.34), ambient=0.36, haze=75.0)
    return AnimatedScene("nine", N_FRAMES, actors, lights, sky, camera_pose, poster=246)


def sphere_at(directions: Floats, body: int, frame: int) -> Floats:
    """Vertices of a body: a bumpy ball that bobs up and down above its place in three rows of three."""
    rng, time = np.random.default_rng([9, body]), frame / 25.0
    amplitude, pitch, pace, phase = rng.uniform(0.16, 0.24), rng.uniform(0.42, 0.62), rng.uniform(0.8, 1.2), rng.uniform(0.0, 50.0)
    row, column = divmod(body, 3)
    height = 1.3 + 0.16 * np.sin(1.1 * pace * time + phase)
    centre = np.array([SPACING * (column - 1) + rng.uniform(-0.15, 0.15), SPACING * (row - 1) + rng.uniform(-0.15, 0.15), height])
    return np.asarray(bumpy(directions, phase + 0.8 * pace * time, amplitude, pitch) + centre)


def camera_pose(frame: int) -> CameraPose:
    """The camera on its smooth path."""
    frames, eyes, targets = (np.array(column, np.float64) for column in zip(*CAMERA_KEYS, strict=True))
    eye, target = interpolate(frames, eyes, frame), interpolate(frames, targets, frame)
    return CameraPose((eye[0], eye[1], eye[2]), (target[0], target[1], target[2]), 42.0)
