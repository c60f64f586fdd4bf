"""Pairs of parallel planes of any direction: what slab cut balls, oriented boxes and swept rectangles are cut by."""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import greatest, highest, least, lowest, magnitude, root, where
from pliant.volume.aabb import HALF, INF, ONE, ZERO
from pliant.volume.protocol import NEARLY
from pliant.volume.sphere import TWO, squared

TINIEST = np.float32(2.0**-100)
FOUR, FIVE = np.float32(4), np.float32(5)
CLEARLY = np.float32(1 + 2.0**-12)                                      # times as large: of two volumes, that one is not taken


@helper
def between_planes(near, far, ray, x, y, z, nx, ny, nz, low, high):
    """The part of [near, far] in which a ray that starts (x, y, z) away is between the planes at low and high along n, and a little more.

    Along n the ray starts at p and goes `step` each time. With e = 2**-24 the direction, 1 / over, is off by 2 e of itself, and the sum of
    three products by 3 e of their magnitudes: by less than off / 2 in all. A step counts from 4 off on. Where the ray runs beside the
    planes nothing else may be left: it goes 4.5 off each time, at most, and is outside only if it is farther away than FIVE off take it.
    """
    u, v, w = ONE / ray.over_x, ONE / ray.over_y, ONE / ray.over_z
    p, step = nx * x + (ny * y + nz * z), nx * u + (ny * v + nz * w)
    doubt = (magnitude(x) + (magnitude(y) + magnitude(z))) * NEARLY + ray.slack * TWO
    off = (magnitude(nx * u) + (magnitude(ny * v) + magnitude(nz * w))) * NEARLY
    tells = magnitude(step) > off * FOUR
    over = ONE / where(tells, step, ONE)
    s, t = (low - doubt - p) * over, (high + doubt - p) * over
    more = (greatest(magnitude(s), magnitude(t)) + TINIEST) * (off * magnitude(over) * TWO + NEARLY)
    beside = greatest(p - high, low - p) - doubt > where(off > ZERO, off * FIVE * far, ZERO)
    return (where(tells, greatest(least(s, t) - more, near), where(beside, INF, near)),
            where(tells, least(greatest(s, t) + more, far), where(beside, -INF, far)))


@helper
def amid_direction(nx, ny, nz, some, x, y, z):
    """A unit amid some of the directions n, turned to the side of the unit (x, y, z); that, if they point everywhere. Halfway between the
    least and the largest lane along each axis: it does not matter how often a direction is there."""
    side = where(nx * x + (ny * y + nz * z) >= ZERO, ONE, -ONE)
    p, q, r = where(some, nx * side, x), where(some, ny * side, y), where(some, nz * side, z)
    p, q, r = (lowest(p) + highest(p)) * HALF, (lowest(q) + highest(q)) * HALF, (lowest(r) + highest(r)) * HALF
    length = root(squared(p, q, r))
    over, one = ONE / greatest(length, HALF), length > HALF
    return where(one, p * over, x), where(one, q * over, y), where(one, r * over, z)


@helper
def leaned(ux, uy, uz, vx, vy, vz, wx, wy, wz):
    """Units u and v, perpendicular to each other, leaned so that both are perpendicular to the unit w; as they are, if u is near w."""
    off = ux * wx + (uy * wy + uz * wz)
    px, py, pz = ux - off * wx, uy - off * wy, uz - off * wz
    length = root(squared(px, py, pz))
    over, good = ONE / greatest(length, HALF), length > HALF
    px, py, pz = where(good, px * over, ux), where(good, py * over, uy), where(good, pz * over, uz)
    return (px, py, pz, where(good, wy * pz - wz * py, vx), where(good, wz * px - wx * pz, vy), where(good, wx * py - wy * px, vz))
