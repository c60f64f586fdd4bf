"""Contacts of pairs that a query has found: where, in which direction, how deep. In the pool where there are many."""
import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.errors import TooManyPairsError
from pliant.geometry.contact import BUFFER_SIZE, contacts
from pliant.motion.rigid import IDENTITY, transform_corners

CONTACT_FIELDS = ("segments", "normals", "depths", "coplanar", "push_directions")
MIN_NORMAL_DIFFERENCE = 1e-9                                            # normals that differ less say nothing
PAIRS_PER_CHUNK = 1 << 11                                               # pairs between looks at Ctrl-C: 3 ms, 100 where all is absurd
MEMORY_CHECK_PAIRS = 1 << 16                                            # pairs for which asking how much memory there is takes longest
BYTES_PER_PAIR = 8 * (9 + 9 + 6 + 3 + 1 + 6) + 1                        # of a pair and its answer


def contacts_of(parts):
    """All of CONTACTS, by name, of all these: (pairs (k, 2) of faces, body a, body b)."""
    m = sum(len(pairs) for pairs, _, _ in parts)
    if m > MEMORY_CHECK_PAIRS and not memory.fits_in_memory(BYTES_PER_PAIR * m):
        raise TooManyPairsError(f"{m:,} pairs meet, and memory for their contacts is not available; ask without contacts")
    corners = [np.empty((m, 9)), np.empty((m, 9))]
    end = 0
    for pairs, *bodies in parts:
        start, end = end, end + len(pairs)
        for column, body in enumerate(bodies):
            matrix = IDENTITY if body.matrix is None else body.matrix
            transform_corners(matrix, body.motion.flat, body.welded_faces, pairs, column, corners[column][start:end])
    return triangle_contacts(*corners)


def triangle_contacts(a, b):
    """The same of pairs of triangles that meet, by their corners (m, 9): segments (m, 2, 3), normals (m, 3), depths (m,), coplanar (m,) and
    push_directions (m, 2, 3)."""
    m = len(a)
    out = {"segments": np.empty((m, 2, 3)), "normals": np.empty((m, 3)), "depths": np.empty(m), "coplanar": np.empty(m, np.bool_)}
    pool.map_chunks(m, PAIRS_PER_CHUNK, lambda begin, end: contacts(a, b, begin, end, *out.values(), np.empty(BUFFER_SIZE)))
    return out | {"push_directions": push_directions(a, b, out["normals"])}


def push_directions(a, b, normals):
    """(m, 2, 3): unit vectors along which to push either face, by its own normal and that of the other (paper G, section 7): out of the
    other and back into what is behind itself. Where normals are the same, or there is none, the way of the shortest move."""
    directions = np.stack([-normals, normals], 1)
    difference = unit_normals(b) - unit_normals(a)
    length = np.sqrt((difference**2).sum(1))
    distinct = length > MIN_NORMAL_DIFFERENCE
    directions[distinct, 0] = difference[distinct] / length[distinct, None]
    directions[distinct, 1] = -directions[distinct, 0]
    return directions


def unit_normals(corners):
    """(m, 3) unit normals of triangles (m, 9); 0 of those without area. Sizes beyond the squares of float64 are brought near 1 first."""
    rows = corners.reshape(-1, 3, 3)
    with np.errstate(over="ignore", under="ignore"):
        size = np.exp2(np.clip(-np.frexp(np.abs(rows).max((1, 2), initial=0.0))[1], -1022.0, 1022.0))[:, None, None]
        u, v = rows[:, 1:2] * size - rows[:, :1] * size, rows[:, 2:] * size - rows[:, :1] * size
        u, v = (way / np.maximum(np.abs(way).max(2, keepdims=True), 2.0**-1000) for way in (u, v))
    normal = np.cross(u[:, 0], v[:, 0])
    length = np.sqrt((normal**2).sum(1, keepdims=True))
    return np.where(length > 0, normal / np.where(length > 0, length, 1.0), 0.0)
