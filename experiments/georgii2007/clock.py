"""The clock of the image-engine experiments: methods take turns on meshes in self-collision, and every frame is timed and its work counted.

A frame is all parts of a scene as one mesh; the query is its self-collision without faces that share a vertex. TREE methods keep a body:
`update`, and a query. IMAGE methods keep nothing: they get vertices and faces as new. On a device both are in place before the clock
starts; in a MOVED method a device computes the vertices itself, from parameters, and that is timed. As in
`experiments/steinemann2008/clock.py` a round plays all frames once, in order, in turns, and the minimum time of each frame counts. Devices
work while the processor waits: their time is always elapsed time.

BVHs and the conservative mode must find the same pairs. The sampled mode may miss some, which are counted; it must find no others. Vertices
that a device has computed may differ from those of the CPU in the last bits: their pairs are compared with those of a BVH of the same
vertices.

The passes are timed on a few frames of their own: waiting for each pass on a device would slow down all frames.
"""

from __future__ import annotations

import re
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from experiments.bitar2011.clock import Clock, Times, done_by_all, play_rounds
from experiments.clock import COUNTERS, Run, Session
from experiments.georgii2007.creatures import Swarm
from experiments.georgii2007.scenes import Frame, Scene
from pliant.core import device
from pliant.errors import DeviceError

TREE, IMAGE, CUDA, MOVED = "tree", "image", "CUDA", "moved"
COUNTED = ("depth", "passes", "fragments", "rays", "packed", "met", "tests", "sent")  # of ImageStats, in the order of Table 1
MEASURED = 5  # frames whose passes are timed
SLOW = 2  # repetitions, of which the minimum counts


class Way(NamedTuple):
    """A method: TREE, IMAGE, CUDA or MOVED, with options of `Body` or of the image engine. `view`: along the scene's direction; `ends`:
    peel from both ends, or from the near one alone as in the paper, which is no public option."""

    name: str
    kind: str
    options: dict[str, Any]
    view: bool = True
    ends: int = 2

    @property
    def sampled(self) -> bool:
        """May it miss pairs?"""
        return self.options.get("mode") == "sampled"

    def asks(self, scene: Scene) -> dict[str, Any]:
        """The options of the image engine."""
        asked = dict(self.options)
        if self.view:
            asked["direction"] = scene.view
        if self.sampled:
            asked["closed"] = scene.closed
        return asked


def lacking() -> str | None:
    """Why no device can be used; None if one can."""
    try:
        device.require_cuda()
    except DeviceError as error:
        return re.split("[,;(]", str(error).removeprefix("device: "))[0]  # the rest of the message advises users who asked for a device
    return None


# --- keepers ---------------------------------------------------------------------------------------------------------------------


class TreeKeeper:
    """A body with a BVH."""

    def __init__(self, way: Way, scene: Scene) -> None:
        start = scene.frame(0)
        self.body = pliant.Body(start.vertices, start.faces, **way.options)
        self.step(start)

    def step(self, frame: Frame, clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of the update, seconds of the query, and the pairs."""
        t0 = clock()
        self.body.update(frame.vertices)
        t1 = clock()
        found = pliant.self_collide(self.body, adjacent="ignore")
        return t1 - t0, clock() - t1, found


def ask(mesh: tuple[Any, Any], asked: dict[str, Any]) -> Any:
    """The self-collision pairs of a mesh, through the public API."""
    return pliant.self_collide(mesh, adjacent="ignore", engine="image", **asked)


def ask_within(mesh: tuple[Any, Any], asked: dict[str, Any], ends: int = 2, clocked: bool = False) -> Any:
    """The same through an internal function; `clocked`: with seconds by pass."""
    from pliant.image.api import query as answer
    from pliant.image.options import check_options

    return answer({"body": mesh}, False, False, False, check_options(asked)._replace(ends=ends), clocked)


class ImageKeeper:
    """Options alone: nothing is kept between frames."""

    def __init__(self, way: Way, scene: Scene) -> None:
        self.asked, self.ends = way.asks(scene), way.ends
        self.step(scene.frame(0))

    def step(self, frame: Frame, clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """No seconds of updating, seconds of the query, and the pairs."""
        mesh = frame.vertices, frame.faces
        start = clock()
        found = ask(mesh, self.asked) if self.ends == 2 else ask_within(mesh, self.asked, self.ends)
        return 0.0, clock() - start, found

    def passes(self, frame: Frame) -> Any:
        """Seconds of every pass."""
        return ask_within((frame.vertices, frame.faces), self.asked, self.ends, True).image.seconds


class CudaKeeper:
    """Vertices and faces on a device; they are copied there outside the clock."""

    def __init__(self, way: Way, scene: Scene) -> None:
        self.cuda, self.asked = device.require_cuda(), way.asks(scene)
        self.faces = self.cuda.to_device(scene.whole)
        self.step(scene.frame(0))

    def given(self, frame: Frame) -> tuple[Any, Any]:
        """The mesh of a frame on the device, with both copies complete."""
        vertices = self.cuda.to_device(frame.vertices)
        self.cuda.synchronize()
        return vertices, self.faces

    def step(self, frame: Frame, clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """No seconds of updating, seconds of the query, and the pairs, copied back to the host."""
        given = self.given(frame)
        start = time.perf_counter()
        found = ask(given, self.asked)
        return 0.0, time.perf_counter() - start, found

    def passes(self, frame: Frame) -> Any:
        """Seconds of every pass."""
        return ask_within(self.given(frame), self.asked, clocked=True).image.seconds


class MovedKeeper:
    """Vertices computed on a device; their pairs are checked here, once for each frame."""

    def __init__(self, way: Way, scene: Scene) -> None:
        self.cuda, self.asked = device.require_cuda(), way.asks(scene)
        from experiments.georgii2007.scenes_cuda import Mover

        assert scene.swarm is not None
        self.swarm: Swarm = scene.swarm
        self.mover = Mover(self.swarm)
        self.body: pliant.Body | None = None
        self.step(scene.frame(0))

    def step(self, frame: Frame, clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of the motion, seconds of the query, and the pairs, copied back to the host."""
        t0 = time.perf_counter()
        vertices = self.mover.move(self.swarm.played[frame.k])
        self.cuda.synchronize()
        t1 = time.perf_counter()
        found = ask((vertices, self.mover.faces), self.asked)
        return t1 - t0, time.perf_counter() - t1, found

    def exact(self, frame: Frame) -> NDArray[np.int64]:
        """The pairs of a BVH of the device's vertices."""
        vertices = self.mover.move(self.swarm.played[frame.k]).copy_to_host()
        if self.body is None:
            self.body = pliant.Body(vertices, frame.faces)
        self.body.update(vertices)
        return keys_of(pliant.self_collide(self.body, adjacent="ignore"))

    def passes(self, frame: Frame) -> Any:
        """Seconds of every pass."""
        vertices = self.mover.move(self.swarm.played[frame.k])
        self.cuda.synchronize()
        return ask_within((vertices, self.mover.faces), self.asked, clocked=True).image.seconds


KEEPERS: dict[str, Any] = {TREE: TreeKeeper, IMAGE: ImageKeeper, CUDA: CudaKeeper, MOVED: MovedKeeper}


# --- runs ------------------------------------------------------------------------------------------------------------------------


def keys_of(found: Any) -> NDArray[np.int64]:
    """One number for each pair, in order."""
    pairs = np.asarray(found.faces).astype(np.int64)
    return pairs[:, 0] << 32 | pairs[:, 1]


class Track(Times):
    """The record of a method."""

    def __init__(self, way: Way, scene: Scene) -> None:
        super().__init__()
        self.way, self.scene, self.keeper = way, scene, KEEPERS[way.kind](way, scene)
        self.keys: list[NDArray[np.int64]] = []
        self.images: list[Any] = []
        self.seconds: dict[str, float] = {}

    def answer(self, found: Any) -> tuple[float, ...]:
        """The number of pairs; stores them, and the counters of the engine."""
        self.keys.append(keys_of(found))
        self.images.append(getattr(found, "image", None))
        return (len(found),)

    def look_at_passes(self, steps: int) -> None:
        """Time the passes of some frames."""
        if not hasattr(self.keeper, "passes"):
            return
        rows = []
        for k in np.unique(np.linspace(1, steps, min(MEASURED, steps)).astype(int)):
            frame = self.scene.frame(int(k))
            rows.append(np.min([tuple(self.keeper.passes(frame)) for _ in range(SLOW)], axis=0))
        names = type(self.keeper.passes(self.scene.frame(0)))._fields
        self.seconds = dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))

    def run(self, steps: int, like: Track, **about: Any) -> Run:
        """The first `steps` frames as plain values. Times are in ms; lists have an entry for each frame."""
        way = self.way
        run = plain(way, self.scene, steps) | about
        exact = like.keys[:steps]
        if way.kind == MOVED:
            exact = [self.keeper.exact(self.scene.frame(k + 1)) for k in range(steps)]
        run["missed"] = [len(np.setdiff1d(right, mine, True)) for right, mine in zip(exact, self.keys, strict=False)]
        run["wrong"] = [len(np.setdiff1d(mine, right, True)) for right, mine in zip(exact, self.keys, strict=False)]
        run["agrees"] = not any(run["wrong"]) and (way.sampled or not any(run["missed"]))
        run |= self.lists(steps)
        run["pairs"], run["exact"] = [len(keys) for keys in self.keys[:steps]], [len(keys) for keys in exact]
        if self.images and self.images[0] is not None:
            for name in COUNTED:
                run[name] = [int(getattr(image, name)) for image in self.images[:steps]]
            run["estimate"] = [float(image.missed) for image in self.images[:steps]]
        run["passes_ms"] = {name: round(1e3 * seconds, 5) for name, seconds in self.seconds.items()}
        return run


def plain(way: Way, scene: Scene, steps: int) -> Run:
    """The description of a run."""
    return {"method": way.name, "kind": way.kind, "options": way.options, "view": way.view, "part": scene.name, "faces": len(scene.whole),
            "vertices": len(scene.frame(0).vertices), "bodies": len(scene.faces), "steps": steps}  # fmt: skip


def without(way: Way, scene: Scene, why: str, **about: Any) -> Run:
    """A run without a device."""
    lists: Run = {name: [] for name in ("missed", "wrong", "update_ms", "query_ms", "pairs", "exact", *COUNTERS)}
    return plain(way, scene, 0) | about | lists | {"agrees": True, "lacking": why, "passes_ms": {}}


def play(session: Session, title: str, scene: Scene, ways: list[Way], passes: bool = True, **about: Any) -> list[Run]:
    """Let the methods take turns on all frames, once a round; returns a run of each, with `about` in it. The first is the reference.
    Without a device, the runs of methods that need one say so."""
    if session.stopped:
        return []
    why = lacking() if any(way.kind in (CUDA, MOVED) for way in ways) else None
    able = [way for way in ways if why is None or way.kind not in (CUDA, MOVED)]
    tracks: list[Track] = []
    with session.until_stopped():
        session.begin(title, len(able) * scene.frames * session.repeats)
        play_rounds(session, scene, tracks, (Track(way, scene) for way in able))
        if passes:
            for track in tracks:
                track.look_at_passes(scene.frames)
    steps = done_by_all(tracks, len(able))
    if not steps:
        return []
    made = iter([track.run(steps, tracks[0], **about) for track in tracks])
    return [next(made) if way in able else without(way, scene, why or "", **about) for way in ways]
