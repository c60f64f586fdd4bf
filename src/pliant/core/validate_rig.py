"""Validation, as in `validate.py`, of deformation controls: simulation nodes, joints of skeletons, weights of vertices."""
import numpy as np

from pliant.core.validate import (
    MAX_COORDINATE,
    RIGID_TOLERANCE,
    WEIGHT_ROUNDING,
    _array,
    _bad_row_count,
    _real_rows,
    check_below,
    check_finite,
    number,
    positions,
)
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError

WEIGHT_SUM_TOLERANCE = 1e-5                                             # allowed deviation of the sum of a vertex' weights from 1


def points(name, value, count=None, why="one for each node"):
    """(n, 3) float64, whose differences are finite; n must be `count` where that is given."""
    rows = positions(name, value, count, why)
    check_finite(name, rows)
    check_below(name, rows, MAX_COORDINATE)
    return rows


def positive(name, value):
    """A finite float above 0."""
    if number(name, value) <= 0:
        raise ArgumentError(f"{name}: expected a positive number, got {value!r}")
    return float(value)


def positives(name, value, count, what):
    """(count,) float64, finite and above 0; one number is used for all. `what` each belongs to is named in errors."""
    array = _array(name, value)
    _check_real(name, array)
    if array.shape not in ((), (count,)):
        raise ArgumentError(f"{name}: expected a number, or shape ({count},), one for each {what}, got {array.shape}")
    rows = np.broadcast_to(array, (count,)).astype(np.float64)
    _refuse_bad_rows(name, ~((rows > 0) & (rows < np.inf)), rows, "expected a positive finite number", ArgumentError)
    return rows


def affine(name, value, count, what="joint"):
    """`value`, (count, 4, 4) or (count, 3, 4), a matrix for each `what`, as (count, 4, 4) float64, finite, with last rows 0 0 0 1."""
    array = _array(name, value)
    if array.shape not in ((count, 4, 4), (count, 3, 4)):
        raise MeshError(f"{name}: expected shape ({count}, 4, 4) or ({count}, 3, 4), a matrix for each {what}, got {array.shape}")
    rows = _real_rows(name, array.reshape(count, -1)).reshape(array.shape)
    if array.shape[1] == 4:
        bad = ~np.isclose(rows[:, 3], (0, 0, 0, 1), rtol=0, atol=RIGID_TOLERANCE).all(axis=1)
        _refuse_bad_rows(name, bad, rows[:, 3], "but the last row of a matrix must be 0 0 0 1; is it transposed, as files have it?")
    made = np.tile(np.eye(4), (count, 1, 1))
    made[:, :3] = rows[:, :3]
    return made


def parents(name, value):
    """(m,) int64 with m >= 1, each −1 or a joint index."""
    array = _array(name, value)
    if array.ndim != 1 or not array.size:
        raise MeshError(f"{name}: expected shape (m,), one for each of at least one joint, got {array.shape}")
    _check_integer(name, array)
    _refuse_bad_rows(name, (array < -1) | (array >= len(array)), array, f"expected −1 for none, or a joint from 0 to {len(array) - 1}")
    return array.astype(np.int64)


def joint_weights(name, value):
    """(n, k) float64, not negative, each row divided by its sum."""
    array = _array(name, value)
    _check_real(name, array)
    if array.ndim != 2:
        raise MeshError(f"{name}: expected shape (n, k), a row for each vertex, got {array.shape}")
    rows = array.astype(np.float64)
    _refuse_bad_rows(name, ~((rows >= 0) & (rows < np.inf)).all(axis=1), rows, "expected finite numbers that are not negative")
    largest = rows.max(axis=1, initial=0.0, keepdims=True)
    _refuse_bad_rows(name, largest[:, 0] == 0, rows, "with a sum of 0, so that this vertex belongs to no joint")
    rows /= largest                                                     # so that their sum is finite
    return rows / rows.sum(axis=1, keepdims=True)


def joints(name, value, used, count):
    """(n, k) int64 with 0 <= index < count where `used` (n, k) is True; other entries are ignored."""
    array = _array(name, value)
    if array.shape != used.shape:
        raise MeshError(f"{name}: expected shape {used.shape}, as weights have it, got {array.shape}")
    _check_integer(name, array)
    _refuse_bad_rows(name, (((array < 0) | (array >= count)) & used).any(axis=1), array, f"but joints go from 0 to {count - 1}")
    return array.astype(np.int64)


def convex_weights(name, value, rows):
    """`value` (rows, m), dense or SciPy sparse, as (begins (rows + 1,) int64, map_ids (k,) int32, weights (k,) float64, m): the maps that
    move vertex v, in ascending order, are map_ids[begins[v] : begins[v + 1]]. Not negative, with sums of 1 within WEIGHT_SUM_TOLERANCE,
    which are then normalised to 1, up to rounding. Zeros are left out."""
    from scipy import sparse  # takes a tenth of a second, so only where needed
    if not sparse.issparse(value):
        value = _array(name, value)
    _check_real(name, value)
    if value.ndim != 2:
        raise MeshError(f"{name}: expected shape ({rows}, m), a row for each vertex, got {value.shape}")
    matrix = _checked_sparse(name, value) if sparse.issparse(value) else sparse.csr_array(value, dtype=np.float64)
    if matrix.shape[0] != rows or (rows and not matrix.shape[1]):
        raise MeshError(f"{name}: expected shape ({rows}, m), a row for each vertex, a column for each map, got {matrix.shape}")
    bad = ~(np.isfinite(matrix.data) & (matrix.data >= 0))
    if bad.any():
        at = int(bad.argmax())
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise MeshError(f"{name}: row {row} has {matrix.data[at]} in column {matrix.indices[at]}, expected to be finite and not negative")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    with np.errstate(over="ignore"):
        totals, counts = matrix.sum(axis=1), np.diff(matrix.indptr)
    bad = np.abs(totals - 1) > WEIGHT_SUM_TOLERANCE
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} has a sum of {totals[row]}, expected 1; divide by it{_bad_row_count(bad)}")
    matrix.data /= np.repeat(np.where(np.abs(totals - 1) <= WEIGHT_ROUNDING * counts, 1.0, totals), counts)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, matrix.shape[1]


def _checked_sparse(name, value):
    """A sparse array as a CSR copy. The caller's index arrays may be inconsistent: unchecked, conversions would write out of bounds."""
    from scipy import sparse
    try:
        if value.format in ("csr", "csc", "bsr"):
            matrix = value.astype(np.float64)                           # first, so that duplicates are summed in float64
            matrix.check_format(full_check=True)
        else:
            matrix = value.tocoo()
            matrix = sparse.coo_array((matrix.data.astype(np.float64), (matrix.row, matrix.col)), shape=matrix.shape)
        return sparse.csr_array(matrix)
    except (ValueError, IndexError) as error:
        raise MeshError(f"{name}: not a sound sparse array: {error}") from None


def _check_real(name, array):
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(f"{name}: expected real numbers, got dtype {array.dtype}")


def _check_integer(name, array):
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentTypeError(f"{name}: expected integer indices, got dtype {array.dtype}")


def _refuse_bad_rows(name, bad, rows, why, kind=MeshError):
    """Raise an error that names the first bad row."""
    if bad.any():
        row = int(bad.argmax())
        raise kind(f"{name}: row {row} is {rows[row].tolist()}, {why}{_bad_row_count(bad)}")
