"""The front door: what belongs together, in which order, under which names; readers by suffix."""

import os
from pathlib import Path

import numpy as np
import pytest

import naive
import pliant as pl
import written
from pliant.errors import FileError
from pliant.io import read as door
from pliant.io.animation import Animation, Frames, Settings
from pliant.io.read import FORMATS, Format, read
from written import CUBE, FACES


@pytest.fixture
def put(tmp_path):
    """Write files, by their names."""

    def write(**contents):
        paths = []
        for name, content in contents.items():
            path = tmp_path / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            paths.append(path)
        return paths

    return write


def names(found):
    return [(actor.name, actor.frames) for actor in found.actors]


def test_a_file_alone(put):
    (path,) = put(cube_DOT_ply=written.ply())
    found = read([str(path)])
    assert (found.name, found.frames, found.rate, found.files, names(found)) == ("cube", 1, 30.0, (path,), [("cube", 1)])
    assert np.array_equal(found.actors[0].at(0).vertices, CUBE)


def test_files_as_a_shell_expands_a_star(put):
    files = put(**{f"cloth_{k}_DOT_obj": written.obj(CUBE + k) for k in (10, 1, 9)})
    files += put(ball_DOT_obj=written.obj(), ball2_DOT_stl=written.stl())
    found = read(sorted(files), Settings(rate=24))
    assert names(found) == [("ball", 1), ("ball2", 1), ("cloth", 3)]
    assert (found.frames, found.rate, found.name, found.notes) == (3, 24, "ball, ball2, cloth", ())
    assert [path.name for path in found.files] == ["ball.obj", "ball2.stl", "cloth_1.obj", "cloth_9.obj", "cloth_10.obj"]
    assert [found.actors[2].mesh(k)[0][0, 0] for k in range(3)] == [1, 9, 10]


def test_two_numbered_files_are_frames_and_that_is_noted(put):
    found = read(put(a1_DOT_obj=written.obj(), a2_DOT_obj=written.obj()))
    assert names(found) == [("a", 2)] and found.notes == ("a1.obj … a2.obj are 2 frames of one sequence",)


def test_a_folder_of_frames_is_a_body_and_so_is_each_folder_in_it(put, tmp_path):
    put(shirt__0001_DOT_obj=written.obj(), shirt__0002_DOT_obj=written.obj(CUBE + 1), shirt__notes_DOT_txt=b"x", shirt__f_DOT_mtl=b"x")
    put(arm__a1_DOT_ply=written.ply(), arm__a2_DOT_ply=written.ply(), arm__a3_DOT_ply=written.ply(), empty__x_DOT_txt=b"x")
    put(shirt___DOT_0003_DOT_obj=b"hidden")
    found = read([tmp_path])
    assert names(found) == [("arm", 3), ("shirt", 2)] and found.frames == 3
    assert names(read([tmp_path / "shirt"])) == [("shirt", 2)]
    assert names(read([tmp_path / "shirt", tmp_path / "arm"])) == [("shirt", 2), ("arm", 3)]


def test_frames_in_npz_files_too(put, tmp_path):
    for k in range(3):
        np.savez(tmp_path / f"{k:04}.npz", faces=np.array(FACES), vertices=CUBE + k)
    found = read([tmp_path])
    assert names(found) == [(tmp_path.name, 3)]
    assert found.actors[0].mesh(2)[0][0].tolist() == [2, 2, 2]
    np.savez(tmp_path / "0001.npz", faces=np.array(FACES), vertices=np.stack([CUBE, CUBE]))
    with pytest.raises(FileError, match=r"0001\.npz: holds 2 frames; expected one"):
        read([tmp_path]).actors[0].at(1)


def test_a_cache_moves_the_mesh_that_it_belongs_to(put):
    cloth = np.arange(48, dtype=float).reshape(2, 8, 3)
    obj, ball, pc2 = put(cloth_DOT_obj=written.obj(), ball_DOT_ply=written.ply(), cloth_DOT_pc2=written.pc2(cloth))
    for order in ([obj, pc2], [pc2, obj], [obj, ball, pc2], [ball, obj, pc2]):
        found = read(order)
        actor = next(actor for actor in found.actors if actor.name == "cloth")
        assert actor.frames == 2 and np.array_equal(actor.mesh(1)[0], cloth[1])
        assert len(found.actors) == len(order) - 1
    (other,) = put(sim_DOT_mdd=written.mdd(cloth))
    assert names(read([obj, ball, other])) == [("cloth", 1), ("ball", 2)]  # the mesh right before it
    assert names(read([obj, other, ball])) == [("cloth", 2), ("ball", 1)]
    assert names(read([other, obj])) == [("cloth", 2)]
    for order in ([pc2], [other, obj, ball], [obj, pc2, other]):
        with pytest.raises(FileError, match="moves a mesh, and there is none for it"):
            read(order)


def test_names_are_made_unique(put):
    box = written.obj()
    found = read(put(a__x_DOT_obj=box, b__x_DOT_obj=box, c__x_DOT_ply=written.ply(), d__y_DOT_obj=b"o x 2\n" + box))
    assert [actor.name for actor in found.actors] == ["x", "x 3", "x 4", "x 2"]
    assert found.name == "x, x, x …"


def test_readers_are_found_by_suffix(put, tmp_path, monkeypatch):
    called = []

    def fake(path, settings):
        called.append((path.name, settings))
        number = len(called)
        actors = [Frames("it", number, lambda frame: (CUBE + frame, np.array(FACES, np.int32)))]
        unit = "m" if number > 1 else ""
        return Animation(path.stem, actors, number, 10.0 * number, "yz"[number % 2], unit, (f"note {number}",), (path,))

    monkeypatch.setattr(door.importlib, "import_module", lambda name: type("Module", (), {"read_fake": staticmethod(fake), "name": name}))
    monkeypatch.setitem(FORMATS, ".glb", Format("fake", "read_fake"))
    monkeypatch.setitem(FORMATS, ".series", Format("fake", "read_fake"))
    settings = Settings(clip="walk")
    found = read(put(walk1_DOT_GLB=b"x", walk2_DOT_glb=b"x", out_DOT_vtk_DOT_series=b"x"), settings)
    assert called == [("walk1.GLB", settings), ("walk2.glb", settings), ("out.vtk.series", settings)]
    assert names(found) == [("it", 1), ("it 2", 2), ("it 3", 3)]
    assert (found.frames, found.rate, found.up, found.unit) == (3, 20.0, "", "m")
    assert found.notes[:3] == ("note 1", "note 2", "note 3")
    assert found.notes[3:] == ("The files do not agree on the axis that points up (z, y); coordinates are taken as they are",
                               "The files play at 20, 30 frames a second; frames of one number are shown together")  # fmt: skip


def test_the_table_knows_all_suffixes():
    assert " ".join(FORMATS) == (".obj .ply .stl .off .npz .pc2 .mdd .glb .gltf .vtk .vtu .vtp .pvd .series .xdmf .xmf "
                                 ".usd .usda .usdc .usdz")  # fmt: skip
    assert {form.module for form in FORMATS.values()} == {"meshes", "npz", "pointcache", "gltf", "vtk", "xdmf", "usd"}


def test_what_cannot_be_read(put, tmp_path):
    (path,) = put(x_DOT_foo=b"x")
    with pytest.raises(FileError, match=r"x\.foo: has no known suffix; known are \.obj \.ply .* \.usdz$"):
        read([path])
    with pytest.raises(FileError, match=r"none\.obj: no such file"):
        read([tmp_path / "none.obj"])
    with pytest.raises(FileError, match="too long"):
        read([tmp_path / ("x" * 300)])
    with pytest.raises(FileError, match="holds no files that are known, and neither do its folders"):
        read([tmp_path])
    for paths in ([], (), "x.obj", Path("x.obj")):
        with pytest.raises(ValueError, match="paths: expected at least one file or folder, in a list"):
            read(paths)


def test_a_folder_with_a_way_out_is_refused(put, tmp_path):
    put(home__0001_DOT_obj=written.obj(), secret_DOT_obj=written.obj())
    (tmp_path / "home" / "0002.obj").symlink_to(tmp_path / "secret.obj")
    with pytest.raises(FileError, match=r"0002\.obj.* outside its folder"):
        read([tmp_path / "home"])
    (tmp_path / "home" / "0002.obj").unlink()
    os.mkfifo(tmp_path / "home" / "0002.obj")
    with pytest.raises(FileError, match=r"0002\.obj: no such file, or not an ordinary one"):
        read([tmp_path / "home"])
    (tmp_path / "home" / "0002.obj").unlink()
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "linked").symlink_to(tmp_path / "home")
    with pytest.raises(FileError, match=r"linked.* outside its folder"):
        read([tmp_path / "all"])


def test_frames_collide_as_their_meshes_do(put, tmp_path):
    moves = (2.0, 0.5, -2.0)
    files = put(**{f"tool_{k}_DOT_obj": written.obj(CUBE + x) for k, x in enumerate(moves)}, box_DOT_off=written.off())
    tool, box = read(files).actors
    bodies = None, None
    for k, x in enumerate(moves):
        bodies = tool.at(k, bodies[0], weld=True), box.at(k, bodies[1], weld=True)
        expected = naive.collide(CUBE + x, np.array(FACES), CUBE, np.array(FACES))
        assert np.array_equal(pl.collide(*bodies).faces, expected) and bool(len(expected)) == (x == 0.5)
