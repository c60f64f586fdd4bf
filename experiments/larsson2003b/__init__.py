"""Ray tracing of deforming models (Larsson and Akenine-Möller 2003; thesis, chapter 7)."""
