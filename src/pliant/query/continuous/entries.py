"""How a traversal calls the test of two moving features: by address, since it is large and the same for all loops."""
from functools import cache

import numpy as np

from pliant.core.function_pointer import address_of, floats_at
from pliant.core.jit import DISABLED, helper
from pliant.geometry.linear_motion import EDGE_EDGE, VERTEX_FACE, first_contact
from pliant.geometry.moving_distance import first_time_within
from pliant.query.continuous.feature_pairs import EDGE_EDGE as EDGE_PAIR
from pliant.query.continuous.feature_pairs import MIN_DISTANCE_IN, TIME


@helper
def set_time(t, kind):
    """t[TIME] = when two features collide, inf if they do not; points at 0 and at 12, the distance that counts at MIN_DISTANCE_IN. 1 if
    that took long: the exact stage, or an advancement to a distance."""
    stage_kind = EDGE_EDGE if kind == EDGE_PAIR else VERTEX_FACE
    distance, took_long = t[MIN_DISTANCE_IN], True
    if distance > 0.0:
        t[TIME] = first_time_within(t, stage_kind, distance)
    else:
        t[TIME], took_long = first_contact(t, stage_kind)
    return np.int64(took_long)


@cache
def moving_pair_entry():
    """(address, what keeps it alive) of `set_time` for CCD_SIZE float64; see `core/function_pointer.py`."""
    def enter(points, kind):
        return set_time(floats_at(points), kind)

    return address_of(set_time if DISABLED else enter)
