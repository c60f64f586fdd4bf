"""The table of pairs against a set."""

import numba
import numpy as np
import pytest

from pliant.broadphase import pair_set
from pliant.core.jit import kernel

pytestmark = pytest.mark.formulas
OFF = bool(numba.config.DISABLE_JIT)


@kernel
def work(table, keys, comes, changed):
    """Insert or remove one after another, and what became of it."""
    for k in range(len(keys)):
        changed[k] = pair_set.insert(table, keys[k]) if comes[k] else pair_set.remove(table, keys[k])


@kernel
def look(table, keys, found):
    for k in range(len(keys)):
        found[k] = pair_set.contains(table, keys[k])


@pytest.mark.parametrize("n_slots", [8, 40, 1 << 30])
def test_a_table_is_a_set(n_slots):
    rng, table, expected = np.random.default_rng(1), np.full(64, pair_set.EMPTY, np.int64), set()
    few = np.sort(rng.integers(0, n_slots, (31, 2)), axis=1)
    few = np.unique(few[:, 0] << 32 | few[:, 1])
    for _ in range(5 if OFF else 100):
        keys, comes = rng.choice(few, 50), rng.random(50) < 0.5
        changed = np.zeros(50, np.int64)
        work(table, keys, comes, changed)
        for key, come, change in zip(keys.tolist(), comes, changed, strict=True):
            assert change == (come != (key in expected))
            expected = expected | {key} if come else expected - {key}
        assert sorted(table[table != pair_set.EMPTY].tolist()) == sorted(expected)
        found = np.zeros(len(few), bool)
        look(table, few, found)
        assert found.tolist() == [key in expected for key in few.tolist()]


def test_keys_spread_over_the_table():
    """Neighbours in a row, on a lattice, and one box with all others: few share a place with another."""
    i = np.arange(1 << 10)
    for first, second in ((i, i + 1), (i, i + 1024), (i * 0, i + 1), (i * 64, i * 64 + 3), (i // 32, i % 32 + 32)):
        places = np.array([pair_set.hash_place(key, 4095) for key in (first << 32 | second).tolist()])
        assert len(np.unique(places)) > 700


def test_tables_grow_and_shrink_with_what_is_in_them(monkeypatch):
    monkeypatch.setattr(pair_set, "MIN_CAPACITY", 8)
    monkeypatch.setattr(pair_set, "PLACES_PER_CALL", 5)
    alive, low = np.ones(64, bool), 6
    keys = np.array([i << low | j for i in range(12) for j in range(i + 1, 12, 3)])
    table = pair_set.insert_in_steps(pair_set.empty_table(len(keys)), keys, low)
    assert len(table) == 128
    larger = pair_set.insert_in_steps(pair_set.empty_table(len(table) // 2), table, 32)
    assert len(larger) == 256
    for each in (table, larger):
        np.testing.assert_array_equal(np.sort(pair_set.alive_keys(each, len(keys), alive, low)), keys)
    alive[3] = False
    left = keys[(keys >> low != 3) & (keys & 63 != 3)]
    assert len(left) < len(keys)
    np.testing.assert_array_equal(np.sort(pair_set.alive_keys(table, len(keys), alive, low)), left)


def test_changes_are_merged():
    rng, low = np.random.default_rng(2), 5
    every = np.array([i << low | j for i in range(20) for j in range(i + 1, 20)])
    for n_old, n_changed in ((0, 0), (0, 9), (30, 0), (100, 40), (190, 190)):
        old, toggled = np.sort(rng.choice(every, n_old, replace=False)), rng.choice(every, n_changed, replace=False)
        new = np.setxor1d(old, toggled)
        table = pair_set.insert_in_steps(pair_set.empty_table(len(new)), new, low)
        changed = np.concatenate([toggled, toggled[::2], rng.choice(every, 3)])  # some twice, some for nothing
        found = pair_set.update_keys(old, changed >> low << 32 | changed & 31, table, low)
        np.testing.assert_array_equal(found, new)
