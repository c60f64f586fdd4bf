"""Continuous collision, of single features and of bodies, and the traversal of features that contact features use too."""
