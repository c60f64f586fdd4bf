"""What `pliant check` and `pliant baseline` say of a verdict, and how they end."""

import csv
import json

import numpy as np
import pytest
from test_cli_check import run as check
from test_cli_check import text
from typer.testing import CliRunner

from pliant.cli import application
from pliant.shapes import icosphere

BALL, FACES = icosphere(1)
FRAMES = 4


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A wall, a ball that is always in it, and one that comes to it in the last two frames."""
    folder = tmp_path_factory.mktemp("scene")
    wall = np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], float)
    np.savez(folder / "wall.npz", faces=[[0, 1, 2], [0, 2, 3]], vertices=[wall] * FRAMES)
    np.savez(folder / "still.npz", faces=FACES, vertices=[BALL + [-3, 0.1, 0.3]] * FRAMES)
    np.savez(folder / "moving.npz", faces=FACES, vertices=[BALL + [3, 0.1, 1.05 - 0.1 * (k // 2)] for k in range(FRAMES)])
    return [folder / f"{name}.npz" for name in ("wall", "still", "moving")]


def test_a_table_of_events(files, tmp_path):
    result = check(*files, "--out", tmp_path)
    assert result.exit_code == 1, result.output
    found = text(result)
    assert "1 collision in 2 of 4 frames, " in found and "are there in every frame." in found
    assert "What counts: faces that intersect or touch and bodies inside others, but not in every frame." in found
    assert "wall – moving 2–3 2 0.05" in found and "wall – still" not in found


@pytest.mark.parametrize(("rule", "code"), [("any", 1), ("new", 1), ("near", 1), ("depth>0.04", 1), ("depth>0.06", 0)])
def test_fail_on(files, tmp_path, rule, code):
    assert check(*files, "--out", tmp_path, "--no-report", "--fail-on", rule).exit_code == code


def test_only_what_is_known(files, tmp_path):
    assert check(*files, "--out", tmp_path / "first", "--no-report").exit_code == 1
    done = CliRunner().invoke(application(), ["baseline", str(tmp_path / "first")])
    assert done.exit_code == 0 and "pairs of triangles accepted as known." in done.output
    baseline = tmp_path / "first" / "baseline.npz"
    for rule, code in (("new", 0), ("any", 1)):
        result = check(*files, "--out", tmp_path / rule, "--baseline", baseline, "--fail-on", rule, "--no-report")
        assert result.exit_code == code and "Nothing new in 4 frames: only collisions that are known." in text(result), result.output
    result = check(*files, "--out", tmp_path / "shorter", "--baseline", baseline, "--frames", "0", "--no-report")
    assert "are resolved." in text(result)


def test_what_is_near_is_no_collision(files, tmp_path):
    near = [files[0], files[2], "--frames", "0:2", "--within", 0.2, "--no-report", "--out"]
    result = check(*near, tmp_path / "a")
    assert result.exit_code == 0 and "Nothing meets, but 1 near miss in 2 frames." in text(result), result.output
    assert "Near, without collisions" in text(result)
    assert check(*near, tmp_path / "b", "--fail-on", "near").exit_code == 1


def test_json(files, tmp_path):
    result = check(*files, "--out", tmp_path, "--json", "--no-report")
    assert result.exit_code == 1 and json.loads(result.stdout) == json.loads((tmp_path / "summary.json").read_text())


def test_csv(files, tmp_path):
    check(*files, "--out", tmp_path, "--format", "csv", "--no-report")
    with open(tmp_path / "events.csv", newline="", encoding="utf-8") as file:
        events = list(csv.DictReader(file))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [row["body_b"] for row in events] == [row["names"][1] for row in summary["events"]] == ["moving", "still"]
    assert [(row["state"], row["first"], row["last"]) for row in events] == [("new", "2", "3"), ("static", "0", "3")]
    with open(tmp_path / "pairs.csv", newline="", encoding="utf-8") as file:
        pairs = list(csv.DictReader(file))
    assert sum(int(row["last"]) - int(row["first"]) + 1 for row in pairs) == summary["pairs"]
    assert {(row["name_a"], row["state"]) for row in pairs} == {("wall", "static"), ("wall", "new")} and (tmp_path / "pairs.npz").exists()


def test_a_finished_check_shows_its_verdict(files, tmp_path):
    check(*files, "--out", tmp_path, "--no-report")
    result = check(*files, "--out", tmp_path, "--no-report", "--resume", "--fail-on", "depth>1")
    assert result.exit_code == 0, "by the rule of this call"
    assert "This check is finished; its verdict:" in text(result) and "1 collision in 2 of 4 frames" in text(result)


def test_nothing_is_tested(files, tmp_path):
    result = check(files[1], "--out", tmp_path / "out", "--no-self")
    assert result.exit_code == 2 and "nothing is tested: there is one body" in text(result)


@pytest.mark.parametrize(("options", "says"), [
    (["--baseline", "frame x"], "--baseline"), (["--baseline", "frame 99"], "--baseline"), (["--min-depth", "-1"], "--min-depth"),
    (["--fail-on", "some"], "--fail-on"), (["--up", "w"], "--up"), (["--baseline", "rest"], "--baseline"),
])
def test_bad_options_are_2(files, tmp_path, options, says):
    result = check(*files, "--out", tmp_path / "out", *options)
    assert result.exit_code == 2 and says in text(result), result.output


def test_baseline_of_nothing(tmp_path):
    result = CliRunner().invoke(application(), ["baseline", str(tmp_path)])
    assert result.exit_code == 2 and "holds no pairs.npz" in result.output
