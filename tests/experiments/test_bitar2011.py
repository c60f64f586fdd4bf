"""Paper D: its methods, the order in which they play, tables and plots. Scenes are tested on their own, and what all papers share in
`test_experiments.py`."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick_runs import session

import pliant
from experiments import clock as play
from experiments import paper
from experiments.bitar2011 import clock as apart
from experiments.bitar2011 import plots as bitar2011_plots
from experiments.bitar2011 import runs as bitar2011_runs
from experiments.bitar2011 import scenes as bitar2011_scenes
from experiments.bitar2011 import tables as bitar2011_tables
from pliant.results import Stats

# --- methods ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_table_2_has_eight_criteria_with_both_sets_of_parameters():
    every = bitar2011_runs.methods()
    assert len({(each.name, each.tree) for each in every}) == len(every) and every[0].name == bitar2011_runs.ALL
    criteria = {"A", "B", "A&B", "A|B", "B&C", "A&B&C", "A|(B&C)", "(A&B)|(B&C)"}
    assert set(bitar2011_runs.TABLE_2) == criteria | {bitar2011_runs.ALL, bitar2011_runs.NONE}
    for each in every:
        if each.name in criteria:
            assert each.options["policy"]["criterion"] == each.name
            own = ({"p_max"} if "A" in each.name else set()) | ({"k", "gamma"} if "C" in each.name else set())
            assert set(each.options["policy"]) - {"name", "criterion"} == (own if each.tree == paper.PAPER else set())
            assert each.tree in ((paper.PAPER, bitar2011_runs.OWN) if own else (bitar2011_runs.PLAIN,))
        if each.name != bitar2011_runs.DEFAULTS:
            assert {name: each.options[name] for name in bitar2011_runs.TREE} == {
                "volume": "rss", "build": "matching", "arity": 2, "leaf": 1}
    assert sum(each.name in criteria for each in every) == 2 * 8 - 1, "B has no parameters"


@pytest.mark.formulas
def test_parameters_of_the_paper_are_in_the_ranges_of_its_search():
    for said in bitar2011_runs.TABLE_2.values():
        assert all(0 <= value <= (10 if name == "p_max" else 1) for name, value in said.parameters.items())
    assert min(bitar2011_runs.TABLE_2, key=lambda name: bitar2011_runs.TABLE_2[name].seconds or np.inf) == bitar2011_runs.BEST


# --- the order of play -----------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@given(st.integers(1, 300), st.integers(1, 5))
def test_turns_are_all_frames_once_and_begin_elsewhere_in_every_round(frames, repeats):
    begins = []
    for number in range(repeats):
        pieces = list(apart.turns(frames, number, repeats))
        assert [k for piece in pieces for k in piece] == list(range(frames))
        assert all(0 < len(piece) <= play.TURN for piece in pieces)
        begins += [piece.start for piece in pieces[1:]]
    assert len(set(begins)) == len(begins)


class Recorded:
    """Stands in for the queries: the least distance of vertices; and writes down which vertices were asked for, of which bodies."""

    def __init__(self, monkeypatch, wrong=0, stop=None):
        self.asked, self.wrong, self.stop = [], wrong, stop
        monkeypatch.setattr(pliant, "distance", self.distance, raising=False)
        monkeypatch.setattr(pliant, "self_distance", lambda body: self.distance(body, body), raising=False)

    def distance(self, a, b):
        self.asked.append((a, a.vertices))
        if len(self.asked) == self.stop:
            raise KeyboardInterrupt
        least = np.linalg.norm(a.vertices[:, None] - b.vertices, axis=2).min() if len(a) > 2 else 1.0
        return SimpleNamespace(distance=least + (len(self.asked) == self.wrong), faces=np.zeros(2, np.int32), stats=Stats(5, 4, 3, 2))


SIMPLE = [play.Method(name, "–", {"policy": name}) for name in ("bottom_up", "lazy", "auto")]
CALLS = 60 + 3 * len(SIMPLE)  # what is asked to find what calls cost, and to compile


@pytest.mark.formulas
def test_methods_play_all_frames_in_order_with_fresh_bodies_in_every_round(monkeypatch):
    recorded, pair = Recorded(monkeypatch), bitar2011_scenes.refined(bitar2011_scenes.scene("helmet + folding sheet", 23), 60)
    runs = apart.play(session(2), "title", pair, SIMPLE, part="part")
    assert [each["method"] for each in runs] == ["bottom_up", "lazy", "auto"]
    frames = {}
    for body, rows in recorded.asked[CALLS:]:
        frames.setdefault(id(body), []).append(rows)
    assert len(frames) == 2 * len(SIMPLE)
    for played in frames.values():
        assert len(played) == 24, "frame 0, outside the clock, and 23"
        for k, rows in enumerate(played):
            assert np.array_equal(rows, pair.frame(k)[0])
    for each in runs:
        assert each["agrees"] and each["steps"] == 23 and each["part"] == "part" and each["both"] == [60, 50] and each["bodies"] == 2
        assert each["n_v"] == [5] * 23 and each["n_p"] == [4] * 23 and each["n_u"] == [3] * 23
        assert len(each["distance"]) == len(each["update_ms"]) == len(each["query_ms"]) == 23 and len(set(each["distance"])) == 23
        assert json.loads(json.dumps(each)) == each


@pytest.mark.formulas
def test_a_body_is_asked_for_the_distance_to_itself(monkeypatch):
    Recorded(monkeypatch)
    runs = apart.play(session(), "title", bitar2011_scenes.alone(bitar2011_scenes.HELMET, 2), SIMPLE[:1])
    assert runs[0]["both"] == [710] and runs[0]["distance"] == [0.0, 0.0] and set(runs[0]["fixed_ms"]) == {"update", "query"}


@pytest.mark.formulas
def test_the_least_time_of_a_frame_counts_and_the_first_counters():
    track = apart.Track(SIMPLE[0])
    for update, query, n_v in ((3.0, 1.0, 7), (1.0, 2.0, 9)):
        track.add(0, update, query, SimpleNamespace(distance=0.5, faces=(1, 2), stats=Stats(n_v)))
    assert track.update == [1.0] and track.query == [1.0] and track.counts == [(7, 0, 0)] and track.answers == [(0.5, 1, 2)]


@pytest.mark.formulas
def test_another_distance_is_told(monkeypatch):
    Recorded(monkeypatch, wrong=CALLS + len(SIMPLE) + 3)
    runs = apart.play(session(), "title", bitar2011_scenes.scene("cable + plate", 2), SIMPLE)
    assert [each["agrees"] for each in runs] == [True, False, True]


@pytest.mark.formulas
def test_an_interrupt_leaves_what_all_methods_have_done(monkeypatch):
    """The third method is stopped in the second turn: all have played the first."""
    Recorded(monkeypatch, stop=CALLS + 3 + 3 * 20 + 2 * 5 + 2)
    halted, pair = session(), bitar2011_scenes.refined(bitar2011_scenes.scene("cable + plate", 25), 60)
    runs = apart.play(halted, "title", pair, SIMPLE)
    assert halted.stopped and [each["steps"] for each in runs] == [21] * 3 and all(each["agrees"] for each in runs)
    assert apart.play(halted, "title", pair, SIMPLE) == []


@pytest.mark.formulas
def test_an_interrupt_before_the_first_frame_leaves_nothing(monkeypatch):
    Recorded(monkeypatch, stop=CALLS + 2)
    assert apart.play(session(), "title", bitar2011_scenes.scene("cable + plate", 2), SIMPLE) == []


# --- tables ----------------------------------------------------------------------------------------------------------------------

def made(method, ms, n_u, part="cable + plate", **more):
    """A run of four frames of so many milliseconds, half of which are the update."""
    about = {"method": method.name, "tree": method.tree, "options": method.options, "part": part, "bodies": 2, "both": [180, 162],
             "steps": 4, "agrees": True}
    times = {"query_ms": [ms / 2] * 4, "update_ms": [ms / 2] * 4, "fixed_ms": {"update": 0.1, "query": 0.3}}
    return about | times | {"n_v": [100] * 4, "n_p": [7] * 4, "n_u": [n_u] * 4, "distance": [0.5, 0.25, 0.5, 0.75]} | more


@pytest.mark.formulas
def test_ratios_stand_beside_the_papers():
    every = [bitar2011_runs.criterion(bitar2011_runs.ALL), bitar2011_runs.criterion("A&B", paper.PAPER), bitar2011_runs.criterion("A&B"),
             bitar2011_runs.policy(bitar2011_runs.ACTIVE), bitar2011_runs.criterion("A|B", paper.PAPER)]
    runs = [made(method, ms, n_u, part) for part in ("cable + plate", "helmet + plate")
            for method, ms, n_u in zip(every, (2.0, 1.0, 0.5, 4.0, 1.0), (300, 50, 20, 100, 9), strict=True)]
    table, scenes = bitar2011_tables.tables_2(runs)
    assert table.rows[0] == ["refit all", "–", "2.84", "1.00 ×", "16.0", "1.00 ×", "1.00 ×", "800", "56.0", "2,400"]
    assert table.rows[1] == ["A ∧ B", "paper", "0.388", "0.137 ×", "8.00", "0.500 ×", "0.333 ×", "800", "56.0", "400"]
    assert table.rows[2][:6] == ["A ∧ B", "default", "–", "–", "4.00", "0.250 ×"], "the paper did not have these parameters"
    assert table.rows[3][:6] == ["active nodes", "–", "–", "–", "32.0", "2.00 ×"] and table.rows[4][:4] == ["A ∨ B", "paper", "–", "–"]
    assert "cable + plate 4, helmet + plate 4" in table.note and "0.500 ms of each frame" in table.note
    assert scenes.columns[2:] == ["cable + plate", "helmet + plate"] and scenes.rows[1][2:] == ["4.00", "4.00"]
    assert "cable + plate 0.500, 0.250" in scenes.note
    assert bitar2011_tables.tables_2(runs[1:2])[0].rows[0][5:7] == ["–", "–"], "stopped before refit all"


@pytest.mark.formulas
def test_other_trees_are_compared_with_the_papers_and_with_themselves():
    runs = [made(method, ms, 10) for ms, tree in ((2.0, "rss"), (1.0, "sphere")) for method in bitar2011_runs.some(volume=tree)[:3:2]]
    runs[3] |= {"query_ms": [0.25] * 4, "update_ms": [0.0] * 4}
    table, = bitar2011_tables.tables_families(runs)
    assert [row[:6] for row in table.rows[2:]] == [["sphere", "refit all", "–", "4.00", "0.500 ×", "1.00 ×"],
                                                  ["sphere", "(A ∧ B) ∨ (B ∧ C)", "default", "1.00", "0.125 ×", "0.250 ×"]]
    runs = [made(method, 1.0, 10) for degree in bitar2011_runs.Plan().arities for method in bitar2011_runs.some(arity=degree)]
    table, = bitar2011_tables.tables_arity([*runs, made(bitar2011_runs.defaults(), 0.5, 10)])
    assert [row[0] for row in table.rows] == ["2"] * 6 + ["4"] * 6 + ["8"] * 6 + ["Pliant's"] and table.rows[-1][5] == "–"


@pytest.mark.formulas
def test_growth_with_triangles():
    runs = [made(method, ms * faces / 100, 3 * faces, asked=faces, both=[faces, faces]) for faces in (100, 1_000, 10_000)
            for method, ms in ((bitar2011_runs.criterion(bitar2011_runs.ALL), 2.0), (bitar2011_runs.defaults(), 0.5))]
    table, = bitar2011_tables.tables_sizes(runs)
    assert table.rows[1] == ["defaults", "–", "0.500", "5.00", "50.0", "0.250 ×", "0.250 ×", "0.250 ×", "1.00", "0", "1.00"]
    assert "first 4 frames" in table.note and "1,000 and 1,000" in table.note
    alone, = bitar2011_tables.tables_sizes(runs[:1])
    assert alone.rows[0][-1] == "–"


@pytest.mark.formulas
def test_a_body_against_itself_has_means_of_frames():
    runs = [made(method, ms, 10, part="helmet", bodies=1, both=[710]) for method,
            ms in ((bitar2011_runs.criterion(bitar2011_runs.ALL), 2.0),
                                                                                         (bitar2011_runs.policy(bitar2011_runs.AUTO), 1.0))]
    table, = bitar2011_tables.tables_self(runs)
    assert table.rows[1] == ["helmet", "auto", "–", "1.00", "0.500 ×", "0.375 ×", "100", "7.00", "10.0"]
    assert "helmet: 4 frames, least 0.250" in table.note


# --- plots ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_every_method_that_is_drawn_as_a_line_has_a_style():
    assert set(bitar2011_plots.STYLES) == {each.name for each in [*bitar2011_runs.some(), bitar2011_runs.defaults()]}
