"""Queries: dual-tree traversal (`traverse.py`) and its visitors, ray queries, frustum culling."""
