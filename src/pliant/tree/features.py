"""Features of a mesh: vertices, edges and faces; which face owns each, and which leaf of a BVH has them.

A query that compares features tests a vertex against faces and an edge against edges. Many faces share a vertex or an edge, so each has one
OWNER, the lowest of its faces: then no pair of features is tested twice. Vertices that no face uses have no owner and take no part; a
degenerate face has the edges between its distinct vertices. Welded vertices are one vertex: the lowest.

A leaf holds at most eight faces, and the vertices and edges that these own: in groups of eight, as many as there are lanes.
"""
from typing import NamedTuple

import numpy as np

from pliant.core import memory
from pliant.core.jit import kernel
from pliant.errors import TooManyPairsError
from pliant.tree.nodes import LEAF_WIDTH

NO_FEATURE = -1
RING_CHUNK, BYTES_PER_NEIGHBOR = 1 << 10, 20                            # vertices between looks at Ctrl-C; while neighbors are sorted
IDS = np.dtype((np.int32, (LEAF_WIDTH,)))


def moving_fields(names, keys):
    """A box around a whole motion, then the points at its start (0) and at its end (1), then a key for each, the low bits of its index."""
    box = ["lox", "loy", "loz", "hix", "hiy", "hiz"]
    return [(field, float) for field in (*box, *(f"{name}{axis}{time}" for time in "01" for name in names for axis in "xyz"),
                                         *keys.split())]


MovingPoint = NamedTuple("MovingPoint", moving_fields("p", "key"))
MovingPoint.__doc__ = """A vertex at both ends of a motion."""
MovingEdge = NamedTuple("MovingEdge", moving_fields("ab", "key_a key_b"))
MovingEdge.__doc__ = """The ends of an edge at both ends of a motion."""
MovingTriangle = NamedTuple("MovingTriangle", moving_fields("abc", "key_a key_b key_c"))
MovingTriangle.__doc__ = """The corners of a face at both ends of a motion."""


class MeshFeatures(NamedTuple):
    """The edges (e, 2) int32 of a mesh, lower vertex first, sorted; the owner of each edge (e,) and vertex (n,), a face or −1; the vertices
    (u,) that have an owner."""
    edges: np.ndarray
    edge_owners: np.ndarray
    vertex_owners: np.ndarray
    used_vertices: np.ndarray


def find_features(faces, n_vertices):
    """The MeshFeatures of faces (f, 3), in which welded vertices have one index."""
    corners = faces.astype(np.int64)
    ends = np.stack([corners[:, [0, 1, 2]], corners[:, [1, 2, 0]]], axis=2).reshape(-1, 2)
    owners = np.repeat(np.arange(len(faces), dtype=np.int32), 3)
    is_edge = ends[:, 0] != ends[:, 1]
    keys = ends[is_edge].min(axis=1) * max(n_vertices, 1) + ends[is_edge].max(axis=1)
    keys, first = np.unique(keys, return_index=True)                    # the first of equal keys is that of the lowest face
    edges = np.stack(np.divmod(keys, max(n_vertices, 1)), axis=1).astype(np.int32)
    used, first_corner = np.unique(corners.reshape(-1), return_index=True)
    vertex_owners = np.full(n_vertices, NO_FEATURE, np.int32)
    vertex_owners[used] = first_corner // 3
    edges.flags.writeable = False
    return MeshFeatures(edges, owners[is_edge][first], vertex_owners, used)


class LeafFeatures(NamedTuple):
    """The features that the leaves of a BVH own. Groups of leaf i are those from begins[i] to begins[i + 1]; `ids` (g, 8) int32, −1 where a
    lane is empty."""
    vertex_begins: np.ndarray
    vertex_ids: np.ndarray
    edge_begins: np.ndarray
    edge_ids: np.ndarray


def leaf_features(tree, features):
    """The LeafFeatures of a tree."""
    leaves, lanes = np.nonzero(tree.faces >= 0)
    leaf_of_face = np.empty(len(leaves), np.int32)
    leaf_of_face[tree.faces[leaves, lanes]] = leaves
    vertices = features.used_vertices
    return LeafFeatures(*_groups(leaf_of_face[features.vertex_owners[vertices]], vertices, len(tree.faces)),
                        *_groups(leaf_of_face[features.edge_owners], np.arange(len(features.edges)), len(tree.faces)))


def _groups(leaves, ids, n_leaves):
    """(begins (n + 1,), ids (g, 8)) of features `ids` that these leaves own."""
    counts = np.bincount(leaves, minlength=n_leaves)
    begins = np.concatenate([[0], np.cumsum(-(-counts // LEAF_WIDTH))]).astype(np.int32)
    order = np.argsort(leaves, kind="stable")
    rank = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    groups = np.full((int(begins[-1]), LEAF_WIDTH), NO_FEATURE, np.int32)
    groups.reshape(-1)[begins[:-1][leaves[order]] * LEAF_WIDTH + rank] = ids[order]
    return begins, groups


# --- along edges -----------------------------------------------------------------------------------------------------------------------

def vertices_within_rings(edges, n_vertices, rings):
    """(begins (n + 1,) int64, neighbors int32): for each vertex those that at most so many edges lead to, itself included, ascending."""
    begins, adjacent = vertex_neighbors(edges, n_vertices)
    visited, reached = np.full(n_vertices, -1, np.int64), np.empty(n_vertices, np.int32)
    offsets, parts = np.zeros(n_vertices + 1, np.int64), [np.empty(0, np.int32)]
    for first in range(0, n_vertices, RING_CHUNK):
        ends = offsets[first:min(first + RING_CHUNK, n_vertices) + 1]
        spread(begins, adjacent, rings, visited, reached, first, 0, ends, parts[0])
        np.cumsum(ends, out=ends)
        if not memory.fits_in_memory(BYTES_PER_NEIGHBOR * int(ends[-1])):
            raise TooManyPairsError(f"rings: more than {int(ends[-1]):,} pairs of vertices are within so many edges of each other, and "
                                    "memory for them is not available; ask for fewer")
        found = np.empty(int(ends[-1] - ends[0]), np.int32)
        spread(begins, adjacent, rings, visited, reached, first, n_vertices, ends - ends[0], found)
        keys = np.repeat(np.arange(len(ends) - 1), np.diff(ends)) << 32 | found
        keys.sort()
        parts.append((keys & 0xFFFFFFFF).astype(np.int32))
    return offsets, np.concatenate(parts)


def vertex_neighbors(edges, n_vertices):
    """(begins (n + 1,) int64, neighbors): the vertices that an edge leads to, of each vertex."""
    both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.searchsorted(both[:, 0], np.arange(n_vertices + 1)), both[:, 1].astype(np.int32)


@kernel
def spread(begins, adjacent, rings, visited, reached, first, marks, offsets, out):
    """Breadth first from each of the vertices from `first` on, as many as there are offsets but one. Without room in `out`, the next offset
    is the number of vertices reached; else they are put from the offset on. `marks` + v marks what was reached from v: twice the same
    would not do."""
    for row in range(len(offsets) - 1):
        mark, begin, n = marks + first + row, 0, 1
        visited[first + row], reached[0] = mark, first + row
        for _ in range(rings):
            last = n
            for at in range(begin, last):
                w = np.int64(reached[at])
                for k in range(begins[w], begins[w + 1]):
                    x = np.int64(adjacent[k])
                    if visited[x] != mark:
                        visited[x] = mark
                        reached[n] = x
                        n += 1
            begin = last
        if len(out) == 0:
            offsets[row + 1] = n
            continue
        for i in range(n):
            out[offsets[row] + i] = reached[i]
