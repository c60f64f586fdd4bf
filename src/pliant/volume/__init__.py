"""Bounding-volume types under one protocol (`protocol.py`), one file each; they register themselves when they are imported here."""
from pliant.volume import (  # noqa: F401, I001 - in this order they are shown
    aabb, kdop, generic_overlap, obb, rss, slabcutball, double_slabcutball, sphere, obb_sat,
)
