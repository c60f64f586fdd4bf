"""Bounds of meshless and skinned bodies (Steinemann, Otaduy and Gross 2008)."""
