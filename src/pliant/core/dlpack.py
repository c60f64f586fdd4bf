"""A DLPack consumer: arrays of other libraries, read from their capsules without a copy.

A capsule holds a C structure (`DLManagedTensor`, or since DLPack 1.0 `DLManagedTensorVersioned`) and is read once: the consumer renames it,
so that the capsule does not free it, and calls its deleter when the memory is no longer needed. `Tensor` does both; the deleter is called
exactly once, when the last reference to the tensor goes, or at the end of the process. The device does not matter here: for a GPU the
address is one of the GPU.
"""
import ctypes
import math
import weakref
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object

import numpy as np

from pliant.errors import ArgumentTypeError

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13                        # kinds of devices
MAJOR = 1                                                               # the supported major version
TYPE_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}                   # type codes that NumPy has too
TYPE_NAMES = {3: "opaque handle", 4: "bfloat16"}


class _Device(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("number", c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", _Device), ("ndim", c_int32), ("type", _Type),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", c_uint64)]


class _ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class _VersionedTensor(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", _Tensor)]


# By the capsule's name: its structure, and its name after it was read. Python keeps the addresses of these names.
LAYOUTS = {b"dltensor": (_ManagedTensor, c_char_p(b"used_dltensor")),
           b"dltensor_versioned": (_VersionedTensor, c_char_p(b"used_dltensor_versioned"))}

_name_of = ctypes.PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_Deleter = ctypes.CFUNCTYPE(None, c_void_p)                             # called without the GIL: deleters that need it acquire it


class Tensor:
    """The tensor of a capsule: `address`, `shape`, `strides` in bytes, `dtype`, `device` as (kind, number). It owns the memory; a capsule
    is read once."""

    def __init__(self, capsule):
        name = _name_of(capsule) if type(capsule).__name__ == "PyCapsule" else None
        if name not in LAYOUTS:
            read = name is not None and name.startswith(b"used_")
            raise ArgumentTypeError(f"expected a DLPack capsule, got {capsule!r}{', which was read before' if read else ''}")
        layout, used = LAYOUTS[name]
        at = _pointer_of(capsule, name)
        held = layout.from_address(at)
        if layout is _VersionedTensor and held.major != MAJOR:          # not renamed: the capsule frees it
            raise ArgumentTypeError(f"DLPack {held.major}.{held.minor} cannot be read here, only {MAJOR}")
        _rename(capsule, used)
        if held.deleter:
            weakref.finalize(self, _Deleter(held.deleter), at)
        self._read_fields(held.tensor)

    def _read_fields(self, tensor):
        self.dtype = _dtype(tensor.type)
        self.device = tensor.device.kind, tensor.device.number
        self.shape = tuple(tensor.shape[:tensor.ndim])
        size = self.dtype.itemsize
        if tensor.strides:
            self.strides = tuple(size * step for step in tensor.strides[:tensor.ndim])
        else:
            self.strides = tuple(size * math.prod(self.shape[k + 1:]) for k in range(tensor.ndim))
        self.address = (tensor.data or 0) + tensor.offset


def _dtype(kind):
    """The NumPy dtype of an element."""
    if kind.lanes != 1 or kind.code not in TYPE_CODES or kind.bits % 8:
        word = TYPE_NAMES.get(kind.code, f"type {kind.code}")
        raise ArgumentTypeError(f"elements of {kind.bits} bits, {word}, {kind.lanes} at a time, have no NumPy type")
    try:
        return np.dtype(f"{TYPE_CODES[kind.code]}{kind.bits // 8}")
    except TypeError:
        raise ArgumentTypeError(f"numbers of {kind.bits} bits have no NumPy type") from None


def import_tensor(value, stream=None):
    """The tensor of an array with `__dlpack__`, in the newest form that its producer supports; on a GPU synchronised with `stream`."""
    options = {} if stream is None else {"stream": stream}
    try:
        capsule = value.__dlpack__(**options, max_version=(MAJOR, 0))
    except TypeError:                                                   # a producer from before DLPack 1.0
        capsule = value.__dlpack__(**options)
    return Tensor(capsule)
