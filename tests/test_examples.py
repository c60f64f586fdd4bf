"""Every example checks itself, and the program in the README runs as it stands there."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_there_is_a_first_example():
    assert EXAMPLES[0].name == "00_minimal.py"


def test_the_program_of_the_readme_runs(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(program.splitlines()) <= 15
    names: dict = {}
    exec(compile(program, "README.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 100 and len(names["pairs"])
