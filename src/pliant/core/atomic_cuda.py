"""`core/atomic.py` on CUDA; importing this registers it."""
from numba import cuda

from pliant.core.atomic import add, lift, lower
from pliant.core.device import simulated

if not simulated():
    from numba.cuda.extending import overload

    @overload(add, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            return cuda.atomic.add(array, i, value)
        return body

    @overload(lower, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            cuda.atomic.min(array, i, value)
        return body

    @overload(lift, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            cuda.atomic.max(array, i, value)
        return body
