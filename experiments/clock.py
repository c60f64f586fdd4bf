"""The clock of the experiments: methods take turns on a scene, and every step of each method is timed and its work counted.

The rules: one thread. Processor time, which excludes other processes on a shared machine and equals elapsed time on an idle one; or elapsed
time. Frames are computed outside the clock. Methods take turns of some steps in a rotating order: noise affects all of them equally, and
each finds its own data in the caches, as in a program that uses one method. A turn is repeated, and the minimum time of each step counts.
BVH construction, first queries and compilation do not count. All methods must find the same pairs.

The first pair of two bodies may be any of their pairs; a scene reports one for each pair of intersecting bodies (as in thesis 6.4).

A call from Python has a fixed cost that does not depend on the BVHs; with a transform it is larger. It is measured on bodies of one
triangle (`fixed_costs`) and stored with each run, so that methods can be compared with and without it.
"""

from __future__ import annotations

import gc
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np

import pliant
from experiments.larsson2001.scenes import Rows, Scene, placed
from experiments.larsson2003a.scenes import Morphing
from experiments.larsson2008.scenes import Posed, Rigids
from pliant.motion.rigid import transform_vertices

TURN = 20  # steps
COUNTERS = ("n_v", "n_p", "n_u")
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}
Run = dict[str, Any]  # results of one method on one scene; see `Track.run`


class Method(NamedTuple):
    """A combination of BVH options and a refit policy. `placed`: volumes stay in model space, and bodies have a rigid transform, tested
    along the `sat` axes; `morph`: in addition bodies take weights instead of vertices; `rigid`: bodies take transforms alone. `descend`:
    which of two BVHs is descended."""

    name: str
    tree: str  # a label
    options: dict[str, Any]  # options of `Body`
    placed: bool = False
    sat: Literal["full", "lite"] = "full"
    morph: bool = False
    rigid: bool = False
    descend: Literal["both", "larger"] = "both"

    @property
    def kind(self) -> str:
        """The kind of input of its bodies: the cost of a call depends on it."""
        return "poses" if self.rigid else "weights" if self.morph else "model" if self.placed else "world"


class Given(NamedTuple):
    """The input of a frame, by the kind of a method: (vertices, weights or the transform of a rigid body; transform or None) of each
    body."""

    rows: dict[str, list[tuple[Rows, Rows | None]]]
    place: float  # seconds to transform the vertices
    blend: float  # seconds to blend them


def given(frame: Any, clock: Callable[[], float] = time.perf_counter) -> Given:
    """Blend and transform the vertices of a frame, and time both, with output into allocated memory. Rigid bodies need neither."""
    if isinstance(frame, Posed):
        return Given({"poses": [(pose, None) for pose in frame.poses]}, 0.0, 0.0)
    model, blend = frame.blend(clock)
    world = [placed(vertices, pose) for vertices, pose in zip(model, frame.poses, strict=True)]
    start = clock()
    for pose, vertices, flat in zip(frame.poses[:, :3].reshape(-1, 12), model, world, strict=True):
        transform_vertices(pose, vertices.reshape(-1), flat.reshape(-1))
    seconds = clock() - start
    rows: dict[str, list[tuple[Rows, Rows | None]]] = {"world": [(flat, None) for flat in world]}
    rows["model"] = list(zip(model, frame.poses, strict=True))
    if frame.weights is not None:
        rows["weights"] = list(zip(frame.weights, frame.poses, strict=True))
    return Given(rows, seconds, blend)


class Player:
    """A method applied to the bodies of a scene."""

    def __init__(self, method: Method, scene: Scene, first: bool, start: Given, deep: Given) -> None:
        self.method, self.first = method, first
        if method.rigid:
            assert isinstance(scene, Rigids)
            self.bodies = [pliant.Body.rigid(vertices, faces, **method.options) for vertices, faces in scene.meshes]
        elif method.morph:
            assert isinstance(scene, Morphing)
            options = {"rest": scene.rest} | method.options
            self.bodies = [pliant.Body.morph(scene.targets, scene.faces, **options) for _ in start.rows["weights"]]
        else:
            self.bodies = [pliant.Body(vertices, scene.faces, **method.options) for vertices, _ in start.rows[method.kind]]
        self.scene = pliant.Scene(self.bodies) if len(self.bodies) > 2 else None
        for frame in (deep, start):  # compiles the kernels and creates the state that policies keep with a BVH
            self.step(frame)

    def step(self, frame: Given, clock: Callable[[], float] = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of the update, seconds of the query, and the pairs."""
        rows = frame.rows[self.method.kind]
        t0 = clock()
        for body, (vertices, pose) in zip(self.bodies, rows, strict=True):
            body.update(vertices, transform=pose)
        t1 = clock()
        pairs: Any
        if self.scene is None:
            pairs = pliant.collide(*self.bodies, first=self.first, traversal=pliant.Traversal(self.method.sat, self.method.descend))
        else:
            pairs = self.scene.collide(first="each" if self.first else False,
                                       traversal=pliant.Traversal(self.method.sat, self.method.descend))
        return t1 - t0, clock() - t1, pairs

    @property
    def levels(self) -> int:
        """The number of node levels of the first body's BVH."""
        body = self.bodies[0]
        return int(body._bvh_at(body._motion.scale).tree.depth)


class Track:
    """The record of a player, step by step; a repeated step can only lower its times."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.update: list[float] = []
        self.query: list[float] = []
        self.counts: list[tuple[int, ...]] = []
        self.answers: list[tuple[int, int]] = []  # number of pairs, and their checksum
        self.bodies: list[tuple[int, int]] = []  # pairs of bodies tested, and pairs that intersect

    def add(self, k: int, update: float, query: float, pairs: Any) -> None:
        """Add the times of step k."""
        if k == len(self.update):
            self.update.append(update)
            self.query.append(query)
            self.counts.append(tuple(getattr(pairs.stats, name) for name in COUNTERS))
            known = pairs.faces if not self.player.first else pairs.bodies if self.player.scene is not None else np.zeros(0)
            self.answers.append((len(pairs), zlib.crc32(known.tobytes())))
            if self.player.scene is not None:
                self.bodies.append((len(pairs.tested), len(np.unique(pairs.bodies, axis=0))))
        else:
            self.update[k], self.query[k] = min(self.update[k], update), min(self.query[k], query)

    def run(self, steps: int, like: Track, fixed: dict[str, dict[str, float]], **about: Any) -> Run:
        """The first `steps` steps as plain values. Times are in ms; lists have an entry for each step."""
        method = self.player.method
        run: Run = {"method": method.name, "tree": method.tree, "options": method.options, "placed": method.placed, "sat": method.sat,
                    "descend": method.descend, "kind": method.kind}  # fmt: skip
        run |= about | {"faces": len(self.player.bodies[0]), "bodies": len(self.player.bodies), "levels": self.player.levels}
        run["steps"] = steps
        run["bytes"] = memory(self.player.bodies[0])
        run["fixed_ms"] = fixed[method.kind]
        run["agrees"] = self.answers[:steps] == like.answers[:steps]
        run["update_ms"] = [round(1e3 * seconds, 5) for seconds in self.update[:steps]]
        run["query_ms"] = [round(1e3 * seconds, 5) for seconds in self.query[:steps]]
        for column, name in enumerate(COUNTERS):
            run[name] = [counts[column] for counts in self.counts[:steps]]
        run["pairs"] = [pairs for pairs, _ in self.answers[:steps]]
        if self.bodies:
            run["bodies_tested"], run["bodies_met"] = (list(column) for column in zip(*self.bodies[:steps], strict=True))
        return run


class Session:
    """Plays scenes until Ctrl-C stops it: then it returns the results so far, and later calls return nothing.

    `begin(title, steps)` and `tick(steps)` report progress; both are called outside the clock, one of CLOCKS.
    """

    def __init__(self, repeats: int, clock: str, begin: Callable[[str, int], None], tick: Callable[[int], None]) -> None:
        self.repeats, self.clock, self.begin, self.tick, self.stopped = repeats, CLOCKS[clock], begin, tick, False
        self.fixed: dict[str, dict[str, float]] = {}  # by kind of method

    def play(self, title: str, scene: Scene, methods: list[Method], *, first: bool = False, **about: Any) -> list[Run]:
        """Let the methods take turns; returns a run of each, with `about` in it."""
        if self.stopped:
            return []
        tracks: list[Track] = []
        costs: list[tuple[float, float]] = []  # of transforming and of blending
        with self.until_stopped():
            self.begin(title, len(methods) * scene.frames * self.repeats)
            for kind in {method.kind for method in methods} - set(self.fixed):
                self.fixed[kind] = fixed_costs(kind, self.clock)
            deep, start = given(scene.deep()), given(scene.start())
            for method in methods:
                tracks.append(Track(Player(method, scene, first, start, deep)))
            self.take_turns(self._turns(scene, costs), tracks)
        steps = min((len(track.answers) for track in tracks), default=0) if len(tracks) == len(methods) else 0
        if not steps:
            return []
        place, blend = (round(1e3 * float(value), 5) for value in np.mean(costs[:steps], axis=0))
        return [track.run(steps, tracks[0], self.fixed, place_ms=place, blend_ms=blend, first=first, **about) for track in tracks]

    def _turns(self, scene: Scene, costs: list[tuple[float, float]]) -> Iterator[list[Given]]:
        frames: Iterator[Any] = scene.play()
        while turn := [given(frame, self.clock) for frame in islice(frames, TURN)]:
            costs += [(frame.place, frame.blend) for frame in turn]
            yield turn

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Ctrl-C ends this block and the session; garbage collection is restored afterwards."""
        collecting = gc.isenabled()
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = True
        finally:
            if collecting:
                gc.enable()

    def take_turns(self, turns: Iterable[list[Any]], tracks: list[Any], clock: Callable[[], float] | None = None) -> None:
        """All tracks play the frames of a turn, then those of the next; `clock` replaces that of the session."""
        gc.collect()
        gc.disable()  # a collection would fall into the time of the next method
        done = 0
        for number, turn in enumerate(turns):
            for repeat in range(self.repeats):
                at = (number + repeat) % len(tracks)
                for track in tracks[at:] + tracks[:at]:
                    track.player.step(turn[0])  # not counted: the caches hold the data of the other methods
                    for k, frame in enumerate(turn, done):
                        track.add(k, *track.player.step(frame, clock or self.clock))
                    self.tick(len(turn))
            done += len(turn)


MANY = 12  # bodies of the scene for measuring the cost of calls


def fixed_costs(kind: str, clock: Callable[[], float]) -> dict[str, float]:
    """Milliseconds of calls with almost no work: an `update`, a query of two bodies, and the cost that a body and a tested pair of bodies
    add to the query of a scene."""
    turned = np.array([[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])
    near = [np.array([[0.4, 0.2, -1], [0.2, 0.4, 1], [2, 2, 0.1 * k]]) for k in range(MANY)]
    faces, weights = [[0, 1, 2]], np.array([0.25, 0.75, 0.0])
    if kind == "poses":
        bodies = [pliant.Body.rigid(vertices, faces) for vertices in near]
    elif kind == "weights":
        bodies = [pliant.Body.morph([vertices, vertices, vertices], faces) for vertices in near]
    else:
        bodies = [pliant.Body(vertices, faces, policy="bottom_up") for vertices in near]
    scene = pliant.Scene(bodies)

    def rows(k: int, apart: float) -> tuple[Rows, Rows | None]:
        if kind in ("world", "model"):
            return near[k] + apart * k, turned if kind == "model" else None
        pose = turned.copy()
        pose[:3, 3] += apart * k
        return (weights, pose) if kind == "weights" else (pose, None)

    def move(apart: float) -> None:
        for k, body in enumerate(bodies):
            vertices, pose = rows(k, apart)
            body.update(vertices, transform=pose)

    def least(job: Callable[[], object], before: Callable[[], object] = lambda: None, calls: int = 60) -> float:
        times = []
        for _ in range(calls):
            before()
            start = clock()
            job()
            times.append(clock() - start)
        return 1e3 * float(np.percentile(times, 25))

    move(0.0)
    vertices, pose = rows(0, 0.0)
    update = least(lambda: bodies[0].update(vertices, transform=pose))
    query = least(lambda: pliant.collide(bodies[0], bodies[1], traversal=pliant.Traversal("lite")))
    alone = least(lambda: scene.collide(traversal=pliant.Traversal("lite")), lambda: move(10.0))
    close = least(lambda: scene.collide(traversal=pliant.Traversal("lite")), lambda: move(0.0))
    found = {"update": update, "query": query, "body": alone / MANY, "pair": (close - alone) / (MANY * (MANY - 1) / 2)}
    return {name: round(max(value, 0.0), 6) for name, value in found.items()}


def fixed(run: Run) -> Rows:
    """Milliseconds of each step for calls alone: an update of every body, and a query of the two bodies or of the scene."""
    each, bodies = run["fixed_ms"], run["bodies"]
    query = np.full(run["steps"], each["query"])
    if "bodies_tested" in run:
        query = bodies * each["body"] + np.array(run["bodies_tested"]) * each["pair"]
    total: Rows = bodies * each["update"] + query
    return total


def levels_of(scene: Scene, options: dict[str, Any]) -> int:
    """The number of node levels of a body of this scene."""
    body = pliant.Body(scene.start().world()[0], scene.faces, **options)
    return int(body._bvh_at(body._motion.scale).tree.depth)


def memory(body: pliant.Body) -> dict[str, int]:
    """Bytes of a body after a query: its `n_nodes` nodes, the state that its policy keeps with them, its leaves, its topology, and its
    vertices, targets included."""
    shape, motion = body._bvh_at(body._motion.scale), body._motion
    vertices = size_of([motion.flat, motion.points, getattr(motion, "shapes", None)])
    return {"n_nodes": len(shape.nodes), "nodes": shape.nodes.nbytes, "kept": size_of(shape.tree_state), "leaves": shape.leaves.nbytes,
            "links": size_of(shape.tree), "vertices": vertices}  # fmt: skip


def size_of(value: Any) -> int:
    """Bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else 0
