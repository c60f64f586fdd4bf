"""Hybrid: the upper levels bottom-up, the rest on demand (thesis A 5.3.3): n_u small in easy cases, and cheap in hard ones.

The upper levels follow when a query reaches the root: the volumes right below the middle are made from the distinct vertices under them,
in one pass over all vertices, and merged upwards. Below, a node follows when a query reaches it: alone, with some levels, or with
all that is under it.

The paper refits half of the levels, which hold about √n of the n nodes of a balanced tree. In a lopsided tree they may hold most of the
nodes (55 % of them in the swimmers of thesis 6.4), so the default counts nodes: as many levels as hold at most UPPER_NODES · √n nodes.
"""
from pliant.core import validate
from pliant.refit.lazy import ALL_LEVELS, prepare_bvh, vertex_spans_of
from pliant.refit.policy import Policy, register_policy
from pliant.refit.vertex_spans import levels_by_count


def refit_bvh(bvh):
    """Nothing: all on demand."""
    refit_on_demand(bvh, **bvh.options.settings)


def refit_on_demand(bvh, depth=None, below="node"):
    """From now on `depth` levels follow with the root; what comes below node by node, level by level or by subtrees."""
    levels_below = {"node": 1, "subtree": ALL_LEVELS}.get(below, below)
    if depth is None:
        depth = levels_by_count(vertex_spans_of(bvh).level_ends)
    prepare_bvh(bvh, bvh.tree.depth // 2 if depth == "half" else depth, levels_below)


def check_depth(name, value):
    """None, "half" of the levels, or how many."""
    if isinstance(value, str):
        return validate.choice(name, value, ("half",))
    return None if value is None else validate.integer(name, value, range(MAX_LEVELS))


def check_below(name, value):
    """"node", "subtree", or a number of levels."""
    return validate.choice(name, value, ("node", "subtree")) if isinstance(value, str) else validate.integer(
        name, value, range(1, MAX_LEVELS))


MAX_LEVELS = 128                                                        # levels
register_policy(Policy("hybrid", refit_bvh, {"depth": (None, check_depth), "below": ("node", check_below)}, on_demand=True))
