"""The slow, exact reference of features: edges, owners, and squared distances of vertices and faces and of two edges, in rational numbers.

Nothing of the library. A pair is (kind, i, j): kind 0 a vertex i and a face j, 1 a face i and a vertex j, 2 two edges.
"""

from fractions import Fraction
from itertools import product

import numpy as np

import naive
import naive_ccd
import naive_distances
from naive import _dot, _minus


def edges_of(faces):
    """All edges, lower vertex first, sorted."""
    return sorted({tuple(sorted((face[k], face[(k + 1) % 3]))) for face in np.asarray(faces).tolist() for k in range(3)
                   if face[k] != face[(k + 1) % 3]})


def vertices_of(faces):
    """The vertices that a face uses."""
    return sorted(set(np.asarray(faces).ravel().tolist()))


def rational(points):
    """(rows of integers, what they are multiples of)."""
    numbers, exponent = naive.exact(np.ascontiguousarray(points, np.float64).reshape(-1, 3))
    return [tuple(row) for row in numbers.reshape(-1, 3).tolist()], Fraction(2) ** exponent


def edge_edge(a, b, c, d):
    """Squared distance of two edges, all integers."""
    found = [Fraction(_dot(w, w)) for w in (_minus(p, q) for p, q in product((a, b), (c, d)))]
    for p, (q, r) in ((a, (c, d)), (b, (c, d)), (c, (a, b)), (d, (a, b))):
        found += naive_distances._point_edge(p, q, r)
    return min([*found, *naive_distances._edge_edge(a, b, c, d)])


def squares(vertices_a, faces_a, vertices_b, faces_b, same=False):
    """{(kind, i, j): squared distance} of all pairs of features, or of one mesh those that share no vertex."""
    rows, unit = rational(np.concatenate([vertices_a, vertices_b]))
    p, q = rows[: len(vertices_a)], rows[len(vertices_a) :]
    faces_a, faces_b = np.asarray(faces_a).tolist(), np.asarray(faces_b).tolist()
    found = {}
    for v, f in product(vertices_of(faces_a), range(len(faces_b))):
        if not (same and v in faces_b[f]):
            found[0, v, f] = naive_distances._of_point(p[v], [q[k] for k in faces_b[f]])
    for f, v in product(range(len(faces_a)), vertices_of(faces_b)):
        if not same:
            found[1, f, v] = naive_distances._of_point(q[v], [p[k] for k in faces_a[f]])
    edges_a, edges_b = edges_of(faces_a), edges_of(faces_b)
    for i, j in product(range(len(edges_a)), range(len(edges_b))):
        if not same or (i < j and not set(edges_a[i]) & set(edges_b[j])):
            found[2, i, j] = edge_edge(*(p[k] for k in edges_a[i]), *(q[k] for k in edges_b[j]))
    return {pair: square * unit**2 for pair, square in found.items()}


def within(vertices_a, faces_a, vertices_b, faces_b, tolerance, same=False):
    """{(kind, i, j): squared distance} of those within the tolerance."""
    limit = Fraction(tolerance) ** 2
    found = squares(vertices_a, faces_a, vertices_b, faces_b, same)
    return {pair: square for pair, square in found.items() if square <= limit}


def points_of(pair, a, faces_a, b, faces_b):
    """The four points (4, 3) of a pair, the vertex or the first edge first."""
    kind, i, j = pair
    if kind == 2:
        return np.concatenate([a[list(edges_of(faces_a)[i])], b[list(edges_of(faces_b)[j])]])
    return np.concatenate([a[[i]], b[faces_b[j]]] if kind == 0 else [b[[j]], a[faces_a[i]]])


def candidates(faces_a, faces_b, same):
    """All pairs of features, of one mesh those that share no vertex."""
    faces_a, faces_b = np.asarray(faces_a).tolist(), np.asarray(faces_b).tolist()
    pairs = [(0, v, f) for v, f in product(vertices_of(faces_a), range(len(faces_b))) if not (same and v in faces_b[f])]
    if not same:
        pairs += [(1, f, v) for f, v in product(range(len(faces_a)), vertices_of(faces_b))]
    edges_a, edges_b = edges_of(faces_a), edges_of(faces_b)
    return pairs + [(2, i, j) for i, j in product(range(len(edges_a)), range(len(edges_b)))
                    if not same or (i < j and not set(edges_a[i]) & set(edges_b[j]))]


def impacts(a, end_a, faces_a, b, end_b, faces_b, same=False):
    """{(kind, i, j): (low, high) of the first contact} of the pairs that touch, all vertices on straight lines."""
    found = {}
    for pair in candidates(faces_a, faces_b, same):
        start, end = (points_of(pair, p, faces_a, q, faces_b) for p, q in ((a, b), (end_a, end_b)))
        time = naive_ccd.first_contact(start, end, naive_ccd.EDGE_EDGE if pair[0] == 2 else naive_ccd.VERTEX_FACE)
        if time is not None:
            found[pair] = time
    return found
