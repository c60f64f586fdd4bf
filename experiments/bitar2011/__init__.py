"""Distances with adaptive, inflated hierarchies (Bitar 2011)."""
