"""SIMD vectors: W lanes in one register, with the operators of ordinary numbers.

`(x * x + y * y <= r * r) & (r >= 0)` is one formula that runs on scalars, on NumPy rows and, inside a kernel, on vectors, where each
operator is one packed instruction. A scalar beside a vector is broadcast to its lanes and takes its precision, so `v * 0.5` stays
float32. Every function has a Python body, which runs with the JIT off, and an LLVM body, which kernels use (`core/vectors.py` has the
type and registers the bodies); no LLVM body names a processor, so the same code serves x86 and ARM.

Invariant: floating-point flags are set only in this module. `contract` lets a * b + c of vectors round once instead of twice, which only
lowers the error that the bounds of `geometry/overlap_simd.py` allow for; scalars are never contracted.
"""
import operator

import numpy as np
from llvmlite import ir
from numba import types

from pliant.core.vectors import BIT, DOUBLE, FLOAT, INT32, INT64, Vector, broadcast, common_type, instruction, lanewise, shuffle

FLOAT_FLAGS = ("contract",)


# --- lane by lane ------------------------------------------------------------------------------------------------------------

def _mask_type(common):
    return Vector(types.boolean, common.lanes)


def _is_float(value):
    kind = value.type.element if isinstance(value.type, ir.VectorType) else value.type
    return kind in (FLOAT, DOUBLE)


def _emit_compare(relation):
    def build(builder, a, b):
        return builder.fcmp_ordered(relation, a, b) if _is_float(a) else builder.icmp_signed(relation, a, b)
    return build


def _emit_select(relation):
    """Compare and select, in this operand order: exactly one packed minimum or maximum."""
    return lambda at, a, b: at.select(at.fcmp_ordered(relation, a, b), a, b)


def minimum(a, b):
    """The smaller of a and b, lane by lane; b where they are unordered. (Built-in `min` needs one truth value for a row.)"""
    return np.where(np.less(a, b), a, b)[()]


def maximum(a, b):
    """The larger of a and b, lane by lane; b where they are unordered."""
    return np.where(np.greater(a, b), a, b)[()]


def fabs(a):
    """|a|, lane by lane."""
    return np.abs(a)


def sqrt(a):
    """The square root, lane by lane."""
    return np.sqrt(a)


def _emit_sqrt(builder, a):
    lanes = f"v{a.type.count}" if isinstance(a.type, ir.VectorType) else ""
    width = "f32" if FLOAT in (a.type, getattr(a.type, "element", None)) else "f64"
    name = f"llvm.sqrt.{lanes}{width}"                                  # llvmlite cannot declare vector intrinsics
    known = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(a.type, [a.type]), name)
    return builder.call(known, [a])


def add_rounded(a, b):
    """a + b, rounded: never contracted with a product, so that it equals the scalar result to the bit, on a GPU too."""
    return a + b


def mul_rounded(a, b):
    """a · b, rounded: never contracted with a sum."""
    return a * b


def _emit_rounded(word):
    """An operation that is never contracted. The GPU compiler would contract a product and a sum, flags or not, unless told to round."""
    def build(builder, a, b):
        if not builder.module.triple.startswith("nvptx"):
            return getattr(builder, f"f{word}")(a, b)
        name = f"llvm.nvvm.{word}.rn.{'f' if a.type == FLOAT else 'd'}"
        known = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(a.type, [a.type] * 2), name)
        return builder.call(known, [a, b])
    return build


def _emit_fabs(builder, a):
    # The GPU compiler's LLVM has no `fneg`; for scalars −0 − a is the same to the bit, and the same instruction here.
    negative = builder.fneg(a) if isinstance(a.type, ir.VectorType) else builder.fsub(ir.Constant(a.type, -0.0), a)
    return builder.select(builder.fcmp_ordered("<", a, negative), negative, a)


lanewise(add_rounded, 2, _emit_rounded("add"), on_floats=True)
lanewise(mul_rounded, 2, _emit_rounded("mul"), on_floats=True)
lanewise(operator.add, 2, lambda at, a, b: at.fadd(a, b, flags=FLOAT_FLAGS))
lanewise(operator.sub, 2, lambda at, a, b: at.fsub(a, b, flags=FLOAT_FLAGS))
lanewise(operator.mul, 2, lambda at, a, b: at.fmul(a, b, flags=FLOAT_FLAGS))
lanewise(operator.truediv, 2, lambda at, a, b: at.fdiv(a, b))
lanewise(operator.neg, 1, lambda at, a: at.fneg(a))
lanewise(operator.and_, 2, lambda at, a, b: at.and_(a, b))
lanewise(operator.or_, 2, lambda at, a, b: at.or_(a, b))
lanewise(operator.xor, 2, lambda at, a, b: at.xor(a, b))
for _operator, _relation in ((operator.le, "<="), (operator.ge, ">="), (operator.lt, "<"), (operator.gt, ">")):
    lanewise(_operator, 2, _emit_compare(_relation), _mask_type)
lanewise(minimum, 2, _emit_select("<"), on_floats=True)
lanewise(maximum, 2, _emit_select(">"), on_floats=True)
lanewise(fabs, 1, _emit_fabs, on_floats=True)
lanewise(sqrt, 1, _emit_sqrt, on_floats=True)


def where(mask, a, b):
    """a where the mask holds, else b; lane by lane."""
    return np.where(mask, a, b)[()]


@instruction(where)
def _(context, mask, a, b):
    if mask == types.boolean and a == b and isinstance(a, (types.Float, Vector)):
        return a(mask, a, b), lambda context, at, signature, args: at.select(*args)
    common = common_type((a, b)) or (Vector(a, mask.lanes) if isinstance(mask, Vector) and a == b and isinstance(a, types.Float) else None)
    if common is None or not isinstance(mask, Vector):
        return None

    def emit(context, builder, signature, args):
        return builder.select(args[0], *(broadcast(context, builder, v, t, common) for v, t in zip(args[1:], (a, b), strict=True)))
    return common(mask, a, b), emit


# --- across lanes ------------------------------------------------------------------------------------------------------------

def movemask(mask):
    """Bit k of the result is lane k of the mask. int64, because uint64 beside an int becomes float64 in Numba."""
    return int(np.dot(np.atleast_1d(mask), 1 << np.arange(np.size(mask))))


def ctz(bits):
    """The index of the lowest set bit; `bits` must not be 0."""
    return (int(bits) & -int(bits)).bit_length() - 1


def popcount(bits):
    """The number of set bits."""
    return int(bits).bit_count()


def reduce_min(a):
    """The smallest lane."""
    return np.min(a)


def reduce_max(a):
    """The largest lane."""
    return np.max(a)


def extract(a, k):
    """Lane k."""
    return a[k]


def to_float32(a):
    """float64 lanes as float32, rounded to nearest; infinite beyond float32's range."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(a).astype(np.float32)


@instruction(movemask)
def _(context, mask):
    if mask == types.boolean:
        return types.int64(mask), lambda context, at, signature, args: at.zext(args[0], INT64)
    if isinstance(mask, Vector):
        return types.int64(mask), lambda context, at, signature, args: at.zext(at.bitcast(args[0], ir.IntType(mask.lanes)), INT64)
    return None


@instruction(ctz)
def _(context, bits):
    return types.int64(types.int64), lambda context, at, signature, args: at.cttz(args[0], ir.Constant(BIT, 1))


@instruction(popcount)
def _(context, bits):
    return types.int64(types.int64), lambda context, at, signature, args: at.ctpop(args[0])


@instruction(extract)
def _(context, a, k):
    if not isinstance(a, Vector):
        return None
    return a.dtype(a, types.int64), lambda context, at, signature, args: at.extract_element(*args)


@instruction(to_float32)
def _(context, a):
    if not isinstance(a, Vector):
        return None
    result = Vector(types.float32, a.lanes)
    return result(a), lambda context, at, signature, args: at.fptrunc(args[0], result.llvm)


def to_int32(a):
    """float32 lanes as int32, rounded towards 0; they must fit."""
    return np.asarray(a).astype(np.int32)


@instruction(to_int32)
def _(context, a):
    if not isinstance(a, Vector):
        return None
    result = Vector(types.int32, a.lanes)
    return result(a), lambda context, at, signature, args: at.fptosi(args[0], result.llvm)


def _define_reduction(function, relation):
    @instruction(function)
    def _(context, a):
        if not isinstance(a, Vector):
            return None

        def emit(context, builder, signature, args):
            value, lanes = args[0], a.lanes
            while lanes > 1:                                            # fold the upper half onto the lower
                lanes //= 2
                low, high = (shuffle(builder, value, value, range(k, k + lanes)) for k in (0, lanes))
                value = builder.select(builder.fcmp_ordered(relation, low, high), low, high)
            return builder.extract_element(value, ir.Constant(INT32, 0))
        return a.dtype(a), emit


_define_reduction(reduce_min, "<")
_define_reduction(reduce_max, ">")


def shift_lanes(a):
    """The lanes 1, 2, …, and the last one twice."""
    return np.append(a[1:], a[-1])


@instruction(shift_lanes)
def _(context, a):
    if not isinstance(a, Vector):
        return None
    return a(a), lambda context, at, signature, args: shuffle(at, args[0], args[0], [*range(1, a.lanes), a.lanes - 1])


def vector4(a, b, c, d):
    """Four lanes of float64."""
    return np.array([a, b, c, d], np.float64)


@instruction(vector4)
def _(context, a, b, c, d):
    vector = Vector(types.float64, 4)

    def emit(context, builder, signature, args):
        value = ir.Constant(vector.llvm, ir.Undefined)
        for k, lane in enumerate(args):
            value = builder.insert_element(value, lane, ir.Constant(INT32, k))
        return value
    return vector(*[types.float64] * 4), emit


def rotate3(a):
    """Four lanes in the order 1, 2, 0, 3."""
    return np.array([a[1], a[2], a[0], a[3]])


@instruction(rotate3)
def _(context, a):
    return a(a), lambda context, at, signature, args: shuffle(at, args[0], args[0], (1, 2, 0, 3))


def reduce_add(a):
    """The sum of all lanes, halves first."""
    while len(a) > 1:
        a = a[:len(a) // 2] + a[len(a) // 2:]
    return a[0]


@instruction(reduce_add)
def _(context, a):
    if not isinstance(a, Vector):
        return None

    def emit(context, builder, signature, args):
        value, lanes = args[0], a.lanes
        while lanes > 1:
            lanes //= 2
            value = builder.fadd(*(shuffle(builder, value, value, range(k, k + lanes)) for k in (0, lanes)))
        return builder.extract_element(value, ir.Constant(INT32, 0))
    return a.dtype(a), emit


def transpose4x3(a, b, c, d):
    """Four rows x y z · as three columns of four: (x, y, z)."""
    return tuple(np.stack([a, b, c, d], 1)[:3])


@instruction(transpose4x3)
def _(context, a, b, c, d):
    def emit(context, at, signature, args):
        a, b, c, d = args
        xy = shuffle(at, a, b, (0, 4, 1, 5)), shuffle(at, c, d, (0, 4, 1, 5))
        z = shuffle(at, a, b, (2, 6, 3, 7)), shuffle(at, c, d, (2, 6, 3, 7))
        xyz = shuffle(at, *xy, (0, 1, 4, 5)), shuffle(at, *xy, (2, 3, 6, 7)), shuffle(at, *z, (0, 1, 4, 5))
        return context.make_tuple(at, signature.return_type, xyz)
    return types.UniTuple(a, 3)(a, b, c, d), emit


def concat(a, b):
    """The lanes of a, then those of b."""
    return np.concatenate([a, b])


@instruction(concat)
def _(context, a, b):
    result = Vector(a.dtype, 2 * a.lanes)
    return result(a, b), lambda context, at, signature, args: shuffle(at, *args, range(result.lanes))


# --- lanes of a flat array; records are read by core/soa.py ------------------------------------------------------------------

def load4(array, at):
    """Lanes array[at : at + 4] of a flat contiguous array."""
    return array[at:at + 4].copy()


def load(array, at):
    """array[at] of a flat contiguous array, at >= 0: without Numba's instructions for negative indices."""
    return array[at]


@instruction(load)
def _(context, array, at):
    def emit(context, builder, signature, args):
        kind = context.get_data_type(array.dtype)
        data = context.make_array(array)(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]], source_etype=kind), typ=kind)
    return array.dtype(array, types.int64), emit


def store4(array, at, value):
    """Store four lanes at array[at : at + 4]."""
    array[at:at + 4] = value


def _address(context, builder, array, value, at, vector):
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [at], source_etype=vector.llvm.element), vector.llvm.as_pointer())


@instruction(load4)
def _(context, array, at):
    vector = Vector(array.dtype, 4)

    def emit(context, builder, signature, args):
        return builder.load(_address(context, builder, array, *args, vector), align=4, typ=vector.llvm)
    return vector(array, types.int64), emit


@instruction(store4)
def _(context, array, at, value):
    def emit(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, array, *args[:2], value), align=4)
        return context.get_dummy_value()
    return types.none(array, types.int64, value), emit


def splat4(value):
    """One float32 in four lanes."""
    return np.full(4, value, np.float32)


@instruction(splat4)
def _(context, value):
    vector = Vector(types.float32, 4)
    return vector(types.float32), lambda context, builder, signature, args: broadcast(context, builder, args[0], types.float32, vector)
