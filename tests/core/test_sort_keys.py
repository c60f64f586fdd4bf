"""Keys sort by their number, and give both parts back, in kernels and in Python."""

from itertools import pairwise

import numpy as np
import pytest

from pliant.core.jit import kernel
from pliant.core.sort_keys import key_index, key_value, pack_key

NUMBERS = np.float32([0.0, 1e-45, 1e-38, 0.5, 1.0, 1.5, 3e38, np.inf])
NAMES = [0, 1, -1, 2**31 - 1, -(2**31)]


@kernel
def key_in_kernel(number, name):
    return pack_key(number, name)


@kernel
def parts_in_kernel(key):
    return key_value(key), key_index(key)


@pytest.mark.formulas
@pytest.mark.parametrize("name", NAMES)
def test_both_parts_come_back(name):
    for number in NUMBERS:
        key = pack_key(number, name)
        assert key == key_in_kernel(number, name)
        assert (key_value(key), key_index(key)) == tuple(parts_in_kernel(key)) == (number, name)


@pytest.mark.formulas
def test_larger_numbers_have_larger_keys():
    for low, high in pairwise(NUMBERS):
        assert max(pack_key(low, name) for name in NAMES) < min(pack_key(high, name) for name in NAMES)
