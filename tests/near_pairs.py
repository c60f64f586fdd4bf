"""Small bodies that come near each other, meet and part; what is right of their distances, worked out once."""

from functools import cache
from math import isqrt

import numba
import numpy as np
from hypothesis import strategies as st

import naive_distances
from pliant import shapes

OFF = bool(numba.config.DISABLE_JIT)
FRAMES = (0, 3, 4, 8)
PRECISION = 1e-12                                                       # of the size of the bodies and their distance


@st.composite
def lattice_meshes(draw, most_faces=6):
    """(vertices, faces): a few faces between points with small whole coordinates; many are degenerate, and many meet or are as near."""
    points = draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=3, max_size=8))
    faces = draw(st.lists(st.tuples(*[st.integers(0, len(points) - 1)] * 3), max_size=most_faces))
    return np.array(points, np.float64), np.array(faces, np.int32).reshape(-1, 3)


@cache
def scene():
    """A pair of bumpy spheres of 80 faces, 20 with the JIT off."""
    directions, faces = shapes.icosphere(0 if OFF else 1)
    return shapes.bumpy_pair(320, 9)._replace(directions=directions, faces=faces)


def frames():
    """(vertices of a, vertices of b): apart, nearly touching, deep, apart."""
    return [frame(k) for k in (FRAMES[:2] if OFF else FRAMES)]


def frame(k):
    a, b = scene().frame(k)
    return a, b + np.array([0.0, 0.0, 0.2 if k == 3 else 0.0])


def root_of(square):
    """The square root of a rational number, to 1e-30 of itself."""
    if square == 0:
        return 0.0
    top, bottom = square.numerator, square.denominator
    shift = max(0, 220 - top.bit_length() + bottom.bit_length())
    shift += shift % 2
    return isqrt((top << shift) // bottom) / (1 << shift // 2)


def answers(function, *arguments):
    """What `naive_distances` says, kept: the same frames are asked about with many options."""
    key = function.__name__, *(np.asarray(argument).tobytes() for argument in arguments)
    if key not in _known:
        _known[key] = function(*arguments)
    return _known[key]


_known: dict = {}


def assert_separated(found, a, faces_a, b, faces_b):
    """A Distance of two meshes: the right distance, faces that have it, points on them that have it."""
    square, attained = answers(naive_distances.distance, a, faces_a, b, faces_b)
    check_separation(found, square, attained, a, faces_a, b, faces_b)


def check_separation(found, square, attained, a, faces_a, b, faces_b):
    """Against a squared distance and the pairs that have it."""
    right, size = root_of(square), max(np.ptp(a), np.ptp(b))
    assert abs(found.distance - right) <= PRECISION * (size + right)
    assert (found.distance == 0) == (square == 0)
    f, g = found.faces.tolist()
    assert (f, g) in attained if square == 0 else (f, g) == attained[0]
    for point, vertices, faces, k in ((found.points[0], a, faces_a, f), (found.points[1], b, faces_b, g)):
        away = root_of(naive_distances.point_triangle(point, vertices[faces[k]]))
        assert away <= PRECISION * (size + np.abs(vertices).max())
    assert abs(np.linalg.norm(found.points[0] - found.points[1]) - right) <= PRECISION * (size + right + np.abs(a).max() + np.abs(b).max())
