"""How far apart volumes are, where one holds nothing, and where one is turned."""

import numpy as np
import pytest

from pliant.volume.protocol import VOLUME_TYPES, RigidTransform, enclose_box, separation, transform_volume
from siblings import VOLUMES

pytestmark = [pytest.mark.formulas, pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero):RuntimeWarning")]
QUARTER = RigidTransform(*np.float32([0, -1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2.0**-22]))  # about z


def box_of(name, low, high):
    """The volume of a family around a box."""
    return enclose_box(VOLUME_TYPES[name].empty, np.float32([*low, 0]), np.float32([*high, 0]))


@pytest.mark.parametrize("name", VOLUMES)
@pytest.mark.parametrize("other", VOLUMES)
def test_nothing_is_near_nothing(name, other):
    some, none = box_of(name, (0, 0, 0), (1, 2, 3)), VOLUME_TYPES[other].empty
    assert not separation(some, none) <= np.float32(1e30)
    assert not separation(none, some) <= np.float32(1e30)
    assert not separation(some, transform_volume(none, QUARTER)) <= np.float32(1e30)
    assert not separation(none, transform_volume(some, QUARTER)) <= np.float32(1e30)


@pytest.mark.parametrize("name", VOLUMES)
def test_turned_volumes_are_no_nearer_than_they_are(name):
    """From 5 to 7 along x, turned by a quarter: along y."""
    some, far = box_of(name, (-1, -1, -1), (1, 1, 1)), transform_volume(box_of(name, (5, -1, -1), (7, 1, 1)), QUARTER)
    found = float(separation(some, far))
    assert 0 < found <= 16
    if name == "aabb" or name.startswith("kdop"):
        assert found > 15.9
    assert not float(separation(some, transform_volume(box_of(name, (1, -1, -1), (3, 1, 1)), QUARTER)))
