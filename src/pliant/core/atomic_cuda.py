"""The CUDA bodies of `core/atomic.py`; importing this module registers them."""
from numba import cuda

from pliant.core.atomic import atomic_add, atomic_max, atomic_min
from pliant.core.device import is_simulated

if not is_simulated():
    from numba.cuda.extending import overload

    @overload(atomic_add, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            return cuda.atomic.add(array, i, value)
        return body

    @overload(atomic_min, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            cuda.atomic.min(array, i, value)
        return body

    @overload(atomic_max, target="cuda")
    def _(array, i, value):
        def body(array, i, value):
            cuda.atomic.max(array, i, value)
        return body
