"""Bottom-up trees by graph matching (Bitar 2011, appendix, after Preis 1999): builder "matching". Deterministic.

Every face is a group at first. In each round groups that touch become pairs, and the pairs are the groups of the next round, until every
component is one group. Neighbours that share the greatest length of mesh edges go together, which makes patches that are round rather than
long; `tree/match_round.py` has the rules. Groups touch through links, `tree/face_graph.py`. Of an edge of three faces or more the links make a
chain, so that of such faces only neighbours in the chain count as sharing it.

Whole components stand in a line as in `tree/connectivity.py`, and a set of several is cut at the border nearest to its middle, in faces.

Promise: two patches that become a pair are one patch, unless a component leaves more groups without a mate than a balanced tree can wait
for. Where links make a tree that happens: in discs of 3,000 faces grown at random one pair in 200 does not touch. On ordinary surfaces it
does not. A component of n faces takes ⌈log2 n⌉ + SLACK rounds at most, most often ⌈log2 n⌉; joining components adds two levels or so.

Nodes are made of that binary tree from the top. A set of at most `leaf` faces is a leaf: with leaf=8 the first three rounds are inside of
leaves, and as pairs hold powers of two of faces, nearly all leaves are full; with leaf=7 there are four in most. A node starts as one set,
and the largest is opened until there are `arity`; see `which_to_open`. So with arity 8 three rounds become one node.

Positions are used for the lengths of edges alone: where meshes stretch little, the tree fits all their shapes equally. Of two bumpy spheres
of 20,480 faces all leaves are full, 2,560 against 2,739 of `tree/sah.py`, and n_v is 1.35 times as large, with `tree/connectivity.py` 1.54
times. Of two sheets that were rolled up when the trees were built n_v is a seventh of SAH's. See docs/updates.md.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.tree.connectivity import component_at, line_of
from pliant.tree.face_graph import links_of
from pliant.tree.match_round import graph_of, pair_up
from pliant.tree.nodes import MOST_LEVELS, WIDTHS, Builder, register, tree_of_spans

SLACK = 2                                                               # rounds beyond ⌈log2 n⌉ that a component may take

class Halves(NamedTuple):
    """A binary tree over n faces. Number k < n is the k-th face of `order`, others are sets: `halves` (2n − 1, 2) int32 holds the two that
    each consists of, of lower number, and `sizes` (2n − 1,) int32 the faces in it. The last is the root. `apart`: how many sets consist of
    two that do not touch, though of one component."""
    order: np.ndarray
    halves: np.ndarray
    sizes: np.ndarray
    apart: int


# --- groups --------------------------------------------------------------------------------------------------------------------

@helper
def names(faces, f, v):
    """Is v a corner of face f?"""
    return faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v


@helper
def length(points, a, b):
    """The distance of two points, in float64: squares of float32 neither overflow nor vanish there."""
    x, y = np.float64(points[a, 0]) - np.float64(points[b, 0]), np.float64(points[a, 1]) - np.float64(points[b, 1])
    z = np.float64(points[a, 2]) - np.float64(points[b, 2])
    return np.sqrt(x * x + y * y + z * z)


@helper
def shared_length(points, faces, f, g):
    """The total length of the edges that two faces share: between corners of both, of which each counts once."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    has_a, has_b, has_c = names(faces, g, a), b != a and names(faces, g, b), c != a and c != b and names(faces, g, c)
    total = length(points, a, b) if has_a and has_b else 0.0
    total += length(points, b, c) if has_b and has_c else 0.0
    return total + (length(points, c, a) if has_c and has_a else 0.0)


@kernel
def list_edges(begins, near, points, faces, seen, edges, weights):
    """Fill edges (m, 2) and weights with the links between faces, each pair once; how many there are. `seen` is −1 at first."""
    n = 0
    for f in range(len(faces)):
        for k in range(begins[f], begins[f + 1]):
            g = near[k]
            if g > f and seen[g] != f:
                seen[g] = f
                edges[n, 0], edges[n, 1], weights[n] = f, g, shared_length(points, faces, f, g)
                n += 1
    return n


@kernel
def merge_groups(mate, sets, waits, halves, sizes, n_sets, group, sets_after, waits_after):
    """Number the groups of the next round, by their lower member; (groups, sets). `sets`: what set each group is."""
    n = 0
    for g in range(len(mate)):
        other = mate[g]
        if other < 0:
            sets_after[n], waits_after[n] = sets[g], waits[g] + 1
        elif other > g:
            halves[n_sets, 0], halves[n_sets, 1] = sets[g], sets[other]
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
def merge_edges(mate, group, begins, near, through, weights, seen, edges_after, weights_after):
    """The edges between the groups of the next round, with the weights of all that they consist of; how many there are. Each is summed
    up once, from its lower group, so that it has one weight. `seen` is −1 at first: where the edge to a group was put last."""
    n = 0
    for g in range(len(mate)):
        if 0 <= mate[g] < g:
            continue
        start, member = n, np.int64(g)
        while member >= 0:
            for k in range(begins[member], begins[member + 1]):
                other = group[near[k]]
                if other <= group[g]:
                    continue
                if seen[other] < start:
                    seen[other] = n
                    edges_after[n, 0], edges_after[n, 1], weights_after[n] = group[g], other, 0.0
                    n += 1
                weights_after[seen[other]] += weights[through[k]]
            member = np.int64(mate[g]) if member == g else np.int64(-1)
    return n


@kernel
def join_components(starts, tops, leaf, halves, sizes, waiting):
    """Sets of several components, cut as near as can be to the middle, in whole leaves. From the root down: parents have the higher
    numbers. `waiting` (k, 3): first component, the one after the last, the place in `halves` to say so, −1: none."""
    n, top, number = len(tops), 1, len(sizes) - 1
    flat = halves.reshape(-1)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, n, -1
    while top > 0:
        top -= 1
        first, last, place = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        if place >= 0:
            flat[place] = number if last - first > 1 else tops[first]
        if last - first == 1:
            continue
        begin, end = starts[first], starts[last]
        leaves = max(2, (end - begin + leaf - 1) // leaf)
        cut = begin + (end - begin) * (leaves // 2) // leaves
        c = component_at(starts, n, cut)
        c += 1 if c == first or (c + 1 < last and starts[c + 1] - cut < cut - starts[c]) else 0
        sizes[number] = end - begin
        waiting[top, 0], waiting[top, 1], waiting[top, 2] = first, c, 2 * number
        waiting[top + 1, 0], waiting[top + 1, 1], waiting[top + 1, 2] = c, last, 2 * number + 1
        number, top = number - 1, top + 2


def halves_of(points, faces, leaf):
    """The Halves of faces (n, 3) int32 of points (m, 4) float32."""
    n = len(faces)
    order, starts, begins, near = links_of(faces, len(points), lambda order, starts: line_of(points[faces[order]], starts))
    edges, weights = np.empty((len(near) // 2, 2), np.int32), np.empty(len(near) // 2)
    m = list_edges(begins, near, points, faces[order], np.full(n, -1, np.int32), edges, weights)
    halves, sizes = np.full((2 * n - 1, 2), -1, np.int32), np.ones(2 * n - 1, np.int32)
    sets, waits, group = np.arange(n, dtype=np.int32), np.zeros(n, np.int8), np.empty(n, np.int32)
    n_sets, rounds, apart = n, 0, 0
    while m > 0:
        graph = graph_of(edges[:m], weights[:m], len(sets))
        rounds += 1
        mate, more = pair_up(graph, waits, sizes[sets], max(rounds - SLACK, 0))
        apart += more
        sets_after, waits_after, seen = np.empty_like(sets), np.empty_like(waits), np.full(len(sets), -1, np.int32)
        n_groups, n_sets = merge_groups(mate, sets, waits, halves, sizes, n_sets, group, sets_after, waits_after)
        edges, weights = np.empty_like(graph.edges), np.empty_like(graph.weights)
        m = merge_edges(mate, group, graph.begins, graph.near, graph.through, graph.weights, seen, edges, weights)
        sets, waits = sets_after[:n_groups], waits_after[:n_groups]
    if len(sets) > 1:                                                   # one group a component, in the order of the line
        join_components(starts, sets, leaf, halves, sizes, np.empty((len(sets) + 1, 3), np.int64))
    return Halves(order, halves, sizes, apart)


# --- nodes ---------------------------------------------------------------------------------------------------------------------

@kernel
def lay_out(halves, sizes, leaf, begins, leaves, line):
    """Where the faces of every set begin in the line of all, and how many leaves it makes."""
    n = (len(sizes) + 1) // 2
    for s in range(len(sizes)):
        leaves[s] = 1 if sizes[s] <= leaf else leaves[halves[s, 0]] + leaves[halves[s, 1]]
    begins[len(sizes) - 1] = 0
    for s in range(len(sizes) - 1, n - 1, -1):
        begins[halves[s, 0]] = begins[s]
        begins[halves[s, 1]] = begins[s] + sizes[halves[s, 0]]
    for f in range(n):
        line[begins[f]] = f


@helper
def which_to_open(opened, n, sizes, leaves, arity):
    """The set to open next, −1: none. The largest of those that are more than one node of leaves. Then the smallest, if there is room for
    all its leaves here."""
    most, fewest = -1, -1
    for k in range(n):
        s = opened[k]
        if leaves[s] > arity and (most < 0 or sizes[s] > sizes[opened[most]]):
            most = k
        if leaves[s] > 1 and (fewest < 0 or leaves[s] < leaves[opened[fewest]]):
            fewest = k
    if most >= 0:
        return most
    return fewest if fewest >= 0 and leaves[opened[fewest]] <= arity - n + 1 else -1


@kernel
def make_nodes(halves, sizes, begins, leaves, arity, opened, waiting, child, count, leaf_spans):
    """Build; (nodes, leaves). `waiting` (k, 3): parent, lane, set. Leaves are numbered as they come."""
    n_nodes, n_leaves, top = 0, 0, 1
    while top > 0:
        top -= 1
        node = n_nodes
        n_nodes += 1
        if waiting[top, 0] >= 0:
            child[waiting[top, 0], waiting[top, 1]] = node
        opened[0], n = waiting[top, 2], 1
        while n < arity:
            k = which_to_open(opened, n, sizes, leaves, arity)
            if k < 0:
                break
            s = opened[k]
            opened[k], opened[n] = halves[s, 0], halves[s, 1]
            n += 1
        count[node] = n
        for k in range(n):
            s = opened[k]
            if leaves[s] == 1:
                leaf_spans[n_leaves, 0], leaf_spans[n_leaves, 1] = begins[s], begins[s] + sizes[s]
                child[node, k] = ~n_leaves
                n_leaves += 1
            else:
                waiting[top, 0], waiting[top, 1], waiting[top, 2] = node, k, s
                top += 1
    return n_nodes, n_leaves


def build(points, faces, arity, leaf):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n, width = len(faces), WIDTHS[arity]
    order, halves, sizes, _ = halves_of(points, faces, leaf)
    begins, leaves, line = np.empty_like(sizes), np.empty_like(sizes), np.empty(n, np.int32)
    lay_out(halves, sizes, leaf, begins, leaves, line)
    waiting = np.zeros((MOST_LEVELS * arity, 3), np.int64)
    waiting[0] = -1, 0, 2 * n - 2
    child, count = np.zeros((n, width), np.int32), np.zeros(n, np.int32)       # every node has two children or more
    leaf_spans = np.zeros((n, 2), np.int64)
    n_nodes, n_leaves = make_nodes(halves, sizes, begins, leaves, arity, np.zeros(arity, np.int64), waiting, child, count, leaf_spans)
    return tree_of_spans(child[:n_nodes], count[:n_nodes], leaf_spans[:n_leaves], order[line], faces)


register(Builder("matching", build))
