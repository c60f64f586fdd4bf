"""Partitioned trees: which plane cuts, what is tried when it parts badly, and that no part has less than a tenth."""

import math

import numba
import numpy as np
import pytest

import meshes
import trees
from pliant import shapes
from pliant.core import validate
from pliant.tree import partition
from pliant.tree.nodes import MAX_LEVELS, WIDTH_OF_ARITY

OFF = bool(numba.config.DISABLE_JIT)
MANY = 150 if OFF else 1_500
ARITIES = pytest.mark.parametrize("arity", list(WIDTH_OF_ARITY))


def boxes(low, high):
    """A mesh of faces with these boxes, (n, 3) each."""
    return meshes.soup(np.stack([np.asarray(low, np.float64), high, high], 1))


def at(places):
    """A mesh of small faces around these places: numbers along x, or (n, 3)."""
    places = np.asarray(places, np.float64)
    places = places[:, None] * [1.0, 0.0, 0.0] if places.ndim == 1 else places
    return boxes(places - 2.0**-10, places + 2.0**-10)


def around_one_point(n):
    """Faces of different size whose midpoints coincide."""
    size = 2.0 ** -(np.arange(n) % 30)[:, None] * [1.0, 0.5, 0.25]
    return boxes(-size, size)


def uneven(n, seed=3):
    """Faces that crowd in a corner of their box, so that no plane through its middle is fair."""
    rng = np.random.default_rng(seed)
    return at(np.concatenate([rng.random((n - 1, 3)) * 0.01, [[1.0, 0.9, 0.8]]]))


def parts(mesh, arity=2, leaf=1):
    """The sets of faces under the root."""
    return sorted(map(sorted, trees.faces_under(trees.built(mesh, "partition", arity, leaf))[0]))


# --- which plane -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("sides", [(3, 2, 1), (1, 3, 2), (2, 1, 3), (2, 2, 1), (1, 2, 2), (1, 1, 1)])
def test_the_longest_side_is_cut_in_the_middle(sides):
    """Faces at the corners of a box. Of equal sides the first counts as the longest."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T
    axis = int(np.argmax(sides))
    assert parts(at(corners * sides)) == sorted([np.flatnonzero(corners[:, axis] == k).tolist() for k in (0, 1)])


@pytest.mark.formulas
def test_the_box_is_that_of_the_triangles():
    """Midpoints are 5 to 12 and their middle is 8.5; triangles reach from 0 to 20. A midpoint on the plane, at 10, belongs above it."""
    places = [5, 6, 7, 8, 9, 10, 11, 12]
    low, high = np.zeros((8, 3)), np.zeros((8, 3))
    low[:, 0], high[:, 0] = places, places
    low[5, 0], high[5, 0] = 0, 20
    assert parts(boxes(low, high)) == [[0, 1, 2, 3, 4], [5, 6, 7]]


@pytest.mark.formulas
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_other_sides_are_tried_from_the_second_longest(order):
    """One of twenty lies far out along the longest side; along the second both halves hold some, along the shortest, too."""
    n = 20
    places = np.zeros((n, 3))
    places[0, order[0]] = 9.0
    places[:, order[1]] = 4.0 * (np.arange(n) % 5 == 1)
    places[:, order[2]] = 2.0 * (np.arange(n) % 2 == 1)
    second = [k for k in range(n) if k % 5 == 1]
    assert parts(at(places)) == sorted([second, [k for k in range(n) if k not in second]])
    places[:, order[1]] = 4.0 * (np.arange(n) == 1)                     # now that is worse than a tenth
    assert parts(at(places)) == [list(range(0, n, 2)), list(range(1, n, 2))]


@pytest.mark.formulas
@pytest.mark.parametrize("alone, fair", [(2, True), (1, False)])
def test_a_tenth_is_enough(alone, fair):
    """Two of twenty are; one is not."""
    places = np.concatenate([np.linspace(0, 1, 20 - alone), np.linspace(9, 10, alone)])
    assert (parts(at(places)) == [list(range(20 - alone)), list(range(20 - alone, 20))]) == fair


@pytest.mark.formulas
def test_seven_midpoints_and_their_median():
    """Of the set's own, by its place alone; other places choose others."""
    n = 400
    vertices, faces = at(np.random.default_rng(5).permutation(n))
    rows = np.zeros(8 * n + 8, np.float32)
    corners = vertices[faces].astype(np.float32)
    rows[:-8].reshape(n, 8)[:, :3], rows[:-8].reshape(n, 8)[:, 4:7] = corners.min(1), corners.max(1)
    found = {}
    for begin, end in ((0, n), (0, n), (0, n - 1), (1, n), (100, 107), (n - 8, n)):
        seven = np.zeros(7, np.float32)
        median = partition.median_of_samples(rows, begin, end, 0, seven)
        middles = [float(rows[8 * k] + rows[8 * k + 4]) for k in range(begin, end)]
        assert seven.tolist() == sorted(seven.tolist()) and median == seven[3] and set(seven.tolist()) <= set(middles)
        assert found.setdefault((begin, end), seven.tolist()) == seven.tolist()
    assert len({tuple(seven) for seven in found.values()}) == len(found)


@pytest.mark.formulas
def test_a_crowd_in_a_corner_is_cut_at_the_median_of_seven():
    """Along the longest side, and near the middle of the crowd, but not in it."""
    sizes, seeds = [], 20 if OFF else 200
    for seed in range(seeds):
        mesh = uneven(200, seed)
        small, large = sorted(parts(mesh), key=len)
        assert len(small) >= 20
        x = mesh[0][mesh[1]].mean(1)[:, 0]
        assert max(x[small].max(), x[large].max()) > 0.5 and (x[small].max() < x[large].min() or x[large].max() < x[small].min())
        sizes.append(len(small))
    assert np.mean(np.array(sizes) >= 30) > 0.9 and len(set(sizes)) > 5


# --- every node ------------------------------------------------------------------------------------------------------------------

AWKWARD = {
    "scattered": meshes.soup(np.random.default_rng(7).standard_normal((MANY, 1, 3)) ** 3 * [3, 2, 1]
                             + 0.05 * np.random.default_rng(8).standard_normal((MANY, 3, 3))),
    "doubling": meshes.in_row(60, lambda k: 2.0 ** (k - 30)),
    "crowds": meshes.in_row(MANY, lambda k: 2.0 ** (k % 50 - 25)),
    "a crowd in a corner": uneven(MANY),
    "around one point": around_one_point(MANY),
    "two places": at(np.arange(MANY) == 0),
    "copies of one face": (np.eye(3), np.tile([0, 1, 2], (MANY, 1))),
    "points in one place": (np.ones((3, 3)), np.tile([0, 1, 2], (MANY, 1))),
    "squares": at(np.arange(MANY) ** 2.0),
    "sheet": shapes.sheet(5, 7) if OFF else shapes.sheet(31, 17),
}


def by_planes(low, high, faces):
    """The parts of a set where a plane through the middle of a side is fair; None where none is. In plain NumPy."""
    middles, bottom, top = low[faces] + high[faces], low[faces].min(0), high[faces].max(0)
    for axis in np.argsort(-(top - bottom), kind="stable"):
        above = middles[:, axis] >= bottom[axis] + top[axis]
        if 10 * min(above.sum(), (~above).sum()) >= len(faces):
            return {frozenset(faces[above].tolist()), frozenset(faces[~above].tolist())}
    return None


def assert_sorted_halves(low, high, faces, found):
    """A small set is cut in the middle of its midpoints along the longest side."""
    small, large = sorted(found, key=len)
    assert len(small) == len(faces) // 2
    axis = int(np.argmax(high[faces].max(0) - low[faces].min(0)))
    one, other = ((low[list(some), axis] + high[list(some), axis]) for some in (small, large))
    assert one.max() <= other.min() or other.max() <= one.min()


@pytest.mark.formulas
@pytest.mark.parametrize("name", AWKWARD)
def test_every_node_against_the_rule(name):
    """Binary, one face a leaf. Where a plane is fair, the parts are its; where none is, they have a tenth each all the same."""
    vertices, faces = AWKWARD[name]
    corners = trees.points_of(vertices)[faces, :3]
    low, high, cut = corners.min(1), corners.max(1), 0
    for found in trees.faces_under(trees.built((vertices, faces), "partition", 2, 1)):
        some = np.array(sorted(set().union(*found)))
        if len(some) < partition.INSERTION_SORT_SIZE:
            assert_sorted_halves(low, high, some, found)
            continue
        right = by_planes(low, high, some)
        assert right is None or set(map(frozenset, found)) == right
        assert 10 * min(map(len, found)) >= len(some)
        cut += right is not None
    assert cut > 0 or name in ("around one point", "copies of one face", "points in one place", "two places")


@pytest.mark.formulas
@ARITIES
@pytest.mark.parametrize("leaf", [1, 3, 8])
def test_midpoints_that_coincide_are_halved(arity, leaf):
    """By position: a tree as even as can be, in which faces that follow each other stay together."""
    for n in (2, 9, 40, 300):
        for mesh in (around_one_point(n), (np.eye(3), np.tile([0, 1, 2], (n, 1)))):
            tree = trees.built(mesh, "partition", arity, leaf)
            leaves = math.ceil(n / leaf)
            assert leaves <= len(tree.faces) <= (n if leaf == 1 else 1.4 * leaves)
            assert tree.depth <= math.ceil(math.log2(leaves)) + 1
        assert sorted(max(some) - min(some) + 1 for some in parts(mesh)) == [n // 2, n - n // 2]


# --- depth -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@ARITIES
@pytest.mark.parametrize("name", AWKWARD)
def test_no_mesh_makes_a_list(name, arity):
    """Nine tenths a level at most: what is built reads each face so often, O(n log n)."""
    vertices, faces = AWKWARD[name]
    for leaf in (1, 8):
        assert trees.built((vertices, faces), "partition", arity, leaf).depth <= 1 + math.log(len(faces)) / math.log(10 / 9)


@pytest.mark.parametrize("base", [1.01, 1.1, 2.0])
def test_faces_that_double_stay_shallow(base):
    """Where every middle parts off a few, the median of seven serves, and the depth stays near that of medians alone."""
    n = 300 if OFF else 3_000
    period = int(60 / math.log2(base))
    mesh = meshes.in_row(n, lambda k: base ** (k % period - period // 2))
    assert trees.built(mesh, "partition", 2, 1).depth <= 2 * math.log2(n)


@pytest.mark.formulas
@pytest.mark.parametrize("limit", [0, 1, 2, 96])
def test_deep_down_there_are_only_medians(limit):
    """Five sixths of the faces are on one side of the middle, and so again, which is fair; medians halve."""
    places = np.concatenate([np.arange(100), 200 + np.arange(20)])
    vertices, faces = at(np.concatenate([places, 1_000 + places / 10]))
    tree = partition.build(trees.points_of(vertices), faces, 2, 1, limit=limit)
    second = {frozenset(map(len, found)) for found in trees.faces_under(tree) if sum(map(len, found)) == 120}
    assert second == {frozenset([60] if limit < 2 else [20, 100])}
    assert tree.depth <= limit + math.ceil(math.log2(len(faces)))


def test_the_depth_that_is_allowed():
    assert partition.MAX_DEPTH + math.log2(validate.MAX_FACES) < MAX_LEVELS


# --- leaves ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@ARITIES
@pytest.mark.parametrize("leaf", [2, 3, 8])
def test_small_sets_become_one_node_of_full_leaves(arity, leaf):
    rng = np.random.default_rng(8)
    for n in range(1, arity * leaf + 1):
        tree = trees.built(at(rng.standard_normal((n, 3))), "partition", arity, leaf)
        assert len(tree.child) == 1
        assert len(tree.faces) == math.ceil(n / leaf)


@pytest.mark.parametrize("arity, leaf, nodes", [(2, 1, 20_479), (4, 1, 8_190), (8, 1, 4_541), (8, 8, 513)])
def test_the_trees_of_a_sphere(arity, leaf, nodes):
    """Nodes are nearly full, and leaves. Midpoints in planes of symmetry go one way or the other with the last bit: hence the tolerance."""
    tree = trees.built(shapes.icosphere(5), "partition", arity, leaf)
    assert abs(len(tree.child) - nodes) <= 0.02 * nodes
    assert tree.depth <= 1.6 * math.log(20_480 / leaf, arity) + 1


def test_the_order_of_faces_hardly_matters():
    """Planes do not see it; where the seven do, the tree is another, and as shallow."""
    vertices, faces = at(np.random.default_rng(2).random((MANY, 3)))
    order = np.random.default_rng(1).permutation(len(faces))
    one, other = (trees.built((vertices, some), "partition", 2, 1) for some in (faces, faces[order]))
    first, second = ({frozenset(map(frozenset, found)) for found in trees.faces_under(tree)} for tree in (one, other))
    named = {frozenset(frozenset(order[list(some)].tolist()) for some in found) for found in second}
    assert len(first & named) > 0.9 * len(first)
