"""Whether the filters may be trusted: a flag of the present vertices, whatever was there before; and answers that do not depend on it."""

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.errors import MeshError
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from ray_checks import assert_same

OUTSIDE = [1e-200, -5e-324, 2 * RANGE_MAX, -RANGE_MIN / 2]
INSIDE = [0.0, -RANGE_MIN, RANGE_MAX, 1.0]


@pytest.fixture
def mesh():
    return shapes.icosphere(2)


@pytest.mark.parametrize("value", OUTSIDE)
def test_flag_comes_back(mesh, value):
    rows, faces = mesh
    body = pl.Body(rows, faces)
    assert body._motion.in_filter_range
    for at, back in (([3], [3]), ([5, 5], [5]), ([1, 2, 1], [2, 1])):
        moved = rows[at]
        moved[:, 1] = value
        body.update(moved, changed=at)
        assert not body._motion.in_filter_range
        body.update(rows[back], changed=back)
        assert body._motion.in_filter_range
    body.update(np.where(np.arange(len(rows))[:, None] == 7, value, rows))
    assert not body._motion.in_filter_range
    body.update(rows[[6]], changed=[6])
    assert not body._motion.in_filter_range
    body.update(rows[[7]], changed=[7])
    assert body._motion.in_filter_range
    body.update(np.full_like(rows, value))
    assert not body._motion.in_filter_range
    body.update(rows)
    assert body._motion.in_filter_range


def test_flag_is_that_of_a_fresh_body_after_any_history(mesh):
    rows, faces = mesh
    rng, seen = np.random.default_rng(8), set()
    body, now = pl.Body(rows, faces), rows.copy()
    for _ in range(200):
        n = int(rng.integers(1, 4))
        at = rng.integers(0, 6, n)                                      # few vertices, often named twice: the last row counts
        new = rows[at] + rng.choice([0.0, 0.0, 1e-3], (n, 1))
        new[rng.integers(0, n), rng.integers(0, 3)] = rng.choice([*OUTSIDE[:2], OUTSIDE[3], *INSIDE[:2], 1.0, 1.0, 1.0])
        choice = rng.integers(0, 8)
        if choice == 0:
            borrowed = now.copy()
            body.update(borrowed, copy=False)
        if choice == 1:
            with pytest.raises(MeshError):
                body.update([[np.nan, 0, 0]], changed=[0])
        if choice == 2:
            with pytest.raises(MeshError):
                body.update(np.full_like(rows, np.inf))
        if choice == 3:
            body._motion.restore()
        for k, row in zip(at.tolist(), new, strict=True):
            now[k] = row
        body.update(new, changed=at)
        np.testing.assert_array_equal(body.vertices, now)
        assert body._motion.in_filter_range == pl.Body(now, faces)._motion.in_filter_range
        seen.add(body._motion.in_filter_range)
    assert seen == {True, False}


@pytest.mark.parametrize("value", [1e-200, 5e-324])
def test_hits_on_other_faces_are_the_same_to_the_bit(mesh, value):
    """A vertex outside the range, on faces that no ray meets: t and weights are what they are without it, whichever stage decides."""
    rows, faces = mesh
    rng = np.random.default_rng(9)
    apart = np.vstack([rows, [[40.0, 0, 0], [41, 0, 0], [40, 1, 0]]])
    faces = np.vstack([faces, [[len(rows), len(rows) + 1, len(rows) + 2]]])
    odd = apart.copy()
    odd[len(rows), 1] = value
    origins, directions = rng.uniform(-0.5, 0.5, (4000, 3)), rng.normal(size=(4000, 3))
    directions[:2000] = rows[rng.integers(0, len(rows), 2000)] - origins[:2000]  # at vertices: the filter alone cannot tell
    plain, other = pl.Body(apart, faces), pl.Body(odd, faces)
    assert plain._motion.in_filter_range and not other._motion.in_filter_range
    placed = [pl.Body(given, faces) for given in (apart, odd)]
    for body in placed:
        body.update(transform=np.diag([-1.0, -1, 1, 1]))
    history = pl.Body(odd, faces)
    history.update(apart[[len(rows)]], changed=[len(rows)])
    for one, two in ((plain, other), (plain, history), placed):
        for traversal in (pl.Traversal(), pl.Traversal(rays="stackless")):
            assert_same(pl.cast(two, origins, directions, traversal=traversal), pl.cast(one, origins, directions, traversal=traversal))
        assert_same(pl.cast_all(two, origins, directions), pl.cast_all(one, origins, directions))
        np.testing.assert_array_equal(pl.occluded(two, origins, directions), pl.occluded(one, origins, directions))
    assert pl.cast(plain, origins, directions).hit.all()


def test_one_vertex_outside_leaves_the_rest_to_the_filters(mesh):
    """The answer is the same, and so is how often exact arithmetic was needed, but for the faces around that vertex."""
    rows, faces = mesh
    odd = rows.copy()
    far = int(np.argmax(rows[:, 0]))
    odd[far, 1] = 1e-200
    around = int((faces == far).any(axis=1).sum())
    shifted = rows * 0.9 + [-0.3, 0.1, 0.2]
    for ask in (lambda body: pl.collide(body, pl.Body(shifted, faces)), pl.self_collide,
                lambda body: pl.within(body, pl.Body(shifted, faces), 0.05)):
        plain, other = ask(pl.Body(np.where(odd == 1e-200, 0.0, odd), faces)), ask(pl.Body(odd, faces))
        np.testing.assert_array_equal(plain.faces, other.faces)
        assert other.stats.n_exact <= plain.stats.n_exact + around * (around + 60)


def test_a_refused_update_leaves_the_flag(mesh):
    rows, faces = mesh
    body = pl.Body(rows, faces)
    bad = rows.copy()
    bad[0, 0], bad[1, 1] = 1e-200, np.nan
    with pytest.raises(MeshError):
        body.update(bad)
    with pytest.raises(MeshError):
        body.update(bad[:2], changed=[0, 1])
    assert body._motion.in_filter_range
    np.testing.assert_array_equal(body.vertices, rows)
    body.update(bad[:1], changed=[0])
    with pytest.raises(MeshError):
        body.update(np.where(np.isnan(bad), np.nan, rows))
    assert not body._motion.in_filter_range
