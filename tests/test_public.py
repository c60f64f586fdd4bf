"""The public face: every name is there, imports are lazy, examples in docstrings are true, and types are packaged."""

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import pliant
from child import SOURCE, python
from pliant import errors

pytestmark = pytest.mark.formulas


def modules():
    """All modules of the package, by name."""
    return ["pliant", *(module.name for module in pkgutil.walk_packages(pliant.__path__, "pliant."))]


@pytest.mark.parametrize("name", pliant.__all__)
def test_public_names_are_there(name):
    value = getattr(pliant, name)
    assert getattr(pliant, name) is value
    assert value.__doc__ and value.__doc__.strip()
    assert value.__module__.startswith("pliant")


def test_public_names_are_listed_once_and_in_order():
    assert sorted(set(pliant.__all__)) == pliant.__all__
    assert set(pliant.__all__) <= set(dir(pliant))
    assert dir(pliant) == sorted(dir(pliant))
    assert {"Body", "collide", "__version__"} <= set(dir(pliant))
    assert set(pliant._HOME) <= set(pliant.__all__)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'pliant' has no attribute 'colide'"):
        pliant.colide  # noqa: B018
    assert not hasattr(pliant, "Bodies")
    python("""
        import pliant
        try:
            pliant.shapes
        except AttributeError as error:
            assert str(error) == "module 'pliant' has no attribute 'shapes'; import pliant.shapes first", error
        else:
            raise AssertionError("it was imported")
        from pliant import shapes
    """)


def test_a_star_brings_the_public_names():
    scope = {}
    exec("from pliant import *", scope)
    assert set(pliant.__all__) <= set(scope)


def test_errors_are_what_callers_expect_them_to_be():
    assert issubclass(pliant.MeshError, ValueError) and issubclass(pliant.FileError, ValueError)
    assert issubclass(pliant.TooManyPairsError, MemoryError) and issubclass(pliant.DeviceMemoryError, MemoryError)
    assert issubclass(pliant.DeviceError, RuntimeError) and issubclass(pliant.StaleResultError, RuntimeError)
    assert issubclass(pliant.ArgumentError, ValueError) and issubclass(pliant.MeshError, pliant.ArgumentError)
    assert issubclass(pliant.ArgumentTypeError, TypeError) and issubclass(pliant.MissingExtraError, ImportError)
    assert issubclass(pliant.UnknownIdError, KeyError) and str(pliant.UnknownIdError("said plainly")) == "said plainly"
    raised = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(raised) == 11 and all(issubclass(value, pliant.PliantError) for value in raised)
    assert {value.__name__ for value in raised} <= set(pliant.__all__)


def imported_by(code):
    """The modules that a fresh process has after running the code, and not before."""
    return set(json.loads(python(f"""
        import json, sys
        before = set(sys.modules)
        {code}
        print(json.dumps(sorted(set(sys.modules) - before)))
    """)))


def test_importing_costs_next_to_nothing():
    found = imported_by("import pliant")
    assert {"pliant", "pliant.errors"} <= found
    heavy = {"numba", "llvmlite", "numpy", "scipy", "rich", "typer", "PIL"}
    assert {name.partition(".")[0] for name in found} & heavy == set()
    assert {name for name in found if name.startswith("pliant")} == {"pliant", "pliant.errors"}


@pytest.mark.parametrize(("code", "absent"), [
    ("import pliant; pliant.MeshError", {"numpy", "numba"}),
    ("import pliant; pliant.Pairs", {"numba"}),
    ("import pliant; pliant.threads()", {"numba", "numpy"}),
    ("import pliant.shapes", {"numba", "rich", "typer"}),
    ("import pliant.report.picture", {"numba", "PIL", "rich", "typer"}),
    ("import pliant.cli", {"numba", "typer", "rich", "numpy"}),
    ("import pliant; pliant.Body", {"rich", "typer", "PIL"}),
])
def test_only_what_is_used_is_imported(code, absent):
    assert {name.partition(".")[0] for name in imported_by(code)} & absent == set()


def test_importing_changes_nothing_outside():
    """No setting of NumPy, no signal handler, no thread."""
    python("""
        import signal, threading, warnings
        import numpy as np
        state = np.geterr(), signal.getsignal(signal.SIGINT), list(warnings.filters)
        import pliant
        from pliant import body
        from pliant.query import collide
        assert state == (np.geterr(), signal.getsignal(signal.SIGINT), list(warnings.filters))
        assert threading.active_count() == 1
    """)


def for_gpus(name):
    """Does a module hold kernels for GPUs? Then it takes one, or the simulator, to import it."""
    return name.endswith("_cuda") or name == "pliant.image.cuda"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.cuda] if for_gpus(name) else [])
                                  for name in modules() if not name.startswith("pliant.cli")])
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__, "a module says what it is"
    assert doctest.testmod(module).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    for value in (pliant.Body, pliant.collide, pliant.set_threads):
        assert sum(len(test.examples) for test in finder.find(value)) >= 2


def test_the_version_is_said_once():
    assert metadata.version("pliant") == pliant.__version__


def test_types_are_declared():
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert "Typing :: Typed" in project["project"]["classifiers"]
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/pliant"]}
    assert Path(pliant.__file__).with_name("py.typed").read_bytes() == b""


def test_types_all_modules_and_the_page_of_reports_are_in_the_wheel(tmp_path):
    built = next(WheelBuilder(str(SOURCE.parent)).build(directory=str(tmp_path)))
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
    sources = (path for path in (SOURCE / "pliant").rglob("*") if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc"))
    assert {f"pliant/{path.relative_to(SOURCE / 'pliant').as_posix()}" for path in sources} <= names


def described_calls():
    """(name, function) of all public functions, constructors and methods that users call, and not the results."""
    for name in pliant.__all__:
        value = getattr(pliant, name)
        if not inspect.isclass(value):
            yield name, value
        elif value.__module__ != "pliant.results" and not issubclass(value, Exception):
            yield name, value
            for part in dir(value):
                member = inspect.unwrap(inspect.getattr_static(value, part))
                function = getattr(member, "__func__", member)
                if not part.startswith("_") and inspect.isfunction(function) and part not in HELPERS:
                    yield f"{name}.{part}", getattr(value, part)


HELPERS = {"gradients_at", "maps_with"}                                 # of `Elastic`
NOT_DESCRIBED = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


@pytest.mark.parametrize(("name", "function"), [pytest.param(*call, id=call[0]) for call in described_calls()])
def test_every_parameter_is_described(name, function):
    """In a row `name : what it is`, which the site shows as a list."""
    rows = re.findall(r"^(\w+(?:, \w+)*) : ", inspect.getdoc(function) or "", re.MULTILINE)
    described = {each for row in rows for each in row.split(", ")}
    parameters = [each.name for each in inspect.signature(function).parameters.values() if each.kind not in NOT_DESCRIBED]
    assert [each for each in parameters if each not in described | {"self"}] == []
