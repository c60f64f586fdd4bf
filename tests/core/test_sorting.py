"""Packed keys come out sorted, whatever their number and width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.sorting import DIGIT_BITS, MIN_RADIX_KEYS, distinct_values, sort_pairs

SIZES = [0, 1, 2, MIN_RADIX_KEYS - 1, MIN_RADIX_KEYS, MIN_RADIX_KEYS + 1, 3 * MIN_RADIX_KEYS, 2500]
BITS = range(1, 32)  # of each number of a pair: int32 without its sign


def drawn(seed, n, high, low, kinds):
    """n pairs of numbers of `high` and `low` bits; `kinds` values of each, so that there are ties."""
    rng = np.random.default_rng(seed)
    columns = []
    for bits in (high, low):
        values = rng.integers(0, 1 << bits, kinds)
        values[0] = (1 << bits) - 1
        columns.append(rng.choice(values, n))
    return np.column_stack(columns)


def expect_sorted(pairs, high, low):
    found = sort_pairs((pairs[:, 0] << low) | pairs[:, 1], high, low)
    assert found.dtype == np.int32 and found.shape == pairs.shape
    expected = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.sampled_from(BITS), st.sampled_from(BITS), st.sampled_from([1, 2, 5, 1000]))
def test_sorted_like_a_general_sort(seed, n, high, low, kinds):
    expect_sorted(drawn(seed, n, high, low, kinds), high, low)


@pytest.mark.parametrize("width", range(2, 63))
def test_every_width(width):
    """All bits of the key count, and all digits of a width that is not a multiple of one."""
    high = max(width // 2, width - 31)
    expect_sorted(drawn(width, 2 * MIN_RADIX_KEYS, high, width - high, 500), high, width - high)


@pytest.mark.formulas
@pytest.mark.parametrize("n", [0, 1, MIN_RADIX_KEYS - 1, MIN_RADIX_KEYS, MIN_RADIX_KEYS + 1])
def test_sizes_around_the_change_of_method(n):
    expect_sorted(drawn(n, n, 13, 12, 100), 13, 12)


@pytest.mark.formulas
def test_sorted_reversed_and_equal_keys():
    for n in (MIN_RADIX_KEYS // 2, 2 * MIN_RADIX_KEYS):
        pairs = np.column_stack([np.arange(n), np.arange(n)[::-1]])
        for each in (pairs, pairs[::-1], np.repeat(pairs[:1], n, axis=0)):
            expect_sorted(each, 10, 10)


def test_an_even_and_an_odd_number_of_passes_end_in_the_right_array():
    for digits in (1, 2, 3, 4, 5):
        width = digits * DIGIT_BITS
        high = max(width // 2, width - 31)
        expect_sorted(drawn(digits, MIN_RADIX_KEYS + 5, high, width - high, 300), high, width - high)


@pytest.mark.parametrize("bound", [1, 7, 5000, 1 << 20])
def test_distinct_values(bound):
    """As `np.unique`, by a table or by sorting; the values stay as they are."""
    rng = np.random.default_rng(bound)
    for shape in ((0, 2), (1, 2), (40, 2)):
        values = rng.integers(0, bound, shape)
        before = values.copy()
        distinct, places = distinct_values(values, bound)
        assert np.array_equal(distinct, np.unique(values)) and places.shape == shape
        assert np.array_equal(distinct[places], values) and np.array_equal(values, before)
