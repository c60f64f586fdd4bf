"""Fitted: every volume around the vertices under it, none from the volumes of its children (Gottschalk et al. 1996; Larsson and
Akenine-Möller 2008, 3). Tight, and O(n log n): for bodies that keep their shape, whose policy this is, and for few updates of large trees.

Volumes that are merged say no more than what children reach, which for boxes along the axes is all there is to say. Balls, oriented boxes,
swept rectangles and slab cut balls lose by it at every level.
"""
import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.soa import lane, publish, put_lane, put_whole, whole
from pliant.refit.policy import Policy, register
from pliant.refit.refit_node import rows_around
from pliant.volume.protocol import FAMILIES, HOWS, fit


@helper
def fitted_to(how, like, points, order, begin, end):
    """The volume around the points named by order[begin : end], a multiple of four of them."""
    low, high = rows_around(points, order, begin, end)
    return fit(how, like, low, high, points, order, begin, end)


@kernel
def fit_nodes(how, nodes, ranges, vertices, begins, points, frame):
    """Every volume of every node, parents first; the number of them."""
    updated = 0
    if len(nodes) > 0:
        put_whole(nodes, 0, fitted_to(how, whole(nodes, 0), points, vertices, np.int64(0), np.int64(begins[len(begins) - 1])))
    for i in range(len(nodes)):
        like = whole(nodes, i)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            first, last = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
            put_lane(nodes, i, k, fitted_to(how, like, points, vertices, np.int64(begins[first]), np.int64(begins[last])))
            if child >= 0:
                put_whole(nodes, child, lane(nodes, i, k))
        updated += nodes[i]["count"]
        if i > 0:
            publish(nodes, i, frame)
    if len(nodes) > 0:
        publish(nodes, 0, frame)                                        # last: whoever sees it does not wait
    return updated


def follow(shape):
    """Fit all of it."""
    tree = shape.tree
    how = HOWS[shape.options.settings["how"]]
    shape.updated += fit_nodes(how, shape.nodes, shape.ranges(), tree.vertices, tree.begins, shape.points, np.int32(shape.frame))


def suits(family, settings):
    """Can volumes of this family be fitted so?"""
    how = settings["how"]
    if (type(HOWS[how]), family.volume) not in fit.table:
        known = ", ".join(sorted(other.name for other in FAMILIES.values() if (type(HOWS[how]), other.volume) in fit.table))
        raise ValueError(f"policy: how={how!r} is not for volume={family.name!r}; it is for {known}")


register(Policy("fitted", follow, {"how": ("best", validate.one_of(HOWS))}, suits=suits))
