"""Small parts of a large body: float32 coordinates whose squares underflow are enclosed like all others."""

import numba
import numpy as np
import pytest

from pliant.volume.protocol import FIT_METHODS
from siblings import Siblings, exact, set_enclosed, set_fitted

pytestmark = pytest.mark.formulas
OFF = bool(numba.config.DISABLE_JIT)


@pytest.mark.parametrize("power", range(-148, -20, 32 if OFF else 8))
def test_points_of_any_size_are_held(volume_type, power):
    """General, flat and like needles, by `enclose` and by the best fit."""
    rng, order = np.random.default_rng(43), np.arange(8, dtype=np.int32)
    made = Siblings(volume_type, 8, rng)
    for turn in range(1 if OFF else 12):
        points = rng.standard_normal((8, 3)) * rng.choice([1.0, 1.0, 1e-3, 0.0], 3) * 2.0**power
        rows = made.put(1, 0, points)
        given = np.concatenate([rows.min(0), rows.max(0)]), rows.reshape(-1), order
        with np.errstate(under="ignore"):
            set_enclosed(made.nodes, 1, 1, *given)
            set_fitted(FIT_METHODS["best"], made.nodes, 1, 2, *given)
        for k in (1, 2):
            assert all(made.holds(made.volume(1, k), exact(point)) for point in points.tolist()), (turn, k)
