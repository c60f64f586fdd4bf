"""Volumes that follow without vertices, attacked (`tests/bounds/refits.py`): they hold the vertices under them."""

import numba
import numpy as np
import pytest

import attack
import bounds.refits
from siblings import VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
NAMES = [name for name, one in attack.attacks.items() if one.evaluate.__module__ == bounds.refits.__name__]

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def test_every_type_of_volume_is_attacked():
    assert {name.split(":")[0] for name in NAMES} == {*VOLUMES, "inflated"}


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_error_stays_below_the_bound(name):
    one = attack.attacks[name]
    found = attack.search(one.evaluate, one.starts, np.random.default_rng(1), one.evaluations // (10 if OFF else 1))
    assert found.evaluations > one.evaluations // (100 if OFF else 10)
    assert found.ratio < 1, found
