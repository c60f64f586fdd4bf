"""Rows of maps along the directions of k-DOPs, in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from pliant.refit.convex import SLABS, project_maps, slab_directions

pytestmark = pytest.mark.formulas


@pytest.mark.parametrize("volume_type", SLABS)
def test_rows_along_directions_are_rounded_once(volume_type):
    """Sums of rows, exact in rational arithmetic, are rounded to float64 and to float32."""
    directions, rng = slab_directions(volume_type), np.random.default_rng(4)
    rows = (rng.standard_normal(12 * 5) * 2.0 ** rng.integers(-30, 30, 12 * 5)).astype(np.float32)
    rows[:24] = rng.choice([0, -0.0, 1, 3e38, 1e-44], 24)
    planes = np.zeros(4 * 5 * len(directions), np.float32)
    with np.errstate(over="ignore"):                                   # with the JIT off NumPy warns
        project_maps(rows, directions, planes)
    for row, value in zip(np.ndindex(5, len(directions), 4), planes.tolist(), strict=True):
        terms = [int(directions[row[1], k]) * Fraction(float(rows[12 * row[0] + 4 * k + row[2]])) for k in range(3)]
        size = sum(map(abs, terms))
        if size < 2**127:                                               # a lane that is larger is no bound
            assert abs(Fraction(value) - sum(terms)) <= size * Fraction(1, 2**24) * (1 + Fraction(1, 2**20)) + Fraction(1, 2**149)
