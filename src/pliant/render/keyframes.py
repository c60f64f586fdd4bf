"""Smooth ways through key frames, for cameras and bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def interpolate(times: Floats, rows: Floats, time: float) -> Floats:
    """A smooth curve through rows (k, c) at increasing times (k,): cubic between two of them, along the chord of their neighbours at each.

    Slopes are weighted by how near the neighbours are in time (a parabola through three points); it stands still beyond its ends.
    """
    time = float(np.clip(time, times[0], times[-1]))
    if len(times) == 1:
        return np.array(rows[0])
    steps = np.diff(times)[:, None]
    rises = np.diff(rows, axis=0) / steps
    slopes = np.concatenate([rises[:1], (steps[1:] * rises[:-1] + steps[:-1] * rises[1:]) / (steps[1:] + steps[:-1]), rises[-1:]])
    k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 2))
    step = float(steps[k, 0])
    t = (time - times[k]) / step
    start_weight, end_weight = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
    curve: Floats = start_weight * rows[k] + end_weight * rows[k + 1] + step * (
        t * (1 - t) ** 2 * slopes[k] - t * t * (1 - t) * slopes[k + 1])
    return curve
