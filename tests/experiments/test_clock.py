"""The clock of the experiments: methods take turns, the least times count, what differs is seen, and an interrupt leaves what is done."""

import json
import time

import numpy as np
import pytest
from quick_runs import session

import pliant
import pliant.query.collide.two_bodies
from experiments import clock as play
from experiments import paper
from experiments.larsson2001 import runs as larsson2001_runs
from experiments.larsson2001 import scenes

LISTS = ("update_ms", "query_ms", "n_v", "n_p", "n_u", "pairs")


def test_methods_take_turns_and_find_the_same_pairs(monkeypatch):
    monkeypatch.setattr(play, "TURN", 4)
    ticks = []
    methods = [larsson2001_runs.method(name, tree) for tree in paper.TREES for name in (larsson2001_runs.HYBRID, larsson2001_runs.MODEL_2)]
    runs = session(2, ticks.append).play("title", scenes.push(320, 10), methods, part="x")
    assert sum(ticks) == 4 * 10 * 2
    for each, method in zip(runs, methods, strict=True):
        assert (each["method"], each["tree"], each["part"], each["placed"]) == (method.name, method.tree, "x", method.placed)
        assert each["agrees"] and each["steps"] == 10 and all(len(each[name]) == 10 for name in LISTS)
        assert min(each["update_ms"]) > 0 and each["pairs"] == runs[0]["pairs"] and each["pairs"][-1] > 0
        assert json.loads(json.dumps(each)) == each
    assert runs[0]["levels"] < runs[1]["levels"], "a binary tree is deeper"
    assert runs[0]["n_u"] != runs[1]["n_u"]


def test_a_difference_is_seen(monkeypatch):
    def collide(a, b, **options):
        pairs = pliant.query.collide.two_bodies.collide(a, b, **options)
        if a._options.policy.name == "bottom_up" and len(pairs) > 1:
            return pliant.Pairs(pairs.faces[::-1].copy(), pairs.stats)
        return pairs

    monkeypatch.setattr(pliant, "collide", collide, raising=False)
    runs = session(2).play("title", scenes.push(320, 6), larsson2001_runs.methods(larsson2001_runs.HYBRID, larsson2001_runs.BOTTOM_UP),
                           part="x")
    assert [each["agrees"] for each in runs] == [True, False, True, False]


def test_an_interrupted_session_keeps_the_steps_that_all_have_done(monkeypatch):
    monkeypatch.setattr(play, "TURN", 4)
    count = []

    def tick(steps):
        count.append(steps)
        if len(count) == 4:
            raise KeyboardInterrupt

    stopped = session(1, tick, "wall")
    methods = [larsson2001_runs.method(name, paper.PLIANT)
               for name in (larsson2001_runs.HYBRID, larsson2001_runs.AUTO, larsson2001_runs.BOTTOM_UP)]
    runs = stopped.play("title", scenes.push(320, 10), methods, part="x")
    assert stopped.stopped and [each["steps"] for each in runs] == [4, 4, 4]
    assert stopped.play("title", scenes.push(320, 10), methods, part="x") == []


def test_least_times_count_and_counters_of_the_first():
    player = play.Player(larsson2001_runs.method(larsson2001_runs.HYBRID, paper.PLIANT), scene := scenes.push(320, 3), False,
                         play.given(scene.frame(0)), play.given(scene.deep()))
    track = play.Track(player)
    for k, update in ((0, 3.0), (1, 3.0), (0, 1.0), (1, 5.0)):
        track.add(k, update, 2.0 * update, player.step(play.given(scene.frame(2 * k)))[2])
    assert track.update == [1.0, 3.0] and track.query == [2.0, 6.0] and len(track.counts) == 2


@pytest.mark.parametrize("kind", ["world", "model", "weights"])
def test_fixed_costs_are_small_and_known(kind):
    costs = play.fixed_costs(kind, time.process_time)
    assert set(costs) == {"update", "query", "body", "pair"} and all(0 <= value < 5 for value in costs.values()) and costs["query"] > 0
    two = {"fixed_ms": costs, "bodies": 2, "steps": 3}
    np.testing.assert_allclose(play.fixed(two), [2 * costs["update"] + costs["query"]] * 3)
    many = two | {"bodies": 27, "bodies_tested": [0, 5, 9]}
    np.testing.assert_allclose(play.fixed(many), [27 * (costs["update"] + costs["body"]) + n * costs["pair"] for n in (0, 5, 9)])
