"""Paper C: its clock for rays, reconstruction and tables. What all papers share is tested in `test_experiments.py`."""

import json
from dataclasses import replace

import numpy as np
import pytest
from quick_runs import session

import pliant
from experiments import clock as play
from experiments import paper
from experiments.larsson2003b import clock as tracing
from experiments.larsson2003b import runs as larsson2003b_runs
from experiments.larsson2003b import tables as larsson2003b_tables
from pliant.core import jit
from pliant.render.demo_soup import make_demo_soup
from pliant.render.demo_spheres import make_demo_spheres

LISTS = ("take_ms", "refit_ms", "update_ms", "query_ms", "shading_ms", "n_v", "volumes", "nodes_reached", "leaves_reached", "cast_rays",
         "shadow_rays", "frames")  # fmt: skip
slow_without_kernels = pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")


def shots(show, frames, step=4):
    return tracing.Recorder(show, 40, 30, play.CLOCKS["cpu"]).turns(frames, step)


def ways(*names):
    return [larsson2003b_runs.way(name, tree) for tree in paper.TREES for name in names]


# --- the clock -------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_frames_are_spread_evenly_from_the_first_to_the_last():
    show = make_demo_spheres(320)
    assert tracing.spread(show, 2) == [0, 279] and tracing.spread(show, 1) == [0] and tracing.spread(show, 300) == list(range(280))
    some = tracing.spread(show, 15)
    assert len(some) == 15 and some[-1] == 279 and set(np.diff(some)) <= {19, 20}


@slow_without_kernels
@pytest.mark.parametrize(("show", "frames"), [(make_demo_spheres(320), [0, 140, 279]), (make_demo_soup(64), [0, 70, 150, 299])],
                         ids=["nine", "museum"])
def test_all_ways_find_the_same_and_say_what_they_did(show, frames, monkeypatch):
    monkeypatch.setattr(tracing, "MOST", 200)  # two frames a turn
    ticks, threads = [], pliant.threads()
    every = ways(larsson2003b_runs.BOTTOM_UP, larsson2003b_runs.HYBRID, larsson2003b_runs.AUTO)
    runs = tracing.play(session(2, ticks.append), "title", show, every, shots(show, frames), frames=len(frames), part="x")
    assert sum(ticks) == len(every) * len(frames) * 2 and pliant.threads() == threads
    for each, way in zip(runs, every, strict=True):
        assert (each["method"], each["tree"], each["part"], each["show"], each["of"]) == (way.name, way.tree, "x", show.name, show.frames)
        assert each["agrees"] and each["frames"] == frames and all(len(each[name]) == each["steps"] == len(frames) for name in LISTS)
        assert min(each["take_ms"]) > 0 and min(each["query_ms"]) > 0 and 0 < max(each["leaves_reached"]) <= 1
        assert each["cast_rays"][0] > 99 and each["shadow_rays"][0] > 0 and each["n_v"][0] > each["cast_rays"][0]
        assert json.loads(json.dumps(each)) == each
    for bottom_up, hybrid, _ in (runs[:3], runs[3:]):
        assert bottom_up["nodes_reached"] == [1.0] * len(frames) and max(hybrid["nodes_reached"]) <= 1
        assert hybrid["leaves_reached"] == bottom_up["leaves_reached"], "rays come to the same leaves"
    assert sum(runs[1]["volumes"]) < sum(runs[0]["volumes"]) and runs[1]["nodes_reached"][0] < 1


@slow_without_kernels
def test_a_difference_is_seen(monkeypatch):
    from pliant.query.ray.cast import occluded

    def lies(scene, *rays, **options):
        dark = occluded(scene, *rays, **options)
        return ~dark if scene._members_with_faces()[0][0]._options.policy.name == "bottom_up" else dark

    show = make_demo_spheres(320)
    monkeypatch.setattr(pliant, "occluded", lies, raising=False)
    runs = tracing.play(session(), "title", show, ways(larsson2003b_runs.HYBRID, larsson2003b_runs.BOTTOM_UP), shots(show, [0, 9]),
                        frames=2, part="x")
    assert [each["agrees"] for each in runs] == [True, False, True, False]


@slow_without_kernels
def test_an_interrupted_session_keeps_the_frames_that_all_have_done(monkeypatch):
    monkeypatch.setattr(tracing, "MOST", 200)
    count = []

    def tick(steps):
        count.append(steps)
        if len(count) == 3:
            raise KeyboardInterrupt

    stopped, show = session(1, tick), make_demo_spheres(320)
    every = ways(larsson2003b_runs.HYBRID)
    runs = tracing.play(stopped, "title", show, every, shots(show, [0, 1, 2, 3]), frames=4, part="x")
    assert stopped.stopped and [each["steps"] for each in runs] == [2, 2]
    assert tracing.play(stopped, "title", show, every, shots(show, [0]), frames=1, part="x") == []


@slow_without_kernels
def test_traversals_and_pictures_agree():
    show = make_demo_spheres(320)
    casts = [larsson2003b_runs.way(larsson2003b_runs.HYBRID, paper.PLIANT, traversal=name, casts=True) for name in ("wide", "stackless")]
    wide, stackless = tracing.play(session(), "title", show, casts, shots(show, [0, 200]), frames=2, part="x")
    assert wide["agrees"] and stackless["agrees"] and sum(stackless["n_v"]) > sum(wide["n_v"]) and wide["shadow_rays"] == [0, 0]
    drawn = [larsson2003b_runs.way(larsson2003b_runs.HYBRID, tree, picture=True) for tree in paper.TREES]
    recorder = tracing.Recorder(show, 40, 30, play.CLOCKS["cpu"])
    runs = tracing.play(session(), "title", show, drawn, recorder.turns([0, 9], 4), frames=2, settings=recorder.settings(4), part="x")
    assert len(runs) == 2 and all(each["agrees"] for each in runs)


# --- reconstruction --------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("policy", ["bottom_up", "hybrid", "lazy", "auto"])
def test_reconstruction_leaves_nothing_for_the_root(policy):
    show = make_demo_spheres(320)
    actor = show.actors[0]
    body = pliant.Body(actor.shape(0), actor.faces, policy=policy, leaf=1, arity=8)
    for frame in range(1, 3):
        body.update(actor.shape(frame))
        shape = body._bvh_at(body._motion.scale)
        assert shape.stale and tracing.reconstruct(shape) > 0 and not shape.stale
        vertices, whole = body.vertices, shape.nodes["bounds"][0]
        low = np.array([whole[name] for name in ("lox", "loy", "loz")]) + body._motion.origin[:3]
        np.testing.assert_allclose(low, vertices.min(axis=0), atol=1e-6)
    upper = (shape.nodes["stamp"] == shape.frame).mean()
    assert upper == 1 if policy in ("bottom_up", "auto") else 0 < upper < 1


@pytest.mark.formulas
@pytest.mark.parametrize("leaf", [1, 8])
def test_work_is_counted_as_it_is_done(leaf):
    actor = make_demo_spheres(320).actors[0]
    for policy in ("bottom_up", "hybrid"):
        body = pliant.Body(actor.shape(0), actor.faces, policy=policy, leaf=leaf, arity=8)
        body.update(actor.shape(1))
        shape = body._bvh_at(body._motion.scale)
        updated, work = tracing.reconstruct(shape), tracing.work_of(shape)
        assert work["volumes"] == updated and work["vertices"] >= 162, "each vertex at least once"
        if policy == "bottom_up" and leaf == 1:
            assert work["vertices"] == 4 * 320, "three of each, as a multiple of four"


@pytest.mark.formulas
@pytest.mark.parametrize(("k", "least", "most"), [(2, 8, 10), (4, 8, 8 + 2 / 3), (8, 8, 8 + 2 / 7)])
def test_predictions_are_in_the_intervals_of_the_paper(k, least, most):
    for height in range({2: 8, 4: 5, 8: 4}[k], 20):
        assert least < larsson2003b_tables.predicted(k**height, k) < most


@pytest.mark.formulas
def test_a_show_of_some_actors_is_reconstructed_alone():
    show = make_demo_spheres(320)
    one = replace(show, actors=show.actors[:1])
    (turn,) = tracing.unasked(one, [0, 5])
    assert [shot.frame for shot in turn] == [0, 5] and all(len(shot.shapes) == 1 and not shot.asked for shot in turn)


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(name, up, rays, tree="pliant", **more):
    """A run of 4 frames, whose second takes twice as long, and the third half."""
    factor = [1.0, 2.0, 0.5, 0.5]
    about = {"method": name, "tree": tree, "part": "10x10", "show": "nine", "of": 280, "bodies": 9, "faces": 100, "steps": 4, "threads": 1,
             "agrees": True, "options": {"leaf": 8}}  # fmt: skip
    times = {"take_ms": [0.5] * 4, "refit_ms": [up - 0.5] * 4, "update_ms": [up] * 4, "query_ms": [rays * each for each in factor]}
    whole = name == "bottom-up"
    counts = {"volumes": [1_000 if whole else 100] * 4, "n_v": [500] * 4, "cast_rays": [100] * 4, "shadow_rays": [150] * 4,
              "nodes_reached": [1.0 if whole else 0.25] * 4, "leaves_reached": [0.125] * 4, "shading_ms": [3.0] * 4}  # fmt: skip
    return about | times | counts | more


@pytest.mark.formulas
def test_average_worst_and_best_frames():
    runs = [made("bottom-up", 4.0, 2.0), made("hybrid", 1.0, 3.0), made("auto", 1.0, 2.0)]
    theirs, table, auto, reconstruction, counts = larsson2003b_tables.tables_71(runs)
    assert theirs.rows[2] == ["average", "10x10", "0.449", "0.100", "0.550", "0.0260", "0.183", "0.209", "2.63 ×"] and len(theirs.rows) == 9
    assert table.rows[0] == ["average", "10x10", "4.00", "2.00", "6.00", "1.00", "3.00", "4.00", "1.50 ×", "2.63 ×"]
    assert table.rows[1][2:] == ["4.00", "4.00", "8.00", "1.00", "6.00", "7.00", "1.14 ×", "1.92 ×"]
    assert table.rows[2][2:] == ["4.00", "1.00", "5.00", "1.00", "1.50", "2.50", "2.00 ×", "12.0 ×"]
    assert "4 of 280 frames" in table.title and "9 moving bodies of 100 triangles" in table.note
    assert auto.rows[0] == ["paper", "hybrid, h/2", "10x10", *["–"] * 5] and [row[:2] for row in auto.rows[2:]] == [
        ["Pliant", "hybrid, h/2"], ["Pliant", "auto"]]
    assert auto.rows[3][2:] == ["10x10", "1.00", "2.00", "3.00", "2.00 ×", "1.33 ×"]
    assert reconstruction.rows == [["Pliant", "0.500", "3.50", "0.500", "7.00 ×", "4.00 ×", "1,000", "100"]]
    assert counts.rows[1] == ["10x10", "Pliant", "hybrid", "250", "5.00", "12,000", "25.0 %", "12.5 %", "3.00"]
    assert larsson2003b_tables.tables_72(runs)[1].rows[1][-1] == "", "the paper has no worst frame there"
    assert larsson2003b_tables.tables_71(runs[1:])[1].rows[0][2] == "–"


@pytest.mark.formulas
def test_predicted_counted_and_measured_ratios():
    runs = [made(name, up, 0.0, part="all in turn", arity=8, faces=4_096, work={"vertices": vertices, "volumes": 96})
            for name, up, vertices in (("bottom-up", 4.1, 9_904), ("hybrid", 0.9, 2_404))]  # fmt: skip
    table, = larsson2003b_tables.tables_77(runs)
    assert table.rows == [["Pliant", "8", "8", larsson2003b_tables.figure(larsson2003b_tables.predicted(4_096, 8)), "4.00 ×", "9.00 ×",
                           "4.56 ×", "3.60", "0.400",
                           "40.0", "17.8", "1.17"]]  # fmt: skip
    assert larsson2003b_tables.predicted(4_096, 8) == pytest.approx((4 * 4_096 + 585) / (2_048 + 64 + 9))


@slow_without_kernels
def test_rays_of_picks_hit_and_orders_of_vertices_do_not_matter():
    """One ray a frame towards a body: what it hits is the same with vertices in another order, and with refits before it or not."""
    show, faces = make_demo_spheres(320), []
    every = [larsson2003b_runs.way(name, paper.PLIANT, ahead=ahead) for name, ahead in (("bottom-up", True), ("lazy", False))]
    for arranged in larsson2003b_runs.LAYOUTS.values():
        scene = arranged(show)
        np.testing.assert_array_equal(scene.actors[0].shape(3)[scene.actors[0].faces], show.actors[0].shape(3)[show.actors[0].faces])
        runs = tracing.play(session(), "title", scene, every, tracing.picked(scene, [0, 5, 9]), frames=3, part="x")
        assert all(each["agrees"] and each["cast_rays"] == [1, 1, 1] for each in runs)
        assert min(runs[0]["volumes"]) > 0 and runs[1]["volumes"] == [0, 0, 0] and "work" not in runs[1]
        tracer = tracing.Tracer(every[1], scene, next(tracing.picked(scene, [0]))[0])
        faces.append(tracer.ask(next(tracing.picked(scene, [4]))[0].asked[0]).face.tolist())
    assert faces[0] == faces[1] and faces[0][0] >= 0


@pytest.mark.formulas
def test_a_pick_is_compared_with_refitting_everything():
    runs = [made("bottom-up", 4.5, 2.0), made("lazy", 0.5, 0.5), made("hybrid", 0.5, 1.0)]
    table, = larsson2003b_tables.TABLES["picks"](runs)
    assert table.rows == [["10x10", "Pliant", "0.500", "4.00", "1.50", "0.375", "0.750", "–", "10.7 ×", "5.33 ×", "–"]]
    assert "9 × 100 triangles" in table.title and "Medians of 4 frames" in table.note


@pytest.mark.formulas
def test_threads_and_processors():
    more = {"kind": "rays", "processors": 2}
    runs = [made("bottom-up", 4.0, 8.0, **more), made("bottom-up", 4.0, 5.0, **more | {"threads": 2}), made("hybrid", 1.0, 8.0, **more),
            made("hybrid", 1.0, 20.0, **more | {"kind": "pictures"})]  # fmt: skip
    threads, processors = larsson2003b_tables.TABLES["eq-7.1"](runs)
    assert threads.rows[0] == ["rays", "10x10", "bottom-up", "4.00", "8.00", "12.0", "8.00", "9.00", "1.33 ×", "1.60 ×"]
    assert threads.rows[1][6:] == ["5.00", "–", "–", "–"] and threads.rows[2][6] == "" and "one processor" not in threads.note
    assert processors.rows == [["10x10", "1.33 ×", "1.60 ×", "2.50 ×", "3.67 ×", "4.00 ×"]]
    assert "one processor" in larsson2003b_tables.TABLES["eq-7.1"]([made("hybrid", 1.0, 1.0, kind="rays", processors=1)])[0].note


@pytest.mark.formulas
def test_traversals_are_compared():
    table, = larsson2003b_tables.TABLES["traversals"]([made("wide", 1.0, 2.0), made("stackless", 1.0, 6.0, n_v=[2_000] * 4)])
    assert table.rows == [["10x10", "Pliant", "100", "5.00", "20.0", "4.00 ×", "2.00", "6.00", "3.00 ×", "25.0 %", "25.0 %"]]
