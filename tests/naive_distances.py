"""The slow, exact reference of distances: rational numbers, every pair of features, nothing of the library.

Coordinates become integers over one power of two (`naive.exact`). Squared distances of features are then quotients of integers, and a
feature pair counts only where the feet are inside; ends of edges and borders of faces are features of their own. The least of all is the
squared distance, and 0 if the triangles meet (`naive.triangles_meet_fast`).

Meshes are compared face by face. Pairs come in the order of how far their boxes are apart, exactly, and those with boxes farther apart
than what is asked for are left out.

Shapes: a triangle (3, 3), one corner a row; vertices (n_v, 3) float64; faces (n, 3) integers; points (m, 3).
"""

from fractions import Fraction
from itertools import combinations, product

import numpy as np

import naive
from naive import _cross, _dot, _minus


def _rows(numbers):
    return [tuple(row) for row in numbers.reshape(-1, 3).tolist()]


def _point_edge(p, a, b):
    """Squared distances, none or one: the point p and the inside of the edge ab."""
    e, w = _minus(b, a), _minus(p, a)
    if 0 < _dot(w, e) < _dot(e, e):
        c = _cross(w, e)
        yield Fraction(_dot(c, c), _dot(e, e))


def _edge_edge(a, b, c, d):
    """The insides of the edges ab and cd: a + s e and c + t f, the way between them along n = e × f."""
    e, f, w = _minus(b, a), _minus(d, c), _minus(c, a)
    n = _cross(e, f)
    square = _dot(n, n)
    if square and 0 < _dot(_cross(w, f), n) < square and 0 < _dot(_cross(w, e), n) < square:
        yield Fraction(_dot(w, n) ** 2, square)


def _point_face(p, a, b, c):
    """The point p and the inside of the face abc."""
    n = _cross(_minus(b, a), _minus(c, a))
    if any(n) and all(_dot(_cross(_minus(v, u), _minus(p, u)), n) > 0 for u, v in ((a, b), (b, c), (c, a))):
        yield Fraction(_dot(_minus(p, a), n) ** 2, _dot(n, n))


def _of_point(p, triangle):
    """Squared distance of a point and a triangle, all integers."""
    found = [Fraction(_dot(w, w)) for w in (_minus(p, corner) for corner in triangle)]
    for edge in combinations(triangle, 2):
        found += _point_edge(p, *edge)
    return min([*found, *_point_face(p, *triangle)])


def _of_triangles(p, q):
    """Squared distance of two triangles that do not meet, all integers."""
    found = [_of_point(corner, q) for corner in p] + [_of_point(corner, p) for corner in q]
    for one, other in product(combinations(p, 2), combinations(q, 2)):
        found += _edge_edge(*one, *other)
    return min(found)


def point_triangle(point, triangle):
    """Squared distance of a point (3,) and a triangle."""
    numbers, exponent = naive.exact(np.vstack([triangle, point]))
    *corners, p = _rows(numbers)
    return _of_point(p, corners) * Fraction(4) ** exponent


def triangle_triangle(p, q):
    """Squared distance of two triangles."""
    if naive.triangles_meet_fast(p, q):
        return Fraction(0)
    numbers, exponent = naive.exact(np.stack([p, q]))
    rows = _rows(numbers)
    return _of_triangles(rows[:3], rows[3:]) * Fraction(4) ** exponent


# ------------------------------------------------------------------------------------------------ meshes


def _corners(vertices, faces):
    return np.asarray(vertices, np.float64).reshape(-1, 3)[np.asarray(faces, np.intp).reshape(-1, 3)]


def _box(points):
    return [(min(x), max(x)) for x in zip(*points, strict=True)]


def _apart(a, b):
    """Squared distance of two boxes."""
    return sum(max(0, low - top, bottom - high) ** 2 for (bottom, top), (low, high) in zip(a, b, strict=True))


class _Sets:
    """Two lists of float64 triangles or points, (n, k, 3), and what is under them in integers."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        numbers, exponent = naive.exact(np.concatenate([a.ravel(), b.ravel()]))
        self.unit = Fraction(4) ** exponent
        rows = _rows(numbers)
        k, n = a.shape[1], a.shape[0] * a.shape[1]
        self.rows_a = [rows[i : i + k] for i in range(0, n, k)]
        self.rows_b = [rows[i : i + 3] for i in range(n, len(rows), 3)]
        self.boxes_a, self.boxes_b = [_box(points) for points in self.rows_a], [_box(points) for points in self.rows_b]

    def bound(self, i, j):
        return _apart(self.boxes_a[i], self.boxes_b[j])

    def square(self, i, j):
        """Squared distance, in units."""
        if len(self.rows_a[i]) == 1:
            return _of_point(self.rows_a[i][0], self.rows_b[j])
        if naive.triangles_meet_fast(self.a[i], self.b[j]):
            return Fraction(0)
        return _of_triangles(self.rows_a[i], self.rows_b[j])

    def least(self, pairs):
        """(the least squared distance, the pairs that attain it); None for no pairs."""
        best, attained = None, []
        for bound, pair in sorted((self.bound(*pair), pair) for pair in pairs):
            if best is not None and bound > best:
                break
            square = self.square(*pair)
            if best is None or square < best:
                best, attained = square, []
            if square == best:
                attained.append(pair)
        return None if best is None else best * self.unit, sorted(attained)

    def within(self, pairs, tolerance):
        """(the pairs at most that far apart, sorted, and their squared distances)."""
        limit = Fraction(tolerance) ** 2 / self.unit
        found = [(pair, self.square(*pair)) for pair in sorted(pairs) if self.bound(*pair) <= limit]
        found = [(pair, square) for pair, square in found if square <= limit]
        return [pair for pair, _ in found], [square * self.unit for _, square in found]


def _strangers(faces):
    """Pairs i < j of faces that share no vertex by index."""
    corners = [set(face) for face in np.asarray(faces).reshape(-1, 3).tolist()]
    return [(i, j) for i, j in combinations(range(len(corners)), 2) if not corners[i] & corners[j]]


def distance(vertices_a, faces_a, vertices_b, faces_b):
    """(squared distance of two meshes, all pairs of faces that attain it); (None, []) if one is empty."""
    sets = _Sets(_corners(vertices_a, faces_a), _corners(vertices_b, faces_b))
    return sets.least(list(product(range(len(sets.a)), range(len(sets.b)))))


def within(vertices_a, faces_a, vertices_b, faces_b, tolerance):
    """(all pairs of faces at most that far apart, sorted, and their squared distances)."""
    sets = _Sets(_corners(vertices_a, faces_a), _corners(vertices_b, faces_b))
    return sets.within(list(product(range(len(sets.a)), range(len(sets.b)))), tolerance)


def self_distance(vertices, faces):
    """`distance` among the faces of one mesh that share no vertex by index, i < j."""
    corners = _corners(vertices, faces)
    return _Sets(corners, corners).least(_strangers(faces))


def self_within(vertices, faces, tolerance):
    """`within` among the faces of one mesh that share no vertex by index, i < j."""
    corners = _corners(vertices, faces)
    return _Sets(corners, corners).within(_strangers(faces), tolerance)


def closest(vertices, faces, points):
    """For each point (its squared distance, all faces that attain it)."""
    points = np.asarray(points, np.float64).reshape(-1, 3)
    sets = _Sets(points[:, None], _corners(vertices, faces))
    found = [sets.least([(i, j) for j in range(len(sets.b))]) for i in range(len(points))]
    return [(square, [j for _, j in attained]) for square, attained in found]
