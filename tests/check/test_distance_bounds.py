"""Bounds on distances against distances."""

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.check.distance_bounds import DistanceBounds, fit_motion

BALL = shapes.icosphere(2)


def turned(points, generator):
    """The points after some rigid motion."""
    return points @ np.linalg.qr(generator.normal(size=(3, 3)))[0] + generator.normal(size=3)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e9])
def test_bounds_of_the_next_frame(noise, size):
    """They are no smaller than the distances, and if the bodies move together hardly larger."""
    generator = np.random.default_rng(0)
    one, other = pl.Body(size * BALL[0], BALL[1]), pl.Body(size * (BALL[0] + [0.5, 0, 0]), BALL[1])
    known, which = DistanceBounds(), np.arange(0, len(one.vertices), 3)
    known.begin([one, other])
    assert np.isinf(known.bounds(0, 1)).all(), "nothing is known"
    for _ in range(3):
        distances = pl.closest(other, one.vertices[which]).distance
        known.vertices(1)
        bounds = np.full(len(one.vertices), np.inf)
        bounds[which] = distances
        known.keep(0, 1, bounds)
        both = turned(np.concatenate([one.vertices, other.vertices]) / size, generator)
        both = size * (both + noise * generator.normal(size=both.shape))
        one.update(both[: len(BALL[0])])
        other.update(both[len(BALL[0]) :])
        known.begin([one, other])
        bounds, distances = known.bounds(0, 1), pl.closest(other, one.vertices[which]).distance
        assert (bounds[which] >= distances).all() and np.isinf(np.delete(bounds, which)).all()
        assert (bounds[which] <= distances + size * (1e-9 + 12 * noise)).all()


def test_what_is_not_known():
    """Of a body that is another one now, of pairs that were not measured, and where coordinates are too large to fit a motion."""
    one, other = pl.Body(*BALL), pl.Body(*BALL)
    known = DistanceBounds()
    known.begin([one, other])
    known.vertices(0), known.vertices(1), known.keep(0, 1, np.ones(len(one.vertices)))
    known.begin([one, pl.Body(*BALL)])
    assert np.isinf(known.bounds(0, 1)).all() and np.isinf(known.bounds(1, 0)).all()
    assert fit_motion(1e200 * BALL[0], 1e200 * BALL[0]) is None
    assert fit_motion(np.zeros((0, 3)), np.zeros((0, 3))) is None
