"""Small parts of a large body: float32 coordinates whose squares underflow are enclosed like all others."""

import numba
import numpy as np
import pytest
from test_protocol import set_enclosed

from pliant.core.jit import kernel
from pliant.core.records import put_lane, whole
from pliant.core.simd import four
from pliant.volume.protocol import Best, fit
from siblings import Siblings, exact

pytestmark = pytest.mark.formulas
OFF = bool(numba.config.DISABLE_JIT)


@kernel
def set_fitted(nodes, i, k, rows, points, order):
    put_lane(nodes, i, k, fit(Best(0), whole(nodes, i), four(rows, 0), four(rows, 4), points, order, 0, len(order)))


@pytest.mark.parametrize("power", range(-148, -20, 32 if OFF else 8))
def test_points_of_any_size_are_held(family, power):
    """General, flat and like needles, by `enclose` and by the best fit."""
    rng, order = np.random.default_rng(43), np.arange(8, dtype=np.int32)
    made = Siblings(family, 4, rng)
    for turn in range(1 if OFF else 12):
        points = rng.standard_normal((8, 3)) * rng.choice([1.0, 1.0, 1e-3, 0.0], 3) * 2.0**power
        rows = made.put(1, 0, points)
        box = np.concatenate([rows.min(0), rows.max(0)])
        for k, fitted in enumerate((set_enclosed, set_fitted), 1):
            with np.errstate(under="ignore"):
                fitted(made.nodes, 1, k, box, rows.reshape(-1), order)
            assert all(made.holds(made.volume(1, k), exact(point)) for point in points.tolist()), (turn, k)
