"""One dual-tree loop (`traverse.py`) and its visitors."""
