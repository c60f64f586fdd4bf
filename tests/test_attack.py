"""The search itself: it refutes bounds that are wrong, in the ways in which bounds are wrong, and only those."""

from fractions import Fraction

import numpy as np
import pytest

import attack
from attack import cross, dot, families, integers, minus, scaled, search

pytestmark = pytest.mark.formulas
U = Fraction(1, 2**53)


def found(evaluate, starts, evaluations=6_000, seed=1):
    return search(evaluate, starts, np.random.default_rng(seed), evaluations)


def difference(points):
    (a,), (b,) = points.tolist()
    return abs(Fraction(a - b) - (Fraction(a) - Fraction(b)))


def test_one_rounding_is_found_but_for_little():
    ratio = found(lambda points: (difference(points), U * abs(Fraction(points[0, 0]) - Fraction(points[1, 0]))), families((2, 1))).ratio
    assert 0.9 < ratio <= 1


def test_a_bound_of_half_a_rounding_is_refuted():
    ratio = found(lambda points: (difference(points), U / 2 * abs(Fraction(points[0, 0]) - Fraction(points[1, 0]))), families((2, 1))).ratio
    assert ratio > 1


def test_a_bound_taken_after_cancellation_is_refuted():
    """(q − o) + (r − o), bounded by its own size: what let rays pass beside the midpoints of edges."""
    def evaluate(points):
        (q,), (r,), (o,) = points.tolist()
        value = (q - o) + (r - o)
        return abs(Fraction(value) - (Fraction(q) + Fraction(r) - 2 * Fraction(o))), 8 * U * abs(Fraction(value))

    assert found(evaluate, families((3, 1))).ratio > 1


def test_a_bound_taken_before_cancellation_is_not():
    def evaluate(points):
        (q,), (r,), (o,) = points.tolist()
        exact = Fraction(q) + Fraction(r) - 2 * Fraction(o)
        return abs(Fraction((q - o) + (r - o)) - exact), 2 * U * (abs(Fraction(q) - Fraction(o)) + abs(Fraction(r) - Fraction(o)))

    assert 0.5 < found(evaluate, families((3, 1))).ratio <= 1


def test_a_determinant_of_too_few_roundings_is_refuted():
    """Orientation in the plane takes 4 roundings; 2 U are not enough."""
    def evaluate(points):
        (ax, ay), (bx, by), (cx, cy) = points.tolist()
        p, q = (bx - ax) * (cy - ay), (by - ay) * (cx - ax)
        (a, b, c), e = integers(points)
        exact = scaled((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]), 2 * e)
        return abs(Fraction(p - q) - exact), 2 * U * (abs(Fraction(p)) + abs(Fraction(q)))

    assert found(evaluate, families((3, 2)), 20_000).ratio > 1


def test_what_is_no_number_refutes():
    assert found(lambda points: (np.nan, 1.0), families((1, 1)), 10).ratio == np.inf
    assert found(lambda points: (1.0, 0.0), families((1, 1)), 10).ratio == np.inf
    assert found(lambda points: (1.0, np.inf), families((1, 1)), 10).ratio == np.inf
    assert found(lambda points: (0.0, 0.0), families((1, 1)), 10).ratio == 0


def test_points_beyond_the_claim_do_not_count():
    result = found(lambda points: (1, 2) if points[0, 0] > 0 else None, families((1, 1)), 500)
    assert result.ratio == 0.5
    assert 0 < result.evaluations < 500
    assert found(lambda points: None, families((1, 1)), 100) == (-np.inf, None, "", 0)


def test_the_same_seed_finds_the_same():
    def evaluate(points):
        return difference(points[:, :1]), U
    one, two = (found(evaluate, families((2, 3)), 500, seed=5) for _ in range(2))
    assert one.ratio == two.ratio
    np.testing.assert_array_equal(one.points, two.points)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", attack.FAMILIES)
def test_families_and_steps_keep_shape_and_kind(name, dtype):
    rng = np.random.default_rng(2)
    for scale in (1.0, 2.0**-100, 2.0**100):
        points = families((5, 3), dtype, (scale,))[name](rng)
        for _ in range(30):
            assert points.shape == (5, 3)
            assert points.dtype == dtype
            points = attack.changed(rng, points)


def test_integers_are_exact():
    numbers = np.array([[1.5, -2.0, 5e-324], [0.1, 1e300, 0.0]])
    rows, e = integers(numbers)
    assert [[scaled(x, e) for x in row] for row in rows] == [[Fraction(x) for x in row] for row in numbers.tolist()]
    assert integers([0.25, -3.0]) == ([1, -12], -2)
    assert cross((1, 0, 0), (0, 1, 0)) == (0, 0, 1) and dot((1, 2, 3), (4, 5, 6)) == 32 and minus((1, 2, 3), (3, 2, 1)) == (-2, 0, 2)
