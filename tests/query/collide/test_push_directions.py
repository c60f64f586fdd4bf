"""Directions along which to push faces that meet, by their normals (paper G, section 7)."""

import numpy as np
import pytest

import pliant as pl
from pliant.query.collide.contacts import push_directions, unit_normals
from pliant.shapes import icosphere

pytestmark = pytest.mark.formulas
FLOOR = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])                   # its normal is z
WALL = np.array([[0.2, -1.0, -1], [0.2, 1, -1], [0.2, 0, 1]])           # its normal is x


def test_out_of_the_other_and_back_behind_itself():
    found = pl.collide(pl.Body(FLOOR, [[0, 1, 2]]), pl.Body(WALL, [[0, 1, 2]]), contacts=True)
    way = np.array([1, 0, -1]) / np.sqrt(2)                             # along the normal of the wall, against that of the floor
    assert np.allclose(found.push_directions, [[way, -way]])


def test_bodies_that_sink_into_each_other_are_pushed_apart():
    """Whatever the pair, more or less: the response of the first body points away from the second."""
    rows, faces = icosphere(1)
    found = pl.collide(pl.Body(rows, faces), pl.Body(rows * 0.9 + [1.6, 0.03, 0.02], faces), contacts=True)
    assert len(found) > 5
    assert np.allclose(np.linalg.norm(found.push_directions, axis=2), 1)
    assert np.array_equal(found.push_directions[:, 0], -found.push_directions[:, 1])
    assert (found.push_directions[:, 0, 0] < -0.5).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e150, 1e300])
def test_normals_of_any_size(scale):
    found = unit_normals(np.stack([FLOOR, WALL, WALL[[1, 0, 2]]]).reshape(-1, 9) * scale)
    assert np.allclose(found, [[0, 0, 1], [1, 0, 0], [-1, 0, 0]])


def test_without_a_difference_of_normals_the_shortest_move_serves():
    """Of faces that look the same way, and of those without area."""
    flat, point = FLOOR.reshape(1, 9), np.tile([0.2, 0.2, 0.0], 3).reshape(1, 9)
    up = np.array([[0.0, 0, 1]])
    assert push_directions(flat, flat + 0.0, up).tolist() == [[[0, 0, -1], [0, 0, 1]]]
    assert push_directions(point, point, up).tolist() == [[[0, 0, -1], [0, 0, 1]]]
    assert np.allclose(push_directions(point, flat, -up), [[[0, 0, 1], [0, 0, -1]]])
    assert push_directions(flat[:0], flat[:0], up[:0]).shape == (0, 2, 3)
