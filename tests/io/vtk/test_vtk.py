"""VTK's files, written by meshio and by hand: surfaces of every kind of cell, every encoding, and lists of moments."""

import json

import numpy as np
import pytest

from pliant.io.animation import Settings
from pliant.io.read import read
from pliant.io.vtk.vtk import read_vtk, read_vtk_sequence
from solids import CURVED, CUTS, area, assert_cube, bent, cube, mesh_of, volume
from vtks import HEADERS, POLYDATA, collection, handmade, write


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
    assert sorted(map(sorted, faces.tolist())) == [[0, 1, 3], [1, 2, 3], [4, 5, 6]]  # a fan would have a flat triangle


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
    assert read(tmp_path / "a.vtk.series", Settings(rate=5.0)).rate == 5.0


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
