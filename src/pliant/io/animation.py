"""The result of reading a file: an animation of actors, each a mesh with a position in every frame.

An actor makes bodies of the motion that suits it (free, rigid, morphing, blended), so that the fast bounds of that motion apply. It reads a
frame when it is needed and keeps none, so memory does not grow with the number of frames. Frames may be read in any order and by several
threads, each with its own bodies.

Invariant: `frame` counts from 0 to `Animation.frames − 1`; after its last frame an actor is static.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.errors import ArgumentError, MeshError
from pliant.io.limits import display_name, refuse

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]
Mesh = tuple[Floats, Faces]

#: The frame of the rest pose, for actors that have one.
REST = -1

#: Frames per second, if neither the file nor the settings have them.
DEFAULT_RATE = 30.0


class Settings(NamedTuple):
    """Options of readers.

    rate : frames per second: how often a clip is sampled, or how fast frames without times are played; None: as the file says, or 30
    clip : the name or the number of a clip, for files with several; None: the first one
    """

    rate: float | None = None
    clip: str | None = None


DEFAULT_SETTINGS = Settings()


class Actor:
    """A mesh of an animation. Subclasses implement `at`.

    name : for people, one line
    frames : the number of its frames
    kind : how it moves: "free", "rigid", "morph", "blended", or "soup", whose faces differ from frame to frame
    has_rest : whether `rest` knows a pose without the animation
    materials : the names of its materials, or None
    material_of_face : (f,) int32 the material of each face, −1 for none; or None
    polygon_of_face : (f,) int32 the polygon of the file that each triangle is part of; or None: each is its own
    """

    kind = "free"
    has_rest = False
    materials: list[str] | None = None
    material_of_face: NDArray[np.int32] | None = None
    polygon_of_face: NDArray[np.int32] | None = None

    def __init__(self, name: str, frames: int) -> None:
        self.name, self.frames = display_name(name), frames

    def clamp_frame(self, frame: int) -> int:
        """`frame`, or the last frame of this actor if that is earlier."""
        if frame < 0:
            raise ArgumentError(f"frame: expected 0 or more, got {frame}")
        return min(frame, self.frames - 1)

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        """The body of this actor, updated to a frame.

        body : the body that an earlier call returned, which is updated; a new body is made without it, or if the faces have changed
        options : keywords of `Body`, for a new body
        """
        raise NotImplementedError

    def rest(self, **options: Any) -> Body:
        """The body of this actor in its rest pose: where it is without an animation. An error for actors that move and have none.

        options : keywords of `Body`
        """
        if self.frames > 1:
            raise ArgumentError(f"rest: {self.name} has no rest pose")
        return self.at(0, **options)


class MovingActor(Actor):
    """An actor whose body is made once and then updated with few numbers per frame: a base class for rigid, morphing and blended actors.

    Subclasses implement `_make_body(**options)` and `_move(body, frame)`. A `MeshError` of these becomes a `FileError` that names `path`.
    Where `has_rest`, `_move` also takes the frame REST.
    """

    def __init__(self, path: Path, name: str, frames: int) -> None:
        super().__init__(name, frames)
        self._path = path

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        return self._at(self.clamp_frame(frame), body, options)

    def rest(self, **options: Any) -> Body:
        return self._at(REST, None, options) if self.has_rest else super().rest(**options)

    def _at(self, frame: int, body: Body | None, options: dict[str, Any]) -> Body:
        try:
            is_static = body is not None and self.frames == 1
            body = self._make_body(**options) if body is None else body
            if not is_static:
                self._move(body, frame)
        except MeshError as error:
            raise refuse(self._path, f"{self.name}, {'rest pose' if frame == REST else f'frame {frame}'}: {error}") from None
        return body

    def _make_body(self, **options: Any) -> Body:
        """A new body, at any frame."""
        raise NotImplementedError

    def _move(self, body: Body, frame: int) -> None:
        """Update the body to a frame."""
        raise NotImplementedError


class FrameActor(Actor):
    """An actor whose vertices and faces are read frame by frame.

    read : `read(frame)` returns (vertices (n, 3), faces (f, 3)); the same array object of faces as long as they do not change
    soup : the faces change from frame to frame; an actor whose faces change later becomes a soup then
    has_rest : `read(REST)` returns the rest pose
    source : the file of the frames, or a function from frame to file; error messages begin with it

    Frames with the faces of frame 0 share one body, which is made from frame 0; a frame with other faces has its own. So the vertices that
    are welded, and with them the results, do not depend on the order in which frames are read.
    """

    def __init__(self, name: str, frames: int, read: Callable[[int], Mesh], soup: bool = False,
                 source: Path | Callable[[int], Path] | None = None, has_rest: bool = False) -> None:  # fmt: skip
        super().__init__(name, frames)
        self._read, self._source, self.has_rest = read, source, has_rest
        self._first_frame: tuple[int, Faces] | None = None  # vertices and faces of frame 0
        if soup:
            self.kind = "soup"

    def mesh(self, frame: int) -> Mesh:
        """Vertices and faces of a frame, as read."""
        return self._read(self.clamp_frame(frame))

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        frame = self.clamp_frame(frame)
        vertices, faces = self._read(frame)
        start = None
        if self._first_frame is None:
            start = (vertices, faces) if frame == 0 else self._read(0)
            self._first_frame = len(start[0]), start[1]
        count, first_faces = self._first_frame
        if len(vertices) != count or not (faces is first_faces or np.array_equal(faces, first_faces)):
            self.kind = "soup"
            with self._error_context(frame):
                return Body(vertices, faces, **options)
        if body is None or body._motion.count != count or not np.array_equal(body.faces, first_faces):
            with self._error_context(0):
                body = Body(*((vertices, faces) if frame == 0 else start or self._read(0)), **options)
        with self._error_context(frame):
            body.update(vertices)
        return body

    def rest(self, **options: Any) -> Body:
        return Body(*self._read(REST), **options) if self.has_rest else super().rest(**options)

    @contextmanager
    def _error_context(self, frame: int) -> Iterator[None]:
        """A `MeshError` of a body becomes a `FileError` that names the file, the actor and the frame."""
        try:
            yield
        except MeshError as error:
            source = self._source(frame) if callable(self._source) else self._source
            if source is None:
                raise
            raise refuse(source, f"{self.name}, frame {frame}: {error}") from None


class Animation(NamedTuple):
    """All actors of a scene.

    name : for people, one line
    actors : the meshes
    frames : the number of frames: that of the longest actor
    rate : frames per second
    up : the axis that points up, "x", "y" or "z"; empty if unknown
    unit : of lengths, such as "m" or "mm"; empty if unknown
    notes : sentences about what was left out or assumed
    files : all files that were read or will be
    asked : the settings that `read` was called with
    frame_labels : what people call each frame, such as its number in the program that wrote the file; None: its number
    """

    name: str
    actors: Sequence[Actor]
    frames: int
    rate: float = DEFAULT_RATE
    up: str = ""
    unit: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    asked: Settings = DEFAULT_SETTINGS
    frame_labels: list[str] | None = None
