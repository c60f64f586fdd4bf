"""Meshes of every format: positions, triangles and names as they were written; trimesh reads the same where it reads rightly."""

import io

import numpy as np
import pytest
from trimesh.exchange import obj as trimesh_obj
from trimesh.exchange import ply as trimesh_ply
from trimesh.exchange import stl as trimesh_stl

import mesh_files
import pliant as pl
from mesh_files import CUBE, QUADS, fanned
from pliant import shapes
from pliant.errors import FileError
from pliant.io import limits
from pliant.io.animation import Settings
from pliant.io.meshes import read_mesh, read_parts
from pliant.io.text import ply

MIXED = [[0, 1, 3], [0, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
FACES = fanned(QUADS)
FORMS = ("ascii", "binary_little_endian", "binary_big_endian")
SAME = {
    "box.obj": mesh_files.obj(),
    "corners.obj": mesh_files.obj(corner="{0}/1/1"),
    "normals.OBJ": mesh_files.obj(corner="{0}//2"),
    "box.off": mesh_files.off(),
    **{f"{form}.ply": mesh_files.ply(form=form) for form in FORMS},
    **{f"{form}_double.ply": mesh_files.ply(form=form, kind="f8") for form in FORMS},
}


def parts(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return read_parts(path)


def one(folder, name, content):
    (part,) = parts(folder, name, content)
    assert part.vertices.dtype == np.float64 and part.faces.dtype == np.int32
    return part


@pytest.mark.parametrize(("name", "content"), SAME.items(), ids=SAME)
def test_a_cube_in_every_format(tmp_path, name, content):
    part = one(tmp_path, name, content)
    assert part.name == name.split(".")[0]
    assert part.vertices.tolist() == CUBE.tolist()
    assert part.faces.tolist() == FACES


@pytest.mark.parametrize("form", FORMS)
def test_polygons_of_several_sizes_in_a_ply(tmp_path, form):
    assert one(tmp_path, "mixed.ply", mesh_files.ply(polygons=MIXED, form=form)).faces.tolist() == fanned(MIXED)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("length", "kind"), [("u1", "i4"), ("u2", "u1"), ("i4", "u2")])
def test_lists_of_several_lengths_between_other_properties(tmp_path, order, length, kind):
    names = {"u1": b"uchar", "u2": b"ushort", "i4": b"int"}
    head = (b"ply\nformat binary_%s_endian 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nelement face %d\n"
            b"property double weight\nproperty list uchar float uv\nproperty list %s %s vertex_indices\nproperty short flag\nend_header\n"
            % (b"little" if order == "<" else b"big", len(MIXED), names[length], names[kind]))  # fmt: skip
    polygons = [[corner % 5 for corner in polygon] for polygon in MIXED]
    rows = [bytes(8) + bytes([k]) + bytes(4 * k) + np.array(len(polygon), order + length).tobytes()
            + np.array(polygon, order + kind).tobytes() + b"\1\2" for k, polygon in enumerate(polygons)]
    content = head + np.arange(15, dtype=order + "f4").tobytes() + b"".join(rows)
    found = one(tmp_path, "mixed.ply", content).polygons
    assert [each.tolist() for each in np.split(found.corners, np.cumsum(found.counts)[:-1])] == polygons
    for cut in (1, 2, 3, len(rows[-1])):
        (tmp_path / "cut.ply").write_bytes(content[:-cut])
        with pytest.raises(FileError, match=r"cut\.ply: (ends before|announces)"):
            read_parts(tmp_path / "cut.ply")


def test_too_many_lists_of_several_lengths_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ply, "MAX_RAGGED_LISTS", len(MIXED) - 1)
    (tmp_path / "many.ply").write_bytes(mesh_files.ply(polygons=MIXED, form="binary_little_endian"))
    with pytest.raises(FileError, match=f"has {len(MIXED)} lists of different lengths in 'face', at most {len(MIXED) - 1} are read"):
        read_parts(tmp_path / "many.ply")


def test_other_properties_and_elements_of_a_ply_are_passed_over(tmp_path):
    head = (b"ply\nformat ascii 1.0\nobj_info x\nelement camera 1\nproperty float view\nproperty list uchar float more\nelement vertex 3\n"
            b"property uchar red\nproperty float z\nproperty double x\nproperty float y\nelement face 1\nproperty list uchar float uv\n"
            b"property list uchar uint vertex_index\nelement edge 1\nproperty int a\nend_header\n")  # fmt: skip
    text = one(tmp_path, "text.ply", head + b"1 2 5 6\n9 3 1 2\n9 6 4 5\n9 9 7 8\n2 0.5 0.5 3 2 0 1\n4\n")
    numbers = (np.array([1], ">f4").tobytes() + b"\2" + np.array([5, 6], ">f4").tobytes()
               + b"".join(b"\x09" + np.array([z], ">f4").tobytes() + np.array([x], ">f8").tobytes() + np.array([y], ">f4").tobytes()
                          for z, x, y in ((3, 1, 2), (6, 4, 5), (9, 7, 8)))
               + b"\2" + np.array([0.5, 0.5], ">f4").tobytes() + b"\3" + np.array([2, 0, 1], ">u4").tobytes() + bytes(4))  # fmt: skip
    binary = one(tmp_path, "binary.ply", head.replace(b"ascii", b"binary_big_endian") + numbers)
    for part in (text, binary):
        assert part.vertices.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
        assert part.faces.tolist() == [[2, 0, 1]]


def test_trimesh_reads_the_same(tmp_path):
    vertices, faces = shapes.icosphere(2)
    vertices = vertices.astype(np.float32).astype(np.float64)
    for name, content, load in (
        ("ball.ply", mesh_files.ply(vertices, faces.tolist(), "binary_little_endian"), trimesh_ply.load_ply),
        ("ball.stl", mesh_files.stl(vertices, faces), trimesh_stl.load_stl),
        ("text.stl", mesh_files.stl_text([("ball", vertices, faces)]), trimesh_stl.load_stl),
        ("ball.obj", mesh_files.obj(vertices, faces.tolist()), trimesh_obj.load_obj),
    ):
        other = load(io.BytesIO(content))
        other = next(iter(other["geometry"].values())) if "geometry" in other else other
        part = one(tmp_path, name, content)
        assert np.array_equal(part.vertices[part.faces], np.asarray(other["vertices"], float)[other["faces"]])


def test_indices_of_an_obj_may_count_back(tmp_path):
    text = "".join(f"v {x} 0 {k}\n" for k, x in enumerate((0, 1, 2))) + "f -3 -2 -1\n"
    part = one(tmp_path, "back.obj", (text + text.replace("0 0", "0 7") + "f 1 -1 2\n").encode())
    assert part.faces.tolist() == [[0, 1, 2], [3, 4, 5], [0, 5, 1]]


def test_an_obj_with_odd_lines(tmp_path):
    text = (b"# x\r\nmtllib /etc/passwd\r\n  v 0 0 0 1.0\r\nv\t1 0 0 0.5 0.5 0.5\nv 0 \\\n 1e0 0\nvn 0 0 1\nvt 0 0\nusemtl m\ns 1\n"
            b"f 1 2 \\\r\n 3 # 4\nl 1 2\n")  # fmt: skip
    part = one(tmp_path, "odd.obj", text)
    assert part.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert part.faces.tolist() == [[0, 1, 2]]


def test_objects_are_bodies_and_groups_only_where_they_share_nothing(tmp_path):
    first, second = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\n", "v 0 0 1\nv 1 0 1\nv 0 1 1\n"
    apart = f"o left\n{first}g a\nf 1 2 3\no right\n{second}g b\nf 5 6 7\no left\nf 3 2 1\n"
    found = parts(tmp_path, "apart.obj", apart.encode())
    assert [(part.name, part.faces.tolist(), part.rows.tolist(), part.file_vertices) for part in found] == [
        ("left", [[0, 1, 2], [2, 1, 0]], [0, 1, 2], 7), ("right", [[0, 1, 2]], [4, 5, 6], 7)]  # fmt: skip
    assert found[1].vertices.tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
    groups = apart.removesuffix("o left\nf 3 2 1\n").replace("o ", "# ")
    assert [part.name for part in parts(tmp_path, "groups.obj", groups.encode())] == ["a", "b"]
    skin = one(tmp_path, "skin.obj", f"{first}g arm\nf 1 2 3\ng leg\nf 3 2 4\n".encode())
    assert (skin.name, skin.faces.tolist(), len(skin.vertices)) == ("skin", [[0, 1, 2], [2, 1, 3]], 4)
    three = parts(tmp_path, "three.obj", f"{first}{second}f 1 2 3\ng leg\nf 3 2 4\ng hat\nf 5 6 7\n".encode())
    assert [(part.name, len(part.faces)) for part in three] == [("three", 2), ("hat", 1)]


def test_faces_of_an_stl_that_meet_are_neighbours(tmp_path):
    vertices, faces = shapes.icosphere(1)
    path = tmp_path / "ball.stl"
    path.write_bytes(mesh_files.stl(vertices, faces))
    body = read_mesh(path, Settings()).actors[0].at(0)
    assert len(body.vertices) == len(vertices)
    assert len(pl.self_collide(body)) == 0
    assert len(read_parts(path)[0].vertices) == 3 * len(faces)


def test_solids_of_an_stl_are_bodies(tmp_path):
    path = tmp_path / "two.stl"
    path.write_bytes(mesh_files.stl_text([("left vertex", CUBE, FACES), ("empty", CUBE, []), ("", CUBE + 5, FACES[:3])]))
    found = read_mesh(path, Settings(rate=12))
    assert [(actor.name, len(actor.mesh(0)[1])) for actor in found.actors] == [("left vertex", 12), ("two", 3)]
    assert found.rate == 12 and found.files == (path,) and found.frames == 1
    body = found.actors[0].at(0, weld=True)
    assert np.array_equal(np.unique(body.vertices, axis=0), np.unique(CUBE, axis=0))


BAD = {
    "word.obj": (b"v 0 0 zero\nf 1 1 1\n", "line 1: could not convert"),
    "short.obj": (b"v 0 0\n", "line 1: expected three coordinates, got 2"),
    "range.obj": (b"v 0 0 0\nf 1 1 2\n", "face 0 has the corner"),
    "zero.obj": (b"v 0 0 0\nf 0 1 1\n", "face 0 has the corner"),
    "back.obj": (b"v 0 0 0\nf -2 1 1\n", "face 0 has the corner"),
    "huge.obj": (b"v 0 0 0\nf 99999999999999999999 1 1\n", "line 2"),
    "line.obj": (b"v 0 0 0 " + b"0 " * 600_000, "a line of more than"),
    "goes_on.obj": (b"v 0 0 0\nf 1 1 1 \\\n", "ends in the middle of a line"),
    "endless.obj": (b"v \\\n" * 400_000, "continues lines"),
    "objects.obj": (b"".join(b"o %d\n" % k for k in range(10_001)), "more than 10,000 objects"),
    "not.ply": (b"plain text", "does not begin with 'ply'"),
    "open.ply": (b"ply\nformat ascii 1.0\n", "does not end within"),
    "words.ply": (b"ply\nformat ascii 1.0\nsurprise\nend_header\n", "line 3 of its header"),
    "minus.ply": (mesh_files.ply_head("ascii", -1, 1), "line 4 of its header"),
    "many.ply": (mesh_files.ply_head("ascii", 2**40, 1), "announces 1,099,511,627,776 rows of 'vertex'"),
    "most.ply": (mesh_files.ply_head("binary_big_endian", 10**18, 1), "rows of 'vertex'"),
    "list.ply": (mesh_files.ply(form="binary_little_endian")[:-30], "do not fit|ends before"),
    "text.ply": (mesh_files.ply()[:-10], "row 5 of 'face'"),
    "flat.ply": (mesh_files.ply().replace(b"float z", b"float w"), "no x, y and z"),
    "cut.stl": (mesh_files.stl()[:-1], "announces 12 triangles"),
    "most.stl": (mesh_files.stl(count=2**32 - 1), "announces 4,294,967,295 triangles"),
    "tiny.stl": (b"x", "has 1 bytes"),
    "word.stl": (b"solid a\nfacet\nouter loop\nvertex 0 0 x\n", "line 4"),
    "two.stl": (b"solid a\nfacet\nouter loop\nvertex 0 0 0\nvertex 0 0 0\nendloop\n", "not three corners"),
    "other.stl": (b"solid a\nhello\n", "line 2"),
    "not.off": (b"FOO\n1 1 1\n", "begin with OFF"),
    "many.off": (b"OFF\n999999999999 1 0\n", "announces 999,999,999,999 vertices"),
    "minus.off": (b"OFF\n-1 1 0\n", "announces -1 vertices"),
    "short.off": (b"OFF\n3 1 0\n0 0 0\n0 0 0\n0 0 0\n3 0 1\n", "face 0 announces 3 corners"),
    "ends.off": (b"OFF\n3 2 0\n0 0 0\n0 0 0\n0 0 0\n3 0 1 2\n", "ends before"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), [(name, *rest) for name, rest in BAD.items()], ids=BAD)
def test_what_is_wrong_is_said_in_a_line_that_names_the_file(tmp_path, name, content, message):
    with pytest.raises(FileError, match=message) as caught:
        parts(tmp_path, name, content)
    assert str(caught.value).startswith(str(tmp_path / name)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"v 0 0 0\n", b"v 0 0 0\nf 1 1\n"])
def test_a_file_without_faces_is_refused(tmp_path, content):
    path = tmp_path / "empty.obj"
    path.write_bytes(content)
    assert read_parts(path) == []
    with pytest.raises(FileError, match="holds no faces"):
        read_mesh(path, Settings())


def test_a_vertex_that_is_no_number_is_named(tmp_path):
    path = tmp_path / "bad.obj"
    path.write_bytes(b"v 0 0 0\nv 0 nan 0\nv 1 0 0\nf 1 2 3\n")
    with pytest.raises(FileError, match=r"bad\.obj: bad, frame 0: vertices: row 1 is .*not finite"):
        read_mesh(path, Settings()).actors[0].at(0)


def test_a_face_of_many_corners_takes_no_time(tmp_path):
    vertices = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    most = limits.MAX_POLYGON_CORNERS
    assert len(one(tmp_path, "disc.obj", vertices + b"f" + b" 1 2 3" * (most // 3) + b"\n").faces) == most // 3 * 3 - 2
    with pytest.raises(FileError, match=r"disc\.obj: face 1 has 300,000 corners, at most 10,000 are read"):
        parts(tmp_path, "disc.obj", vertices + b"f 1 2 3\nf" + b" 1 2 3" * 100_000 + b"\n")


JUNK = {
    "words.obj": (b"v 0 0 0\n", b"x y z\n"), "blank.obj": (b"v 0 0 0\n", b"      \r\n"), "comments.obj": (b"v 0 0 0\n", b"# abc\n"),
    "objects.obj": (b"v 0 0 0\n", b"o aaa\n"), "groups.obj": (b"v 0 0 0\nf 1 1 1\n", b"\tg aaa\n"), "empty.obj": (b"", b"\n"),
    "comments.off": (b"OFF\n1 9999 0\n", b"# abc\n"), "faces.off": (b"OFF\n1 9999 0\n0 0 0\n", b"2 0 0 \n"),
    "faces.ply": (mesh_files.ply_head("ascii", 1, 9999) + b"0 0 0\n", b"2 0 0 \n"), "comments.stl": (b"solid a\n", b"# abc\n"),
    "loops.stl": (b"solid a\n", b"endloop\n"), "facets.stl": (b"solid a\n", b"facet\n"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "head", "line"), [(name, *rest) for name, rest in JUNK.items()], ids=JUNK)
def test_lines_that_mean_nothing_are_not_read_to_the_end(tmp_path, monkeypatch, name, head, line):
    monkeypatch.setattr(limits, "LINES_PER_CHECK", 1000)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 600)
    with pytest.raises(FileError, match=r"lines, up to line [12],\d{3}, that are empty or hold next to nothing"):
        parts(tmp_path, name, head + line * 9999)


def test_meshes_of_many_lines_are_read(tmp_path, monkeypatch):
    """Also where normals, objects and comments are among them."""
    monkeypatch.setattr(limits, "LINES_PER_CHECK", 50)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 100)
    rng = np.random.default_rng(1)
    vertices, faces = rng.normal(size=(400, 3)), rng.integers(0, 400, (300, 3))
    rows = mesh_files.obj(vertices, faces.tolist()).replace(b"\nf ", b"\n# a face\ns 1\nf ")
    texts = {"a.obj": b"vn 0 0 1\n" * 400 + rows, "a.off": mesh_files.off(vertices, faces.tolist()),
             "a.ply": mesh_files.ply(vertices, faces.tolist()), "a.stl": mesh_files.stl_text([("a", vertices, faces)])}  # fmt: skip
    for name, content in texts.items():
        part = one(tmp_path, name, content)
        np.testing.assert_allclose(part.vertices[part.faces], vertices[faces], rtol=1e-6)


def test_objects_without_faces_are_none(tmp_path):
    content = mesh_files.obj().replace(b"f ", b"o one\no two\no one\nf ") + b"o three\n"
    assert one(tmp_path, "a.obj", content).name == "one"
