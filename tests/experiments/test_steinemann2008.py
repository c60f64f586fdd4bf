"""Paper M: its ways and bounds, baselines, the order of play, and tables. Scenes are tested on their own, and what all papers share in
`test_experiments.py`."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_runs import keep_no_baselines, session
from scipy.optimize import linprog
from scipy.sparse import csr_array

import pliant as pl
from experiments.paper import PAPER, PLIANT
from experiments.steinemann2008 import clock as blending
from experiments.steinemann2008 import hashing, tightness
from experiments.steinemann2008 import other_bounds as bounds_m
from experiments.steinemann2008 import runs as steinemann2008_runs
from experiments.steinemann2008 import tables as steinemann2008_tables
from experiments.steinemann2008.scenes import Blended, Blends
from pliant.core import jit
from pliant.results import Stats
from pliant.shapes import icosphere


@pytest.fixture(autouse=True)
def no_others(monkeypatch):
    keep_no_baselines(monkeypatch)


def scene_of(seed, bodies=3, frames=2, nodes=4, apart=1.2):
    """Small balls with random convex weights, and maps near each other that place them in a row."""
    rng = np.random.default_rng(seed)
    rest, faces = icosphere(1)
    weights = rng.random((len(rest), nodes)) * (rng.random((len(rest), nodes)) < 0.7)
    weights[np.arange(len(rest)), rng.integers(nodes, size=len(rest))] += 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    maps = np.tile(np.eye(3, 4), (frames + 1, bodies, nodes, 1, 1)) + rng.normal(0, 0.12, (frames + 1, bodies, nodes, 3, 4))
    maps[:, :, :, 0, 3] += apart * np.arange(bodies)[:, None]
    places = rng.normal(0, 0.5, (nodes, 3))
    return Blends(Blended(rest, faces.astype(np.int32), pl.MeshlessNodes(places, 2.0), csr_array(weights)), maps)


# --- ways and bounds -------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_settings_are_those_of_table_2():
    assert {number: setting for setting, number in steinemann2008_runs.TABLE_2.items()} == {
        "1": (2_857, 115, "few"), "2": (2_857, 550, "few"), "3": (45_682, 115, "few"), "4": (45_682, 550, "few"),
        "5": (2_857, 115, "many"), "6": (2_857, 550, "many"), "7": (45_682, 115, "many"), "8": (45_682, 550, "many")}
    assert all((vertices, nodes) in steinemann2008_runs.Plan().figures for vertices, nodes, _ in steinemann2008_runs.TABLE_2)


@pytest.mark.formulas
def test_ways_are_different_and_bodies_take_them():
    hashing.register()
    every = steinemann2008_runs.ways()
    assert len({(each.name, each.tree, each.by_hand) for each in every}) == len(every) and every[-1].name == hashing.NAME
    rest, faces = icosphere(0)
    for options in [each.options for each in every] + [steinemann2008_runs.TREES[PAPER] | each
                                                       for each in steinemann2008_runs.BOUNDS.values()]:
        pl.Body.blended(rest, faces, np.ones((len(rest), 1)), **options)


# --- baselines -------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@given(st.integers(0, 10_000))
@settings(max_examples=25 if not jit.DISABLED else 3, deadline=None, derandomize=True, database=None)
def test_other_bounds_enclose_all_vertices(seed):
    scene = scene_of(seed, nodes=1 + seed % 6)
    body = pl.Body.blended(scene.body.rest, scene.body.faces, scene.body.weights, **steinemann2008_runs.TREES[PAPER])
    sets = tightness.sets_of(body)
    bounds, maps = bounds_m.Bounds(scene.body, sets), scene.frame(1)[seed % 3]
    vertices = next(scene._replace(maps=maps[None, None]).vertices(0))
    found = {how: bounds.boxes_by(maps, how).copy() for how in bounds_m.NAMES.values()}
    balls = [bounds.spheres_by(maps, moves).copy() for moves in (False, True)]
    for i, (begin, end) in enumerate(sets.spans):
        rows = vertices[sets.order[begin:end]]
        for boxes in found.values():
            assert (boxes[i, :3] <= rows.min(axis=0) + 1e-12).all() and (boxes[i, 3:] >= rows.max(axis=0) - 1e-12).all()
        for spheres in balls:
            assert np.linalg.norm(rows - spheres[i, :3], axis=1).max() <= spheres[i, 3] + 1e-12
    size = {how: boxes[:, 3:] - boxes[:, :3] for how, boxes in found.items()}
    tighter = bounds_m.GREEDY, bounds_m.EQ12, bounds_m.CORNERS
    assert all((size[one] <= size[other] + 1e-12).all() for one, other in pairwise(tighter))
    assert (size[bounds_m.EQ12] <= size[bounds_m.ALL] + 1e-12).all()


@pytest.mark.formulas
@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
def test_greedy_is_the_solution_of_the_linear_programme(seed, n):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 0.5), 4)
    limits, b = np.stack([weights.min(axis=0), weights.max(axis=0)], axis=1), rng.normal(size=n)
    best = linprog(-b, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=limits)
    assert abs(bounds_m.extreme(b, np.arange(n), n, limits, bounds_m.GREEDY) + best.fun) < 1e-9
    first, second = np.argsort(-b)[:2]
    others = [j for j in range(n) if j not in (first, second)]
    closed = limits[first, 1] * b[first] + (1 - limits[first, 1] - limits[others, 0].sum()) * b[second] + limits[others, 0] @ b[others]
    assert abs(bounds_m.extreme(b, np.arange(n), n, limits, bounds_m.EQ12) - closed) < 1e-12


@pytest.mark.formulas
@given(st.integers(0, 10_000), st.floats(0.2, 2.5))
@settings(max_examples=15 if not jit.DISABLED else 2, deadline=None, derandomize=True, database=None)
def test_hashing_finds_the_same_pairs_as_a_scene(seed, apart):
    scene = scene_of(seed, apart=apart)
    keeper = hashing.Hashing(scene)
    found = keeper.step(scene.frame(2))[2]
    bodies = [pl.Body(rows, scene.body.faces) for rows in keeper.vertices.reshape(3, -1, 3)]
    pairs = pl.Scene(bodies).collide()
    assert np.array_equal(found.bodies, pairs.bodies) and np.array_equal(found.faces, pairs.faces)


@pytest.mark.formulas
def test_hashing_has_room_for_more_pairs_than_it_expects(monkeypatch):
    keeper = hashing.Hashing(scene_of(1, apart=0.1))
    some = keeper.query()
    keeper.found = np.zeros((2, 2), np.int64)
    again = keeper.query()
    assert len(some.faces) > 2 and np.array_equal(some.faces, again.faces) and some.stats == again.stats


@pytest.mark.formulas
def test_the_bounds_of_the_product_are_those_of_the_formulas():
    """Those of eq. 12 with one box, level by level, but for float32 and for the root, which is merged from its children."""
    scene = scene_of(5, nodes=5)
    body = pl.Body.blended(scene.body.rest, scene.body.faces, scene.body.weights,
                           **steinemann2008_runs.TREES[PAPER] | steinemann2008_runs.BOUNDS["eq. 12, AABB"])
    sets = tightness.sets_of(body)
    body.update(scene.frame(1)[0])
    made, wanted = tightness.boxes_in(body, sets)[1:], bounds_m.Bounds(scene.body, sets).boxes_by(scene.frame(1)[0], bounds_m.EQ12)[1:]
    assert np.abs(made - wanted).max() < 1e-4
    assert (made[:, :3] <= wanted[:, :3] + 1e-12).all() and (made[:, 3:] >= wanted[:, 3:] - 1e-12).all()


@pytest.mark.formulas
def test_a_volume_that_is_short_is_told():
    boxes, level = np.array([[0.0, 0, 0, 3, 4, 0], [0, 0, 0, 1, 0, 0], [5, 5, 5, 5, 5, 5]]), np.array([0, 1, 1])
    loose = boxes + np.array([-3, -4, 0, 0, 0, 0])
    good = tightness.compared(tightness.Volumes(loose, tightness.radii_of(loose)), boxes, level)
    assert np.allclose(good, [[2.0, 2.0, 1], [np.sqrt(32), np.sqrt(32), 1]])
    loose[1, 3] = 0.5
    assert tightness.compared(tightness.Volumes(loose, tightness.radii_of(loose)), boxes, level)[:, 2].tolist() == [1, 0]


# --- the order of play -----------------------------------------------------------------------------------------------------------

class Liar:
    """Stands in for a keeper: writes down what it is given, and finds pairs that depend on the frame; wrong ones if told so."""

    def __init__(self, scene, wrong=None, stop=None):
        self.bodies, self.seen, self.wrong, self.stop = [pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])], [], wrong, stop

    def step(self, frame, clock=None):
        self.seen.append(frame)
        if len(self.seen) == self.stop:
            raise KeyboardInterrupt
        found = np.full((2, 2), len(self.seen) == self.wrong)
        return 0.002, 0.003, blending.Answer(found.astype(np.int64), found.astype(np.int32), Stats(7, 6, 5))


def played(monkeypatch, repeats=1, frames=5, **second):
    """Two liars on one scene: (session, scene, runs, liars)."""
    liars = []

    def liar(**about):
        def made(scene):
            liars.append(Liar(scene, **about))
            return liars[-1]
        return made

    blending.OTHERS.update({"one": liar(), "two": liar(**second)})
    monkeypatch.setattr(blending, "calls", lambda bodies, clock: 0.5)
    own, scene = session(repeats), scene_of(1, frames=frames)
    ways = [blending.Way(name, PLIANT, {}) for name in ("one", "two")]
    return own, scene, blending.play(own, "title", scene, ways, part="part"), liars


@pytest.mark.formulas
def test_all_play_all_frames_in_order_in_every_round(monkeypatch):
    _, scene, runs, liars = played(monkeypatch, repeats=2)
    order = [1, *([0, 1, 2, 3, 4, 5] * 2)]
    for liar in liars:
        assert len(liar.seen) == len(order) and all(np.array_equal(seen, scene.frame(k)) for seen, k in zip(liar.seen, order, strict=True))
    for run in runs:
        assert run["steps"] == 5 and run["agrees"] and run["pairs"] == [2] * 5 and run["met"] == [1] * 5 and run["n_u"] == [5] * 5
        assert run["update_ms"] == [2.0] * 5 and run["query_ms"] == [3.0] * 5 and run["calls_ms"] == 0.5 and run["part"] == "part"
        assert json.loads(json.dumps(run)) == run


@pytest.mark.formulas
def test_other_pairs_are_told(monkeypatch):
    assert [run["agrees"] for run in played(monkeypatch, wrong=5)[2]] == [True, False]


@pytest.mark.formulas
def test_an_interrupt_leaves_what_all_have_done(monkeypatch):
    own, scene, runs, _ = played(monkeypatch, frames=30, stop=2 + 20 + 4)
    assert own.stopped and [run["steps"] for run in runs] == [20, 20]
    assert blending.play(own, "title", scene, [], part="part") == [] and tightness.play(own, "title", scene, [], {}) == []
    assert tightness.cost(own, "title", scene, {}) == []


@pytest.mark.formulas
def test_bodies_asked_two_by_two_find_what_the_scene_finds():
    scene = scene_of(3, bodies=3, apart=0.8)
    answers = []
    for by_hand in (False, True):
        keeper = blending.Keeper(blending.Way("x", PLIANT, {}, by_hand), scene)
        found = keeper.step(scene.frame(1))[2]
        answers.append((found.bodies.tolist(), found.faces.tolist()))
    assert answers[0] == answers[1] and answers[0][0]


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(way, ms, part="3", **more):
    """A run of four frames of so many milliseconds, a fourth of which is the update."""
    about = {"method": way.name, "tree": way.tree, "by_hand": way.by_hand, "options": way.options, "part": part, "bodies": 6, "steps": 4,
             "vertices": 45_682, "nodes": 115, "influences": 8.0, "contacts": "few", "agrees": True, "calls_ms": 0.2}
    times = {"update_ms": [ms / 4] * 4, "query_ms": [ms * 3 / 4] * 4}
    return about | times | {"n_v": [100] * 4, "n_u": [7] * 4, "pairs": [5] * 4, "met": [2] * 4} | more


@pytest.mark.formulas
def test_gains_are_over_bottom_up_on_the_same_trees():
    every = [steinemann2008_runs.way(steinemann2008_runs.BOTTOM_UP, PAPER), steinemann2008_runs.way(steinemann2008_runs.FRONT, PAPER),
             steinemann2008_runs.way(steinemann2008_runs.BOTTOM_UP, PLIANT),
             steinemann2008_runs.way(steinemann2008_runs.AUTO, PLIANT), blending.Way(hashing.NAME, "–", {})]
    runs = [made(way, ms) for way, ms in zip(every, (20.0, 4.0, 10.0, 1.0, 100.0), strict=True)]
    gains, one = steinemann2008_tables.tables_4(runs)
    assert gains.columns[2] == "3: 45,682 × 115, few"
    assert [row[2] for row in gains.rows] == ["1.00 × (1.00 ×)", "5.00 × (27.5 ×)", "1.00 ×", "10.0 ×", "0.100 × (0.333 ×)", "20.0 ×"]
    assert one.rows[1] == ["eq. 12, front", "paper", "4.54", "16.6", "1.00", "3.00", "4.00", "5.00 ×", "100", "7.00"]
    assert one.rows[3][2:4] == ["–", "–"] and "5.00 pairs between 2.00 pairs of bodies" in one.note and one.title == "Setting 3"
    fish, = steinemann2008_tables.tables_fish([made(way, 1.0, part="fish") for way in every])
    assert fish.rows[0][2:4] == ["402", "16.6"] and fish.rows[4][2:4] == ["–", "–"]
    alone, = steinemann2008_tables.tables_fish([made(every[1], 1.0, part="fish")])
    assert alone.rows[0][7] == "–", "stopped before bottom-up"


@pytest.mark.formulas
def test_a_root_by_vertices_and_nodes():
    runs = [{"method": method, "asked": vertices, "nodes": nodes, "steps": 2, "us": [us, us + 2.0], "agrees": True}
            for method, us in (("eq. 12, AABB", 9.0), ("the smallest box", 99.0)) for nodes in (65, 509) for vertices in (3_500, 145_000)]
    runs[3]["us"] = [19.0, 21.0]
    table, = steinemann2008_tables.tables_1(runs)
    assert table.rows[1] == ["eq. 12, AABB", "145,000", "18.0", "100", "10.0", "20.0", "2.00 ×"]
    assert table.rows[2][2:4] == ["2,000", "2,000"] and "*eq. 12, AABB* 1.00 ×, 2.00 ×" in table.note


@pytest.mark.formulas
def test_ratios_at_the_root_and_by_levels():
    runs = [{"method": method, "nodes": 65, "vertices": 30_252, "steps": 2, "mean": [ratio] * 5, "largest": [2 * ratio] * 5,
             "root": [ratio, 3 * ratio], "agrees": True} for method, ratio in (("eq. 12, own boxes", 1.0), ("summed spheres", 30.0))]
    roots, levels = steinemann2008_tables.tables_5(runs)
    assert roots.rows == [["eq. 12, own boxes", "2.00", "3.00", "1.00 ×"], ["summed spheres", "60.0", "90.0", "30.0 ×"]]
    assert levels.columns == ["bound", "level 0", "level 3"] and levels.rows[0] == ["eq. 12, own boxes", "1.00, 2.00", "1.00, 2.00"]


@pytest.mark.formulas
def test_a_sweep_of_the_radius():
    ways = steinemann2008_runs.few_ways()
    runs = [made(way, ms * count, part="ring", asked=count, influences=count + 0.5)
            for count in (4, 8) for way, ms in zip(ways, (4.0, 1.0, 2.0, 0.5), strict=True)]
    table, = steinemann2008_tables.tables_radius(runs)
    assert table.rows[3] == ["default", "Pliant", "2.00", "4.00", "4.00 ×", "4.00 ×", "7.00", "7.00"] and "4.50, 8.50" in table.note
