"""Simulation nodes: weights are convex and those that are documented, gradients are least squares, affine maps come out as they are."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from controls import blended, clouds, lattice, slow_gradients, slow_weights, turns
from pliant.errors import MeshError
from pliant.motion import meshless
from pliant.motion.meshless import farthest_point_sampling

pytestmark = pytest.mark.formulas

often = settings(max_examples=80, deadline=None, derandomize=True, database=None)
radii = st.sampled_from([0.3, 1.0, 1.7, 40.0])


def assert_convex(weights):
    assert (weights.data > 0).all() and (weights.data <= 1).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-14)
    for begin, end in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
        assert (np.diff(weights.indices[begin:end]) > 0).all()


# --- weights ---------------------------------------------------------------------------------------------------------------------

@often
@given(clouds(), st.integers(0, 99), st.lists(radii, min_size=14, max_size=14), st.sampled_from([None, 1, 2, 5]))
def test_weights_are_those_that_are_documented(rest, seed, radius, most):
    """Also with unlike radii, and for vertices that no node reaches."""
    radius = np.array(radius[:len(rest)])
    vertices = np.concatenate([np.random.default_rng(seed).uniform(-1, 3, (9, 3)), [[50, 60, 70]]])
    weights = pl.MeshlessNodes(rest, radius).weights(vertices, most=most)
    assert weights.format == "csr" and weights.shape == (10, len(rest)) and weights.dtype == np.float64
    assert_convex(weights)
    assert most is None or np.diff(weights.indptr).max() <= most
    expected = slow_weights(rest, radius, vertices, most)
    if most is None:
        np.testing.assert_allclose(weights.toarray(), expected, atol=1e-9)
    else:                                                               # of equal ones either may be kept
        np.testing.assert_allclose(np.sort(weights.toarray(), axis=1), np.sort(expected, axis=1), atol=1e-9)


def test_vertices_that_no_node_reaches_belong_to_the_nearest():
    weights = pl.MeshlessNodes([[0, 0, 0], [4, 0, 0]], [1.0, 2.0]).weights([[1.5, 0, 0], [1, 0, 0], [-1e200, 0, 0], [1e9, 0, 0]])
    assert weights.toarray().tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    np.testing.assert_array_equal(pl.MeshlessNodes([[0, 0, 0]], 1.0).weights([[7, 7, 7]]).toarray(), [[1.0]])


def test_the_nearest_nodes_are_kept_of_equal_ones_the_first():
    weights = pl.MeshlessNodes(lattice(3, 1, 1), 4.0).weights([[1, 0, 0], [1.9, 0, 0]], most=2).toarray()
    assert weights[0].argmax() == 1 and weights[0, 0] > 0 and weights[0, 2] == 0
    assert weights[1, 0] == 0
    alternating = np.outer(np.arange(600) % 3, [0.25, 0, 0])
    weights = pl.MeshlessNodes(alternating, 1.0).weights([[0.5, 0, 0]], most=3)
    assert weights.indices.tolist() == [2, 5, 8] and weights.data.tolist() == [1 / 3] * 3


def test_no_vertices():
    weights = pl.MeshlessNodes(lattice(2, 2, 2), 1.0).weights(np.empty((0, 3)))
    assert weights.shape == (0, 8) and weights.nnz == 0


@pytest.mark.parametrize("power", [-990, -700, 0, 700, 990])
def test_sizes_make_no_difference(power):
    """Powers of two: to the bit."""
    rest, vertices = lattice(3, 3, 2), np.random.default_rng(1).uniform(-1, 3, (20, 3))
    now = rest @ np.array([[1, 0.5, 0], [0, 2, 0], [0.25, 0, 1]]) + 1
    nodes, scaled = pl.MeshlessNodes(rest, 1.6), pl.MeshlessNodes(np.ldexp(rest, power), np.ldexp(1.6, power))
    expected, found = nodes.weights(vertices), scaled.weights(np.ldexp(vertices, power))
    assert found.data.tobytes() == expected.data.tobytes() and found.indices.tobytes() == expected.indices.tobytes()
    assert scaled.gradients(np.ldexp(now, power)).tobytes() == nodes.gradients(now).tobytes()
    np.testing.assert_array_equal(scaled.spacing, np.ldexp(nodes.spacing, power))


@pytest.mark.parametrize("radius", [1e-300, 1.0, 1e299])
@pytest.mark.parametrize("rest", [np.zeros((1, 3)), np.zeros((12, 3)), [[0, 0, 0], [1e299, 0, 0]], [[0, 0, 0], [5e-324, 0, 0], [1, 0, 0]],
                                  np.random.default_rng(0).uniform(0, 5e-320, (9, 3))], ids=["one", "same", "huge", "mixed", "subnormal"])
def test_extreme_nodes_are_ordinary(rest, radius):
    nodes = pl.MeshlessNodes(rest, radius)
    assert_convex(nodes.weights([[0, 0, 0], [1, 2, 3], [-1e299, 0, 0]]))
    np.testing.assert_allclose(nodes.gradients(rest), np.tile(np.eye(3), (len(nodes), 1, 1)), atol=1e-12)
    assert np.isfinite(nodes.maps(rest)).all() and nodes.spacing.max() > 0


def test_blocks_make_no_difference(monkeypatch):
    rest, vertices = lattice(3, 3, 3), np.random.default_rng(2).uniform(-2, 4, (50, 3))
    whole, few = (pl.MeshlessNodes(rest, 1.5).weights(vertices, most=most) for most in (None, 3))
    monkeypatch.setattr(meshless, "VERTEX_BLOCK", 7)
    for most, expected in ((None, whole), (3, few)):
        np.testing.assert_array_equal(pl.MeshlessNodes(rest, 1.5).weights(vertices, most=most).toarray(), expected.toarray())


def test_nothing_is_dense():
    """A thousand nodes and thirty thousand vertices would be 240 MB."""
    rng = np.random.default_rng(3)
    nodes, vertices = pl.MeshlessNodes(rng.uniform(0, 10, (1000, 3)), 1.5), rng.uniform(0, 10, (30_000, 3))
    tracemalloc.start()
    weights = nodes.weights(vertices)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert weights.nnz > 5 * len(vertices)
    assert peak < 60e6


# --- gradients and maps ----------------------------------------------------------------------------------------------------------

@often
@given(clouds(), st.integers(0, 99), st.sampled_from([0.3, 1.7, 9.0]), st.sampled_from([1, 4, 8]))
def test_gradients_are_least_squares_of_the_smallest_change(rest, seed, radius, least):
    """Also where the nodes around are in a plane, on a line, at one place or none."""
    now = rest + np.random.default_rng(seed).normal(size=rest.shape)
    found = pl.MeshlessNodes(rest, radius, neighbours=least).gradients(now)
    expected = slow_gradients(rest, radius, now, least)
    np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))


@often
@given(st.integers(0, 999), st.lists(st.floats(-3, 3), min_size=9, max_size=9), st.sampled_from([0.0, 1.0, 1e6]),
       st.sampled_from([1e-3, 1, 1e9]))
def test_affine_maps_come_out_as_they_are(seed, matrix, far, size):
    """Of all nodes: then every node has that map, and so has every vertex."""
    rng, matrix, shift = np.random.default_rng(seed), np.reshape(matrix, (3, 3)), np.array([1.0, -2.0, 3.0]) * far * size
    rest = size * (lattice(3, 3, 3) + rng.uniform(-0.3, 0.3, (27, 3)))
    nodes = pl.MeshlessNodes(rest, 1.8 * size)
    now, rounding = rest @ matrix.T + shift, 1e-11 * (1 + far)
    np.testing.assert_allclose(nodes.gradients(now), np.tile(matrix, (27, 1, 1)), atol=rounding)
    maps, vertices = nodes.maps(now), size * rng.uniform(-1, 4, (8, 3))
    np.testing.assert_allclose(maps, np.tile(np.column_stack([matrix, shift]), (27, 1, 1)), atol=10 * rounding * max(size, 1))
    np.testing.assert_allclose(blended(nodes.weights(vertices), maps, vertices), vertices @ matrix.T + shift, atol=30 * rounding * size)


@often
@given(clouds(), turns(), st.integers(0, 99))
def test_maps_carry_their_nodes(rest, turn, seed):
    now = rest @ turn.T + np.random.default_rng(seed).normal(size=rest.shape)
    maps = pl.MeshlessNodes(rest, 1.5).maps(now)
    assert maps.shape == (len(rest), 3, 4)
    np.testing.assert_allclose((maps @ np.column_stack([rest, np.ones(len(rest))])[:, :, None])[:, :, 0], now, atol=1e-6)


def test_a_flat_set_does_not_blow_up():
    """Nothing is known across it, however thin the rounding makes it."""
    rest = np.add(lattice(4, 4, 1), [0, 0, 1e9])
    rest[:, 2] += np.random.default_rng(0).uniform(-1e-7, 1e-7, 16)
    now = rest * [2, 1, 1] + np.random.default_rng(1).normal(size=(16, 3)) * [0, 0, 0.1]
    gradients = pl.MeshlessNodes(rest, 1.5).gradients(now)
    assert np.abs(gradients).max() < 3
    np.testing.assert_allclose(gradients[:, :, 2], np.tile([0, 0, 1], (16, 1)), atol=1e-6)
    np.testing.assert_allclose(gradients[:, 0, :2], np.tile([2, 0], (16, 1)), atol=1e-6)


def test_shifts_lose_nothing_however_far():
    rest = lattice(4, 4, 4)
    np.testing.assert_allclose(pl.MeshlessNodes(rest, 1.8).gradients(rest + 2.0**40), np.tile(np.eye(3), (64, 1, 1)), atol=1e-12)


def test_nodes_too_near_to_be_told_apart():
    rest = np.array([[0, 0, 0], [1e-310, 0, 0], [1, 0, 0], [-1, 0, 0]])
    np.testing.assert_array_equal(pl.MeshlessNodes(rest, 1e-300, neighbours=1).gradients(rest * 2)[:2], np.tile(np.eye(3), (2, 1, 1)))


def test_nodes_are_not_the_callers():
    rest = lattice(2, 2, 2)
    nodes = pl.MeshlessNodes(rest, 2.0)
    rest[:] = 7
    assert nodes.positions.max() == 1 and not nodes.positions.flags.writeable and not nodes.radius.flags.writeable
    assert len(nodes) == 8 and repr(nodes) == "Nodes(8 nodes, 56 links)"
    np.testing.assert_allclose(nodes.spacing, 1.0)


# --- sampling --------------------------------------------------------------------------------------------------------------------

@often
@given(clouds(30), st.integers(0, 30), st.integers(0, 5))
def test_samples_are_the_farthest(points, count, seed):
    """Each from those before it; all different, also where points coincide."""
    chosen = farthest_point_sampling(points, min(count, len(points)), seed)
    assert chosen.dtype == np.int64 and len(set(chosen.tolist())) == len(chosen) == min(count, len(points))
    for k in range(1, len(chosen)):
        distance = np.linalg.norm(points[:, None] - points[chosen[:k]], axis=2).min(axis=1)
        assert distance[chosen[k]] >= distance.max() - 1e-9


def test_samples_differ_by_seed_and_start_alike():
    points = np.random.default_rng(0).normal(size=(200, 3))
    np.testing.assert_array_equal(farthest_point_sampling(points, 50)[:10], farthest_point_sampling(points, 10))
    assert len({farthest_point_sampling(points, 1, seed)[0] for seed in range(9)}) > 4
    np.testing.assert_array_equal(farthest_point_sampling(points * 1e299, 20), farthest_point_sampling(points, 20))
    assert farthest_point_sampling([], 0).shape == (0,)


# --- what is refused -------------------------------------------------------------------------------------------------------------

BAD = {
    "none": (lambda: pl.MeshlessNodes([], 1.0), ValueError, "positions: expected at least one node"),
    "shape": (lambda: pl.MeshlessNodes([[0, 0]], 1.0), MeshError, r"positions: expected shape \(n, 3\)"),
    "finite": (lambda: pl.MeshlessNodes([[0, 0, 0], [0, np.nan, 0]], 1.0), MeshError, "positions: row 1 is"),
    "huge": (lambda: pl.MeshlessNodes([[0, 0, 1e301]], 1.0), MeshError, "positions: row 0 is .*1e\\+301.*sizes below"),
    "radius": (lambda: pl.MeshlessNodes(lattice(2, 1, 1), [1.0, -2.0]), ValueError, "radius: row 1 is -2.0, expected a positive"),
    "radius NaN": (lambda: pl.MeshlessNodes(lattice(2, 1, 1), np.nan), ValueError, "radius: row 0 is nan.*2 rows are bad"),
    "radii": (lambda: pl.MeshlessNodes(lattice(2, 1, 1), [1.0] * 3), ValueError, r"radius: expected a number, or shape \(2,\).*got \(3,\)"),
    "kind": (lambda: pl.MeshlessNodes(lattice(2, 1, 1), "wide"), TypeError, "radius: expected numbers"),
    "neighbours": (lambda: pl.MeshlessNodes(lattice(2, 1, 1), 1.0, neighbours=0), ValueError, "neighbours: expected an integer from 1"),
    "vertices": (lambda: pl.MeshlessNodes([[0, 0, 0]], 1.0).weights([[0, 0, np.inf]]), MeshError, "vertices: row 0 is"),
    "most": (lambda: pl.MeshlessNodes([[0, 0, 0]], 1.0).weights([[0, 0, 0]], most=0), ValueError, "most: expected an integer from 1"),
    "rows": (lambda: pl.MeshlessNodes([[0, 0, 0]], 1.0).maps(np.zeros((2, 3))), MeshError,
             "positions: expected 1 rows, one for each node, got 2"),
    "beyond": (lambda: pl.MeshlessNodes(lattice(2, 2, 2) * 1e-200, 1e-200).gradients(lattice(2, 2, 2) * 1e200), MeshError,
               "positions: gradients: row 0"),
    "count": (lambda: farthest_point_sampling(lattice(2, 1, 1), 3), ValueError, "count: expected an integer from 0 to 2, got 3"),
    "seed": (lambda: farthest_point_sampling(lattice(2, 1, 1), 1, seed=-1), ValueError, "seed: expected an integer from 0"),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
