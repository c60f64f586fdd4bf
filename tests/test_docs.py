"""The documentation keeps its promises: links lead somewhere, and the coverage table is complete and names only what exists."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
COVERAGE = ROOT / "docs" / "coverage.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# How many rows each letter has.
ROWS = {"A": 6, "B": 7, "C": 10, "M": 6, "S": 7, "D": 6, "G": 8, "X": 9}
STATES = ("planned", "in progress", "done")

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
ROW = re.compile(r"[A-Z]\d+")


class Row(NamedTuple):
    name: str
    what: str
    module: str
    test: str
    benchmark: str
    state: str


def prose(text: str) -> str:
    """Markdown without its code, where brackets are no links."""
    return CODE.sub("", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The fragments that headings make, as hosting sites spell them."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """Relative links of ``page`` that lead nowhere, as 'page: link'."""
    broken = []
    for link in LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, fragment = link.partition("#")
        target = page.parent / path if path else page
        missing = not target.exists()
        lost = not missing and fragment and target.suffix == ".md" and fragment not in anchors(target.read_text(encoding="utf-8"))
        if missing or lost:
            broken.append(f"{page.name}: {link}")
    return broken


def coverage_rows(text: str) -> list[Row]:
    """Rows of the coverage tables; a line that starts like a row must have all its cells."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and ROW.fullmatch(cells[0]):
            assert len(cells) == len(Row._fields), f"{len(cells)} cells instead of {len(Row._fields)}: {line}"
            rows.append(Row(*cells))
    return rows


def missing_paths(rows: list[Row], root: Path) -> list[str]:
    """Paths that rows beyond planning name and that do not exist, as 'row: path'."""
    missing = []
    for row in rows:
        if row.state.startswith("planned"):
            continue
        for cell, folder in ((row.module, root / "src" / "pliant"), (row.test, root), (row.benchmark, root)):
            missing += [f"{row.name}: {path}" for path in CODE.findall(cell) if not (folder / path.split("::")[0]).exists()]
    return missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_resolve(page: Path) -> None:
    assert broken_links(page) == []


def test_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in LINK.findall(prose(index.read_text(encoding="utf-8")))}
    pages = set((ROOT / "docs").glob("**/*.md")) - {index}
    assert sorted(page.name for page in pages - linked) == []


def test_every_row_is_there_once() -> None:
    names = [row.name for row in coverage_rows(COVERAGE.read_text(encoding="utf-8"))]
    assert names == [f"{letter}{number}" for letter, count in ROWS.items() for number in range(1, count + 1)]


def test_states_are_known() -> None:
    rows = coverage_rows(COVERAGE.read_text(encoding="utf-8"))
    assert [row.name for row in rows if not row.state.startswith(STATES)] == []


def test_named_files_exist() -> None:
    assert missing_paths(coverage_rows(COVERAGE.read_text(encoding="utf-8")), ROOT) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A title, with `code`\n[good](page.md#a-title-with-code) [web](https://example.org/x) `[code](nowhere)`\n"
        "[gone](gone.md) ![lost](#no-such-title)\n```\n[fenced](nowhere)\n```\n",
        encoding="utf-8",
    )
    assert broken_links(page) == ["page.md: gone.md", "page.md: #no-such-title"]


def test_missing_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_here.py").touch()
    table = (
        "| A1 | x | `gone.py` | `tests/test_here.py::test_it` | – | done: 5 × |\n"
        "| A2 | x | `later.py` | – | `benchmarks/later.py` | planned (issue 5) |\n"
    )
    assert missing_paths(coverage_rows(table), tmp_path) == ["A1: gone.py"]
