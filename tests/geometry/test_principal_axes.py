"""Frames of points: units, perpendicular; along what the points are spread along."""

import numpy as np
import pytest

import poses
from pliant.core.jit import kernel
from pliant.core.stack import stack_float32, stack_int64
from pliant.geometry.principal_axes import spread_axes, triangle_axes

pytestmark = pytest.mark.formulas


@kernel
def put_spread(points, order, out):
    frame = stack_float32(9)
    spread_axes(points, order, 0, len(order), frame)
    for k in range(9):
        out[k] = frame[k]


@kernel
def put_triangles(points, n, out):
    frame, names = stack_float32(9), stack_int64(64)
    for k in range(n):
        names[k] = k
    there = triangle_axes(points, names, n, frame)
    for k in range(9):
        out[k] = frame[k] if there else 0
    return there


def rows(points):
    return np.column_stack([points, np.zeros(len(points))]).astype(np.float32).reshape(-1)


def spread(points):
    out = np.zeros(9)
    put_spread(rows(points), np.arange(len(points), dtype=np.int32), out)
    return out.reshape(3, 3)


def assert_frame(frame):
    assert np.allclose(frame @ frame.T, np.eye(3), atol=2.0**-21)


SHAPES = {"cloud": [1, 1, 1], "ellipsoid": [3, 2, 1], "plate": [1, 1, 0], "needle": [1, 0, 0], "point": [0, 0, 0],
          "tiny": [3e-18, 2e-18, 1e-18]}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_axes_of_the_covariance(shape):
    rng = np.random.default_rng(11)
    for _ in range(20):
        turn = poses.any_turn(rng)
        points = rng.standard_normal((40, 3)) * SHAPES[shape] @ turn.T
        frame = spread(points)
        assert_frame(frame)
        along = np.square((points - points.mean(axis=0)) @ frame.T).sum(axis=0)
        exact = np.linalg.eigvalsh(np.cov(points.T))[::-1] * (len(points) - 1)
        assert np.allclose(along, exact, rtol=1e-4, atol=1e-6 * exact.max())


def test_axes_along_triangles():
    """A box of points is found, whichever way it is turned: its surface is that of the box, where the covariance may not tell the axes."""
    rng = np.random.default_rng(12)
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * [1.0, 0.7, 0.2]
    pairs = corners[[0, 7, 1, 6, 2, 5, 3, 4]]                           # two and two across from each other
    for _ in range(20):
        turn, out = poses.any_turn(rng), np.zeros(9)
        assert put_triangles(rows(pairs @ turn.T), 8, out)
        frame = out.reshape(3, 3)
        assert_frame(frame)
        sides = np.ptp(pairs @ turn.T @ frame.T, axis=0)
        assert sides @ np.roll(sides, 1) == pytest.approx(4 * (0.7 + 0.7 * 0.2 + 0.2), rel=1e-4)


@pytest.mark.parametrize("points", [np.zeros((8, 3)), np.outer(np.arange(8.0), [1, 2, 3])], ids=["point", "line"])
def test_no_triangle_no_frame(points):
    assert not put_triangles(rows(points), 8, np.zeros(9))
