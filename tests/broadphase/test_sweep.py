"""Pairs of overlapping boxes over many frames, against comparing all with all, whichever way they are found."""

import numba
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import boxes as some
from benchmarks import broadphase
from pliant.broadphase import fresh, lists, pairset, sweep
from pliant.broadphase.sweep import Sweep
from pliant.core import memory
from pliant.errors import TooManyPairsError

OFF = bool(numba.config.DISABLE_JIT)
SIZE = 12 if OFF else 150


@pytest.fixture(params=["all pairs", "lists"])
def method(request, monkeypatch):
    """Every size of scene is compared in full, or none."""
    monkeypatch.setattr(fresh, "BRUTE", 10**9 if request.param == "all pairs" else 1)
    return request.param


@pytest.fixture
def no_brute(monkeypatch):
    monkeypatch.setattr(fresh, "BRUTE", 1)


@pytest.fixture
def narrow(monkeypatch):
    """Everything that can be full is full at once, where kernels are plain Python; compiled, sizes are constants."""
    if OFF:
        for module, name, value in ((lists, "MET", 2), (lists, "BLOCK", 3), (lists, "LOG", 4), (sweep, "LOG", 4), (lists, "FEW", 4),
                                    (pairset, "LEAST", 8), (pairset, "STEP", 3), (fresh, "BUDGET", 2)):
            monkeypatch.setattr(module, name, value)


class Scene:
    """A sweep, and what it should know."""

    def __init__(self):
        self.sweep, self.boxes = Sweep(), {}

    def set(self, ids, boxes):
        boxes = np.array(boxes, np.float64).reshape(-1, 6)
        self.sweep.set(np.asarray(ids, np.int64), boxes)
        self.boxes.update(zip(np.asarray(ids).tolist(), boxes, strict=True))

    def remove(self, ids):
        self.sweep.remove(np.asarray(ids, np.int64))
        for i in ids:
            self.boxes.pop(int(i), None)

    def check(self):
        found = self.sweep.pairs()
        assert found.dtype == np.int64 and len(self.sweep) == len(self.boxes)
        np.testing.assert_array_equal(found, some.overlapping(np.array([*self.boxes.values()]).reshape(-1, 6), [*self.boxes]))
        return found


def patiently(self, loop, ids, boxes, allowed, *more, run=lists.Lists._run):
    """Lists that are never given up."""
    return run(self, loop, ids, boxes, 10**12, *more)


# --- any sequence of operations ------------------------------------------------------------------------------------------------

whole = st.integers(-2, 4).map(float)
extreme = st.one_of(whole, st.sampled_from(some.SOME.tolist()))
slots = st.integers(0, 9)


@st.composite
def a_box(draw, coordinate):
    ends = [sorted((draw(coordinate), draw(coordinate))) for _ in range(3)]
    return np.array([low for low, _ in ends] + [high for _, high in ends])


class Machine(RuleBasedStateMachine):
    """Boxes come, move, jump and go; slots are used again; pairs are asked for now and then."""

    def __init__(self):
        super().__init__()
        self.scene, self.before = Scene(), (fresh.BRUTE, lists.FEW, lists.Lists._run)

    def teardown(self):
        fresh.BRUTE, lists.FEW, lists.Lists._run = self.before

    @initialize(brute=st.sampled_from([1, 1, 6]), few=st.sampled_from([1, 4, 100]), patient=st.booleans(), n=st.integers(0, 10),
                data=st.data())
    def start(self, brute, few, patient, n, data):
        fresh.BRUTE, lists.FEW, lists.Lists._run = brute, few, patiently if patient else self.before[2]
        self.scene.set(np.arange(n), [data.draw(a_box(extreme)) for _ in range(n)])

    @rule(boxes=st.dictionaries(slots, a_box(extreme), min_size=1, max_size=5))
    def jump(self, boxes):
        self.scene.set([*boxes], [*boxes.values()])

    @rule(i=st.integers(10, 200), box=a_box(whole))
    def add_far_up(self, i, box):
        self.scene.set([i], [box])

    @precondition(lambda self: self.scene.boxes)
    @rule(data=st.data(), by=st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=3, max_size=3))
    def move(self, data, by):
        ids = data.draw(st.lists(st.sampled_from([*self.scene.boxes]), min_size=1, unique=True))
        self.scene.set(ids, [self.scene.boxes[i] + np.array(by * 2) for i in ids])

    @precondition(lambda self: self.scene.boxes)
    @rule(by=st.sampled_from([-1.0, 1.0]), axis=st.integers(0, 2))
    def move_all(self, by, axis):
        moved = {i: box.copy() for i, box in self.scene.boxes.items()}
        for i, box in moved.items():
            box[axis::3] += by * (i % 3)
        self.scene.set([*moved], [*moved.values()])

    @rule(box=a_box(whole), other=a_box(extreme), i=slots)
    def name_one_twice(self, i, box, other):
        self.scene.set([i, i], [box, other])

    @rule(ids=st.lists(slots, max_size=4))
    def remove(self, ids):
        self.scene.remove(ids)

    @rule()
    def ask(self):
        self.scene.check()
        self.scene.check()


@pytest.mark.formulas
def test_any_sequence_of_operations(narrow):
    run_state_machine_as_test(Machine, settings=settings(max_examples=100 if OFF else 150, stateful_step_count=40, deadline=None,
                                                         derandomize=True, database=None))


@pytest.mark.parametrize("many", [False, True], ids=["boxes one by one", "all boxes"])
def test_two_thousand_frames(monkeypatch, many):
    monkeypatch.setattr(fresh, "BRUTE", 60)
    monkeypatch.setattr(lists, "FEW", 10**9 if many else 1)
    rng, scene, listed = np.random.default_rng(8), Scene(), 0
    for k in range(2000):
        if k % 400 == 0:                                                # another kind of boxes
            make = (lambda n: some.on_lattice(rng, n, 9), lambda n: some.around(*some.scattered(rng, n, 2.0)),
                    lambda n: some.of_some(rng, n))[k // 400 % 3]
        ids = np.array([*scene.boxes], np.int64)
        kind = rng.choice(5, p=(0.02, 0.03, 0.05, 0.1, 0.8)) if len(ids) > 70 else 0
        if kind == 0:                                                   # many at once, new or not
            ids = rng.permutation(150)[:100]
            scene.set(ids, make(100))
        elif kind == 1:
            scene.remove(rng.choice(ids, 5))
        elif kind == 2:                                                 # a few jump
            ids = rng.choice(ids, 3, replace=False)
            scene.set(ids, make(3))
        else:                                                           # some, or all, drift
            ids = ids if kind == 4 and k % 2 else rng.choice(ids, 10, replace=False)
            old = np.array([scene.boxes[i] for i in ids.tolist()])
            scene.set(ids, old + np.tile(rng.choice([0.0, 0.25, -0.25], (len(ids), 3), p=(0.9, 0.05, 0.05)), 2))
            listed += scene.sweep.swaps > 0
        scene.check()
    assert listed > 800


# --- motion --------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("step", [0.0, 0.002, 0.02, 0.5])
def test_boxes_that_drift(method, narrow, step):
    scene, exchanged = Scene(), 0
    for frame in some.drifting(np.random.default_rng(1), SIZE, 5 if OFF else 40, step):
        scene.set(np.arange(SIZE), frame)
        exchanged += scene.sweep.swaps
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
        assert scene.sweep.moved == 30 and 0 < scene.sweep.swaps < 30 * 100
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
        swaps.append(scene.sweep.swaps)
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
    assert scene.sweep.swaps == 0
    scene.set(np.arange(3), frames[0][:3])                              # fewer boxes: at once
    assert scene.sweep.swaps > 0
    for frame in frames:
        scene.set(np.arange(n), frame)
        scene.check()
    assert scene.sweep.swaps > 0


def test_boxes_that_all_move_together_exchange_nothing():
    rng, scene = np.random.default_rng(5), Scene()
    boxes = some.on_lattice(rng, 400, 12)
    for k in range(10):
        scene.set(np.arange(400), boxes + 4.0 * k)
        assert scene.sweep.swaps == 0
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


# --- tables that are full ------------------------------------------------------------------------------------------------------

def test_the_table_grows_while_one_box_moves():
    rng, scene, n = np.random.default_rng(10), Scene(), 3000
    centres, sizes = some.scattered(rng, n, 0.001)
    boxes = some.around(centres, sizes)
    scene.set(np.arange(n), boxes)
    scene.check()
    scene.set([0], [boxes[0]])
    size = len(scene.sweep._lists.table)
    scene.set([0], [np.array([-1e9, -1e9, -1e9, 1e9, 1e9, 1e9])])
    assert scene.sweep.swaps > n and len(scene.sweep._lists.table) > size
    assert len(scene.check()) >= n - 1
    scene.set([0], [boxes[0]])
    assert scene.sweep.swaps > n
    scene.check()


def test_the_table_grows_while_all_boxes_move():
    scene, n = Scene(), 3000
    row = np.zeros((n, 6))
    row[:, 0] = np.arange(n)
    row[:, 3] = row[:, 0] + 0.75
    scene.set(np.arange(n), row)
    assert len(scene.check()) == 0
    swaps = []
    for reach in (0.75, 1.0, 0.75, 1.5, 2.0):                           # 1: every box touches the next; 2: and the one after that
        row[:, 3] = row[:, 0] + reach
        scene.set(np.arange(n), row)
        swaps.append(scene.sweep.swaps)
        assert len(scene.check()) == {0.75: 0, 1.0: n - 1, 1.5: n - 1, 2.0: 2 * n - 3}[reach]
    assert swaps == [0, n - 1, n - 1, n - 1, n - 2] and len(scene.sweep._lists.table) > pairset.LEAST


@pytest.mark.formulas
@pytest.mark.parametrize("few", [1, 10**9], ids=["boxes one by one", "all boxes"])
def test_the_table_grows_in_the_middle_of_a_move(monkeypatch, narrow, no_brute, few):
    """Boxes that are far apart come together and part; nothing but the smallest table to begin with."""
    monkeypatch.setattr(lists, "FEW", few)
    monkeypatch.setattr(lists.Lists, "_run", patiently)
    monkeypatch.setattr(pairset, "LEAST", 8 if OFF else 2 * lists.MET)
    grown, filled = [], lists.filled
    monkeypatch.setattr(lists, "filled", lambda table, keys, low: grown.append(low) or filled(table, keys, low))
    for seed in range(20):
        rng, scene = np.random.default_rng(seed), Scene()
        centres, sizes = rng.uniform(0, 100, (SIZE, 3)), rng.uniform(1, 2, (SIZE, 3))
        for k, spread in enumerate((1.0, 1.0, 0.05, 0.01, 0.2, 0.03)):
            ids = rng.permutation(SIZE)[:SIZE if k < 2 else SIZE - 3]
            scene.set(ids, some.around(centres * spread, sizes)[ids])
            scene.check()
    assert grown.count(32) > 20


@pytest.fixture
def cramped(monkeypatch):
    """Hardly any memory is left, and the system is asked about every byte."""
    monkeypatch.setattr(pairset, "SMALL", 0)
    monkeypatch.setenv("PLIANT_MEMORY", str(memory.KEEP_FREE + (4 << 20)))


@pytest.mark.parametrize("way", ["from scratch", "with lists"])
def test_too_many_pairs_are_refused(monkeypatch, cramped, way):
    rng, scene, n = np.random.default_rng(11), Scene(), 2000
    apart, heap = some.around(*some.scattered(rng, n)), some.around(np.zeros((n, 3)), np.ones((n, 3)))
    monkeypatch.setattr(lists, "FEW", 1)
    monkeypatch.setattr(lists.Lists, "_run", patiently)
    if way == "with lists":
        scene.set(np.arange(n), apart)
        scene.check()
    scene.set(np.arange(n), heap)
    assert (scene.sweep.swaps > 0) == (way == "with lists")
    for _ in range(2):
        with pytest.raises(TooManyPairsError, match="pairs of boxes overlap"):
            scene.sweep.pairs()
    scene.set(np.arange(n), apart)
    scene.check()
    scene.set(np.arange(n), heap + np.arange(n)[:, None] // 20 * 2.0)
    scene.check()


# --- interruptions -------------------------------------------------------------------------------------------------------------

PLACES = [(sweep, "store"), (lists, "mark"), (lists, "move"), (lists, "resort"), (lists, "filled"), (lists, "locate"), (sweep, "in_order"),
          (sweep, "updated"), (sweep, "keys_of"), (sweep, "unpack")]


@pytest.mark.formulas
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("module", "name"), PLACES, ids=[name for _, name in PLACES])
def test_an_interrupted_call_leaves_a_sweep_whole(monkeypatch, narrow, no_brute, module, name, late):
    """With the boxes of before or those that were given; and what was interrupted may be done again."""
    rng, scene, ours, n, stops = np.random.default_rng(12), Scene(), getattr(module, name), SIZE, []
    boxes = some.on_lattice(rng, n, 6)
    scene.set(np.arange(n), boxes)

    def stop(*args):
        stops.append(late and ours(*args))
        raise KeyboardInterrupt

    for k in range(24 if OFF else 60):
        if k % 4 == 3:
            scene.remove([0])
        if k % 8 == 4:                                                  # all jump: lists are given up
            boxes = some.on_lattice(rng, n, 6)
            scene.set(np.arange(n), boxes)
            scene.check()
        ids = np.arange(1, n) if k % 4 == 1 else rng.permutation(n - 1)[:2] + 1
        boxes[ids] += np.tile(rng.choice([0.0, 0.25, -0.25], (len(ids), 3), p=(0.8, 0.1, 0.1)), 2)
        old, new = dict(scene.boxes), scene.boxes | {int(i): boxes[i].copy() for i in ids}
        if k % 3:
            monkeypatch.setattr(module, name, stop)
        try:
            scene.sweep.set(ids, boxes[ids])
            scene.sweep.pairs()
        except KeyboardInterrupt:
            monkeypatch.setattr(module, name, ours)
            found = scene.sweep.pairs().tolist()
            assert found in [some.overlapping([*state.values()], [*state]).tolist() for state in (old, new)]
            if k % 2:
                scene.set(ids, boxes[ids])
            else:
                scene.set(np.arange(n), boxes)
                new = scene.boxes
        monkeypatch.setattr(module, name, ours)
        scene.boxes = new
        scene.check()
        scene.set([0], boxes[:1])
    assert stops


# --- what goes in --------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_layouts():
    boxes = some.on_lattice(np.random.default_rng(13), 9, 3)
    frozen = boxes.copy()
    frozen.flags.writeable = False
    for ids, given in ((range(9), boxes.tolist()), (np.arange(9, dtype=np.int32), np.asfortranarray(boxes)),
                       (np.arange(9)[::-1], boxes[::-1]), (np.arange(9, dtype=">i8"), boxes.astype(np.float32)), (np.arange(9), frozen)):
        found = Sweep()
        found.set(ids, given)
        np.testing.assert_array_equal(found.pairs(), some.overlapping(boxes))


@pytest.mark.formulas
def test_refusals():
    found = Sweep()
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
    for n in (fresh.BRUTE - 1, fresh.BRUTE, fresh.BRUTE + 1):
        scene.set(np.arange(n), some.around(*some.scattered(rng, n)))
        assert scene.sweep.method == ("brute" if n < fresh.BRUTE else "sweep")
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
