"""Tutorials run as they stand: every program of a page, in order, in one namespace, prints what the page shows below it."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "tutorials").glob("*.md"))
STEP = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
FENCES = re.compile(r"^```(\w+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_shows(page, capsys):
    text, names = page.read_text(encoding="utf-8"), {}
    steps = list(STEP.finditer(text))
    for step in steps:
        above = text.count("\n", 0, step.start(1))
        exec(compile("\n" * above + step[1], str(page), "exec"), names)
        assert capsys.readouterr().out == (step[2] or "")
    shown = FENCES.findall(text)
    assert shown.count("python") == len(steps) > 3
    assert shown.count("text") == sum(step[2] is not None for step in steps) > 2


def test_there_are_tutorials():
    assert {"first-collision", "cloth", "skinned", "clearance", "rays"} <= {page.stem for page in PAGES}
