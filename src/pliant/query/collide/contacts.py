"""Contacts of pairs that a query has found: where, in which direction, how deep. In the pool where there are many."""
import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.errors import TooManyPairsError
from pliant.geometry.contact import ROOM, contacts
from pliant.motion.rigid import IDENTITY, place_corners

CONTACTS = ("segments", "normals", "depths", "coplanar", "responses")
SAME = 1e-9                                                             # normals that differ less say nothing
CHUNK = 1 << 11                                                         # pairs between looks at Ctrl-C: 3 ms, 100 where all is absurd
FEW = 1 << 16                                                           # pairs for which asking how much memory there is takes longest
BYTES = 8 * (9 + 9 + 6 + 3 + 1 + 6) + 1                                 # of a pair and its answer


def contacts_of(parts):
    """All of CONTACTS, by name, of all these: (pairs (k, 2) of faces, body a, body b)."""
    m = sum(len(pairs) for pairs, _, _ in parts)
    if m > FEW and not memory.fits(BYTES * m):
        raise TooManyPairsError(f"{m:,} pairs meet, and memory for their contacts is not available; ask without contacts")
    corners = [np.empty((m, 9)), np.empty((m, 9))]
    end = 0
    for pairs, *bodies in parts:
        start, end = end, end + len(pairs)
        for column, body in enumerate(bodies):
            matrix = IDENTITY if body.placement is None else body.placement
            place_corners(matrix, body.motion.flat, body.corners, pairs, column, corners[column][start:end])
    return contacts_between(*corners)


def contacts_between(a, b):
    """The same of pairs of triangles that meet, by their corners (m, 9): segments (m, 2, 3), normals (m, 3), depths (m,), coplanar (m,) and
    responses (m, 2, 3)."""
    m = len(a)
    out = {"segments": np.empty((m, 2, 3)), "normals": np.empty((m, 3)), "depths": np.empty(m), "coplanar": np.empty(m, np.bool_)}
    pool.in_chunks(m, CHUNK, lambda begin, end: contacts(a, b, begin, end, *out.values(), np.empty(ROOM)))
    return out | {"responses": responses(a, b, out["normals"])}


def responses(a, b, normals):
    """(m, 2, 3): unit vectors along which to push either face, by its own normal and that of the other (paper G, section 7): out of the
    other and back into what is behind itself. Where normals are the same, or there is none, the way of the shortest move."""
    ways = np.stack([-normals, normals], 1)
    apart = unit_normals(b) - unit_normals(a)
    length = np.sqrt((apart**2).sum(1))
    some = length > SAME
    ways[some, 0] = apart[some] / length[some, None]
    ways[some, 1] = -ways[some, 0]
    return ways


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
