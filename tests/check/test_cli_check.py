"""The command `pliant check`: exit codes, errors in one line, what it prints and writes, Ctrl-C and kills."""

import json
import os
import random
import re
import signal
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from child import PATIENCE, SOON, start
from pliant import shapes
from pliant.check.run import TABLES
from pliant.cli import application
from pliant.cli import check as command
from pliant.core import jit
from pliant.image.options import DEVICES
from pliant.query.collide.self_collide import ADJACENT_MODES
from pliant.query.collide.two_bodies import ENGINES

MAIN = "from pliant.cli import main; main()"


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(application(), ["check", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def text(result):
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())


@pytest.fixture(scope="module")
def cloth(tmp_path_factory):
    """A cloth that folds, in a file."""
    made = shapes.folding_cloth(400, 12)
    path = tmp_path_factory.mktemp("cloth") / "cloth.npz"
    np.savez(path, faces=made.faces, vertices=[made.frame(k) for k in range(12)])
    return path


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A sphere that moves, in a file: nothing meets."""
    directions, faces = shapes.icosphere(1)
    path = tmp_path_factory.mktemp("apart") / "ball.npz"
    np.savez(path, faces=faces, vertices=[directions + (k, 0.0, 5.0) for k in range(3)])
    return path


def test_choices_are_those_of_the_library():
    """The command names them itself, so that its help loads nothing."""
    for choices, known in ((command.Engine, ENGINES), (command.Device, DEVICES), (command.Adjacent, ADJACENT_MODES),
                           (command.Form, TABLES)):
        assert [each.value for each in choices] == list(known)


# --- how it ends -------------------------------------------------------------------------------------------------------------

def test_nothing_found_is_0(apart, tmp_path):
    result = run(apart, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Nothing meets in 3 frames." in text(result)
    assert sorted(os.listdir(tmp_path)) == ["pairs.npz", "report.html", "summary.json"]


def test_collisions_are_1(cloth, tmp_path):
    result = run(cloth, "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 1, result.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    body = pliant.Body(np.load(cloth)["vertices"][0], np.load(cloth)["faces"], weld=True)
    counts = []
    for vertices in np.load(cloth)["vertices"]:
        body.update(vertices)
        counts.append(len(pliant.self_collide(body)))
    assert summary["with_self"] == counts and sum(counts) > 50
    found = text(result)
    assert f"1 collision in {np.count_nonzero(counts)} of 12 frames, {sum(counts):,} pairs of triangles." in found
    assert "cloth, itself" in found and "1 body, 12 frames" in found and str(tmp_path / "report.html") in found


def test_several_files_are_one_scene(cloth, apart, tmp_path):
    result = run(cloth, apart, "--out", tmp_path, "--within", 0.01, "--pairs", "cloth:*", "--frames", "2:5", "--format", "parquet",
                 "--no-report")
    assert result.exit_code == 1, result.output
    assert "2 bodies" in text(result) and json.loads((tmp_path / "summary.json").read_text())["by_state"]["near"] > 0
    assert sorted(os.listdir(tmp_path)) == ["faces.parquet", "pairs.parquet", "summary.json"]
    assert json.loads((tmp_path / "summary.json").read_text())["frames"] == [2, 3, 4]


@pytest.mark.parametrize(("options", "says"), [
    (["--pairs", "sock:*"], "'sock' names no body"), (["--frames", "99"], "names none of the frames 0 to 11"),
    (["--frames", "x"], "--frames"), (["--group", "a"], "--group"), (["--weld", "some"], "--weld"),
    (["--policy", "eager"], "--policy"), (["--within", "-1"], "--within"),
    (["--within", "1", "--engine", "image"], "--within"), (["--device", "cuda"], "--device"), (["--jobs", "0"], "--jobs"),
    (["--no-self", "--no-between"], "--pairs"), (["--engine", "magic"], "--engine"),
])
def test_bad_options_are_2(cloth, tmp_path, options, says):
    result = run(cloth, "--out", tmp_path / "out", *options)
    assert result.exit_code == 2 and says in text(result), result.output
    assert not list((tmp_path / "out").glob("*"))


def test_bad_files_are_2_in_one_line(cloth, tmp_path):
    (tmp_path / "bad.npz").write_bytes(cloth.read_bytes()[:2000])
    for file in (tmp_path / "bad.npz", tmp_path / "none.npz", tmp_path / "what.xyz"):
        result = run(file, "--out", tmp_path / "out")
        assert result.exit_code == 2, result.output
        assert len(result.output.strip().splitlines()) == 1 and result.output.startswith(str(file)), result.output


def test_a_folder_that_cannot_be_made_is_2(cloth, tmp_path):
    (tmp_path / "file").write_text("x")
    result = run(cloth, "--out", tmp_path / "file")
    assert result.exit_code == 2 and "cannot be made a folder" in text(result)


def test_a_defect_is_one_line_unless_debugged(cloth, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("unheard of")
    monkeypatch.setattr(command, "print_animation", broken)
    result = run(cloth, "--out", tmp_path)
    assert result.exit_code == 2 and result.output.strip() == "ZeroDivisionError: unheard of (a defect of Pliant: --debug shows where)"
    monkeypatch.setenv("PLIANT_DEBUG", "1")
    result = run(cloth, "--out", tmp_path)
    assert result.exit_code == 2 and "Traceback" in result.output and "ZeroDivisionError: unheard of" in result.output


def test_an_interrupted_check_says_how_to_go_on(cloth, tmp_path, monkeypatch):
    from pliant.check.worker import FrameWorker
    answer = FrameWorker.check_frame

    def four_times(lane, frame):
        if frame == 4:
            raise KeyboardInterrupt
        return answer(lane, frame)

    with monkeypatch.context() as patched:
        patched.setattr(FrameWorker, "check_frame", four_times)
        result = run(cloth, "--out", tmp_path / "torn", "--jobs", 1)
        assert run(cloth, "--out", tmp_path / "odd[/bold]", "--jobs", 1).exit_code == 130
    assert result.exit_code == 130 and "with --resume goes on" in text(result)
    assert os.listdir(tmp_path / "torn") == ["check.journal"]
    assert run(cloth, "--out", tmp_path / "torn", "--jobs", 1).exit_code == 2, "nothing is thrown away unasked"
    assert run(cloth, "--out", tmp_path / "torn", "--resume").exit_code == run(cloth, "--out", tmp_path / "whole").exit_code == 1
    assert (tmp_path / "torn" / "pairs.npz").read_bytes() == (tmp_path / "whole" / "pairs.npz").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="pipes")
def test_a_reader_that_leaves_does_not_change_the_answer(apart, tmp_path):
    """As after `| head`: what is checked and how it ends is the same."""
    code = f"import sys; sys.argv = ['pliant', 'check', sys.argv[1], '--out', sys.argv[2], '--no-report']; {MAIN}"
    process = start(code, apart, tmp_path / "out")
    process.stdout.close()
    process.stdin.close()
    errors = process.stderr.read()
    assert process.wait(PATIENCE) == 0, errors
    process.stderr.close()
    assert (tmp_path / "out" / "summary.json").exists()


# --- in a process of its own -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A check that takes some seconds: (file, the right pairs, seconds)."""
    made, folder = shapes.folding_cloth(4000, 400), tmp_path_factory.mktemp("long")
    np.savez(folder / "cloth.npz", faces=made.faces, vertices=[np.float32(made.frame(k)) for k in range(400)])
    begin = time.perf_counter()
    assert run(folder / "cloth.npz", "--out", folder / "whole", "--no-report").exit_code == 1
    return folder / "cloth.npz", (folder / "whole" / "pairs.npz").read_bytes(), time.perf_counter() - begin


def begun(file, out):
    """The command in a process, once it has frames done."""
    code = f"import sys; sys.argv = ['pliant', 'check', sys.argv[1], '--out', sys.argv[2], '--no-report', '--resume']; {MAIN}"
    process = start(code, file, out)
    limit, before = time.monotonic() + PATIENCE, (out / "check.journal").stat().st_size if (out / "check.journal").exists() else 0
    while process.poll() is None and (not (out / "check.journal").exists() or (out / "check.journal").stat().st_size <= before + 1000):
        assert time.monotonic() < limit
        time.sleep(0.005)
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_ctrl_c_and_kills_lose_nothing(long, tmp_path):
    file, right, seconds = long
    chance, out, ends = random.Random(2), tmp_path / "out", []
    for sent in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, None):
        process = begun(file, out)
        try:
            if sent is not None:
                time.sleep(chance.uniform(0, 0.2 * seconds))
                process.send_signal(sent)
                began = time.monotonic()
            _, errors = process.communicate(timeout=PATIENCE)
            ends.append(process.returncode)
            if sent == signal.SIGINT:
                assert time.monotonic() - began < SOON
                assert "Traceback" not in errors
        finally:
            process.kill()
            process.communicate()
        if process.returncode == 1:
            break
    assert ends[-1] == 1 and set(ends[:-1]) <= {130, -signal.SIGKILL, -signal.SIGTERM} and len(ends) > 1, ends
    assert (out / "pairs.npz").read_bytes() == right
    assert not list(out.glob("*.part"))
