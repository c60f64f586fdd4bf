"""The fuzzer finds what is wrong: queries that are broken on purpose are noticed, and their cases become small."""
import dataclasses
import io
import json
import os
import signal

import numpy as np
import pytest
from rich.console import Console

import fuzz.run
import pliant as pl
from fuzz.cases import case_of
from fuzz.minimise import minimise
from fuzz.play import play
from fuzz.run import Runner

SEEDS = range(60)
HEAD = """import json, os, sys, signal
seed = int(sys.argv[-4])
def say(**line): print(json.dumps(line), flush=True)
"""
PLAIN = {"volume": "aabb", "build": "sah", "arity": 8, "leaf": 8, "policy": "auto"}


def found_by_seeds(name, oracle):
    """(case, kind) of the first seed that shows something wrong with a query."""
    for seed in SEEDS:
        case = case_of(seed)
        if any(name in (step["do"], *(query["do"] for query in step.get("queries", ()))) for step in case["steps"]):
            kinds = [difference.kind for difference in play(case).differences]
            if f"{name}:{oracle}" in kinds:
                return case, f"{name}:{oracle}"
    raise AssertionError(f"no seed notices that {name} is wrong")


def test_a_wrong_face_is_noticed_and_minimised(monkeypatch):
    right = pl.cast

    def wrong(target, origins, directions, **options):
        """The last hit instead of the first, where both oracles see it: fresh bodies have the same fault."""
        hits = right(target, origins, directions, **options)
        return dataclasses.replace(hits, face=np.where(hits.face >= 3, hits.face - 1, hits.face))

    monkeypatch.setattr(pl, "cast", wrong)
    case, kind = found_by_seeds("cast", "naive")
    smaller, differences = minimise(case, kind)
    assert {difference.kind for difference in differences} == {kind}
    assert [step["do"] for step in smaller["steps"]] == ["cast"]
    assert len(smaller["steps"][0]["origins"]) == 1
    assert [len(body["faces"]) for body in smaller["bodies"]] == [4]
    assert smaller["bodies"][0]["options"] == PLAIN
    assert minimise(case, kind)[0] == smaller                           # deterministic


def test_a_stale_answer_is_noticed_and_minimised(monkeypatch):
    right, seen = pl.closest, {}

    def stale(target, points, **options):
        """The body where it was when it was first asked, which a fresh one never is."""
        if isinstance(target, pl.Body):
            first = seen.setdefault(id(target), (target, pl.Body(target.vertices, target.faces)))[1]
            return right(first, points, **options)
        return right(target, points, **options)

    monkeypatch.setattr(pl, "closest", stale)
    case, kind = found_by_seeds("closest", "fresh")
    smaller, _ = minimise(case, kind)
    names = [step["do"] for step in smaller["steps"]]
    assert len(names) == 3 and names[0] == names[2] == "closest"        # asked, moved, asked again
    assert sum(len(body["faces"]) for body in smaller["bodies"]) <= 2


def test_an_error_is_noticed(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(pl, "self_within", broken)
    case, kind = found_by_seeds("self_within", "raised")
    assert [step["do"] for step in minimise(case, kind)[0]["steps"]] == ["self_within"]


def test_an_update_that_is_not_refused_is_noticed(monkeypatch):
    monkeypatch.setattr(pl.Body, "update", lambda *_, **__: None)
    case, kind = found_by_seeds("refused", "raised")
    assert [step["do"] for step in minimise(case, kind)[0]["steps"]] == ["refused"]


@pytest.fixture
def children(monkeypatch, tmp_path):
    """A runner whose children are this program instead of the player."""
    def make(program):
        script = tmp_path / "child.py"
        script.write_text(HEAD + program)
        popen = fuzz.run.subprocess.Popen
        monkeypatch.setattr(fuzz.run.subprocess, "Popen", lambda command, **given: popen([command[0], str(script), *command[-4:]], **given))
        return Runner(30, 5, tmp_path / "cases", 1, Console(file=io.StringIO()))
    return make


def test_a_crash_names_its_seed(children):
    summary = children("say(playing=seed + 2)\nos.kill(os.getpid(), signal.SIGSEGV)\n").run()
    assert summary.crashes == [7]
    assert not summary.is_clean
    assert json.loads(summary.files[0].read_text()) == case_of(7)


def test_what_is_wrong_is_written(children):
    played = "say(played=seed, counts={'fresh': 2, 'naive': 3}, coverage={'weld': 1}, cpu=1.0, wrong=[['cast:naive', 'so and so']])\n"
    minimised = "say(minimised=seed, kind='cast:naive', wrong='so', case={'bodies': [], 'steps': []})\n"
    summary = children("say(playing=seed)\n" + played + minimised + "say(end=seed + 1, cpu=1.5)\n").run()
    assert (summary.cases, summary.checks, summary.cpu, summary.crashes) == (1, 5, 1.5, [])
    assert summary.seeds == {"cast:naive": [5]}
    assert not summary.is_clean
    assert [path.name for path in summary.files] == ["cast-naive-5.json"]
    assert json.loads(summary.files[0].read_text()) == {"bodies": [], "steps": [], "wrong": "so"}


def test_a_clean_run_is_clean(children):
    played = "say(played=seed, counts={'fresh': 2}, coverage={}, cpu=1.0, wrong=[])\nsay(end=seed + 1, cpu=1.0)\n"
    assert children("say(playing=seed)\n" + played).run().is_clean


def test_an_interrupted_run_has_a_summary(children, monkeypatch):
    """Ctrl-C while a child plays: what it has said until then counts, and it is ended."""
    take = Runner.take

    def interrupted(runner, line):
        take(runner, line)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Runner, "take", interrupted)
    played = "say(played=seed, counts={'fresh': 2}, coverage={}, cpu=1.0, wrong=[])\n"
    summary = children(played + "signal.pause()\n").run()
    assert (summary.cases, summary.cpu, summary.crashes) == (1, 1.0, [])
