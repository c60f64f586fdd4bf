"""A number and a name in one int64 that sorts by the number: what waits on the stack of a search that goes nearest first.

The number is a float32 >= 0, whose bits, read as an integer, grow with it; the name is an int32. `number_of` and `name_of` bring both back.
"""
import numpy as np
from numba import types

from pliant.core.vectors import FLOAT, INT32, INT64, instruction

NAMES = 0xFFFFFFFF


def keyed(number, name):
    """number << 32 | name."""
    return int(np.float32(number).view(np.int32)) << 32 | int(name) & NAMES


def number_of(key):
    """The number of a key."""
    return np.int32(key >> 32).view(np.float32)


def name_of(key):
    """The name of a key."""
    name = key & NAMES
    return name - (1 << 32) if name >> 31 else name


@instruction(keyed)
def _(context, number, name):
    def emit(context, builder, signature, args):
        high = builder.shl(builder.zext(builder.bitcast(args[0], INT32), INT64), INT64(32))
        return builder.or_(high, builder.and_(args[1], INT64(NAMES)))
    return types.int64(types.float32, types.int64), emit


@instruction(number_of)
def _(context, key):
    return types.float32(types.int64), lambda context, builder, signature, args: builder.bitcast(
        builder.trunc(builder.lshr(args[0], INT64(32)), INT32), FLOAT)


@instruction(name_of)
def _(context, key):
    return types.int64(types.int64), lambda context, builder, signature, args: builder.sext(builder.trunc(args[0], INT32), INT64)
