"""From Python: run a resumable loop to its end. Grow what is full, look at Ctrl-C, share the work with the pool where there is enough.

One thread starts. If the first budget does not suffice and there are more threads, what waits on the stack is dealt out; a worker whose
budget is spent while others are idle gives away the bottom half of its stack, where the large pairs are. Where the user has set a limit to
the time (`budget.py`), steps are small, and what is left on all stacks at its end is given back.
"""
import threading
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.core.jit import silent
from pliant.core.threads import Guard
from pliant.errors import TooManyPairsError
from pliant.query.budget import NOTHING, STEP, late
from pliant.query.traverse import BUDGET, COUNTERS, ENOUGH, FULL, QUERY
from pliant.results import Stats

CHUNK = 1 << 14                                                         # pairs of nodes per call: about a millisecond
ROOM = 1 << 13                                                          # keys to begin with
KEPT_ROOM = 1 << 20                                                     # keys that a thread keeps between queries
LOOK_UP = 0.05                                                          # seconds between looks of an idle worker


class Subject(Protocol):
    """What a query may be asked about; `Body` is one."""

    guard: Guard
    motion: Any
    corners: np.ndarray                                                 # (f, 3) int32, faces with one name for welded vertices
    placement: np.ndarray | None                                        # rows of 3 × 4, from model space to the world
    nearest: Any                                                        # where distances to others were found last: distance.py

    @property
    def faces(self) -> np.ndarray:
        """(f, 3) vertex indices."""

    def shape_at(self, scale: float) -> Any:
        """The tree and volumes, for coordinates times this power of two."""

    def placed_vertices(self) -> tuple[np.ndarray, bool, float]:
        """All vertices in the world, flat; are they in the range of the filters; by how much rounding moved them from model space."""

    def mesh(self) -> Any:
        """The connectivity, `geometry/mesh.py`."""


class Workspace:
    """What a query needs while it runs: a state, a stack, room for keys. Kept from one query of a thread to the next."""

    def __init__(self):
        self.query = np.zeros(1, QUERY)
        self.stack, self.keys, self._waits = np.empty(1024, np.int64), np.empty(ROOM, np.int64), np.empty(0, np.float32)

    def prepare(self, depth):
        """Room for a stack of that many pairs."""
        if len(self.stack) < depth:
            self.stack = np.empty(depth, np.int64)

    def waiting(self):
        """Room for a number beside each of them."""
        if len(self._waits) < len(self.stack):
            self._waits = np.empty(len(self.stack), np.float32)
        return self._waits


_free = threading.local()


@contextmanager
def workspace():
    """One that nobody else uses: a signal handler may ask a query while another is under way in the same thread."""
    kept = _free.__dict__.setdefault("kept", [])
    work = kept.pop() if kept else Workspace()
    try:
        yield work
    finally:
        if len(work.keys) > KEPT_ROOM:
            work.keys = np.empty(ROOM, np.int64)
        kept.append(work)


class Loop(NamedTuple):
    """A query that can be run: `go(query, stack, keys)` is the kernel bound to its bodies, `depth` the capacity of its stack.

    `shapes` are kept alive: the kernel knows what they hold by address.
    """
    go: Any
    depth: int
    shapes: tuple


def collect(loop, work, until=None):
    """Run the query that `work` holds at its start; (keys in any order, counters, what was left on the stack when time was up)."""
    state, step, visited = work.query[0], CHUNK if until is None else STEP, 0
    while not late(until):
        state["budget"] = step
        with silent():
            reason = loop.go(work.query, work.stack, work.keys)
        visited += step
        if reason == FULL:
            work.keys = grown(work.keys)
        elif reason != BUDGET:
            return finish(work), counters(state), NOTHING
        elif visited >= CHUNK and pool.threads() > 1 and state["position"] > 1:
            return share(loop, work, until)
    return finish(work), counters(state), work.stack[:state["position"]].copy()


def finish(work):
    """The keys found, which are the caller's from now on."""
    return work.keys[:work.query["found"][0]].copy()


def counters(state):
    return Stats(*(int(state[name]) for name in COUNTERS))


def grown(keys):
    """Twice the room, if memory allows: the copy, the sorted pairs and the caller's own need as much again."""
    if not memory.fits(4 * keys.nbytes):
        raise TooManyPairsError(f"more than {len(keys):,} pairs meet, and memory for twice as many is not available; "
                                "ask for first=True, or test fewer faces at a time")
    return np.concatenate([keys, np.empty_like(keys)])


class _Share:
    """The stacks that wait for a worker, and what has come of the others. A worker that starts late, or never, is not missed."""

    def __init__(self, stacks, stats, until):
        self.changed, self.cancel, self.until = threading.Condition(), threading.Event(), until
        self.stacks, self.busy, self.waiting, self.left = stacks, 0, 0, [NOTHING]
        self.found, self.stats = [], stats

    def take(self):
        """A stack; None when all is done, nothing more is wanted or time is up."""
        with self.changed:
            self.waiting += 1
            while not self.stacks and self.busy and not self.cancel.is_set():
                self.changed.wait(LOOK_UP)
            self.waiting -= 1
            if not self.stacks or self.cancel.is_set() or late(self.until):
                return None
            self.busy += 1
            return self.stacks.pop()

    def give(self, stack):
        with self.changed:
            self.stacks.append(stack)
            self.changed.notify()

    def leave(self, stack):
        """There is no time for these."""
        with self.changed:
            self.left.append(stack)

    def done(self):
        with self.changed:
            self.busy -= 1
            self.changed.notify_all()

    def hand_in(self, work):
        with self.changed:
            self.found.append(finish(work))
            self.stats = self.stats.plus(counters(work.query[0]))


def share(loop, work, until):
    """Deal out the stack of `work` to the pool and put the answers together."""
    n_workers, position = pool.threads(), int(work.query["position"][0])
    parts = [work.stack[k:position:4 * n_workers].copy() for k in range(min(position, 4 * n_workers))]
    shared = _Share(parts, Stats(), until)
    shared.hand_in(work)
    start = work.query.copy()
    for name in ("found", *COUNTERS):
        start[name] = 0
    pool.run([partial(serve, loop, start, shared)] * n_workers, shared.cancel)
    left = NOTHING if shared.cancel.is_set() else np.concatenate([*shared.left, *shared.stacks])          # cancelled: there is enough
    return np.concatenate(shared.found), shared.stats, left


def serve(loop, start, shared):
    """One worker: take stacks until there are none."""
    work = Workspace()
    work.query[:] = start
    while (stack := shared.take()) is not None:
        try:
            go_on(loop, work, stack, shared)
        finally:
            shared.done()
    shared.hand_in(work)


def go_on(loop, work, stack, shared):
    """Work off one stack, giving away half of it whenever somebody waits."""
    work.prepare(len(stack) + loop.depth)
    work.stack[:len(stack)] = stack
    state = work.query[0]
    state["position"] = len(stack)
    while not shared.cancel.is_set():
        if late(shared.until):
            return shared.leave(work.stack[:state["position"]].copy())
        state["budget"] = CHUNK if shared.until is None else STEP
        with silent():
            reason = loop.go(work.query, work.stack, work.keys)
        if reason == FULL:
            work.keys = grown(work.keys)
        elif reason == ENOUGH:
            shared.cancel.set()
        elif reason != BUDGET:
            return
        elif shared.waiting and not shared.stacks and state["position"] > 1:
            position = int(state["position"])
            half = position // 2
            shared.give(work.stack[:half].copy())
            work.stack[:position - half] = work.stack[half:position].copy()
            state["position"] = position - half
