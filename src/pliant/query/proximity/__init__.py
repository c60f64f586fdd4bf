"""Distance queries: the distance of two bodies, pairs within a tolerance, and closest points."""
