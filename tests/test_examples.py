"""Every example checks itself, and the programs in the README and the documentation run as they stand there."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs").glob("**/*.md")) if PROGRAM.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_there_is_a_first_example():
    assert EXAMPLES[0].name == "00_minimal.py"


def test_the_program_of_the_readme_runs(capsys):
    (program,) = PROGRAM.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(program.splitlines()) <= 15
    names: dict = {}
    exec(compile(program, "README.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 100 and len(names["pairs"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run(page):
    """One after the other, each with the names of those before it; their lines count from the top of the page."""
    text, names = page.read_text(encoding="utf-8"), {}
    for program in PROGRAM.finditer(text):
        above = text.count("\n", 0, program.start(1))
        exec(compile("\n" * above + program[1], str(page), "exec"), names)


def test_there_are_pages_with_programs():
    assert "self-collision.md" in [page.name for page in PAGES]
