"""HDF5 and USD files in processes of their own: damaged ones are read or refused, whatever they do to libraries, and others after them."""

import gc
import random
import signal
import zipfile

import h5py
import numpy as np
import pytest
from pxr import UsdGeom, Vt

from child import together
from in_process import Here
from pliant.errors import FileError
from pliant.io import subprocess_client
from pliant.io.subprocess_client import SubprocessClient
from pliant.io.usd import usd
from pliant.io.usd.usd import read_usd
from pliant.io.vtk.xdmf import read_xdmf
from stages import MESH, SQUARE, mesh_at, raised, stage_at

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float64)
POINTS = np.random.default_rng(5).normal(size=(40, 3))


def hdf5(path, **options):
    with h5py.File(path, "w", **options) as file:
        file["a/points"] = POINTS
        file.create_dataset("a/packed", data=POINTS, chunks=(16, 3), compression="gzip", shuffle=True)
    return "/a/points", "/a/packed"


def crate(path):
    """A binary stage: a mesh whose points move, one that turns, a hierarchy with a reference."""
    stage = stage_at(path, 3)
    mesh = mesh_at(stage, "/a/moves")
    for time in (1, 2, 3):
        mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(SQUARE * time), time)
    turn = mesh_at(stage, "/a/turns").AddRotateZOp()
    for time in (1, 3):
        turn.Set(30.0 * time, time)
    UsdGeom.Xform.Define(stage, "/b").GetPrim().GetReferences().AddInternalReference("/a")
    stage.Save()


def changed(content, source):
    """Some bytes are others; now and then the end is missing."""
    made = bytearray(content)
    for _ in range(source.randint(1, 3)):
        place, length = source.randrange(len(made) - 8), source.choice((1, 1, 2, 4, 8))
        made[place : place + length] = source.choice((bytes(length), b"\xff" * length, source.randbytes(length)))
    return bytes(made[: source.randrange(len(made))] if source.random() < 0.1 else made)


def changed_text(content, source):
    """Some signs are others."""
    text = content.decode()
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(text))
        text = text[:at] + "".join(source.choices("()[]{}@</>=\"' 09-aé\n", k=source.randint(0, 3))) + text[at + source.randint(0, 3) :]
    return text.encode()


WRITERS = [("a.h5", hdf5, changed), ("new.h5", lambda path: hdf5(path, libver="latest"), changed), ("a.usdc", crate, changed),
           ("a.usda", crate, changed_text)]  # fmt: skip


@pytest.mark.parametrize("name, write, change", WRITERS, ids=[name for name, *_ in WRITERS])
def test_changed_files_are_read_or_refused(name, write, change, tmp_path):
    """In one process as long as it lives: of 4,000 changed .usdc, 28 have ended it."""
    source, readers = random.Random(11), SubprocessClient("services", "Readers")
    names = write(tmp_path / name) or ()
    content, outcomes = (tmp_path / name).read_bytes(), {True: 0, False: 0}
    for number in range(120):
        path = tmp_path / f"{number}{name}"
        path.write_bytes(change(content, source))
        try:
            readers.request(path, "read", str(path), *names)
            outcomes[True] += 1
        except FileError as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
            outcomes[False] += 1
        path.unlink()
    assert min(outcomes.values()) > 2, outcomes
    assert readers.request(tmp_path / name, "read", str(tmp_path / name), *names)[0] == (len(names) or 4)
    readers.close()


def series(path, frames=3):
    """An XDMF file with a triangle in HDF5 that rises, frame by frame."""
    text = ""
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["corners"] = [[0, 1, 2]]
        for frame in range(frames):
            file[f"points{frame}"] = TRIANGLE + [0, 0, frame]
            items = [f'<DataItem Dimensions="{shape}" Format="HDF">{path.stem}.h5:/{name}</DataItem>'
                     for shape, name in (("1 3", "corners"), ("3 3", f"points{frame}"))]  # fmt: skip
            text += (f'<Grid><Time Value="{frame}"/><Topology TopologyType="Triangle">{items[0]}</Topology>'
                     f"<Geometry>{items[1]}</Geometry></Grid>")  # fmt: skip
    collection = f'<Grid GridType="Collection" CollectionType="Temporal">{text}</Grid>'
    path.write_text(f"<Xdmf><Domain>{collection}</Domain></Xdmf>")
    return path


def processes():
    """Of this test, those that are there."""
    gc.collect()
    return [each._process for each in subprocess_client._CLIENTS if each._process is not None]


def test_simulations_through_another_process(tmp_path):
    animation = read_xdmf(series(tmp_path / "a.xdmf"))
    (actor,) = animation.actors
    (process,) = processes()

    def work(actor=actor):
        for frame in (2, 0, 1, 2):
            vertices, faces = actor.mesh(frame)
            assert faces.tolist() == [[0, 1, 2]]
            np.testing.assert_array_equal(vertices, TRIANGLE + [0, 0, frame])

    together(work, work, work)
    assert processes() == [process]
    process.send_signal(signal.SIGSEGV)
    process.wait()
    with pytest.raises(FileError, match=r"a\.h5: ends the library that reads it \(signal 11\)"):
        actor.mesh(1)
    work()
    others = [read_xdmf(series(tmp_path / f"{name}.xdmf")) for name in "bcd"]
    assert len(processes()) == 1  # for all files
    del animation, actor, work, others
    assert processes() == []
    (tmp_path / "a.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:3000])
    with pytest.raises(FileError, match=r"a\.h5: .*truncated file"):
        read_xdmf(tmp_path / "a.xdmf")


def test_a_file_that_the_caller_writes_to_is_read(tmp_path):
    path = series(tmp_path / "a.xdmf")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["points0"][:] += 1
        file.flush()
        np.testing.assert_array_equal(read_xdmf(path).actors[0].mesh(0)[0], np.array(TRIANGLE) + 1)


def test_numbers_in_xml_need_no_other_process(tmp_path):
    items = ['<DataItem Dimensions="1 3" NumberType="Int">0 1 2</DataItem>', '<DataItem Dimensions="3 3">0 0 0 1 0 0 0 1 0</DataItem>']
    (tmp_path / "a.xdmf").write_text(f'<Xdmf><Domain><Grid><Topology TopologyType="Triangle">{items[0]}</Topology>'
                                     f"<Geometry>{items[1]}</Geometry></Grid></Domain></Xdmf>")  # fmt: skip
    animation = read_xdmf(tmp_path / "a.xdmf")
    animation.actors[0].mesh(0)
    assert processes() == []


def test_stages_through_another_process_are_the_same_to_the_bit(tmp_path, monkeypatch):
    crate(tmp_path / "a.usdc")
    there = read_usd(tmp_path / "a.usdc")
    assert len(processes()) == 1
    monkeypatch.setattr(usd, "SubprocessClient", Here)
    here = read_usd(tmp_path / "a.usdc")
    assert there._replace(actors=()) == here._replace(actors=()) and len(there.actors) == 4
    for one, other in zip(there.actors, here.actors, strict=True):
        assert (one.name, one.kind, one.frames) == (other.name, other.kind, other.frames)
        for frame in range(3):
            np.testing.assert_array_equal(one.at(frame).vertices, other.at(frame).vertices)
            np.testing.assert_array_equal(one.at(frame).faces, other.at(frame).faces)


def test_frames_after_a_crash(tmp_path):
    crate(tmp_path / "a.usdc")
    animation = read_usd(tmp_path / "a.usdc")
    frames = [actor.at(2).vertices.copy() for actor in animation.actors]
    (process,) = processes()
    process.send_signal(signal.SIGSEGV)
    process.wait()
    with pytest.raises(FileError, match=r"a\.usdc: ends the library that reads it \(signal 11\)"):
        animation.actors[3].at(2)
    np.testing.assert_array_equal(animation.actors[3].at(2).vertices, frames[3])  # the last: a new process comes to it by all others
    np.testing.assert_array_equal(animation.actors[0].at(2).vertices, frames[0])
    (tmp_path / "b.usda").write_text(MESH)
    (process,) = processes()
    process.kill()
    process.wait()
    assert read_usd(tmp_path / "b.usda").frames == 1
    (tmp_path / "a.usdc").unlink()
    with pytest.raises(FileError, match=r"a\.usdc: "):
        animation.actors[0].at(1)


def test_what_stands_still_keeps_no_process(tmp_path):
    (tmp_path / "a.usda").write_text(MESH)
    animation = read_usd(tmp_path / "a.usda")
    assert processes() == []
    np.testing.assert_array_equal(animation.actors[0].at(0).vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert processes() == []
    (tmp_path / "b.usda").write_text("#usda 1.0\n(")
    with pytest.raises(FileError, match=r"b\.usda: "):
        read_usd(tmp_path / "b.usda")
    assert processes() == []


def test_a_file_that_was_written_again(tmp_path):
    """An animation shows the file as it was when it was read; one that is read later shows what is there then."""
    path, heights, animations = tmp_path / "a.usda", (0, 5), []
    for height in heights:
        path.write_text(raised(height))
        animations.append(read_usd(path))
    package = tmp_path / "a.usdz"
    for height in heights:
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("a.usda", raised(height))
        assert read_usd(package).actors[0].mesh(0)[0][0, 2] == height
    assert [animation.actors[0].mesh(1)[0][0, 2] for animation in animations] == [height + 1 for height in heights]


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    for name in ("pxr", "h5py"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    (tmp_path / "a.usda").write_text(MESH)
    path = series(tmp_path / "a.xdmf")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"usd-core: pip install 'pliant\[usd\]'"):
        read_usd(tmp_path / "a.usda")
    with pytest.raises(ImportError, match=r"h5py: pip install 'pliant\[vtk\]'"):
        read_xdmf(path)
