"""Stream compaction: the rows of an array that a mask selects, in their order, where the array is (paper G, section 3: packing).

The paper counts, shifts and moves, because its GPU could not scatter. On CUDA each row's place is the number of selected rows before it,
by a prefix sum: one launch counts, one moves. The engine itself needs no order and takes places from an atomic counter
(`image/passes_cuda.py`).
"""
from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core.device import HOST, check_on_host, device_context, device_of
from pliant.core.device_arrays import device_memory
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.typing import DeviceArray

__all__ = ["compact"]


@overload
def compact(values: DeviceArray, mask: DeviceArray) -> DeviceArray: ...
@overload
def compact(values: ArrayLike, mask: ArrayLike) -> NDArray[np.generic]: ...
def compact(values: ArrayLike | DeviceArray, mask: ArrayLike | DeviceArray) -> NDArray[np.generic] | DeviceArray:
    """The rows of an array that a mask selects, in their order: stream compaction, as `numpy.compress` and `thrust::copy_if` do it.

    Parameters
    ----------
    values : (n,) or (n, k) numbers or booleans, on the host or on a GPU (CUDA array interface or DLPack)
    mask : (n,) booleans or integers, in the same place; rows are selected where it is not zero

    Returns
    -------
    (m,) or (m, k), a new array with the dtype of `values`: of NumPy, or of Numba on the same GPU, which other libraries take without a
    copy. The cost grows with n; on a GPU the host reads one number, m.

    Examples
    --------
    >>> import numpy as np
    >>> import pliant as pl
    >>> pl.compact([[0, 1, 2], [2, 1, 3], [3, 1, 4]], [True, False, True])
    array([[0, 1, 2],
           [3, 1, 4]])
    """
    where = device_of(("values", values), ("mask", mask))
    if where != HOST:
        from pliant.image.compact_cuda import compact_on_device
        with device_context(where):
            memory, chosen = device_memory("values", values), device_memory("mask", mask)
            check_layout(memory.shape, memory.dtype, chosen.shape, chosen.dtype)
            return compact_on_device(memory, chosen)
    rows, selected = _host_array("values", values), _host_array("mask", mask)
    if not selected.size:                                               # an empty list becomes float64
        selected = selected.astype(bool)
    check_layout(rows.shape, rows.dtype, selected.shape, selected.dtype)
    return rows[selected != 0]


def _host_array(name: str, value: ArrayLike | DeviceArray) -> NDArray[np.generic]:
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(f"{name}: masked arrays are refused, because a mask has no meaning here; pass .filled(…) or .data")
    check_on_host(name, value)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name}: cannot be read as an array: {error}") from None
    return array


def check_layout(shape: tuple[int, ...], dtype: np.dtype[np.generic], mask_shape: tuple[int, ...],
                 mask_dtype: np.dtype[np.generic]) -> None:
    """Refuse arrays of other shapes, and elements of other types."""
    if len(shape) not in (1, 2):
        raise ArgumentError(f"values: expected shape (n,) or (n, k), got {shape}")
    if dtype.kind not in "biuf":
        raise ArgumentTypeError(f"values: expected numbers or booleans, got dtype {dtype}")
    if mask_shape != shape[:1]:
        raise ArgumentError(f"mask: expected shape ({shape[0]},), one entry for each row of values, got {mask_shape}")
    if mask_dtype.kind not in "biu":
        raise ArgumentTypeError(f"mask: expected booleans or integers, got dtype {mask_dtype}")
