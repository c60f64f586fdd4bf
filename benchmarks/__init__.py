"""Experiments and comparisons: one module each, run as `python -m benchmarks.<name>`."""
