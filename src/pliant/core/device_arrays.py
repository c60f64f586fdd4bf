"""Validation of arrays on a GPU, as `core/validate.py` does for those on the host.

Vertices and faces are checked on their GPU and converted to one layout: (n, 3) float32 or float64, (f, 3) int32, C order. Arrays in that
layout are not copied; other integers and strides are copied on the GPU. Two numbers are copied to the host: the first bad row, and how
many rows are bad.
"""
import ctypes
import math

import numpy as np

from pliant.core import validate
from pliant.core.device import cuda_array_interface, is_simulated, is_simulated_array, launch_grid, report_out_of_memory, require_cuda
from pliant.core.dlpack import import_tensor
from pliant.errors import ArgumentTypeError, MeshError

LEGACY_STREAM = 1                                                       # DLPack's number of the stream that Numba uses
VERTICES, FACES = "vertices", "faces"
DTYPE_NAMES = {VERTICES: "float32 or float64", FACES: "integer"}


class DeviceMemory:
    """GPU memory as its producer describes it, with a reference to the producer, which owns it. Views keep it alive."""

    def __init__(self, address, shape, dtype, strides, stream, owner):
        self.address, self.shape, self.dtype, self.stream, self.owner = address, tuple(shape), dtype, stream, owner
        dense = tuple(dtype.itemsize * math.prod(self.shape[k + 1:]) for k in range(len(self.shape)))
        steps = zip(self.shape, dense if strides is None else strides, dense, strict=True)
        self.strides = tuple(step if count > 1 else even for count, step, even in steps)  # a single row may have any stride
        self.contiguous = self.strides == dense

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "strides": None if self.contiguous else self.strides, "stream": self.stream,
                "data": (self.address, False), "version": 3}

    def view(self):
        """The same memory as a Numba array."""
        cuda = require_cuda()
        if math.prod(self.shape) == 0:
            return cuda.device_array(self.shape, self.dtype)
        if not is_simulated():
            return cuda.as_cuda_array(self)
        low = self.address + sum(step * (count - 1) for step, count in zip(self.strides, self.shape, strict=True) if step < 0)
        size = self.dtype.itemsize + sum(abs(step) * (count - 1) for step, count in zip(self.strides, self.shape, strict=True))
        buffer = (ctypes.c_char * size).from_address(low)
        buffer.owner = self
        array = np.ndarray(self.shape, self.dtype, buffer, self.address - low, None if self.contiguous else self.strides)
        return type(cuda.device_array(1))(array)


def device_memory(name, value):
    """The memory of an array on a GPU."""
    if getattr(value, "requires_grad", False) is True:
        raise ArgumentTypeError(f"{name}: this tensor asks for gradients, which are not followed here; pass .detach()")
    found = value.__array_interface__ if is_simulated_array(value) else cuda_array_interface(value)
    if found is not None:
        if found.get("mask") is not None:
            raise ArgumentTypeError(f"{name}: masked arrays are refused, because a mask has no meaning here")
        return DeviceMemory(found["data"][0], found["shape"], np.dtype(found["typestr"]), found.get("strides"), found.get("stream"), value)
    if not hasattr(value, "__dlpack__"):
        raise ArgumentTypeError(f"{name}: expected an array on a GPU (CUDA array interface or DLPack), got {type(value).__name__}")
    try:
        tensor = import_tensor(value, LEGACY_STREAM)
    except Exception as error:                                          # the producer's code may raise anything
        raise ArgumentTypeError(f"{name}: {type(value).__name__} cannot be taken over by DLPack: {error}") from error
    return DeviceMemory(tensor.address, tensor.shape, tensor.dtype, tensor.strides, None, (tensor, value))


def to_device_array(name, value, kind):
    """`value` as a Numba array on the same GPU, in the layout of its `kind`, VERTICES or FACES; a view where possible. Its values are not
    checked; an index beyond int32 becomes −1."""
    return _with_layout(name, device_memory(name, value), kind)


def _with_layout(name, source, kind):
    shape = (0, 3) if source.shape == (0,) else source.shape
    (validate.check_positions_shape if kind == VERTICES else validate.check_faces_shape)(name, shape)
    good = source.dtype.kind == "f" and source.dtype.itemsize in (4, 8) if kind == VERTICES else source.dtype.kind in "iu"
    if shape[0] and not (good and source.dtype.isnative):
        raise ArgumentTypeError(f"{name}: expected {DTYPE_NAMES[kind]} numbers, got dtype {source.dtype}; "
                                "convert them on the GPU (.astype or .to)")
    if not shape[0]:
        return require_cuda().device_array((0, 3), source.dtype if kind == VERTICES and good else _layout_dtype(kind, None))
    size = source.dtype.itemsize
    if source.address % size or any(step % size for step in source.strides):
        raise ArgumentTypeError(f"{name}: its numbers are not at multiples of their size, {size} bytes; make a copy on the GPU first")
    dtype = _layout_dtype(kind, source.dtype)
    return source.view() if source.contiguous and source.dtype == dtype else _copy_as(name, source.view(), dtype)


def _layout_dtype(kind, dtype):
    if kind == FACES:
        return validate.INT32
    return validate.FLOAT64 if dtype is None else dtype


def _copy_as(name, view, dtype):
    from pliant.core import device_arrays_cuda

    count = int(view.shape[0])
    with report_out_of_memory(name, 3 * count * dtype.itemsize):
        copy = require_cuda().device_array((count, 3), dtype)
    (device_arrays_cuda.copy_rows if dtype.kind == "f" else device_arrays_cuda.copy_indices)[launch_grid(count)](view, copy)
    return copy


# --- checking values ---------------------------------------------------------------------------------------------------------

def vertices(name, value):
    """`value` as (n, 3) float32 or float64 on its GPU, all finite."""
    from pliant.core import device_arrays_cuda

    source = device_memory(name, value)
    rows = _with_layout(name, source, VERTICES)
    _refuse_bad_rows(name, source, device_arrays_cuda.find_not_finite, rows, "not finite")
    return rows


def faces(name, value, n_vertices):
    """`value` as (f, 3) int32 on its GPU with 0 <= index < n_vertices."""
    from pliant.core import device_arrays_cuda

    source = device_memory(name, value)
    rows = _with_layout(name, source, FACES)
    _refuse_bad_rows(name, source, device_arrays_cuda.find_out_of_range, rows, f"but indices go from 0 to {n_vertices - 1}", n_vertices)
    return rows


def _refuse_bad_rows(name, source, find_bad, rows, why, *more):
    """Raise if the kernel `find_bad` finds bad rows; the message shows the first one in the caller's own numbers."""
    count = int(rows.shape[0])
    if not count:
        return
    bad = require_cuda().to_device(np.array([count, 0], np.int64))
    find_bad[launch_grid(count)](rows, *more, bad)
    row, n = bad.copy_to_host().tolist()
    if n:
        host_rows = source.view()
        raise MeshError(f"{name}: row {row} is {[host_rows[row, k].item() for k in range(3)]}, {why}{validate._bad_row_count(n)}")
