"""Policies in TOML files: what is saved comes back, and a file that is wrong is refused by name, as a whole."""

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant as pl
from pliant.errors import FileError
from pliant.refit import policy_files
from pliant.refit.policy import POLICIES
from pliant.refit.policy_files import check_tuned_value, read_policy, save_policy

pytestmark = pytest.mark.formulas
FIRST = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
TABLES = [{"name": "inflated", "criterion": "A|(B&C)", "p_max": 2.5, "k": 0.1, "gamma": 3.0, "how": "best"}, {"name": "active"},
          {"name": "hybrid", "depth": 3, "below": "subtree"}, {"name": "hybrid", "depth": None, "below": 2},
          {"name": "auto", "background": True}]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_what_is_saved_comes_back(table, tmp_path):
    path, tuned = tmp_path / "policy.toml", {"on": "two plates, \"cable\" \\ \n\x7f é", "frames": 700, "score": 0.1 + 0.2, "Größe": -1e-300}
    save_policy(path, table, tuned)
    for named in (path, str(path)):
        body = pl.Body(FIRST, [[0, 1, 2]], policy=named)
        assert body._options == pl.Body(FIRST, [[0, 1, 2]], policy=table)._options
    assert tomllib.loads(path.read_text(encoding="utf-8"))["tuned"] == tuned
    assert os.listdir(tmp_path) == ["policy.toml"]


def test_all_ways_to_make_a_body_take_files(tmp_path):
    save_policy(tmp_path / "policy.toml", "lazy")
    path = str(tmp_path / "policy.toml")
    bodies = pl.Body.rigid(FIRST, [[0, 1, 2]], policy=path), pl.Body.morph([FIRST, FIRST], [[0, 1, 2]], policy=path)
    assert [body._options.policy.name for body in bodies] == ["lazy", "lazy"]
    (tmp_path / "blended.toml").write_text('policy.name = "blended"\npolicy.stamps = false')
    body = pl.Body.morph([FIRST, FIRST], [[0, 1, 2]], policy=tmp_path / "blended.toml")
    assert body._options.settings == {"between": 0, "stamps": False, "front": False}
    with pytest.raises(FileError, match="blended"):                     # for bodies between shapes only
        pl.Body(FIRST, [[0, 1, 2]], policy=tmp_path / "blended.toml")


def test_options_that_are_missing_have_their_defaults(tmp_path):
    (tmp_path / "policy.toml").write_text('[policy]\nname = "inflated"\nk = 1\n')
    assert read_policy(tmp_path / "policy.toml") == {"name": "inflated", "k": 1.0}
    body = pl.Body(FIRST, [[0, 1, 2]], policy=tmp_path / "policy.toml")
    assert body._options.settings == {**pl.Body(FIRST, [[0, 1, 2]], policy="inflated")._options.settings, "k": 1.0}


INFLATED = '[policy]\nname = "inflated"\n'
REFUSED = {
    "empty": ("", r"\[policy\]: missing"),
    "no table": ("policy = 3", "policy: expected a table, got int"),
    "several": ("[[policy]]\nname = 'lazy'", "policy: expected a table"),
    "nameless": ("[policy]\np_max = 1", r"\[policy\] name: missing"),
    "unknown name": ("[policy]\nname = 'inflate'", r"\[policy\] name: expected one of .*'inflated'"),
    "no name": ("[policy]\nname = 3", r"\[policy\] name"),
    "unknown option": (INFLATED + "pmax = 1", r"\[policy\] pmax: not known here; known are criterion"),
    "option of another": (INFLATED + "depth = 1", r"\[policy\] depth: not known here"),
    "unknown table": (INFLATED + "[tuning]", "tuning: not known here; known are policy, tuned"),
    "wrong type": (INFLATED + "p_max = '2'", r"\[policy\] p_max: expected a number, got str"),
    "flag": (INFLATED + "p_max = true", r"\[policy\] p_max: expected a number, got bool"),
    "not a number": (INFLATED + "k = nan", r"\[policy\] k: expected a finite number"),
    "too large": (INFLATED + "k = 2", r"\[policy\] k: expected a number from 0 to 1"),
    "huge": (INFLATED + "gamma = 1" + "0" * 400, r"\[policy\] gamma: expected integers of at most 64 bits"),
    "list": (INFLATED + "k = [0.5]", r"\[policy\] k: expected a number, got list"),
    "date": (INFLATED + "[tuned]\nat = 2024-01-01", r"\[tuned\] at: expected a text or a number, got date"),
    "deep": (INFLATED + "[tuned]\nat.x = 1", r"\[tuned\] at: expected a text or a number, got dict"),
    "tuned flag": (INFLATED + "[tuned]\nat = true", r"\[tuned\] at: expected a text or a number, got bool"),
    "endless": (INFLATED + "[tuned]\nat = inf", r"\[tuned\] at: expected a finite number"),
    "long": (INFLATED + f"[tuned]\nat = '{'x' * 1001}'", r"\[tuned\] at: expected a text of at most 1000"),
    "no tuned": ("tuned = 1\n" + INFLATED, "tuned: expected a table"),
    "twice": (INFLATED + "k = 1\nk = 1", "not TOML"),
    "no TOML": ("{'name': 'lazy'}", "not TOML"),
    "nested": ("x = " + "[" * 5000, "not TOML"),
    "newlines": (INFLATED + '"a\\nb" = 1', r"\[policy\] a b: not known here"),
    "long file": (INFLATED + "#" * (1 << 20), "longer than 1,048,576 bytes, which no description of a policy is"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, tmp_path):
    """In one line that names the file, the table and the key; no body is made."""
    path, (text, message) = tmp_path / "policy.toml", REFUSED[case]
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        pl.Body(FIRST, [[0, 1, 2]], policy=path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 500 + len(str(path))


def test_what_is_no_text(tmp_path):
    (tmp_path / "policy.toml").write_bytes(b"[policy]\nname = \"\xff\"")
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    for name, message in (("policy", "not a text in UTF-8"), ("folder", "not an ordinary one"), ("pipe", "not an ordinary one"),
                          ("missing", "no such file"), ("x" * 300, "no such file")):
        with pytest.raises(FileError, match=message):
            pl.Body(FIRST, [[0, 1, 2]], policy=str(tmp_path / f"{name}.toml"))
    with pytest.raises(ValueError, match="policy: expected one of"):
        pl.Body(FIRST, [[0, 1, 2]], policy="lazy.tom")


def test_a_saved_body_names_no_files(tmp_path):
    """Where a body comes from a file, that must not make us read another."""
    save_policy(tmp_path / "policy.toml", "lazy")
    pl.Body(FIRST, [[0, 1, 2]]).save(tmp_path / "body.npz")
    with np.load(tmp_path / "body.npz") as members:
        arrays = dict(members)
    meta = arrays["meta"].tobytes().replace(b'{"name": "auto", "background": false}', f'"{tmp_path / "policy.toml"}"'.encode())
    assert b"policy.toml" in meta
    with open(tmp_path / "body.npz", "wb") as file:
        np.savez(file, **arrays | {"meta": np.frombuffer(meta, np.uint8)})
    with pytest.raises(FileError, match="policy: expected one of"):
        pl.Body.load(tmp_path / "body.npz")


@pytest.mark.parametrize(("policy", "tuned", "error", "message"), [
    ({"name": "inflated", "k": 2}, None, ValueError, "policy: k"), ({"name": "nothing"}, None, ValueError, "policy: expected one of"),
    ({"name": "lazy", "k": 1}, None, ValueError, "'lazy' has no option 'k'"), ({}, None, ValueError, "policy: expected one of"),
    ("lazy", {"x": None}, TypeError, "tuned: x: expected a text or a number, got NoneType"), ("lazy", {"x": True}, TypeError, "tuned: x"),
    ("lazy", {"x": float("nan")}, ValueError, "tuned: x"), ("lazy", {"x": 2**63}, ValueError, "tuned: x"),
    ("lazy", {"x": "y" * 1001}, ValueError, "tuned: x"), ("lazy", {3: 1}, TypeError, "tuned: expected a table"),
    ("lazy", [1], TypeError, "tuned: expected a table"), ("lazy", {"x": "\ud800"}, ValueError, "tuned: .* is no character")])
def test_what_is_not_saved(policy, tuned, error, message, tmp_path):
    """Whatever was there stays."""
    path = tmp_path / "policy.toml"
    save_policy(path, "active")
    kept = path.read_bytes()
    with pytest.raises(error, match=message):
        save_policy(path, policy, tuned)
    assert path.read_bytes() == kept and os.listdir(tmp_path) == ["policy.toml"]


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "policy.toml"
    save_policy(path, "active")

    def stop(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        save_policy(path, "lazy")
    assert read_policy(path) == {"name": "active"} and os.listdir(tmp_path) == ["policy.toml"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.dictionaries(TEXTS, TEXTS | NUMBERS, max_size=4), NUMBERS)
def test_all_texts_and_numbers_come_back(tuned, number):
    """As TOML reads them, to the bit."""
    lines = [f"{policy_files.toml_string(key)} = {policy_files.to_toml(check_tuned_value(key, value))}" for key, value in tuned.items()]
    found = tomllib.loads("\n".join(["[tuned]", *lines, f"[other]\nx = {policy_files.to_toml(number)}"]))
    for wanted, read in ((tuned, found["tuned"]), ({"x": number}, found["other"])):
        assert {key: (type(value), value) for key, value in read.items()} == {key: (type(value), value) for key, value in wanted.items()}


def test_every_policy_can_be_saved(tmp_path):
    for name in POLICIES:
        save_policy(Path(tmp_path, f"{name}.toml"), {"name": name}, {})
        assert pl.Body(FIRST, [[0, 1, 2]], policy=f"{tmp_path}/{name}.toml")._options == pl.Body(FIRST, [[0, 1, 2]], policy=name)._options
