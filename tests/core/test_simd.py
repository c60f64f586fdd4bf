"""Vectors in kernels give what NumPy gives, lane by lane, and keep their precision beside scalars.

Every formula below is run three times: on vectors inside a kernel, on rows in plain Python, and, written with NumPy's own functions, as
the reference. Values include zeros of both signs, infinities, NaN, subnormals and ties.
"""

import re

import numpy as np
import pytest
from numba import from_dtype, njit, types
from numba.core.errors import TypingError

from pliant.core.jit import DISABLED, OPTIONS
from pliant.core.simd import (
    add_rounded,
    concat,
    ctz,
    extract,
    fabs,
    load4,
    maximum,
    minimum,
    movemask,
    mul_rounded,
    popcount,
    reduce_max,
    reduce_min,
    splat4,
    sqrt,
    store4,
    to_float32,
    to_int32,
    transpose4x3,
    where,
)
from pliant.core.vectors import Vector

pytestmark = pytest.mark.formulas

X = [1.5, -2.25, 0.0, -0.0, 3e38, np.inf, 1e-40, 7.0]
Y = [1.5, 4.0, -0.0, 5.0, 2.0, -np.inf, -1e-40, np.nan]
Z = [2.0, 0.1, 9.0, 1e-3, 4.0, 16.0, 2.25, 1e30]


def no_smaller(a, b):
    """NumPy's choice, written out: b where nothing can be said."""
    return np.array([p if p < q else q for p, q in zip(*np.broadcast_arrays(a, b), strict=True)], a.dtype)


def no_larger(a, b):
    return np.array([p if p > q else q for p, q in zip(*np.broadcast_arrays(a, b), strict=True)], a.dtype)


# name -> (formula, reference) of two rows and a number
NUMBERS = {
    "x + y": (lambda x, y, s: x + y, lambda x, y, s: np.add(x, y)),
    "x - y": (lambda x, y, s: x - y, lambda x, y, s: np.subtract(x, y)),
    "x * y": (lambda x, y, s: x * y, lambda x, y, s: np.multiply(x, y)),
    "x / y": (lambda x, y, s: x / y, lambda x, y, s: np.divide(x, y)),
    "-x": (lambda x, y, s: -x, lambda x, y, s: np.negative(x)),
    "x + s": (lambda x, y, s: x + s, lambda x, y, s: np.add(x, x.dtype.type(s))),
    "s - x": (lambda x, y, s: s - x, lambda x, y, s: np.subtract(x.dtype.type(s), x)),
    "x * s": (lambda x, y, s: x * s, lambda x, y, s: np.multiply(x, x.dtype.type(s))),
    "s / x": (lambda x, y, s: s / x, lambda x, y, s: np.divide(x.dtype.type(s), x)),
    "x * 0.1": (lambda x, y, s: x * 0.1, lambda x, y, s: np.multiply(x, x.dtype.type(0.1))),
    "x + 3": (lambda x, y, s: x + 3, lambda x, y, s: np.add(x, x.dtype.type(3))),
    "least": (lambda x, y, s: minimum(x, y), lambda x, y, s: no_smaller(x, y)),
    "greatest": (lambda x, y, s: maximum(x, y), lambda x, y, s: no_larger(x, y)),
    "least of y": (lambda x, y, s: minimum(y, x), lambda x, y, s: no_smaller(y, x)),
    "least, 2": (lambda x, y, s: minimum(x, 2), lambda x, y, s: no_smaller(x, x.dtype.type(2))),
    "greatest, 2": (lambda x, y, s: maximum(2, x), lambda x, y, s: no_larger(np.full_like(x, 2), x)),
    "magnitude": (lambda x, y, s: fabs(x), lambda x, y, s: np.abs(x)),
    "root": (lambda x, y, s: sqrt(fabs(y)), lambda x, y, s: np.sqrt(np.abs(y))),
    "where": (lambda x, y, s: where(x < y, x, y), lambda x, y, s: np.where(np.less(x, y), x, y)),
    "where, 0": (lambda x, y, s: where(x < y, x, 0.0), lambda x, y, s: np.where(np.less(x, y), x, x.dtype.type(0))),
    "where, s": (lambda x, y, s: where(x >= y, s, y), lambda x, y, s: np.where(np.greater_equal(x, y), x.dtype.type(s), y)),
}
MASKS = {
    "x <= y": (lambda x, y, s: x <= y, lambda x, y, s: np.less_equal(x, y)),
    "x >= y": (lambda x, y, s: x >= y, lambda x, y, s: np.greater_equal(x, y)),
    "x < y": (lambda x, y, s: x < y, lambda x, y, s: np.less(x, y)),
    "x > y": (lambda x, y, s: x > y, lambda x, y, s: np.greater(x, y)),
    "x <= 1.5": (lambda x, y, s: x <= 1.5, lambda x, y, s: np.less_equal(x, x.dtype.type(1.5))),
    "x > s": (lambda x, y, s: x > s, lambda x, y, s: np.greater(x, x.dtype.type(s))),
    "and": (lambda x, y, s: (x <= y) & (x >= 0), lambda x, y, s: np.logical_and(np.less_equal(x, y), np.greater_equal(x, 0))),
    "or": (lambda x, y, s: (x < y) | (y > 1), lambda x, y, s: np.logical_or(np.less(x, y), np.greater(y, 1))),
    "xor": (lambda x, y, s: (x <= y) ^ (x >= y), lambda x, y, s: np.logical_xor(np.less_equal(x, y), np.greater_equal(x, y))),
    "and a truth value": (lambda x, y, s: (x < y) & (s > 0), lambda x, y, s: np.logical_and(np.less(x, y), s > 0)),
}


@njit(**OPTIONS)
def load_4(row):
    return load4(row, 0)


@njit(**OPTIONS)
def load_8(row):
    return concat(load4(row, 0), load4(row, 4))


LOAD = {4: load_4, 8: load_8}


def number_kernel(formula, width):
    load, formula = LOAD[width], njit(**OPTIONS)(formula)

    @njit(**OPTIONS)
    def run(x, y, s, out):
        result = formula(load(x), load(y), s)
        for k in range(width):
            out[k] = extract(result, k)
        return extract(result, 0)
    return run


def mask_kernel(formula, width):
    load, formula = LOAD[width], njit(**OPTIONS)(formula)

    @njit(**OPTIONS)
    def run(x, y, s):
        return movemask(formula(load(x), load(y), s))
    return run


def rows(width, dtype):
    """Windows of the values above, wide enough to see each with its partner."""
    with np.errstate(under="ignore"):
        x, y, z = (np.array(values).astype(dtype) for values in (X, Y, Z))
    return [(a[k:k + width].copy(), b[k:k + width].copy()) for a, b in ((x, y), (y, x), (z, x)) for k in range(0, 8, width)]


@pytest.fixture(params=[4, 8], ids=["4 lanes", "8 lanes"])
def width(request):
    return request.param


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, width, dtype):
    formula, reference = NUMBERS[name]
    run = number_kernel(formula, width)
    for x, y in rows(width, dtype):
        for s in (0.1, -3.7):
            expected = reference(x, y, s)
            assert expected.dtype == dtype
            in_python, in_kernel = formula(x, y, s), np.empty(width, dtype)
            assert np.asarray(in_python).dtype == dtype
            run(x, y, s, in_kernel)
            np.testing.assert_array_equal(in_python, expected)
            np.testing.assert_array_equal(in_kernel, expected)
    if not DISABLED:
        assert {signature.return_type for signature in run.nopython_signatures} == {types.float32 if dtype is np.float32 else types.float64}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MASKS)
def test_masks(name, width, dtype):
    formula, reference = MASKS[name]
    run = mask_kernel(formula, width)
    for x, y in rows(width, dtype):
        for s in (0.1, -3.7):
            expected = reference(x, y, s)
            np.testing.assert_array_equal(formula(x, y, s), expected)
            assert run(x, y, s) == sum(1 << k for k in np.flatnonzero(expected).tolist())


@pytest.mark.skipif(DISABLED, reason="about types inside kernels")
def test_vectors_of_two_kinds_do_not_mix():
    """Which precision would be meant? Nothing is guessed."""
    @njit(**OPTIONS)
    def run(single, double):
        return extract(load4(single, 0) + load4(double, 0), 0)

    with pytest.raises(TypingError, match=r"Vector\(float32 x 4\), Vector\(float64 x 4\)"):
        run(np.zeros(4, np.float32), np.zeros(4))


@pytest.mark.skipif(DISABLED, reason="about types inside kernels")
def test_equal_types_are_one():
    assert Vector(types.float32, 8) == Vector(types.float32, 8)
    assert len({Vector(types.float32, 8), Vector(types.float32, 4), Vector(types.float64, 8), Vector(types.boolean, 8)}) == 4


def test_scalar_formulas():
    """The same functions on single numbers: what one thread, or one lane, would compute."""
    @njit(**OPTIONS)
    def run(x, y):
        return minimum(x, y), maximum(x, y), fabs(x), sqrt(fabs(x)), where(x < y, x, y), movemask(x < y)

    for call in (run, run.py_func if hasattr(run, "py_func") else run):
        for x, y in ((1.5, -2.25), (-4.0, 7.0), (0.0, 0.0)):
            for kind in (np.float32, np.float64):
                found = call(kind(x), kind(y))
                assert found == (min(x, y), max(x, y), abs(x), kind(np.sqrt(kind(abs(x)))), x if x < y else y, int(x < y))
    if not DISABLED:
        assert [signature.return_type[3] for signature in run.nopython_signatures] == [types.float32, types.float64]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scalars_round_after_every_step(kind):
    """A product and a sum made one would round once: here the product of the neighbours of 1 rounds to 1, and 0 is left."""
    run = njit(**OPTIONS)(lambda x, y, z: (add_rounded(mul_rounded(x, y), z), add_rounded(x, -y), mul_rounded(-x, y)))
    step = np.finfo(kind).eps
    above, below = kind(1 + step), kind(1 - step)
    for found in (run(above, below, kind(-1)),
                  (add_rounded(mul_rounded(above, below), kind(-1)), add_rounded(above, -below), mul_rounded(-above, below))):
        assert found == (0, kind(2 * step), -1)
    if not DISABLED:
        assert all(kept == from_dtype(np.dtype(kind)) for kept in run.nopython_signatures[0].return_type)


def test_magnitudes_of_scalars_are_those_of_lanes():
    run = njit(**OPTIONS)(lambda x: fabs(-x))
    for x in X + Y:
        for kind in (np.float32, np.float64):
            np.testing.assert_array_equal(run(kind(x)), kind(abs(kind(x))))


def test_lanes_across(width, dtype):
    load = LOAD[width]

    @njit(**OPTIONS)
    def run(row):
        return reduce_min(load(row)), reduce_max(load(row))

    rng = np.random.default_rng(width)
    for _ in range(20):
        row = rng.normal(size=width).astype(dtype)
        assert run(row) == (reduce_min(row), reduce_max(row)) == (row.min(), row.max())
    for k in range(width):
        row = np.zeros(width, dtype)
        row[k] = -1
        assert run(row)[0] == -1 and run(-row)[1] == 1


def test_bits_are_found_and_counted():
    run = njit(**OPTIONS)(lambda value: (ctz(value), popcount(value)))
    rng = np.random.default_rng(1)
    values = [1 << k for k in range(63)] + [(1 << 63) - 1, 0b1011000] + rng.integers(1, 1 << 62, 50).tolist()
    for value in values:
        lowest_one = format(value, "b")[::-1].index("1")
        assert run(value) == (ctz(value), popcount(value)) == (lowest_one, format(value, "b").count("1"))
    assert njit(**OPTIONS)(lambda value: popcount(value) + 0)(0) == popcount(0) == 0


def test_every_mask_has_its_bits(width):
    load = LOAD[width]
    run = njit(**OPTIONS)(lambda row: movemask(load(row) > 0))
    for mask in range(1 << width):
        row = np.array([mask >> k & 1 for k in range(width)], np.float32)
        assert run(row) == movemask(row > 0) == mask


def test_columns():
    @njit(**OPTIONS)
    def run(array, out):
        for c, column in enumerate(transpose4x3(load4(array, 0), load4(array, 4), load4(array, 8), load4(array, 12))):
            store4(out, 4 * c, column)

    for kind in (np.float32, np.float64):
        array, out = np.arange(16).astype(kind), np.zeros(12, kind)
        run(array, out)
        expected = array.reshape(4, 4).T[:3]
        np.testing.assert_array_equal(out.reshape(3, 4), expected)
        np.testing.assert_array_equal(transpose4x3(*array.reshape(4, 4)), expected)


def test_lanes_of_flat_arrays(dtype):
    """Four numbers from anywhere, also where they do not start on a boundary; the rest of the array is left alone."""
    @njit(**OPTIONS)
    def run(source, at, target, to):
        store4(target, to, load4(source, at))

    source = np.arange(1, 20).astype(dtype)
    for at in range(16):
        for to in (0, 1, 3, 15):
            target, expected = np.zeros(19, dtype), np.zeros(19, dtype)
            expected[to:to + 4] = source[at:at + 4]
            run(source, at, target, to)
            np.testing.assert_array_equal(target, expected)
    taken = load4(source, 2)
    source[:] = 0
    assert taken.tolist() == [3, 4, 5, 6]


def test_one_number_in_four_lanes():
    @njit(**OPTIONS)
    def run(value, out):
        store4(out, 0, splat4(value))

    for value in (0.1, -7.0):
        out = np.zeros(4, np.float32)
        run(np.float32(value), out)
        np.testing.assert_array_equal(out, np.full(4, value, np.float32))
        np.testing.assert_array_equal(splat4(value), out)


def test_narrowing_rounds_to_nearest(width):
    load = LOAD[width]

    @njit(**OPTIONS)
    def run(row, out):
        result = to_float32(load(row))
        for k in range(width):
            out[k] = extract(result, k)
        return extract(result, 0)

    values = [0.1, 1e300, -1e300, 1e-300, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e-40, -0.0, 3.4028235677973366e38, 3.4028235e38, np.inf]
    for k in range(len(values) - width + 1):
        row, out = np.array(values[k:k + width]), np.empty(width, np.float32)
        run(row, out)
        with np.errstate(all="ignore"):
            expected = row.astype(np.float32)
        assert out.tobytes() == to_float32(row).tobytes() == expected.tobytes()
    if not DISABLED:
        assert run.nopython_signatures[0].return_type == types.float32


def test_truncation_goes_towards_zero(width):
    load = LOAD[width]

    @njit(**OPTIONS)
    def run(row, out):
        result = to_int32(load(row))
        for k in range(width):
            out[k] = extract(result, k)
        return extract(result, 0)

    row, out = np.array([0.9, -0.9, 2.5, -2.5, 0.0, 2147483520.0, -2147483648.0, 15.99], np.float32)[:width], np.empty(width, np.int32)
    run(row, out)
    assert out.tolist() == to_int32(row).tolist() == [int(value) for value in row]
    if not DISABLED:
        assert run.nopython_signatures[0].return_type == types.int32


@pytest.mark.skipif(DISABLED, reason="about instructions")
def test_scalars_are_never_contracted():
    """Exact arithmetic relies on a product that is rounded before it is added; only vectors may round once."""
    @njit(**OPTIONS)
    def scalar(a, b, c):
        return a * b + c

    @njit(**OPTIONS)
    def vector(a, b, c):
        return extract(load4(a, 0) * load4(b, 0) + load4(c, 0), 0)

    a = 1 + 2.0**-30
    assert scalar(a, a, -1 - 2.0**-29) == 0.0
    vector(*(np.full(4, value) for value in (a, a, -1 - 2.0**-29)))
    assert not re.search(r"= f\w+ (contract|fast)", "".join(scalar.inspect_llvm().values()))
    assert re.search(r"= fmul contract", "".join(vector.inspect_llvm().values()))
