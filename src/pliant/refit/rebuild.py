"""Rebuild: another tree for every shape. Tight volumes whatever the motion, at some forty times the cost of a refit."""
from pliant.refit import bottom_up
from pliant.refit.policy import Policy, register


def follow(shape):
    """Build anew from where the vertices are, then refit."""
    shape.plant(shape.build())
    bottom_up.follow(shape)


register(Policy("rebuild", follow))
