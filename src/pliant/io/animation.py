"""What a file of an animation is read into: actors, each a mesh that knows where it is in every frame.

An actor hands out bodies of the motion that suits it (free, rigid, morphing, blended), so that the fast bounds apply. It reads a frame when
it is asked for one and keeps none: memory is flat in the number of frames. Frames may be asked for in any order, by several threads, each
with bodies of its own.

Invariant: `frame` counts from 0 to `Animation.frames − 1`; an actor that has ended stays as it is.
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

DEFAULT_RATE = 30.0  # frames a second, where neither the file nor the user says


class Settings(NamedTuple):
    """What a user may say about reading."""

    rate: float | None = None  # frames a second: of clips, how finely they are looked at; of frames without times, how fast they play
    clip: str | None = None  # the name or the number of an animation, where a file has several


DEFAULT_SETTINGS = Settings()  # nothing is said


class Actor:
    """A mesh of an animation. Subclasses say where it is.

    `kind`: how it moves: "free", "rigid", "morph", "blended", or "soup", whose faces differ from frame to frame; `frames`: how many it has.
    """

    kind = "free"

    def __init__(self, name: str, frames: int) -> None:
        self.name, self.frames = display_name(name), frames

    def clamp_frame(self, frame: int) -> int:
        """The frame that is shown: the last one, for an actor that has ended."""
        if frame < 0:
            raise ArgumentError(f"frame: expected 0 or more, got {frame}")
        return min(frame, self.frames - 1)

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        """The body in that frame: the one that an earlier call gave, moved; or a new one, made with these options of `Body`, where there is
        none yet or faces are others now."""
        raise NotImplementedError


class MovingActor(Actor):
    """An actor whose body is made once and then moved, by few numbers a frame. What a body refuses is the fault of `path`, the file."""

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
        """The body, wherever it is."""
        raise NotImplementedError

    def _move(self, body: Body, frame: int) -> None:
        """Bring the body to where it is in a frame."""
        raise NotImplementedError


class FrameActor(Actor):
    """An actor whose vertices and faces are read frame by frame: `read(frame)` gives (vertices (n, 3), faces (f, 3)), and the very same
    array of faces as long as they do not change, unless `soup`. An actor that meets other faces later becomes a soup then.

    A frame with the faces of frame 0 has the body that was made there, moved; a frame with others has a body of its own: which vertices are
    welded, and so what meets, must not depend on the frames that somebody has asked for before.

    `source`: the file of the frames, or a function that names that of each; errors begin with it.
    """

    def __init__(self, name: str, frames: int, read: Callable[[int], Mesh], soup: bool = False,
                 source: Path | Callable[[int], Path] | None = None) -> None:  # fmt: skip
        super().__init__(name, frames)
        self._read, self._source = read, source
        self._first_frame: tuple[int, Faces] | None = None  # vertices and faces of frame 0
        if soup:
            self.kind = "soup"

    def mesh(self, frame: int) -> Mesh:
        """Vertices and faces in that frame, as they were read."""
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

    @contextmanager
    def _error_context(self, frame: int) -> Iterator[None]:
        """What a body refuses is the fault of a file, which the error names."""
        try:
            yield
        except MeshError as error:
            source = self._source(frame) if callable(self._source) else self._source
            if source is None:
                raise
            raise refuse(source, f"{self.name}, frame {frame}: {error}") from None


class Animation(NamedTuple):
    """All actors of a scene, and what a file says of them as a whole."""

    name: str
    actors: Sequence[Actor]
    frames: int
    rate: float = DEFAULT_RATE  # frames a second
    up: str = ""  # "x", "y" or "z"; empty where the file does not say
    unit: str = ""  # of lengths, such as "m" or "mm"; empty where the file does not say
    notes: tuple[str, ...] = ()  # what was left out or assumed, a sentence each
    files: tuple[Path, ...] = ()  # everything that was read or will be
    asked: Settings = DEFAULT_SETTINGS  # what the user said about reading
