"""Frames in parallel: each is processed by one of several workers, each in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from pliant.check.worker import FrameWorker
from pliant.core.threads import use_threads

POLL_SECONDS = 0.1  # seconds between checks for Ctrl-C


def make_workers(first: FrameWorker, jobs: int) -> list[FrameWorker]:
    """So many workers, each with bodies of its own."""
    workers = [first, *(FrameWorker(first.animation, first.options, first.asked) for _ in range(jobs - 1))]
    for worker in workers:
        worker.first_faces = first.first_faces
    return workers


def map_frames(workers: list[FrameWorker], frames: list[int], process: Callable[[FrameWorker, int], Any]) -> Iterator[Any]:
    """The results of `process` for all frames: in order, or with several workers as they finish."""
    if min(len(workers), len(frames)) <= 1:
        yield from (process(workers[0], frame) for frame in frames)
        return
    with use_threads(1):  # frames already run in parallel
        yield from map_in_threads(workers, frames, process)


def map_in_threads(workers: list[FrameWorker], frames: list[int], process: Callable[[FrameWorker, int], Any]) -> Iterator[Any]:
    """The results of `process`, as they finish. The threads are daemons: a stopped check need not wait for slow frames."""
    todo, lock, stop = iter(frames), threading.Lock(), threading.Event()
    outputs: queue.Queue[Any] = queue.Queue(len(workers))

    def put(item: Any) -> None:
        while not stop.is_set():
            try:
                return outputs.put(item, timeout=POLL_SECONDS)
            except queue.Full:
                continue

    def run_worker(worker: FrameWorker) -> None:
        try:
            while not stop.is_set():
                with lock:
                    frame = next(todo, None)
                if frame is None:
                    break
                put((process(worker, frame), None))
        except BaseException as error:  # the waiting thread raises it
            put((None, error))
        put(None)

    try:
        for lane in workers:
            threading.Thread(target=run_worker, args=(lane,), daemon=True, name="pliant check").start()
        running = len(workers)
        while running:
            try:
                item = outputs.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if item is None:
                running -= 1
            elif item[1] is not None:
                raise item[1]
            else:
                yield item[0]
    finally:
        stop.set()
