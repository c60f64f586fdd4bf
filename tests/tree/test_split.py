"""Initial-shape trees: where "centre" and "mean" cut, what happens where that parts nothing, and how it ends."""

import math

import numba
import numpy as np
import pytest

import meshes
import trees
from pliant import shapes
from pliant.core import validate
from pliant.tree import split
from pliant.tree.nodes import BUILDERS, MAX_LEVELS, WIDTH_OF_ARITY

OFF = bool(numba.config.DISABLE_JIT)
CUTS = {2: 1, 4: 2, 8: 3}                                               # arity -> sides that are cut
NAMES = pytest.mark.parametrize("name", ["centre", "mean"])
ARITIES = pytest.mark.parametrize("arity", list(WIDTH_OF_ARITY))


def boxes(low, high):
    """A mesh of faces with these boxes, (n, 3) each."""
    return meshes.soup(np.stack([np.asarray(low, np.float64), high, high], 1))


def at(places):
    """A mesh of small faces around these places: numbers along x, or (n, 3)."""
    places = np.asarray(places, np.float64)
    places = places[:, None] * [1.0, 0.0, 0.0] if places.ndim == 1 else places
    return boxes(places - 2.0**-10, places + 2.0**-10)


def children(mesh, name, arity):
    """The sets of faces under the root, leaf=1."""
    return sorted(map(sorted, trees.faces_under(trees.built(mesh, name, arity, 1))[0]))


# --- planes ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_the_centre_and_the_mean():
    """Of 0, 1, 4 and 10 the centre is 5, the mean 3.75."""
    mesh = at([0, 1, 4, 10])
    assert children(mesh, "centre", 2) == [[0, 1, 2], [3]]
    assert children(mesh, "mean", 2) == [[0, 1], [2, 3]]


@pytest.mark.formulas
def test_the_box_that_is_cut_is_that_of_the_triangles():
    """The midpoints 1, 2, 3 and 5 have their centre at 3, the triangles at 5; a midpoint on the plane belongs above it."""
    mesh = boxes([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], [[10, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    assert children(mesh, "centre", 2) == [[0], [1, 2, 3]]


@pytest.mark.formulas
@NAMES
@pytest.mark.parametrize("sides", [(3, 2, 1), (1, 3, 2), (2, 1, 3), (1, 2, 3), (2, 2, 1), (1, 1, 1)])
def test_the_longest_sides_are_cut(name, sides):
    """Faces at the corners of a box: halves across its longest side, quarters along its shortest, single faces. Of equal sides the first
    counts as the longest."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T
    mesh = at(corners * sides)
    by_length = sorted(range(3), key=lambda axis: -sides[axis])
    for arity, cuts in CUTS.items():
        alike = {}
        for face, corner in enumerate(corners.tolist()):
            alike.setdefault(tuple(corner[axis] for axis in by_length[:cuts]), []).append(face)
        assert children(mesh, name, arity) == sorted(alike.values())


@pytest.mark.formulas
@NAMES
@pytest.mark.parametrize("extent, n", [((1, 0, 0), 2), ((0, 1, 1), 4), ((1, 1, 1), 8)])
def test_empty_children_are_dropped(name, extent, n):
    corners = np.unique(np.indices((2, 2, 2)).reshape(3, -1).T * extent, axis=0)
    tree = trees.built(at(corners), name, 8, 1)
    assert tree.count.tolist() == [n]


def at_planes(low, high, faces, arity, at_mean):
    """The parts of a set, in plain NumPy."""
    middles = low[faces] + high[faces]
    bottom, top = low[faces].min(0), high[faces].max(0)
    planes = np.array([math.fsum(x) / len(x) for x in middles.T], np.float32) if at_mean else bottom + top
    above = middles >= planes
    above[:, np.argsort(-(top - bottom), kind="stable")[CUTS[arity]:]] = False
    code = above @ [1, 2, 4]
    return [[f for f, c in zip(faces, code, strict=True) if c == k] for k in sorted(set(code))]


def at_medians(low, high, faces, arity):
    """The parts of a set that planes do not part, down to single faces."""
    parts = [faces]
    while len(parts) < arity and max(map(len, parts)) > 1:
        largest = parts.pop(max(range(len(parts)), key=lambda k: len(parts[k])))
        middles = low[largest] + high[largest]
        in_line = [largest[k] for k in np.argsort(middles[:, np.argmax(np.ptp(middles, 0))])]
        parts += [in_line[:len(largest) // 2], in_line[len(largest) // 2:]]
    return parts


def reference(low, high, faces, arity, at_mean, least):
    """The children of every node of at least that many faces, as sets of sets."""
    if len(faces) < least:
        return set()
    parts = at_planes(low, high, faces, arity, at_mean)
    parts = parts if len(parts) > 1 else at_medians(low, high, faces, arity)
    return {frozenset(map(frozenset, parts))}.union(*(reference(low, high, part, arity, at_mean, least) for part in parts))


@pytest.mark.formulas
@NAMES
@ARITIES
@pytest.mark.parametrize("leaf", [1, 2, 8])
def test_every_node_against_the_rule(name, arity, leaf):
    """With leaf=1 all of the tree, else what is too large for one node of leaves."""
    rng = np.random.default_rng(7)
    n = 150 if OFF else 1000
    mesh = meshes.soup(rng.standard_normal((n, 1, 3)) ** 3 * [3, 2, 1] + 0.05 * rng.standard_normal((n, 3, 3)))
    tree, least = trees.built(mesh, name, arity, leaf), 2 if leaf == 1 else arity * leaf + 1
    found = {frozenset(map(frozenset, parts)) for parts in trees.faces_under(tree) if sum(map(len, parts)) >= least}
    corners = trees.points_of(mesh[0])[mesh[1], :3]
    right = reference(corners.min(1), corners.max(1), list(range(n)), arity, name == "mean", least)
    assert right
    assert found == right


# --- what planes cannot part -----------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_all_midpoints_on_one_side_are_halved_at_the_median():
    """The first face reaches from 0 to 100, so all lie at 50 or above; along y, which is shorter, nothing is to be seen of it."""
    mesh = boxes([[0, 0, 0], [70, 9, 0], [90, 0, 0], [80, 9, 0], [60, 0, 0]], [[100, 9, 0], [70, 9, 0], [90, 0, 0], [80, 9, 0], [60, 0, 0]])
    assert children(mesh, "centre", 2) == [[0, 4], [1, 2, 3]]


@pytest.mark.formulas
@NAMES
@ARITIES
@pytest.mark.parametrize("leaf", [1, 3, 8])
@pytest.mark.parametrize("n", [2, 9, 40])
def test_midpoints_that_coincide(name, arity, leaf, n):
    """Faces around one point, all of different size: halved by position, down to a tree as even as can be."""
    size = 2.0 ** -np.arange(n)[:, None] * [1.0, 0.5, 0.25]
    tree = trees.built(boxes(-size, size), name, arity, leaf)
    leaves = math.ceil(n / leaf)
    assert len(tree.faces) == (1 if n <= leaf else leaves)
    assert tree.depth <= max(1, math.ceil(math.log(leaves, arity)) + 1)


@pytest.mark.formulas
@NAMES
@ARITIES
@pytest.mark.parametrize("limit", [0, 2, 5])
def test_deep_down_there_are_only_medians(name, arity, limit):
    """Faces at 1, 2, 4, 8, … lose one at a time, so that the limit is what bounds the depth."""
    n = 60
    vertices, faces = meshes.in_row(n, lambda k: 2.0 ** (k - 30))
    tree = BUILDERS[name].build(trees.points_of(vertices), faces, arity, 1, limit=limit)
    assert limit + math.log(n - 5 * limit, arity) <= tree.depth <= limit + math.ceil(math.log(n, arity))
    assert sorted(tree.faces[:, 0].tolist()) == list(range(n))


def test_the_depth_that_is_allowed():
    assert split.MAX_DEPTH + math.log2(validate.MAX_FACES) < MAX_LEVELS


# --- how it ends -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@NAMES
@ARITIES
@pytest.mark.parametrize("leaf", [2, 3, 8])
def test_small_sets_become_one_node_of_full_leaves(name, arity, leaf):
    rng = np.random.default_rng(8)
    for n in range(1, arity * leaf + 1):
        tree = trees.built(at(rng.standard_normal((n, 3))), name, arity, leaf)
        assert len(tree.child) == 1
        assert len(tree.faces) == math.ceil(n / leaf)


@pytest.mark.parametrize("name, arity, nodes", [("centre", 2, 20_479), ("centre", 4, 11_732), ("centre", 8, 8_723),
                                                ("mean", 2, 20_479), ("mean", 4, 11_111), ("mean", 8, 8_993)])
def test_the_trees_of_a_sphere(name, arity, nodes):
    """One face a leaf, as in the paper. Midpoints in planes of symmetry go one way or the other with the last bit, hence the tolerance."""
    tree = trees.built(shapes.icosphere(5), name, arity, 1)
    assert len(tree.faces) == 20_480
    assert abs(len(tree.child) - nodes) <= 0.01 * nodes
    assert tree.depth <= 2 * math.log(20_480, arity)


def test_the_mean_of_many_faces():
    """A quarter at 1000.5, the others next to them: in float32 the sum would grow by too little, and the plane would miss the gap."""
    n = 1 << 10 if OFF else 1 << 16
    places = np.full(n, 1000.5)
    places[n // 4:] += 0.25
    parts = trees.faces_under(trees.built(at(places), "mean", 2, 8))[0]
    assert sorted(map(len, parts)) == [n // 4, n - n // 4]
