"""The command `pliant`: what it prints, what it writes, and the status it leaves with."""

import os
import re
import signal
import sys
import time
from importlib import metadata

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from child import PATIENCE, python, start
from pliant.cli import application, demo, main
from pliant.core import jit

MAIN = "from pliant.cli import main; main()"


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(application(), [str(each) for each in arguments], env={"COLUMNS": "200", "TERM": "dumb"})


def text(result):
    """Everything it printed, without the frames and breaks of rich."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())


# ------------------------------------------------------------------------------------------------ the command itself

@pytest.mark.formulas
def test_help_names_all_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert all(f" {name} " in text(result) for name in ("demo", "info", "warm"))
    for name, option in (("demo", "--frames"), ("info", "--help"), ("warm", "--help")):
        result = run(name, "--help")
        assert result.exit_code == 0 and option in text(result)


@pytest.mark.formulas
def test_without_arguments_help_is_shown():
    assert "Usage" in text(run()) and "demo" in text(run())


@pytest.mark.formulas
@pytest.mark.parametrize("arguments", [("dmeo",), ("--fast",), ("demo", "--colour"), ("info", "more")])
def test_unknown_arguments_are_refused(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in text(result) and arguments[-1].lstrip("-") in text(result)


@pytest.mark.formulas
def test_help_compiles_nothing():
    python(f"""
        import sys
        sys.argv = ["pliant", "--help"]
        try:
            {MAIN}
        except SystemExit as end:
            assert end.code in (None, 0)
        assert "numba" not in sys.modules and "numpy" not in sys.modules
    """)


@pytest.mark.formulas
def test_the_command_is_installed():
    command, = (entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "pliant")
    assert command.load() is main


# ------------------------------------------------------------------------------------------------ info and warm

@pytest.mark.formulas
def test_info_says_what_a_report_needs(monkeypatch, set_threads):
    set_threads(3)
    result = run("info")
    assert result.exit_code == 0
    found = text(result)
    for name in ("numpy", "numba", "llvmlite", "scipy"):
        assert f"{name} {metadata.version(name)}" in found
    assert f"pliant {pliant.__version__}" in found
    assert "threads 3" in found
    assert "python " + ".".join(map(str, sys.version_info[:3])) in found
    assert ("the JIT is off" if jit.DISABLED else str(jit.cache_state().reason)) in found


def test_info_says_why_there_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for folder, reason in (("", "switched off by an empty PLIANT_CACHE"), (tmp_path / "file", "no cache folder")):
        found = " ".join(python(f"import sys; sys.argv = ['pliant', 'info']; {MAIN}", PLIANT_CACHE=folder, COLUMNS=300).split())
        assert "cache not in use" in found and reason in found


@pytest.mark.formulas
def test_info_of_a_missing_package():
    from pliant.cli import info

    assert info.version("no-such-package") == "not installed"


def test_warm_says_how_long_it_took():
    result = run("warm")
    assert result.exit_code == 0
    assert re.search(r"Ready after \d+\.\d\d s\.", text(result))


def test_warm_says_if_nothing_was_kept(monkeypatch):
    monkeypatch.setattr(jit, "_state", jit.CacheState(None, "for a test"))
    assert "Nothing was kept for the next process: for a test" in text(run("warm"))


# ------------------------------------------------------------------------------------------------ demo

def test_the_demo_counts_and_draws(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    result = run("demo", "--faces", 320, "--frames", 9, "--size", 64, "--out", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert os.listdir(tmp_path / "new") == ["demo.png"]
    with image_module.open(tmp_path / "new" / "demo.png") as file:
        image = np.asarray(file).astype(int)
    assert image.shape == (64, 64, 3)
    assert (image[..., 0] > 2 * image[..., 1:].max(axis=2)).any(), "colliding triangles are red"
    assert str(tmp_path / "new" / "demo.png") in result.output
    total = sum(len(pliant.collide(*bodies(k))) for k in range(9))
    assert re.search(rf"sum {total:,} ", text(result))


def bodies(k):
    scene = pliant.shapes.bumpy_pair(320, 9 + 9 // 3)
    return [pliant.Body(vertices, scene.faces) for vertices in scene.frame(k)]


def test_without_contact_there_is_no_picture(tmp_path):
    result = run("demo", "--faces", 320, "--frames", 2, "--out", tmp_path)
    assert result.exit_code == 0 and "no picture" in text(result)
    assert os.listdir(tmp_path) == []


def test_without_pillow_the_demo_runs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    result = run("demo", "--faces", 320, "--frames", 5, "--size", 64, "--out", tmp_path)
    assert result.exit_code == 0
    assert "No picture: pictures need Pillow: pip install 'pliant[pictures]'" in text(result)


@pytest.mark.formulas
@pytest.mark.parametrize(("option", "value", "says"), [
    ("--faces", 100, "320, 1280"), ("--faces", -320, "-320"), ("--frames", 1, "--frames"), ("--frames", 0, "--frames"),
    ("--size", 10, "--size"), ("--size", 100_000, "--size"), ("--faces", "1e3", "--faces"), ("--frames", "many", "--frames"),
])
def test_other_options_are_refused(tmp_path, option, value, says):
    result = run("demo", "--out", tmp_path / "out", option, value)
    assert result.exit_code == 2
    assert says in text(result)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.formulas
def test_the_folder_must_not_be_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code == 2 and "cannot be made a folder" in text(result)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    """In a sentence, not in a traceback; nothing that was counted is lost."""
    (tmp_path / "file").write_text("x")
    result = run("demo", "--faces", 320, "--frames", 5, "--size", 64, "--out", tmp_path / "file" / "out")
    assert result.exit_code not in (0, None)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert str(tmp_path / "file") in result.output.replace("\n", "")


def test_an_interrupted_demo_shows_what_it_has(tmp_path, monkeypatch):
    done = []

    def collide(*bodies):
        done.append(bodies)
        if len(done) == 4:
            raise KeyboardInterrupt
        return pliant.query.collide.collide(*bodies)

    import pliant.query.collide
    from pliant.cli import warm  # noqa: F401

    monkeypatch.setattr("pliant.cli.warm.prepare", lambda: 0.0)
    monkeypatch.setattr(pliant, "collide", collide, raising=False)
    result = run("demo", "--faces", 320, "--frames", 9, "--out", tmp_path / "out")
    assert result.exit_code == demo.INTERRUPTED == 130
    assert "Stopped after 3 of 9 frames." in text(result)
    assert "Colliding pairs, 3 frames" in text(result)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_ctrl_c_ends_the_demo(tmp_path):
    code = f"import sys; sys.argv = ['pliant', 'demo', '--frames', '100000', '--faces', '1280', '--out', sys.argv[1]]; {MAIN}"
    process = start(code, tmp_path / "out")
    try:
        while "Kernels ready" not in (line := process.stdout.readline()):
            assert line or process.poll() is None, process.stderr.read()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert "Stopped after" in output and "Traceback" not in errors
        assert not list((tmp_path / "out").glob("*"))
    finally:
        process.kill()
        process.communicate()
