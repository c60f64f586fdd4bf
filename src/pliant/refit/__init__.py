"""Policies: when volumes are refitted to the vertices. They register themselves when they are imported here."""
from pliant.refit import active, auto, blended, bottom_up, convex, fitted, hybrid, inflated, lazy, rebuild  # noqa: F401
