"""The decorators of kernels: their options, what they refuse, and the symbols of compiled code."""

import numba
import pytest

from child import python
from pliant.core import jit

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


def test_no_function_is_compiled_with_fast_math():
    """Neither asked for nor inherited: said explicitly, for kernels and for the bodies that `core/dispatch.py` chooses."""
    from pliant.core import dispatch
    from pliant.query.traverse import traverse

    assert jit.OPTIONS["fastmath"] is False and dispatch.BODY_OPTIONS["fastmath"] is False
    assert traverse.targetoptions["fastmath"] is False and traverse.targetoptions["nogil"] is True
    assert jit.helper(lambda a: a).targetoptions["fastmath"] is False


def test_a_kernel_that_allocates_is_refused():
    import numpy as np

    with pytest.raises(numba.core.errors.NumbaError):
        jit.kernel(lambda n: np.zeros(n).sum())(3)


def test_no_two_processes_give_one_symbol_to_two_functions():
    """Code from the cache keeps its symbols; Numba's own names start from the same numbers in every process."""
    names = [python("""
        import os
        from pliant.core.jit import kernel

        def symbol():
            @kernel
            def _(x):
                return x
            _(1)
            return next(iter(_.overloads.values())).fndesc.mangled_name

        read, write = os.pipe() if hasattr(os, "fork") else (None, None)
        if read is not None and os.fork() == 0:
            os.write(write, symbol().encode())
            os._exit(0)
        print(symbol())
        if read is not None:
            print(os.read(read, 10000).decode())
    """, PLIANT_CACHE="").split() for _ in range(2)]
    assert len({name for pair in names for name in pair}) == sum(map(len, names)) >= 2
