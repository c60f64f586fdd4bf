"""The slow, exact reference that every other answer is compared with.

A float64 is an integer times a power of two, so a set of float64 numbers becomes a set of integers over one
common power of two (`exact`). Signs of polynomials do not change under that scaling, so from there on every
predicate is computed in Python integers, without rounding and without limits: subnormals and 1e308 may meet.

Two decisions about triangles, as unlike as they could be made:

* `triangles_meet` asks whether the origin lies in the convex hull of the nine differences p_i - q_j. By
  Caratheodory's theorem one, two, three or four of them suffice, and all 255 subsets are tried.
* `triangles_meet_fast` asks whether an edge of one triangle meets the other triangle, after early exits for
  separate boxes and for a triangle strictly on one side of the other's plane.

Both take closed sets: touching counts, and a degenerate triangle is the segment or the point that it spans.

`common` gives the part that two triangles share, by its extreme points; what adjacent faces of one mesh have in common beyond what
they share by index is read off it (`self_collide`).

Shapes: a triangle (3, 3), one corner a row; vertices (n_v, 3) float64; faces (n, 3) integers.
Inside, a vector is a tuple of three Python integers. Nothing of the library is imported.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import frexp, isfinite

import numpy as np

TWO_53 = float(2**53)


# ---------------------------------------------------------------------------------------------- numbers


def _scale(values):
    """Floats as integers over one power of two: `([integer, ...], exponent)`, value = integer * 2**exponent."""
    parts = [frexp(value) for value in values]
    # A fraction of frexp lies in [1/2, 1) and has at most 53 bits: times 2**53 it is an integer, exactly.
    low = min((exponent for fraction, exponent in parts if fraction), default=53)
    return [int(fraction * TWO_53) << (exponent - low) if fraction else 0 for fraction, exponent in parts], low - 53


def exact(x):
    """Integers over a common power of two: `(numbers, exponent)` with `x == numbers * 2**exponent` exactly.

    `numbers` is an object array of Python integers in the shape of `x`. Every finite float64 is representable;
    infinities and NaN are refused.
    """
    x = np.asarray(x, dtype=np.float64)
    flat = x.ravel().tolist()
    if not all(map(isfinite, flat)):
        raise ValueError("exact() needs finite numbers")
    integers, exponent = _scale(flat)
    numbers = np.empty(len(integers), dtype=object)
    numbers[:] = integers
    return numbers.reshape(x.shape), exponent


def _corners(p, q):
    """The corners of two triangles as integer vectors over one common power of two, and its exponent."""
    numbers, exponent = exact(np.stack([p, q]))
    first, second = numbers.tolist()
    return [tuple(corner) for corner in first], [tuple(corner) for corner in second], exponent


def sign(value):
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def _minus(u, v):
    return (u[0] - v[0], u[1] - v[1], u[2] - v[2])


def _cross(u, v):
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def _dot(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def _combined(s, u, t, v):
    """s u + t v."""
    return (s * u[0] + t * v[0], s * u[1] + t * v[1], s * u[2] + t * v[2])


# ----------------------------------------------------------------------------------------- orientations


def orient2d(a, b, c):
    """Sign of (b - a) x (c - a) for float64 points (2,): 1 if a, b, c turn to the left."""
    (ax, ay), (bx, by), (cx, cy) = exact(np.stack([a, b, c]))[0].tolist()
    return sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))


def orient3d(a, b, c, d):
    """Sign of ((b - a) x (c - a)) . (d - a) for float64 points (3,): 1 if d is on the side of the normal of abc."""
    a, b, c, d = exact(np.stack([a, b, c, d]))[0].tolist()
    return sign(_dot(_cross(_minus(b, a), _minus(c, a)), _minus(d, a)))


# ------------------------------------------------------------------------- the evident triangle decision


def _one_sign(weights):
    """Not all zero, and no two of opposite sign."""
    return any(weights) and (min(weights) >= 0 or max(weights) <= 0)


def origin_in_hull(vectors):
    """Does the convex hull of integer vectors contain the origin?

    It does iff some weights, none negative and not all zero, add the vectors up to zero. If there are such weights,
    there are some whose vectors have no other dependency than this one (Caratheodory): k <= 4 vectors of rank
    k - 1. Every such subset has its dependency written out below, up to a factor.
    """
    if (0, 0, 0) in vectors:  # k = 1
        return True

    crosses = {(i, j): _cross(vectors[i], vectors[j]) for i, j in combinations(range(len(vectors)), 2)}
    for (i, j), normal in crosses.items():  # k = 2: parallel and opposite
        if not any(normal) and _dot(vectors[i], vectors[j]) < 0:
            return True

    dets = {}
    for i, j, k in combinations(range(len(vectors)), 3):
        dets[i, j, k] = _dot(crosses[i, j], vectors[k])
        if dets[i, j, k] == 0:
            # k = 3: in one plane, (v x w . n) u + (w x u . n) v + (u x v . n) w = 0 for its normal n.
            normals = crosses[j, k], _minus((0, 0, 0), crosses[i, k]), crosses[i, j]
            n = next((normal for normal in normals if any(normal)), (0, 0, 0))
            if _one_sign([_dot(normal, n) for normal in normals]):
                return True

    for i, j, k, m in combinations(range(len(vectors)), 4):  # k = 4: Cramer's rule
        if _one_sign((dets[j, k, m], -dets[i, k, m], dets[i, j, m], -dets[i, j, k])):
            return True
    return False


def triangles_meet(p, q):
    """Do the closed hulls of the corners of p and of q share a point? The obviously right version.

    A common point is a weighted mean of p's corners and one of q's; their difference, zero, is then a weighted
    mean of the nine differences of corners, and the other way round.
    """
    p, q, _ = _corners(p, q)
    return origin_in_hull([_minus(u, v) for u in p for v in q])


# --------------------------------------------------------------------------- the quick triangle decision


def _boxes_apart(p, q):
    """Are the boxes of two triangles, lists of corners, strictly apart along an axis?"""
    for a, b, c, d, e, f in zip(*p, *q, strict=True):
        if max(a, b, c) < min(d, e, f) or max(d, e, f) < min(a, b, c):
            return True
    return False


def _drop(point, axis):
    """The point seen along an axis: two coordinates."""
    return point[:axis] + point[axis + 1 :]


def _turn(a, b, c):
    """Twice the signed area of a triangle in the plane."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _between(a, b, c):
    """Is c, known to be on the line through a and b, in the closed segment?"""
    return min(a[0], b[0]) <= c[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= c[1] <= max(a[1], b[1])


def _segments_meet_2d(a, b, c, d):
    """Do the closed segments ab and cd of the plane, either perhaps a point, meet?"""
    at_c, at_d, at_a, at_b = _turn(a, b, c), _turn(a, b, d), _turn(c, d, a), _turn(c, d, b)
    return (
        (at_c == 0 and _between(a, b, c))
        or (at_d == 0 and _between(a, b, d))
        or (at_a == 0 and _between(c, d, a))
        or (at_b == 0 and _between(c, d, b))
        or (sign(at_c) * sign(at_d) < 0 and sign(at_a) * sign(at_b) < 0)
    )


def _segments_meet_3d(a, b, c, d):
    """Do the closed segments ab and cd of space, either perhaps a point, meet? Ends in lexicographic order."""
    along, across = _minus(b, a), _minus(d, c)
    offset = _minus(c, a)
    normal = _cross(along, across)
    if _dot(normal, offset) != 0:
        return False  # skew
    if any(normal):  # one plane, two directions: look along an axis that the plane does not contain
        axis = next(i for i in range(3) if normal[i])
        return _segments_meet_2d(*(_drop(point, axis) for point in (a, b, c, d)))
    if any(_cross(along, offset)) or any(_cross(across, offset)):
        return False  # parallel lines, or a point beside a line
    return max(a, c) <= min(b, d)  # one line, ordered as the tuples are


def _segment_meets_flat(s, t, triangle):
    """Do a closed segment and a proper triangle, both in one plane and seen along an axis, meet?"""
    a, b, c = triangle
    turns = sign(_turn(a, b, s)), sign(_turn(b, c, s)), sign(_turn(c, a, s))
    if min(turns) >= 0 or max(turns) <= 0:
        return True  # s is inside
    return any(_segments_meet_2d(s, t, u, v) for u, v in ((a, b), (b, c), (c, a)))


def _line_meets(s, t, triangle):
    """Does the line through s and t, which crosses the plane of a proper triangle, pass through the triangle?"""
    along = _minus(t, s)
    a, b, c = (_minus(corner, s) for corner in triangle)
    first = _dot(along, _cross(a, b))
    second = _dot(along, _cross(b, c))
    if (first > 0 and second < 0) or (first < 0 and second > 0):
        return False
    third = _dot(along, _cross(c, a))
    return (first >= 0 and second >= 0 and third >= 0) or (first <= 0 and second <= 0 and third <= 0)


def _an_edge_meets(other, sides, triangle, normal):
    """Does one of the three edges of `other` meet the proper triangle? `sides`: where its corners lie."""
    for i, j in ((0, 1), (1, 2), (2, 0)):
        if sides[i] * sides[j] > 0:
            continue  # strictly on one side of the plane
        s, t = other[i], other[j]
        if sides[i] == 0 and sides[j] == 0:
            axis = next(k for k in range(3) if normal[k])
            flat = [_drop(corner, axis) for corner in triangle]
            if _segment_meets_flat(_drop(s, axis), _drop(t, axis), flat):
                return True
        elif _line_meets(s, t, triangle):
            return True
    return False


def triangles_meet_fast(p, q):
    """As `triangles_meet`, by edges against triangles.

    The common part of two closed triangles is empty, or it has an extreme point. That point lies on the border of
    one of them: so an edge of one meets the other. A degenerate triangle is nothing but its edges.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if _boxes_apart(p.tolist(), q.tolist()):
        return False
    integers, _ = _scale(p.ravel().tolist() + q.ravel().tolist())
    p = [tuple(integers[i : i + 3]) for i in (0, 3, 6)]
    q = [tuple(integers[i : i + 3]) for i in (9, 12, 15)]

    planes = []
    for triangle, other in ((p, q), (q, p)):
        a, b, c = triangle
        normal = _cross(_minus(b, a), _minus(c, a))
        if any(normal):
            sides = [sign(_dot(normal, _minus(corner, a))) for corner in other]
            if min(sides) > 0 or max(sides) < 0:
                return False
            planes.append((other, sides, triangle, normal))
    if planes:
        return any(_an_edge_meets(*plane) for plane in planes)
    return _segments_meet_3d(min(p), max(p), min(q), max(q))


# ------------------------------------------------------------------------------------------- common part


def _extremes(corners):
    """The extreme points of the hull of three points: all three, or the ends of a segment, or one."""
    a, b, c = corners
    return corners if any(_cross(_minus(b, a), _minus(c, a))) else sorted({min(corners), max(corners)})


def _in_hull(corners, point, weight=1):
    """Is point / weight, weight > 0, in the hull of the corners?"""
    return origin_in_hull([_combined(weight, corner, -1, point) for corner in corners])


def _crossing_of_lines(a, b, c, d):
    """Where the lines ab and cd cross, as [(point, weight)], the place being point / weight; none if skew or parallel."""
    along, across, offset = _minus(b, a), _minus(d, c), _minus(c, a)
    normal = _cross(along, across)
    if not any(normal) or _dot(normal, offset) != 0:
        return []
    weight = _dot(normal, normal)
    return [(_combined(weight, a, _dot(_cross(offset, across), normal), along), weight)]


def _crossing_of_plane(s, t, triangle):
    """Where the line st crosses the plane of a proper triangle, as above; none if it is parallel."""
    a, b, c = triangle
    normal, along = _cross(_minus(b, a), _minus(c, a)), _minus(t, s)
    rise = _dot(normal, along)
    if rise == 0:
        return []
    steps = _dot(normal, _minus(a, s))
    return [(_combined(abs(rise), s, steps * sign(rise), along), abs(rise))]


def common(p, q):
    """The extreme points of the common part of two closed triangles, sorted tuples of three fractions; none if they are apart.

    The smallest faces (corner, edge, triangle) of p and of q around an extreme point have no other point in common near
    it, or it could be moved both ways. So it is a corner of one, or edges cross there, or an edge crosses a triangle.
    Such places are all tried: what lies in both triangles is kept, and it is extreme.
    """
    p, q, exponent = _corners(p, q)
    p, q = _extremes(p), _extremes(q)
    tried = [(corner, 1) for corner in p + q]
    for edge, other in product(combinations(p, 2), combinations(q, 2)):
        tried += _crossing_of_lines(*edge, *other)
    for triangle, other in ((p, q), (q, p)):
        if len(triangle) == 3:
            for edge in combinations(other, 2):
                tried += _crossing_of_plane(*edge, triangle)
    unit = Fraction(2) ** exponent
    return sorted({
        tuple(Fraction(x, weight) * unit for x in point)
        for point, weight in tried
        if _in_hull(p, point, weight) and _in_hull(q, point, weight)
    })


def _more_than(shared, p, q):
    """Have triangles p and q more in common than the hull of the points that they share by index?"""
    shared = [tuple(map(Fraction, point)) for point in shared]
    return not all(_in_hull(shared, point) for point in common(p, q))


# ------------------------------------------------------------------------------------------------ meshes


def box(points):
    """Exact bounds of float64 points (n, d): `(lower, upper)`, each (d,)."""
    points = np.asarray(points, dtype=np.float64)
    return points.min(axis=0), points.max(axis=0)


def collide(vertices_a, faces_a, vertices_b, faces_b):
    """All pairs of meeting faces, (m, 2) int32, sorted: every face of a against every face of b.

    Pairs whose boxes are apart are left out by comparisons of float64 numbers, which are exact. Many options are tested with one mesh, so
    answers are kept: the same corners, to the bit, have the same one.
    """
    a = np.asarray(vertices_a, dtype=np.float64).reshape(-1, 3)[np.asarray(faces_a, dtype=np.intp).reshape(-1, 3)]
    b = np.asarray(vertices_b, dtype=np.float64).reshape(-1, 3)[np.asarray(faces_b, dtype=np.intp).reshape(-1, 3)]
    return _collide(a.tobytes(), b.tobytes()).copy()


@lru_cache(maxsize=1000)
def _collide(corners_a, corners_b):
    a, b = np.frombuffer(corners_a).reshape(-1, 3, 3), np.frombuffer(corners_b).reshape(-1, 3, 3)
    lower_a, upper_a, lower_b, upper_b = a.min(axis=1), a.max(axis=1), b.min(axis=1), b.max(axis=1)
    pairs = []
    for i in range(len(a)):
        overlap = np.all((lower_a[i] <= upper_b) & (lower_b <= upper_a[i]), axis=1)
        pairs += [(i, j) for j in np.flatnonzero(overlap).tolist() if triangles_meet_fast(a[i], b[j])]
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def self_collide(vertices, faces, adjacent="exact", same=None):
    """All pairs of faces of one mesh that collide, (m, 2) int32, sorted, the first of a pair below the second.

    Faces that share no vertex collide if they meet; one or two, if they meet in more than the vertex, or the segment between the two;
    three, always. "ignore" leaves out all that share any. `same`: for every vertex the one that stands for it. Answers are kept, as above.
    """
    faces = np.asarray(faces, dtype=np.intp).reshape(-1, 3)
    faces = faces if same is None else np.asarray(same, dtype=np.intp)[faces]
    return _self_collide(np.asarray(vertices, dtype=np.float64).tobytes(), faces.tobytes(), adjacent).copy()


@lru_cache(maxsize=1000)
def _self_collide(vertices, faces, adjacent):
    vertices, faces = np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(faces, np.intp).reshape(-1, 3)
    corners = vertices[faces]
    lower, upper, named = corners.min(axis=1), corners.max(axis=1), [frozenset(face) for face in faces.tolist()]
    pairs = []
    for i in range(len(faces)):
        overlap = np.all((lower[i] <= upper) & (lower <= upper[i]), axis=1)
        for j in (np.flatnonzero(overlap[i + 1 :]) + (i + 1)).tolist():
            shared = sorted(named[i] & named[j])
            if shared and adjacent == "ignore":
                continue
            if len(shared) == 0:
                collides = triangles_meet_fast(corners[i], corners[j])
            else:
                collides = len(shared) == 3 or _more_than(vertices[shared].tolist(), corners[i], corners[j])
            if collides:
                pairs.append((i, j))
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)
