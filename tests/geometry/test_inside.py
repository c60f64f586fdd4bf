"""Inside or outside: exact crossings of rays, against the winding number of the surface around each point in floating point."""

import numba
import numpy as np
import pytest

import meshes
from pliant import shapes
from pliant.geometry.inside import AMBIGUOUS, count_crossings, find_open_edge
from pliant.geometry.mesh import build_topology
from pliant.geometry.ray_triangle import BUFFER_SIZE, DIRECTION, ORIGIN, edge_side

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


def enclosed(points, vertices, faces, direction):
    """Is each point inside? By the lines along this direction that meet a face, each paired with every face."""
    turns, pairs = np.zeros(len(points), np.int64), []
    for i, point in enumerate(points):
        for k, corners in enumerate(vertices[faces]):
            t = np.empty(BUFFER_SIZE)
            t[:9], t[ORIGIN:ORIGIN + 3], t[DIRECTION:DIRECTION + 3] = corners.ravel(), point, direction
            signs = {int(np.sign(edge_side(t, p, q, 0)[0])) for p, q in ((3, 6), (6, 0), (0, 3))}
            if not {1, -1} <= signs:
                pairs.append((i, k))
    rays, hit = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    count_crossings(np.ascontiguousarray(points).ravel(), np.asarray(direction, np.float64), rays, hit,
                    np.ascontiguousarray(vertices).ravel(), faces, turns)
    return turns


def mesh_at(vertices, faces):
    return build_topology(faces, len(vertices), np.arange(len(vertices)))


@pytest.mark.parametrize("name", SURFACES)
def test_crossings_are_winding_numbers(name):
    vertices, faces = SURFACES[name]
    rng = np.random.default_rng(7)
    middle, size = vertices.mean(0), np.ptp(vertices, axis=0)
    anywhere = middle + rng.uniform(-0.8, 0.8, (POINTS, 3)) * size
    beside = vertices[rng.integers(len(vertices), size=POINTS)] + 0.05 * rng.normal(size=(POINTS, 3)) * size.min()
    corner, one, other = vertices[faces[0]]
    outward = np.cross(one - corner, other - corner)
    both = (corner + one + other) / 3 + np.outer([1e-3, -1e-3], outward / np.linalg.norm(outward))
    points = np.vstack([anywhere, beside, both])
    around = winding(points, vertices, faces)
    assert np.abs(around - np.round(around)).max() < 1e-6
    assert enclosed(points, vertices, faces, rng.normal(size=3)).tolist() == np.round(around).tolist()
    assert np.round(np.abs(around[-2:])).tolist() in ([0, 1], [1, 0])


def test_an_overlap_counts_twice():
    vertices, faces = tetrahedron()
    twice, both = np.vstack([vertices, vertices + 0.1]), np.vstack([faces, faces + 4])
    points = np.array([[0.25, 0.25, 0.3], [0.05, 0.05, 0.05], [-1.0, 0, 0]])
    assert enclosed(points, twice, both, np.array([0.3, 0.5, 0.7])).tolist() == [2, 1, 0]


def test_lines_that_meet_an_edge_are_ambiguous():
    vertices, faces = SURFACES["cube"]
    points = np.array([[0.5, 0.5, 0.5], [0.25, 0.5, 0.7]])
    assert (enclosed(points, vertices, faces, np.array([1.0, 1.0, 1.0])) >= AMBIGUOUS // 2).tolist() == [True, False]


@pytest.mark.parametrize("name", SURFACES)
def test_closed_surfaces(name):
    vertices, faces = SURFACES[name]
    assert find_open_edge(mesh_at(vertices, faces)) == (-1, -1)


def test_first_open_edge():
    vertices, faces = tetrahedron()
    for k in range(4):
        missing = np.delete(faces, k, axis=0)
        assert find_open_edge(mesh_at(vertices, missing)) == tuple(sorted(faces[k])[:2])
    turned = faces.copy()
    turned[2] = turned[2, ::-1]
    assert find_open_edge(mesh_at(vertices, turned)) == (1, 2)
    thrice = np.vstack([faces, [[2, 1, 3]]]).astype(np.int32)
    assert find_open_edge(mesh_at(vertices, thrice)) == (1, 2)
    assert find_open_edge(mesh_at(vertices, np.vstack([faces, [[3, 3, 1]]]).astype(np.int32))) == (-1, -1)
    assert find_open_edge(mesh_at(vertices, faces[:0])) == (-1, -1)
