"""What the package raises on purpose is a `PliantError`: no module raises the built-in classes that `pliant.errors` replaces."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pliant"
REPLACED = {"ValueError": "ArgumentError", "TypeError": "ArgumentTypeError", "ImportError": "MissingExtraError",
            "KeyError": "UnknownIdError", "RuntimeError": "StaleResultError or DeviceError",
            "MemoryError": "TooManyPairsError or DeviceMemoryError"}

# What raises the others, and why they do not arrive at a caller as they are.
EXPECTED = {
    "core/registry.py": "KeyError: a registry is a dict, and its users catch it",
    "core/threads.py": "RuntimeError: a defect",
    "check/plan.py": "caught in the same function",
    "io/archive.py": "becomes a FileError that names the file",
    "io/gltf/document.py": "becomes a FileError that names the file",
    "io/subprocess_client.py": "becomes a FileError that names the file",
    "io/text/obj.py": "becomes a FileError that names the file",
    "io/text/ply.py": "becomes a FileError that names the file",
    "io/usd/meshes.py": "becomes a FileError that names the file",
    "io/usd/usd.py": "becomes a FileError that names the file",
}


def raised(path: Path) -> set[str]:
    """Built-in classes that a file raises."""
    calls = [node.exc for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Raise)]
    names = [getattr(getattr(each, "func", each), "id", "") for each in calls]
    return set(names) & REPLACED.keys()


@pytest.mark.parametrize("name", [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))])
def test_errors_are_those_of_the_package(name: str) -> None:
    found = raised(SOURCE / name)
    assert bool(found) == (name in EXPECTED), [f"{each}: raise {REPLACED[each]}" for each in found]
