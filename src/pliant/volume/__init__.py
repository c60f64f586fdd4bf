"""What encloses: families of volumes under one protocol (`protocol.py`), one file each, registered by being imported here."""
from pliant.volume import aabb, double_slabcutball, generic_overlap, kdop, obb, obb_sat, rss, slabcutball, sphere  # noqa: F401

generic_overlap.complete()
