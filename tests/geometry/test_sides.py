"""Inside or outside: signs by the normals of what is nearest, against the winding number of the surface around each point."""

import numba
import numpy as np
import pytest

import meshes
from pliant import shapes
from pliant.geometry.mesh import mesh_of
from pliant.geometry.pointgap import point_gap
from pliant.geometry.sides import BLUR, open_edge, signs

pytestmark = pytest.mark.formulas

OFF = bool(numba.config.DISABLE_JIT)
POINTS = 12 if OFF else 150


def tetrahedron(height=1.0):
    return np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, height]]), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)


def bumpy():
    vertices, faces = shapes.icosphere(1)
    return vertices * np.random.default_rng(1).uniform(0.5, 1.5, (len(vertices), 1)), faces


def ring(n=9, m=5):
    """A torus."""
    u, v = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b = 2 * np.pi * u.ravel() / n, 2 * np.pi * v.ravel() / m
    vertices = np.column_stack([(1 + 0.4 * np.cos(b)) * np.cos(a), (1 + 0.4 * np.cos(b)) * np.sin(a), 0.4 * np.sin(b)])
    p, q, r, s = (((u + i) % n * m + (v + j) % m).ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return vertices, np.concatenate([np.column_stack([p, q, r]), np.column_stack([p, r, s])]).astype(np.int32)


def pinched():
    """Two tetrahedra with a corner in common, which has two fans."""
    vertices, faces = tetrahedron()
    return np.vstack([vertices, -vertices[1:]]), np.vstack([faces, np.where(faces > 0, faces + 3, 0)[:, ::-1]]).astype(np.int32)


SURFACES = {
    "tetrahedron": tetrahedron(),
    "flat tetrahedron": tetrahedron(0.02),
    "spike": tetrahedron(40.0),
    "bumpy": bumpy(),
    "ring": ring(),
    "cube": meshes.cube(),
    "pinched": pinched(),
}


def winding(points, vertices, faces):
    """How often the surface goes around each point: the solid angles of its faces, as seen from there, over 4 π."""
    a, b, c = (vertices[faces[:, k]][None] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    above = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
    return np.arctan2(above, below).sum(1) / (2 * np.pi)


def signs_at(points, vertices, faces, plain=True):
    """(signs, features) by trying every face."""
    near, distance = np.empty_like(points), np.full(len(points), np.inf)
    face, feature, ties = (np.zeros(len(points), np.int32) for _ in range(3))
    most = np.abs(vertices).max()
    for i, point in enumerate(points):
        far = np.empty(len(faces))
        for k, corners in enumerate(vertices[faces]):
            t = np.empty(20)
            t[:9], t[9:12] = corners.ravel(), point
            found, far[k] = point_gap(t, plain), t[15]
            if t[15] < distance[i]:
                distance[i], near[i], face[i], feature[i] = t[15], t[12:15], k, found
        ties[i] = (far <= distance[i] + BLUR * most).sum()
    out = np.empty(len(points))
    signs(points, near, distance, face, feature, ties, np.ascontiguousarray(vertices).ravel(), mesh_at(vertices, faces), most, out)
    return out, feature


def mesh_at(vertices, faces):
    return mesh_of(faces, len(vertices), np.arange(len(vertices)))


@pytest.mark.parametrize("name", SURFACES)
def test_signs_are_those_of_the_winding_number(name):
    vertices, faces = SURFACES[name]
    if winding(vertices.mean(0, keepdims=True), vertices, faces)[0] < -0.5:
        faces = faces[:, ::-1].copy()
    rng = np.random.default_rng(7)
    middle, size = vertices.mean(0), np.ptp(vertices, axis=0)
    anywhere = middle + rng.uniform(-0.8, 0.8, (POINTS, 3)) * size
    beside = vertices[rng.integers(len(vertices), size=POINTS)] + 0.05 * rng.normal(size=(POINTS, 3)) * size.min()
    corners = vertices[faces[rng.integers(len(faces), size=POINTS)]]
    edges = corners[:, :2].mean(1) + 0.05 * rng.normal(size=(POINTS, 3)) * size.min()
    points = np.vstack([anywhere, beside, edges])
    around = winding(points, vertices, faces)
    assert np.abs(around - np.round(around)).max() < 1e-6
    found, features = signs_at(points, vertices, faces)
    assert {-1.0, 1.0} == set(found)
    if not OFF:
        assert (features == 0).any() and ((features > 0) & (features < 4)).any() and (features >= 4).any()
    wrong = np.flatnonzero((found < 0) != (np.round(around) == 1))
    assert len(wrong) == 0, (points[wrong[0]], features[wrong[0]], around[wrong[0]])


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e307])
def test_signs_at_every_scale(scale):
    vertices, faces = SURFACES["tetrahedron"]
    points = np.array([[0.2, 0.25, 0.3], [0.2, 0.2, -0.1], [-0.1, -0.2, -0.3], [0.5, -0.4, 0.0], [0.3, 0.3, 0.9]])
    right, _ = signs_at(points, vertices, faces)
    assert right.tolist() == [-1, 1, 1, 1, -1]
    assert signs_at(points * scale, vertices * scale, faces, False)[0].tolist() == right.tolist()


def test_what_is_uncertain_is_left_open():
    """Two triangles back to back: both are as near, whatever the point; and a wedge of 1e-13, beside its edge: normals cancel."""
    pillow = np.array([[0, 1, 2], [0, 2, 1]], np.int32)
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    points = np.array([[0.2, 0.2, 0.5], [0.2, 0.2, -0.5], [-1, -1, 0.5], [0.5, -1, -0.1]])
    assert signs_at(points, vertices, pillow)[0].tolist() == [0, 0, 0, 0]
    wedge, faces = np.array([[0, 0, 0], [0, 1, 0], [1, 0.5, 1e-13], [1, 0.5, -1e-13]]), tetrahedron()[1]
    assert signs_at(np.array([[-0.5, 0.5, 0.5]]), wedge, faces)[0].tolist() == [0]


def test_on_the_surface_is_not_inside():
    vertices, faces = SURFACES["cube"]
    found, _ = signs_at(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.25, 1.0]]), vertices, faces)
    assert found.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", SURFACES)
def test_closed_surfaces(name):
    vertices, faces = SURFACES[name]
    assert open_edge(mesh_at(vertices, faces)) == (-1, -1)


def test_first_open_edge():
    vertices, faces = tetrahedron()
    for k in range(4):
        missing = np.delete(faces, k, axis=0)
        assert open_edge(mesh_at(vertices, missing)) == tuple(sorted(faces[k])[:2])
    turned = faces.copy()
    turned[2] = turned[2, ::-1]
    assert open_edge(mesh_at(vertices, turned)) == (1, 2)
    thrice = np.vstack([faces, [[2, 1, 3]]]).astype(np.int32)
    assert open_edge(mesh_at(vertices, thrice)) == (1, 2)
    assert open_edge(mesh_at(vertices, np.vstack([faces, [[3, 3, 1]]]).astype(np.int32))) == (-1, -1)
    assert open_edge(mesh_at(vertices, faces[:0])) == (-1, -1)
