"""Numbered files are frames: in the order of their numbers, read when they are asked for, whatever happens to their faces."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mesh_files
import pliant
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


RECORD = np.dtype([("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])


def stl_frames(tmp_path, frames, faces):
    """An actor of STL files with these vertices, and the corners (f, 3, 3) of each file."""
    contents = [mesh_files.stl(vertices, faces) for vertices in frames]
    actor = read_sequence(saved(tmp_path, contents, "stl"), read_parts, "ball").actors[0]
    return actor, [np.frombuffer(content[84:], RECORD)["v"].astype(float) for content in contents]


def slow_vertices(frames):
    """For each corner, the first one that is at its position in all frames."""
    paths = [tuple(map(tuple, path)) for path in np.stack([frame.reshape(-1, 3) for frame in frames], axis=1).tolist()]
    return [paths.index(path) for path in paths]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3,)])
def test_corners_of_an_stl_are_one_vertex_if_they_stay_together(tmp_path, order):
    """Two poles that meet in a later frame stay two, a face that is torn off is apart in all frames; whichever frame is asked for first."""
    vertices, faces = shapes.icosphere(1)
    torn = vertices[faces].reshape(-1, 3)
    torn[:3] += 0.25
    touching = vertices.copy()
    touching[np.argmin(vertices[:, 2])] = vertices[np.argmax(vertices[:, 2])]  # one pole in the place of the other
    frames = [each[faces].reshape(-1, 3) for each in (vertices, touching)] + [torn, 2 * vertices[faces].reshape(-1, 3)]
    actor, corners = stl_frames(tmp_path, frames, np.arange(3 * len(faces)).reshape(-1, 3))
    expected = slow_vertices(corners)
    assert len(set(expected)) == len(vertices) + 3
    found = {frame: actor.mesh(frame) for frame in order}
    assert len({id(mesh[1]) for mesh in found.values()}) == 1 and actor.kind == "free"
    for frame, (rows, joined) in found.items():
        assert np.array_equal(rows[joined], corners[frame])
        firsts = {expected[k]: vertex for k, vertex in reversed(list(enumerate(joined.ravel().tolist())))}
        assert [firsts[k] for k in expected] == joined.ravel().tolist() and len(rows) == len(firsts)
    for weld in (False, True):
        assert np.array_equal(actor.at(order[0], weld=weld)._welded_faces, found[order[0]][1]), "with or without welding"
    own = np.arange(len(found[order[0]][0]))
    assert np.array_equal(actor.at(order[0], weld=own)._welded_faces, found[order[0]][1]), "or with a map"


def test_an_stl_that_is_closed_at_first_opens(tmp_path):
    """Two squares whose edges are at one place part: they are not adjacent in any frame. A frame without faces says nothing."""
    square, faces = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])
    both = np.concatenate([faces, faces + 4])
    frames = [np.concatenate([square, square + [1, 0, gap]]) for gap in (0.0, 0.5)]
    contents = [mesh_files.stl(frames[k], both if shown else []) for k, shown in ((0, True), (1, False), (1, True), (0, True))]
    actor = read_sequence(saved(tmp_path, contents, "stl"), read_parts, "door").actors[0]
    assert [len(actor.mesh(frame)[0]) for frame in range(4)] == [8, 0, 8, 8]
    assert len(np.unique(actor.at(0, weld=0.1)._welded_faces)) == 8, "nor within a tolerance"


@pytest.mark.parametrize("middle", ["fewer faces", "other faces"])
def test_stl_files_of_other_faces_are_meshes_of_their_own(tmp_path, middle):
    """Of another number of faces, or of as many, most of which do not stay together: the positions of each frame decide."""
    (ball, faces), generator = shapes.icosphere(1), np.random.default_rng(0)
    other = faces[:-1] if middle == "fewer faces" else faces[generator.permutation(len(faces))]
    contents = [mesh_files.stl(ball, faces), mesh_files.stl(2 * ball, other), mesh_files.stl(ball, faces)]
    actor = read_sequence(saved(tmp_path, contents, "stl"), read_parts, "fluid").actors[0]
    meshes = [actor.mesh(frame) for frame in range(3)]
    assert [len(mesh[0]) for mesh in meshes] == [42, 42, 42] and [len(mesh[1]) for mesh in meshes] == [80, len(other), 80]
    assert actor.kind == "soup" and not len(pliant.self_collide(actor.at(1)).faces)


def test_the_last_frame_alone_is_kept(tmp_path):
    reader = SequenceReader(saved(tmp_path, [mesh_files.obj(CUBE + k) for k in range(3)]), read_parts)
    assert all(len(part.vertices) == 0 for part in reader.first_parts)
    reader.read(0, 1)
    first = reader._last.parts
    reader.read(0, 1)
    assert reader._last.parts is first
    reader.read(0, 2)
    assert reader._last.parts is not first
