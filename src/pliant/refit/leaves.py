"""The triangles of a leaf follow when a query reaches it, one by one, or all at once before.

One by one costs about 70 ns a leaf, most of it waiting for memory; all at once 10 ns (29 ns where the leaves exceed the second cache).
So a policy that touches everything anyway fills all leaves if queries reached more than `OFTEN` of them in the frame before. Either
way stamps tell how many are reached, and nothing but speed depends on it.

Loops reach `fill` through an address (`core/call.py`). Two threads may fill a leaf at once: they write the same bits, and the stamp after
them.
"""
from functools import cache

import numpy as np

from pliant.core import jit
from pliant.core.call import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import helper, kernel
from pliant.core.records import publish, put_lanes, put_whole, stamp
from pliant.core.simd import columns, element, four, greatest, joined, least
from pliant.geometry.triangles import Triangle
from pliant.tree.nodes import LEAF_DTYPE
from pliant.volume.aabb import Box

OFTEN = 0.2                                                             # of the leaves
CONTEXT = np.dtype([(name, np.int64) for name in ("nodes", "leaves", "corners", "points", "spans", "order",
                                                  "n_nodes", "n_leaves", "n_points", "n_order", "frame")])


@helper
def corner(corners, points, i, c):
    """Corner c of the eight triangles of leaf i: columns x, y, z, and the rows low and high around them."""
    p, q = four(points, 4 * corners[i, c, 0]), four(points, 4 * corners[i, c, 1])
    r, s = four(points, 4 * corners[i, c, 2]), four(points, 4 * corners[i, c, 3])
    t, u = four(points, 4 * corners[i, c, 4]), four(points, 4 * corners[i, c, 5])
    v, w = four(points, 4 * corners[i, c, 6]), four(points, 4 * corners[i, c, 7])
    low = least(least(least(p, q), least(r, s)), least(least(t, u), least(v, w)))
    high = greatest(greatest(greatest(p, q), greatest(r, s)), greatest(greatest(t, u), greatest(v, w)))
    left, right = columns(p, q, r, s), columns(t, u, v, w)
    return joined(left[0], right[0]), joined(left[1], right[1]), joined(left[2], right[2]), low, high


@helper
def fill(leaves, i, corners, points, stamped):
    """Set the triangles of leaf i and the box around them."""
    ax, ay, az, low_a, high_a = corner(corners, points, i, 0)
    bx, by, bz, low_b, high_b = corner(corners, points, i, 1)
    cx, cy, cz, low_c, high_c = corner(corners, points, i, 2)
    low, high = least(low_a, least(low_b, low_c)), greatest(high_a, greatest(high_b, high_c))
    put_lanes(leaves, i, Triangle(ax, ay, az, bx, by, bz, cx, cy, cz))
    put_whole(leaves, i, Box(element(low, 0), element(low, 1), element(low, 2), element(high, 0), element(high, 1), element(high, 2)))
    publish(leaves, i, stamped)


@kernel
def reach(leaves, i, corners, points, frame):
    """A query has reached leaf i: fill it, unless that was done before."""
    if stamp(leaves, i) == ~frame:
        publish(leaves, i, frame)
    else:
        fill(leaves, i, corners, points, frame)
    return 1


@kernel
def fill_all(leaves, corners, points, frame):
    """Fill every leaf, reached by nobody yet."""
    for i in range(len(leaves)):
        fill(leaves, i, corners, points, ~frame)


def fill_if_often(shape):
    """Fill all leaves now, if that is likely to be quicker than one by one."""
    if shape.reached_before > OFTEN * len(shape.leaves):
        fill_all(shape.leaves, shape.tree.corners, shape.points, np.int32(shape.frame))


@cache
def reach_entry():
    """(address, what keeps it alive) of `reach`."""
    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        corners = array_at(pointer(about["corners"]), (about["n_leaves"], 3, 8), np.int32)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        return np.int64(reach(leaves, i, corners, points, np.int32(about["frame"])))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        return reach(shape.leaves, i, shape.tree.corners, shape.points, shape.frame)

    return address_of(enter_python if jit.DISABLED else enter)
