"""`closest` gives what the rational reference gives, for bodies and scenes, any options, motions and sizes."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_distances
import near_pairs
import pliant as pl
from pliant import shapes
from pliant.query.proximity import closest as module

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = pytest.mark.formulas
TRIANGLE, FACE = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]]), [[0, 1, 2]]
TURN = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])


def spots(n, seed=0):
    """Points around the unit sphere, inside, outside and far away."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * rng.choice([0.3, 1.0, 1.0, 30.0], size=(n, 1))


def assert_closest(found, vertices, faces, points, ties=False):
    """Right distances, the lowest face that has it, and a point on it. On a lattice, where faces are as near, rounding may choose."""
    right = near_pairs.answers(naive_distances.closest, vertices, faces, points)
    size = np.ptp(vertices) + np.abs(points).max()
    for k, (square, attained) in enumerate(right):
        distance = near_pairs.root_of(square)
        assert abs(found.distance[k] - distance) <= near_pairs.PRECISION * (size + distance)
        assert (found.distance[k] == 0) == (square == 0)
        face = int(found.face[k])
        assert face in attained if ties else face == attained[0]
        corners, (u, v) = vertices[faces[face]], found.uv[k]
        assert min(u, v, 1 - u - v) >= -1e-15
        np.testing.assert_allclose(found.point[k], (1 - u - v) * corners[0] + u * corners[1] + v * corners[2], atol=1e-11 * size)
        assert abs(np.linalg.norm(found.point[k] - points[k]) - distance) <= 1e-11 * size


@pytest.mark.slow
def test_every_option_gives_the_right_points(kept):
    faces, points = near_pairs.scene().faces, spots(6 if OFF else 60)
    body = pl.Body(near_pairs.frames()[0][0], faces, **kept)
    for vertices, _ in near_pairs.frames()[:2]:
        body.update(vertices)
        assert_closest(pl.closest(body, points), vertices, faces, points)


def test_placed_and_morphing_bodies():
    faces, points = near_pairs.scene().faces, spots(6 if OFF else 40)
    (first, _), (third, _) = near_pairs.frames()[:2]
    placed, morph = pl.Body.rigid(first, faces), pl.Body.morph([first, third], faces)
    placed.update(TURN)
    assert_closest(pl.closest(placed, points), placed.vertices, faces, points)
    morph.update([0.3, 0.7])
    found = pl.closest(morph, points)
    assert_closest(found, morph.vertices, faces, points)


@pytest.mark.parametrize("scale", [1e-300, 1e-25, 1e25, 1e290])
def test_any_size(scale):
    points = np.array([[1.0, 1, -2], [-3, 0, 0], [1, 1, 0], [-3, -4, 0]]) * scale
    found = pl.closest(pl.Body(TRIANGLE * scale, FACE), points)
    np.testing.assert_allclose(found.distance, np.array([2, 3, 0, 5]) * scale, rtol=1e-12)


def test_points_far_away_and_bodies_far_from_zero():
    faces, vertices = near_pairs.scene().faces, near_pairs.frames()[0][0]
    points = np.concatenate([spots(4) * 1e5, spots(2) * 1e30])
    assert_closest(pl.closest(pl.Body(vertices, faces), points[:4]), vertices, faces, points[:4])
    found = pl.closest(pl.Body(vertices, faces), points[4:])
    np.testing.assert_allclose(found.distance, np.linalg.norm(points[4:], axis=1), rtol=1e-12)
    moved, near = vertices + 1e7, spots(6) + 1e7
    assert_closest(pl.closest(pl.Body(moved, faces), near), moved, faces, near)


def test_points_on_the_body_are_at_no_distance():
    vertices, faces = near_pairs.frames()[0][0], near_pairs.scene().faces
    found = pl.closest(pl.Body(vertices, faces), vertices)
    assert not found.distance.any()
    assert found.point.tolist() == vertices.tolist()
    assert found.face.tolist() == [int(np.flatnonzero((faces == k).any(axis=1))[0]) for k in range(len(vertices))]


def test_how_far_to_look():
    body = pl.Body(TRIANGLE, FACE)
    points = [[1, 1, 2.0], [1, 1, 3], [1, 1, -5]]
    found = pl.closest(body, points, max_distance=3)
    assert found.distance.tolist() == [2, 3, np.inf]
    assert found.face.tolist() == [0, 0, -1]
    assert np.isnan(found.point[2]).all()
    assert found.body.tolist() == [0, 0, -1]
    for wrong in (-1, np.nan):
        with pytest.raises(ValueError, match="max_distance"):
            pl.closest(body, points, max_distance=wrong)


def test_points_that_are_nowhere():
    points = np.array([[np.nan, 0, 0], [1, 1, 1], [np.inf, 0, 0], [0, -np.inf, np.nan]])
    found = pl.closest(pl.Body(TRIANGLE, FACE), points)
    assert found.distance.tolist() == [np.inf, 1, np.inf, np.inf]
    assert found.face.tolist() == [-1, 0, -1, -1]


def test_what_is_refused():
    body = pl.Body(TRIANGLE, FACE)
    with pytest.raises(ValueError, match="points"):
        pl.closest(body, [[1, 2]])
    with pytest.raises(TypeError, match="target"):
        pl.closest(3, [[1, 2, 3]])


def test_nothing():
    nothing = pl.Body(TRIANGLE, np.zeros((0, 3), int))
    assert pl.closest(nothing, [[0, 0, 0]]).distance.tolist() == [np.inf]
    assert len(pl.closest(pl.Body(TRIANGLE, FACE), np.zeros((0, 3)))) == 0
    assert pl.closest(pl.Scene(), [0, 0, 0]).face.tolist() == [-1]


def test_threads_and_chunks_give_the_same(set_threads, monkeypatch):
    vertices, faces = near_pairs.frames()[0][0], near_pairs.scene().faces
    points, found = spots(100), []
    for n, chunk in ((1, 1000), (3, 7)):
        set_threads(n)
        monkeypatch.setattr(module, "POINTS_PER_CHUNK", chunk)
        answer = pl.closest(pl.Body(vertices, faces), points)
        found.append((answer.distance.tolist(), answer.face.tolist(), answer.point.tolist()))
    assert found[0] == found[1]


def test_scenes():
    vertices, faces = near_pairs.frames()[0][0], near_pairs.scene().faces
    places = np.random.default_rng(5).uniform(-4, 4, (7, 3))
    scene = pl.Scene([pl.Body(vertices + place, faces) for place in places])
    scene.add(pl.Body(vertices + places[2], faces))                     # as near as body 2, everywhere
    points = np.random.default_rng(6).uniform(-6, 6, (20 if OFF else 300, 3))
    found = pl.closest(scene, points)
    each = [pl.closest(scene[i], points) for i in range(7)]
    right = np.min([one.distance for one in each], axis=0)
    assert found.distance.tolist() == right.tolist()
    assert found.body.tolist() == np.argmin([one.distance for one in each], axis=0).tolist()
    assert found.face.tolist() == [int(each[i].face[k]) for k, i in enumerate(found.body)]


@settings(max_examples=15 if OFF else 150, deadline=None)
@given(st.data())
def test_meshes_on_a_lattice(data):
    """Ties, points on faces, degenerate faces."""
    vertices, faces = data.draw(near_pairs.lattice_meshes())
    points = np.array(data.draw(st.lists(st.tuples(*[st.integers(-1, 8)] * 3), min_size=1, max_size=5)), np.float64) / 2
    found = pl.closest(pl.Body(vertices, faces, leaf=2), points)
    if not len(faces):
        assert (found.face == -1).all()
        return
    assert_closest(found, vertices, faces, points, ties=True)


# --- signs -------------------------------------------------------------------------------------------------------------------

def test_inside_is_negative():
    vertices, faces = near_pairs.frames()[0][0], near_pairs.scene().faces
    points = spots(40)
    body = pl.Body.rigid(vertices, faces)
    body.update(TURN)
    found, plain = pl.closest(body, points, signed=True), pl.closest(body, points)
    assert np.abs(found.distance).tolist() == plain.distance.tolist()
    crossed = [len(set(np.round(hits.t, 9))) % 2 for hits in (pl.cast_all(body, point, [0.31, 0.52, 0.79]) for point in points)]
    assert (found.distance < 0).tolist() == [bool(odd) for odd in crossed]
    assert 0 < sum(crossed) < len(crossed)


def test_what_has_no_inside():
    vertices, faces = shapes.icosphere(0)
    with pytest.raises(pl.MeshError, match="not closed: the edge between vertices"):
        pl.closest(pl.Body(vertices, faces[1:]), [[0, 0, 0]], signed=True)
    turned = faces.copy()
    turned[3] = turned[3][::-1]
    with pytest.raises(pl.MeshError, match="not closed"):
        pl.closest(pl.Body(vertices, turned), [[0, 0, 0]], signed=True)
    assert pl.closest(pl.Body(vertices, faces), [[0, 0, 0]], signed=True).distance[0] < 0
