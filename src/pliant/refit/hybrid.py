"""Hybrid: the upper levels bottom-up, the rest on demand (thesis A 5.3.3): n_u small in easy cases, and cheap in hard ones.

The upper levels follow when a query reaches the root: the volumes right below the middle are made from the distinct vertices under them,
in one pass over all vertices, and merged upwards. Below, a node follows when a query reaches it: alone, with some levels, or with
all that is under it.
"""
from pliant.core import validate
from pliant.refit.lazy import ALL, prepare
from pliant.refit.policy import Policy, register


def follow(shape):
    """Nothing: all on demand."""
    refit(shape, **shape.options.settings)


def refit(shape, depth=None, below="node"):
    """From now on `depth` levels follow with the root, half of them if it is None; what comes below node by node, level by level or by
    subtrees."""
    prepare(shape, shape.tree.depth // 2 if depth is None else depth, {"node": 1, "subtree": ALL}.get(below, below))


def check_depth(name, value):
    """None for half of the levels, or how many."""
    return None if value is None else validate.integer(name, value, range(MOST))


def check_below(name, value):
    """"node", "subtree", or a number of levels."""
    return validate.choice(name, value, ("node", "subtree")) if isinstance(value, str) else validate.integer(name, value, range(1, MOST))


MOST = 128                                                              # levels
register(Policy("hybrid", follow, {"depth": (None, check_depth), "below": ("node", check_below)}))
