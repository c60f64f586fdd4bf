"""Morphing bodies: blended bounding volumes (Larsson and Akenine-Möller 2003; thesis, chapter 6)."""
