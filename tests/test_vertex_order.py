"""`reorder_vertices`: the same mesh, with vertices that are near each other numbered near each other."""

import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.tree.nodes import BUILDERS


@pytest.mark.formulas
@pytest.mark.parametrize("build", BUILDERS)
def test_the_mesh_stays_the_same(build):
    """Each face keeps its corners, the order is a permutation, and answers name the same faces."""
    ball, faces = shapes.icosphere(1)
    vertices = np.concatenate([[[9, 9, 9]], shapes.bumpy(ball, 0.2), [[7, 7, 7]]])  # two that no face names
    faces = faces[::-1] + 1
    mesh = pl.reorder_vertices(vertices, faces, build=build)
    assert sorted(mesh.order) == list(range(len(vertices)))
    np.testing.assert_array_equal(mesh.vertices, vertices[mesh.order])
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], vertices[faces])
    assert mesh.order[-2:].tolist() == [0, len(vertices) - 1]           # unnamed ones last, in their order
    other = pl.Body(*meshes.cube((0.6, 0, 0), 0.5))
    found = pl.collide(pl.Body(mesh.vertices, mesh.faces), other)
    np.testing.assert_array_equal(found.faces, pl.collide(pl.Body(vertices, faces), other).faces)
    assert found


@pytest.mark.formulas
def test_vertices_of_a_leaf_are_near_each_other():
    """Shuffled, a leaf's vertices are a third of all indices apart on average; reordered, a small part of that."""
    rng, (ball, faces) = np.random.default_rng(11), shapes.icosphere(3)
    shuffle = rng.permutation(len(ball))
    vertices, faces = ball[shuffle], np.argsort(shuffle)[faces]
    mesh = pl.reorder_vertices(vertices, faces)

    def spread(faces):
        return np.abs(np.diff(faces[:, [0, 1, 2, 0]], axis=1)).mean()
    assert spread(mesh.faces) < 0.2 * spread(faces)


@pytest.mark.formulas
def test_small_and_degenerate_meshes():
    """No faces; one vertex named three times; an object with vertices and faces; what Body refuses is refused."""
    assert pl.reorder_vertices(np.zeros((2, 3)), np.zeros((0, 3), int)).order.tolist() == [0, 1]
    assert pl.reorder_vertices(np.zeros((2, 3)), [[1, 1, 1]]).order.tolist() == [1, 0]
    body = pl.Body(*meshes.cube())
    mesh = pl.reorder_vertices(body)
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], body.vertices[body.faces])
    with pytest.raises(pl.MeshError, match="faces"):
        pl.reorder_vertices(np.zeros((2, 3)), [[0, 1, 2]])
    with pytest.raises(pl.ArgumentError, match="build"):
        pl.reorder_vertices(np.zeros((2, 3)), [[0, 1, 1]], build="random")
