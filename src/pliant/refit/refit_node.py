"""One volume from vertices, one node from its lanes: what every refit is made of."""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import load, load4, maximum, minimum
from pliant.core.soa import lanes, publish, put_bounds
from pliant.volume.protocol import enclose_points, merge


@helper
def bounding_rows(points, order, begin, end):
    """Rows low and high around the points named by order[begin : end], a multiple of four of them."""
    low = high = load4(points, 4 * np.int64(load(order, begin)))
    for at in range(begin, end, 4):
        p, q = load4(points, 4 * np.int64(load(order, at))), load4(points, 4 * np.int64(load(order, at + 1)))
        r, s = load4(points, 4 * np.int64(load(order, at + 2))), load4(points, 4 * np.int64(load(order, at + 3)))
        low, high = minimum(low, minimum(minimum(p, q), minimum(r, s))), maximum(high, maximum(maximum(p, q), maximum(r, s)))
    return low, high


@helper
def enclose_range(like, points, order, begin, end):
    """The volume around these points."""
    low, high = bounding_rows(points, order, begin, end)
    return enclose_points(like, low, high, points, order, begin, end)


@helper
def merge_and_stamp(nodes, i, frame):
    """The lanes of node i are set: merge them and stamp the node. How many there are."""
    put_bounds(nodes, i, merge(lanes(nodes, i)))
    publish(nodes, i, frame)
    return np.int64(nodes[i]["count"])
