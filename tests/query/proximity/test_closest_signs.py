"""Signs of distances to closed bodies that are as good as flat: exact.

A tetrahedron is the reference: inside are the points that lie on the inner side of all four faces, by the sign of a determinant in rational
arithmetic. Its corners are random points near a plane, so that its thickness is a number of ulps, or nothing at all.
"""

from fractions import Fraction

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def determinant(a, b, c, d):
    """((b − a) × (c − a)) · (d − a), exactly."""
    a, b, c, d = ([Fraction(float(x)) for x in point] for point in (a, b, c, d))
    u, v, w = ([x - y for x, y in zip(point, a, strict=True)] for point in (b, c, d))
    return sum(u[i] * (v[(i + 1) % 3] * w[(i + 2) % 3] - v[(i + 2) % 3] * w[(i + 1) % 3]) for i in range(3))


def is_inside(corners, point):
    """Strictly inside the tetrahedron, whose faces are counter-clockwise from outside."""
    return all(determinant(*corners[face], point) < 0 for face in FACES)


def thin(rng, thickness):
    """Four corners near a random plane, in an order that turns faces outward; None if they are exactly in one plane."""
    plane = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    flat = rng.uniform(-1, 1, (4, 3)) * [1, 1, thickness]
    corners = flat @ plane.T
    volume = determinant(*corners)
    return corners if volume > 0 else corners[[1, 0, 2, 3]] if volume < 0 else None


def points_around(rng, corners, n):
    """Anywhere, beside the corners, and as near to the middle of the body as numbers go."""
    weights = rng.dirichlet(np.ones(4), n)
    inside = weights @ corners
    beside = np.nextafter(inside, rng.choice([-np.inf, np.inf], inside.shape))
    return np.vstack([rng.uniform(-1.5, 1.5, (n, 3)), corners[rng.integers(0, 4, n)] + 0.1 * rng.normal(size=(n, 3)), inside, beside])


@pytest.mark.parametrize("thickness", [0.0, 1e-16, 1e-15, 1e-14, 1e-12, 1e-9, 1e-3])
def test_thin_tetrahedra(thickness):
    """Signs of points inside and outside; of those on the surface none is asked."""
    rng, seen = np.random.default_rng(91), 0
    for _ in range(2 if OFF else 40):
        corners = thin(rng, thickness)
        if corners is None:
            continue
        points = points_around(rng, corners, 1 if OFF else 12)
        found = pl.closest(pl.Body(corners, FACES), points, signed=True).distance
        right = np.array([is_inside(corners, point) for point in points])
        wrong = np.flatnonzero((found < 0) != right)
        wrong = [k for k in wrong.tolist() if found[k] != 0]
        assert not wrong, (corners.tolist(), points[wrong[0]].tolist(), found[wrong[0]])
        seen += len(points)
    assert seen > 0


def test_flat_bodies_have_no_inside():
    """Two triangles back to back, and a sheet with its mirror image: closed, and empty."""
    rng = np.random.default_rng(92)
    vertices, faces = shapes.sheet(1 if OFF else 4, 1 if OFF else 4)
    rows = {tuple(row): k for k, row in enumerate(vertices.round(6).tolist())}
    assert len(rows) == len(vertices)
    for corners, sides in ((rng.normal(size=(3, 3)), np.array([[0, 1, 2]])), (vertices, faces)):
        body = pl.Body(corners, np.vstack([sides, sides[:, ::-1]]))
        middle = corners[sides].mean(axis=1)
        points = np.vstack([rng.uniform(-1, 2, (4 if OFF else 40, 3)), middle + [0, 0, 1e-9], np.nextafter(middle, np.inf)])
        if len(sides) > 1:                                              # inner edges belong to four faces: not a closed surface
            with pytest.raises(pl.MeshError, match="closed"):
                pl.closest(body, points, signed=True)
        else:
            assert (pl.closest(body, points, signed=True).distance >= 0).all()


@pytest.mark.parametrize("power", [-1070, -1000, -300, 0, 300, 1000, 1019])
def test_signs_at_every_scale(power):
    """Of a bumpy ball, whose points are inside where they are nearer to its middle than the surface; and of one with a transform."""
    vertices, faces = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]]), FACES
    points = np.array([[1, 1, 1], [3, 1, 1], [2, 3, 2], [3, 3, 3], [-1, 1, 1], [9, 9, 9], [1, 1, 5], [5, 5, 5]])
    right, size = [bool((p > 0).all() and p.sum() < 8) for p in points], 2.0 ** power
    body = pl.Body(vertices * size, faces)
    found = pl.closest(body, points * size, signed=True).distance
    assert (found < 0).tolist() == right
    if power == 0:
        body.update(transform=[[0, -1, 0, 3], [1, 0, 0, 0], [0, 0, 1, 0]])
        moved = points @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + [3, 0, 0]
        assert (pl.closest(body, moved, signed=True).distance < 0).tolist() == right


def test_a_direction_that_meets_an_edge_is_tried_again(monkeypatch):
    """The first direction leads through corners and edges of the cube."""
    class Unlucky:
        """A generator whose first direction is a diagonal."""
        def __init__(self, seed):
            self.directions = [np.ones(3), np.array([0.3, 0.5, 0.7])]

        def standard_normal(self, n):
            return self.directions.pop(0)

    vertices, faces = meshes.cube()
    monkeypatch.setattr("pliant.query.proximity.closest.np.random.default_rng", Unlucky)
    found = pl.closest(pl.Body(vertices, faces), [[0.5, 0.5, 0.5], [0.25, 0.5, 0.5], [0.5, 0.5, 1.5]], signed=True)
    assert found.distance.tolist() == [-0.5, -0.25, 0.5]


def test_bodies_that_overlap_themselves():
    """Inside one part of the body and outside another, beside the other's surface: inside."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    body = pl.Body(np.vstack([corners, corners + 0.1]), np.vstack([FACES, FACES + 4]))
    points = [[0.09, 0.3, 0.3], [0.11, 0.3, 0.3], [-0.01, 0.3, 0.3]]
    assert (pl.closest(body, points, signed=True).distance < 0).tolist() == [True, True, False]
