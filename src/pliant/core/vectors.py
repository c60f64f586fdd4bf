"""The SIMD vector type, and the registration of LLVM bodies for Python functions. The operations are in `core/simd.py`.

Invariant: a function keeps its Python body, which runs with the JIT off; its LLVM body computes the same.
"""
from llvmlite import ir
from numba import types
from numba.core.typing.templates import infer_global, make_intrinsic_template
from numba.extending import models, register_model

BIT, BYTE, INT32, INT64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
ELEMENTS = {types.float32: FLOAT, types.float64: DOUBLE, types.int32: INT32, types.boolean: BIT}


class Vector(types.Type):
    """`lanes` values of the Numba scalar type `dtype`; comparing vectors gives a vector of booleans."""

    def __init__(self, dtype, lanes):
        self.dtype, self.lanes = dtype, lanes
        super().__init__(name=f"Vector({dtype} x {lanes})")

    @property
    def llvm(self):
        return ir.VectorType(ELEMENTS[self.dtype], self.lanes)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        super().__init__(manager, vector, vector.llvm)


def instruction(function):
    """Give a Python function the LLVM body that the decorated `define(context, *types)` returns as (signature, emit), or None.

    Registered with the typing templates directly: through `overload` every use of an operator with new types would compile a small
    function of its own, 27 to 38 % more compile time for the same machine code.
    """
    def register(define):
        infer_global(function, types.Function(make_intrinsic_template(function, define, function.__name__)))
        return define
    return register


def common_type(operands):
    """The one vector type among the operands, if the others are scalars that can be broadcast to it."""
    vectors = {t for t in operands if isinstance(t, Vector)}
    others = [t for t in operands if not isinstance(t, (Vector, types.Number, types.Boolean))]
    return vectors.pop() if len(vectors) == 1 and not others else None


def shuffle(builder, a, b, order):
    """Lanes of a, then those of b, in this order."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, len(order)), list(order)))


def broadcast(context, builder, value, source, common):
    """The value, of type `source`, converted to type `common`: a scalar is copied to all lanes of a vector."""
    if source == common:
        return value
    if not isinstance(common, Vector):
        return context.cast(builder, value, source, common)
    value = context.cast(builder, value, source, common.dtype)
    one = builder.insert_element(ir.Constant(common.llvm, ir.Undefined), value, ir.Constant(INT32, 0))
    return shuffle(builder, one, one, [0] * common.lanes)


def lanewise(function, arity, build, gives=None, on_floats=False):
    """Define `function` lane by lane through `build(builder, *values)`; with `on_floats` also for scalars, which operators already have."""
    def body(operands):
        common = common_type(operands)
        if common is None and on_floats and len(set(operands)) == 1 and isinstance(operands[0], types.Float):
            common = operands[0]
        if common is None:
            return None

        def emit(context, builder, signature, args):
            return build(builder, *(broadcast(context, builder, v, t, common) for v, t in zip(args, signature.args, strict=True)))
        return (gives(common) if gives else common)(*operands), emit

    if arity == 1:
        instruction(function)(lambda context, a: body((a,)))
    else:
        instruction(function)(lambda context, a, b: body((a, b)))
