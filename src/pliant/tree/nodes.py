"""Nodes and leaves: what a tree is, and how its volumes lie in memory.

    node    lanes   W siblings, one row of W float32 per scalar        leaf   lanes   8 triangles, float32 corners, one row per scalar
            bounds  the volume around them                                    bounds  the box around them, for all volume types
            child   int32[W]: >= 0 a node, < 0 ~leaf                          used    bits of the lanes that are not padding
            count   lanes in use                                              stamp   the frame of lanes and bounds
            stamp   the frame of lanes and bounds                             corner  int32[3, 8] vertices, padding repeats the last face
                                                                              face    int32[8], padding −1

A node of eight boxes is 256 bytes, a leaf 448: whole cache lines, so that one prefetch brings all that is asked of it. Children come
after their parents, so a reverse scan refits; a subtree owns a contiguous range of nodes and of leaves.

The volume of a leaf is a lane of its parent and is refitted by the body's policy. The triangles of a leaf are filled when a query reaches
it, whatever the policy: copying them all was two thirds of a refit (2.3 → 0.65 ms, 327,680 triangles). The box that a leaf has of its own
is not rounded outward and serves the leaf stage alone, which is the same for all volume types.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.jit import kernel
from pliant.core.registry import Registry, check_callable
from pliant.core.soa import aligned_zeros, bounds_dtype, lanes_dtype, packed_dtype
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.geometry.triangle_overlap import Triangle
from pliant.volume.aabb import Box

LEAF_WIDTH = 8                                                          # lanes of a leaf
INT32 = np.dtype(np.int32)
WIDTH_OF_ARITY = {2: 4, 4: 4, 8: 8}                                     # arity -> W
MAX_LEVELS = 128                                                        # more than any builder makes; bounds stacks
NEVER_STAMPED = -2**31                                                  # the stamp of volumes that were never set

LEAF_DTYPE = packed_dtype([("lanes", lanes_dtype(Triangle, LEAF_WIDTH)), ("bounds", bounds_dtype(Box)), ("used", INT32), ("stamp", INT32),
                           ("corner", np.dtype((np.int32, (3, LEAF_WIDTH)))), ("face", np.dtype((np.int32, (LEAF_WIDTH,))))])


@cache                                                                  # one object per dtype: equal, distinct ones cost 2 to 4 µs a call
def node_dtype(volume, width):
    """The record of `width` siblings of this class of volumes."""
    return packed_dtype([("lanes", lanes_dtype(volume, width)), ("bounds", bounds_dtype(volume)), ("child", np.dtype((np.int32, (width,)))),
                         ("count", INT32), ("stamp", INT32)])


class Tree(NamedTuple):
    """Topology alone. Shapes, for n nodes of W lanes and m leaves:

    child (n, W) int32, `count` (n,) int32, `faces` (m, 8) int32 padded with −1, `corners` (m, 3, 8) int32 vertices of each leaf's faces
    (padding repeats the last face), `vertices` flat int32 the distinct ones of leaf after leaf, from begins[i] to begins[i + 1], the
    last one repeated (see `derive_leaf_arrays`), `slots` (m, 2) int32 the parent and lane of each leaf, `depth` the number of levels of
    nodes.
    """
    child: np.ndarray
    count: np.ndarray
    faces: np.ndarray
    corners: np.ndarray
    vertices: np.ndarray
    begins: np.ndarray
    slots: np.ndarray
    depth: int

    @property
    def width(self):
        """Lanes of a node."""
        return self.child.shape[1]

    def allocate(self, volume_type):
        """New (nodes, leaves) of this topology for a bounding-volume type; their volumes were never set."""
        nodes = aligned_zeros(len(self.child), node_dtype(volume_type.volume, self.width))
        leaves = aligned_zeros(len(self.faces), LEAF_DTYPE)
        for name, value in zip(volume_type.volume._fields, volume_type.empty, strict=True):
            nodes["lanes"][name] = nodes["bounds"][name] = value
        nodes["child"], nodes["count"], nodes["stamp"] = self.child, self.count, NEVER_STAMPED
        leaves["used"], leaves["stamp"] = (self.faces >= 0) @ (1 << np.arange(LEAF_WIDTH)), NEVER_STAMPED
        leaves["corner"], leaves["face"] = self.corners, self.faces
        return nodes, leaves


def make_tree(child, count, faces, mesh_faces):
    """The Tree of these links; what follows from them is worked out here."""
    m = len(faces)
    corners, slots = np.empty((m, 3, LEAF_WIDTH), np.int32), np.empty((m, 2), np.int32)
    vertices = np.empty(3 * len(mesh_faces) + 8 * m, np.int32)
    begins, last_leaf = np.zeros(m + 1, np.int32), np.full(int(mesh_faces.max(initial=-1)) + 1, -1, np.int32)
    depth = derive_leaf_arrays(child, count, faces, mesh_faces, corners, slots, vertices, begins, last_leaf, np.zeros(len(child), np.int32))
    return Tree(child, count, faces, corners, vertices[:begins[-1]].copy(), begins, slots, int(depth))


def tree_from_spans(child, count, spans, order, mesh_faces):
    """The Tree whose leaf i holds the faces order[spans[i, 0] : spans[i, 1]]: builders number leaves as they come to them. Here they are
    numbered by position, so that a subtree owns a contiguous range of them."""
    rank, by_position = np.empty(len(spans), np.int32), np.argsort(spans[:, 0])
    rank[by_position] = np.arange(len(spans), dtype=np.int32)
    is_leaf = (child < 0) & (np.arange(child.shape[1]) < count[:, None])
    child[is_leaf] = ~rank[~child[is_leaf]]
    faces = np.full((len(spans), LEAF_WIDTH), -1, np.int32)
    list_faces(spans[by_position], order, faces)
    return make_tree(child.copy(), count.copy(), faces, mesh_faces)


@kernel
def list_faces(spans, order, faces):
    """The faces of each leaf."""
    for i in range(len(spans)):
        for k in range(spans[i, 1] - spans[i, 0]):
            faces[i, k] = order[spans[i, 0] + k]


@kernel
def derive_leaf_arrays(child, count, faces, mesh_faces, corners, slots, vertices, begins, last_leaf, level):
    """Fill corners, slots, vertices and begins; the number of levels of nodes. Parents come first, so one pass is enough. `last_leaf` (−1
    at first) keeps the last leaf that named a vertex."""
    deepest = 0
    for i in range(len(child)):
        deepest = max(deepest, level[i] + 1)
        for k in range(count[i]):
            if child[i, k] >= 0:
                level[child[i, k]] = level[i] + 1
            else:
                slots[~child[i, k], 0], slots[~child[i, k], 1] = i, k
    n = 0
    for i in range(len(faces)):
        last, begin = 0, n
        for k in range(LEAF_WIDTH):
            last = k if faces[i, k] >= 0 else last
            for c in range(3):
                v = mesh_faces[faces[i, last], c]
                corners[i, c, k] = v
                if last_leaf[v] != i:
                    last_leaf[v], vertices[n] = i, v
                    n += 1
        while n % 4 != 0 or 4 < n - begin < 12:                         # refits take four at a time, most often twelve: no surprises
            vertices[n] = vertices[n - 1]
            n += 1
        begins[i + 1] = n
    return deepest


def skip_links(tree):
    """(n,) int32: for every node the one after its subtree."""
    skips = np.empty(len(tree.child), np.int32)
    fill_skip_links(tree.child, tree.count, skips)
    return skips


@kernel
def fill_skip_links(child, count, skips):
    """A subtree is a range of nodes: it ends where that of its last child does."""
    for i in range(len(child) - 1, -1, -1):
        skips[i] = i + 1
        for k in range(count[i]):
            if child[i, k] >= 0:
                skips[i] = max(skips[i], skips[child[i, k]])


def subtree_leaf_ranges(tree):
    """(n, 2) int64: of every node the leaves under it, from the first to behind the last."""
    ranges = np.zeros((len(tree.child), 2), np.int64)
    fill_leaf_ranges(tree.child, tree.count, ranges)
    return ranges


@kernel
def fill_leaf_ranges(child, count, ranges):
    """ranges (n, 2): the leaves under each node, [first, last + 1). Children come after parents."""
    for i in range(len(child) - 1, -1, -1):
        low, high = np.int64(1 << 40), np.int64(0)
        for k in range(count[i]):
            c = np.int64(child[i, k])
            if c < 0:
                low, high = min(low, ~c), max(high, ~c + 1)
            else:
                low, high = min(low, ranges[c, 0]), max(high, ranges[c, 1])
        ranges[i, 0], ranges[i, 1] = low, high


def empty_tree(arity):
    """The tree of a body without faces."""
    width = WIDTH_OF_ARITY[arity]
    return make_tree(np.zeros((0, width), np.int32), np.zeros(0, np.int32), np.zeros((0, LEAF_WIDTH), np.int32), np.zeros((0, 3), np.int32))


def validated_tree(child, count, faces, mesh_faces, arity, leaf):
    """The Tree of links that come from a file: every promise of this module is examined before a kernel trusts it."""
    n, m, width = len(child), len(faces), WIDTH_OF_ARITY[arity]
    if child.shape != (n, width) or count.shape != (n,) or faces.shape != (m, LEAF_WIDTH):
        raise ArgumentError(f"tree: shapes {child.shape}, {count.shape}, {faces.shape} do not fit together for arity {arity}")
    if not len(mesh_faces):
        if n or m:
            raise ArgumentError("tree: there are nodes, but no faces")
        return None
    if not n or count.min() < 1 or count.max() > arity:
        raise ArgumentError(f"tree: nodes must have 1 to {arity} children")
    used = np.arange(width) < count[:, None]
    links = child[used]
    parents = np.broadcast_to(np.arange(n)[:, None], child.shape)[used]
    inner, leaves = links >= 0, ~links[links < 0]
    if sorted(links[inner].tolist()) != list(range(1, n)) or (links[inner] <= parents[inner]).any():
        raise ArgumentError("tree: every node but the first must be the child of one earlier node")
    if sorted(leaves.tolist()) != list(range(m)):
        raise ArgumentError("tree: every leaf must be the child of one node")
    occupied = faces >= 0
    filled = occupied.sum(1)
    if m and (filled.min() < 1 or filled.max() > leaf or (occupied != (np.arange(LEAF_WIDTH) < filled[:, None])).any()):
        raise ArgumentError(f"tree: leaves must hold 1 to {leaf} faces, padding last")
    if not np.array_equal(np.sort(faces[occupied]), np.arange(len(mesh_faces))):
        raise ArgumentError("tree: every face must be in one leaf")
    sizes, low, high, n_leaves = np.ones(n, np.int64), np.full(n, m), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):                                      # children come after parents
        children = child[i, :count[i]]
        nodes, leaf_children = children[children >= 0], ~children[children < 0]
        sizes[i] += sizes[nodes].sum()
        n_leaves[i] = len(leaf_children) + n_leaves[nodes].sum()
        low[i], high[i] = min([*leaf_children, *low[nodes]]), max([*(leaf_children + 1), *high[nodes]])
        if max(nodes + sizes[nodes], default=i + 1) != i + sizes[i] or high[i] - low[i] != n_leaves[i]:
            raise ArgumentError("tree: a subtree must own a range of nodes and one of leaves")
    made = make_tree(child, count, faces, mesh_faces)
    if made.depth > MAX_LEVELS:
        raise ArgumentError(f"tree: {made.depth} levels are too many, at most {MAX_LEVELS}")
    return made


class Builder(NamedTuple):
    """A way to build: its name in `Body(build=…)` and `build(points, faces, arity, leaf) -> Tree`, points (n, 4) float32."""
    name: str
    build: object


BUILDERS: dict[str, Builder] = Registry("builder")


def register_builder(builder):
    """Add a builder."""
    if not isinstance(builder, Builder):
        raise ArgumentTypeError(f"builder: expected a Builder, got {builder!r:.80}")
    check_callable(f"builder {builder.name!r}: build", builder.build, "points", "faces", "arity", "leaf")
    BUILDERS.add(builder.name, builder)
