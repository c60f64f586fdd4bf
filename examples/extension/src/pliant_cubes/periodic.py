"""A policy: a new BVH every so many updates, a refit of all volumes in between."""
from pliant.core import validate
from pliant.refit import bottom_up
from pliant.refit.policy import Policy, register_policy


def check_every(name, value):
    return validate.integer(name, value, range(1, 1_000_001))


def refit_bvh(bvh):
    """Called before a query, if the root is stale."""
    if bvh.frame % bvh.options.settings["every"] == 0:
        bvh.set_tree(bvh.build())
    bottom_up.refit_bvh(bvh)


register_policy(Policy("periodic", refit_bvh, settings={"every": (100, check_every)}))
