"""The command `pliant`: what it prints, what it writes, and the status it leaves with."""

import os
import re
import signal
import sys
import time
import zipfile
from importlib import metadata
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from child import PATIENCE, python, start
from pliant import shapes
from pliant.cli import application, demo, main, swarm
from pliant.cli.swarm import SwarmSimulation
from pliant.core import cache, jit

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
    options = {"check": "--within", "demo": "--frames", "render": "--antialias", "tune": "--criteria", "info": "FILE",
               "warm": "--all"}
    assert all(f" {name} " in text(result) for name in options)
    for name, option in options.items():
        result = run(name, "--help")
        assert result.exit_code == 0 and option in text(result)
        assert f"Examples: pliant {name}" in text(result)


@pytest.mark.formulas
def test_the_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"pliant {pliant.__version__}\n")


@pytest.mark.parametrize(("code", "status"), [("130", 130), ("0", 0), ("None", 0), ("'a message'", 1)])
def test_threads_that_still_run_are_left_at_exit(code, status):
    """The interpreter does not unwind them, what was printed and registered for the exit is not lost, and the status stays."""
    printed = python(f"""
        import atexit, sys, threading
        from pliant import cli
        def stop():
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            print("stopped", end="")
            sys.exit({code})
        atexit.register(lambda: print(", ended"))
        cli.application = lambda: stop
        cli.main()
        """, status=status, PYTHONUNBUFFERED=None)
    assert printed == "stopped, ended\n"


@pytest.mark.parametrize("arguments", [("--debug", "info", "none.npz"), ("info", "none.npz", "--debug"), ("info", "--debug", "none.npz")])
def test_with_debug_errors_are_tracebacks(arguments):
    errors = python(f"import sys; sys.stderr = sys.stdout; sys.argv[0] = 'pliant'; {MAIN}", *arguments, status=2)
    assert "Traceback" in errors and "FileError: none.npz" in errors
    found = python(f"import sys; sys.stderr = sys.stdout; sys.argv[0] = 'pliant'; {MAIN}", "info", "none.npz", status=2)
    assert found.startswith("none.npz: ") and len(found.splitlines()) == 1


@pytest.mark.formulas
def test_without_arguments_help_is_shown():
    assert "Usage" in text(run()) and "demo" in text(run())


@pytest.mark.formulas
@pytest.mark.parametrize("arguments", [("dmeo",), ("--fast",), ("demo", "--colour"), ("warm", "more")])
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

    assert info.package_version("no-such-package") == "not installed"


@pytest.mark.parametrize("more", [(), ("--all",)])
def test_warm_says_how_long_it_took(more):
    result = run("warm", *more)
    assert result.exit_code == 0
    assert re.search(r"Ready after \d+\.\d\d s\.", text(result))


def test_warm_exports_and_imports(tmp_path):
    """Into an empty cache, which then has all that the first one had."""
    archive = tmp_path / "kernels.zip"
    first = text(run("warm", "--export", archive))
    assert f"{archive}: " in first and "MiB" in first
    for name in ("scene: ", "exact: ", "contacts: "):
        assert name in first
    code = f"import sys; sys.argv = ['pliant', 'warm', '--import', {str(archive)!r}]; {MAIN}"
    found = python(code, PLIANT_CACHE=tmp_path / "cache", COLUMNS=300)
    assert "machine code" in found
    with zipfile.ZipFile(archive) as found:
        names = {name for name in found.namelist() if name.endswith((".nbi", ".nbc"))}
    assert {path.name for path in (tmp_path / "cache").rglob("*.nb?")} == names and len(names) > 100
    archive.write_bytes(b"nothing")
    python(code, PLIANT_CACHE=tmp_path / "cache", COLUMNS=300, status=2)


def test_warm_says_if_nothing_was_kept(monkeypatch):
    monkeypatch.setattr(cache, "_state", cache.CacheState(None, "for a test"))
    assert "Nothing was kept for the next process: for a test" in text(run("warm"))


# ------------------------------------------------------------------------------------------------ demo

@pytest.mark.parametrize("kind", ["arms", "bumpy"])
def test_the_demo_counts_and_draws(tmp_path, kind):
    image_module = pytest.importorskip("PIL.Image")
    result = run("demo", "--bodies", 8, "--faces", 320, "--frames", 25, "--kind", kind, "--size", 128, "--out", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir(tmp_path / "new")) == ["demo.png", "report.html"]
    with image_module.open(tmp_path / "new" / "demo.png") as file:
        image = np.asarray(file).astype(int)
    assert image.shape == (128, 128, 3)
    assert (image[..., 0] > 2 * image[..., 1:].max(axis=2)).any(), "colliding triangles are red"
    assert str(tmp_path / "new" / "demo.png") in result.output
    flight, counts = SwarmSimulation(shapes.swarm(8, 320, demo.CYCLE_FRAMES, kind)), []
    for _ in range(25):
        flight.advance()
        counts.append(sum(len(pliant.collide(a, b)) for a, b in combinations(flight.bodies, 2)))
    assert [step.pairs for step in flight.steps] == counts
    found = text(result)
    assert "Time a frame, 25 frames" in found and f"{sum(counts):,} colliding pairs in all" in found
    assert f"Picture of frame {np.argmax(counts)}, the one with the most colliding triangles ({max(counts):,} pairs" in found
    for name in ("deform, not counted", "update", "broad phase", "narrow phase", "sum", "of 28", "n_v", "n_p", "n_u"):
        assert name in found


def test_without_contact_there_is_no_picture(tmp_path):
    result = run("demo", "--bodies", 2, "--faces", 320, "--frames", 2, "--out", tmp_path)
    assert result.exit_code == 0 and "no picture" in text(result)
    assert os.listdir(tmp_path) == ["report.html"]


def test_without_pillow_the_demo_runs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    result = run("demo", "--faces", 320, "--frames", 5, "--kind", "bumpy", "--size", 64, "--out", tmp_path)
    assert result.exit_code == 0
    assert "No picture: pictures need Pillow: pip install 'pliant[pictures]'" in text(result)


@pytest.mark.formulas
@pytest.mark.parametrize(("option", "value", "says"), [
    ("--faces", 100, "320, 1280"), ("--faces", -320, "-320"), ("--frames", -1, "--frames"), ("--frames", 0, "--frames"),
    ("--size", 10, "--size"), ("--size", 100_000, "--size"), ("--faces", "1e3", "--faces"), ("--frames", "many", "--frames"),
    ("--bodies", 1, "--bodies"), ("--bodies", "few", "--bodies"), ("--kind", "furry", "bumpy"),
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
    advance = SwarmSimulation.advance

    def three_times(flight):
        if len(flight.steps) == 3:
            raise KeyboardInterrupt
        return advance(flight)

    monkeypatch.setattr("pliant.cli.warm.compile_groups", lambda names, console: 0.0)
    monkeypatch.setattr(SwarmSimulation, "advance", three_times)
    result = run("demo", "--bodies", 4, "--faces", 320, "--frames", 9, "--out", tmp_path / "out")
    assert result.exit_code == demo.EXIT_INTERRUPTED == 130
    assert "Stopped after 3 of 9 frames." in text(result)
    assert "Time a frame, 3 frames" in text(result)
    assert not list((tmp_path / "out").glob("*"))


def test_a_demo_interrupted_before_it_starts_has_nothing_to_show(tmp_path, monkeypatch):
    def prepare(names, console):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.cli.warm.compile_groups", prepare)
    result = run("demo", "--bodies", 4, "--faces", 320, "--frames", 9, "--out", tmp_path / "out")
    assert result.exit_code == 130 and "Stopped after 0 of 9 frames." in text(result) and "Time" not in text(result)


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


# ------------------------------------------------------------------------------------------------ what moves in it

@pytest.mark.parametrize("kind", ["arms", "bumpy"])
def test_the_swarm_stays_in_its_box_and_keeps_its_pace(kind):
    flight = SwarmSimulation(shapes.swarm(8, 320, demo.CYCLE_FRAMES, kind))
    for _ in range(120):
        flight.advance()
        assert (np.abs(flight.centres) <= swarm.BOX_SCALE * flight.shapes.half + 4 * swarm.CRUISE_SPEED).all()
        speeds = np.linalg.norm(flight.velocities, axis=1)
        assert speeds.max() < 4 * swarm.CRUISE_SPEED and 0.5 < speeds.mean() / swarm.CRUISE_SPEED < 2
    assert sum(step.touching for step in flight.steps) > 20
    assert flight.peak.frame == np.argmax([step.pairs for step in flight.steps])


def test_bodies_bounce_off_each_other():
    flight = SwarmSimulation(shapes.swarm(2, 1280, demo.CYCLE_FRAMES, "bumpy"))
    across = np.array([0.6, -0.48, 0.64])
    flight.centres = np.outer([-1.15, 1.15], across)
    flight.velocities = np.outer([1.5, -1.5], swarm.CRUISE_SPEED * across)
    gaps = []
    for _ in range(60):
        flight.advance()
        gaps.append(float((flight.centres[1] - flight.centres[0]) @ across))
    lowest = int(np.argmin(gaps))
    assert 0 < lowest < 40 and gaps[lowest] > 1.4, "they meet, but not by much"
    assert gaps[-1] > gaps[lowest] + 0.2, "and part again"
    assert sum(step.touching for step in flight.steps) < 40


@pytest.mark.parametrize("gap", [1.7, 1.85, 1.95])
def test_partings_point_from_the_first_body_to_the_second(gap):
    directions, faces = shapes.icosphere(3)
    rng = np.random.default_rng(1)
    for _ in range(5):
        across = rng.normal(size=3)
        across /= np.linalg.norm(across)
        vertices = [shapes.bumpy(directions, 1.0, 0.02), shapes.bumpy(directions, 2.0, 0.02) + gap * across]
        scene = pliant.Scene([pliant.Body(v, faces) for v in vertices])
        meeting, partings = swarm.separation_directions(scene.collide(contacts=True), vertices, faces)
        assert meeting.tolist() == [[0, 1]]
        assert partings[0] @ across > 0.95 and np.linalg.norm(partings[0]) == pytest.approx(1)


def test_what_does_not_meet_has_no_partings():
    directions, faces = shapes.icosphere(1)
    vertices = [directions, directions + 3]
    scene = pliant.Scene([pliant.Body(v, faces) for v in vertices])
    meeting, partings = swarm.separation_directions(scene.collide(contacts=True), vertices, faces)
    assert meeting.shape == (0, 2) and partings.shape == (0, 3)
