"""Triangles of polygons: exactly what simple polygons go around, each place once; of others n − 2 triangles, soon."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import polygons
import strategies
from pliant.geometry import polygon as kernels
from polygons import PLANES, assert_covers, assert_cut_of, cross, in_space, keyhole, triangles_of
from trials import OFF, often

planes, exponents = st.sampled_from(PLANES), st.sampled_from([0, 0, 0, -1060, -250, 330, 900])
MANY = 100 if OFF else 10_000


def turned(corners, k, backwards):
    """The same polygon from another corner on, perhaps the other way round."""
    corners = [*corners[k % len(corners) :], *corners[: k % len(corners)]]
    return corners[::-1] if backwards else corners


@given(st.one_of(polygons.grown(), polygons.stars()), planes, exponents, st.integers(0, 99), st.booleans())
@example([(0, 0), (4, 0), (8, 0), (8, 8), (4, 2), (0, 8)], PLANES[2], 0, 0, False)
@often(600, share=10)
def test_simple_polygons(polygon, plane, exponent, start, backwards):
    corners = turned(list(range(len(polygon))), start, backwards)
    found = triangles_of(in_space(polygon, plane, exponent), corners)
    faces = found.faces[:, ::-1] if backwards else found.faces
    assert_covers(polygon, faces, corners[::-1] if backwards else corners)
    assert found.crossing == 0
    assert found.polygon_of_face.tolist() == [0] * len(faces) if len(faces) > 1 else found.polygon_of_face is None


@given(polygons.grown(8), st.lists(st.tuples(st.integers(0, 99), st.booleans()), min_size=1, max_size=5), planes)
@often(200, share=10)
def test_repeated_corners(polygon, repeated, plane):
    """The same vertex twice in a row, or another one at its place."""
    points, corners = list(polygon), list(range(len(polygon)))
    for place, same in repeated:
        k = place % len(corners)
        if not same:
            points.append(points[corners[k]])
        corners.insert(k, corners[k] if same else len(points) - 1)
    found = triangles_of(in_space(points, plane), corners)
    assert_covers(points, found.faces, corners, flat=True)
    assert found.crossing == 0


def hole(x, y, size):
    return [(x, y), (x, y + size), (x + size, y + size), (x + size, y)]


SQUARE = [(0, 0), (60, 0), (60, 60), (0, 60)]
KEYHOLES = {
    "one": [(hole(20, 20, 20), 0, 0)],
    "flush": [(hole(0, 20, 20), 0, 0)],  # an edge of the hole is on an edge of the square
    "along a line": [(hole(20, 0, 20), 0, 0)],
    "two at one corner": [(hole(30, 5, 10), 0, 0), (hole(10, 10, 10), 0, 0)],
    "a chain": [(hole(10, 10, 10), 0, 0), (hole(40, 40, 10), 3, 0)],
    "corner to corner": [(hole(0, 0, 20), 0, 0)],
    "a small one": [(hole(29, 31, 1), 2, 2)],
    "three at one corner": [(hole(20, 2, 4), 0, 0), (hole(10, 10, 40), 0, 0), (hole(2, 20, 4), 0, 0)],
    "one behind another": [(hole(2, 2, 1), 0, 0), (hole(4, 4, 16), 3, 0), (hole(30, 30, 20), 6, 0)],
}


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("start", range(0, 12, 5))
@pytest.mark.parametrize("name", KEYHOLES)
def test_holes_that_bridges_connect(name, start, plane):
    points, corners = keyhole(SQUARE, KEYHOLES[name])
    corners = turned(corners, start, False)
    found = triangles_of(in_space(points, plane), corners)
    assert_covers(points, found.faces, corners, flat=name in ("flush", "along a line", "corner to corner"))
    assert found.crossing == 0


@given(st.lists(st.tuples(strategies.lattice, strategies.lattice, strategies.lattice), min_size=3, max_size=14), st.data())
@often(400, share=10)
def test_any_polygon_has_its_triangles(rows, data):
    """Corners at few places, which cross, touch and fold: the triangles still have no edges but those of the polygon and inner ones."""
    corners = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=3, max_size=16))
    found = triangles_of(rows, corners)
    assert_cut_of(corners, found.faces)
    again = triangles_of(rows, corners)
    assert np.array_equal(again.faces, found.faces) and again.crossing == found.crossing


@given(strategies.positions(strategies.extreme, 9))
@often(200, share=10)
def test_any_coordinates(rows):
    for n in (3, 4, 5, 9):
        assert_cut_of(list(range(n)), triangles_of(rows, range(n)).faces)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [4, 5, 12])
def test_what_is_not_finite_is_a_fan(n, value):
    """Bodies refuse such vertices; the reader says where they are."""
    rows = np.random.default_rng(n).normal(size=(n, 3))
    rows[n // 2, 1] = value
    assert_cut_of(list(range(n)), triangles_of(rows, range(n)).faces)


@pytest.mark.parametrize("n", [5, 7, 13, 25])
def test_a_polygon_that_goes_around_twice_crosses_itself(n):
    """All its corners turn left."""
    found = triangles_of([(np.cos(a), np.sin(a), 0.0) for a in 4 * np.pi * np.arange(n) / n], range(n))
    assert found.crossing == 1
    assert_cut_of(list(range(n)), found.faces)


BENT_AROUND = [(0, 0), (9, -1), (10, 8), (-9, 8), (-9, -9), (4, -8), (-1, -2)]  # from its first corner others are seen beyond half a turn


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("shape", ["flat quad", "quad", "reflex quad", "bent around", "comb", "spike"])
def test_small_polygons_from_every_corner(shape, backwards, plane):
    polygon = {"flat quad": [(0, 0), (2, 0), (8, 0), (0, 1)], "quad": [(0, 0), (4, 1), (5, 5), (-1, 4)], "bent around": BENT_AROUND,
               "reflex quad": [(0, 0), (4, 1), (1, 1), (1, 4)], "spike": [(0, 0), (6, 0), (9, 0), (6, 0), (6, 6), (0, 6)],
               "comb": [(0, 0), (12, 0), (12, 9), (10, 1), (8, 9), (6, 1), (4, 9), (2, 1), (0, 9)]}[shape]  # fmt: skip
    for start in range(len(polygon)):
        corners = turned(list(range(len(polygon))), start, backwards)
        found = triangles_of(in_space(polygon, plane), corners)
        assert_covers(polygon, found.faces[:, ::-1] if backwards else found.faces, corners[::-1] if backwards else corners, shape == "spike")
        assert found.crossing == 0


@pytest.mark.parametrize("polygon", [
    [(0, 0), (1, -1e-9), (2, 0), (1, 7)],  # convex by rounding; the shorter diagonal would leave a thin triangle
    [(0, 0), (4, -1e-7), (8, 0), (8, 8), (6, 2), (0, 8)],
    [(0, 0), (4, -1e-7), (8, 0), (8, 8), (4, 8)],
])  # fmt: skip
def test_a_corner_that_is_rounded_beside_an_edge_makes_no_thin_triangle(polygon):
    for start in range(len(polygon)):
        rows = np.roll(np.array(polygon, float), start, axis=0)
        found = triangles_of(np.c_[rows, np.zeros(len(rows))], range(len(rows)))
        assert found.crossing == 0 and min(cross(*rows[face]) for face in found.faces) > 1


def test_a_polygon_that_crosses_itself_is_counted():
    star = [(np.cos(a), np.sin(a), 0.0) for a in 4 * np.pi * np.arange(5) / 5]
    found = triangles_of([*star, (0, 0, 1), (1, 0, 1), (1, 1, 1)], range(5), (5, 6, 7))
    assert found.crossing == 1 and found.polygon_of_face.tolist() == [0, 0, 0, 1]


@given(strategies.positions(strategies.lattice, 4))
@often(500, share=10)
def test_quads_are_not_folded_where_that_is_possible(rows):
    """Seen along the normal, the cross product of both diagonals, both triangles turn left; of two such pairs the shorter diagonal."""
    p = rows.astype(int).astype(object)
    along, other = p[2] - p[0], p[3] - p[1]
    normal = np.cross(along.astype(int), other.astype(int))

    def turns(i, j, k):
        return int(normal @ np.cross((p[j] - p[i]).astype(int), (p[k] - p[i]).astype(int))) > 0

    first, second = turns(0, 1, 2) and turns(0, 2, 3), turns(0, 1, 3) and turns(1, 2, 3)
    found = triangles_of(rows, range(4)).faces.tolist()
    wanted = second if first != second else other @ other < along @ along
    if first or second:
        assert found == ([[0, 1, 3], [1, 2, 3]] if wanted else [[0, 1, 2], [0, 2, 3]])
    assert_cut_of([0, 1, 2, 3], found)


@pytest.mark.parametrize("away", [0.0, 1e3, 1e9])
def test_equal_diagonals_are_taken_from_the_first_corner(away):
    """Squares of a grid get one pattern, wherever they are and however they are turned."""
    a = 0.3
    square = np.array([[np.cos(a + k * np.pi / 2), np.sin(a + k * np.pi / 2), 0.25] for k in range(4)]) + away
    assert triangles_of(square, range(4)).faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_far_from_flat_polygons_do_not_fold():
    """A star that is bent up and down: its own plane shows how it goes around, an axis may show it folded."""
    for seed in range(20 if OFF else 200):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        a = 2 * np.pi * np.arange(12) / 12
        flat = np.stack([np.cos(a), np.sin(a)], axis=1) * (1 + 0.3 * (np.arange(12) % 2))[:, None]
        found = triangles_of(np.c_[flat, 0.6 * np.cos(3 * a)] @ turn.T, range(12))
        assert found.crossing == 0
        assert min(cross(*flat[face]) for face in found.faces) > 0


@pytest.mark.parametrize("shape", ["circle", "star", "noise", "comb", "random", "walk", "lattice", "same", "line"])
def test_many_corners_take_about_a_second(shape):
    rng, n = np.random.default_rng(1), MANY
    a, k = 2 * np.pi * np.arange(n) / n, np.arange(n)
    around = np.stack([np.cos(a), np.sin(a)], axis=1)
    back = np.minimum(k, n - k)
    rows = {"circle": around, "star": around * (1 + 0.5 * (k % 2))[:, None], "noise": around * rng.uniform(0.2, 1, n)[:, None],
            "comb": np.stack([back, np.where(2 * k < n, 1.0, 0.0) + 100.0 * (k % 2)], axis=1),
            "random": rng.uniform(size=(n, 2)), "walk": rng.normal(size=(n, 2)).cumsum(axis=0), "lattice": rng.integers(0, 9, (n, 2)),
            "same": np.ones((n, 2)), "line": np.stack([rng.uniform(size=n), np.zeros(n)], axis=1)}[shape]  # fmt: skip
    triangles_of(np.eye(3)[[0, 1, 2, 0, 1]], range(5))  # compiled
    started = time.process_time()
    found = triangles_of(np.c_[rows, np.zeros(n)], range(n))
    assert time.process_time() - started < 20
    assert_cut_of(list(range(n)), found.faces)
    if shape in ("circle", "star", "noise"):
        assert found.crossing == 0 and min(cross(*rows[face]) for face in found.faces) > 0
    if shape == "circle":  # clipped in turn: no vertex has many triangles
        assert max(Counter(found.faces.ravel().tolist()).values()) <= 3 * np.log2(n)


def test_the_kernel_stops_after_a_budget_and_goes_on(monkeypatch):
    from pliant.io import polygons as module

    rows = np.array([(x, y, 0) for x, y in [(0, 0), (4, 0), (4, 4), (2, 1), (0, 4)]], float)
    many = [rows + [9 * k, 0, k] for k in range(30)]
    polygons_ = [list(range(5 * k, 5 * k + 5)) for k in range(30)]
    whole = triangles_of(np.concatenate(many), *polygons_).faces
    calls = []
    monkeypatch.setattr(module, "STEPS_PER_CALL", 40)
    monkeypatch.setattr(kernels, "triangulate_polygons", lambda *args, run=kernels.triangulate_polygons: calls.append(1) or run(*args))
    assert np.array_equal(triangles_of(np.concatenate(many), *polygons_).faces, whole)
    assert len(calls) > 5
