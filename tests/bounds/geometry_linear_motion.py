"""Attacks on the filters of moving features, `geometry/linear_motion.py`.

Points are four at the start, four at the end, and one row whose first number chooses a time.
"""

import numpy as np

import attack
from attack import cross, dot, integers, minus, scaled
from pliant.core.stack import stack_float64
from pliant.geometry.linear_motion import area_range, largest_coordinate, polar3, put_area, put_rows, put_volume, scale_of, sum_areas, widen
from pliant.geometry.motion_polynomials import EDGE_EDGE, VERTEX_FACE
from revealed import compiled

SCALES = (1.0, 1.0, 2.0**-20, 2.0**-345, 2.0**-500, 2.0**320, 2.0**600, 2.0**1000)
FEW_BITS = 64


@compiled
def run(t, kind, a, b, s, axis, out):
    """f at the Bernstein coefficients of the interval from a to b, at s, and its bound; the ranges of all areas along an axis."""
    d, f, q = stack_float64(18), stack_float64(5), stack_float64(16)
    size, scale = scale_of(largest_coordinate(t))
    put_rows(t, kind, scale, d)
    put_volume(d, f)
    put_area(d, 0, 1, (axis + 1) % 3, (axis + 2) % 3, q, 0)
    put_area(d, 1, 2, (axis + 1) % 3, (axis + 2) % 3, q, 4)
    put_area(d, 2, 0, (axis + 1) % 3, (axis + 2) % 3, q, 8)
    widen(f, q, size)
    sum_areas(q, kind)
    out[0], out[1], out[2] = polar3(f, a, a, a), polar3(f, a, a, b), polar3(f, a, b, b)
    out[3], out[4], out[5], out[6] = polar3(f, b, b, b), polar3(f, s, s, s), f[4], scale
    for k in range(4):
        if k < 3 or kind == EDGE_EDGE:
            out[7 + 2 * k], out[8 + 2 * k] = area_range(q, 4 * k, a, b)
    return 0


_out = np.zeros(16)


def blend(p, q, numerator, denominator):
    return tuple((denominator - numerator) * x + numerator * y for x, y in zip(p, q, strict=True))


def evaluate_kind(kind):
    def rows(points):
        """u, v, w of four integer points."""
        a, b, c, d = points
        return (minus(b, a), minus(c, a), minus(d, a)) if kind == VERTEX_FACE else (minus(b, a), minus(d, c), minus(c, a))

    def prepare(points):
        if not np.isfinite(points).all():
            return None
        j = int(abs(np.frexp(points[8, 0])[0]) * 2 * FEW_BITS) % FEW_BITS
        return j, int(abs(np.frexp(points[8, 1])[1])) % 3

    def evaluate(points):
        chosen = prepare(points)
        if chosen is None:
            return None
        j, axis = chosen
        a, b = j / FEW_BITS, (j + 1) / FEW_BITS
        s = float(np.clip(a + (b - a) * abs(np.frexp(points[8, 2])[0]), 0, 1))
        run(np.ascontiguousarray(points[:8]).reshape(-1), np.int64(kind), a, b, s, np.int64(axis), _out)
        numbers, e = integers(points[:8])
        ends = rows(numbers[:4]), rows(numbers[4:8])
        scale = attack.Fraction(_out[6])
        found = []
        for i in range(4):
            total = attack.Fraction(0)
            for row_order in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):         # which row takes the odd time, for symmetry: mean over all
                times = [j + 1 if (i > 0 and (n == row_order[0]) == (i == 1)) or i == 3 else j for n in range(3)]
                u, v, w = (blend(ends[0][n], ends[1][n], times[n], FEW_BITS) for n in range(3))
                total += dot(cross(u, v), w)
            exact = scaled(1, 3 * e) * total / (3 * FEW_BITS**3) * scale**3
            found.append((abs(attack.Fraction(_out[i]) - exact), _out[5]))
        n, m = attack.Fraction(s).numerator, attack.Fraction(s).denominator
        u, v, w = (blend(ends[0][k], ends[1][k], n, m) for k in range(3))
        exact = scaled(dot(cross(u, v), w), 3 * e) / m**3 * scale**3
        found.append((abs(attack.Fraction(_out[4]) - exact), _out[5]))
        found += areas(ends, j, axis, e, scale)
        return max(found, key=lambda pair: attack.ratio_of(*pair))

    def areas(ends, j, axis, e, scale):
        """(how far a true coefficient is outside the range, its width): the range must hold all."""
        values = []
        for times in ((j, j), (j, j + 1), (j + 1, j), (j + 1, j + 1)):
            value = []
            for p, q in ((0, 1), (1, 2), (2, 0)):
                one, other = blend(ends[0][p], ends[1][p], times[0], FEW_BITS), blend(ends[0][q], ends[1][q], times[1], FEW_BITS)
                value.append(cross(one, other)[axis])
            values.append(value)
        means = [values[0], [attack.Fraction(x + y, 2) for x, y in zip(values[1], values[2], strict=True)], values[3]]
        unit = scaled(1, 2 * e) / FEW_BITS**2 * scale**2
        exact = [[attack.Fraction(x) * unit for x in value] for value in means]
        if kind == EDGE_EDGE:
            exact = [[z - x, y, z, x + y] for x, y, z in exact]
        found = []
        for k in range(len(exact[0])):
            low, high = attack.Fraction(_out[7 + 2 * k]), attack.Fraction(_out[8 + 2 * k])
            least, most = min(value[k] for value in exact), max(value[k] for value in exact)
            width = (high - low) - (most - least)                       # twice the bound, but for rounding
            found.append((max(low - least, most - high) + width / 2, width / 2))
        return found
    return evaluate


for _kind, _name in ((VERTEX_FACE, "vertex and face"), (EDGE_EDGE, "two edges")):
    attack.bound(f"moving {_name}", "geometry/linear_motion.py",
                 ("F_BOUND", "AREA_BOUND", "UNDERFLOW", "MAX_SIZE", "HUGE_SCALE", "contact_filter"),
                 attack.families((9, 3), scales=SCALES), 4_000, section="BOUND of f")(evaluate_kind(_kind))
