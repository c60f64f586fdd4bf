"""Layers import downward only: the order below is the architecture, and this file is what holds it.

All imports count, also those inside functions and those for type checkers alone: direction is about who knows whom. Nor may modules
import each other in a circle.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pliant"
FACE = "__init__"  # the public names: pliant/__init__.py

# From low to high. A module may import its own layer and those below it. `results` are plain values that queries fill in.
LAYERS = (
    ("errors", "typing"),
    ("core",),
    ("geometry",),
    ("volume",),
    ("tree",),
    ("motion",),
    ("refit",),
    ("results",),
    ("image", "query"),
    ("body", "body_file", "broadphase", "scene", "scene_members", "uniform_grid", "vertex_order", "welding"),
    ("check", "io", "render", "tune", "report", "shapes", FACE),
    ("cli",),
)
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}

# Tighter than their layer.
ONLY = {"shapes": {"shapes", "errors"}}


class Import(NamedTuple):
    line: int
    unit: str  # first part of the name below pliant, or FACE
    eager: bool  # runs when the module is imported


def units(root: Path) -> set[str]:
    """Modules and packages right below ``root``."""
    return {path.stem for path in root.iterdir() if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")}


def imports(path: Path, root: Path) -> Iterator[Import]:
    """What ``path``, a file below ``root``, imports of its own package."""
    package = [root.name, *path.relative_to(root).parts[:-1]]
    known = units(root)
    for node, eager in walk(ast.parse(path.read_text(encoding="utf-8"), str(path)), True):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            if first == root.name:
                unit = rest.partition(".")[0]
                yield Import(node.lineno, unit if unit in known or unit in RANK else FACE, eager)


def module_imports(root: Path) -> dict[str, set[str]]:
    """For each module, by its name below the package, those that it imports; a package is its __init__.py."""
    files = {".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in root.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        package = list(path.relative_to(root.parent).parts[:-1])
        found[module] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                names = [f"{base}.{alias.name}" for alias in node.names]
            for name in names:
                target = name
                while target and target not in files:  # a function or class of a module
                    target = target.rpartition(".")[0]
                if target and target != module:
                    found[module].add(target)
    return found


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other, as sorted names: the strongly connected components of more than one (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        path.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in path:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            start = path.index(module)
            if len(path) - start > 1:
                found.append(sorted(path[start:]))
            del path[start:]

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return sorted(found)


def walk(node: ast.AST, eager: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Statements below ``node``, and whether they run on import: not in functions, nor for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if isinstance(child, ast.stmt):
            yield child, eager
        yield from walk(child, eager and not later and not typing_only)


def violations(root: Path) -> list[str]:
    """Imports against the order, as 'file:line: what is wrong'."""
    found = []
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(root)
        unit = where.parts[0].removesuffix(".py")
        if unit not in RANK:
            found.append(f"{where}:1: {unit} has no layer: add it to LAYERS")
            continue
        for line, target, eager in imports(path, root):
            if unit == FACE:
                if eager and target not in (FACE, "errors"):
                    found.append(f"{where}:{line}: the public face imports {target} eagerly")
            elif target not in RANK:
                found.append(f"{where}:{line}: {target} has no layer: add it to LAYERS")
            elif target not in ONLY.get(unit, RANK) or RANK[target] > RANK[unit]:
                found.append(f"{where}:{line}: {unit} imports {target}")
    return found


def test_layers_import_downward() -> None:
    found = violations(SOURCE)
    assert not found, "\n".join(["imports against the order of layers:", *found])


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for type checkers alone count, too."""
    assert cycles(module_imports(SOURCE)) == []


def test_cycles_are_found(tmp_path: Path) -> None:
    root = tmp_path / "pliant"
    files = {
        "__init__.py": "def f():\n    from pliant.a import g\n",
        "a.py": "def g():\n    from pliant.room import b\n",
        "room/__init__.py": "",
        "room/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import value\n",
        "room/c.py": "import pliant.a\nvalue = 1\n",
        "d.py": "from pliant import a, e\n",
        "e.py": "import numpy\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    assert cycles(module_imports(root)) == [["pliant.a", "pliant.room.b", "pliant.room.c"]]


def test_every_import_is_seen() -> None:
    seen = {item.unit for path in (SOURCE / "cli").glob("*.py") for item in imports(path, SOURCE)}
    assert {"core", "report", "shapes", FACE} <= seen


def test_forbidden_imports_are_found(tmp_path: Path) -> None:
    root = tmp_path / "pliant"
    files = {
        "__init__.py": "from pliant.errors import MeshError\nfrom pliant import body\ndef f():\n    import pliant.query.collide\n",
        "errors.py": "",
        "body.py": "from .results import Pairs\nfrom . import scene\nimport numpy\n",
        "scene.py": "from pliant.cli import main\n",
        "results.py": "from pliant import errors\n",
        "shapes.py": "import pliant.errors\nfrom pliant.core import validate\n",
        "core/__init__.py": "",
        "core/validate.py": "from ..errors import MeshError\nfrom ..tree.sah import build\n",
        "tree/__init__.py": "",
        "tree/sah.py": "def build():\n    import pliant\n    from pliant import collide\n",
        "query/__init__.py": "",
        "query/collide.py": "from pliant.results import Pairs\nfrom ..core.validate import mesh\nfrom .traverse import loop\n",
        "extra.py": "",
        "cli/__init__.py": "import pliant\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    assert violations(root) == [
        "__init__.py:2: the public face imports body eagerly",
        "core/validate.py:2: core imports tree",
        "extra.py:1: extra has no layer: add it to LAYERS",
        "scene.py:1: scene imports cli",
        "shapes.py:2: shapes imports core",
        "tree/sah.py:2: tree imports __init__",
        "tree/sah.py:3: tree imports __init__",
    ]


def test_no_two_files_of_tests_have_one_name():
    """Tests are imported by that name alone, whatever folder they are in, unless the folder is a package."""
    files = [path for path in Path(__file__).parent.rglob("*.py")
             if path.name != "conftest.py" and not (path.parent / "__init__.py").exists()]
    assert sorted({path.name for path in files}) == sorted(path.name for path in files)
