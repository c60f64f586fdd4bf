"""Fits of measured columns: the constants of the cost function, and exponents of growth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls


class Cost(NamedTuple):
    """t = n_v c_v + n_p c_p + n_u c_u, in nanoseconds; c_v and c_p are shared by the runs, each has a c_u of its own. `r2`: the share of
    the variance over steps that the fit explains."""

    c_v: float
    c_p: float
    c_u: dict[str, float]
    r2: float


def cost(runs: list[dict[str, Any]]) -> Cost:
    """Fit the query times of two bodies, refits included and the fixed cost of a call subtracted, for runs that test the same volumes;
    least squares over all steps, with c >= 0."""
    blocks, times = [], []
    for i, run in enumerate(runs):
        n_u = np.zeros((run["steps"], len(runs)))
        n_u[:, i] = run["n_u"]
        blocks.append(np.column_stack([run["n_v"], run["n_p"], n_u]))
        times.append(np.array(run["query_ms"]) * 1e6 - run["fixed_ms"]["query"] * 1e6)
    counts, t = np.concatenate(blocks).astype(float), np.concatenate(times)
    scale = np.maximum(np.linalg.norm(counts, axis=0), 1e-300)
    c = nnls(counts / scale, t)[0] / scale
    spread = float(((t - t.mean()) ** 2).sum())
    r2 = 1 - float(((t - counts @ c) ** 2).sum()) / spread if spread else 1.0
    return Cost(float(c[0]), float(c[1]), {run["method"]: float(c[2 + i]) for i, run in enumerate(runs)}, r2)


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """e of y ~ x^e, by least squares on logarithms; NaN if undefined."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    good = (x > 0) & (y > 0)
    if good.sum() < 2 or np.ptp(x[good]) == 0:
        return float("nan")
    return round(float(np.polyfit(np.log(x[good]), np.log(y[good]), 1)[0]), 6)
