"""Updates of bounding volume hierarchies for deforming bodies (Larsson and Akenine-Möller 2001; thesis, chapter 5)."""
