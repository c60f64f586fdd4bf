"""Validation, as in `check.py`, of what blended bodies take: convex weights of many vertices over few maps, and the maps."""
import numpy as np

from pliant.core.check import NEARLY, _array, _more
from pliant.errors import MeshError

SUM = 1e-5                                                              # how far from 1 the weights of a vertex may sum up
LAST = (0.0, 0.0, 0.0, 1.0)                                             # row of a 4 × 4 map


def convex(name, value, rows):
    """`value` (rows, m), dense or SciPy sparse, as (begins (rows + 1,) int64, which (k,) int32, weights (k,) float64, m): the maps that
    move vertex v, in ascending order, are which[begins[v] : begins[v + 1]]. Not negative, with sums of 1 within SUM, which are then
    made 1, but for roundings. What is 0 is left out."""
    from scipy import sparse  # a tenth of a second, for those who need it
    if sparse.issparse(value):
        if value.dtype.kind not in "fiu" or value.dtype.itemsize > 8:
            raise TypeError(f"{name}: expected real numbers, got dtype {value.dtype}")
        given = sparse.csr_array(value, dtype=np.float64, copy=True)
    else:
        array = _array(name, value)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
        if array.ndim != 2:
            raise MeshError(f"{name}: expected shape ({rows}, m), a row for each vertex, got {array.shape}")
        given = sparse.csr_array(array.astype(np.float64))
    if given.shape[0] != rows or (rows and not given.shape[1]):
        raise MeshError(f"{name}: expected shape ({rows}, m), a row for each vertex, a column for each map, got {given.shape}")
    _examine(name, given)
    given.sum_duplicates()
    given.eliminate_zeros()
    given.sort_indices()
    totals = given.sum(axis=1)
    _refuse(name, np.abs(totals - 1) > SUM, totals, "whose sum is {}", "a sum of 1; divide by it")
    counts = np.diff(given.indptr)
    given.data /= np.repeat(np.where(np.abs(totals - 1) <= NEARLY * counts, 1.0, totals), counts)
    return given.indptr.astype(np.int64), given.indices.astype(np.int32), given.data, given.shape[1]


def _examine(name, given):
    """The parts of a sparse array are the caller's, and may contradict each other."""
    try:
        given.check_format(full_check=True)
    except ValueError as error:
        raise MeshError(f"{name}: not a sound sparse array: {error}") from None
    bad = ~(np.isfinite(given.data) & (given.data >= 0))
    if bad.any():
        at = int(bad.argmax())
        row = int(np.searchsorted(given.indptr, at, side="right")) - 1
        raise MeshError(f"{name}: row {row} has {given.data[at]} in column {given.indices[at]}, expected to be finite and not "
                        f"negative{_more(bad)}")


def _refuse(name, bad, values, found, wanted):
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row}, {found.format(values[row])}, expected {wanted}{_more(bad)}")


def maps(name, value, count):
    """`value` (count, 3, 4) or (count, 4, 4), affine maps, as (count, 3, 4) float64, finite."""
    array = _array(name, value)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if array.shape not in ((count, 3, 4), (count, 4, 4)):
        raise MeshError(f"{name}: expected shape ({count}, 3, 4) or ({count}, 4, 4), a matrix for each column of the weights, "
                        f"got {array.shape}")
    array = np.array(array, np.float64)
    rows = array.reshape(count, array.shape[1] * 4)
    _refuse(name, ~np.isfinite(rows).all(axis=1), array.tolist(), "{}", "finite numbers")
    if array.shape[1] == 4:
        _refuse(name, (array[:, 3] != LAST).any(axis=1), array[:, 3].tolist(), "whose last row is {}", "0 0 0 1: an affine map")
    return np.ascontiguousarray(array[:, :3])
