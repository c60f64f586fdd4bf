"""The triangles of a leaf follow when a query reaches it, whatever the policy; the volumes around them are the policies' affair.

Loops reach `fill` through an address (`core/function_pointer.py`). Two threads may fill a leaf at once: they write the same bits, and the stamp after
them.
"""
from functools import cache

import numpy as np

from pliant.core import jit
from pliant.core.function_pointer import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import helper, kernel
from pliant.core.simd import columns, element, four, greatest, joined, least
from pliant.core.soa import publish, put_lanes, put_whole, stamp
from pliant.geometry.triangle_overlap import Triangle
from pliant.tree.nodes import LEAF_DTYPE
from pliant.volume.aabb import Box

CONTEXT = np.dtype([(name, np.int64) for name in ("nodes", "leaves", "slots", "points", "spans", "order", "levels", "ends", "n_nodes",
                                                  "n_leaves", "n_points", "n_order", "frame", "upper", "deep", "blend", "ready", "entry",
                                                  "fill")])
AHEAD = 1 << 62


@helper
def asked_ahead(i, kept):
    """What an entry is asked to do ahead of queries (`front_tracking.py`): make node i true, its lanes in `kept` from the nodes under them, which
    are, and leave its stamp. Whoever comes to node i asks for it by its number."""
    return i | (kept << 32) | AHEAD


@helper
def node_of(asked):
    """The node that an entry is asked about."""
    return asked & 0xFFFFFFFF


@helper
def kept_of(asked):
    """Bits of the lanes that are to follow from the nodes under them."""
    return (asked & ~AHEAD) >> 32


@helper
def stamp_for(asked, nodes, frame):
    """The stamp that the node gets: the one it has, or the frame's."""
    return stamp(nodes, node_of(asked)) if asked & AHEAD else frame


@helper
def came_to_ready(asked, nodes, ready, frame):
    """Has a query come to a node that followed ahead? Then it is stamped, and that is all."""
    i = node_of(asked)
    if asked & AHEAD or ready[i] != frame:
        return False
    publish(nodes, i, frame)
    return True


@helper
def corner(leaves, i, c, points):
    """Corner c of the eight triangles of leaf i: columns x, y, z, and the rows low and high around them."""
    at = leaves[i]["corner"]
    p, q, r, s = four(points, 4 * at[c, 0]), four(points, 4 * at[c, 1]), four(points, 4 * at[c, 2]), four(points, 4 * at[c, 3])
    t, u, v, w = four(points, 4 * at[c, 4]), four(points, 4 * at[c, 5]), four(points, 4 * at[c, 6]), four(points, 4 * at[c, 7])
    low = least(least(least(p, q), least(r, s)), least(least(t, u), least(v, w)))
    high = greatest(greatest(greatest(p, q), greatest(r, s)), greatest(greatest(t, u), greatest(v, w)))
    left, right = columns(p, q, r, s), columns(t, u, v, w)
    return joined(left[0], right[0]), joined(left[1], right[1]), joined(left[2], right[2]), low, high


@kernel
def fill(leaves, i, points, frame):
    """Set the triangles of leaf i and the box around them."""
    ax, ay, az, low_a, high_a = corner(leaves, i, 0, points)
    bx, by, bz, low_b, high_b = corner(leaves, i, 1, points)
    cx, cy, cz, low_c, high_c = corner(leaves, i, 2, points)
    low, high = least(low_a, least(low_b, low_c)), greatest(high_a, greatest(high_b, high_c))
    put_lanes(leaves, i, Triangle(ax, ay, az, bx, by, bz, cx, cy, cz))
    put_whole(leaves, i, Box(element(low, 0), element(low, 1), element(low, 2), element(high, 0), element(high, 1), element(high, 2)))
    publish(leaves, i, frame)
    return 0


@cache
def fill_entry():
    """(address, what keeps it alive) of `fill`."""
    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        return np.int64(fill(leaves, i, points, np.int32(about["frame"])))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        return fill(shape.leaves, i, shape.points, shape.frame)

    return address_of(enter_python if jit.DISABLED else enter)
