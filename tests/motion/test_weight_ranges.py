"""What maps have of some vertices: limits of weights, boxes at rest and sums, against the same in plain NumPy."""

import numpy as np
import pytest

from pliant.motion.weight_ranges import collect_ranges, range_scratch

pytestmark = pytest.mark.formulas


def a_skin(rng, n, m):
    """begins (n + 1,), which and weights: every vertex is moved by one to four of m maps. Map 0 moves all of them."""
    maps = [np.append(0, 1 + rng.permutation(m - 1)[:rng.integers(0, 4)]) for _ in range(n)]
    begins = np.cumsum([0, *map(len, maps)])
    return begins, np.concatenate(maps).astype(np.int32), rng.uniform(0.1, 1.0, begins[-1])


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (3, 5), (2, 9), (0, 12)])
def test_limits_boxes_and_sums(begin, end):
    """A map that does not move some of the vertices has the weight 0 there."""
    rng, m = np.random.default_rng(begin + end), 6
    begins, which, weights = a_skin(rng, 12, m)
    local, axes, order = rng.normal(size=(12, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(12).astype(np.int32)
    scratch = range_scratch(m)
    n = collect_ranges(order, begin, end, (begins, which, weights), local, axes, scratch)
    table = np.zeros((12, m))
    table[np.repeat(np.arange(12), np.diff(begins)), which] = weights
    rows, along = table[order[begin:end]], local[order[begin:end]] @ axes.T
    moved = np.flatnonzero(rows.any(0))
    assert sorted(scratch.map_ids[:n].tolist()) == moved.tolist() and not scratch.counts.any()
    np.testing.assert_array_equal(scratch.limits[moved], np.column_stack([rows.min(0), rows.max(0)])[moved])
    for j in moved:
        some = along[rows[:, j] > 0]
        np.testing.assert_allclose(scratch.boxes[j], [*some.min(0), *some.max(0)], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(scratch.boxes[-1], [*along.min(0), *along.max(0)], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(scratch.sums, [rows.sum(1).min(), rows.sum(1).max()], rtol=1e-12)
