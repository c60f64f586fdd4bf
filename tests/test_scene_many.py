"""Scenes of bodies of all kinds, with many pairs, and with updates at the wrong moment."""

import threading

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from child import together
from pliant import shapes
from pliant.query import scheduler
from pliant.query.collide import narrow_phase
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import WIDTH_OF_ARITY
from scenes import assert_scene, cube, rows

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")


@pytest.mark.formulas
def test_bodies_of_all_kinds():
    """Every arity and policy, free, rigid and placed, of sizes from absurd to absurd, in one scene."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    scene, rng = pl.Scene(), np.random.default_rng(95)
    for k, arity in enumerate(sorted(WIDTH_OF_ARITY) * (1 if OFF else 4)):
        body = pl.Body(vertices, faces, arity=arity, leaf=1 + k % 8, policy=sorted(POLICIES)[k % len(POLICIES)])
        body.update(vertices + rng.standard_normal(3) * 0.5, transform=poses.matrix(poses.any_turn(rng)) if k % 4 == 1 else None)
        scene.add(body)
    for size in (1e-200, 1e-9, 1e9, 1e200):
        scene.add(cube(0.0))
        scene[list(scene)[-1]].update(meshes.cube((-0.5, -0.5, -0.5))[0] * size)
    scene.add(pl.Body.rigid(*meshes.cube((0, 0, 0), 1e150)))
    for _ in range(1 if OFF else 3):
        assert len(assert_scene(scene)) > 0
        for number in list(scene)[::3]:
            scene[number].update(transform=poses.matrix(poses.any_turn(rng), rng.standard_normal(3) * 0.3))


@pytest.mark.parametrize("budget", [None, 1, 50])
@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_room_for_pairs_grows(budget, monkeypatch):
    """40,000 pairs between some of the bodies, few or none between others; interrupted now and then, and taken up again."""
    if budget:
        for module in (scheduler, narrow_phase):
            monkeypatch.setattr(module, "CALL_BUDGET", budget)
    scene = pl.Scene([cube(-5.0), pl.Body(*meshes.needles(200, 0)), pl.Body(*meshes.needles(200, 1)), cube(0.0), cube(0.5)])
    found = assert_scene(scene)
    assert len(found) > 40_000
    assert [1, 2] in found.tested.tolist()
    scene[2].update(scene[2].vertices + np.array([0, 0, 1]))
    assert 0 < len(assert_scene(scene)) < 1000


@pytest.mark.skipif(OFF, reason="bodies are asked one by one without kernels")
@pytest.mark.parametrize("bits", [0, 1, 2])
def test_keys_without_bits_for_all_pairs(bits, monkeypatch):
    """Where two faces leave few bits of a key for the pair of bodies, the pairs are asked in several calls."""
    faces_of_two = 2 * (12 - 1).bit_length()
    monkeypatch.setattr(narrow_phase, "KEY_BITS", faces_of_two + bits)
    scene, calls, real = pl.Scene([cube(0.4 * k) for k in range(9)]), [], narrow_phase.run_batch
    monkeypatch.setattr(narrow_phase, "run_batch", lambda *given: calls.append(len(given[2])) or real(*given))
    found = assert_scene(scene, contacts=True)
    assert len(found.tested) == sum(calls) > 8 and max(calls) == 1 << bits
    scene[4].update(scene[4].vertices + 0.1)
    again = assert_scene(scene, contacts=True)
    assert [row for row, counts in zip(again.tested.tolist(), again.counters.tolist(), strict=True) if any(counts)] == [
        row for row in again.tested.tolist() if 4 in row]


@pytest.mark.skipif(OFF, reason="bodies are asked one by one without kernels")
def test_bodies_that_grow_absurd_while_they_are_asked(monkeypatch):
    """Another thread's update may come between the choice of how to ask and the question: then they are asked one by one."""
    scene = pl.Scene([cube(0.0), cube(0.5), pl.Body.rigid(*meshes.cube((0.9, 0, 0)))])
    monkeypatch.setattr(narrow_phase, "can_batch", lambda body, one_thread: False)
    monkeypatch.setattr(narrow_phase, "run_batch", lambda *given: pytest.fail("asked together"))
    assert len(assert_scene(scene)) > 0


@pytest.mark.formulas
def test_an_update_in_the_middle_of_a_question_is_seen_by_the_next(monkeypatch):
    """From another thread, say. The question under way may or may not see it."""
    a, b = cube(0.0), cube(5.0)
    scene = pl.Scene([a, b])
    whole = scene._sweep.set

    def interrupted(*arguments):
        whole(*arguments)
        b.update(meshes.cube((0.5, 0, 0))[0])

    monkeypatch.setattr(scene._sweep, "set", interrupted)
    scene.collide()
    monkeypatch.setattr(scene._sweep, "set", whole)
    assert len(assert_scene(scene)) > 0


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_updates_while_a_scene_is_asked():
    """One thread moves bodies to and fro; every pair of bodies is seen in one state or the other, and the last one is not forgotten."""
    bodies, done = [cube(2.0 * k) for k in range(12)], threading.Event()
    scene, spots = pl.Scene(bodies), (0.0, 1.5)
    frames = [[meshes.cube((2.0 * k + x, 0, 0))[0] for k in range(12)] for x in spots]

    def move():
        try:
            for frame in range(200):
                for k in range(0, 12, 2):
                    bodies[k].update(frames[frame % 2][k])
        finally:
            done.set()

    def ask():
        while not done.is_set():
            found = scene.collide()
            assert {tuple(pair) for pair in found.bodies.tolist()} <= {(k, k + 1) for k in range(11)}

    together(ask, move)
    right = [row for row in rows(assert_scene(scene)) if row[0] % 2 == 0]
    assert len(right) > 0
