"""Small scratch arrays on the machine's stack: kernels may not allocate (see `core/jit.py`), but exact arithmetic needs scratch.

The size must be a literal. A scratch array is uninitialised. It starts on a cache line, and with it the whole frame: else half of all
vectors stored or spilled there would straddle two lines, and some of them two pages.
"""
import numpy as np
from llvmlite import ir
from numba import types

from pliant.core.soa import CACHE_LINE
from pliant.core.vectors import DOUBLE, FLOAT, INT64, Vector, instruction


def stack_float64(n):
    """n float64."""
    return np.empty(n)


def stack_float32(n):
    """n float32."""
    return np.empty(n, np.float32)


def store_vectors(scratch, k, value):
    """Store the vectors of a NamedTuple as the rows k, k + 1, … of scratch from `stack_float32`."""
    for row in value:
        scratch[len(row) * k:len(row) * (k + 1)] = row
        k += 1


def load_lane(scratch, k, i, like):
    """Lane i of what `store_vectors` stored from row k on: scalars, in a NamedTuple of like's class."""
    return type(like)(*(scratch[len(row) * (k + n) + i] for n, row in enumerate(like)))


def store_vector(scratch, at, value):
    """Store the lanes of a vector at scratch[at], scratch[at + 1], …"""
    scratch[at:at + len(value)] = value


def load8(scratch, at):
    """Lanes scratch[at : at + 8] of scratch from `stack_float32`."""
    return scratch[at:at + 8].copy()


def stack_int64(n):
    """n int64."""
    return np.empty(n, np.int64)


def _define_scratch(function, element, llvm):
    @instruction(function)
    def _(context, n):
        if not isinstance(n, types.IntegerLiteral):
            return None
        size, pointer = n.literal_value, types.CPointer(element)

        def emit(context, builder, signature, args):
            with builder.goto_entry_block():
                room = builder.alloca(ir.ArrayType(llvm, size))
                room.align = CACHE_LINE
            return builder.bitcast(room, context.get_value_type(pointer))
        return pointer(n), emit


_define_scratch(stack_float64, types.float64, DOUBLE)
_define_scratch(stack_float32, types.float32, FLOAT)
_define_scratch(stack_int64, types.int64, INT64)


@instruction(store_vectors)
def _(context, scratch, k, value):
    vector = value.types[0]

    def emit(context, builder, signature, args):
        at = builder.mul(args[1], ir.Constant(INT64, vector.lanes))
        for number in range(len(value.types)):
            row = builder.add(at, ir.Constant(INT64, vector.lanes * number))
            row = builder.bitcast(builder.gep(args[0], [row], source_etype=FLOAT), vector.llvm.as_pointer())
            builder.store(builder.extract_value(args[2], number), row, align=4)
        return context.get_dummy_value()
    return types.none(scratch, types.int64, value), emit


@instruction(load_lane)
def _(context, scratch, k, i, like):
    lanes, n = like.types[0].lanes, len(like.types)
    result = types.NamedUniTuple(types.float32, n, like.instance_class)

    def emit(context, builder, signature, args):
        at = builder.add(builder.mul(args[1], ir.Constant(INT64, lanes)), args[2])
        places = [builder.gep(args[0], [builder.add(at, ir.Constant(INT64, lanes * k))], source_etype=FLOAT) for k in range(n)]
        return context.make_tuple(builder, result, [builder.load(place, align=4, typ=FLOAT) for place in places])
    return result(scratch, types.int64, types.int64, like), emit


@instruction(load8)
def _(context, scratch, at):
    vector = Vector(types.float32, 8)

    def emit(context, builder, signature, args):
        place = builder.bitcast(builder.gep(args[0], [args[1]], source_etype=FLOAT), vector.llvm.as_pointer())
        return builder.load(place, align=4, typ=vector.llvm)
    return vector(scratch, types.int64), emit


@instruction(store_vector)
def _(context, scratch, at, value):
    def emit(context, builder, signature, args):
        place = builder.bitcast(builder.gep(args[0], [args[1]], source_etype=value.llvm.element), value.llvm.as_pointer())
        builder.store(args[2], place, align=4)
        return context.get_dummy_value()
    return types.none(scratch, types.int64, value), emit
