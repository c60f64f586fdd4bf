"""Files of simulations that are small and ask for much, and moments of simulations that are easily mistaken."""

import base64
import json
import re
import struct
import time
import tracemalloc
import zlib
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

from pliant.core.validate_table import read_bytes
from pliant.errors import FileError
from pliant.io.vtk import arrays, hdf5, safe_xml, vtk
from pliant.io.vtk.vtk import read_vtk, read_vtk_sequence
from pliant.io.vtk.xdmf import read_xdmf
from solids import mesh_of

TRIANGLE = np.eye(3)
ZERO = np.zeros((3, 3))


@contextmanager
def at_most(size):
    """Fails if more memory is asked for at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def row(values):
    return " ".join(map(str, np.ravel(values)))


def polygons(path, points=TRIANGLE, cells=((0, 1, 2),), moved=None, kind="Float64"):
    """A .vtp file in ASCII."""
    points = np.asarray(points)
    array = '<DataArray Name="{}" type="{}" NumberOfComponents="3">{}</DataArray>'
    field = "" if moved is None else f'<PointData>{array.format("disp", "Float64", row(moved))}</PointData>'
    corners = " ".join(row(cell) for cell in cells)
    path.write_text(
        f'<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="{len(points)}" NumberOfPolys="{len(cells)}">{field}'
        f'<Points>{array.format("p", kind, row(points))}</Points><Polys><DataArray type="Int32" Name="connectivity">{corners}'
        f'</DataArray><DataArray type="Int32" Name="offsets">{row(np.cumsum([len(cell) for cell in cells], dtype=int))}</DataArray></Polys>'
        "</Piece></PolyData></VTKFile>"
    )
    return path


def collection(path, lines):
    """A .pvd file of (time, part, file)."""
    text = "".join(f'<DataSet timestep="{time}" part="{part}" file="{file}"/>' for time, part, file in lines)
    path.write_text(f'<VTKFile type="Collection"><Collection>{text}</Collection></VTKFile>')
    return path


def test_memory_for_the_bytes_that_are_there(tmp_path):
    path = tmp_path / "a.vtk"
    path.write_bytes(b"abc")
    with at_most(1 << 20):
        assert read_bytes(path, 1 << 34, "file") == b"abc"
    assert read_bytes(path, 3, "file") == b"abc"
    with pytest.raises(FileError, match="longer than 2 bytes"):
        read_bytes(path, 2, "file")


@pytest.mark.parametrize("suffix, read", [(".vtk", read_vtk), (".vtu", read_vtk), (".pvd", read_vtk), (".xdmf", read_xdmf)])
def test_large_files_of_nothing_are_refused_at_their_head(suffix, read, tmp_path):
    path = tmp_path / f"a{suffix}"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with at_most(1 << 24), pytest.raises(FileError, match=r"not XML|bytes, at most|begin with"):
        read(path)


def test_a_cycle_of_points_is_not_moved_twice(tmp_path):
    for places in ((0, 1, 0), (0, 1, 0, 1, 0), (0, 0, 1, 1, 0)):
        shifts = [np.array([x, 0, 0]) + ZERO for x in places]
        files = [polygons(tmp_path / f"{k}.vtp", TRIANGLE + shift, moved=shift) for k, shift in enumerate(shifts)]
        made = read_vtk_sequence(files, "cycle")
        assert made.notes == ()
        for frame, shift in enumerate(shifts):
            np.testing.assert_array_equal(made.actors[0].mesh(frame)[0], TRIANGLE + shift)


def test_points_that_move_where_nobody_looked_are_refused(tmp_path):
    files = [polygons(tmp_path / f"{k}.vtp", TRIANGLE + (k == 2), moved=ZERO + k) for k in range(9)]
    made = read_vtk_sequence(files, "late")
    np.testing.assert_array_equal(made.actors[0].mesh(3)[0], TRIANGLE + 3)
    with pytest.raises(FileError, match=r"2\.vtp: has other points"):
        made.actors[0].mesh(2)


@pytest.mark.parametrize("nothing", range(4))
def test_displacements_around_a_moment_without_faces(nothing, tmp_path):
    files = [polygons(tmp_path / f"{k}.vtp", moved=ZERO + k) for k in range(4)]
    polygons(files[nothing], np.empty((0, 3)), ())
    made = read_vtk_sequence(files, "eroded")
    assert "is added" in made.notes[0]
    for frame in range(4):
        np.testing.assert_array_equal(made.actors[0].mesh(frame)[0], np.empty((0, 3)) if frame == nothing else TRIANGLE + frame)


def test_a_part_of_one_file_is_not_moved_and_read_once(tmp_path, monkeypatch):
    polygons(tmp_path / "still.vtp", moved=ZERO + 5)
    polygons(tmp_path / "other.vtp", TRIANGLE + 1)
    polygons(tmp_path / "late.vtp", TRIANGLE + 2)
    path = collection(tmp_path / "a.pvd", [(0, "a", "still.vtp"), (1, "b", "other.vtp"), (3, "b", "late.vtp"), (2, "a", "still.vtp")])
    read, opened = vtk.GRID_READERS[".vtp"], []
    monkeypatch.setitem(vtk.GRID_READERS, ".vtp", lambda path: opened.append(path.name) or read(path))
    animation = read_vtk(path)
    still, moving = animation.actors
    assert opened.count("still.vtp") == 1 and "is not added" in animation.notes[0]
    for frame in range(4):
        np.testing.assert_array_equal(still.mesh(frame)[0], TRIANGLE)
        np.testing.assert_array_equal(moving.mesh(frame)[0], TRIANGLE + (2 if frame == 3 else 1))
    assert opened.count("still.vtp") == 1


def test_parts_times_times_take_no_memory(tmp_path, monkeypatch):
    polygons(tmp_path / "q.vtp")
    path = collection(tmp_path / "a.pvd", [(k, "", "q.vtp") for k in range(5000)] + [(0, f"p{k}", "q.vtp") for k in range(300)])
    looked, inside = [], vtk.resolve_inside
    monkeypatch.setattr(vtk, "resolve_inside", lambda path, name: looked.append(name) or inside(path, name))
    with at_most(8 << 20):  # a list of 5,000 for each of 300 would be 12 MB
        animation = read_vtk(path)
    assert (len(animation.actors), animation.frames, looked) == (301, 5000, ["q.vtp"])
    monkeypatch.setattr(vtk, "MAX_FILES", 1)
    with pytest.raises(FileError, match="lists 2 files, at most 1"):
        read_vtk(collection(tmp_path / "b.pvd", [(0, "", "q.vtp"), (1, "", "r.vtp")]))


def unfolding(path, corners):
    """A .vtu of one strip whose corners, a byte each, are all point 0."""

    def array(name, kind, content):
        packed = zlib.compress(content, 9)
        head = struct.pack("<4I", 1, len(content), 0, len(packed))
        text = base64.b64encode(head).decode() + base64.b64encode(packed).decode()
        return f'<DataArray Name="{name}" type="{kind}" format="binary">{text}</DataArray>'

    path.write_text('<VTKFile type="UnstructuredGrid" byte_order="LittleEndian" compressor="vtkZLibDataCompressor"><UnstructuredGrid>'
                    f'<Piece NumberOfPoints="3" NumberOfCells="1"><Points>{array("p", "Float64", TRIANGLE.tobytes())}</Points><Cells>'
                    f'{array("connectivity", "UInt8", bytes(corners))}{array("offsets", "Int64", struct.pack("<q", corners))}'
                    f'{array("types", "UInt8", bytes([6]))}</Cells></Piece></UnstructuredGrid></VTKFile>')  # fmt: skip
    return path


def test_bytes_that_become_numbers_are_counted_as_such(tmp_path):
    most = arrays.RATIO_EXEMPT_BYTES
    with at_most(most), pytest.raises(FileError, match=f"unfolds to numbers of {8 * most // 4:,} bytes"):
        read_vtk(unfolding(tmp_path / "a.vtu", most // 4))
    with at_most(20 * most):
        assert len(mesh_of(unfolding(tmp_path / "b.vtu", most // 16))[1]) == most // 16 - 2


def test_blanks_within_base64(tmp_path):
    path = unfolding(tmp_path / "a.vtu", 5)
    expected = mesh_of(path)
    path.write_text(re.sub('(?<=format="binary">)[^<]+', lambda found: "\n \t".join(found[0]), path.read_text()))
    for got, want in zip(mesh_of(path), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_values_of_lists_and_attributes_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(vtk, "MAX_VALUES", 1000)
    path = tmp_path / "a.vtp.series"
    path.write_text('{"files": [' + ",".join(["{}"] * 1000) + "]}")
    with pytest.raises(FileError, match="more than 1,000 values"):
        read_vtk(path)
    polygons(tmp_path / "q.vtp")
    path.write_text(json.dumps({"files": [{"name": "q.vtp", "time": k} for k in range(150)]}))
    assert read_vtk(path).frames == 150
    monkeypatch.setattr(safe_xml, "MAX_ELEMENTS", 50)
    (tmp_path / "a.pvd").write_text('<VTKFile type="Collection">' + '<a b="1" c="2"/>' * 20 + "</VTKFile>")
    with pytest.raises(FileError, match="more than 50 elements and attributes"):
        read_vtk(tmp_path / "a.pvd")


LEGACY = "# vtk DataFile Version 3.0\ntitle\nASCII\nDATASET POLYDATA\n"


def test_blanks_take_no_time(tmp_path):
    many = " " * 6_000_000
    path = tmp_path / "a.vtk"
    numbers = f"1 0{many}0 0 1 0 0 0 1\nMETADATA\nx 1\n \n"
    path.write_text(f"{LEGACY}{many.replace(' ', chr(10))}POINTS 3 float\n{numbers}POLYGONS 1 4\n3 0 1 2\n")
    start = time.process_time()
    vertices, faces = mesh_of(path)
    assert time.process_time() - start < 10  # by the square: hours
    np.testing.assert_array_equal(vertices, TRIANGLE)
    np.testing.assert_array_equal(faces, [[0, 1, 2]])


@pytest.mark.parametrize("nothing", [0, 1, 2])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_moment_without_faces_is_a_frame(nothing, legacy, tmp_path):
    files = [polygons(tmp_path / f"{k}.vtp", TRIANGLE + k, () if k == nothing else [(0, 1, 2)]) for k in range(3)]
    if legacy:
        files[nothing] = tmp_path / "nothing.vtk"
        files[nothing].write_text(f"{LEGACY}POINTS 0 float\n")
    (actor,) = read_vtk_sequence(files, "melting").actors
    for frame in range(3):
        assert [len(each) for each in actor.mesh(frame)] == ([0, 0] if frame == nothing else [3, 1])
    assert len(actor.at(nothing).faces) == 0
    with pytest.raises(FileError, match="no surface"):
        read_vtk(files[nothing])
    with pytest.raises(FileError, match="no surface"):
        read_vtk_sequence([files[nothing]] * 2, "nothing")


def test_polygons_without_an_area_are_dropped(tmp_path):
    vertices, faces = mesh_of(polygons(tmp_path / "a.vtp", np.arange(12).reshape(4, 3) % 5, [(3,), (0, 1), (1, 2, 3), ()]))
    np.testing.assert_array_equal(vertices, (np.arange(12).reshape(4, 3) % 5)[1:])
    np.testing.assert_array_equal(faces, [[0, 1, 2]])


def test_numbers_beyond_their_type_are_not_finite(tmp_path):
    with pytest.raises(FileError, match="point 0 is not finite"):
        read_vtk(polygons(tmp_path / "a.vtp", TRIANGLE * 1e308, kind="Float32"))


def test_names_of_parts_are_one_short_line(tmp_path):
    polygons(tmp_path / "q.vtp")
    path = collection(tmp_path / "a.pvd", [(0, "one&#10;two\u009b[2J\u202ethree", "q.vtp"), (0, "x" * 1000, "q.vtp")])
    assert [actor.name for actor in read_vtk(path).actors] == ["a one two [2J three", "a " + "x" * 98]


def points_in(path, make):
    with h5py.File(path, "w") as file:
        make(file)
    return hdf5.read_array(path, "/p")


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"fletcher32": True}, {"shuffle": True, "fletcher32": True}])
def test_compressed_chunks_are_read(options, tmp_path):
    values = np.arange(3000.0).reshape(1000, 3)
    found = points_in(tmp_path / "a.h5", lambda file: file.create_dataset("p", data=values, chunks=(64, 2), compression="gzip", **options))
    np.testing.assert_array_equal(found, values)


def test_chunks_that_unfold_further_than_their_size(tmp_path):
    def bomb(file):
        made = file.create_dataset("p", (8, 3), "f8", chunks=(4, 3), compression="gzip")
        made[:] = 1
        made.id.write_direct_chunk((4, 0), zlib.compress(bytes(1 << 24)))

    def wide(file):
        made = file.create_dataset("p", (4, 3), "f8", maxshape=(None, 3), chunks=(4_000_000, 3), compression="gzip")
        made.id.write_direct_chunk((0, 0), zlib.compress(bytes(96_000_000), 1))

    def narrow(file):
        file.create_dataset("p", (1 << 22,), "u1", chunks=(1 << 16,), compression="gzip")[:] = 0

    def turned(file):
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((4, 3))
        plan.set_deflate(1)
        plan.set_shuffle()
        h5py.h5d.create(file.id, b"p", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((4, 3)), plan)
        file["p"][:] = 1

    held = "takes 33,554,432 bytes in memory, of which a file of"
    for make, told in ((bomb, r"chunk at \(4, 0\) unfolds"), (wide, "too much for"), (turned, "behind deflate"), (narrow, held)):
        with pytest.raises(FileError, match=told):
            points_in(tmp_path / f"{make.__name__}.h5", make)


def test_chunks_that_are_not_compressed_after_all(tmp_path):
    def plain(file):
        made = file.create_dataset("p", (8, 3), "f8", chunks=(4, 3), compression="gzip")
        made.id.write_direct_chunk((0, 0), np.ones((4, 3)).tobytes(), filter_mask=1)

    np.testing.assert_array_equal(points_in(tmp_path / "a.h5", plain), [[1] * 3] * 4 + [[0] * 3] * 4)


def test_a_grid_that_predicates_choose(tmp_path):
    def grid(name, z):
        corners, points = '<DataItem Dimensions="1 3" NumberType="Int">0 1 2</DataItem>', f"0 0 {z} 1 0 {z} 0 1 {z}"
        return (f'<Grid Name="{name}" GridType="Uniform"><Topology TopologyType="Triangle">{corners}</Topology>'
                f'<Geometry><DataItem Dimensions="3 3">{points}</DataItem></Geometry></Grid>')  # fmt: skip

    path = tmp_path / "a.xdmf"
    second = "/Xdmf/Domain/Grid[@GridType='Uniform'][2]/*[self::Topology or self::Geometry]"
    for include in (second, "/Xdmf/Domain/Grid[@Name='B']/Geometry"):
        step = f'<Grid><include xpointer="xpointer({include})"/></Grid>'
        path.write_text(f'<Xdmf><Domain><Grid GridType="Collection" CollectionType="Temporal">{step}</Grid>{grid("A", 1)}{grid("B", 2)}'
                        "</Domain></Xdmf>")  # fmt: skip
        assert read_xdmf(path).actors[0].mesh(0)[0][:, 2].tolist() == [2, 2, 2]
    path.write_text(f'<Xdmf><Domain><Grid><include xpointer="xpointer({"/*[self::" * 35_000})"/></Grid></Domain></Xdmf>')
    with pytest.raises(FileError, match="which is not found"):
        read_xdmf(path)
