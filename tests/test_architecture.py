"""Pages for contributors name what exists: folders, files, modules, and functions in the files that stand beside them."""

import ast
import re
import tokenize
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


# Names in backticks that are not Pliant's: of Python and its packages, of C, of browsers, and parts of names in files.
FOREIGN = {"DLManagedTensor", "DLManagedTensorVersioned", "DecompressionStream", "copy.deepcopy", "faces_NAME", "numpy.compress",
           "overload", "prange", "repr", "usemtl", "vertices_NAME", "with"}


def names_of(tree: ast.Module) -> set[str]:
    """All identifiers of a module, and short texts, which may be names of fields."""
    found = set()
    for node in ast.walk(tree):
        for name in ("name", "id", "attr", "arg"):
            found.add(str(getattr(node, name, "")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
            found.update(re.findall(r"\w+", node.value))
        if isinstance(node, ast.ImportFrom):
            found.update((node.module or "").split("."))
    return {part for name in found for part in name.split(".")}


def test_names_in_docstrings_and_comments_exist() -> None:
    """A name in backticks is one of the same module, or a function, a class or a constant of another; a path is a file."""
    files = sorted(SOURCE.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    shared = {path.stem for path in files} | {folder.name for folder in (SOURCE, *SOURCE.rglob("*/"))}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                shared.add(node.name)
            for target in (*getattr(node, "targets", ()), getattr(node, "target", None)):
                shared.update(each.id for each in ast.walk(target) if isinstance(each, ast.Name)) if target is not None else None
    wrong, count = [], 0
    for path, tree in trees.items():
        own = names_of(tree) | shared
        with path.open("rb") as file:
            texts = [token.string for token in tokenize.tokenize(file.readline)
                     if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""'))]
        for word in (word for text in texts for word in CODE.findall(text) if word not in FOREIGN):
            if word.endswith(".py"):
                exists = any((folder / word).exists() for folder in (SOURCE, ROOT, ROOT / "tests", SOURCE / "query", *path.parents[:2]))
            else:
                exists = not re.fullmatch(r"[\w.]+", word) or word.endswith((".toml", ".json")) or set(word.split(".")) <= own | {""}
            count += 1
            if not exists:
                wrong.append(f"{path.relative_to(SOURCE)}: {word}")
    assert count > 1000
    assert wrong == []
