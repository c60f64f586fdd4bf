"""Point caches move the mesh whose vertices they count, in the order of its file."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mesh_files
from pliant.errors import FileError
from pliant.io.animation import DEFAULT_RATE, Settings
from pliant.io.point_cache import PointCache, read_cache, read_cached_mesh
from pliant.io.read import read

FRAMES = np.random.default_rng(4).normal(size=(5, 8, 3)).astype(np.float32)
CACHES = {"some.pc2": mesh_files.pc2(FRAMES), "some.mdd": mesh_files.mdd(FRAMES)}


def saved(folder, **contents):
    for name, content in contents.items():
        (folder / name.replace("_", ".")).write_bytes(content)


@pytest.mark.parametrize(("name", "content"), CACHES.items(), ids=CACHES)
@pytest.mark.parametrize("corner", ["{}", "{}/1/1"])
def test_vertices_of_the_file_are_where_the_cache_says(tmp_path, name, content, corner):
    saved(tmp_path, mesh_obj=mesh_files.obj(corner=corner))
    (tmp_path / name).write_bytes(content)
    found = read_cached_mesh(tmp_path / "mesh.obj", tmp_path / name, Settings())
    assert (found.name, found.frames, found.files) == ("mesh", 5, (tmp_path / "mesh.obj", tmp_path / name))
    assert found.rate == pytest.approx(24.0 if "mdd" in name else DEFAULT_RATE, rel=1e-6)
    (actor,) = found.actors
    for k in (4, 0, 2, 7):
        vertices, faces = actor.mesh(k)
        assert np.array_equal(vertices, FRAMES[min(k, 4)])
        assert faces.tolist() == mesh_files.FACES
    body = actor.at(3)
    assert np.array_equal(body.vertices, FRAMES[3])
    assert read([tmp_path / "mesh.obj", tmp_path / name], Settings(rate=50)).rate == 50


def test_seams_of_textures_do_not_change_the_order(tmp_path):
    rows = "".join(f"v {x} {y} 0\n" for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
    text = rows + "".join(f"vt {k} 0\n" for k in range(6)) + "f 4/1 2/2 1/3\nf 4/4 3/5 2/6\n"
    frames = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    saved(tmp_path, cloth_obj=text.encode(), cloth_pc2=mesh_files.pc2(frames))
    vertices, faces = read_cached_mesh(tmp_path / "cloth.obj", tmp_path / "cloth.pc2", Settings()).actors[0].mesh(1)
    assert vertices[faces].tolist() == frames[1][[[3, 1, 0], [3, 2, 1]]].tolist()


def test_several_objects_share_a_cache(tmp_path):
    text = mesh_files.obj(polygons=[]) + b"o a\nf 1 2 3\no b\nf 8 7 6\n"
    saved(tmp_path, two_obj=text, two_pc2=mesh_files.pc2(FRAMES))
    actors = read_cached_mesh(tmp_path / "two.obj", tmp_path / "two.pc2", Settings()).actors
    assert [actor.name for actor in actors] == ["a", "b"]
    assert np.array_equal(actors[0].mesh(1)[0], FRAMES[1, :3])
    vertices, faces = actors[1].mesh(1)
    assert np.array_equal(vertices[faces[0]], FRAMES[1, [7, 6, 5]])


def test_a_sample_is_read_once_for_all_parts(tmp_path, monkeypatch):
    text = mesh_files.obj(polygons=[]) + b"o a\nf 1 2 3\no b\nf 8 7 6\n"
    saved(tmp_path, two_obj=text, two_pc2=mesh_files.pc2(FRAMES))
    actors = read_cached_mesh(tmp_path / "two.obj", tmp_path / "two.pc2", Settings()).actors
    asked, sample = [], PointCache.sample
    monkeypatch.setattr(PointCache, "sample", lambda cache, frame: asked.append(frame) or sample(cache, frame))
    for frame in (1, 3, 1):
        assert np.array_equal(actors[0].mesh(frame)[0], FRAMES[frame, :3]) and len(actors[1].mesh(frame)[0]) == 3
    with ThreadPoolExecutor(1) as pool:
        pool.submit(actors[0].mesh, 1).result()
    assert asked == [1, 3, 1, 1]


BAD = {
    "magic.pc2": (b"POINTCACHE3\0" + bytes(20), "does not begin with POINTCACHE2"),
    "short.pc2": (b"POINTCACHE2\0", "does not begin with POINTCACHE2"),
    "version.pc2": (mesh_files.pc2(FRAMES, version=2), "version 2"),
    "huge.pc2": (mesh_files.pc2(FRAMES, points=2**31 - 1, samples=2**31 - 1), "announces 2,147,483,647 frames"),
    "minus.pc2": (mesh_files.pc2(FRAMES, points=-8, samples=-5), "announces -5 frames"),
    "none.pc2": (mesh_files.pc2(FRAMES[:0]), "announces 0 frames"),
    "cut.pc2": (mesh_files.pc2(FRAMES)[:-1], "announces 5 frames of 8 points"),
    "long.pc2": (mesh_files.pc2(FRAMES) + b"x", "announces 5 frames of 8 points"),
    "short.mdd": (b"\0\0\0", "has 3 bytes"),
    "huge.mdd": (mesh_files.mdd(FRAMES, points=2**31 - 1, samples=2**31 - 1), "announces 2,147,483,647 frames"),
    "minus.mdd": (mesh_files.mdd(FRAMES, samples=-5), "announces -5 frames"),
}


@pytest.mark.parametrize(("name", "content", "message"), [(name, *rest) for name, rest in BAD.items()], ids=BAD)
def test_sizes_are_compared_with_the_file(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        read_cache(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_another_number_of_points_is_refused_with_both_numbers(tmp_path):
    saved(tmp_path, mesh_obj=mesh_files.obj(), mesh_pc2=mesh_files.pc2(FRAMES[:, :7]), mesh_stl=mesh_files.stl(), empty_obj=b"v 0 0 0\n")
    with pytest.raises(FileError, match=r"mesh\.pc2: holds 7 points, but mesh\.obj has 8 vertices"):
        read_cached_mesh(tmp_path / "mesh.obj", tmp_path / "mesh.pc2", Settings())
    with pytest.raises(FileError, match=r"mesh\.pc2: cannot move mesh\.stl"):
        read_cached_mesh(tmp_path / "mesh.stl", tmp_path / "mesh.pc2", Settings())
    with pytest.raises(FileError, match=r"empty\.obj: holds no faces"):
        read_cached_mesh(tmp_path / "empty.obj", tmp_path / "mesh.pc2", Settings())


def test_what_is_not_finite_is_named(tmp_path):
    frames = FRAMES.copy()
    frames[2, 5] = np.nan
    saved(tmp_path, mesh_obj=mesh_files.obj(), mesh_pc2=mesh_files.pc2(frames))
    actor = read_cached_mesh(tmp_path / "mesh.obj", tmp_path / "mesh.pc2", Settings()).actors[0]
    with pytest.raises(FileError, match=r"mesh\.pc2: mesh, frame 2: vertices: row 5 is .*not finite"):
        actor.at(2)


@pytest.mark.parametrize("times", [[0, 0, 0, 0, 0], [5, 4, 3, 2, 1], [0, 1, 2, 3, np.nan], [0, 0, 0, 0, 1e30]])
def test_times_that_do_not_rise_say_nothing(tmp_path, times):
    content = bytearray(mesh_files.mdd(FRAMES))
    content[8:28] = np.array(times, ">f4").tobytes()
    (tmp_path / "odd.mdd").write_bytes(content)
    assert read_cache(tmp_path / "odd.mdd").rate is None
