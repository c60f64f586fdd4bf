"""Edges, owners and the features of leaves, against sets."""

import numpy as np
import pytest
from hypothesis import given, settings

import naive_features
import near_pairs
import pliant as pl
from near_pairs import OFF
from pliant import shapes
from pliant.tree.features import RING_CHUNK, find_features, vertices_within_rings

pytestmark = pytest.mark.formulas


@settings(max_examples=20 if OFF else 100, deadline=None)
@given(near_pairs.lattice_meshes())
def test_edges_and_owners_of_any_faces(mesh):
    vertices, faces = mesh
    body = pl.Body(vertices, faces)
    assert body.edges.tolist() == [list(edge) for edge in naive_features.edges_of(faces)]
    assert body.edges.dtype == np.int32 and body.edges.shape[1:] == (2,) and not body.edges.flags.writeable
    found = find_features(faces, len(vertices))
    for v, owner in enumerate(found.vertex_owners.tolist()):
        assert owner == min((f for f, face in enumerate(faces.tolist()) if v in face), default=-1)
    for edge, owner in zip(found.edges.tolist(), found.edge_owners.tolist(), strict=True):
        assert owner == min(f for f, face in enumerate(faces.tolist()) if set(edge) <= set(face))


def test_leaves_own_every_feature_once(builds):
    directions, faces = shapes.icosphere(2)
    tree, features, groups = pl.Body(directions, faces, **builds)._feature_tree()
    leaf_of_face = {f: leaf for leaf, row in enumerate(tree.faces.tolist()) for f in row if f >= 0}
    for begins, ids, owners in ((groups.vertex_begins, groups.vertex_ids, features.vertex_owners),
                                (groups.edge_begins, groups.edge_ids, features.edge_owners)):
        assert sorted(ids[ids >= 0].tolist()) == list(range(len(owners)))
        assert (ids[:, 0] >= 0).all()
        for leaf in range(len(tree.faces)):
            assert all(leaf_of_face[owners[i]] == leaf for i in ids[begins[leaf]:begins[leaf + 1]].ravel().tolist() if i >= 0)


def test_welded_vertices_are_one():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float)
    faces = [[0, 1, 2], [3, 5, 4]]
    assert len(pl.Body(corners, faces).edges) == 6
    assert pl.Body(corners, faces, weld=True).edges.tolist() == [[0, 1], [0, 2], [1, 2], [1, 5], [2, 5]]


def test_no_faces_no_edges():
    assert pl.Body(np.zeros((3, 3)), np.zeros((0, 3), int)).edges.shape == (0, 2)


@pytest.mark.parametrize("rings", [1, 2, 4])
def test_rings_are_those_of_a_breadth_first_search(rings):
    _, faces = shapes.icosphere(1)
    edges, n = naive_features.edges_of(faces), int(faces.max()) + 3                   # two vertices have no edges
    begins, neighbors = vertices_within_rings(np.array(edges, np.int32), n, rings)
    around = {v: {w for edge in edges if v in edge for w in edge} | {v} for v in range(n)}
    for v in range(n):
        reached = {v}
        for _ in range(rings):
            reached = set().union(*(around[w] for w in reached))
        assert neighbors[begins[v]:begins[v + 1]].tolist() == sorted(reached)


def test_rings_of_more_vertices_than_a_chunk():
    """A path: its vertices are those between, in an order of their own."""
    n, rings = 2 * RING_CHUNK + 10, 3
    order = np.random.default_rng(4).permutation(n)
    place = np.argsort(order)
    begins, neighbors = vertices_within_rings(np.sort(np.stack([order[:-1], order[1:]], axis=1)), n, rings)
    for v in range(0, n, 97 if OFF else 1):
        assert neighbors[begins[v]:begins[v + 1]].tolist() == sorted(order[max(place[v] - rings, 0):place[v] + rings + 1].tolist())
