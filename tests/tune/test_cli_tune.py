"""`pliant tune`: what it prints and writes, and the status it leaves with."""

import json
import re
import sys
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import application
from pliant.cli.tune import FrameQuery, ScoreUnit
from pliant.tune.criteria import CRITERIA
from pliant.tune.score import QUERIES
from synthetic import CORNERS, FACES, FRAMES, Synthetic, rows, use

pytestmark = pytest.mark.formulas

SHORT = "--population", 5, "--generations", 4


@pytest.fixture
def file(tmp_path):
    np.savez(tmp_path / "pair.npz", faces=FACES, vertices=FRAMES, faces_b=FACES, vertices_b=FRAMES + 3)
    return tmp_path / "pair.npz"


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(application(), ["tune", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def test_a_policy_is_found_and_written(monkeypatch, tmp_path, file):
    use(monkeypatch, Synthetic())
    out = tmp_path / "new" / "policy.toml"
    result = run(file, file, "--out", out, "--seed", 3, *SHORT)
    assert result.exit_code == 0, result.output
    assert f"Written: {out}" in result.output
    table = rows(result.output)
    assert list(table) == list(CRITERIA)
    assert table["all"] == ["–", "–", "–", "1.00", "1.00", "1"] and table["none"][4] == "2.00"
    assert table["(A&B)|(B&C)"][-1] == "← best" and float(table["(A&B)|(B&C)"][3]) < 0.5
    written = tomllib.loads(out.read_text())
    assert written["policy"]["criterion"] == "(A&B)|(B&C)" and f"{written['policy']['p_max']:.4f}" == table["(A&B)|(B&C)"][0]
    assert written["tuned"]["animations"] == "pair, pair" and written["tuned"]["seed"] == 3
    assert pliant.Body(CORNERS, FACES, policy=str(out))._options.settings["k"] == written["policy"]["k"]
    assert json.loads((tmp_path / "new" / "policy.state.json").read_text())["settings"]["seed"] == 3


def test_criteria_are_named_with_commas_or_one_by_one(monkeypatch, tmp_path, file):
    use(monkeypatch, Synthetic())
    result = run(file, "--out", tmp_path / "p.toml", "--criteria", "B, none", "--criteria", "A&B", *SHORT)
    assert result.exit_code == 0 and list(rows(result.output)) == ["B", "A&B", "none"]
    assert rows(result.output)["none"][4] == "–", "without refitting all there is nothing to compare with"


def test_a_stopped_search_goes_on(monkeypatch, tmp_path, file):
    whole = use(monkeypatch, Synthetic())
    expected = run(file, "--out", tmp_path / "whole.toml", *SHORT)
    part = use(monkeypatch, Synthetic(stop=20))
    command = file, "--out", tmp_path / "part.toml", "--state", tmp_path / "kept", *SHORT
    result = run(*command)
    assert result.exit_code == 130 and "Stopped. The same command goes on from" in result.output
    assert not (tmp_path / "part.toml").exists()
    assert sum(int(cells[5]) for cells in rows(result.output).values()) == 20, "what there is so far is shown"
    rest = use(monkeypatch, Synthetic())
    result = run(*command)
    assert result.exit_code == 0 and rows(result.output) == rows(expected.output)
    assert part.calls + rest.calls == whole.calls
    assert (tmp_path / "part.toml").read_text() == (tmp_path / "whole.toml").read_text()


@pytest.mark.parametrize(("more", "status", "message"), [
    (("--criteria", "D"), 2, r"criteria\[0\]: expected one of 'A'"),
    (("--population", 1), 2, "population: expected an integer from 4"),
    (("--query", "within"), 2, "tolerance: expected a number for query 'within'"),
    (("--volume", "cube"), 2, "volume: expected one of"),
    (("--query", "near"), 2, "Invalid value for '--query'"),
    (("nowhere.npz",), 2, "nowhere.npz: no such file"),
    (("--out", "/dev/null/policy.toml"), 2, "/dev/null: "),
    (("--out", "."), 2, "is a folder, expected a file"),
])
def test_what_is_wrong_is_said_in_one_line(tmp_path, monkeypatch, file, more, status, message):
    monkeypatch.chdir(tmp_path)
    result = run(file, *more)
    assert result.exit_code == status and re.search(message, " ".join(result.output.split()))
    assert "Traceback" not in result.output and isinstance(result.exception, SystemExit)
    assert not (tmp_path / "policy.toml").exists()


def test_another_search_does_not_overwrite_a_state(monkeypatch, tmp_path, file):
    use(monkeypatch, Synthetic())
    out = tmp_path / "policy.toml"
    assert run(file, "--out", out, "--criteria", "A", *SHORT).exit_code == 0
    result = run(file, "--out", out, "--criteria", "A", "--seed", 1, *SHORT)
    assert result.exit_code == 2 and "is the state of a search with seed 0, not 1; name another file" in " ".join(result.output.split())


def test_without_the_library_it_is_said_what_to_install(monkeypatch, tmp_path, file):
    monkeypatch.setitem(sys.modules, "pygad", None)
    result = run(file, "--out", tmp_path / "policy.toml")
    assert result.exit_code == 2 and "pip install 'pliant[tune]'" in result.output


def test_choices_are_those_of_the_library():
    assert [each.value for each in FrameQuery] == list(QUERIES)
    assert [each.value for each in ScoreUnit] == ["counters", "seconds"]
    assert "--query" in run("--help").output
