"""Grids that are updated: other vertices, other faces, what is refused; threads, memory, and what Ctrl-C leaves behind."""

import threading
import time

import numba
import numpy as np
import pytest
from test_uniform_grid import INF, ONE, T, assert_as_body, soup

import meshes
import pliant as pl
from child import assert_stops_soon, start, together
from pliant.core import memory
from pliant.errors import MeshError, TooManyPairsError
from pliant.motion import free
from pliant.query.ray import uniform_grid as kernels
from ray_checks import assert_same, both, some_rays

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))


# --- updates -----------------------------------------------------------------------------------------------------------------------

def test_updates_are_followed():
    rng, n = np.random.default_rng(13), 10 if OFF else 300
    grid = pl.UniformGrid(*soup(n, 1.0, 14))
    for turn in range(3 if OFF else 8):
        vertices = soup(n, 1.0, 15 + turn)[0] * 10.0 ** rng.integers(-3, 4) + rng.uniform(-99, 99, 3)
        grid.update(vertices)
        vertices[:] += turn % 2                                         # it was copied; half of the time the rays are others
        np.testing.assert_array_equal(grid.vertices, vertices - turn % 2)
        assert_as_body(grid, *some_rays(vertices, grid.faces, rng, 4 if OFF else 200))


def test_connectivity_may_change():
    grid, rng = pl.UniformGrid(T, ONE), np.random.default_rng(16)
    for n in (1, 40, 0, 7, 15 if OFF else 700, 3):
        vertices, faces = soup(max(n, 1), 1.0, n)
        grid.update(vertices, faces[:n])
        assert len(grid) == n
        assert_as_body(grid, *some_rays(vertices, faces, rng, 4 if OFF else 100))
        grid.update(vertices + 0.5)                                     # the same faces
        np.testing.assert_array_equal(grid.faces, faces[:n])
        assert_as_body(grid, *some_rays(vertices, faces, rng, 4 if OFF else 100))
        grid.update(vertices.tolist(), faces[:n, ::-1].tolist())
        assert_as_body(grid, *some_rays(vertices, faces, rng, 4 if OFF else 100))


REFUSED = {"another number of vertices": (np.zeros((4, 3)),), "NaN": (T * np.nan,), "infinity": (T - np.array([0, INF, 0]),),
           "two columns": (T[:, :2],), "text": ("abc",), "None": (None,), "faces out of range": (T, [[0, 1, 3]]),
           "faces of floats": (T, [[0.0, 1, 2]]),
           "NaN with faces": (T * np.nan, ONE), "quads": (np.zeros((4, 3)), [[0, 1, 2, 3]])}


@pytest.mark.parametrize("given_", REFUSED.values(), ids=REFUSED.keys())
def test_refused_updates_change_nothing(given_):
    grid = pl.UniformGrid(T, ONE)
    before = pl.cast(grid, [1, 1, -1], [[0, 0, 1]])
    for _ in range(2):
        with pytest.raises((MeshError, TypeError), match=r"vertices|faces"):
            grid.update(*given_)
        np.testing.assert_array_equal(grid.vertices, T)
        assert_same(pl.cast(grid, [1, 1, -1], [[0, 0, 1]]), before)
    if len(given_) < 2:
        with pytest.raises((MeshError, TypeError), match=r"vertices|faces") as refusal:
            pl.UniformGrid(given_[0], [[0, 1, 5]])
        assert str(refusal.value)


WRONG = 0, -1, 1025, 2.0, "8", True, (1, 2), (1, 2, 0), (1, 2, 2.5), (1024, 1024, 1024), np.zeros((3, 3), int)


@pytest.mark.parametrize("cells", WRONG, ids=str)
def test_bad_cells_are_refused(cells):
    with pytest.raises((TypeError, ValueError), match="cells"):
        pl.UniformGrid(T, ONE, cells=cells)
    with pytest.raises(TypeError):
        pl.UniformGrid(T, ONE, 8)


def test_other_queries_want_bodies():
    grid, scene = pl.UniformGrid(T, ONE), pl.Scene()
    with pytest.raises(TypeError, match="expected a Body, got UniformGrid"):
        scene.add(grid)
    assert len(scene) == 0
    with pytest.raises(TypeError, match="expected a Body, got UniformGrid"):
        pl.collide(grid, pl.Body(T, ONE))


# --- threads, memory, interruption -------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="needs many rays")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_many_rays_and_many_hits(n_threads, set_threads):
    """Several chunks, and hits beyond the first room for them."""
    set_threads(n_threads)
    vertices, faces = soup(2000, 2.0, 17)
    found = assert_as_body(pl.UniformGrid(vertices, faces), *some_rays(vertices, faces, np.random.default_rng(18), 10_000))
    assert both(found)


def test_memory_for_hits_may_end(monkeypatch):
    monkeypatch.setattr(kernels, "FIRST_HITS", 1)
    grid = pl.UniformGrid(*meshes.soup(np.repeat(T[None], 5, axis=0)))
    assert len(pl.cast_all(grid, [1, 1, -1], [0, 0, 1]).t) == 5
    monkeypatch.setattr(memory, "fits_in_memory", lambda size: False)
    with pytest.raises(TooManyPairsError, match="hits"):
        pl.cast_all(grid, [1, 1, -1], [0, 0, 1])
    assert pl.pick(grid, [1, 1, -1], [0, 0, 1]).face == 0


def test_marks_begin_again(monkeypatch):
    """After very many rays their marks are used again."""
    monkeypatch.setattr(kernels, "MAX_MARK", 0)
    monkeypatch.setattr(kernels, "FIRST_HITS", 1)
    grid = pl.UniformGrid(*soup(6 if OFF else 60, 2.0, 19))
    assert_as_body(grid, *some_rays(grid.vertices, grid.faces, np.random.default_rng(20), 4 if OFF else 50))


@pytest.mark.skipif(OFF, reason="takes long")
def test_threads_ask_while_another_updates():
    """Every answer is that of one of the soups, whole; these differ in their faces."""
    frames = [soup(n, 1.0, 21 + n) for n in (300, 500, 200)]
    rays = some_rays(*frames[0], np.random.default_rng(22), 300)
    known = [pl.cast(pl.Body(*frame), *rays).t.tobytes() for frame in frames]
    assert len(set(known)) == 3
    grid, done, seen = pl.UniformGrid(*frames[0]), threading.Event(), []

    def move():
        try:
            for turn in range(60):
                grid.update(*frames[turn % 3])
                time.sleep(0.001)
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.append(known.index(pl.cast(grid, *rays).t.tobytes()))

    together(*[ask] * 3, move)
    assert seen
    assert pl.cast(grid, *rays).t.tobytes() == known[59 % 3]


@pytest.mark.parametrize("place", ["update", "update with faces", "count_entries", "fill_cells"])
def test_interrupted_updates_and_fillings_leave_a_grid_whole(monkeypatch, place):
    (old, faces), (new, _) = soup(10 if OFF else 50, 1.0, 23), soup(10 if OFF else 50, 1.0, 24)
    grid, rays = pl.UniformGrid(old, faces), some_rays(old, faces, np.random.default_rng(25), 4 if OFF else 50)
    pl.cast(grid, *rays)
    module, name = (free, "copy_checked") if place.startswith("update") else (kernels, place)
    original, times = getattr(module, name), []

    def stop_once(*args):
        if not times:
            times.append(place)
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(module, name, stop_once)
    with pytest.raises(KeyboardInterrupt):
        grid.update(new, faces[::-1]) if "faces" in place else grid.update(new)
        pl.cast(grid, *rays)
    monkeypatch.undo()
    np.testing.assert_array_equal(grid.vertices, old if "update" in place else new)
    assert_as_body(grid, *rays)


# All faces share a corner, and every ray goes exactly through it, where only exact arithmetic can judge; the limit lets none of them in.
INTERRUPT = """
    import sys
    import numpy as np
    import pliant as pl

    rng = np.random.default_rng(0)
    corners, hub = rng.standard_normal((20_000, 3, 3)), np.array([0.125, 0.75, 0.25])
    corners[:, 0] = hub
    grid = pl.UniformGrid(corners.reshape(-1, 3), np.arange(60_000).reshape(-1, 3))
    origins = hub + rng.integers(-99, 100, (1_000_000, 3)) / 64
    expected = pl.cast(grid, origins[:2], hub - origins[:2])
    pl.cast(grid, origins[:2], hub - origins[:2], t_min=1.000001)
    print("ready", flush=True)
    try:
        pl.cast(grid, origins, hub - origins, t_min=1.000001)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    else:
        sys.exit("ended before it was interrupted")
    assert np.array_equal(pl.cast(grid, origins[:2], hub - origins[:2]).t, expected.t)
    grid.update(grid.vertices + 1)
    assert not np.array_equal(pl.cast(grid, origins[:2], hub - origins[:2]).t, expected.t)
    print("right", flush=True)
"""


@pytest.mark.skipif(OFF, reason="takes long")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupted_query_ends_soon(n_threads):
    """It would take minutes."""
    process = start(INTERRUPT, PLIANT_THREADS=n_threads)
    assert_stops_soon(process, 0.3)
