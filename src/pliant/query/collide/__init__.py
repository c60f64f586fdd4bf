"""Overlap queries: pairs of triangles that intersect, of two bodies, of one body with itself, and of a scene."""
