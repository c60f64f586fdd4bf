"""The sweep finds every two boxes that overlap, once, wherever strips begin and however often it stops; then triangles are tested."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from screens import flat

import meshes
import naive
from pliant.core.jit import ignore_float_errors
from pliant.image import intersect_cpu
from pliant.image.cover import corners_of, extent_of
from pliant.image.intersect import MAX_STRIP_BITS, strip_bits_for, strip_count
from pliant.image.intersect_cpu import LANES
from pliant.image.merge import pack_box
from pliant.image.screen import Viewport
from pliant.image.separate import BOX_SIZE, clip_face_box
from trials import OFF, often

pytestmark = pytest.mark.formulas
NOTHING = np.float32(2.0**-100)
ends = st.one_of(st.integers(0, 9).map(float), st.floats(0, 9, width=32))


def swept(boxes, size, strip, room=LANES, first_b=None, is_self=False, faces=None):
    """All candidates (f, g) of things with these boxes (n, SIDES), in the order in which they are found; faces of two parts by default."""
    boxes, n = np.asarray(boxes, np.float32), len(boxes)
    faces = np.arange(3 * n, dtype=np.int32) if faces is None else faces
    begins, order, lined, stride = intersect_cpu.sort_boxes(boxes.reshape(-1), size, strip)
    state, candidates, met = np.array([0, 1, 0]), np.empty(room, np.int64), np.zeros(n, np.uint8)
    found = []
    while state[0] < len(order):
        count = intersect_cpu.sweep(faces, np.arange(n, dtype=np.int32), lined, stride, size, strip, n // 2 if first_b is None else first_b,
                               is_self, begins, order, state, candidates, met)
        found += [(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in candidates[:count]]
    assert set(np.flatnonzero(met).tolist()) == {f for pair in found for f in pair}
    assert state[2] >= len(found)
    return found


def overlapping(boxes):
    """All (f, g), f < g, whose boxes overlap; touching counts."""
    low, high = np.asarray(boxes, np.float32)[:, :3], np.asarray(boxes, np.float32)[:, 3:]
    both = ((low[:, None] <= high) & (low <= high[:, None])).all(2)
    return [(f, g) for f, g in np.argwhere(both).tolist() if f < g]


@st.composite
def many_boxes(draw):
    rows = draw(st.lists(st.tuples(*[ends] * 6), min_size=2, max_size=14))
    rows = np.array(rows, np.float32)
    return np.hstack([np.minimum(rows[:, :3], rows[:, 3:]), np.maximum(rows[:, :3], rows[:, 3:])])


@often(120, share=10)
@given(many_boxes(), st.integers(0, 5), st.sampled_from([LANES, LANES + 1, 100]))
def test_every_two_boxes_that_overlap_are_found_once(boxes, strip, room):
    """Of two parts, one of each; of one, all."""
    n = len(boxes)
    found = swept(boxes, 9, strip, room)
    assert sorted(found) == [(f, g) for f, g in overlapping(boxes) if f < n // 2 <= g]
    assert sorted(swept(boxes, 9, strip, room, first_b=n, is_self=True)) == overlapping(boxes)


@pytest.mark.parametrize("strip", [0, 2, 6])
def test_many_boxes(strip):
    rng = np.random.default_rng(strip)
    low = rng.uniform(0, 20 if OFF else 60, (40 if OFF else 400, 3))
    boxes = np.hstack([low, np.minimum(low + rng.uniform(0, 3, low.shape) ** 2, 64)])
    found = swept(boxes, 64, strip, 1000, first_b=len(boxes), is_self=True)
    assert sorted(found) == overlapping(boxes)
    assert len(found) > len(low) / 10


def test_faces_that_share_a_vertex_are_no_candidates():
    boxes = np.tile([0, 0, 0, 1, 1, 1], (4, 1))
    faces = np.array([0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9], np.int32)
    assert sorted(swept(boxes, 2, 0, first_b=4, is_self=True, faces=faces)) == [(0, 2), (0, 3), (1, 3), (2, 3)]
    assert sorted(swept(boxes, 2, 0, first_b=1, faces=faces)) == [(0, 1), (0, 2), (0, 3)]


def test_strips_are_as_high_as_what_is_in_them():
    assert [strip_bits_for(height) for height in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1000.0, 1e30)] == [1, 1, 1, 2, 2, 3, 11, MAX_STRIP_BITS]
    assert [strip_count(size, 3) for size in (1, 7, 8, 9, 64, 65)] == [1, 1, 1, 2, 8, 9]


def test_what_is_left_is_cut_to_its_pixels():
    screen, faces = flat([[[1, 2, 30], [50, 4, 31], [3, 60, 32]]])
    out = np.zeros(8, np.float32)
    clip_face_box(screen, faces, 0, NOTHING, NOTHING, pack_box(10, 0, 20, 63), out, 1)
    box = extent_of(corners_of(screen, faces, 0), NOTHING, NOTHING)
    assert out.tolist() == [0, 10, float(box.low), float(box.near), 21, float(box.high), float(box.far), 0]
    assert BOX_SIZE == 6


@pytest.mark.parametrize("is_self", [False, True])
def test_triangles_are_tested_by_their_real_coordinates(is_self):
    """Whatever the screen says: one on which all are at one place makes every pair a candidate."""
    rng = np.random.default_rng(12)
    n = 6 if OFF else 24
    a, b = (meshes.soup(rng.integers(0, 4, (n, 3, 3)).astype(float)) for _ in range(2))
    right = naive.self_collide(*a) if is_self else naive.collide(*a, *b) + [0, n]
    count = n if is_self else 2 * n
    faces = a[1].reshape(-1) if is_self else np.concatenate([a[1], b[1] + np.int32(3 * n)]).reshape(-1)
    screen, view = np.zeros(12 * count, np.float32), Viewport(np.zeros(18), NOTHING, NOTHING, 4)
    left, pixels = np.arange(count, dtype=np.int32), np.full(count, pack_box(0, 0, 3, 3))
    parts = a[0].reshape(-1), (a if is_self else b)[0].reshape(-1)
    with ignore_float_errors():
        keys, looks, tested, exactly, met = intersect_cpu.intersect_faces(
            screen, faces, view, left, pixels, *parts, n, 3 * n, is_self, True, False)
        one = intersect_cpu.intersect_faces(screen, faces, view, left, pixels, *parts, n, 3 * n, is_self, True, True)
    assert sorted((int(key) >> 32, int(key) & 0xFFFFFFFF) for key in keys) == list(map(tuple, right.tolist()))
    assert len(right) > 3
    assert tested == (n * (n - 1) // 2 if is_self else n * n) <= looks
    assert 0 <= exactly <= tested and met == count
    assert 1 <= len(one[0]) <= len(keys)


def test_nothing_left_gives_nothing():
    none, view = np.empty(0, np.int32), Viewport(np.zeros(18), NOTHING, NOTHING, 4)
    found = intersect_cpu.intersect_faces(np.zeros(12, np.float32), np.arange(3, dtype=np.int32), view, none, np.empty(0, np.int64),
                                          np.zeros(9),
                          np.zeros(9), 1, 3, True, True, False)
    assert (len(found[0]), *found[1:]) == (0, 0, 0, 0, 0)
