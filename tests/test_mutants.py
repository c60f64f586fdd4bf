"""Faults that tools/mutants.py puts into the source: the same for a seed, each another source that Python still reads."""

import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = b'''"""A text with 1 < 2."""
from pliant.core.jit import kernel

__all__ = ["x"]
LIMIT: int = 3
CHUNK = 4


@kernel
def smaller(a, b):
    return a < b and b - a > 2


def least(values, other):
    "Also a text."
    found = min(values, default=0)
    if found > other:
        raise ValueError(f"found {found + 1}")
    found = pow(found, other)
    found += 1
    return (found,
            other)
'''


@pytest.fixture(scope="module")
def tools():
    """Both files of tools/: faults, mutants."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import faults
        import mutants
        yield faults, mutants
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def pools(tools):
    return tools[0].candidates(ROOT)


def test_a_seed_draws_the_same_again(tools, pools):
    faults, _ = tools
    drawn = list(islice(faults.draw(ROOT, 5), 60))
    assert drawn == list(islice(faults.draw(ROOT, 5, pools), 60)) != list(islice(faults.draw(ROOT, 6, pools), 60))
    assert len(set(drawn)) == 60 and len({each.path for each in drawn}) > 30 and len({each.kind for each in drawn}) > 5
    assert [each.compiled for each in drawn] == [True, False] * 30


def test_each_is_another_source_that_still_parses(tools, pools):
    faults, _ = tools
    for each in islice(faults.draw(ROOT, 7, pools), 100):
        before = (ROOT / "src" / "pliant" / each.path).read_bytes()
        after = each.of(before)
        assert after != before and faults.parses(after)
        assert before[:each.start] == after[:each.start] and after.endswith(before[each.end:])
        assert each.line <= before[:each.start].count(b"\n") + 1 <= each.line + before.count(b"\n")


def test_every_kind_is_found_where_it_is(tools):
    faults, _ = tools
    found = {(each.kind, each.before, each.after, each.compiled) for each in faults.mutants_of("mine.py", SOURCE)}
    assert found >= {
        ("comparison", "<", "<=", True), ("comparison", ">", ">=", True), ("and, or", "and", "or", True), ("arithmetic", "-", "+", True),
        ("constant", "2", "3", True), ("constant", "2", "1", True), ("constant", "3", "4", True), ("min, max", "min", "max", False),
        ("negated", "found > other", "not (found > other)", False), ("arguments", "found, other", "other, found", False),
        ("removed", "found = pow(found, other)", "pass", False), ("removed", "found += 1", "pass", False),
        ("arithmetic", "+", "-", False), ("returned", "found,\n            other", "other,\n            found", False),
        ("returned", "a < b and b - a > 2", "not (a < b and b - a > 2)", True)}


def test_texts_and_speed_are_left_alone(tools):
    faults, _ = tools
    changed = Counter(each.of(SOURCE).decode() for each in faults.mutants_of("mine.py", SOURCE))
    texts = '"""A text with 1 < 2."""', '__all__ = ["x"]', "CHUNK = 4", "found {found + 1}", "LIMIT: int", '"Also a text."'
    assert all(text in source for source in changed for text in texts)


def test_tests_of_a_module(tools):
    _, mutants = tools
    assert mutants.tests_of("query/collide/two_bodies.py", ROOT) == ["query"]
    assert mutants.tests_of("cli/demo.py", ROOT)[0] == "test_cli.py" and "test_scene.py" in mutants.tests_of("scene.py", ROOT)
    modules = {file.relative_to(ROOT / "src" / "pliant").parts[0] for file in (ROOT / "src" / "pliant").rglob("*.py")}
    for module in modules:
        tests = mutants.tests_of(module, ROOT)
        assert tests and all((ROOT / "tests" / each).exists() for each in tests), module


def test_the_run_ends_in_drawing_order(tools):
    _, mutants = tools
    verdicts = ["found", "survived", "missed", "found"]
    known = {k: {"verdict": verdict} for k, verdict in enumerate(verdicts)}
    assert mutants.counting(known, 2) == ([known[k] for k in range(3)], True)
    assert mutants.counting(known, 4)[1] is False
    del known[1]
    assert mutants.counting(known, 1) == ([known[0]], True) and mutants.counting(known, 2) == ([known[0]], False)
