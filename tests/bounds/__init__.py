"""Attacks on error bounds, one module a part of the package; `tests/attack.py` searches, and lists them."""
