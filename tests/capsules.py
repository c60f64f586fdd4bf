"""Producers of arrays, as other libraries are: DLPack capsules made by hand, and the CUDA array interface of an array of Numba."""

import ctypes
import math

import numpy as np

from pliant.core import dlpack
from pliant.core.device import is_simulated_array

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
_kept = []  # what capsules point to: their producers keep it until it is given back, and these are never asked to forget it
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Exported:
    """Memory by its address, to be had through capsules; `given_back` counts the calls of their deleter."""

    def __init__(self, address, shape, dtype, *, strides=None, device=(1, 0), versioned=True, major=1, code=None, lanes=1, offset=0):
        dtype = np.dtype(dtype)
        self.given_back, self.asked, self.device = 0, [], device
        self.layout = dlpack._VersionedTensor if versioned else dlpack._ManagedTensor
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.held = self.layout()
        if versioned:
            self.held.major = major
        tensor = self.held.tensor
        tensor.data, tensor.offset, tensor.ndim = address, offset, len(shape)
        tensor.device.kind, tensor.device.number = device
        tensor.type.code = CODES[dtype.kind] if code is None else code
        tensor.type.bits, tensor.type.lanes = 8 * dtype.itemsize, lanes
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*(step // dtype.itemsize for step in strides)) if strides else None
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._take_back)
        self.held.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        _kept.append(self)

    def _take_back(self, at):
        assert at == ctypes.addressof(self.held)
        self.given_back += 1

    def capsule(self):
        return _new(ctypes.addressof(self.held), ctypes.c_char_p(self.name), None)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append((stream, max_version))
        return self.capsule()


def described(array):
    """The CUDA array interface of Numba's array on the GPU, or of one in its simulator, which has none."""
    return {**array.__array_interface__, "version": 3} if is_simulated_array(array) else array.__cuda_array_interface__


class Interfaced:
    """Nothing but a CUDA array interface; it keeps its array alive."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**described(array), **changes}


def exported(array, **options):
    """Nothing but DLPack, for Numba's array on the GPU."""
    about = described(array)
    dtype = np.dtype(about["typestr"])
    dense = tuple(dtype.itemsize * math.prod(about["shape"][k + 1:]) for k in range(len(about["shape"])))
    made = Exported(about["data"][0], about["shape"], dtype, strides=about["strides"] or dense, device=(dlpack.CUDA, 0), **options)
    made.array = array
    return made
