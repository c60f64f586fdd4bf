"""The side of a plane that a point is on, against rational arithmetic: any finite numbers, near misses, exact touches."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.jit import kernel
from pliant.geometry.halfspace import side_exact, side_filter
from pliant.geometry.predicates import UNSURE

pytestmark = pytest.mark.formulas
OFF = bool(numba.config.DISABLE_JIT)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ENDS = st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308])
NEAR = st.floats(min_value=-4, max_value=4).map(lambda x: round(x * 8) / 8)


@kernel
def sides(rows, out):
    """For rows a b c d x y z: what the filter says, and what is so."""
    for i in range(len(rows)):
        a, b, c, d, x, y, z = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5], rows[i, 6]
        out[i, 0], out[i, 1] = side_filter(a, b, c, d, x, y, z), side_exact(a, b, c, d, x, y, z)


def right(row):
    a, b, c, d, x, y, z = map(Fraction, row)
    value = a * x + b * y + c * z + d
    return (value > 0) - (value < 0)


def told(rows):
    """(n, 2); the second is right, and the first, unless it is unsure."""
    rows, out = np.array(rows, np.float64), np.zeros((len(rows), 2), np.int64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        sides(rows, out)
    expected = [right(row) for row in rows.tolist()]
    assert out[:, 1].tolist() == expected
    assert all(guess in (UNSURE, sign) for guess, sign in zip(out[:, 0].tolist(), expected, strict=True))
    return out


@settings(max_examples=30 if OFF else 500, deadline=None)
@given(st.lists(st.tuples(*[st.one_of(FINITE, NEAR, ENDS)] * 7), min_size=1, max_size=9))
def test_any_numbers(rows):
    told(rows)


def test_planes_through_points_and_next_to_them():
    """d is what makes the sum 0, rounded, and its neighbours: the sign of a rounding error."""
    rng, rows, zeros = np.random.default_rng(5), [], 0
    for _ in range(20 if OFF else 2000):
        power = rng.integers(-480, 480, 2) if rng.random() < 0.5 else (0, 0)
        n, p = rng.standard_normal(3) * 2.0 ** power[0], rng.standard_normal(3) * 2.0 ** power[1]
        if rng.random() < 0.3:
            n, p = np.round(n * 4) * 2.0**-400, np.round(p * 16)
        d = float(-sum(Fraction(a) * Fraction(b) for a, b in zip(n.tolist(), p.tolist(), strict=True)))
        rows += [[*n, e, *p] for e in (d, np.nextafter(d, np.inf), np.nextafter(d, -np.inf))]
    out = told(rows)
    zeros = (out[:, 1] == 0).sum()
    assert 0 < zeros < len(rows) and (out[:, 0] == UNSURE).any()
    assert {-1, 1} <= set(out[:, 1].tolist())


@pytest.mark.parametrize("apart", [0, 100, 199, 200, 201, 250, 900, 1900])
def test_large_terms_that_cancel_leave_the_small_one(apart):
    """Whatever is between their sizes; on either side of the gap at which terms are added apart."""
    for sign in (1.0, -1.0):
        large, small = 2.0**900, sign * 2.0 ** (900 - apart) if apart < 1900 else sign * 2.0**-1000
        rows = [[large, -large, small, 0, 1 + 2.0**-52, 1 + 2.0**-52, 1], [1, 1, small, 0, large, -large, 1]]
        assert told(rows)[:, 1].tolist() == [sign] * 2
        told([[large, -large, small, -small, 3, 3, 1], [large, small, small, -small, 2.0**-500, 2.0**-1000, 1 + 2.0**-40]])


def test_what_is_left_of_large_terms_may_be_less_than_the_next():
    """1 − 2**-104 and −1 leave −2**-104: what decides is the third term, however far below the first it is, or is not."""
    powers = (1, 21, 40, 60, 103, 104, 105, 130, 199, 250)
    rows = [[1 + 2.0**-52, -1, 0, sign * 2.0**-k, 1 - 2.0**-52, 1, 0] for k in powers for sign in (1, -1)]
    assert {-1, 1} <= set(told(rows)[:, 1].tolist())


def test_products_that_underflow_do_not_mislead():
    """1.6 + 1.6 − 3.4 of the least number: rounded one by one they are 2 + 2 − 3."""
    least = 2.0**-537
    rows = [[sign * 1.6 * least, sign * 1.6 * least, sign * -3.4 * least, 0, least, least, least] for sign in (1, -1)]
    assert told(rows)[:, 1].tolist() == [-1, 1]


def test_the_filter_settles_what_is_clear():
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((40 if OFF else 1000, 7))
    assert (told(rows)[:, 0] != UNSURE).mean() > 0.99
