"""Slabs: what k-DOPs (`kdop.py`) have beside a box: four along its diagonals, six along the directions of its edges.

A slab holds all points p with lo <= n · p <= hi. Directions n have entries −1, 0 and 1, named m, o and p, and are not normalised, so that
n · p is a sum or difference of coordinates. A distance along n is the difference of two such sums over |n|, which is sqrt(3) for
diagonals and sqrt(2) for edges: to grow by a distance means to move either plane by |n| times as much.

Errors, with e = 2**-24 and m = |x| + |y| + |z|: coordinates are off by e of themselves, so their sum is off by e · m, and by up to e · 2 m
when it is worked out; widening a slab rounds by e · m again. `wide` is 6 e m and more. A slack is 4 e of all lengths of a query
(`query/traverse.py`); to carry a sum of two takes up to 8 e of them, a sum of three 14.

A part is a tuple of ends, low and high of each slab, in the order of `DIAGONALS` or `EDGES`; the formulas below are those of the protocol.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import columns, element, four, greatest, highest, item, least, lowest, magnitude
from pliant.volume.aabb import LESS, ZERO, above, below
from pliant.volume.protocol import TINY, ULP, down, up

FOUR, THREE_ULP = np.float32(4), np.float32(3) * ULP
ROOT_2, ROOT_3 = np.float32(2.0**0.5 * (1 + 2.0**-22)), np.float32(3.0**0.5 * (1 + 2.0**-22))         # |n|, and more
HALF_2, HALF_3 = np.float32(0.5 / 2.0**0.5), np.float32(0.5 / 3.0**0.5)                                       # 1 / 2 |n|
OVER_2, OVER_3 = np.float32(1 / 2) * LESS, np.float32(1 / 3) * LESS                                   # 1 / n², and less
DIAGONALS = ["loppp", "hippp", "loppm", "hippm", "lopmp", "hipmp", "lopmm", "hipmm"]
EDGES = ["loppo", "hippo", "lopmo", "hipmo", "lopop", "hipop", "lopom", "hipom", "loopp", "hiopp", "loopm", "hiopm"]


@helper
def diagonals_merged(a):
    return (lowest(a.loppp), highest(a.hippp), lowest(a.loppm), highest(a.hippm),
            lowest(a.lopmp), highest(a.hipmp), lowest(a.lopmm), highest(a.hipmm))


@helper
def edges_merged(a):
    return (lowest(a.loppo), highest(a.hippo), lowest(a.lopmo), highest(a.hipmo), lowest(a.lopop), highest(a.hipop),
            lowest(a.lopom), highest(a.hipom), lowest(a.loopp), highest(a.hiopp), lowest(a.loopm), highest(a.hiopm))


@helper
def diagonals_mirrored(a):
    return -a.hippp, -a.loppp, -a.hippm, -a.loppm, -a.hipmp, -a.lopmp, -a.hipmm, -a.lopmm


@helper
def edges_mirrored(a):
    return (-a.hippo, -a.loppo, -a.hipmo, -a.lopmo, -a.hipop, -a.lopop, -a.hipom, -a.lopom, -a.hiopp, -a.loopp, -a.hiopm, -a.loopm)


@helper
def diagonals_moved(a, low, high):
    """Ends moved by these numbers, and out again by what that rounds."""
    return (down(a.loppp + low), up(a.hippp + high), down(a.loppm + low), up(a.hippm + high),
            down(a.lopmp + low), up(a.hipmp + high), down(a.lopmm + low), up(a.hipmm + high))


@helper
def edges_moved(a, low, high):
    return (down(a.loppo + low), up(a.hippo + high), down(a.lopmo + low), up(a.hipmo + high), down(a.lopop + low), up(a.hipop + high),
            down(a.lopom + low), up(a.hipom + high), down(a.loopp + low), up(a.hiopp + high), down(a.loopm + low), up(a.hiopm + high))


@helper
def diagonals_carried(a, way):
    s, d, more = way.x + way.y, way.x - way.y, FOUR * way.slack
    return (a.loppp + (s + way.z - more), a.hippp + (s + way.z + more), a.loppm + (s - way.z - more), a.hippm + (s - way.z + more),
            a.lopmp + (d + way.z - more), a.hipmp + (d + way.z + more), a.lopmm + (d - way.z - more), a.hipmm + (d - way.z + more))


@helper
def edges_carried(a, way):
    x, y, z, more = way.x, way.y, way.z, FOUR * way.slack
    return (a.loppo + (x + y - more), a.hippo + (x + y + more), a.lopmo + (x - y - more), a.hipmo + (x - y + more),
            a.lopop + (x + z - more), a.hipop + (x + z + more), a.lopom + (x - z - more), a.hipom + (x - z + more),
            a.loopp + (y + z - more), a.hiopp + (y + z + more), a.loopm + (y - z - more), a.hiopm + (y - z + more))


@helper
def diagonals_thickness(a):
    """Half of the least distance between two planes."""
    return HALF_3 * least(least(a.hippp - a.loppp, a.hippm - a.loppm), least(a.hipmp - a.lopmp, a.hipmm - a.lopmm))


@helper
def edges_thickness(a):
    return HALF_2 * least(least(least(a.hippo - a.loppo, a.hipmo - a.lopmo), least(a.hipop - a.lopop, a.hipom - a.lopom)),
                          least(a.hiopp - a.loopp, a.hiopm - a.loopm))


@helper
def wide(low, high):
    """More than all that rounds a sum of coordinates between these rows; see the module."""
    most = greatest(magnitude(low), magnitude(high))
    return (element(most, 0) + element(most, 1) + element(most, 2)) * THREE_ULP + TINY


@helper
def diagonals_of(a, m):
    """Of a box, its lowest and highest corner along each."""
    return (a.lox + a.loy + a.loz - m, a.hix + a.hiy + a.hiz + m, a.lox + a.loy - a.hiz - m, a.hix + a.hiy - a.loz + m,
            a.lox - a.hiy + a.loz - m, a.hix - a.loy + a.hiz + m, a.lox - a.hiy - a.hiz - m, a.hix - a.loy - a.loz + m)


@helper
def edges_of(a, m):
    return (a.lox + a.loy - m, a.hix + a.hiy + m, a.lox - a.hiy - m, a.hix - a.loy + m, a.lox + a.loz - m, a.hix + a.hiz + m,
            a.lox - a.hiz - m, a.hix - a.loz + m, a.loy + a.loz - m, a.hiy + a.hiz + m, a.loy - a.hiz - m, a.hiy - a.loz + m)


@helper
def four_points(points, order, at):
    """Columns x, y, z of four points."""
    return columns(four(points, 4 * np.int64(item(order, at))), four(points, 4 * np.int64(item(order, at + 1))),
                   four(points, 4 * np.int64(item(order, at + 2))), four(points, 4 * np.int64(item(order, at + 3))))


@helper
def diagonals_around(points, order, begin, end, m):
    """Of points, four at a time."""
    x, y, z = four_points(points, order, begin)
    p = q = x + y + z
    r = s = x + y - z
    t = u = x - y + z
    v = w = x - y - z
    for at in range(begin + 4, end, 4):
        x, y, z = four_points(points, order, at)
        p, q = least(p, x + y + z), greatest(q, x + y + z)
        r, s = least(r, x + y - z), greatest(s, x + y - z)
        t, u = least(t, x - y + z), greatest(u, x - y + z)
        v, w = least(v, x - y - z), greatest(w, x - y - z)
    return lowest(p) - m, highest(q) + m, lowest(r) - m, highest(s) + m, lowest(t) - m, highest(u) + m, lowest(v) - m, highest(w) + m


@helper
def edges_around(points, order, begin, end, m):
    x, y, z = four_points(points, order, begin)
    a = b = x + y
    c = d = x - y
    e = f = x + z
    g = h = x - z
    i = j = y + z
    k = n = y - z
    for at in range(begin + 4, end, 4):
        x, y, z = four_points(points, order, at)
        a, b, c, d = least(a, x + y), greatest(b, x + y), least(c, x - y), greatest(d, x - y)
        e, f, g, h = least(e, x + z), greatest(f, x + z), least(g, x - z), greatest(h, x - z)
        i, j, k, n = least(i, y + z), greatest(j, y + z), least(k, y - z), greatest(n, y - z)
    return (lowest(a) - m, highest(b) + m, lowest(c) - m, highest(d) + m, lowest(e) - m, highest(f) + m,
            lowest(g) - m, highest(h) + m, lowest(i) - m, highest(j) + m, lowest(k) - m, highest(n) + m)


@helper
def diagonals_blended(a, b, s, t):
    return (below(a.loppp * s, b.loppp * t), above(a.hippp * s, b.hippp * t), below(a.loppm * s, b.loppm * t),
            above(a.hippm * s, b.hippm * t), below(a.lopmp * s, b.lopmp * t), above(a.hipmp * s, b.hipmp * t),
            below(a.lopmm * s, b.lopmm * t), above(a.hipmm * s, b.hipmm * t))


@helper
def edges_blended(a, b, s, t):
    return (below(a.loppo * s, b.loppo * t), above(a.hippo * s, b.hippo * t), below(a.lopmo * s, b.lopmo * t),
            above(a.hipmo * s, b.hipmo * t), below(a.lopop * s, b.lopop * t), above(a.hipop * s, b.hipop * t),
            below(a.lopom * s, b.lopom * t), above(a.hipom * s, b.hipom * t), below(a.loopp * s, b.loopp * t),
            above(a.hiopp * s, b.hiopp * t), below(a.loopm * s, b.loopm * t), above(a.hiopm * s, b.hiopm * t))


@helper
def diagonals_meet(a, b):
    return ((a.loppp <= b.hippp) & (a.hippp >= b.loppp) & (a.loppm <= b.hippm) & (a.hippm >= b.loppm)
            & (a.lopmp <= b.hipmp) & (a.hipmp >= b.lopmp) & (a.lopmm <= b.hipmm) & (a.hipmm >= b.lopmm))


@helper
def edges_meet(a, b):
    return ((a.loppo <= b.hippo) & (a.hippo >= b.loppo) & (a.lopmo <= b.hipmo) & (a.hipmo >= b.lopmo)
            & (a.lopop <= b.hipop) & (a.hipop >= b.lopop) & (a.lopom <= b.hipom) & (a.hipom >= b.lopom)
            & (a.loopp <= b.hiopp) & (a.hiopp >= b.loopp) & (a.loopm <= b.hiopm) & (a.hiopm >= b.loopm))


@helper
def apart(low, high, other_low, other_high):
    """How far two slabs are apart, squared, in units of n²."""
    gap = greatest(greatest(low - other_high, other_low - high), ZERO)
    return gap * gap


@helper
def diagonals_apart(a, b):
    return OVER_3 * greatest(greatest(apart(a.loppp, a.hippp, b.loppp, b.hippp), apart(a.loppm, a.hippm, b.loppm, b.hippm)),
                             greatest(apart(a.lopmp, a.hipmp, b.lopmp, b.hipmp), apart(a.lopmm, a.hipmm, b.lopmm, b.hipmm)))


@helper
def edges_apart(a, b):
    return OVER_2 * greatest(greatest(greatest(apart(a.loppo, a.hippo, b.loppo, b.hippo), apart(a.lopmo, a.hipmo, b.lopmo, b.hipmo)),
                                      greatest(apart(a.lopop, a.hipop, b.lopop, b.hipop), apart(a.lopom, a.hipom, b.lopom, b.hipom))),
                             greatest(apart(a.loopp, a.hiopp, b.loopp, b.hiopp), apart(a.loopm, a.hiopm, b.loopm, b.hiopm)))
