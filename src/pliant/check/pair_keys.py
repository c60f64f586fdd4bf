"""Pairs of faces as sorted integers, so that those of two frames are compared in linear time.

Faces of all bodies are numbered through: face f of body b is offsets[b] + f, offsets being sums of the numbers of faces in the first frame
that is checked. The key of a pair is the number of its first face in the upper 32 bits and that of its second in the lower ones.

Invariant: keys are of bodies that have the faces of that first frame. Where a body has other faces, an index names another face, so its
pairs have no key: they are of one frame each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError

Keys = NDArray[np.int64]
Rows = NDArray[np.int32]

FACE_BITS = 32
MAX_FACES = 1 << 31  # of all bodies


def face_offsets(counts: Sequence[int]) -> Keys:
    """(n + 1,): the number of the first face of each body, and of all faces."""
    offsets = np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))]).astype(np.int64)
    if offsets[-1] >= MAX_FACES:
        raise ArgumentError(f"faces: all bodies together have {offsets[-1]:,}; at most {MAX_FACES - 1:,} can be numbered")
    return offsets


def pair_keys(offsets: Keys, bodies: Rows, faces: Rows) -> Keys:
    """(m,): the keys of pairs of faces (m, 2) of bodies (m, 2), in the order of the rows."""
    found: Keys = ((offsets[bodies[:, 0]] + faces[:, 0]) << FACE_BITS) | (offsets[bodies[:, 1]] + faces[:, 1])
    return found


def split_keys(offsets: Keys, keys: Keys) -> tuple[Rows, Rows]:
    """(bodies (m, 2), faces (m, 2)) of keys."""
    numbers = np.stack([keys >> FACE_BITS, keys & ((1 << FACE_BITS) - 1)], axis=1)
    bodies = np.searchsorted(offsets, numbers, side="right") - 1
    return bodies.astype(np.int32), (numbers - offsets[bodies]).astype(np.int32)


def row_changes(rows: Rows) -> NDArray[np.bool_]:
    """(m − 1,): which rows (m, k) differ from the one before. By columns, which is several times as fast as along short rows."""
    found = np.zeros(max(len(rows) - 1, 0), bool)
    for column in rows.T:
        found |= column[1:] != column[:-1]
    return found


def run_starts(rows: Rows) -> Keys:
    """The first of each run of equal rows (m, k); none of no rows."""
    return np.concatenate([[0], np.flatnonzero(row_changes(rows)) + 1])[: len(rows)]


def contains(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """(m,): which of `wanted` are in the ascending `keys`."""
    if not len(keys):
        return np.zeros(len(wanted), bool)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[places] == wanted)
