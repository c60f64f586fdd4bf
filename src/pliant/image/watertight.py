"""Is a surface closed, so that fronts and backs take turns along every ray?

It is if every edge is run along as often in one direction as in the other, whatever the number of faces at it. Each direction of each edge
gets a number that looks random, with the sign of the direction; the sum is 0 for a closed surface, and for another one only by an accident
of one in 2**31. That takes one look at each face and nothing else, on the CPU and on a GPU.
"""
import numpy as np

from pliant.core.jit import helper, kernel

HASH_PRIME = 2**31 - 1
HASH_FACTORS = 1_640_531_527, 1_181_783_497, 741_103_597                # any will do that are below the prime


@helper
def edge_hash(u, v):
    """The number of the edge from u to v, below HASH_PRIME: minus that of the edge from v to u."""
    low, high = np.int64(min(u, v)), np.int64(max(u, v))
    x = (low * HASH_FACTORS[0] + high * HASH_FACTORS[1]) % HASH_PRIME
    x = (x * x + HASH_FACTORS[2]) % HASH_PRIME
    x = (x * x + high) % HASH_PRIME
    return x if u < v else -x if u > v else np.int64(0)


@helper
def face_hash(faces, f):
    """The sum over the edges of a face."""
    a, b, c = faces[3 * f], faces[3 * f + 1], faces[3 * f + 2]
    return edge_hash(a, b) + edge_hash(b, c) + edge_hash(c, a)


@kernel
def edge_sum(faces):
    """The sum over all faces, flat; 0: the surface is closed."""
    total = np.int64(0)
    for f in range(len(faces) // 3):
        total += face_hash(faces, f)
    return total


def is_closed(faces):
    """Of flat faces."""
    return int(edge_sum(faces)) == 0
