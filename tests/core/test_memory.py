"""An answer that does not fit into memory is refused in time, with the number of pairs so far, and the bodies stay usable."""

import threading

import numpy as np
import pytest

import pliant as pl
from pliant.core import memory
from pliant.errors import PliantError, TooManyPairsError
from pliant.query import scheduler

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
N = 200  # 40,000 pairs: more than the room that three threads begin with


def heap(n=N):
    """n faces at one place: every face of one heap meets every face of another."""
    return pl.Body(TRIANGLE, np.tile([0, 1, 2], (n, 1)))


def everything(n=N):
    return np.argwhere(np.ones((n, n), bool)).astype(np.int32)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def shared(request, set_threads, monkeypatch):
    """The same with the work shared from the beginning."""
    set_threads(request.param)
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 8)


@pytest.fixture
def cramped(monkeypatch):
    """Hardly any memory is left, and no thread has room from earlier queries."""
    monkeypatch.setattr(scheduler, "_idle", threading.local())
    monkeypatch.setenv("PLIANT_MEMORY", str(memory.RESERVED_BYTES + 4096))


def test_too_many_pairs_are_refused(cramped, shared):
    a, b = heap(), heap()
    with pytest.raises(TooManyPairsError) as refusal:
        pl.collide(a, b)
    assert isinstance(refusal.value, MemoryError) and isinstance(refusal.value, PliantError)
    assert f"more than {scheduler.INITIAL_KEYS:,} pairs" in str(refusal.value)
    assert "first=True" in str(refusal.value)


def test_bodies_answer_afterwards(monkeypatch, cramped, shared):
    a, b = heap(), heap()
    for _ in range(3):
        with pytest.raises(TooManyPairsError):
            pl.collide(a, b)
        assert pl.collide(a, b, first=True)
        assert len(pl.collide(a, heap(3))) == 3 * N
    a.update(TRIANGLE + 5)
    assert len(pl.collide(a, b)) == 0
    a.update(TRIANGLE)
    monkeypatch.delenv("PLIANT_MEMORY")
    np.testing.assert_array_equal(pl.collide(a, b).faces, everything())


def test_results_grow_as_far_as_memory_goes(monkeypatch, shared):
    monkeypatch.setattr(scheduler, "_idle", threading.local())
    monkeypatch.setattr(scheduler, "INITIAL_KEYS", 64)
    np.testing.assert_array_equal(pl.collide(heap(), heap()).faces, everything())


def test_a_thread_keeps_no_large_result(monkeypatch):
    monkeypatch.setattr(scheduler, "_idle", threading.local())
    monkeypatch.setattr(scheduler, "MAX_KEPT_KEYS", scheduler.INITIAL_KEYS)
    assert len(pl.collide(heap(), heap())) == N * N > scheduler.INITIAL_KEYS
    assert all(len(work.keys) <= scheduler.MAX_KEPT_KEYS for work in scheduler._idle.workspaces)


def test_small_answers_need_no_memory(monkeypatch):
    monkeypatch.setenv("PLIANT_MEMORY", "1")
    assert len(pl.collide(heap(50), heap(50))) == 2500


@pytest.mark.formulas
def test_the_least_limit_counts(monkeypatch, tmp_path):
    limit, use = tmp_path / "limit", tmp_path / "use"
    monkeypatch.setattr(memory, "_LIMITS", (limit,))
    monkeypatch.setattr(memory, "_USAGES", (use,))
    monkeypatch.setattr(memory, "_STATS", (tmp_path / "stat",))         # the machine's own would count
    monkeypatch.delenv("PLIANT_MEMORY", raising=False)
    machine = memory.available_bytes()
    limit.write_text("max\n")
    use.write_text("5\n")
    assert memory.available_bytes() == pytest.approx(machine, rel=0.5)
    limit.write_text("1005\n")
    assert memory.available_bytes() == 1000
    monkeypatch.setenv("PLIANT_MEMORY", "999")
    assert memory.available_bytes() == 999
    monkeypatch.setenv("PLIANT_MEMORY", "2000")
    assert memory.available_bytes() == 1000


@pytest.mark.formulas
def test_something_is_left_for_others(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: memory.RESERVED_BYTES + 100)
    assert memory.fits_in_memory(100) and not memory.fits_in_memory(101)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert memory.fits_in_memory(1 << 60)


@pytest.mark.formulas
def test_a_limit_that_is_no_number_is_named(monkeypatch):
    monkeypatch.setenv("PLIANT_MEMORY", "plenty")
    with pytest.raises(ValueError, match=r"PLIANT_MEMORY.*'plenty'"):
        memory.available_bytes()
