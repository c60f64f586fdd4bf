"""The journal: what was added is there again, whatever was cut off the end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.check.journal import Journal, pack_arrays, unpack_arrays
from pliant.errors import FileError

PLAN = {"frames": [0, 9, 10], "bodies": ["a"]}


def rows(frame):
    return {"faces": np.arange(2 * frame, dtype=np.int32).reshape(-1, 2), "seconds": np.array([0.5, frame])}


def shapes(frame):
    return {"v0": np.full((3, 3), frame, np.float32)} if frame % 2 else None


def fill(path, frames):
    with Journal(path, PLAN) as journal:
        for frame in frames:
            journal.add(frame, rows(frame), shapes(frame))


def fill_with(path, plan):
    with Journal(path, plan) as journal:
        journal.add(0, rows(0), None)


def same(one, other):
    alike = (np.array_equal(one[name], other[name]) and one[name].dtype == other[name].dtype for name in one)
    return one.keys() == other.keys() and all(alike)


@given(st.lists(st.tuples(st.sampled_from(["<i4", "<f8", "|b1"]), st.lists(st.integers(0, 4), max_size=3)), max_size=4))
def test_arrays_are_packed_and_unpacked(kinds):
    rng = np.random.default_rng(1)
    arrays = {f"a{k}": rng.integers(0, 2, shape).astype(dtype) for k, (dtype, shape) in enumerate(kinds)}
    assert same(unpack_arrays(pack_arrays(arrays)), arrays)


def test_what_was_added_is_there_again(tmp_path):
    fill(tmp_path / "j", [3, 0, 5])
    with Journal(tmp_path / "j", PLAN) as journal:
        assert journal.done == {0, 3, 5} and journal.drawn_frames == [3, 5]
        journal.add(1, rows(1), shapes(1))
        for frame in (0, 1, 3, 5):
            assert same(journal.pairs(frame), rows(frame))
        for frame in (1, 3, 5):
            assert same(journal.shapes(frame), shapes(frame))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a journal, and where each of its frames is whole."""
    path, ends = tmp_path_factory.mktemp("journal") / "j", []
    for count in range(6):
        path.unlink(missing_ok=True)
        fill(path, range(count))
        ends.append(path.stat().st_size)
    return path.read_bytes(), ends


@given(data=st.data())
@settings(deadline=None)
def test_a_torn_end_costs_at_most_one_frame(tmp_path_factory, whole, data):
    """However the file was cut, or what was written after the cut: all frames before are there, and the journal goes on."""
    content, ends = whole
    cut = data.draw(st.integers(0, len(content)))
    junk = data.draw(st.binary(max_size=40))
    path = tmp_path_factory.mktemp("torn") / "j"
    path.write_bytes(content[:cut] + junk)
    if content[:cut] + junk == content[:cut + len(junk)]:
        cut += len(junk)
    expected = set(range(sum(end <= cut for end in ends) - 1)) if cut >= ends[0] else set()
    with Journal(path, PLAN) as journal:
        assert journal.done == expected
        journal.add(7, rows(7), shapes(7))
    with Journal(path, PLAN) as journal:
        assert journal.done == expected | {7} and all(same(journal.pairs(frame), rows(frame)) for frame in journal.done)


@given(data=st.data())
@settings(deadline=None)
def test_damage_is_noticed(tmp_path_factory, whole, data):
    """A flipped bit makes its frame, and what follows, undone; never wrong."""
    content, ends = whole
    at = data.draw(st.integers(ends[0], len(content) - 1))
    path = tmp_path_factory.mktemp("damaged") / "j"
    path.write_bytes(content[:at] + bytes([content[at] ^ 1 << data.draw(st.integers(0, 7))]) + content[at + 1:])
    with Journal(path, PLAN) as journal:
        assert journal.done == set(range(sum(end <= at for end in ends) - 1))
        assert all(same(journal.pairs(frame), rows(frame)) for frame in journal.done)


def test_the_journal_of_another_check_is_refused(tmp_path):
    fill(tmp_path / "j", [0])
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(FileError, match=r"j: is of another check, whose frames was \[0, 9, 10\] and is \[0, 5, 6\] now; --overwrite"):
        Journal(tmp_path / "j", {**PLAN, "frames": [0, 5, 6]})
    with pytest.raises(FileError, match=r"whose within was 0\.1 and is null now"):
        fill_with(tmp_path / "other", {"options": {"long": "x" * 200, "within": 0.1}})
        fill_with(tmp_path / "other", {"options": {"long": "x" * 200, "within": None}})
    assert (tmp_path / "j").read_bytes() == before


def test_a_large_file_that_is_no_journal_is_left_alone(tmp_path):
    (tmp_path / "j").write_bytes(b"precious" * 300_000)
    with pytest.raises(FileError, match="is not the journal of a check"):
        Journal(tmp_path / "j", PLAN)
    assert (tmp_path / "j").stat().st_size == 2_400_000
