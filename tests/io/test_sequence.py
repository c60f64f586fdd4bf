"""Numbered files are frames: in the order of their numbers, read when they are asked for, whatever happens to their faces."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mesh_files
from mesh_files import CUBE, FACES, QUADS
from pliant import shapes
from pliant.errors import FileError
from pliant.io.meshes import read_parts
from pliant.io.sequence import SequenceReader, group_numbered, read_sequence


def runs(*names):
    return [(run.name, [path.name for path in run.files]) for run in group_numbered([Path(name) for name in names])]


def test_files_that_differ_in_a_number_are_a_run_in_its_order():
    names = [f"cloth_{k}.obj" for k in (10, 9, 2, 100)]
    ordered = [f"cloth_{k}.obj" for k in (2, 9, 10, 100)]
    assert runs("ball.obj", *names, "cloth.obj") == [("ball", ["ball.obj"]), ("cloth", ordered), ("cloth", ["cloth.obj"])]
    assert runs("0002.ply", "0001.ply") == [("", ["0001.ply", "0002.ply"])]
    assert runs("a1.obj", "a2.ply") == [("a1", ["a1.obj"]), ("a2", ["a2.ply"])]
    assert runs("x/a1.obj", "y/a2.obj") == [("a1", ["a1.obj"]), ("a2", ["a2.obj"])]


def test_the_number_that_most_files_differ_in_counts():
    names = [f"body{body}_frame{frame}.obj" for frame in (1, 2, 3) for body in (7, 8)]
    assert runs(*names) == [(f"body{body}_frame", [f"body{body}_frame{frame}.obj" for frame in (1, 2, 3)]) for body in (7, 8)]
    two = [f"body{body}_frame{frame}.obj" for frame in (1, 2) for body in (7, 8)]
    assert [name for name, _ in runs(*two)] == ["body7_frame", "body8_frame"]
    assert runs("f1_hat.obj", "f2_hat.obj", "f1_cap.obj", "f2_cap.obj") == [
        ("f hat", ["f1_hat.obj", "f2_hat.obj"]), ("f cap", ["f1_cap.obj", "f2_cap.obj"])]  # fmt: skip


@pytest.mark.parametrize(("numbers", "missing"), [((1, 2, 3), None), ((0, 10, 20), None), ((7, 3), None), ((9, 1, 5, 2), 3),
                                                  ((0, 10, 20, 40), 30), ((0, 5, 10, 11), 1)])  # fmt: skip
def test_the_first_number_that_is_missing(numbers, missing):
    (run,) = group_numbered([Path(f"g{number:03}.obj") for number in numbers])
    assert run.missing == missing


def test_many_files_take_no_time():
    names = [f"frame_{k:06}.obj" for k in range(10_000)]
    assert runs(*reversed(names)) == [("frame", names)]


def test_one_number_twice_is_refused():
    with pytest.raises(FileError, match=r"f01\.obj: has the same number as f1\.obj"):
        runs("f1.obj", "f01.obj")


def saved(folder, contents, suffix="obj"):
    files = [folder / f"f{k}.{suffix}" for k in range(len(contents))]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    return files


def test_frames_are_read_lazily_and_one_is_kept_for_each_thread(tmp_path):
    opened = []

    def load(path):
        opened.append((threading.get_ident(), path.name))
        return read_parts(path)

    two = [mesh_files.obj(CUBE + k, []) + b"o a\nf 1 2 3\no b\nf 8 7 6\n" for k in range(20)]
    found = read_sequence(saved(tmp_path, two), load, "two")
    assert (found.name, found.frames, found.rate, len(found.files)) == ("two", 20, 30, 20)
    assert [(actor.name, actor.kind) for actor in found.actors] == [("a", "free"), ("b", "free")]
    assert [name for _, name in opened] == ["f0.obj", "f19.obj"]
    opened.clear()
    for k in (3, 4):
        assert [actor.mesh(k)[0][0].tolist() for actor in found.actors] == [[k, k, k], [k + 1, k, k + 1]]
    assert [name for _, name in opened] == ["f3.obj", "f4.obj"]
    assert found.actors[0].mesh(3)[1] is found.actors[0].mesh(4)[1]
    with ThreadPoolExecutor(4) as pool:
        asked = np.random.default_rng(0).integers(0, 20, 100).tolist()
        rows = list(pool.map(lambda k: found.actors[0].mesh(k)[0][0, 0], asked))
    assert rows == asked


def test_bodies_follow_and_stay_at_the_end(tmp_path):
    actor = read_sequence(saved(tmp_path, [mesh_files.obj(CUBE + k) for k in range(3)]), read_parts, "cube").actors[0]
    assert actor.name == "cube"
    body = actor.at(0)
    for k in (1, 2, 5, 0):
        assert actor.at(k, body) is body
        assert np.array_equal(body.vertices, CUBE + min(k, 2))
    assert actor.kind == "free"


def test_faces_that_change_make_a_soup(tmp_path):
    contents = [mesh_files.obj(), mesh_files.obj(polygons=QUADS[:3]), mesh_files.obj()]
    inner = read_sequence(saved(tmp_path, contents), read_parts, "cube").actors[0]
    assert inner.kind == "free"  # the first frame and the last have the same
    body = inner.at(0)
    other = inner.at(1, body)
    assert other is not body and len(other) == 6 and inner.kind == "soup"
    assert len(inner.at(2, other)) == 12
    known = read_sequence(saved(tmp_path, contents[:2]), read_parts, "cube").actors[0]
    assert known.kind == "soup"
    assert len(known.at(1)) == 6


def test_a_frame_may_be_empty(tmp_path):
    contents = [b"", mesh_files.obj(), b"", mesh_files.obj(CUBE + 1)]
    actor = read_sequence(saved(tmp_path, contents), read_parts, "fluid").actors[0]
    assert actor.kind == "soup"
    assert [len(actor.at(k)) for k in range(4)] == [0, 12, 0, 12]
    with pytest.raises(FileError, match=r"f0\.obj: holds no faces, and neither does the last"):
        read_sequence(saved(tmp_path, [b"", b""]), read_parts, "fluid")


def test_another_number_of_bodies_names_the_file(tmp_path):
    two = mesh_files.obj(polygons=[]) + b"o a\nf 1 2 3\no b\nf 8 7 6\n"
    actor = read_sequence(saved(tmp_path, [two, mesh_files.obj(), two]), read_parts, "two").actors[1]
    with pytest.raises(FileError, match=r"f1\.obj: holds 1 bodies, expected 2, as many as f0\.obj has"):
        actor.at(1)


def test_a_bad_frame_is_named(tmp_path):
    bad = CUBE.copy()
    bad[3, 0] = np.nan
    actor = read_sequence(saved(tmp_path, [mesh_files.obj(), mesh_files.obj(bad), mesh_files.obj()]), read_parts, "cube").actors[0]
    for body in (None, actor.at(0)):
        with pytest.raises(FileError, match=r"f1\.obj: cube, frame 1: vertices: row 3 is \[nan, 1\.0, 1\.0\], not finite"):
            actor.at(1, body)


def test_what_is_welded_does_not_depend_on_the_frame_that_comes_first(tmp_path):
    corners, faces = CUBE[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3).tolist()
    folded = corners.copy()
    folded[:, 2] = 0.0  # more corners meet here
    files = saved(tmp_path, [mesh_files.obj(corners, faces), mesh_files.obj(folded, faces)])
    actor = read_sequence(files, read_parts, "cube").actors[0]
    first, later = actor.at(0, weld=True), actor.at(1, weld=True)
    assert np.array_equal(first._welded_faces, later._welded_faces)
    assert len(np.unique(first._welded_faces)) == 8
    assert np.array_equal(later.vertices, folded)


def test_neighbours_in_an_stl_are_those_of_the_first_frame(tmp_path):
    vertices, faces = shapes.icosphere(1)
    touching = vertices.copy()
    touching[np.argmin(vertices[:, 2])] = vertices[np.argmax(vertices[:, 2])]  # one pole in the place of the other
    torn = vertices[faces].reshape(-1, 3)
    torn[:3] += 0.25
    contents = [mesh_files.stl(vertices, faces), mesh_files.stl(touching, faces), mesh_files.stl(torn, np.arange(len(torn)).reshape(-1, 3)),
                mesh_files.stl(vertices * 2, faces)]  # fmt: skip
    files = saved(tmp_path, contents, "stl")
    actor = read_sequence(files, read_parts, "ball").actors[0]
    meshes = [actor.mesh(k) for k in range(4)]
    assert meshes[0][1] is meshes[1][1] is meshes[3][1]
    assert [len(rows) for rows, _ in meshes] == [42, 42, 45, 42]
    for (rows, corners), content in zip(meshes, contents, strict=True):
        raw = np.frombuffer(content[84:], np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")]))["v"]
        assert np.array_equal(rows[corners], raw)


def test_the_last_frame_alone_is_kept(tmp_path):
    reader = SequenceReader(saved(tmp_path, [mesh_files.obj(CUBE + k) for k in range(3)]), read_parts)
    assert all(len(part.vertices) == 0 for part in reader.first_parts)
    reader.read(0, 1)
    first = reader._last.parts
    reader.read(0, 1)
    assert reader._last.parts is first
    reader.read(0, 2)
    assert reader._last.parts is not first
