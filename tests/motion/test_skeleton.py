"""Skeletons: matrices in the world and maps are the products that are documented, weights are convex, circles are found."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from controls import blended, turns
from pliant.errors import MeshError
from poses import matrix

pytestmark = pytest.mark.formulas

often = settings(max_examples=80, deadline=None, derandomize=True, database=None)


@st.composite
def forests(draw):
    """Parents of a few joints, shuffled: any may come before its own."""
    count = draw(st.integers(1, 12))
    grown = [draw(st.integers(-1, k - 1)) for k in range(count)]
    order = draw(st.permutations(range(count)))
    parents = np.empty(count, int)
    for k, parent in enumerate(grown):
        parents[order[k]] = -1 if parent < 0 else order[parent]
    return parents


def affine(rng, count):
    made = np.tile(np.eye(4), (count, 1, 1))
    made[:, :3] = rng.normal(size=(count, 3, 4))
    return made


def up(parents, local, joint):
    """The product from the root down to a joint."""
    return local[joint] if parents[joint] < 0 else up(parents, local, parents[joint]) @ local[joint]


@often
@given(forests(), st.integers(0, 99))
def test_matrices_are_products_from_the_root_down(parents, seed):
    rng = np.random.default_rng(seed)
    local, bind = affine(rng, len(parents)), affine(rng, len(parents))
    skeleton = pl.Skeleton(parents, bind)
    world, expected = skeleton.world(local), np.array([up(parents, local, k) for k in range(len(parents))])
    np.testing.assert_allclose(world, expected, rtol=1e-9, atol=1e-9)
    assert (world[:, 3] == (0, 0, 0, 1)).all()
    for maps in (skeleton.maps(local), skeleton.maps(local[:, :3]), skeleton.maps(world=world), skeleton.maps(world=world[:, :3])):
        assert maps.shape == (len(parents), 3, 4)
        np.testing.assert_allclose(maps, (expected @ bind)[:, :3], rtol=1e-9, atol=1e-9)


@often
@given(forests(), turns(), st.integers(0, 99))
def test_moving_the_roots_moves_everything(parents, turn, seed):
    """The surface as modelled, where joints are as they were bound; then all of it, rigidly."""
    rng = np.random.default_rng(seed)
    local = affine(rng, len(parents))
    local[:, :3, :3] = np.eye(3) + 0.2 * local[:, :3, :3] / np.abs(local[:, :3, :3]).sum(axis=(1, 2), keepdims=True)
    skeleton = pl.Skeleton(parents, np.linalg.inv(pl.Skeleton(parents).world(local)))
    vertices = rng.normal(size=(6, 3))
    weights = skeleton.weights(rng.integers(0, len(parents), (6, 4)), rng.uniform(0.1, 1, (6, 4)))
    np.testing.assert_allclose(blended(weights, skeleton.maps(local), vertices), vertices, atol=1e-9)
    roots = parents < 0
    local[roots] = matrix(turn, (1, 2, 3)) @ local[roots]
    np.testing.assert_allclose(blended(weights, skeleton.maps(local), vertices), vertices @ turn.T + (1, 2, 3), atol=1e-9)


@often
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 255)), min_size=4, max_size=4), min_size=1, max_size=6),
       st.sampled_from([np.uint8, np.uint16, np.int64, np.float32, np.float64]))
def test_weights_are_shares(entries, kind):
    """Zeros are dropped, what comes twice is added, rows are divided by their sums: the right fractions but for roundings."""
    rows = np.array(entries).reshape(-1, 4, 2)
    rows[rows[..., 1].sum(axis=1) == 0, 0, 1] = 9
    joints, given_weights = rows[..., 0], rows[..., 1].astype(kind)
    if kind == np.float32:
        given_weights = given_weights / np.float32(255)
    weights = pl.Skeleton([-1, 0, 1, 2]).weights(joints.astype(np.uint8), given_weights)
    for k, row in enumerate(rows.tolist()):
        expected = [Fraction(sum(w for j, w in row if j == joint), sum(w for _, w in row)) for joint in range(4)]
        np.testing.assert_allclose(weights.toarray()[k], np.array(expected, float), rtol=1e-6 if kind == np.float32 else 1e-15)
    assert weights.format == "csr" and weights.has_canonical_format and (weights.data > 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_extreme_weights_are_shares_too():
    skeleton = pl.Skeleton([-1, 0])
    for size in (5e-324, 1e-300, 1e308):
        np.testing.assert_array_equal(skeleton.weights([[0, 1]], [[size, size]]).toarray(), [[0.5, 0.5]])
    assert skeleton.weights([[0, 1, -1, 77]], [[1, 1, 0, 0]]).toarray().tolist() == [[0.5, 0.5]]  # where nothing belongs, any joint
    assert skeleton.weights(np.zeros((0, 4), int), np.zeros((0, 4))).shape == (0, 2)


def test_deep_skeletons_and_what_they_are():
    count = 500
    chain = pl.Skeleton([*range(1, count), -1])                         # the last is the root
    local = np.tile(matrix(None, (1, 0, 0)), (count, 1, 1))
    assert np.sort(chain.world(local)[:, 0, 3]).tolist() == list(range(1, count + 1))
    assert len(chain) == count and repr(chain) == "Skeleton(500 joints, 500 deep)"
    assert not chain.parents.flags.writeable and not chain.inverse_bind.flags.writeable


ARM = pl.Skeleton([-1, 0])
TRANSPOSED = matrix(None, (1, 2, 3)).T
BAD = {
    "none": (lambda: pl.Skeleton([]), MeshError, r"parents: expected shape \(m,\)"),
    "rows": (lambda: pl.Skeleton([[-1]]), MeshError, r"parents: expected shape \(m,\).*got \(1, 1\)"),
    "floats": (lambda: pl.Skeleton([-1.0, 0.0]), TypeError, "parents: expected integer"),
    "range": (lambda: pl.Skeleton([-1, 2]), MeshError, "parents: row 1 is 2, expected −1 for none, or a joint from 0 to 1"),
    "below": (lambda: pl.Skeleton([-2]), MeshError, "parents: row 0 is -2"),
    "itself": (lambda: pl.Skeleton([-1, 1]), MeshError, "parents: row 1 is 1, from where no way leads to a root, −1: 1 joints"),
    "circle": (lambda: pl.Skeleton([-1, 3, 1, 2, 0, 3]), MeshError, "parents: row 1 is 3.*4 joints hang on a circle"),
    "bind": (lambda: pl.Skeleton([-1], np.eye(3)[None]), MeshError, r"inverse_bind: expected shape \(1, 4, 4\) or \(1, 3, 4\)"),
    "binds": (lambda: pl.Skeleton([-1, 0], np.eye(4)[None]), MeshError, r"inverse_bind: expected shape \(2, 4, 4\).*got \(1, 4, 4\)"),
    "transposed": (lambda: ARM.world([np.eye(4), TRANSPOSED]), MeshError, r"local: row 1 is \[1.0, 2.0, 3.0, 1.0\].*transposed"),
    "finite": (lambda: ARM.maps([np.eye(4), np.eye(4) * np.nan]), MeshError, "local: row 1 is .*not finite"),
    "beyond": (lambda: pl.Skeleton([-1, 0, 1]).world(np.tile(np.diag([1e200, 1, 1, 1]), (3, 1, 1))), MeshError, "in the world: row 1 is"),
    "neither": (ARM.maps, TypeError, "maps: expected local matrices or those in the world, got neither"),
    "both": (lambda: ARM.maps(np.eye(4)[None], world=np.eye(4)[None]), TypeError, "got both"),
    "joint": (lambda: ARM.weights([[0, 1], [0, 2]], [[1, 1], [1, 1]]), MeshError, r"joints: row 1 is \[0, 2\], but joints go from 0 to 1"),
    "joints": (lambda: ARM.weights([[0, 1]], [[1, 1], [1, 1]]), MeshError, r"joints: expected shape \(2, 2\), as weights have it"),
    "float joints": (lambda: ARM.weights([[0.0, 1.0]], [[1, 1]]), TypeError, "joints: expected integer"),
    "empty row": (lambda: ARM.weights([[0, 1], [0, 1]], [[1, 1], [0, 0]]), MeshError, r"weights: row 1 is \[0.0, 0.0\], with a sum of 0"),
    "negative": (lambda: ARM.weights([[0, 1]], [[2, -1]]), MeshError, r"weights: row 0 is \[2.0, -1.0\], expected finite"),
    "NaN": (lambda: ARM.weights([[0, 1]], [[2, np.nan]]), MeshError, "weights: row 0 is .*nan"),
    "flat": (lambda: ARM.weights([0, 1], [1, 1]), MeshError, r"weights: expected shape \(n, k\)"),
    "masked": (lambda: ARM.weights([[0, 1]], np.ma.masked_array([[1, 1]])), TypeError, "weights: masked"),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
