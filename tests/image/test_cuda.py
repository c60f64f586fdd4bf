"""The image engine on CUDA gives the pairs of the exact reference and of the CPU, whatever the arrays, and is none the worse for a query
that failed. In the simulator a query takes a second: few cases there, and more on a GPU."""

import threading
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import pliant as pl
from capsules import Interfaced, exported
from pliant import shapes
from pliant.core import device
from pliant.core.device import require_cuda
from pliant.image.api import query
from pliant.image.kernel_args import N_LARGE_FACES
from pliant.image.options import MODES, CheckedOptions
from trials import often

pytestmark = pytest.mark.cuda

SIZE = 8 if numba.config.ENABLE_CUDASIM else 64
SHARE, FEW = (0.0, 0.0) if numba.config.ENABLE_CUDASIM else (0.02, 2.0)  # by which counters may differ: a GPU rounds less often
COUNTERS = "size", "depth", "passes", "fragments", "rays", "packed", "met", "tests", "found", "missed"
SEEDS = st.integers(0, 2**32 - 1)


def soup(seed, faces=10, side=1.0):
    """Triangles without common vertices."""
    rng = np.random.default_rng(seed)
    return rng.random((3 * faces, 3)) * side, np.arange(3 * faces, dtype=np.int32).reshape(-1, 3)


def lattice(seed, faces=12):
    """Faces over a few points with small whole numbers: they touch, lie in one plane, share vertices, are segments and points."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (10, 3)).astype(float), rng.integers(0, 10, (faces, 3)).astype(np.int32)


def ball(seed, centre):
    """A closed surface of 20 faces, bent a little."""
    rows, faces = shapes.icosphere(0)
    return rows + 0.1 * np.random.default_rng(seed).random(rows.shape) + centre, faces


def ask(*meshes, where="cuda", **options):
    query = pl.collide if len(meshes) == 2 else pl.self_collide
    return query(*meshes, engine="image", device=where, **{"resolution": SIZE} | options)


def right(*meshes, adjacent="exact"):
    if len(meshes) == 2:
        return naive.collide(*meshes[0], *meshes[1])
    return naive.self_collide(*meshes[0], adjacent=adjacent)


def alike(*meshes, counters=True, **options):
    """The answer of the GPU, which is that of the CPU, and came about in the same way."""
    found, expected = ask(*meshes, **options), ask(*meshes, where="cpu", **options)
    np.testing.assert_array_equal(found.faces, expected.faces)
    if counters and found.image.size == expected.image.size:            # finer screens pay where more threads are
        work = [[getattr(image, name) for name in COUNTERS] for image in (found.image, expected.image)]
        assert work[0] == pytest.approx(work[1], rel=SHARE, abs=FEW)
        assert found.image.direction == expected.image.direction
    return found


def sent(mesh, vertices=np.float64, faces=np.int32):
    """The same mesh on the GPU."""
    return require_cuda().to_device(mesh[0].astype(vertices)), require_cuda().to_device(mesh[1].astype(faces))


@pytest.fixture
def room():
    """The memory of the engine, as a new one."""
    from pliant.image.cuda import buffers_of
    found = buffers_of(0)
    found.clear()
    return found


# --- answers -----------------------------------------------------------------------------------------------------------------

@given(SEEDS)
@often(200, share=100, least=2)
def test_soups(seed):
    a, b = soup(seed), soup(seed + 1)
    found = alike(a, b)
    np.testing.assert_array_equal(found.faces, right(a, b))
    assert found.faces.dtype == np.int32 and found.image.sent > 0 and found.image.missed == 0


@given(SEEDS, st.sampled_from(["exact", "ignore"]))
@often(200, share=100, least=2)
def test_points_of_a_lattice_with_themselves(seed, adjacent):
    """Of two faces with common vertices those count that meet in more, or none."""
    mesh = lattice(seed)
    found = alike(mesh, counters=False, adjacent=adjacent)
    np.testing.assert_array_equal(found.faces, right(mesh, adjacent=adjacent))


FOLDED = (np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0], [1, 1, 0], [1, 1, 1], [1, 0.5, 0]], float),
          np.array([[0, 1, 2], [0, 2, 3], [0, 1, 4], [2, 1, 0], [6, 4, 4], [4, 4, 6], [3, 4, 5], [1, 1, 1]], np.int32))


@pytest.mark.parametrize(("adjacent", "scale", "count"), [("exact", 1.0, 15), ("ignore", 1.0, 8), ("exact", 1e-300, 15)])
def test_neighbours(adjacent, scale, count):
    """A fan folded onto itself: faces share a vertex, an edge, all three, and faces name a vertex twice. Beyond the range of the filters
    a pair is unresolved at each of the vertices it shares, and found once."""
    mesh = scale * FOLDED[0], FOLDED[1]
    found = ask(mesh, adjacent=adjacent)
    np.testing.assert_array_equal(found.faces, right(mesh, adjacent=adjacent))
    assert len(found) == count and found.stats.n_exact > 0


def test_points_of_a_lattice():
    a, b = lattice(5), lattice(6)
    found = alike(a, b, counters=False)
    expected = right(a, b)
    np.testing.assert_array_equal(found.faces, expected)
    assert len(expected) > 5 and found.stats.n_exact > 0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_beyond_the_filters(scale):
    """All pairs are left unresolved by the GPU, and settled on the host."""
    a, b = soup(8, 5, scale), soup(9, 5, scale)
    found = ask(a, b)
    expected = right(a, b)
    np.testing.assert_array_equal(found.faces, expected)
    assert found.stats.n_exact == found.image.tests >= len(expected) > 3


SAMPLED = {"closed": ({}, 0.9, True), "dropped": ({"passes": 1, "rest": "drop"}, 0.9, False), "apart": ({}, 1.35, False),
           "marked": ({"passes": 1, "rest": "mark"}, 0.9, True), "as if open": ({"closed": False}, 0.9, True)}


@pytest.mark.parametrize(("options", "x", "finds"), SAMPLED.values(), ids=SAMPLED)
def test_rays_are_those_of_the_cpu(options, x, finds):
    """Balls that overlap, or of which the boxes alone do. Four surfaces are on a ray: a pass from both ends leaves two."""
    found = alike(ball(1, [0.0, 0.0, 0.0]), ball(2, [x, 0.2 * x, x]), mode="sampled", **options)
    assert (found.image.rays > 0) == (len(found) > 0) == finds
    assert found.image.passes == (1 if "passes" in options or x > 1 else 2)


def test_open_surfaces_are_sampled():
    """Small ones, of one part, along a direction that was given, so few rays that some pairs are likely to be missed. Neighbours do not
    count in that estimate."""
    rng, apart = np.random.default_rng(0), np.arange(24, dtype=np.int32).reshape(-1, 3)
    rows = np.repeat(rng.random((8, 3)), 3, axis=0) + 0.35 * rng.random((24, 3))
    mesh = rows, np.concatenate([apart, apart[:4, ::-1], np.stack([apart[:4, 0], apart[1:5, 1], apart[2:6, 2]], axis=1)])
    found = alike(mesh, mode="sampled", direction=[1.0, -2.0, 0.5], resolution=8, passes=1, rest="drop")
    assert found.image.rays > 0 and found.image.passes == 1 and found.image.missed > 1 and len(found) == 13
    assert np.allclose(found.image.direction, np.array([1.0, -2.0, 0.5]) / np.sqrt(5.25))


def test_undecided_pairs_count_in_the_estimate():
    """Of 23 pairs, most of which touch, few are decided on a GPU; many more may have been missed."""
    found = alike(lattice(47), mode="sampled", adjacent="ignore", resolution=8, passes=1, rest="drop", counters=device.is_simulated())
    assert len(found) == 23 and found.stats.n_exact > 5 and found.image.missed > 1


def test_large_faces(room):
    """Blocks take them row by row: one of them covers the whole screen, another is seen from the side."""
    wide, faces = np.array([[-2, -2, 0.2], [3, -2, 0.2], [0, 4, 0.3]], float), np.arange(15).reshape(5, 3)
    a = np.concatenate([wide, soup(4, 4, 0.5)[0]]), faces
    b = np.concatenate([wide[:, [1, 2, 0]] + 0.01, soup(5, 4, 0.5)[0]]), faces
    found = [alike(a, b, mode=mode, direction=[0, 0, 1], resolution=24) for mode in MODES]
    assert room.host_counters[N_LARGE_FACES] == 1
    np.testing.assert_array_equal(found[0].faces, right(a, b))
    assert len(found[0]) > 3 and len(found[1]) > 3


# --- what comes in and goes out ----------------------------------------------------------------------------------------------

def test_arrays_of_the_device():
    """float32 and int64, from Numba and from others; pairs stay there."""
    a, b = soup(1), soup(2)
    expected = right((np.float32(a[0]), a[1]), b)
    there = sent(a, np.float32, np.int64)
    found = pl.collide((exported(there[0]), Interfaced(there[1])), sent(b), engine="image", resolution=SIZE, out="device")
    assert device.is_device_array(found.faces) and found.faces.dtype == np.int32
    np.testing.assert_array_equal(found.faces.copy_to_host(), expected)
    assert len(found) == found.image.found == len(expected) > 5


def test_contacts():
    a, b = soup(1), ball(2, [0.3, 0.0, 0.0])
    found, expected = ask(sent(a), sent(b), contacts=True), pl.collide(pl.Body(*a), pl.Body(*b), contacts=True)
    assert len(expected) > 5
    for name in ("faces", "segments", "normals", "depths", "coplanar", "push_directions"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_bodies_and_the_first_pair():
    """Where a body is now, and not where it was."""
    a, b = pl.Body(*soup(1)), pl.Body.rigid(*soup(2))
    b.update(np.array([[0, -1, 0, 1.0], [1, 0, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]]))
    found, expected = ask(a, b, first=True), right((a.vertices, a.faces), (b.vertices, b.faces))
    assert len(found) == found.image.found == 1 and found.faces[0].tolist() in expected.tolist()


def test_nothing_to_find():
    """No faces, no vertices, or boxes apart: no pass is run."""
    a, empty = soup(1, 3), (np.empty((0, 3)), np.empty((0, 3), np.int32))
    apart = a[0] + [0.0, 3.0, 0.0], a[1]
    for meshes in ((a, empty), (empty, a), (empty,), ((a[0], empty[1]),), (a, apart)):
        for parts in (meshes, [sent(mesh) for mesh in meshes]):
            found = ask(*parts, out="device", contacts=True)
            assert found.faces.shape == (0, 2) and len(found.depths) == 0 and found.image.rays == found.image.tests == 0
    kept = ask(a)
    np.testing.assert_array_equal(kept.faces, right(a))


def test_a_clock():
    """Launched one by one, passes give the same answer, and take their time."""
    a, b = soup(1), soup(2)
    found = query({"a": a, "b": b}, False, False, True, CheckedOptions(SIZE, device="cuda"), timed=True)
    np.testing.assert_array_equal(found.faces, right(a, b))
    assert min(found.image.seconds) > 0


# --- too little room, and what fails -----------------------------------------------------------------------------------------

@pytest.fixture
def launches(monkeypatch):
    """How many fragments, places, keys and unresolved pairs there was room for, launch by launch; in the beginning for one of each."""
    from pliant.image.cuda import CudaEngine
    noted, look_through, launch = [], CudaEngine.set_viewport, CudaEngine.launch

    def look(self, *args):
        look_through(self, *args)
        self.buffers.max_pairs = self.buffers.max_unresolved = self.buffers.fragments = self.buffers.max_entries = 1

    def note(self, *args):
        noted.append((self.buffers.fragments, self.buffers.max_entries, self.buffers.max_pairs, self.buffers.max_unresolved))
        launch(self, *args)

    monkeypatch.setattr(CudaEngine, "set_viewport", look)
    monkeypatch.setattr(CudaEngine, "launch", note)
    return noted


def test_room_grows(room, launches):
    """Passes are run again until all has room: the answer is the same, each pair once."""
    mesh = lattice(11, 14)
    np.testing.assert_array_equal(ask(mesh, resolution=6).faces, right(mesh))
    assert len(launches) > 2
    assert all(x > 1 for x in launches[-1])
    assert all(x <= y for one, other in pairwise(launches) for x, y in zip(one, other, strict=True))


def test_more_keys_than_come_at_once(room, monkeypatch):
    a, b = soup(1), soup(2)
    monkeypatch.setattr(room, "out", require_cuda().mapped_array(4, np.int64))
    np.testing.assert_array_equal(ask(a, b).faces, right(a, b))
    assert len(right(a, b)) > 4


BAD = [(0, 4, [0.0, np.nan, 1.0]), (0, 29, [np.inf, 0.0, 0.0]), (1, 3, [0, 30, 1]), (1, 9, [-1, 0, 1])]


@pytest.mark.parametrize(("which", "row", "value"), BAD)
def test_bad_rows_are_refused_as_on_the_host(which, row, value):
    a, b = soup(2), soup(1)
    b[which][row] = value
    said = []
    for meshes in ((a, b), (sent(a), sent(b))):
        with pytest.raises(pl.MeshError) as found:
            ask(*meshes)
        said.append(str(found.value))
    assert said[0] == said[1] and said[0].startswith(f"b.{('vertices', 'faces')[which]}: row {row} is {value}")


def test_after_a_failure(room, monkeypatch):
    """Bad rows, and more memory than there is: the next query is as good as any, and asks for no more than it needs."""
    from pliant.image.cuda import INITIAL_CAPACITY
    a, b = soup(1), soup(2)
    with pytest.raises(pl.MeshError):
        ask(sent((np.nan * a[0], a[1])), sent(b))
    make, wanted = require_cuda().device_array, []

    def full(size, dtype):
        wanted.append(size)
        if np.prod(size) > 4000:
            raise RuntimeError("[CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return make(size, dtype)

    with monkeypatch.context() as patch:
        patch.setattr(require_cuda(), "device_array", full)
        with pytest.raises(pl.DeviceMemoryError, match=r"of memory on the GPU are needed, .*; a lower resolution or fewer faces need less"):
            ask(a, b, resolution=500)
    assert max(map(np.prod, wanted)) > 4000
    assert room.fragments == room.max_pairs == room.max_unresolved == room.max_entries == INITIAL_CAPACITY
    np.testing.assert_array_equal(ask(a, b).faces, right(a, b))


def test_threads_wait_for_each_other():
    meshes, found = [(soup(k, 4), soup(k + 1, 4)) for k in (1, 5)], {}
    threads = [threading.Thread(target=lambda k=k, two=two: found.update({k: ask(*two)})) for k, two in enumerate(meshes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, two in enumerate(meshes):
        np.testing.assert_array_equal(found[k].faces, right(*two))


def test_two_places_are_refused():
    a, b = soup(1), soup(2)
    with pytest.raises(pl.DeviceError, match=r"a\.vertices is on GPU 0, but b\.vertices is on the host"):
        ask(sent(a), b)
    with pytest.raises(pl.DeviceError, match=r"a\.vertices is on GPU 0, but a\.faces is on the host"):
        ask((sent(a)[0], a[1]), sent(b))
    with pytest.raises(pl.DeviceError, match=r"a\.vertices is on GPU 0, but b is on the host"):
        ask(sent(a), pl.Body(*b))
    with pytest.raises(pl.DeviceError, match=r'"cpu" was asked for, but a\.vertices is on GPU 0'):
        ask(sent(a), sent(b), where="cpu")
    with pytest.raises(pl.DeviceError, match="the work is done on the host"):
        ask(a, b, where="cpu", out="device")
    with pytest.raises(TypeError, match="this array is on a GPU"):
        pl.Body(*sent(a))
