"""Records in structure-of-arrays layout: kernels read and write the lanes of a node or a leaf as NamedTuples.

A record dtype may hold two nested parts, each with the fields of one NamedTuple class: `lanes`, where every field is a row of W float32,
and `bounds`, where every field is one float32. Class and W are read from the dtype, so a kernel that gets such an array specialises on
them and needs no other argument. Every access has a Python body for the JIT off.
"""
from functools import partial

import numpy as np
from llvmlite import ir
from numba import types

from pliant.core.simd import where
from pliant.core.vectors import BYTE, FLOAT, INT32, INT64, Vector, instruction
from pliant.errors import ArgumentTypeError

RECORD_CLASSES: dict[tuple[str, ...], type] = {}                        # field names -> NamedTuple class
CACHE_LINE = 64                                                         # bytes


def record_class(cls):
    """Let records hold values of this NamedTuple class; no other class may have the same field names."""
    known = RECORD_CLASSES.get(cls._fields, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ArgumentTypeError(f"{cls.__name__} and {known.__name__} have the same fields {cls._fields}: records find their class by "
                                "these; rename a field")
    RECORD_CLASSES[cls._fields] = cls
    return cls


def packed_dtype(fields, alignment=CACHE_LINE):
    """The dtype with these (name, dtype) fields one after another, its size a multiple of the alignment."""
    offsets = np.cumsum([0] + [dtype.itemsize for _, dtype in fields]).tolist()
    names, formats = zip(*fields, strict=True)
    size = -(-offsets[-1] // alignment) * alignment
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": offsets[:-1], "itemsize": size})


def lanes_dtype(cls, width):
    """The dtype of `width` lanes of a class."""
    return np.dtype([(name, np.float32, (width,)) for name in cls._fields])


def bounds_dtype(cls):
    """The dtype of one scalar value of a class."""
    return np.dtype([(name, np.float32) for name in cls._fields])


def aligned_zeros(shape, dtype):
    """Zeros that start on a cache line."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start:start + size].view(dtype).reshape(shape)


# --- reading and writing ---------------------------------------------------------------------------------------------------------

def lanes(records, i):
    """All lanes of record i."""
    row = records[i]["lanes"]
    return RECORD_CLASSES[row.dtype.names](*(row[name].copy() for name in row.dtype.names))


def field_lanes(records, i, k):
    """The lanes of field k of record i."""
    lanes = records[i]["lanes"]
    return lanes[lanes.dtype.names[k]].copy()


def lane(records, i, k):
    """Lane k of record i: scalars."""
    row = records[i]["lanes"]
    return RECORD_CLASSES[row.dtype.names](*(row[name][k] for name in row.dtype.names))


def load_bounds(records, i):
    """The bounds of record i: scalars."""
    row = records[i]["bounds"]
    return RECORD_CLASSES[row.dtype.names](*(row[name] for name in row.dtype.names))


def put_lanes(records, i, value):
    """Set all lanes of record i."""
    for name, row in zip(value._fields, value, strict=True):
        records[i]["lanes"][name][:] = row


def put_field_lanes(records, i, k, value):
    """Set the lanes of field k of record i."""
    lanes = records[i]["lanes"]
    lanes[lanes.dtype.names[k]][:] = value


def put_lane(records, i, k, value):
    """Set lane k of record i."""
    for name, scalar in zip(value._fields, value, strict=True):
        records[i]["lanes"][name][k] = scalar


def put_bounds(records, i, value):
    """Set the bounds of record i."""
    for name, scalar in zip(value._fields, value, strict=True):
        records[i]["bounds"][name] = scalar


def select(mask, one, other):
    """`one` where the mask holds, else `other`, of the same class; lane by lane."""
    return type(one)(*(where(mask, a, b) for a, b in zip(one, other, strict=True)))


def stamp(records, i):
    """The frame for which record i is up to date. An acquire load: sees everything written before `publish`."""
    return records[i]["stamp"]


def publish(records, i, frame):
    """Stamp record i, after all earlier writes (a release store): two threads may refit it at once, none reads it half written."""
    records[i]["stamp"] = frame


def prefetch(records, i):
    """Prefetch record i, or element i of a flat array, for reading."""


def prefetch_stamp(records, i):
    """Prefetch the stamp of record i for writing."""


def _nested_part(records, name):
    """(class, lanes or 1, byte offset of each field) of the nested part `name`."""
    part = records.dtype.fields[name]
    scalars = part.type.fields
    one = next(iter(scalars.values())).type
    width = one.shape[0] if isinstance(one, types.NestedArray) else 1
    return RECORD_CLASSES[tuple(scalars)], width, [part.offset + scalar.offset for scalar in scalars.values()]


def _pointer(context, builder, records, array, i, offset, k=None):
    """The address of the float32 `offset` bytes into record i, or k float32 further."""
    data = builder.bitcast(context.make_array(records)(context, builder, array).data, BYTE.as_pointer())
    size = records.dtype.size if isinstance(records.dtype, types.Record) else records.dtype.bitwidth // 8
    at = builder.mul(i, ir.Constant(INT64, size), flags=("nsw",))
    at = builder.gep(data, [builder.add(at, ir.Constant(INT64, offset), flags=("nsw",))], source_etype=BYTE)
    at = builder.bitcast(at, FLOAT.as_pointer())
    return at if k is None else builder.gep(at, [k], source_etype=FLOAT)


def _load(records, name, as_vector, indices):
    cls, width, offsets = _nested_part(records, name)
    value = Vector(types.float32, width) if as_vector else types.float32
    result = types.NamedUniTuple(value, len(offsets), cls)

    def emit(context, builder, signature, args):
        values = []
        for offset in offsets:
            at = _pointer(context, builder, records, args[0], args[1], offset, *args[2:])
            at = builder.bitcast(at, value.llvm.as_pointer()) if as_vector else at
            values.append(builder.load(at, align=4, typ=value.llvm if as_vector else FLOAT))
        return context.make_tuple(builder, result, values)
    return result(records, *[types.int64] * indices), emit


def _store(records, name, value, indices):
    cls, _, offsets = _nested_part(records, name)
    if value.instance_class is not cls:
        raise ArgumentTypeError(f"a {value.instance_class.__name__} does not fit into a record of {cls.__name__}")

    def emit(context, builder, signature, args):
        for number, offset in enumerate(offsets):
            scalar = builder.extract_value(args[-1], number)
            at = _pointer(context, builder, records, args[0], args[1], offset, *args[2:-1])
            if isinstance(value.types[number], Vector):
                at = builder.bitcast(at, scalar.type.as_pointer())
            else:
                scalar = context.cast(builder, scalar, value.types[number], types.float32)
            builder.store(scalar, at, align=4)
        return context.get_dummy_value()
    return types.none(records, *[types.int64] * indices, value), emit


instruction(lanes)(lambda context, records, i: _load(records, "lanes", True, 1))
instruction(lane)(lambda context, records, i, k: _load(records, "lanes", False, 2))
instruction(load_bounds)(lambda context, records, i: _load(records, "bounds", False, 1))
instruction(put_lanes)(lambda context, records, i, value: _store(records, "lanes", value, 1))
instruction(put_lane)(lambda context, records, i, k, value: _store(records, "lanes", value, 2))
instruction(put_bounds)(lambda context, records, i, value: _store(records, "bounds", value, 1))


@instruction(select)
def _(context, mask, one, other):
    if one != other or not isinstance(one, types.NamedUniTuple) or isinstance(mask, Vector) != isinstance(one.dtype, Vector):
        return None

    def emit(context, builder, signature, args):
        values = (builder.select(args[0], *(builder.extract_value(args[k], number) for k in (1, 2))) for number in range(len(one)))
        return context.make_tuple(builder, one, list(values))
    return one(mask, one, other), emit


@instruction(field_lanes)
def _(context, records, i, k):
    _, width, offsets = _nested_part(records, "lanes")
    vector = Vector(types.float32, width)

    def emit(context, builder, signature, args):
        at = _pointer(context, builder, records, *args[:2], offsets[0], builder.mul(args[2], ir.Constant(INT64, width)))
        return builder.load(builder.bitcast(at, vector.llvm.as_pointer()), align=4, typ=vector.llvm)
    return vector(records, types.int64, types.int64), emit


@instruction(put_field_lanes)
def _(context, records, i, k, value):
    _, width, offsets = _nested_part(records, "lanes")

    def emit(context, builder, signature, args):
        at = _pointer(context, builder, records, *args[:2], offsets[0], builder.mul(args[2], ir.Constant(INT64, width)))
        builder.store(args[3], builder.bitcast(at, value.llvm.as_pointer()), align=4)
        return context.get_dummy_value()
    return types.none(records, types.int64, types.int64, value), emit


@instruction(stamp)
def _(context, records, i):
    def emit(context, builder, signature, args):
        at = _pointer(context, builder, records, *args, records.dtype.fields["stamp"].offset)
        return builder.load_atomic(builder.bitcast(at, INT32.as_pointer()), "acquire", 4, typ=INT32)
    return types.int32(records, types.int64), emit


@instruction(publish)
def _(context, records, i, frame):
    def emit(context, builder, signature, args):
        at = _pointer(context, builder, records, *args[:2], records.dtype.fields["stamp"].offset)
        builder.store_atomic(args[2], builder.bitcast(at, INT32.as_pointer()), "release", 4)
        return context.get_dummy_value()
    return types.none(records, types.int64, types.int32), emit


@instruction(prefetch)
def _(context, records, i):
    return types.none(records, types.int64), partial(_prefetch, range(0, getattr(records.dtype, "size", 1), CACHE_LINE), 0)


@instruction(prefetch_stamp)
def _(context, records, i):
    return types.none(records, types.int64), partial(_prefetch, [records.dtype.fields["stamp"].offset], 1)


def _prefetch(offsets, write, context, builder, signature, args):
    byte, records = BYTE.as_pointer(), signature.args[0]
    kind = ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32])
    name = "llvm.prefetch.p0i8" if not byte.is_opaque else "llvm.prefetch.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    for offset in offsets:
        at = builder.bitcast(_pointer(context, builder, records, *args, offset), byte)
        builder.call(function, [at, ir.Constant(INT32, write), ir.Constant(INT32, 3), ir.Constant(INT32, 1)])
    return context.get_dummy_value()
