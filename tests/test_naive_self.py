"""The references for self-collision and contacts, judged by other exact decisions, by written answers, and by linear programming."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import adversarial
import naive
from naive_contacts import contact, in_one_plane, root

T = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]
UP = 2.0**-52
COPLANAR = ("coplanar_aligned", "coplanar_oblique")
LATTICES = ("lattice", "segment", "point", "collinear", "degenerate", *COPLANAR)


def written(points):
    """Points as `common` gives them."""
    return sorted(tuple(map(Fraction, point)) for point in points)


# ------------------------------------------------------------------------------------------ common part

# Name, a triangle, another, the extreme points of what they have in common.
COMMON = [
    ("apart", T, [[9, 9, 9], [8, 9, 9], [9, 8, 9]], []),
    ("itself", T, T, T),
    ("through the middle", T, [[1, 1, -1], [1, 1, 1], [3, 1, 0]], [[1, 1, 0], [3, 1, 0]]),
    ("an edge pierces", T, [[1, 1, -2], [1, 1, 1], [9, 9, 1]], [[1, 1, 0], [2, 2, 0]]),
    ("a corner on the inside", T, [[1, 1, 0], [1, 1, 1], [2, 1, 1]], [[1, 1, 0]]),
    ("a corner on an edge", T, [[2, 2, 0], [9, 2, 1], [2, 9, 1]], [[2, 2, 0]]),
    ("a corner in common", T, [[0, 0, 0], [-1, 0, 1], [0, -1, 1]], [[0, 0, 0]]),
    ("a corner in common, and more", T, [[0, 0, 0], [2, 2, 1], [2, 2, -1]], [[0, 0, 0], [2, 2, 0]]),
    ("an edge in common", T, [[0, 0, 0], [4, 0, 0], [0, 0, 4]], [[0, 0, 0], [4, 0, 0]]),
    ("edges that cross", T, [[2, 1, 1], [2, -1, -1], [2, -3, 9]], [[2, 0, 0]]),
    ("edges that overlap", T, [[1, 0, 0], [9, 0, 0], [5, 0, 2]], [[1, 0, 0], [4, 0, 0]]),
    ("in one plane, a quarter", T, [[1, 1, 0], [1, -9, 0], [-9, 1, 0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]),
    ("in one plane, a star", [[0, 0, 0], [6, 0, 0], [0, 6, 0]], [[4, 4, 0], [4, -2, 0], [-2, 4, 0]],
     [[2, 0, 0], [4, 0, 0], [4, 2, 0], [2, 4, 0], [0, 4, 0], [0, 2, 0]]),
    ("in one plane, a part of an edge", T, [[1, 0, 0], [9, 0, 0], [5, -2, 0]], [[1, 0, 0], [4, 0, 0]]),
    ("in one plane, a corner on an edge", T, [[4, 4, 0], [3, 4, 0], [3, 1, 0]], [[3, 1, 0]]),
    ("a segment through", T, [[1, 1, -1], [1, 1, 1], [1, 1, 1]], [[1, 1, 0]]),
    ("a segment inside", T, [[1, 1, 0], [2, 1, 0], [1, 1, 0]], [[1, 1, 0], [2, 1, 0]]),
    ("a collinear face across", T, [[-1, 1, 0], [1, 1, 0], [9, 1, 0]], [[0, 1, 0], [3, 1, 0]]),
    ("a point inside", T, [[1, 1, 0]] * 3, [[1, 1, 0]]),
    ("equal points", [[1, 2, 3]] * 3, [[1, 2, 3]] * 3, [[1, 2, 3]]),
    ("segments of one line", [[0, 0, 0], [2, 4, 6], [1, 2, 3]], [[1, 2, 3], [3, 6, 9], [3, 6, 9]], [[1, 2, 3], [2, 4, 6]]),
    ("segments that cross", [[0, 0, 0], [2, 2, 2], [0, 0, 0]], [[2, 0, 1], [0, 2, 1], [0, 2, 1]], [[1, 1, 1]]),
]


@pytest.mark.parametrize(("p", "q", "points"), [case[1:] for case in COMMON], ids=[case[0] for case in COMMON])
def test_written_common_parts_in_all_orders(p, q, points):
    for case in adversarial.orders(np.array(p, float), np.array(q, float)):
        assert naive.common(*case) == written(points)


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_what_meets_has_something_in_common(kind):
    a, b = adversarial.pairs(kind, 20 if kind == "mixed" else 200, np.random.default_rng(41))
    for p, q in zip(a, b, strict=True):
        assert bool(naive.common(p, q)) == naive.triangles_meet(p, q)


def test_small_lattices():
    a, b = np.random.default_rng(42).integers(0, 3, (2, 4000, 3, 3)).astype(float)
    met = 0
    for p, q in zip(a, b, strict=True):
        points = naive.common(p, q)
        met += bool(points)
        assert bool(points) == naive.triangles_meet(p, q)
        assert len(points) <= 2 or in_one_plane(*(list(map(tuple, t.astype(int).tolist())) for t in (p, q)))
        for point in points:                                            # no point is a mean of the others
            others = [other for other in points if other != point]
            assert not (others and naive.origin_in_hull([tuple(u - v for u, v in zip(o, point, strict=True)) for o in others]))
    assert 400 < met < 3600


@pytest.mark.parametrize("kind", ["crossing", "edge_on_edge", "corner", *LATTICES])
def test_common_parts_reach_as_far_as_linear_programming_says(kind):
    """The farthest point of both triangles in a random direction: six weights, none negative, three equations and two sums."""
    rng = np.random.default_rng(43)
    a, b = adversarial.pairs(kind, 40, rng)
    for p, q in zip(a, b, strict=True):
        points = naive.common(p, q)
        if not points or (kind == "edge_on_edge" and len(points) < 2):  # a touch is beyond the accuracy of a linear program
            continue
        direction = rng.standard_normal(3)
        sums = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], float)
        equal = np.vstack([np.hstack([p.T, -q.T]), sums])
        solution = linprog(-np.concatenate([p @ direction, np.zeros(3)]), A_eq=equal, b_eq=[0, 0, 0, 1, 1])
        assert solution.status == 0
        assert -solution.fun == pytest.approx(max(float(np.dot(np.array(point, float), direction)) for point in points), abs=1e-7)


@pytest.mark.parametrize("power", [-1000, 1000])
def test_common_parts_scale(power):
    a, b = adversarial.pairs("lattice", 100, np.random.default_rng(44))
    for p, q in zip(a, b, strict=True):
        assert naive.common(p * 2.0**power, q * 2.0**power) == [
            tuple(x * Fraction(2) ** power for x in point) for point in naive.common(p, q)]


# ----------------------------------------------------------------------------------------- self-collision

FLAT = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0], [1, 1, 0], [-4, 0, 0], [0, 0, 4], [2, 2, 0], [8, 0, 0], [1, 2, 3]]
# Name, two faces over FLAT, do they collide?
ADJACENT = [
    ("an edge, flat", [0, 1, 2], [3, 2, 1], False),
    ("an edge, folded onto itself", [0, 1, 2], [0, 1, 3], True),
    ("an edge, one within the other", [0, 1, 2], [0, 1, 4], True),
    ("an edge, at a right angle", [0, 1, 2], [0, 1, 6], False),
    ("an edge, one face on its line", [0, 1, 2], [0, 1, 8], False),
    ("an edge, both faces on its line, beyond one end", [0, 1, 8], [0, 1, 8], True),
    ("an edge, both faces on its line, beyond two ends", [0, 1, 8], [0, 1, 5], False),
    ("a vertex, flat", [0, 1, 2], [0, 5, 6], False),
    ("a vertex, one within the other", [0, 1, 2], [0, 4, 5], True),
    ("a vertex, along an edge", [0, 1, 2], [0, 8, 6], True),
    ("a vertex, a corner on the other's long edge", [0, 1, 2], [0, 7, 6], True),
    ("a vertex, on one line, the other way", [0, 1, 2], [0, 5, 5], False),
    ("a vertex, segments on one ray", [0, 1, 1], [0, 8, 8], True),
    ("a vertex, segments on two rays", [0, 1, 1], [0, 5, 5], False),
    ("a vertex, a point", [0, 1, 2], [0, 0, 0], False),
    ("one vertex, named thrice by both", [0, 0, 0], [0, 0, 0], False),
    ("two vertices, named twice", [0, 0, 1], [1, 1, 0], False),
    ("three", [0, 1, 2], [2, 0, 1], True),
    ("three on one line", [0, 1, 8], [8, 1, 0], True),
    ("none, within", [0, 1, 2], [4, 7, 9], True),
    ("none, a corner on an edge", [0, 1, 2], [7, 9, 9], True),
    ("none, apart", [0, 1, 4], [9, 9, 6], False),
]


@pytest.mark.parametrize(("face", "other", "answer"), [case[1:] for case in ADJACENT], ids=[case[0] for case in ADJACENT])
def test_written_self_collisions(face, other, answer):
    for first, second in ((face, other), (other, face), (face[::-1], other[1:] + other[:1])):
        found = naive.self_collide(FLAT, [first, second])
        assert found.tolist() == ([[0, 1]] if answer else [])
        assert found.dtype == np.int32
        assert len(naive.self_collide(FLAT, [first, second], adjacent="ignore")) == (answer and not set(face) & set(other))


def test_two_vertices_in_one_place():
    """By index they are two, unless one stands for both."""
    vertices, faces = [*FLAT[:4], FLAT[1], FLAT[2]], [[0, 1, 2], [3, 5, 4]]
    assert naive.self_collide(vertices, faces).tolist() == [[0, 1]]
    assert naive.self_collide(vertices, faces, same=[0, 1, 2, 3, 1, 2]).tolist() == []
    drifted = np.array(vertices, float)
    drifted[4] = 9.0
    assert naive.self_collide(drifted, faces, same=[0, 1, 2, 3, 1, 2]).tolist() == []


def test_a_mesh_of_all_pairs():
    """Every pair of a random mesh, asked for alone, gives what all together give."""
    rng = np.random.default_rng(45)
    vertices, faces = rng.integers(0, 4, (14, 3)).astype(float), rng.integers(0, 14, (24, 3))
    for adjacent in ("exact", "ignore"):
        alone = [pair for pair in combinations(range(24), 2) if len(naive.self_collide(vertices, faces[list(pair)], adjacent))]
        assert list(map(tuple, naive.self_collide(vertices, faces, adjacent).tolist())) == alone
        assert 20 < len(alone) < 250


def test_without_shared_vertices_it_is_all_pairs_of_two_copies():
    triangles = np.random.default_rng(46).integers(0, 5, (20, 3, 3)).astype(float)
    vertices, faces = triangles.reshape(-1, 3), np.arange(60).reshape(-1, 3)
    both = naive.collide(vertices, faces, vertices, faces)
    for adjacent in ("exact", "ignore"):
        assert naive.self_collide(vertices, faces, adjacent).tolist() == both[both[:, 0] < both[:, 1]].tolist()


def test_no_faces():
    assert naive.self_collide(np.empty((0, 3)), np.empty((0, 3), int)).shape == (0, 2)


# ----------------------------------------------------------------------------------------------- contacts

# Name, a triangle, another, ends, in one plane?, squared depth.
CONTACTS = [
    ("through the middle", T, [[1, 1, -1], [1, 1, 1], [3, 1, 0]], [[1, 1, 0], [3, 1, 0]], False, 1),
    ("a corner a little below", T, [[1, 1, -0.25], [1, 1, 3], [2, 1, 3]], [[1, 1, 0], [Fraction(14, 13), 1, 0]], False, Fraction(1, 16)),
    ("a corner on the face", T, [[1, 1, 0], [1, 1, 1], [2, 1, 1]], [[1, 1, 0], [1, 1, 0]], False, 0),
    ("beside an edge", T, [[1, 0.25, -5], [1, 0.25, 5], [1, -9, 0]], [[1, 0, 0], [1, 0.25, 0]], False, Fraction(1, 16)),
    ("an edge in common", T, [[0, 0, 0], [4, 0, 0], [0, 0, 4]], [[0, 0, 0], [4, 0, 0]], False, 0),
    ("itself", T, T, [[0, 4, 0], [4, 0, 0]], True, 0),
    ("in one plane, a quarter", T, [[3, 1, 0], [3, -9, 0], [-9, 1, 0]], [[0, 1, 0], [3, 0, 0]], True, 0),
    ("on one line", [[0, 0, 0], [2, 4, 6], [1, 2, 3]], [[1, 2, 3], [3, 6, 9], [3, 6, 9]], [[1, 2, 3], [2, 4, 6]], True, 0),
    ("at one point", [[1, 2, 3]] * 3, [[1, 2, 3]] * 3, [[1, 2, 3]] * 2, True, 0),
    ("a needle through a face", T, [[1, 1, -1], [1, 1, 3], [1, 1, 3]], [[1, 1, 0], [1, 1, 0]], False, 1),
]


@pytest.mark.parametrize(("p", "q", "ends", "flat", "square"), [case[1:] for case in CONTACTS], ids=[case[0] for case in CONTACTS])
def test_written_contacts(p, q, ends, flat, square):
    for case in adversarial.orders(np.array(p, float), np.array(q, float)):
        found = contact(*case)
        longest = sum((u - v) ** 2 for u, v in zip(*(map(Fraction, end) for end in ends), strict=True))
        assert sum((u - v) ** 2 for u, v in zip(*found.ends, strict=True)) == longest
        assert set(written(ends)) <= set(found.points)
        assert list(found.ends) == sorted(found.ends)
        assert found.coplanar == flat
        assert found.depth == root(Fraction(square))


def test_what_is_apart_has_no_contact():
    assert contact(np.array(T, float), np.array(T, float) + UP * np.array([0, 0, 1])) is None


@pytest.mark.parametrize("kind", ["crossing", "corner", "edge", "lattice"])
def test_depths_are_those_of_the_hull_of_differences(kind):
    a, b = adversarial.pairs(kind, 150, np.random.default_rng(47))
    depths = []
    for p, q in zip(a, b, strict=True):
        found = contact(p, q)
        if found is not None and not found.coplanar:
            hull = ConvexHull((p[:, None] - q[None, :]).reshape(-1, 3))
            depths.append(float(found.depth))
            assert depths[-1] == pytest.approx(-hull.equations[:, 3].max(), abs=1e-12 * max(np.abs(p).max(), np.abs(q).max()))
    assert len(depths) > 20
    assert (kind == "edge") == (max(depths) == 0)


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 4), Fraction(2), Fraction(10) ** 700, Fraction(1, 10**700), Fraction(3, 7)])
def test_roots(value):
    assert abs(root(value) ** 2 - value) <= value / 2**62
