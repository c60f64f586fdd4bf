"""Inside or outside: exact crossings of the vertical ray, against the winding number of the surface around each point."""

import numba
import numpy as np
import pytest

import meshes
import naive_winding
from pliant import shapes
from pliant.geometry.inside import BUFFER_SIZE, ON_FACE, POINT, cap_faces, crossing, find_open_edges, is_on_face

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


def crossings(point, vertices, faces):
    """What the faces add to the winding number around a point, all together; None for a point on the surface."""
    total = 0
    for corners in vertices[faces]:
        t = np.empty(BUFFER_SIZE)
        t[:9], t[POINT:] = corners.ravel(), point
        found = int(crossing(t))
        assert (found == ON_FACE) <= bool(is_on_face(t))
        if is_on_face(t):
            return None
        total += found
    return total


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
    around = naive_winding.solid_angles(vertices, faces, points)
    assert np.abs(around - np.round(around)).max() < 1e-6
    assert [crossings(point, vertices, faces) for point in points] == np.round(around).tolist()
    assert np.round(np.abs(around[-2:])).tolist() in ([0, 1], [1, 0])


def test_an_overlap_counts_twice():
    vertices, faces = tetrahedron()
    twice, both = np.vstack([vertices, vertices + 0.1]), np.vstack([faces, faces + 4])
    points = np.array([[0.25, 0.25, 0.3], [0.05, 0.05, 0.05], [-1.0, 0, 0]])
    assert [crossings(point, twice, both) for point in points] == [2, 1, 0]


@pytest.mark.parametrize("name", ["cube", "ring", "pinched", "tetrahedron"])
def test_points_in_line_with_vertices_and_edges(name):
    """Points of a lattice through all vertices: rays pass edges and corners, run along faces, and start on them."""
    vertices, faces = SURFACES[name]
    vertices, rng = np.round(vertices * 4) / 4, np.random.default_rng(3)
    points = [[rng.choice([x, x, x + 0.25]) for x in (rng.choice(vertices[:, k]) for k in range(3))] for _ in range(3 * POINTS)]
    points += [*vertices, *((vertices[faces[:, 0]] + vertices[faces[:, 1]]) / 2), *vertices[faces].mean(axis=1)]
    points += [[*vertex[:2], vertices[:, 2].min() - 1] for vertex in vertices]
    a, b, c = vertices[faces[0]]
    points.append((a + b + c) / 3 - 2.0**-6 * np.cross(b - a, c - a))   # behind a face
    found = [crossings(point, vertices, faces) for point in points]
    assert found == [naive_winding.winding_number(vertices, faces, point) for point in points]
    assert None in found and 0 in found and 1 in found


def test_points_on_segments_and_points():
    line, dot = np.array([[0.0, 0, 0], [4, 2, 6], [2, 1, 3]]), np.array([[1.0, 2, 3]] * 3)
    for corners, point, right in ((line, [1, 0.5, 1.5], True), (line, [4, 2, 6], True), (line, [6, 3, 9], False),
                                  (line, [1, 0.5, 1], False), (dot, [1, 2, 3], True), (dot, [1, 2, 4], False)):
        t = np.concatenate([corners.ravel(), np.array(point, np.float64)])
        assert bool(is_on_face(t)) == right
        assert int(crossing(t)) == (ON_FACE if right else 0)


@pytest.mark.parametrize("name", SURFACES)
def test_closed_surfaces(name):
    _, faces = SURFACES[name]
    assert find_open_edges(faces).first == (-1, -1) and len(find_open_edges(faces).border) == 0


def test_first_open_edge():
    _, faces = tetrahedron()
    for k in range(4):
        missing = np.delete(faces, k, axis=0)
        assert find_open_edges(missing).first == tuple(sorted(faces[k])[:2])
    turned = faces.copy()
    turned[2] = turned[2, ::-1]
    assert find_open_edges(turned).first == (1, 2)
    thrice = np.vstack([faces, [[2, 1, 3]]]).astype(np.int32)
    assert find_open_edges(thrice).first == (1, 2)
    assert find_open_edges(np.vstack([faces, [[3, 3, 1]]]).astype(np.int32)).first == (-1, -1)
    assert find_open_edges(faces[:0]).first == (-1, -1)


def directed_edges(faces):
    """How often each edge is passed in its direction less in the other, where that is not 0."""
    balance = {}
    for a, b, c in np.asarray(faces).tolist():
        for p, q in ((a, b), (b, c), (c, a)):
            if p != q:
                key, step = ((p, q), 1) if p < q else ((q, p), -1)
                balance[key] = balance.get(key, 0) + step
    return {key: step for key, step in balance.items() if step}


@pytest.mark.parametrize("name", SURFACES)
def test_caps_close_what_faces_leave_open(name):
    _, faces = SURFACES[name]
    rng = np.random.default_rng(11)
    for share in (0.1, 0.5, 0.9):
        some = faces[rng.random(len(faces)) < share]
        border = find_open_edges(some).border
        assert sorted(map(tuple, border.tolist())) == sorted((a, b) if n > 0 else (b, a) for (a, b), n in directed_edges(some).items()
                                                            for _ in range(abs(n)))
        assert directed_edges(np.vstack([some, cap_faces(border)])) == {}


def test_the_border_of_edges_with_more_faces():
    faces = np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]], np.int32)
    border = find_open_edges(faces).border
    assert border.tolist().count([0, 1]) == 3
    assert directed_edges(np.vstack([faces, cap_faces(border)])) == {}
