"""Paper G: its ways, the order of play and what must agree, and tables. Scenes are tested on their own, and what all papers share in
`test_experiments.py`."""

import json

import numpy as np
import pytest
from quick_runs import session

import pliant as pl
from experiments.georgii2007 import clock as imaging
from experiments.georgii2007 import creatures as tentacles
from experiments.georgii2007 import runs as georgii2007_runs
from experiments.georgii2007 import scenes as georgii2007_scenes
from experiments.georgii2007 import tables as georgii2007_tables
from experiments.georgii2007.clock import CUDA, IMAGE, MOVED, TREE, Way
from pliant.core import jit
from pliant.results import ImageStats, Pairs, Passes, Stats
from pliant.shapes import icosphere

BALLS = 80  # faces of each


def two_balls(frames=5, swarm=None):
    """Two balls that come near and meet."""
    rows, faces = icosphere(1)

    def at(k):
        return [rows, rows + [1.9 - 0.05 * k, 0.03, 0.02]]

    return georgii2007_scenes.scene("two balls", [(rows, faces)] * 2, at, frames, (0.0, 0.0, 1.0), swarm=swarm)


# --- ways ------------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_scenes_are_those_of_table_1_and_ways_are_taken(monkeypatch):
    if jit.DISABLED:
        monkeypatch.setattr(tentacles, "SelfCollider", lambda: lambda vertices, faces: np.zeros((0, 2), np.int32))
    made = list(georgii2007_runs.scenes(georgii2007_runs.QUICK))
    assert [scene.name for scene in made] == list(georgii2007_tables.TABLE_1)
    assert set(georgii2007_runs.Plan().missing) == set(georgii2007_tables.TABLE_1)
    assert [scene.swarm is not None for scene in made] == [False, False, True, False, False]
    rows, faces = icosphere(0)
    for scene in made:
        every = georgii2007_runs.ways(georgii2007_runs.QUICK, scene)
        assert len({way.name for way in every}) == len(every) and (every[-1].kind == MOVED) == (scene.swarm is not None)
        for way in every:
            if way.kind == TREE:
                pl.Body(rows, faces, **way.options)
            else:
                assert way.asks(scene)["resolution"] == 256 and ("direction" in way.asks(scene)) == way.view
                assert way.asks(scene).get("closed") == (True if way.sampled else None)
        counted = georgii2007_runs.counted(georgii2007_runs.QUICK, scene)
        assert [way.options.get("resolution") for way in counted][3:] == ([round(256 * scene.covers)] if scene.covers < 1 else [])
    swept = georgii2007_runs.sweeps(georgii2007_runs.Plan())
    assert len({way.name for way, _ in swept}) == len(swept) == 5 + 14 and all(way.sampled for way, _ in swept)
    assert {(about["sweep"], way.ends) for way, about in swept} == {("resolution", 2), ("passes", 1)}


# --- the order of play -----------------------------------------------------------------------------------------------------------

class Liar:
    """Stands in for a keeper: writes down what it is given and finds two pairs; another one, or one too few, in the frame that is told."""

    def __init__(self, way, scene):
        self.seen, self.way = [], way
        self.step(scene.frame(0))

    def step(self, frame, clock=None):
        self.seen.append(frame.k)
        if len(self.seen) == self.way.options.get("stop"):
            raise KeyboardInterrupt
        pairs = [[0, 81], [3, 99 if frame.k == self.way.options.get("wrong") else 90]]
        found = np.array(pairs[:1] if frame.k == self.way.options.get("misses") else pairs, np.int32)
        image = None if self.way.kind == TREE else ImageStats((0.0, 0.0, 1.0), 64, 7, 3, 500, 40, 30, 20, 10, len(found), 0.25, 1_000)
        return 0.002, 0.003, Pairs(found, Stats(7, 6, 5), image=image)

    def passes(self, frame):
        return Passes(0.01, 0.02, 0.03, 0.04, 0.05)

    def exact(self, frame):
        return np.array([81, 3 << 32 | 90])


def played(monkeypatch, ways, repeats=1, frames=5):
    """Liars on one scene: (session, scene, runs, liars)."""
    liars = []

    def made(way, scene):
        liars.append(Liar(way, scene))
        return liars[-1]

    monkeypatch.setattr(imaging, "KEEPERS", dict.fromkeys((TREE, IMAGE, CUDA, MOVED), made))
    own, scene = session(repeats), two_balls(frames)
    return own, scene, imaging.play(own, "title", scene, ways, part="part"), liars


@pytest.mark.formulas
def test_all_play_all_frames_in_order_in_every_round(monkeypatch):
    _, _, runs, liars = played(monkeypatch, [Way("one", TREE, {}), Way("two", IMAGE, {})], repeats=2)
    for liar in liars:
        assert liar.seen == [0, 1, *([0, 1, 2, 3, 4, 5] * 2)]
    for run in runs:
        assert run["steps"] == 5 and run["agrees"] and run["pairs"] == run["exact"] == [2] * 5 and run["n_u"] == [5] * 5
        assert run["update_ms"] == [2.0] * 5 and run["query_ms"] == [3.0] * 5 and run["part"] == "part" and run["faces"] == 2 * BALLS
        assert json.loads(json.dumps(run)) == run
    assert runs[1]["rays"] == [40] * 5 and runs[1]["sent"] == [1_000] * 5 and runs[1]["estimate"] == [0.25] * 5 and "rays" not in runs[0]
    assert runs[1]["passes_ms"] == {"sample": 10.0, "merge": 20.0, "separate": 30.0, "pack": 40.0, "test": 50.0}


@pytest.mark.formulas
def test_sampling_may_miss_but_nobody_may_find_what_is_not_there(monkeypatch):
    ways = [Way("right", TREE, {}), Way("one too few", IMAGE, {"misses": 3}), Way("sampled", IMAGE, {"misses": 3, "mode": "sampled"}),
            Way("another", IMAGE, {"wrong": 2}), Way("sampled, another", IMAGE, {"wrong": 2, "mode": "sampled"})]
    runs = played(monkeypatch, ways)[2]
    assert [run["agrees"] for run in runs] == [True, False, True, False, False]
    assert [sum(run["missed"]) for run in runs] == [0, 1, 1, 1, 1] and runs[2]["missed"] == [0, 0, 1, 0, 0]
    assert [sum(run["wrong"]) for run in runs] == [0, 0, 0, 1, 1] and runs[3]["exact"] == [2] * 5


@pytest.mark.formulas
def test_what_a_device_made_is_compared_with_a_tree_of_its_own(monkeypatch):
    monkeypatch.setattr(imaging, "lacking", lambda: None)
    ways = [Way("wrong itself", TREE, {"wrong": 2}), Way("moved", MOVED, {}), Way("moved wrong", MOVED, {"wrong": 4})]
    runs = played(monkeypatch, ways)[2]
    assert [run["agrees"] for run in runs] == [True, True, False]


@pytest.mark.formulas
def test_without_a_device_ways_that_need_one_say_so(monkeypatch):
    monkeypatch.setattr(imaging, "lacking", lambda: "nobody lent one")
    ways = [Way("tree", TREE, {}), Way("there", CUDA, {}), Way("here", IMAGE, {}), Way("moved", MOVED, {})]
    _, _, runs, liars = played(monkeypatch, ways)
    assert [run["method"] for run in runs] == ["tree", "there", "here", "moved"] and len(liars) == 2
    assert [run.get("lacking") for run in runs] == [None, "nobody lent one", None, "nobody lent one"]
    assert all(run["agrees"] for run in runs) and [run["steps"] for run in runs] == [5, 0, 5, 0]


@pytest.mark.formulas
def test_an_interrupt_leaves_what_all_have_done(monkeypatch):
    own, scene, runs, _ = played(monkeypatch, [Way("one", TREE, {}), Way("two", IMAGE, {"stop": 3 + 20 + 4})], frames=30)
    assert own.stopped and [run["steps"] for run in runs] == [20, 20] and imaging.play(own, "title", scene, []) == []


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_engines_agree_and_passes_are_timed():
    scene = two_balls(3)
    ways = [*georgii2007_runs.TREES, Way("image", IMAGE, {"resolution": 64}), Way("sampled", IMAGE, {"resolution": 256, "mode": "sampled"}),
            Way("near end", IMAGE, {"resolution": 64, "mode": "sampled", "passes": 1, "rest": "drop"}, ends=1)]
    runs = imaging.play(session(), "title", scene, ways)
    assert all(run["agrees"] for run in runs) and runs[0]["pairs"] == runs[1]["pairs"] == runs[2]["pairs"] and min(runs[0]["pairs"]) > 5
    assert [bool(run["passes_ms"]) for run in runs] == [False, False, True, True, True] and runs[2]["passes_ms"]["sample"] > 0
    assert runs[4]["passes"] == [1] * 3 and sum(runs[4]["missed"]) > sum(runs[3]["missed"]), "what is behind the first surface is not seen"
    assert runs[3]["depth"] == [4] * 3


@pytest.mark.cuda
def test_a_device_finds_the_same():
    """Tetrahedra: in the simulator each thread is one of Python."""
    rows = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], np.int32)
    still = np.eye(3, 4).reshape(12)
    poses = [np.stack([still, still + np.eye(12)[3] * (0.9 - 0.2 * k) + np.eye(12)[7] * 0.1 + np.eye(12)[11] * 0.3]) for k in range(2)]
    rest = tentacles.Rest(np.concatenate([rows, rows]), np.repeat([0, 1], 4).astype(np.int32), np.full(8, -1, np.int32), np.zeros((1, 10)))
    moved = tentacles.Swarm(rest, [(rows, faces)] * 2, np.concatenate([faces, faces + np.int32(4)]), np.full(8, -1, np.int32),
                            [tentacles.Parameters(each, np.zeros((1, 4))) for each in poses])
    scene = georgii2007_scenes.scene("two", moved.parts, lambda k: np.split(moved.vertices(k), 2), 1, (0.0, 0.0, 1.0), swarm=moved)
    ways = [Way("tree", TREE, {}), Way("there", CUDA, {"resolution": 4}), Way("moved", MOVED, {"resolution": 4})]
    tree, there, on = imaging.play(session(), "title", scene, ways, passes=False)
    assert there["agrees"] and on["agrees"] and tree["pairs"] == there["pairs"] == on["pairs"] and tree["pairs"][0] > 0
    assert there["sent"][0] > 0
    assert imaging.CudaKeeper(ways[1], scene).passes(scene.frame(0)).test > 0


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(method, ms, part="soft horses", kind=IMAGE, steps=4, **more):
    """A run of four frames of so many milliseconds, a fourth of which is the update."""
    about = {"method": method, "kind": kind, "options": {"resolution": 1024}, "view": True, "part": part, "faces": 32_000, "bodies": 2,
             "vertices": 16_004, "steps": steps, "agrees": True, "passes_ms": {}}
    counts = {"depth": [8, 9, 8, 8], "rays": [20_000] * 4, "packed": [12_000] * 4, "met": [4_000] * 4, "tests": [9_000] * 4,
              "sent": [7_681] * 4, "estimate": [2.0] * 4} if kind != TREE else {}
    lists = {"update_ms": [ms / 4] * 4, "query_ms": [ms * 3 / 4] * 4, "pairs": [3_000] * 4, "exact": [3_000] * 4, "missed": [0, 3, 0, 3],
             "n_v": [100] * 4, "n_u": [7] * 4}
    return about | {name: column[:steps] for name, column in (lists | counts).items()} | more


@pytest.mark.formulas
def test_counts_and_times_stand_beside_the_papers():
    runs = [made(georgii2007_runs.AUTO, 2.0, kind=TREE), made(georgii2007_runs.REBUILD, 20.0, kind=TREE),
            made(georgii2007_runs.EXACT, 40.0, missed=[0] * 4),
            made(georgii2007_runs.SAMPLED, 80.0), made(georgii2007_runs.EXACT_THERE, 0.5, kind=CUDA),
            made(georgii2007_runs.SAMPLED_THERE, 1.0, kind=CUDA, steps=0, lacking="no GPU")]
    for run in runs[2:5]:
        run["passes_ms"] = {"sample": 10.0, "merge": 1.0, "separate": 2.0, "pack": 3.0, "test": 4.0}
    runs.append(made(georgii2007_runs.SMALLER, 80.0, options={"resolution": 297}))
    counts, times, passes = georgii2007_tables.counts(runs), *georgii2007_tables.tables_1(runs[:-1])
    assert counts.rows == [
        ["soft horses", "paper: defo horses", "32,000", "–", "21,000", "13,000", "4,300", "9,000", "3,700", "–"],
        ["soft horses", "image, conservative", "32,000", "9", "20,000", "12,000", "4,000", "9,000", "3,000", "0"],
        ["soft horses", "image, sampled", "32,000", "9", "20,000", "12,000", "4,000", "9,000", "3,000", "0.0500 %"],
        ["soft horses", "image, sampled, part of the picture, 297²", "32,000", "9", "20,000", "12,000", "4,000", "9,000", "3,000",
         "0.0500 %"]]
    assert [row[1] for row in times.rows] == ["33.0", "2.00 (10.0 ×)", "20.0 (1.00 ×)", "40.0 (0.500 ×)", "80.0 (0.250 ×)",
                                              "0.500 (40.0 ×)", "no device"]
    assert times.columns == ["engine", "soft horses, 32,000"] and "CUDA, sampled: no GPU." in times.note
    assert passes.rows[0] == ["soft horses, 32,000", "paper", "5.00 together", "", "", "4.00", "24.0", "33.0", "–"]
    assert passes.rows[1] == ["soft horses, 32,000", "image, conservative", "10.0", "1.00", "2.00", "3.00", "4.00", "20.0", "–"]
    assert [row[-1] for row in passes.rows] == ["–", "–", "–", "1.00 %"]


@pytest.mark.formulas
def test_the_paper_adds_up():
    assert {name: said.total for name, said in georgii2007_tables.TABLE_1.items()} == {
        "soft rabbits": 5, "soft horses": 33, "creatures": 24, "rigid rabbits": 95, "dragons": 224}


@pytest.mark.formulas
def test_the_cloth_has_its_slowest_frame():
    runs = [made(georgii2007_runs.AUTO, 1.0, "cloth", TREE, asked=2_000),
            made(georgii2007_runs.EXACT, 4.0, "cloth", asked=2_000, query_ms=[1.0, 2.0, 9.0, 4.0])]
    slowest, counts, *_ = georgii2007_tables.tables_cloth(runs)
    assert slowest.rows == [["paper, 7800 GTX", "2,000", "5.00", "12.0", "2,000", "300"],
                            ["tree, default", "32,000", "1.00", "1.00", "–", "3,000"],
                            ["image, conservative", "32,000", "5.00", "10.0", "9,000", "3,000"]]
    assert counts.rows[0][0] == "cloth, 2,000"


@pytest.mark.formulas
def test_misses_by_resolution_and_by_passes():
    runs = [made("x", value / 128, missed=[missed] * 4, sweep="resolution", value=value, rest="mark")
            for value, missed in ((128, 30), (1024, 0))]
    runs += [made("x", 1.0, missed=[missed] * 4, sweep="passes", value=1, rest=rest) for rest, missed in (("drop", 150), ("mark", 0))]
    sizes, dropped, marked = georgii2007_tables.tables_misses(runs)
    assert sizes.columns == ["scene", "128²", "1024²"]
    assert sizes.rows == [["soft horses", "1.00 % (0.0667 %)", "0 (0.0667 %)"], ["soft horses, ms", "1.00", "8.00"]]
    assert dropped.rows[0] == ["soft horses", "5.00 % (0.0667 %)"] and marked.rows[0] == ["soft horses", "0 (0.0667 %)"]
    assert "soft horses 9" in dropped.note and "not colliding" in dropped.note and "not" not in marked.note.split("The paper")[0]
    nothing = made("x", 1.0, exact=[0] * 4, missed=[0] * 4, sweep="resolution", value=128, rest="mark")
    assert georgii2007_tables.tables_misses([nothing])[0].rows[0] == ["soft horses", "– (–)"]
