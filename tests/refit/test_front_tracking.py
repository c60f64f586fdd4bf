"""Fronts: what was reached follows first, merged from below; answers are the same, and volumes enclose what they must."""

import threading
from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from volume_checks import assert_true, lanes, shape_of, true_lanes

import blends
import pliant as pl
from child import LATE, together
from morphs import assert_encloses, targets
from pliant import shapes
from pliant.query import scheduler

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(1 if OFF else 3)
TREE = {"arity": 8, "leaf": 1 if OFF else 2}
KINDS = ("blended",) if OFF else ("free", "morph", "blended")
WEIGHTS = blends.near(BALL, 5)


def pair(kind):
    """Two such bodies, with a front and without."""
    if kind == "free":
        return [pl.Body(BALL, FACES, policy=policy, **TREE) for policy in ("active", "lazy")]
    if kind == "morph":
        return [pl.Body.morph(targets(BALL, 3), FACES, policy={"name": "blended", "front": front}, **TREE) for front in (True, False)]
    return [pl.Body.blended(BALL, FACES, WEIGHTS, policy={"name": "convex", "front": front}, **TREE) for front in (True, False)]


def state(kind, t, rng=None):
    """What an update takes at a time; at unlike times with a generator."""
    t = t if rng is None else rng.uniform(0, 9)
    if kind == "free":
        return shapes.bumpy(BALL, t, 0.2)
    if kind == "morph":
        weights = np.array([1.2 + np.sin(t), 1.2 + np.cos(t), 1.0])
        return weights / weights.sum()
    return np.tile(np.eye(3, 4), (5, 1, 1)) + 0.2 * np.sin(5 * t + np.arange(60).reshape(5, 3, 4))


def assert_sound(body):
    """What has the frame's stamp is true, unless vertices have moved alone since, which is written elsewhere."""
    if not shape_of(body).pending:
        assert_true(body) if body._motion.name == "free" else assert_encloses(body)


@cache
def probe(at):
    """A small triangle, whose one volume is true: 0 is where bodies are, 3 far away."""
    made = pl.Body(np.array([[0.5, 0.1, 0.2], [1.3, 0.15, 0.2], [0.9, 0.1, 0.3]]) + np.array([at, 0, 0]), [[0, 1, 2]])
    pl.collide(made, pl.Body(made.vertices, made.faces))
    return made


def in_a_corner(body):
    """A triangle in a corner of the body's box, where there is no face."""
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    made = pl.Body(high - (high - low) * np.array([[0.02, 0.02, 0.02], [0.03, 0.02, 0.02], [0.02, 0.03, 0.02]]), [[0, 1, 2]])
    pl.collide(made, pl.Body(made.vertices, made.faces))
    return made


def set_volumes(body):
    """How many were set for the frame: in nodes that a query came to, or that followed ahead of it."""
    shape = shape_of(body)
    return int(shape.nodes["count"][(shape.nodes["stamp"] == shape.frame) | (shape.ready == shape.frame)].sum())


@pytest.mark.parametrize("kind", KINDS)
def test_a_front_is_where_the_last_queries_came(kind):
    """The root alone at first; then just what was reached in the frame before follows ahead, whether that grows or shrinks. A body whose
    box is away from everything is left alone, and keeps its front."""
    body, plain = pair(kind)
    reached, merged = [1], 0
    body.update(state(kind, 0))
    assert not pl.collide(body, probe(3)) and shape_of(body).front is None
    corner = in_a_corner(body)
    for frame, meets in enumerate([0, 1, 1, 1, 0, 0, 1]):
        for each in (body, plain):
            each.update(state(kind, 0.02 * frame))
        assert not pl.collide(body, probe(3))
        found, expected = (pl.collide(each, probe(0) if meets else corner) for each in (body, plain))
        assert found.faces.tolist() == expected.faces.tolist() and bool(len(found)) == meets
        shape = shape_of(body)
        assert_sound(body)
        counts = shape.front.counts
        assert found.stats.n_u == set_volumes(body) and counts.nodes == (shape.ready == shape.frame).sum() == reached[-1]
        assert counts.merged == counts.nodes - 1 <= counts.volumes      # all but the root are under one that followed too
        reached.append(int((shape.nodes["stamp"] == shape.frame).sum()))
        merged += counts.merged
    assert shape_of(plain).front is None
    assert merged and (OFF or (reached[1] < reached[2] > reached[5] and max(reached) < len(shape.nodes)))


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("kind", KINDS)
def test_a_front_of_frames_ago_waits(kind):
    """Updates without queries in between change nothing: what was reached last follows, whenever that was."""
    body, plain = pair(kind)
    for each in (body, plain):
        for frame in range(3):
            each.update(state(kind, 0.02 * frame))
            pl.collide(each, probe(0))
    reached, counts = (shape_of(body).nodes["stamp"] == shape_of(body).frame).sum(), shape_of(body).front.counts
    for frame in range(3, 9):
        body.update(state(kind, 0.02 * frame))
    assert shape_of(body).front.counts == counts and true_lanes(body) == 0
    plain.update(state(kind, 0.02 * 8))
    found = pl.collide(body, probe(0))
    assert found.faces.tolist() == pl.collide(plain, probe(0)).faces.tolist() and len(found)
    assert shape_of(body).front.counts.nodes == reached > 1 and found.stats.n_u == set_volumes(body) < lanes(body)
    assert_sound(body)
    assert pl.collide(body, probe(0)).stats.n_u == 0                    # the second of the frame has nothing to do


@pytest.mark.parametrize("kind", KINDS[-1:])
def test_merged_volumes_are_no_larger(kind):
    """A lane above a node that followed is what that reaches, which bounds from afar are not."""
    body, plain = pair(kind)
    sizes = []
    for each in (body, plain):
        for frame in range(3):
            each.update(state(kind, 0.02 * frame))
            pl.collide(each, probe(0))
        root = shape_of(each).nodes["bounds"][0]
        sizes.append([root["hi" + axis] - root["lo" + axis] for axis in "xyz"])
    assert (np.array(sizes[0]) <= np.array(sizes[1]) * (1 + 1e-6)).all() and (OFF or np.sum(sizes[0]) < np.sum(sizes[1]))


SPOTS = np.random.default_rng(5).uniform(-1.5, 1.5, (3, 3))
QUESTIONS = {
    "collide": lambda body: pl.collide(body, probe(0)).faces,
    "swapped": lambda body: pl.collide(probe(0.1), body).faces,
    "far": lambda body: pl.collide(body, probe(3)).faces,
    "self_collide": lambda body: pl.self_collide(body).faces,
    "cast": lambda body: pl.cast(body, [3, 0.1, 0.2], [[-1, 0, 0], [-1, 0.2, 0.1], [0, 0, 1]]).t,
    "closest": lambda body: pl.closest(body, SPOTS).distance,
    "distance": lambda body: np.array(pl.distance(body, probe(1)).distance),
    "vertices": lambda body: body.vertices,
    "scene": lambda body: pl.Scene([body, probe(0), probe(3)]).collide().faces,
    "nothing": lambda body: np.zeros(0),
}
if OFF:                                                                 # a second each
    QUESTIONS = {name: QUESTIONS[name] for name in ("collide", "swapped", "far", "cast", "vertices", "nothing")}
asked = st.lists(st.sampled_from(list(QUESTIONS)), max_size=3)
steps = st.lists(st.tuples(st.sampled_from(["near", "jump", "stay", "some", "turn"]), asked), min_size=3, max_size=8)


@settings(max_examples=2 if OFF else 25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KINDS), steps, st.integers(0, 10**6))
def test_questions_and_motions_of_all_kinds(kind, plan, seed):
    """Small steps and leaps, a transform alone, single vertices, several questions a frame or none: always what others answer."""
    rng, (body, plain), t = np.random.default_rng(seed), pair(kind), 0.0
    for motion, questions in plan:
        t += 0.02
        if motion == "turn":
            turn = np.eye(4)
            turn[:3, 3] = rng.uniform(-0.2, 0.2, 3)
            args, options = (), {"transform": turn}
        elif motion == "some" and kind == "free":
            rows = rng.permutation(len(BALL))[:3]
            args, options = (body._motion.vertices[rows] * 1.01,), {"changed": rows}
        else:
            args, options = (state(kind, t, rng if motion == "jump" else None),), {}
        if motion != "stay":
            for each in (body, plain):
                each.update(*args, **options)
        for name in questions:
            np.testing.assert_array_equal(QUESTIONS[name](body), QUESTIONS[name](plain), name)
        assert_sound(body)


def test_settings_that_have_no_front():
    """Without stamps nobody knows what was reached."""
    with pytest.raises(ValueError, match="policy: a front is told by stamps; expected stamps=True with front=True"):
        pl.Body.morph([BALL, BALL * 1.1], FACES, policy={"name": "blended", "front": True, "stamps": False})


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_ask_at_once(kind, monkeypatch, set_threads):
    """Whoever comes first moves the front, once, and the others wait for it."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 64)
    set_threads(2)
    (body, plain), other = pair(kind), pl.Body(BALL * 0.6 + [0.8, 0.1, 0.2], FACES)
    states = [state(kind, 0.05 * k) for k in range(4)]
    expected = []
    for each in states:
        plain.update(each)
        expected.append((pl.collide(plain, other).faces.tobytes(), plain.vertices.tobytes()))
    assert len({pairs for pairs, _ in expected}) > 1
    for frame in range(16):
        body.update(states[frame % 4])
        start = threading.Barrier(3)

        def ask(frame=frame, start=start):
            start.wait(LATE)
            for _ in range(2):
                assert pl.collide(body, other).faces.tobytes() == expected[frame % 4][0]

        def look(frame=frame, start=start):
            start.wait(LATE)
            assert body.vertices.tobytes() == expected[frame % 4][1]
        together(ask, ask, look)
        if frame > 1:
            assert shape_of(body).front.counts.nodes > 0
    assert_sound(body)
    done = threading.Event()

    def move():
        try:
            for k in range(40):
                body.update(states[k % 4])
        finally:
            done.set()

    def watch():
        while not done.is_set():
            assert pl.collide(body, other).faces.tobytes() in [pairs for pairs, _ in expected]
    together(watch, watch, move)
