"""A query that stops after a budget lists only pairs that meet, and says of which faces, or bodies, it may have missed some.

Here the clock is a counter: every look at it is a millisecond later, so a budget is a number of steps, and steps are small.
"""

from itertools import count

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.query import scheduler
from pliant.query.collide import narrow_phase
from pliant.refit.policy import POLICIES
from scenes import rows

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
DIRECTIONS, FACES = shapes.icosphere(0 if OFF else 2)
HERE, THERE = shapes.bumpy(DIRECTIONS, 0.0), shapes.bumpy(DIRECTIONS, 1.0) + np.array([0.6, 0.1, 0.0])
KEPT = [("aabb", policy) for policy in POLICIES] + [("sphere", "lazy"), ("sphere", "hybrid")]
NOTHING = np.zeros((0, 3)), np.zeros((0, 3), int)


class Clock:
    """Every look takes a millisecond."""

    def __init__(self):
        self.looks, self._next = 0, count(1)

    def __call__(self):
        self.looks = next(self._next)
        return self.looks / 1000


@pytest.fixture
def clock(monkeypatch):
    """A clock that counts, and steps of a few pairs of nodes between looks at it."""
    ticking = Clock()
    monkeypatch.setattr(scheduler, "now", ticking)
    for module in (scheduler, narrow_phase):
        monkeypatch.setattr(module, "TIMED_CALL_BUDGET", 3)
    return ticking


def listed(pairs):
    return set(map(tuple, pairs.faces.tolist()))


def assert_honest(found, full, sizes):
    """What is listed meets; what is missing is of two faces that are marked."""
    assert listed(found) <= listed(full)
    if found.complete:
        assert found.unresolved is None
        np.testing.assert_array_equal(found.faces, full.faces)
        return
    assert [(marks.dtype, marks.shape) for marks in found.unresolved] == [(np.dtype(bool), (size,)) for size in sizes]
    one, other = found.unresolved
    assert one.any() and other.any()
    assert all(one[f] and other[g] for f, g in listed(full) - listed(found))


def all_budgets(ask, full, sizes, clock):
    """Ask without haste, then with parts of the time that took; the answers that are not complete."""
    before = clock.looks
    assert_honest(ask(1e9), full, sizes)
    needed, stopped = clock.looks - before, []
    for part in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97):
        limit, before = int(part * needed), clock.looks
        found = ask(limit)
        assert clock.looks - before <= limit + 3
        assert not found.complete or part > 0.5
        assert_honest(found, full, sizes)
        stopped += [] if found.complete else [found]
    assert all(marks.all() for marks in stopped[0].unresolved) and not len(stopped[0])
    assert len({len(found) for found in stopped}) > 2
    return stopped


# --- two bodies ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("volume", "policy"), KEPT[:3] if OFF else KEPT)
def test_every_pair_that_is_missing_is_marked(volume, policy, clock):
    a, b = (pl.Body(HERE, FACES, volume=volume, policy=policy, leaf=3) for _ in range(2))
    full = pl.collide(pl.Body(HERE, FACES), pl.Body(THERE, FACES))
    assert len(full) > 10

    def ask(limit):
        a.update(HERE)                                                  # volumes follow again, as far as the query comes
        b.update(THERE)
        return pl.collide(a, b, budget_ms=limit)

    stopped = all_budgets(ask, full, (len(FACES),) * 2, clock)
    assert OFF or any(not marks.all() for found in stopped for marks in found.unresolved)
    ask(3)
    np.testing.assert_array_equal(pl.collide(a, b).faces, full.faces)


@pytest.mark.parametrize("descend", ["both", "larger"])
def test_placed_bodies(descend, clock):
    a, b = pl.Body.rigid(HERE, FACES), pl.Body(*meshes.cube((-0.5, -0.5, -0.5)), leaf=1)
    a.update(poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.3, 0.2, 0.1)))
    full = pl.collide(a, b)
    assert len(full) > 4
    all_budgets(lambda limit: pl.collide(a, b, traversal=pl.Traversal(descend=descend), budget_ms=limit), full, (len(FACES), 12), clock)


def test_boxes_that_are_apart_are_certain_at_once():
    found = pl.collide(pl.Body(HERE, FACES), pl.Body(HERE + 5.0, FACES), budget_ms=0)
    assert found.complete and found.unresolved is None and not len(found)


@pytest.mark.parametrize("sizes", [(0, 0), (0, 12), (12, 0)])
def test_without_faces_there_is_nothing_to_look_at(sizes):
    a, b = (pl.Body(*(meshes.cube() if size else NOTHING)) for size in sizes)
    assert pl.collide(a, b, budget_ms=0).complete
    assert all(pl.self_collide(body, budget_ms=0).complete for body in (a, b) if not len(body))


def test_first_is_complete_as_soon_as_one_is_found(clock):
    a, b = pl.Body(HERE, FACES), pl.Body(THERE, FACES)
    full, seen = listed(pl.collide(a, b)), set()
    for limit in (0, 1, 3, 7, 15, 31, 63, 127):
        found = pl.collide(a, b, first=True, budget_ms=limit)
        assert listed(found) <= full and len(found) == found.complete
        seen.add(found.complete)
    assert seen == {False, True}


def test_contacts_are_those_of_the_pairs_found(clock):
    a, b = pl.Body(HERE, FACES), pl.Body(THERE, FACES)
    full = pl.collide(a, b, contacts=True)
    rows, sizes = {tuple(pair): k for k, pair in enumerate(full.faces.tolist())}, set()
    for limit in (0, 7, 15, 31):
        found = pl.collide(a, b, contacts=True, budget_ms=limit)
        some = [rows[tuple(pair)] for pair in found.faces.tolist()]
        sizes.add(len(some))
        for name in ("segments", "normals", "depths", "coplanar"):
            np.testing.assert_array_equal(getattr(found, name), getattr(full, name)[some])
    assert 0 in sizes and len(sizes) > 1


def test_workers_stop_together(clock, monkeypatch, set_threads):
    """Every stack that a worker leaves, or that no worker has taken, is marked."""
    set_threads(3)
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 6)
    monkeypatch.setattr(scheduler, "TIMED_CALL_BUDGET", 2)
    a, b = (pl.Body(*meshes.needles(6 if OFF else 30, along), arity=2, leaf=1) for along in (0, 1))
    full, shared, real = pl.collide(a, b), [], scheduler.run_shared
    monkeypatch.setattr(scheduler, "run_shared", lambda *args: shared.append(args) or real(*args))
    seen = set()
    for limit in (0, 5, 20, 60, 200, 100_000):
        found = pl.collide(a, b, budget_ms=limit)
        assert_honest(found, full, (len(a), len(b)))
        seen.add((found.complete, len(found) > 0))
    assert seen == {(False, False), (False, True), (True, True)}
    assert len(shared) > 1


@settings(max_examples=8 if OFF else 60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), faces=st.tuples(st.integers(1, 30), st.integers(1, 30)), leaf=st.integers(1, 8),
       limit=st.floats(0, 40), size=st.sampled_from([2.0**-1000, 1.0, 2.0**900]))
def test_soups(clock, seed, faces, leaf, limit, size):
    """Triangles anywhere, degenerate ones among them, of every size."""
    rng = np.random.default_rng(seed)
    a, b = (pl.Body(*meshes.soup(rng.integers(0, 4, (n, 3, 3)) * size), leaf=leaf) for n in faces)
    assert_honest(pl.collide(a, b, budget_ms=limit), pl.collide(a, b), faces)
    assert_honest(pl.self_collide(a, budget_ms=limit), pl.self_collide(a), faces[:1] * 2)


def test_a_real_clock():
    a, b = pl.Body(HERE, FACES), pl.Body(THERE, FACES)
    full = pl.collide(a, b)
    for limit in (0, 0.01, 0.1, 1e12, np.inf):
        found = pl.collide(a, b, budget_ms=limit)
        assert_honest(found, full, (len(FACES),) * 2)
        assert found.complete or limit < 1e12
    assert not pl.collide(a, b, budget_ms=0).complete


# --- one body ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("adjacent", ["exact", "ignore"])
def test_self_collisions(adjacent, clock):
    vertices, faces = meshes.joined((HERE, FACES), (THERE, FACES), meshes.soup(np.array([[[0, 0, 0], [3, 0, 0], [0, 3, 0]]] * 2)))
    body = pl.Body(vertices, faces, leaf=2)
    full = pl.self_collide(body, adjacent=adjacent)
    assert len(full) > 10
    stopped = all_budgets(lambda limit: pl.self_collide(body, adjacent=adjacent, budget_ms=limit), full, (len(faces),) * 2, clock)
    assert all(found.unresolved[0] is found.unresolved[1] for found in stopped)
    assert OFF or any(not found.unresolved[0].all() for found in stopped)
    np.testing.assert_array_equal(pl.self_collide(body, adjacent=adjacent).faces, full.faces)


def test_a_hub_of_many_faces_is_left_in_between(clock):
    """All pairs of faces around one vertex: a budget ends among them."""
    n = 12 if OFF else 40
    rim = np.random.default_rng(5).uniform(-1, 1, (2 * n, 3))
    body = pl.Body(np.concatenate([[[0, 0, 0]], rim]), [[0, 2 * k + 1, 2 * k + 2] for k in range(n)])
    full = pl.self_collide(body)
    assert len(full) > 10
    found = pl.self_collide(body, budget_ms=5)
    assert not found.complete
    assert 0 < len(found) < len(full)
    assert_honest(found, full, (n, n))


# --- scenes --------------------------------------------------------------------------------------------------------------------

def crowd(n=6):
    """Spheres in a row, each in its neighbours, every third with a transform; and one that nobody meets."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    scene = pl.Scene()
    for k in range(n):
        at = np.array([0.9 * k, 0.1 * k, 0.0])
        body = pl.Body(vertices + at, faces) if k % 3 else pl.Body.rigid(vertices, faces)
        scene.add(body)
        if k % 3 == 0:
            body.update(poses.matrix(meshes.rotation([1, 2, 3], 0.1), at))
    scene.add(pl.Body(vertices + 50.0, faces))
    return scene


def assert_scene_honest(found, full):
    assert rows(found) == sorted(rows(found)) and set(rows(found)) <= set(rows(full))
    open_pairs = set() if found.complete else set(map(tuple, found.unresolved.tolist()))
    assert found.complete == (found.unresolved is None) == (not open_pairs)
    assert open_pairs <= set(map(tuple, found.tested.tolist()))
    assert all(row[:2] in open_pairs for row in set(rows(full)) - set(rows(found)))
    for k, pair in enumerate(found.tested.tolist()):
        if tuple(pair) not in open_pairs and found.counters[k].any():
            at = full.tested.tolist().index(pair)
            np.testing.assert_array_equal(found.counters[k, :2], full.counters[at, :2])


@pytest.mark.parametrize("contacts", [False, True])
@pytest.mark.parametrize("self_pairs", [False, True])
def test_pairs_of_bodies_that_were_not_looked_at_are_named(self_pairs, contacts, clock):
    full, seen = crowd().collide(self_pairs=self_pairs, contacts=contacts), set()
    assert len(full) > 50
    for limit in (0, 2, 4, 8, 16, 32, 64, 128, 100_000):
        scene = crowd()
        before = clock.looks
        found = scene.collide(self_pairs=self_pairs, contacts=contacts, budget_ms=limit)
        assert clock.looks - before <= limit + 3 * len(full.tested) + 3
        assert_scene_honest(found, full)
        assert (found.depths is None) != contacts and (not contacts or len(found.depths) == len(found))
        seen.add((found.complete, len(found) > 0, found.complete or len(found.unresolved) == len(found.tested)))
        again = scene.collide(self_pairs=self_pairs, contacts=contacts) # what was answered in full is remembered, the rest is not
        assert again.complete and rows(again) == rows(full)
    assert {(False, False, True), (False, True, False), (True, True, True)} <= seen


def test_a_stopped_answer_is_not_remembered(clock):
    scene = crowd()
    stopped = scene.collide(budget_ms=0)
    assert len(stopped.unresolved) == len(stopped.tested) > 4 and not stopped.counters.any()
    first = scene.collide(budget_ms=100_000)
    assert first.complete and first.counters.any()
    assert not scene.collide(budget_ms=0).counters.any()
    assert scene.collide(budget_ms=0).complete and rows(scene.collide(budget_ms=0)) == rows(first)


@pytest.mark.parametrize("first", [True, "each"])
def test_first_in_scenes(first, clock):
    full, seen = set(rows(crowd().collide())), set()
    for limit in (0, 4, 16, 64, 256, 100_000):
        found = crowd().collide(first=first, budget_ms=limit)
        assert set(rows(found)) <= full
        met = set(map(tuple, found.bodies.tolist()))
        if first == "each":
            left = set() if found.complete else set(map(tuple, found.unresolved.tolist()))
            assert len(met) == len(found) and {row[:2] for row in full} - met <= left and not met & left
        else:
            assert found.complete == (len(found) == 1)
        seen.add(found.complete)
    assert seen == {False, True}


# --- what budgets may be ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), (-0.001, ValueError), (np.nan, ValueError), (-np.inf, ValueError),
                                              (10**400, ValueError), ("1", TypeError), (True, TypeError), ([1], TypeError),
                                              (1j, TypeError), (np.array([1.0, 2.0]), TypeError)])
def test_bad_budgets(value, error):
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    scene = pl.Scene([a, b])
    for ask, *bodies in ((pl.collide, a, b), (pl.self_collide, a), (scene.collide,)):
        with pytest.raises(error, match="budget_ms: expected a"):
            ask(*bodies, budget_ms=value)
