"""Trees by graph matching: the pairs of a round against slow references, that patches hang together, and how even the trees are."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshes
import pliant as pl
import surfaces
import trees
from pliant import shapes
from pliant.core import validate
from pliant.tree import matching
from pliant.tree.match_round import build_graph, match_greedily, match_groups
from pliant.tree.nodes import LEAF_WIDTH, MAX_LEVELS, WIDTH_OF_ARITY
from surfaces import FEW, MESHES, OFF, SPHERE, SURFACES, neighbours, pieces_of, shuffled, without_places

EXAMPLES = 20 if OFF else 150
STAR = without_places([(0, 1, 2), (1, 0, 3), (2, 1, 4), (0, 2, 5)])     # a face with three neighbours


@st.composite
def graphs(draw, most=8, both_sides=False):
    """(number of groups, {(a, b): weight}, waits): few groups, equal and zero weights among them."""
    n = draw(st.integers(1, most))
    pairs = [(a, b) for a, b in combinations(range(n), 2) if not both_sides or (a + b) % 2]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return n, {pair: float(draw(st.integers(0, 3))) for pair in chosen}, draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))


def graph(n, edges):
    return build_graph(np.array(list(edges), np.int32).reshape(-1, 2), np.array(list(edges.values()), np.float64), n)


def paired(n, edges, waits=None, sizes=None, halvings=0):
    """(mates, how many pairs do not touch)."""
    waits = np.zeros(n, np.int8) if waits is None else np.array(waits, np.int8)
    sizes = np.ones(n, np.int32) if sizes is None else np.array(sizes, np.int32)
    mate, apart = match_groups(graph(n, edges), waits, sizes, halvings)
    assert all(mate[m] == g != m for g, m in enumerate(mate) if m >= 0)
    return mate.tolist(), apart


def pairs_in(mate):
    return {(g, m) for g, m in enumerate(mate) if m > g}


def most_pairs(groups, edges):
    """The size of a maximum matching, by trying everything."""
    if not groups:
        return 0
    first, rest = groups[0], groups[1:]
    return max([most_pairs(rest, edges)] + [1 + most_pairs([g for g in rest if g != other], edges) for other in rest
                                            if (first, other) in edges])


def walked(n, edges, waits):
    """Preis: from a group to its best free neighbour, and on, until two are each other's best; back to the group before."""
    numbers, mate = {pair: k for k, pair in enumerate(edges)}, [-1] * n

    def best(g):
        mine = [pair for pair in edges if g in pair and mate[pair[0]] < 0 and mate[pair[1]] < 0]
        if not mine:
            return None
        a, b = max(mine, key=lambda pair: (max(waits[pair[0]], waits[pair[1]]), edges[pair], -numbers[pair]))
        return a + b - g

    def visit(g):
        while mate[g] < 0 and best(g) is not None:
            other = best(g)
            if best(other) == g:
                mate[g], mate[other] = other, g
            else:
                visit(other)

    for g in range(n):
        visit(g)
    return mate


# --- one round -------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@settings(max_examples=EXAMPLES, deadline=None)
@given(graphs())
def test_best_mutual_neighbours(case):
    n, edges, waits = case
    found, mate = graph(n, edges), np.full(n, -1, np.int32)
    waited = np.array(waits, np.int8)
    order = np.lexsort((-found.weights, -waited[found.edges].max(1)))
    assert match_greedily(found.edges, order, mate) == len(pairs_in(mate))
    assert mate.tolist() == walked(n, edges, waits)


@pytest.mark.formulas
@settings(max_examples=EXAMPLES, deadline=None)
@given(graphs())
def test_few_are_left(case):
    """Pairs touch, no two groups that are left do, and there are as many pairs as can be, or one less where odd cycles hide one."""
    n, edges, waits = case
    mate, apart = paired(n, edges, waits)
    assert apart == 0
    assert pairs_in(mate) <= set(edges)
    assert not any(mate[a] < 0 and mate[b] < 0 for a, b in edges)
    assert len(pairs_in(mate)) >= len(pairs_in(walked(n, edges, waits)))
    assert most_pairs(list(range(n)), edges) - 1 <= len(pairs_in(mate))


@pytest.mark.formulas
@settings(max_examples=EXAMPLES, deadline=None)
@given(graphs(both_sides=True))
def test_the_fewest_are_left_where_there_are_no_odd_cycles(case):
    n, edges, waits = case
    assert len(pairs_in(paired(n, edges, waits)[0])) == most_pairs(list(range(n)), edges)


@pytest.mark.formulas
def test_all_graphs_of_five_groups():
    """All have as many pairs as can be, odd cycles or not."""
    pairs = list(combinations(range(5), 2))
    for bits in range(0, 1 << len(pairs), 37 if OFF else 1):
        edges = {pair: 1.0 for k, pair in enumerate(pairs) if bits >> k & 1}
        assert len(pairs_in(paired(5, edges)[0])) == most_pairs(list(range(5)), edges)


@pytest.mark.formulas
@pytest.mark.parametrize("n", [4, 6, 50])
def test_a_path_that_must_be_exchanged(n):
    """The heavy edges of a path leave its two ends."""
    edges = {(k, k + 1): 2.0 if k % 2 else 1.0 for k in range(n - 1)}
    assert pairs_in(walked(n, edges, [0] * n)) == {(k, k + 1) for k in range(1, n - 1, 2)}
    assert pairs_in(paired(n, edges)[0]) == {(k, k + 1) for k in range(0, n, 2)}


@pytest.mark.formulas
def test_who_has_waited_comes_first():
    edges = {(0, 1): 3.0, (1, 2): 1.0}
    assert paired(3, edges)[0] == [1, 0, -1]
    assert paired(3, edges, [0, 0, 1])[0] == [-1, 2, 1]


@pytest.mark.formulas
def test_a_hub():
    """One pair, and all others wait, until the tree would become a list; then those who have waited before go together."""
    n = 9
    edges = {(0, k): float(k) for k in range(1, n)}
    waits = [0, 1, 0, 0, 1, 0, 1, 1, 0]
    assert pairs_in(paired(n, edges)[0]) == {(0, 8)}
    assert pairs_in(paired(n, edges, waits)[0]) == {(0, 7)}
    assert paired(n, edges, waits)[1] == 0
    mate, apart = paired(n, edges, waits, sizes=[2] * n, halvings=1)
    assert (len(pairs_in(mate)), apart) == (1, 0)                       # 18 faces, 9 groups allowed
    mate, apart = paired(n, edges, waits, sizes=[7] + [1] * (n - 1), halvings=1)
    assert (pairs_in(mate), apart) == ({(0, 7)}, 0)                     # 15 faces, 8 groups
    mate, apart = paired(n, edges, waits, sizes=[5] + [1] * (n - 1), halvings=1)
    assert (pairs_in(mate), apart) == ({(0, 7), (1, 4)}, 1)             # 13 faces, 7 groups: one pair more, of two that have waited
    mate, apart = paired(n, edges, waits, halvings=1)
    assert (sorted(mate).count(-1), apart) == (1, 3)                    # 9 faces, 5 groups: all but one


# --- the binary tree -------------------------------------------------------------------------------------------------------------

def halves_of(mesh, leaf=1):
    return matching.build_binary_tree(trees.points_of(mesh[0]), np.ascontiguousarray(mesh[1], np.int32), leaf)


def sets_in(found):
    """(the faces of every set, how many levels are below it)."""
    n = len(found.order)
    sets, levels = [{f} for f in found.order.tolist()], [0] * n
    for one, two in found.children[n:].tolist():
        assert not sets[one] & sets[two]
        sets.append(sets[one] | sets[two])
        levels.append(1 + max(levels[one], levels[two]))
    assert [len(each) for each in sets] == found.sizes.tolist()
    assert sets[-1] == set(range(n))
    return sets, levels


def split(sets, components):
    """Those that are part of one component; the others must be whole ones."""
    inside = [each for each in sets if any(each <= component for component in components)]
    for each in sets:
        assert each in inside or all(component <= each or not component & each for component in components)
    return inside


@pytest.mark.formulas
@pytest.mark.parametrize("name", [*MESHES, "star"])
def test_patches_and_levels(name):
    """All pairs touch on these meshes, strange as they are, and no component takes many rounds."""
    mesh = STAR if name == "star" else MESHES[name]
    edges, touching = neighbours(mesh[1])
    found = halves_of(mesh)
    sets, levels = sets_in(found)
    links = edges if name in SURFACES or name == "star" else edges | touching
    components = pieces_of(range(len(mesh[1])), edges | touching)
    assert found.n_disconnected == 0
    for each in split(sets, components):
        assert len(pieces_of(each, links)) == 1
    for each, below in zip(sets, levels, strict=True):
        if each in components:
            assert below <= math.ceil(math.log2(len(each))) + matching.EXTRA_ROUNDS
    assert levels[-1] <= math.ceil(math.log2(len(mesh[1]))) + (matching.EXTRA_ROUNDS if len(components) == 1 else 4)


ORDINARY = {name: MESHES[name] for name in ("sphere", "shuffled sphere", "sheet", "strip", "closed fan", "doubled sphere", "single faces")}
ORDINARY |= {"tube": surfaces.tube(7, 13), "long tube": surfaces.tube(3, 60),
             "odd sheet": shuffled((shapes.sheet(15, 16)[0], shapes.sheet(15, 16)[1][:-3]))}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_surfaces_lose_no_level(name):
    found = halves_of(ORDINARY[name])
    assert found.n_disconnected == 0
    assert sets_in(found)[1][-1] == math.ceil(math.log2(len(ORDINARY[name][1])))


@pytest.mark.parametrize("mesh", [surfaces.grown(3000, 5), surfaces.bush_between_strips(300, 9)], ids=["grown", "bush"])
def test_trees_of_links(mesh):
    """Some pairs do not touch, or there would be too many levels; all others do."""
    n, found = len(mesh[1]), halves_of(mesh)
    near = [set() for _ in range(n)]
    for f, g in neighbours(mesh[1])[0]:
        near[f].add(g)
        near[g].add(f)
    sets, levels = sets_in(found)
    touch = [any(near[f] & sets[two] for f in sets[one]) for one, two in found.children[n:]]
    assert 0 < touch.count(False) == found.n_disconnected < n / 100
    assert levels[-1] <= math.ceil(math.log2(n)) + matching.EXTRA_ROUNDS


@pytest.mark.formulas
def test_a_face_with_three_neighbours():
    """Two must wait, one of them twice: three levels, all of them patches."""
    sets, levels = sets_in(halves_of(STAR))
    assert [len(each) for each in sets[4:]] == [2, 3, 4]
    assert levels[-1] == 3
    assert all(0 in each for each in sets[4:])


@pytest.mark.formulas
@settings(max_examples=10 if OFF else 100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=30), st.sampled_from([0.0, 2.0**-140, 1.0, 2.0**36]))
def test_any_faces(faces, size):
    """Degenerate, doubled, in one place: every set of a component is a patch unless it says that some do not touch."""
    points, faces = trees.points_of(size * np.random.default_rng(1).random((10, 3))), np.array(faces, np.int32)
    found = matching.build_binary_tree(points, faces, 4)
    sets, levels = sets_in(found)
    edges, touching = neighbours(faces)
    components = pieces_of(range(len(faces)), edges | touching)
    inside = split(sets, components)
    assert sum(len(pieces_of(each, edges | touching)) > 1 for each in inside) == 0 or found.n_disconnected > 0
    assert levels[-1] <= math.ceil(math.log2(len(faces))) + 4


@pytest.mark.parametrize("name", ["shuffled sphere", "sheet", "disc grown at random", "doubled sphere", "few vertices"])
def test_weights_are_shared_lengths(name, monkeypatch):
    """In every round the weight of an edge is the total length of the mesh edges through which faces of both groups are linked."""
    vertices, faces = MESHES[name]
    rounds = []

    def noted(found, waits, sizes, halvings):
        rounds.append((found, sizes, match_groups(found, waits, sizes, halvings)))
        return rounds[-1][2]

    monkeypatch.setattr(matching, "match_groups", noted)
    points = trees.points_of(vertices)
    order = matching.build_binary_tree(points, faces, 8).order
    place, named = points[:, :3].astype(np.float64), [set(faces[f].tolist()) for f in order]
    linked = {}
    first = rounds[0][0]
    for (f, g), weight in zip(first.edges.tolist(), first.weights, strict=True):
        linked[f, g] = sum(float(np.linalg.norm(place[v] - place[w])) for v, w in combinations(named[f] & named[g], 2))
        assert weight == pytest.approx(linked[f, g], rel=1e-12)
    assert max(linked.values()) > 0
    groups = [{f} for f in range(len(faces))]
    for found, sizes, (mate, _) in rounds:
        assert [len(group) for group in groups] == sizes.tolist()
        of, expected = {f: g for g, group in enumerate(groups) for f in group}, {}
        for (f, g), weight in linked.items():
            pair = min(of[f], of[g]), max(of[f], of[g])
            if pair[0] != pair[1]:
                expected[pair] = expected.get(pair, 0.0) + weight
        assert dict(zip(map(tuple, found.edges.tolist()), found.weights, strict=True)) == pytest.approx(expected, rel=1e-9)
        groups = [group | (groups[m] if m >= 0 else set()) for group, m in zip(groups, mate.tolist(), strict=True)]
        groups = [group for g, group in enumerate(groups) if not 0 <= mate[g] < g]


# --- nodes -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("leaf", range(1, LEAF_WIDTH + 1))
def test_leaves_are_whole_sets(leaf):
    """Leaves are the largest sets that fit: on a sphere the power of two of faces that does."""
    for arity in WIDTH_OF_ARITY:
        filled = (trees.built(SPHERE, "matching", arity, leaf).faces >= 0).sum(1)
        full = 1 << (leaf.bit_length() - 1)
        assert filled.max() <= leaf
        if not OFF:
            assert set(filled.tolist()) == {full}


@pytest.mark.parametrize("arity, depth", [(2, 11), (4, 6), (8, 4)])
def test_the_trees_of_a_sphere(arity, depth):
    """Two or three rounds become one node, and few nodes have empty lanes."""
    tree = trees.built(shuffled(shapes.icosphere(3)), "matching", arity, 1)
    assert len(tree.faces) == 1_280
    assert len(tree.child) <= 1.3 * 1_279 / (arity - 1)
    assert tree.depth == depth


@pytest.mark.formulas
def test_nodes_are_made_of_sets():
    """What is below a node, and below each of its lanes, is a set of the binary tree."""
    for name in ("shuffled sphere", "spheres in a row", "disc grown at random", "segments and points"):
        for arity, leaf in ((2, 1), (4, 3), (8, 8)):
            sets = {frozenset(each) for each in sets_in(halves_of(MESHES[name], leaf))[0]}
            under = trees.faces_under(trees.built(MESHES[name], "matching", arity, leaf))
            assert all(frozenset(part) in sets for parts in under for part in parts)
            assert all(frozenset().union(*parts) in sets for parts in under)


def test_components_near_each_other_come_together():
    row = surfaces.row_of(shapes.icosphere(0), 16)
    for arity in WIDTH_OF_ARITY:
        for parts in trees.faces_under(trees.built(row, "matching", arity, 1)):
            places = {round(row[0][row[1][f], 0].mean() / 3.0) for f in set().union(*parts)}
            assert len(places) == max(places) - min(places) + 1


def test_components_of_all_sizes():
    """Strips of 1, 2, 4, … faces: what is small lies deep, and no component deeper than its share of the faces asks for."""
    strips = [shapes.sheet(1, 1 << k) for k in range(8)] + [meshes.soup(np.eye(3)[None])] * 7
    mesh = meshes.joined(*((rows + np.array([0.0, 0.0, 10.0 * k]), faces) for k, (rows, faces) in enumerate(strips)))
    found = halves_of(mesh)
    n, sets_below = len(mesh[1]), [0] * len(found.sizes)
    for s in range(len(found.sizes) - 1, n - 1, -1):
        for half in found.children[s]:
            sets_below[half] = sets_below[s] + 1
    starts = np.cumsum([0] + [len(faces) for _, faces in strips])
    sets, _ = sets_in(found)
    for begin, end in pairwise(starts.tolist()):
        assert sets_below[sets.index(set(range(begin, end)))] <= math.log2(n / (end - begin)) + 2


def test_soups_fill_leaves():
    mesh = meshes.soup(np.random.default_rng(3).standard_normal((1000, 3, 3)))
    for arity in WIDTH_OF_ARITY:
        assert len(trees.built(mesh, "matching", arity, 8).faces) == 125


def test_many_faces_at_one_edge_or_vertex():
    """No work for each pair of them."""
    n = 20_000
    for mesh in (without_places([(0, 1, k + 2) for k in range(n)]), without_places([(0, 2 * k + 1, 2 * k + 2) for k in range(n)]),
                 without_places(np.tile([0, 1, 2], (n, 1)))):
        tree = trees.built(mesh, "matching", 8, 8)
        assert len(tree.faces) == n / 8
        assert tree.depth <= 5


def test_the_depth_that_is_allowed():
    """A cut between components leaves three quarters on one side at most, or a component that the next cut parts from the rest."""
    assert math.log(validate.MAX_FACES, 4 / 3) + matching.EXTRA_ROUNDS + 2 < MAX_LEVELS


def test_lengths_of_edges_decide():
    """A strip of squares whose diagonals are the longest edges: the first round makes the squares."""
    vertices, faces = shuffled(shapes.sheet(1, FEW))
    found = halves_of((vertices, faces))
    n = len(faces)
    lengths = [max(np.linalg.norm(vertices[a] - vertices[b]) for a, b in combinations(face, 2)) for face in faces]
    for one, two in found.order[found.children[n:n + n // 2]].tolist():
        a, b = set(faces[one].tolist()) & set(faces[two].tolist())
        assert np.linalg.norm(vertices[a] - vertices[b]) == pytest.approx(lengths[one])


def test_a_sheet_that_was_rolled_up():
    """Its layers lay on each other when the trees were built: to one by positions they are neighbours for ever."""
    vertices, faces = shuffled(shapes.sheet(24, 24))
    x, y, _ = (vertices / np.abs(vertices).max()).T
    radius, angle = 0.1 + 0.02 * x, 20.0 * x
    rolled = np.column_stack([radius * np.cos(angle), y, radius * np.sin(angle)])
    flat = np.column_stack([x, y, np.sin(5 * x) * np.cos(4 * y)])
    visits = {}
    for build in ("sah", "connectivity", "matching"):
        one, two = (pl.Body(rolled, faces, build=build, policy="bottom_up") for _ in range(2))
        one.update(flat)
        two.update(flat[:, [2, 1, 0]])
        visits[build] = pl.collide(one, two).stats.n_v
    assert visits["matching"] < 0.5 * visits["sah"]
    assert visits["matching"] < visits["connectivity"]
