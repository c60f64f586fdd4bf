"""Functions that are compiled when a kernel first calls them: the exact stages, which most scenes never reach.

    @lazy_compiled
    def overlap_exact(t, a, b):
        "0 or 1"

t is an array or scratch of float64 (`core/stack.py`); the other arguments and the result are int64. Two thirds of the time of the first
`collide` went into compiling exact arithmetic; kernels that call it by a symbol neither wait for it nor compile a copy each.

A call loads the address from a slot, 8 bytes that kernels, cached ones too, find by a symbol of the process. At first it is the address of
a callback into Python, which compiles the function, stores its address in the slot and calls it. A callback cannot raise: its errors are
raised at the end of the query (`ReadLock` in `core/threads.py`); an interrupt is delayed until the function is compiled. So a function may
be called twice with the same arguments, and must return the same result.
"""
import _thread
import ctypes
import inspect
import threading
from functools import update_wrapper
from weakref import WeakSet

from llvmlite import binding, ir
from numba import types

from pliant.core import jit
from pliant.core.threads import compile_failures
from pliant.core.vectors import DOUBLE, INT64, instruction

SCRATCH_POINTER = types.CPointer(types.float64)
SLOTS: "WeakSet[_Slot]" = WeakSet()                                     # of all lazily compiled functions
INTERRUPT_DELAY = 0.05                                                  # seconds after which a delayed interrupt is raised again

class _Slot:
    """The address of one function; at first that of a callback that compiles it."""

    def __init__(self, function, n):
        self.function, self.lock, self.compiled = function, threading.Lock(), None
        self.signature = types.int64(SCRATCH_POINTER, *[types.int64] * n)
        self.prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * n)
        self.callback = self.prototype(self.call)
        self.cell = ctypes.c_int64(ctypes.cast(self.callback, ctypes.c_void_p).value)
        self.symbol = f"pliant_deferred_{function.__module__}_{function.__qualname__}_{n}".replace(".", "_")
        SLOTS.add(self)
        binding.add_symbol(self.symbol, ctypes.addressof(self.cell))

    def address(self):
        """The address of the compiled function, which is compiled if necessary."""
        with self.lock:
            if self.compiled is None:
                self.compiled = jit.entry(self.signature, self.function)
                self.cell.value = self.compiled.address
            return self.compiled.address

    def call(self, *args):
        """The callback: compile the function and call it, from a kernel that has released the GIL."""
        interrupted = False
        while True:
            try:
                result = self.prototype(self.address())(*args)
                if interrupted:
                    threading.Timer(INTERRUPT_DELAY, _thread.interrupt_main).start()
                return result
            except KeyboardInterrupt:
                interrupted = True
            except BaseException as error:
                compile_failures.append(error)
                return 0


def lazy_compiled(function):
    """Let kernels call `function(t, …)` without compiling it with them."""
    if jit.DISABLED:
        return function
    names = list(inspect.signature(function).parameters)
    direct, slot = jit.routine(function), _Slot(function, len(names) - 1)

    def call(*args):
        return direct(*args)

    def define(context, t, *others):
        if t != SCRATCH_POINTER and not (isinstance(t, types.Array) and t.dtype == types.float64 and t.layout == "C"):
            return None

        def emit(context, builder, signature, args):
            rows = args[0] if t == SCRATCH_POINTER else context.make_array(t)(context, builder, args[0]).data
            cell = builder.module.globals.get(slot.symbol) or ir.GlobalVariable(builder.module, INT64, slot.symbol)
            kind = ir.FunctionType(INT64, [DOUBLE.as_pointer(), *[INT64] * len(others)])
            return builder.call(builder.inttoptr(builder.load(cell), kind.as_pointer()), [rows, *args[1:]])
        return types.int64(t, *[types.int64] * len(others)), emit

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("context", *names)]
    define.__signature__ = inspect.Signature(parameters)
    update_wrapper(call, function)
    call.slot = slot
    instruction(call)(define)
    return call
