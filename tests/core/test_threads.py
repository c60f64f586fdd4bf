"""The guard of a body lets many read or one write, and nobody waits for ever; the pool runs all jobs and passes errors on."""

import os
import threading
import time

import pytest

import pliant as pl
from child import LATE, python, together
from pliant.core import threads as pool
from pliant.core.threads import ReadLock, ReadWriteLock

SOON = 0.15  # seconds: long enough to see that nothing happens


# ------------------------------------------------------------------------------------------------ the guard

@pytest.mark.formulas
def test_many_read_at_once():
    guard, meeting = ReadWriteLock(), threading.Barrier(8)

    def read():
        with ReadLock(guard):
            meeting.wait(LATE)

    together(*[read] * 8)


@pytest.mark.formulas
def test_a_writer_waits_for_readers_and_they_for_it():
    guard, order, writing = ReadWriteLock(), [], threading.Event()

    def write():
        guard.start_writing()
        writing.set()
        order.append("written")
        guard.stop_writing()

    def read():
        with ReadLock(guard):
            order.append("read")

    guard.start_reading()
    writer, reader = threading.Thread(target=write, daemon=True), threading.Thread(target=read, daemon=True)
    writer.start()
    assert not writing.wait(SOON)
    reader.start()  # comes after the writer: must not overtake it
    time.sleep(SOON)
    assert order == []
    guard.stop_reading()
    writer.join(LATE)
    reader.join(LATE)
    assert order == ["written", "read"]


@pytest.mark.formulas
def test_one_writes_at_a_time():
    guard, state = ReadWriteLock(), {"inside": 0, "most": 0}

    def write():
        for _ in range(50):
            guard.start_writing()
            state["inside"] += 1
            state["most"] = max(state["most"], state["inside"])
            time.sleep(0)
            state["inside"] -= 1
            guard.stop_writing()

    def read():
        for _ in range(50):
            with ReadLock(guard):
                assert state["inside"] == 0

    together(*[write] * 4, *[read] * 4)
    assert state["most"] == 1


@pytest.mark.formulas
def test_a_stream_of_readers_does_not_keep_a_writer_out():
    guard, done = ReadWriteLock(), threading.Event()

    def read():
        while not done.is_set():
            with ReadLock(guard):
                time.sleep(0.002)

    def write():
        for _ in range(20):
            guard.start_writing()
            guard.stop_writing()
            time.sleep(0.001)
        done.set()

    together(*[read] * 4, write)


@pytest.mark.formulas
def test_readers_of_two_in_opposite_order_do_not_lock_each_other():
    a, b, done = ReadWriteLock(), ReadWriteLock(), threading.Event()

    def read(first, second):
        for _ in range(300):
            with ReadLock(first, second):
                time.sleep(0)

    def write(guard):
        while not done.is_set():
            guard.start_writing()
            guard.stop_writing()
            time.sleep(0)

    def readers():
        try:
            together(lambda: read(a, b), lambda: read(b, a), lambda: read(a, b), lambda: read(b, a))
        finally:
            done.set()

    together(readers, lambda: write(a), lambda: write(b))


@pytest.mark.formulas
def test_an_interrupted_wait_leaves_nothing_held(monkeypatch):
    """Ctrl-C while the second of two bodies is waited for: the first can be updated afterwards."""
    a, b = ReadWriteLock(), ReadWriteLock()

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(b, "start_reading", interrupted)
    with pytest.raises(KeyboardInterrupt), ReadLock(b, a):
        pass
    assert (a._readers, b._readers) == (0, 0)


@pytest.mark.formulas
def test_an_interrupted_writer_lets_others_go_on(monkeypatch):
    guard = ReadWriteLock()
    guard.start_reading()

    def interrupted(timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(guard._changed, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        guard.start_writing()
    monkeypatch.undo()
    guard.stop_reading()

    def write():
        guard.start_writing()
        guard.stop_writing()

    def read():
        with ReadLock(guard):
            pass

    together(write, read)


@pytest.mark.formulas
def test_a_query_that_fails_lets_an_update_in(monkeypatch):
    a, b = (pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]) for _ in range(2))
    monkeypatch.setattr("pliant.query.collide.two_bodies.run_loop", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pl.collide(a, b)
    monkeypatch.undo()
    together(lambda: a.update([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), lambda: b.update([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    assert len(pl.collide(a, b)) == 1


# ------------------------------------------------------------------------------------------------ how many threads

@pytest.mark.formulas
def test_the_number_of_threads(monkeypatch, set_threads):
    monkeypatch.delenv("PLIANT_THREADS", raising=False)
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert pl.threads() == expected
    monkeypatch.setenv("PLIANT_THREADS", "7")
    assert pl.threads() == 7
    set_threads(3)
    assert pl.threads() == 3
    set_threads(None)
    assert pl.threads() == 7
    monkeypatch.setenv("PLIANT_THREADS", "")
    assert pl.threads() == expected


@pytest.mark.formulas
@pytest.mark.parametrize("n", [0, -1, True, False, 2.0, "2", [2], float("nan")])
def test_other_numbers_are_refused(n, set_threads):
    set_threads(2)
    with pytest.raises(ValueError, match="n: expected a whole number"):
        set_threads(n)
    assert pl.threads() == 2


@pytest.mark.formulas
@pytest.mark.parametrize("text", ["0", "-2", "two", "1.5", "2 threads", "0x2", "²"])
def test_other_environments_are_refused(text, monkeypatch):
    monkeypatch.setenv("PLIANT_THREADS", text)
    with pytest.raises(ValueError, match=f"PLIANT_THREADS.*{text}"):
        pl.threads()


@pytest.mark.parametrize(("text", "found"), [("1", "1"), ("12", "12"), ("0", "PLIANT_THREADS"), ("many", "PLIANT_THREADS")])
def test_the_environment_of_a_process(text, found):
    """A mistake in it is reported where it matters, not on import."""
    code = """
        import pliant
        try:
            print(pliant.threads())
        except ValueError as error:
            print(error)
    """
    assert found in python(code, PLIANT_THREADS=text)


# ------------------------------------------------------------------------------------------------ the pool

@pytest.mark.formulas
def test_all_jobs_are_run(set_threads):
    set_threads(3)
    found, cancel = [], threading.Event()
    pool.run_jobs([lambda k=k: found.append(k) for k in range(50)], cancel)
    assert sorted(found) == list(range(50)) and not cancel.is_set()


@pytest.mark.formulas
def test_an_exception_in_a_job_stops_the_others_and_is_raised(set_threads):
    set_threads(2)
    cancel, seen = threading.Event(), []

    def fail():
        raise ZeroDivisionError("in a worker")

    def go_on():
        assert cancel.wait(LATE)
        seen.append("cancelled")

    with pytest.raises(ZeroDivisionError, match="in a worker"):
        pool.run_jobs([go_on, fail], cancel)
    assert seen == ["cancelled"]
    done = []
    pool.run_jobs([lambda: done.append(1)] * 4, threading.Event())
    assert len(done) == 4


@pytest.mark.formulas
def test_an_interrupt_of_the_caller_stops_all_jobs(set_threads, monkeypatch):
    set_threads(2)
    cancel, real, calls = threading.Event(), pool.wait, []

    def wait(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(pool, "wait", wait)
    ended = []
    with pytest.raises(KeyboardInterrupt):
        pool.run_jobs([lambda: ended.append(cancel.wait(LATE))] * 2, cancel)
    assert ended == [True, True]


@pytest.mark.formulas
def test_an_interrupt_between_two_jobs_leaves_none_running(set_threads):
    set_threads(2)
    cancel, ended = threading.Event(), []

    def jobs():
        yield lambda: ended.append(cancel.wait(LATE))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run_jobs(jobs(), cancel)
    assert ended == [True]


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("pliant")]


@pytest.mark.formulas
def test_threads_do_not_pile_up(set_threads):
    for n in (2, 4, 3, 2, 2):
        set_threads(n)
        for _ in range(3):
            pool.run_jobs([lambda: None] * 2 * n, threading.Event())
    deadline = time.monotonic() + LATE
    while len(workers()) > 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 1 <= len(workers()) <= 2
