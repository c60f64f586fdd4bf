"""Run a resumable loop to its end: grow full buffers, handle Ctrl-C, share large work with the thread pool.

One thread starts. If the first budget does not suffice and there are more threads, the pairs on the stack are dealt out. A worker whose
budget is spent while others are idle gives away the bottom half of its stack, where the large pairs are. With a time budget the loop runs
in small steps and the clock is read between them; the pairs left on all stacks are returned (`unresolved.py`).
"""
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core import memory, validate
from pliant.core import threads as pool
from pliant.core.jit import ignore_float_errors
from pliant.errors import TooManyPairsError
from pliant.query.traverse import BUDGET_SPENT, COUNTERS, EARLY_EXIT, OUTPUT_FULL
from pliant.results import Stats

CALL_BUDGET = 1 << 14                                                   # pairs of nodes per call: about a millisecond
TIMED_CALL_BUDGET = 1 << 9                                              # pairs of nodes between readings of the clock: about 30 µs
NO_ENTRIES = np.empty(0, np.int64)
INITIAL_KEYS = 1 << 13                                                  # initial capacity for keys
MAX_STATE_SIZE = 1 << 11                                                # bytes of the state of a query
MAX_KEPT_KEYS = 1 << 20                                                 # capacity that a thread keeps between queries
IDLE_WAIT = 0.05                                                        # seconds between checks of an idle worker


def now():
    """Seconds of a monotonic clock. All code reads it through this function, so that tests can set it."""
    return time.perf_counter()


def deadline(budget_ms):
    """The time at which a query that starts now must stop; None: never. Validates the budget."""
    limit = np.inf if budget_ms is None else validate.nonnegative("budget_ms", budget_ms)
    return None if limit == np.inf else now() + limit / 1000.0


def time_is_up(end_time):
    """Has the end time passed?"""
    return end_time is not None and now() >= end_time


class Workspace:
    """Buffers of a running query: state, stack, keys. A thread keeps them from one query to the next."""

    def __init__(self):
        self._state, self._records = np.zeros(MAX_STATE_SIZE, np.uint8), {}
        self.stack, self.keys, self._lower_bounds = np.empty(1024, np.int64), np.empty(INITIAL_KEYS, np.int64), np.empty(0, np.float32)

    def record(self, dtype):
        """The state as a record (1,) of this type. All types share the end of one buffer: each ends with a QUERY_STATE."""
        record = self._records.get(dtype)
        if record is None:
            record = self._records[dtype] = np.ndarray(1, dtype, self._state, MAX_STATE_SIZE - dtype.itemsize)
        return record

    def reserve_stack(self, stack_size):
        """Grow the stack to so many pairs."""
        if len(self.stack) < stack_size:
            self.stack = np.empty(stack_size, np.int64)

    def waiting(self):
        """A float32 buffer with one value per stack entry."""
        if len(self._lower_bounds) < len(self.stack):
            self._lower_bounds = np.empty(len(self.stack), np.float32)
        return self._lower_bounds


_idle = threading.local()


@contextmanager
def workspace():
    """A Workspace for exclusive use: a signal handler may start a query while another runs in the same thread."""
    idle = _idle.__dict__.setdefault("workspaces", [])
    space = idle.pop() if idle else Workspace()
    try:
        yield space
    finally:
        if len(space.keys) > MAX_KEPT_KEYS:
            space.keys = np.empty(INITIAL_KEYS, np.int64)
        idle.append(space)


class ResumableLoop(NamedTuple):
    """A query that can be run: `resume(query, stack, keys)` is the kernel bound to its bodies, `query` (1,) its state, `stack_size` the
    capacity of its stack.

    `shapes` keeps the BVHs alive: the kernel knows their arrays by address. `call_budget`: pairs of nodes per call,
    if not CALL_BUDGET.
    """
    resume: Any
    query: np.ndarray
    stack_size: int
    shapes: tuple
    call_budget: int | None = None


def run_loop(loop, space, end_time=None):
    """Run the query whose initial state is in `space`; (keys in any order, Stats, pairs left on the stack when time was up)."""
    query, budget, visited = loop.query, (loop.call_budget or CALL_BUDGET) if end_time is None else TIMED_CALL_BUDGET, 0
    state = query[0]
    while not time_is_up(end_time):
        state["budget"] = budget
        with ignore_float_errors():
            reason = loop.resume(query, space.stack, space.keys)
        visited += budget
        if reason == OUTPUT_FULL:
            space.keys = grow_keys(space.keys)
        elif reason != BUDGET_SPENT:
            return copy_keys(space, state), read_stats(state), NO_ENTRIES
        elif visited >= CALL_BUDGET and pool.threads() > 1 and state["position"] > 1:
            return run_shared(loop, space, end_time)
    return copy_keys(space, state), read_stats(state), space.stack[:state["position"]].copy()


def copy_keys(space, state):
    """A copy of the keys found."""
    return space.keys[:state["found"]].copy()


def read_stats(state):
    return Stats(*(int(state[name]) for name in COUNTERS))


def grow_keys(keys):
    """Double the capacity, if memory allows: the copy, the sorted pairs and the caller's own need as much again."""
    if not memory.fits_in_memory(4 * keys.nbytes):
        raise TooManyPairsError(f"more than {len(keys):,} pairs meet, and memory for twice as many is not available; "
                                "ask for first=True, or test fewer faces at a time")
    return np.concatenate([keys, np.empty_like(keys)])


class _SharedStacks:
    """The stacks that wait for a worker, and the results of the others. Workers may start late, or never."""

    def __init__(self, stacks, stats, end_time):
        self.condition, self.cancelled, self.end_time = threading.Condition(), threading.Event(), end_time
        self.stacks, self.n_busy, self.waiting, self.unfinished = stacks, 0, 0, [NO_ENTRIES]
        self.found, self.stats = [], stats

    def pop_stack(self):
        """The next stack; None when all are done, the query is cancelled or time is up."""
        with self.condition:
            self.waiting += 1
            while not self.stacks and self.n_busy and not self.cancelled.is_set():
                self.condition.wait(IDLE_WAIT)
            self.waiting -= 1
            if not self.stacks or self.cancelled.is_set() or time_is_up(self.end_time):
                return None
            self.n_busy += 1
            return self.stacks.pop()

    def push_stack(self, stack):
        with self.condition:
            self.stacks.append(stack)
            self.condition.notify()

    def abandon_stack(self, stack):
        """Record the pairs that there was no time for."""
        with self.condition:
            self.unfinished.append(stack)

    def finish_stack(self):
        with self.condition:
            self.n_busy -= 1
            self.condition.notify_all()

    def add_results(self, space, state):
        with self.condition:
            self.found.append(copy_keys(space, state))
            self.stats = self.stats + read_stats(state)


def run_shared(loop, space, end_time):
    """Deal out the stack of `space` to the pool and combine the results."""
    n_workers, position = pool.threads(), int(loop.query["position"][0])
    stacks = [space.stack[k:position:4 * n_workers].copy() for k in range(min(position, 4 * n_workers))]
    shared = _SharedStacks(stacks, Stats(), end_time)
    shared.add_results(space, loop.query[0])
    initial_state = loop.query.copy()
    for name in ("found", *COUNTERS):
        initial_state[name] = 0
    pool.run_jobs([partial(run_worker, loop, initial_state, shared)] * n_workers, shared.cancelled)
    # cancelled: a worker has left early
    unfinished = NO_ENTRIES if shared.cancelled.is_set() else np.concatenate([*shared.unfinished, *shared.stacks])
    return np.concatenate(shared.found), shared.stats, unfinished


def run_worker(loop, initial_state, shared):
    """Run one worker: process stacks until there are none."""
    space, query = Workspace(), initial_state.copy()
    while (stack := shared.pop_stack()) is not None:
        try:
            run_stack(loop, query, space, stack, shared)
        finally:
            shared.finish_stack()
    shared.add_results(space, query[0])


def run_stack(loop, query, space, stack, shared):
    """Process one stack; push half of it whenever another worker waits."""
    space.reserve_stack(len(stack) + loop.stack_size)
    space.stack[:len(stack)] = stack
    state = query[0]
    state["position"] = len(stack)
    while not shared.cancelled.is_set():
        if time_is_up(shared.end_time):
            return shared.abandon_stack(space.stack[:state["position"]].copy())
        state["budget"] = (loop.call_budget or CALL_BUDGET) if shared.end_time is None else TIMED_CALL_BUDGET
        with ignore_float_errors():
            reason = loop.resume(query, space.stack, space.keys)
        if reason == OUTPUT_FULL:
            space.keys = grow_keys(space.keys)
        elif reason == EARLY_EXIT:
            shared.cancelled.set()
        elif reason != BUDGET_SPENT:
            return
        elif shared.waiting and not shared.stacks and state["position"] > 1:
            position = int(state["position"])
            half = position // 2
            shared.push_stack(space.stack[:half].copy())
            space.stack[:position - half] = space.stack[half:position].copy()
            state["position"] = position - half
