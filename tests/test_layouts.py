"""Any layout of the same numbers gives the same answer, to the bit; nothing is written to, and nothing is compiled for it."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from integer_spheres import FACES, MOVED, OTHER, SPHERE, answer, signatures
from pliant.core import jit


def strided(array):
    room = np.full((2 * len(array), 7), 99, array.dtype)
    room[1::2, ::3] = array
    return room[1::2, ::3]


def backwards(array):
    return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    room = np.zeros(array.nbytes + 1, np.uint8)
    odd = room[1 if room.ctypes.data % 2 == 0 else 0:][:array.nbytes].view(array.dtype).reshape(array.shape)
    odd[:] = array
    assert not odd.flags.aligned
    return odd


class Contrary(np.ndarray):
    """A subclass that, like np.matrix, gives other results for the same expressions."""

    def __getitem__(self, key):
        return np.atleast_2d(super().__getitem__(key))

    def __array_ufunc__(self, *_, **__):
        raise AssertionError("computed with")


class Wrapped:
    """Only `__array__`."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


class Exchanged:
    """Only DLPack, as other array libraries offer it."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


VIEWS = {
    "as it is": lambda a: a,
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())),
    "list of rows": list,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": backwards,
    "read-only": read_only,
    "unaligned": unaligned,
    "one row after another, as bytes": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "subclass": lambda a: a.view(Contrary),
    "__array__": Wrapped,
    "DLPack": Exchanged,
    "buffer": lambda a: memoryview(np.ascontiguousarray(a)),
}
REALS = ["f2", "f4", "f8", ">f2", ">f4", ">f8", "i1", "i2", "i4", "i8", ">i2", ">i8"]
INDICES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u8"]


def bytes_behind(value):
    """All bytes of the array and, if it is a view, of what it is a view of."""
    value = getattr(value, "array", value)
    array = np.asarray(value)
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.tobytes()


def expect_the_same(vertices, faces, moved):
    """Bodies made and moved by plain arrays and by these answer alike; these are not written to; no kernel is compiled."""
    b = pl.Body(OTHER, FACES)
    plain = pl.Body(SPHERE, FACES)
    expected = [answer(plain, b)]
    plain.update(MOVED)
    expected.append(answer(plain, b))
    assert len(set(expected)) == 2 and len(pl.collide(plain, b)) > 20

    before = [bytes_behind(each) for each in (vertices, faces, moved)]
    compiled = signatures()
    body = pl.Body(vertices, faces)
    assert answer(body, b) == expected[0]
    for copy in (True, False):
        body.update(moved, copy=copy)
        assert answer(body, b) == expected[1]
        body.update(vertices, copy=copy)
        assert answer(body, b) == expected[0]
    assert signatures() == compiled > 0
    assert [bytes_behind(each) for each in (vertices, faces, moved)] == before


pytestmark = pytest.mark.skipif(jit.DISABLED, reason="counts what is compiled")


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_layouts(view):
    expect_the_same(view(SPHERE), view(FACES), view(MOVED))


@pytest.mark.parametrize("kind", REALS)
def test_dtypes_of_vertices(kind):
    expect_the_same(SPHERE.astype(kind), FACES, MOVED.astype(kind))
    expect_the_same(strided(SPHERE.astype(kind)), FACES, read_only(MOVED.astype(kind)))


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", ">u4"])
def test_unsigned_vertices(kind):
    shift = (50.0, 50.0, 60.0)
    b = pl.Body(OTHER + shift, FACES)
    expected = answer(pl.Body(SPHERE + shift, FACES), b)
    compiled = signatures()
    assert answer(pl.Body((SPHERE + shift).astype(kind), FACES), b) == expected
    assert signatures() == compiled


@pytest.mark.parametrize("kind", INDICES)
def test_dtypes_of_faces(kind):
    expect_the_same(SPHERE, FACES.astype(kind), MOVED)
    expect_the_same(SPHERE, backwards(FACES.astype(kind)), MOVED)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_memory_mapped_files(mode, tmp_path):
    mapped = []
    for name, array in (("vertices", SPHERE), ("faces", FACES), ("moved", MOVED)):
        np.save(tmp_path / f"{name}.npy", array)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode=mode))
    files = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    expect_the_same(*mapped)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == files


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices():
    expect_the_same(np.asmatrix(SPHERE), np.asmatrix(FACES), np.asmatrix(MOVED))


@pytest.mark.parametrize("names", [("vertices", "faces"), ("vertices", "triangles")], ids=" and ".join)
def test_objects_with_named_parts(names):
    b = pl.Body(OTHER, FACES)
    mesh = SimpleNamespace(**dict(zip(names, (strided(SPHERE), FACES.astype(">i8")), strict=True)))
    assert answer(pl.Body(mesh), b) == answer(pl.Body(SPHERE, FACES), b)


def test_faces_win_over_triangles():
    """Some libraries call the corner positions triangles."""
    mesh = SimpleNamespace(vertices=SPHERE, faces=FACES, triangles=SPHERE[FACES])
    b = pl.Body(OTHER, FACES)
    assert answer(pl.Body(mesh), b) == answer(pl.Body(SPHERE, FACES), b)


def test_largest_whole_numbers_are_exact():
    rows = np.array([[2**53, 0, 0], [0, -(2**53), 0], [0, 0, 2**53 - 1]])
    for given in (rows, rows.astype(">i8"), rows.tolist()):
        assert pl.Body(given, [[0, 1, 2]]).vertices.tolist() == rows.tolist()


def test_a_body_keeps_no_hold_of_what_it_was_given():
    vertices, faces = SPHERE.copy(), FACES.copy()
    a, b = pl.Body(vertices, faces), pl.Body(OTHER, FACES)
    before = answer(a, b)
    vertices += 1000.0
    faces[:] = 0
    assert answer(a, b) == before
    vertices[:] = MOVED
    a.update(vertices)
    vertices[:] = np.nan
    assert answer(a, b) == answer(pl.Body(MOVED, FACES), b)


def test_what_a_body_shows_cannot_change_it():
    a, b = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    before = answer(a, b)
    a.vertices[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        a.faces[0] = 0
    with pytest.raises(AttributeError):
        a.vertices = OTHER
    assert answer(a, b) == before


def test_a_borrowed_array_is_read_in_place():
    """The promise of copy=False: the next update may pass the same array, changed."""
    mine = MOVED.copy()
    a, b = pl.Body(SPHERE, FACES), pl.Body(OTHER, FACES)
    for rows in (MOVED, SPHERE, MOVED + 2.0):
        mine[:] = rows
        a.update(mine, copy=False)
        assert answer(a, b) == answer(pl.Body(rows, FACES), b)
        assert mine.tobytes() == rows.tobytes()
    a.update(SPHERE)
    mine[:] = np.nan
    assert answer(a, b) == answer(pl.Body(SPHERE, FACES), b)
