"""Pairs that filters left unresolved, settled on the host by their corners and the names of these."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adversarial
import meshes
import naive
from pliant.core.jit import ignore_float_errors
from pliant.image.exact_host import exact_tests
from trials import OFF, often

pytestmark = pytest.mark.formulas


def settled(vertices, faces, pairs):
    """Which of these pairs of faces of a mesh meet, by `settle`."""
    faces, pairs = np.asarray(faces, np.int32), np.asarray(pairs).reshape(-1, 2)
    names = faces[pairs].reshape(-1, 6)
    with ignore_float_errors():
        return exact_tests(names, np.ascontiguousarray(np.asarray(vertices, np.float64)[names].reshape(-1, 18))).tolist()


def assert_settled(vertices, faces):
    """All pairs of a mesh, in either order."""
    n = len(faces)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    right = set(map(tuple, naive.self_collide(vertices, faces).tolist()))
    expected = [pair in right for pair in pairs]
    assert settled(vertices, faces, pairs) == expected
    assert settled(vertices, faces, [(j, i) for i, j in pairs]) == expected
    return expected


lattice = st.integers(-2, 2).map(float)
huge = st.builds(lambda m, e: m * 2.0**e, st.integers(-3, 3), st.sampled_from([-1070, -300, 0, 300, 1000]))


@often(150)
@given(st.data(), st.sampled_from([lattice, huge]), st.integers(3, 7))
def test_pairs_that_share_no_vertex_or_some(data, coordinate, n):
    """Degenerate faces, faces twice, and all that can be shared, on a small lattice where touching is common, and in all sizes."""
    vertices = np.array(data.draw(st.lists(st.tuples(*[coordinate] * 3), min_size=n, max_size=n)), np.float64)
    corner = st.integers(0, n - 1)
    faces = np.array(data.draw(st.lists(st.tuples(corner, corner, corner), min_size=2, max_size=5)), np.int32)
    assert_settled(vertices, faces)


@pytest.mark.parametrize("kind", ["vertex_on_face", "edge_on_edge", "coplanar_oblique", "degenerate", "tiny", "huge", "needle"])
def test_hard_pairs(kind):
    a, b = adversarial.pairs(kind, 3 if OFF else 40, np.random.default_rng(9))
    n = len(a)
    vertices, faces = meshes.soup(np.vstack([a, b]))
    expected = [naive.triangles_meet_fast(p, q) for p, q in zip(a, b, strict=True)]
    assert settled(vertices, faces, [(i, n + i) for i in range(n)]) == expected


def test_folded_neighbours():
    """Folded flat onto each other they meet in more than the edge; opened by a hair they do not."""
    vertices, faces = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.0, 2, 0]]), [[0, 1, 2], [1, 0, 3]]
    assert assert_settled(vertices, faces) == [True]
    vertices[3, 2] = 5e-324
    assert assert_settled(vertices, faces) == [False]
    vertices[3] = [0, -1, 0]
    assert assert_settled(vertices, faces) == [False]
    assert assert_settled(vertices, [[0, 1, 2], [2, 0, 1]]) == [True]


def test_no_pairs():
    assert exact_tests(np.zeros((0, 6), np.int32), np.zeros((0, 18))).tolist() == []


@pytest.mark.skipif(OFF, reason="thousands of pairs")
def test_more_pairs_than_are_settled_at_a_time():
    vertices, faces = meshes.soup(np.array([np.eye(3), np.eye(3) + 0.1, np.eye(3) * 2]))
    pairs = np.tile([[0, 0], [0, 1], [0, 2]], (3000, 1))
    assert settled(vertices, faces, pairs) == [True, False, False] * 3000
