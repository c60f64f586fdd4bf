"""Ray queries: closest hit, any hit and all hits, for bodies, scenes and uniform grids."""
