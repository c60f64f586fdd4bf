"""The search of thesis C, Fig 7.2: a tree in an array, a ray that walks along it, and for every node the place to go on where it is missed.

Nodes of a subtree lie next to each other, parents first; so a node that is met is followed by its first child, and one that is missed by
what comes after its subtree, `skips`. No stack, and no order: the nearest hit is known at the end, and what lies behind the best so far is
missed. Here a node is as wide as always, and its leaves are looked at with it. Beside the loops of `single.py` and `packet.py` for
comparison: it visits several times as many nodes (docs/rays.md).
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import ctz, popcount
from pliant.core.soa import load_bounds
from pliant.query.ray.leaf import GOING, LIMIT, leaf_candidates, load, refresh_view_leaf, test_candidates
from pliant.query.ray.single import hit_children, local_ray
from pliant.query.traverse import refresh_node
from pliant.volume.protocol import ray_interval


@helper
def trace_stackless(view, nodes, skips, in_filter_range, count):
    """Search for what each of `count` rays meets; GOING, or FULL."""
    n_v, n_u, n_p, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(GOING)
    for j in range(count):
        i = np.int64(0)
        while i < skips[0] and stop == GOING:
            n_u += refresh_node(nodes, i, view.frame, view.entry, view.context)
            near, far = ray_interval(load_bounds(nodes, i), local_ray(view, j))
            n_v += 1
            if not near <= far:
                i = np.int64(skips[i])
                continue
            _, mask = hit_children(load_bounds(nodes, i), nodes, i, view, j)
            n_v += nodes[i]["count"]
            while mask != 0 and stop == GOING:
                k, mask = ctz(mask), mask & (mask - 1)
                leaf = ~np.int64(nodes[i]["child"][k])
                if leaf >= 0:
                    refresh_view_leaf(view, leaf)
                    triangles = leaf_candidates(view, leaf, j, view.ray_axes[j] & 3)
                    n_p += popcount(np.int64(view.leaves[leaf]["used"]))
                    if triangles != 0:
                        stop = test_candidates(view, in_filter_range, leaf, triangles, j)
            i += 1
            if load(view, LIMIT, j) < 0:                                # any hit will do, and there is one
                break
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
