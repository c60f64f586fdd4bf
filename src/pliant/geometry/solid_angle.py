"""Half the solid angle that a triangle fills, with a sign (van Oosterom and Strackee 1983):

    tan ½Ω = (a × b · c) / (|a| |b| |c| + (a · b) |c| + (b · c) |a| + (c · a) |b|)

for the vectors a, b, c from the point to the corners. It is positive where the point lies behind the face.

In float32 lanes, a point each, and for one point in float64 with the sign exact.

TRUST. Coordinates off by δ, at least 2**-24 of the largest, move numerator and denominator by less than 2**4 δ s², for the longest way s,
and float32 rounds them by no more. Where both |numerator| and a positive denominator are below SAFE δ s², the angle is not to be trusted;
elsewhere it is off by less than 2**-8.

ATAN2. A polynomial of q², off by less than 4e-8, and the rounding of six numbers up to π: less than 2**-20.
"""
import math

import numpy as np

from pliant.core.jit import helper, routine
from pliant.core.simd import fabs, maximum, minimum, sqrt, where
from pliant.geometry.inside import POINT, is_on_face
from pliant.geometry.predicates import orient3d

SAFE = np.float32(2.0**13)
ON_FACE_ANGLE = 8.0                                                     # of a point on the face: more than π
TINY, ZERO, HALF_PI, PI = np.float32(2.0**-120), np.float32(0), np.float32(np.pi / 2), np.float32(np.pi)
# atan(q) / q for q in 0 … 1, in powers of q²: by least squares, off by less than 4e-8.
ATAN = tuple(np.float32(c) for c in (0.9999993355, -0.3332986061, 0.1994656364, -0.1390861965, 0.0964218740, -0.0559119918, 0.0218627293,
                                     -0.0040545049))


@helper
def atan2_lanes(y, x):
    """atan2(y, x) in float32 lanes, to 2**-20."""
    height, width = fabs(y), fabs(x)
    q = minimum(height, width) / maximum(maximum(height, width), TINY)
    s = q * q
    angle = q * (ATAN[0] + s * (ATAN[1] + s * (ATAN[2] + s * (ATAN[3] + s * (ATAN[4] + s * (ATAN[5] + s * (ATAN[6] + s * ATAN[7])))))))
    angle = where(height > width, HALF_PI - angle, angle)
    angle = where(x < ZERO, PI - angle, angle)
    return where(y < ZERO, -angle, angle)


@helper
def half_angles(t, x, y, z, error):
    """(half the solid angles of triangle t seen from points in lanes, which of them are not to be trusted), for coordinates off by
    `error`."""
    ax, ay, az, bx, by, bz, cx, cy, cz = t.ax - x, t.ay - y, t.az - z, t.bx - x, t.by - y, t.bz - z, t.cx - x, t.cy - y, t.cz - z
    aa, bb, cc = ax * ax + (ay * ay + az * az), bx * bx + (by * by + bz * bz), cx * cx + (cy * cy + cz * cz)
    a, b, c = sqrt(aa), sqrt(bb), sqrt(cc)
    numerator = ax * (by * cz - bz * cy) + (ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx))
    ab, bc, ca = ax * bx + (ay * by + az * bz), bx * cx + (by * cy + bz * cz), cx * ax + (cy * ay + cz * az)
    denominator = a * (b * c + bc) + (ab * c + ca * b)
    unsure = fabs(numerator) + maximum(denominator, ZERO) <= maximum(aa, maximum(bb, cc)) * (SAFE * error)
    return atan2_lanes(numerator, denominator), unsure


@routine
def half_angle(t, scale):
    """Half the solid angle of the triangle seen from the point in t (`geometry/inside.py`), in float64, its sign exact; ON_FACE_ANGLE if
    the point is on it. `scale` makes coordinates neither too large nor too small."""
    side = -np.int64(orient3d(t, 0, 3, 6, POINT))
    if side == 0:
        return ON_FACE_ANGLE if is_on_face(t) else 0.0
    x, y, z = t[POINT], t[POINT + 1], t[POINT + 2]
    ax, ay, az = (t[0] - x) * scale, (t[1] - y) * scale, (t[2] - z) * scale
    bx, by, bz = (t[3] - x) * scale, (t[4] - y) * scale, (t[5] - z) * scale
    cx, cy, cz = (t[6] - x) * scale, (t[7] - y) * scale, (t[8] - z) * scale
    a, b, c = math.sqrt(ax * ax + ay * ay + az * az), math.sqrt(bx * bx + by * by + bz * bz), math.sqrt(cx * cx + cy * cy + cz * cz)
    numerator = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
    return side * math.atan2(abs(numerator), a * b * c + ab * c + bc * a + ca * b)
