"""A cube cut into cells of every kind, and what is known of its surface without any file: for tests of readers of simulations."""

import numpy as np

from pliant.io.read import read

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])

# One unit cube in cells, by its corners in the order of VTK's hexahedron; 8 is its centre. Cuts agree with those of the next cube.
CUTS = {
    "hexahedron": [[0, 1, 2, 3, 4, 5, 6, 7]],
    "wedge": [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]],
    "tetra": [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]],
    "pyramid": [[0, 1, 2, 3, 8], [4, 7, 6, 5, 8], [0, 4, 5, 1, 8], [1, 5, 6, 2, 8], [2, 6, 7, 3, 8], [3, 7, 4, 0, 8]],
}
CURVED = {"tetra10": ("tetra", 10), "hexahedron20": ("hexahedron", 20), "hexahedron27": ("hexahedron", 27), "wedge18": ("wedge", 18)}


def cube(kind, side=2):
    """(points, cells): the unit cube as side³ cubes, cut into cells of this kind. Points that no cell has come first and last."""
    lattice = np.stack(np.meshgrid(*[np.arange(side + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    origins = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    number = {tuple(point): row for row, point in enumerate(lattice.tolist())}
    cells = []
    for row, origin in enumerate(origins):
        corners = [number[tuple(corner)] for corner in (origin + CORNERS).tolist()] + [len(lattice) + row]
        cells += [[corners[place] for place in cut] for cut in CUTS[CURVED.get(kind, (kind,))[0]]]
    centres = origins + 0.5
    points = np.concatenate([[[9.0, 9, 9]], lattice, centres if kind.startswith("pyramid") else np.empty((0, 3)), [[-9.0, 9, 9]]]) / side
    cells = np.array(cells) + 1
    if kind in CURVED:  # further nodes lie anywhere: only corners count
        cells = np.concatenate([cells, np.full((len(cells), CURVED[kind][1] - cells.shape[1]), len(points) - 1)], axis=1)
    return points, cells


def volume(vertices, faces):
    """Of a closed surface, by the divergence theorem; positive if faces look outward."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def area(vertices, faces):
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def bent(points, time):
    """Where points are at a time: sheared, so that volumes stay."""
    return points + np.stack([time * points[:, 1], 0 * points[:, 0], 0.5 * time * points[:, 0]], axis=1)


def assert_cube(vertices, faces, side=2):
    """Every triangle of the surface of the cube, outward, and no vertex besides."""
    assert len(faces) == 12 * side**2
    assert len(vertices) == 6 * side**2 + 2 and (np.unique(faces) == np.arange(len(vertices))).all()
    np.testing.assert_allclose(volume(vertices, faces), 1, rtol=1e-6)
    np.testing.assert_allclose(area(vertices, faces), 6, rtol=1e-6)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges), "two triangles run along an edge in one direction"


def mesh_of(path):
    """(vertices, faces): the surface in a file of one body, in its first frame."""
    (actor,) = read([path]).actors
    return actor.mesh(0)
