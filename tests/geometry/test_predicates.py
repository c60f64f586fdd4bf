"""Exact signs: every stage of the orientation predicates, and the error-free sums and products under them, against rational arithmetic.

Points are drawn aiming at the sign 0: where coordinates are small integers it is common, elsewhere a point is computed in float64 to
lie on the line or plane of the others, and rounding decides. `WITHIN` are kinds of points in the range of the filters, `BEYOND` are not.
"""

from fractions import Fraction
from functools import cache
from itertools import permutations

import numba
import numpy as np
import pytest

import naive
from pliant.core.jit import kernel
from pliant.geometry.bigint import orient2d_bigint, orient3d_bigint
from pliant.geometry.expansion import fma, split, two_difference, two_product, two_product_split, two_sum
from pliant.geometry.predicates import (
    RANGE_MAX,
    RANGE_MIN,
    UNSURE,
    in_range,
    orient2d,
    orient2d_expansion_sign,
    orient2d_filter,
    orient3d,
    orient3d_dd_filter,
    orient3d_expansion_sign,
    orient3d_filter,
)

pytestmark = pytest.mark.formulas

MANY = 60 if numba.config.DISABLE_JIT else 1500
TINIEST, MOST = 5e-324, 1.7976931348623157e308


# --- points ------------------------------------------------------------------------------------------------------------------
# A kind is a function (n, d, rng) -> (n, d + 1, d): simplices of d + 1 points.

def general(n, d, rng):
    return rng.standard_normal((n, d + 1, d))


def lattice(n, d, rng):
    return rng.integers(0, 4, (n, d + 1, d)).astype(np.float64)


def flattened(n, d, rng):
    """The last point is a rounded combination of the others."""
    points = rng.standard_normal((n, d + 1, d)) * rng.choice([1e-3, 1.0, 1e3], (n, d + 1, 1))
    weights = rng.uniform(-1, 2, (n, d))
    points[:, -1] = np.einsum("nk,nkd->nd", weights / weights.sum(1, keepdims=True), points[:, :-1])
    return points


def flat_integers(n, d, rng):
    """The last point is exactly a combination of the others, far away."""
    points = rng.integers(-1000, 1000, (n, d + 1, d)).astype(np.float64)
    steps = rng.integers(-1000, 1000, (n, d - 1))
    points[:, -1] = points[:, 0] + np.einsum("nk,nkd->nd", steps, points[:, 1:-1] - points[:, :1])
    return points


def nudged(n, d, rng):
    """As before, one coordinate to the next float64, or by as little as the range allows where it was 0."""
    points = flat_integers(n, d, rng)
    points[::2] -= points[::2, :1]                                      # the first at the origin
    rows, corner, axis = np.arange(n), rng.integers(0, d + 1, n), rng.integers(0, d, n)
    old = points[rows, corner, axis]
    up = np.where(old == 0.0, 2.0 ** rng.integers(-249, -60, n), np.nextafter(old, np.inf))
    points[rows, corner, axis] = np.where(rng.random(n) < 0.8, up, old)
    return points


def aligned(n, d, rng):
    """All in a plane along the axes."""
    points = rng.standard_normal((n, d + 1, d))
    points[np.arange(n), :, rng.integers(0, d, n)] = rng.standard_normal((n, 1))
    return points


def repeated(n, d, rng):
    points = rng.standard_normal((n, d + 1, d))
    points[:, -1] = points[np.arange(n), rng.integers(0, d, n)]
    return points


def far(n, d, rng):
    return flattened(n, d, rng) + rng.choice([2.5e5, 1e12, 1e15], (n, 1, 1))


def times(factors, of=flattened):
    def make(n, d, rng):
        return of(n, d, rng) * rng.choice(factors, (n, 1, 1))
    return make


def magnitudes(low, high):
    """Every coordinate of its own size, some 0, some repeated."""
    def make(n, d, rng):
        points = rng.choice([-1.0, 1.0], (n, d + 1, d)) * 2.0 ** rng.uniform(low, high, (n, d + 1, d))
        points[rng.random(points.shape) < 0.1] = 0.0
        same = rng.random((n, d)) < 0.4
        points[:, -1] = np.where(same, points[:, 0], points[:, -1])
        return points
    return make


def limits(n, d, rng):
    """Coordinates from the ends of what float64 can say."""
    values = np.array([0.0, TINIEST, 2 * TINIEST, 2.0**-1022, 1.0, 1 + 2.0**-52, 2.0**1023, np.nextafter(MOST, 0), MOST])
    return rng.choice([-1.0, 1.0], (n, d + 1, d)) * rng.choice(values, (n, d + 1, d))


WITHIN = {
    "general": general,
    "lattice": lattice,
    "flattened": flattened,
    "flat integers": flat_integers,
    "nudged": nudged,
    "aligned": aligned,
    "repeated": repeated,
    "far": far,
    "least of the range": times([2.0**-240], flat_integers),
    "most of the range": times([2.0**310], flat_integers),
    "all of the range": magnitudes(-249, 338),
}
BEYOND = {
    "small": times([1e-90, 1e-200, 1e-305]),
    "subnormal": times([TINIEST], lattice),
    "subnormal and flat": times([TINIEST, 2.0**-1060], flat_integers),
    "large": times([1e102, 1e150, 1e300]),
    "large and flat": times([2.0**1000], flat_integers),
    "all of float64": magnitudes(-1074, 1023.9),
    "limits": limits,
}
KINDS = {**WITHIN, **BEYOND}


@cache
def drawn(kind, d, n=MANY):
    """[(points (d + 1, d), right sign)]"""
    orient = naive.orient2d if d == 2 else naive.orient3d
    return [(points, orient(*points)) for points in KINDS[kind](n, d, np.random.default_rng([d, *kind.encode()]))]


def in_plane(function, points):
    """A predicate of six coordinates."""
    return function(*points.ravel().tolist())


def in_space(function, points):
    """A predicate of a buffer and four offsets."""
    return function(points.reshape(-1), 0, 3, 6, 9)


def wrong(kind, of_plane, of_space):
    """The points for which these predicates do not give the right sign."""
    return ([(points, sign) for points, sign in drawn(kind, 2) if in_plane(of_plane, points) != sign]
            + [(points, sign) for points, sign in drawn(kind, 3) if in_space(of_space, points) != sign])


# --- signs -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
def test_signs_are_exact(kind):
    """orient2d and orient3d are right for every finite float64."""
    assert not wrong(kind, orient2d, orient3d)


@pytest.mark.parametrize("kind", KINDS)
def test_wide_integers_are_exact(kind):
    """The last stage answers everything, also what earlier stages would have answered."""
    assert not wrong(kind, orient2d_bigint, orient3d_bigint)


@pytest.mark.parametrize("kind", WITHIN)
def test_expansions_are_exact_within_the_range(kind):
    assert not wrong(kind, orient2d_expansion_sign, orient3d_expansion_sign)


@pytest.mark.parametrize("kind", WITHIN)
def test_filters_are_right_or_unsure(kind):
    for points, sign in drawn(kind, 2):
        assert in_plane(orient2d_filter, points) in (sign, UNSURE)
    for points, sign in drawn(kind, 3):
        assert in_space(orient3d_filter, points) in (sign, UNSURE)
        assert in_space(orient3d_dd_filter, points) in (sign, UNSURE)


def test_kinds_are_what_they_are_named():
    """Both signs and 0 occur, all within the range or some beyond it; so no comparison above is empty."""
    for kind in KINDS:
        for d in (2, 3):
            points, signs = zip(*drawn(kind, d), strict=True)
            assert {-1, 1} <= set(signs) or kind in ("aligned", "repeated", "flat integers", "least of the range", "most of the range",
                                                     "subnormal and flat", "large and flat"), kind
            size = np.abs(points)
            within = np.all((size == 0) | ((size >= RANGE_MIN) & (size <= RANGE_MAX)))
            assert within == (kind in WITHIN), kind
    assert {sign for kind in ("lattice", "nudged", "limits") for _, sign in drawn(kind, 3)} == {-1, 0, 1}


def test_every_stage_is_needed():
    """The filter settles general position and planes along the axes; pairs most of the rest; some reach expansions."""
    assert UNSURE not in {in_space(orient3d_filter, points) for points, _ in drawn("general", 3)}
    assert {in_space(orient3d_filter, points) for points, _ in drawn("aligned", 3)} == {0}
    unsure = [points for points, _ in drawn("flattened", 3) + drawn("nudged", 3) if in_space(orient3d_filter, points) == UNSURE]
    assert len(unsure) > MANY / 10
    left = [points for points in unsure if in_space(orient3d_dd_filter, points) == UNSURE]
    assert 0 < len(left) < len(unsure)
    assert any(naive.orient3d(*points) != 0 for points in left)


@pytest.mark.parametrize("kind", ["lattice", "nudged", "flattened", "limits"])
def test_orders_of_points(kind):
    """An odd permutation of the points turns the sign around, an even one keeps it."""
    for d, orient in ((2, lambda points: in_plane(orient2d, points)), (3, lambda points: in_space(orient3d, points))):
        for points, sign in drawn(kind, d, 4 if numba.config.DISABLE_JIT else 40):
            for order in permutations(range(d + 1)):
                odd = sum(i > j for k, j in enumerate(order) for i in order[:k]) % 2
                assert orient(np.ascontiguousarray(points[list(order)])) == (-sign if odd else sign)


def test_offsets_name_the_points():
    """Points may lie anywhere in the buffer, in any order, and be shared."""
    rng = np.random.default_rng(3)
    buffer = rng.integers(0, 3, 120).astype(np.float64)
    for offsets in rng.integers(0, 118, (MANY // 3, 4)).tolist():
        assert orient3d(buffer, *offsets) == naive.orient3d(*(buffer[k:k + 3] for k in offsets))


@pytest.mark.parametrize("value", [RANGE_MIN, RANGE_MAX])
def test_ends_of_the_range(value):
    inward, outward = (1.0, 0.0) if value < 1 else (1.0, np.inf)
    assert in_range(value)
    assert in_range(-value)
    assert in_range(float(np.nextafter(value, inward)))
    assert not in_range(float(np.nextafter(value, outward)))
    assert in_range(0.0)
    assert not in_range(np.inf)
    for values in ([value, np.nextafter(value, inward)], [value, np.nextafter(value, outward)]):
        rng = np.random.default_rng(4)
        for d, orient in ((2, lambda points: in_plane(orient2d, points)), (3, lambda points: in_space(orient3d, points))):
            reference = naive.orient2d if d == 2 else naive.orient3d
            for points in rng.choice([-1.0, 0.0, 1.0], (MANY // 3, d + 1, d)) * rng.choice(values, (MANY // 3, d + 1, d)):
                assert orient(points) == reference(*points)


# --- sums and products without error -------------------------------------------------------------------------------------------

def numbers(n, low=-300, high=300):
    """Pairs of float64 of which a product, and the error of a product, are float64 too."""
    rng = np.random.default_rng(5)
    wide = rng.choice([-1.0, 1.0], (n, 2)) * 2.0 ** rng.uniform(low, high, (n, 2))
    close = np.column_stack([wide[:, 0], -wide[:, 0] * (1 + rng.integers(-4, 5, n) * 2.0**-52)])
    plain = rng.integers(-5, 6, (n, 2)).astype(np.float64)
    return np.concatenate([wide, close, plain]).tolist()


@pytest.mark.parametrize(("function", "operation"), [
    (two_sum, lambda a, b: a + b),
    (two_difference, lambda a, b: a - b),
    (two_product, lambda a, b: a * b),
    (two_product_split, lambda a, b: a * b),
], ids=["sum", "difference", "product", "product by halves"])
def test_high_and_low_parts_are_the_exact_result(function, operation):
    """The first part is the rounded result, and both together are the exact one."""
    errors = 0
    for a, b in numbers(MANY):
        high, low = function(a, b)
        assert high == operation(a, b)
        assert Fraction(high) + Fraction(low) == operation(Fraction(a), Fraction(b))
        errors += low != 0.0
    assert errors > MANY / 2


def test_halves_have_half_the_bits():
    for a, _ in numbers(MANY):
        high, low = split(a)
        assert Fraction(high) + Fraction(low) == Fraction(a)
        for part in (high, low):
            mantissa = int(np.frexp(part)[0] * 2**53)
            assert mantissa % 2**27 == 0


@kernel
def call_fused(a, b, c):
    """`fused` is an instruction, which only compiled code can call."""
    return fma(a, b, c)


def test_fused_rounds_once():
    kept = 0
    for a, b in numbers(MANY, -200, 200):
        for c in (0.0, -(a * b), b):
            exact = Fraction(a) * Fraction(b) + Fraction(c)
            assert call_fused(a, b, c) == float(exact)
            kept += float(exact) != a * b + c
    assert kept > MANY / 2
