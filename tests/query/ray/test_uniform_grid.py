"""Grids against the exact reference of rays, and against bodies, to the bit: soups of every kind, from everywhere."""

from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rays_hard import PLACES
from test_rays_properties import asked, limit, often

import adversarial
import meshes
import pliant as pl
from pliant import shapes
from pliant.query.ray import uniform_grid as kernels
from ray_checks import assert_rays, assert_same, both, some_rays, targets_on
from strategies import extreme, lattice
from test_naive_rays import aimed

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
INF = np.inf
T = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
ONE = np.array([[0, 1, 2]])


def soup(n, size, seed=0, stretch=(1, 1, 1)):
    """n triangles somewhere, `size` times as large as a cell for each."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1, 1, (n, 1, 3)) + rng.standard_normal((n, 3, 3)) * size / np.cbrt(n)
    return meshes.soup(corners * np.array(stretch, float))


def assert_as_body(grid, origins, directions, **limits):
    """All answers are to the bit those of a body; that of `cast`."""
    body = pl.Body(grid.vertices, grid.faces)
    found = pl.cast(grid, origins, directions, **limits)
    assert_same(found, pl.cast(body, origins, directions, **limits))
    assert_same(pl.cast_all(grid, origins, directions, **limits), pl.cast_all(body, origins, directions, **limits))
    assert pl.occluded(grid, origins, directions, **limits).tolist() == found.hit.tolist()
    return found


# --- exactness -------------------------------------------------------------------------------------------------------------------

SOUPS = {"small": (400, 0.3, (1, 1, 1)), "as cells": (400, 1.0, (1, 1, 1)), "large": (150, 9.0, (1, 1, 1)), "long": (300, 0.5, (50, 1, 1)),
         "flat": (300, 1.0, (1, 0, 1)), "all but flat": (300, 1.0, (1, 1e-12, 1)), "in a line": (200, 1.0, (0, 0, 3))}


@pytest.mark.parametrize("cells", [None, 1, 7, (1, 20, 3)], ids=str)
@pytest.mark.parametrize("name", SOUPS)
def test_soups(name, cells):
    n, size, stretch = SOUPS[name]
    vertices, faces = soup(20 if OFF else n, size, 1, stretch)
    grid = pl.UniformGrid(vertices, faces, cells=cells)
    rays = some_rays(vertices, faces, np.random.default_rng(2), 6 if OFF else 2000)
    found = assert_as_body(grid, *rays)
    assert OFF or both(found) or name == "in a line"                    # whose faces have no area
    some = slice(None, None, 1 if OFF else 100)
    assert_rays(grid, rays[0][some], rays[1][some])


@pytest.mark.parametrize("name", PLACES)
def test_sizes_and_places(name):
    """Huge, tiny, subnormal and far bodies, from around and from inside."""
    offset, size = PLACES[name]
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    origins, directions = some_rays(vertices, faces, np.random.default_rng(53), 4 if OFF else 40, 0.5)
    directions = np.rint(directions * (2.0**5 if size > 1e300 else 2.0**12)) * 2.0**-12
    grid = pl.UniformGrid(vertices * size + offset, faces)
    assert both(assert_rays(grid, origins * size + offset, directions * size))
    if not (OFF and size > 1e300):                                      # some t are beyond float64: as Python, ldexp refuses to say so
        assert_as_body(grid, origins * size + offset, directions, t_min=-INF)
    assert_as_body(grid, origins * size, np.full(3, max(offset, size)))
    assert_as_body(grid, origins, grid.vertices[: len(origins)] - origins)


@pytest.mark.parametrize("away", [1e3, 2.5e5, 1e8, 1e11, 1e14])
def test_rays_from_afar(away):
    """At vertices, edges and faces from far away, with and without cells that can be told apart; and the soup far away from zero."""
    vertices, faces = soup(12 if OFF else 300, 1.0, 3)
    rng, n = np.random.default_rng(4), 4 if OFF else 300
    aims = targets_on(vertices, faces)
    aims = aims[rng.integers(0, len(aims), n)]
    ways = rng.standard_normal((n, 3))
    origins = ways / np.linalg.norm(ways, axis=1, keepdims=True) * away
    grid = pl.UniformGrid(vertices, faces)
    found = assert_as_body(grid, origins, aims - origins, t_min=-INF)
    assert found.hit.any()
    assert_rays(grid, origins[:4], (aims - origins)[:4])
    assert (found.stats.n_p == n * len(faces)) == (away > 2 * kernels.MAX_DISTANCE)
    assert_as_body(pl.UniformGrid(vertices + origins[0], faces), origins, (aims + origins[0]) - origins)
    assert_as_body(pl.UniformGrid(vertices + origins[0], faces), vertices[:n] + origins[0], ways[: len(vertices)])


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_triangles(kind):
    triangles, origins, directions = aimed(kind, 2 if OFF else 60, 51)
    grid = pl.UniformGrid(*meshes.soup(triangles), cells=None if kind < "g" else 5)
    assert_as_body(grid, origins, directions, t_min=-INF)
    assert_as_body(grid, origins, -directions)


def test_rays_along_walls_of_cells():
    """In the planes and along the edges between cells, as near as rounding allows, and a hair beside; through corners of cells."""
    vertices, faces = soup(8 if OFF else 200, 2.0, 5)
    grid = pl.UniformGrid(vertices, faces, cells=4)
    assert grid.cells == (4, 4, 4)
    frame = grid._cell_lists.frame[0]
    walls = (frame["low"] - frame["margin"]) + np.arange(5)[:, None] * frame["side"]  # (5, 3); the scale is 1
    corners = np.array([[walls[i, 0], walls[j, 1], walls[k, 2]] for i, j, k in product(range(5), repeat=3)][:: 25 if OFF else 1])
    hits = 0
    for offset in (0.0, 2.0**-53, -(2.0**-53), 1e-9):
        for direction in ([1, 0, 0], [0, -1, 0], [0, 0, 1], [1, 1, 0], [0, 1, -1], frame["side"], [1, 1e-17, -1e-300])[: 2 if OFF else 7]:
            way = np.array(direction, float)
            hits += assert_as_body(grid, corners + offset - 8 * way, way).hit.sum()
            hits += assert_as_body(grid, corners + offset, way, t_min=-INF).hit.sum()
    assert OFF or hits > 1000


def test_ties_go_to_the_smallest_face():
    """The same triangle again and again, and large ones behind small ones, in one plane."""
    corners = np.repeat(np.array([[[0, 0, 1], [4, 0, 1], [0, 4, 1]]], float), 5, axis=0)
    wide = corners * [100, 100, 1] - [150, 150, 0]
    grid = pl.UniformGrid(*meshes.soup(np.concatenate([wide, corners, wide])), cells=9)
    found = assert_as_body(grid, [[1, 1, -3], [1, 1, 9], [-9, 2, 0], [300, 300, 0]], [[0, 0, 1], [0, 0, -1], [0, 0, 1], [0, 0, 1]])
    assert found.face.tolist() == [0, 0, 0, -1]
    assert pl.cast_all(grid, [1, 1, -3], [0, 0, 1]).face.tolist() == list(range(15))


@often(200)
@given(asked(lattice), st.integers(1, 6))
def test_lattice_meshes(given_, cells):
    assert_rays(pl.UniformGrid(*given_[0], cells=cells), *given_[1])


@often(200)
@given(asked(extreme), st.sampled_from([None, 3, 8]))
def test_any_finite_float64(given_, cells):
    assert_as_body(pl.UniformGrid(*given_[0], cells=cells), *given_[1], t_min=-INF)


@often(100)
@given(asked(lattice, 6), limit, limit)
def test_any_limits(given_, low, high):
    grid = pl.UniformGrid(*given_[0], cells=5)
    assert_rays(grid, *given_[1], low, high)
    assert_as_body(grid, *given_[1], t_min=low, t_max=high)


def test_rays_that_are_none():
    grid = pl.UniformGrid(T, ONE)
    up, below = np.array([0, 0, 1.0]), np.array([1.0, 1, -1])
    rays = [([np.nan, 1, -1], up), ([1, -INF, -1], up), (below, [0, np.nan, 1]), (below, [0, 0, 0]), (below, [0, 0, INF]), (below, up)]
    found = assert_rays(grid, *map(np.array, zip(*rays, strict=True)))
    assert found.hit.tolist() == [False] * 5 + [True]
    assert not pl.cast(grid, below, [up], mask=0).hit.any()
    assert pl.cast(grid, below, [up], mask=4).hit.all()
    assert not pl.cast(grid, below, [up], t_min=2, t_max=1).hit.any()


def test_pick_and_counters():
    grid = pl.UniformGrid(*soup(10 if OFF else 1000, 1.0, 6))
    hit, vertices = None, grid.vertices
    target = vertices[grid.faces[3]].mean(axis=0)
    hit = pl.pick(grid, [5, 0, 0], target - [5, 0, 0])
    expected = pl.pick(pl.Body(vertices, grid.faces), [5, 0, 0], target - [5, 0, 0])
    assert (hit.face, hit.t, hit.body) == (expected.face, expected.t, 0)
    stats = pl.cast(grid, [[5, 0, 0]], target - [5, 0, 0]).stats
    assert stats.n_v > 0 and stats.n_p > 0 and stats.n_u == 0
    assert stats.n_p <= len(grid)                                       # no face is tested twice by a ray
    assert pl.pick(grid, [5, 0, 0], [1, 0, 0]) is None


# --- what it is --------------------------------------------------------------------------------------------------------------------

def test_nothing_to_hit():
    for grid in (pl.UniformGrid([], []), pl.UniformGrid(T, []), pl.UniformGrid(np.zeros((0, 3)), np.zeros((0, 3), int), cells=3)):
        assert len(grid) == 0 and grid.cells == (1, 1, 1)
        assert not assert_rays(grid, T, [0, 0, 1]).hit.any()
    assert len(pl.cast(pl.UniformGrid(T, ONE), np.zeros((0, 3)), [0, 0, 1])) == 0
    point = pl.UniformGrid(np.ones((3, 3)), [[0, 1, 2], [1, 1, 1]])     # a box of no size
    assert not assert_rays(point, [[1, 1, 0], [1, 1, 1]], [0, 0, 1]).hit.any()


def test_it_says_what_it_is():
    grid = pl.UniformGrid(T, ONE)
    assert repr(grid) == "UniformGrid(3 vertices, 1 faces)"
    assert repr(pl.UniformGrid(T, ONE, cells=[1, 2, 3])) == "UniformGrid(3 vertices, 1 faces, cells=(1, 2, 3))"
    assert len(grid) == 1 and grid.faces.dtype == np.int32 and not grid.faces.flags.writeable
    rows = grid.vertices
    rows[:] = 9                                                         # a copy
    np.testing.assert_array_equal(grid.vertices, T)
    np.testing.assert_array_equal(pl.UniformGrid(pl.Body(T, ONE)).vertices, T)


def test_about_as_many_cells_as_faces():
    for stretch in ((1, 1, 1), (9, 1, 1), (4, 4, 1), (1, 0, 1), (100, 1e-9, 0)):
        vertices, faces = soup(60 if OFF else 4000, 0.2, 7, stretch)
        cells = np.array(pl.UniformGrid(vertices, faces).cells)
        assert len(faces) / 2 < cells.prod() <= len(faces) * 2 or cells.max() == kernels.MAX_CELLS_PER_AXIS
        sides = np.ptp(vertices, axis=0) / cells
        assert sides[cells > 2].max() <= 2 * sides[cells > 2].min()


def test_large_faces_make_large_cells():
    """Each face would be in most cells: these are made larger, so that lists stay in proportion to the faces; the answer is the same."""
    vertices, faces = soup(30 if OFF else 600, 1.0, 8)
    vertices *= np.repeat(np.random.default_rng(9).uniform(1, 30, len(faces)), 3)[:, None]
    grid = pl.UniformGrid(vertices, faces, cells=16 if OFF else 250)
    assert max(grid.cells) < (16 if OFF else 250) or OFF
    assert len(grid._cell_lists.items) <= kernels.MAX_PER_FACE * len(faces) + kernels.MIN_ENTRIES
    assert_as_body(grid, *some_rays(vertices, faces, np.random.default_rng(10), 5 if OFF else 300))


def test_every_face_is_listed_where_its_points_are():
    """Points of faces, and which cells they are in: a list that lacks one of them would lose hits."""
    vertices, faces = soup(20 if OFF else 500, 3.0, 11)
    grid = pl.UniformGrid(vertices, faces, cells=8)
    assert grid.cells == (8, 8, 8)
    lists, rng = grid._cell_lists, np.random.default_rng(12)
    frame, listed = lists.frame[0], [set() for _ in faces]
    for cell in range(int(frame["cells"])):
        items = lists.items[lists.starts[cell]:lists.starts[cell + 1]].tolist()
        assert items == sorted(set(items))
        for face in items:
            listed[face].add(cell)
    for face, corners in enumerate(vertices[faces]):
        points = np.vstack([corners, rng.dirichlet(np.full(3, 0.4), 50) @ corners])
        x, y, z = np.floor((points - frame["low"] + frame["margin"]) * frame["inverse_side"]).astype(int).T
        assert {*((z * 8 + y) * 8 + x).tolist()} <= listed[face]
    boxes = np.ptp((vertices[faces] - frame["low"] + frame["margin"]) // frame["side"], axis=1) + 1
    assert len(lists.items) < 0.85 * boxes.prod(axis=1).sum()           # the plane of a face leaves out some
