"""Paper A's experiments on one core, and their figures in `docs/paper-a.md`.

    python -m benchmarks.paper_a                               as `pliant bench paper-a`, with its options, pinned to one core
    python -m benchmarks.paper_a --paste out/paper-a/paper-a.json      put the tables of that run between the markers of the page
"""

import json
import os
import sys
from pathlib import Path

from benchmarks.harness import alone
from pliant.bench.tables_a import pasted
from pliant.cli import application

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper-a.md"


def paste(figures, page=PAGE):
    """Put the tables of a JSON file into the page."""
    data = json.loads(Path(figures).read_text(encoding="utf-8"))
    page.write_text(pasted(page.read_text(encoding="utf-8"), data), encoding="utf-8")


def main():
    """The command line."""
    if sys.argv[1:2] == ["--paste"]:
        paste(*sys.argv[2:3])
    else:
        alone(hasattr(os, "sched_setaffinity"))
        application()(["bench", "paper-a", *sys.argv[1:]], prog_name="pliant")


if __name__ == "__main__":
    main()
