"""Small scratch arrays on the machine's stack: kernels may not allocate (see `core/jit.py`), but exact arithmetic needs room.

The size must be a literal. What a scratch array holds at first is arbitrary. It starts on a cache line, and with it the whole frame:
else half of all vectors stored or spilled there would straddle two lines, and some of them two pages.
"""
import numpy as np
from llvmlite import ir
from numba import types

from pliant.core.records import LINE
from pliant.core.simd import DOUBLE, FLOAT, INT64, instruction


def floats(n):
    """n float64."""
    return np.empty(n)


def singles(n):
    """n float32."""
    return np.empty(n, np.float32)


def put_row(scratch, k, row):
    """Store a vector of W lanes as scratch[W k : W k + W]."""
    scratch[len(row) * k:len(row) * (k + 1)] = row


def integers(n):
    """n int64."""
    return np.empty(n, np.int64)


def _on_stack(function, element, llvm):
    @instruction(function)
    def _(context, n):
        if not isinstance(n, types.IntegerLiteral):
            return None
        size, pointer = n.literal_value, types.CPointer(element)

        def emit(context, builder, signature, args):
            with builder.goto_entry_block():
                room = builder.alloca(ir.ArrayType(llvm, size))
                room.align = LINE
            return builder.bitcast(room, context.get_value_type(pointer))
        return pointer(n), emit


_on_stack(floats, types.float64, DOUBLE)
_on_stack(singles, types.float32, FLOAT)
_on_stack(integers, types.int64, INT64)


@instruction(put_row)
def _(context, scratch, k, row):
    def emit(context, builder, signature, args):
        at = builder.mul(args[1], ir.Constant(INT64, row.lanes))
        at = builder.bitcast(builder.gep(args[0], [at], source_etype=FLOAT), row.llvm.as_pointer())
        builder.store(args[2], at, align=4)
        return context.get_dummy_value()
    return types.none(scratch, types.int64, row), emit
