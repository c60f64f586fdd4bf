"""One BVH, many points: the winding number of any surface around each, as a fraction (Jacobson et al. 2013; Barill et al. 2018).

Points come in an order that keeps neighbours together and are taken eight at a time, a lane each. A cluster of faces that is far from all
eight counts by its moments (`refit/moments.py`); a leaf that is near by the solid angles of its faces (`geometry/solid_angle.py`), in
float32, and in float64 from the vertices where float32 is not to be trusted.

The bound of the error is the sum of those of the clusters that were taken by their moments, and ROUNDING for all that rounds.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import ctz, extract, movemask, popcount, reduce_min, sqrt
from pliant.core.soa import lane
from pliant.core.stack import load8, stack_float32, stack_float64, stack_int64
from pliant.geometry.inside import POINT
from pliant.geometry.solid_angle import ON_FACE_ANGLE, half_angle, half_angles
from pliant.query.proximity.closest_point import EPS32_2, MAX_COORDINATE
from pliant.query.proximity.crossings import to_frame
from pliant.query.proximity.point_batch import put_triangle
from pliant.refit.moments import CENTER, CUBIC, ERROR, FAR_SQUARED, NORMAL, QUADRATIC

LANES = 8
ONE, ZERO = np.float32(1), np.float32(0)
ROUNDING = 2.0**-10                                                     # of a winding number


@helper
def far_field(rows, i, x, y, z, squares):
    """(what cluster i adds to the winding numbers of points in lanes, a bound of the error of that), for the vectors from the points to its
    center and the squares of their lengths."""
    over = ONE / sqrt(squares)
    x, y, z = x * over, y * over, z * over
    first = rows[i, NORMAL] * x + (rows[i, NORMAL + 1] * y + rows[i, NORMAL + 2] * z)
    second = (x * (rows[i, QUADRATIC] * x + rows[i, QUADRATIC + 3] * y) + y * (rows[i, QUADRATIC + 1] * y + rows[i, QUADRATIC + 4] * z)
              + z * (rows[i, QUADRATIC + 2] * z + rows[i, QUADRATIC + 5] * x))
    third = (x * x * (rows[i, CUBIC] * x + (rows[i, CUBIC + 3] * y + rows[i, CUBIC + 4] * z))
             + y * y * (rows[i, CUBIC + 1] * y + (rows[i, CUBIC + 5] * x + rows[i, CUBIC + 6] * z))
             + z * z * (rows[i, CUBIC + 2] * z + (rows[i, CUBIC + 7] * x + rows[i, CUBIC + 8] * y)) + rows[i, CUBIC + 9] * x * y * z)
    square = over * over
    return square * (first + over * (second + over * third)), square * square * over * rows[i, ERROR]


@kernel
def sum_windings(child, count, leaves, flat, body, rows, unit, points, order, begin, end, windings, errors):
    """windings[r] (NaN for a point on the surface) and errors[r] for r in order[begin : end]. `body` (1,) is a BODY_CONTEXT, all leaves are
    up to date, and `rows` and `unit` are those of Moments."""
    asked = body[0]
    scale, reach, n_nodes = asked["scale"], asked["reach"] * asked["scale"], len(child)
    t, stack = stack_float64(20), stack_int64(912)
    local, far, more = stack_float32(24), stack_float32(24), stack_float64(8)
    n_v, n_p, n_exact = np.int64(0), np.int64(0), np.int64(0)
    for first in range(begin, end, LANES):
        size, used = 0.0, np.int64(0)
        for j in range(LANES):
            r = order[min(first + j, end - 1)]
            x, y, z = to_frame(asked, points[3 * r], points[3 * r + 1], points[3 * r + 2])
            largest = max(abs(x), max(abs(y), abs(z)))
            more[j] = 0.0
            if first + j < end and largest < MAX_COORDINATE:            # beyond, everything adds less than 2**-60
                used |= np.int64(1) << j
                size = max(size, largest)
            else:
                x, y, z = np.float64(local[0]), np.float64(local[8]), np.float64(local[16])
                if used == 0:
                    x = y = z = 0.0
            local[j], local[8 + j], local[16 + j] = x, y, z
            far[j], far[8 + j], far[16 + j] = x * unit, y * unit, z * unit
            if first + j < end:
                windings[r], errors[r] = 0.0, 0.0
        if used == 0:
            continue
        x, y, z, far_x, far_y, far_z = load8(local, 0), load8(local, 8), load8(local, 16), load8(far, 0), load8(far, 8), load8(far, 16)
        error = np.float32(EPS32_2 * (size + reach) + asked["error_bound"] * scale)
        sums, bounds, angles = x * ZERO, x * ZERO, x * ZERO
        top = np.int64(1)
        stack[0] = 0
        while top > 0:
            top -= 1
            current = stack[top]
            i = current if current >= 0 else n_nodes + ~current
            n_v += 1
            px, py, pz = rows[i, CENTER] - far_x, rows[i, CENTER + 1] - far_y, rows[i, CENTER + 2] - far_z
            squares = px * px + (py * py + pz * pz)
            if reduce_min(squares) > rows[i, FAR_SQUARED]:
                value, bound = far_field(rows, i, px, py, pz, squares)
                sums, bounds = sums + value, bounds + bound
            elif current >= 0:
                for k in range(count[current]):
                    stack[top] = np.int64(child[current, k])
                    top += 1
            else:
                faces = np.int64(leaves[~current]["used"])
                n_p += popcount(faces)
                while faces != 0:
                    k, faces = ctz(faces), faces & (faces - 1)
                    angle, unsure = half_angles(lane(leaves, ~current, k), x, y, z, error)
                    angles = angles + angle
                    mask = movemask(unsure) & used
                    while mask != 0:
                        j, mask = ctz(mask), mask & (mask - 1)
                        r = 3 * order[first + j]
                        t[POINT], t[POINT + 1], t[POINT + 2] = points[r], points[r + 1], points[r + 2]
                        put_triangle(leaves, ~current, k, flat, asked, t)
                        exact = half_angle(t, scale)
                        more[j] += np.nan if exact == ON_FACE_ANGLE else exact - extract(angle, j)
                        n_exact += 1
        for j in range(min(np.int64(LANES), end - first)):
            if used >> j & 1:
                r = order[first + j]
                windings[r] = np.float64(extract(sums, j)) + (np.float64(extract(angles, j)) + more[j]) * (0.5 / np.pi)
                errors[r] = np.float64(extract(bounds, j)) * (1 + 2.0**-10) + ROUNDING
    asked["n_v"] += n_v
    asked["n_p"] += n_p
    asked["n_exact"] += n_exact
