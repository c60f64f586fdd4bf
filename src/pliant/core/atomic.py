"""Atomic operations on arrays, for step functions that run on a GPU and on the CPU.

On the CPU, where no two threads change the same element, they are ordinary instructions; on CUDA they are atomic (`atomic_cuda.py`
registers that). In plain Python, which is also how CUDA is simulated, a lock makes them atomic.
"""
import threading

from numba.extending import overload

from pliant.core.jit import BODY_OPTIONS, DISABLED

_lock = threading.Lock()


def atomic_add(array, i, value):
    """array[i] += value; returns the old value."""
    with _lock:
        old = array[i]
        array[i] = old + value
        return old


def atomic_min(array, i, value):
    """array[i] = min(array[i], value)."""
    with _lock:
        array[i] = min(array[i], value)


def atomic_max(array, i, value):
    """array[i] = max(array[i], value)."""
    with _lock:
        array[i] = max(array[i], value)


if not DISABLED:
    @overload(atomic_add, jit_options=BODY_OPTIONS)
    def _(array, i, value):
        def body(array, i, value):
            old = array[i]
            array[i] = old + value
            return old
        return body

    @overload(atomic_min, jit_options=BODY_OPTIONS)
    def _(array, i, value):
        def body(array, i, value):
            array[i] = min(array[i], value)
        return body

    @overload(atomic_max, jit_options=BODY_OPTIONS)
    def _(array, i, value):
        def body(array, i, value):
            array[i] = max(array[i], value)
        return body
