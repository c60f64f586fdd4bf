"""Hybrid: the upper levels bottom-up, the rest on demand (thesis A 5.3.3): n_u small in easy cases, and cheap in hard ones.

The upper levels follow when a query reaches the root: the volumes right below the middle are made from the distinct vertices under them,
in one pass over all vertices, and merged upwards. Below, a node follows when a query reaches it: alone, with some levels, or with
all that is under it.
"""
from pliant.core import validate
from pliant.refit.lazy import ALL_LEVELS, prepare_bvh
from pliant.refit.policy import Policy, register_policy


def refit_bvh(bvh):
    """Nothing: all on demand."""
    refit_on_demand(bvh, **bvh.options.settings)


def refit_on_demand(bvh, depth=None, below="node"):
    """From now on `depth` levels follow with the root, half of them if it is None; what comes below node by node, level by level or by
    subtrees."""
    prepare_bvh(bvh, bvh.tree.depth // 2 if depth is None else depth, {"node": 1, "subtree": ALL_LEVELS}.get(below, below))


def check_depth(name, value):
    """None for half of the levels, or how many."""
    return None if value is None else validate.integer(name, value, range(MAX_LEVELS))


def check_below(name, value):
    """"node", "subtree", or a number of levels."""
    return validate.choice(name, value, ("node", "subtree")) if isinstance(value, str) else validate.integer(
        name, value, range(1, MAX_LEVELS))


MAX_LEVELS = 128                                                        # levels
register_policy(Policy("hybrid", refit_bvh, {"depth": (None, check_depth), "below": ("node", check_below)}))
