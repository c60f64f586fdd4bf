"""Decorators that compile functions with Numba; the only place that sets compiler options for the CPU.

A `kernel` is called from Python and releases the GIL; a `helper` is inlined into kernels; a `routine` is called by kernels. The latter two
get no Python wrapper, which saves a fifth of all compilation. `entry` compiles a function that kernels call by its address.

No fast-math, and explicitly so: if the flag is left out, a function inherits it from its caller, in exact arithmetic too, and keeps it in
the disk cache. `_nrt=False` keeps reference counts out of the loops (4 to 7 % on one core, a shared cache line on several) and makes Numba
refuse kernels that allocate.

Compiled code is cached on disk: `core/cache.py`.
"""
import gc
import itertools
import os
import secrets
import threading
import time
from contextlib import contextmanager, nullcontext

import numpy as np
from numba import config, njit
from numba.core import registry
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature
from numba.core.types import unliteral

from pliant.core import cache

OPTIONS = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True, "fastmath": False, "error_model": "numpy", "boundscheck": False}
BODY_OPTIONS = {name: value for name, value in OPTIONS.items() if name != "nogil"} | {"forceinline": True, "no_cpython_wrapper": True}
ENTRY_OPTIONS = {name: value for name, value in OPTIONS.items() if name not in ("nogil", "_nrt", "no_cfunc_wrapper")}
DISABLED = bool(config.DISABLE_JIT)
_compiling, _seconds, _NO_CONTEXT = threading.local(), [0.0], nullcontext()


def _randomise_symbols():
    """Let the numbers that distinguish functions of one name and signature start at a random value in every process.

    Numba counts them from 1, and names records by a count too, while cached code keeps its symbols: two functions called `_`, or one for
    two node types, compiled by two processes, could get the same symbol, and the linker would use either for both.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(56))


_randomise_symbols()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_randomise_symbols)


def ignore_float_errors():
    """A context that ignores overflow and NaN, which occur in empty lanes: kernels never warn of them, and NumPy, which runs the formulas
    with the JIT off, must not."""
    return np.errstate(all="ignore") if DISABLED else _NO_CONTEXT


def kernel(function):
    """Compile `function` on first use, to be called from Python without the GIL."""
    return _cached(njit(**OPTIONS)(function))


def helper(function):
    """Compile `function` into each of its callers. Called from Python it runs uncompiled, on NumPy rows for example."""
    return _internal(njit(forceinline=True, no_cpython_wrapper=True, **OPTIONS)(function), _Helper)


def routine(function):
    """Compile `function` once, for kernels to call. The first call from Python, in a test for example, compiles a wrapper."""
    return _internal(njit(no_cpython_wrapper=True, **OPTIONS)(function), _Routine)


class _Helper(registry.CPUDispatcher):
    def __call__(self, *args):
        return self.py_func(*args)


class _Routine(registry.CPUDispatcher):
    python_entry = None

    def __call__(self, *args):
        if self.python_entry is None:
            self.python_entry = njit(**OPTIONS)(self.py_func)
        return self.python_entry(*args)


def _internal(dispatcher, kind):
    if not DISABLED:
        dispatcher.__class__ = kind
    return _cached(dispatcher)


def entry(signature, function):
    """`function` compiled for calls by address. It makes arrays from addresses, which needs Numba's runtime; its callees do not use it."""
    compiled = CFunc(function, normalize_signature(signature), locals={}, options=ENTRY_OPTIONS)
    compiled._cache = cache.cache_of(function, DISABLED, OPTIONS)
    with timed_compilation():
        compiled.compile()
    return compiled


def _cached(dispatcher):
    """Cache on disk, and do not compile again for every literal: in Numba the 0 in f(t, 0) has a type of its own."""
    if not DISABLED:
        dispatcher._cache = cache.cache_of(dispatcher.py_func, DISABLED, OPTIONS)
        compile_one = dispatcher.compile
        dispatcher.compile = lambda signature: _timed(compile_one, signature)
        call_template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: call_template(
            tuple(map(unliteral, args)), {k: unliteral(t) for k, t in kws.items()})
    return dispatcher


def _timed(compile_one, signature):
    with timed_compilation():
        return compile_one(signature)


@contextmanager
def timed_compilation():
    """Count the compile time, once for nested compilations. The garbage collector is off meanwhile: it would traverse the millions of
    short-lived objects of a compilation again and again, for a tenth of the time."""
    if getattr(_compiling, "outer", False):
        yield
        return
    start, _compiling.outer = time.perf_counter(), True
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
        _compiling.outer = False
        _seconds[0] += time.perf_counter() - start


def compile_seconds():
    """The seconds that this process has spent compiling, or loading cached code."""
    return _seconds[0]


def cache_state():
    """The state of the cache folder, which is created and checked once per process."""
    return cache.load_state(DISABLED, OPTIONS)
