"""Animations in files: read lazily, so that memory does not grow with frames. Readers validate every field."""
