"""The result of reading a file: an animation of actors, each a mesh with a position in every frame.

An actor makes bodies of the motion that suits it (free, rigid, morphing, blended), so that the fast bounds of that motion apply. It reads a
frame when it is needed and keeps none, so memory does not grow with the number of frames. Frames may be read in any order and by several
threads, each with its own bodies.

Invariant: `frame` counts from 0 to `Animation.frames − 1`; after its last frame an actor is static.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.core import validate_weld
from pliant.errors import ArgumentError, MeshError
from pliant.io.limits import display_name, refuse
from pliant.welding import WeldMap, has_welded, make_weld_map, split_welds

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]
Mesh = tuple[Floats, Faces]

#: The frame of the rest pose, for actors that have one.
REST = -1

#: Frames per second, if neither the file nor the settings have them.
DEFAULT_RATE = 30.0


class Settings(NamedTuple):
    """Options of readers.

    rate : samples per second, of clips and of time samples; between frames, vertices are interpolated linearly. None: the frames of the
        file, or of a clip those of the program that baked it, else 30 a second
    clip : names or numbers of clips that are played, or "all", for files with several; None: those that move different nodes
    numbered : what numbered files are: "frames" of one animation or "bodies"; None: frames if faces are the same, bodies if all differ
    start : the number of the first frame, for people; None: as the file says, or 0
    """

    rate: float | None = None
    clip: str | tuple[str, ...] | None = None
    numbered: str | None = None
    start: int | None = None

    @property
    def clips(self) -> tuple[str, ...]:
        """The clips that are wanted; none if nothing is said."""
        return () if self.clip is None else (self.clip,) if isinstance(self.clip, str) else tuple(self.clip)


DEFAULT_SETTINGS = Settings()


class Actor:
    """A mesh of an animation. Subclasses implement `at`.

    name : for people, one line
    frames : the number of its frames
    kind : how it moves: "free", "rigid", "morph", "blended", or "soup", whose faces differ from frame to frame
    has_rest : whether `rest` knows a pose without the animation
    source_name : what it is called in the file, such as the path of a prim; the name, if nothing else is known
    materials : names of the materials of its faces in frame 0; None if the file names none
    material_of_face : (f,) int32, the material of each face, −1 for none; None with `materials`
    polygon_of_face : (f,) int32, the polygon of each face of frame 0 by its number in the file, counted from 0; in files of simulations the
        cell. None: face i is polygon i, as in files of triangles
    """

    kind = "free"
    has_rest = False
    materials: list[str] | None = None
    material_of_face: Faces | None = None
    polygon_of_face: Faces | None = None

    def __init__(self, name: str, frames: int) -> None:
        self.name, self.frames = display_name(name), frames
        self.source_name = self.name

    def take_materials(self, materials: list[str] | None, material_of_face: Faces | None) -> None:
        """Take the materials of the faces of frame 0, if the file names any."""
        if materials and material_of_face is not None:
            self.materials, self.material_of_face = materials, material_of_face

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
    polygon_of_face : (f,) the polygon of each face of frame 0; None: face i is polygon i
    read_polygons : the same of a frame, if faces may change

    welds : `welds(tolerance)` is the weld map of vertices that stay together, where that follows from what moves them

    Frames with the faces of frame 0 share one body, which is made from frame 0; a frame with other faces has its own. Vertices are welded
    if they are together in all frames with the faces of frame 0 (`find_welds`), whichever frame is read first. So results do not depend on
    the order in which frames are read, nor on which are.
    """

    def __init__(self, name: str, frames: int, read: Callable[[int], Mesh], soup: bool = False,
                 source: Path | Callable[[int], Path] | None = None, polygon_of_face: Faces | None = None,
                 read_polygons: Callable[[int], Faces | None] | None = None,
                 welds: Callable[[float], WeldMap] | None = None, has_rest: bool = False) -> None:  # fmt: skip
        super().__init__(name, frames)
        self._read, self._source, self._known_welds, self.has_rest = read, source, welds, has_rest
        self.polygon_of_face, self._read_polygons = polygon_of_face, read_polygons
        self._weld_lock, self._welds = threading.Lock(), dict[float, WeldMap]()  # by tolerance
        self._first_frame: tuple[int, Faces] | None = None  # vertices and faces of frame 0
        if soup:
            self.kind = "soup"

    def source_of(self, frame: int) -> Path | None:
        """The file of a frame, if it is known."""
        return self._source(frame) if callable(self._source) else self._source

    def mesh(self, frame: int) -> Mesh:
        """Vertices and faces of a frame, as read."""
        return self._read(self.clamp_frame(frame))

    def polygons_at(self, frame: int) -> Faces | None:
        return self.polygon_of_face if self._read_polygons is None else self._read_polygons(self.clamp_frame(frame))

    def first_welds(self, tolerance: float) -> WeldMap:
        """The weld map of the positions of frame 0, or that of all frames, if no other frame can change it."""
        vertices, faces = self._read(0)
        self._first_frame = len(vertices), faces
        if self._known_welds is not None:
            self._welds[tolerance] = self._known_welds(tolerance)
            return self._welds[tolerance]
        found = make_weld_map(tolerance, [vertices] if np.isfinite(vertices).all() else [], len(vertices))
        return np.arange(len(vertices), dtype=np.int32) if found is None else found

    def refined_welds(self, welds: WeldMap, frame: int, tolerance: float) -> WeldMap:
        """Without vertices that are apart in a frame. A frame with other faces says nothing, nor does one that no body can have."""
        vertices, faces = self._read(frame)
        if not self._has_first_faces(vertices, faces) or not np.isfinite(vertices).all():
            return welds
        return split_welds(welds, vertices, tolerance)

    def welds(self, tolerance: float) -> WeldMap | None:
        """The weld map of all frames, if it is known."""
        return self._welds.get(tolerance)

    def set_welds(self, tolerance: float, welds: WeldMap) -> None:
        """Take a weld map of all frames."""
        self._welds[tolerance] = welds

    def _has_first_faces(self, vertices: Floats, faces: Faces) -> bool:
        """Are these the faces of frame 0, with as many vertices?"""
        assert self._first_frame is not None
        count, first_faces = self._first_frame
        return len(vertices) == count and (faces is first_faces or np.array_equal(faces, first_faces))

    def at(self, frame: int, body: Body | None = None, **options: Any) -> Body:
        frame = self.clamp_frame(frame)
        vertices, faces = self._read(frame)
        start = None
        if self._first_frame is None:
            start = (vertices, faces) if frame == 0 else self._read(0)
            self._first_frame = len(start[0]), start[1]
        if not self._has_first_faces(vertices, faces):
            self.kind = "soup"
            with self._error_context(frame):
                return Body(vertices, faces, **options)
        count, first_faces = self._first_frame
        if body is None or body._motion.count != count or not np.array_equal(body.faces, first_faces):
            options["weld"] = self._weld_option(options.get("weld", False))
            with self._error_context(0):
                body = Body(*((vertices, faces) if frame == 0 else start or self._read(0)), **options)
        with self._error_context(frame):
            body.update(vertices)
        return body

    def _weld_option(self, weld: Any) -> Any:
        """What `weld` is for the body of frame 0: vertices that stay together in all frames."""
        tolerance = validate_weld.weld("weld", weld)
        if not isinstance(tolerance, float) or self.frames == 1:
            return weld
        with self._weld_lock:
            if tolerance not in self._welds:
                find_welds([self], tolerance)
            return self._welds[tolerance] if has_welded(self._welds[tolerance]) else False

    def rest(self, **options: Any) -> Body:
        if not self.has_rest:
            return super().rest(**options)
        return Body(*self._read(REST), **{**options, "weld": self._weld_option(options.get("weld", False))})

    @contextmanager
    def _error_context(self, frame: int) -> Iterator[None]:
        """A `MeshError` of a body becomes a `FileError` that names the file, the actor and the frame."""
        try:
            yield
        except MeshError as error:
            source = self.source_of(frame)
            if source is None:
                raise
            raise refuse(source, f"{self.name}, frame {frame}: {error}") from None


def find_welds(actors: Sequence[Actor], tolerance: float, progress: Callable[[int, int], None] | None = None) -> None:
    """Find out which vertices of the actors stay together in all frames; each actor keeps its weld map. Frames are read once, one after the
    other, until no vertices are together any more: of a mesh without duplicate vertices that is frame 0 alone. Rigid, morphing and blended
    bodies need no frames: their targets and weights tell.

    tolerance : 0 for equal positions, or the largest distance of one step
    progress : called with the number of frames that were read and of those that may be read
    """
    pending: dict[FrameActor, WeldMap] = {}
    for actor in actors:
        if isinstance(actor, FrameActor) and actor.frames > 1 and actor.welds(tolerance) is None:
            pending[actor] = actor.first_welds(tolerance)
    total = max((actor.frames for actor in pending), default=0)
    for frame in range(1, total + 1):
        for actor, welds in list(pending.items()):
            if frame < actor.frames and actor.welds(tolerance) is None and has_welded(welds):
                pending[actor] = actor.refined_welds(welds, frame, tolerance)
            else:
                actor.set_welds(tolerance, pending.pop(actor))
        if not pending:
            break
        if progress:
            progress(frame, total)


class ClipInfo(NamedTuple):
    """A clip of a file.

    name : for people, one line
    seconds : from its first key to its last
    plays : whether it is played
    """

    name: str
    seconds: float
    plays: bool


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
    clips : the clips of the files, if these have any
    frame_labels : what frames are called in the program that the animation is from, such as "1001"; None: as here, from 0
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
    clips: tuple[ClipInfo, ...] = ()
    frame_labels: list[str] | None = None
