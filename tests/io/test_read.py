"""The front door: what belongs together, in which order, under which names; readers by suffix."""

import os

import numpy as np
import pytest

import gltfs
import mesh_files
import naive
import pliant as pl
from mesh_files import CUBE, FACES
from pliant.errors import FileError
from pliant.io import read as door
from pliant.io.animation import Animation, ClipInfo, FrameActor, Settings
from pliant.io.read import FORMATS, Format, read


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
    (path,) = put(cube_DOT_ply=mesh_files.ply())
    found = read([str(path)])
    assert (found.name, found.frames, found.rate, found.files, names(found)) == ("cube", 1, 30.0, (path,), [("cube", 1)])
    assert np.array_equal(found.actors[0].at(0).vertices, CUBE)


def test_files_as_a_shell_expands_a_star(put):
    files = put(**{f"cloth_{k}_DOT_obj": mesh_files.obj(CUBE + k) for k in (10, 1, 9)})
    files += put(ball_DOT_obj=mesh_files.obj(), ball2_DOT_stl=mesh_files.stl())
    found = read(sorted(files), Settings(rate=30))
    assert names(found) == [("ball", 1), ("ball2", 1), ("cloth", 3)]
    assert (found.frames, found.rate, found.name) == (3, 30, "ball, ball2, cloth")
    gap = "cloth_1.obj … cloth_10.obj are 3 frames of one sequence, one after the other, though numbers are missing, the first of them 2"
    assert found.notes == (gap,)
    assert [path.name for path in found.files] == ["ball.obj", "ball2.stl", "cloth_1.obj", "cloth_9.obj", "cloth_10.obj"]
    assert [found.actors[2].mesh(k)[0][0, 0] for k in range(3)] == [1, 9, 10]


NOTE = "{} are 2 frames of one sequence; --as bodies reads them as bodies"


def test_two_numbered_files_are_frames_and_that_is_noted(put):
    found = read(put(a1_DOT_obj=mesh_files.obj(), a2_DOT_obj=mesh_files.obj()))
    assert names(found) == [("a", 2)] and found.notes == (NOTE.format("a1.obj … a2.obj"),)


TRIANGLE = b"# vtk DataFile Version 3.0\n\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n%d 0 0 1 0 0 0 1 0\nPOLYGONS 1 4\n3 0 1 2\n"
PVD = '<VTKFile type="Collection"><Collection>{}</Collection></VTKFile>'


def test_two_files_of_vtk_are_noted_as_well(put):
    found = read(put(a3_DOT_vtk=TRIANGLE % 3, a4_DOT_vtk=TRIANGLE % 4))
    assert names(found) == [("a", 2)] and NOTE.format("a3.vtk … a4.vtk") in found.notes


def test_what_a_file_of_a_folder_lists_is_read_once(put, tmp_path):
    put(**{f"sim__run_{k}_DOT_vtk": TRIANGLE % k for k in range(4)}, sim__table_DOT_obj=mesh_files.obj())
    rows = "".join(f'<DataSet timestep="{k}" file="run_{k}.vtk"/>' for k in range(3))
    put(sim__run_DOT_pvd=PVD.format(rows).encode())
    found = read([tmp_path / "sim"])
    assert names(found) == [("run", 3), ("run_3", 1), ("table", 1)]
    assert found.actors[0].at(2).vertices[0].tolist() == [2, 0, 0]
    twice = read([tmp_path / "sim", tmp_path / "sim" / "run.pvd"])
    assert [name for name, _ in names(twice)] == ["run", "run_3", "table", "run 2"]


def test_a_wrong_clip_is_the_fault_of_who_asks_also_for_a_folder(put, tmp_path):
    path = gltfs.Scene(0, nodes=1).mesh(0).write(tmp_path / "a.glb")
    put(table_DOT_obj=mesh_files.obj())
    for paths in ([path], [tmp_path]):
        with pytest.raises(ValueError, match=r"^clip: expected one of") as caught:
            read(paths, Settings(clip="none"))
        assert not isinstance(caught.value, FileError)


def test_numbered_meshes_with_caches_of_their_own_are_no_frames(put, tmp_path):
    one, two = (np.full((2, 8, 3), k, float) for k in (1, 2))
    files = put(arm1_DOT_obj=mesh_files.obj(), arm1_DOT_pc2=mesh_files.pc2(one), arm2_DOT_obj=mesh_files.obj(),
                arm2_DOT_pc2=mesh_files.pc2(two))
    files += put(leg3_DOT_obj=mesh_files.obj(), leg4_DOT_obj=mesh_files.obj())
    for paths in (files, [tmp_path]):
        found = read(paths)
        assert names(found) == [("arm1", 2), ("arm2", 2), ("leg", 2)]
        assert [actor.mesh(1)[0][0, 0] for actor in found.actors[:2]] == [1, 2]


def test_caches_prefer_meshes_of_their_own_folder(put):
    one, two = (np.full((2, 8, 3), k, float) for k in (1, 2))
    a, b, second, first = put(a__it_DOT_obj=mesh_files.obj(), b__it_DOT_obj=mesh_files.obj(), b__it_DOT_pc2=mesh_files.pc2(two),
                              a__it_DOT_pc2=mesh_files.pc2(one))
    found = read([a, b, second, first])
    pairs = zip(found.actors, found.files[::2], strict=True)
    assert [(actor.mesh(0)[0][0, 0], mesh.parent.name) for actor, mesh in pairs] == [(2, "b"), (1, "a")]


@pytest.mark.parametrize("rate", [-5, 0, float("nan"), float("inf")])
def test_rates_that_are_none_are_refused(put, rate):
    with pytest.raises(ValueError, match=r"^rate: expected .* got"):
        read(put(a_DOT_obj=mesh_files.obj()), Settings(rate=rate))


def test_frames_before_the_first_are_refused(put):
    (actor,) = read(put(a1_DOT_obj=mesh_files.obj(), a2_DOT_obj=mesh_files.obj())).actors
    for ask in (actor.at, actor.mesh):
        with pytest.raises(ValueError, match="frame: expected 0 or more, got -1"):
            ask(-1)


def test_names_and_errors_have_no_control_characters(put, tmp_path):
    (path,) = put(x_DOT_obj=b"o \x1b[2J\x1b]0;hi\x07evil" + b"x" * 200 + b"\nv nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (actor,) = read([path]).actors
    assert actor.name.startswith("[2J ]0;hi evilxxx") and len(actor.name) == 100
    with pytest.raises(FileError, match="evilxxx") as caught:
        actor.at(0)
    assert str(caught.value).isprintable()
    odd = tmp_path / "two\nlines1.obj"
    odd.write_bytes(b"v 1\n")
    with pytest.raises(FileError) as caught:
        read([odd])
    assert str(caught.value).isprintable() and "two lines1.obj: line 1" in str(caught.value)
    for path in (odd, tmp_path / "two\nlines2.obj"):
        path.write_bytes(mesh_files.obj())
    found = read([odd, path])
    assert found.name == "two lines" == found.actors[0].name and found.notes[0].isprintable()


def test_a_folder_of_frames_is_a_body_and_so_is_each_folder_in_it(put, tmp_path):
    put(shirt__0001_DOT_obj=mesh_files.obj(), shirt__0002_DOT_obj=mesh_files.obj(CUBE + 1), shirt__notes_DOT_txt=b"x",
        shirt__f_DOT_mtl=b"x")
    put(arm__a1_DOT_ply=mesh_files.ply(), arm__a2_DOT_ply=mesh_files.ply(), arm__a3_DOT_ply=mesh_files.ply(), empty__x_DOT_txt=b"x")
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
    obj, ball, pc2 = put(cloth_DOT_obj=mesh_files.obj(), ball_DOT_ply=mesh_files.ply(), cloth_DOT_pc2=mesh_files.pc2(cloth))
    for order in ([obj, pc2], [pc2, obj], [obj, ball, pc2], [ball, obj, pc2]):
        found = read(order)
        actor = next(actor for actor in found.actors if actor.name == "cloth")
        assert actor.frames == 2 and np.array_equal(actor.mesh(1)[0], cloth[1])
        assert len(found.actors) == len(order) - 1
    (other,) = put(sim_DOT_mdd=mesh_files.mdd(cloth))
    assert names(read([obj, ball, other])) == [("cloth", 1), ("ball", 2)]  # the mesh right before it
    assert names(read([obj, other, ball])) == [("cloth", 2), ("ball", 1)]
    assert names(read([other, obj])) == [("cloth", 2)]
    for order in ([pc2], [other, obj, ball], [obj, pc2, other]):
        with pytest.raises(FileError, match="moves a mesh, and there is none for it"):
            read(order)


def test_names_are_made_unique(put):
    box = mesh_files.obj()
    found = read(put(a__x_DOT_obj=box, b__x_DOT_obj=box, c__x_DOT_ply=mesh_files.ply(), d__y_DOT_obj=b"o x 2\n" + box))
    assert [actor.name for actor in found.actors] == ["x", "x 3", "x 4", "x 2"]
    assert found.name == "x, x, x …"


def test_readers_are_found_by_suffix(put, tmp_path, monkeypatch):
    called = []

    def fake(path, settings):
        called.append((path.name, settings))
        number = len(called)
        actors = [FrameActor("it", number, lambda frame: (CUBE + frame, np.array(FACES, np.int32)))]
        unit = "m" if number > 1 else ""
        return Animation(path.stem, actors, number, 10.0 * number, "yz"[number % 2], unit, (f"note {number}",), (path,),
                         clips=(ClipInfo("walk", 1.0, True),))

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
    assert {form.module for form in FORMATS.values()} == {"meshes", "npz", "point_cache", "gltf.gltf", "vtk.vtk", "vtk.xdmf", "usd.usd"}


def test_what_cannot_be_read(put, tmp_path):
    (path,) = put(x_DOT_foo=b"x")
    with pytest.raises(FileError, match=r"x\.foo: has no known suffix; known are \.obj \.ply .* \.usdz$"):
        read([path])
    for paths in (tmp_path / "none.obj", str(tmp_path / "none.obj"), [tmp_path / "none.obj"]):
        with pytest.raises(FileError, match=r"none\.obj: no such file"):
            read(paths)
    with pytest.raises(FileError, match="too long"):
        read([tmp_path / ("x" * 300)])
    with pytest.raises(FileError, match="holds no files that are known, and neither do its folders"):
        read([tmp_path])
    for paths in ([], ()):
        with pytest.raises(ValueError, match="paths: expected at least one file or folder"):
            read(paths)


def test_a_folder_with_a_way_out_is_refused(put, tmp_path):
    put(home__0001_DOT_obj=mesh_files.obj(), secret_DOT_obj=mesh_files.obj())
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
    files = put(**{f"tool_{k}_DOT_obj": mesh_files.obj(CUBE + x) for k, x in enumerate(moves)}, box_DOT_off=mesh_files.off())
    tool, box = read(files).actors
    bodies = None, None
    for k, x in enumerate(moves):
        bodies = tool.at(k, bodies[0], weld=True), box.at(k, bodies[1], weld=True)
        expected = naive.collide(CUBE + x, np.array(FACES), CUBE, np.array(FACES))
        assert np.array_equal(pl.collide(*bodies).faces, expected) and bool(len(expected)) == (x == 0.5)
