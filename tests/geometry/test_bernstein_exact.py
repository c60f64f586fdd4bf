"""Signs of polynomials at roots of others, in compiled integers, against Sturm sequences in rational arithmetic."""

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from test_limbs import get, put

import naive_ccd
from pliant.core.jit import DISABLED
from pliant.geometry.bernstein_exact import double_root, halve, restrict, restrict_cubic, root_estimate, sign_at_root, sign_changes
from revealed import compiled

pytestmark = pytest.mark.formulas
CASES = 60 if DISABLED else 400
SIZE = 60
F, G, K, REST, OUT, OTHER, RATIO, TEMPORARY = 0, 4 * SIZE, 7 * SIZE, 8 * SIZE, 9 * SIZE, 13 * SIZE, 17 * SIZE, 19 * SIZE
CAPACITY = 40 * SIZE


@compiled
def signs(z):
    """(sign of G at the root of F, about where the root is)."""
    return sign_at_root(z, F, SIZE, G, SIZE, TEMPORARY, SIZE), root_estimate(z, F, SIZE)


@compiled
def doubled(z):
    return double_root(z, F, SIZE, RATIO, RATIO + SIZE, TEMPORARY, SIZE)


@compiled
def parts(z, what):
    """Restrictions of F, or of G, to the interval (k, k + 1) ÷ 2**m, or both halves."""
    if what == 0:
        restrict_cubic(z, OUT, F, SIZE, K, REST, TEMPORARY, SIZE)
    elif what == 1:
        restrict(z, OUT, SIZE, G, SIZE, K, REST, TEMPORARY, SIZE)
    else:
        halve(z, OUT, OTHER, F, SIZE, TEMPORARY)
    return sign_changes(z, OUT, SIZE, 4 if what != 1 else 3)


def bernstein(p, degree):
    """Power basis to Bernstein coefficients, times a common factor: (integers, factor)."""
    p = [*p, *[0] * (degree + 1 - len(p))]
    found = [sum(Fraction(comb(i, k), comb(degree, k)) * p[k] for k in range(i + 1)) for i in range(degree + 1)]
    return [int(x * 3) for x in found] if degree == 3 else [int(x * 2) for x in found]


def scratch(f=(), g=()):
    z = np.full(CAPACITY, -1, np.int64)
    for at, values in ((F, f), (G, g)):
        for k, value in enumerate(values):
            put(z, at + k * SIZE, value)
    return z


def polynomial(rng, degree):
    r = int(rng.choice([2, 5, 50, 10**6]))
    return naive_ccd.trimmed([int(x) for x in rng.integers(-r, r + 1, degree + 1)])


def with_factor(rng):
    """A cubic and a quadratic, often with a common factor or a common root."""
    one, two, three = polynomial(rng, 1), polynomial(rng, 2), polynomial(rng, 1)
    kind = rng.integers(4)
    if kind == 0:
        return polynomial(rng, 3), polynomial(rng, 2)
    if kind == 1:
        return naive_ccd.multiplied(one, two), naive_ccd.multiplied(one, three)
    return naive_ccd.multiplied(two, one), two if kind == 2 else naive_ccd.multiplied(one, one)


def test_signs_at_roots():
    rng, outcomes = np.random.default_rng(1), []
    while len(outcomes) < CASES:
        f, g = with_factor(rng)
        b, c = bernstein(f, 3), bernstein(g, 2)
        changes = [x for x in np.sign(b).tolist() if x]
        if sum(p != q for p, q in pairwise(changes)) != 1:
            continue
        inside = [root for root in naive_ccd.roots_of(f) if not (root.low == root.high and root.low in (0, 1))]
        (root,) = inside
        sign, place = signs(scratch(b, c))
        assert sign == root.sign(g), (f, g)
        while root.high - root.low > 2**-30:
            root.halve()
        assert abs(place - float(root.high)) < 1e-5
        outcomes.append(sign)
    assert min(outcomes.count(sign) for sign in (-1, 0, 1)) > CASES // 8


def test_double_roots():
    rng, outcomes = np.random.default_rng(2), []
    while len(outcomes) < CASES // 2:
        one = polynomial(rng, 1)
        f = naive_ccd.multiplied(naive_ccd.multiplied(one, one), polynomial(rng, 1)) if rng.random() < 0.7 else polynomial(rng, 3)
        if len(f) < 3:
            continue
        z = scratch(bernstein(f, 3))
        found = doubled(z)
        repeated = naive_ccd.common(f, naive_ccd.derivative(f))
        roots = [root for root in naive_ccd.roots_of(repeated)]
        inside = [root for root in roots if not (root.low == root.high and root.low in (0, 1))]
        assert found == bool(inside), f
        if found:
            n, d = get(z, RATIO), get(z, RATIO + SIZE)
            assert inside[0].sign((-n, n + d)) == 0                     # x = s ÷ (1 − s)
        outcomes.append(found)
    assert 5 < outcomes.count(True) < len(outcomes)


@pytest.mark.parametrize("m", [0, 1, 5, 41])
def test_parts_of_intervals(m):
    rng = np.random.default_rng(m)
    for _ in range(10):
        f, g, k = polynomial(rng, 3), polynomial(rng, 2), int(rng.integers(0, 2**m))
        z = scratch(bernstein(f, 3), bernstein(g, 2))
        put(z, K, k)
        put(z, REST, 2**m - k)
        for what, p, degree, factor in ((0, f, 3, 3), (1, g, 2, 2)):
            parts(z, np.int64(what))
            low, high = Fraction(k, 2**m), Fraction(k + 1, 2**m)
            for i in range(degree + 1):
                blossom = naive_ccd._polar([*p, *[0] * (degree + 1 - len(p))], [low] * (degree - i) + [high] * i)
                assert get(z, OUT + i * SIZE) == factor * blossom * 2**(degree * m)
        parts(z, np.int64(2))
        full = [*f, *[0] * (4 - len(f))]
        for i in range(4):
            assert get(z, OUT + i * SIZE) == 24 * naive_ccd._polar(full, [Fraction(0)] * (3 - i) + [Fraction(1, 2)] * i)
            assert get(z, OTHER + i * SIZE) == 24 * naive_ccd._polar(full, [Fraction(1, 2)] * (3 - i) + [Fraction(1)] * i)
