"""Which boxes overlap, before anybody looks at triangles: sweep and prune (thesis A 5.3.4)."""
