"""Attacks on the float32 lanes of moving features, `geometry/motion_simd.py`.

Points are four in float32 at the start, four at the end, eight rows of what the true corners differ by, in units of DELTA, and one row
whose first number chooses how large DELTA is, and whose others a margin. Corners are made local to the low corner of the box around all, as
callers do it.
"""

import numpy as np

import attack
from attack import cross, dot, integers, minus, scaled
from pliant.core.simd import extract
from pliant.core.stack import load8, stack_float32
from pliant.geometry.motion_simd import (
    MovingEdge,
    MovingPoint,
    MovingTriangle,
    axis_bound,
    direction_bound,
    edge_gap,
    edge_volume,
    face_gap,
    face_volume,
    motion_errors,
)
from pliant.query.traverse import CORNER_ERROR, MIN_CORNER_ERROR
from revealed import compiled

MOST = 2.0**28  # the largest coordinate that geometry/overlap_simd.py allows for
SCALES = (1.0, 1.0, 2.0**-20, 2.0**-44, 2.0**27)
VERTEX_FACE, EDGE_EDGE = 0, 1


@compiled
def spread(t, rows):
    """Each coordinate in eight lanes."""
    for k in range(24):
        for i in range(8):
            rows[8 * k + i] = t[k]
    return 0


@compiled
def run_faces(t, delta, direction, margin, out):
    """Volumes, their bound, the gap along a direction, and its bound, of local corners."""
    rows = stack_float32(192)
    low, high, local = stack_float32(3), stack_float32(3), stack_float32(24)
    for k in range(3):
        low[k] = high[k] = t[k]
        for i in range(8):
            low[k], high[k] = min(low[k], t[3 * i + k]), max(high[k], t[3 * i + k])
    for i in range(24):
        local[i] = t[i] - low[i % 3]
    spread(local, rows)
    errors = motion_errors(delta, high[0] - low[0], high[1] - low[1], high[2] - low[2])
    p = MovingPoint(local[0], local[1], local[2], local[12], local[13], local[14])
    f = MovingTriangle(load8(rows, 24), load8(rows, 32), load8(rows, 40), load8(rows, 48), load8(rows, 56), load8(rows, 64),
                       load8(rows, 72), load8(rows, 80), load8(rows, 88), load8(rows, 120), load8(rows, 128), load8(rows, 136),
                       load8(rows, 144), load8(rows, 152), load8(rows, 160), load8(rows, 168), load8(rows, 176), load8(rows, 184))
    a, b, c, d = face_volume(p, f)
    out[0], out[1], out[2], out[3], out[4] = extract(a, 0), extract(b, 0), extract(c, 0), extract(d, 0), errors.volume
    dx, dy, dz = direction[0], direction[1], direction[2]
    out[5], out[6] = extract(face_gap(dx, dy, dz, p, f), 0), direction_bound(dx, dy, dz, errors, margin)
    e = MovingEdge(local[0], local[1], local[2], local[3], local[4], local[5],
                   local[12], local[13], local[14], local[15], local[16], local[17])
    o = MovingEdge(load8(rows, 48), load8(rows, 56), load8(rows, 64), load8(rows, 72), load8(rows, 80), load8(rows, 88),
                   load8(rows, 144), load8(rows, 152), load8(rows, 160), load8(rows, 168), load8(rows, 176), load8(rows, 184))
    a, b, c, d = edge_volume(e, o)
    out[7], out[8], out[9], out[10] = extract(a, 0), extract(b, 0), extract(c, 0), extract(d, 0)
    out[11], out[12] = extract(edge_gap(dx, dy, dz, e, o), 0), axis_bound(errors.gx, margin)
    return 0


_out = np.zeros(13, np.float32)


def lane_values(points, direction):
    """(what the kernel writes, the true corners as integers, their exponent, the margin), or None beyond what is claimed."""
    if not np.abs(points[:8]).max() <= MOST:
        return None
    reach = float(np.abs(points[:8]).max()) * 2.0 ** min(abs(int(np.frexp(points[16, 0])[1])) % 7, 6)
    delta = np.float32(max(reach * CORNER_ERROR, MIN_CORNER_ERROR))
    margin = np.float32(abs(points[16, 1])) if points[16, 2] > 0 and abs(points[16, 1]) <= MOST else np.float32(0)
    run_faces(np.ascontiguousarray(points[:8]).reshape(-1), delta, direction, margin, _out)
    shares = np.clip(points[8:16].astype(np.float64), -1, 1)
    numbers, e = integers(np.vstack([points[:8].astype(np.float64), shares * float(delta)]))
    return _out.astype(float), [tuple(p + q for p, q in zip(numbers[k], numbers[8 + k], strict=True)) for k in range(8)], e, margin


def starts(make=attack.families):
    def start(corners):
        def points(rng):
            shares = rng.choice([-1.0, 1.0, 0.0], (8, 3), p=[0.45, 0.45, 0.1])
            return np.vstack([corners(rng), shares, 2.0 ** rng.integers(0, 7, (1, 3)) * [1, rng.random(), rng.choice([-1, 1])]]).astype(
                np.float32)
        return points
    return {name: start(corners) for name, corners in make((8, 3), np.float32, SCALES).items()}


def rows_of(kind, a, b, c, d):
    return (minus(b, a), minus(c, a), minus(d, a)) if kind == VERTEX_FACE else (minus(b, a), minus(d, c), minus(c, a))


def off(value, exact, exponent):
    return abs(attack.Fraction(value) - scaled(exact, exponent)) if np.isfinite(value) else np.inf


@attack.bound("moving lanes: determinants", "geometry/motion_simd.py", ("THREE",), starts(), 4_000, section="BOUND of a determinant")
def determinants(points):
    found = lane_values(points, np.array([1, 0, 0], np.float32))
    if found is None:
        return None
    out, corners, e, _ = found
    pairs = []
    for kind, at in ((VERTEX_FACE, 0), (EDGE_EDGE, 7)):
        (u, v, w), (p, q, r) = rows_of(kind, *corners[:4]), rows_of(kind, *corners[4:])
        exact = (dot(cross(u, v), w), dot(cross(p, q), r), dot(cross(u, v), r) + dot(cross(u, q), w) + dot(cross(p, v), w),
                 dot(cross(p, q), w) + dot(cross(p, v), r) + dot(cross(u, q), r))
        pairs += [(off(out[at + k], exact[k], 3 * e), attack.Fraction(out[4]) * (1 if k < 2 else 3)) for k in range(4)]
    return max(pairs, key=lambda pair: attack.ratio_of(*pair))


@attack.bound("moving lanes: gaps", "geometry/motion_simd.py", ("HALF", "ZERO", "MARGIN_FACTOR", "SQRT3"), starts(), 4_000,
              section="BOUND of a comparison")
def gaps(points):
    """A lane is parted if its gap exceeds its bound: then the true corners are farther apart than the margin, along the direction. So the
    bound without the length times the margin is to be more than the error."""
    if not np.abs(points[:8]).max() <= MOST:
        return None
    direction = np.cross(points[1] - points[0], points[2] - points[7]).astype(np.float32) if points[16, 0] > 1 else np.array(
        [1, 0, 0], np.float32)
    found = lane_values(points, direction)
    if found is None or not np.isfinite(direction).all():
        return None
    out, corners, e, margin = found
    numbers, f = integers(direction)
    heights = [dot(numbers, corner) for corner in corners]
    square = attack.Fraction(dot(numbers, numbers)) * scaled(1, 2 * f) * attack.Fraction(float(margin)) ** 2
    length = attack.Fraction(float(square) ** 0.5) * (1 + attack.Fraction(1, 2**50)) if square else 0

    def gap(first, second):
        return max(min(min(heights[i] for i in second[k]) - max(heights[i] for i in first[k]) for k in range(2)),
                   min(min(heights[i] for i in first[k]) - max(heights[i] for i in second[k]) for k in range(2)))
    pairs = []
    for value, exact in ((out[5], gap(((0,), (4,)), ((1, 2, 3), (5, 6, 7)))), (out[11], gap(((0, 1), (4, 5)), ((2, 3), (6, 7))))):
        pairs.append((attack.Fraction(value) - scaled(exact, e + f) if np.isfinite(value) else -1, attack.Fraction(out[6]) - length))
        if direction[0] == 1 and not direction[1:].any():
            pairs.append((attack.Fraction(value) - scaled(exact, e + f), attack.Fraction(out[12]) - length))
    return max(pairs, key=lambda pair: attack.ratio_of(*pair))
