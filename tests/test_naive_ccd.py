"""The reference of continuous collision is right: compared with hulls at single times, and with contacts known by construction."""

from fractions import Fraction

import numpy as np
import pytest

import moving_features
import naive_ccd
from moving_features import EDGE_EDGE, VERTEX_FACE, hostile, known_queries
from naive import origin_in_hull

pytestmark = pytest.mark.formulas


def touch_at(start, end, kind, time):
    """Do the features touch at a rational time? By Caratheodory's theorem, of the differences of their corners."""
    points = [[Fraction(float(x)) + time * (Fraction(float(y)) - Fraction(float(x))) for x, y in zip(p, q, strict=True)]
              for p, q in zip(start, end, strict=True)]
    scale = 1
    for point in points:
        for x in point:
            scale = max(scale, x.denominator, key=lambda d: d) if scale % x.denominator == 0 else scale * x.denominator
    whole = [tuple(int(x * scale) for x in point) for point in points]
    first, second = (whole[:1], whole[1:]) if kind == VERTEX_FACE else (whole[:2], whole[2:])
    return origin_in_hull([tuple(a - b for a, b in zip(p, q, strict=True)) for p in first for q in second])


@pytest.mark.parametrize("name", ["small_integers", "rest", "axis_motion", "one_plane", "tilted_plane", "one_line", "collapse",
                                  "translation", "touch", "grazing"])
def test_static_test_at_single_times(name):
    """Signs alone decide as hulls do, at times of all kinds: at the bracket of the first contact, and at times before and after it."""
    rng, outcomes = np.random.default_rng(len(name)), set()
    for _ in range(60):
        start, end = hostile(rng, name)
        if np.abs(start).max() > 1e6 or (np.abs(np.stack([start, end])[np.stack([start, end]) != 0]).min(initial=1.0) < 1e-6):
            continue
        for kind in (VERTEX_FACE, EDGE_EDGE):
            points = naive_ccd.polynomials(start, end)
            first = naive_ccd.first_contact(start, end, kind)
            for time in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(int(rng.integers(0, 65)), 64)):
                touching = touch_at(start, end, kind, time)
                assert naive_ccd.touch_now(points, kind, lambda p, time=time: naive_ccd.value_sign(p, time)) == touching
                assert not touching or (first is not None and first[0] <= time)
                outcomes.add(touching)
            if first is not None and first[0] == first[1]:
                assert touch_at(start, end, kind, first[0])
    assert outcomes == {True, False}


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_known_contacts(kind):
    starts, ends, numerators, denominators = known_queries(np.random.default_rng(kind), 150, kind)
    assert 20 < (denominators == 0).sum() < 100
    for start, end, numerator, denominator in zip(starts, ends, numerators.tolist(), denominators.tolist(), strict=True):
        found = naive_ccd.first_contact(start, end, kind)
        if denominator == 0:
            assert found is None
        else:
            time = Fraction(numerator, denominator)
            assert found[0] <= time <= found[1] and touch_at(start, end, kind, time)


def test_signs_at_roots():
    """x³ − x − 1 has one real root, 1.3247…; here of 2 t: common factors, double roots, and a sign that only refinement gives."""
    f = (-1, -2, 0, 8)
    (root,) = naive_ccd.roots_of(f)
    assert abs(float(root.high) - 1.324717957244746 / 2) < 1
    assert root.sign(f) == 0 and root.sign(tuple(-7 * x for x in f)) == 0
    assert root.sign((-66235897862237, 10**14)) == 1                    # 0.66235897862237 of 0.662358978622373
    assert root.sign((-66235897862238, 10**14)) == -1
    doubled = naive_ccd.multiplied((-1, 3), (-1, 3))
    (root,) = naive_ccd.roots_of(doubled)
    assert root.sign((-1, 3)) == 0 and root.sign((-1, 2)) == -1
    assert naive_ccd.roots_of((1, 0, 1)) == [] and naive_ccd.roots_of((5,)) == []
    assert [root.low for root in naive_ccd.roots_of((0, -1, 1))] == [0, 1]


def test_families_have_both_outcomes():
    rng = np.random.default_rng(3)
    for name in moving_features.FAMILIES:
        found = {naive_ccd.first_contact(*hostile(rng, name), k % 2) is None for k in range(60)}
        assert found == {True, False}, name
