"""A tree built on the mean of the shapes that a body will take."""

import numpy as np
import pytest

import naive
import pliant as pl
from pliant import shapes
from pliant.tree.nodes import BUILDERS

VERTICES, FACES = shapes.icosphere(1)


def tree_of(body):
    return body._bvh_at(body._motion.scale).tree


def same_tree(a, b):
    return all(np.array_equal(getattr(tree_of(a), name), getattr(tree_of(b), name)) for name in ("child", "count", "faces"))


@pytest.mark.formulas
@pytest.mark.parametrize("build", sorted(BUILDERS))
@pytest.mark.parametrize("weld", [False, True])
def test_the_tree_is_that_of_the_mean(build, weld):
    """Of three shapes, the flat one that the body starts in says nothing about the others."""
    flat = VERTICES * [1, 1, 1e-3]
    others = [VERTICES * [1, 2, 3], VERTICES * [2, 1, 4]]
    body = pl.Body(flat, FACES, build=build, weld=weld, build_poses=others)
    assert same_tree(body, pl.Body(np.mean(others, axis=0), FACES, build=build, weld=weld))
    np.testing.assert_array_equal(body.vertices, flat)
    other = pl.Body(VERTICES + np.array([0.3, 0.2, 0]), FACES)
    for shape in (flat, *others):
        body.update(shape)
        expected = naive.collide(body.vertices, FACES, other.vertices, FACES)
        assert pl.collide(body, other).faces.tolist() == sorted(map(list, expected))


@pytest.mark.skipif(pl.core.jit.DISABLED, reason="too few volumes without kernels")
def test_it_serves_all_shapes_better_than_the_first():
    """A crumpled sheet that will unfold: volumes of the first shape's tree span the whole sheet then."""
    rng, n = np.random.default_rng(4), 40
    x, y = np.meshgrid(np.arange(n), np.arange(n))
    sheet = np.column_stack([x.ravel(), y.ravel(), np.zeros(n * n)]).astype(float)
    corner = (x[:-1, :-1] + n * y[:-1, :-1]).ravel()
    faces = np.concatenate([np.column_stack([corner, corner + 1, corner + n]), np.column_stack([corner + 1, corner + n + 1, corner + n])])
    crumpled = rng.standard_normal((n * n, 3))
    known = pl.Body(crumpled, faces, policy="lazy", build_poses=[crumpled, sheet, sheet + 1])
    unknown = pl.Body(crumpled, faces, policy="lazy")
    probe = pl.Body([[n / 2 + 0.3, n / 2 + 0.3, -1], [n / 2 + 0.4, n / 2 + 0.4, 1], [n / 2 + 0.4, n / 2 + 0.3, 0]], [[0, 1, 2]])
    work = []
    for body in (known, unknown):
        body.update(sheet)
        work.append(pl.collide(body, probe).stats)
    assert work[0].n_v < work[1].n_v / 5


@pytest.mark.formulas
@pytest.mark.parametrize(("value", "kind", "words"), [
    (3, TypeError, "poses: expected positions"),
    ([], pl.MeshError, "poses: expected at least one"),
    (VERTICES, pl.MeshError, r"build_poses: expected shape \(k, n, 3\)"),
    ([VERTICES, VERTICES[:-1]], pl.MeshError, r"poses\[1\]: expected 42 rows"),
    ([VERTICES, VERTICES * np.nan], pl.MeshError, r"poses\[1\]: row 0 is \[nan"),
])
def test_bad_poses_are_refused(value, kind, words):
    with pytest.raises(kind, match=words):
        pl.Body(VERTICES, FACES, build_poses=value)


@pytest.mark.formulas
def test_poses_of_a_body_without_faces_and_of_huge_ones():
    assert len(pl.Body(VERTICES, [], build_poses=[VERTICES])) == 0
    assert same_tree(pl.Body(VERTICES, FACES, build_poses=[VERTICES * 1e308, VERTICES * 1e308]), pl.Body(VERTICES, FACES))
