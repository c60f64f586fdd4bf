"""Vertex positions, and bounds on them that need no vertices. Motions register themselves when they are imported here."""
from pliant.motion import blended, free, morph  # noqa: F401
