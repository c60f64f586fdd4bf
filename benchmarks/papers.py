"""A paper's experiments on one core, and their figures in its page of the documentation."""

import json
import os
import sys
from pathlib import Path

from benchmarks.harness import alone
from pliant.bench.papers import PAPERS
from pliant.cli import application

DOCS = Path(__file__).resolve().parents[1] / "docs"


def paste(name, figures, page=None):
    """Put the tables of a JSON file into the page of a paper."""
    page = page or DOCS / f"{name}.md"
    data = json.loads(Path(figures).read_text(encoding="utf-8"))
    page.write_text(PAPERS[name].pasted(page.read_text(encoding="utf-8"), data), encoding="utf-8")


def main(name):
    """The command line."""
    if sys.argv[1:2] == ["--paste"]:
        paste(name, *sys.argv[2:3])
    else:
        alone(hasattr(os, "sched_setaffinity"))
        application()(["bench", name, *sys.argv[1:]], prog_name="pliant")
