"""Distances of triangles and of points, against rational arithmetic: to 1e-12 of size and distance, 0 exactly where they meet, and the same
bits in every order."""

from fractions import Fraction
from itertools import permutations
from math import inf, isfinite, isqrt

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adversarial
import naive
import naive_distances
from pliant import shapes
from pliant.core.function_pointer import call_address
from pliant.core.jit import kernel
from pliant.core.stack import stack_float64
from pliant.geometry import point_triangle, triangle_distance
from pliant.geometry.point_triangle import point_triangle_distance, point_triangle_entry
from pliant.geometry.predicates import RANGE_MAX, RANGE_MIN
from pliant.geometry.triangle_distance import triangle_distance_entry, triangle_triangle_distance
from pliant.geometry.triangle_overlap import EXACT
from test_naive import WRITTEN

pytestmark = pytest.mark.formulas

OFF = bool(numba.config.DISABLE_JIT)
FEW, SOME = (6, 6) if OFF else (60, 40)
LEAST, MOST = Fraction(5e-324), Fraction(np.finfo(np.float64).max)
PRECISE = Fraction(1, 10**12)


def root(square):
    """The square root of a fraction, to more than 150 bits."""
    n, d = square.numerator, square.denominator
    k = 2 * max(0, 160 + (d.bit_length() - n.bit_length()) // 2)
    return Fraction(isqrt((n << k) // d), 1 << k // 2)


def fractions(points):
    return [[Fraction(float(x)) for x in point] for point in points]


def size_of(points):
    return max(max(x) - min(x) for x in zip(*fractions(points), strict=True))


def in_range(points):
    size = np.abs(points)
    return bool(np.all((size == 0) | ((size >= RANGE_MIN) & (size <= RANGE_MAX))))


def gap(p, q, plain=None):
    """(the answer, distance, points (2, 3)) of two triangles."""
    t = np.full(triangle_distance.BUFFER_SIZE, np.nan)
    t[:9], t[9:18] = np.ravel(p), np.ravel(q)
    answer = triangle_triangle_distance(t, in_range([p, q]) if plain is None else plain)
    return int(answer), float(t[24]), t[18:24].reshape(2, 3).copy()


def reach(point, triangle):
    """(feature, distance, nearest point, weights of all corners)."""
    t = np.full(point_triangle.BUFFER_SIZE, np.nan)
    t[:9], t[9:12] = np.ravel(triangle), point
    feature = point_triangle_distance(t, in_range(t[:12]))
    u, v = float(t[16]), float(t[17])
    assert 0 <= u <= 1 and 0 <= v <= 1 and u + v <= 1
    return int(feature), float(t[15]), t[12:15].copy(), (1 - u - v, u, v)


def assert_precise(distance, square, size):
    """Is a computed distance as good as promised? What float64 cannot hold is infinite, or the smallest number."""
    right = root(square)
    assert (distance == 0) == (square == 0)
    if distance == inf:
        assert right > MOST * (1 - PRECISE)
    else:
        assert abs(Fraction(distance) - right) <= PRECISE * (size + right) + LEAST


def assert_right(p, q):
    """Everything that is promised of two triangles, but for orders."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    answer, distance, points = gap(p, q)
    square, size = naive_distances.triangle_triangle(p, q), size_of([*p, *q])
    assert answer in (0, 1, EXACT, 1 + EXACT)
    assert (answer & 1 == 0) == (square == 0)
    assert_precise(distance, square, size)
    # The points are on the triangles and that far apart, as far as float64 has such points.
    assert np.isfinite(points).all()
    loose = 8 * Fraction(np.abs([p, q]).max()) / 2**52 + PRECISE * (size + root(square)) + 4 * LEAST
    for point, triangle in zip(points, (p, q), strict=True):
        assert root(naive_distances.point_triangle(point, triangle)) <= loose
    if square and isfinite(distance):
        between = sum((x - y) ** 2 for x, y in zip(*fractions(points), strict=True))
        assert abs(root(between) - Fraction(distance)) <= 4 * loose
    return square


def assert_point_right(point, triangle):
    """Everything that is promised of a point and a triangle; the feature."""
    point, triangle = np.asarray(point, np.float64), np.asarray(triangle, np.float64)
    feature, distance, near, weights = reach(point, triangle)
    square, size = naive_distances.point_triangle(point, triangle), size_of([point, *triangle])
    assert_precise(distance, square, size)
    loose = 8 * Fraction(np.abs([point, *triangle]).max()) / 2**52 + PRECISE * (size + root(square)) + 4 * LEAST
    assert np.isfinite(near).all()
    assert root(naive_distances.point_triangle(near, triangle)) <= loose
    mean = [sum(Fraction(w) * x[k] for w, x in zip(weights, fractions(triangle), strict=True)) for k in range(3)]
    assert root(sum((x - y) ** 2 for x, y in zip(mean, *fractions([near]), strict=True))) <= loose
    if square == 0:
        assert near.tolist() == point.tolist()
    if feature:
        corner = (feature - 1) % 3
        if feature >= 4:
            assert weights[corner] == pytest.approx(1, abs=2**-52)
            assert square == 0 or near.tolist() == triangle[corner].tolist()
        else:
            assert weights[corner] == pytest.approx(0, abs=2**-52)      # which of the first corner is 1 less the others
    return feature


# --- kinds of numbers ----------------------------------------------------------------------------------------------------------

unit = st.floats(-1, 1, width=64, allow_subnormal=False)
whole = st.integers(-2, 2).map(float)
small = st.floats(0, 17).map(lambda x: 10.0**-x)
PLACES = {
    "any": st.floats(allow_nan=False, allow_infinity=False),
    "lattice": whole,
    "unit": unit,
    "far": st.floats(-1, 1).map(lambda x: 1e8 + x),
    "tiny": st.floats(-1e-300, 1e-300),
    "huge": st.floats(-1e300, 1e300),
    "least": st.integers(-4, 4).map(lambda n: n * 5e-324),
    "most": st.sampled_from([-1.7976931348623157e308, -1e308, 0.0, 1e308, 1.7976931348623157e308]),
    "mixed": st.sampled_from([-1e300, -1.0, -1e-300, 0.0, 1e-300, 1e-150, 1.0, 1e150, 1e300]),
}


def rows(numbers, n):
    return st.lists(st.tuples(numbers, numbers, numbers), min_size=n, max_size=n).map(lambda x: np.array(x, np.float64))


@pytest.mark.parametrize("kind", PLACES)
def test_distances_are_right(kind):
    seen = set()

    # In plain Python wide integers take a second a pair.
    @settings(max_examples=2 if OFF and kind not in ("lattice", "unit", "far") else FEW, deadline=None)
    @given(rows(PLACES[kind], 6))
    def right(points):
        seen.add(assert_right(points[:3], points[3:]) == 0)
        assert_point_right(points[0], points[3:])

    right()
    assert seen == {False, True} or kind in ("far",) or OFF


@settings(max_examples=SOME, deadline=None)
@given(rows(unit, 6), small, small, st.floats(-0.5, 1.5))
def test_needles(points, thin, other, where):
    """Third corners close to the line of the others."""
    points[2] = points[0] + where * (points[1] - points[0]) + thin * points[2]
    points[5] = points[3] + where * (points[4] - points[3]) + other * points[5]
    assert_right(points[:3], points[3:])
    assert_point_right(points[3], points[:3])
    assert_point_right(points[0] + where * (points[1] - points[0]) + other * points[4], points[:3])


@settings(max_examples=SOME, deadline=None)
@given(rows(unit, 6), small, small, st.floats(-2, 2), st.floats(-1, 1))
def test_nearly_parallel_edges(points, angle, height, stretch, shift):
    """An edge of one at a small angle to an edge of the other, and not far from it."""
    along = points[1] - points[0]
    points[3] = points[0] + shift * along + height * points[3]
    points[4] = points[3] + stretch * along + angle * points[4]
    assert_right(points[:3], points[3:])


@pytest.mark.parametrize("power", range(1, 17))
def test_edges_that_cross_at_a_small_angle(power):
    """Two edges cross far from their ends, the one a little above: leaving out the crossing would be as wrong as the angle is wide."""
    angle = 10.0**-power
    p = [[-1, -angle, 0], [1, angle, 0], [0, 0, -5]]
    for lift in (0.0, angle / 10, 1e-3 * angle, 0.1):
        q = np.array([[-1, angle, lift], [1, -angle, lift], [0, 0, 5]])
        square = assert_right(p, q)
        if lift:
            assert square <= Fraction(lift) ** 2 * (1 + Fraction(1, 10**9))


@settings(max_examples=SOME, deadline=None)
@given(rows(whole, 6))
@example(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], np.float64))
def test_every_order_gives_the_same_bits(points):
    points = points + np.array([0.1, 0.7, 1e-3]) * points[:, [1, 2, 0]]
    p, q = points[:3], points[3:]
    answer, distance, near = gap(p, q)
    for a, b in list(zip(permutations(p), permutations(q[[1, 0, 2]]), strict=True)):
        for turned in (gap(a, b), gap(b, a)):
            assert (turned[0] & 1, turned[1]) == (answer & 1, distance)
        if answer & 1:
            assert gap(a, b)[2].tobytes() == near.tobytes()
            assert gap(b, a)[2].tobytes() == near[::-1].tobytes()
    feature, distance, near, weights = reach(p[0], q)
    for order in permutations(range(3)):
        other = reach(p[0], q[list(order)])
        assert other[1] == distance and other[2].tobytes() == near.tobytes()
        if len(np.unique(q, axis=0)) == 3:
            assert [other[3][order.index(k)] for k in (1, 2)] == pytest.approx(weights[1:], abs=2**-52)
            assert other[0] == (0 if feature == 0 else feature - (feature - 1) % 3 + order.index((feature - 1) % 3))


def test_faces_that_share_a_feature_are_equally_far():
    """Of all faces around the nearest corner, or beside the nearest edge, to the bit."""
    vertices, faces = shapes.icosphere(1)
    rng = np.random.default_rng(5)
    vertices = vertices * rng.uniform(0.7, 1.3, (len(vertices), 1)) + 1e3
    features = set()
    for point in 1e3 + rng.normal(size=(FEW, 3)) * 3:
        found = [reach(point, vertices[face]) for face in faces]
        best = min(found, key=lambda one: one[1])
        features.add(min(best[0], 4) if best[0] != 2 and best[0] != 3 else 1)
        if best[0] == 0:
            continue
        face, corner = faces[found.index(best)], (best[0] - 1) % 3
        shared = {face[corner]} if best[0] >= 4 else set(np.delete(face, corner))
        beside = [one for one, face in zip(found, faces, strict=True) if shared <= set(face)]
        assert len(beside) >= 2
        assert {one[1] for one in beside} == {best[1]}
        assert {one[2].tobytes() for one in beside} == {best[2].tobytes()}
    assert features >= {1, 4}


@pytest.mark.parametrize(("p", "q", "meet"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers(p, q, meet):
    assert (assert_right(p, q) == 0) == meet


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_pairs(kind):
    a, b = adversarial.pairs(kind, SOME // 3, np.random.default_rng(3))
    for p, q in zip(a, b, strict=True):
        assert_right(p, q)
        assert_point_right(p[0], q)


def test_written_distances():
    triangle = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]
    assert gap(triangle, [[1, 1, 3], [1, 2, 4], [2, 1, 5]])[1] == 3
    assert gap(triangle, [[8, 3, 0], [9, 3, 0], [9, 4, 0]])[1] == 5
    assert gap(triangle, [[-3, 1, 4], [-3, 9, 4], [-9, 4, 9]])[1] == 5
    assert gap(triangle, triangle)[:2] in ((0, 0.0), (EXACT, 0.0))
    points = [[1, 1, -2], [3, 3, 0], [-3, 1, 4], [1, -2, 0], [-3, -4, 0], [9, 0, 12], [0, 8, 3]]
    assert [reach(point, triangle)[:2] for point in points] == [
        (0, 2.0), (1, 2**0.5), (2, 5.0), (3, 2.0), (4, 5.0), (5, 13.0), (6, 5.0)]
    assert reach([1, 1, 0], triangle)[1:3] == (0.0, pytest.approx([1, 1, 0]))


def test_not_plain_gives_the_same():
    rng = np.random.default_rng(8)
    for p, q in rng.normal(size=(SOME, 2, 3, 3)):
        plain, exact = gap(p, q, True), gap(p, q, False)
        assert (plain[0] & 1, plain[1], plain[2].tobytes()) == (exact[0] & 1, exact[1], exact[2].tobytes())


@kernel
def call(entry, given, n, answers):
    """Call an entry by its address, as loops do."""
    t = stack_float64(26)
    for k in range(n):
        t[k] = given[k]
    answer = call_address(entry, t, 1)
    for k in range(len(answers)):
        answers[k] = t[n + k]
    return answer


def test_entries_are_the_kernels():
    rng = np.random.default_rng(9)
    for p, q in rng.normal(size=(5, 2, 3, 3)):
        out = np.empty(7)
        answer, distance, points = gap(p, q)
        assert call(triangle_distance_entry()[0], np.append(p, q), 18, out) == answer
        assert out.tolist() == [*points.ravel(), distance]
        out = np.empty(6)
        feature, distance, near, weights = reach(q[0], p)
        assert call(point_triangle_entry()[0], np.append(p, q[0]), 12, out) == feature
        assert out.tolist() == [*near, distance, *weights[1:]]


# --- meshes of the reference ------------------------------------------------------------------------------------------------------

def test_the_reference_of_meshes_is_its_triangles():
    """Bounds leave nothing out: the same as every pair of faces, one by one."""
    rng = np.random.default_rng(2)
    a, faces_a = adversarial_soup(rng, 6)
    b, faces_b = adversarial_soup(rng, 7)
    table = {(i, j): naive_distances.triangle_triangle(a[f], b[g]) for i, f in enumerate(faces_a) for j, g in enumerate(faces_b)}
    least = min(table.values())
    assert naive_distances.distance(a, faces_a, b, faces_b) == (least, sorted(pair for pair in table if table[pair] == least))
    pairs = sorted(pair for pair in table if table[pair] <= 4)
    assert 0 < len(pairs) < len(table)
    assert naive_distances.within(a, faces_a, b, faces_b, 2.0) == (pairs, [table[pair] for pair in pairs])
    assert naive_distances.distance(a, faces_a[:0], b, faces_b) == (None, [])

    vertices, faces = shapes.icosphere(0)
    own = {(i, j): naive_distances.triangle_triangle(vertices[faces[i]], vertices[faces[j]]) for i in range(20) for j in range(i + 1, 20)
           if not set(faces[i]) & set(faces[j])}
    least = min(own.values())
    assert naive_distances.self_distance(vertices, faces) == (least, sorted(pair for pair in own if own[pair] == least))
    pairs = sorted(pair for pair in own if own[pair] <= 1)
    assert naive_distances.self_within(vertices, faces, 1.0) == (pairs, [own[pair] for pair in pairs])
    points = rng.integers(-3, 4, (5, 3))
    for point, (square, attained) in zip(points, naive_distances.closest(a, faces_a, points), strict=True):
        squares = [naive_distances.point_triangle(point, a[face]) for face in faces_a]
        assert square == min(squares) and attained == [k for k, one in enumerate(squares) if one == square]


def adversarial_soup(rng, n):
    vertices = rng.integers(-3, 4, (3 * n, 3)).astype(np.float64)
    return vertices, np.arange(3 * n).reshape(-1, 3)


def test_the_reference_agrees_with_descent():
    """No pair of points of the triangles is nearer than the reference says, and some pair is as near: a search over weights."""
    rng = np.random.default_rng(4)
    grid = np.array([(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]) / 12
    for p, q in rng.normal(size=(SOME // 3, 2, 3, 3)):
        ways = (grid @ p)[:, None] - (grid @ q)[None]
        sampled = np.sqrt((ways**2).sum(-1).min())
        right = float(root(naive_distances.triangle_triangle(p, q)))
        step = (np.ptp(p, axis=0).max() + np.ptp(q, axis=0).max()) / 6
        assert right <= sampled + 1e-12
        assert sampled <= right + 2 * step
        assert (right == 0) == naive.triangles_meet(p, q)
