"""When volumes follow the motion. Policies register themselves by being imported here."""
from pliant.refit import bottom_up, lazy, rebuild  # noqa: F401
