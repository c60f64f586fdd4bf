"""A show: bodies, how they move, lights and a camera, over a number of frames. And its performance: the same as bodies that are drawn.

Shapes of frames are functions, so that any frame can be drawn alone. An actor may have several trees, built on different frames, of which
the one that fits best is on stage: that is how the paper traces a soup of triangles between key frames (thesis C 7.4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.errors import ArgumentError
from pliant.render.camera import Camera
from pliant.render.materials import Light, Material, Sky
from pliant.render.scene import RenderScene

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]


class Actor(NamedTuple):
    """A body of a show.

    shape : vertices (n, 3) at a frame, a new array each time; an actor that does not move has the same at all
    trees : frames that trees are built on; `tree` says which of these is used at a frame
    """

    faces: Faces
    material: Material
    shape: Callable[[int], Floats]
    moves: bool = True
    trees: tuple[int, ...] = (0,)
    tree: Callable[[int], int] = lambda frame: 0


class CameraPose(NamedTuple):
    """Where the camera is at a frame."""

    eye: tuple[float, float, float]
    look_at: tuple[float, float, float]
    field_of_view: float = 40.0
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def camera(self, width: int, height: int) -> Camera:
        """The camera for a picture of this size."""
        return Camera(self.eye, self.look_at, self.up, self.field_of_view, width, height)


@dataclass(frozen=True)
class AnimatedScene:
    """Everything that is to be seen.

    view : the camera at a frame
    poster : the frame that stands for all where only one is drawn
    settings : what the show would like of `Settings`; a user may want otherwise
    """

    name: str
    frames: int
    actors: list[Actor]
    lights: list[Light]
    sky: Sky
    view: Callable[[int], CameraPose]
    rate: float = 25.0
    poster: int = 0
    settings: Mapping[str, Any] | None = None

    @property
    def faces(self) -> int:
        """Triangles of all actors."""
        return sum(len(actor.faces) for actor in self.actors)

    def shapes(self, frame: int) -> list[Floats | None]:
        """Vertices of all actors at a frame, made anew each time; None for those that do not move."""
        if not 0 <= frame < self.frames:
            raise ArgumentError(f"frame must be in 0 … {self.frames - 1}, not {frame}")
        return [actor.shape(frame) if actor.moves else None for actor in self.actors]

    def camera(self, frame: int, width: int, height: int) -> Camera:
        """The camera of a frame, for a picture of this size."""
        return self.view(frame).camera(width, height)

    def playback(self, **options: Any) -> Playback:
        """The bodies, with their BVHs. Options are those of `Body`."""
        return Playback(self, **options)


class FrameTimes(NamedTuple):
    """When a frame began, and what came before any ray: seconds that formulas took for new shapes, and bodies for their update."""

    started: float
    deform: float
    update: float


class Playback:
    """The bodies of a show on a stage, its own or another one; `move` takes them to a frame. Options are those of `Body`."""

    def __init__(self, show: AnimatedScene, stage: RenderScene | None = None, **options: Any) -> None:
        self.show, self.stage = show, stage or RenderScene(show.lights, show.sky)
        self._bodies = [[pliant.Body(actor.shape(frame), actor.faces, **options) for frame in actor.trees] for actor in show.actors]
        self._current_tree = [actor.tree(0) for actor in show.actors]
        self._ids = [self.stage.add(bodies[tree], actor.material)
                     for actor, bodies, tree in zip(show.actors, self._bodies, self._current_tree, strict=True)]  # fmt: skip

    def move(self, frame: int) -> FrameTimes:
        """Let all bodies take their shapes of a frame. The frame begins when these are known."""
        before = time.perf_counter()
        shapes = self.show.shapes(frame)
        started = time.perf_counter()
        self.set_shapes(frame, shapes)
        return FrameTimes(started, started - before, time.perf_counter() - started)

    def set_shapes(self, frame: int, shapes: Sequence[Floats | None]) -> None:
        """Let all bodies take these shapes, which are lent; those of None stay as they are."""
        for k, (actor, shape) in enumerate(zip(self.show.actors, shapes, strict=True)):
            tree = actor.tree(frame)
            if tree != self._current_tree[k]:
                self.stage.remove(self._ids[k])
                self._ids[k], self._current_tree[k] = self.stage.add(self._bodies[k][tree], actor.material), tree
            if shape is not None:
                self._bodies[k][tree].update(shape, copy=False)

    @property
    def bodies(self) -> list[pliant.Body]:
        """Those on stage, one for each actor."""
        return [bodies[now] for bodies, now in zip(self._bodies, self._current_tree, strict=True)]
