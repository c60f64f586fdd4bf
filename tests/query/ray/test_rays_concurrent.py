"""Rays from several threads at once, while bodies are updated, and after Ctrl-C."""

import threading
import time

import numpy as np
import pytest

import pliant as pl
from child import LATE, assert_stops_soon, start, together
from pliant import shapes
from ray_checks import assert_rays, assert_same, both, some_rays

DIRECTIONS, FACES = shapes.icosphere(3)
FRAMES = [shapes.bumpy(DIRECTIONS, moment, 0.2) for moment in (0.0, 0.7, 1.9)]
RAYS = some_rays(FRAMES[0], FACES, np.random.default_rng(71), 150, 0.3)
ROUNDS = 20


@pytest.fixture(scope="module")
def right():
    """What the rays hit in each frame: all different."""
    answers = [pl.cast(pl.Body(frame, FACES), *RAYS) for frame in FRAMES]
    assert all(map(both, answers))
    assert len({answer.t.tobytes() for answer in answers}) == len(FRAMES)
    return answers


@pytest.mark.parametrize("n_threads", [1, 2])
def test_eight_threads_ask_about_one_body(policy, n_threads, set_threads, right):
    """All start on volumes that are stale, with all questions, while others update bodies of their own."""
    set_threads(n_threads)
    body = pl.Body(FRAMES[1], FACES, policy=policy)
    body.update(FRAMES[0])
    every = pl.cast_all(pl.Body(FRAMES[0], FACES), *RAYS)
    line = threading.Barrier(10)

    def ask(k):
        line.wait(LATE)
        for turn in range(ROUNDS):
            if (k + turn) % 4 == 0:
                assert_same(pl.cast_all(body, *RAYS), every)
            elif (k + turn) % 4 == 1:
                assert pl.occluded(body, *RAYS).tolist() == right[0].hit.tolist()
            else:
                how = ("wide", "stackless")[(k + turn) % 2]
                assert_same(pl.cast(body, *RAYS, traversal=pl.Traversal(rays=how)), right[0])

    def move_another():
        mine = pl.Body(FRAMES[0], FACES, policy=policy)
        line.wait(LATE)
        for k in range(ROUNDS):
            mine.update(FRAMES[k % 3])
            assert_same(pl.cast(mine, *RAYS), right[k % 3])

    together(*[lambda k=k: ask(k) for k in range(8)], move_another, move_another)


@pytest.mark.parametrize("kind", ["free", "morph", "scene"])
def test_an_update_is_seen_whole_or_not_at_all(kind, right):
    """One thread moves a body to and fro; every answer of the others is that of one of its states, and the last one is the last."""
    if kind == "morph":
        body = pl.Body.morph(FRAMES, FACES)
        states = np.eye(3)
    else:
        body = pl.Body(FRAMES[0], FACES, policy="lazy")
        states = FRAMES
    target = pl.Scene([body]) if kind == "scene" else body
    known, done, seen = [answer.t.tobytes() for answer in right], threading.Event(), []

    def move():
        try:
            for k in range(1, 4 * ROUNDS):
                body.update(states[k % 3])
                time.sleep(0.001)
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.append(known.index(pl.cast(target, *RAYS).t.tobytes()))

    together(*[ask] * 3, move)
    assert seen
    assert_same(pl.cast(target, *RAYS), right[(4 * ROUNDS - 1) % 3])


def test_scenes_in_several_threads(policy):
    """Bodies that nobody has asked about yet, by all threads at once; and the reference."""
    places = np.random.default_rng(72).uniform(-1, 1, (12, 3))
    scene = pl.Scene([pl.Body(DIRECTIONS * 0.3 + place, FACES, policy=policy) for place in places])
    for number in scene:
        scene[number].update(scene[number].vertices * 1.1)
    answers = []
    together(*[lambda: answers.append(pl.cast(scene, *RAYS))] * 6)
    assert len(answers) == 6 and both(answers[0])
    for answer in answers[1:]:
        assert_same(answer, answers[0])
    some = slice(None, None, 15)
    assert_rays(scene, RAYS[0][some], RAYS[1][some])


# ------------------------------------------------------------------------------------------------ Ctrl-C

# All faces share a corner, and every ray goes exactly through it, where only exact arithmetic can judge; the limit lets none of them in.
INTERRUPT = """
    import sys
    import numpy as np
    import pliant as pl

    ask, n, m = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(0)
    corners, hub = rng.standard_normal((n, 3, 3)), np.array([0.125, 0.75, 0.25])
    corners[:, 0] = hub
    body = pl.Body(corners.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3))
    target = pl.Scene([body]) if ask == "scene" else body
    few = corners[:5, 1] * 4
    expected = pl.cast(body, few, corners[:5].mean(axis=1) - few)
    assert expected.hit.all()
    origins = hub + rng.integers(-99, 100, (m, 3)) / 64
    directions = hub - origins
    question = pl.cast_all if ask == "all" else pl.cast
    for limit in (0.0, 1.000001):
        assert len(question(target, origins[:1], directions[:1], t_min=limit).t) > 0 or (ask, limit) == ("all", 1.000001)
    print("ready", flush=True)
    try:
        question(target, origins, directions, t_min=1.000001)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    else:
        sys.exit("ended before it was interrupted")
    for _ in range(2):
        again = pl.cast(body, few, corners[:5].mean(axis=1) - few)
        assert np.array_equal(again.t, expected.t) and np.array_equal(again.face, expected.face)
        assert np.array_equal(pl.cast(target, origins[:2], directions[:2]).t, pl.cast(body, origins[:2], directions[:2]).t)
        body.update(body.vertices)
    body.update(body.vertices + np.array([0, 0, 9.0]))
    assert pl.cast(body, few, corners[:5].mean(axis=1) - few).t.tolist() != expected.t.tolist()
    print("right", flush=True)
"""


@pytest.mark.parametrize(("ask", "n_threads"), [("cast", 1), ("cast", 2), ("all", 1), ("scene", 2)])
def test_an_interrupted_query_ends_soon(ask, n_threads):
    """It would take minutes. The body is as good as new."""
    process = start(INTERRUPT, ask, 20_000, 1_000_000, PLIANT_THREADS=n_threads)
    assert_stops_soon(process, 0.5)
