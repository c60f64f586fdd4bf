"""Polygons for tests, on lattices, so that all about them is known exactly: simple ones, with flat and repeated corners, with holes."""

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from pliant.io.polygons import Polygons, triangulate

WIDE = 64  # coordinates of lattices are below


def cross(a, b, c):
    """Twice the signed area of a triangle of whole numbers, or of fractions."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def sign(x):
    return (x > 0) - (x < 0)


def area(polygon):
    """Twice its signed area."""
    return sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(polygon, [*polygon[1:], polygon[0]], strict=True))


def between(p, a, b):
    """Is p, which is on their line, on the segment?"""
    return min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])


def touch(a, b, c, d):
    """Do two closed segments have a point in common?"""
    s = [sign(cross(a, b, c)), sign(cross(a, b, d)), sign(cross(c, d, a)), sign(cross(c, d, b))]
    if s[0] * s[1] < 0 and s[2] * s[3] < 0:
        return True
    ends = zip(s, ((c, a, b), (d, a, b), (a, c, d), (b, c, d)), strict=True)
    return any(each == 0 and between(*points) for each, points in ends)


def is_simple(polygon):
    """Do edges meet only in the corner that two of them share? Flat corners may be."""
    n = len(polygon)
    edges = [(polygon[k], polygon[(k + 1) % n]) for k in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if j == i + 1 or (i == 0 and j == n - 1):
                a, b, c = (*edges[i], edges[j][1]) if j == i + 1 else (*edges[j], edges[i][1])
                if a == b or b == c or (cross(a, b, c) == 0 and (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) > 0):
                    return False
            elif touch(*edges[i], *edges[j]):
                return False
    return True


def overlap(first, second):
    """Do the insides of two triangles that turn left have a point in common? No line along an edge separates them then."""
    for one, other in ((first, second), (second, first)):
        for k in range(3):
            if all(cross(one[k], one[(k + 1) % 3], p) <= 0 for p in other):
                return False
    return True


@st.composite
def grown(draw, most=24):
    """A simple polygon, counterclockwise: a triangle to which corners were added that keep it simple; then flat corners."""
    point = st.tuples(st.integers(0, WIDE // 2), st.integers(0, WIDE // 2)).map(lambda p: (2 * p[0], 2 * p[1]))
    polygon = draw(st.lists(point, min_size=3, max_size=3).filter(lambda p: cross(*p) != 0))
    for new, place in draw(st.lists(st.tuples(point, st.integers(0, 99)), max_size=most)):
        k = place % len(polygon) + 1
        longer = [*polygon[:k], new, *polygon[k:]]
        polygon = longer if is_simple(longer) else polygon
    for place in draw(st.lists(st.integers(0, 99), max_size=4)):
        k = place % len(polygon)
        p, q = polygon[k], polygon[(k + 1) % len(polygon)]
        middle = ((p[0] + q[0]) // 2, (p[1] + q[1]) // 2)
        if middle not in (p, q) and cross(p, middle, q) == 0:
            polygon = [*polygon[: k + 1], middle, *polygon[k + 1 :]]
    return polygon if area(polygon) > 0 else polygon[::-1]


@st.composite
def stars(draw, most=40):
    """A polygon around a center that sees all of it: corners by their angle, at least one in each quarter."""
    far = [(WIDE, draw(st.integers(1, WIDE))), (-WIDE, draw(st.integers(1, WIDE))), (-WIDE, -draw(st.integers(1, WIDE))), (WIDE, -1)]
    points = draw(st.lists(st.tuples(st.integers(-WIDE, WIDE), st.integers(-WIDE, WIDE)), max_size=most))
    points = [p for p in points if p != (0, 0)]
    by_direction = {}
    for p in far + points:
        by_direction.setdefault(direction(p), p)
    return sorted(by_direction.values(), key=lambda p: (p[1] < 0 or (p[1] == 0 and p[0] < 0), slope(p)))


def direction(p):
    g = np.gcd(*p)
    return p[0] // g, p[1] // g


def slope(p):
    """Rises with the angle within half a turn."""
    return (0, Fraction(0)) if p[1] == 0 else (1, Fraction(-p[0], p[1]))


def keyhole(outer, holes):
    """Corner numbers of a polygon with holes (clockwise), which bridges connect: from corner k of what there is to corner m of the hole."""
    points, corners = list(outer), list(range(len(outer)))
    for hole, k, m in holes:
        own = [len(points) + (m + j) % len(hole) for j in range(len(hole) + 1)]
        points += hole
        corners = [*corners[: k + 1], *own, *corners[k:]]
    return points, corners


#: Planes that whole numbers are put into: an origin and the images of both axes, also whole numbers.
PLANES = [((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 0, 0), (0, 1, 0), (1, 0, 0)), ((3, -5, 7), (1, 2, 3), (3, -1, 0)),
          ((1000, 0, -1), (0, 1, 1), (0, -1, 2)), ((-9, 0, 4), (1, 1, 1), (-1, 1, 0)), ((0, 0, 0), (1, 0, 1), (0, 0, 1))]  # fmt: skip


def in_space(polygon, plane=PLANES[0], exponent=0):
    """(n, 3) the corners in a plane, times a power of two: nothing is rounded."""
    o, u, v = (np.array(each, np.float64) for each in plane)
    flat = np.array(polygon, np.float64)
    return (o + flat[:, :1] * u + flat[:, 1:] * v) * 2.0**exponent


def triangles_of(vertices, *polygons):
    """The Triangulation of polygons, by their corners."""
    counts = np.array([len(each) for each in polygons], np.int64)
    corners = np.array([corner for each in polygons for corner in each], np.int64)
    return triangulate(np.asarray(vertices, np.float64).reshape(-1, 3), Polygons(corners, counts, np.arange(len(polygons))))


def assert_cut_of(corners, faces):
    """n − 2 triangles whose edges, where they do not cancel out, are those of the polygon: so they cover what it goes around, as often."""
    assert len(faces) == len(corners) - 2
    assert set(np.ravel(faces).tolist()) == set(corners)
    edges = Counter()
    for face in np.asarray(faces).tolist():
        for k in range(3):
            edges[face[k], face[(k + 1) % 3]] += 1
            edges[face[(k + 1) % 3], face[k]] -= 1
    for p, q in zip(corners, [*corners[1:], corners[0]], strict=True):
        edges[p, q] -= 1
        edges[q, p] += 1
    assert not any(edges.values())


def assert_covers(polygon, faces, corners=None, flat=False):
    """A polygon that goes around its inside once is covered by triangles that turn left and do not overlap. `flat`: some have no area."""
    corners = list(range(len(polygon))) if corners is None else corners
    assert_cut_of(corners, faces)
    triangles = [[polygon[k] for k in face] for face in np.asarray(faces).tolist()]
    areas = [cross(*each) for each in triangles]
    assert min(areas) >= 0 if flat else min(areas) > 0
    assert sum(areas) == area([polygon[k] for k in corners])
    solid = [each for each, size in zip(triangles, areas, strict=True) if size]
    assert not any(overlap(one, other) for k, one in enumerate(solid) for other in solid[:k])
