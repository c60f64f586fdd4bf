"""Which triangles of two leaves are neighbours: one mask of 64 bits for every pair of leaves that share a vertex, made once per tree.

Nine of ten pairs of triangles whose boxes overlap in a sheet share a vertex; loops must pass them over without looking. Bit 8 i + j of a
mask: triangle i of the lower leaf and j of the higher share a vertex, or, in the mask of a leaf with itself, j <= i.

A hub, a vertex with very many faces, would make nearly all pairs of leaves neighbours. Its faces are left out of the masks, and loops
compare the corners of what they find (`hubs`).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import item
from pliant.tree.nodes import LEAF

HUB = 256                                                               # faces
HALF = sum(1 << (LEAF * i + j) for i in range(LEAF) for j in range(i + 1)) - (1 << 64)      # j <= i, as an int64


class Masks(NamedTuple):
    """The neighbours of leaf a, none lower than a itself, are others[begins[a] : begins[a + 1]], the first one a; with them their masks."""
    begins: np.ndarray
    others: np.ndarray
    masks: np.ndarray
    hubs: bool


def masks_of(tree, mesh):
    """The Masks of a tree over a `geometry/mesh.py` Mesh."""
    n_leaves = len(tree.faces)
    held = tree.faces >= 0
    place = np.empty(len(mesh.faces), np.int32)                         # leaf and lane of each face
    place[tree.faces[held]] = np.flatnonzero(held.reshape(-1))
    begins, seen = np.zeros(n_leaves + 1, np.int32), np.full(n_leaves, -1, np.int32)
    none = np.empty(0, np.int32), np.empty(0, np.int64)
    n = list_masks(tree.faces, mesh.faces, mesh.begins, mesh.around, place, begins, seen, *none)
    others, masks = np.empty(n, np.int32), np.empty(n, np.int64)
    seen[:] = -1
    list_masks(tree.faces, mesh.faces, mesh.begins, mesh.around, place, begins, seen, others, masks)
    return Masks(begins, others, masks, bool(np.diff(mesh.begins).max(initial=0) > HUB))


@kernel
def list_masks(leaf_faces, faces, face_begins, around, place, begins, seen, others, masks):
    """Fill begins and, where there is room, others and masks; how many there are. `seen` (leaves,) −1: where each was put last."""
    n, writing = 0, len(others) > 0
    for a in range(len(leaf_faces)):
        start = n
        begins[a], seen[a] = n, n
        if writing:
            others[n], masks[n] = a, HALF
        n += 1
        for i in range(LEAF):
            f = np.int64(leaf_faces[a, i])
            if f < 0:
                break
            for c in range(3):
                v = np.int64(faces[f, c])
                if face_begins[v + 1] - face_begins[v] > HUB:
                    continue
                for k in range(face_begins[v], face_begins[v + 1]):
                    at = np.int64(place[around[k]])
                    b, j = at // LEAF, at % LEAF
                    if b < a:
                        continue
                    if seen[b] < start:
                        seen[b] = n
                        if writing:
                            others[n], masks[n] = b, 0
                        n += 1
                    if writing:
                        masks[seen[b]] |= np.int64(1) << (LEAF * i + j)
        begins[a + 1] = n
    return n


@helper
def mask_between(begins, others, masks, a, b):
    """The mask of leaves a <= b."""
    for k in range(item(begins, a), item(begins, a + 1)):
        if item(others, np.int64(k)) == b:
            return item(masks, np.int64(k))
    return np.int64(0)
