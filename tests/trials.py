"""How many examples a property is tried on."""

import numba
from hypothesis import HealthCheck, settings

OFF = bool(numba.config.DISABLE_JIT)


def often(examples, share=100, least=3):
    """The same examples in every run; with the JIT off one in `share` of them, and no fewer than `least`."""
    return settings(max_examples=max(examples // share, least) if OFF else examples, deadline=None, derandomize=True, database=None,
                    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
