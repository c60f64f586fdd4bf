"""What a scene keeps for rays between queries is what a new scene would make."""

import threading

import numba
import numpy as np
import pytest

import pliant as pl
import poses
from pliant import shapes
from pliant.query.ray import cast, target_cache

OFF = bool(numba.config.DISABLE_JIT)
COUNTS = [3] if OFF else [3, 60]                                        # without a tree of boxes, and with one


def rays(rng, side, n=200):
    return rng.uniform(-1, side + 1, (n, 3)), rng.normal(size=(n, 3))


def assert_as_new(scene, masks, rng, side):
    """The hits are those of a new scene of the same bodies, in their order."""
    fresh, numbers = pl.Scene(), list(scene)
    for number in numbers:
        fresh.add(scene[number], mask=masks[number])
    origins, directions = rays(rng, side)
    for mask in (1, 3):
        found, right = pl.cast(scene, origins, directions, mask=mask), pl.cast(fresh, origins, directions, mask=mask)
        np.testing.assert_array_equal(found.t, right.t)
        np.testing.assert_array_equal(found.face, right.face)
        assert found.body.tolist() == [-1 if k < 0 else numbers[k] for k in right.body.tolist()]
    assert (found.face >= 0).any()


@pytest.mark.formulas
@pytest.mark.parametrize("count", COUNTS)
def test_bodies_that_move_come_and_go(count):
    rng, (directions, faces) = np.random.default_rng(count), shapes.icosphere(0)
    side, scene, masks = 2.0 * count ** (1 / 3), pl.Scene(), {}

    def add():
        body = (pl.Body.rigid if len(masks) % 2 else pl.Body)(directions, faces)
        body.update(transform=poses.matrix(poses.any_turn(rng), rng.uniform(0, side, 3)))
        mask = 1 + len(masks) % 3
        masks[scene.add(body, mask=mask)] = mask

    for _ in range(count):
        add()
    for turn in range(6):
        assert_as_new(scene, masks, rng, side)
        numbers = list(scene)
        for number in numbers[turn::3]:
            scene[number].update(transform=poses.matrix(poses.any_turn(rng), rng.uniform(0, side, 3)))
        scene[numbers[0]].update(directions + 0.5)                      # without a transform
        if turn % 2:
            body = scene[numbers[1]]
            scene.remove(numbers[1])
            masks[scene.add(body, mask=3)] = 3
            add()


def test_only_bodies_that_moved_are_read(monkeypatch):
    directions, faces = shapes.icosphere(0)
    scene, counts, real = pl.Scene([pl.Body(directions + [3.0 * k, 0, 0], faces) for k in range(5)]), [], target_cache.set_targets
    for module in (cast, target_cache):
        monkeypatch.setattr(module, "set_targets", lambda targets, rows, *rest: counts.append(len(rows)) or real(targets, rows, *rest))
    for moved in ([], [], [2], [0, 4], []):
        for k in moved:
            scene[k].update(directions + [3.0 * k, 1, 0])
        assert pl.pick(scene, [6, 0.5, -9], [0, 0, 1]).body == 2
    assert counts == [5, 1, 2]


@pytest.mark.formulas
@pytest.mark.parametrize("policy", ["lazy", "hybrid"])
def test_a_bvh_that_an_interrupt_sets_back_is_noticed(policy):
    """Another query of the body is interrupted while it refits; what the scene knows of the body is older then."""
    directions, faces = shapes.icosphere(1)
    body = pl.Body(directions, faces, policy=policy)
    scene = pl.Scene([body, pl.Body(directions + 5, faces)])
    assert pl.cast(scene, [0, 0, -3], [0, 0, 1]).face[0] >= 0
    body.update(directions * 1.25)
    assert pl.cast(scene, [50, 0, -3], [0, 0, 1]).face[0] < 0  # a miss, and a record that says that nothing is to be done
    bvh = body._bvh
    options, interrupted = bvh.options, pytest.MonkeyPatch()

    def interrupt(_):
        raise KeyboardInterrupt

    with interrupted.context() as patch:
        patch.setattr(bvh, "options", options._replace(policy=options.policy._replace(refit=interrupt)))
        with pytest.raises(KeyboardInterrupt):
            pl.self_collide(body)
    right = pl.cast(pl.Body(directions * 1.25, faces), [0.1, 0.2, -3], [0, 0, 1])
    found = pl.cast(scene, [0.1, 0.2, -3], [0, 0, 1])
    assert found.t.tolist() == right.t.tolist() and found.face.tolist() == right.face.tolist()


def test_bodies_are_forgotten_between_queries_not_in_one(monkeypatch):
    """A body without faces is removed by another thread while a query replaces records."""
    directions, faces = shapes.icosphere(0)
    moving, empty = pl.Body(directions, faces), pl.Body(directions, np.zeros((0, 3), int))
    scene, replaced = pl.Scene([moving, pl.Body(directions + 3, faces), empty]), target_cache.set_targets
    pl.cast(scene, [0, 0, -3], [0, 0, 1])
    moving.update(directions * 1.5)
    threads = []

    def remove_meanwhile(*args):
        threads.append(threading.Thread(target=scene.remove, args=(empty,)))
        threads[0].start()
        threads[0].join(0.2)
        replaced(*args)

    monkeypatch.setattr(target_cache, "set_targets", remove_meanwhile)
    assert pl.cast(scene, [0, 0, -3], [0, 0, 1]).face[0] >= 0
    threads[0].join(10)
    monkeypatch.undo()
    assert not threads[0].is_alive() and len(scene) == 2 and pl.cast(scene, [0, 0, -3], [0, 0, 1]).face[0] >= 0
