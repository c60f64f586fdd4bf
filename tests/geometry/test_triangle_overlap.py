"""Two triangles, exactly: both stages of the overlap test on every kind of hard pair, in every order, against rational arithmetic."""

import numba
import numpy as np
import pytest

import adversarial
import naive
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.geometry.triangle_overlap import EXACT, FILTERED, PROJECTED, overlap_exact, overlap_stage
from siblings import NARROW
from test_naive import WRITTEN
from tests import exactness

pytestmark = pytest.mark.formulas

OFF = bool(numba.config.DISABLE_JIT)
MANY, SAMPLE = (40, 1) if OFF else (2500, 30)


def in_range(*triangles):
    """May filters be trusted with these coordinates?"""
    size = np.abs(triangles)
    return bool(np.all((size == 0) | ((size >= RANGE_MIN) & (size <= RANGE_MAX))))


def answers(p, q, a=0, b=9, room=18):
    """What each stage says about two triangles that lie at offsets a and b of a buffer."""
    t = np.full(room, np.nan)
    t[a:a + 9], t[b:b + 9] = np.ravel(p), np.ravel(q)
    found = [overlap_exact(t, a, b)]
    if in_range(p, q):
        stage = overlap_stage(t, a, b)
        assert stage & ~1 in (FILTERED, PROJECTED, EXACT)
        found.append(stage & 1)
    return found


def drawn(kind, n, seed):
    """[(p, q, do they meet)]"""
    a, b = adversarial.pairs(kind, n, np.random.default_rng(seed))
    return [(p, q, naive.triangles_meet_fast(p, q)) for p, q in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_no_stage_is_ever_wrong(kind):
    wrong = [(p.tolist(), q.tolist(), meet) for p, q, meet in drawn(kind, MANY, 11) if set(answers(p, q)) != {meet}]
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_no_order_changes_an_answer(kind):
    """Six orders of the corners of each, and either triangle first: 72."""
    for p, q, meet in drawn(kind, SAMPLE, 12):
        assert {answer for case in adversarial.orders(p, q) for answer in answers(*case)} == {meet}


@pytest.mark.parametrize(("p", "q", "meet"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers(p, q, meet):
    p, q = np.array(p, np.float64), np.array(q, np.float64)
    cases = list(adversarial.orders(p, q))
    assert {answer for case in cases[::9 if OFF else 1] for answer in answers(*case)} == {meet}


def test_offsets_are_free():
    """A pair is answered wherever it lies in a buffer, and nothing else in the buffer is read."""
    for place in ((9, 0), (0, 40), (23, 5), (5, 14)):
        for p, q, meet in drawn("permuted", MANY // 10, 13):
            assert set(answers(p, q, *place, room=50)) == {meet}


def test_one_triangle_with_itself_at_one_place():
    for p, _, _ in drawn("identical", MANY // 10, 14):
        t = p.reshape(-1)
        assert overlap_exact(t, 0, 0) == 1
        assert overlap_stage(t, 0, 0) & 1 == 1


def test_every_stage_decides_both_ways():
    """No stage is idle, so none is trusted unseen."""
    seen = set()
    for kind in adversarial.KINDS:
        for p, q, _ in drawn(kind, max(MANY // 10, 40), 15):
            if in_range(p, q):
                seen.add(int(overlap_stage(np.concatenate([p, q]).reshape(-1), 0, 9)))
    assert seen == {stage + answer for stage in (FILTERED, PROJECTED, EXACT) for answer in (0, 1)}


@pytest.mark.parametrize("scale", [2.0**-240, 1.0, 2.0**330])
def test_general_position_needs_no_exact_arithmetic(scale):
    for kind in ("crossing", "apart"):
        for p, q, _ in drawn(kind, MANY // 5, 16):
            assert overlap_stage(np.concatenate([p, q]).reshape(-1) * scale, 0, 9) < EXACT


# --- the long run ------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_the_long_run_in_small():
    """`python -m tests.exactness` tries every kind in every way, and finds nothing."""
    narrow = [word for name in NARROW for word in ("--narrow", name)]
    assert exactness.main(["--pairs", str(exactness.BATCH * (2 if OFF else len(adversarial.KINDS))), *narrow]) == 0


@pytest.mark.parametrize("way", ["overlap_exact", "overlap_stage"])
def test_the_long_run_notices_a_wrong_answer(way, monkeypatch, capsys):
    monkeypatch.setattr(exactness, way, lambda t, a, b: 0)
    assert exactness.main(["--pairs", "64", "--kind", "crossing"]) == 1
    assert "64 wrong" in capsys.readouterr().out
