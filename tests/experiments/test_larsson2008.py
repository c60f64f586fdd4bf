"""Paper S: its methods, counts of operations, tables and plots. Scenes are tested on their own, and what all papers share in
`test_experiments.py`."""

import json

import numpy as np
import pytest
from quick_runs import session

from experiments import clock as play
from experiments import paper
from experiments.larsson2008 import operations
from experiments.larsson2008 import plots as larsson2008_plots
from experiments.larsson2008 import runs as larsson2008_runs
from experiments.larsson2008 import scenes as larsson2008_scenes
from experiments.larsson2008 import tables as larsson2008_tables
from pliant.core import jit
from pliant.tree.nodes import BUILDERS, node_dtype
from pliant.volume.protocol import VOLUME_TYPES

# --- methods ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_ways_run_on_the_trees_of_the_paper_and_on_pliants():
    """Each way on each tree once; the paper's trees are binary, one face a leaf, and descended into the larger."""
    every = larsson2008_runs.methods()
    assert len({(each.name, each.tree) for each in every}) == len(every)
    wanted = {(name, tree) for tree, names in larsson2008_runs.ON.items() for name in names}
    assert {(each.name, each.tree) for each in every} <= wanted and (larsson2008_runs.BALLS, paper.PAPER) in wanted
    for each in every:
        assert each.kind == "poses" and each.options["build"] in BUILDERS
        shape = each.options["arity"], each.options["leaf"], each.descend
        assert shape == {"paper": (2, 1, "larger"), "pliant": (8, 8, "both")}[each.tree]


@pytest.mark.formulas
@pytest.mark.parametrize("count, shown", [(100, list(range(0, 500, 5))), (2, [0, 250]), (500, list(range(500))), (900, list(range(500)))])
def test_frames_are_spread(count, shown):
    assert larsson2008_runs.spread(count) == shown


@pytest.mark.parametrize("make, size",
                         [(larsson2008_scenes.spheres, 320), (larsson2008_scenes.knots, 1), (larsson2008_scenes.quadrupeds, 8_000),
                                        (larsson2008_scenes.hands, 20_000)])
def test_all_methods_find_the_same_pairs(make, size):
    if jit.DISABLED:
        pytest.skip("takes too long without kernels")
    runs = larsson2008_runs.played(session(), make(size, [150, 200]), "part")
    assert len(runs) == len(larsson2008_runs.methods()) >= 3 and all(each["agrees"] for each in runs)
    assert (sum(runs[0]["pairs"]) > 0) == (make is not larsson2008_scenes.knots)
    for each in runs:
        assert each["shown"] == [150, 200] and each["steps"] == 2 and each["kind"] == "poses" and min(each["n_v"]) > 0
        assert each["n_u"] == [0, 0], "volumes of rigid bodies stay"
        assert each["bytes"]["nodes"] == each["bytes"]["n_nodes"] * each["node_bytes"][str(each["options"]["arity"])]
        assert json.loads(json.dumps(each)) == each
    binary, wide = (next(each for each in runs if (each["method"], each["tree"]) == (larsson2008_runs.BALLS, tree))
                    for tree in larsson2008_runs.TREES)
    assert binary["levels"] > 2 * wide["levels"] and sum(binary["n_v"]) > sum(wide["n_v"])
    assert binary["bytes"]["n_nodes"] == len(make(size, [0]).faces) - 1


def test_calls_of_rigid_bodies_have_a_cost():
    costs = play.fixed_costs("poses", play.CLOCKS["wall"])
    assert costs["update"] > 0 and costs["query"] > 0


# --- operations ------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_operations_of_balls_are_those_of_their_formula():
    """Three differences, three squares and two sums; the sum of radii and its square; and a factor for rounding."""
    counts = operations.operations("sphere")
    assert counts["overlap"] == (11, 2) and counts["carry"].arithmetic >= 18 and counts["skew"].arithmetic == 0


@pytest.mark.formulas
@pytest.mark.parametrize("volume_type", list(VOLUME_TYPES))
def test_operations_of_all_families_are_counted(volume_type):
    counts = operations.operations(volume_type)
    assert set(counts) == {"carry", "overlap", "skew"}
    assert counts["overlap"].arithmetic >= 11 and counts["overlap"].comparisons >= 1 and counts["carry"].arithmetic >= 18
    told, volume = larsson2008_runs.about(volume_type), VOLUME_TYPES[volume_type].volume
    assert told["scalars"] == len(volume._fields)
    assert told["node_bytes"] == {"2": node_dtype(volume, 4).itemsize, "8": node_dtype(volume, 8).itemsize}


@pytest.mark.formulas
def test_numbers_count_what_is_done_with_them():
    done = {"arithmetic": 0, "comparisons": 0}
    a, b = operations.counted(np.ones(1), done), operations.counted(np.full(1, 2.0), done)
    c = np.sqrt(np.abs(a - b) * 3.0 + 1.0)
    assert c == 2 and done == {"arithmetic": 5, "comparisons": 1}, "the last is that of the line itself"
    d = np.where(np.less(a, b), a, b)[()]
    assert isinstance(d, operations.Counted) and done["comparisons"] == 2
    assert (-d) + 1 == 0 and done["arithmetic"] == 7


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(name, ms, n_v, part="Spheres-L1", tree="paper", **more):
    """A run of four frames of so many milliseconds."""
    about = {"method": name, "tree": tree, "part": part, "faces": 320, "both": [320, 320], "bodies": 2, "steps": 4, "agrees": True}
    times = {"query_ms": [ms] * 4, "update_ms": [0.0] * 4, "fixed_ms": {"update": 0.01, "query": 0.03, "body": 0.0, "pair": 0.0}}
    counts = {"n_v": [n_v] * 4, "n_p": [7] * 4, "n_u": [0] * 4, "pairs": [3] * 4, "shown": [0, 125, 250, 375]}
    options = {"options": dict(larsson2008_runs.WAYS[name]) | larsson2008_runs.TREES[tree], "scalars": 9,
               "node_bytes": {"2": 128, "8": 192},
               "operations": {"carry": [1, 2], "overlap": [3, 4], "skew": [5, 6]}}
    return about | times | counts | options | more


@pytest.mark.formulas
def test_ratios_stand_beside_the_papers():
    runs = [made("balls", 4.0, 1_000), made("Ritter's balls", 5.0, 1_500), made("slab cut balls", 1.0, 250), made("boxes", 2.0, 125)]
    table, volumes = larsson2008_tables.tables_spheres(runs)
    rows = {row[1]: row for row in table.rows}
    assert rows["balls"][2:5] == ["4.00", "1.00 ×", "1.00 ×"] and rows["balls"][-3:] == ["8.00", "99,733", "10,585"]
    assert rows["slab cut balls"][2:] == ["1.00", "0.250 ×", "0.412 ×", "250", "0.250 ×", "0.215 ×", "7.00", "3.30", "21,412", "2,112"]
    assert rows["boxes"][4] == "0.613 ×" and rows["boxes"][7] == "0.134 ×", "the paper's boxes"
    assert rows["Ritter's balls"][3:5] == ["1.25 ×", "1.18 ×"] and rows["Ritter's balls"][-2:] == ["–", "–"]
    assert "Spheres of 320 triangles, paper trees" in table.title and "0.0500 ms of each" in table.note and "4 of 500" in table.note
    assert [row[0] for row in volumes.rows] == ["balls", "slab cut balls", "boxes"]
    assert volumes.rows[1][1:9] == ["9", "9", "128", "192", "28 to 99, 1 to 13", "1, 2", "3, 4", "5, 6"]


@pytest.mark.formulas
def test_close_proximity_has_the_papers_ratios_of_its_own():
    runs = [made(name, 1.0, 10, part="Spheres-L1, close") for name in ("balls", "slab cut balls", "boxes")]
    table = larsson2008_tables.table_of(runs, "paper")
    assert [row[4] for row in table.rows] == ["1.00 ×", "0.0337 ×", "0.0572 ×"]
    assert all(row[-3:] == ["–"] * 3 for row in table.rows)


@pytest.mark.formulas
def test_the_tables_of_pliants_trees_say_nothing_of_the_paper():
    runs = [made("balls", 4.0, 1_000, tree="pliant"), made("aligned boxes", 1.0, 500, tree="pliant")]
    table, = larsson2008_tables.tables_scene(runs)
    assert table.columns == ["scene", "volumes", "ms", "÷ balls", "n_v", "÷ balls", "n_p"]
    assert table.rows[1] == ["Spheres-L1", "aligned boxes", "1.00", "0.250 ×", "500", "0.500 ×", "7.00"]


@pytest.mark.formulas
def test_growth_of_knots():
    sizes = {1: [3_528, 3_672], 2: [6_860, 7_140], 3: [10_976, 11_424]}
    runs = [made("balls", sum(both) ** 0.5, sum(both), part=f"Knots-L{level}", both=both) for level, both in sizes.items()]
    growth = larsson2008_tables.tables_knots(runs)[-1]
    assert growth.rows == [["paper", "balls", "0.500", "0.552", "1.00", "0.830"]]
    alone = larsson2008_tables.tables_knots(runs[:1])[-1]
    assert alone.rows[0][2] == "–"


@pytest.mark.formulas
def test_the_papers_figures_are_those_of_table_3():
    """Speed-ups that the text names follow from the table, but for rounding."""
    said = larsson2008_tables.TABLE_3
    for part, balls, boxes in (("Spheres-L1", 2.4, 1.5), ("Knots-L1", 5.4, None), ("Knots-L2", 7.4, None), ("Knots-L3", 10.2, None),
                               ("Quadrupeds", 1.5, 1.4)):
        assert said[part]["balls"].ms / said[part]["slab cut balls"].ms == pytest.approx(balls, abs=0.07)
        if boxes:
            assert said[part]["boxes by covariance"].ms / said[part]["slab cut balls"].ms == pytest.approx(boxes, abs=0.07)


# --- plots ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_frames_in_close_proximity_are_put_into_the_plot():
    runs = [made("balls", 1.0, 10), made("balls", 2.0, 20, part="Spheres-L1, close", shown=[249, 250, 251, 252])]
    frames, values = larsson2008_plots.series(runs, "Spheres-L1", "paper", "balls", "n_v")
    assert frames.tolist() == [0, 125, 249, 250, 251, 252, 375] and values.tolist() == [10, 10, 20, 10, 20, 20, 10]
    assert larsson2008_plots.series(runs, "Spheres-L1", "pliant", "balls", "ms") is None


@pytest.mark.formulas
def test_every_way_has_a_style():
    assert set(larsson2008_plots.STYLES) == set(larsson2008_runs.WAYS) == {name for names in larsson2008_runs.ON.values() for name in names}
