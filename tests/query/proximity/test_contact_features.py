"""`within` and `self_within` with features=True name the pairs of the rational reference, with distances, points, weights and normals."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_features
import near_pairs
import pliant as pl
from near_pairs import OFF

pytestmark = pytest.mark.formulas
TOLERANCES = st.sampled_from([0.0, 0.25, 1.0, 2.0**0.5, 1.5])
N_FIRST = np.array([1, 3, 2])                                           # vertices of the first feature of each kind
DISTANCE_ERROR = 1e-12                                                  # of the size


def keys_of(found):
    """The pairs (kind, i, j) of a result."""
    return [(kind, *pair) for kind, pair in zip(found.kinds.tolist(), found.features.tolist(), strict=True)]


def assert_features(found, a, faces_a, b, faces_b, tolerance, same=False):
    """Every pair of the reference once, in order; all fields of each."""
    squares = naive_features.squares(a, faces_a, b, faces_b, same)
    roots = {pair: near_pairs.root_of(square) for pair, square in squares.items()}
    keys, size = keys_of(found), max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), tolerance)
    assert keys == sorted(set(keys))
    assert all(abs(roots[pair] - tolerance) <= DISTANCE_ERROR * size  # on the tolerance itself rounding decides
               for pair in {pair for pair, root in roots.items() if root <= tolerance} ^ set(keys))
    np.testing.assert_allclose(found.distances, [roots[pair] for pair in keys], rtol=0, atol=DISTANCE_ERROR * size)
    assert ((found.distances == 0) == [squares[pair] == 0 for pair in keys]).all()
    for row, kind in enumerate(found.kinds.tolist()):
        n = N_FIRST[kind]
        points, weights = np.concatenate([a[found.vertices[row, :n]], b[found.vertices[row, n:]]]), found.weights[row]
        assert weights[:n].max() <= 0 <= weights[n:].min()
        np.testing.assert_allclose([weights[:n].sum(), weights[n:].sum()], [-1, 1], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(weights @ points), roots[keys[row]], rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(found.points[row], [-weights[:n] @ points[:n], weights[n:] @ points[n:]], rtol=0, atol=1e-11 * size)
        if roots[keys[row]] > 1e-6 * size:
            np.testing.assert_allclose(found.normals[row] * roots[keys[row]], weights @ points, rtol=0, atol=1e-11 * size)
        used = [np.count_nonzero(weights[:n]), np.count_nonzero(weights[n:])]
        assert (found.closest[row] >= np.array(used) - 1).all()
    lengths = np.linalg.norm(found.normals, axis=1)
    assert (np.isclose(lengths, 1) | (lengths == 0) & (found.distances == 0)).all()
    faces = [np.asarray(faces_a), np.asarray(faces_b)]
    for (kind, *pair), owners in zip(keys, found.faces.tolist(), strict=True):
        for side in (0, 1):
            if kind == 2:
                assert set(naive_features.edges_of(faces[side])[pair[side]]) <= set(faces[side][owners[side]].tolist())
            elif kind == side:
                assert pair[side] in faces[side][owners[side]]
            else:
                assert pair[side] == owners[side]


def test_every_option_gives_the_right_pairs(options):
    faces, count = near_pairs.scene().faces, 0
    for first, second in near_pairs.frames()[1:2 if OFF else 3]:
        a, b = pl.Body(first, faces, **options), pl.Body(second, faces, **options)
        found = pl.within(a, b, 0.15, features=True)
        assert keys_of(found) == keys_of(pl.within(pl.Body(first, faces), pl.Body(second, faces), 0.15, features=True))
        count += len(found)
    assert_features(found, first, faces, second, faces, 0.15)
    assert count


def test_a_body_and_itself(kept):
    faces, (first, _) = near_pairs.scene().faces, near_pairs.frames()[0]
    tolerance = 2.0 if OFF else 0.7
    found = pl.self_within(pl.Body(first, faces, **kept), tolerance, features=True)
    assert found.is_self and set(found.kinds.tolist()) == {0, 2}
    assert_features(found, first, faces, first, faces, tolerance, same=True)


@settings(max_examples=10 if OFF else 40, deadline=None)
@given(near_pairs.lattice_meshes(4), near_pairs.lattice_meshes(4), TOLERANCES, st.sampled_from([1.0, 2.0**-300, 2.0**300]))
def test_lattice_meshes(one, other, tolerance, scale):
    (a, faces_a), (b, faces_b) = one, other
    a, b, tolerance = a * scale, (b + [0.5, 0, 0]) * scale, tolerance * scale
    first, second = pl.Body(a, faces_a), pl.Body(b, faces_b)
    assert_features(pl.within(first, second, tolerance, features=True), a, faces_a, b, faces_b, tolerance)
    assert_features(pl.self_within(first, tolerance, features=True), a, faces_a, a, faces_a, tolerance, same=True)


@settings(max_examples=10 if OFF else 40, deadline=None)
@given(near_pairs.lattice_meshes(4), near_pairs.lattice_meshes(4), TOLERANCES)
def test_the_order_of_bodies_changes_nothing(one, other, tolerance):
    (a, faces_a), (b, faces_b) = one, other
    first, second = pl.Body(a, faces_a), pl.Body(b + 0.25, faces_b)
    there, back = pl.within(first, second, tolerance, features=True), pl.within(second, first, tolerance, features=True)
    mirrored = {(1 - kind if kind < 2 else 2, j, i): distance for (kind, i, j), distance in zip(keys_of(back), back.distances, strict=True)}
    assert dict(zip(keys_of(there), there.distances, strict=True)) == mirrored


def test_bodies_of_all_motions():
    faces, ((first, second), (_, other)) = near_pairs.scene().faces, near_pairs.frames()[:2]
    turn = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])
    placed, morph = pl.Body.rigid(first, faces), pl.Body.morph([second, other], faces)
    blended = pl.Body.blended(second, faces, np.ones((len(second), 1)))
    placed.update(turn)
    morph.update([0.5, 0.5])
    blended.update(turn[None])
    for one, two in ((placed, morph), (morph, blended), (blended, placed)):
        assert_features(pl.within(one, two, 0.3, features=True), one.vertices, faces, two.vertices, faces, 0.3)


def test_pairs_near_at_rest_are_left_out():
    faces, (first, _) = near_pairs.scene().faces, near_pairs.frames()[0]
    squeezed, body = first * [1, 1, 0.05], pl.Body(first * [1, 1, 0.05], faces)
    tolerance = 0.3
    everything = naive_features.within(squeezed, faces, squeezed, faces, tolerance, same=True)
    at_rest = naive_features.squares(first, faces, first, faces, same=True)
    for distance in (None, 0.05, 0.5):
        found = pl.self_within(body, tolerance, features=True, rest=first, rest_distance=distance)
        limit = (tolerance if distance is None else distance) ** 2
        assert keys_of(found) == sorted(pair for pair in everything if at_rest[pair] > limit)
    two = pl.Body(first, faces), pl.Body(first + [0, 0, 0.01], faces)
    assert len(pl.within(*two, 0.1, features=True))
    assert not pl.within(*two, 0.1, features=True, rest=(first, first))
    apart = pl.within(*two, 0.1, features=True, rest=(None, first + [0, 0, 9]))
    assert keys_of(apart) == keys_of(pl.within(*two, 0.1, features=True))


def test_pairs_near_along_edges_are_left_out():
    faces, (first, _) = near_pairs.scene().faces, near_pairs.frames()[0]
    body, edges = pl.Body(first, faces), naive_features.edges_of(faces)
    around = {v: {w for edge in edges if v in edge for w in edge} for v in range(len(first))}
    everything = keys_of(pl.self_within(body, 3.0, features=True))
    near = {v: {v} for v in around}
    for rings in (1, 2):
        near = {v: set().union(*(around[w] for w in reached)) for v, reached in near.items()}
        right = [(kind, i, j) for kind, i, j in everything if not any(
            w in near[v] for v in ({i} if kind == 0 else edges[i]) for w in (faces[j].tolist() if kind == 0 else edges[j]))]
        assert keys_of(pl.self_within(body, 3.0, features=True, rings=rings)) == right
        assert len(right) < len(everything)


def test_csr_has_the_pairs_of_every_vertex():
    faces, (first, second) = near_pairs.scene().faces, near_pairs.frames()[1]
    found = pl.within(pl.Body(first, faces), pl.Body(second, faces), 0.3, features=True)
    alone = pl.self_within(pl.Body(first, faces), 3.0 if OFF else 0.8, features=True)
    assert len(found) and len(alone)
    for result, body, columns in ((found, 0, lambda k: slice(0, N_FIRST[k])), (found, 1, lambda k: slice(N_FIRST[k], 4)),
                                  (alone, 0, lambda k: slice(0, 4))):
        begins, rows = result.csr(body)
        assert len(begins) == len(first) + 1 and begins[-1] == len(rows)
        for v in range(len(first)):
            right = [row for row, kind in enumerate(result.kinds.tolist()) if v in result.vertices[row, columns(kind)]]
            assert rows[begins[v]:begins[v + 1]].tolist() == right
    with pytest.raises(pl.ArgumentError, match="body: expected 0 for the first body or 1"):
        found.csr(2)


def test_csr_names_a_pair_once_for_a_vertex_that_a_face_has_twice():
    vertices, faces = [[0, 0, 0], [1, 0, 0]], [[0, 1, 1]]
    found = pl.within(pl.Body([[0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2]]), pl.Body(vertices, faces), 3.0, features=True)
    begins, rows = found.csr(1)
    assert len(found) and all(len(set(rows[a:b].tolist())) == b - a for a, b in pairwise(begins))



def test_nothing_is_near_nothing():
    faces, empty = [[0, 1, 2]], np.zeros((0, 3), int)
    triangle = np.eye(3)
    for a, b in ((empty, faces), (faces, empty)):
        found = pl.within(pl.Body(triangle, a), pl.Body(triangle, b), 9.0, features=True)
        assert not found and found.weights.shape == (0, 4) and found.points.shape == (0, 2, 3)
        assert found.csr()[0].tolist() == [0, 0, 0, 0]
    assert not pl.within(pl.Body(triangle, faces), pl.Body(triangle + 9, faces), 1.0, features=True)
    assert repr(found) == "FeaturePairs(0 pairs of a vertex and a face, 0 of two edges)"


@pytest.mark.parametrize("call, message", [
    (lambda a, b: pl.within(a, b, 1.0, features=1), "features: expected True or False"),
    (lambda a, b: pl.within(a, b, np.nan, features=True), "tolerance: expected a finite number from 0.0 up, got nan"),
    (lambda a, b: pl.within(a, b, 1.0, features=True, points=True), "points: results with features=True always have points"),
    (lambda a, b: pl.within(a, b, 1.0, rest=(None, None)), "rest: an option of features=True, and features is False"),
    (lambda a, b: pl.self_within(a, 1.0, rings=2), "rings: an option of features=True"),
    (lambda a, b: pl.self_within(a, 1.0, features=True, rings=-1), "rings: expected an integer from 0"),
    (lambda a, b: pl.self_within(a, 1.0, features=True, rest_distance=1.0), "rest_distance: given without rest"),
    (lambda a, b: pl.self_within(a, 1.0, features=True, rest=np.eye(3), rest_distance=-1.0), "rest_distance: expected a finite number"),
    (lambda a, b: pl.self_within(a, 1.0, features=True, rest=np.zeros((4, 3))), r"rest: vertices: expected 3 rows"),
    (lambda a, b: pl.within(a, b, 1.0, features=True, rest=(None, np.full((3, 3), np.nan))), r"rest\[1\]: vertices: row 0 is"),
    (lambda a, b: pl.within(a, b, 1.0, features=True, rest=np.eye(3)), "rest: expected a state of each of the two bodies"),
    (lambda a, b: pl.within(pl.Scene([a]), b, 1.0, features=True), "a: expected a Body with features=True, got a Scene"),
])
def test_wrong_calls(call, message):
    a, b = pl.Body(np.eye(3), [[0, 1, 2]]), pl.Body(np.eye(3), [[0, 1, 2]])
    with pytest.raises(pl.PliantError, match=message):
        call(a, b)
