"""What encloses: families of volumes under one protocol (`protocol.py`), one file each, registered by being imported here."""
from pliant.volume import aabb, kdop, mixed, obb, rss, slabcutball, slabcutball2, sphere, turned  # noqa: F401

mixed.complete()
