"""Validation, as in `validate.py`, of view parameters: directions, planes, projection matrices."""
from pliant.core.validate import _array, _bad_row_count, _real_rows, point
from pliant.errors import ArgumentError


def direction(name, value):
    """Three finite float64, not all 0."""
    vector = point(name, value)
    if not vector.any():
        raise ArgumentError(f"{name}: expected a direction, got {vector.tolist()}")
    return vector


def planes(name, value):
    """`value` as (k, 4) float64, rows a b c d with k >= 1, all finite, none with a = b = c = 0."""
    array = _array(name, value)
    if array.ndim != 2 or array.shape[1] != 4 or not len(array):
        raise ArgumentError(f"{name}: expected shape (k, 4), a row a b c d for each of at least one plane, got {array.shape}")
    rows = _real_rows(name, array)
    bad = (rows[:, :3] == 0).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ArgumentError(f"{name}: row {row} is {rows[row].tolist()}, which is no plane: its normal is 0{_bad_row_count(bad)}")
    return rows


def matrix(name, value):
    """`value` as (4, 4) float64, finite."""
    array = _array(name, value)
    if array.shape != (4, 4):
        raise ArgumentError(f"{name}: expected a matrix of shape (4, 4), got {array.shape}")
    return _real_rows(name, array)
