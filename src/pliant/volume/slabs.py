"""Slabs: what k-DOPs (`kdop.py`) have beside a box: four along its diagonals, six along the directions of its edges.

A slab holds all points p with lo <= n · p <= hi. Directions n have entries −1, 0 and 1, named m, o and p, and are not normalised, so that
n · p is a sum or difference of coordinates. A distance along n is the difference of two such sums over |n|, which is sqrt(3) for
diagonals and sqrt(2) for edges: to grow by a distance means to move either plane by |n| times as much.

Errors, with e = 2**-24 and m = |x| + |y| + |z|: coordinates are off by e of themselves, so their sum is off by e · m, and by up to e · 2 m
when it is worked out; widening a slab rounds by e · m again. `sum_error` is 6 e m and more. A slack is 4 e of all lengths of a query
(`query/traverse.py`); to carry a sum of two takes up to 8 e of them, a sum of three 14.

A part is a tuple of ends, low and high of each slab, in the order of `DIAGONALS` or `EDGES`; the formulas below are those of the protocol.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import extract, fabs, load, load4, maximum, minimum, reduce_max, reduce_min, transpose4x3
from pliant.volume.aabb import SCALE_DOWN, ZERO, add_down, add_up
from pliant.volume.protocol import MIN_NORMAL, ULP, round_down, round_up

FOUR, THREE_ULP = np.float32(4), np.float32(3) * ULP
ROOT_2, ROOT_3 = np.float32(2.0**0.5 * (1 + 2.0**-22)), np.float32(3.0**0.5 * (1 + 2.0**-22))  # |n|, and more
HALF_OVER_ROOT_2, HALF_OVER_ROOT_3 = np.float32(0.5 / 2.0**0.5), np.float32(0.5 / 3.0**0.5)  # 1 / 2 |n|
INV_2, INV_3 = np.float32(1 / 2) * SCALE_DOWN, np.float32(1 / 3) * SCALE_DOWN  # 1 / n², and less
DIAGONALS = ["loppp", "hippp", "loppm", "hippm", "lopmp", "hipmp", "lopmm", "hipmm"]
EDGES = ["loppo", "hippo", "lopmo", "hipmo", "lopop", "hipop", "lopom", "hipom", "loopp", "hiopp", "loopm", "hiopm"]


@helper
def merge_diagonals(a):
    return (reduce_min(a.loppp), reduce_max(a.hippp), reduce_min(a.loppm), reduce_max(a.hippm),
            reduce_min(a.lopmp), reduce_max(a.hipmp), reduce_min(a.lopmm), reduce_max(a.hipmm))


@helper
def merge_edges(a):
    return (reduce_min(a.loppo), reduce_max(a.hippo), reduce_min(a.lopmo), reduce_max(a.hipmo), reduce_min(a.lopop), reduce_max(a.hipop),
            reduce_min(a.lopom), reduce_max(a.hipom), reduce_min(a.loopp), reduce_max(a.hiopp), reduce_min(a.loopm), reduce_max(a.hiopm))


@helper
def negate_diagonals(a):
    return -a.hippp, -a.loppp, -a.hippm, -a.loppm, -a.hipmp, -a.lopmp, -a.hipmm, -a.lopmm


@helper
def negate_edges(a):
    return (-a.hippo, -a.loppo, -a.hipmo, -a.lopmo, -a.hipop, -a.lopop, -a.hipom, -a.lopom, -a.hiopp, -a.loopp, -a.hiopm, -a.loopm)


@helper
def shift_diagonals(a, low, high):
    """Ends moved by these numbers, and out again by what that rounds."""
    return (round_down(a.loppp + low), round_up(a.hippp + high), round_down(a.loppm + low), round_up(a.hippm + high),
            round_down(a.lopmp + low), round_up(a.hipmp + high), round_down(a.lopmm + low), round_up(a.hipmm + high))


@helper
def shift_edges(a, low, high):
    return (round_down(a.loppo + low), round_up(a.hippo + high), round_down(a.lopmo + low), round_up(a.hipmo + high),
            round_down(a.lopop + low), round_up(a.hipop + high), round_down(a.lopom + low), round_up(a.hipom + high),
            round_down(a.loopp + low), round_up(a.hiopp + high), round_down(a.loopm + low), round_up(a.hiopm + high))


@helper
def translate_diagonals(a, offset):
    s, d, margin = offset.x + offset.y, offset.x - offset.y, FOUR * offset.margin
    return (a.loppp + (s + offset.z - margin), a.hippp + (s + offset.z + margin), a.loppm + (s - offset.z - margin),
            a.hippm + (s - offset.z + margin), a.lopmp + (d + offset.z - margin), a.hipmp + (d + offset.z + margin),
            a.lopmm + (d - offset.z - margin), a.hipmm + (d - offset.z + margin))


@helper
def translate_edges(a, offset):
    x, y, z, margin = offset.x, offset.y, offset.z, FOUR * offset.margin
    return (a.loppo + (x + y - margin), a.hippo + (x + y + margin), a.lopmo + (x - y - margin), a.hipmo + (x - y + margin),
            a.lopop + (x + z - margin), a.hipop + (x + z + margin), a.lopom + (x - z - margin), a.hipom + (x - z + margin),
            a.loopp + (y + z - margin), a.hiopp + (y + z + margin), a.loopm + (y - z - margin), a.hiopm + (y - z + margin))


@helper
def min_half_extent_of_diagonals(a):
    """Half of the least distance between two planes."""
    return HALF_OVER_ROOT_3 * minimum(minimum(a.hippp - a.loppp, a.hippm - a.loppm), minimum(a.hipmp - a.lopmp, a.hipmm - a.lopmm))


@helper
def min_half_extent_of_edges(a):
    return HALF_OVER_ROOT_2 * minimum(minimum(minimum(a.hippo - a.loppo, a.hipmo - a.lopmo), minimum(a.hipop - a.lopop, a.hipom - a.lopom)),
                                      minimum(a.hiopp - a.loopp, a.hiopm - a.loopm))


@helper
def sum_error(low, high):
    """More than all that rounds a sum of coordinates between these rows; see the module."""
    most = maximum(fabs(low), fabs(high))
    return (extract(most, 0) + extract(most, 1) + extract(most, 2)) * THREE_ULP + MIN_NORMAL


@helper
def diagonals_of_box(a, m):
    """Of a box, its lowest and highest corner along each."""
    return (a.lox + a.loy + a.loz - m, a.hix + a.hiy + a.hiz + m, a.lox + a.loy - a.hiz - m, a.hix + a.hiy - a.loz + m,
            a.lox - a.hiy + a.loz - m, a.hix - a.loy + a.hiz + m, a.lox - a.hiy - a.hiz - m, a.hix - a.loy - a.loz + m)


@helper
def edges_of_box(a, m):
    return (a.lox + a.loy - m, a.hix + a.hiy + m, a.lox - a.hiy - m, a.hix - a.loy + m, a.lox + a.loz - m, a.hix + a.hiz + m,
            a.lox - a.hiz - m, a.hix - a.loz + m, a.loy + a.loz - m, a.hiy + a.hiz + m, a.loy - a.hiz - m, a.hiy - a.loz + m)


@helper
def four_points(points, order, at):
    """Columns x, y, z of four points."""
    return transpose4x3(load4(points, 4 * np.int64(load(order, at))), load4(points, 4 * np.int64(load(order, at + 1))),
                        load4(points, 4 * np.int64(load(order, at + 2))), load4(points, 4 * np.int64(load(order, at + 3))))


@helper
def diagonals_of_points(points, order, begin, end, m):
    """Of points, four at a time."""
    x, y, z = four_points(points, order, begin)
    p = q = x + y + z
    r = s = x + y - z
    t = u = x - y + z
    v = w = x - y - z
    for at in range(begin + 4, end, 4):
        x, y, z = four_points(points, order, at)
        p, q = minimum(p, x + y + z), maximum(q, x + y + z)
        r, s = minimum(r, x + y - z), maximum(s, x + y - z)
        t, u = minimum(t, x - y + z), maximum(u, x - y + z)
        v, w = minimum(v, x - y - z), maximum(w, x - y - z)
    return (reduce_min(p) - m, reduce_max(q) + m, reduce_min(r) - m, reduce_max(s) + m,
            reduce_min(t) - m, reduce_max(u) + m, reduce_min(v) - m, reduce_max(w) + m)


@helper
def edges_of_points(points, order, begin, end, m):
    x, y, z = four_points(points, order, begin)
    a = b = x + y
    c = d = x - y
    e = f = x + z
    g = h = x - z
    i = j = y + z
    k = n = y - z
    for at in range(begin + 4, end, 4):
        x, y, z = four_points(points, order, at)
        a, b, c, d = minimum(a, x + y), maximum(b, x + y), minimum(c, x - y), maximum(d, x - y)
        e, f, g, h = minimum(e, x + z), maximum(f, x + z), minimum(g, x - z), maximum(h, x - z)
        i, j, k, n = minimum(i, y + z), maximum(j, y + z), minimum(k, y - z), maximum(n, y - z)
    return (reduce_min(a) - m, reduce_max(b) + m, reduce_min(c) - m, reduce_max(d) + m, reduce_min(e) - m, reduce_max(f) + m,
            reduce_min(g) - m, reduce_max(h) + m, reduce_min(i) - m, reduce_max(j) + m, reduce_min(k) - m, reduce_max(n) + m)


@helper
def blend_diagonals(a, b, s, t):
    return (add_down(a.loppp * s, b.loppp * t), add_up(a.hippp * s, b.hippp * t), add_down(a.loppm * s, b.loppm * t),
            add_up(a.hippm * s, b.hippm * t), add_down(a.lopmp * s, b.lopmp * t), add_up(a.hipmp * s, b.hipmp * t),
            add_down(a.lopmm * s, b.lopmm * t), add_up(a.hipmm * s, b.hipmm * t))


@helper
def blend_edges(a, b, s, t):
    return (add_down(a.loppo * s, b.loppo * t), add_up(a.hippo * s, b.hippo * t), add_down(a.lopmo * s, b.lopmo * t),
            add_up(a.hipmo * s, b.hipmo * t), add_down(a.lopop * s, b.lopop * t), add_up(a.hipop * s, b.hipop * t),
            add_down(a.lopom * s, b.lopom * t), add_up(a.hipom * s, b.hipom * t), add_down(a.loopp * s, b.loopp * t),
            add_up(a.hiopp * s, b.hiopp * t), add_down(a.loopm * s, b.loopm * t), add_up(a.hiopm * s, b.hiopm * t))


@helper
def diagonals_overlap(a, b):
    return ((a.loppp <= b.hippp) & (a.hippp >= b.loppp) & (a.loppm <= b.hippm) & (a.hippm >= b.loppm)
            & (a.lopmp <= b.hipmp) & (a.hipmp >= b.lopmp) & (a.lopmm <= b.hipmm) & (a.hipmm >= b.lopmm))


@helper
def edges_overlap(a, b):
    return ((a.loppo <= b.hippo) & (a.hippo >= b.loppo) & (a.lopmo <= b.hipmo) & (a.hipmo >= b.lopmo)
            & (a.lopop <= b.hipop) & (a.hipop >= b.lopop) & (a.lopom <= b.hipom) & (a.hipom >= b.lopom)
            & (a.loopp <= b.hiopp) & (a.hiopp >= b.loopp) & (a.loopm <= b.hiopm) & (a.hiopm >= b.loopm))


@helper
def squared_slab_gap(low, high, other_low, other_high):
    """How far two slabs are apart, squared, in units of n²."""
    gap = maximum(maximum(low - other_high, other_low - high), ZERO)
    return gap * gap


@helper
def diagonals_separation(a, b):
    return INV_3 * maximum(maximum(squared_slab_gap(a.loppp, a.hippp, b.loppp, b.hippp),
                                   squared_slab_gap(a.loppm, a.hippm, b.loppm, b.hippm)),
                           maximum(squared_slab_gap(a.lopmp, a.hipmp, b.lopmp, b.hipmp),
                                   squared_slab_gap(a.lopmm, a.hipmm, b.lopmm, b.hipmm)))


@helper
def edges_separation(a, b):
    return INV_2 * maximum(maximum(maximum(squared_slab_gap(a.loppo, a.hippo, b.loppo, b.hippo),
                                           squared_slab_gap(a.lopmo, a.hipmo, b.lopmo, b.hipmo)),
                                   maximum(squared_slab_gap(a.lopop, a.hipop, b.lopop, b.hipop),
                                           squared_slab_gap(a.lopom, a.hipom, b.lopom, b.hipom))),
                           maximum(squared_slab_gap(a.loopp, a.hiopp, b.loopp, b.hiopp),
                                   squared_slab_gap(a.loopm, a.hiopm, b.loopm, b.hiopm)))
