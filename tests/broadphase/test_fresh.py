"""Pairs from scratch: all with all and in columns, on boxes of every kind."""

import numba
import numpy as np
import pytest

import boxes as some
from pliant.broadphase import sweep_full
from pliant.broadphase.radix import WIDE_DIGIT_SIZE, RadixSorter

OFF = bool(numba.config.DISABLE_JIT)
SIZE = 12 if OFF else 600


def clusters(rng, n):
    """Three heaps, far from each other and of very different size."""
    at = rng.integers(0, 3, n)
    return some.around(np.array([0, 1e6, -1e9])[at][:, None] + rng.normal(size=(n, 3)) * np.array([1, 1e3, 1e-2])[at][:, None],
                       rng.uniform(0, 0.3, (n, 3)) * np.array([1, 1e3, 1e-2])[at][:, None])


def large_and_small(rng, n):
    """Every tenth box as large as the space."""
    centres, sizes = some.scattered(rng, n)
    sizes[::10] *= 100
    return some.around(centres, sizes)


def lattice_in_order(rng, n):
    """A lattice of cubes that touch, row by row: a sample at equal steps would see one row alone."""
    side = 16
    at = np.stack(np.unravel_index(np.arange(n), (side, side, side)), axis=1)
    return np.concatenate([at, at + 1], axis=1).astype(float)


KINDS = {
    "scattered": lambda rng, n: some.around(*some.scattered(rng, n)),
    "dense": lambda rng, n: some.around(*some.scattered(rng, n, 5.0)),
    "far away": lambda rng, n: some.around(*some.scattered(rng, n)) + 2.0**40,
    "flat": lambda rng, n: some.around(*some.scattered(rng, n)) * np.array([1, 0, 1] * 2),
    "points": lambda rng, n: np.tile(rng.integers(0, 6, (n, 3)).astype(float), 2),
    "on a line": lambda rng, n: some.around(np.outer(rng.uniform(0, n / 2, n), [1, 1, 1]), np.ones((n, 3))),
    "walls": lambda rng, n: some.around(*some.scattered(rng, n)) * 1.0 + np.array([0, -1e6, 0, 0, 1e6, 0]),
    "whole": lambda rng, n: some.on_lattice(rng, n, 7),
    "extreme": some.of_some,
    "equal": lambda rng, n: np.tile([0.0, 0, 0, 1, 1, 1], (n, 1)),
    "clusters": clusters,
    "large and small": large_and_small,
    "lattice": lattice_in_order,
}


@pytest.mark.formulas
@pytest.mark.parametrize("kind", KINDS)
def test_columns_and_all_pairs_agree(monkeypatch, kind):
    if OFF:
        monkeypatch.setattr(sweep_full, "COMPARISON_BUDGET", 3)
    rng, low = np.random.default_rng(1), 12
    for n in (1, 2, 3, SIZE):
        slots = np.sort(rng.permutation(2 * n)[:n])
        boxes = np.full((2 * n, 6), np.nan)                             # whoever looks at a slot that is not in use finds out
        boxes[slots] = KINDS[kind](rng, n)
        expected = some.overlapping(boxes[slots], slots)
        for least in (1, 10**9):
            monkeypatch.setattr(sweep_full, "BRUTE_FORCE_SIZE", least)
            ours = sweep_full.FullSweep(RadixSorter())
            for _ in range(2):                                          # the second time there is room
                keys = np.sort(ours.pairs_of(boxes, slots, low))
                np.testing.assert_array_equal(np.stack([keys >> low, keys & (1 << low) - 1], axis=1), expected)


def test_columns_save_most_comparisons():
    rng, n = np.random.default_rng(2), 20_000
    boxes, ours = KINDS["scattered"](rng, n), sweep_full.FullSweep(RadixSorter())
    counts = ours._prepare_columns(boxes, np.arange(n))[0]
    assert n < counts[-1] < 2.5 * n and np.diff(counts).max() < n / 50  # few copies, many columns


def test_room_for_very_many_pairs_is_not_kept(monkeypatch):
    monkeypatch.setattr(sweep_full, "MAX_KEPT_KEYS", 1 << 11)
    ours = sweep_full.FullSweep(RadixSorter())
    assert len(ours.pairs_of(KINDS["equal"](None, 300), np.arange(300), 9)) == 300 * 299 // 2
    assert len(ours.pairs_of(np.arange(12.0).reshape(2, 6), np.arange(2), 9)) == 0
    assert len(ours.keys) == 1 << 11


@pytest.mark.formulas
@pytest.mark.parametrize("n", [0, 1, 2, 50] if OFF else [0, 1, 2, 50, WIDE_DIGIT_SIZE - 1, WIDE_DIGIT_SIZE, 3 * WIDE_DIGIT_SIZE])
def test_sorting_floats(n):
    rng, sorter = np.random.default_rng(3), RadixSorter()
    for source in (rng.normal(size=n), rng.choice(some.SOME, n), np.zeros(n), rng.integers(-3, 3, n) * 1e300, np.sort(rng.random(n))):
        values, tags = sorter.buffers(n)
        values[:], tags[:] = source, np.arange(n)
        values, tags = sorter.sort(n)
        np.testing.assert_array_equal(values, np.sort(source))
        np.testing.assert_array_equal(tags, np.argsort(source, kind="stable"))
