"""What the threads of a whole grid do together, against NumPy."""

import numba
import numpy as np
import pytest

from pliant.core.device import require_cuda

pytestmark = pytest.mark.cuda

TILE = 16 if numba.config.ENABLE_CUDASIM else 512
SIZES = [0, 1, TILE - 1, TILE, TILE + 1, 5 * TILE + 3] + ([] if numba.config.ENABLE_CUDASIM else [100_000, 3_000_001])


def numbers_of(size):
    """Of both signs, some of them beyond 32 bits; one place more, for the sum."""
    rng = np.random.default_rng(size)
    return np.append(rng.integers(-9, 10, size) * rng.choice([1, 1 << 40], size), 77)


def sent(array):
    return require_cuda().to_device(array)


def test_sizes_fit():
    from pliant.core import cooperative_cuda
    assert cooperative_cuda.TILE == TILE == 2 * cooperative_cuda.BLOCK_SIZE


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_sums_before_each(size, dtype):
    """int32 numbers are summed in 64 bits."""
    import cooperative_kernels_cuda
    from pliant.core.cooperative_cuda import max_blocks

    numbers = numbers_of(size) if dtype == np.int64 else (numbers_of(size) & 7).astype(dtype)
    there, totals = sent(numbers), sent(np.array([5, 5, 5]))
    cooperative_kernels_cuda.scan_all(there, size, sent(np.zeros(max_blocks(), np.int64)), totals)
    np.testing.assert_array_equal(there.copy_to_host(), np.concatenate([[0], np.cumsum(numbers[:size], dtype=np.int64)]))
    assert totals.copy_to_host().tolist() == [5, numbers[:size].sum(), 5]


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_blocks(size):
    import cooperative_kernels_cuda

    numbers, totals = numbers_of(size), sent(np.array([5, 5, 0]))
    cooperative_kernels_cuda.add_all(sent(numbers), size, totals)
    assert totals.copy_to_host().tolist() == [5, 5 + numbers[:size].sum(), 0]


def test_sums_of_a_tile():
    import cooperative_kernels_cuda

    numbers, totals = numbers_of(TILE)[:TILE], sent(np.array([5, 5, 5]))
    there = sent(numbers)
    cooperative_kernels_cuda.scan_one(there, totals)
    np.testing.assert_array_equal(there.copy_to_host(), np.cumsum(numbers) - numbers)
    assert totals.copy_to_host().tolist() == [5, numbers.sum(), 5]
