"""Slab cut balls for rigid bodies (Larsson and Akenine-Möller 2008)."""
