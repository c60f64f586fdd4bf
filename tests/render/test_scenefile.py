"""Shows from files: what a good one means, and that a bad one is refused in one line that names the file, the table and the key."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pliant import shapes
from pliant.core.validate_table import MAX_TEXT_BYTES
from pliant.errors import FileError
from pliant.render.npz import read_mesh
from pliant.render.scene_file import read_scene

pytestmark = pytest.mark.formulas

GOOD = """
[show]
frames = 20
rate = 10
poster = 3

[output]
size = [48, 32]
antialias = 2
mode = "full"

[sky]
zenith = "#203050"
haze = inf

[camera]
field_of_view = 35
[[camera.key]]
frame = 0
eye = [4, -4, 2]
look_at = [0, 0, 0.5]
[[camera.key]]
frame = 19
eye = [-4, -4, 2.5]
look_at = [0, 0, 0.5]

[[light]]
position = [3, -3, 6]
colour = [1, 0.9, 0.8]
strength = 0.9

[material.gold]
kind = "mirror"
tint = "#e8b04a"
reflect = 0.7
[material.floor]
kind = "diffuse"
colour = "#808080"
second = "#a0a0a0"
checker = 1.0

[[body]]
shape = "sheet"
scale = 20.0
material = "floor"

[[body]]
shape = "bumpy"
faces = 320
amplitude = 0.2
speed = 2.0
material = "gold"
[[body.key]]
frame = 0
position = [0, 0, 1]
[[body.key]]
frame = 10
position = [0, 0, 2]
"""


def show_of(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_scene(path)


def changed(old, new):
    assert GOOD.count(old) >= 1
    return GOOD.replace(old, new, 1)


def test_a_good_file(tmp_path):
    show = show_of(tmp_path, GOOD)
    assert (show.name, show.frames, show.rate, show.poster) == ("scene", 20, 10.0, 3)
    assert show.settings == {"width": 48, "height": 32, "antialias": 2, "mode": "full"}
    assert show.view(0).eye == (4, -4, 2) and show.view(19).eye == pytest.approx((-4, -4, 2.5)) and show.view(19).field_of_view == 35
    assert show.lights[0].strength == 0.9 and show.sky.zenith == pytest.approx((32 / 255, 48 / 255, 80 / 255))
    floor, ball = show.actors
    assert not floor.moves and floor.shape(0)[:, 0].tolist() == [-10, 10, -10, 10] and floor.material.checker == 1.0
    assert ball.moves and len(ball.faces) == 320 and ball.material.reflect == 0.7
    directions, _ = shapes.icosphere(2)
    np.testing.assert_allclose(ball.shape(10), shapes.bumpy(directions, 2.0, 0.2) + np.array([0, 0, 2]))


@pytest.mark.parametrize(("shape", "faces"), [("sphere", 5_120), ("bumpy", 5_120), ("arms", 5_120), ("sheet", 2), ("cloth", 20_000)])
def test_all_shapes(tmp_path, shape, faces):
    text = changed('shape = "sheet"\nscale = 20.0', f'shape = "{shape}"\nscale = 2.0\nturn = 90.0\nspin = 10.0\nposition = [1, 2, 3]')
    actor = show_of(tmp_path, text).actors[0]
    assert abs(len(actor.faces) - faces) < 0.01 * faces and actor.moves
    first, second = actor.shape(0), actor.shape(7)
    assert np.isfinite(first).all() and not np.array_equal(first, second) and len(first) == actor.faces.max() + 1
    assert np.abs(first.mean(axis=0) - (1, 2, 3)).max() < 0.5


def test_the_scene_of_the_documentation(tmp_path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "rendering.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    show = show_of(tmp_path, text)
    assert show.frames == 60 and [len(actor.faces) for actor in show.actors] == [2, 20_480] and show.view(59).eye == (-4, -5, 2)


def save(path, **arrays):
    np.savez_compressed(path, **arrays)


def test_meshes_from_files(tmp_path):
    vertices, faces = shapes.sheet(2, 2)
    (tmp_path / "meshes").mkdir()
    save(tmp_path / "meshes" / "still.npz", vertices=vertices.astype(np.float32), faces=faces.astype(np.uint16))
    frames = np.stack([vertices + np.array([0, 0, k]) for k in range(4)])
    np.savez(tmp_path / "moving.npz", frames=frames, faces=faces, more=np.arange(3))
    text = changed('shape = "sheet"\nscale = 20.0', 'file = "meshes/still.npz"')
    for loop, height in (("", 3), ("loop = true\n", 2)):
        show = show_of(tmp_path, text + f'\n[[body]]\nfile = "moving.npz"\n{loop}material = "gold"\n')
        still, _, moving = show.actors
        assert not still.moves and np.array_equal(still.shape(5), vertices) and np.array_equal(still.faces, faces)
        assert moving.moves and np.array_equal(moving.shape(1), frames[1]) and np.array_equal(moving.shape(6), frames[height])


WRONG = [
    ("frames = 20", "frames = 0", "[show] frames"), ("frames = 20", "frames = 2.5", "[show] frames"),
    ("frames = 20", "frames = 99999999999999999999999999", "[show] frames"), ("frames = 20", 'frames = "many"', "[show] frames"),
    ("rate = 10", "rates = 10", "[show] rates: not known"), ("rate = 10", "rate = nan", "[show] rate"),
    ("rate = 10", "rate = -1", "[show] rate"), ("poster = 3", "poster = 20", "[show] poster"),
    ("poster = 3", "poster = true", "[show] poster"),
    ("size = [48, 32]", "size = [48]", "[output] size"), ("size = [48, 32]", "size = [48, 0]", "[output] size"),
    ("size = [48, 32]", "size = [1000000, 32]", "[output] size"), ("size = [48, 32]", "sise = [48, 32]", "[output] sise: not known"),
    ("antialias = 2", "antialias = 1000", "[output] antialias"), ('mode = "full"', 'mode = "quick"', "[output] mode"),
    ('mode = "full"', "budget_ms = -1", "[output] budget_ms"),
    ('"#203050"', '"blue"', "[sky] zenith"), ("haze = inf", "haze = true", "[sky] haze"), ("haze = inf", "fog = 1", "[sky] fog: not known"),
    ("field_of_view = 35", "field_of_view = 200", "[camera] field_of_view"), ("field_of_view = 35", "up = [0, 0]", "[camera] up"),
    ("field_of_view = 35", "eye = [1, 2, 3]", "[camera] eye"), ("frame = 19", "frame = 0", "[camera] key"),
    ("eye = [4, -4, 2]", "eye = [4, -4, nan]", "[camera.key 1] eye"), ("eye = [4, -4, 2]", 'eye = "here"', "[camera.key 1] eye"),
    ("eye = [4, -4, 2]", "eye = [0, 0, 0.5]", "[camera.key 1] look_at"), ("eye = [4, -4, 2]\n", "", "[camera.key 1] eye: missing"),
    ("eye = [-4, -4, 2.5]", "eye = [1e400, 0, 0]", "[camera.key 2] eye"),
    ("eye = [-4, -4, 2.5]", "eyes = 2", "[camera.key 2] eye: missing"),
    ("position = [3, -3, 6]\n", "", "[light 1] position: missing"), ("position = [3, -3, 6]", "position = [3, -3]", "[light 1] position"),
    ("strength = 0.9", "strength = -1", "[light 1] strength"), ("strength = 0.9", "power = 1", "[light 1] power: not known"),
    ('kind = "mirror"', 'kind = "wood"', "[material.gold] kind"), ('kind = "mirror"\n', "", "[material.gold] kind: missing"),
    ("reflect = 0.7", "reflect = 7", "[material.gold] reflect"), ("reflect = 0.7", "index = 0.5", "[material.gold] index"),
    ('colour = "#808080"\n', "", "[material.floor] colour: missing"), ("checker = 1.0", "chequer = 1.0", "[material.floor] chequer"),
    ('material = "floor"', 'material = "carpet"', "[body 1] material"), ('material = "floor"', "material = 3", "[body 1] material"),
    ('shape = "sheet"', 'shape = "cube"', "[body 1] shape"), ('shape = "sheet"\n', "", "[body 1] shape"),
    ('shape = "sheet"', 'shape = "sheet"\nfile = "x.npz"', "[body 1] shape"), ("scale = 20.0", "scale = 0", "[body 1] scale"),
    ("scale = 20.0", "scale = 1e300", "[body 1] scale"), ("scale = 20.0", "cells = 100000", "[body 1] cells"),
    ("scale = 20.0", "position = [1e300, 0, 0]", "[body 1] position"), ("faces = 320", "faces = 300", "[body 2] faces"),
    ("faces = 320", "faces = 321", "[body 2] faces"), ("faces = 320", "faces = 1000000000", "[body 2] faces"),
    ("amplitude = 0.2", "amplitude = 2", "[body 2] amplitude"), ("speed = 2.0", "speed = inf", "[body 2] speed"),
    ("frame = 10\n", "frame = -1\n", "[body 2.key 2] frame"), ("position = [0, 0, 2]", "position = [0, 0, []]", "[body 2.key 2] position"),
    ("speed = 2.0", "position = [0, 0, 0]", "[body 2] position"), ("[[light]]", "[light]", "light: expected tables"),
    ("[sky]", "[[sky]]", "sky: expected a table"), ("[show]", "[shwo]", "shwo: not known"),
    ('shape = "sheet"', 'file = "no/such.npz"', "[body 1] file"), ('shape = "sheet"', 'file = "."', "[body 1] file"),
    ('shape = "sheet"', "file = 7", "[body 1] file"), ('shape = "sheet"', 'file = "/dev/zero"', "[body 1] file"),
    ('shape = "sheet"', f'file = "{"x" * 900}"', "[body 1] file"), ('shape = "sheet"', 'file = "x\\u0000.npz"', "[body 1] file"),
    ("strength = 0.9", f"strength = {10**400}", "[light 1] strength"),
    ("[1, 0.9, 0.8]", f"[1, {10**400}, 1]", "[light 1] colour"), ("colour = [1, 0.9, 0.8]", f"colour = {[0] * 2000}", "[light 1] colour"),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[f"{k}-{new[:24]}" for k, (_, new, _) in enumerate(WRONG)])
def test_what_is_wrong_is_named(tmp_path, old, new, says):
    with pytest.raises(FileError) as error:
        show_of(tmp_path, changed(old, new))
    message = str(error.value)
    assert message.startswith(str(tmp_path / "scene.toml")) and says in message and "\n" not in message and len(message) < 600


@pytest.mark.parametrize("text", [
    "", b"\xff\xfe\x00", "[show", "x = 1", "[[body]]\n" * 5000, "a = " + "[" * 5000, 'body = "x"', "[camera]\neye = 1979-05-27T07:32:00Z\n",
    b"a = '" + b"x" * MAX_TEXT_BYTES + b"'", "frames = " + "9" * 5000, "material = 5", "[material]\ngold = 5",
    "[camera]\neye=[0,0,0]\nlook_at=[0,0,0]",
])
def test_hostile_texts_are_refused(tmp_path, text):
    with pytest.raises(FileError) as error:
        show_of(tmp_path, text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


def test_files_must_be_files(tmp_path):
    for path in (tmp_path, tmp_path / "none.toml", "/dev/null"):
        with pytest.raises(FileError, match="no such file, or not an ordinary one"):
            read_scene(path)


# --- meshes ----------------------------------------------------------------------------------------------------------------

def archive_of(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def array_bytes(array, **header):
    stream = io.BytesIO()
    if header:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, **header})
    else:
        np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


FACES = array_bytes(np.array([[0, 1, 2]]))
ROWS = array_bytes(np.eye(3))


@pytest.mark.parametrize(("members", "says"), [
    ({"faces": FACES}, "no vertices"), ({"vertices": ROWS}, "no faces"), ({"vertices": b"", "faces": FACES}, "magic"),
    ({"vertices": array_bytes(None, shape=(10**13, 3)), "faces": FACES}, "vertices: announces shape (10000000000000, 3)"),
    ({"vertices": array_bytes(None, shape=(-1, 3)), "faces": FACES}, "shape (-1, 3); expected numbers"),
    ({"vertices": array_bytes(np.array([[1, "x", None]], object)), "faces": FACES}, "vertices: is an array of object"),
    ({"vertices": array_bytes(np.full((3, 3), np.nan)), "faces": FACES}, "not finite"),
    ({"vertices": array_bytes(np.eye(3)[:2]), "faces": FACES}, "faces: row 0"),
    ({"vertices": ROWS, "faces": array_bytes(np.array([[0, 1, -1]]))}, "faces: row 0"),
    ({"vertices": ROWS, "faces": array_bytes(np.array([[0.0, 1.0, 2.0]]))}, "faces"),
    ({"vertices": array_bytes(np.eye(3)[None]), "faces": FACES}, "expected shape (n, 3)"),
    ({"frames": ROWS, "faces": FACES}, "expected shape (k, n, 3)"),
    ({"frames": array_bytes(np.zeros((0, 3, 3))), "faces": FACES}, "frames"),
    ({"vertices": array_bytes(np.array(["a", "b"])), "faces": FACES}, "vertices"),
])
def test_hostile_meshes_are_refused(tmp_path, members, says):
    archive_of(tmp_path / "x.npz", **members)
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        read_mesh(tmp_path / "x.npz")
    assert str(tmp_path / "x.npz") in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(FileError) as error:
        show_of(tmp_path, changed('shape = "sheet"', 'file = "x.npz"'))
    assert "[body 1] file" in str(error.value) and "x.npz" in str(error.value)


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    archive_of(tmp_path / "x.npz", vertices=array_bytes(np.array([Trap()], object)), faces=FACES)
    with pytest.raises(FileError, match="vertices: is an array of object"):
        read_mesh(tmp_path / "x.npz")
    assert not (tmp_path / "sprung").exists()


def test_what_unfolds_too_far_is_refused(tmp_path):
    archive_of(tmp_path / "x.npz", vertices=array_bytes(np.zeros((3_000_000, 3))), faces=FACES)
    with pytest.raises(FileError, match=r"vertices: announces 72,000,128 bytes, in \d\d,\d{3} of the file"):
        read_mesh(tmp_path / "x.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive at all", bytes(range(256)) * 10])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.npz"):
        read_mesh(tmp_path / "x.npz")


def test_damaged_archives_are_refused_or_read(tmp_path):
    """Bytes turned at random: an error of one line or an array, nothing else."""
    path, rng = tmp_path / "x.npz", np.random.default_rng(3)
    save(path, vertices=np.eye(3), faces=[[0, 1, 2]])
    good, refused = path.read_bytes(), 0
    for _ in range(300):
        damaged = bytearray(good)
        for at in rng.integers(0, len(good), 3):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            shapes_, faces = read_mesh(path)
            assert shapes_.shape[1:] == (3, 3) and faces.shape[1] == 3
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100
