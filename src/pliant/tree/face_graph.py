"""Which faces of a mesh are linked, and what components that makes: what `tree/connectivity.py` walks over.

Faces are LINKED that share an edge. Where the faces around a vertex fall into several pieces that no edge through it joins, one face of
each piece is linked to one of the next: surfaces that touch in a vertex. More than two faces of an edge, and the pieces around a vertex,
are linked in a chain, so that no face has many links: 3 on ordinary surfaces, 12 at most. A walk over links reaches all that shares
vertices, directly or through other faces: a COMPONENT.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.geometry.mesh import list_vertex_faces

MAX_LINKS = 12                                                          # most links of a face: two for each edge and each vertex


class FaceGraph(NamedTuple):
    """`order` (n,) int32, the faces as walks come to them, component after component; in that order, component i starts at starts[i],
    (c + 1,) int64, and the face at place k is linked to those at places near[begins[k] : begins[k + 1]], int32."""
    order: np.ndarray
    starts: np.ndarray
    begins: np.ndarray
    adjacent: np.ndarray


def build_face_graph(faces, n_vertices, order_components):
    """The FaceGraph of these faces. `order_components(corners, starts)` gives the components in the order in which they are to stand, if
    there are several."""
    n = len(faces)
    begins, incident_faces = np.zeros(n_vertices + 1, np.int32), np.empty(3 * n, np.int32)
    list_vertex_faces(faces, begins, incident_faces)
    visited_by, last = np.full(n_vertices, -1, np.int32), np.empty(n_vertices, np.int32)
    links = np.empty((MAX_LINKS * n // 2, 2), np.int32)
    links = links[:link_faces(faces, begins, incident_faces, visited_by, last, np.empty(int(np.diff(begins).max()), np.int32), links)]

    order, rank, starts = np.empty(n, np.int32), np.full(n, -1, np.int32), np.empty(n + 1, np.int64)
    starts = starts[:list_components(*adjacency_lists(links, np.arange(n, dtype=np.int32)), order, rank, starts) + 1]
    if len(starts) > 2:
        permutation = order_components(order, starts)
        sizes = np.diff(starts)[permutation]
        new_starts = np.append(0, np.cumsum(sizes))
        order, starts = order[np.repeat(starts[permutation] - new_starts[:-1], sizes) + np.arange(n)], new_starts
        rank[order] = np.arange(n, dtype=np.int32)
    return FaceGraph(order, starts, *adjacency_lists(links, rank))


def adjacency_lists(links, rank):
    """(begins, near) with each face named by its rank."""
    begins, adjacent = np.zeros(len(rank) + 1, np.int32), np.empty(2 * len(links), np.int32)
    fill_adjacency(links, rank, begins, adjacent)
    return begins, adjacent


@helper
def find_root(pieces, i):
    """The lowest of the piece that i belongs to."""
    while pieces[i] != i:
        pieces[i] = pieces[pieces[i]]
        i = pieces[i]
    return i


@kernel
def link_faces(faces, begins, incident_faces, visited_by, last, pieces, links):
    """Fill links (k, 2); how many there are. `asked` (−1 at first) is the vertex that last looked at a neighbour, `last` where among its
    faces that was."""
    n = 0
    for v in range(len(begins) - 1):
        begin, valence = np.int64(begins[v]), np.int64(begins[v + 1] - begins[v])
        n_pieces = valence
        for i in range(valence):
            pieces[i] = i
        for i in range(valence):
            f = incident_faces[begin + i]
            for c in range(3):
                w = faces[f, c]
                if w == v:
                    continue
                j = np.int64(last[w]) if visited_by[w] == v else i
                visited_by[w], last[w] = v, i
                if i == j:
                    continue                                            # the first face of this edge, or one that names it twice
                if v < w:                                               # each edge once
                    links[n, 0], links[n, 1] = incident_faces[begin + j], f
                    n += 1
                one, two = find_root(pieces, i), find_root(pieces, j)
                if one != two:
                    pieces[max(one, two)] = min(one, two)
                    n_pieces -= 1
        if n_pieces > 1:
            previous = 0
            for i in range(1, valence):
                if pieces[i] == i:
                    links[n, 0], links[n, 1] = incident_faces[begin + previous], incident_faces[begin + i]
                    n, previous = n + 1, i
    return n


@kernel
def fill_adjacency(links, rank, begins, adjacent):
    """Fill begins, 0 at first, and near."""
    for i in range(len(links)):
        begins[rank[links[i, 0]]] += 1
        begins[rank[links[i, 1]]] += 1
    for i in range(1, len(begins)):
        begins[i] += begins[i - 1]
    for i in range(len(links) - 1, -1, -1):
        a, b = rank[links[i, 0]], rank[links[i, 1]]
        begins[a] -= 1
        begins[b] -= 1
        adjacent[begins[a]], adjacent[begins[b]] = b, a


@kernel
def list_components(begins, adjacent, order, rank, starts):
    """Bring the faces into the order of a walk, component after component; how many there are. `rank` is −1 at first."""
    n, tail = 0, 0
    for first in range(len(order)):
        if rank[first] >= 0:
            continue
        starts[n], head = tail, tail
        n += 1
        order[tail], rank[first] = first, tail
        tail += 1
        while head < tail:
            f = order[head]
            head += 1
            for k in range(begins[f], begins[f + 1]):
                g = adjacent[k]
                if rank[g] < 0:
                    order[tail], rank[g] = g, tail
                    tail += 1
    starts[n] = tail
    return n
