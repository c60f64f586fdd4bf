"""The search finds what is best, asks for no genome out of range, and takes the same way again; `tune` runs one for each criterion."""

import random
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.threads import threads
from pliant.errors import MeshError
from pliant.tune import Animation, tune
from pliant.tune.criteria import CRITERIA, DECIMALS, GAMMA, P_MAX, K, genome, parameters, policy
from pliant.tune.search import SearchPlan, evolve
from synthetic import BEST, CORNERS, FACES, FIXED, FRAMES, PAIR, Synthetic, use

pytestmark = pytest.mark.formulas


def asked(genes, score, plan):
    """All genomes in the order in which they were asked for, and the generations that passed."""
    order, turns = [], []

    def listening(values):
        order.append(values)
        return score(values)

    evolve(genes, listening, plan, turns.append)
    return order, turns


def bowl(genes):
    """A score that is least at BEST."""
    return lambda values: sum(((value - BEST[gene.name]) / gene.high) ** 2 for gene, value in zip(genes, values, strict=True))


@pytest.mark.parametrize("genes", [(P_MAX,), (K, GAMMA), (P_MAX, K, GAMMA)], ids=len)
def test_the_best_is_found(genes):
    order, turns = asked(genes, bowl(genes), SearchPlan(30, 50, 3))
    assert turns == list(range(51))
    found = min(order, key=bowl(genes))
    assert found == pytest.approx([BEST[gene.name] for gene in genes], abs=0.05)
    assert 100 < len(set(order)) < 30 + 50 * 15
    assert order[0] == tuple(gene.start for gene in genes), "the thesis's parameters are tried first"
    by_chance = np.random.default_rng(0).uniform(0, [gene.high for gene in genes], (len(set(order)), len(genes)))
    assert bowl(genes)(found) < 0.2 * min(bowl(genes)(row) for row in by_chance), "better than drawing as many blindly"


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(population=st.integers(4, 9), generations=st.integers(1, 4), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_all_genomes_are_in_range_and_rounded(population, generations, seed, data):
    genes = data.draw(st.sampled_from([genes for genes in CRITERIA.values() if genes]))
    flat = data.draw(st.booleans())
    order, turns = asked(genes, (lambda values: 0.0) if flat else bowl(genes), SearchPlan(population, generations, seed))
    assert turns == list(range(generations + 1))
    for values in order:
        assert all(gene.low <= value <= gene.high for gene, value in zip(genes, values, strict=True))
        assert values == tuple(round(value, DECIMALS) for value in values)
    assert asked(genes, (lambda values: 0.0) if flat else bowl(genes), SearchPlan(population, generations, seed)) == (order, turns)


def test_the_better_half_stays():
    """At the end of a generation the members are the best of those before and their children: the best is never lost, and no more than
    half are new."""
    scored, new = {}, []

    def score(values):
        scored.setdefault(values, bowl((P_MAX, K))(values))
        return scored[values]

    evolve((P_MAX, K), score, SearchPlan(12, 20, 1), lambda _: new.append(len(scored)))
    assert new[0] == 12 and max(np.diff(new)) <= 6 and new[-1] > 40


def test_seeds_matter():
    orders = [asked((P_MAX, K), bowl((P_MAX, K)), SearchPlan(8, 3, seed))[0] for seed in (1, 2)]
    assert orders[0][1:8] != orders[1][1:8]


def test_generators_of_the_process_are_left_alone():
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    asked((K,), bowl((K,)), SearchPlan(4, 2, 0))
    assert before == (random.getstate(), np.random.get_state()[1].tolist())


@pytest.mark.parametrize("error", [ValueError("score went wrong"), KeyboardInterrupt()])
def test_what_the_score_raises_comes_out(error, capfd):
    def score(values):
        if len(seen) == 10:
            raise error
        seen.append(values)
        return 1.0

    seen = []
    with pytest.raises(type(error)) as caught:
        evolve((K,), score, SearchPlan(6, 9, 0), lambda _: None)
    assert caught.value is error
    assert capfd.readouterr() == ("", "")


def test_without_the_library_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygad", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[tune\]'"):
        tune(PAIR)


@given(value=st.floats(allow_nan=False))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_genomes_are_rounded_into_their_range(value):
    for gene in (P_MAX, K):
        rounded = genome((gene,), (value,))
        assert gene.low <= rounded[0] <= gene.high and genome((gene,), rounded) == rounded
        assert not np.signbit(rounded[0])
        if gene.low <= value <= gene.high:
            assert abs(rounded[0] - value) <= 0.51 * 10**-DECIMALS


# ------------------------------------------------------------------------------------------------ all criteria

def test_every_criterion_is_searched(monkeypatch):
    score, reports = use(monkeypatch, Synthetic()), []
    before = threads()
    tuned = tune(PAIR, population=12, generations=12, seed=4, progress=reports.append)
    assert threads() == before
    assert [row.criterion for row in tuned.table] == list(CRITERIA)
    for row in tuned.table:
        genes = CRITERIA[row.criterion]
        assert set(row.parameters) == {gene.name for gene in genes}
        assert (row.evaluations == 1) == (not genes)
        assert FIXED[row.criterion] <= row.score < FIXED[row.criterion] + 0.1
        mine = [call for call in score.calls if call["criterion"] == row.criterion]
        assert len({tuple(call.items()) for call in mine}) == len(mine) == row.evaluations, "equal genomes are scored once"
        assert row.score == min(map(Synthetic(), mine))
        told = [report for report in reports if report.criterion == row.criterion]
        assert told[-1].best == row and told[-1].generation == told[-1].generations == (12 if genes else 0)
        assert all(a.best.score >= b.best.score for a, b in pairwise(told))
        assert {report.best.evaluations for report in told} == set(range(1, row.evaluations + 1)), "every score is told"
    best = tuned.table[list(CRITERIA).index("(A&B)|(B&C)")]
    assert tuned.score == best.score
    assert tuned.policy == {"name": "inflated", "criterion": best.criterion, **best.parameters}
    assert tuned.metadata["score"] == tuned.score and tuned.metadata["animations"] == "two triangles"
    assert tuned.metadata["evaluations"] == len(score.calls)
    assert all(isinstance(value, str | int | float) for value in tuned.metadata.values())


def test_what_a_criterion_finds_does_not_depend_on_the_others(monkeypatch):
    use(monkeypatch, Synthetic())
    both = tune(PAIR, criteria=["B&C", "A"], population=6, generations=4)
    assert [row.criterion for row in both.table] == ["A", "B&C"]
    assert tune(PAIR, criteria=("B&C",), population=6, generations=4).table == both.table[1:]


def test_of_equal_scores_the_first_criterion_and_the_smallest_parameters_win(monkeypatch):
    seen = []

    def steps(policy):
        seen.append(policy)
        return 1.0 if policy.get("p_max", 3) > 2 else 5.0

    use(monkeypatch, steps)
    tuned = tune(PAIR, criteria=["all", "A", "A&B"], population=8, generations=5)
    good = [each["p_max"] for each in seen if each["criterion"] == "A" and each["p_max"] > 2]
    assert tuned.table[-1].criterion == "all" and tuned.table[-1].score == 1.0
    assert tuned.policy == {"name": "inflated", "criterion": "A", "p_max": min(good)} and len(good) > 3


def test_names_of_genomes():
    assert parameters("B&C", (0.25, 0.5)) == {"k": 0.25, "gamma": 0.5}
    assert policy("none", ()) == {"name": "inflated", "criterion": "none"}


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_scores_must_be_numbers(monkeypatch, value):
    use(monkeypatch, lambda policy: value)
    with pytest.raises(ValueError, match=r"score: expected a finite number from 0 up, got .* for A \(1.3596,\)"):
        tune(PAIR, criteria=["A"])


BENT = FRAMES.copy()
BENT[1, 2, 0] = np.nan


@pytest.mark.parametrize(("animation", "changes", "error", "message"), [
    (PAIR, {"query": "near"}, ValueError, "query: expected one of 'distance', 'self_distance'"),
    (PAIR, {"score": "watts"}, ValueError, "score: expected one of 'counters', 'seconds', got 'watts'"),
    (PAIR, {"criteria": ["A", "D"]}, ValueError, r"criteria\[1\]: expected one of 'A', 'B', .*got 'D'"),
    (PAIR, {"criteria": "A"}, TypeError, "criteria: expected names in a list, got the text 'A'"),
    (PAIR, {"criteria": []}, ValueError, "criteria: expected some of A, B, .*got none"),
    (PAIR, {"population": 3}, ValueError, "population: expected an integer from 4 to 10000, got 3"),
    (PAIR, {"population": True}, TypeError, "population: expected an integer, got bool"),
    (PAIR, {"generations": 0}, ValueError, "generations: expected an integer from 1"),
    (PAIR, {"seed": -1}, ValueError, "seed: expected an integer from 0"),
    (PAIR, {"seed": 1.5}, TypeError, "seed: expected an integer, got float"),
    (PAIR, {"tolerance": 1.0}, ValueError, "tolerance: expected none with query 'distance', got 1.0"),
    (PAIR, {"query": "within"}, ValueError, "tolerance: expected a number for query 'within', got None"),
    (PAIR, {"query": "within", "tolerance": -1.0}, ValueError, "tolerance: expected a finite number from 0.0 up"),
    (PAIR, {"weights": (1, 2)}, ValueError, "weights: expected three numbers"),
    (PAIR, {"weights": (1, np.nan, 2)}, ValueError, r"weights\[1\]: expected a finite number"),
    (PAIR, {"options": {"policy": "lazy"}}, ValueError, "options: 'policy' is not known here; known are volume"),
    (PAIR, {"options": {"volume": []}}, TypeError, "options: volume: expected a name or a number, got list"),
    (PAIR, {"options": {"volume": "cube"}}, ValueError, "volume: expected one of .*got 'cube'"),
    ([], {}, ValueError, "animation: expected one or several, got none"),
    ([3], {}, TypeError, "animation: expected an Animation, or several, got int"),
    (Animation([(FACES, FRAMES)]), {}, ValueError, "animation: has one body, but query 'distance' is between two"),
    (Animation([(FACES, FRAMES)] * 3), {}, ValueError, "animation: expected one body or two, each .*got 3 bodies"),
    (Animation([]), {}, ValueError, "expected one body or two, .*got 0 bodies"),
    (Animation([(FACES,)]), {}, TypeError, r"bodies\[0\]: expected \(faces, frames\)"),
    (Animation([(FACES, FRAMES), (FACES, CORNERS)]), {}, MeshError, r"bodies\[1\] frames"),
    (Animation([(FACES, BENT)]), {}, MeshError, r"animation: bodies\[0\] frames\[1\]: row 2 is \[nan"),
    (Animation([(FACES + 1, FRAMES)]), {}, MeshError, r"animation: bodies\[0\] faces: row 0"),
    (Animation([(FACES[:0], FRAMES)]), {}, MeshError, r"bodies\[0\] has no faces"),
    (Animation([(FACES, FRAMES[:1])]), {"query": "self_collide"}, MeshError, "has one frame, expected two or more"),
    (Animation([(FACES, FRAMES[:0])]), {}, (MeshError, ValueError), r"bodies\[0\] frames"),
])
def test_bad_input_is_refused_before_anything_is_scored(animation, changes, error, message):
    with pytest.raises(error, match=message):
        tune(animation, **changes)
