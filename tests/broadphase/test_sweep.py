"""Pairs of overlapping boxes over many frames, against comparing all with all, whichever way they are found."""

import numpy as np
import pytest

import boxes as some
from benchmarks import broadphase
from pliant.broadphase import sweep_full
from pliant.broadphase.sweep import SweepAndPrune
from sweeps import OFF, SIZE, Scene

# --- motion --------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("step", [0.0, 0.002, 0.02, 0.5])
def test_boxes_that_drift(method, narrow, step):
    scene, exchanged = Scene(), 0
    for frame in some.drifting(np.random.default_rng(1), SIZE, 5 if OFF else 40, step):
        scene.set(np.arange(SIZE), frame)
        exchanged += scene.sweep.n_swaps
        scene.check()
    if step == 0.0 or method == "all pairs":
        assert exchanged == 0
    elif step <= 0.02:
        assert exchanged > 0


def test_what_does_not_move_costs_nothing():
    rng, scene, n = np.random.default_rng(2), Scene(), 3000
    centres, sizes = some.scattered(rng, n)
    scene.set(np.arange(n), some.around(centres, sizes))
    scene.check()
    for k in range(20):
        ids = rng.choice(n, 30, replace=False)
        centres[ids] += rng.normal(size=(30, 3)) * 0.01
        scene.set(ids, some.around(centres, sizes)[ids])
        assert scene.sweep.n_moved == 30 and 0 < scene.sweep.n_swaps < 30 * 100
        if k % 5 == 0:
            scene.check()


@pytest.mark.parametrize("n_moved", [1, 5, 200, 2000])
def test_jumps_are_not_quadratic(n_moved):
    """Exchanges stop soon after they are no longer worth it, and boxes that jump in every frame are not even begun with."""
    rng, scene, n, swaps = np.random.default_rng(3), Scene(), 2000, []
    scene.set(np.arange(n), some.around(*some.scattered(rng, n)))
    for _ in range(12):
        scene.check()
        scene.set(np.arange(n_moved), some.around(*some.scattered(rng, n))[:n_moved])
        swaps.append(scene.sweep.n_swaps)
    assert max(swaps) < 30 * n
    if n_moved > 100:
        assert swaps.count(0) > 6
    else:
        assert swaps[0] > 0


def test_lists_come_back_after_jumps():
    rng, scene, n = np.random.default_rng(4), Scene(), 500
    frames = list(some.drifting(rng, n, 60, 0.004))
    for _ in range(20):
        scene.set(np.arange(n), some.around(*some.scattered(rng, n)))
        scene.check()
    assert scene.sweep.n_swaps == 0
    scene.set(np.arange(3), frames[0][:3])                              # fewer boxes: at once
    assert scene.sweep.n_swaps > 0
    for frame in frames:
        scene.set(np.arange(n), frame)
        scene.check()
    assert scene.sweep.n_swaps > 0


def test_boxes_that_all_move_together_exchange_nothing():
    rng, scene = np.random.default_rng(5), Scene()
    boxes = some.on_lattice(rng, 400, 12)
    for k in range(10):
        scene.set(np.arange(400), boxes + 4.0 * k)
        assert scene.sweep.n_swaps == 0
        scene.check()


@pytest.mark.formulas
def test_equal_boxes(method, narrow):
    scene, n = Scene(), SIZE
    scene.set(np.arange(n), np.tile([0, 0, 0, 1, 1, 1.0], (n, 1)))
    assert len(scene.check()) == n * (n - 1) // 2
    scene.set(np.arange(n), np.tile([1, 1, 1, 2, 2, 2.0], (n, 1)))
    assert len(scene.check()) == n * (n - 1) // 2
    scene.set([3], [np.array([2, 2, 2, 3, 3, 3.0])])                    # touches all others in a corner
    assert len(scene.check()) == n * (n - 1) // 2
    scene.set([3], [np.array([np.nextafter(2, 3), 2, 2, 3, 3, 3.0])])
    assert len(scene.check()) == (n - 1) * (n - 2) // 2


@pytest.mark.formulas
def test_infinite_and_huge_boxes(method, narrow):
    rng, scene, n = np.random.default_rng(6), Scene(), SIZE // 2
    for _ in range(4 if OFF else 40):
        ids = rng.permutation(SIZE)[:n]
        scene.set(ids, some.of_some(rng, n))
        scene.check()
        scene.set(ids[:2], some.of_some(rng, 2))
        scene.check()


@pytest.mark.formulas
def test_slots_are_used_again(method, narrow):
    rng, scene = np.random.default_rng(7), Scene()
    scene.set(np.arange(SIZE), some.on_lattice(rng, SIZE, 5))
    scene.check()
    for k in range(6):
        scene.remove([1, 4, 4, -1, 10**6])                              # what is not there is passed over
        if k % 2:
            scene.check()
        if k == 2:
            scene.set([0], [scene.boxes[0]])
        boxes = some.on_lattice(rng, 3, 5)
        scene.set([4, 1, SIZE + 70 * k], boxes if k != 3 else np.tile(scene.boxes[0], (3, 1)))
        scene.check()
    scene.remove([*scene.boxes])
    assert len(scene.check()) == 0
    scene.set([5, 3], some.on_lattice(rng, 2, 1))
    scene.check()


def test_a_box_comes_back_to_where_it_was(no_brute):
    """Its pairs are still in the table, and none of them came or went."""
    rng, scene = np.random.default_rng(9), Scene()
    boxes = some.on_lattice(rng, 40, 4)
    scene.set(np.arange(40), boxes)
    scene.check()
    scene.set([0], [boxes[0] + 0.125])
    expected = len(scene.check())
    scene.remove([7])
    assert len(scene.check()) < expected
    scene.set([7], [boxes[7]])
    assert len(scene.check()) == expected


# --- what goes in --------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_layouts():
    boxes = some.on_lattice(np.random.default_rng(13), 9, 3)
    frozen = boxes.copy()
    frozen.flags.writeable = False
    for ids, given in ((range(9), boxes.tolist()), (np.arange(9, dtype=np.int32), np.asfortranarray(boxes)),
                       (np.arange(9)[::-1], boxes[::-1]), (np.arange(9, dtype=">i8"), boxes.astype(np.float32)), (np.arange(9), frozen)):
        found = SweepAndPrune()
        found.set(ids, given)
        np.testing.assert_array_equal(found.pairs(), some.overlapping(boxes))


@pytest.mark.formulas
def test_refusals():
    found = SweepAndPrune()
    found.set([], np.zeros((0, 6)))
    found.remove([])
    assert found.pairs().shape == (0, 2) and found.method == "brute" and len(found) == 0
    with pytest.raises(ValueError, match="slots from 0"):
        found.set([-1], np.zeros((1, 6)))
    with pytest.raises(ValueError, match="slots from 0"):
        found.set([1 << 40], np.zeros((1, 6)))
    for shape in ((2, 6), (1, 5), (6,)):
        with pytest.raises(ValueError, match=r"expected ids \(k,\)"):
            found.set([0], np.zeros(shape))
    assert len(found) == 0


def test_the_method_depends_on_the_number_of_boxes():
    rng, scene = np.random.default_rng(14), Scene()
    for n in (sweep_full.BRUTE_FORCE_SIZE - 1, sweep_full.BRUTE_FORCE_SIZE, sweep_full.BRUTE_FORCE_SIZE + 1):
        scene.set(np.arange(n), some.around(*some.scattered(rng, n)))
        assert scene.sweep.method == ("brute" if n < sweep_full.BRUTE_FORCE_SIZE else "sweep")
        scene.check()
    scene.remove([0, 1])
    assert scene.sweep.method == "brute"
    scene.check()


def test_what_is_handed_out_is_the_callers():
    scene = Scene()
    scene.set([2, 0], [np.array([0, 0, 0, 1, 1, 1.0])] * 2)
    scene.sweep.pairs()[:] = 7
    assert scene.check().tolist() == [[0, 2]]


def test_the_benchmark_compares_equal_answers():
    for share in (1.0, 0.01):
        row = broadphase.run(300, 0.01, share, 1)
        assert row["differ"] == 0 and set(row["us"]) == {"Sweep", "afresh", "k-d tree", "NumPy"} and row["how"] == "lists"
