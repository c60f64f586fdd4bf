"""Attacks on solid angles in float32 lanes, `geometry/solid_angle.py`: what is trusted against 80-bit arithmetic.

Points are the corners of the triangle and the point from which it is seen.
"""

import numpy as np

import attack
from pliant.geometry import solid_angle
from pliant.geometry.triangle_overlap import Triangle
from revealed import compiled

LONG = np.longdouble
MAX_SIZE = 2.0**20                                                       # coordinates that float32 lanes get: local ones, scaled


@compiled
def run_half_angles(t, error, out):
    angle, unsure = solid_angle.half_angles(Triangle(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]), t[9], t[10], t[11], error)
    out[0], out[1] = angle, np.float32(1) if unsure else np.float32(0)
    return 0


@compiled
def run_atan2(y, x, out):
    out[0] = solid_angle.atan2_lanes(y, x)
    return 0


def beside_faces(rng):
    """Points beside a face, an edge or a corner, by little or nothing; and in the plane."""
    corners = rng.integers(-10, 11, (3, 3)) / 10 if rng.random() < 0.7 else rng.uniform(-1, 1, (3, 3))
    shares = rng.dirichlet([0.3, 0.3, 0.3]) if rng.random() < 0.8 else rng.uniform(-1, 2, 3)
    point = shares @ corners
    return np.vstack([corners, point + rng.choice([0.0, 1e-7, 1e-5, 1e-3, 0.1]) * rng.standard_normal(3)])


def half_angle(points):
    """In 80 bits; the sign of 0 is that of nothing."""
    a, b, c = LONG(points[:3]) - LONG(points[3])
    la, lb, lc = (np.sqrt((v * v).sum()) for v in (a, b, c))
    return np.arctan2((a * np.cross(b, c)).sum(), la * lb * lc + (a * b).sum() * lc + (b * c).sum() * la + (c * a).sum() * lb)


STARTS = {"beside faces": beside_faces, **attack.families((4, 3))}
_out = np.zeros(2, np.float32)


@attack.bound("solid angles that are trusted", "geometry/solid_angle.py", ("SAFE",), STARTS, 30_000, section="TRUST")
def trusted(points):
    largest = np.abs(points).max()
    if not 1 / MAX_SIZE < largest < MAX_SIZE:
        return None
    run_half_angles(points.astype(np.float32).reshape(-1), np.float32(largest * 2.0**-23), _out)
    return None if _out[1] else (abs(float(_out[0] - half_angle(points))), 2.0**-8)


@attack.bound("atan2 in lanes", "geometry/solid_angle.py", ("HALF_PI", "PI"), attack.families((1, 2)), 20_000, section="ATAN2")
def atan2(points):
    y, x = points[0].astype(np.float32)
    if not 2.0**-100 < max(abs(y), abs(x)) < 2.0**100 or y == 0:
        return None
    run_atan2(y, x, _out)
    return abs(float(LONG(_out[0]) - np.arctan2(LONG(y), LONG(x)))), 2.0**-20
