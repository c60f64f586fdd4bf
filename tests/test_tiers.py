"""The two tiers of tests: together they are all, and the short one has what its page promises."""

import re
from pathlib import Path

import pytest

import tiers
from siblings import VOLUMES

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "tiers.md"


class Call:
    def __init__(self, **params):
        self.params = params


class Item:
    def __init__(self, path, name, call=None):
        self.path, self.originalname, self.cls, self.callspec = HERE / path, name, None, call


def some():
    """Items such as pytest collects."""
    for volume in (*VOLUMES, "aabb"):
        for arity in (2, 8):
            yield Item("query/test_mine.py", "test_volumes", Call(options={"volume": volume, "arity": arity}))
    for k in range(100):
        yield Item("query/test_mine.py", "test_many", Call(k=k))
    yield Item("query/test_mine.py", "test_one")
    yield Item("geometry/test_mine.py", "test_one")
    yield Item("core/test_cache.py", "test_one")
    yield Item("experiments/test_larsson2001.py", "test_one")


@pytest.mark.parametrize("mode", tiers.CASES)
def test_few_cases_of_each_function(mode):
    items = list(some())
    chosen = tiers.short(items, HERE, mode)
    names = [(item.path.parent.name, item.originalname) for item in items if item in chosen]
    assert names.count(("geometry", "test_one")) == 1 and ("core", "test_one") not in names and ("tests", "test_one") not in names
    assert names.count(("query", "test_many")) == (0 if mode == "off" else tiers.CASES[mode])
    if mode == "jit":
        options = [item.callspec.params["options"] for item in items if item in chosen and item.originalname == "test_volumes"]
        assert options and all(option["arity"] == 8 and option["volume"] in tiers.VOLUMES for option in options)


def test_cases_are_spread_evenly():
    assert tiers.spread(list(range(100)), 4) == [0, 25, 50, 75]
    assert tiers.spread([1, 2], 4) == [1, 2]


@pytest.fixture
def fixtures(request):
    """tests/conftest.py; there are others of that name."""
    return request.config.pluginmanager.get_plugin(str(HERE / "conftest.py"))


def test_every_policy_and_builder_is_in_the_short_tier(fixtures):
    assert tiers.missing(fixtures.COVER) == (set(), set())


def test_one_mixed_pair(fixtures):
    pairs = [{one["volume"], other["volume"]} for one, other in fixtures.TWOS if tiers.is_small((one, other))]
    assert tiers.MIXED in pairs and all(pair <= set(tiers.VOLUMES) for pair in pairs)


def test_what_is_named_exists():
    for name in (*tiers.FULL, *tiers.SHORT):
        path, _, function = name.partition("::")
        assert (HERE / path).is_file(), name
        assert not function or re.search(rf"^def {function}\(", (HERE / path).read_text(encoding="utf-8"), re.M), name


def test_the_page_lists_what_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    for name, why in tiers.FULL.items():
        assert f"| `{name}` | {why} |" in text
