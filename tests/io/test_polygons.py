"""Polygons of files: the same triangles in all formats and all frames, their numbers, limits, and encodings of texts."""

import time

import numpy as np
import pytest

import mesh_files
import pliant as pl
import vtks
from mesh_files import CUBE, QUADS
from pliant.errors import FileError
from pliant.io import polygons as module
from pliant.io.animation import Settings
from pliant.io.limits import MAX_POLYGON_CORNERS
from pliant.io.meshes import read_parts
from pliant.io.polygons import Polygons, checked_polygons, triangulate
from polygons import assert_covers

# An arrow whose third corner is reflex, a triangle beside it, and a pentagon with a flat corner.
POINTS = [(0, 0), (4, 0), (1, 1), (0, 4), (8, 0), (8, 4), (12, 0), (16, 0), (16, 4), (12, 4)]
FLAT = np.array([(x, y, 0) for x, y in POINTS], float)
SHAPES = [[0, 1, 2, 3], [1, 4, 5], [4, 6, 7, 8, 9]]
CORNERS, COUNTS = [corner for shape in SHAPES for corner in shape], [len(shape) for shape in SHAPES]
IDS = [0, 0, 1, 2, 2, 2]


def checked_faces(vertices, faces):
    """Triangles of SHAPES, in their order; fewer vertices are there where none has the others."""
    for polygon, shape in enumerate(SHAPES):
        mine = np.asarray(faces)[np.array(IDS) == polygon]
        number = [int(np.flatnonzero((vertices == FLAT[corner]).all(axis=1))[0]) for corner in shape]
        assert_covers([tuple(map(int, row[:2])) for row in vertices], mine, number)


def vtk_text(cells, section="POLYGONS"):
    rows = " ".join(f"{value:g}" for value in FLAT.ravel())
    numbers = sum(1 + len(cell) for cell in cells)
    lists = "\n".join(" ".join(map(str, [len(cell), *cell])) for cell in cells)
    head = f"# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS {len(FLAT)} float\n{rows}\n"
    return f"{head}{section} {len(cells)} {numbers}\n{lists}\n"


def vtp(path, more=""):
    """PolyData of SHAPES as VTK's XML."""
    polys = "".join(f'<DataArray type="Int64" Name="{name}" format="ascii">{" ".join(map(str, values))}</DataArray>'
                    for name, values in (("connectivity", CORNERS), ("offsets", np.cumsum(COUNTS))))  # fmt: skip
    points = " ".join(f"{value:g}" for value in FLAT.ravel())
    lines = 'NumberOfLines="1"' if more else ""
    path.write_text('<VTKFile type="PolyData" byte_order="LittleEndian"><PolyData>'
                    f'<Piece NumberOfPoints="{len(FLAT)}" NumberOfPolys="3" {lines}>'
                    f'<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{points}</DataArray></Points>{more}'
                    f'<Polys>{polys}</Polys></Piece></PolyData></VTKFile>')  # fmt: skip
    return path


LINE = ('<Lines><DataArray type="Int64" Name="connectivity" format="ascii">0 1</DataArray>'
        '<DataArray type="Int64" Name="offsets" format="ascii">2</DataArray></Lines>')  # fmt: skip


def xdmf(path):
    cells = " ".join(f"{code} {' '.join(map(str, shape))}" for code, shape in zip(("5", "4", "3 5"), SHAPES, strict=True))
    count = len(cells.split())
    points = " ".join(f"{value:g}" for value in FLAT.ravel())
    path.write_text(f'<Xdmf Version="3.0"><Domain><Grid GridType="Uniform"><Topology TopologyType="Mixed">'
                    f'<DataItem Dimensions="{count}" DataType="Int" Format="XML">{cells}</DataItem></Topology><Geometry GeometryType="XYZ">'
                    f'<DataItem Dimensions="{len(FLAT)} 3" Format="XML">{points}</DataItem></Geometry></Grid></Domain></Xdmf>')  # fmt: skip
    return path


def usd(path):
    rows = ", ".join(str(tuple(row)) for row in FLAT.tolist())
    path.write_text(f'#usda 1.0\ndef Mesh "m" {{\n point3f[] points = [{rows}]\n int[] faceVertexCounts = {COUNTS}\n'
                    f' int[] faceVertexIndices = {CORNERS}\n}}\n')  # fmt: skip
    return path


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


WRITERS = {
    "a.obj": lambda path: written(path, mesh_files.obj(FLAT, SHAPES)),
    "a.off": lambda path: written(path, mesh_files.off(FLAT, SHAPES)),
    "a.ply": lambda path: written(path, mesh_files.ply(FLAT, SHAPES)),
    "b.ply": lambda path: written(path, mesh_files.ply(FLAT, SHAPES, "binary_little_endian")),
    "a.vtk": lambda path: written(path, vtk_text(SHAPES)),
    "a.vtp": vtp,
    "a.xdmf": xdmf,
    "a.usda": usd,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_has_the_same_triangles_and_numbers(name, tmp_path):
    actor = pl.read(WRITERS[name](tmp_path / name)).actors[0]
    body = actor.at(0)
    order = np.argsort(actor.polygon_of_face, kind="stable")  # cells of one type come together
    assert actor.polygon_of_face.dtype == np.int32 and actor.polygon_of_face[order].tolist() == IDS
    checked_faces(np.asarray(body.vertices), body.faces[order])
    assert actor.polygons_at(0).tolist() == actor.polygon_of_face.tolist()


@pytest.mark.parametrize("name", ["a.obj", "a.off", "a.ply", "b.stl"])
def test_files_of_triangles_need_no_numbers(name, tmp_path):
    faces = [[0, 1, 2], [4, 6, 9]]
    content = mesh_files.stl(FLAT, faces) if name == "b.stl" else getattr(mesh_files, name[2:])(FLAT, faces)
    assert pl.read(written(tmp_path / name, content)).actors[0].polygon_of_face is None


def test_faces_without_an_area_count(tmp_path):
    """Rows of fewer than three corners are no faces, but the numbers of those behind them are the file's."""
    shapes = [[0, 1], *SHAPES[:1], [3], *SHAPES[1:]]
    for name in ("a.obj", "a.off", "a.ply", "b.ply"):
        content = getattr(mesh_files, name[2:])(FLAT, shapes, *(["binary_big_endian"] if name == "b.ply" else []))
        assert pl.read(written(tmp_path / name, content)).actors[0].polygon_of_face.tolist() == [1, 1, 3, 4, 4, 4]


def test_lines_of_polydata_are_cells_before_polygons(tmp_path):
    """As data of cells have them, in whatever order a legacy file lists them."""
    legacy = vtk_text(SHAPES) + "LINES 1 3\n2 0 1\nTRIANGLE_STRIPS 1 5\n4 0 1 3 4\n"
    found = pl.read(written(tmp_path / "a.vtk", legacy))
    assert sorted(found.actors[0].polygon_of_face.tolist()) == [k + 1 for k in IDS] + [4, 4]
    found = pl.read(vtp(tmp_path / "a.vtp", LINE))
    assert sorted(found.actors[0].polygon_of_face.tolist()) == [k + 1 for k in IDS]
    assert found.notes == ("a: 1 points or lines were left out.",)


def test_faces_of_solids_have_the_numbers_of_cells(tmp_path):
    points = np.array([[x, y, z] for x in (0, 1, 2) for y in (0, 1) for z in (0, 1)], float)
    hexahedra = [[0, 4, 6, 2, 1, 5, 7, 3], [4, 8, 10, 6, 5, 9, 11, 7]]
    path = vtks.write(tmp_path / "a.vtu", points, [("hexahedron", hexahedra)])
    actor = pl.read(path).actors[0]
    body = actor.at(0)
    assert np.bincount(actor.polygon_of_face).tolist() == [10, 10]
    middle = body.vertices[body.faces].mean(axis=1)[:, 0]
    assert ((middle > 1) == (actor.polygon_of_face == 1)).all()


def test_parts_of_an_obj_have_the_numbers_of_the_file(tmp_path):
    text = mesh_files.obj(FLAT, []).decode() + "o a\nf 1 2 3 4\no b\nf 5 7 8 9 10\no a\nf 4 3 2\n"
    parts = read_parts(written(tmp_path / "a.obj", text))
    assert [(part.name, part.polygon_of_face.tolist()) for part in parts] == [("a", [0, 0, 2]), ("b", [1, 1, 1])]
    two = mesh_files.obj(FLAT, []).decode() + "o a\nf 1 2 3\no b\nf 5 7 10\n"
    assert [None if part.polygon_of_face is None else part.polygon_of_face.tolist()
            for part in read_parts(written(tmp_path / "a.obj", two))] == [None, [1]]  # fmt: skip


def test_the_first_frame_triangulates_all(tmp_path):
    """A quad whose diagonals are of different length in each frame stays the same two triangles, and the actor no soup."""
    frames = [CUBE + 0.1 * k * np.random.default_rng(k).normal(size=CUBE.shape) for k in range(6)]
    files = [written(tmp_path / f"f{k}.obj", mesh_files.obj(rows)) for k, rows in enumerate(frames)]
    assert any(not np.array_equal(read_parts(path)[0].faces, read_parts(files[0])[0].faces) for path in files)  # each by itself
    actor = pl.read(files).actors[0]
    assert actor.kind == "free"
    for k in (3, 0, 5, 1):
        assert np.array_equal(actor.mesh(k)[1], read_parts(files[0])[0].faces)
        assert actor.polygons_at(k).tolist() == np.repeat(range(6), 2).tolist()


def test_numbers_of_a_soup_are_those_of_each_frame(tmp_path):
    files = [written(tmp_path / f"f{k}.obj", mesh_files.obj(polygons=QUADS[k:])) for k in range(3)]
    actor = pl.read(files, Settings(numbered="frames")).actors[0]
    assert actor.kind == "soup"
    assert [actor.polygons_at(k).tolist() for k in range(3)] == [np.repeat(range(6 - k), 2).tolist() for k in range(3)]
    files = [written(tmp_path / f"g{k}.vtk", vtk_text(SHAPES[k:])) for k in range(3)]
    actor = pl.read(files).actors[0]
    assert [sorted(actor.polygons_at(k).tolist()) for k in range(3)] == [IDS, [0, 1, 1, 1], [0, 0, 0]]


def test_a_polygon_that_crosses_itself_is_noted(tmp_path):
    star = [[0, 2, 4, 1, 3]]
    rows = [(np.cos(a), np.sin(a), 0.0) for a in 2 * np.pi * np.arange(5) / 5]
    found = pl.read(written(tmp_path / "star.obj", mesh_files.obj(rows, star)))
    assert found.notes == ("star: 1 polygons cross themselves; their triangles overlap.",)
    files = [written(tmp_path / f"s{k}.obj", mesh_files.obj(rows, star)) for k in range(3)]
    assert pl.read(files).notes[1:] == ("s0: 1 polygons cross themselves; their triangles overlap.",)


LARGE = 300_000


@pytest.mark.parametrize("name", ["a.obj", "a.off", "a.ply", "b.ply", "a.vtk", "a.usda"])
def test_a_face_of_many_corners_is_refused_soon(name, tmp_path):
    corners = (np.arange(LARGE) % 3).tolist()
    rows = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    path = tmp_path / name
    if name == "a.vtk":
        many = " ".join(map(str, [LARGE, *corners]))
        written(path, f"# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\n"
                      f"POLYGONS 2 {LARGE + 5}\n3 0 1 2\n{many}\n")  # fmt: skip
    elif name == "a.usda":
        written(path, f'#usda 1.0\ndef Mesh "m" {{\n point3f[] points = {rows}\n int[] faceVertexCounts = [3, {LARGE}]\n'
                      f' int[] faceVertexIndices = {[0, 1, 2, *corners]}\n}}\n')  # fmt: skip
    elif name == "b.ply":
        head = mesh_files.ply_head("binary_little_endian", 3, 2).replace(b"list uchar", b"list int")
        lists = [np.array([len(each), *each], "<i4").tobytes() + b"\7" for each in ([0, 1, 2], corners)]
        written(path, head + np.array(rows, "<f4").tobytes() + b"".join(lists))
    else:
        written(path, getattr(mesh_files, name[2:])(rows, [[0, 1, 2], corners]))
    started = time.process_time()
    with pytest.raises(FileError, match=r"(face|cell) 1 has 300,000 corners, at most 10,000 are read") as caught:
        pl.read(path)
    assert str(path) in str(caught.value) and time.process_time() - started < 5


def test_many_large_faces_are_refused(tmp_path):
    counts = np.full(43, MAX_POLYGON_CORNERS)
    corners = np.zeros(counts.sum(), np.int64)
    with pytest.raises(FileError, match=r"a\.obj: has 43 polygons of up to 10,000 corners, .* 4,300,000,000, at most 4,294,967,296"):
        checked_polygons(tmp_path / "a.obj", corners, counts, 1)
    assert len(checked_polygons(tmp_path / "a.obj", corners[10_000:], counts[1:], 1).counts) == 42
    quads = np.full(1 << 20, 4)
    assert len(checked_polygons(tmp_path / "a.obj", np.zeros(1 << 22, np.int64), quads, 1).counts) == 1 << 20


def test_corners_that_are_no_vertices_name_the_face(tmp_path):
    corners, counts = np.array([0, 1, 2, 9, 9, 0, 1, 2, 4]), np.array([3, 2, 4])
    with pytest.raises(FileError, match="face 2 has the corner 4, but vertices go from 0 to 3"):
        checked_polygons(tmp_path / "a.obj", corners, counts, 4)
    with pytest.raises(FileError, match="row 7 has the corner -1, but"):
        checked_polygons(tmp_path / "a.obj", corners - 1, counts, 4, np.array([7, 8, 9]), "row")


def test_polygons_are_taken_and_reversed():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 99, count).tolist() for count in (3, 7, 4, 5, 3)]
    made = Polygons(np.concatenate(rows), np.array(list(map(len, rows))), np.arange(5) * 2)
    taken = made.take(np.array([3, 0, 4]))
    assert taken.corners.tolist() == rows[3] + rows[0] + rows[4] and taken.counts.tolist() == [5, 3, 3] and taken.rows.tolist() == [6, 0, 8]
    assert made.reversed().corners.tolist() == [corner for row in rows for corner in (row[0], *row[:0:-1])]
    assert made.equals(made.reversed().reversed()) and not made.equals(taken) and not made.equals(None)
    assert made.take(np.array([], np.int64)).corners.tolist() == []


def test_quads_have_the_same_triangles_alone_and_among_others():
    rng = np.random.default_rng(5)
    rows = np.concatenate([rng.normal(size=(400, 3)), FLAT])
    corners, counts = np.arange(400), np.full(100, 4)
    alone = triangulate(rows, Polygons(corners, counts, np.arange(100)))
    corners, counts = np.concatenate([corners, 400 + np.array(SHAPES[2])]), np.append(counts, 5)
    assert triangulate(rows, Polygons(corners, counts, np.arange(101))).faces[:200].tolist() == alone.faces.tolist()


def test_triangles_need_no_kernel(monkeypatch):
    monkeypatch.setattr(module, "_scratch", None)
    found = triangulate(FLAT, Polygons(np.array([0, 1, 2, 4, 5, 6]), np.array([3, 3]), np.arange(2)))
    assert found.faces.tolist() == [[0, 1, 2], [4, 5, 6]] and found.polygon_of_face is None
    assert triangulate(FLAT, Polygons(*(np.zeros(0, np.int64) for _ in range(3)))).faces.shape == (0, 3)


STRIPS = [0, 1, 2, 3, -1, 4, 5, 6, -1, -1, 7, 8, -1, 3, 2, 1, 1, 7, 8, 6, 0]
STRIP_FACES = [[0, 1, 2], [2, 1, 3], [4, 5, 6], [3, 2, 1], [7, 1, 8], [7, 8, 6], [6, 8, 0]]


def strip_head(form, lists, faces=0):
    more = f"element face {faces}\nproperty list uchar int vertex_indices\n" if faces else ""
    return (f"ply\nformat {form} 1.0\nelement vertex 9\nproperty float x\nproperty float y\nproperty float z\n{more}"
            f"element tristrips {lists}\nproperty list int int vertex_indices\nend_header\n").encode()  # fmt: skip


@pytest.mark.parametrize("cut", [None, 4, 9, 10])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_triangle_strips_of_a_ply(form, cut, tmp_path):
    """Every other triangle is turned; a −1 and a new list begin with one that is not; what names a vertex twice is none."""
    lists = [STRIPS] if cut is None else [STRIPS[:cut], STRIPS[cut:]]
    rows = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    content = strip_head(form, len(lists))
    if form == "ascii":
        content += "\n".join(" ".join(map(str, row)) for row in [*rows.tolist(), *([len(each), *each] for each in lists)]).encode() + b"\n"
    else:
        order = "<" if "little" in form else ">"
        content += rows.astype(order + "f4").tobytes() + b"".join(np.array([len(each), *each], order + "i4").tobytes() for each in lists)
    (part,) = read_parts(written(tmp_path / "strips.ply", content))
    assert part.faces.tolist() == STRIP_FACES and part.polygon_of_face is None
    assert np.array_equal(part.vertices, rows)


def test_strips_beside_faces_are_numbered_after_them(tmp_path):
    rows = "\n".join(" ".join(map(str, row)) for row in np.random.default_rng(0).normal(size=(9, 3)).tolist())
    content = strip_head("ascii", 1, 2) + f"{rows}\n4 0 1 2 3\n3 4 5 6\n5 0 1 2 -1 3\n".encode()
    (part,) = read_parts(written(tmp_path / "both.ply", content))
    assert part.polygon_of_face.tolist() == [0, 0, 1, 2] and part.faces[2:].tolist() == [[4, 5, 6], [0, 1, 2]]


def test_strips_of_a_ply_are_checked(tmp_path):
    for corners in ([0, 1, 9], [0, 1, -2]):
        content = strip_head("ascii", 1) + b"0 0 0\n" * 9 + f"3 {' '.join(map(str, corners))}\n".encode()
        with pytest.raises(FileError, match=f"face 0 has the corner {corners[2]}, but vertices go from 0 to 8"):
            read_parts(written(tmp_path / "a.ply", content))
    empty = strip_head("ascii", 1) + b"0 0 0\n" * 9 + b"3 -1 0 1\n"
    assert read_parts(written(tmp_path / "a.ply", empty)) == []


MARK = b"\xef\xbb\xbf"
TEXTS = {
    **{name: WRITERS[name] for name in ("a.obj", "a.off", "a.ply", "b.ply", "a.vtk", "a.vtp", "a.xdmf")},
    "a.stl": lambda path: written(path, mesh_files.stl_text([("a", CUBE, [[0, 1, 2], [4, 5, 6]])])),
    "a.vtu": lambda path: vtks.write(path, CUBE, [("triangle", [[0, 1, 2], [4, 5, 6]])], file_format="vtu", binary=False),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_is_no_content(name, tmp_path):
    path = TEXTS[name](tmp_path / name)
    wanted = pl.read(path).actors[0].at(0)
    written(path, MARK + path.read_bytes())
    found = pl.read(path).actors[0].at(0)
    assert np.array_equal(found.vertices, wanted.vertices) and np.array_equal(found.faces, wanted.faces)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", [name for name in TEXTS if name != "b.ply"])
def test_utf_16_is_refused_by_name(name, encoding, tmp_path):
    path = TEXTS[name](tmp_path / name)
    mark = b"" if encoding == "utf-16" else b"\xfe\xff"
    written(path, mark + path.read_bytes().decode().encode(encoding))
    with pytest.raises(FileError, match=f"{name}: is written in UTF-16"):
        pl.read(path)


@pytest.mark.parametrize("name", ["a.pvd", "a.vtk.series"])
def test_lists_of_files_may_have_a_mark(name, tmp_path):
    written(tmp_path / "a.vtk", vtk_text(SHAPES))
    text = ('{"file-series-version": "1.0", "files": [{"name": "a.vtk", "time": 0}]}' if name.endswith("series") else
            '<VTKFile type="Collection"><Collection><DataSet timestep="0" file="a.vtk"/></Collection></VTKFile>')  # fmt: skip
    assert len(pl.read(written(tmp_path / name, MARK + text.encode())).actors[0].at(0)) == 6
    with pytest.raises(FileError, match="is written in UTF-16"):
        pl.read(written(tmp_path / name, text.encode("utf-16")))


def test_the_limit_is_stated():
    from pathlib import Path

    page = (Path(__file__).resolve().parents[2] / "docs" / "animations.md").read_text(encoding="utf-8")
    assert f"{MAX_POLYGON_CORNERS:,}".replace(",", " ") + " corners" in page
