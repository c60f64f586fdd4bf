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
    polygon_of_face : (f,) int32, the polygon of each face of frame 0 by its number in the file, counted from 0; in files of simulations the
        cell. None: face i is polygon i, as in files of triangles
    """

    kind = "free"
    polygon_of_face: Faces | None = None

    def __init__(self, name: str, frames: int) -> None:
        self.name, self.frames = display_name(name), frames

    def clamp_frame(self, frame: int) -> int:
        """`frame`, or the last frame of this actor if that is earlier."""
        if frame < 0:
            raise ArgumentError(f"frame: expected 0 or more, got {frame}")
        return min(frame, self.frames - 1)

    def polygons_at(self, frame: int) -> Faces | None:
        """`polygon_of_face` in a frame, which differs only if faces do. A soup may have to read that frame again."""
        return self.polygon_of_face

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        """The body of this actor, updated to a frame.

        body : the body that an earlier call returned, which is updated; a new body is made without it, or if the faces have changed
        options : keywords of `Body`, for a new body
        """
        raise NotImplementedError


class MovingActor(Actor):
    """An actor whose body is made once and then updated with few numbers per frame: a base class for rigid, morphing and blended actors.

    Subclasses implement `_make_body(**options)` and `_move(body, frame)`. A `MeshError` of these becomes a `FileError` that names `path`.
    """

    def __init__(self, path: Path, name: str, frames: int) -> None:
        super().__init__(name, frames)
        self._path = path

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        clamped = self.clamp_frame(frame)
        try:
            is_static = body is not None and self.frames == 1
            body = self._make_body(**options) if body is None else body
            if not is_static:
                self._move(body, clamped)
        except MeshError as error:
            raise refuse(self._path, f"{self.name}, frame {frame}: {error}") from None
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
    source : the file of the frames, or a function from frame to file; error messages begin with it
    polygon_of_face : (f,) the polygon of each face of frame 0; None: face i is polygon i
    read_polygons : the same of a frame, if faces may change

    Frames with the faces of frame 0 share one body, which is made from frame 0; a frame with other faces has its own. So the vertices that
    are welded, and with them the results, do not depend on the order in which frames are read.
    """

    def __init__(self, name: str, frames: int, read: Callable[[int], Mesh], soup: bool = False,
                 source: Path | Callable[[int], Path] | None = None, polygon_of_face: Faces | None = None,
                 read_polygons: Callable[[int], Faces | None] | None = None) -> None:  # fmt: skip
        super().__init__(name, frames)
        self._read, self._source = read, source
        self.polygon_of_face, self._read_polygons = polygon_of_face, read_polygons
        self._first_frame: tuple[int, Faces] | None = None  # vertices and faces of frame 0
        if soup:
            self.kind = "soup"

    def mesh(self, frame: int) -> Mesh:
        """Vertices and faces of a frame, as read."""
        return self._read(self.clamp_frame(frame))

    def polygons_at(self, frame: int) -> Faces | None:
        return self.polygon_of_face if self._read_polygons is None else self._read_polygons(self.clamp_frame(frame))

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
