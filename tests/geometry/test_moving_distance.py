"""Times within a distance, against rational distances: at the time of a hit, and at many times before it."""

from fractions import Fraction

import numpy as np
import pytest

from moving_features import EDGE_EDGE, FAMILIES, VERTEX_FACE, hostile
from naive_distances import _of_point, _of_triangles
from pliant.core.jit import DISABLED, kernel
from pliant.core.stack import stack_float64
from pliant.geometry.linear_motion import first_contact_time
from pliant.geometry.moving_distance import first_time_within

pytestmark = pytest.mark.formulas
NAMES = sorted(set(FAMILIES) - {"mixed", "tiny", "huge"})
TIMES = [Fraction(k, 12) for k in range(13)]


@kernel
def answers(points, kind, distances, out):
    """(time within the distance, time of contact) for rows of 24 numbers."""
    t = stack_float64(25)
    for i in range(len(points)):
        for k in range(24):
            t[k] = points[i, k]
        out[i, 0] = first_time_within(t, kind, distances[i])
        out[i, 1] = first_contact_time(t, kind)


def rows_of(starts, ends):
    return np.ascontiguousarray(np.concatenate([np.reshape(starts, (-1, 12)), np.reshape(ends, (-1, 12))], axis=1))


def square_at(start, end, kind, time):
    """The squared distance at a rational time, exactly."""
    points = [[Fraction(float(x)) + time * (Fraction(float(y)) - Fraction(float(x))) for x, y in zip(p, q, strict=True)]
              for p, q in zip(start, end, strict=True)]
    scale = max(x.denominator for point in points for x in point)
    for point in points:
        for x in point:
            scale = scale if scale % x.denominator == 0 else scale * x.denominator
    a, b, c, d = [tuple(int(x * scale) for x in point) for point in points]
    square = _of_point(a, (b, c, d)) if kind == VERTEX_FACE else _of_triangles((a, b, b), (c, d, d))
    return square / scale**2


def extent_of(start, end):
    return Fraction(float(np.ptp(np.concatenate([start, end]), axis=0).max()))


@pytest.mark.parametrize("name", NAMES)
def test_never_missed_never_late_no_false_alarm(name):
    rng, outcomes = np.random.default_rng(len(name)), set()
    for kind in (VERTEX_FACE, EDGE_EDGE):
        queries = [hostile(rng, name) for _ in range(2 if DISABLED else 15)]
        squares = [[square_at(*query, kind, time) for time in TIMES] for query in queries]
        distances = np.array([float(extent_of(*query)) * 10.0**-rng.integers(0, 9) if rng.random() < 0.5 else
                              float(min(square)) ** 0.5 * (1 + rng.choice([-1, 1, 0]) * 10.0 ** -rng.integers(2, 12))
                              for query, square in zip(queries, squares, strict=True)])
        distances[~(distances > 0)] = 1e-9
        out = np.empty((len(queries), 2))
        answers(rows_of([s for s, _ in queries], [e for _, e in queries]), np.int64(kind), distances, out)
        for query, square, distance, (time, contact) in zip(queries, squares, distances.tolist(), out.tolist(), strict=True):
            near = [t for t, s in zip(TIMES, square, strict=True) if s <= Fraction(distance) ** 2]
            assert not near or time <= near[0]
            assert time <= contact + 2.0**-40
            if time < np.inf:
                most = Fraction(distance) + Fraction(1, 10**9) * (Fraction(distance) + extent_of(*query))
                assert square_at(*query, kind, Fraction(time)) <= most**2
            if near and near[0] == 0:
                assert time == 0
            outcomes.add(time < np.inf)
    assert True in outcomes


@pytest.mark.parametrize("scale", [5e-324, 2.0**-500, 2.0**1015])
def test_all_sizes(scale):
    start = np.array([[0, 0, 8], [-8, -8, 0], [8, -8, 0], [0, 8, 0]]) * scale
    end = start.copy()
    end[0, 2] = 2 * scale
    out = np.empty((3, 2))
    answers(rows_of([start] * 3, [end] * 3), np.int64(VERTEX_FACE), np.array([1.0, 2.0, 5.0]) * scale, out)
    assert out[0].tolist() == [np.inf, np.inf]
    assert abs(out[1, 0] - 1) < 1e-7 and abs(out[2, 0] - 0.5) < 1e-7
