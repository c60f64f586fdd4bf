"""`pliant bench paper-a`: its scenes, its clock, its fits, its tables, and the command."""

import json
import math
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from child import PATIENCE, start
from pliant.bench import fits, paper, paper_a, play, plots, scenes, tables, tables_a
from pliant.bench.papers import PAPERS
from pliant.cli import application
from pliant.core import jit

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper-a.md"
NAMES = ("fig-5.3", "table-5.1", "fig-5.4", "ablations")
LISTS = ("update_ms", "query_ms", "n_v", "n_p", "n_u", "pairs")


def run(*arguments):
    """Run the command in this process."""
    arguments = ["bench", "paper-a", *map(str, arguments)]
    return CliRunner().invoke(application(), arguments, env={"COLUMNS": "200", "TERM": "dumb"})


def text(result):
    """Everything it printed, without the frames and breaks of rich."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())


def read(folder):
    return json.loads((folder / "paper-a.json").read_text(encoding="utf-8"))


# --- scenes ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("faces", [8, 16, 20, 64, 80, 128, 320, 1024])
def test_spheres_are_closed_and_look_outward(faces):
    vertices, triangles = scenes.sphere(faces)
    assert triangles.shape == (faces, 3) and triangles.dtype == np.int32 and len(vertices) == faces // 2 + 2
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1)
    sides = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    assert {(b, a) for a, b in sides.tolist()} == {(a, b) for a, b in sides.tolist()} and len(np.unique(sides, axis=0)) == 3 * faces
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a) > 0).all()


@pytest.mark.formulas
def test_all_sizes_of_the_paper_are_exact():
    assert set(tables_a.TABLE_51) < set(paper_a.SIZES)
    for faces in paper_a.SIZES:
        fourths, halves = math.log2(faces / 20) / 2, math.log2(faces / 8)
        assert fourths == int(fourths) or halves == int(halves)


@pytest.mark.formulas
@pytest.mark.parametrize("faces", [0.5, 7, 40, 1000])
def test_other_sizes_are_refused(faces):
    with pytest.raises(ValueError, match="faces must be"):
        scenes.sphere(faces)


@pytest.mark.formulas
def test_placed_vertices_are_those_of_placed_bodies():
    scene = scenes.push(20, 5)
    frame = scene.frame(3)
    for vertices, pose, world in zip(frame.model, frame.poses, frame.world(), strict=True):
        body = pliant.Body(vertices, scene.faces)
        body.update(vertices, transform=pose)
        np.testing.assert_array_equal(body.vertices, world)


def test_two_bodies_meet_after_a_third_of_the_way_and_then_more_and_more():
    scene = scenes.push(1_280, 41)
    bodies = [pliant.Body(vertices, scene.faces) for vertices in scene.frame(0).world()]
    found = []
    for frame in scene.play():
        for body, vertices in zip(bodies, frame.world(), strict=True):
            body.update(vertices)
        found.append(len(pliant.collide(*bodies)))
    assert 10 <= found.index(next(filter(None, found))) <= 14
    assert found[-1] == max(found) > 250
    boxes = [body.box() for body in bodies]
    assert (boxes[0][0] < boxes[1][1]).all() and (boxes[1][0] < boxes[0][1]).all()


def test_bumps_are_as_fine_as_the_mesh_or_stay():
    assert scenes.push(320, 3).pitch < scenes.push(1_280, 3).pitch < scenes.push(20_480, 3).pitch == scenes.PITCH
    assert scenes.push(320, 3, fine=False).pitch == scenes.push(1_280, 3, fine=False).pitch == scenes.PITCH


@pytest.mark.parametrize("kind", ["bumpy", "arms"])
def test_a_crowd_starts_apart_and_meets_in_a_box(kind):
    scene = scenes.crowd(8, 320, 12, kind)
    frames, again = list(scene.play()), list(scene.play())
    assert len(frames) == 12 and all(np.array_equal(a.poses, b.poses) for a, b in zip(frames, again, strict=True))
    met = []
    for frame in (frames[0], frames[-1], scene.deep()):
        bodies = pliant.Scene(pliant.Body(vertices, scene.faces) for vertices in frame.world())
        met.append(len(np.unique(bodies.collide().bodies, axis=0)))
    assert met[0] == 0 and met[1] > 0 and met[2] > 10
    assert np.abs(frames[-1].poses[:, :3, 3]).max() < scene.half + 3


@pytest.mark.formulas
def test_the_response_parts_bodies_and_walls_reflect():
    centres, velocities = np.array([[0, 0, 0], [1, 0, 0], [0, 9, 0.0]]), np.array([[0.04, 0, 0], [-0.04, 0, 0], [0, 0.04, 0]])
    scenes.respond(np.array([[0, 1]]), centres, velocities, 5.0)
    assert velocities[0, 0] < 0 < velocities[1, 0] and velocities[2, 1] < 0


# --- the clock -------------------------------------------------------------------------------------------------------------------

def session(repeats=2, clock="cpu", ticks=None):
    return play.Session(repeats, clock, lambda title, steps: None, (ticks if ticks is not None else []).append)


def test_methods_take_turns_and_find_the_same_pairs(monkeypatch):
    monkeypatch.setattr(play, "TURN", 4)
    ticks = []
    methods = [paper_a.method(name, tree) for tree in paper.TREES for name in (paper_a.HYBRID, paper_a.MODEL_2)]
    runs = session(ticks=ticks).play("title", scenes.push(320, 10), methods, part="x")
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
        pairs = pliant.query.collide.collide(a, b, **options)
        if a.options.policy.name == "bottom_up" and len(pairs) > 1:
            return pliant.Pairs(pairs.faces[::-1].copy(), pairs.stats)
        return pairs

    import pliant.query.collide

    monkeypatch.setattr(pliant, "collide", collide, raising=False)
    runs = session().play("title", scenes.push(320, 6), paper_a.methods(paper_a.HYBRID, paper_a.BOTTOM_UP), part="x")
    assert [each["agrees"] for each in runs] == [True, False, True, False]


def test_an_interrupted_session_keeps_the_steps_that_all_have_done(monkeypatch):
    monkeypatch.setattr(play, "TURN", 4)
    count = []

    def tick(steps):
        count.append(steps)
        if len(count) == 4:
            raise KeyboardInterrupt

    stopped = play.Session(1, "wall", lambda title, steps: None, tick)
    methods = [paper_a.method(name, paper.PLIANT) for name in (paper_a.HYBRID, paper_a.AUTO, paper_a.BOTTOM_UP)]
    runs = stopped.play("title", scenes.push(320, 10), methods, part="x")
    assert stopped.stopped and [each["steps"] for each in runs] == [4, 4, 4]
    assert stopped.play("title", scenes.push(320, 10), methods, part="x") == []


def test_least_times_count_and_counters_of_the_first():
    player = play.Player(paper_a.method(paper_a.HYBRID, paper.PLIANT), scene := scenes.push(320, 3), False,
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


@pytest.mark.formulas
def test_ablations_vary_one_thing_each():
    for part in paper_a.ABLATIONS:
        for tree in paper.TREES:
            methods = paper_a.variants(part, tree, lambda options: 5)
            assert len({method.name for method in methods}) == len(methods) > 2
            base = paper_a.method(paper_a.HYBRID, tree).options
            changed = {key for method in methods for key, value in method.options.items() if value != base[key]}
            assert len(changed) == 1
    assert [method.name for method in paper_a.variants("depth", paper.PAPER, lambda options: 3)] == ["0", "1", "2", "3"]


# --- fits ------------------------------------------------------------------------------------------------------------------------

def made(name, c_u, c_v=1.5, c_p=20.0, noise=0.0, **more):
    """A run whose times follow the cost function, in ns."""
    rng, steps = np.random.default_rng(len(name)), 40
    n_v, n_p, n_u = rng.integers(1_000, 90_000, steps), rng.integers(0, 5_000, steps), rng.integers(100, 9_000, steps)
    query = 1e-6 * (n_v * c_v + n_p * c_p + n_u * c_u) * (1 + noise * rng.normal(size=steps)) + 0.02
    counts = {"n_v": n_v.tolist(), "n_p": n_p.tolist(), "n_u": n_u.tolist()}
    times = {"query_ms": query.tolist(), "update_ms": [0.1] * steps, "fixed_ms": {"update": 0.01, "query": 0.02}, "place_ms": 0.05}
    about = {"method": name, "tree": "paper", "part": "all", "faces": 320, "bodies": 2, "steps": steps, "placed": False, "agrees": True}
    return about | counts | times | {"pairs": [0] * 10 + [7] * 30, "levels": 4} | more


@pytest.mark.formulas
def test_the_cost_function_is_found():
    fit = fits.cost([made("hybrid", 30.0), made("top-down", 60.0), made("bottom-up", 4.0)])
    assert fit.c_v == pytest.approx(1.5) and fit.c_p == pytest.approx(20) and fit.r2 == pytest.approx(1)
    assert fit.c_u == pytest.approx({"hybrid": 30, "top-down": 60, "bottom-up": 4})
    noisy = fits.cost([made("hybrid", 30.0, noise=0.05), made("top-down", 60.0, noise=0.05)])
    assert noisy.c_v == pytest.approx(1.5, rel=0.2) and 0.8 < noisy.r2 < 1
    assert fits.cost([made("hybrid", 0.0, c_v=0.0)]).c_u["hybrid"] >= 0


@pytest.mark.formulas
def test_exponents():
    x = np.array([10, 100, 1000.0])
    assert fits.exponent(x, 3 * x**1.5) == pytest.approx(1.5)
    assert math.isnan(fits.exponent([5], [3])) and math.isnan(fits.exponent([5, 5], [3, 4]))


# --- tables ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize(("value", "shown"), [
    (0, "0"), (0.01234, "0.0123"), (1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (65_536, "65,536"), (math.nan, "–"), (None, "–"),
    (-0.5, "-0.500"),
])
def test_figures_have_three_digits(value, shown):
    assert tables.figure(value) == shown


@pytest.mark.formulas
def test_tables_are_markdown():
    table = tables.Table("Title", ["what", "n"], [["a", "1"], ["b", "2"]], 1, "A note.")
    assert tables.markdown(table) == "**Title**\n\n| what | n |\n| --- | --: |\n| a | 1 |\n| b | 2 |\n\nA note.\n"
    assert [column.justify for column in tables.rich(table).columns] == ["left", "right"]


@pytest.mark.formulas
def test_ratios_and_phases():
    runs = [made("hybrid", 10.0, query_ms=[1.0] * 40), made(paper_a.MODEL_2, 10.0, query_ms=[2.0] * 10 + [6.0] * 30, placed=True)]
    methods, ratios, costs = tables_a.tables_53(runs)
    assert methods.rows[1][2:6] == ["2.10", "6.10", "5.10", "4.64 ×"] and methods.rows[0][5] == "1.00 ×"
    assert "10 before the first contact, 30 from it on" in methods.note
    assert ratios.rows[0] == [f"all pairs: {paper_a.MODEL_2} ÷ hybrid", "about 5", "4.64 ×", "–"]
    assert float(ratios.rows[1][2][:-2]) == pytest.approx((5.1 - 0.04) / (1.1 - 0.04), abs=0.01)
    assert float(ratios.rows[2][2][:-2]) == pytest.approx((5.1 - 0.04) / (1.1 - 0.04 + 0.05), abs=0.01)
    assert [row[0] for row in costs.rows] == ["paper", "paper"]


@pytest.mark.formulas
def test_sizes_beside_those_of_the_paper():
    runs = [made("hybrid", 1.0, part=part, faces=n, query_ms=[n / 1e4] * 39 + [n / 1e3], update_ms=[0.0] * 40, pairs=[0] * 20 + [n] * 20)
            for n in (1_280, 5_120, 81_920) for part in (paper_a.FINE, paper_a.SAME)]
    fine, same = tables_a.tables_51(runs)
    assert fine.rows[0] == ["1,280", "2.00", "4.00", "138", "0.128", "1.28", "1,280", "–", "–"]
    assert fine.rows[2][1:4] == ["–"] * 3
    assert fine.rows[3][4:7] == ["1.00"] * 3 and fine.rows[3][1] == tables.figure(math.log(3, 4))
    assert same.rows[0] == ["1,280", "0.128", "1.28", "1,280", "–", "–"]


@pytest.mark.formulas
def test_the_page_takes_figures_between_its_markers():
    data = {"experiments": {"fig-5.3": {"runs": [made("hybrid", 10.0)]}}, "machine": {"Python": "3"}, "repeats": 3, "clock": "cpu"}
    page = PAGE.read_text(encoding="utf-8")
    for name in ("machine", *NAMES):
        assert page.count(f"<!-- figures {name} -->\n") == 1
    assert page.count("<!-- end of figures -->") == len(NAMES) + 1
    once = PAPERS["paper-a"].pasted(page, data)
    assert PAPERS["paper-a"].section(data, "fig-5.3") in once and "least of 3" in once and PAPERS["paper-a"].pasted(once, data) == once
    outside = re.compile(r"<!-- figures \S+ -->.*?<!-- end of figures -->", re.DOTALL)
    assert outside.sub("", once) == outside.sub("", page)


# --- the command -----------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The command once, in a folder that is made for it: (result, folder)."""
    folder = tmp_path_factory.mktemp("bench") / "new" / "folder"
    return run("--quick", "--out", folder), folder


@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
class TestQuick:
    def test_writes_everything(self, quick):
        result, folder = quick
        assert result.exit_code == 0, result.output
        pictures = [] if plots.missing() else [f"{name}.png" for name in NAMES]
        assert sorted(os.listdir(folder)) == sorted(["paper-a.json", "report.md", *pictures])
        assert "found the same pairs in every step" in text(result)
        assert pliant.threads() >= 1

    def test_figures_are_complete(self, quick):
        data = read(quick[1])
        assert data["format"] == "pliant bench paper-a 1" and data["complete"] and data["quick"] and data["clock"] == "cpu"
        assert list(data["experiments"]) == list(NAMES) and data["machine"]["numpy"] == np.__version__
        plan = paper_a.QUICK
        for name, experiment in data["experiments"].items():
            assert experiment["title"] == paper_a.EXPERIMENTS[name].title
            for each in experiment["runs"]:
                assert each["steps"] == plan.frames and each["agrees"] and each["bodies"] == (8 if name == "fig-5.4" else 2)
                assert all(len(each[column]) == plan.frames for column in LISTS)
                assert set(each["fixed_ms"]) == {"update", "query", "body", "pair"} and each["place_ms"] > 0
        counts = {name: len(experiment["runs"]) for name, experiment in data["experiments"].items()}
        assert counts["fig-5.3"] == 24 and counts["table-5.1"] == 2 * 2 * len(plan.sizes) and counts["fig-5.4"] == 20
        parts = {each["part"] for each in data["experiments"]["ablations"]["runs"]}
        assert parts == set(paper_a.ABLATIONS)
        assert max(max(each["pairs"]) for each in data["experiments"]["fig-5.4"]["runs"]) > 0

    def test_the_report_has_all_tables_and_they_are_on_screen(self, quick):
        result, folder = quick
        report = (folder / "report.md").read_text(encoding="utf-8")
        data = read(folder)
        shown = text(result)
        for name in NAMES:
            assert f"## {paper_a.EXPERIMENTS[name].title}" in report and PAPERS["paper-a"].section(data, name) in report
            for table in PAPERS["paper-a"].tables_of(data, name):
                assert table.title in shown
        assert "no figure means anything" in report
        assert all((folder / file).is_file() for file in re.findall(r"!\[.*?\]\((.*?)\)", report))


@pytest.mark.slow
def test_some_experiments_in_either_form(tmp_path):
    result = run("--quick", "--frames", 3, "--repeats", 1, "--clock", "wall", "--out", tmp_path, "--experiment", "table-5.1", "fig-5.3")
    assert result.exit_code == 0, result.output
    data = read(tmp_path)
    assert list(data["experiments"]) == ["fig-5.3", "table-5.1"] and data["frames"] == 3 and data["clock"] == "wall"
    assert all(each["steps"] == 3 for experiment in data["experiments"].values() for each in experiment["runs"])


def test_without_matplotlib_there_are_no_plots(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("--quick", "--frames", 2, "--out", tmp_path, "--experiment", "table-5.1")
    assert result.exit_code == 0, result.output
    assert "No plots: plots need Matplotlib: pip install 'pliant[bench]'" in text(result)
    assert sorted(os.listdir(tmp_path)) == ["paper-a.json", "report.md"]


def test_different_pairs_are_a_failure(tmp_path, monkeypatch):
    def runs(plan, session):
        yield made("hybrid", 1.0)
        yield made(paper_a.MODEL_2, 1.0, agrees=False)

    monkeypatch.setitem(paper_a.EXPERIMENTS, "fig-5.3", paper.Experiment("title", runs))
    result = run("--quick", "--out", tmp_path, "fig-5.3")
    assert result.exit_code == 1 and "Methods found different pairs." in text(result)
    assert "**found different pairs.**" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.formulas
@pytest.mark.parametrize(("arguments", "says"), [
    (("--experiment", "fig-9"), "fig-5.3"), (("fig-9",), "fig-9"), (("--frames", 1), "--frames"), (("--repeats", 0), "--repeats"),
    (("--clock", "sun"), "--clock"), (("--slow",), "--slow"),
])
def test_other_options_are_refused(tmp_path, arguments, says):
    result = run("--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2 and says in text(result)
    assert not (tmp_path / "out").exists()


@pytest.mark.formulas
def test_the_folder_must_not_be_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    result = run("--quick", "--out", tmp_path / "file")
    assert result.exit_code == 2 and "cannot be made a folder" in text(result)


@pytest.mark.formulas
def test_help_says_what_there_is():
    result = run("--help")
    assert result.exit_code == 0 and all(word in text(result) for word in ("--experiment", "--quick", "--frames", "--out", *NAMES))
    assert " bench " in text(CliRunner().invoke(application(), ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}))


def test_an_interrupted_bench_writes_what_it_has(tmp_path, monkeypatch):
    import pliant.query.collide

    done = []

    def collide(*bodies, **options):
        done.append(bodies)
        if len(done) == 1_100:
            raise KeyboardInterrupt
        return pliant.query.collide.collide(*bodies, **options)

    monkeypatch.setattr(pliant, "collide", collide, raising=False)
    result = run("--quick", "--frames", 40, "--out", tmp_path, "fig-5.3", "table-5.1")
    assert result.exit_code == 130 and "Stopped" in text(result)
    data = read(tmp_path)
    steps = {each["part"]: each["steps"] for each in data["experiments"]["fig-5.3"]["runs"]}
    assert not data["complete"] and list(data["experiments"]) == ["fig-5.3"] and steps == {"all": 40, "first": 20}
    assert "Stopped before the end" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_an_interrupt_before_the_first_step_is_no_error(tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.bench.paper_a.push", stop)
    result = run("--quick", "--out", tmp_path, "fig-5.3")
    assert result.exit_code == 130 and read(tmp_path)["experiments"]["fig-5.3"]["runs"] == []


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.skipif(jit.DISABLED, reason="takes too long without kernels")
def test_ctrl_c_ends_the_bench(tmp_path):
    code = """
        import sys
        from pliant.bench import play
        tick = play.Track.add
        def add(self, k, *rest):
            if k == 30:
                print("under way", flush=True)
            tick(self, k, *rest)
        play.Track.add = add
        sys.argv = ["pliant", "bench", "paper-a", "--quick", "--frames", "100000", "--out", sys.argv[1], "fig-5.3"]
        from pliant.cli import main
        main()
    """
    process = start(code, tmp_path / "out")
    try:
        while "under way" not in (line := process.stdout.readline()):
            assert line or process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert "Stopped" in output and "Traceback" not in errors
        assert all(each["steps"] >= 20 for each in read(tmp_path / "out")["experiments"]["fig-5.3"]["runs"])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.formulas
def test_the_page_is_written_from_a_file(tmp_path):
    from benchmarks.papers import paste

    data = {"experiments": {"fig-5.3": {"runs": [made("hybrid", 10.0)]}}, "machine": {}, "repeats": 1, "clock": "wall"}
    (tmp_path / "figures.json").write_text(json.dumps(data), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures fig-5.3 -->\nold\n<!-- end of figures -->\nafter\n", encoding="utf-8")
    paste("paper-a", tmp_path / "figures.json", page)
    written = page.read_text(encoding="utf-8")
    assert written.startswith("before\n<!-- figures fig-5.3 -->\n") and "Fig 5.3, all pairs" in written and "old" not in written
    assert written.endswith("<!-- end of figures -->\nafter\n")
