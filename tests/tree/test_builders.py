"""What every builder promises of its trees, and every policy of the volumes in them."""

from fractions import Fraction

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import trees
from pliant import shapes
from pliant.core.soa import lane, load_bounds
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import LEAF_WIDTH, MAX_LEVELS, WIDTH_OF_ARITY, empty_tree
from pliant.volume.protocol import VOLUME_TYPES
from siblings import INSIDE, exact
from trees import links, under

OFF = bool(numba.config.DISABLE_JIT)
FEW = 20 if OFF else 150


def scattered(n):
    rng = np.random.default_rng(51)
    return meshes.soup(rng.standard_normal((n, 1, 3)) + 0.1 * rng.standard_normal((n, 3, 3)))


MESHES = {
    "one face": scattered(1),
    "two faces": scattered(2),
    "nine faces": scattered(9),
    "scattered": scattered(FEW),
    "sphere": shapes.icosphere(0 if OFF else 2),
    "sheet": shapes.sheet(3, 3) if OFF else shapes.sheet(9, 11),
    "needles": meshes.needles(FEW, 0),
    "copies of one face": (np.eye(3), np.tile([0, 1, 2], (FEW, 1))),
    "points in one place": (np.ones((3, 3)), np.tile([0, 1, 2], (FEW, 1))),
    "points on a line": meshes.soup(np.arange(FEW)[:, None, None] * np.ones((3, 3))),
    "doubling": meshes.in_row(FEW, lambda k: 2.0**k),
    "doubling, from small to large": meshes.in_row(FEW, lambda k: 2.0 ** (k / 4 - 18)),
    "one far away": meshes.soup(np.concatenate([scattered(FEW)[0].reshape(-1, 3, 3), np.full((1, 3, 3), 2.0**30) + np.eye(3)])),
}


def built(name, build, arity, leaf):
    """(tree, faces) of a mesh."""
    vertices, faces = MESHES[name]
    vertices = vertices * (1.0 if np.abs(vertices).max() < 2.0**36 else 2.0**-140)
    return trees.built((vertices, faces), build, arity, leaf), faces


# --- topology ------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("name", MESHES)
def test_trees(name, builds):
    """Each face in one leaf, each node and leaf in one place, parents first, subtrees in one piece, no more than was allowed."""
    tree, faces = built(name, **builds)
    held = tree.faces >= 0
    filled = held.sum(1)
    assert sorted(tree.faces[held].tolist()) == list(range(len(faces)))
    assert np.array_equal(held, np.arange(LEAF_WIDTH) < filled[:, None])  # padding last
    assert filled.min() >= 1
    assert filled.max() <= builds["leaf"]

    n, m = len(tree.child), len(tree.faces)
    assert tree.child.shape == (n, WIDTH_OF_ARITY[builds["arity"]])
    assert tree.width == WIDTH_OF_ARITY[builds["arity"]]
    assert tree.count.max() <= builds["arity"]
    assert tree.count.min() >= (1 if m == 1 else 2)
    children = [child for _, _, child in links(tree)]
    assert sorted(child for child in children if child >= 0) == list(range(1, n))
    assert sorted(~child for child in children if child < 0) == list(range(m))
    assert all(child > i for i, _, child in links(tree) if child >= 0)
    for nodes, leaves in under(tree):
        assert len(nodes) == max(nodes) - min(nodes) + 1
        assert len(leaves) == max(leaves) - min(leaves) + 1

    level = np.ones(n, int)
    for i, _, child in links(tree):
        if child >= 0:
            level[child] = level[i] + 1
    assert tree.depth == level.max() <= MAX_LEVELS


@pytest.mark.formulas
@pytest.mark.parametrize("name", MESHES)
def test_what_follows_from_the_links(name, builds):
    """Corners of the faces of each leaf, the last face repeated; the place of each leaf; its distinct vertices."""
    tree, faces = built(name, **builds)
    for i, row in enumerate(tree.faces):
        held = row[row >= 0]
        padded = np.concatenate([held, np.full(LEAF_WIDTH - len(held), held[-1])])
        assert np.array_equal(tree.corners[i], faces[padded].T)
        node, k = tree.slots[i]
        assert tree.child[node, k] == ~i
        assert set(tree.vertices[tree.begins[i]:tree.begins[i + 1]].tolist()) == set(faces[held].ravel().tolist())
    for array in (tree.child, tree.count, tree.faces, tree.corners, tree.slots):
        assert array.dtype == np.int32
        assert array.flags.c_contiguous


@pytest.mark.parametrize("name", MESHES)
def test_building_twice_gives_the_same_tree(name, builds):
    first, second = built(name, **builds)[0], built(name, **builds)[0]
    assert all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))


def test_trees_of_ordinary_meshes_are_shallow(builds):
    """A level halves what is below it, or nearly so."""
    for name in ("scattered", "sphere", "sheet", "needles", "copies of one face", "points in one place", "points on a line"):
        tree, faces = built(name, **builds)
        assert tree.depth <= 2 * np.ceil(np.log2(len(faces))) + 1, name


def test_trees_of_awkward_meshes_are_no_lists(builds):
    for n in (1000, 3000):
        for base in (1.01, 1.1, 1.5):
            vertices, faces = meshes.in_row(n, lambda k, base=base, n=n: base ** (k % min(n, 60 / np.log2(base)) - 30 / np.log2(base)))
            tree = trees.built((vertices, faces), **builds)
            assert tree.depth <= min(MAX_LEVELS, n / 8)


@pytest.mark.parametrize("arity", WIDTH_OF_ARITY)
def test_no_faces(arity):
    tree = empty_tree(arity)
    assert tree.child.shape == (0, WIDTH_OF_ARITY[arity])
    assert tree.faces.shape == (0, LEAF_WIDTH)
    assert tree.depth == 0


@pytest.mark.formulas
@pytest.mark.parametrize("n", [0, 1, 2])
def test_bodies_of_few_faces(n, kept):
    body = pl.Body(np.eye(3), np.tile([0, 1, 2], (n, 1)), **kept)
    other = pl.Body([[0, 0, 0], [1, 1, 1], [1, 1, 0.5]], [[0, 1, 2], [2, 1, 1]])
    assert len(body) == n
    assert len(meshes.assert_right(body, other)) == n


# --- volumes -------------------------------------------------------------------------------------------------------------------

def assert_encloses(body, shape, scale):
    """Every lane and node that is true to this frame holds the vertices under it; unused lanes are empty. How many lanes were true."""
    volume_type, tree, nodes = shape.options.volume_type, shape.tree, shape.nodes
    origin = exact(body._motion.origin[:3].tolist())
    place = [tuple((x - o) * Fraction(scale) for x, o in zip(exact(row), origin, strict=True)) for row in body.vertices.tolist()]
    inside, below = INSIDE[volume_type.name], under(tree)
    vertices = [set(tree.corners[i].ravel().tolist()) for i in range(len(tree.faces))]
    true = 0
    for i in range(len(nodes)):
        assert [float(x) for k in range(tree.count[i], tree.width) for x in lane(nodes, i, k)] == [
            float(x) for k in range(tree.count[i], tree.width) for x in volume_type.empty]
        if nodes["stamp"][i] != shape.frame:
            continue
        around = load_bounds(nodes, i)
        for k in range(tree.count[i]):
            child, volume = int(tree.child[i, k]), lane(nodes, i, k)
            held = set().union(*(vertices[leaf] for leaf in ([~child] if child < 0 else below[child][1])))
            assert all(inside(volume, place[v]) and inside(around, place[v]) for v in held)
            true += 1
    return true


@pytest.mark.formulas
def test_volumes_hold_the_vertices_under_them(options, deforming):
    """After any frame, for whatever a query has refreshed: all of it, or what it reached."""
    frames = list(deforming)[1:3]
    a, b = (pl.Body(frames[0][k], deforming.faces, **options) for k in range(2))
    for first, second, _ in frames:
        a.update(first + 1e3)
        b.update(second + 1e3)
        pl.collide(a, b)
        for body in (a, b):
            shape = body._bvh_at(body._motion.scale)
            true = assert_encloses(body, shape, body._motion.scale)
            assert true == shape.nodes["count"].sum() or (options["policy"] != "bottom_up" and true > 5)


SIZES = (1e-200, 1e-30, 1.0, 1e30, 1e200)
ASKED = [(volume, policy, SIZES[(i + j) % len(SIZES)]) for i, volume in enumerate(VOLUME_TYPES) for j, policy in enumerate(POLICIES)]


@pytest.mark.formulas
@pytest.mark.parametrize(("volume", "policy", "size"), ASKED)
def test_volumes_at_other_scales(volume, policy, size):
    """Float32 sees a body in its own scale, and in that of a body it is asked about. Every family and every policy at all sizes."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    a, b = pl.Body(vertices * size, faces, volume=volume, policy=policy), pl.Body(vertices, faces, volume=volume, policy=policy)
    meshes.assert_right(a, b)
    for scale in {a._motion.scale, b._motion.scale}:
        for body in (a, b):
            if body._motion.scale >= scale:                              # never larger than float32 can say
                shape = body._bvh_at(scale)
                shape.refit()
                assert_encloses(body, shape, scale)
