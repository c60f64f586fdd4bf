"""Policies: when and how volumes are refitted. They register themselves by being imported here."""
from pliant.refit import active, auto, bottom_up, fitted, hybrid, inflated, lazy, rebuild  # noqa: F401
