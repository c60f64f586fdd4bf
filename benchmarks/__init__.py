"""Benchmarks and comparisons with other libraries: one module each, run as `python -m benchmarks.<name>`."""
