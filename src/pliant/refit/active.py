"""Active: what the last queries came to follows before the next one, the rest on demand (Larsson and Akenine-Möller 2006).

That is `lazy` with a front (`front_tracking.py`): active nodes follow ahead, deepest first, a lane from its child, if that is one of them,
else from the vertices under it.
"""
from pliant.refit import front_tracking, lazy
from pliant.refit.policy import Policy, register_policy


def refit_bvh(bvh):
    """Refit what is active."""
    lazy.refit_on_demand(bvh)
    front_tracking.advance_front(bvh)


register_policy(Policy("active", refit_bvh, allows_partial=False))
