"""Validation, as in `validate.py`, of rows of points: one, two or three in each row."""

from pliant.core.validate import FLOAT64, _array, _canonical, _check_exact, check_finite
from pliant.errors import ArgumentError, ArgumentTypeError


def point_rows(name, value, count, rows=None, like=""):
    """`value` as (n, 3 · count) float64, finite: an array (n, 3) for one point in each row, else (n, count, 3). n must be `rows`, the
    number of rows of the argument `like`, where that is given."""
    array = _array(name, value)
    shape = (3,) if count == 1 else (count, 3)
    if array.ndim == 1 and array.size == 0:
        array = array.reshape(0, *shape)
    if array.shape[1:] != shape or array.ndim != 1 + len(shape):
        expected = "(n, 3)" if count == 1 else f"(n, {count}, 3)"
        raise ArgumentError(f"{name}: expected shape {expected}, got {tuple(array.shape)}")
    if rows is not None and len(array) != rows:
        raise ArgumentError(f"{name}: expected {rows} rows, as many as {like} has, got {len(array)}")
    array = array.reshape(len(array), 3 * count)
    if array.dtype.kind in "iu":
        _check_exact(name, array)
    elif array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected real numbers (float64, float32 or integers), got dtype {array.dtype}")
    canonical = _canonical(array, FLOAT64)
    check_finite(name, canonical)
    return canonical
