"""Large faces with something very near: squares of quotients vanish in float32, and directions came out longer than 1."""

import numpy as np
import pytest

import pliant as pl
from bounds.geometry_distances import bound_gaps


def face_and_spike(size, height):
    """A face in the plane z = 0, and one that stands on a corner above its inside."""
    face = np.array([[-size, -size, 0], [size, -size, 0], [0, size, 0]])
    return face, np.array([[0, 0, height], [size / 4, 0, size / 2], [0, size / 4, size / 2]])


CASES = [(2.0**k, 4.0**k * 2.0**-m) for k in (20, 24, 26, 27) for m in range(72, 80)]


@pytest.mark.parametrize(("size", "height"), CASES)
def test_the_least_distance_is_not_too_long(size, height):
    error, bound = bound_gaps(np.vstack(face_and_spike(size, height)).astype(np.float32))
    assert error < bound


@pytest.mark.parametrize(("size", "height"), CASES)
def test_what_is_within_a_tolerance_is_found(size, height):
    face, spike = (pl.Body(corners, [[0, 1, 2]]) for corners in face_and_spike(size, height))
    assert len(pl.within(face, spike, height)) == 1
    assert len(pl.within(face, spike, np.nextafter(height, 0))) == 0
