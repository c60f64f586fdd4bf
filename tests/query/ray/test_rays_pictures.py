"""Rays of a picture, row by row, are recognised and taken in tiles: every one of them must be answered as if it came alone."""

import numpy as np
import pytest

import pliant as pl
from pliant.query.ray.cast import rays_of
from pliant.shapes import bumpy, icosphere


def picture(width, height):
    """(origins, directions), row by row."""
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, width), np.linspace(-0.4, 0.4, height))
    directions = np.stack([x.ravel(), y.ravel(), np.ones(x.size)], axis=1)
    return np.tile([0.0, 0.0, -3.0], (len(directions), 1)), directions


@pytest.mark.parametrize(("width", "height", "taken"), [
    (64, 203, 64), (640, 17, 640), (2048, 8, 2048), (72, 128, 72), (100, 128, 0), (16, 1024, 0),
])
def test_the_order_of_the_work_changes_nothing(width, height, taken):
    """Also where rows are no multiple of eight, or too narrow or too few to be taken in tiles."""
    origins, directions = picture(width, height)
    rays, n = rays_of(origins, directions, 0.0, np.inf, None)
    assert (rays.width, n) == (taken, width * height)
    vertices, faces = icosphere(4)
    body = pl.Body(bumpy(vertices, 0.0), faces)
    shuffled = np.random.default_rng(0).permutation(n)
    found, other = pl.cast(body, origins, directions), pl.cast(body, origins[shuffled], directions[shuffled])
    assert rays_of(origins[shuffled], directions[shuffled], 0.0, np.inf, None)[0].width == 0
    assert 0 < found.hit.sum() < n
    for name in ("t", "face", "body", "uv"):
        np.testing.assert_array_equal(getattr(found, name)[shuffled], getattr(other, name))
    one = pl.cast(body, origins[0], directions)                         # one origin for all
    np.testing.assert_array_equal(one.face, found.face)
    np.testing.assert_array_equal(pl.occluded(body, origins, directions), found.hit)
