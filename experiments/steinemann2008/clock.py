"""The clock of the experiments with blended bodies: methods take turns on bodies that take maps; frames are timed and work is counted.

A frame is `update` of all bodies with their maps, and one query of all pairs, of the scene or, BY HAND, of any two bodies. Maps are
computed before the clock starts. As with distances (`experiments/bitar2011/clock.py`), methods keep the nodes that the last query reached:
a round plays all frames once, in order, in turns that begin at other frames in every round, and the minimum time of each frame counts.
Every round begins with frame 0, outside the clock, on the same bodies.

All methods must find the same pairs. Methods outside the package, such as spatial hashing, take part if they are in OTHERS: a function of
the scene that returns an object with the `step` of a Keeper.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from experiments.bitar2011.clock import Clock, Times, done_by_all, play_rounds
from experiments.clock import Run, Session, memory
from experiments.larsson2001.scenes import Rows
from experiments.steinemann2008.scenes import Blends
from pliant.results import Stats

OTHERS: dict[str, Callable[[Blends], Any]] = {}
TRIES = 40  # calls with almost no work


class Way(NamedTuple):
    """A method: the options of bodies, a label of the BVH, and whether any two bodies are queried one by one."""

    name: str
    tree: str  # a label
    options: dict[str, Any]  # options of `Body.blended`
    by_hand: bool = False


class Answer(NamedTuple):
    """Pairs: bodies (m, 2), faces (m, 2), sorted by both; and the counters of the work."""

    bodies: NDArray[np.int64]
    faces: NDArray[np.int32]
    stats: Stats


class Keeper:
    """A method on the bodies of a scene, queried once at the start: this creates the state that policies keep with a BVH."""

    def __init__(self, way: Way, scene: Blends) -> None:
        body = scene.body
        self.bodies = [pliant.Body.blended(body.rest, body.faces, body.weights, **way.options) for _ in range(scene.bodies)]
        self.scene = None if way.by_hand else pliant.Scene(self.bodies)
        self.step(scene.frame(0))

    def step(self, frame: Rows, clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of the update, seconds of the query, and the answer."""
        t0 = clock()
        for body, maps in zip(self.bodies, frame, strict=True):
            body.update(maps)
        t1 = clock()
        found = self.scene.collide() if self.scene is not None else self.each()
        return t1 - t0, clock() - t1, found

    def each(self) -> Answer:
        """Any two bodies, one by one."""
        found = [(pair, pliant.collide(self.bodies[pair[0]], self.bodies[pair[1]])) for pair in combinations(range(len(self.bodies)), 2)]
        stats = Stats()
        for _, pairs in found:
            stats = stats + pairs.stats
        bodies = np.repeat(np.array([pair for pair, _ in found], np.int64), [len(pairs) for _, pairs in found], axis=0)
        return Answer(bodies, np.concatenate([pairs.faces for _, pairs in found]), stats)


class Track(Times):
    """The record of a method."""

    def __init__(self, way: Way, scene: Blends) -> None:
        super().__init__()
        self.way = way
        self.keeper = OTHERS[way.name](scene) if way.name in OTHERS else Keeper(way, scene)

    def answer(self, found: Any) -> tuple[float, ...]:
        """The numbers of pairs and of pairs of bodies, and a checksum."""
        met = len(np.unique(found.bodies, axis=0))
        pairs = np.concatenate([found.bodies, found.faces], axis=1).astype(np.int64)
        return len(pairs), met, zlib.crc32(np.ascontiguousarray(pairs).tobytes())

    def run(self, steps: int, like: Track, fixed: float, **about: Any) -> Run:
        """The first `steps` frames as plain values. Times are in ms; lists have an entry for each frame."""
        bodies, way = self.keeper.bodies, self.way
        run: Run = {"method": way.name, "tree": way.tree, "options": way.options, "by_hand": way.by_hand} | about
        run |= {"bodies": len(bodies), "faces": len(bodies[0]), "steps": steps, "bytes": memory(bodies[0]), "calls_ms": fixed}
        run["agrees"] = self.answers[:steps] == like.answers[:steps]
        run |= self.lists(steps)
        run["pairs"], run["met"] = ([answer[column] for answer in self.answers[:steps]] for column in (0, 1))
        return run


def play(session: Session, title: str, scene: Blends, ways: list[Way], **about: Any) -> list[Run]:
    """Let the methods take turns on all frames, once a round; returns a run of each, with `about` in it."""
    if session.stopped:
        return []
    tracks: list[Track] = []
    fixed = 0.0
    with session.until_stopped():
        session.begin(title, len(ways) * scene.frames * session.repeats)
        fixed = calls(scene.bodies, session.clock)
        play_rounds(session, scene, tracks, (Track(way, scene) for way in ways))
    steps = done_by_all(tracks, len(ways))
    about = {"vertices": len(scene.body.rest), "nodes": len(scene.body.nodes), "influences": influences(scene)} | about
    return [track.run(steps, tracks[0], fixed, **about) for track in tracks] if steps else []


def influences(scene: Blends) -> float:
    """Simulation nodes per vertex, on average."""
    return round(float(scene.body.weights.nnz) / len(scene.body.rest), 3)


def calls(bodies: int, clock: Clock) -> float:
    """Milliseconds of the calls of a frame with so many bodies and almost no work: one triangle each, one map, far apart."""
    corners, maps = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), [np.eye(3, 4)[None] for _ in range(bodies)]
    every = [pliant.Body.blended(corners, [[0, 1, 2]], np.ones((3, 1))) for _ in range(bodies)]
    for k in range(bodies):
        maps[k][0, 2, 3] = 3.0 * k
    scene, times = pliant.Scene(every), []
    for _ in range(TRIES):
        start = clock()
        for body, given in zip(every, maps, strict=True):
            body.update(given)
        scene.collide()
        times.append(clock() - start)
    return round(1e3 * float(np.percentile(times, 25)), 6)
