"""Cameras: rays go through the pixels they are meant for, points appear where rays to them say, and tiles are a way there and back."""

import numpy as np
import pytest

from pliant.render.camera import TILE_SIZE, Camera, subpixel_positions, tile_order

pytestmark = pytest.mark.formulas

CAMERAS = [
    Camera((4, -3, 2), (0, 0, 0.5)),
    Camera((0, 0, 5), (0, 0, 0), (0, 1, 0), 90, 7, 5),
    Camera((1e3, 1e3, 1e3), (1e3 + 1, 1e3 - 2, 1e3), (0.1, 0.2, -1), 12, 33, 64),
]


@pytest.mark.parametrize("camera", CAMERAS)
def test_rays_go_through_the_centres_of_pixels(camera):
    origins, directions = camera.rays()
    assert origins.shape == directions.shape == (camera.pixels, 3) and origins.dtype == directions.dtype == np.float64
    assert (origins == camera.eye).all()
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1, rtol=1e-15)
    rows, columns = np.divmod(np.arange(camera.pixels), camera.width)
    seen = camera.project(origins + 3.7 * directions)
    np.testing.assert_allclose(seen[:, :2], np.stack([columns, rows], axis=1) + 0.5, atol=1e-7)
    assert (seen[:, 2] > 0).all()


def test_the_picture_is_the_right_way_up():
    camera = Camera((0, -10, 0), (0, 0, 0), width=100, height=80)
    x, y, depth = camera.project([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 5, 0]]).T
    assert (x[0], y[0]) == pytest.approx((50, 40)) and depth.tolist() == pytest.approx([10, 10, 10, 15])
    assert x[1] > 50 and y[1] == pytest.approx(40), "x is to the right"
    assert y[2] < 40 and x[2] == pytest.approx(50), "z is up, where rows are small"


def test_the_field_of_view_is_that_of_the_height():
    camera = Camera((0, 0, 0), (0, 1, 0), field_of_view=60, width=90, height=30)
    _, directions = camera.rays_at([[45, 0], [45, 30], [0, 15], [45, 15]])
    top, bottom, left, middle = directions
    assert np.degrees(np.arccos(top @ bottom)) == pytest.approx(60)
    assert np.tan(np.arccos(left @ middle)) == pytest.approx(3 * np.tan(np.radians(30)))
    assert middle == pytest.approx([0, 1, 0], abs=1e-15)


@pytest.mark.parametrize("camera", CAMERAS)
def test_points_and_rays_meet(camera):
    points = np.random.default_rng(1).normal(size=(200, 3)) + camera.look_at
    points = points[camera.project(points)[:, 2] > 0.1]
    place = camera.project(points)
    origins, directions = camera.rays_at(place[:, :2])
    reached = origins + directions * np.linalg.norm(points - origins, axis=1)[:, None]
    np.testing.assert_allclose(reached, points, atol=1e-9)


def test_some_pixels_are_those_of_all():
    camera, some = CAMERAS[0], [5, 3, 639, 307_199]
    np.testing.assert_array_equal(camera.rays(some)[1], camera.rays()[1][some])


def test_parts_of_a_pixel_have_it_as_their_mean():
    found = subpixel_positions([[3, 8], [0, 0]], 3).reshape(2, 9, 2)
    np.testing.assert_allclose(found.mean(axis=1), [[3.5, 8.5], [0.5, 0.5]])
    assert len(np.unique(found.round(9), axis=1)[0]) == 9 and found.min() > 0 and found[1].max() < 1
    np.testing.assert_array_equal(subpixel_positions([[3, 8]]), [[3.5, 8.5]])


@pytest.mark.parametrize(("width", "height"), [(640, 480), (8, 8), (13, 21), (1, 1), (3, 100)])
def test_tiles_visit_each_pixel_once_and_neighbours_together(width, height):
    order = tile_order(width, height)
    assert np.array_equal(np.sort(order), np.arange(width * height))
    picture = np.empty(width * height)
    picture[order] = order
    assert np.array_equal(picture, np.arange(width * height)), "the way back"
    row, column = np.divmod(order, width)
    tile = (row // TILE_SIZE) * 10_000 + column // TILE_SIZE
    assert len(np.unique(tile)) == 1 + np.count_nonzero(np.diff(tile)), "a tile is not left before it is done"


@pytest.mark.parametrize(("options", "says"), [
    ({"look_at": (1, 2, 3)}, "look_at"), ({"up": (-1, -2, -3)}, "up"), ({"up": (0, 0, 0)}, "up"), ({"field_of_view": 0}, "field_of_view"),
    ({"field_of_view": 180}, "field_of_view"), ({"width": 0}, "width"), ({"height": 1 << 20}, "height"), ({"eye": (0, np.nan, 0)}, "eye"),
    ({"eye": (1e300, 0, 0)}, "look_at"),
])
def test_other_cameras_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        Camera(**{"eye": (1, 2, 3), "look_at": (0, 0, 0), **options})
