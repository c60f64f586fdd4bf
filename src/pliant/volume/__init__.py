"""What encloses: families of volumes under one protocol (`protocol.py`), one file each, registered by being imported here."""
from pliant.volume import aabb, kdop, sphere, turned  # noqa: F401
