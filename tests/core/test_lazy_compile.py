"""Functions that are compiled when a kernel first calls them."""

import signal
import threading
import time

import numpy as np
import pytest

import pliant as pl
from child import python
from pliant.core import jit
from pliant.core import lazy_compile as module
from pliant.core.jit import kernel
from pliant.core.lazy_compile import lazy_compiled
from pliant.core.stack import stack_float64
from pliant.core.threads import compile_failures

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


@lazy_compiled
def dot(t, a, b):
    return np.int64(t[a] * t[b] + t[a + 1] * t[b + 1])


@lazy_compiled
def answered(t, n):
    t[0] = 2.0 * t[0]
    return n == 3


@kernel
def from_array(rows, n):
    return dot(rows, 0, 2) + n


@kernel
def from_scratch(n):
    t = stack_float64(4)
    t[0], t[1], t[2], t[3] = 1.0, 2.0, 3.0, float(n)
    return dot(t, np.int32(0), np.int64(2)) * 10 + answered(t, n) + np.int64(t[0])


@kernel
def many(rows, n):
    total = 0
    for _ in range(n):
        total += dot(rows, 0, 2)
    return total


ROWS = np.array([1.0, 2.0, 3.0, 4.0])


def fresh(function):
    """A function as it is before its first call."""
    slot = function.slot
    slot.compiled = None
    slot.cell.value = module.ctypes.cast(slot.callback, module.ctypes.c_void_p).value
    return slot


def test_kernels_call_it_with_arrays_and_scratch():
    slot = fresh(dot)
    before = slot.cell.value
    assert from_array(ROWS, 5) == 16
    assert slot.compiled is not None and slot.cell.value == slot.compiled.address != before
    assert from_array(ROWS, 6) == 17
    assert from_scratch(3) == 10 * 9 + 1 + 2
    assert from_scratch(4) == 10 * 11 + 0 + 2
    assert dot(ROWS, 0, 2) == 11


def test_many_threads_may_be_the_first():
    fresh(dot)
    found, threads = [], []
    for _ in range(8):
        threads.append(threading.Thread(target=lambda: found.append(many(ROWS, 1000))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [11_000] * 8


def test_an_interrupt_is_put_off(monkeypatch):
    """Compiling goes on, the kernel gives the right answer, and the interrupt comes after it."""
    slot, entry, times = fresh(dot), jit.entry, []

    def interrupted(*given):
        times.append(time.monotonic())
        if len(times) == 1:
            signal.raise_signal(signal.SIGINT)
        return entry(*given)

    monkeypatch.setattr(jit, "entry", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            assert from_array(ROWS, 5) == 16
            times.append(None)
            for _ in range(200):
                time.sleep(0.05)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(times) == 3 and slot.compiled is not None


def test_a_failure_ends_the_query(monkeypatch):
    """A callback cannot raise: the query does, and the next one tries again."""
    def broken(*given):
        raise MemoryError("for a test")

    from pliant.geometry.triangle_overlap import overlap_exact

    a, b = (pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, z]], [[0, 1, 2]]) for z in (0.0, 1.0))
    assert len(pl.collide(a, b)) == 1                                   # all else is compiled now
    fresh(overlap_exact)
    with monkeypatch.context() as patch:
        patch.setattr(jit, "entry", broken)
        with pytest.raises(RuntimeError, match="could not be compiled") as error:
            pl.collide(a, b)
        assert isinstance(error.value.__cause__, MemoryError) and not compile_failures
    assert pl.collide(a, b).faces.tolist() == [[0, 0]]


def test_kernels_from_the_disk_cache_call_it(tmp_path):
    """Another process loads the kernel, finds the symbol, and the function, too, in the cache."""
    code = """
        import pliant as pl
        from pliant.geometry.triangle_overlap import overlap_exact
        a, b = (pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, z]], [[0, 1, 2]]) for z in (0.0, 1.0))
        print(pl.collide(a, b).faces.tolist(), overlap_exact.slot.compiled.cache_hits)
    """
    tmp_path.chmod(0o700)
    assert [python(code, PLIANT_CACHE=tmp_path).strip() for _ in range(2)] == ["[[0, 0]] 0", "[[0, 0]] 1"]
