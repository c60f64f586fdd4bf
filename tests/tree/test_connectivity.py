"""Mesh-connectivity trees: every subtree is a connected patch or a set of whole components, whatever the mesh; and how even they are."""

import math
from itertools import combinations, pairwise

import numba
import numpy as np
import pytest

import meshes
import trees
from pliant import shapes
from pliant.tree import connectivity
from pliant.tree.links import LINKS, links_of
from pliant.tree.nodes import MOST_LEVELS, WIDTHS

OFF = bool(numba.config.DISABLE_JIT)
FEW = 20 if OFF else 150


def shuffled(mesh, seed=3):
    """The same mesh with its faces in another order."""
    return mesh[0], np.ascontiguousarray(mesh[1][np.random.default_rng(seed).permutation(len(mesh[1]))])


def without_places(faces):
    """A mesh of which only the faces matter."""
    faces = np.array(faces, np.int32)
    return np.random.default_rng(4).standard_normal((faces.max() + 1, 3)), faces


def grown(n, seed):
    """A disc grown from one face by adding faces at random free edges: links make a tree."""
    rng, faces, free = np.random.default_rng(seed), [(0, 1, 2)], [(0, 1), (1, 2), (2, 0)]
    for new in range(3, n + 2):
        a, b = free.pop(rng.integers(len(free)))
        faces.append((a, b, new))
        free += [(a, new), (new, b)]
    return without_places(faces)


def bush_between_strips(length, levels):
    """Two strips of faces end where a bush begins, in which every face has two more behind it: near and large, so that a region that
    comes from the end of one strip finds the bush taken."""
    faces, edges, new = [(0, 1, 2)], [[(1, 2)], [(2, 0)]], 3
    for strip in edges:
        for _ in range(length):
            a, b = strip.pop()
            faces.append((a, b, new))
            strip.append((b, new))
            new += 1
    level = [(0, 1)]
    for _ in range(levels):
        behind = []
        for a, b in level:
            faces.append((a, b, new))
            behind += [(a, new), (new, b)]
            new += 1
        level = behind
    return without_places(faces)


def row_of(mesh, n):
    """Copies of a mesh next to each other, in no order."""
    order = np.random.default_rng(5).permutation(n)
    return meshes.joined(*((mesh[0] + [3.0 * k, 0, 0], mesh[1]) for k in order))


SPHERE = shapes.icosphere(0 if OFF else 2)
SURFACES = {                                                            # connected, and edges join the faces around every vertex
    "one face": without_places([(0, 1, 2)]),
    "sphere": SPHERE,
    "shuffled sphere": shuffled(SPHERE),
    "sheet": shuffled(shapes.sheet(3, 3) if OFF else shapes.sheet(9, 11)),
    "strip": shuffled(shapes.sheet(1, FEW)),
    "disc grown at random": grown(FEW, 1),
    "disc grown otherwise": shuffled(grown(FEW, 2)),
    "bush between strips": bush_between_strips(5, 4) if OFF else bush_between_strips(12, 7),
    "closed fan": meshes.fan(meshes.ring(FEW, True, 1), True),
}
OTHERS = {
    "spheres in a row": row_of(shapes.icosphere(0 if OFF else 1), 2 if OFF else 7),
    "sphere and single faces": meshes.joined(meshes.soup(np.random.default_rng(6).standard_normal((9, 3, 3))), SPHERE),
    "single faces": meshes.soup(np.random.default_rng(6).standard_normal((FEW, 3, 3))),
    "copies of one face": without_places(np.tile([0, 1, 2], (FEW, 1))),
    "doubled sphere": (SPHERE[0], np.vstack([SPHERE[1], SPHERE[1][:, ::-1]])),
    "pages of a book": without_places([(0, 1, k) for k in range(2, FEW)]),
    "one vertex in all faces": without_places([(0, 2 * k + 1, 2 * k + 2) for k in range(FEW)]),
    "fans that touch in a vertex": without_places([(0, 10 * k + j, 10 * k + j + 1) for k in range(FEW // 8) for j in range(1, 9)]),
    "a chain of touching faces": without_places([(2 * k, 2 * k + 1, 2 * k + 2) for k in range(FEW)]),
    "segments and points": without_places([(k, k, k + (k % 3)) for k in range(FEW)] + [(5, 5, 5), (7, 9, 9)]),
    "few vertices": without_places(np.random.default_rng(7).integers(0, 12, (FEW, 3))),
    "many vertices": without_places(np.random.default_rng(8).integers(0, 2 * FEW, (FEW, 3))),
    "some of a sheet": (shapes.sheet(12, 12)[0], shapes.sheet(12, 12)[1][np.random.default_rng(9).permutation(288)[:FEW]]),
}
MESHES = SURFACES | OTHERS


def pieces_of(items, pairs):
    """The sets of items that pairs connect."""
    root = {item: item for item in items}

    def find(item):
        while root[item] != item:
            root[item] = root[root[item]]
            item = root[item]
        return item

    for a, b in pairs:
        if a in root and b in root:
            root[find(a)] = find(b)
    found = {}
    for item in items:
        found.setdefault(find(item), set()).add(item)
    return list(found.values())


def neighbours(faces):
    """(pairs of faces that share an edge, pairs that may also count as neighbours: those that share a vertex, but are in pieces around it
    that no edge through it joins)."""
    corners = [set(face) for face in faces.tolist()]
    around = {}
    for f, face in enumerate(corners):
        for v in face:
            around.setdefault(v, []).append(f)
    edges, touching = set(), set()
    for star in around.values():
        sharing = [(f, g) for f, g in combinations(star, 2) if len(corners[f] & corners[g]) > 1]
        edges.update(sharing)
        pieces = pieces_of(star, sharing)
        touching.update((f, g) for one, two in combinations(pieces, 2) for f in one for g in two)
    return edges, touching


def sets_of(tree):
    """The faces under every node and in every leaf."""
    return trees.faces_under(tree), [set(held) for held in trees.leaf_faces(tree)]


# --- the promise -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("name", MESHES)
def test_every_subtree_is_a_patch_or_whole_components(name):
    vertices, faces = MESHES[name]
    edges, touching = neighbours(faces)
    links = edges | touching if name in OTHERS else edges
    components = pieces_of(range(len(faces)), edges | touching)
    assert name in OTHERS or len(components) == 1
    for arity in WIDTHS:
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
    found = links_of(faces, faces.max() + 1, lambda order, starts: asked.append((order, starts)) or np.arange(len(starts) - 1)[::-1])
    assert sorted(found.order.tolist()) == list(range(n))
    assert np.diff(found.begins).max(initial=0) <= (3 if name in SURFACES else LINKS)
    linked = {(found.order[k], found.order[i]) for k in range(n) for i in found.near[found.begins[k]:found.begins[k + 1]]}
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
    for arity in WIDTHS:
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
    for arity in WIDTHS:
        for parts in trees.faces_under(trees.built(row, "connectivity", arity, 1)):
            places = {round(row[0][row[1][f], 0].mean() / 3.0) for f in set().union(*parts)}
            assert len(places) == max(places) - min(places) + 1


def test_soups_fill_leaves():
    """Leaves hold several components where these are small."""
    mesh = meshes.soup(np.random.default_rng(3).standard_normal((1000, 3, 3)))
    for arity in WIDTHS:
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
    d = max(4, np.diff(links_of(faces, faces.max() + 1, lambda order, starts: np.arange(len(starts) - 1)).begins).max())
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
@pytest.mark.parametrize("arity", list(WIDTHS))
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_below_the_limit_sets_are_halved(arity, limit):
    for vertices, faces in (SPHERE, MESHES["spheres in a row"]):
        n = len(faces)
        tree = connectivity.build(trees.points_of(vertices), faces, arity, 1, limit=limit)
        assert sorted(tree.faces[:, 0].tolist()) == list(range(n))
        assert tree.depth <= limit + math.ceil(math.log2(n))


def test_the_depth_that_is_allowed():
    assert connectivity.DEPTH_LIMIT + math.log2(connectivity.sah.MOST_FACES) < MOST_LEVELS
