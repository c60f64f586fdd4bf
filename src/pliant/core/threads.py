"""One thread pool for kernels that release the GIL, and the read-write lock of bodies: many queries or one update.

No `prange`, no global threading layer: under eight Python threads the former aborts the process, the latter kills forked children or
delays Ctrl-C until a loop ends. Here kernels return to Python every few milliseconds (their budget), where the main thread can be
interrupted and the workers see the cancel event. The pool is made on first use and again in a forked child.
"""
import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal
from weakref import WeakSet

from pliant.core.environment import integer_setting
from pliant.errors import ArgumentError

_lock = threading.Lock()
_pools: dict[str, ThreadPoolExecutor] = {}                              # "queries" and "refits": see run_jobs
_thread_local = threading.local()
_threads: int | None = None
_locks: "WeakSet[ReadWriteLock]" = WeakSet()
compile_failures: list[BaseException] = []                              # errors that compiled code could not raise: core/lazy_compile.py
_background: "WeakSet[threading.Thread]" = WeakSet()
EXIT_WAIT = 1.0                                                         # seconds for background threads at exit
INTERRUPT_POLL = 0.1                                                    # seconds between checks of the waiting thread for Ctrl-C


def threads() -> int:
    """The maximum number of threads of a query: that of `set_threads`, else of PLIANT_THREADS, else the processors available to this
    process.
    """
    if _threads is not None:
        return _threads
    requested = integer_setting("PLIANT_THREADS", "a whole number from 1 up", minimum=1)
    if requested is not None:
        return requested
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(n: int | None) -> None:
    """Set the number of threads of queries.

    n : 1 or more; None: the default, as for `threads`

    >>> import pliant as pl
    >>> pl.set_threads(1)
    >>> pl.threads()
    1
    >>> pl.set_threads(None)
    """
    global _threads
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ArgumentError(f"n: expected a whole number from 1 up, or None, got {n!r}")
    with _lock:
        _threads = n
        old = list(_pools.values())
        _pools.clear()
    for pool in old:
        pool.shutdown(wait=False)


@contextmanager
def use_threads(n: int) -> Iterator[None]:
    """Use n threads within the context, then as many as before."""
    before = _threads
    set_threads(n)
    try:
        yield
    finally:
        set_threads(before)


def _reset_after_fork() -> None:
    """In a forked child: drop the pool, whose threads do not exist here, and the locks that they held."""
    global _lock
    _pools.clear()
    _lock = threading.Lock()
    _background.clear()
    for guard in list(_locks):
        guard.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def run_in_background(job: Callable[[], object]) -> "Future[object]":
    """Run one job in a background thread of its own; returns its future, which never completes in a forked child.

    The interpreter waits for it before it exits, EXIT_WAIT seconds at most: if it ends a thread inside a kernel, the process may abort."""
    future: Future[object] = Future()

    def run_job() -> None:
        try:
            future.set_result(job())
        except BaseException as error:
            future.set_exception(error)
    thread = threading.Thread(target=run_job, name="pliant background", daemon=True)
    _background.add(thread)
    thread.start()
    return future


def _wait_for_background() -> None:
    """Called at exit."""
    end = time.monotonic() + EXIT_WAIT
    for thread in list(_background):
        thread.join(max(0.0, end - time.monotonic()))


atexit.register(_wait_for_background)


def _mark_worker() -> None:
    _thread_local.is_worker = True


def is_worker() -> bool:
    """Is this a thread of a pool? Then the others are busy too."""
    return getattr(_thread_local, "is_worker", False)


def run_jobs(jobs: Iterable[Callable[[], object]], cancel: threading.Event, purpose: Literal["queries", "refits"] = "queries") -> None:
    """Run the jobs in a pool. An exception in a job, or Ctrl-C here, sets `cancel` and is raised when all jobs have stopped.

    Jobs of refits have a pool of their own: who waits for them holds a lock that jobs of queries may wait for. They take no locks.
    """
    futures: set[Future[object]] = set()
    try:
        with _lock:
            if purpose not in _pools:
                _pools[purpose] = ThreadPoolExecutor(threads(), thread_name_prefix=f"pliant {purpose}", initializer=_mark_worker)
            for job in jobs:
                futures.add(_pools[purpose].submit(job))
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, INTERRUPT_POLL, FIRST_EXCEPTION)
            if any(future.exception() for future in done):
                cancel.set()
    except BaseException:                                               # also Ctrl-C between two jobs: no job may outlive this call
        cancel.set()
        wait(futures)
        raise
    for future in futures:
        future.result()


def map_chunks(count: int, size: int, function: Callable[[int, int], Any]) -> list[Any]:
    """The results of `function(begin, end)` for chunks of 0 … count, in any order; in the pool if there are several. Ctrl-C stops it
    between two chunks."""
    cancel, results = threading.Event(), list[Any]()

    def run_chunks(start: int, step: int) -> None:
        for begin in range(start, count, step):
            if cancel.is_set():
                return
            results.append(function(begin, min(begin + size, count)))

    n = min(threads(), -(-count // size))
    if n > 1:
        run_jobs([partial(run_chunks, k * size, n * size) for k in range(n)], cancel)
    else:
        run_chunks(0, size)
    return results


class ReadWriteLock:
    """A lock for many readers or one writer. A waiting writer goes before new readers, so that a stream of queries cannot starve an update.

    The locks of several bodies are taken in the order of `number`: two queries on (a, b) and (b, a), with a writer waiting for each, could
    otherwise deadlock.
    """

    _numbers = iter(range(1 << 62))

    def __init__(self) -> None:
        self.number = next(self._numbers)
        self.reset()
        _locks.add(self)

    def reset(self) -> None:
        """Set the state without readers and writers."""
        self.refit_lock = threading.RLock()                             # held by the one thread that refits
        self._lock = threading.Lock()                                   # taken directly: through the condition it costs a microsecond more
        self._changed = threading.Condition(self._lock)
        self._readers = self._writers = self._waiting = 0               # writers: waiting or writing

    def _wait(self) -> None:
        self._waiting += 1
        try:
            self._changed.wait()
        finally:
            self._waiting -= 1

    def start_reading(self) -> None:
        with self._lock:
            while self._writers:
                self._wait()
            self._readers += 1

    def stop_reading(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._waiting and not self._readers:
                self._changed.notify_all()

    def start_writing(self) -> None:
        self._lock.acquire()
        self._writers += 1
        try:
            while self._readers:
                self._wait()
        except BaseException:
            self.stop_writing()
            raise

    def stop_writing(self) -> None:
        self._writers -= 1
        if self._waiting:
            self._changed.notify_all()
        self._lock.release()


class ReadLock:
    """`with ReadLock(a.guard, b.guard):` nobody writes to these bodies."""

    def __init__(self, *guards: ReadWriteLock) -> None:
        self._guards = sorted(guards, key=lambda guard: guard.number) if len(guards) > 1 else guards

    def __enter__(self) -> None:
        held = []
        try:
            for guard in self._guards:
                guard.start_reading()
                held.append(guard)
        except BaseException:                                           # Ctrl-C while waiting for the second
            for guard in held:
                guard.stop_reading()
            raise

    def __exit__(self, *error: object) -> None:
        for guard in self._guards:
            guard.stop_reading()
        if compile_failures:
            raise RuntimeError("a function could not be compiled, and what was found is not to be used") from compile_failures.pop()
