"""A value and an index packed into one int64 that sorts by the value: stack entries of nearest-first searches.

The value is a float32 >= 0, whose bits, read as an integer, grow with it; the index is an int32. `key_value` and `key_index` unpack them.
"""
import numpy as np
from numba import types

from pliant.core.vectors import FLOAT, INT32, INT64, instruction

INDEX_MASK = 0xFFFFFFFF


def pack_key(value, index):
    """value << 32 | index."""
    return int(np.float32(value).view(np.int32)) << 32 | int(index) & INDEX_MASK


def key_value(key):
    """The value of a key."""
    return np.int32(key >> 32).view(np.float32)


def key_index(key):
    """The index of a key."""
    index = key & INDEX_MASK
    return index - (1 << 32) if index >> 31 else index


@instruction(pack_key)
def _(context, number, name):
    def emit(context, builder, signature, args):
        high = builder.shl(builder.zext(builder.bitcast(args[0], INT32), INT64), INT64(32))
        return builder.or_(high, builder.and_(args[1], INT64(INDEX_MASK)))
    return types.int64(types.float32, types.int64), emit


@instruction(key_value)
def _(context, key):
    return types.float32(types.int64), lambda context, builder, signature, args: builder.bitcast(
        builder.trunc(builder.lshr(args[0], INT64(32)), INT32), FLOAT)


@instruction(key_index)
def _(context, key):
    return types.int64(types.int64), lambda context, builder, signature, args: builder.sext(builder.trunc(args[0], INT32), INT64)


def float_bits(value):
    """The bits of a float64 as an int64, for buffers of int64."""
    return int(np.float64(value).view(np.int64))


@instruction(float_bits)
def _(context, value):
    return types.int64(types.float64), lambda context, builder, signature, args: builder.bitcast(args[0], INT64)
