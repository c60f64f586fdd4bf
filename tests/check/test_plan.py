"""Which frames and which bodies a check asks about."""

from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.check.plan import CheckOptions, make_pair_filter, select_frames

NAMES = ["arm left", "arm right", "table", "cup: blue"]


@given(st.integers(1, 50), *[st.one_of(st.none(), st.integers(-60, 60))] * 2, st.one_of(st.none(), st.integers(1, 60)))
def test_slices_are_those_of_python(count, start, stop, step):
    text = ":".join("" if part is None else str(part) for part in (start, stop, step))
    expected = list(range(count))[start:stop:step]
    if expected:
        assert select_frames(text, count) == expected
    else:
        with pytest.raises(ValueError, match="names none of the frames"):
            select_frames(text, count)


@pytest.mark.parametrize(("text", "expected"), [("3", [3]), ("-1", [9]), (" 2 : 4 ", [2, 3]), (":", list(range(10))), ("::4", [0, 4, 8])])
def test_frames(text, expected):
    assert select_frames(text, 10) == expected


@pytest.mark.parametrize("text", ["", "a", "1:2:3:4", "::0", "::-1", "1.5", "0x3"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="frames: expected a frame or START:STOP:STEP"):
        select_frames(text, 10)


@pytest.mark.parametrize("text", ["10", "-11", "5:5", "20:"])
def test_frames_that_are_not_there(text):
    with pytest.raises(ValueError, match="names none of the frames 0 to 9"):
        select_frames(text, 10)


def pairs(**options):
    """The pairs of places that are asked about, the lower one first."""
    return asked_of(CheckOptions(**options), NAMES)


def asked_of(question, names):
    kinds, others, alone = make_pair_filter(question, names)
    assert np.array_equal(others, others.T)
    return {(i, j) for i in range(len(names)) for j in range(i, len(names)) if (alone[kinds[i]] if i == j else others[kinds[i], kinds[j]])}


EVERY = {(i, j) for i in range(4) for j in range(i, 4)}
ALONE = {(i, i) for i in range(4)}


def test_all_pairs_unless_told_otherwise():
    assert pairs() == EVERY
    assert pairs(with_self=False) == EVERY - ALONE
    assert pairs(between=False) == ALONE


def test_rules():
    assert pairs(pairs=["arm*:table"]) == {(0, 2), (1, 2)}
    assert pairs(pairs=["table:arm*"]) == {(0, 2), (1, 2)}
    assert pairs(pairs=["arm*:arm*"]) == {(0, 0), (0, 1), (1, 1)}
    assert pairs(pairs=["arm*:arm*"], with_self=False) == {(0, 1)}
    assert pairs(pairs=["*:*"], ignore=["table:*"]) == {(i, j) for i, j in EVERY if 2 not in (i, j)}
    assert pairs(pairs=["table:cup: blue", "table:table"]) == {(2, 2), (2, 3)}, "a name may have a colon"


def test_groups():
    groups = {"robot": "arm left, arm right", "things": "table,cup*"}
    assert pairs(groups=groups, pairs=["robot:things"]) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert pairs(groups=groups, ignore=["things:*"]) == {(0, 0), (0, 1), (1, 1)}


SIDES = st.sampled_from(["a*", "*b", "?a", "aa", "ab", "ba", "*", "both"])
RULES = st.lists(st.tuples(SIDES, SIDES), max_size=4)


@given(st.lists(st.sampled_from(["aa", "ab", "ba", "bb", "b c"]), max_size=6), RULES, RULES, st.booleans(), st.booleans())
def test_rules_are_about_every_pair_that_they_name(more, wanted, ignored, between, with_self):
    names = ["aa", "ab", "ba", *more]

    def fits(side, name):
        return any(fnmatchcase(name, each) for each in (["aa", "ba"] if side == "both" else [side]))

    def about(rules, i, j):
        return any(fits(a, names[p]) and fits(b, names[q]) for a, b in rules for p, q in ((i, j), (j, i)))

    expected = {(i, j) for i in range(len(names)) for j in range(i, len(names)) if (with_self if i == j else between)
                and (not wanted or about(wanted, i, j)) and not about(ignored, i, j)}  # fmt: skip
    options = {"pairs": [":".join(each) for each in wanted], "ignore": [":".join(each) for each in ignored], "groups": {"both": "aa,ba"}}
    if expected:
        assert asked_of(CheckOptions(between=between, with_self=with_self, **options), names) == expected
    else:
        with pytest.raises(ValueError, match=r"nothing to test|nothing is left"):
            make_pair_filter(CheckOptions(between=between, with_self=with_self, **options), names)


def test_kinds_are_as_few_as_rules_tell_apart():
    names = [f"stone {k}" for k in range(3000)]
    assert len(make_pair_filter(CheckOptions(), names).allowed_self) == 1
    kinds, others, alone = make_pair_filter(CheckOptions(pairs=["stone 7:stone 8", "stone 1*:stone 7"]), names)
    assert others.shape == (4, 4) and len(kinds) == 3000 and not alone.any() and len(np.unique(kinds)) == 4
    assert len(make_pair_filter(CheckOptions(), []).body_kinds) == 0


@pytest.mark.parametrize(("options", "says"), [
    ({"pairs": ["leg:table"]}, "'leg' names no body; known are arm left, arm right"), ({"pairs": ["table"]}, "expected A:B"),
    ({"ignore": ["table:leg"]}, "ignore: 'leg' names no body"), ({"groups": {"g": "table,leg"}}, "group: 'leg' names no body"),
    ({"ignore": ["*:*"]}, "pairs: of 4 bodies, nothing is left"), ({"pairs": ["table:table"], "with_self": False}, "nothing is left"),
])
def test_unknown_names_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        make_pair_filter(CheckOptions(**options), NAMES)


@pytest.mark.parametrize(("options", "says"), [
    ({"engine": "gpu"}, "engine: .*'gpu'"), ({"policy": "eager"}, "policy: .*'eager'"), ({"adjacent": "some"}, "adjacent: .*'some'"),
    ({"within": -1.0}, "within: .*-1"), ({"within": float("nan")}, "within: .*nan"), ({"within": 1.0, "engine": "image"}, "within: .*tree"),
    ({"device": "cuda"}, "device: .*image"), ({"weld": -2.0}, "weld: "),
    ({"depth": False, "min_depth": 1.0}, "min-depth: needs depths"), ({"depth": False, "fail_on": "depth>1"}, "fail-on: needs depths"),
    ({"min_depth": -1.0}, "min-depth: .*-1"), ({"up": "x"}, "up: .*'x'"),
    ({"between": False, "with_self": False}, "pairs: nothing to test"),
])
def test_questions_are_examined(options, says):
    with pytest.raises(ValueError, match=says):
        CheckOptions(**options)


def test_a_name_that_can_be_parted_in_two_ways():
    with pytest.raises(ValueError, match="'a:b:c' can be split in 2 ways"):
        make_pair_filter(CheckOptions(pairs=["a:b:c"]), ["a", "b:c", "a:b", "c"])
