"""Animations in files: read lazily, so that memory does not grow with frames, and believed in nothing."""
