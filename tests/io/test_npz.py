"""NPZ archives: every frame as it was saved, stored or compressed, in any order and by several threads; memory of a frame."""

import io
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pliant.errors import FileError
from pliant.io import archive, npz
from pliant.io.animation import Settings
from pliant.io.npz import read_npz

FACES = np.array([[0, 1, 2], [2, 1, 3]])
FRAMES = np.random.default_rng(1).normal(size=(7, 4, 3))
SAVES = {"stored": np.savez, "compressed": np.savez_compressed}


@pytest.fixture(params=SAVES)
def save(request):
    return SAVES[request.param]


@pytest.fixture
def written(tmp_path, save):
    def write(**arrays):
        save(tmp_path / "some.npz", **arrays)
        return read_npz(tmp_path / "some.npz", Settings())

    return write


@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4", ">f4", "<f2", "<i4", ">u2"])
def test_frames_of_every_kind_of_number(written, kind):
    frames = (np.abs(FRAMES) * 100).astype(kind)
    found = written(faces=FACES.astype(np.uint8), vertices=frames, rate=24)
    assert (found.name, found.frames, found.rate, found.notes) == ("some", 7, 24, ())
    (actor,) = found.actors
    for k in (0, 1, 5, 2, 6, 6, 0, 99):
        vertices, faces = actor.mesh(k)
        assert vertices.dtype == np.float64 and np.array_equal(vertices, frames[min(k, 6)].astype(np.float64))
        assert faces is actor.mesh(3)[1] and faces.tolist() == FACES.tolist()


def test_several_bodies_by_name(written):
    found = written(faces=FACES, frames=FRAMES, faces_b=FACES[:1], vertices_b=FRAMES[0], faces_the_end=FACES, vertices_the_end=FRAMES[:3],
                    normals=FRAMES)  # fmt: skip
    assert [(actor.name, actor.frames) for actor in found.actors] == [("some", 7), ("b", 1), ("the_end", 3)]
    assert found.frames == 7 and found.notes == ("some.npz: normals left out",)
    assert np.array_equal(found.actors[1].mesh(5)[0], FRAMES[0])
    assert np.array_equal(found.actors[2].mesh(5)[0], FRAMES[2])


def test_one_frame_in_fortran_order(written):
    found = written(faces=np.asfortranarray(FACES), vertices=np.asfortranarray(FRAMES[0]))
    assert np.array_equal(found.actors[0].mesh(0)[0], FRAMES[0])
    assert found.actors[0].mesh(0)[1].tolist() == FACES.tolist()


def test_threads_ask_for_frames_in_any_order(written):
    frames = np.random.default_rng(2).normal(size=(40, 300, 3))
    actor = written(faces=FACES, vertices=frames).actors[0]
    asked = np.random.default_rng(3).permutation(np.repeat(np.arange(40), 5)).tolist()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: actor.mesh(k)[0], asked))
    assert all(np.array_equal(rows, frames[k]) for k, rows in zip(asked, found, strict=True))


def test_memory_does_not_grow_with_frames(tmp_path, save):
    frames = np.random.default_rng(2).normal(size=(30, 20_000, 3))  # 0.5 MB a frame
    save(tmp_path / "long.npz", faces=FACES, vertices=frames)
    tracemalloc.start()
    actor = read_npz(tmp_path / "long.npz", Settings()).actors[0]
    assert all(actor.mesh(k)[0][-1, -1] == frames[k, -1, -1] for k in range(30))
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()


def test_bodies_move_with_the_frames(written):
    actor = written(faces=FACES, vertices=FRAMES).actors[0]
    body = actor.at(4)
    assert np.array_equal(body.vertices, FRAMES[4])
    assert actor.at(5, body) is body and np.array_equal(body.vertices, FRAMES[5])


BAD = {
    "no faces": ({"vertices": FRAMES}, "holds vertices without faces"),
    "nothing": ({"other": FRAMES}, "holds no faces"),
    "no vertices": ({"faces": FACES}, "vertices and frames neither"),
    "both": ({"faces": FACES, "vertices": FRAMES, "frames": FRAMES}, "vertices and frames"),
    "alone": ({"faces": FACES, "vertices": FRAMES, "vertices_b": FRAMES}, "vertices_b without faces"),
    "float faces": ({"faces": FACES * 1.0, "vertices": FRAMES}, "faces: expected whole numbers"),
    "flat faces": ({"faces": FACES[0], "vertices": FRAMES}, "faces: expected whole numbers"),
    "out of range": ({"faces": FACES + 1, "vertices": FRAMES}, "triangle 1 has the corners"),
    "unsigned": ({"faces": np.full((1, 3), 2**63, np.uint64), "vertices": FRAMES}, "triangle 0 has the corners"),
    "complex": ({"faces": FACES, "vertices": FRAMES * 1j}, "vertices: expected real numbers"),
    "two numbers": ({"faces": FACES, "vertices": FRAMES[..., :2]}, "vertices: expected real numbers"),
    "no frames": ({"faces": FACES, "vertices": FRAMES[:0]}, "has no frames"),
    "fortran": ({"faces": FACES, "vertices": np.asfortranarray(FRAMES)}, "Fortran order"),
    "text": ({"faces": FACES, "vertices": np.array(["a"])}, "vertices: expected real numbers"),
    "rate": ({"faces": FACES, "vertices": FRAMES, "rate": np.nan}, "rate: expected a number"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_in_a_line(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(FileError, match=rf"bad\.npz: .*{message}"):
        read_npz(tmp_path / "bad.npz", Settings())


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "bad.npz", faces=FACES, vertices=np.array([{}]), allow_pickle=True)
    with pytest.raises(FileError, match="vertices: is an array of object"):
        read_npz(tmp_path / "bad.npz", Settings())


def test_a_number_that_is_none_is_named(written):
    frames = FRAMES.copy()
    frames[3, 2, 1] = np.inf
    actor = written(faces=FACES, vertices=frames).actors[0]
    body = actor.at(2)
    with pytest.raises(FileError, match=r"some\.npz: some, frame 3: vertices: row 2 is .*not finite"):
        actor.at(3, body)
    assert np.array_equal(body.vertices, frames[2])


def member(shape, data=b"", kind="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def packed(path, compression=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


@pytest.mark.parametrize("shape", [(10**6, 10**6, 3), (2**62, 4, 3), (8, 4, 3), (-1, 4, 3)])
def test_shapes_are_compared_with_what_is_there(tmp_path, shape):
    path = packed(tmp_path / "bad.npz", faces=member((1, 3), bytes(24), "<i8"), vertices=member(shape, FRAMES.tobytes()))
    with pytest.raises(FileError, match=r"vertices: (announces|is an array)"):
        read_npz(path, Settings())


def test_what_unfolds_too_far_is_refused(tmp_path, monkeypatch):
    zeros = member((30 * 2**20 // 24, 3), bytes(30 * 2**20 // 24 * 24), "<i8")
    path = packed(tmp_path / "bomb.npz", zipfile.ZIP_DEFLATED, faces=zeros, vertices=member((1, 3), bytes(24)))
    monkeypatch.setattr(archive, "RATIO_EXEMPT_BYTES", 2**20)
    with pytest.raises(FileError, match=r"bomb\.npz: faces: announces 31,4"):
        read_npz(path, Settings())
    monkeypatch.setattr(archive, "MAX_RATIO", 2000)
    monkeypatch.setattr(archive, "MAX_INFLATED", 2**20)
    with pytest.raises(FileError, match="unfolds to 31,4"):
        read_npz(path, Settings())
    monkeypatch.setattr(archive, "MAX_INFLATED", 2**30)
    monkeypatch.setattr(archive, "MAX_MEMORY", 2**20)
    with pytest.raises(FileError, match="holds faces of 31,4"):
        read_npz(path, Settings())


def test_small_numbers_count_as_what_they_become(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "RATIO_EXEMPT_BYTES", 2**16)
    zeros, triangle = member((2**12, 3), bytes(2**12 * 3), "|i1"), member((1, 3), bytes(3), "|i1")
    path = packed(tmp_path / "faces.npz", zipfile.ZIP_DEFLATED, faces=zeros, vertices=member((1, 3), bytes(24)))
    with pytest.raises(FileError, match=r"faces\.npz: holds faces of 98,304 bytes in all, of which at most 65,536"):
        read_npz(path, Settings())
    path = packed(tmp_path / "vertices.npz", zipfile.ZIP_DEFLATED, faces=triangle, vertices=zeros)
    with pytest.raises(FileError, match=r"vertices\.npz: vertices: takes 98,304 bytes in memory, of which at most 65,536"):
        read_npz(path, Settings()).actors[0].mesh(0)


def test_faces_of_all_bodies_count_together(tmp_path, monkeypatch):
    faces = {f"faces_{k}": member((1000, 3), bytes(24_000), "<i8") for k in range(3)}
    path = packed(tmp_path / "some.npz", zipfile.ZIP_DEFLATED, **faces, **{f"vertices_{k}": member((1, 3), bytes(24)) for k in range(3)})
    assert len(read_npz(path, Settings()).actors) == 3
    monkeypatch.setattr(archive, "MAX_MEMORY", 50_000)
    with pytest.raises(FileError, match="holds faces of 72,000 bytes in all"):
        read_npz(path, Settings())


def test_too_many_bodies_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "MAX_BODIES", 2)
    path = tmp_path / "many.npz"
    np.savez(path, **{f"{what}_{k}": rows for k in range(3) for what, rows in (("faces", FACES), ("vertices", FRAMES))})
    with pytest.raises(FileError, match="holds 3 bodies, at most 2 are read"):
        read_npz(path, Settings())


def test_only_members_that_are_being_unfolded_keep_what_unfolds_them(tmp_path):
    np.savez_compressed(tmp_path / "some.npz", faces=FACES, vertices=np.random.default_rng(6).normal(size=(4, 9000, 3)))
    with zipfile.ZipFile(tmp_path / "some.npz") as file:
        faces, vertices = (archive.Member(tmp_path / "some.npz", file.getinfo(f"{name}.npy")) for name in ("faces", "vertices"))
    faces.read_all()
    kept = [faces._thread_local.place, vertices._thread_local.place]
    for frame in range(4):
        vertices.frame(frame)
        kept.append(vertices._thread_local.place)
    assert [place is not None for place in kept] == [False, False, True, True, True, False]


def test_an_endless_list_of_members_is_refused(tmp_path, monkeypatch):
    path = packed(tmp_path / "many.npz", **{f"x{k}": b"" for k in range(3000)})
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 70_000)
    with pytest.raises(FileError, match="a list of members"):
        read_npz(path, Settings())


def test_other_compressions_are_refused(tmp_path):
    path = packed(tmp_path / "other.npz", zipfile.ZIP_LZMA, faces=member((1, 3), bytes(24), "<i8"), vertices=member((1, 3), bytes(24)))
    with pytest.raises(FileError, match="faces: is encrypted, or compressed in another way"):
        read_npz(path, Settings())


def test_faces_are_compared_with_their_checksum(tmp_path, save):
    path = tmp_path / "damaged.npz"
    save(path, faces=FACES, vertices=FRAMES)
    with zipfile.ZipFile(path) as file:
        place = file.getinfo("faces.npy")
    content = bytearray(path.read_bytes())
    found = content.index(b"PK\1\2", place.header_offset)  # in the list of members, the first of which it is
    content[found + 16] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"damaged\.npz: faces: is damaged: its checksum"):
        read_npz(path, Settings())


def test_arrays_may_be_written_to(tmp_path, save):
    save(tmp_path / "some.npz", faces=FACES, vertices=FRAMES)
    found = archive.members(tmp_path / "some.npz")
    faces, vertices = (archive.Member(tmp_path / "some.npz", found[name]) for name in ("faces", "vertices"))
    assert all(array.flags.writeable and array.flags.aligned for array in (faces.read_all(), vertices.read_all(), vertices.frame(3)))
    assert np.array_equal(vertices.read_all(), FRAMES)


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path, save):
    path = tmp_path / "cut.npz"
    save(path, faces=FACES, vertices=np.random.default_rng(5).normal(size=(9, 4000, 3)))
    actor = read_npz(path, Settings()).actors[0]
    with path.open("r+b") as file:
        file.truncate(200_000)
    with pytest.raises(FileError, match=r"cut\.npz: vertices: ends before"):
        actor.mesh(8)
