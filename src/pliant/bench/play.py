"""The clock of the experiments: methods take turns on a scene, and every step of each is timed and counted.

The rules: one thread; processor time, which is the time that passes on a quiet machine, and on a shared one does not count what others do,
or else the time that passes; frames are made outside the clock; methods take turns of some steps, in an order that rotates, so that noise
hits all alike, and each finds its own data in the caches, as in a program that uses one method; a turn is repeated, and the least time of
each step counts; building trees, the first queries and compilation do not; all methods must find the same pairs.

Calls have a fixed cost, in Python, that has nothing to do with trees; with a pose it is larger. It is measured on bodies of one triangle
(`fixed_costs`) and kept with each run, so that methods can be compared with and without it.
"""

from __future__ import annotations

import gc
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

import pliant
from pliant.bench.scenes import Frame, Rows, Scene
from pliant.motion.rigid import place_all

TURN = 20  # steps
COUNTERS = ("n_v", "n_p", "n_u")
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}
Run = dict[str, Any]  # what one method did on one scene; see `Track.run`


class Method(NamedTuple):
    """One way to keep and ask trees. `placed`: volumes stay in model space and bodies carry a pose, tested along `sat` axes."""

    name: str
    tree: str  # a label
    options: dict[str, Any]  # of `Body`
    placed: bool = False
    sat: str = "full"


class Given(NamedTuple):
    """A frame as bodies take it: (vertices, pose or None) each, for methods in the world and in model space."""

    world: list[tuple[Rows, None]]
    model: list[tuple[Rows, Rows]]
    place: float  # seconds that placing the vertices took


def given(frame: Frame, clock: Callable[[], float] = time.perf_counter) -> Given:
    """Place the vertices of a frame, and see how long it takes into memory that is there."""
    flats, start = frame.world(), clock()
    for pose, vertices, flat in zip(frame.poses[:, :3].reshape(-1, 12), frame.model, flats, strict=True):
        place_all(pose, vertices.reshape(-1), flat.reshape(-1))
    seconds = clock() - start
    return Given([(flat, None) for flat in flats], list(zip(frame.model, frame.poses, strict=True)), seconds)


class Player:
    """A method on the bodies of a scene."""

    def __init__(self, method: Method, scene: Scene, first: bool, start: Given, deep: Given) -> None:
        self.method, self.first = method, first
        rows = start.model if method.placed else start.world
        self.bodies = [pliant.Body(vertices, scene.faces, **method.options) for vertices, _ in rows]
        self.scene = pliant.Scene(self.bodies) if len(self.bodies) > 2 else None
        for frame in (deep, start):  # compiles, and makes what policies keep with a tree
            self.step(frame)

    def step(self, frame: Given, clock: Callable[[], float] = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of updating, seconds of asking, and the pairs."""
        rows = frame.model if self.method.placed else frame.world
        t0 = clock()
        for body, (vertices, pose) in zip(self.bodies, rows, strict=True):
            body.update(vertices, transform=pose)
        t1 = clock()
        pairs: Any
        if self.scene is None:
            pairs = pliant.collide(*self.bodies, first=self.first, sat=self.method.sat)
        else:
            pairs = self.scene.collide(first=self.first, sat=self.method.sat)
        return t1 - t0, clock() - t1, pairs

    @property
    def levels(self) -> int:
        """Levels of nodes of the first body's tree."""
        body = self.bodies[0]
        return int(body.shape_at(body.motion.scale).tree.depth)


class Track:
    """What a player did, step by step; a step that is seen again only lowers its times."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.update: list[float] = []
        self.query: list[float] = []
        self.counts: list[tuple[int, ...]] = []
        self.answers: list[tuple[int, int]] = []  # how many pairs, and a checksum of them
        self.bodies: list[tuple[int, int]] = []  # pairs of bodies tested, and that meet

    def add(self, k: int, update: float, query: float, pairs: Any) -> None:
        """Step k took this long."""
        if k == len(self.update):
            self.update.append(update)
            self.query.append(query)
            self.counts.append(tuple(getattr(pairs.stats, name) for name in COUNTERS))
            self.answers.append((len(pairs), 0 if self.player.first else zlib.crc32(pairs.faces.tobytes())))
            if self.player.scene is not None:
                self.bodies.append((len(pairs.tested), len(np.unique(pairs.bodies, axis=0))))
        else:
            self.update[k], self.query[k] = min(self.update[k], update), min(self.query[k], query)

    def run(self, steps: int, like: Track, fixed: dict[bool, dict[str, float]], **about: Any) -> Run:
        """The first `steps` steps as plain values. Times are ms; lists have an entry for each step."""
        method = self.player.method
        run: Run = {"method": method.name, "tree": method.tree, "options": method.options, "placed": method.placed, "sat": method.sat}
        run |= about | {"faces": len(self.player.bodies[0]), "bodies": len(self.player.bodies), "levels": self.player.levels}
        run["steps"] = steps
        run["fixed_ms"] = fixed[method.placed]
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
    """Plays scenes until it is stopped by Ctrl-C: then it gives what it has, and nothing more.

    `begin(title, steps)` and `tick(steps)` tell the user; both are called outside the clock, one of CLOCKS.
    """

    def __init__(self, repeats: int, clock: str, begin: Callable[[str, int], None], tick: Callable[[int], None]) -> None:
        self.repeats, self.clock, self.begin, self.tick, self.stopped = repeats, CLOCKS[clock], begin, tick, False
        self.fixed: dict[bool, dict[str, float]] = {}

    def play(self, title: str, scene: Scene, methods: list[Method], *, first: bool = False, **about: Any) -> list[Run]:
        """Let the methods take turns; a run of each, with `about` in it."""
        if self.stopped:
            return []
        tracks: list[Track] = []
        places: list[float] = []
        collecting = gc.isenabled()
        try:
            self.begin(title, len(methods) * scene.frames * self.repeats)
            self.fixed = self.fixed or {placed: fixed_costs(placed, self.clock) for placed in (False, True)}
            deep, start = given(scene.deep()), given(next(scene.play()))
            for method in methods:
                tracks.append(Track(Player(method, scene, first, start, deep)))
            gc.collect()
            gc.disable()  # a collection would hit whoever is next
            self._take_turns(scene, tracks, places)
        except KeyboardInterrupt:
            self.stopped = True
        finally:
            if collecting:
                gc.enable()
        steps = min((len(track.answers) for track in tracks), default=0) if len(tracks) == len(methods) else 0
        place = round(1e3 * float(np.mean(places[:steps])), 5) if steps else 0.0
        return [track.run(steps, tracks[0], self.fixed, place_ms=place, first=first, **about) for track in tracks] if steps else []

    def _take_turns(self, scene: Scene, tracks: list[Track], places: list[float]) -> None:
        frames: Iterator[Frame] = scene.play()
        done = 0
        while turn := [given(frame, self.clock) for frame in islice(frames, TURN)]:
            places += [frame.place for frame in turn]
            for number in range(self.repeats):
                at = (done // TURN + number) % len(tracks)
                for track in tracks[at:] + tracks[:at]:
                    track.player.step(turn[0])  # finds the caches full of the others
                    for k, frame in enumerate(turn, done):
                        track.add(k, *track.player.step(frame, self.clock))
                    self.tick(len(turn))
            done += len(turn)


MANY = 12  # bodies of the scene that calls are measured on


def fixed_costs(placed: bool, clock: Callable[[], float]) -> dict[str, float]:
    """Milliseconds of calls where there is next to nothing to do: an `update`, a query of two bodies, and what a body and a pair of bodies
    tested add to the query of a scene."""
    pose = np.array([[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]) if placed else None
    near = [np.array([[0.4, 0.2, -1], [0.2, 0.4, 1], [2, 2, 0.1 * k]]) for k in range(MANY)]
    bodies = [pliant.Body(vertices, [[0, 1, 2]], policy="bottom_up") for vertices in near]
    scene = pliant.Scene(bodies)

    def move(apart: float) -> None:
        for k, body in enumerate(bodies):
            body.update(near[k] + apart * k, transform=pose)

    def least(job: Callable[[], object], before: Callable[[], object] = lambda: None, calls: int = 60) -> float:
        times = []
        for _ in range(calls):
            before()
            start = clock()
            job()
            times.append(clock() - start)
        return 1e3 * float(np.percentile(times, 25))

    move(0.0)
    update = least(lambda: bodies[0].update(near[0], transform=pose))
    query = least(lambda: pliant.collide(bodies[0], bodies[1], sat="lite"))
    alone = least(lambda: scene.collide(sat="lite"), lambda: move(10.0))
    together = least(lambda: scene.collide(sat="lite"), lambda: move(0.0))
    found = {"update": update, "query": query, "body": alone / MANY, "pair": (together - alone) / (MANY * (MANY - 1) / 2)}
    return {name: round(max(value, 0.0), 6) for name, value in found.items()}


def fixed(run: Run) -> Rows:
    """Milliseconds of each step that go into calls alone: an update of every body, and a query of the two, or of the scene."""
    each, bodies = run["fixed_ms"], run["bodies"]
    tested = np.array(run["bodies_tested"]) if "bodies_tested" in run else None
    query = np.full(run["steps"], each["query"]) if tested is None else bodies * each["body"] + tested * each["pair"]
    total: Rows = bodies * each["update"] + query
    return total


def levels_of(scene: Scene, options: dict[str, Any]) -> int:
    """Levels of nodes that a body of this scene gets."""
    body = pliant.Body(next(scene.play()).world()[0], scene.faces, **options)
    return int(body.shape_at(body.motion.scale).tree.depth)
