"""Tuning for the work of real bodies: what is found is what was played, in one go or in several, and it is better than what was known."""

import json
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from child import PATIENCE, SOON, start
from pliant import shapes
from pliant.core import jit
from pliant.refit import inflated
from pliant.tune import Animation, tune
from pliant.tune.animation import check_animation
from pliant.tune.criteria import CRITERIA, policy
from pliant.tune.score import QUERIES, AnimationRun, Goal
from synthetic import rows

pytestmark = pytest.mark.formulas

FRAMES = 4 if jit.DISABLED else 12
SMALL = {"population": 4, "generations": 2} if jit.DISABLED else {"population": 6, "generations": 4}


@pytest.fixture(scope="module")
def passing():
    """A bumpy sphere passes another; the second stops half way."""
    directions, faces = shapes.icosphere(0 if jit.DISABLED else 2)
    moves = np.linspace(-1, 1, FRAMES)[:, None, None] * [1.5, 0, 0] + [0, 0, 1.6]
    first, second = (np.array([shapes.bumpy(directions, 0.4 * k + phase) for k in range(FRAMES)]) for phase in (0.0, 1.0))
    return check_animation(Animation([(faces, first), (faces, (second + moves)[: FRAMES // 2])], "passing"))


def test_criteria_are_those_of_the_policy(passing):
    assert set(CRITERIA) == set(inflated.CRITERIA)
    for criterion, genes in CRITERIA.items():
        body = pliant.Body(passing.bodies[0][1][0], passing.bodies[0][0], policy=policy(criterion, tuple(gene.start for gene in genes)))
        assert body._options.settings["criterion"] == criterion
        for gene in genes:
            assert body._options.settings[gene.name] == gene.start
            assert gene.low <= inflated.SETTINGS[gene.name][0] <= gene.high


def test_what_is_usual_is_what_a_search_found():
    """The row of the winner in docs/tuning.md has the policy's own parameters, but for rounding."""
    page = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")
    found = re.search(r"^\| \(A&B\)\\\|\(B&C\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert found is not None
    usual = [inflated.SETTINGS[name][0] for name in ("p_max", "k", "gamma")]
    assert [float(number) for number in found.groups()] == pytest.approx(usual, rel=2e-3)


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_can_be_tuned_for(passing, query):
    tolerance = 0.4 if QUERIES[query].tolerance else None
    stage = AnimationRun(passing, Goal(query, "counters", tolerance), {})
    work = {name: stage.run(policy(name, ()))[0] for name in ("all", "B", "none")}
    assert work["all"].n_u >= work["B"].n_u > work["none"].n_u == 0, "criteria decide how much is refitted"
    assert 0 < work["all"].n_v < work["none"].n_v + jit.DISABLED, "and how much is compared; the tiny bodies of no JIT are few volumes"


def test_a_policy_is_tuned(passing):
    """The score is the work of that policy, no worse than that of the thesis's parameters; stopping and going on changes nothing."""
    settings = {"query": "collide", "criteria": ["A", "(A&B)|(B&C)", "all", "none"], **SMALL}
    tuned = tune(passing, **settings)
    stage = AnimationRun(passing, Goal("collide"), {})
    for row in tuned.table:
        genes = CRITERIA[row.criterion]
        assert stage.score(policy(row.criterion, tuple(row.parameters.values()))) == row.score
        assert row.score <= stage.score(policy(row.criterion, tuple(gene.start for gene in genes)))
    assert tuned.score == min(row.score for row in tuned.table) == stage.score(tuned.policy)
    assert len({row.score for row in tuned.table}) > 2, "criteria are told apart"


def test_stopping_and_going_on_changes_nothing(passing, tmp_path):
    settings = {"query": "collide", "criteria": ["A", "B", "A|B"], **SMALL, "state": tmp_path / "state"}
    expected, reports = tune(passing, **{**settings, "state": None}), []

    def stop(report):
        reports.append(report)
        if len(reports) in (2, 9):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            tune(passing, progress=stop, **settings)
        assert json.loads((tmp_path / "state").read_text())["scored"]
    assert tune(passing, progress=stop, **settings) == expected


def test_seconds_are_measured(passing):
    tuned = tune(passing, query="collide", score="seconds", criteria=["all", "none"])
    assert all(0 < row.score < 60 for row in tuned.table) and tuned.metadata["by"] == "seconds"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_ctrl_c_ends_the_command_at_once_and_nothing_is_lost(passing, tmp_path):
    (faces, first), (_, second) = passing.bodies
    np.savez(tmp_path / "a.npz", faces=faces, vertices=np.tile(first, (40, 1, 1)), faces_b=faces, vertices_b=second)
    code = "import sys; from pliant.cli import main; sys.argv[:1] = ['pliant', 'tune']; main()"
    state = tmp_path / "policy.state.json"
    process = start(code, tmp_path / "a.npz", "--query", "collide", "--out", tmp_path / "policy.toml")
    try:
        end = time.monotonic() + PATIENCE
        while not (state.exists() and json.loads(state.read_text())["scored"]):
            assert process.poll() is None and time.monotonic() < end, process.stderr.read()
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        output, errors = process.communicate(timeout=PATIENCE)
        assert time.monotonic() - begin < SOON
        assert process.returncode == 130, errors
        assert "Stopped. The same command goes on from" in output and "Traceback" not in errors
        assert not (tmp_path / "policy.toml").exists()
    finally:
        process.kill()
        process.communicate()
    scored = json.loads(state.read_text())["scored"]
    assert {name: int(cells[5]) for name, cells in rows(output).items()} == {name: len(scored[name]) for name in scored}
    assert len(scored["A"]) > 1, "what is shown is what is kept"
