"""An animation of files as a scene: every body in a colour of its own, one light, and a camera that stands still and sees all of it.

Bodies are those of `pliant check`: they keep the motion of the file, and their vertices are welded. The camera is chosen from some frames,
evenly spaced, since looking at all of them takes as long as drawing them.
"""

from __future__ import annotations

import colorsys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.io.animation import Animation, Settings
from pliant.io.read import read
from pliant.render.animation import AnimatedScene, CameraPose, FrameTimes, Playback
from pliant.render.materials import Light, Material, Sky
from pliant.render.scene import RenderScene

Floats = NDArray[np.float64]

COMPARED_FRAMES = 5  # that the camera is chosen from
FIELD_OF_VIEW = 35.0  # degrees
VIEW_DIRECTION = 0.45, -0.8, 0.4  # from the bodies to the eye, z up
LIGHT_DIRECTION = 0.9, -0.7, 1.6
GOLDEN = 0.61803398875  # of a turn of hue: neighbours differ


def read_file_scene(paths: Sequence[str | Path], settings: Settings, **options: Any) -> FileScene:
    """The scene of some files; options are those of `Body`."""
    animation = read(paths, settings)
    bodies = [actor.at(0, weld=True, **options) for actor in animation.actors]
    low, high = _visible_box(animation, bodies)
    center, radius = 0.5 * low + 0.5 * high, max(float(np.linalg.norm(0.5 * high - 0.5 * low)), 1e-6)
    eye = center + _turned(animation.up, VIEW_DIRECTION) * radius / np.sin(np.radians(0.5 * FIELD_OF_VIEW))
    light = center + _turned(animation.up, LIGHT_DIRECTION) * 4 * radius
    up = (0.0, 0.0, 1.0) if animation.up == "z" else (0.0, 1.0, 0.0)
    pose = CameraPose(_point(eye), _point(center), FIELD_OF_VIEW, up)
    return FileScene(animation.name, animation.frames, [], [Light(_point(light), strength=0.9)], Sky(), lambda frame: pose, animation.rate,
                     animation=animation, bodies=bodies)  # fmt: skip


def _visible_box(animation: Animation, bodies: list[Body]) -> tuple[Floats, Floats]:
    """The box of all bodies in some frames. Bodies are taken back to frame 0."""
    boxes = []
    for frame in sorted(set(np.linspace(0, animation.frames - 1, COMPARED_FRAMES).astype(int).tolist()), reverse=True):
        for place, actor in enumerate(animation.actors):
            bodies[place] = actor.at(frame, bodies[place], weld=True)
            boxes += [bodies[place].bounds] if len(bodies[place]) else []
    if not boxes:
        return np.zeros(3), np.zeros(3)
    return np.min([box[0] for box in boxes], axis=0), np.max([box[1] for box in boxes], axis=0)


def _turned(up: str, direction: tuple[float, float, float]) -> Floats:
    """A direction of length 1 for z up, where another axis may be."""
    x, y, z = np.array(direction) / np.linalg.norm(direction)
    return np.array([x, y, z] if up == "z" else [x, z, -y])


def _point(values: Floats) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _material(place: int) -> Material:
    """The material of a body by its place."""
    return Material.glossy(colorsys.hsv_to_rgb((0.58 + place * GOLDEN) % 1.0, 0.45, 0.85), gloss=0.2, smooth=False)


@dataclass(frozen=True)
class FileScene(AnimatedScene):
    """A scene whose bodies are those of an animation; `actors` is empty."""

    animation: Animation = field(default=Animation("", (), 1))
    bodies: list[Body] = field(default_factory=list)

    def playback(self, **options: Any) -> FilePlayback:
        """The bodies, ready to be moved. They exist already, with their options."""
        return FilePlayback(self)


class FilePlayback(Playback):
    """The bodies of a `FileScene` on a stage."""

    def __init__(self, show: FileScene) -> None:
        self.show, self.stage, self._actors = show, RenderScene(show.lights, show.sky), show.animation.actors
        self._moving = list(show.bodies)
        self._ids = [self.stage.add(body, _material(place)) for place, body in enumerate(self._moving)]

    def move(self, frame: int) -> FrameTimes:
        """Move all bodies to a frame. What it takes to read the frame is not told from what it takes to update bodies."""
        before = time.perf_counter()
        for place, actor in enumerate(self._actors):
            body = actor.at(frame, self._moving[place], weld=True)
            if body is not self._moving[place]:  # its faces have changed
                self.stage.remove(self._ids[place])
                self._moving[place], self._ids[place] = body, self.stage.add(body, _material(place))
        started = time.perf_counter()
        return FrameTimes(started, started - before, 0.0)

    @property
    def bodies(self) -> list[Body]:
        """Those on stage, one for each actor."""
        return list(self._moving)
