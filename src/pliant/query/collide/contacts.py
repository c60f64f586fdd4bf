"""Contacts of intersecting pairs: segment, normal and depth. Many pairs are shared among the threads of the pool."""
import numpy as np

from pliant.core import memory
from pliant.core import threads as pool
from pliant.errors import TooManyPairsError
from pliant.geometry.contact import BUFFER_SIZE, contacts
from pliant.motion.rigid import IDENTITY, transform_corners

CONTACT_FIELDS = ("segments", "normals", "depths", "coplanar", "push_directions")
MIN_NORMAL_DIFFERENCE = 1e-9                                            # below, a difference of normals has no direction
PAIRS_PER_CHUNK = 1 << 11                                               # pairs between checks for Ctrl-C: 3 ms, 100 for extreme coordinates
MEMORY_CHECK_PAIRS = 1 << 16                                            # fewer pairs take less time than reading the free memory
BYTES_PER_PAIR = 8 * (9 + 9 + 6 + 3 + 1 + 6) + 1                        # corners and results of a pair


def contacts_of(parts):
    """All CONTACT_FIELDS, by name, of parts (pairs (k, 2) of faces, body a, body b)."""
    m = sum(len(pairs) for pairs, _, _ in parts)
    if m > MEMORY_CHECK_PAIRS and not memory.fits_in_memory(BYTES_PER_PAIR * m):
        raise TooManyPairsError(f"{m:,} pairs meet, and memory for their contacts is not available; ask without contacts")
    corners = [np.empty((m, 9)), np.empty((m, 9))]
    end = 0
    for pairs, *bodies in parts:
        start, end = end, end + len(pairs)
        for column, body in enumerate(bodies):
            matrix = IDENTITY if body._matrix is None else body._matrix
            transform_corners(matrix, body._motion.flat, body._welded_faces, pairs, column, corners[column][start:end])
    return triangle_contacts(*corners)


def triangle_contacts(a, b):
    """All CONTACT_FIELDS of pairs of intersecting triangles with corners (m, 9): segments (m, 2, 3), normals (m, 3), depths (m,), coplanar
    (m,) and push_directions (m, 2, 3)."""
    m = len(a)
    out = {"segments": np.empty((m, 2, 3)), "normals": np.empty((m, 3)), "depths": np.empty(m), "coplanar": np.empty(m, np.bool_)}
    pool.map_chunks(m, PAIRS_PER_CHUNK, lambda begin, end: contacts(a, b, begin, end, *out.values(), np.empty(BUFFER_SIZE)))
    return out | {"push_directions": push_directions(a, b, out["normals"])}


def push_directions(a, b, normals):
    """(m, 2, 3): for either face the unit vector along which to push it: the other's unit normal minus its own (paper G, section 7), out of
    the other face and to its own back. Where the normals are equal or absent, the direction of the minimum translation."""
    directions = np.stack([-normals, normals], 1)
    difference = unit_normals(b) - unit_normals(a)
    length = np.sqrt((difference**2).sum(1))
    distinct = length > MIN_NORMAL_DIFFERENCE
    directions[distinct, 0] = difference[distinct] / length[distinct, None]
    directions[distinct, 1] = -directions[distinct, 0]
    return directions


def unit_normals(corners):
    """(m, 3) unit normals of triangles (m, 9); 0 for those without area. They are scaled near 1 first, so that squares do not overflow."""
    rows = corners.reshape(-1, 3, 3)
    with np.errstate(over="ignore", under="ignore"):
        size = np.exp2(np.clip(-np.frexp(np.abs(rows).max((1, 2), initial=0.0))[1], -1022.0, 1022.0))[:, None, None]
        u, v = rows[:, 1:2] * size - rows[:, :1] * size, rows[:, 2:] * size - rows[:, :1] * size
        u, v = (axis / np.maximum(np.abs(axis).max(2, keepdims=True), 2.0**-1000) for axis in (u, v))
    normal = np.cross(u[:, 0], v[:, 0])
    length = np.sqrt((normal**2).sum(1, keepdims=True))
    return np.where(length > 0, normal / np.where(length > 0, length, 1.0), 0.0)
