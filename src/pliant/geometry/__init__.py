"""Geometry without hierarchy: meshes, exact predicates, triangles."""
