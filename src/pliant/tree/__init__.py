"""BVH topology and builders: topology only, built once. Builders register themselves by being imported here."""
from pliant.tree import connectivity, covariance, matching, partition, sah, split  # noqa: F401
