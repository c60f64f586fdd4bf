"""Boxes that are no farther apart than a distance, and rules of pairs, against all pairs compared."""

import numpy as np
import pytest

import boxes as some
from pliant.broadphase.ignore_rules import IgnoreRules
from pliant.broadphase.sweep import SweepAndPrune
from pliant.query.proximity.box_gaps import cross_pairs, nearest_boxes, pairs_of_one


def gap_of(a, b):
    """How far two boxes are apart."""
    return np.linalg.norm(np.maximum(np.maximum(a[:3] - b[3:], b[:3] - a[3:]), 0))


def pairs_within(boxes, slots, distance):
    return [(i, j) for i in slots for j in slots if i < j and gap_of(boxes[i], boxes[j]) <= distance]


@pytest.mark.formulas
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distance", [0.0, 1.0, 2.5, 1e12, np.inf])
def test_close_boxes(no_brute, seed, distance):
    """On a lattice, with ties: also after boxes are gone."""
    rng = np.random.default_rng(seed)
    boxes, sweep = some.on_lattice(rng, 40, 6), SweepAndPrune()
    sweep.set(np.arange(40), boxes)
    for gone in ([], [3, 17]):
        sweep.remove(gone)
        slots = sorted(set(range(40)) - set(gone))
        pairs, gaps = sweep.close_pairs(distance)
        assert list(map(tuple, pairs.tolist())) == pairs_within(boxes, slots, distance)
        right = np.array([gap_of(boxes[i], boxes[j]) for i, j in pairs.tolist()])
        assert ((gaps <= right) & (right <= gaps * (1 + 1e-9) + 1e-9)).all()


@pytest.mark.formulas
def test_boxes_of_all_sizes(no_brute):
    """No pair is lost to rounding, whatever the coordinates; those found overlap or are close."""
    rng, sweep = np.random.default_rng(7), SweepAndPrune()
    ends = np.sort(rng.choice(some.SOME[1:-1], (30, 2, 3)), axis=1).reshape(30, 6)
    sweep.set(np.arange(30), ends)
    overlapping = set(map(tuple, some.overlapping(ends).tolist()))
    for distance in (0.0, 5e-324, 1.0, 1e300, np.inf):
        found = set(map(tuple, sweep.close_pairs(distance)[0].tolist()))
        assert overlapping <= found
    assert len(found) == 30 * 29 // 2


@pytest.mark.formulas
def test_boxes_of_two_groups():
    rng = np.random.default_rng(3)
    one, other = some.on_lattice(rng, 12, 9), some.on_lattice(rng, 9, 9)
    numbers, other_numbers = np.arange(12), np.arange(9) + 5
    right = {(i, j): gap_of(one[i], other[j]) for i in range(12) for j in range(9) if numbers[i] != other_numbers[j]}
    for distance in (0.0, 2.0, np.inf):
        pairs, _ = cross_pairs(one, numbers, other, other_numbers, distance)
        assert list(map(tuple, pairs.tolist())) == [pair for pair, gap in right.items() if gap <= distance]
    best = np.empty(2, np.int64)
    nearest_boxes(one, numbers, other, other_numbers, best)
    assert right[tuple(best.tolist())] == min(right.values())
    nearest_boxes(one[:1], numbers[:1], one[:1], numbers[:1], best)
    assert best[0] == -1
    assert pairs_of_one(one[:1], other, 2.0).tolist() == [j for j in range(9) if gap_of(one[0], other[j]) <= 2.0]


@pytest.mark.formulas
def test_rules_of_names():
    """Of bodies, of groups, of both; in either order."""
    rng = np.random.default_rng(5)
    groups = rng.integers(-4, 0, 20)
    names = [(k, k if groups[k] == -4 else int(groups[k])) for k in range(20)]
    rules = {(-1, -1), (-2, -3), (4, -1), (7, 9), (9, 7), (12, -2)}
    pairs = np.array([(i, j) for i in range(20) for j in range(20) if i != j])
    right = [not any((a in names[i] and b in names[j]) or (b in names[i] and a in names[j]) for a, b in rules) for i, j in pairs.tolist()]
    assert IgnoreRules(names, rules).counted(pairs).tolist() == right
    assert not all(right)
    assert IgnoreRules(names, set()).counted(pairs).all()
