"""`python -m experiments` in this process, and what the tests of several papers need: sessions that tell nobody, and baselines that do not
stay."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from experiments import clock as play
from experiments.__main__ import application
from experiments.steinemann2008 import clock as blending
from experiments.steinemann2008 import hashing, tightness
from experiments.steinemann2008 import other_bounds as bounds_m

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run(*arguments):
    """Run `python -m experiments` with these arguments, of which the first is the name of a paper."""
    return CliRunner().invoke(application, [*map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def text(result):
    """Everything it printed, without the frames and breaks of rich."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())


def read(folder, name):
    """The figures of a paper, as they were written into a folder."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def session(repeats=1, tick=lambda steps: None, clock="cpu"):
    """A session that tells nobody what it begins."""
    return play.Session(repeats, clock, lambda title, steps: None, tick)


def keep_no_baselines(monkeypatch):
    """What benchmarks add to paper M is gone after the test."""
    monkeypatch.setattr(blending, "OTHERS", dict(blending.OTHERS))
    for name in ("OTHERS", "ROOTS"):
        monkeypatch.setattr(tightness, name, dict(getattr(tightness, name)))
    monkeypatch.setattr(bounds_m, "OTHERS", tightness.OTHERS)
    monkeypatch.setattr(bounds_m, "ROOTS", tightness.ROOTS)
    monkeypatch.setattr(hashing, "OTHERS", blending.OTHERS)
