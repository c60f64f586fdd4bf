"""Hybrid: the upper levels bottom-up before a query, the rest on demand (thesis A 5.3.3): n_u small in easy cases, and cheap in hard ones.

The volumes right below the middle are made from the distinct vertices under them, in one pass over all vertices, and merged upwards. Below,
a node follows when a query reaches it: alone, with some levels, or with all that is under it.
"""
import numpy as np

from pliant.core import check
from pliant.refit.lazy import ALL, prepare, refresh
from pliant.refit.policy import Policy, register


def follow(shape):
    """Refit the upper levels."""
    refit(shape, **shape.options.settings)


def refit(shape, depth=None, below="node"):
    """Refit `depth` levels, half of them if it is None; what comes below follows node by node, level by level or by subtrees."""
    spans = prepare(shape, {"node": 1, "subtree": ALL}.get(below, below))
    upper = shape.tree.depth // 2 if depth is None else depth
    if upper > 0:
        shape.updated += refresh(shape.nodes, shape.points, *spans, np.int32(shape.frame), 0, upper)


def check_depth(name, value):
    """None for half of the levels, or how many."""
    return None if value is None else check.integer(name, value, range(MOST))


def check_below(name, value):
    """"node", "subtree", or a number of levels."""
    return check.choice(name, value, ("node", "subtree")) if isinstance(value, str) else check.integer(name, value, range(1, MOST))


MOST = 128                                                              # levels
register(Policy("hybrid", follow, {"depth": (None, check_depth), "below": ("node", check_below)}))
