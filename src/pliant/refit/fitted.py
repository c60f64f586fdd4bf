"""Fitted: every volume around the vertices under it, none from the volumes of its children (Gottschalk et al. 1996; Larsson and
Akenine-Möller 2008, 3). Tight, and O(n log n): for bodies that keep their shape, whose policy this is, and for few updates of large trees.

Volumes that are merged say no more than what children reach, which for boxes along the axes is all there is to say. Balls, oriented boxes,
swept rectangles and slab cut balls lose by it at every level.
"""
import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.soa import lane, load_bounds, publish, put_bounds, put_lane
from pliant.errors import ArgumentError
from pliant.refit.policy import Policy, register_policy
from pliant.refit.refit_node import bounding_rows
from pliant.volume.protocol import FIT_METHODS, VOLUME_TYPES, fit


@helper
def fit_points(method, like, points, order, begin, end):
    """The volume around the points named by order[begin : end], a multiple of four of them."""
    low, high = bounding_rows(points, order, begin, end)
    return fit(method, like, low, high, points, order, begin, end)


@kernel
def fit_nodes(method, nodes, ranges, vertices, begins, points, frame):
    """Every volume of every node, parents first; the number of them."""
    n_refitted = 0
    if len(nodes) > 0:
        put_bounds(nodes, 0, fit_points(method, load_bounds(nodes, 0), points, vertices, np.int64(0), np.int64(begins[len(begins) - 1])))
    for i in range(len(nodes)):
        like = load_bounds(nodes, i)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            first, last = (~child, ~child + 1) if child < 0 else (ranges[child, 0], ranges[child, 1])
            put_lane(nodes, i, k, fit_points(method, like, points, vertices, np.int64(begins[first]), np.int64(begins[last])))
            if child >= 0:
                put_bounds(nodes, child, lane(nodes, i, k))
        n_refitted += nodes[i]["count"]
        if i > 0:
            publish(nodes, i, frame)
    if len(nodes) > 0:
        publish(nodes, 0, frame)                                        # last: whoever sees it does not wait
    return n_refitted


def refit_bvh(bvh):
    """Fit all of it."""
    tree, kind = bvh.tree, bvh.options.volume_type
    if len(bvh.nodes):
        for name, value in zip(kind.volume._fields, kind.empty, strict=True):
            bvh.nodes["bounds"][name][0] = value                        # no parent, and not the root's own last volume
    how = FIT_METHODS[bvh.options.settings["how"]]
    bvh.n_refitted += fit_nodes(how, bvh.nodes, bvh.ranges(), tree.vertices, tree.begins, bvh.points, np.int32(bvh.frame))


def check_fit_method(volume_type, settings):
    """Can volumes of this type be fitted so?"""
    how = settings["how"]
    if not fit.has_body(type(FIT_METHODS[how]), volume_type.volume):
        known = ", ".join(sorted(other.name for other in VOLUME_TYPES.values() if fit.has_body(type(FIT_METHODS[how]), other.volume)))
        raise ArgumentError(f"policy: how={how!r} is not for volume={volume_type.name!r}; it is for {known}")


register_policy(Policy("fitted", refit_bvh, {"how": ("best", validate.choice_of(FIT_METHODS))}, check=check_fit_method))
