"""The clock of the ray experiments: methods take turns on a scene, and each frame is timed in three parts.

TAKE is `update` of all moving bodies; REFIT is the work of their policies before rays are cast; RAYS are all queries of a picture, with the
refits that these cause. In the library a BVH is refitted when a query reaches it. Here it is refitted before: all of it for bottom-up
updates, and for hybrid updates the upper levels, through the entry that the first ray would call at the root (`reconstruct`).

Rays are those of the renderer, primary, shadow and mirrored ones. `Recorder` records them once, and every method gets the same rays: the
results do not depend on the BVH. Shading is NumPy, the same for all methods, and in no time.

The rules of `experiments/clock.py` hold: frames are computed outside the clock, methods take turns in a rotating order, a turn begins with
a step that does not count, the minimum time of each step counts, and all methods must find the same hits.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_int64
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from experiments.clock import TURN, Run, Session
from pliant.core import jit
from pliant.core.function_pointer import call_address
from pliant.render.animation import AnimatedScene, Playback
from pliant.render.camera import Camera
from pliant.render.frames import Renderer, Settings
from pliant.render.scene import RenderScene

Floats = NDArray[np.float64]
Clock = Callable[[], float]

MOST = 1 << 20  # primary rays recorded at a time: with all secondary rays about 300 MB
ENTRY = CFUNCTYPE(c_int64, c_int64, c_int64)


class Way(NamedTuple):
    """A method. `casts`: without shadow rays, which have only one traversal; `picture`: a picture is drawn, shading included; `ahead`:
    BVHs are refitted before the rays, otherwise when a ray reaches them."""

    name: str
    tree: str  # a label
    options: dict[str, Any]  # options of `Body`
    threads: int = 1
    traversal: Literal["wide", "stackless"] = "wide"
    casts: bool = False
    picture: bool = False
    ahead: bool = True


# --- queries ---------------------------------------------------------------------------------------------------------------------


class RayQuery(NamedTuple):
    """One query: its rays and their limits; without `farthest` it asks for the nearest hits, else for occlusion."""

    origins: Floats
    directions: Floats
    nearest: Floats
    farthest: Floats | None = None


class Shot(NamedTuple):
    """A frame: its shapes, its camera, the queries of its picture, and the seconds of shading."""

    frame: int
    shapes: list[Floats | None]
    camera: Camera
    asked: list[RayQuery]
    shading: float = 0.0


class Told(NamedTuple):
    """What is stored of a shot after it was played: the number of rays, and the seconds of shading."""

    frame: int
    cast: int
    shadow: int
    shading: float

    @classmethod
    def of(cls, shot: Shot) -> Told:
        cast = sum(len(each.nearest) for each in shot.asked if each.farthest is None)
        return cls(shot.frame, cast, sum(len(each.nearest) for each in shot.asked) - cast, shot.shading)


class Listening(RenderScene):
    """A stage that records queries, and the time of their answers."""

    asked: list[RayQuery]
    seconds: float

    def forget(self, clock: Clock) -> None:
        """Clear the record."""
        self.asked, self.seconds, self.clock = [], 0.0, clock

    def cast(self, origins: Floats, directions: Floats, nearest: Floats) -> Any:
        self.asked.append(RayQuery(origins, directions, nearest))
        start = self.clock()
        hits = super().cast(origins, directions, nearest)
        self.seconds += self.clock() - start
        return hits

    def occluded(self, origins: Floats, directions: Floats, nearest: Floats, farthest: Floats) -> NDArray[np.bool_]:
        self.asked.append(RayQuery(origins, directions, nearest, farthest))
        start = self.clock()
        dark = super().occluded(origins, directions, nearest, farthest)
        self.seconds += self.clock() - start
        return dark


class Recorder:
    """Draws frames of a scene and records their queries."""

    def __init__(self, show: AnimatedScene, width: int, height: int, clock: Clock) -> None:
        self.show, self.width, self.height, self.clock = show, width, height, clock
        self.stage = Listening(show.lights, show.sky)
        self.performance = Playback(show, self.stage, policy="hybrid")

    def turns(self, frames: list[int], step: int) -> Iterator[list[Shot]]:
        """The shots of these frames, in groups that fit into memory."""
        renderer = Renderer(self.performance.stage, self.settings(step))
        length = max(1, min(TURN, MOST // renderer.grid.points))
        for start in range(0, len(frames), length):
            yield [self.shot(frame, renderer) for frame in frames[start : start + length]]

    def shot(self, frame: int, renderer: Renderer) -> Shot:
        """One frame."""
        shapes, camera = self.show.shapes(frame), self.show.camera(frame, self.width, self.height)
        self.performance.set_shapes(frame, shapes)
        self.stage.forget(self.clock)
        start = self.clock()
        renderer.draw(camera)
        return Shot(frame, shapes, camera, self.stage.asked, self.clock() - start - self.stage.seconds)

    def settings(self, step: int) -> Settings:
        """Settings as in the paper: every `step`-th pixel, and one reflection."""
        return Settings(width=self.width, height=self.height, step=step, bounces=1)


def unasked(show: AnimatedScene, frames: list[int]) -> Iterator[list[Shot]]:
    """Shots of these frames without rays."""
    for start in range(0, len(frames), TURN):
        yield [Shot(frame, show.shapes(frame), show.camera(frame, 1, 1), []) for frame in frames[start : start + TURN]]


def picked(show: AnimatedScene, frames: list[int]) -> Iterator[list[Shot]]:
    """Shots of these frames with one ray each: from the camera to the middle of one of the moving bodies, in turn."""
    moving = [k for k, actor in enumerate(show.actors) if actor.moves]
    for turn in unasked(show, frames):
        shots = []
        for shot in turn:
            middle = shot.shapes[moving[shot.frame % len(moving)]]
            assert middle is not None
            eye = np.array([shot.camera.eye])
            shots.append(shot._replace(asked=[RayQuery(eye, middle.mean(axis=0) - eye, np.zeros(1))]))
        yield shots


def ordered(show: AnimatedScene) -> AnimatedScene:
    """The same scene with the vertices of moving bodies in the order in which the leaves of a BVH name them."""
    actors = []
    for actor in show.actors:
        mesh = pliant.reorder_vertices(actor.shape(actor.trees[0]), actor.faces)
        moving = actor._replace(faces=mesh.faces, shape=partial(shape_in_order, actor.shape, mesh.order))
        actors.append(moving if actor.moves else actor)
    return replace(show, actors=actors)


def shape_in_order(shape: Callable[[int], Floats], order: NDArray[np.int64], frame: int) -> Floats:
    """The vertices at a frame, in this order."""
    return shape(frame)[order]


def spread(show: AnimatedScene, count: int) -> list[int]:
    """So many evenly spaced frames of a scene, from the first to the last, or all if there are fewer."""
    count = min(count, show.frames)
    return [round(k * (show.frames - 1) / max(count - 1, 1)) for k in range(count)]


# --- reconstruction --------------------------------------------------------------------------------------------------------------


def reconstruct(shape: Any) -> int:
    """Do the work before the first ray: the policy's refit before a query, and, if the root is still stale, the refresh that the first
    query would call there. Returns the number of volumes refitted."""
    updated = int(shape.refit())
    if shape.stale:
        updated += int(call_address(shape.entry, shape.context, 0) if jit.DISABLED else ENTRY(shape.entry)(shape.context, 0))
    return updated


def work_of(shape: Any) -> dict[str, int]:
    """Vertices read and volumes refitted by the reconstruction of a BVH, counted in its topology (the terms of eq. 7.7)."""
    tree = shape.tree
    if shape.options.policy.name == "bottom_up":
        return {"vertices": len(tree.vertices), "volumes": int(tree.count.sum())}
    kept, upper = shape.tree_state, int(shape.record["root_levels"][0])
    used = np.arange(tree.width) < tree.count[:, None]
    made = used & (kept.levels < upper)[:, None]
    read = made & ((tree.child < 0) | (kept.levels == upper - 1)[:, None])
    return {"vertices": int((kept.spans[..., 1] - kept.spans[..., 0])[read].sum()), "volumes": int(made.sum())}


# --- players and tracks ----------------------------------------------------------------------------------------------------------


class Tracer:
    """A method applied to the bodies of a scene."""

    def __init__(self, way: Way, show: AnimatedScene, first: Shot, settings: Settings | None = None) -> None:
        self.way, self.performance = way, Playback(show, **way.options)
        self.moving = [k for k, actor in enumerate(show.actors) if actor.moves]
        self.renderer = Renderer(self.performance.stage, settings) if way.picture else None
        for frame in sorted({frame for actor in show.actors for frame in actor.trees}):  # compiles kernels, creates states
            self.step(first._replace(frame=frame, shapes=show.shapes(frame), asked=first.asked[:1]))

    @property
    def shapes(self) -> list[Any]:
        """The BVHs of the moving bodies."""
        bodies = self.performance.bodies
        return [bodies[k]._bvh_at(bodies[k]._motion.scale) for k in self.moving]

    def step(self, shot: Shot, clock: Clock = time.perf_counter) -> tuple[tuple[float, float, float], int, list[Any]]:
        """Seconds of all parts; volumes refitted before the rays; the answers."""
        if pliant.threads() != self.way.threads:
            pliant.set_threads(self.way.threads)
        t0 = clock()
        self.performance.set_shapes(shot.frame, shot.shapes)
        t1 = clock()
        updated = sum(reconstruct(shape) for shape in self.shapes) if self.way.ahead else 0
        t2 = clock()
        answers = [self.renderer.draw(shot.camera).image] if self.renderer else [self.ask(each) for each in shot.asked if self.wants(each)]
        return (t1 - t0, t2 - t1, clock() - t2), updated, answers

    def wants(self, asked: RayQuery) -> bool:
        """Is this query compared?"""
        return asked.farthest is None or not self.way.casts

    def ask(self, asked: RayQuery) -> Any:
        """Hits, or flags of occluded rays."""
        scene, rays = self.performance.stage.scene, (asked.origins, asked.directions)
        if asked.farthest is not None:
            return pliant.occluded(scene, *rays, t_min=asked.nearest, t_max=asked.farthest)
        return pliant.cast(scene, *rays, t_min=asked.nearest, traversal=pliant.Traversal(rays=self.way.traversal))


class Trail:
    """The record of a tracer, frame by frame; a repeated frame can only lower its times."""

    def __init__(self, player: Tracer) -> None:
        self.player = player
        self.times: list[tuple[float, ...]] = []
        self.counts: list[dict[str, float]] = []
        self.answers: list[int] = []  # a checksum

    def add(self, k: int, times: tuple[float, ...], updated: int, answers: list[Any]) -> None:
        """Add the times of frame k."""
        if k < len(self.times):
            self.times[k] = tuple(map(min, self.times[k], times))
            return
        self.times.append(times)
        hits = [each for each in answers if hasattr(each, "stats")]
        self.counts.append({"volumes": updated, "n_v": sum(each.stats.n_v for each in hits)} | reached(self.player.shapes))
        checksum = 0
        for each in answers:
            for array in (each.t, each.body, each.face) if hasattr(each, "stats") else (each,):
                checksum = zlib.crc32(array.tobytes(), checksum)
        self.answers.append(checksum)

    def run(self, told: list[Told], like: Trail, **about: Any) -> Run:
        """These frames as plain values. Times are in ms; lists have an entry for each frame. n_v is that of casts alone."""
        way, shapes, steps = self.player.way, self.player.shapes, len(told)
        run: Run = {"method": way.name, "tree": way.tree, "options": way.options, "threads": way.threads, "traversal": way.traversal}
        run |= about | {"bodies": len(shapes), "faces": len(shapes[0].faces), "levels": int(shapes[0].tree.depth), "steps": steps}
        run["frames"] = [each.frame for each in told]
        run["agrees"] = self.answers[:steps] == like.answers[:steps]
        if way.ahead and way.options["policy"] != "auto":
            run["work"] = work_of(shapes[0])
        times = zip(*self.times[:steps], strict=True)
        for name, column in zip(("take_ms", "refit_ms", "query_ms"), times, strict=True):
            run[name] = [round(1e3 * value, 5) for value in column]
        run["update_ms"] = [round(take + refit, 5) for take, refit in zip(run["take_ms"], run["refit_ms"], strict=True)]
        run |= {name: [counts[name] for counts in self.counts[:steps]] for name in self.counts[0]}
        run["cast_rays"] = [each.cast for each in told]
        run["shadow_rays"] = [0 if way.casts else each.shadow for each in told]
        run["shading_ms"] = [round(1e3 * each.shading, 5) for each in told]
        return run


def reached(shapes: list[Any]) -> dict[str, float]:
    """The shares of all nodes and of all leaves that are up to date: refitted before the rays, or reached by them."""
    shares = {}
    for name in ("nodes", "leaves"):
        stamps = [getattr(shape, name)["stamp"] == shape.frame for shape in shapes]
        shares[f"{name}_reached"] = round(sum(int(stamp.sum()) for stamp in stamps) / sum(map(len, stamps)), 5)
    return shares


def play(session: Session, title: str, show: AnimatedScene, ways: list[Way], turns: Iterator[list[Shot]], *, frames: int,
         settings: Settings | None = None, clock: Clock | None = None, **about: Any) -> list[Run]:  # fmt: skip
    """Let the methods take turns on so many frames; returns a run of each, with `about` in it."""
    if session.stopped:
        return []
    trails: list[Trail] = []
    told: list[Told] = []
    before = pliant.threads()

    def prepared() -> Iterator[list[Shot]]:
        for turn in turns:
            if not trails:
                trails.extend([Trail(Tracer(way, show, turn[0], settings)) for way in ways])
            told.extend(map(Told.of, turn))
            yield turn

    with session.until_stopped():
        session.begin(title, len(ways) * frames * session.repeats)
        session.take_turns(prepared(), trails, clock)
    pliant.set_threads(before)
    steps = min((len(trail.answers) for trail in trails), default=0)
    return [trail.run(told[:steps], trails[0], show=show.name, of=show.frames, **about) for trail in trails] if steps else []
