"""The search of thesis C, Fig 7.2: a tree in an array, a ray that walks along it, and for every node the place to go on where it is missed.

Nodes of a subtree lie next to each other, parents first; so a node that is met is followed by its first child, and one that is missed by
what comes after its subtree, `skips`. No stack, and no order: the nearest hit is known at the end, and what lies behind the best so far is
missed. Here a node is as wide as always, and its leaves are looked at with it. Beside the loops of `single.py` and `packet.py` for
comparison: it visits several times as many nodes (docs/rays.md).
"""
import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import first, ones
from pliant.core.soa import whole
from pliant.query.ray.leaf import GOING, LIMIT, at, candidates, fresh, settle
from pliant.query.ray.single import passed, ray_of
from pliant.query.traverse import freshen
from pliant.volume.protocol import pierce


@helper
def stroll(view, nodes, skips, plain, count):
    """Search for what each of `count` rays meets; GOING, or FULL."""
    n_v, n_u, n_p, stop = np.int64(0), np.int64(0), np.int64(0), np.int64(GOING)
    for j in range(count):
        i = np.int64(0)
        while i < skips[0] and stop == GOING:
            n_u += freshen(nodes, i, view.frame, view.entry, view.context)
            near, far = pierce(whole(nodes, i), ray_of(view, j))
            n_v += 1
            if not near <= far:
                i = np.int64(skips[i])
                continue
            _, some = passed(whole(nodes, i), nodes, i, view, j)
            n_v += nodes[i]["count"]
            while some != 0 and stop == GOING:
                k, some = first(some), some & (some - 1)
                leaf = ~np.int64(nodes[i]["child"][k])
                if leaf >= 0:
                    fresh(view, leaf)
                    wanted = candidates(view, leaf, j)
                    n_p += ones(np.int64(view.leaves[leaf]["used"]))
                    if wanted != 0:
                        stop = settle(view, plain, leaf, wanted, j)
            i += 1
            if at(view, LIMIT, j) < 0:                                  # any hit will do, and there is one
                break
    view.batch[0]["n_v"] += n_v
    view.batch[0]["n_u"] += n_u
    view.batch[0]["n_p"] += n_p
    return stop
