"""Bottom-up refits by several threads: the same volumes as by one."""

import threading

import numba
import numpy as np
import pytest
from volume_checks import shape_of

import pliant as pl
from child import together
from pliant import shapes
from pliant.core import threads as pool
from pliant.refit import bottom_up
from pliant.tree.nodes import BUILDERS, WIDTH_OF_ARITY

OFF = bool(numba.config.DISABLE_JIT)
SPHERE, FACES = shapes.icosphere(1 if OFF else 3)


@pytest.fixture
def parallel(monkeypatch, set_threads):
    """Small bodies are refitted by three threads."""
    monkeypatch.setattr(bottom_up, "MIN_PARALLEL", 1)
    set_threads(3)


@pytest.mark.formulas
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("arity", WIDTH_OF_ARITY)
@pytest.mark.parametrize("largest", [1, 3, 10**6])
def test_a_tree_is_split_into_disjoint_subtrees(build, arity, largest):
    """Every node is in one of them or above them, and no node above them is below one."""
    bvh = shape_of(pl.Body(SPHERE, FACES, build=build, arity=arity, leaf=1))
    subtrees, above = bottom_up.split_tree(bvh.skips(), bvh.tree.child, largest)
    assert all(end - begin <= largest for begin, end in subtrees)
    named = np.concatenate([above, *(np.arange(begin, end) for begin, end in subtrees)])
    assert sorted(named) == list(range(len(bvh.nodes))) and (np.diff(above) > 0).all()
    inside = np.concatenate([np.arange(begin + 1, end) for begin, end in subtrees])
    roots = {begin for begin, _ in subtrees} | set(above.tolist())
    assert not roots & set(inside.tolist())
    for i in above.tolist():
        assert {c for c in bvh.tree.child[i, :bvh.tree.count[i]].tolist() if c >= 0} <= roots


@pytest.mark.formulas
@pytest.mark.usefixtures("parallel")
def test_volumes_are_those_of_one_thread(volume_type, set_threads):
    body, other = (pl.Body(SPHERE, FACES, volume=volume_type.name, policy="bottom_up", leaf=2) for _ in range(2))
    counts = []
    for each, n in ((body, 3), (other, 1)):
        set_threads(n)
        each.update(shapes.bumpy(SPHERE, 0.4))
        counts.append(shape_of(each).refit())
    assert counts[0] == counts[1] == shape_of(body).tree.count.sum()
    np.testing.assert_array_equal(shape_of(body).nodes, shape_of(other).nodes)


@pytest.mark.formulas
def test_small_bodies_and_jobs_of_queries_use_one_thread(monkeypatch, set_threads):
    """A job of a query refits by itself: the other threads have jobs of their own."""
    set_threads(2)
    used, body = [], pl.Body(SPHERE, FACES, policy="bottom_up")
    monkeypatch.setattr(pool, "run_jobs", lambda jobs, cancel, purpose="queries": used.append(purpose) or [job() for job in jobs])
    shape_of(body).refit()
    assert not used
    monkeypatch.setattr(bottom_up, "MIN_PARALLEL", 1)
    for in_worker in (True, False):
        body.update(SPHERE * 1.1)
        monkeypatch.setattr(pool, "is_worker", lambda in_worker=in_worker: in_worker)
        assert shape_of(body).refit() == shape_of(body).tree.count.sum()
        assert used == ([] if in_worker else ["refits"])


@pytest.mark.usefixtures("parallel")
@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_queries_in_the_pool_and_refits_do_not_wait_for_each_other():
    """Rays refit bodies in jobs of the pool, while other threads refit the same bodies before they query them."""
    bodies = [pl.Body(SPHERE + [2.5 * k, 0, 0], FACES, policy="bottom_up") for k in range(3)]
    scene = pl.Scene(bodies)
    origins = np.tile([[-5.0, 0.1, 0.2]], (5000, 1)) + np.random.default_rng(3).random((5000, 3)) * 0.1
    expected = pl.cast(scene, origins, [1, 0, 0]).face
    done = []

    def cast():
        for _ in range(10):
            for body in bodies:
                body.update(body.vertices.copy())
            np.testing.assert_array_equal(pl.cast(scene, origins, [1, 0, 0]).face, expected)
        done.append(True)

    def collide():
        for _ in range(50):
            for body in bodies:
                body.update(body.vertices.copy())
            assert not scene.collide()
        done.append(True)
    together(cast, collide)
    assert len(done) == 2


@pytest.mark.usefixtures("parallel")
@pytest.mark.formulas
def test_an_interrupted_refit_starts_afresh(monkeypatch):
    body, other = pl.Body(SPHERE, FACES, policy="bottom_up", leaf=2), pl.Body(SPHERE + [1.5, 0, 0], FACES)
    expected = pl.collide(body, other).faces
    body.update(SPHERE * 1.0)
    real, calls = bottom_up.refit_range, []

    def stop(*args):
        calls.append(threading.current_thread())
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(bottom_up, "refit_range", stop)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, other)
    monkeypatch.setattr(bottom_up, "refit_range", real)
    np.testing.assert_array_equal(pl.collide(body, other).faces, expected)
    assert all(thread is not threading.main_thread() for thread in calls) and not pool.is_worker()
