"""First contacts of moving features against rational arithmetic: hostile families, known answers, all orders."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_ccd
from moving_features import EDGE_EDGE, FAMILIES, VERTEX_FACE, hostile, known_queries
from pliant.core.jit import DISABLED, kernel
from pliant.core.stack import stack_float64
from pliant.geometry.linear_motion import HIT, MISS, UNSURE, contact_filter, first_contact_time
from pliant.geometry.motion_exact import first_contact_exact

pytestmark = pytest.mark.formulas
CASES = 6 if DISABLED else 60
GAP = Fraction(1, 2**40)


@kernel
def answers(points, kind, out):
    """For rows of 24 numbers: the time, the exact stage's, and what the filter says."""
    t = stack_float64(25)
    for i in range(len(points)):
        for k in range(24):
            t[k] = points[i, k]
        out[i, 0] = first_contact_time(t, kind)
        out[i, 1] = t[24] if first_contact_exact(t, kind) != 0 else np.inf
        verdict, out[i, 3] = contact_filter(t, kind)
        out[i, 2] = np.float64(verdict)


def ask(starts, ends, kind):
    points = np.concatenate([np.reshape(starts, (-1, 12)), np.reshape(ends, (-1, 12))], axis=1)
    out = np.empty((len(points), 4))
    answers(np.ascontiguousarray(points), np.int64(kind), out)
    return out


def check(start, end, kind, row):
    expected = naive_ccd.first_contact(start, end, kind, Fraction(1, 2**44))
    time, exact, verdict, filtered = row.tolist()
    assert (expected is not None) == np.isfinite(time) == np.isfinite(exact)
    assert verdict == UNSURE or (verdict == HIT) == (expected is not None)
    if expected is None:
        return False
    for found in (time, exact) if verdict != HIT else (time, exact, filtered):
        assert found <= expected[1] and expected[0] - Fraction(found) < GAP
    assert expected[1] != 0 or time == exact == 0
    return True


@pytest.mark.parametrize("name", FAMILIES)
def test_hostile_families(name):
    rng, outcomes = np.random.default_rng(7 * len(name)), set()
    for kind in (VERTEX_FACE, EDGE_EDGE):
        queries = [hostile(rng, name) for _ in range(min(CASES, 12) if name == "mixed" else CASES)]
        rows = ask([start for start, _ in queries], [end for _, end in queries], kind)
        outcomes |= {check(start, end, kind, row) for (start, end), row in zip(queries, rows, strict=True)}
    assert outcomes == {True, False} or DISABLED


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_known_contacts_and_near_misses(kind):
    starts, ends, numerators, denominators = known_queries(np.random.default_rng(kind), 50 if DISABLED else 20_000, kind)
    rows = ask(starts, ends, kind)
    misses = denominators == 0
    assert 0.1 < misses.mean() < 0.5
    for column in range(2):
        times = rows[:, column]
        assert (np.isfinite(times) == ~misses).all()
        late = times[~misses] - numerators[~misses] / denominators[~misses]
        assert late.max() <= 2.0**-52 and late.min() > -(2.0**-40)      # of two roundings; next, exactly
        for k in np.flatnonzero(~misses)[np.abs(late) < 2.0**-50]:
            assert Fraction(times[k]) <= Fraction(int(numerators[k]), int(denominators[k]))
    assert DISABLED or ((rows[:, 2] == MISS).any() and (rows[:, 2] == HIT).any() and (rows[:, 2] == UNSURE).any())


def orders(kind):
    """All orders of four points that change no feature; of edges also those that exchange them."""
    if kind == VERTEX_FACE:
        return [(0, *order) for order in permutations((1, 2, 3))]
    pairs = [(p, q) for p in ((0, 1), (1, 0)) for q in ((2, 3), (3, 2))]
    return [p + q for p, q in pairs] + [q + p for p, q in pairs]


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_all_orders_give_one_answer(kind):
    rng = np.random.default_rng(11 + kind)
    for _ in range(4 if DISABLED else 100):
        start, end = hostile(rng)
        same = orders(kind)
        rows = ask([start[list(order)] for order in same], [end[list(order)] for order in same], kind)
        assert len(set(np.isfinite(rows[:, :2]).ravel().tolist())) == 1
        if np.isfinite(rows[0, 0]):
            assert np.ptp(rows[:, :2]) < 2.0**-40
        rolled = ask([np.roll(start, k, axis=1) * s for k in range(3) for s in (-1, 1)],
                     [np.roll(end, k, axis=1) * s for k in range(3) for s in (-1, 1)], kind)
        assert (np.isfinite(rolled[:, :2]) == np.isfinite(rows[0, :2])).all()


coordinates = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float))


@settings(max_examples=5 if DISABLED else 50, deadline=None)
@given(st.lists(coordinates, min_size=24, max_size=24), st.sampled_from([VERTEX_FACE, EDGE_EDGE]))
def test_any_finite_numbers(numbers, kind):
    points = np.array(numbers).reshape(2, 4, 3)
    check(points[0], points[1], kind, ask(points[:1], points[1:], kind)[0])


@settings(max_examples=5 if DISABLED else 200, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=24, max_size=24), st.sampled_from([VERTEX_FACE, EDGE_EDGE]), st.integers(0, 3))
def test_small_integers(numbers, kind, flat):
    """Contacts of all kinds are common here; with one coordinate the same for all, so is motion within a plane."""
    points = np.array(numbers, float).reshape(2, 4, 3)
    points[..., flat:flat + 1] = 1.0
    check(points[0], points[1], kind, ask(points[:1], points[1:], kind)[0])


def test_contact_at_the_very_end():
    """At t = 1 exactly, and an ulp before it is reached."""
    start = np.array([[0.25, 0.25, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    end = start.copy()
    end[0, 2] = 0.0
    near = end.copy()
    near[0, 2] = 5e-324
    rows = ask([start, start], [end, near], VERTEX_FACE)
    assert 1 - 2.0**-40 < rows[0, 0] <= 1 and rows[1, 0] == np.inf
