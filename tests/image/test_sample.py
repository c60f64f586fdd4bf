"""On which rays something may collide: wherever faces have a point in common; and fragments are peeled off in order, from both ends."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from screens import exactly, flat, on_screen, pixel_of

import meshes
import naive
import pliant as pl
from pliant.core.jit import DISABLED, ignore_float_errors
from pliant.core.sort_keys import key_index, key_value
from pliant.image import sample_cpu
from pliant.image.cover import corners_of, depth_interval, extent_of, in_window, pixel_at, row_span, slopes_of
from pliant.image.sample import (
    COUNT_MASK,
    FACE_MASK,
    MAX_KEY,
    MAX_LISTED,
    MIN_KEY,
    any_overlap,
    is_tested,
    listed_count,
    odd_count,
    pack_fragment,
    share_vertex,
)
from trials import often

pytestmark = pytest.mark.formulas
NOTHING = np.float32(2.0**-100)


# --- conservative ---------------------------------------------------------------------------------------------------------------

lattice = st.integers(-3, 3).map(float)
crooked = st.one_of(lattice, st.floats(-4, 4, width=32), st.builds(lambda k, e: k * 10.0**e, st.integers(-3, 3), st.integers(-9, 9)))


def soups(most):
    rows = st.lists(st.tuples(*[crooked] * 9), min_size=1, max_size=most)
    return rows.map(lambda rows: meshes.soup(np.array(rows, np.float64).reshape(-1, 3, 3)))


def assert_common_points_are_on(loops, pairs, corners_a, corners_b):
    """All extreme points of what faces share: a convex thing, of which no part is elsewhere than between those."""
    loops.sample()
    size = loops.view.size
    for i, j in pairs:
        for point in naive.common(corners_a[i], corners_b[j]):
            x, y, z = exactly(loops.view, point)
            column, row = pixel_of(x, size), pixel_of(y, size)
            assert loops.active[row * size + column], f"the faces {i} and {j} meet at {[float(c) for c in (x, y, z)]}"


@often(100)
@given(soups(4), soups(4), st.sampled_from([1, 2, 3, 8, 16]), st.sampled_from([None, (0, 0, 1), (1, 2, 3)]))
def test_common_points_of_two_parts_are_in_pixels_that_are_on(a, b, size, direction):
    pairs = naive.collide(*a, *b).tolist()
    loops = on_screen(a, b, size=size, direction=direction)
    assert loops is not None or not pairs
    if pairs:
        with ignore_float_errors():
            assert_common_points_are_on(loops, pairs, a[0][a[1]], b[0][b[1]])


@often(50)
@given(soups(6), st.sampled_from([1, 3, 8, 16]), st.sampled_from([None, (3, 1, -2)]))
def test_common_points_of_one_part_are_in_pixels_that_are_on(a, size, direction):
    pairs = naive.self_collide(*a).tolist()
    with ignore_float_errors():
        assert_common_points_are_on(on_screen(a, size=size, direction=direction), pairs, a[0][a[1]], a[0][a[1]])


def test_pixels_in_which_nothing_overlaps_are_off():
    """Two sheets one over the other, and a third that crosses the upper one at one side."""
    vertices, faces = meshes.cube()
    a, b = (vertices * [4, 4, 0.5], faces), (vertices * [4, 4, 0.5] + [0, 0, 1], faces)
    both = on_screen(meshes.joined(a, b), size=8, direction=(0, 0, 1))
    with ignore_float_errors():
        both.sample()
    inner = both.active.reshape(8, 8)[1:-1, 1:-1]                       # at the sides of a box faces stand upright
    assert not inner.any()
    blade = meshes.soup([[[1, 1, 0.7], [1.4, 1, 1.2], [1, 1.4, 1.2]]])
    crossing = on_screen(meshes.joined(a, b), blade, size=8, direction=(0, 0, 1))
    with ignore_float_errors():
        crossing.sample()
    assert crossing.active.any()


def test_kernels_do_what_the_steps_say():
    """Counts, where lists begin and what is in them, for two parts and for one; threads share the rows."""
    rng = np.random.default_rng(5)
    size, n, first_b = 9, 12, 7
    screen, faces = flat(rng.uniform(-2, 11, (n, 3, 3)) * np.where(rng.random((n, 1, 1)) < 0.3, 0.1, 1.0) + [0, 0, 400])
    screen[2::4] *= 2
    for is_self in (False, True):
        border = n if is_self else first_b
        lists = {}
        for f in range(n):
            t = corners_of(screen, faces, f)
            box = extent_of(t, NOTHING, NOTHING)
            with np.errstate(all="ignore"):
                slopes = slopes_of(t, box)
            for y in range(pixel_at(box.low, size), pixel_at(box.high, size) + 1) if in_window(box, size) else ():
                first, last = row_span(t, box, y, size)
                for x in range(first, last + 1):
                    lists.setdefault(y * size + x, []).append(int(pack_fragment(*depth_interval(slopes, box, x, y), f)))
        assert max(map(len, lists.values())) > 3
        counts, begins, on = np.zeros(size * size, np.int64), np.empty(size * size + 1, np.int32), np.empty(size * size, np.uint8)
        cuts = [(0, 4), (4, size)]
        with ignore_float_errors():
            for low, high in cuts:
                sample_cpu.count_faces(screen, faces, border, NOTHING, NOTHING, size, low, high, 0, n, counts)
            expected = np.zeros(size * size, np.int64)
            for p, names in lists.items():
                expected[p] = sum(1 if name & FACE_MASK < border else 1 << 32 for name in names)
            np.testing.assert_array_equal(counts, expected)
            total, deepest = sample_cpu.layout_lists(counts, is_self, begins, on)
            assert deepest == max(map(len, lists.values()))
            listed = np.full(total, -1, np.int64)
            for low, high in cuts:
                sample_cpu.list_faces(screen, faces, border, NOTHING, NOTHING, size, low, high, 0, n, begins, counts, listed)
            sample_cpu.test_pixels(faces, border, is_self, 0, size * size, begins, listed, on)
        for p in range(size * size):
            names = lists.get(p, [])
            found = listed[begins[p]:begins[p + 1]].tolist()
            assert len(found) == (listed_count(expected[p], is_self) if len(names) > 1 else 0)
            overlapping = [
                (p, q) for k, p in enumerate(names) for q in names[k + 1:]
                if p >> 46 <= (q >> 30) & 0xFFFF and q >> 46 <= (p >> 30) & 0xFFFF
                and (is_self or (p & FACE_MASK < border) != (q & FACE_MASK < border))]
            assert bool(on[p]) == bool(overlapping)
            if found:
                near = dict((name & FACE_MASK, name) for name in names)
                assert sorted(name & FACE_MASK for name in found) == sorted(near)
                for name in found:                                      # a compiled sum may round otherwise
                    assert abs((name >> 46) - (near[name & FACE_MASK] >> 46)) <= 1
                sides = [name & FACE_MASK < border for name in found]
                assert sides == sorted(sides, reverse=True)


def test_long_lists_are_not_looked_at():
    """The pixel is on, though nothing in it meets."""
    for n, on in ((MAX_LISTED // 2 + 1, False), (MAX_LISTED // 2 + 2, True)):  # the window ends with the first of b and the last of a
        level = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
        a, b = (meshes.soup(level + [[[0, 0, z]] for z in range(start, 2 * n + start, 2)]) for start in (0, 1))
        loops = on_screen(a, b, size=1, direction=(0, 0, 1))
        with ignore_float_errors():
            loops.sample()
        assert (loops.deepest, np.count_nonzero(loops.active), loops.fragments) == (2 * n - 2, int(on), 0 if on else 2 * n - 2)


def test_who_matters_to_whom():
    faces = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 8, 0], np.int32)
    shared = [[share_vertex(faces, f, g) for g in range(4)] for f in range(4)]
    assert shared == [[True, True, False, True], [True, True, False, False], [False, False, True, False], [True, False, False, True]]
    assert [[is_tested(faces, f, g, 2, False) for g in range(4)] for f in range(4)] == [[False, False, True, True]] * 2 + [
        [True, True, False, False]] * 2
    assert [[not is_tested(faces, f, g, 4, True) for g in range(4)] for f in range(4)] == shared
    one = np.int64(1)
    counts = [0, 1, 2, 5, one << 32, 3 * (one << 32), one | one << 32, 2 | 3 * (one << 32)]
    assert [int(listed_count(count, False)) for count in counts] == [0, 0, 0, 0, 0, 0, 2, 5]
    assert [int(listed_count(np.int64(count), True)) for count in (0, 1, 2, COUNT_MASK)] == [0, 0, 2, COUNT_MASK]


def test_neighbours_do_not_put_a_pixel_on():
    faces = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7], np.int32)
    one, other, third = (pack_fragment(np.float32(8), np.float32(9), f) for f in range(3))
    listed = np.array([one, other, third])
    assert not any_overlap(faces, 3, True, 0, 2, listed)
    assert any_overlap(faces, 3, True, 0, 3, listed) and any_overlap(faces, 1, False, 0, 2, listed)
    listed[2] = pack_fragment(np.float32(9.5), np.float32(10), 2)
    assert not any_overlap(faces, 3, True, 0, 3, listed) and not any_overlap(faces, 2, False, 0, 3, listed)


# --- sampled --------------------------------------------------------------------------------------------------------------------

def layered(heights, turn=1):
    """Faces that cover a screen of two pixels a side, level at these depths."""
    corners = np.array([[-9, -9], [9, -9], [0, 9]])[::turn]
    return flat([[[x, y, z] for x, y in corners] for z in heights])


def peeled(heights, ends=2):
    """[(face in front, face behind)] of every pass over faces of one part, none of which matters to another."""
    screen, faces = layered(heights)
    n, first_b, size = len(heights), len(heights), 2
    counts, on = np.zeros(4, np.int64), np.zeros(4, np.uint8)
    fronts, backs, next_fronts, next_backs = np.full(4, MIN_KEY), np.full(4, MAX_KEY), np.full(4, MAX_KEY), np.full(4, MIN_KEY)
    passes = []
    with ignore_float_errors():
        sample_cpu.peel_faces(screen, faces, NOTHING, NOTHING, size, 0, size, 0, n, True, counts, fronts, backs, next_fronts, next_backs)
        assert counts.tolist() == [n] * 4
        assert sample_cpu.start_rays(False, counts, on) == (4 * n, n)
        for done in range(-(-n // ends)):
            for rows in ((0, 1), (1, 2)):
                sample_cpu.peel_faces(screen, faces, NOTHING, NOTHING, size, *rows, 0, n, False, counts, fronts, backs, next_fronts,
                                      next_backs)
            assert len(set(next_fronts.tolist())) == len(set(next_backs.tolist())) == 1
            f, b = (int(key_index(int(key[0]))) for key in (next_fronts, next_backs))
            assert f & 1 == b & 1 == 0                                  # they turn left: backs
            assert abs(float(key_value(int(next_fronts[0]))) - max(heights[f >> 1], 0)) < 0.01
            passes.append((f >> 1, b >> 1))
            sample_cpu.update_rays(screen, faces, first_b, False, NOTHING, NOTHING, 0, 4, done, ends, False, counts, fronts, backs,
                                   next_fronts, next_backs, on)
        sample_cpu.peel_faces(screen, faces, NOTHING, NOTHING, size, 0, size, 0, n, False, counts, fronts, backs, next_fronts, next_backs)
    if ends == 2:                                                       # nothing is left
        assert set(next_fronts.tolist()) == {int(MAX_KEY)} and set(next_backs.tolist()) == {int(MIN_KEY)}
    assert not on.any()
    return passes


@often(40)
@given(st.lists(st.sampled_from([0.0, 3.0, 3.5, 500.0, 1024.0]), min_size=1, max_size=9))
@example([5.0])
@example([7.0] * 6)
def test_fragments_come_in_order_from_both_ends(heights):
    """By depth, equal ones by the number of the face; an odd one in the middle is both the first and the last."""
    order = sorted(range(len(heights)), key=lambda f: (heights[f], f))
    n = len(order)
    assert peeled(heights) == [(order[k], order[n - 1 - k]) for k in range((n + 1) // 2)]
    assert [f for f, _ in peeled(heights, ends=1)] == order


def boxes(*spans):
    """Closed boxes one behind the other along z."""
    made = []
    for low, high in spans:
        vertices, faces = meshes.cube()
        made.append((vertices * [1, 1, high - low] + [0, 0, low], faces))
    return meshes.joined(*made)


def sampled(*surfaces, **options):
    """(size, size) rays that are on, and (fragments, most on a ray, passes made)."""
    found = {"passes": None, "ends": 2, "mark": True, "closed": True, **options}
    loops = on_screen(*surfaces, size=4, direction=(0, 0, 1), mode="sampled")
    with ignore_float_errors():
        loops.peel(found["closed"], found["passes"], found["ends"], found["mark"])
    return loops.active.reshape(4, 4), (loops.fragments, loops.deepest, loops.passes)


@pytest.mark.parametrize("ends", [1, 2])
def test_closed_surfaces_that_take_turns_are_off(ends):
    apart, overlapping = [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 1), (2, 3.5), (3, 5), (6, 7)]
    on, made = sampled(boxes(*apart), ends=ends)
    assert made == (16 * 8, 8, 8 // ends) and not on.any()
    on, made = sampled(boxes(*overlapping), ends=ends)
    assert made == (16 * 8, 8, 8 // ends) and on.all()
    on, _ = sampled(boxes(*apart[:2]), boxes((2.5, 2.75)), ends=ends)   # one within the other: two fronts in a row
    assert on.all()


@pytest.mark.parametrize(("passes", "mark", "expected"), [
    (1, False, False), (1, True, True), (3, False, False), (3, True, True), (4, False, True), (9, False, True), (None, False, True)])
def test_passes_and_the_rest(passes, mark, expected):
    """The two that overlap are in the middle, and show in the last pass."""
    on, made = sampled(boxes((0, 1), (2, 4), (3, 5), (6, 7)), passes=passes, mark=mark)
    assert on.all() == on.any() == expected
    assert made[2] == min(passes or 4, 4)
    on, _ = sampled(boxes((0, 1)), passes=passes, mark=mark)            # two fragments: there is no rest
    assert not on.any()


@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_one_fragment_is_a_rest_too(layers):
    """Of open surfaces rays may have an odd number."""
    level = meshes.soup(np.array([[-9, -9, 0], [10, -9, 0], [0, 10, 0.0]]) + [[[0, 0, 10 * z]] for z in range(layers)])
    for passes in (1, 2):
        for mark in (False, True):
            on, _ = sampled(level, closed=False, passes=passes, mark=mark)
            assert on.any() == (mark and layers > 2 * passes)


def test_an_odd_number_of_fragments_puts_a_ray_of_closed_surfaces_on():
    assert [bool(odd_count(count, True)) for count in range(4)] == [False, True, False, True]
    assert not any(odd_count(count, False) for count in range(4))
    vertices, faces = boxes((0, 1), (2, 3))
    holed = vertices, faces[1:]                                         # a cube begins with a face that stands upright
    lidless = vertices, np.array([face for face in faces.tolist() if not all(vertices[v, 2] == 3 for v in face)])
    assert not sampled(holed)[0].any()
    assert sampled(lidless)[0].all()


@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("layers", [2, 3, 4, 5, 6, 7])
def test_open_surfaces_are_on_where_neighbours_in_depth_are_near(layers, ends):
    """Level ones, one of which leans through the next: at the ends or in the middle, the crossing is seen, and only there."""
    corners = np.array([[-9, -9, 0], [10, -9, 0], [0, 10, 0.0]])
    tilt = np.array([[0, 0, -0.6], [0, 0, -0.6], [0, 0, 9]])
    level = corners + [[[0, 0, 10 * z]] for z in range(layers)]
    assert not sampled(meshes.soup(level), closed=False, ends=ends)[0].any()
    for k in range(layers - 1):
        leaning = level.copy()
        leaning[k] = leaning[k + 1] + tilt
        on, made = sampled(meshes.soup(leaning), closed=False, ends=ends)
        assert on.any() and not on.all(), f"layer {k}"
        assert made[2] == -(-layers // ends)


def test_neighbours_in_depth_that_do_not_matter_to_each_other():
    """Of two parts, faces of one; of one part, faces that share a vertex."""
    corners = np.array([[-9, -9, 0], [9, -9, 0], [0, 9, 0.0]])
    twice = meshes.soup([corners, corners, corners + [0, 0, 9]])
    far, near = (meshes.soup([corners + [0, 0, z]]) for z in (4, 0))
    fan = corners.repeat(2, 0)[[0, 2, 4, 3, 5]], np.array([[0, 1, 2], [0, 3, 4]])
    assert sampled(twice, closed=False)[0].any()
    assert not sampled(twice, far, closed=False)[0].any()
    assert sampled(twice, near, closed=False)[0].any()
    assert not sampled(fan, closed=False)[0].any()


# --- rows and threads -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_shared(monkeypatch, set_threads, n_threads):
    """Every thread has rows of its own, and sees all faces, in chunks that are no larger than they should be."""
    set_threads(n_threads)
    monkeypatch.setattr(sample_cpu, "FACE_CHUNK", 8)
    parts = []
    sample_cpu.for_row_blocks(7, 21, 1.0, lambda *part: parts.append(part))
    rows = sorted({part[:2] for part in parts})
    assert (rows[0][0], rows[-1][1], len(rows)) == (0, 7, n_threads)
    assert all(one[1] == other[0] for one, other in pairwise(rows))
    for share in rows:
        assert sorted(part[2:] for part in parts if part[:2] == share) == [(0, 8), (8, 16), (16, 21)]
    parts.clear()
    sample_cpu.for_row_blocks(7, 3, sample_cpu.MAX_CHUNK_PIXELS / 2, lambda *part: parts.append(part))
    assert [part[2:] for part in parts if part[0] == 0] == [(0, 2), (2, 3)]


@pytest.mark.skipif(DISABLED, reason="thousands of faces")
def test_threads_do_not_change_what_is_sampled(set_threads):
    rng = np.random.default_rng(8)
    a = meshes.soup(rng.standard_normal((3_000, 1, 3)) + 0.1 * rng.standard_normal((3_000, 3, 3)))
    found = {}
    for n in (1, 2, 5):
        set_threads(n)
        for mode in ("conservative", "sampled"):
            pairs = pl.self_collide(a, engine="image", mode=mode, resolution=200)
            assert len(pairs) > 300
            found.setdefault(mode, []).append((pairs.faces.tobytes(), pairs.image, pairs.stats))
    assert all(each == answers[0] for answers in found.values() for each in answers)
