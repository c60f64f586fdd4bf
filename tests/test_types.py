"""Types of the public names: a user's program passes a type checker in basic mode, and no signature says `Any`."""

import ast
import inspect
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pliant as pl

PROGRAM = Path(__file__).with_name("typed_program.py").read_text(encoding="utf-8")
# What the checker must find: types that are too wide would let these through.
WRONG = {
    "contacts that were not requested": "print(pl.collide(cloth, tool).segments.mean())",
    "points that were not requested": "print(pl.within(cloth, tool, 0.1).points.shape)",
    "a choice that does not exist": 'pl.self_collide(cloth, adjacent="ignored")',
    "an option of the other engine": 'pl.collide(cloth, tool, engine="image", budget_ms=1.0)',
    "a mesh where a body is needed": "pl.distance((vertices, faces), tool)",
    "a field that does not exist": "print(hits.distance)",
    "a miss": "print(pl.pick(cloth, [0, 0, 5], [0, 0, -1]).t)",
    "an option of bodies": "pl.Body.rigid(vertices, faces, volum=3)",
}


def errors_in(program, folder):
    """What the type checker reports, [(line, message)]."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "basic", "include": ["program.py"]}), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable], cwd=folder,
                          capture_output=True, text=True, check=False)
    assert done.stdout, f"the type checker is in the extra `lint`: pip install -e '.[lint]'\n{done.stderr}"
    return [(each["range"]["start"]["line"], each["message"]) for each in json.loads(done.stdout)["generalDiagnostics"]
            if each["severity"] == "error"]


def test_a_program_passes(tmp_path):
    assert errors_in(PROGRAM, tmp_path) == []


def test_wrong_programs_do_not(tmp_path):
    lines = PROGRAM.rstrip().splitlines()
    found = errors_in("\n".join([*lines, *WRONG.values()]), tmp_path)
    assert {line for line, _ in found} == set(range(len(lines), len(lines) + len(WRONG))), found


def annotations(function):
    """(argument or "return", its annotation as a tree) of a function, from its source."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    arguments = definition.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None and each.arg not in ("self", "cls"):
            yield each.arg, each.annotation
    yield "return", definition.returns


def public_functions():
    """(name, function) of all public functions, methods and properties."""
    for name in pl.__all__:
        value = getattr(pl, name)
        if inspect.isclass(value):
            for part, member in vars(value).items():
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if (not part.startswith("_") or part == "__init__") and inspect.isfunction(function) \
                        and not function.__qualname__.startswith(f"{name}.__create_fn__"):
                    yield f"{name}.{part}", inspect.unwrap(function)
        elif inspect.isfunction(value):
            yield name, inspect.unwrap(value)


@pytest.mark.parametrize(("name", "function"), [pytest.param(*each, id=each[0]) for each in public_functions()])
def test_signatures_have_types(name, function):
    try:
        parts = dict(annotations(function))
    except OSError:                                                     # made by a dataclass: its fields have types
        return
    assert all(tree is not None for part, tree in parts.items() if part != "return" or name.split(".")[-1] != "__init__"), parts
    vague = [part for part, tree in parts.items() if tree is not None
             and any(getattr(node, "id", None) == "Any" for node in ast.walk(tree))]
    assert vague == [], f"{name}: {vague}"
