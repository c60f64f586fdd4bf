"""Contacts of pairs that a query has found: where, in which direction, how deep. In the pool where there are many."""
import threading
from functools import partial

import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.errors import TooManyPairsError
from pliant.geometry.contact import ROOM, contacts

CHUNK = 1 << 11                                                         # pairs between looks at Ctrl-C: 3 ms, 100 where all is absurd
BYTES = 8 * (6 + 3 + 1) + 1                                             # of an answer


def contacts_of(pairs, a, b):
    """segments (m, 2, 3), normals (m, 3), depths (m,) and coplanar (m,) of these pairs (m, 2) of faces of bodies a and b, by name."""
    m = len(pairs)
    if not memory.fits(BYTES * m):
        raise TooManyPairsError(f"{m:,} pairs meet, and memory for their contacts is not available; ask without contacts")
    out = {"segments": np.empty((m, 2, 3)), "normals": np.empty((m, 3)), "depths": np.empty(m), "coplanar": np.empty(m, np.bool_)}
    mesh_a, mesh_b, cancel = (a.corners, a.motion.flat), (b.corners, b.motion.flat), threading.Event()

    def work(start, step):
        room = np.empty(ROOM)
        for begin in range(start, m, step):
            if cancel.is_set():
                return
            contacts(pairs, begin, min(begin + CHUNK, m), *mesh_a, *mesh_b, *out.values(), room)

    n = min(pool.threads(), -(-m // CHUNK))
    if n > 1:
        pool.run([partial(work, k * CHUNK, n * CHUNK) for k in range(n)], cancel)
    else:
        work(0, CHUNK)
    return out
