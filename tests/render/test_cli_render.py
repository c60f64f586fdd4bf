"""`pliant render`: what it writes, what it says, and the status it leaves with."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from child import python
from pliant.cli import application
from pliant.cli import render as command
from pliant.render.frames import Renderer

FILES = Path(__file__).parents[1] / "fixtures" / "blender"
SCENE = """
[show]
frames = 12
poster = 2
[output]
size = [40, 30]
[camera]
eye = [3, -4, 2]
look_at = [0, 0, 0.7]
[[light]]
position = [3, -3, 6]
[material.gold]
kind = "mirror"
tint = "#e8b04a"
[material.floor]
kind = "diffuse"
colour = "#8090a0"
[[body]]
shape = "sheet"
scale = 12
material = "floor"
[[body]]
shape = "bumpy"
faces = 320
position = [0, 0, 1.2]
material = "gold"
"""


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(application(), ["render", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def text(result):
    """Everything it printed, without the frames and breaks of rich."""
    return " ".join(re.sub(r"[│╭╮╰╯─┃┏┓┗┛━]", " ", result.output).split())


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE)
    return path


def image(path):
    with pytest.importorskip("PIL.Image").open(path) as file:
        return np.asarray(file)


@pytest.mark.formulas
def test_help_has_examples_and_all_options():
    found = text(run("--help"))
    assert "pliant render nine --out nine.png" in found and "pliant render scene.toml" in found
    for option in ("out", "frames", "size", "step", "reconstruct", "mode", "budget-ms", "bounces", "policy", "antialias", "rate"):
        assert f"--{option}" in found


def test_a_picture_of_a_file(tmp_path, scene):
    result = run(scene, "--out", tmp_path / "new" / "a.png")
    assert result.exit_code == 0, result.output
    assert image(tmp_path / "new" / "a.png").shape == (30, 40, 3)
    found = text(result)
    assert "scene: 2 bodies, 322 triangles." in found and "Time a frame, 1 frame of 40 × 30" in found
    for name in ("deform, not counted", "update", "primary", "shadow", "secondary, bounce 1", "frame", "1,200", "100%"):
        assert name in found
    assert f"Written: {tmp_path / 'new' / 'a.png'}" in found
    assert run(scene, "--out", tmp_path / "b.png", "--frames", 2).exit_code == 0
    assert np.array_equal(image(tmp_path / "new" / "a.png"), image(tmp_path / "b.png")), "the poster"


@pytest.mark.parametrize(("name", "faces"), [("nine", 320), ("museum", 64)])
def test_a_picture_of_a_show(tmp_path, name, faces):
    result = run(name, "--faces", faces, "--size", "32x24", "--out", tmp_path / "a.png", "--bounces", 0, "--policy", "bottom_up")
    assert result.exit_code == 0, result.output
    assert image(tmp_path / "a.png").std() > 15 and "secondary" not in text(result)


def test_options_reach_the_renderer(tmp_path, scene, monkeypatch):
    seen = []
    draw = Renderer.draw
    monkeypatch.setattr(Renderer, "draw", lambda self, *rest: seen.append(self.settings) or draw(self, *rest))
    result = run(scene, "--out", tmp_path / "a.png", "--size", "20x10", "--step", 5, "--reconstruct", "bilinear", "--mode", "frameless",
                 "--parts", 3, "--bounces", 2, "--antialias", 2, "--budget-ms", 7)
    assert result.exit_code == 0, result.output
    settings, = seen
    assert (settings.width, settings.height, settings.step, settings.reconstruct, settings.mode) == (20, 10, 5, "bilinear", "frameless")
    assert (settings.parts, settings.bounces, settings.antialias, settings.budget_ms) == (3, 2, 2, 7.0)


def test_many_pictures_have_numbers(tmp_path, scene):
    result = run(scene, "--out", tmp_path / "a.png", "--frames", "0:12:5", "--step", 10)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["a-0000.png", "a-0005.png", "a-0010.png"]
    assert not np.array_equal(image(tmp_path / "a-0000.png"), image(tmp_path / "a-0010.png")), "it moves"
    assert "a-0000.png … a-0010.png" in text(result)


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_film(tmp_path, scene, suffix):
    pytest.importorskip("PIL" if suffix == ".gif" else "av")
    result = run(scene, "--out", tmp_path / f"a{suffix}", "--frames", "::2", "--mode", "budget", "--budget-ms", 0.001)
    assert result.exit_code == 0, result.output
    assert "6 frames of 40 × 30" in text(result)
    assert "Within 0.001 ms a frame: 0 of 6 complete. Stopped while tracing: shadow 6 ×." in text(result), "one batch is all primary rays"
    assert (tmp_path / f"a{suffix}").stat().st_size > 500
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a{suffix}", "scene.toml"]


@pytest.mark.parametrize(("options", "says"), [
    (("--size", "640"), "--size"), (("--size", "0x5"), "--size"), (("--size", "axb"), "--size"), (("--size", "99999x5"), "--size"),
    (("--frames", "x"), "--frames"), (("--frames", "12"), "--frames"), (("--frames", "5:2"), "--frames"),
    (("--frames", "::00"), "--frames"), (("--frames", ""), "--frames"), (("--frames", "-1"), "--frames"),
    (("--step", 0), "--step"), (("--step", "big"), "--step"),
    (("--reconstruct", "cubic"), "--reconstruct"), (("--mode", "slow"), "--mode"), (("--budget-ms", -1), "--budget-ms"),
    (("--bounces", -1), "--bounces"), (("--antialias", 0), "--antialias"), (("--policy", "none"), "--policy"),
    (("--faces", 320), "--faces"), (("--rate", 0), "--rate"),
])
def test_other_options_are_refused(tmp_path, scene, options, says):
    result = run(scene, "--out", tmp_path / "a.png", *options)
    assert result.exit_code == 2 and says in text(result), result.output
    assert not (tmp_path / "a.png").exists() and "Traceback" not in result.output


@pytest.mark.formulas
@pytest.mark.parametrize(("arguments", "says"), [
    (("nine",), "--out"), (("--out", "a.png"), "SCENE"), (("ten", "--out", "a.png"), "nine, museum"),
    (("nine", "--out", "a.jpg"), ".png, .gif, .mp4"),
    (("nine", "--out", "a.png", "--faces", 7), "320, 1280"), (("museum", "--out", "a.png", "--faces", 7), "64, 256"),
])
def test_missing_and_unknown_arguments_are_refused(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2 and says in text(result)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_is_one_line_and_status_2(tmp_path, scene):
    wrong = {"[camera] eye": SCENE.replace("eye = [3", "eye = [nan"), "not TOML": "[", "faces": SCENE.replace("faces = 320", "faces = 3")}
    for says, content in wrong.items():
        scene.write_text(content)
        result = run(scene, "--out", tmp_path / "a.png")
        assert result.exit_code == 2 and len(result.output.strip().splitlines()) == 1
        assert result.output.startswith(str(scene)) and says in result.output
    result = run(tmp_path / "none.toml", "--out", tmp_path / "a.png")
    assert result.exit_code == 2 and "no such file" in result.output


def test_a_camera_that_meets_what_it_looks_at_on_its_way(tmp_path, scene):
    keys = "".join(f"[[camera.key]]\nframe = {frame}\neye = [0, {frame - 1}, 0]\nlook_at = [0, 0, 0]\n" for frame in (0, 2))
    scene.write_text(SCENE.replace("[camera]\neye = [3, -4, 2]\nlook_at = [0, 0, 0.7]\n", keys))
    result = run(scene, "--out", tmp_path / "a.png", "--frames", 1)
    assert result.exit_code == 2 and "the camera of frame 1" in result.output and len(result.output.strip().splitlines()) <= 3


@pytest.mark.parametrize(("module", "name", "says"), [("PIL", "a.png", "pliant[pictures]"), ("av", "a.mp4", "pliant[video]")])
def test_a_missing_library_is_one_line_and_status_2(tmp_path, scene, monkeypatch, module, name, says):
    monkeypatch.setitem(sys.modules, module, None)
    result = run(scene, "--out", tmp_path / name)
    assert result.exit_code == 2 and says in result.output and len(result.output.strip().splitlines()) == 1


def test_a_file_in_the_way(tmp_path, scene):
    (tmp_path / "file").write_text("x")
    result = run(scene, "--out", tmp_path / "file" / "a.png")
    assert result.exit_code == 2 and "cannot be made a folder" in text(result)
    (tmp_path / "b.png").mkdir()
    result = run(scene, "--out", tmp_path / "b.png")
    assert result.exit_code == 2 and "is a folder" in text(result)


@pytest.mark.parametrize(("suffix", "left"), [(".gif", ["a.gif"]), (".png", ["a-0000.png", "a-0001.png", "a-0002.png"])])
def test_ctrl_c_writes_what_is_done(tmp_path, scene, monkeypatch, suffix, left):
    library, draw, drawn = pytest.importorskip("PIL.Image"), Renderer.draw, []

    def three_times(renderer, *rest):
        if len(drawn) == 3:
            raise KeyboardInterrupt
        drawn.append(1)
        return draw(renderer, *rest)

    monkeypatch.setattr(Renderer, "draw", three_times)
    result = run(scene, "--out", tmp_path / f"a{suffix}", "--frames", ":")
    assert result.exit_code == command.EXIT_INTERRUPTED == 130
    assert "Stopped after 3 of 12 frames." in text(result) and "3 frames of 40 × 30" in text(result)
    assert sorted(path.name for path in tmp_path.glob(f"*{suffix}")) == left
    if suffix == ".gif":
        with library.open(tmp_path / "a.gif") as file:
            assert file.n_frames == 3


def test_ctrl_c_before_the_first_frame(tmp_path, scene, monkeypatch):
    def prepare(*rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "prepare_performance", prepare)
    result = run(scene, "--out", tmp_path / "a.gif")
    assert result.exit_code == 130 and "nothing was written" in text(result) and not (tmp_path / "a.gif").exists()


@pytest.mark.formulas
def test_a_film_keeps_the_pace_of_the_show():
    show = command.find_show("nine", 320)
    assert command.parse_frames(None, show, single=True) == [show.poster] and len(command.parse_frames(None, show, single=False)) == 280
    assert command.parse_frames("0:280:10", show, single=False) == list(range(0, 280, 10))
    assert command.parse_frames("7", show, single=False) == [7]
    assert command.parse_frames("276:", show, single=True) == [276, 277, 278, 279]
    assert command.film_rate(show, [0, 10, 20]) == 2.5 and command.film_rate(show, [5]) == 25


@pytest.mark.formulas
def test_importing_the_library_does_not_import_the_renderer():
    python("import pliant, sys; assert not [name for name in sys.modules if name.startswith(('pliant.render', 'numpy', 'PIL', 'av'))]")


def test_files_of_an_animation_are_drawn(tmp_path):
    book = FILES / "book_morph.glb"
    result = run(book, "--frames", "5", "--size", "40x30", "--out", tmp_path / "book.png")
    assert result.exit_code == 0 and "book_morph: 2 bodies, 76 triangles" in text(result) and (tmp_path / "book.png").exists()
    for more, message in ((["--clip", "Fly"], "--clip: expected one of"), (["--faces", "9"], "is for nine and museum alone"),
                          (["--policy", "none"], "--policy: expected one of")):  # fmt: skip
        result = run(book, "--out", tmp_path / "x.png", *more)
        assert result.exit_code == 2 and message in text(result)
    result = run(FILES / "nothing.glb", "--out", tmp_path / "x.png")
    assert result.exit_code == 2 and "nothing.glb: no such file" in text(result)
