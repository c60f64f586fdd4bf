"""The smallest ball around points, against all balls that two to four of them could hold up."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pliant.core.jit import kernel
from pliant.core.stack import stack_float64, stack_int64
from pliant.geometry.min_sphere import min_sphere

pytestmark = pytest.mark.formulas


@kernel
def put_smallest(points, n, out, support):
    ball, held = stack_float64(4), stack_int64(4)
    size = min_sphere(points, n, held, ball)
    for k in range(4):
        out[k] = ball[k]
    for k in range(size):
        support[k] = held[k]
    return size


def found(points):
    """(centre, squared radius, the points that hold it up); points are relative to the first."""
    out, support = np.zeros(4), np.zeros(4, np.int64)
    size = put_smallest(np.ascontiguousarray(points - points[0], float).reshape(-1), len(points), out, support)
    return out[:3], out[3], support[:size].tolist()


def smallest(points):
    """The squared radius of the smallest ball, by trying all: the smallest that holds all points, of those through two, three and four."""
    unique = np.unique(points, axis=0)
    best = 0.0 if len(unique) == 1 else np.inf
    for m in (2, 3, 4):
        for chosen in combinations(range(len(unique)), m):
            ways = unique[list(chosen[1:])] - unique[chosen[0]]
            products = ways @ ways.T
            if not np.linalg.det(products) > 1e-9 * np.prod(np.diag(products)):
                continue
            move = np.linalg.solve(products, np.diag(products) / 2) @ ways
            if (np.square(unique - (unique[chosen[0]] + move)).sum(axis=1) <= move @ move * (1 + 1e-9)).all():
                best = min(best, move @ move)
    return best


def assert_smallest(points):
    centre, squared, support = found(points)
    points = points - points[0]
    far = np.square(points - centre).sum(axis=1)
    assert squared == pytest.approx(far.max(), rel=1e-15)
    assert np.allclose(far[support], squared, rtol=1e-6, atol=1e-300), "what holds it up is on its surface"
    best = smallest(points)
    assert best * (1 - 1e-9) <= squared <= best * (1 + 1e-6) + 1e-300


def on_sphere(rng, n):
    points = rng.standard_normal((n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


KINDS = {"cloud": lambda rng, n: rng.standard_normal((n, 3)),
         "plane": lambda rng, n: rng.standard_normal((n, 3)) * [1, 1, 0],
         "line": lambda rng, n: rng.standard_normal((n, 3)) * [1, 0, 0],
         "sphere": on_sphere,
         "circle": lambda rng, n: np.column_stack([np.cos(t := rng.uniform(0, 7, n)), np.sin(t), np.zeros(n)]),
         "cube": lambda rng, n: rng.integers(0, 2, (n, 3)).astype(float),
         "twice": lambda rng, n: np.repeat(rng.standard_normal((n, 3)), 2, axis=0)}


@pytest.mark.parametrize("kind", list(KINDS))
def test_it_is_the_smallest(kind):
    rng = np.random.default_rng(3)
    for turn in range(40):
        points = KINDS[kind](rng, int(rng.integers(1, 10)))
        assert_smallest(points * 10.0 ** rng.integers(-6, 6) + rng.standard_normal(3) * (turn % 2))


@given(arrays.arrays(float, st.tuples(st.integers(1, 7), st.just(3)), elements=st.integers(-3, 3)))
@example(np.zeros((5, 3)))
@example(np.array([[0, 0, 0], [2, 0, 0], [1, 0, 0], [1, 0, 0.0]]))
def test_points_of_a_lattice(points):
    """Many at one place, on a line, in a plane, on a circle, on a sphere."""
    assert_smallest(points)
