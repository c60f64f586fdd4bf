"""Rebuild: another tree for every shape. Tight volumes whatever the motion, at 180 times the cost of a refit (4.6 ms
against 25 µs, 20,480 triangles)."""
from pliant.refit import bottom_up
from pliant.refit.policy import Policy, register_policy


def refit_bvh(bvh):
    """Build anew from where the vertices are, then refit."""
    bvh.set_tree(bvh.build())
    bottom_up.refit_bvh(bvh)


register_policy(Policy("rebuild", refit_bvh))
