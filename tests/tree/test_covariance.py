"""Trees by covariance: along which axis sets are cut and where, and that wide trees hold the cuts of binary ones."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshes
import poses
import trees
from pliant import shapes
from pliant.tree.covariance import MIDPOINT_ERROR, doubled_midpoints, quickselect, set_split_axis
from pliant.tree.nodes import WIDTH_OF_ARITY

pytestmark = pytest.mark.formulas

OFF = bool(numba.config.DISABLE_JIT)
MANY = 40 if OFF else 300
WIDE = pytest.mark.parametrize("arity", [arity for arity in WIDTH_OF_ARITY if arity > 2])
EXAMPLES = settings(max_examples=100 if OFF else 300, deadline=None, derandomize=True, database=None)
PLACES = st.lists(st.tuples(*[st.integers(-4, 4)] * 3), min_size=1, max_size=12)


def at(places, size=2.0**-10):
    """A mesh of small faces around these places: numbers along x, or (n, 3)."""
    places = np.asarray(places, np.float64)
    places = places[:, None] * [1.0, 0.0, 0.0] if places.ndim == 1 else places
    return meshes.soup(np.stack([places - size, places + size, places + size], 1))


def cloud(*sizes, n=MANY, seed=21):
    """Faces around places that are spread by these sizes along axes that are turned."""
    rng = np.random.default_rng(seed)
    return at(rng.standard_normal((n, 3)) * sizes @ poses.any_turn(rng).T)


def lattice(*counts):
    """Faces around places on a lattice, all of different size, so that float32 rounds every midpoint in its own way."""
    places = 0.7 + 0.1 * np.indices(counts).reshape(len(counts), -1).T
    return at(places, np.random.default_rng(6).random((len(places), 3)) / 30)


def middles(mesh):
    """(n, 3) float64 doubled midpoints as the builder sees them."""
    return doubled_midpoints(trees.points_of(mesh[0]), mesh[1]).reshape(-1, 4)[:, :3].astype(np.float64)


def spread_of(places):
    """Eigenvalues in ascending order and eigenvectors of the sums of products about the mean, and what rounding may have made of them."""
    about = places - places.mean(0)
    values, vectors = np.linalg.eigh(about.T @ about)
    return values, vectors, MIDPOINT_ERROR * math.sqrt(np.square(about).sum() * np.square(places).sum())


def sets_of(tree):
    """All sets of faces under a lane."""
    return {frozenset(some) for found in trees.faces_under(tree) for some in found}


# --- along which axis --------------------------------------------------------------------------------------------------------------

@EXAMPLES
@given(places=PLACES, offset=st.sampled_from([0, 1, 1000]), size=st.sampled_from([2.0**-100, 1.0, 2.0**60]))
def test_the_axis_is_that_of_the_largest_spread(places, offset, size):
    """For any few places: flat, in a line, all in one. Where several axes are as good, one of them."""
    rows, axis = np.zeros((len(places), 4), np.float32), np.zeros(3)
    rows[:, :3] = (np.array(places, np.float64) + offset) * size
    set_split_axis(rows.reshape(-1), np.arange(len(places), dtype=np.int32), 0, len(places), axis)
    assert math.isclose(np.linalg.norm(axis), 1, abs_tol=1e-6)
    values, _, noise = spread_of(rows[:, :3].astype(np.float64))
    along = np.square((rows[:, :3] - rows[:, :3].mean(0, dtype=np.float64)) @ axis).sum()
    assert along >= (1 - 1e-5) * values[2] - 4 * noise


CLOUDS = {"ellipsoid": cloud(3, 2, 1), "plate": cloud(2, 1, 0), "needle": cloud(1, 0, 0), "far away": cloud(3, 2, 1, n=20, seed=4),
          "sphere": shapes.icosphere(0 if OFF else 2), "doubling": meshes.in_row(20, lambda k: 2.0 ** (k - 10))}
CLOUDS["far away"][0][:] += [500.0, -300.0, 200.0]


@pytest.mark.parametrize("name", CLOUDS)
def test_every_set_is_cut_at_the_median(name):
    """Binary, one face a leaf: halves, and one of them is below the other along NumPy's eigenvector, where only one is right."""
    places, told = middles(CLOUDS[name]), 0
    for found in trees.faces_under(trees.built(CLOUDS[name], "covariance", 2, 1)):
        some = sorted(set().union(*found))
        assert sorted(map(len, found)) == [len(some) // 2, len(some) - len(some) // 2]
        values, vectors, noise = spread_of(places[some])
        if values[2] - values[1] > 100 * noise + 1e-9 * values[2]:
            told += 1
            first, second = sorted((places[list(part)] @ vectors[:, 2] for part in found), key=np.mean)
            margin = (4 * noise / (values[2] - values[1]) + 1e-6) * np.ptp(places[some] @ vectors[:, 2]) + 4 * noise / math.sqrt(values[2])
            assert first.max() <= second.min() + margin
            assert name == "sphere" or margin < 0.2 * np.ptp(places[some] @ vectors[:, 2])
    assert told > 0.8 * (len(places) - 1) or (name == "sphere" and told > 0.4 * (len(places) - 1))


@pytest.mark.parametrize("counts", [(2, 2, 2), (4, 4, 4), (1, 8, 8), (8, 1, 8)])
def test_equal_spreads_are_cut_across_a_coordinate_axis(counts):
    """Cubes and squares: rounding of the places says nothing about the axis."""
    mesh = lattice(*counts)
    places = middles(mesh)
    for found in trees.faces_under(trees.built(mesh, "covariance", 2, 1)):
        first, second = (places[list(part)] for part in found)
        assert ((first.max(0) < second.min(0)) | (second.max(0) < first.min(0))).any()


@pytest.mark.parametrize("size", [2.0**-100, 2.0**-20, 2.0**100])
def test_the_size_of_a_mesh_does_not_matter(size):
    vertices, faces = cloud(3, 2, 1)
    one, other = (trees.built((vertices * s, faces), "covariance", 8, 1) for s in (1.0, size))
    assert np.array_equal(one.child, other.child)
    assert np.array_equal(one.faces, other.faces)


def test_the_order_of_faces_does_not_matter():
    vertices, faces = cloud(3, 2, 1)
    order = np.random.default_rng(1).permutation(len(faces))
    one, other = (sets_of(trees.built((vertices, some), "covariance", 4, 3)) for some in (faces, faces[order]))
    assert {frozenset(order[list(some)].tolist()) for some in other} == one


# --- medians -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("places, lower", [([1, 2, 1, 0, 1, 1], {0, 2, 3}), ([1, 1, 1, 1, 0, 2, 2], {0, 1, 4})])
def test_level_faces_go_by_their_numbers(places, lower):
    assert lower in trees.faces_under(trees.built(at(places), "covariance", 2, 1))[0]


def halves_of(some):
    """All sets that halving makes of a list, but the first."""
    first, second = some[:len(some) // 2], some[len(some) // 2:]
    return {frozenset(first), frozenset(second)}.union(*(halves_of(part) for part in (first, second) if len(part) > 1))


@pytest.mark.parametrize("n", [2, 9, 40])
def test_midpoints_that_coincide_are_halved_by_position(n):
    assert sets_of(trees.built(at([3.0] * n), "covariance", 2, 1)) == halves_of(list(range(n)))


@EXAMPLES
@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=30), before=st.integers(0, 3), data=st.data())
def test_selection(values, before, data):
    """The value at its place, found inside the range alone."""
    room = np.array([np.nan] * before + values + [np.nan], np.float64)
    k = data.draw(st.integers(0, len(values) - 1))
    assert quickselect(room, before, before + k, before + len(values)) == sorted(values)[k]
    assert sorted(room[before:-1]) == sorted(values)
    assert np.isnan(room[:before]).all() and np.isnan(room[-1])


class Counted(list):
    """A list that counts how often it is read."""
    reads = 0

    def __getitem__(self, k):
        self.reads += 1
        return super().__getitem__(k)


def test_selection_is_linear():
    """In order, backwards, up and down again, or of two values."""
    n = 600
    up = list(range(n))
    for values in (up, up[::-1], [min(k, n - k) for k in up], [max(k, n - k) for k in up], [k % 2 for k in up]):
        counted = Counted(values)
        assert getattr(quickselect, "py_func", quickselect)(counted, 0, n // 2, n) == sorted(values)[n // 2]
        assert counted.reads < 16 * n


# --- nodes and leaves --------------------------------------------------------------------------------------------------------------

@WIDE
@pytest.mark.parametrize("leaf", [1, 3, 8])
def test_wide_trees_hold_the_cuts_of_binary_ones(arity, leaf):
    for mesh in (cloud(3, 2, 1), lattice(3, 5, 2), at([0.0] * 30)):
        wide, binary = (sets_of(trees.built(mesh, "covariance", some, leaf)) for some in (arity, 2))
        assert wide <= binary
        assert {some for some in wide if len(some) <= leaf} == {some for some in binary if len(some) <= leaf}


@WIDE
def test_the_largest_part_is_cut(arity):
    """So that a root of single faces has `arity` parts which differ by no more than twice."""
    for n in (arity, 13, 37):
        found = trees.faces_under(trees.built(cloud(3, 2, 1, n=n), "covariance", arity, 1))[0]
        assert len(found) == arity
        assert max(map(len, found)) <= 2 * min(map(len, found))


@pytest.mark.parametrize("leaf", [1, 2, 3, 8])
def test_the_fewest_leaves_and_levels(leaf):
    for n in (1, 2, 3, 7, 9, 16, 17, 33, 100):
        leaves = math.ceil(n / leaf)
        for mesh in (cloud(3, 2, 1, n=n), at([1.0] * n)):
            for arity in WIDTH_OF_ARITY:
                tree = trees.built(mesh, "covariance", arity, leaf)
                assert len(tree.faces) == leaves
                assert tree.depth <= max(1, math.ceil(math.log2(leaves)))
                assert leaves > arity or len(tree.child) == 1
