"""Intervals against all pairs of all frames."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pliant.check.pair_keys import face_offsets, pair_keys, split_keys
from pliant.check.static_pairs import IntervalBuilder

COUNTS = [3, 0, 4, 2]  # faces of each body
PAIRS = [(a, b, f, g) for a in range(4) for b in range(a, 4) for f in range(COUNTS[a]) for g in range(COUNTS[b]) if a != b or f < g]
OFFSETS = face_offsets(COUNTS)


def keys_of(pairs):
    rows = np.array(sorted(pairs), np.int32).reshape(-1, 4)
    return np.sort(pair_keys(OFFSETS, rows[:, :2], rows[:, 2:]))


def slow_intervals(frames, content):
    """(first, last, pair) of all that are not there in all frames; and these."""
    everywhere = set.intersection(*content) if len(frames) > 1 else set()
    rows = []
    for pair in set.union(*content) - everywhere:
        begin = None
        for k, frame in enumerate(frames):
            if pair in content[k] and begin is None:
                begin = frame
            if begin is not None and (k + 1 == len(frames) or pair not in content[k + 1]):
                rows.append((begin, frame, *pair))
                begin = None
    return sorted(rows, key=lambda row: (row[1], row[2:], row[0])), everywhere


@given(st.lists(st.sets(st.sampled_from(PAIRS[:12])), min_size=1, max_size=6), st.sets(st.sampled_from(PAIRS[:12])), st.data())
def test_intervals(content, known, data):
    frames = sorted(data.draw(st.sets(st.integers(0, 99), min_size=len(content), max_size=len(content))))
    rows, everywhere = slow_intervals(frames, content)
    builder = IntervalBuilder(OFFSETS, keys_of(known))
    none = np.zeros((0, 2), np.int32)
    for frame, pairs in zip(frames, content, strict=True):
        builder.add(frame, keys_of(pairs), none, none)
    found = builder.finish()
    assert np.array_equal(found.static, keys_of(everywhere))
    assert np.array_equal(found.found_known, keys_of(known & set.union(*content)))
    written = np.concatenate([np.zeros((0, 7), np.int32), *found.chunks()]).tolist()
    assert [tuple(row[:6]) for row in written] == rows and found.size == len(rows)
    assert [bool(row[6]) for row in written] == [tuple(row[2:6]) in known for row in written]
    found.close()


def test_pairs_without_keys_are_of_one_frame():
    builder = IntervalBuilder(OFFSETS, np.zeros(0, np.int64))
    bodies, faces = np.array([[0, 2]], np.int32), np.array([[1, 9]], np.int32)  # a face that the first frame does not have
    for frame in (3, 4):
        builder.add(frame, keys_of([]), bodies, faces)
    found = builder.finish()
    assert [row.tolist() for row in next(found.chunks())] == [[3, 3, 0, 2, 1, 9, 0], [4, 4, 0, 2, 1, 9, 0]] and not len(found.static)
    found.close()


@given(st.sets(st.sampled_from(PAIRS)))
def test_keys_and_back(pairs):
    bodies, faces = split_keys(OFFSETS, keys_of(pairs))
    assert {(*two, *both) for two, both in zip(bodies.tolist(), faces.tolist(), strict=True)} == pairs
