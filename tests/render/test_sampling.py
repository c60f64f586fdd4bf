"""Sub-sampling, frameless parts and coarse grids: what is traced, and that what is filled in is right."""

import numpy as np
import pytest

from pliant.render import sampling
from pliant.render.sampling import FILTERS, coarse_to_fine, fill_from_coarse, pixel_grid, points_of_turn, reconstruct

pytestmark = pytest.mark.formulas

SIZES = [(640, 480), (64, 48), (41, 21), (7, 9), (1, 1), (2, 1)]
STEPS = (1, 2, 5, 10, 50)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_grid_has_every_kth_pixel_and_reaches_the_edges(width, height, step):
    points = pixel_grid(width, height, step)
    corners = points.corners(np.arange(points.points))
    columns, rows = np.unique(corners[:, 0]), np.unique(corners[:, 1])
    assert (np.diff(columns) == step).all() and (np.diff(rows) == step).all() and len(corners) == len(columns) * len(rows)
    for last, side in ((columns[-1], width), (rows[-1], height)):
        assert side - 1 <= last < side - 1 + step
    assert np.array_equal(np.sort(points.tiles()), np.arange(points.points))


@pytest.mark.parametrize("way", FILTERS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_linear_pictures_come_back_exactly(width, height, step, way):
    points = pixel_grid(width, height, step)

    def colours(x, y):
        return np.stack([0.3 + 0.01 * x - 0.02 * y, 7 - x, y + 0 * x], axis=-1)

    traced = colours(*points.corners(np.arange(points.points)).T)
    row, column = np.mgrid[:height, :width]
    np.testing.assert_allclose(reconstruct(traced, points, way), colours(column, row), atol=1e-11)


@pytest.mark.parametrize("way", FILTERS)
@pytest.mark.parametrize("step", STEPS)
def test_traced_pixels_stay_as_they_are(step, way):
    points = pixel_grid(64, 48, step)
    traced = np.random.default_rng(step).random((points.points, 3))
    corners = points.corners(np.arange(points.points))
    inside = (corners < (64, 48)).all(axis=1)
    column, row = corners[inside].T
    picture = reconstruct(traced, points, way)
    assert picture.shape == (48, 64, 3)
    np.testing.assert_allclose(picture[row, column], traced[inside], atol=1e-15)
    assert traced.min() - 1e-12 <= picture.min() and picture.max() <= traced.max() + 1e-12


@pytest.mark.parametrize("way", FILTERS)
def test_weights_are_those_of_the_corners(way):
    u, v = (each.ravel() for each in np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)))
    weights = FILTERS[way](u, v)
    assert weights.min() >= -1e-15
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights @ [0, 1, 0, 1], u, atol=1e-15)
    np.testing.assert_allclose(weights @ [0, 0, 1, 1], v, atol=1e-15)
    np.testing.assert_allclose(FILTERS[way](np.array([0.5]), np.array([0.5])), [[0.25] * 4])


def test_four_triangles_meet_at_the_middle():
    """The colour of a saddle: along a line from a side's middle to the square's it is straight; bilinear, the square has no creases."""
    corners, h = np.array([0.0, 1.0, 1.0, 0.0]), np.linspace(0, 0.5, 11)
    along = sampling.quads(np.full(11, 0.3), h) @ corners
    bend = np.diff(along, 2)
    assert np.abs(np.delete(bend, 5)).max() < 1e-12 and abs(bend[5]) > 0.01, "one crease, on the diagonal"
    np.testing.assert_allclose(sampling.quads(h, h) @ corners, h, atol=1e-15)
    np.testing.assert_allclose(sampling.bilinear(h, h) @ corners, 2 * h * (1 - h), atol=1e-15)


def test_other_steps_and_ways_are_refused():
    for step in (0, -1, 1.5, 10_000):
        with pytest.raises((ValueError, TypeError), match="step"):
            pixel_grid(10, 10, step)
    with pytest.raises(ValueError, match="quads"):
        reconstruct(np.zeros((4, 3)), pixel_grid(2, 2, 1), "cubic")


@pytest.mark.parametrize(("points", "parts"), [(640, 8), (1000, 7), (5, 8), (9, 1), (3072, 64)])
def test_a_cycle_of_parts_covers_each_point_once(points, parts):
    for first in (0, 3, parts + 1):
        turns = [points_of_turn(points, parts, turn) for turn in range(first, first + parts)]
        assert np.array_equal(np.sort(np.concatenate(turns)), np.arange(points))
        assert max(map(len, turns)) - min(map(len, turns)) <= 1


def test_parts_look_random():
    part = points_of_turn(10_000, 10, 0)
    rows, columns = np.divmod(part, 100)
    assert len(np.unique(np.diff(part))) > 10
    assert np.bincount(rows // 20).min() > 150 and np.bincount(columns // 20).min() > 150


@pytest.mark.parametrize(("columns", "rows"), [(64, 48), (13, 9), (1, 1), (8, 1)])
def test_wherever_an_order_ends_there_is_a_picture(columns, rows):
    order, ends = coarse_to_fine(columns, rows)
    assert np.array_equal(np.sort(order), np.arange(columns * rows)) and ends[-1] == columns * rows
    row, column = np.divmod(np.arange(columns * rows), columns)
    values = np.stack([row, column], axis=1).astype(float)
    for end in {*ends, min(ends[0] + 3, len(order)), len(order) // 2 + ends[0]} & set(range(len(order) + 1)):
        known = np.zeros(len(order), bool)
        known[order[:end]] = True
        filled = fill_from_coarse(np.where(known[:, None], values, np.nan), known, columns)
        assert np.isfinite(filled).all() and (filled[known] == values[known]).all()
        assert np.abs(filled - values).max() <= 7, "from the same square of eight"
    exact = fill_from_coarse(values, np.ones(len(order), bool), columns)
    assert np.array_equal(exact, values)
    coarse = order[: ends[0]]
    assert (row[coarse] % 8 == 0).all() and (column[coarse] % 8 == 0).all()
