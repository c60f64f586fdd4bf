"""The reference against itself: two unlike exact decisions, cases worked out by hand, and exact invariances.

`naive` judges all other code, so it is judged here by what needs no code: written answers, kinds of pairs whose
answer is known by construction, rational determinants, and motions that are exact in float64. No check may be
vacuous: the share of meeting pairs of every kind is asserted, and so is that rounding errs on the hard kinds.
"""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import adversarial
import naive

BOTH = [kind for kind in adversarial.KINDS if kind not in adversarial.ALWAYS + adversarial.NEVER]
HARD_TO_ROUND = ("vertex_on_face", "edge_on_edge", "near", "coplanar_rotated", "repeated", "needle", "sliver")
SMALLEST, MAX_FLOAT = 5e-324, 1.7976931348623157e308
UP = 2.0**-52

# The triangle that most of the written cases are about: right-angled, in the plane z = 0, legs of length 4.
T = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]

# name, p, q, do they meet
WRITTEN = [
    ("the same", T, T, True),
    ("pierced in the middle", T, [[1, 1, -1], [1, 1, 1], [9, 9, 1]], True),
    ("pierced by the plane, beside the triangle", T, [[3, 3, -1], [3, 3, 1], [9, 9, 1]], False),
    ("parallel above", T, [[0, 0, 1], [4, 0, 1], [0, 4, 1]], False),
    ("parallel above by the smallest number", T, [[0, 0, SMALLEST], [4, 0, SMALLEST], [0, 4, SMALLEST]], False),
    ("a corner on the face", T, [[1, 1, 0], [1, 1, 3], [2, 1, 3]], True),
    ("a corner above the face by the smallest number", T, [[1, 1, SMALLEST], [1, 1, 3], [2, 1, 3]], False),
    ("a corner on the long edge", T, [[2, 2, 0], [5, 5, 1], [5, 5, -1]], True),
    ("a corner beyond the long edge by an ulp", T, [[2, 2 + 2 * UP, 0], [5, 5, 1], [5, 5, -1]], False),
    ("a corner on a corner", T, [[4, 0, 0], [9, 0, 1], [9, 0, -1]], True),
    ("a corner beyond a corner by an ulp", T, [[4 + 4 * UP, 0, 0], [9, 0, 1], [9, 0, -1]], False),
    ("edges cross in one point", T, [[2, 0, 1], [2, 0, -1], [2, -3, 0]], True),
    ("an edge passes outside an edge by an ulp", T, [[2, -UP, 1], [2, -UP, -1], [2, -3, 0]], False),
    ("a shared edge, folded", T, [[0, 0, 0], [4, 0, 0], [0, 0, 4]], True),
    ("in one plane, apart, boxes overlapping", T, [[4, 4, 0], [3, 4, 0], [4, 1, 0]], False),
    ("in one plane, a corner on the long edge", T, [[4, 4, 0], [3, 4, 0], [3, 1, 0]], True),
    ("in one plane, one inside the other", T, [[1, 1, 0], [2, 1, 0], [1, 2, 0]], True),
    ("in one plane, a star of six points", T, [[-1, 1, 0], [3, 2, 0], [1, -2, 0]], True),
    ("in one plane, edges overlap on one line", T, [[1, 0, 0], [9, 0, 0], [5, -2, 0]], True),
    ("in one plane, edges on one line, apart", T, [[5, 0, 0], [9, 0, 0], [6, -2, 0]], False),
    ("a segment through the face", T, [[1, 1, -1], [1, 1, 1], [1, 1, 1]], True),
    ("a segment that ends above the face", T, [[1, 1, 2], [1, 1, 1], [1, 1, 1]], False),
    ("collinear corners, the middle one on the face", T, [[1, 1, 0], [1, 1, -1], [1, 1, 1]], True),
    ("a segment in the plane across two edges", T, [[-1, 1, 0], [5, 1, 0], [5, 1, 0]], True),
    ("a segment in the plane beside", T, [[5, 0, 0], [0, 5, 0], [0, 5, 0]], False),
    ("a point on the face", T, [[1, 1, 0]] * 3, True),
    ("a point beside the face in its plane", T, [[3, 2, 0]] * 3, False),
    ("equal points", [[1, 2, 3]] * 3, [[1, 2, 3]] * 3, True),
    ("unequal points", [[1, 2, 3]] * 3, [[1, 2, 3 + 2 * UP]] * 3, False),
    ("segments that cross", [[0, 0, 0], [2, 2, 2], [0, 0, 0]], [[2, 0, 1], [0, 2, 1], [0, 2, 1]], True),
    ("segments askew", [[0, 0, 0], [2, 2, 2], [0, 0, 0]], [[2, 0, 0], [0, 2, 1], [0, 2, 1]], False),
    (
        "segments of one line, a gap between",
        [[0, 0, 0], [1, 2, 3], [0, 0, 0]],
        [[2, 4, 6], [3, 6, 9], [3, 6, 9]],
        False,
    ),
    ("segments of one line, end to end", [[0, 0, 0], [2, 4, 6], [1, 2, 3]], [[2, 4, 6], [3, 6, 9], [3, 6, 9]], True),
    ("parallel segments", [[0, 0, 0], [4, 4, 4], [0, 0, 0]], [[1, 1, 0], [3, 3, 2], [3, 3, 2]], False),
    ("a point on a segment", [[0, 0, 0], [2, 4, 6], [0, 0, 0]], [[1, 2, 3]] * 3, True),
    ("a point on the line beyond a segment", [[0, 0, 0], [2, 4, 6], [0, 0, 0]], [[3, 6, 9]] * 3, False),
    ("all of space, pierced by the smallest", np.array(T) * (MAX_FLOAT / 4), np.eye(3) * SMALLEST, True),
    (
        "all of space, beside it the smallest",
        np.array(T) * (MAX_FLOAT / 4),
        np.eye(3) * -SMALLEST - [0, SMALLEST, 0],
        False,
    ),
]


def determinant(rows):
    """Leibniz' sum over permutations, in rational numbers."""
    rows = [[Fraction(x) for x in row] for row in rows]
    total = Fraction(0)
    for order in permutations(range(len(rows))):
        term = Fraction((-1) ** sum(i > j for k, j in enumerate(order) for i in order[:k]))
        for row, column in zip(rows, order, strict=True):
            term *= row[column]
        total += term
    return total


def hits(kind, n, seed=1):
    """The quick decision on n pairs of a kind: `(A, B, meet)`."""
    a, b = adversarial.pairs(kind, n, np.random.default_rng(seed))
    return a, b, [naive.triangles_meet_fast(p, q) for p, q in zip(a, b, strict=True)]


# ---------------------------------------------------------------------------------------------- numbers


def test_exact_is_exact():
    x = np.array([[0.0, -0.0, 0.1, -3.0], [SMALLEST, -MAX_FLOAT, 2.0**-1022, 1e16 + 2]])
    numbers, exponent = naive.exact(x)
    assert numbers.shape == x.shape
    for value, number in zip(x.ravel().tolist(), numbers.ravel().tolist(), strict=True):
        assert type(number) is int
        assert Fraction(value) == number * Fraction(2) ** exponent


def test_exact_of_nothing_and_of_zeros():
    assert naive.exact(np.empty((0, 3)))[0].shape == (0, 3)
    assert naive.exact(np.zeros(3))[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_exact_refuses_what_is_not_finite(value):
    with pytest.raises(ValueError, match="finite"):
        naive.exact([1.0, value])


def test_orientation_convention():
    origin, x, y, z = np.zeros(3), *np.eye(3)
    assert naive.orient3d(origin, x, y, z) == 1
    assert naive.orient3d(origin, x, y, -z) == -1
    assert naive.orient3d(origin, x, y, x + y) == 0
    assert naive.orient2d(origin[:2], x[:2], y[:2]) == 1
    assert naive.orient2d(origin[:2], y[:2], x[:2]) == -1
    assert naive.orient2d(origin[:2], x[:2], 3 * x[:2]) == 0


@pytest.mark.parametrize("kind", ["random", "lattice", "near", "coplanar_rotated", "tiny", "huge", "mixed"])
def test_orientations_equal_rational_determinants(kind):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 60, 3, 3)) if kind == "random" else adversarial.pairs(kind, 60, rng)
    seen = set()
    for p, q in zip(a, b, strict=True):
        points = [*p, q[0]]
        space = naive.sign(determinant([[1.0, *point] for point in points]))
        plane = naive.sign(determinant([[1.0, *point[:2]] for point in points[1:]]))
        assert naive.orient3d(*points) == space
        assert naive.orient2d(*(point[:2] for point in points[1:])) == plane
        seen |= {space, plane}
    assert {-1, 1} <= seen


# -------------------------------------------------------------------------------------------- triangles


@pytest.mark.parametrize(("p", "q", "answer"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers_in_all_orders(p, q, answer):
    p, q = np.array(p, dtype=np.float64), np.array(q, dtype=np.float64)
    cases = list(adversarial.orders(p, q))
    assert len(cases) == 72
    assert {naive.triangles_meet(*case) for case in cases} == {answer}
    assert {naive.triangles_meet_fast(*case) for case in cases} == {answer}


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_two_versions_agree(kind):
    a, b, meet = hits(kind, 1500)
    assert [naive.triangles_meet(p, q) for p, q in zip(a, b, strict=True)] == meet


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_no_order_changes_an_answer(kind):
    a, b, meet = hits(kind, 12, seed=3)
    for p, q, answer in zip(a, b, meet, strict=True):
        cases = list(adversarial.orders(p, q))
        assert {naive.triangles_meet_fast(*case) for case in cases} == {answer}
        assert {naive.triangles_meet(*case) for case in cases[:: len(cases) // 8]} == {answer}


@pytest.mark.parametrize("kind", ["near", "coplanar_oblique", "degenerate", "lattice", "needle"])
@pytest.mark.parametrize("power", [-300, 7, 300])
def test_scaling_by_a_power_of_two(kind, power):
    a, b, meet = hits(kind, 100)
    scale = 2.0**power
    assert np.array_equal(a * scale / scale, a)
    assert np.array_equal(b * scale / scale, b)
    assert [naive.triangles_meet_fast(p * scale, q * scale) for p, q in zip(a, b, strict=True)] == meet
    assert set(meet) == {False, True}


@pytest.mark.parametrize("kind", ["coplanar_aligned", "coplanar_oblique", "segment", "collinear", "lattice"])
@pytest.mark.parametrize("move", [[1, -2, 5], [2**40, -(2**50), 2**49]])
def test_translation_where_it_is_exact(kind, move):
    a, b, meet = hits(kind, 100)
    moved_a, moved_b = a + move, b + move
    assert np.array_equal(moved_a - move, a)
    assert np.array_equal(moved_b - move, b)
    assert [naive.triangles_meet_fast(p, q) for p, q in zip(moved_a, moved_b, strict=True)] == meet
    assert set(meet) == {False, True}


# ------------------------------------------------------------------------------------------ adversaries


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_kinds_are_finite_seeded_and_may_be_empty(kind):
    first, again = (adversarial.pairs(kind, 20, np.random.default_rng(4)) for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    for x in first:
        assert x.shape == (20, 3, 3)
        assert x.dtype == np.float64
        assert np.isfinite(x).all()
    assert adversarial.pairs(kind, 0, np.random.default_rng(4))[1].shape == (0, 3, 3)


@pytest.mark.parametrize("kind", BOTH)
def test_kinds_have_both_answers(kind):
    share = np.mean(hits(kind, 400)[2])
    assert 0.2 < share < 0.8, share


@pytest.mark.parametrize("kind", adversarial.ALWAYS + adversarial.NEVER)
def test_kinds_with_one_answer(kind):
    a, b, meet = hits(kind, 400)
    assert set(meet) == {kind in adversarial.ALWAYS}
    assert np.all((a.min(axis=1) <= b.max(axis=1)) & (b.min(axis=1) <= a.max(axis=1)))


@pytest.mark.parametrize("kind", HARD_TO_ROUND)
def test_rounding_errs_on_hard_kinds(kind, monkeypatch):
    """The quick decision in float64, without the step to integers, is wrong in more than one pair of a hundred."""
    a, b, meet = hits(kind, 400)
    monkeypatch.setattr(naive, "_scale", lambda values: (values, 0))
    rounded = [naive.triangles_meet_fast(p, q) for p, q in zip(a, b, strict=True)]
    assert np.mean(np.array(rounded) != meet) > 0.01


def test_extreme_kinds_are_extreme():
    rng = np.random.default_rng(5)
    tiny, huge, mixed = (np.abs(np.stack(adversarial.pairs(kind, 400, rng))) for kind in ("tiny", "huge", "mixed"))
    assert np.any((tiny > 0.0) & (tiny < 2.0**-1022))
    assert huge.max() > 1e300
    assert np.log10(mixed.max()) - np.log10(mixed[mixed > 0.0].min()) > 590.0


@pytest.mark.parametrize("kind", ["coplanar_aligned", "coplanar_oblique"])
def test_exactly_coplanar_kinds(kind):
    a, b = adversarial.pairs(kind, 100, np.random.default_rng(6))
    assert all(naive.orient3d(*p, corner) == 0 for p, q in zip(a, b, strict=True) for corner in q)


# ------------------------------------------------------------------------------------------------ meshes


def test_collide_is_all_pairs():
    rng = np.random.default_rng(7)
    vertices_a, vertices_b = rng.integers(0, 9, (2, 24, 3)).astype(np.float64)
    faces_a, faces_b = rng.integers(0, 24, (2, 30, 3))
    found = naive.collide(vertices_a, faces_a, vertices_b, faces_b)
    expected = [
        (i, j)
        for i, face_a in enumerate(faces_a)
        for j, face_b in enumerate(faces_b)
        if naive.triangles_meet(vertices_a[face_a], vertices_b[face_b])
    ]
    assert found.dtype == np.int32
    assert found.tolist() == [list(pair) for pair in expected]
    assert 50 < len(found) < 850


def test_collide_of_a_square_and_a_spike():
    square = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], dtype=np.float64)
    spike = np.array([[3, 1, 0], [3, 1, 5], [3, 2, 5], [2, 2, 0], [2, 2, -5], [2, 3, -5], [9, 9, 9]], dtype=np.float64)
    faces, others = [[0, 1, 2], [0, 2, 3]], [[0, 1, 2], [3, 4, 5], [6, 6, 6]]
    # The first stands on the half below the diagonal; the second touches the diagonal, so both; the third is away.
    assert naive.collide(square, faces, spike, others).tolist() == [[0, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize(("n_a", "n_b"), [(0, 0), (0, 1), (1, 0)])
def test_collide_of_nothing(n_a, n_b):
    vertices, faces = np.array(T, dtype=np.float64), np.array([[0, 1, 2]])
    found = naive.collide(vertices, faces[:n_a], vertices, faces[:n_b])
    assert found.shape == (0, 2)
    assert found.dtype == np.int32
    assert naive.collide(np.empty((0, 3)), np.empty((0, 3), dtype=int), vertices, faces).shape == (0, 2)


def test_box():
    lower, upper = naive.box([[1.0, -2.0, SMALLEST], [0.5, 7.0, -MAX_FLOAT]])
    assert lower.tolist() == [0.5, -2.0, -MAX_FLOAT]
    assert upper.tolist() == [1.0, 7.0, SMALLEST]
