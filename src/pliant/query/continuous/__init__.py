"""Continuous collision: the times at which features that move linearly touch."""
