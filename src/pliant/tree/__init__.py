"""BVH topology and builders, which register themselves when they are imported here."""
from pliant.tree import connectivity, covariance, matching, partition, sah, split  # noqa: F401
