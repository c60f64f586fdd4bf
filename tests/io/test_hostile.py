"""Files that were made to hurt, or were damaged: every one gives a sound animation or a `FileError`, soon, in little memory.

Damage is found by search: bytes of good files are changed, cut off, repeated; numbers of headers are replaced by huge ones. The worst are
read in a process of their own, whose memory is limited.
"""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mesh_files
from mesh_files import CUBE, FACES
from pliant.errors import FileError
from pliant.io.read import read
from trials import often

FRAMES = np.stack([CUBE, CUBE + 0.25, CUBE + 0.5])


def npz(save, **more):
    file = io.BytesIO()
    save(file, faces=np.array(FACES), vertices=FRAMES, **more)
    return file.getvalue()


GOOD = {
    "text.obj": mesh_files.obj(corner="{}/1/1") + b"o other\nv 5 5 5\nv 6 5 5\nv 5 6 5\nf -1 -2 -3\n",
    "text.off": mesh_files.off(),
    "text.ply": mesh_files.ply(),
    "little.ply": mesh_files.ply(form="binary_little_endian", kind="f8"),
    "big.ply": mesh_files.ply(polygons=[FACES[0], *mesh_files.QUADS[1:]], form="binary_big_endian"),
    "polygons.obj": mesh_files.obj(CUBE, [[0, 1, 3, 7, 6, 4], [0, 4, 5, 7, 3, 2], *mesh_files.QUADS]),
    "strips.ply": mesh_files.ply().replace(b"face 6", b"tristrips 6"),
    "text.stl": mesh_files.stl_text([("a", CUBE, FACES), ("b", CUBE + 3, FACES)]),
    "binary.stl": mesh_files.stl(),
    "some.pc2": mesh_files.pc2(FRAMES),
    "some.mdd": mesh_files.mdd(FRAMES),
    "stored.npz": npz(np.savez, rate=25),
    "compressed.npz": npz(np.savez_compressed, rate=25),
}
NASTY = [b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"PK\1\2", b"nan", b"-1", b"1e999",
         b"9" * 17, b"0" * 40, b"e", b"-", b"\n", b" ", b"/", b"\\\n", b"#", b"\0\0\xc0\x7f", b"\x7f\x80\0\0"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


def is_sound_or_refused(folder, name, content):
    """Read the file and make the bodies of its first frame and its last; a point cache moves a good mesh."""
    path = folder / name
    path.write_bytes(content)
    paths = [path]
    if path.suffix in (".pc2", ".mdd"):
        mesh = folder / "mesh.obj"
        mesh.write_bytes(mesh_files.obj())
        paths.insert(0, mesh)
    try:
        found = read(paths)
        assert found.actors and found.frames == max(actor.frames for actor in found.actors) and 0 < found.rate < np.inf
        for actor in found.actors:
            for frame in {0, found.frames - 1}:
                body = actor.at(frame)
                assert np.isfinite(body.vertices).all() and len(body)
    except FileError as error:
        assert str(error).startswith(str(folder)) and "\n" not in str(error) and len(str(error)) < 600
        return False
    return True


@pytest.mark.parametrize(("name", "content"), GOOD.items(), ids=GOOD)
def test_the_good_ones_are_sound(folder, name, content):
    assert is_sound_or_refused(folder, name, content)


@pytest.mark.parametrize("name", GOOD)
@often(100)
@given(data=st.data())
def test_bytes_that_are_changed(folder, name, data):
    content = bytearray(GOOD[name])
    early = st.integers(0, min(len(content), 400) - 1)  # headers
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(early | st.integers(0, max(len(content) - 1, 0)))
        match data.draw(st.sampled_from(["flip", "put", "insert", "remove"])):
            case "flip" if place < len(content):
                content[place] ^= 1 << data.draw(st.integers(0, 7))
            case "put":
                piece = data.draw(st.sampled_from(NASTY))
                content[place : place + len(piece)] = piece
            case "insert":
                content[place:place] = data.draw(st.sampled_from(NASTY) | st.binary(max_size=8))
            case _:
                del content[place : place + data.draw(st.integers(1, 30))]
    is_sound_or_refused(folder, name, bytes(content))


@pytest.mark.parametrize("name", GOOD)
def test_files_that_are_cut_off(folder, name):
    content = GOOD[name]
    for end in {*range(0, min(len(content), 100), 9), *range(0, len(content), max(len(content) // 25, 1))}:
        is_sound_or_refused(folder, name, content[:end])


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"\xff" * 5000, b"\n" * 5000, bytes(range(256)) * 20, b"solid \n" * 900])
def test_other_things_under_a_good_name(folder, name, content):
    assert not is_sound_or_refused(folder, name, content)


def member(shape, data=b"", kind="<i8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def bomb(path):
    """288 MB of zeros in 1.3 MB: faces that are all alike."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("vertices.npy", member((3, 3), bytes(72), "<f8"))
        with archive.open("faces.npy", "w", force_zip64=True) as file:
            file.write(member((18 * 2**24 // 24, 3)))
            for _ in range(18):
                file.write(bytes(1 << 24))


def sparse(path, head, size):
    path.write_bytes(head)
    os.truncate(path, size)


def nasty(folder):
    """Files that announce or hold far more than there is memory for."""
    bomb(folder / "bomb.npz")
    (folder / "many.ply").write_bytes(mesh_files.ply_head("binary_little_endian", 2**40, 2**40))
    (folder / "words.ply").write_bytes(mesh_files.ply_head("ascii", 2**40, 1))
    (folder / "most.stl").write_bytes(mesh_files.stl(count=2**32 - 1))
    (folder / "most.off").write_bytes(b"OFF\n%d %d 0\n" % (2**62, 2**62))
    sparse(folder / "line.obj", b"v 0 0 0\n# ", 1 << 30)
    sparse(folder / "line.off", b"OFF\n# ", 1 << 30)
    sparse(folder / "line.stl", b"solid ", 1 << 30)
    sparse(folder / "line.ply", b"ply\nformat ascii 1.0\ncomment ", 1 << 30)
    sparse(folder / "huge.stl", bytes(80), 1 << 35)
    sparse(folder / "huge.npz", b"PK\3\4", 1 << 33)
    sparse(folder / "unlike.ply", mesh_files.ply_head("binary_little_endian", 0, 2**25) + b"\1", 1 << 30)
    sparse(folder / "faces.ply", mesh_files.ply_head("binary_little_endian", 0, 2**20), 1 << 30)
    (folder / "face.obj").write_bytes(b"v 0 0 0\nf" + b" 1" * 10**6 + b"\n")
    (folder / "turns.obj").write_bytes(b"v 0 0 0\n" + b"f 1 \\\n" * 10**6)
    (folder / "cache.pc2").write_bytes(mesh_files.pc2(FRAMES, 2**31 - 1, 2**31 - 1))
    os.mkfifo(folder / "pipe.obj")
    (folder / "zero.obj").symlink_to("/dev/zero")
    (folder / "loop.obj").symlink_to("loop.obj")
    return sorted(folder.iterdir())


CHILD = """
import resource, sys, time
from pliant.errors import FileError
from pliant.io.read import read
import numpy, trimesh.exchange.stl, scipy.sparse.csgraph
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 31), used + (1 << 31)))
for name in sys.argv[1:]:
    start = time.process_time()
    try:
        read([name])
        said = "accepted"
    except FileError as error:
        said = str(error)
    print(name, round(time.process_time() - start, 2), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, said, sep="\\t")
"""


def test_the_worst_are_refused_soon_and_in_little_memory(tmp_path):
    files = nasty(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", CHILD, *files], env=environment, capture_output=True, text=True, timeout=120, check=True)
    told = [line.split("\t") for line in done.stdout.splitlines()]
    assert [Path(name) for name, *_ in told] == files
    for name, seconds, megabytes, said in told:
        assert said.startswith(name), f"{name}: {said}"
        assert float(seconds) < 5, f"{name} took {seconds} s"
        assert float(megabytes) < 512, f"{name} took {megabytes} MB"
