"""Contacts of pairs that a query has found: where, in which direction, how deep. In the pool where there are many."""
import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.errors import TooManyPairsError
from pliant.geometry.contact import ROOM, contacts
from pliant.motion.rigid import IDENTITY, place_corners

CONTACTS = ("segments", "normals", "depths", "coplanar")
CHUNK = 1 << 11                                                         # pairs between looks at Ctrl-C: 3 ms, 100 where all is absurd
FEW = 1 << 16                                                           # pairs for which asking how much memory there is takes longest
BYTES = 8 * (9 + 9 + 6 + 3 + 1) + 1                                     # of a pair and its answer


def contacts_of(parts):
    """segments (m, 2, 3), normals (m, 3), depths (m,) and coplanar (m,), by name, of all these: (pairs (k, 2) of faces, body a, body b)."""
    m = sum(len(pairs) for pairs, _, _ in parts)
    if m > FEW and not memory.fits(BYTES * m):
        raise TooManyPairsError(f"{m:,} pairs meet, and memory for their contacts is not available; ask without contacts")
    out = {"segments": np.empty((m, 2, 3)), "normals": np.empty((m, 3)), "depths": np.empty(m), "coplanar": np.empty(m, np.bool_)}
    corners = [np.empty((m, 9)), np.empty((m, 9))]
    end = 0
    for pairs, *bodies in parts:
        start, end = end, end + len(pairs)
        for column, body in enumerate(bodies):
            matrix = IDENTITY if body.placement is None else body.placement
            place_corners(matrix, body.motion.flat, body.corners, pairs, column, corners[column][start:end])

    pool.in_chunks(m, CHUNK, lambda begin, end: contacts(*corners, begin, end, *out.values(), np.empty(ROOM)))
    return out
