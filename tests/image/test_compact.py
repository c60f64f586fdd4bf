"""Stream compaction: the same rows as a loop, in order, on the host and on a GPU; wrong arguments are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pliant as pl
from capsules import Interfaced, exported
from trials import often

SEEDS = st.integers(0, 2**32 - 1)
DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64"]


def by_loop(values, mask):
    rows = [row for row, selected in zip(values.tolist(), mask.tolist(), strict=True) if selected]
    return np.array(rows, values.dtype).reshape(len(rows), *values.shape[1:])


def drawn(seed, n, width, dtype, share):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 100, (n,) if width is None else (n, width)).astype(dtype)
    return values, rng.random(n) < share


@pytest.mark.formulas
@given(SEEDS, st.integers(0, 40), st.sampled_from([None, 0, 1, 3]), st.sampled_from(DTYPES), st.sampled_from([0.0, 0.3, 1.0]))
@often(60)
def test_rows_are_those_of_a_loop(seed, n, width, dtype, share):
    values, mask = drawn(seed, n, width, dtype, share)
    for selected in (mask, mask.astype(np.int32) * -2, mask.tolist()):
        found = pl.compact(values, selected)
        assert found.dtype == values.dtype and not np.shares_memory(found, values)
        np.testing.assert_array_equal(found, by_loop(values, mask))
    np.testing.assert_array_equal(pl.compact(values[::-1], mask[::-1]), by_loop(values, mask)[::-1])


WRONG = [
    (np.zeros((2, 2, 2)), [True, True], ValueError, r"values: expected shape \(n,\) or \(n, k\), got \(2, 2, 2\)"),
    (3.0, [True], ValueError, r"values: expected shape \(n,\) or \(n, k\), got \(\)"),
    ([1, 2, 3], [True, False], ValueError, r"mask: expected shape \(3,\), one entry for each row of values, got \(2,\)"),
    ([[1, 2]], [[True, False]], ValueError, r"mask: expected shape \(1,\), one entry for each row of values, got \(1, 2\)"),
    ([1, 2], [0.5, 1.0], TypeError, "mask: expected booleans or integers, got dtype float64"),
    (["a", "b"], [True, False], TypeError, "values: expected numbers or booleans, got dtype <U1"),
    ([[1], [1, 2]], [True, False], ValueError, "values: cannot be read as an array"),
    (np.ma.masked_array([1, 2], [True, False]), [1, 1], TypeError, "values: masked arrays are refused"),
]


@pytest.mark.formulas
@pytest.mark.parametrize("values, mask, error, message", WRONG)
def test_wrong_arguments_are_named(values, mask, error, message):
    with pytest.raises(error, match=message):
        pl.compact(values, mask)


@pytest.mark.cuda
@pytest.mark.parametrize("n", [0, 35])
@pytest.mark.parametrize("width, dtype", [(None, "int64"), (0, "float64"), (3, "float32")])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_gpu_gives_the_rows_of_the_host(n, width, share, dtype):
    """Numba's own arrays, those of other libraries, and every second row of one."""
    from pliant.core.device import require_cuda

    cuda = require_cuda()
    values, mask = drawn(n, n, width, dtype, share)
    for selected in (mask, mask.astype(np.int32) * -2):
        found = pl.compact(cuda.to_device(values), cuda.to_device(selected))
        assert found.dtype == values.dtype and found.shape == by_loop(values, mask).shape
        np.testing.assert_array_equal(found.copy_to_host(), by_loop(values, mask))
    for producer in (Interfaced, exported):
        found = pl.compact(producer(cuda.to_device(values)), producer(cuda.to_device(mask.astype(np.uint8))))
        np.testing.assert_array_equal(found.copy_to_host(), by_loop(values, mask))
    found = pl.compact(cuda.to_device(values)[::2], cuda.to_device(mask)[::2])
    np.testing.assert_array_equal(found.copy_to_host(), by_loop(values[::2], mask[::2]))


@pytest.mark.cuda
def test_wrong_arguments_on_a_gpu_are_named():
    from pliant.core.device import require_cuda

    cuda = require_cuda()
    values, mask = cuda.to_device(np.arange(3.0)), cuda.to_device(np.ones(2, bool))
    with pytest.raises(pl.ArgumentError, match=r"mask: expected shape \(3,\), one entry for each row of values, got \(2,\)"):
        pl.compact(values, mask)
    with pytest.raises(pl.ArgumentTypeError, match="mask: expected booleans or integers, got dtype float64"):
        pl.compact(values, values)
    with pytest.raises(pl.DeviceError, match="values is on GPU 0, but mask is on the host"):
        pl.compact(values, np.ones(3, bool))
