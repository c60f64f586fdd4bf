"""One volume from vertices, one node from its lanes: what every refit is made of."""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import four, greatest, item, least
from pliant.core.soa import lanes, publish, put_whole
from pliant.volume.protocol import enclose, merge


@helper
def rows_around(points, order, begin, end):
    """Rows low and high around the points named by order[begin : end], a multiple of four of them."""
    low = high = four(points, 4 * np.int64(item(order, begin)))
    for at in range(begin, end, 4):
        p, q = four(points, 4 * np.int64(item(order, at))), four(points, 4 * np.int64(item(order, at + 1)))
        r, s = four(points, 4 * np.int64(item(order, at + 2))), four(points, 4 * np.int64(item(order, at + 3)))
        low, high = least(low, least(least(p, q), least(r, s))), greatest(high, greatest(greatest(p, q), greatest(r, s)))
    return low, high


@helper
def volume_of(like, points, order, begin, end):
    """The volume around these points."""
    low, high = rows_around(points, order, begin, end)
    return enclose(like, low, high, points, order, begin, end)


@helper
def settle(nodes, i, stamp):
    """The lanes of node i are set: merge them and stamp the node. How many there are."""
    put_whole(nodes, i, merge(lanes(nodes, i)))
    publish(nodes, i, stamp)
    return np.int64(nodes[i]["count"])
