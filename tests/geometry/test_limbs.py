"""Integers of any length do what Python's do."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pliant.geometry.limbs import add, bits_of, multiply, put_float, put_small, shift, value_of_limbs
from revealed import compiled

pytestmark = pytest.mark.formulas
A, B, R, SIZE = 0, 64, 128, 400
numbers = st.one_of(st.integers(-(2**70), 2**70), st.integers(-(2**400), 2**400),
                    st.builds(lambda sign, k, j: sign * (2**k - j), st.sampled_from([-1, 1]), st.integers(0, 600), st.integers(-1, 1)),
                    st.builds(lambda n, k: n << (64 * k), st.integers(-(2**65), 2**65), st.integers(0, 6)))


@compiled
def run(z, number, count):
    """One operation, by its number."""
    if number == 0:
        add(z, R, A, B, np.int64(1))
    elif number == 1:
        add(z, R, A, B, np.int64(-1))
    elif number == 2:
        multiply(z, R, A, B)
    elif number == 3:
        shift(z, R, A, count)
    elif number == 4:
        add(z, A, A, B, np.int64(-1))
    else:
        shift(z, A, A, count)
    return bits_of(z, A), value_of_limbs(z, A, np.int64(600))


@compiled
def run_put(z, x, small, lowest):
    put_float(z, A, x, lowest)
    put_small(z, B, small)
    return 0


def put(z, at, value):
    digits = []
    size = abs(value)
    while size:
        digits.append(size & (2**64 - 1))
        size >>= 64
    z[at] = len(digits) * (1 if value > 0 else -1)
    z[at + 1:at + 1 + len(digits)] = np.array(digits, np.uint64).view(np.int64)


def get(z, at):
    n = abs(int(z[at]))
    digits = z[at + 1:at + 1 + n].view(np.uint64).tolist()
    assert n == 0 or digits[-1] != 0
    return sum(digit << (64 * k) for k, digit in enumerate(digits)) * (1 if z[at] > 0 else -1)


def result(number, a, b=0, count=0, at=R):
    z = np.full(SIZE, -1, np.int64)
    put(z, A, a)
    put(z, B, b)
    length, value = run(z, np.int64(number), np.int64(count))
    left = get(z, A)
    assert length == abs(left).bit_length()
    assert abs(value - left / 2**600) <= abs(left / 2**600) * 2.0**-50
    return get(z, at)


@settings(deadline=None)
@given(numbers, numbers, st.integers(0, 300))
@example(2**64 - 1, 1, 64)
@example(2**128, 1, 63)
@example(2**64, 2**64, 0)
def test_operations(a, b, count):
    assert result(0, a, b) == a + b
    assert result(1, a, b) == a - b == result(4, a, b, at=A)
    assert result(2, a, b) == a * b
    assert result(3, a, count=count) == a << count == result(5, a, count=count, at=A)
    down = (abs(a) >> count) * (1 if a > 0 else -1)
    assert result(3, a, count=-count) == down == result(5, a, count=-count, at=A)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**62), 2**62))
@example(5e-324, 0)
@example(1.7e308, -1)
def test_floats(x, small):
    z = np.full(SIZE, -1, np.int64)
    run_put(z, x, np.int64(small), np.int64(-1126))
    assert get(z, A) == Fraction(x) * 2**1126
    assert get(z, B) == small
