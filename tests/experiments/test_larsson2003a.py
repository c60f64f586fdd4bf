"""Paper B: its swimmers, scenes, methods and tables. What all papers share is tested in `test_experiments.py`."""

import json

import numpy as np
import pytest
from quick_runs import session

import pliant
from experiments import clock as play
from experiments import paper
from experiments.larsson2001 import scenes
from experiments.larsson2003a import runs as larsson2003a_runs
from experiments.larsson2003a import scenes as larsson2003a_scenes
from experiments.larsson2003a import swimmer
from experiments.larsson2003a import tables as larsson2003a_tables
from pliant.core import jit

# --- swimmers --------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("faces", larsson2003a_runs.SIZES)
def test_swimmers_have_the_triangles_of_the_paper_and_are_closed(faces):
    poses, triangles = swimmer.swimmer(faces)
    assert triangles.shape == (faces, 3) and triangles.dtype == np.int32 and poses.shape == (3, faces // 2 + 2, 3)
    assert np.array_equal(np.unique(triangles), np.arange(poses.shape[1]))
    sides = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    there, back = (np.sort(sides[:, a] * poses.shape[1] + sides[:, b]) for a, b in ((0, 1), (1, 0)))
    assert (np.diff(there) > 0).all() and np.array_equal(there, back), "each side belongs to two faces that run along it in turn"
    for vertices in poses:
        a, b, c = vertices[triangles].transpose(1, 0, 2)
        assert 0.05 < np.einsum("ij,ij->", a, np.cross(b, c)) / 6 < 0.15, "it looks outward"
        assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 0


@pytest.mark.formulas
def test_finer_swimmers_are_the_same_solid():
    coarse, fine = swimmer.swimmer(564), swimmer.swimmer(9_024)
    assert np.array_equal(coarse[0], fine[0][:, : coarse[0].shape[1]]), "corners stay"
    for k in range(3):
        a, b, c = coarse[0][k][coarse[1]].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        corners = fine[0][k][fine[1]]
        flat = np.abs(np.einsum("fj,gcj->gfc", normals, corners) - np.einsum("fj,fj->f", normals, a)[None, :, None]).max(axis=2)
        assert flat.min(axis=1).max() < 1e-12, "each face lies in the plane of a coarse one"
        areas = [np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum() for p in (coarse[0][k][coarse[1]], corners)]
        assert areas[0] == pytest.approx(areas[1], rel=1e-12)


@pytest.mark.formulas
def test_swimmers_do_not_meet_themselves_and_have_fins():
    poses, triangles = swimmer.swimmer(564)
    for vertices in poses:
        assert not len(pliant.self_collide(pliant.Body(vertices, triangles)))
    up, straight, down = poses
    tail = straight[:, 0] < -0.9
    assert up[tail, 2].min() > straight[tail, 2].max() > straight[tail, 2].min() > down[tail, 2].max()
    assert np.abs(straight[tail, 1]).max() > 0.3, "flukes lie flat"
    assert straight[:, 2].max() > 0.35 and straight[:, 1].max() == pytest.approx(-straight[:, 1].min())


@pytest.mark.formulas
@pytest.mark.parametrize("faces", [0.5, 100, 565, 1_128])
def test_other_sizes_are_refused(faces):
    with pytest.raises(ValueError, match="faces must be 564"):
        swimmer.swimmer(faces)


# --- scenes ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("way", [0, 0.3, 1, 1.7, 2])
def test_at_most_two_targets_are_active(way):
    weights = larsson2003a_scenes.chain(way)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all() and np.count_nonzero(weights) <= 2
    assert weights @ [0, 1, 2] == pytest.approx(way)


@pytest.mark.formulas
@pytest.mark.parametrize("scene", [larsson2003a_scenes.passing(320, 7), larsson2003a_scenes.swimmers(3, 564, 7)],
                         ids=["passing", "swimmers"])
def test_blended_vertices_are_those_of_morphing_bodies(scene):
    body, again = pliant.Body.morph(scene.targets, scene.faces), list(scene.play())
    assert len(again) == scene.frames == 7
    for frame in (scene.frame(5), scene.start(), scene.deep()):
        for weights, pose, vertices, world in zip(frame.weights, frame.poses, frame.model, frame.world(), strict=True):
            body.update(weights)
            np.testing.assert_array_equal(body.vertices, vertices)
            body.update(weights, transform=pose)
            np.testing.assert_array_equal(body.vertices, world)
    np.testing.assert_array_equal(scene.start().model[0], scene.targets[scene.rest])
    np.testing.assert_array_equal(again[5].weights, scene.frame(5).weights)


def meetings(scene):
    """How many bodies meet, and in how many pairs of faces, in each frame."""
    bodies = [pliant.Body.morph(scene.targets, scene.faces) for _ in scene.frame(0).weights]
    every, found = pliant.Scene(bodies), []
    for frame in scene.play():
        for body, weights, pose in zip(bodies, frame.weights, frame.poses, strict=True):
            body.update(weights, transform=pose)
        pairs = every.collide()
        found.append((len(np.unique(pairs.bodies, axis=0)), len(pairs)))
    return np.array(found)


def test_two_bodies_meet_after_a_tenth_of_the_way_and_part_again():
    met = np.flatnonzero(meetings(larsson2003a_scenes.passing(1_280, 81))[:, 0])
    assert 7 <= met[0] <= 10 and 71 <= met[-1] <= 75 and len(met) == met[-1] - met[0] + 1


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_swimmers_meet_here_and_there():
    met, pairs = meetings(larsson2003a_scenes.swimmers(12, 564, 41)).T
    assert met.min() >= 1 and met.max() <= 20 and 5 < met.mean() < 10
    assert pairs.mean() / met.mean() < 35, "no deep interpenetration"


# --- methods ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("scene", [larsson2003a_scenes.passing(320, 6), larsson2003a_scenes.swimmers(6, 564, 3)],
                         ids=["passing", "swimmers"])
def test_all_methods_find_the_same_pairs(scene, first):
    names = larsson2003a_runs.METHODS
    methods = [larsson2003a_runs.method(name, tree) for tree in paper.TREES for name in names]
    runs = session().play("title", scene, methods, first=first, part="x")
    assert len(runs) == 2 * len(names) and all(each["agrees"] for each in runs) and sum(runs[0]["pairs"]) > 0
    assert [each["kind"] for each in runs] == 2 * ["weights", *["model"] * 5, "world"]
    assert [each["sat"] for each in runs] == [*["lite"] * 6, "full", *["full"] * 7]
    by_name = dict(zip(names, runs, strict=False))
    assert max(sum(by_name[name]["n_u"]) for name in ("morph", "lazy")) < sum(by_name["bottom-up"]["n_u"])
    for each in runs:
        assert each["blend_ms"] > 0 and each["place_ms"] > 0 and each["bytes"]["nodes"] == 256 * each["bytes"]["n_nodes"]
        assert json.loads(json.dumps(each)) == each
        if "bodies_met" in each and first:
            assert each["pairs"] == each["bodies_met"], "one for each two bodies that meet"
    assert runs[0]["bytes"]["vertices"] > runs[1]["bytes"]["vertices"] and runs[0]["bytes"]["n_nodes"] == runs[1]["bytes"]["n_nodes"]


def test_variants_find_the_same_pairs_and_differ_in_one_thing():
    runs = session().play("title", larsson2003a_scenes.passing(320, 6), larsson2003a_runs.variants(paper.PLIANT), part="x")
    named = {each["method"]: each for each in runs}
    assert all(each["agrees"] for each in runs) and len(named) == len(larsson2003a_runs.VARIANTS) + 2
    assert sum(named["without stamps"]["n_u"]) > sum(named[larsson2003a_runs.MORPH]["n_u"])
    assert named["1 between"]["bytes"]["kept"] > named[larsson2003a_runs.MORPH]["bytes"]["kept"]
    assert named[larsson2003a_runs.OTHER_AXES]["sat"] == "lite" and named["binary"]["levels"] > named["4-ary"]["levels"]


@pytest.mark.formulas
def test_frames_of_free_bodies_have_nothing_to_blend():
    given = play.given(scenes.push(20, 3).frame(1))
    assert given.blend == 0 and set(given.rows) == {"world", "model"}


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(name, ms, **more):
    """A run of 400 steps of so many milliseconds."""
    steps = 400
    about = {"method": name, "tree": "pliant", "part": "all", "faces": 320, "bodies": 2, "steps": steps, "agrees": True, "first": False}
    times = {"query_ms": [ms] * steps, "update_ms": [0.0] * steps, "fixed_ms": {"update": 0.1, "query": 0.3, "body": 0.0, "pair": 0.0}}
    costs = {"blend_ms": 0.5, "place_ms": 0.25, "kind": {"morph": "weights", "hybrid, world": "world"}.get(name, "model")}
    size = {"n_nodes": 10, "nodes": 2_560, "kept": 5_760, "leaves": 100, "links": 200, "vertices": 300}
    counts = {key: [7] * steps for key in ("n_v", "n_p", "n_u")} | {"pairs": [0] * 41 + [3] * 300 + [0] * 59, "bytes": size}
    return about | times | costs | counts | more


@pytest.mark.formulas
def test_ratios_bare_and_of_the_whole_job():
    hybrid = made("hybrid", 2.0, query_ms=[3.0] * 90 + [1.0] * 180 + [3.0] * 130)
    table, = larsson2003a_tables.tables_65([made("morph", 1.0), hybrid, made("hybrid, world", 1.5)])
    assert table.rows[0][2:10] == ["1.00", "1.00 ×", "1.00", "1.00 ×", "1.00", "1.00 ×", "1.00 ×", "1.00 ×"]
    assert table.rows[1][2:10] == ["3.00", "3.00 ×", "1.00", "1.00 ×", "2.10", "2.10 ×", "3.20 ×", "2.60 ×"]
    assert table.rows[2][7:10] == ["1.50 ×", "2.00 ×", "2.25 ×"]
    assert "steps 41 to 340; at most 3 pairs" in table.note


@pytest.mark.formulas
def test_sizes_and_memory():
    more = {"bodies": 12, "bodies_tested": [0] * 400, "bodies_met": [0] * 400}
    runs = [made(name, ms * n**power, faces=n, **more) for n in (564, 2_256)
            for name, ms, power in (("morph", 1, 0.5), ("hybrid, h/2", 1, 1), ("lazy", 0.5, 1))]  # fmt: skip
    paper_trees, table, memory = larsson2003a_tables.tables_68([*runs, made("morph", 1.0, tree="paper", faces=564, **more)])
    assert paper_trees.title.startswith("Fig 6.8, all pairs, paper trees: 12 swimmers")
    assert [row[0] for row in table.rows] == ["564", "2,256", "exponent", "564 to 2,256"]
    assert table.rows[2][1:3] == ["0.500", "1.00"] and table.rows[3][1:3] == ["2.00 ×", "4.00 ×"]
    assert table.rows[0][4:6] == ["23.7 ×", "11.9 ×"], "half of the levels, and the best"
    assert memory.rows[0] == ["Pliant", "morph", "10.0", "256", "576", "832", larsson2003a_tables.figure(8_920 / 2_256)]


@pytest.mark.formulas
def test_savings():
    times = [1.0] * 200 + [0.6] * 20 + [1.0] * 180
    table, = larsson2003a_tables.tables_savings([made("morph", 1.0, part="two bodies"),
                                                 made("1 between", 1, part="two bodies", query_ms=times)])
    rows = {row[0]: row for row in table.rows}
    assert rows["1 between"][1] == "5 %, up to 40 %" and rows["1 between"][8:11] == ["0.980", "0.980 ×", "0.600 ×"]
    assert rows["1 between"][11:] == ["7.00", "1.00 ×", "7.00"]
    assert rows["1 between"][2:8] == ["–"] * 6 and rows["binary"][8] == "–"
