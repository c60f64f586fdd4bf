"""Arithmetic of 64-bit digits that are kept in int64 but mean 0 … 2**64 − 1: what integers of any length are made of (`geometry/limbs.py`).

LLVM multiplies two 64-bit numbers into 128 bits by one instruction on every 64-bit processor; Numba has no type for the result.
"""
from llvmlite import ir
from numba import types

from pliant.core.vectors import BIT, INT64, instruction

INT128 = ir.IntType(128)
LIMB = 1 << 64


def _signed(value):
    """The int64 with these 64 bits."""
    value &= LIMB - 1
    return value - LIMB if value >> 63 else value


def multiply_add(a, b, c, d):
    """(low, high) digits of a · b + c + d, which two digits always hold."""
    value = (int(a) % LIMB) * (int(b) % LIMB) + int(c) % LIMB + int(d) % LIMB
    return _signed(value), _signed(value >> 64)


def add_carry(a, b, carry):
    """(digit, carry) of a + b + carry."""
    value = int(a) % LIMB + int(b) % LIMB + int(carry)
    return _signed(value), value >> 64


def subtract_borrow(a, b, borrow):
    """(digit, borrow) of a − b − borrow."""
    value = int(a) % LIMB - int(b) % LIMB - int(borrow)
    return _signed(value), int(value < 0)


def is_below(a, b):
    """a < b of digits."""
    return int(a) % LIMB < int(b) % LIMB


def shift_right(a, count):
    """a ÷ 2**count of a digit, rounded down; 0 <= count <= 63."""
    return _signed((int(a) % LIMB) >> int(count))


def shift_left(a, count):
    """The low 64 bits of a · 2**count; 0 <= count <= 63."""
    return _signed((int(a) % LIMB) << int(count))


def bit_length(a):
    """The bits of a digit without zeros at the top."""
    return (int(a) % LIMB).bit_length()


def digit_value(a):
    """A digit as float64, rounded to nearest."""
    return float(int(a) % LIMB)


def _define_pair(function, count, emit_wide):
    """An instruction that returns the two halves of 128 bits."""
    parameters = [types.int64] * count
    result = types.UniTuple(types.int64, 2)

    def define(context, *arguments):
        def emit(context, builder, signature, args):
            wide = emit_wide(builder, [builder.zext(arg, INT128) for arg in args])
            halves = [builder.trunc(wide, INT64), builder.trunc(builder.lshr(wide, ir.Constant(INT128, 64)), INT64)]
            return context.make_tuple(builder, result, halves)
        return result(*parameters), emit
    return define


_multiply_add = _define_pair(multiply_add, 4, lambda at, wide: at.add(at.add(at.mul(wide[0], wide[1]), wide[2]), wide[3]))
_add_carry = _define_pair(add_carry, 3, lambda at, wide: at.add(at.add(wide[0], wide[1]), wide[2]))
_subtract_borrow = _define_pair(subtract_borrow, 3, lambda at, wide: at.sub(at.sub(wide[0], wide[1]), wide[2]))


@instruction(multiply_add)
def _(context, a, b, c, d):
    return _multiply_add(context, a, b, c, d)


@instruction(add_carry)
def _(context, a, b, carry):
    return _add_carry(context, a, b, carry)


@instruction(subtract_borrow)
def _(context, a, b, borrow):
    signature, emit = _subtract_borrow(context, a, b, borrow)

    def emit_bit(context, builder, signature, args):
        pair = emit(context, builder, signature, args)
        high = builder.and_(builder.extract_value(pair, 1), ir.Constant(INT64, 1))
        return builder.insert_value(pair, high, 1)
    return signature, emit_bit


@instruction(is_below)
def _(context, a, b):
    return types.boolean(types.int64, types.int64), lambda context, at, signature, args: at.icmp_unsigned("<", *args)


@instruction(shift_right)
def _(context, a, count):
    return types.int64(types.int64, types.int64), lambda context, at, signature, args: at.lshr(*args)


@instruction(shift_left)
def _(context, a, count):
    return types.int64(types.int64, types.int64), lambda context, at, signature, args: at.shl(*args)


@instruction(bit_length)
def _(context, a):
    def emit(context, builder, signature, args):
        return builder.sub(ir.Constant(INT64, 64), builder.ctlz(args[0], ir.Constant(BIT, 0)))
    return types.int64(types.int64), emit


@instruction(digit_value)
def _(context, a):
    return types.float64(types.int64), lambda context, at, signature, args: at.uitofp(args[0], ir.DoubleType())
