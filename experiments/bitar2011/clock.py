"""The clock of the distance experiments: methods take turns on bodies that do not touch, and every frame is timed and its work counted.

A frame is `update` of the bodies and one query, of the distance between two bodies or of one body to itself. Two rules differ from
`experiments/clock.py`, because these methods keep data between frames: the displacements of vertices since a volume was fitted, and the
nodes that the last query reached. So a round plays all frames once, in order, on bodies of its own; these are built, and queried once,
outside the clock. Methods still take turns of some frames in a rotating order. The first frame of a turn finds the data of other methods in
the caches; so turns begin at other frames in every round, and the minimum time of each frame counts.

All methods must find the same distance, to the bit, between the same faces.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pliant
from experiments.bitar2011.scenes import LEAST, Pair, refined
from experiments.clock import COUNTERS, TURN, Method, Run, Session, memory
from experiments.larsson2001.scenes import Rows

Clock = Callable[[], float]
BETWEEN, WITHIN = "distance", "self distance"  # the query: of two bodies, or of one


class Keeper:
    """A method on new bodies of a scene, queried once as built: this creates the state that policies keep with a BVH."""

    def __init__(self, method: Method, scene: Pair) -> None:
        start = scene.frame(0)
        self.bodies = [pliant.Body(rows, actor.faces, **method.options) for rows, actor in zip(start, scene.actors, strict=True)]
        self.step(start)

    def step(self, frame: list[Rows], clock: Clock = time.perf_counter) -> tuple[float, float, Any]:
        """Seconds of the update, seconds of the query, and the answer."""
        t0 = clock()
        for body, vertices in zip(self.bodies, frame, strict=True):
            body.update(vertices)
        t1 = clock()
        found = ask(self.bodies)
        return t1 - t0, clock() - t1, found


def ask(bodies: list[pliant.Body]) -> Any:
    """The distance between two bodies, or of one to itself."""
    return pliant.distance(*bodies) if len(bodies) > 1 else pliant.self_distance(*bodies)


class Times:
    """Measurements, frame by frame; a repeated frame can only lower its times. `answers`: the results that must agree."""

    def __init__(self) -> None:
        self.keeper: Any = None
        self.update: list[float] = []
        self.query: list[float] = []
        self.counts: list[tuple[int, ...]] = []
        self.answers: list[tuple[float, ...]] = []

    def add(self, k: int, update: float, query: float, found: Any) -> None:
        """Add the times of frame k."""
        if k < len(self.update):
            self.update[k], self.query[k] = min(self.update[k], update), min(self.query[k], query)
            return
        self.update.append(update)
        self.query.append(query)
        self.counts.append(tuple(int(getattr(found.stats, name)) for name in COUNTERS))
        self.answers.append(self.answer(found))

    def lists(self, steps: int) -> Run:
        """Milliseconds and counters of the first `steps` frames, an entry for each."""
        run: Run = {f"{name}_ms": [round(1e3 * seconds, 5) for seconds in column[:steps]]
                    for name, column in (("update", self.update), ("query", self.query))}  # fmt: skip
        return run | {name: [counts[column] for counts in self.counts[:steps]] for column, name in enumerate(COUNTERS)}

    def answer(self, found: Any) -> tuple[float, ...]:
        """The distance, and the two faces."""
        return float(found.distance), *map(int, found.faces)


class Track(Times):
    """The record of a method; it keeps its bodies for a round."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def run(self, steps: int, like: Track, fixed: dict[str, float], **about: Any) -> Run:
        """The first `steps` frames as plain values. Times are in ms; lists have an entry for each frame."""
        body, method = self.keeper.bodies[0], self.method
        run: Run = {"method": method.name, "tree": method.tree, "options": method.options} | about
        run |= {"bodies": len(self.keeper.bodies), "both": [len(each) for each in self.keeper.bodies], "steps": steps}
        run |= {"levels": int(body._bvh_at(body._motion.scale).tree.depth), "bytes": memory(body), "fixed_ms": fixed}
        run["agrees"] = self.answers[:steps] == like.answers[:steps]
        run |= self.lists(steps)
        run["distance"] = [answer[0] for answer in self.answers[:steps]]
        return run


def play(session: Session, title: str, scene: Pair, methods: list[Method], **about: Any) -> list[Run]:
    """Let the methods take turns on all frames, once a round; returns a run of each, with `about` in it."""
    if session.stopped:
        return []
    tracks = [Track(method) for method in methods]
    kind = BETWEEN if len(scene.actors) > 1 else WITHIN
    with session.until_stopped():
        session.begin(title, len(methods) * scene.frames * session.repeats)
        if kind not in session.fixed:
            session.fixed[kind] = calls(kind, session.clock)
        compile_all(scene, methods)
        for number in range(session.repeats):
            for track in tracks:
                track.keeper = Keeper(track.method, scene)
            play_round(session, scene, tracks, number)
    steps = min(len(track.answers) for track in tracks)
    return [track.run(steps, tracks[0], session.fixed[kind], **about) for track in tracks] if steps else []


def compile_all(scene: Pair, methods: list[Method]) -> None:
    """Compile with small bodies: what is compiled depends on methods, not on sizes."""
    small = refined(scene, LEAST)
    for method in methods:
        keeper = Keeper(method, small)
        for k in (1, 2):
            keeper.step(small.frame(k))


def play_rounds(session: Session, scene: Any, tracks: list[Any], making: Iterator[Any]) -> None:
    """Append tracks as they are made, each after compilation; then all play all frames, once a round. They keep their bodies: every round
    begins with frame 0, outside the clock."""
    for track in making:
        tracks.append(track)
        track.keeper.step(scene.frame(1))
    for number in range(session.repeats):
        for track in tracks:
            track.keeper.step(scene.frame(0))
        play_round(session, scene, tracks, number)


def done_by_all(tracks: list[Any], count: int) -> int:
    """The number of frames that all of so many tracks have played; 0 if some were not made."""
    return min((len(track.answers) for track in tracks), default=0) if len(tracks) == count else 0


def play_round(session: Session, scene: Any, tracks: list[Any], number: int) -> None:
    """All frames of a scene, in order; garbage collection is off meanwhile, because it would fall into the time of the next method."""
    gc.collect()
    gc.disable()  # until the session stops or stops the scene
    for at, turn in enumerate(turns(scene.frames, number, session.repeats), number):
        frames = [scene.frame(k + 1) for k in turn]
        first = at % len(tracks)
        for track in tracks[first:] + tracks[:first]:
            for k, frame in zip(turn, frames, strict=True):
                track.add(k, *track.keeper.step(frame, session.clock))
            session.tick(len(turn))


def turns(frames: int, number: int, repeats: int) -> Iterator[range]:
    """0 … frames - 1 in pieces of TURN; the first piece is shorter, by another amount in each round."""
    start, end = 0, max(1, TURN * (number + 1) // repeats)
    while start < frames:
        yield range(start, min(end, frames))
        start, end = end, end + TURN


def calls(kind: str, clock: Clock, times: int = 60) -> dict[str, float]:
    """Milliseconds of calls with almost no work: an `update`, and a query of bodies of one face, or of one body with two faces that share
    no vertex."""
    near = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
    if kind == WITHIN:
        bodies = [pliant.Body(near, [[0, 1, 2], [3, 4, 5]], policy="bottom_up")]
    else:
        bodies = [pliant.Body(rows, [[0, 1, 2]], policy="bottom_up") for rows in (near[:3], near[3:])]
    rows, update, query = bodies[0].vertices, [], []
    for _ in range(times):
        t0 = clock()
        bodies[0].update(rows)
        t1 = clock()
        ask(bodies)
        update.append(t1 - t0)
        query.append(clock() - t1)
    return {name: round(1e3 * float(np.percentile(column, 25)), 6) for name, column in (("update", update), ("query", query))}
