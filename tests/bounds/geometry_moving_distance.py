"""Attacks on the lines of `geometry/moving_distance.py`: distances of moving corners along a direction.

Points are four at the start, four at the end, and one row that chooses a time and a direction.
"""

import numpy as np

import attack
from attack import dot, integers, minus, scaled
from pliant.core.stack import stack_float64
from pliant.geometry.moving_distance import LINE_ERROR, line_value, put_scaled
from revealed import compiled

SCALES = (1.0, 1.0, 2.0**-20, 2.0**-1040, 2.0**320, 2.0**1015)


@compiled
def run(t, n, s, out):
    """For the pairs of corners (0, k): the value of a line at a time, and the exponent of the scale."""
    x = stack_float64(56)
    _, e = put_scaled(t, x)
    for k in range(1, 4):
        start, end = line_value(x, 0, k, n[0], n[1], n[2]), line_value(x, 4, 4 + k, n[0], n[1], n[2])
        out[k - 1] = (1.0 - s) * start + s * end
    return e


_out = np.zeros(3)


@attack.bound("lines of moving corners", "geometry/moving_distance.py", ("LINE_ERROR",), attack.families((9, 3), scales=SCALES), 4_000,
              section="BOUND of the lines")
def lines(points):
    if not np.isfinite(points).all() or not np.ptp(points[:8], axis=0).any():
        return None
    s = float(abs(np.frexp(points[8, 0])[0]) % 1)
    direction = np.array([np.frexp(value)[0] + 0.1 for value in points[8]])
    direction = direction / np.linalg.norm(direction) * (1 - 2.0**-48)
    e = run(np.ascontiguousarray(points[:8]).reshape(-1), direction, s, _out)
    numbers, f = integers(points[:8])
    normal, g = integers(direction)
    time = attack.Fraction(s)
    found = []
    for k in range(1, 4):
        start, end = dot(normal, minus(numbers[k], numbers[0])), dot(normal, minus(numbers[4 + k], numbers[4]))
        exact = ((1 - time) * start + time * end) * scaled(1, f + g) / attack.Fraction(2) ** int(e)
        found.append(abs(attack.Fraction(_out[k - 1]) - exact))
    return max(found), attack.Fraction(LINE_ERROR)
