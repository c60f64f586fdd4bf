"""Mesh-connectivity trees: every subtree is a connected patch or a set of whole components, whatever the mesh; and how even they are."""

import math
from itertools import pairwise

import numpy as np
import pytest

import meshes
import trees
from pliant import shapes
from pliant.core import validate
from pliant.tree import connectivity
from pliant.tree.face_graph import MAX_LINKS, build_face_graph
from pliant.tree.nodes import MAX_LEVELS, WIDTH_OF_ARITY
from surfaces import MESHES, OTHERS, SPHERE, SURFACES, bush_between_strips, neighbours, pieces_of, row_of, sets_of, shuffled, without_places

# --- the promise -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("name", MESHES)
def test_every_subtree_is_a_patch_or_whole_components(name):
    vertices, faces = MESHES[name]
    edges, touching = neighbours(faces)
    links = edges | touching if name in OTHERS else edges
    components = pieces_of(range(len(faces)), edges | touching)
    assert name in OTHERS or len(components) == 1
    for arity in WIDTH_OF_ARITY:
        for leaf in (1, 2, 5, 8):
            under, held = sets_of(trees.built((vertices, faces), "connectivity", arity, leaf))
            for each in [set().union(*parts) for parts in under] + held:
                if any(each < component for component in components):
                    assert len(pieces_of(each, links)) == 1
                else:
                    assert all(component <= each or not component & each for component in components)


@pytest.mark.formulas
@pytest.mark.parametrize("name", MESHES)
def test_links(name):
    """They are neighbours, no face has many, and they connect what neighbours connect: the components."""
    faces = MESHES[name][1]
    edges, touching = neighbours(faces)
    n = len(faces)
    asked = []
    found = build_face_graph(faces, faces.max() + 1, lambda order,
                             starts: asked.append((order, starts)) or np.arange(len(starts) - 1)[::-1])
    assert sorted(found.order.tolist()) == list(range(n))
    assert np.diff(found.begins).max(initial=0) <= (3 if name in SURFACES else MAX_LINKS)
    linked = {(found.order[k], found.order[i]) for k in range(n) for i in found.adjacent[found.begins[k]:found.begins[k + 1]]}
    assert linked == {(b, a) for a, b in linked}
    assert linked <= edges | touching | {(b, a) for a, b in edges | touching}
    assert sorted(map(sorted, pieces_of(range(n), linked & edges))) == sorted(map(sorted, pieces_of(range(n), edges)))
    components = [set(found.order[a:b].tolist()) for a, b in pairwise(found.starts)]
    assert sorted(map(sorted, components)) == sorted(map(sorted, pieces_of(range(n), edges | touching)))
    assert len(asked) == (len(components) > 1)
    if asked:                                                           # they stand in the order that was asked for
        order, starts = asked[0]
        assert components[::-1] == [set(order[a:b].tolist()) for a, b in pairwise(starts)]


def test_positions_do_not_matter_within_a_component():
    vertices, faces = shuffled(SPHERE)
    other = np.random.default_rng(1).standard_normal(vertices.shape)
    for arity in WIDTH_OF_ARITY:
        one, two = (trees.built((v, faces), "connectivity", arity, 4) for v in (vertices, other))
        assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))


def test_components_near_each_other_come_together():
    """Two heaps of small spheres far apart, by turns: the root parts the heaps. And of a row of spheres every subtree has a stretch."""
    sphere = shapes.icosphere(0)
    rng = np.random.default_rng(2)
    heaps = meshes.joined(*((sphere[0] + 10 * rng.standard_normal(3) + [1e3 * (k % 2), 0, 0], sphere[1]) for k in range(16)))
    for build in (heaps, shuffled(heaps)):
        parts = trees.faces_under(trees.built(build, "connectivity", 2, 8))[0]
        assert sorted(len(part) for part in parts) == [160, 160]
        assert all(len({bool(build[0][build[1][f, 0], 0] > 500) for f in part}) == 1 for part in parts)
    row = row_of(sphere, 16)
    for arity in WIDTH_OF_ARITY:
        for parts in trees.faces_under(trees.built(row, "connectivity", arity, 1)):
            places = {round(row[0][row[1][f], 0].mean() / 3.0) for f in set().union(*parts)}
            assert len(places) == max(places) - min(places) + 1


def test_soups_fill_leaves():
    """Leaves hold several components where these are small."""
    mesh = meshes.soup(np.random.default_rng(3).standard_normal((1000, 3, 3)))
    for arity in WIDTH_OF_ARITY:
        assert len(trees.built(mesh, "connectivity", arity, 8).faces) == 125


# --- balance ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("leaf", [1, 8])
def test_no_part_is_less_than_a_quarter(name, leaf):
    """Of n faces of a surface, (n − 1) / 4 at least are on both sides of every cut."""
    for parts in trees.faces_under(trees.built(MESHES[name], "connectivity", 2, leaf)):
        n = sum(map(len, parts))
        assert len(parts) == 1 or min(map(len, parts)) >= (n - 1) / 4


@pytest.mark.parametrize("name", MESHES)
def test_no_part_is_less_than_a_link_parts(name):
    """Of n faces that are connected, (n − 1) / d at least, d the most links of a face or 4; of whole components, what the nearest border
    gives: the cut is not further from the middle than half of the largest."""
    faces = MESHES[name][1]
    edges, touching = neighbours(faces)
    components = pieces_of(range(len(faces)), edges | touching)
    d = max(4, np.diff(build_face_graph(faces, faces.max() + 1, lambda order, starts: np.arange(len(starts) - 1)).begins).max())
    for parts in trees.faces_under(trees.built(MESHES[name], "connectivity", 2, 1)):
        if len(parts) < 2:
            continue
        inside, least = set().union(*parts), min(map(len, parts))
        whole = [component for component in components if component <= inside]
        if len(whole) > 1:
            assert least >= len(inside) // 2 - max(map(len, whole)) / 2
        else:
            assert least >= (len(inside) - 1) / d


def test_a_region_that_is_shut_in():
    """From the ends of the strips, one region would have a strip and the other all the rest."""
    mesh = bush_between_strips(12, 7)
    parts = trees.faces_under(trees.built(mesh, "connectivity", 2, 1))[0]
    n = len(mesh[1])
    assert n > 11 * 13
    assert min(map(len, parts)) > 0.4 * n


@pytest.mark.parametrize("arity, nodes, depth", [(2, 20_479, 16), (4, 8_451, 8), (8, 4_664, 6)])
def test_the_trees_of_a_sphere(arity, nodes, depth):
    sphere = shuffled(shapes.icosphere(5))
    tree = trees.built(sphere, "connectivity", arity, 1)
    assert len(tree.faces) == 20_480
    assert abs(len(tree.child) - nodes) <= 0.03 * nodes
    assert tree.depth <= depth + 1
    tree = trees.built(sphere, "connectivity", arity, 8)
    assert len(tree.faces) <= 1.3 * 20_480 / 8                          # three quarters full, and more
    assert tree.depth <= math.ceil(math.log(20_480 / 8, arity)) + 2


def test_many_links_at_one_edge_or_vertex():
    """Twenty thousand faces of which all share an edge, or all share a vertex: no work for each pair."""
    n = 20_000
    for mesh in (without_places([(0, 1, k + 2) for k in range(n)]), without_places([(0, 2 * k + 1, 2 * k + 2) for k in range(n)]),
                 without_places(np.tile([0, 1, 2], (n, 1)))):
        tree = trees.built(mesh, "connectivity", 8, 8)
        assert len(tree.faces) <= 1.1 * n / 8
        assert tree.depth <= 6


@pytest.mark.formulas
@pytest.mark.parametrize("arity", list(WIDTH_OF_ARITY))
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_below_the_limit_sets_are_halved(arity, limit):
    for vertices, faces in (SPHERE, MESHES["spheres in a row"]):
        n = len(faces)
        tree = connectivity.build(trees.points_of(vertices), faces, arity, 1, limit=limit)
        assert sorted(tree.faces[:, 0].tolist()) == list(range(n))
        assert tree.depth <= limit + math.ceil(math.log2(n))


def test_the_depth_that_is_allowed():
    assert connectivity.MAX_DEPTH + math.log2(validate.MAX_FACES) < MAX_LEVELS
