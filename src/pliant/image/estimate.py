"""How many pairs may sampling have missed? What was found tells.

A pair of faces is found for certain if a ray that is on goes through both of their boxes on the screen, or near by if rays stand for the
pixels around them. Of the pairs found, f₁ have one such ray and f₂ have two; were rays thrown at random, about f₁ (f₁ − 1) / (2 (f₂ + 1))
pairs would have none (the estimate of unseen species, Chao 1984, in the form that allows for f₂ = 0). Some of these were found all the
same; what remains was missed. And where peeling ends early and the rest is dropped, there are as many pairs for each fragment dropped as
there were for each one peeled off.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.image.cover import corners_of, extent_of, pixel_at
from pliant.image.intersect import INDEX_MASK

MAX_SHARED = 3                                                          # rays: more are as good


@helper
def shared_rays(screen, faces, key, error_xy, error_z, size, margin, active):
    """How many rays that are on go through the boxes of both faces of a pair, or within `margin` pixels of both, at most MAX_SHARED."""
    a = extent_of(corners_of(screen, faces, key >> 32), error_xy, error_z)
    b = extent_of(corners_of(screen, faces, key & INDEX_MASK), error_xy, error_z)
    n = 0
    left, right = pixel_at(max(a.left, b.left), size) - margin, pixel_at(min(a.right, b.right), size) + margin
    low, high = pixel_at(max(a.low, b.low), size) - margin, pixel_at(min(a.high, b.high), size) + margin
    for y in range(max(low, 0), min(high, size - 1) + 1):
        for x in range(max(left, 0), min(right, size - 1) + 1):
            n += np.int64(active[y * size + x] != 0)
            if n == MAX_SHARED:
                return n
    return n


def estimate_missed(histogram, peeled=1, dropped=0):
    """How many pairs were missed, by how many were found with 0, 1, 2 … rays, and by the fragments that were peeled off and dropped."""
    none, one, two = (float(x) for x in histogram[:3])
    missed = max(0.0, one * (one - 1.0) / (2.0 * (two + 1.0)) - none)
    return missed + (float(np.sum(histogram)) + missed) * dropped / max(peeled, 1)
