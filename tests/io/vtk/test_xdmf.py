"""XDMF files, written by meshio and by hand: numbers in XML, HDF5 and raw files; moving meshes and displacements; and hostile ones."""

import os
import sys
import threading
from pathlib import Path

import h5py
import meshio
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from in_process import Here
from pliant.errors import FileError
from pliant.io.animation import Settings
from pliant.io.read import read
from pliant.io.vtk import hdf5, xdmf
from pliant.io.vtk.xdmf import read_xdmf
from solids import CUTS, area, assert_cube, bent, cube

TIMES = [0.0, 0.5, 1.0, 1.5]


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    monkeypatch.setattr(xdmf, "SubprocessClient", Here)


@pytest.fixture
def within(tmp_path, monkeypatch):
    """meshio writes HDF5 and raw files into the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def series(path, form="HDF", field="displacement", times=TIMES):
    """As meshio writes it: one mesh, and a field at each time."""
    points, cells = cube("tetra")
    with meshio.xdmf.TimeSeriesWriter(path.name, data_format=form) as writer:
        writer.write_points_cells(points, [("tetra", cells)])
        for time in times:
            writer.write_data(time, point_data={"heat": points[:, 0], field: bent(points, time) - points})
    return path


def moving(path, times=TIMES):
    """By hand: a geometry for each time in HDF5, and a topology that all but the first refer to."""
    points, cells = cube("hexahedron")
    text = ""
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["cells"] = cells
        for k, time in enumerate(times):
            file.create_dataset(f"mesh/{k}/points", data=bent(points, time), compression="gzip" if k % 2 else None)
            topology = (f'<Topology TopologyType="Hexahedron" NumberOfElements="{len(cells)}"><DataItem Dimensions="{len(cells)} 8" '
                        f'NumberType="Int" Precision="8" Format="HDF">{path.stem}.h5:/cells</DataItem></Topology>')  # fmt: skip
            topology = '<Topology Reference="/Xdmf/Domain/Grid/Grid[1]/Topology"/>' if k else topology
            item = f'<DataItem Dimensions="{len(points)} 3" Format="HDF">\n {path.stem}.h5:/mesh/{k}/points \n</DataItem>'
            text += (f'<Grid Name="g{k}" GridType="Uniform"><Time Value="{time}"/>{topology}<Geometry GeometryType="XYZ">{item}</Geometry>'
                     "</Grid>")  # fmt: skip
    collection = f'<Grid Name="s" GridType="Collection" CollectionType="Temporal">{text}</Grid>'
    path.write_text(f'<?xml version="1.0"?><Xdmf Version="3.0"><Domain>{collection}</Domain></Xdmf>')
    return path


def single(path, topology, geometry, kind="Triangle", attributes=""):
    path.write_text(f'<Xdmf><Domain><Grid><Topology TopologyType="{kind}" {attributes}>{topology}</Topology>'
                    f'<Geometry GeometryType="XYZ">{geometry}</Geometry></Grid></Domain></Xdmf>')  # fmt: skip
    return path


SQUARE = '<DataItem Dimensions="4 3" Format="XML">0 0 0 1 0 0 1 1 0 0 1 0</DataItem>'
TRIANGLES = '<DataItem Dimensions="2 3" NumberType="Int" Format="XML">0 1 2 0 2 3</DataItem>'


@pytest.mark.parametrize("form", ["XML", "HDF", "Binary"])
def test_displacements_at_times(form, within):
    animation = read_xdmf(series(within / "run.xdmf", form))
    (actor,) = animation.actors
    assert (animation.name, animation.frames, animation.rate, actor.kind) == ("run", 4, 2.0, "free")
    rest, faces = actor._read(0)
    assert_cube(rest, faces)
    for frame in (3, 1, 2):
        vertices, same = actor._read(frame)
        np.testing.assert_allclose(vertices, bent(rest, TIMES[frame]), atol=1e-6)
        assert same is faces
    assert "displacements is added" in animation.notes[0]
    assert len(animation.files) == {"XML": 1, "HDF": 2}.get(form, len(animation.files)) and animation.files[0].name == "run.xdmf"


def test_a_field_of_another_name_moves_nothing(within):
    animation = read_xdmf(series(within / "run.xdmf", field="velocity"))
    assert not animation.notes
    np.testing.assert_array_equal(animation.actors[0]._read(3)[0], animation.actors[0]._read(0)[0])


def test_points_that_move(tmp_path):
    animation = read_xdmf(moving(tmp_path / "run.xmf"))
    (actor,) = animation.actors
    rest, faces = actor._read(0)
    assert_cube(rest, faces)
    for frame, time in enumerate(TIMES):
        vertices, same = actor._read(frame)
        np.testing.assert_array_equal(vertices, bent(rest, time))
        assert same is faces
    assert [file.name for file in animation.files] == ["run.xmf", "run.h5"] and animation.notes == ()


def test_a_body_follows(tmp_path):
    (actor,) = read_xdmf(moving(tmp_path / "run.xdmf")).actors
    body = actor.at(0)
    rest = np.array(body.vertices)
    assert actor.at(2, body) is body
    np.testing.assert_allclose(body.vertices, bent(rest, TIMES[2]), atol=1e-12)


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize("form", ["XML", "HDF", "Binary"])
def test_every_solid(kind, form, within):
    points, cells = cube(kind)
    meshio.Mesh(points, [(kind, cells)]).write("cube.xdmf", data_format=form)
    assert_cube(*read_xdmf(within / "cube.xdmf").actors[0]._read(0))


def test_mixed_cells(tmp_path):
    """A triangle, a line, a quad and a pentagon: 1 + 2 + 3 triangles."""
    places = '<DataItem Dimensions="3" Format="XML">0 1 0</DataItem>'.replace("3", "6").replace("0 1 0", "{}")
    points = "".join(places.format(row) for row in ("0 1 2 2 1 0", "0 0 0 1 2 1", "0 0 0 0 0 0"))
    topology = '<DataItem Dimensions="19" DataType="Int" Format="XML">4 0 1 4  2 2 0 1  5 0 1 2 3  3 5 0 2 3 4 5</DataItem>'
    path = single(tmp_path / "m.xdmf", topology, points, "Mixed")
    path.write_text(path.read_text().replace('"XYZ"', '"X_Y_Z"').replace('"19"', '"20"'))
    animation = read_xdmf(path)
    vertices, faces = animation.actors[0]._read(0)
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0], [1, 2, 0], [0, 1, 0]])
    assert len(faces) == 6 and animation.notes == ("m: 1 points or lines were left out.",)


def test_flat_geometry_polygons_and_raw_bytes(tmp_path):
    np.array([0, 0, 1, 0, 1, 1, 0, 1], ">f8").tofile(tmp_path / "p.bin")
    (tmp_path / "p.bin").write_bytes(b"head" + (tmp_path / "p.bin").read_bytes())
    item = '<DataItem Dimensions="4 2" Format="Binary" Precision="8" Endian="Big" Seek="4">p.bin</DataItem>'
    corners = '<DataItem Dimensions="4" NumberType="UInt" Format="XML">0 1 2 3</DataItem>'
    path = single(tmp_path / "m.xdmf", corners, item, "Polygon", 'NodesPerElement="4"')
    path.write_text(path.read_text().replace('"XYZ"', '"XY"'))
    vertices, faces = read_xdmf(path).actors[0]._read(0)
    assert area(vertices, faces) == 1 and vertices.shape == (4, 3)


@pytest.mark.parametrize("time, rate", [
    ('<Time TimeType="HyperSlab"><DataItem Dimensions="3">1 0.125 4</DataItem></Time>', 8),
    ('<Time TimeType="List"><DataItem Dimensions="4">0 2 4 6</DataItem></Time>', 0.5), ("", 1),
])  # fmt: skip
def test_times_of_a_collection(time, rate, tmp_path):
    path = moving(tmp_path / "run.xdmf")
    text = path.read_text()
    for value in TIMES:
        text = text.replace(f'<Time Value="{value}"/>', "")
    path.write_text(text.replace('"Temporal">', f'"Temporal">{time}'))
    assert read_xdmf(path).rate == rate
    assert read(path, Settings(rate=12.0)).rate == 12


def test_of_several_collections_the_one_that_moves(within):
    path = series(within / "run.xdmf", "XML")
    text = path.read_text()
    start, end = text.index('<Grid Name="TimeSeries'), text.rindex("</Grid>") + len("</Grid>")
    still = text[start:end].replace('Name="displacement"', 'Name="velocity"').replace("TimeSeries_meshio", "other")
    path.write_text(text[:start] + still + text[start:])
    animation = read_xdmf(path)
    assert "1 more collections" in animation.notes[0] and "TimeSeries_meshio is shown" in animation.notes[0]
    rest = animation.actors[0]._read(0)[0]
    np.testing.assert_allclose(animation.actors[0]._read(3)[0], bent(rest, 1.5), atol=1e-6)


def test_threads_read_at_once(tmp_path):
    (actor,) = read_xdmf(moving(tmp_path / "run.xdmf")).actors
    expected = [actor._read(frame)[0] for frame in range(4)]
    wrong = []

    def work(seed):
        for frame in np.random.default_rng(seed).integers(0, 4, 20).tolist():
            if not np.array_equal(actor._read(frame)[0], expected[frame]):
                wrong.append(frame)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch):
    path = moving(tmp_path / "run.xdmf")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[vtk\]'"):
        read_xdmf(path)
    assert read_xdmf(single(tmp_path / "a.xdmf", TRIANGLES, SQUARE)).frames == 1


def refused(path, *parts):
    with pytest.raises(FileError) as caught:
        read_xdmf(path).actors[0]._read(0)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def linked(path, make):
    """The valid file, with its points elsewhere."""
    with h5py.File(path.with_suffix(".h5"), "a") as file:
        content = file["mesh/0/points"][()]
        del file["mesh/0/points"]
        make(file, content)


def test_hdf5_that_leads_elsewhere(tmp_path):
    folder = tmp_path / "within"
    folder.mkdir()
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["points"] = np.zeros((29, 3))
    (tmp_path / "secret.bin").write_bytes(bytes(29 * 24))

    def external(file, content):
        file["mesh/0/points"] = h5py.ExternalLink("../secret.h5", "/points")

    def soft(file, content):
        file["elsewhere"] = h5py.ExternalLink("../secret.h5", "/points")
        file["mesh/0/points"] = h5py.SoftLink("/elsewhere")

    def storage(file, content):
        file.create_dataset("mesh/0/points", content.shape, "f8", external=[("../secret.bin", 0, content.nbytes)])

    def virtual(file, content):
        layout = h5py.VirtualLayout(content.shape, "f8")
        layout[:] = h5py.VirtualSource("../secret.h5", "points", content.shape)
        file.create_virtual_dataset("mesh/0/points", layout)

    for make, told in ((external, "links"), (soft, "links"), (storage, "other files"), (virtual, "other files")):
        path = moving(folder / f"{make.__name__}.xdmf")
        linked(path, make)
        refused(path, told, f"{make.__name__}.h5")


def test_hdf5_that_announces_more_than_it_stores(tmp_path):
    def hollow(file, content):
        file.create_dataset("mesh/0/points", (1 << 40, 3), "f8", chunks=(1 << 10, 3), compression="gzip")

    def zipped(file, content):
        file.create_dataset("mesh/0/points", (1 << 22, 3), "f8", chunks=(1 << 22, 3), compression="gzip")[:] = 0

    def words(file, content):
        file["mesh/0/points"] = [b"a", b"b"]

    def squeezed(file, content):
        file.create_dataset("mesh/0/points", content.shape, "f8", compression="lzf")

    for make, told in ((hollow, "announces"), (zipped, "announces"), (words, "expected numbers"), (squeezed, "filter")):
        path = moving(tmp_path / f"{make.__name__}.xdmf")
        linked(path, make)
        refused(path, told)
    with pytest.raises(FileError, match="not a dataset"):
        hdf5.read_array(tmp_path / "hollow.h5", "/mesh/1")


@pytest.mark.parametrize("name", ["../run.h5", "/etc/passwd", "link.h5", "file:///etc/passwd"])
def test_files_of_the_folder_only(name, tmp_path):
    folder = tmp_path / "within"
    folder.mkdir()
    moving(tmp_path / "run.xdmf")
    path = moving(folder / "run.xdmf")
    os.symlink(tmp_path / "run.h5", folder / "link.h5")
    path.write_text(path.read_text().replace(">run.h5:", f">{name}:"))
    refused(path, "refers to")
    raw = f'<DataItem Dimensions="4 3" Format="Binary">{name}</DataItem>'
    refused(single(folder / "raw.xdmf", TRIANGLES, raw), "refers to")


@pytest.mark.parametrize("old, new, told", [
    ("0 1 2 0 2 3", "0 1 2 0 2 4", "point 4"), ("0 1 2 0 2 3", "0 1 2 0 2", "dimensions [2, 3]"),
    ("0 1 2 0 2 3", "0 1 2 0 2 x", "invalid literal"), ('"2 3"', '"9999999999999 9999"', "dimensions"), ('"2 3"', '"-2 3"', "a count"),
    ('"2 3"', '"1 1 6"', "one or two"), ('"2 3"', '"5"', "dimensions [5]"), ('NumberType="Int"', "", "expected integers"),
    ('NumberType="Int"', 'NumberType="Text"', "not known"), ('NumberType="Int"', 'NumberType="Int" Precision="3"', "not known"),
    ("0 0 0 1", "inf 0 0 1", "not finite"), ('"Triangle"', '"Smesh"', "topology"), ('"Triangle"', '"Quad"', "cells of 4"),
    ('"XYZ"', '"VXVYVZ"', "geometry"), ('"Triangle"', '"Triangle" BaseOffset="1"', "counted from 0"),
    ("<Xdmf>", '<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []><Xdmf>', "document type"), ('Format="XML">0 1', 'ItemType="HyperSlab">0 1', "uniform"),
    ('Format="XML">0 1', 'Format="TIFF">0 1', "format"), ("<Grid>", '<Grid GridType="Collection">', "temporal collection"),
    ("Topology ", "Other ", "not XML"), ("<Grid>", "<Grid/><Grid>", "2 grids"),
    ('<Geometry GeometryType="XYZ">', '<Geometry Reference="//Geometry//Geometry//Geometry"/><Geometry>', "not found"),
    ('<Geometry GeometryType="XYZ">', '<Geometry Reference="//Geometry"/><Geometry>', "no Geometry with values"),
])  # fmt: skip
def test_files_that_lie(old, new, told, tmp_path):
    path = single(tmp_path / "a.xdmf", TRIANGLES, SQUARE)
    assert read_xdmf(path).frames == 1
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    refused(path, told)


def test_other_files_are_not_included(tmp_path):
    path = moving(tmp_path / "run.xdmf")
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="other.xml"/>'
    path.write_text(path.read_text().replace('<Topology Reference="/Xdmf/Domain/Grid/Grid[1]/Topology"/>', include))
    refused(path, "includes another file")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    made = [single(folder / "a.xdmf", TRIANGLES, SQUARE), moving(folder / "run.xdmf", TIMES[:2])]
    return [(path, path.read_bytes()) for path in made]


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 30), st.binary(max_size=4), st.integers(0, 4)), min_size=1, max_size=4)


@given(choice=st.booleans(), changes=CHANGES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_files_are_read_or_refused(samples, choice, changes):
    path, content = samples[choice]
    for place, new, gone in changes:
        at = place % len(content)
        content = content[:at] + new + content[at + gone :]
    changed = Path(path.parent, "changed.xdmf")
    changed.write_bytes(content)
    try:
        animation = read_xdmf(changed)
        animation.actors[0]._read(animation.frames - 1)
    except FileError as error:
        assert str(error).startswith(str(path.parent))
