"""Collisions without a hierarchy: surfaces are sampled along parallel rays, and what cannot touch falls away (paper G)."""
