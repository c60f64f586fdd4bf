"""VTK's files, written by meshio and by hand: surfaces of every kind of cell, every encoding, lists of moments, and hostile ones."""

import base64
import json
import os
import zlib
from pathlib import Path

import meshio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.errors import FileError
from pliant.io import vtkarrays, vtklegacy
from pliant.io.animation import Settings
from pliant.io.vtk import read_vtk, read_vtk_sequence
from solids import CURVED, CUTS, area, assert_cube, bent, cube, mesh_of, volume

HEADERS = {"UInt32": "<u4", "UInt64": "<u8"}


def write(path, points, cells, **options):
    """By meshio. What it says about itself on the terminal is nobody's business here."""
    meshio.Mesh(points, cells, **options.pop("data", {})).write(path, **options)
    return path


def encoded(array, form, compressed, header):
    """Bytes of an array as VTK stores them: raw or base64."""
    data, kind = array.tobytes(), np.dtype(HEADERS[header])
    pack = (lambda content: content) if form == "raw" else base64.b64encode
    if not compressed:
        return pack(np.array([len(data)], kind).tobytes() + data)
    size = 64  # several blocks, the last one shorter
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    packed = [zlib.compress(block) for block in blocks]
    head = np.array([len(blocks), size, len(data) % size, *map(len, packed)], kind)
    return pack(head.tobytes()) + pack(b"".join(packed))


def handmade(path, form, compressed=False, header="UInt32", kind="UnstructuredGrid", more=0):
    """A square of two pieces, one triangle each and `more` points that none has, in a form that ParaView writes."""
    pieces = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], np.float32)
    appended, text = b"", []
    for points in pieces:
        arrays = {"points": np.concatenate([points, np.zeros((more, 3), np.float32)]), "connectivity": np.arange(3, dtype=np.int64),
                  "offsets": np.array([3], np.int64), "types": np.array([5], np.uint8)}  # fmt: skip
        tags = {}
        for name, array in arrays.items():
            type_ = {"f": "Float32", "i": "Int64", "u": "UInt8"}[array.dtype.kind]
            head = f'<DataArray type="{type_}" Name="{name}" NumberOfComponents="{3 if name == "points" else 1}"'
            if form == "inline":
                tags[name] = f'{head} format="binary">\n  {encoded(array, form, compressed, header).decode()}\n</DataArray>'
            else:
                tags[name] = f'{head} format="appended" offset="{len(appended)}"/>'
                appended += encoded(array, form, compressed, header)
        lists = tags["connectivity"] + tags["offsets"]
        body = f"<Cells>{lists}{tags['types']}</Cells>" if kind == "UnstructuredGrid" else f"<Verts></Verts><Polys>{lists}</Polys>"
        count = 'NumberOfCells="1"' if kind == "UnstructuredGrid" else 'NumberOfPolys="1"'
        text.append(f'<Piece NumberOfPoints="{3 + more}" {count}><Points>{tags["points"]}</Points>{body}</Piece>')
    more = b"" if form == "inline" else f'<AppendedData encoding="{form}">\n _'.encode() + appended + b"\n</AppendedData>"
    compressor = 'compressor="vtkZLibDataCompressor"' if compressed else ""
    top = f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="{header}" {compressor}>'
    path.write_bytes(f"{top}<{kind}>{''.join(text)}</{kind}>".encode() + more + b"</VTKFile>")
    return path


@pytest.mark.parametrize("kind", [*CUTS, *CURVED])
def test_the_surface_of_every_solid_looks_outward(kind, tmp_path):
    points, cells = cube(kind)
    path = write(tmp_path / "cube.vtu", points, [(kind, cells)])
    found = read_vtk(path)
    vertices, faces = found.actors[0].mesh(0)
    assert_cube(vertices, faces)
    assert found.actors[0].name == "cube" and vertices.dtype == np.float64 and faces.dtype == np.int32
    assert found.notes == (("cube: curved cells are taken as flat between their corners.",) if kind in CURVED else ())


@pytest.mark.parametrize("kind", CUTS)
def test_cells_that_are_inside_out_look_outward_too(kind, tmp_path):
    points, cells = cube(kind)
    vertices, faces = mesh_of(write(tmp_path / "cube.vtu", points * [-1, 1, 1], [(kind, cells)]))
    assert_cube(vertices, faces)


def test_solids_of_several_kinds_are_one_body(tmp_path):
    """Two cubes side by side, one a hexahedron, one two wedges: the wall between them is inside."""
    points = np.stack(np.meshgrid([0.0, 1, 2], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
    left, right = [0, 4, 6, 2, 1, 5, 7, 3], [4, 8, 10, 6, 5, 9, 11, 7]
    wedges = [[right[place] for place in cut] for cut in CUTS["wedge"]]
    path = write(tmp_path / "two.vtk", points, [("hexahedron", [left]), ("wedge", wedges)])
    vertices, faces = mesh_of(path)
    assert len(vertices) == 12 and len(faces) == 20
    np.testing.assert_allclose([volume(vertices, faces), area(vertices, faces)], [2, 10])


@pytest.mark.parametrize("options", [{"binary": False}, {"compression": None}, {"compression": "zlib"}, {"compression": "lzma"}], ids=str)
def test_every_encoding_that_meshio_writes(options, tmp_path):
    points, cells = cube("tetra")
    vertices, faces = mesh_of(write(tmp_path / "a.vtu", points, [("tetra", cells)], file_format="vtu", **options))
    assert_cube(vertices, faces)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("version", ["vtk42", "vtk"])
def test_legacy_files(binary, version, tmp_path):
    points, cells = cube("tetra")
    quads = np.array([[1, 2, 3, 4]])
    path = write(tmp_path / "a.vtk", points, [("tetra", cells), ("line", [[0, 1]])], file_format=version, binary=binary,
                 data={"point_data": {"heat": points[:, 0]}})  # fmt: skip
    assert_cube(*mesh_of(path))
    assert read_vtk(path).notes == ("a: 1 points or lines were left out.",)
    path = write(tmp_path / "b.vtk", points, [("quad", quads), ("triangle", [[5, 6, 7]])], file_format=version, binary=binary)
    vertices, faces = mesh_of(path)
    np.testing.assert_array_equal(vertices, points[1:8])
    assert sorted(map(sorted, faces.tolist())) == [[0, 1, 2], [0, 2, 3], [4, 5, 6]]


POLYDATA = """# vtk DataFile Version 3.0
a strip, a pentagon and a line
ASCII
DATASET POLYDATA
FIELD FieldData 1
TIME 1 1 double
0.5
POINTS 9 float
0 0 0  1 0 0  0 1 0  1 1 0
3 0 0  4 0 0  4 1 0  3.5 2 0  3 1 0
METADATA
INFORMATION 0

TRIANGLE_STRIPS 1 5
4 0 1 2 3
LINES 1 3
2 0 4
POLYGONS 1 6
5 4 5 6 7 8
POINT_DATA 9
SCALARS anything
"""


def test_legacy_polygons_and_strips(tmp_path):
    path = tmp_path / "p.vtk"
    path.write_text(POLYDATA)
    vertices, faces = mesh_of(path)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all() and len(faces) == 5
    np.testing.assert_allclose(area(vertices, faces), 1 + 1.5)


@pytest.mark.parametrize("kind", ["UnstructuredGrid", "PolyData"])
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", ["inline", "base64", "raw"])
def test_every_encoding_that_paraview_writes(form, compressed, header, kind, tmp_path):
    path = tmp_path / ("a.vtu" if kind == "UnstructuredGrid" else "a.vtp")
    vertices, faces = mesh_of(handmade(path, form, compressed, header, kind))
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(faces, [[0, 1, 2], [3, 4, 5]])


def collection(folder, times, name="run.pvd", **options):
    points, cells = cube("tetra")
    for number, time in enumerate(times):
        write(folder / f"cube_{number}.vtu", bent(points, time), [("tetra", cells)], **options)
    lines = [f'<DataSet timestep="{time}" group="" part="0" file="cube_{number}.vtu"/>' for number, time in enumerate(times)]
    (folder / name).write_text(f'<?xml version="1.0"?><VTKFile type="Collection"><Collection>{"".join(lines)}</Collection></VTKFile>')
    return folder / name


def test_a_collection_moves(tmp_path):
    times = [0.0, 0.25, 0.5, 0.75]
    animation = read_vtk(collection(tmp_path, times))
    (actor,) = animation.actors
    assert (animation.name, animation.frames, animation.rate, actor.kind, animation.notes) == ("run", 4, 4.0, "free", ())
    assert [file.name for file in animation.files] == ["run.pvd", *(f"cube_{k}.vtu" for k in range(4))]
    first = actor.at(0)
    rest, faces = np.array(first.vertices), first.faces
    assert_cube(rest, faces)
    for frame in (2, 1, 3):
        body = actor.at(frame, first)
        assert body is first
        np.testing.assert_allclose(body.vertices, bent(rest, times[frame]), atol=1e-12)
    np.testing.assert_array_equal(actor.at(99).vertices, actor.at(3).vertices)


def test_a_list_of_paraview_in_which_faces_change(tmp_path):
    points, cells = cube("tetra")
    write(tmp_path / "a_0.vtk", points, [("tetra", cells)])
    write(tmp_path / "a_1.vtk", points, [("tetra", cells[:6])])
    listed = {"file-series-version": "1.0", "files": [{"name": "a_0.vtk", "time": 0}, {"name": "a_1.vtk", "time": 0.1}]}
    (tmp_path / "a.vtk.series").write_text(json.dumps(listed))
    animation = read_vtk(tmp_path / "a.vtk.series")
    (actor,) = animation.actors
    assert actor.kind == "soup" and animation.frames == 2 and animation.name == "a"
    np.testing.assert_allclose(animation.rate, 10)
    assert [len(actor.at(frame).faces) for frame in (0, 1)] == [48, 12]
    assert read_vtk(tmp_path / "a.vtk.series", Settings(rate=5.0)).rate == 5.0


def test_times_that_are_not_even_are_noted(tmp_path):
    animation = read_vtk(collection(tmp_path, [0.0, 0.1, 0.9]))
    assert animation.rate == 30 and "not evenly spaced" in animation.notes[0]


def test_parts_of_a_collection_are_actors(tmp_path):
    points, cells = cube("tetra", 1)
    for name, shift in (("a0", 0), ("a1", 1), ("b0", 5)):
        write(tmp_path / f"{name}.vtu", points + shift, [("tetra", cells)])
    lines = "".join(f'<DataSet timestep="{file[1]}" part="{file[0]}" file="{file}.vtu"/>' for file in ("a1", "a0", "b0"))
    (tmp_path / "two.pvd").write_text(f'<VTKFile type="Collection"><Collection>{lines}</Collection></VTKFile>')
    first, second = read_vtk(tmp_path / "two.pvd").actors
    assert (first.name, second.name) == ("two a", "two b")
    lowest = [[actor.at(frame).vertices.min() for frame in (0, 1)] for actor in (first, second)]
    np.testing.assert_allclose(lowest, [[0, 1], [5, 5]])


def test_displacements_are_added_to_points_that_stay(tmp_path):
    points, cells = cube("tetra")
    lines = ""
    for k in range(3):
        fields = {"heat": points[:, 0], "Displacement": bent(points, 1.0 + k) - points}
        write(tmp_path / f"{k}.vtu", points, [("tetra", cells)], data={"point_data": fields})
        lines += f'<DataSet timestep="{k}" file="{k}.vtu"/>'
    (tmp_path / "run.pvd").write_text(f'<VTKFile type="Collection"><Collection>{lines}</Collection></VTKFile>')
    animation = read_vtk(tmp_path / "run.pvd")
    rest = points[np.isin(np.arange(len(points)), cells) & (np.abs(points - 0.5).max(axis=1) == 0.5)]
    numbered = read_vtk_sequence([tmp_path / f"{k}.vtu" for k in range(3)], "numbered")
    assert (numbered.name, numbered.frames, numbered.rate) == ("numbered", 3, 30)
    for k in range(3):
        for each in (animation, numbered):
            np.testing.assert_allclose(each.actors[0]._read(k)[0], bent(rest, 1.0 + k), atol=1e-12)
    assert "is added" in animation.notes[0] and "is added" in numbered.notes[0]
    alone = read_vtk(tmp_path / "1.vtu")
    np.testing.assert_array_equal(alone.actors[0]._read(0)[0], rest)
    assert "is not added" in alone.notes[0]
    with pytest.raises(ValueError, match="paths"):
        read_vtk_sequence([], "none")


def test_displacements_of_points_that_move_are_not_added(tmp_path):
    points, cells = cube("tetra")
    names = []
    for k in range(2):
        fields = {"displacement": bent(points, k) - points}
        write(tmp_path / f"{k}.vtu", bent(points, k), [("tetra", cells)], data={"point_data": fields})
        names.append({"name": f"{k}.vtu", "time": k})
    (tmp_path / "r.vtu.series").write_text(json.dumps({"files": names}))
    (actor,) = read_vtk(tmp_path / "r.vtu.series").actors
    np.testing.assert_allclose(actor.at(1).vertices, bent(np.array(actor.at(0).vertices), 1), atol=1e-12)


def refused(path, *parts, read=read_vtk):
    with pytest.raises(FileError) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message and len(message) < len(str(path)) + 340
    for part in parts:
        assert part in message, message


def test_entities_are_refused_in_every_encoding(tmp_path):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><VTKFile type="Collection">&b;</VTKFile>'
    declared = [f'<?xml version="1.0" encoding="{name}"?>{bomb}'.encode() for name in ("utf-7", "UTF-16")]
    outside = b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><VTKFile/>'
    plain = [bomb.encode(), bomb.encode("utf-16"), b"\xef\xbb\xbf" + bomb.encode(), bomb.encode("utf-16-le")]
    for number, content in enumerate([*plain, *declared, outside]):
        for suffix in (".pvd", ".vtu", ".vtp"):
            path = tmp_path / f"{number}{suffix}"
            path.write_bytes(content)
            refused(path)
    refused(tmp_path / "0.pvd", "document type")
    refused(tmp_path / "4.pvd", "'utf-7'")


def test_elements_are_counted(tmp_path, monkeypatch):
    (tmp_path / "deep.pvd").write_text("<a>" * 100_000)
    refused(tmp_path / "deep.pvd", "deep")
    monkeypatch.setattr("pliant.io.markup.MOST_ELEMENTS", 10)
    (tmp_path / "many.pvd").write_text('<VTKFile type="Collection">' + "<a/>" * 20 + "</VTKFile>")
    refused(tmp_path / "many.pvd", "more than 10 elements")


def test_what_unfolds_too_far_is_refused(tmp_path, monkeypatch):
    path = handmade(tmp_path / "a.vtu", "raw", True)
    monkeypatch.setattr(vtkarrays, "LEAST_UNFOLDED", 10)
    monkeypatch.setattr(vtkarrays, "UNFOLDED", 0)
    refused(path, "unfolds to")


def test_a_block_that_is_longer_than_announced_is_refused(tmp_path):
    path = handmade(tmp_path / "a.vtu", "raw", True)
    monstrous = zlib.compress(bytes(10_000_000))
    content = path.read_bytes()
    start = content.index(b"\n _") + 3
    path.write_bytes(content[:start] + np.array([1, 36, 0, len(monstrous)], "<u4").tobytes() + monstrous + content[start:])
    refused(path, "does not unfold to")


def test_arrays_that_overlap_are_refused(tmp_path):
    """Many pieces of the same bytes would take many times the memory of the file."""
    path = handmade(tmp_path / "a.vtu", "base64", more=10_000)
    assert len(mesh_of(path)[1]) == 2
    text = path.read_text()
    piece = text[text.index("<Piece") : text.index("</Piece>") + 8]
    path.write_text(text.replace(piece, piece * 3))
    refused(path, "do not fit")


@pytest.mark.parametrize("old, new, told", [
    ("POINTS 9 float", "POINTS 900000000000 float", "announces"), ("POINTS 9 float", "POINTS -9 float", "no count"),
    ("POINTS 9 float", "POINTS 9 string", "of type"), ("POINTS 9", "POINTS 30", "more are announced"),
    ("POINTS 9", "POINTS 99", "do not fit"),
    ("0 1 2 3", "0 1 2 9", "point 9"), ("0 1 2 3", "0 1 2 -1", "point -1"), ("5 4 5 6 7 8", "9 4 5 6 7 8", "corners"),
    ("4 1 0", "nan 1 0", "not finite"), ("POLYDATA", "STRUCTURED_POINTS", "Extract Surface"), ("# vtk", "# stl", "begin with"),
    ("ASCII", "TEXT", "ASCII or BINARY"), ("LINES 1 3", "LINES 1", "expected 2 values"), ("a strip", "a" * 5000, "characters"),
    ("1 0 0", "one 0 0", "coordinates"), ("TRIANGLE_STRIPS 1 5", "OTHER 1 5", "'OTHER'"),
])  # fmt: skip
def test_legacy_files_that_lie(old, new, told, tmp_path):
    path = tmp_path / "p.vtk"
    path.write_text(POLYDATA.replace(old, new, 1))
    with pytest.raises(FileError, match=r"p\.vtk") as caught:
        read_vtk(path)
    assert told in str(caught.value)


@pytest.mark.parametrize("junk", ["METADATA\nx\n\n", "FIELD a 0\n", "FIELD a 999999\n" + "x 0 0 int\n" * 9])
def test_legacy_files_of_countless_sections_are_refused(junk, tmp_path, monkeypatch):
    monkeypatch.setattr(vtklegacy, "MOST_KEYWORDS", 9)
    path = tmp_path / "p.vtk"
    path.write_text(POLYDATA)
    assert len(read_vtk(path).actors) == 1
    path.write_text(POLYDATA.replace("POINTS", junk * 10 + "POINTS"))
    refused(path, "more than 9 sections and arrays")


def test_other_files_are_named(tmp_path):
    points, _ = cube("tetra", 1)
    refused(tmp_path / "none.vtu", "no such file")
    (tmp_path / "a.vtu").write_text('<VTKFile type="ImageData"/>')
    refused(tmp_path / "a.vtu", "ImageData")
    (tmp_path / "b.vtu").write_text("<html/>")
    refused(tmp_path / "b.vtu", "<html>")
    refused(write(tmp_path / "line.vtu", points, [("line", [[0, 1]])]), "no surface")
    (tmp_path / "a.pvtu").write_text("<VTKFile/>")
    refused(tmp_path / "a.pvtu", "Merge Blocks")
    path = handmade(tmp_path / "c.vtu", "inline")
    path.write_text(path.read_text().replace("<VTKFile", '<VTKFile compressor="vtkLZ4DataCompressor"'))
    refused(path, "vtkLZ4DataCompressor")


@pytest.mark.parametrize("name", ["../a.vtu", "/etc/passwd", "https://example.org/a.vtu", "link.vtu", "", "a\\u0000.vtu"])
def test_lists_name_files_of_their_folder_only(name, tmp_path):
    folder = tmp_path / "within"
    folder.mkdir()
    points, cells = cube("tetra", 1)
    write(tmp_path / "a.vtu", points, [("tetra", cells)])
    os.symlink(tmp_path / "a.vtu", folder / "link.vtu")
    (folder / "l.vtu.series").write_text(f'{{"files": [{{"name": "{name}", "time": 0}}]}}')
    refused(folder / "l.vtu.series", "refers to")
    if "u0000" not in name:
        line = f'<DataSet timestep="0" file="{name}"/>'
        (folder / "l.pvd").write_text(f'<VTKFile type="Collection"><Collection>{line}</Collection></VTKFile>')
        refused(folder / "l.pvd", "refers to")


@pytest.mark.parametrize("text, told", [
    ("[]", "no list of files"), ("{", "not JSON"), ("[" * 100_000, "not JSON"), ('{"files": []}', "lists 0 files"),
    ('{"files": [{"name": "a", "time": "x"}]}', "a time is 'x'"), ('{"files": [{"name": "a", "time": 1e999}]}', "a time is"),
    ('{"files": [{"name": "a", "time": 1}, {"name": "b", "time": 1}]}', "two files"),
])  # fmt: skip
def test_lists_that_are_none(text, told, tmp_path):
    (tmp_path / "a.vtk.series").write_text(text)
    refused(tmp_path / "a.vtk.series", told)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Small valid files of every form."""
    folder = tmp_path_factory.mktemp("samples")
    (folder / "p.vtk").write_text(POLYDATA)
    points, cells = cube("tetra", 1)
    made = [folder / "p.vtk", collection(folder, [0.0]), handmade(folder / "p.vtp", "inline", kind="PolyData")]
    made += [handmade(folder / f"{form}{zipped}.vtu", form, zipped) for form in ("inline", "raw", "base64") for zipped in (False, True)]
    made += [write(folder / f"{version}{binary}.vtk", points, [("tetra", cells)], file_format=version, binary=binary)
             for version in ("vtk", "vtk42") for binary in (False, True)]  # fmt: skip
    return [(path, path.read_bytes()) for path in made]


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 30), st.binary(max_size=4), st.integers(0, 4)), min_size=1, max_size=4)


@given(choice=st.integers(0, 1000), changes=CHANGES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_files_are_read_or_refused(samples, choice, changes):
    path, content = samples[choice % len(samples)]
    for place, new, gone in changes:
        at = place % len(content)
        content = content[:at] + new + content[at + gone :]
    changed = Path(path.parent, f"changed{path.suffix}")
    changed.write_bytes(content)
    try:
        read_vtk(changed).actors[0]._read(0)
    except FileError as error:
        assert str(error).startswith(str(path.parent))  # the file itself, or one that it names


@given(st.lists(st.tuples(st.text("0123456789.e-", min_size=1, max_size=60), st.text(" \n\t\r", min_size=1, max_size=9)), min_size=1),
       st.integers(1, 100))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_the_end_of_some_words_is_found(words, count):
    """Words and blanks of any length, against splitting."""
    head = b"# vtk DataFile Version 3.0\ntitle\nASCII\n"
    reader = vtklegacy._Reader(Path("x"), head + "".join(word + blank for word, blank in words).encode())
    if count > len(words):
        with pytest.raises(FileError, match="more are announced"):
            reader._behind("words", count)
    else:
        found = reader.content[reader.at : reader._behind("words", count)]
        assert found.split() == [word.encode() for word, _ in words[:count]] and not found[-1:].isspace()
