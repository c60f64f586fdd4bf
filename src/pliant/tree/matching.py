"""Bottom-up trees by graph matching (Bitar 2011, appendix, after Preis 1999): builder "matching". Deterministic.

Every face is a group at first. In each round groups that touch become pairs, and the pairs are the groups of the next round, until every
component is one group. Neighbours that share the greatest length of mesh edges go together, which makes patches that are round rather than
long; `tree/match_round.py` has the rules. Groups touch through links, `tree/face_graph.py`. Of an edge of three faces or more the links
make a chain, so that of such faces only neighbours in the chain count as sharing it.

Whole components stand in a line as in `tree/connectivity.py`, and a set of several is cut at the border nearest to its middle, in faces.

Promise: two patches that become a pair are one patch, unless a component leaves more groups without a mate than a balanced tree can wait
for. Where links make a tree that happens: in discs of 3,000 faces grown at random one pair in 200 does not touch. On ordinary surfaces it
does not. A component of n faces takes ⌈log2 n⌉ + EXTRA_ROUNDS rounds at most, most often ⌈log2 n⌉; joining components adds two levels or
so.

Nodes are made of that binary tree from the top. A set of at most `leaf` faces is a leaf: with leaf=8 the first three rounds are inside of
leaves, and as pairs hold powers of two of faces, nearly all leaves are full; with leaf=7 there are four in most. A node starts as one set,
and the largest is opened until there are `arity`; see `choose_set_to_open`. So with arity 8 three rounds become one node.

Positions are used for the lengths of edges alone: where meshes stretch little, the tree fits all their shapes equally. Of two bumpy spheres
of 20,480 faces all leaves are full, 2,560 against 2,739 of `tree/sah.py`, and n_v is 1.35 times as large, with `tree/connectivity.py` 1.54
times. Of two sheets that were rolled up when the trees were built n_v is a seventh of SAH's. See docs/updates.md.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.tree.connectivity import component_at, order_components
from pliant.tree.face_graph import build_face_graph
from pliant.tree.match_round import build_graph, match_groups
from pliant.tree.nodes import MAX_LEVELS, WIDTH_OF_ARITY, Builder, register_builder, tree_from_spans

EXTRA_ROUNDS = 2                                                        # rounds beyond ⌈log2 n⌉ that a component may take

class BinaryTree(NamedTuple):
    """A binary tree over n faces. Number k < n is the k-th face of `order`, others are sets: `children` (2n − 1, 2) int32 holds the two
    that each consists of, of lower number, and `sizes` (2n − 1,) int32 the faces in it. The last is the root. `n_disconnected`: how many
    sets consist of two that do not touch, though of one component."""
    order: np.ndarray
    children: np.ndarray
    sizes: np.ndarray
    n_disconnected: int


# --- groups --------------------------------------------------------------------------------------------------------------------

@helper
def has_corner(faces, f, v):
    """Is v a corner of face f?"""
    return faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v


@helper
def edge_length(points, a, b):
    """The distance of two points, in float64: squares of float32 neither overflow nor vanish there."""
    x, y = np.float64(points[a, 0]) - np.float64(points[b, 0]), np.float64(points[a, 1]) - np.float64(points[b, 1])
    z = np.float64(points[a, 2]) - np.float64(points[b, 2])
    return np.sqrt(x * x + y * y + z * z)


@helper
def shared_length(points, faces, f, g):
    """The total length of the edges that two faces share: between corners of both, of which each counts once."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    has_a, has_b, has_c = has_corner(faces, g, a), b != a and has_corner(faces, g, b), c != a and c != b and has_corner(faces, g, c)
    total = edge_length(points, a, b) if has_a and has_b else 0.0
    total += edge_length(points, b, c) if has_b and has_c else 0.0
    return total + (edge_length(points, c, a) if has_c and has_a else 0.0)


@kernel
def list_edges(begins, adjacent, points, faces, last_seen, edges, weights):
    """Fill edges (m, 2) and weights with the links between faces, each pair once; how many there are. `last_seen` is −1 at first."""
    n = 0
    for f in range(len(faces)):
        for k in range(begins[f], begins[f + 1]):
            g = adjacent[k]
            if g > f and last_seen[g] != f:
                last_seen[g] = f
                edges[n, 0], edges[n, 1], weights[n] = f, g, shared_length(points, faces, f, g)
                n += 1
    return n


@kernel
def merge_groups(mate, sets, waits, children, sizes, n_sets, group, sets_after, waits_after):
    """Number the groups of the next round, by their lower member; (groups, sets). `sets`: what set each group is."""
    n = 0
    for g in range(len(mate)):
        other = mate[g]
        if other < 0:
            sets_after[n], waits_after[n] = sets[g], waits[g] + 1
        elif other > g:
            children[n_sets, 0], children[n_sets, 1] = sets[g], sets[other]
            sizes[n_sets] = sizes[sets[g]] + sizes[sets[other]]
            sets_after[n], waits_after[n] = n_sets, 0
            n_sets += 1
        else:
            group[g] = group[other]
            continue
        group[g] = n
        n += 1
    return n, n_sets


@kernel
def merge_edges(mate, group, begins, adjacent, edge_ids, weights, last_seen, edges_after, weights_after):
    """The edges between the groups of the next round, with the weights of all that they consist of; how many there are. Each is summed
    up once, from its lower group, so that it has one weight. `last_seen` is −1 at first: where the edge to a group was put last."""
    n = 0
    for g in range(len(mate)):
        if 0 <= mate[g] < g:
            continue
        start, member = n, np.int64(g)
        while member >= 0:
            for k in range(begins[member], begins[member + 1]):
                other = group[adjacent[k]]
                if other <= group[g]:
                    continue
                if last_seen[other] < start:
                    last_seen[other] = n
                    edges_after[n, 0], edges_after[n, 1], weights_after[n] = group[g], other, 0.0
                    n += 1
                weights_after[last_seen[other]] += weights[edge_ids[k]]
            member = np.int64(mate[g]) if member == g else np.int64(-1)
    return n


@kernel
def join_components(starts, roots, leaf, children, sizes, stack):
    """Sets of several components, cut as near as can be to the middle, in whole leaves. From the root down: parents have the higher
    numbers. `stack` (k, 3): first component, the one after the last, the place in `children` to say so, −1: none."""
    n, top, number = len(roots), 1, len(sizes) - 1
    flat = children.reshape(-1)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, -1
    while top > 0:
        top -= 1
        first, last, place = stack[top, 0], stack[top, 1], stack[top, 2]
        if place >= 0:
            flat[place] = number if last - first > 1 else roots[first]
        if last - first == 1:
            continue
        begin, end = starts[first], starts[last]
        leaves = max(2, (end - begin + leaf - 1) // leaf)
        cut = begin + (end - begin) * (leaves // 2) // leaves
        c = component_at(starts, n, cut)
        c += 1 if c == first or (c + 1 < last and starts[c + 1] - cut < cut - starts[c]) else 0
        sizes[number] = end - begin
        stack[top, 0], stack[top, 1], stack[top, 2] = first, c, 2 * number
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = c, last, 2 * number + 1
        number, top = number - 1, top + 2


def build_binary_tree(points, faces, leaf):
    """The BinaryTree of faces (n, 3) int32 of points (m, 4) float32."""
    n = len(faces)
    order, starts, begins, adjacent = build_face_graph(faces, len(points), lambda order,
                                                       starts: order_components(points[faces[order]], starts))
    edges, weights = np.empty((len(adjacent) // 2, 2), np.int32), np.empty(len(adjacent) // 2)
    m = list_edges(begins, adjacent, points, faces[order], np.full(n, -1, np.int32), edges, weights)
    children, sizes = np.full((2 * n - 1, 2), -1, np.int32), np.ones(2 * n - 1, np.int32)
    sets, waits, group = np.arange(n, dtype=np.int32), np.zeros(n, np.int8), np.empty(n, np.int32)
    n_sets, rounds, n_disconnected = n, 0, 0
    while m > 0:
        graph = build_graph(edges[:m], weights[:m], len(sets))
        rounds += 1
        mate, n_more = match_groups(graph, waits, sizes[sets], max(rounds - EXTRA_ROUNDS, 0))
        n_disconnected += n_more
        sets_after, waits_after, last_seen = np.empty_like(sets), np.empty_like(waits), np.full(len(sets), -1, np.int32)
        n_groups, n_sets = merge_groups(mate, sets, waits, children, sizes, n_sets, group, sets_after, waits_after)
        edges, weights = np.empty_like(graph.edges), np.empty_like(graph.weights)
        m = merge_edges(mate, group, graph.begins, graph.adjacent, graph.edge_ids, graph.weights, last_seen, edges, weights)
        sets, waits = sets_after[:n_groups], waits_after[:n_groups]
    if len(sets) > 1:                                                   # one group a component, in the order of the line
        join_components(starts, sets, leaf, children, sizes, np.empty((len(sets) + 1, 3), np.int64))
    return BinaryTree(order, children, sizes, n_disconnected)


# --- nodes ---------------------------------------------------------------------------------------------------------------------

@kernel
def layout_sets(children, sizes, leaf, begins, leaves, face_order):
    """Where the faces of every set begin in the line of all, and how many leaves it makes."""
    n = (len(sizes) + 1) // 2
    for s in range(len(sizes)):
        leaves[s] = 1 if sizes[s] <= leaf else leaves[children[s, 0]] + leaves[children[s, 1]]
    begins[len(sizes) - 1] = 0
    for s in range(len(sizes) - 1, n - 1, -1):
        begins[children[s, 0]] = begins[s]
        begins[children[s, 1]] = begins[s] + sizes[children[s, 0]]
    for f in range(n):
        face_order[begins[f]] = f


@helper
def choose_set_to_open(open_sets, n, sizes, leaves, arity):
    """The set to open next, −1: none. The largest of those that are more than one node of leaves. Then the smallest, if there is room for
    all its leaves here."""
    largest, smallest = -1, -1
    for k in range(n):
        s = open_sets[k]
        if leaves[s] > arity and (largest < 0 or sizes[s] > sizes[open_sets[largest]]):
            largest = k
        if leaves[s] > 1 and (smallest < 0 or leaves[s] < leaves[open_sets[smallest]]):
            smallest = k
    if largest >= 0:
        return largest
    return smallest if smallest >= 0 and leaves[open_sets[smallest]] <= arity - n + 1 else -1


@kernel
def build_nodes(children, sizes, begins, leaves, arity, open_sets, stack, child, count, leaf_spans):
    """Build; (nodes, leaves). `waiting` (k, 3): parent, lane, set. Leaves are numbered as they come."""
    n_nodes, n_leaves, top = 0, 0, 1
    while top > 0:
        top -= 1
        node = n_nodes
        n_nodes += 1
        if stack[top, 0] >= 0:
            child[stack[top, 0], stack[top, 1]] = node
        open_sets[0], n = stack[top, 2], 1
        while n < arity:
            k = choose_set_to_open(open_sets, n, sizes, leaves, arity)
            if k < 0:
                break
            s = open_sets[k]
            open_sets[k], open_sets[n] = children[s, 0], children[s, 1]
            n += 1
        count[node] = n
        for k in range(n):
            s = open_sets[k]
            if leaves[s] == 1:
                leaf_spans[n_leaves, 0], leaf_spans[n_leaves, 1] = begins[s], begins[s] + sizes[s]
                child[node, k] = ~n_leaves
                n_leaves += 1
            else:
                stack[top, 0], stack[top, 1], stack[top, 2] = node, k, s
                top += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n, width = len(faces), WIDTH_OF_ARITY[arity]
    order, children, sizes, _ = build_binary_tree(points, faces, leaf)
    begins, leaves, face_order = np.empty_like(sizes), np.empty_like(sizes), np.empty(n, np.int32)
    layout_sets(children, sizes, leaf, begins, leaves, face_order)
    stack = np.zeros((MAX_LEVELS * arity, 3), np.int64)
    stack[0] = -1, 0, 2 * n - 2
    child, count = np.zeros((n, width), np.int32), np.zeros(n, np.int32)  # every node has two children or more
    leaf_spans = np.zeros((n, 2), np.int64)
    n_nodes, n_leaves = build_nodes(children, sizes, begins, leaves, arity, np.zeros(arity, np.int64), stack, child, count, leaf_spans)
    return tree_from_spans(child[:n_nodes], count[:n_nodes], leaf_spans[:n_leaves], order[face_order], faces)


register_builder(Builder("matching", build))
