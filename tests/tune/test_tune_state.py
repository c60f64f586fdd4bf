"""A search that was stopped goes on from its state as if it had not been; a state of something else, or a damaged one, is refused."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import FileError
from pliant.tune import Animation, tune
from pliant.tune.state import FORMAT, MAX_BYTES, read_state, write_state
from synthetic import FACES, FRAMES, PAIR, Synthetic, use

pytestmark = pytest.mark.formulas

SMALL = {"criteria": ["A", "B", "A|(B&C)", "none"], "population": 6, "generations": 5, "seed": 7}


@pytest.mark.parametrize("stops", [(0,), (1,), (5, 3), (17,), (4, 9, 11)])
def test_a_search_goes_on_where_it_was(monkeypatch, tmp_path, stops):
    whole = use(monkeypatch, Synthetic())
    expected = tune(PAIR, **SMALL)
    path, calls = tmp_path / "state.json", []
    for stop in stops:
        part = use(monkeypatch, Synthetic(stop))
        with pytest.raises(KeyboardInterrupt):
            tune(PAIR, state=path, **SMALL)
        calls += part.calls
        assert len(part.calls) == stop
        known = json.loads(path.read_text())["scored"]
        assert sum(map(len, known.values())) == len(calls), "nothing that was scored is lost"
    rest = use(monkeypatch, Synthetic())
    assert tune(PAIR, state=str(path), **SMALL) == expected
    assert calls + rest.calls == whole.calls, "nothing is scored twice, and the way is the same"
    again = use(monkeypatch, Synthetic())
    assert tune(PAIR, state=path, **SMALL) == expected and again.calls == []
    assert os.listdir(tmp_path) == ["state.json"]


def test_an_error_keeps_what_was_scored(monkeypatch, tmp_path):
    use(monkeypatch, Synthetic(9, OSError("broken")))
    with pytest.raises(OSError, match="broken"):
        tune(PAIR, state=tmp_path / "state", **SMALL)
    assert sum(map(len, json.loads((tmp_path / "state").read_text())["scored"].values())) == 9


def test_the_state_is_on_disk_while_the_search_runs(monkeypatch, tmp_path):
    """Whoever kills the process loses what a second brought, no more."""
    monkeypatch.setattr("pliant.tune.tuner.SAVE_INTERVAL", 0.0)
    path, seen = tmp_path / "state", []
    score = use(monkeypatch, Synthetic())
    tune(PAIR, state=path, progress=lambda _: seen.append((len(score.calls), path.read_text().count("], "))), **SMALL)
    written = [json for _, json in seen]
    assert all(a <= b for a, b in pairwise(written)) and len(set(written)) > 20


def test_a_state_that_cannot_be_written_is_known_at_once(monkeypatch, tmp_path):
    score = use(monkeypatch, Synthetic())
    with pytest.raises(OSError, match="nowhere"):
        tune(PAIR, state=tmp_path / "nowhere" / "state", **SMALL)
    assert score.calls == []


@pytest.mark.parametrize(("changes", "message"), [
    ({"seed": 8}, "is the state of a search with seed 7, not 8"),
    ({"generations": 6}, "with generations 5, not 6"),
    ({"population": 7}, "with population 6, not 7"),
    ({"criteria": ["A"]}, r'with criteria \["A", "B", "A\|\(B&C\)", "none"\], not \["A"\]'),
    ({"query": "collide"}, 'with query "distance", not "collide"'),
    ({"score": "seconds"}, 'with score "counters", not "seconds"'),
    ({"query": "within", "tolerance": 0.5}, "with query"),
    ({"weights": (1, 2, 3)}, "with weights"),
    ({"options": {"volume": "sphere"}}, r'with options {}, not {"volume": "sphere"}'),
])
def test_a_state_of_other_settings_is_refused(monkeypatch, tmp_path, changes, message):
    score = use(monkeypatch, Synthetic())
    path = tmp_path / "state"
    tune(PAIR, state=path, **SMALL)
    before, done = path.read_bytes(), len(score.calls)
    with pytest.raises(FileError, match=message):
        tune(PAIR, state=path, **{**SMALL, **changes})
    assert path.read_bytes() == before and len(score.calls) == done


def test_a_state_of_another_animation_is_refused(monkeypatch, tmp_path):
    use(monkeypatch, Synthetic())
    path = tmp_path / "state"
    tune(PAIR, state=path, **SMALL)
    other = FRAMES.copy()
    other[2, 1, 0] = np.nextafter(other[2, 1, 0], 9)
    for animation in (Animation([(FACES, other), PAIR.bodies[1]]), [PAIR, PAIR], Animation(PAIR.bodies[::-1]),
                      Animation([(FACES[:, ::-1], FRAMES), PAIR.bodies[1]])):
        with pytest.raises(FileError, match="is the state of another animation; name another file, or remove this one"):
            tune(animation, state=path, **SMALL)
    tune(PAIR._replace(name="another name"), state=path, **SMALL)


# ------------------------------------------------------------------------------------------------ hostile files

SETTINGS = {"seed": 1}
GOOD = {"format": FORMAT, "digest": "d", "settings": SETTINGS, "scored": {"A": [[[1.5], 2.0], [[0.25], 3]], "all": [[[], 1.0]]}}


def refused(tmp_path, content, message):
    path = tmp_path / "state"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(FileError, match=message) as caught:
        read_state(path, "d", SETTINGS)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value) and len(str(caught.value)) < len(str(path)) + 400


def test_a_good_state_is_read(tmp_path):
    (tmp_path / "state").write_text(json.dumps(GOOD))
    assert read_state(tmp_path / "state", "d", SETTINGS) == {"A": {(1.5,): 2.0, (0.25,): 3.0}, "all": {(): 1.0}}
    assert read_state(tmp_path / "none", "d", SETTINGS) == {}


def scored(**rows):
    return {**GOOD, "scored": {name.replace("_", "&"): value for name, value in rows.items()}}


@pytest.mark.parametrize(("content", "message"), [
    (b"", "not the state of a search"),
    (b"\xff\xfe", "not the state of a search"),
    (b"[" * 100_000, "not the state of a search"),
    (b"[1]", "expected format 'pliant tune 1', got list"),
    (b'{"format": 1e400}', "expected format 'pliant tune 1', got Infinity"),
    (b'{"format": NaN}', "NaN is no number"),
    (b'{"format": ' + b"9" * 5000 + b"}", "not the state of a search"),
    (b" " * (MAX_BYTES + 1), "longer than"),
    ({**GOOD, "format": "x" * 1000}, "expected format"),
    ({**GOOD, "digest": ["d"]}, "another animation"),
    ({**GOOD, "settings": [1]}, "settings: expected a table, got list"),
    ({**GOOD, "settings": {}}, "with seed null, not 1"),
    ({**GOOD, "settings": {"seed": 1, "more" * 100: None}}, "with more"),
    ({**GOOD, "scored": None}, "scored: expected a table, got NoneType"),
    (scored(D=[]), 'scored: "D" is no criterion'),
    (scored(A={}), "scored: A: expected rows, got dict"),
    (scored(A=[[[1.5], 2.0], [[1.5], 2.0]]), r"A: row 1: \[1.5\] is there twice"),
    (scored(A=[[[1.5, 2.5], 2.0]]), r"A: row 0: expected \[\[p_max\], score\], got"),
    (scored(B_C=[[[0.5], 2.0]]), r"B&C: row 0: expected \[\[k, gamma\], score\]"),
    (scored(A=[7]), "A: row 0: expected"),
    (scored(A=[[[10.5], 2.0]]), r"row 0: \[10.5\] is out of range, or not rounded"),
    (scored(A=[[[0.123456], 2.0]]), "not rounded"),
    (scored(A=[[[-1], 2.0]]), "expected numbers from 0 up, got -1"),
    (scored(A=[[[True], 2.0]]), "expected numbers from 0 up, got true"),
    (scored(A=[[["1"], 2.0]]), 'expected numbers from 0 up, got "1"'),
    (scored(A=[[[1], None]]), "expected numbers from 0 up, got null"),
    (scored(A=[[[1], 10**400]]), "expected numbers from 0 up, got 1000"),
    (scored(A=[[[1], {"a": ["x" * 500]}]]), "expected numbers from 0 up"),
])
def test_a_bad_state_is_refused(tmp_path, content, message):
    refused(tmp_path, content, message)


def test_a_folder_is_no_state(tmp_path):
    with pytest.raises(FileError, match="not an ordinary file"):
        read_state(tmp_path, "d", SETTINGS)


NAMES = st.sampled_from(["A", "all", "seed", "x"])
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(key=st.sampled_from(["format", "digest", "settings", "scored"]), value=JSON)
def test_any_state_is_read_or_refused(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_text(json.dumps({**GOOD, key: value}))
    try:
        found = read_state(path, "d", SETTINGS)
    except FileError:
        return
    write_state(path, "d", SETTINGS, found)
    assert read_state(path, "d", SETTINGS) == found
