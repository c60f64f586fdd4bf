"""Bottom-up: every leaf and node, children first, whenever the body has moved (van den Bergen 1997; thesis A 5.2).

The baseline of every other policy, and hard to beat where queries reach much of the tree: one linear pass, 2 ns a triangle.
Also the room of the two steps that all refits share: `fill`, for a leaf, and `settle`, for a node whose lanes are set.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.records import lanes, publish, put_lane, put_lanes, put_whole, whole
from pliant.core.simd import columns, element, four, greatest, joined, least
from pliant.geometry.triangles import Triangle
from pliant.refit.policy import Policy, register
from pliant.volume.aabb import Box
from pliant.volume.protocol import enclose, merge


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
def fill(leaves, i, corners, points, like):
    """Set the triangles of leaf i; the volume around them."""
    ax, ay, az, low_a, high_a = corner(corners, points, i, 0)
    bx, by, bz, low_b, high_b = corner(corners, points, i, 1)
    cx, cy, cz, low_c, high_c = corner(corners, points, i, 2)
    triangles = Triangle(ax, ay, az, bx, by, bz, cx, cy, cz)
    low, high = least(low_a, least(low_b, low_c)), greatest(high_a, greatest(high_b, high_c))
    put_lanes(leaves, i, triangles)
    put_whole(leaves, i, Box(element(low, 0), element(low, 1), element(low, 2), element(high, 0), element(high, 1), element(high, 2)))
    return enclose(like, low, high, triangles)


@helper
def settle(nodes, i, frame):
    """The lanes of node i are set: merge them and stamp the node. How many there are."""
    put_whole(nodes, i, merge(lanes(nodes, i)))
    publish(nodes, i, frame)
    return np.int64(nodes[i]["count"])


@kernel
def refit(nodes, leaves, corners, points, frame):
    """Every leaf and node; the number of volumes set."""
    updated = 0
    for i in range(len(nodes) - 1, -1, -1):
        like = whole(nodes, i)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child < 0:
                put_lane(nodes, i, k, fill(leaves, ~child, corners, points, like))
            else:
                put_lane(nodes, i, k, whole(nodes, child))
        updated += settle(nodes, i, frame)
    return updated


def follow(shape):
    """Refit all of it."""
    shape.updated += refit(shape.nodes, shape.leaves, shape.tree.corners, shape.points, np.int32(shape.frame))


register(Policy("bottom_up", follow))
