"""Pages for contributors name what exists: folders, files, modules, and functions in the files that stand beside them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "pliant"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ROOT / "CONTRIBUTING.md", ARCHITECTURE, *(ROOT / "docs" / f"{name}.md" for name in (
    "bounds", "compilation", "concepts", "core", "fuzzing", "image", "report", "tiers", "volumes",
    *(f"extend/{path.stem}" for path in (ROOT / "docs" / "extend").glob("*.md"))))]

# What paths are relative to: the package, the repository, and where a page says so, other folders.
FOLDERS = {"": (SOURCE, ROOT), "architecture": (SOURCE / "query", ROOT / "tests"), "tiers": (ROOT / "tests",), "image": (SOURCE / "image",),
           "report": (SOURCE / "report",)}
EXTENSION = ROOT / "examples" / "extension" / "src" / "pliant_cubes"

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:py|md|toml|rst)|(?:[\w.-]+/)+")
MODULE = re.compile(r"(?!pliant\.extensions$)(?:pliant|benchmarks|experiments)(?:\.\w+)+")  # but a group of entry points
NAMES_IN_FILE = re.compile(r"((?:`[\w.]+`(?:,\s+|\s+and\s+|\s+or\s+)?)+)\s*\((?:their body for \w+ in )?`([\w/]+\.py)`")


def folders_of(page: Path) -> tuple[Path, ...]:
    """Folders that the paths of a page may be relative to."""
    return (*FOLDERS[""], *FOLDERS.get(page.stem, ()), *((EXTENSION,) if page.parent.name == "extend" else ()))


def defines(file: Path, name: str) -> bool:
    """Does a file define a name, or each part of a dotted one?"""
    text = file.read_text(encoding="utf-8")
    return all(re.search(rf"^\s*(?:def|class) {part}\b|^\s*{part}\b[^=\n]*=|^\s*(?:self\.)?{part} ?:", text, re.MULTILINE)
               for part in name.split("."))


def missing(text: str, folders: tuple[Path, ...]) -> list[str]:
    """Paths, modules and names of a page that do not exist."""
    text, found = FENCE.sub("", text), []
    for word in (word for code in CODE.findall(text) for word in re.split(r"[\s:(),]+", code)):
        if PATH.fullmatch(word) and not any((folder / word).exists() for folder in folders):
            found.append(word)
        if MODULE.fullmatch(word):
            first, *rest = word.split(".")
            place = SOURCE if first == "pliant" else ROOT / first
            while rest and (place / rest[0]).is_dir():
                place = place / rest.pop(0)
            if rest and not (place / f"{rest[0]}.py").exists() and not defines(place / "__init__.py", rest[0]):
                found.append(word)
    for names, path in NAMES_IN_FILE.findall(text):
        file = next((folder / path for folder in folders if (folder / path).exists()), None)
        found += [f"{name} ({path})" for name in CODE.findall(names)
                  if file is not None and not defines(file, name)]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_pages_name_exists(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8"), folders_of(page)) == []


def test_identifiers_of_the_architecture_are_those_of_the_source() -> None:
    """Also where no file stands beside them."""
    text = "\n".join(path.read_text(encoding="utf-8") for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*.py"))
    known = set(re.findall(r"\w+", text))
    words = [word for code in CODE.findall(FENCE.sub("", ARCHITECTURE.read_text(encoding="utf-8"))) if re.fullmatch(r"[\w.]+", code)
             and not PATH.fullmatch(code) for word in code.split(".")]
    assert len(words) > 150
    assert sorted(set(words) - known) == []


def test_every_folder_and_file_of_the_package_is_described() -> None:
    named = {word.strip("/") for code in CODE.findall(ARCHITECTURE.read_text(encoding="utf-8")) for word in code.split()}
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")} - {"."}
    files = {path.name for path in SOURCE.glob("*.py")}
    assert sorted((folders | files) - named) == []


def test_what_is_missing_is_found() -> None:
    text = ("`core/` `core/gone.py` `pliant.gone.py` `pliant.query.gone` `pliant.gone.x`\n```\n`fenced.py`\n```\n"
            "`traverse`, `gone` and\n`QUERY_STATE` (`query/traverse.py`), `Body.gone` (`body.py`)")
    assert missing(text, FOLDERS[""]) == ["core/gone.py", "pliant.gone.py", "pliant.gone.py", "pliant.query.gone",
                                          "pliant.gone.x", "gone (query/traverse.py)",
                                          "Body.gone (body.py)"]
