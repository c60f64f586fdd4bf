"""`python -m experiments`, for every paper there is: its options, a quick run of all experiments, its report and its page. Papers come
from the registry: one that registers is tested. What a quick run says of a paper's own stands at the end; the rest is in its own file."""

import inspect
import os
import re
import sys
from typing import NamedTuple

import numpy as np
import pytest
from quick_runs import DOCS, keep_no_baselines, read, run, text

import pliant
from experiments import clock as play
from experiments import plots
from experiments.__main__ import COMMANDS
from experiments.bitar2011 import runs as bitar2011_runs
from experiments.georgii2007 import clock as imaging
from experiments.larsson2001 import runs as larsson2001_runs
from experiments.larsson2003a import runs as larsson2003a_runs
from experiments.larsson2003b import runs as larsson2003b_runs
from experiments.larsson2008 import runs as larsson2008_runs
from experiments.page import paste
from experiments.paper import Experiment, Paper
from experiments.registry import PAPERS
from experiments.steinemann2008 import hashing
from experiments.steinemann2008 import other_bounds as bounds_m
from pliant.core import jit

EXPERIMENTS = [(name, each) for name, paper in PAPERS.items() for each in paper.experiments]
FRAMES = {"larsson2001": 9, "larsson2003a": 4, "larsson2008": 3}  # of a quick run; of other papers two
OUTSIDE = re.compile(r"<!-- figures \S+ -->.*?<!-- end of figures -->", re.DOTALL)


@pytest.fixture(params=PAPERS)
def name(request):
    """The name of every paper."""
    return request.param


# --- options ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize(("arguments", "says"), [
    (("fig-9",), "fig-9"), (("--frames", 1), "--frames"), (("--repeats", 0), "--repeats"), (("--clock", "sun"), "--clock"),
    (("--slow",), "--slow"),
])
def test_other_options_are_refused(name, tmp_path, arguments, says):
    result = run(name, "--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2 and says in text(result) and not (tmp_path / "out").exists()


@pytest.mark.formulas
@pytest.mark.parametrize("before", [(), ("--experiment",)], ids=["argument", "option"])
def test_experiments_of_other_papers_are_refused(name, tmp_path, before):
    """And those that there are are named."""
    known = PAPERS[name].experiments
    strange = next(each for _, each in EXPERIMENTS if each not in known)
    result = run(name, "--out", tmp_path / "out", *before, strange)
    assert result.exit_code == 2 and all(word in text(result) for word in (strange, *known)) and not (tmp_path / "out").exists()


@pytest.mark.formulas
def test_the_folder_must_not_be_a_file(name, tmp_path):
    (tmp_path / "file").write_text("x")
    result = run(name, "--quick", "--out", tmp_path / "file")
    assert result.exit_code == 2 and "cannot be made a folder" in text(result)


@pytest.mark.formulas
def test_help_says_what_there_is(name):
    result, words = run(name, "--help"), ("--experiment", "--quick", "--frames", "--out", *PAPERS[name].experiments)
    assert result.exit_code == 0 and all(word in text(result) for word in words)
    assert name in text(run("--help"))


@pytest.mark.formulas
def test_commands_know_all_papers_and_their_experiments():
    """In their order: the command line says them before it imports any."""
    assert {name: about.experiments for name, about in COMMANDS.items()} == {name: (*each.experiments,) for name, each in PAPERS.items()}


@pytest.mark.formulas
@pytest.mark.parametrize(("name", "experiment"), EXPERIMENTS)
def test_an_interrupt_before_the_first_step_is_no_error(name, experiment, tmp_path, monkeypatch):
    """Whatever an experiment calls first, of what is no part of its own file, as the making of a scene, is interrupted."""
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    module = sys.modules[type(PAPERS[name].plan).__module__]
    for called, value in list(vars(module).items()):
        if callable(value) and not inspect.isclass(value) and value.__module__ != module.__name__:
            monkeypatch.setattr(module, called, stop)
    result = run(name, "--quick", "--out", tmp_path, experiment)
    data = read(tmp_path, name)
    assert result.exit_code == 130 and list(data["experiments"]) == [experiment]
    assert data["experiments"][experiment]["runs"] == [] and not data["complete"]


# --- pages -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_the_page_has_markers_for_every_experiment(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    markers = re.findall(r"<!-- figures (\S+) -->\n", page)
    assert sorted(markers) == sorted(("machine", *PAPERS[name].experiments)) and page.count("<!-- end of figures -->") == len(markers)


# --- a quick run -----------------------------------------------------------------------------------------------------------------

class Quick(NamedTuple):
    """A quick run of all experiments of a paper: what the command said, the folder that it made and the figures in it."""

    paper: Paper
    result: object
    folder: object
    data: dict


def without_a_device(monkeypatch):
    monkeypatch.setattr(imaging, "lacking", lambda: "left alone")


def with_baselines(monkeypatch):
    keep_no_baselines(monkeypatch)
    bounds_m.register()
    hashing.register()


PREPARE = {"georgii2007": without_a_device, "steinemann2008": with_baselines}


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    """The quick run of a paper by its name; it is made once."""
    made = {}

    def of(name):
        if jit.DISABLED:
            pytest.skip("takes too long without kernels")
        if name not in made:
            folder, before = tmp_path_factory.mktemp("bench") / "new" / "folder", pliant.threads()
            with pytest.MonkeyPatch.context() as patches:
                PREPARE.get(name, lambda patches: None)(patches)
                result = run(name, "--quick", "--frames", FRAMES.get(name, 2), "--out", folder)
            assert result.exit_code == 0, result.output
            assert pliant.threads() == before
            made[name] = Quick(PAPERS[name], result, folder, read(folder, name))
        return made[name]

    return of


@pytest.fixture
def quick(name, quick_run):
    """The quick run of every paper."""
    return quick_run(name)


@pytest.mark.slow
def test_a_quick_run_writes_everything(quick, name):
    pictures = [] if plots.missing() else [f"{each}.png" for each in quick.paper.experiments]
    assert sorted(os.listdir(quick.folder)) == sorted([f"{name}.json", "report.md", *pictures])
    assert f"found the same {quick.paper.found} in every step" in text(quick.result)


def test_its_figures_are_complete(quick, name):
    data = quick.data
    assert data["format"] == f"pliant experiment {name} 1" and data["complete"] and data["quick"] and data["clock"] == "cpu"
    assert (data["frames"], data["repeats"]) == (FRAMES.get(name, 2), quick.paper.quick.repeats)
    assert data["machine"]["numpy"] == np.__version__ and list(data["experiments"]) == list(quick.paper.experiments)
    for each, experiment in data["experiments"].items():
        assert experiment["title"] == quick.paper.experiments[each].title and experiment["runs"]
        assert all(made["agrees"] for made in experiment["runs"])


def test_its_report_has_all_tables_and_they_are_on_screen(quick):
    report, shown = (quick.folder / "report.md").read_text(encoding="utf-8"), text(quick.result)
    for each, experiment in quick.paper.experiments.items():
        assert f"## {experiment.title}" in report and quick.paper.section(quick.data, each) in report
        every = quick.paper.tables_of(quick.data, each)
        assert every and all(table.title in shown for table in every)
    assert "no figure means anything" in report
    assert all((quick.folder / file).is_file() for file in re.findall(r"!\[.*?\]\((.*?)\)", report))


def test_the_page_takes_figures_between_its_markers(quick, name):
    page, data = (DOCS / f"{name}.md").read_text(encoding="utf-8"), quick.data | {"repeats": 3, "machine": {"Python": "3"}}
    once = quick.paper.pasted(page, data)
    assert all(quick.paper.section(data, each) in once for each in quick.paper.experiments)
    words = " ".join(once.split())
    assert "the least of 3 for each step; Python 3." in words and f"found the same {quick.paper.found} in every step." in words
    assert quick.paper.pasted(once, data) == once and OUTSIDE.sub("", once) == OUTSIDE.sub("", page)


def test_the_page_is_written_from_a_file(quick, name, tmp_path):
    page, first = tmp_path / "page.md", next(iter(quick.paper.experiments))
    begin, end = f"before\n<!-- figures {first} -->\n", "<!-- end of figures -->\nafter\n"
    page.write_text(f"{begin}figures of last year\n{end}", encoding="utf-8")
    paste(name, quick.folder / f"{name}.json", page)
    assert page.read_text(encoding="utf-8") == f"{begin}\n{quick.paper.section(quick.data, first)}\n{end}"


@pytest.fixture
def replayed(quick, monkeypatch):
    """Experiments give the runs of the quick run again, and write down with what plan and session they were asked. There is no
    Matplotlib."""
    given = []

    def again(runs):
        def play(plan, session):
            given.append((plan, session))
            yield from runs
        return play

    for each, experiment in quick.paper.experiments.items():
        monkeypatch.setitem(quick.paper.experiments, each, Experiment(experiment.title, again(quick.data["experiments"][each]["runs"])))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    return given


def test_some_experiments_in_either_form(quick, name, replayed, tmp_path):
    """They run in the order of the paper, with the plan and the clock that were asked for; without Matplotlib there are no plots."""
    first, *_, last = quick.paper.experiments
    result = run(name, "--quick", "--frames", 3, "--repeats", 2, "--clock", "wall", "--out", tmp_path, "--experiment", last, first)
    assert result.exit_code == 0, result.output
    data = read(tmp_path, name)
    assert list(data["experiments"]) == [first, last] and data["complete"]
    assert (data["frames"], data["repeats"], data["clock"]) == (3, 2, "wall") and len(replayed) == 2
    for plan, session in replayed:
        assert plan == quick.paper.quick._replace(frames=3, repeats=2) and (session.repeats, session.clock) == (2, play.CLOCKS["wall"])
    assert "No plots: plots need Matplotlib: pip install 'pliant[experiments]'" in text(result)
    assert sorted(os.listdir(tmp_path)) == sorted([f"{name}.json", "report.md"])


def test_different_answers_are_a_failure(quick, name, replayed, tmp_path, monkeypatch):
    """And where no options are given, a quick run has its own."""
    last = list(quick.paper.experiments)[-1]
    runs = quick.data["experiments"][last]["runs"]
    monkeypatch.setitem(runs[-1], "agrees", False)
    result = run(name, "--quick", "--out", tmp_path, last)
    assert [plan for plan, _ in replayed] == [quick.paper.quick]
    assert result.exit_code == 1 and f"Methods found different {quick.paper.found}." in text(result)
    assert f"**found different {quick.paper.found}.**" in (tmp_path / "report.md").read_text(encoding="utf-8")


# --- what quick runs say of their own ----------------------------------------------------------------------------------------------

def counts(data):
    """How many runs each experiment has."""
    return {name: len(experiment["runs"]) for name, experiment in data["experiments"].items()}


def runs_of(data, *names):
    """The runs of these experiments."""
    return [each for name in names or data["experiments"] for each in data["experiments"][name]["runs"]]


def test_a_quick_run_of_larsson2001(quick_run):
    data, frames = quick_run("larsson2001").data, FRAMES["larsson2001"]
    for name in data["experiments"]:
        for each in runs_of(data, name):
            assert each["steps"] == frames and each["bodies"] == (8 if name == "fig-5.4" else 2)
            assert all(len(each[column]) == frames for column in ("update_ms", "query_ms", "n_v", "n_p", "n_u", "pairs"))
            assert set(each["fixed_ms"]) == {"update", "query", "body", "pair"} and each["place_ms"] > 0
    found = counts(data)
    assert list(found) == ["fig-5.3", "table-5.1", "fig-5.4", "ablations"]
    assert found["fig-5.3"] == 28 and found["table-5.1"] == 2 * 2 * len(larsson2001_runs.QUICK.sizes) and found["fig-5.4"] == 28
    assert {each["part"] for each in runs_of(data, "ablations")} == set(larsson2001_runs.ABLATIONS)
    assert max(max(each["pairs"]) for each in runs_of(data, "fig-5.4")) > 0


def test_a_quick_run_of_larsson2003a(quick_run):
    assert counts(quick_run("larsson2003a").data) == {"fig-6.5": 28, "fig-6.8": 14 * 2 * len(larsson2003a_runs.QUICK.sizes),
                                                  "savings": 28}


def test_a_quick_run_of_larsson2003b(quick_run):
    quick = quick_run("larsson2003b")
    threads = min(larsson2003b_runs.processors(), 2)
    assert counts(quick.data) == {"table-7.1": 24, "table-7.2": 24, "eq-7.7": 48, "picks": 16, "eq-7.1": 5 * threads, "traversals": 12}
    assert "found the same hits in every step" in text(quick.result)


def test_a_quick_run_of_bitar2011(quick_run):
    quick = quick_run("bitar2011")
    assert counts(quick.data) == {"table-2": 5 * len(bitar2011_runs.methods()), "families": 5 * 12, "sizes": 4 * 7, "arity": 5 * 13,
                                  "self": 2 * 7}
    assert all(min(each["distance"]) > 0 and min(each["n_v"]) > 0 for each in runs_of(quick.data))
    none, every = (next(each for each in runs_of(quick.data, "table-2") if each["method"] == name)
                   for name in (bitar2011_runs.NONE, bitar2011_runs.ALL))
    assert sum(none["n_u"]) < sum(every["n_u"])
    assert "found the same distances in every step" in text(quick.result)


def test_a_quick_run_of_georgii2007(quick_run):
    quick = quick_run("georgii2007")
    there = (imaging.CUDA, imaging.MOVED)
    assert counts(quick.data) == {"counts": 4 * 4 + 3, "table-1": 5 * 7 + 1, "cloth": 2 * 7, "misses": 2 * (2 + 4)}
    for each in runs_of(quick.data, "table-1", "cloth"):
        assert each.get("lacking") == ("left alone" if each["kind"] in there else None)
        assert (sum(each["pairs"]) > 0 or each["part"] == "creatures") if each["steps"] else each["kind"] in there
    coarse, fine = (sum(sum(each["missed"]) for each in runs_of(quick.data, "misses") if each["value"] == value) for value in (32, 128))
    assert coarse > fine
    assert "found the same pairs (but for what sampling missed) in every step" in text(quick.result)


def test_a_quick_run_of_paper_m_with_all_baselines(quick_run):
    data = quick_run("steinemann2008").data
    assert counts(data) == {"table-1": 2 * 2 * 9, "fig-5": 2 * 12, "table-4": 2 * 13, "fish": 13, "radius": 2 * 4}
    assert all(min(each["pairs"]) > 0 for each in runs_of(data, "table-4", "radius"))
    tight = {(each["method"], each["nodes"]): np.mean(each["root"]) for each in runs_of(data, "fig-5")}
    assert 1 <= tight["greedy, own boxes", 30] <= tight["eq. 12, own boxes", 30] + 1e-5 < tight["summed spheres", 30]


def test_a_quick_run_of_larsson2008(quick_run):
    each = len(larsson2008_runs.methods())
    assert counts(quick_run("larsson2008").data) == {"spheres": 4 * each, "knots": 2 * each, "quadrupeds": each, "hands": each}
