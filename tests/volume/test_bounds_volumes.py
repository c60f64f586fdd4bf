"""Volumes are never short, attacked: the largest error ÷ bound that a search finds for every type and operation stays below 1.

The attacks are in `tests/bounds/volumes.py` and `volume_pairs.py`; `python -m benchmarks.bounds` prints what they find.
"""

import numba
import numpy as np
import pytest

import attack
import bounds.volume_pairs
import bounds.volumes
from siblings import VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
FILES = {bounds.volumes.__name__, bounds.volume_pairs.__name__}
NAMES = [name for name, one in attack.attacks.items() if one.evaluate.__module__ in FILES]

pytestmark = [pytest.mark.formulas, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def test_every_type_of_volume_is_attacked():
    assert {name.split(":")[0] for name in NAMES} == set(VOLUMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_error_stays_below_the_bound(name):
    one = attack.attacks[name]
    found = attack.search(one.evaluate, one.starts, np.random.default_rng(1), one.evaluations // (10 if OFF else 1))
    assert found.evaluations > one.evaluations // (100 if OFF else 10)
    assert found.ratio < 1, found
