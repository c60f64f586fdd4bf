"""Pairs of parallel planes of any direction: what slab cut balls, oriented boxes and swept rectangles are cut by."""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import fabs, maximum, minimum, reduce_max, reduce_min, sqrt, where
from pliant.volume.aabb import HALF, INF, ONE, ZERO
from pliant.volume.protocol import REL_ERROR
from pliant.volume.sphere import TWO, squared_norm

MIN_LENGTH = np.float32(2.0**-100)
FOUR, FIVE = np.float32(4), np.float32(5)
TIE_FACTOR = np.float32(1 + 2.0**-12)                                   # times as large: of two volumes, that one is not taken


@helper
def clip_ray_to_slab(t_near, t_far, ray, x, y, z, nx, ny, nz, low, high):
    """The part of [near, far] in which a ray that starts (x, y, z) away is between the planes at low and high along n, and a little more.

    Along n the ray starts at p and goes `step` each time. With e = 2**-24 the direction, 1 / over, is off by 2 e of itself, and the sum of
    three products by 3 e of their magnitudes: by less than off / 2 in all. A step counts from 4 off on. Where the ray runs beside the
    planes nothing else may be left: it goes 4.5 off each time, at most, and is outside only if it is farther away than FIVE off take it.
    """
    u, v, w = ONE / ray.inv_x, ONE / ray.inv_y, ONE / ray.inv_z
    p, step = nx * x + (ny * y + nz * z), nx * u + (ny * v + nz * w)
    error_bound = (fabs(x) + (fabs(y) + fabs(z))) * REL_ERROR + ray.margin * TWO
    step_error = (fabs(nx * u) + (fabs(ny * v) + fabs(nz * w))) * REL_ERROR
    step_certain = fabs(step) > step_error * FOUR
    over = ONE / where(step_certain, step, ONE)
    s, t = (low - error_bound - p) * over, (high + error_bound - p) * over
    margin = (maximum(fabs(s), fabs(t)) + MIN_LENGTH) * (step_error * fabs(over) * TWO + REL_ERROR)
    misses = maximum(p - high, low - p) - error_bound > where(step_error > ZERO, step_error * FIVE * t_far, ZERO)
    return (where(step_certain, maximum(minimum(s, t) - margin, t_near), where(misses, INF, t_near)),
            where(step_certain, minimum(maximum(s, t) + margin, t_far), where(misses, -INF, t_far)))


@helper
def mean_direction(nx, ny, nz, mask, x, y, z):
    """A unit amid some of the directions n, turned to the side of the unit (x, y, z); that, if they point everywhere. Halfway between the
    least and the largest lane along each axis: it does not matter how often a direction is there."""
    sign = where(nx * x + (ny * y + nz * z) >= ZERO, ONE, -ONE)
    p, q, r = where(mask, nx * sign, x), where(mask, ny * sign, y), where(mask, nz * sign, z)
    p, q, r = (reduce_min(p) + reduce_max(p)) * HALF, (reduce_min(q) + reduce_max(q)) * HALF, (reduce_min(r) + reduce_max(r)) * HALF
    length = sqrt(squared_norm(p, q, r))
    over, aligned = ONE / maximum(length, HALF), length > HALF
    return where(aligned, p * over, x), where(aligned, q * over, y), where(aligned, r * over, z)


@helper
def align_axes(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """Units u and v, perpendicular to each other, leaned so that both are perpendicular to the unit w; as they are, if u is near w."""
    off = ux * wx + (uy * wy + uz * wz)
    px, py, pz = ux - off * wx, uy - off * wy, uz - off * wz
    length = sqrt(squared_norm(px, py, pz))
    over, certain = ONE / maximum(length, HALF), length > HALF
    px, py, pz = where(certain, px * over, ux), where(certain, py * over, uy), where(certain, pz * over, uz)
    return (px, py, pz, where(certain, wy * pz - wz * py, vx), where(certain, wz * px - wx * pz, vy), where(certain, wx * py - wy * px, vz))
