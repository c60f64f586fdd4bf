"""Any sequence of operations, tables that are full in the middle of one, and calls that are interrupted: pairs are still all there are."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import boxes as some
from pliant.broadphase import endpoint_lists, pair_set, sweep, sweep_full
from pliant.core import memory
from pliant.errors import TooManyPairsError
from sweeps import OFF, SIZE, Scene, patiently

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
        self.scene = Scene()
        self.before = (sweep_full.BRUTE_FORCE_SIZE, endpoint_lists.SINGLE_MOVE_RATIO, endpoint_lists.EndpointLists._run)

    def teardown(self):
        sweep_full.BRUTE_FORCE_SIZE, endpoint_lists.SINGLE_MOVE_RATIO, endpoint_lists.EndpointLists._run = self.before

    @initialize(brute=st.sampled_from([1, 1, 6]), few=st.sampled_from([1, 4, 100]), patient=st.booleans(), n=st.integers(0, 10),
                data=st.data())
    def start(self, brute, few, patient, n, data):
        sweep_full.BRUTE_FORCE_SIZE, endpoint_lists.SINGLE_MOVE_RATIO = brute, few
        endpoint_lists.EndpointLists._run = patiently if patient else self.before[2]
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
    monkeypatch.setattr(sweep_full, "BRUTE_FORCE_SIZE", 60)
    monkeypatch.setattr(endpoint_lists, "SINGLE_MOVE_RATIO", 10**9 if many else 1)
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
            listed += scene.sweep.n_swaps > 0
        scene.check()
    assert listed > 800


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
    assert scene.sweep.n_swaps > n and len(scene.sweep._lists.table) > size
    assert len(scene.check()) >= n - 1
    scene.set([0], [boxes[0]])
    assert scene.sweep.n_swaps > n
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
        swaps.append(scene.sweep.n_swaps)
        assert len(scene.check()) == {0.75: 0, 1.0: n - 1, 1.5: n - 1, 2.0: 2 * n - 3}[reach]
    assert swaps == [0, n - 1, n - 1, n - 1, n - 2] and len(scene.sweep._lists.table) > pair_set.MIN_CAPACITY


@pytest.mark.formulas
@pytest.mark.parametrize("few", [1, 10**9], ids=["boxes one by one", "all boxes"])
def test_the_table_grows_in_the_middle_of_a_move(monkeypatch, narrow, no_brute, few):
    """Boxes that are far apart come together and part; nothing but the smallest table to begin with."""
    monkeypatch.setattr(endpoint_lists, "SINGLE_MOVE_RATIO", few)
    monkeypatch.setattr(endpoint_lists.EndpointLists, "_run", patiently)
    monkeypatch.setattr(pair_set, "MIN_CAPACITY", 8 if OFF else 2 * endpoint_lists.MAX_PENDING)
    grown, filled = [], endpoint_lists.insert_in_steps
    monkeypatch.setattr(endpoint_lists, "insert_in_steps", lambda table, keys, low: grown.append(low) or filled(table, keys, low))
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
    monkeypatch.setattr(pair_set, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setenv("PLIANT_MEMORY", str(memory.RESERVED_BYTES + (4 << 20)))


@pytest.mark.parametrize("way", ["from scratch", "with lists"])
def test_too_many_pairs_are_refused(monkeypatch, cramped, way):
    rng, scene, n = np.random.default_rng(11), Scene(), 2000
    apart, heap = some.around(*some.scattered(rng, n)), some.around(np.zeros((n, 3)), np.ones((n, 3)))
    monkeypatch.setattr(endpoint_lists, "SINGLE_MOVE_RATIO", 1)
    monkeypatch.setattr(endpoint_lists.EndpointLists, "_run", patiently)
    if way == "with lists":
        scene.set(np.arange(n), apart)
        scene.check()
    scene.set(np.arange(n), heap)
    assert (scene.sweep.n_swaps > 0) == (way == "with lists")
    for _ in range(2):
        with pytest.raises(TooManyPairsError, match="pairs of boxes overlap"):
            scene.sweep.pairs()
    scene.set(np.arange(n), apart)
    scene.check()
    scene.set(np.arange(n), heap + np.arange(n)[:, None] // 20 * 2.0)
    scene.check()


# --- interruptions -------------------------------------------------------------------------------------------------------------

PLACES = [(sweep, "store_boxes"), (endpoint_lists, "update_cells"), (endpoint_lists, "move_boxes"), (endpoint_lists, "resort_lists"),
          (endpoint_lists, "insert_in_steps"), (endpoint_lists, "record_places"), (sweep, "sort_keys"),
          (sweep, "update_keys"), (sweep, "alive_keys"), (sweep, "unpack_pairs")]


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
