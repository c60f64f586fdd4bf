"""Welded vertices are one, for neighbours and for positions, from the first frame on: meshes with seams are as good as meshes without."""

from itertools import combinations

import numba
import numpy as np
import pytest

import meshes
import naive
import pliant as pl
from pliant import shapes
from seams import cut, stand_ins

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
NONE = np.zeros((0, 2), np.int32)


def halves(n):
    """A sheet cut down the middle, vertices of the seam doubled; its faces, and the old names."""
    vertices, faces = shapes.sheet(n, n)
    return cut(vertices, faces, vertices[faces][:, :, 0].mean(axis=1) > 0.5)


# --- seams -----------------------------------------------------------------------------------------------------------------------

def test_a_sheet_cut_in_two(kept):
    """Without welding the two sides of the seam touch all along."""
    vertices, faces, origin = halves(2 if OFF else 6)
    assert len(vertices) > len(np.unique(origin))
    assert len(meshes.assert_right_self(pl.Body(vertices, faces, **kept))) > 3
    body = pl.Body(vertices, faces, weld=True, **kept)
    assert np.array_equal(body.faces, faces)
    assert np.array_equal(body.vertices, vertices)
    same = stand_ins(vertices)
    meshes.assert_right_self(body, NONE, same)
    folded = np.column_stack([np.abs(vertices[:, 0] - 0.5), vertices[:, 1], vertices[:, 2]])
    body.update(folded)
    assert len(meshes.assert_right_self(body, same=same)) > 5
    body.update(vertices @ meshes.rotation((1, 2, 3), 0.7).T + 0.1)
    meshes.assert_right_self(body, NONE, same)


def test_a_soup_welded_is_the_mesh(kept):
    """Every face with vertices of its own, as in an STL file; the same answers as the mesh that it was."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    soup = meshes.soup(vertices[faces])
    body, whole = pl.Body(*soup, weld=True, **kept), pl.Body(vertices, faces, **kept)
    same = stand_ins(soup[0])
    crumple = np.random.default_rng(81).standard_normal(vertices.shape)
    for frame in (vertices, meshes.pinched(vertices, 1.5), vertices + 0.4 * crumple, vertices * [1, 1, 0]):
        whole.update(frame)
        body.update(frame[faces].reshape(-1, 3))
        for adjacent in ("exact", "ignore"):
            right = pl.self_collide(whole, adjacent=adjacent).faces.tolist()
            assert pl.self_collide(body, adjacent=adjacent).faces.tolist() == right
    meshes.assert_right_self(body, same=same)


def test_what_is_at_one_place_later_is_not_welded():
    """The first positions decide."""
    vertices, faces, _ = halves(2)
    apart = vertices + np.array([1.0, 0, 0]) * (np.arange(len(vertices)) >= 6)[:, None]
    body = pl.Body(apart, faces, weld=True)
    assert len(set(map(tuple, apart.tolist()))) == len(apart)
    body.update(vertices)
    assert len(meshes.assert_right_self(body)) > 0


def test_vertices_that_drift_apart(policy):
    """The lowest stands for all, wherever the others go; positions are given back as they were given."""
    vertices, faces, _ = halves(2)
    same, rng = stand_ins(vertices), np.random.default_rng(82)
    body, other = pl.Body(vertices, faces, weld=True, policy=policy), pl.Body(*meshes.cube((0.2, 0.2, -0.5)), policy=policy)
    for _ in range(3):
        drifted = vertices + np.where(same == np.arange(len(vertices)), 0.0, 1.0)[:, None] * rng.standard_normal(vertices.shape)
        body.update(drifted)
        assert np.array_equal(body.vertices, drifted)
        meshes.assert_right_self(body, NONE, same)
        right = naive.collide(drifted, same[faces], other.vertices, other.faces)
        assert len(right) > 0
        assert pl.collide(body, other).faces.tolist() == right.tolist()
    body.update(rng.standard_normal(vertices.shape))
    meshes.assert_right_self(body, same=same)


def test_minus_zero_is_zero():
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, -0.0, 0], [-1, 0, 0], [0, -1, -0.0]]
    faces = [[0, 1, 2], [3, 4, 5]]
    assert len(pl.self_collide(pl.Body(vertices, faces))) == 1
    assert len(pl.self_collide(pl.Body(vertices, faces, weld=True))) == 0


def test_all_at_one_place(policy):
    """Everything is one vertex: faces are one point, which they share."""
    body = pl.Body(np.ones((9, 3)), np.arange(9).reshape(-1, 3), weld=True, policy=policy)
    assert len(pl.self_collide(body)) == 0
    assert len(pl.self_collide(pl.Body(np.ones((9, 3)), np.arange(9).reshape(-1, 3), policy=policy))) == 3
    body.update(np.random.default_rng(83).standard_normal((9, 3)))
    meshes.assert_right_self(body, NONE, np.zeros(9, int))


def test_nothing_to_weld():
    for vertices, faces in ((np.zeros((0, 3)), np.zeros((0, 3), int)), (np.eye(3), np.zeros((0, 3), int)), (np.eye(3), [[0, 1, 2]])):
        for weld in (True, 0.1, False):
            body = pl.Body(vertices, faces, weld=weld)
            meshes.assert_right_self(body, NONE)
            assert len(body.faces) == len(faces)


# --- distances -------------------------------------------------------------------------------------------------------------------

def welds(vertices, weld):
    """Which vertices are one, as the library sees it: every vertex is a face, all are moved to one place, and `ignore` leaves out those
    that are one."""
    n = len(vertices)
    body = pl.Body(vertices, np.repeat(np.arange(n), 3).reshape(-1, 3), weld=weld)
    body.update(np.zeros((n, 3)))
    meet = set(map(tuple, pl.self_collide(body, adjacent="ignore").faces.tolist()))
    return {pair for pair in combinations(range(n), 2) if pair not in meet}


def welds_of(same):
    return {(i, j) for i, j in combinations(range(len(same)), 2) if same[i] == same[j]}


@pytest.mark.parametrize("weld", [0.99, 1.0, 1.5, 2.0, 2, np.float32(2.5), 1e9])
def test_distances(weld):
    """Steps of at most that length, chained; the length itself included."""
    line = np.column_stack([[0.0, 3.0, 1.0, 10.0, 2.0, 12.0, 12.0], np.zeros(7), np.ones(7)])
    assert welds(line, weld) == welds_of(stand_ins(line, float(weld)))


@pytest.mark.parametrize("power", [-700, -520, 0, 400, 1000])
def test_distances_of_all_sizes(power):
    """A distance of 2e-211 is not zero, and one of 1e300 not infinite."""
    scale = 2.0**power
    points = np.random.default_rng(84).integers(0, 7, (20, 3)).astype(float)
    for weld in (1.0, 1.5, 2.0):
        right = welds_of(stand_ins(points, weld))
        assert 0 < len(right) < 190
        assert welds(points * scale, weld * scale) == right
    assert welds(points * scale, True) == welds_of(stand_ins(points))


def test_a_sheet_with_a_gap(policy):
    """The seam is open by less than the distance; the lowest vertex stands for both, and closes it."""
    vertices, faces, _ = halves(4)
    gap = 1e-4 * (np.arange(len(vertices)) >= 15)[:, None] * np.array([1.0, 0.5, 0.0])
    assert 0 < np.count_nonzero(gap[:, 0]) < len(gap)
    for opened, meets in ((vertices + gap, False), (vertices - gap, True)):
        same = stand_ins(opened, 1e-3)
        assert len(np.unique(same)) == len(shapes.sheet(4, 4)[0])
        assert bool(meshes.assert_right_self(pl.Body(opened, faces, policy=policy))) == meets
        meshes.assert_right_self(pl.Body(opened, faces, weld=1e-3, policy=policy), NONE, same)


@pytest.mark.parametrize("weld", [-1, -1e-300, 0, 0.0, float("nan"), float("inf"), -np.inf], ids=str)
def test_distances_that_are_none(weld):
    with pytest.raises(ValueError, match="weld"):
        pl.Body(np.eye(3), [[0, 1, 2]], weld=weld)


@pytest.mark.parametrize("weld", ["yes", "", None, [1.0], 1j, np.zeros(3)], ids=repr)
def test_what_is_no_distance(weld):
    with pytest.raises(TypeError, match="weld"):
        pl.Body(np.eye(3), [[0, 1, 2]], weld=weld)


# --- files -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("weld", [True, 0.01])
def test_saved_welded_bodies(tmp_path, policy, weld):
    """Saved after the vertices have drifted apart: the weld is that of the first positions, and not made again."""
    vertices, faces, _ = halves(2 if OFF else 4)
    same, rng = stand_ins(vertices), np.random.default_rng(85)
    body = pl.Body(vertices, faces, weld=weld, policy=policy)
    body.update(vertices + 0.2 * rng.standard_normal(vertices.shape))
    body.save(tmp_path / "body.pliant")
    loaded = pl.Body.load(tmp_path / "body.pliant")
    for twin in (body, loaded):
        assert np.array_equal(twin.faces, faces)
        meshes.assert_right_self(twin, same=same)
    for frame in (rng.standard_normal(vertices.shape), vertices):
        for twin in (body, loaded):
            twin.update(frame)
        meshes.assert_right_self(loaded, same=same)
        assert pl.self_collide(loaded).faces.tolist() == pl.self_collide(body).faces.tolist()
    meshes.assert_right_self(loaded, NONE, same)


def test_saved_bodies_without_a_weld(tmp_path):
    """Vertices that happen to be at one place when saved stay two."""
    vertices, faces, _ = halves(2)
    body = pl.Body(vertices, faces)
    body.save(tmp_path / "body.pliant")
    loaded = pl.Body.load(tmp_path / "body.pliant")
    assert len(meshes.assert_right_self(loaded)) > 0
