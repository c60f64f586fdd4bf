"""Formats of a single mesh: OBJ, OFF, PLY and STL."""
