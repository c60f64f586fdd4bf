"""`distance` and `self_distance` give what the rational reference gives, whatever the options, motions, orders and sizes."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_distances
import near_pairs
import pliant as pl
from pliant import shapes
from pliant.query.proximity import distance as module

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = pytest.mark.formulas
TRIANGLE, FACE = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]]), [[0, 1, 2]]
TURN = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])


def test_every_option_gives_the_right_distance(kept):
    faces = near_pairs.scene().faces
    first, second = near_pairs.frames()[0]
    a, b = pl.Body(first, faces, **kept), pl.Body(second, faces, **kept)
    for first, second in near_pairs.frames():
        a.update(first)
        b.update(second)
        found = pl.distance(a, b)
        near_pairs.assert_separated(found, first, faces, second, faces)
        again = pl.distance(a, b)                                       # from where it was found
        assert (again.distance, again.faces.tolist()) == (found.distance, found.faces.tolist()) or found.distance == 0


def test_the_order_of_the_bodies_does_not_matter():
    faces = near_pairs.scene().faces
    for first, second in near_pairs.frames()[:2]:
        a, b = pl.Body(first, faces), pl.Body(second, faces)
        one, other = pl.distance(a, b), pl.distance(b, a)
        assert one.distance == other.distance
        assert one.faces.tolist() == other.faces.tolist()[::-1]


def test_placed_and_morphing_bodies():
    faces = near_pairs.scene().faces
    (first, second), (third, fourth) = near_pairs.frames()[:2]
    placed, plain = pl.Body.rigid(first, faces), pl.Body(second, faces)
    placed.update(TURN)
    near_pairs.assert_separated(pl.distance(placed, plain), placed.vertices, faces, second, faces)
    near_pairs.assert_separated(pl.distance(plain, placed), second, faces, placed.vertices, faces)
    morph = pl.Body.morph([second, fourth], faces)
    for share in (0.25, 0.75):
        morph.update([1 - share, share])
        near_pairs.assert_separated(pl.distance(placed, morph), placed.vertices, faces, morph.vertices, faces)
        near_pairs.assert_separated(pl.distance(pl.Body(third, faces), morph), third, faces, morph.vertices, faces)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_any_size(scale):
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 3], [0, 1, 3]]) * scale
    found = pl.distance(pl.Body(vertices[:3], FACE), pl.Body(vertices[3:], FACE))
    assert np.isclose(found.distance, 2 * scale, rtol=1e-12, atol=0)


@pytest.mark.parametrize("far", [3e2, 1e4, 1e9, 1e18])
def test_far_apart(far):
    faces = near_pairs.scene().faces
    first, second = near_pairs.frames()[0]
    second = second + far * np.array([0.6, -0.5, 0.7])
    square, attained = naive_distances.distance(first, faces, second, faces)
    found = pl.distance(pl.Body(first, faces), pl.Body(second, faces))
    near_pairs.check_separation(found, square, attained if far < 1e9 else [tuple(found.faces.tolist())], first, faces, second, faces)


def test_sizes_that_have_nothing_in_common():
    small, large = TRIANGLE * 1e-20 + 1, pl.Body(TRIANGLE * 1e6, FACE)
    found = pl.distance(pl.Body(small, FACE), large)
    assert abs(found.distance - 1) < 1e-12


def test_nothing_is_infinitely_far_away():
    nothing, something = pl.Body(TRIANGLE, np.zeros((0, 3), int)), pl.Body(TRIANGLE, FACE)
    for found in (pl.distance(nothing, something), pl.distance(something, nothing), pl.distance(nothing, pl.Body(TRIANGLE, [])),
                  pl.self_distance(nothing), pl.self_distance(something)):
        assert found.distance == np.inf
        assert np.isnan(found.points).all()
        assert found.points.shape == (2, 3)
        assert found.faces.tolist() == [-1, -1]


def test_what_is_refused():
    body = pl.Body(TRIANGLE, FACE)
    with pytest.raises(ValueError, match="self_distance"):
        pl.distance(body, body)
    with pytest.raises(TypeError, match="b:"):
        pl.distance(body, 3)
    with pytest.raises(TypeError, match="body:"):
        pl.self_distance("body")


def test_a_query_may_pause_at_any_pair(monkeypatch):
    faces = near_pairs.scene().faces
    first, second = near_pairs.frames()[0]
    right = pl.distance(pl.Body(first, faces), pl.Body(second, faces))
    monkeypatch.setattr(module, "CALL_BUDGET", 1)
    found = pl.distance(pl.Body(first, faces), pl.Body(second, faces))
    assert (found.distance, found.faces.tolist(), found.stats) == (right.distance, right.faces.tolist(), right.stats)


def test_the_last_answer_helps_the_next():
    if OFF:
        faces, motion = near_pairs.scene().faces, [near_pairs.frame(k) for k in (0, 0)]
    else:
        scene = shapes.bumpy_pair(1280, 200)
        faces, motion = scene.faces, [scene.frame(k) for k in range(4)]
    a, b = (pl.Body(vertices, faces) for vertices in motion[0])
    pl.distance(a, b)
    for first, second in motion[1:]:
        a.update(first)
        b.update(second)
        fresh = pl.distance(pl.Body(first, faces), pl.Body(second, faces))
        found = pl.distance(a, b)
        assert (found.distance, found.faces.tolist()) == (fresh.distance, fresh.faces.tolist())
        assert found.stats.n_p < fresh.stats.n_p or OFF                 # of 20 faces there is little to spare


# --- itself ------------------------------------------------------------------------------------------------------------------

def test_a_body_and_itself(kept):
    faces = near_pairs.scene().faces
    body = pl.Body(near_pairs.frames()[0][0], faces, **kept)
    for first, _ in near_pairs.frames()[:2]:
        body.update(first)
        found = pl.self_distance(body)
        square, attained = near_pairs.answers(naive_distances.self_distance, first, faces)
        near_pairs.check_separation(found, square, attained, first, faces, first, faces)


def test_a_placed_body_and_itself():
    faces, vertices = near_pairs.scene().faces, near_pairs.frames()[0][0]
    body = pl.Body.rigid(vertices, faces)
    body.update(TURN)
    square, attained = naive_distances.self_distance(body.vertices, faces)
    near_pairs.check_separation(pl.self_distance(body), square, attained, body.vertices, faces, body.vertices, faces)


def test_welded_vertices_are_one():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]])
    faces = [[0, 1, 2], [3, 4, 5]]
    assert pl.self_distance(pl.Body(vertices, faces)).distance == 0
    assert pl.self_distance(pl.Body(vertices, faces, weld=True)).distance == np.inf


# --- hard meshes -------------------------------------------------------------------------------------------------------------

@settings(max_examples=15 if OFF else 150, deadline=None)
@given(st.data())
def test_meshes_on_a_lattice(data):
    """Ties, contacts, coplanar and degenerate faces."""
    (first, faces), (second, others) = data.draw(near_pairs.lattice_meshes()), data.draw(near_pairs.lattice_meshes())
    second = second + data.draw(st.sampled_from([0.0, 2.0, 5.0]))
    square, attained = naive_distances.distance(first, faces, second, others)
    found = pl.distance(pl.Body(first, faces, leaf=2), pl.Body(second, others, leaf=2))
    if square is None:
        assert found.distance == np.inf
        return
    right = near_pairs.root_of(square)
    assert abs(found.distance - right) <= near_pairs.PRECISION * 20
    assert (found.distance == 0) == (square == 0)
    assert tuple(found.faces.tolist()) in attained


# --- scenes ------------------------------------------------------------------------------------------------------------------

def crowd():
    moves = np.array([[0.0, 0, 0], [5, 0, 0], [0, 7, 1], [5, 3, 0.5], [40, 0, 0]])
    return [TRIANGLE * 0.25 + move for move in moves]


def test_the_nearest_bodies_of_a_scene():
    places = crowd()
    scene = pl.Scene([pl.Body(place, FACE) for place in places])
    scene.add(pl.Body(TRIANGLE, []))
    right = {(i, j): pl.distance(scene[i], scene[j]).distance for j in range(5) for i in range(j)}
    found = scene.distance()
    assert found.distance == min(right.values())
    assert right[tuple(found.bodies.tolist())] == found.distance
    scene.ignore(*found.bodies.tolist())
    assert scene.distance().distance == sorted(right.values())[1]
    assert pl.Scene().distance().distance == np.inf
    assert pl.Scene().distance().bodies.tolist() == [-1, -1]


def test_a_body_and_a_scene():
    places = crowd()
    scene, body = pl.Scene([pl.Body(place, FACE) for place in places]), pl.Body(TRIANGLE * 0.25 + [4, 6, 0], FACE)
    right = [pl.distance(body, scene[i]).distance for i in range(5)]
    found, turned = pl.distance(body, scene), pl.distance(scene, body)
    assert found.distance == turned.distance == min(right)
    assert found.bodies.tolist() == [0, int(np.argmin(right))] == turned.bodies.tolist()[::-1]
    scene.add(body)
    assert pl.distance(body, scene).distance == min(right)
    with pytest.raises(ValueError, match="the same"):
        pl.distance(scene, scene)
