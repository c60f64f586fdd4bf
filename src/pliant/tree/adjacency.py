"""Which triangles of two leaves are adjacent: one mask of 64 bits for every pair of leaves that share a vertex, made once per tree.

Nine of ten pairs of triangles whose boxes overlap in a sheet share a vertex; loops must pass them over without looking. Bit 8 i + j of a
mask: triangle i of the lower leaf and j of the higher share a vertex, or, in the mask of a leaf with itself, j <= i.

A hub, a vertex with very many faces, would make nearly all pairs of leaves adjacent. Its faces are left out of the masks, and loops
compare the corners of what they find (`hubs`).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import load
from pliant.tree.nodes import LEAF_WIDTH

HUB_VALENCE = 256                                                       # faces
SELF_MASK = sum(1 << (LEAF_WIDTH * i + j) for i in range(LEAF_WIDTH) for j in range(i + 1)) - (1 << 64)  # j <= i, as an int64


class AdjacencyMasks(NamedTuple):
    """The adjacent leaves of leaf a, none lower than a itself, are others[begins[a] : begins[a + 1]], the first one a; with them their
    masks."""
    begins: np.ndarray
    others: np.ndarray
    masks: np.ndarray
    hubs: bool


def adjacency_masks(tree, mesh):
    """The AdjacencyMasks of a tree over a MeshTopology (`geometry/mesh.py`)."""
    n_leaves = len(tree.faces)
    occupied = tree.faces >= 0
    slot_of_face = np.empty(len(mesh.faces), np.int32)                  # leaf and lane of each face
    slot_of_face[tree.faces[occupied]] = np.flatnonzero(occupied.reshape(-1))
    begins, last_entry = np.zeros(n_leaves + 1, np.int32), np.full(n_leaves, -1, np.int32)
    no_masks = np.empty(0, np.int32), np.empty(0, np.int64)
    n = fill_masks(tree.faces, mesh.faces, mesh.begins, mesh.vertex_faces, slot_of_face, begins, last_entry, *no_masks)
    others, masks = np.empty(n, np.int32), np.empty(n, np.int64)
    last_entry[:] = -1
    fill_masks(tree.faces, mesh.faces, mesh.begins, mesh.vertex_faces, slot_of_face, begins, last_entry, others, masks)
    return AdjacencyMasks(begins, others, masks, bool(np.diff(mesh.begins).max(initial=0) > HUB_VALENCE))


@kernel
def fill_masks(leaf_faces, faces, face_begins, incident_faces, slot_of_face, begins, last_entry, others, masks):
    """Fill begins and, where there is room, others and masks; how many there are. `last_entry` (leaves,) −1: where each was put last."""
    n, writing = 0, len(others) > 0
    for a in range(len(leaf_faces)):
        start = n
        begins[a], last_entry[a] = n, n
        if writing:
            others[n], masks[n] = a, SELF_MASK
        n += 1
        for i in range(LEAF_WIDTH):
            f = np.int64(leaf_faces[a, i])
            if f < 0:
                break
            for c in range(3):
                v = np.int64(faces[f, c])
                if face_begins[v + 1] - face_begins[v] > HUB_VALENCE:
                    continue
                for k in range(face_begins[v], face_begins[v + 1]):
                    at = np.int64(slot_of_face[incident_faces[k]])
                    b, j = at // LEAF_WIDTH, at % LEAF_WIDTH
                    if b < a:
                        continue
                    if last_entry[b] < start:
                        last_entry[b] = n
                        if writing:
                            others[n], masks[n] = b, 0
                        n += 1
                    if writing:
                        masks[last_entry[b]] |= np.int64(1) << (LEAF_WIDTH * i + j)
        begins[a + 1] = n
    return n


@helper
def find_mask(begins, others, masks, a, b):
    """The mask of leaves a <= b."""
    for k in range(load(begins, a), load(begins, a + 1)):
        if load(others, np.int64(k)) == b:
            return load(masks, np.int64(k))
    return np.int64(0)
