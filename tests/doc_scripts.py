"""The scripts in docs/ that draw its pictures, as modules."""

import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@contextmanager
def script(name):
    """The script of this name, which finds its own neighbour; skips where pictures cannot be drawn."""
    pytest.importorskip("PIL")
    before = list(sys.path)
    sys.path.insert(0, str(DOCS))
    try:
        yield import_module(name)
    finally:
        sys.path[:] = before
        for each in (name, "drawing"):
            sys.modules.pop(each, None)
