"""The reference for rays against answers written by hand, and against a decision of another kind: the solution of three equations.

`naive_rays` judges the library, so it is judged here by what needs no signs of volumes: O + t D = A + u (B − A) + v (C − A) is solved for
t, u and v in fractions, and the face is hit if the solution is unique and lies in the triangle.
"""

from fractions import Fraction
from itertools import permutations
from math import inf, nan

import numpy as np
import pytest

import adversarial
import meshes
import naive_rays

TINIEST, MOST = 5e-324, 1.7976931348623157e308
UP = 2.0**-52
NEVER = ("segment", "point", "collinear", "degenerate", "coplanar_aligned")  # no area, or all rays in the plane
T = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]

# name, corners, origin, direction, (t, u, v) or None
WRITTEN = [
    ("inside", T, [1, 2, -3], [0, 0, 1], (3, "1/4", "1/2")),
    ("from the other side", T, [1, 2, 3], [0, 0, -1], (3, "1/4", "1/2")),
    ("a long direction", T, [1, 2, -3], [0, 0, 6], ("1/2", "1/4", "1/2")),
    ("behind", T, [1, 2, 3], [0, 0, 1], (-3, "1/4", "1/2")),
    ("oblique", T, [0, 0, -1], [1, 1, 1], (1, "1/4", "1/4")),
    ("on an edge", T, [2, 0, -1], [0, 0, 1], (1, "1/2", 0)),
    ("on the long edge", T, [2, 2, -1], [0, 0, 1], (1, "1/2", "1/2")),
    ("on corner 0", T, [0, 0, -1], [0, 0, 1], (1, 0, 0)),
    ("on corner 1", T, [4, 0, 1], [0, 0, -2], ("1/2", 1, 0)),
    ("on corner 2", T, [0, 0, -4], [0, 1, 1], (4, 0, 1)),
    ("beyond the long edge by an ulp", T, [2, 2 + 2 * UP, -1], [0, 0, 1], None),
    ("beyond an edge by the smallest number", T, [2, -TINIEST, -1], [0, 0, 1], None),
    ("from the face itself", T, [1, 1, 0], [1, 2, 3], (0, "1/4", "1/4")),
    ("from a corner", T, [0, 4, 0], [-1, 7, 1], (0, 0, 1)),
    ("from an edge, away from the face", T, [2, 0, 0], [0, -9, TINIEST], (0, "1/2", 0)),
    ("in the plane, through the middle", T, [-1, 1, 0], [1, 0, 0], None),
    ("in the plane, along an edge", T, [-1, 0, 0], [1, 0, 0], None),
    ("in the plane, from inside", T, [1, 1, 0], [1, 0, 0], None),
    ("parallel to the plane", T, [-1, 1, 1], [1, 0, 0], None),
    ("almost parallel to the plane", T, [1, 1, -TINIEST], [0, 0, TINIEST], (1, "1/4", "1/4")),
    ("beside", T, [3, 3, -1], [0, 0, 1], None),
    ("a face without area, through its middle", [[0, 0, 0], [2, 2, 0], [4, 4, 0]], [1, 1, -1], [0, 0, 1], None),
    ("a repeated corner", [[0, 0, 0], [4, 0, 0], [4, 0, 0]], [1, 0, -1], [0, 0, 1], None),
    ("a point", [[1, 1, 1]] * 3, [0, 0, 0], [1, 1, 1], None),
    ("of all of space", [[-MOST, -MOST, 1], [MOST, -MOST, 1], [0, MOST, 1]], [0, 0, 0], [0, 0, 1], (1, "1/4", "1/2")),
    ("of nothing but the smallest", [[0, 0, TINIEST], [TINIEST, 0, TINIEST], [0, TINIEST, TINIEST]], [0, 0, 0], [0, 0, MOST],
     (Fraction(TINIEST) / Fraction(MOST), 0, 0)),
    ("a t that no float64 is", T, [1, 1, -MOST], [0, 0, TINIEST], (Fraction(MOST) / Fraction(TINIEST), "1/4", "1/4")),
]


def solve(corners, origin, direction):
    """(t, u, v) of the one point that the line and the triangle have in common, or None: by elimination."""
    a, b, c = ([Fraction(x) for x in corner] for corner in np.asarray(corners, float).tolist())
    o, d = ([Fraction(x) for x in point] for point in (np.asarray(origin, float).tolist(), np.asarray(direction, float).tolist()))
    rows = [[d[k], a[k] - b[k], a[k] - c[k], a[k] - o[k]] for k in range(3)]
    for k in range(3):
        pivot = next((row for row in range(k, 3) if rows[row][k]), None)
        if pivot is None:
            return None                                                 # no solution, or many
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for row in range(3):
            if row != k:
                rows[row] = [x - rows[row][k] * y for x, y in zip(rows[row], rows[k], strict=True)]
    t, u, v = (row[3] for row in rows)
    return (t, u, v) if u >= 0 and v >= 0 and u + v <= 1 else None


@pytest.mark.parametrize(("corners", "origin", "direction", "right"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers(corners, origin, direction, right):
    right = right and tuple(map(Fraction, right))
    assert naive_rays.meet(corners, origin, direction) == right
    assert solve(corners, origin, direction) == right
    for every in (False, True):
        found = naive_rays.hits(corners, [[0, 1, 2]], origin, direction, -inf, inf, every)
        assert found == ([(0, *right)] if right else [])


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_order_of_corners_permutes_weights(order):
    for _, corners, origin, direction, right in WRITTEN:
        found = naive_rays.meet(np.array(corners, float)[list(order)], origin, direction)
        assert (found is None) == (right is None)
        if right:
            t, u, v = map(Fraction, right)
            weights = 1 - u - v, u, v
            assert found == (t, weights[order[1]], weights[order[2]])


def test_equal_to_the_solution_of_three_equations():
    """On small whole numbers: rays through corners and edges, in planes, from faces, and faces without area are all common."""
    rng, kinds = np.random.default_rng(1), dict.fromkeys(("hit", "miss", "on an edge", "on a corner", "in the plane", "from the face"), 0)
    for _ in range(4000):
        corners, origin, direction = rng.integers(-2, 3, (3, 3)), rng.integers(-2, 3, 3), rng.integers(-2, 3, 3)
        found, right = naive_rays.meet(corners, origin, direction), solve(corners, origin, direction)
        assert found == right
        kinds["hit" if found else "miss"] += 1
        if found:
            zeros = [found[1], found[2], 1 - found[1] - found[2]].count(0)
            kinds["on an edge"] += zeros == 1
            kinds["on a corner"] += zeros == 2
            kinds["from the face"] += found[0] == 0
        elif np.any(direction):
            normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
            kinds["in the plane"] += bool(normal.any() and normal @ direction == 0 and normal @ (origin - corners[0]) == 0)
    assert min(kinds.values()) > 40, kinds


def aimed(kind, n, seed):
    """Triangles (n, 3, 3) of a hard kind, and a ray for each at a point of it, rounded: a corner, on an edge, or inside."""
    rng = np.random.default_rng(seed)
    triangles, others = adversarial.pairs(kind, n, rng)
    weights = rng.integers(0, 3, (n, 3)).astype(float)
    weights[weights.sum(1) == 0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        at = np.einsum("nk,nkd->nd", weights / weights.sum(1, keepdims=True), triangles)
        origins = others[:, 0]
        return triangles, origins, np.clip(np.nan_to_num(at - origins), -MOST, MOST)


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_triangles(kind):
    """Both decisions, and the quick look leaves out nothing that is hit."""
    triangles, origins, directions = aimed(kind, 80, 2)
    seen = set()
    for corners, origin, direction in zip(triangles, origins, directions, strict=True):
        right = solve(corners, origin, direction) if direction.any() else None
        assert naive_rays.meet(corners, origin, direction) == right
        if direction.any():
            assert right is None or naive_rays.maybe(corners[None], origin, direction).tolist() == [0]
        seen.add(right is not None)
    assert seen == ({False} if kind in NEVER else {False, True})


def test_a_quick_look_leaves_out_most():
    vertices, faces = meshes.cube()
    rng = np.random.default_rng(3)
    left = [len(naive_rays.maybe(vertices[faces], rng.uniform(-1, 2, 3), rng.standard_normal(3))) for _ in range(50)]
    assert 0 < sum(left) < 50 * 12 / 2


def test_a_cube():
    """From its middle: through every face, edge and corner."""
    vertices, faces = meshes.cube((-1, -1, -1), 2.0)
    count = {1: 0, 2: 0, 3: 0}
    for x in np.ndindex(3, 3, 3):
        direction = np.array(x) - 1.0
        if not direction.any():
            continue
        found = naive_rays.hits(vertices, faces, [0, 0, 0], direction)
        assert {hit.t for hit in found} == {1}
        assert sorted(set(found)) == found
        for hit in found:
            a, b, c = (list(map(Fraction, corner)) for corner in vertices[faces[hit.face]].tolist())
            assert [p + hit.u * (q - p) + hit.v * (r - p) for p, q, r in zip(a, b, c, strict=True)] == list(map(Fraction, direction))
        count[np.count_nonzero(direction)] += len(found)
        both = naive_rays.hits(vertices, faces, [0, 0, 0], direction, -inf, inf)
        assert {hit.t for hit in both} == {1, -1}
    assert count == {1: 6 * 2, 2: 12 * 2, 3: 12 * 3}                    # two faces at every diagonal and edge; every face has three corners


@pytest.mark.parametrize("limits", [(0, inf), (-inf, inf), (1, 1), (1 + UP, 3), (1, 3), (-1, 0), (-inf, -1), (3, inf), (4, 5), (0, 1 - UP)])
def test_limits_are_closed(limits):
    sheets = [meshes.soup([np.array(T) + z * np.array([0, 0, 1])]) for z in (-1, 1, 2, 3)]
    found = naive_rays.hits(*meshes.joined(*sheets), [1, 1, 0], [0, 0, 1], *limits)
    assert [hit.t for hit in found] == [t for t in (-1, 1, 2, 3) if limits[0] <= t <= limits[1]]


@pytest.mark.parametrize(("origin", "direction", "limits"), [
    ([nan, 0, -1], [0, 0, 1], (0, inf)), ([0, inf, -1], [0, 0, 1], (0, inf)), ([1, 1, -1], [0, nan, 1], (0, inf)),
    ([1, 1, -1], [0, 0, inf], (0, inf)), ([1, 1, -1], [0, 0, 0], (0, inf)), ([1, 1, -1], [0, -0.0, 0], (-inf, inf)),
    ([1, 1, -1], [0, 0, 1], (nan, inf)), ([1, 1, -1], [0, 0, 1], (0, nan)), ([1, 1, -1], [0, 0, 1], (1, 0.5)),
    ([1, 1, -1], [0, 0, 1], (inf, -inf)), ([1, 1, -1], [0, 0, 1], (inf, inf)), ([1, 1, -1], [0, 0, 1], (-inf, -inf)),
])
def test_what_is_no_ray_hits_nothing(origin, direction, limits):
    assert naive_rays.hits(T, [[0, 1, 2]], origin, direction, *limits) == []
    assert not naive_rays.occluded({0: (T, [[0, 1, 2]])}, origin, direction, *limits)


def test_several_bodies():
    """The nearest first, then by body, then by face; masks hide bodies."""
    near, far, two = ((np.array(T, float) + z * np.array([0, 0, 1]), [[0, 1, 2]] * n) for z, n in ((1, 1), (2, 1), (1, 2)))
    bodies = {7: far, 5: two, 9: near, 3: (np.zeros((0, 3)), [])}
    ray = [1, 1, 0], [0, 0, 1]
    assert [hit[:3] for hit in naive_rays.cast_all(bodies, *ray)] == [(1, 5, 0), (1, 5, 1), (1, 9, 0), (2, 7, 0)]
    assert naive_rays.cast(bodies, *ray) == (1, 5, 0, Fraction(1, 4), Fraction(1, 4))
    assert naive_rays.cast(bodies, *ray, 1.5, 5.0)[:3] == (2, 7, 0)
    assert naive_rays.cast(bodies, *ray, 2.5) is None
    assert naive_rays.occluded(bodies, *ray) and not naive_rays.occluded(bodies, *ray, 2.5)
    masks = {7: 1, 5: 2, 9: 4, 3: 7}
    assert naive_rays.cast(bodies, *ray, mask=1, masks=masks)[1] == 7
    assert [hit.body for hit in naive_rays.cast_all(bodies, *ray, mask=5, masks=masks)] == [9, 7]
    assert not naive_rays.occluded(bodies, *ray, mask=8, masks=masks)
    assert naive_rays.cast_all({}, *ray) == []
