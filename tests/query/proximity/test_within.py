"""`within` and `self_within` give the pairs of the rational reference, and their distances."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_distances
import near_pairs
import pliant as pl
from pliant import shapes
from pliant.query.proximity.measure import PAIRS_PER_CHUNK

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = pytest.mark.formulas
TRIANGLE, FACE = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]]), [[0, 1, 2]]
TURN = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])
TOLERANCE = 0.25


def raised(x, y, z):
    """The triangle, moved."""
    return TRIANGLE + np.array([x, y, z])


def assert_pairs(found, right, a, faces_a, b, faces_b):
    """The pairs and distances of the reference; points on the faces that are as far apart."""
    pairs, squares = right
    assert found.faces.tolist() == [list(pair) for pair in pairs]
    roots = np.array([near_pairs.root_of(square) for square in squares])
    np.testing.assert_allclose(found.distances, roots, rtol=0, atol=near_pairs.PRECISION * 10)
    assert ((found.distances == 0) == (roots == 0)).all()
    if found.points is not None:
        np.testing.assert_allclose(np.linalg.norm(found.points[:, 0] - found.points[:, 1], axis=1), roots, rtol=0, atol=1e-11)
        for (f, g), (p, q) in list(zip(pairs, found.points, strict=True))[:20]:
            assert near_pairs.root_of(naive_distances.point_triangle(p, a[faces_a[f]])) < 1e-11
            assert near_pairs.root_of(naive_distances.point_triangle(q, b[faces_b[g]])) < 1e-11


@pytest.mark.slow
def test_every_option_gives_the_right_pairs(kept):
    faces = near_pairs.scene().faces
    first, second = near_pairs.frames()[0]
    a, b = pl.Body(first, faces, **kept), pl.Body(second, faces, **kept)
    counts = []
    for first, second in near_pairs.frames():
        a.update(first)
        b.update(second)
        right = near_pairs.answers(naive_distances.within, first, faces, second, faces, TOLERANCE)
        assert_pairs(pl.within(a, b, TOLERANCE), right, first, faces, second, faces)
        counts.append(len(right[0]))
    assert max(counts) > 0


def test_a_body_and_itself(kept):
    faces = near_pairs.scene().faces
    body = pl.Body(near_pairs.frames()[0][0], faces, **kept)
    tolerance = 2.0 if OFF else 0.7                                     # of 20 faces all share vertices with most
    for first, _ in near_pairs.frames()[:2]:
        body.update(first)
        right = near_pairs.answers(naive_distances.self_within, first, faces, tolerance)
        assert right[0]
        assert_pairs(pl.self_within(body, tolerance), right, first, faces, first, faces)


def test_placed_and_morphing_bodies():
    faces = near_pairs.scene().faces
    (first, second), (_, fourth) = near_pairs.frames()[:2]
    placed, morph = pl.Body.rigid(first, faces), pl.Body.morph([second, fourth], faces)
    placed.update(TURN)
    morph.update([0.5, 0.5])
    right = naive_distances.within(placed.vertices, faces, morph.vertices, faces, 0.8)
    assert right[0]
    assert_pairs(pl.within(placed, morph, 0.8, points=True), right, placed.vertices, faces, morph.vertices, faces)
    right = naive_distances.self_within(placed.vertices, faces, 1.5)
    assert_pairs(pl.self_within(placed, 1.5), right, placed.vertices, faces, placed.vertices, faces)


def test_nothing_within_nothing_is_what_meets():
    faces = near_pairs.scene().faces
    for first, second in near_pairs.frames():
        a, b = pl.Body(first, faces), pl.Body(second, faces)
        found = pl.within(a, b, 0)
        assert found.faces.tolist() == pl.collide(a, b).faces.tolist()
        assert not found.distances.any()
        assert pl.within(a, b, 0, points=True).points.shape == (len(found), 2, 3)


def test_a_tolerance_is_included():
    low, high = pl.Body(TRIANGLE, FACE), pl.Body(raised(0, 0, 3), FACE)
    assert len(pl.within(low, high, 3)) == 1
    assert len(pl.within(low, high, np.nextafter(3, 0))) == 0
    assert pl.within(low, high, 3, points=True).points[0, :, 2].tolist() == [0, 3]


def test_threads_give_the_same(set_threads):
    faces = near_pairs.scene().faces
    first, second = near_pairs.frames()[0]
    found = []
    for n in (1, 3):
        set_threads(n)
        pairs = pl.within(pl.Body(first, faces), pl.Body(second, faces), 3.0)
        found.append((pairs.faces.tolist(), pairs.distances.tolist()))
    assert found[0] == found[1]
    assert found[0][0]


@pytest.mark.parametrize("tolerance", [-1, np.nan, np.inf, -np.inf, -1e-300])
def test_tolerances_that_are_none(tolerance):
    body, other = pl.Body(TRIANGLE, FACE), pl.Body(TRIANGLE, FACE)
    for ask in (lambda: pl.within(body, other, tolerance), lambda: pl.self_within(body, tolerance), lambda: pl.Scene().within(tolerance)):
        with pytest.raises(ValueError, match="tolerance: expected a finite number from 0"):
            ask()


def test_what_else_is_refused():
    body = pl.Body(TRIANGLE, FACE)
    with pytest.raises(ValueError, match="self_within"):
        pl.within(body, body, 1)
    with pytest.raises(TypeError, match="tolerance: expected a number"):
        pl.self_within(body, "1")
    with pytest.raises(TypeError, match="points"):
        pl.self_within(body, 1, points=1)


def test_nothing_is_near_nothing():
    nothing, something = pl.Body(TRIANGLE, np.zeros((0, 3), int)), pl.Body(TRIANGLE, FACE)
    for found in (pl.within(nothing, something, 1e300), pl.self_within(nothing, 1), pl.self_within(something, 1)):
        assert found.faces.shape == (0, 2)
        assert found.distances.shape == (0,)


@settings(max_examples=15 if OFF else 150, deadline=None)
@given(st.data())
def test_meshes_on_a_lattice(data):
    """Ties at the tolerance, contacts, coplanar and degenerate faces, hubs."""
    (first, faces), (second, others) = data.draw(near_pairs.lattice_meshes()), data.draw(near_pairs.lattice_meshes())
    tolerance = data.draw(st.sampled_from([0, 1, 2.0**0.5 * 1.01, 2, 3]))
    found = pl.within(pl.Body(first, faces, leaf=2), pl.Body(second, others, leaf=2), tolerance)
    assert_pairs(found, naive_distances.within(first, faces, second, others, tolerance), first, faces, second, others)
    found = pl.self_within(pl.Body(first, faces, leaf=2), tolerance)
    assert_pairs(found, naive_distances.self_within(first, faces, tolerance), first, faces, first, faces)


def test_scenes():
    places = [TRIANGLE, raised(0, 0, 1), raised(0, 0, 2), raised(50, 0, 0)]
    stacked = np.concatenate([raised(-50, 0, 0), raised(-50, 0, 1)])
    scene = pl.Scene([pl.Body(place, FACE) for place in places])
    scene.add(pl.Body(stacked, [[0, 1, 2], [3, 4, 5]]))
    found = scene.within(1.5)
    assert found.bodies.tolist() == [[0, 1], [1, 2]]
    assert found.distances.tolist() == [1, 1]
    found = scene.within(1.5, self_pairs=True, points=True)
    assert found.bodies.tolist() == [[0, 1], [1, 2], [4, 4]]
    assert found.points.shape == (3, 2, 3)
    scene.ignore(0, 1)
    assert scene.within(1.5).bodies.tolist() == [[1, 2]]
    assert len(pl.Scene().within(1)) == 0


def test_more_rows_than_a_chunk():
    """Chunks of rows that lie within the rows of one pair of bodies, and that end in those of the next."""
    vertices, faces = shapes.icosphere(1)
    bodies = [pl.Body(vertices + [1.5 * k, 0, 0], faces) for k in range(3)]
    found = pl.Scene(bodies).within(2.0, points=True)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        alone, rows = pl.within(bodies[a], bodies[b], 2.0, points=True), (found.bodies == (a, b)).all(axis=1)
        assert len(alone) % PAIRS_PER_CHUNK and (len(alone) > PAIRS_PER_CHUNK or (a, b) == (0, 2))
        assert np.array_equal(found.faces[rows], alone.faces)
        assert np.array_equal(found.distances[rows], alone.distances) and np.array_equal(found.points[rows], alone.points)


@pytest.mark.formulas
@pytest.mark.parametrize("away", [3.0, 1e19] if OFF else [3.0, 1e15, 1e19, 5e20, 1e100])
def test_tolerances_beyond_float32(away):
    """Where squares of the tolerance overflow, lanes that hold nothing are still not near."""
    vertices, faces = shapes.icosphere(0)
    with np.errstate(all="ignore"):
        a, b = pl.Body(vertices, faces), pl.Body(vertices + [away, 0, 0], faces)
        for tolerance in (1e18, 1e20, 1e30, 1e300):
            found = pl.within(a, b, tolerance)
            assert len(found) == (400 if tolerance > away else 0)
            assert not len(found) or found.distances.max() <= tolerance
            assert np.array_equal(pl.self_within(a, tolerance).faces, pl.self_within(a, 1e3).faces)
