"""Bounds of queries, attacked: rays, points, planes and transforms in the frame of a body. The attacks are in `tests/bounds/`."""

import numba
import numpy as np
import pytest

import attack
import bounds.frames
import bounds.rays
import pliant as pl

OFF = bool(numba.config.DISABLE_JIT)
FILES = {bounds.rays.__name__, bounds.frames.__name__}
NAMES = [name for name, one in attack.attacks.items() if one.evaluate.__module__ in FILES]

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_error_stays_below_the_bound(name):
    one = attack.attacks[name]
    found = attack.search(one.evaluate, one.starts, np.random.default_rng(1), one.evaluations // (10 if OFF else 1))
    assert found.evaluations > one.evaluations // (100 if OFF else 10)
    assert found.ratio < 1, found


@pytest.mark.parametrize("power", range(-100, -40, 2))
def test_points_hardly_beside_a_body_that_is_a_point(power):
    """Squares of such distances are no float32."""
    body, far = pl.Body(np.zeros((3, 3)), [[0, 1, 2]]), 2.0**power
    assert pl.closest(body, [[far, 0, 0]]).distance.tolist() == [far]


@pytest.mark.parametrize("power", range(-100, -40, 2))
@pytest.mark.parametrize("sign", [-1, 1])
def test_points_hardly_beside_the_middle_of_a_leaf(power, sign):
    """The way to the middle, by which a leaf is ruled out, has a square that is no float32."""
    body = pl.Body(np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]) * 1000.0, [[0, 1, 2]])
    found = pl.closest(body, [[sign * 2.0**power] * 3], max_distance=1e6)
    assert found.distance == pytest.approx([1000 / 3**0.5], rel=1e-12)
