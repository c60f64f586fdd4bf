"""Calls by function pointer, from kernels to code that must not be compiled into them.

Refits are called so, because motion and policy would enter the kernel's type; and the exact stages, because every specialisation of the
kernel would compile them again (10 s of 16) for the few pairs that need them. An entry is a compiled function (address, int64) -> int64. A
call costs 4 ns. With the JIT off an "address" is a key of `FUNCTIONS`, or the array itself.
"""
from weakref import WeakValueDictionary

from llvmlite import ir
from numba import carray, types

from pliant.core import jit
from pliant.core.vectors import INT64, instruction

SIGNATURE = types.int64(types.int64, types.int64)
FUNCTIONS: dict = {}                                                    # JIT off: address -> function
CONTEXTS: WeakValueDictionary = WeakValueDictionary()                   # JIT off: address -> context


def address_of(function):
    """Compile `function(context, node)` for calls by address; returns (address, object to keep alive)."""
    if jit.DISABLED:
        FUNCTIONS[id(function)] = function
        return id(function), function
    compiled = jit.entry(SIGNATURE, function)
    return compiled.address, compiled


def python_entry(function):
    """`function(address, number)`, compiled, for calls from Python: half a microsecond, however many arrays it makes from addresses."""
    compiled = address_of(function)[1]
    return compiled if jit.DISABLED else compiled.ctypes


def call_address(entry, argument, i):
    """Call the function at address `entry` with (argument, i); `argument` is an address, or scratch from `core/stack.py`."""
    return FUNCTIONS[entry](argument, i)


@instruction(call_address)
def _(context, entry, argument, i):
    scratch = isinstance(argument, types.CPointer)

    def emit(context, builder, signature, args):
        function = ir.FunctionType(INT64, [INT64, INT64])
        address = builder.ptrtoint(args[1], INT64) if scratch else args[1]
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), [address, args[2]])
    return types.int64(types.int64, argument if scratch else types.int64, types.int64), emit


def as_pointer(address):
    """An address as a pointer for `array_at`."""
    return address


@instruction(as_pointer)
def _(context, address):
    return types.voidptr(types.int64), lambda context, builder, signature, args: builder.inttoptr(
        args[0], context.get_value_type(types.voidptr))


def floats_at(address):
    """Scratch of float64 (`core/stack.py`) by its address. As an array it would have another type: its users would be compiled again."""
    return address


@instruction(floats_at)
def _(context, address):
    kind = types.CPointer(types.float64)
    return kind(types.int64), lambda context, builder, signature, args: builder.inttoptr(args[0], context.get_value_type(kind))


array_at = carray
