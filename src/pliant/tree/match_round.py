"""Who goes together with whom: one round of matching, for `tree/matching.py` (Bitar 2011, appendix; Preis 1999).

Groups of faces are the vertices of a graph. Its edges join groups that touch; the weight of an edge is the total length of the mesh edges
that the two share, 0 where surfaces only touch in a vertex. A pair is made in three steps.

1. Two groups that are each other's best neighbour, among those still free, are a pair (Preis). Edges are in a strict order: those of a
   group that has waited come first, the longer it has waited, then the heavier edge, then the lower number. Preis walks from group to best
   neighbour until that is mutual. In a strict order one pass over the edges, the best first, finds the very same pairs, and a hub, to which
   walks would come back again and again, costs no more than its edges.
2. No two groups that are left touch. Paths join them on which every other step is a pair; exchanging the steps of such a path makes one
   pair more. They are found breadth-first from all that are left at once: alternating trees grow, a pair belongs to one tree at most, so
   that no path names a group twice, and where two trees meet there is a path. A phase grows all trees, those that have met no further, and
   costs as much as there are edges. What odd cycles hide is not found (that takes blossoms), so few are left, not always the fewest; a
   phase that begins with the last group finds much of what one that begins with the first does not. Without odd cycles they are the
   fewest.
3. Some graphs leave many whatever one does: of a hub and what hangs on it, one pair. Those that are left wait for the next round and are
   first there. But no more may wait than a balanced tree allows: the caller says to how many groups a component must come down. Beyond
   that, groups left become pairs although they do not touch, those that have waited before first: neighbours in the order in which a walk,
   depth first, comes to them, so that all steps between them are no more than twice the groups.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import kernel, routine

MAX_PHASES = 24                                                         # of step 2, at most; surfaces take 5 or so
UNMATCHED = -1
INNER = -2                                                              # a group that a tree passes through to the other of its pair


class Graph(NamedTuple):
    """`edges` (m, 2) int32, the lower group first, and their `weights` (m,) float64. Group g touches adjacent[begins[g] : begins[g + 1]],
    through the edges of these numbers in `edge_ids`; all int32."""
    edges: np.ndarray
    weights: np.ndarray
    begins: np.ndarray
    adjacent: np.ndarray
    edge_ids: np.ndarray


class Matching(NamedTuple):
    """`mate` (n,) int32, −1 for a group that is left, and how many of the pairs do not touch."""
    mate: np.ndarray
    n_disconnected: int


def build_graph(edges, weights, n):
    """The Graph of n groups."""
    begins, adjacent, edge_ids = np.zeros(n + 1, np.int32), np.empty(2 * len(edges), np.int32), np.empty(2 * len(edges), np.int32)
    fill_adjacency(edges, begins, adjacent, edge_ids)
    return Graph(edges, weights, begins, adjacent, edge_ids)


def match_groups(graph, waits, sizes, halvings):
    """The Matching of these groups, which have waited for so many rounds and hold so many faces. A component of n faces is left with
    n / 2^halvings groups at most, rounded up; it must not have had more than twice as many."""
    n = len(waits)
    mate = np.full(n, UNMATCHED, np.int32)
    n_unmatched = n - 2 * match_greedily(graph.edges, np.lexsort((-graph.weights, -waits[graph.edges].max(1))), mate)
    root, parent, queue = np.empty((3, n), np.int32)
    found, before = 1, 1                                                # in this phase and the one before it
    for phase in range(MAX_PHASES):
        if n_unmatched < 2 or found + before == 0:
            break
        before, found = found, augment_paths(graph.begins, graph.adjacent, mate, phase % 2 == 1, root, parent, queue)
        n_unmatched -= 2 * found
    return Matching(mate, match_leftovers(graph.begins, graph.adjacent, mate, waits, sizes, halvings, root, parent, queue)
                    if n_unmatched > 1 else 0)


@kernel
def fill_adjacency(edges, begins, adjacent, edge_ids):
    """Fill begins, 0 at first, adjacent and edge_ids."""
    for i in range(len(edges)):
        begins[edges[i, 0]] += 1
        begins[edges[i, 1]] += 1
    for g in range(1, len(begins)):
        begins[g] += begins[g - 1]
    for i in range(len(edges) - 1, -1, -1):
        a, b = edges[i, 0], edges[i, 1]
        begins[a] -= 1
        begins[b] -= 1
        adjacent[begins[a]], adjacent[begins[b]] = b, a
        edge_ids[begins[a]] = edge_ids[begins[b]] = i


@kernel
def match_greedily(edges, order, mate):
    """Step 1; how many pairs. `order`: the numbers of the edges, the best first."""
    n = 0
    for i in order:
        a, b = edges[i, 0], edges[i, 1]
        if mate[a] < 0 and mate[b] < 0:
            mate[a], mate[b] = b, a
            n += 1
    return n


@kernel
def augment_paths(begins, adjacent, mate, backwards, root, parent, queue):
    """One phase of step 2; how many pairs it adds. root[g]: where the tree of g began, −1: in none. up[g]: from where the pair of g was
    reached through its mate; INNER for that mate. The trees of a path that was exchanged are left alone until the next phase."""
    n, tail = 0, 0
    for k in range(len(mate)):
        g = len(mate) - 1 - k if backwards else k
        root[g], parent[g] = -1, -1
        if mate[g] < 0:
            root[g], queue[tail] = g, g
            tail += 1
    head = 0
    while head < tail:
        g = queue[head]
        head += 1
        for k in range(begins[g], begins[g + 1]):
            if mate[root[g]] >= 0:
                break                                                   # this tree has met another
            h = adjacent[k]
            if root[h] < 0:
                other = mate[h]
                root[h], root[other], parent[h], parent[other] = root[g], root[g], INNER, g
                queue[tail] = other
                tail += 1
            elif root[h] != root[g] and parent[h] != INNER and mate[root[h]] < 0:
                augment_to_root(mate, root, parent, g, h)
                augment_to_root(mate, root, parent, h, g)
                n += 1
    return n


@routine
def augment_to_root(mate, root, parent, g, new):
    """Give g this new mate, its old one to the group before them on the path, and so on up to the root, which had none."""
    first = root[g]
    while g != first:
        old, before = mate[g], parent[g]
        mate[g], new = new, old
        mate[old] = before
        g = before
    mate[g] = new


@kernel
def match_leftovers(begins, adjacent, mate, waits, sizes, halvings, cursor, stack, unmatched):
    """Step 3, component by component; how many pairs that do not touch. `at`: the next neighbour to go to, −1 where no walk has been."""
    n_disconnected = 0
    for g in range(len(mate)):
        cursor[g] = -1
    for first in range(len(mate)):
        if cursor[first] >= 0:
            continue
        stack[0], top = first, 1
        groups, faces, n_unmatched, n_waited = 0, 0, 0, 0               # groups after this round
        while top > 0:
            g = stack[top - 1]
            if cursor[g] < 0:
                cursor[g] = begins[g]
                groups += 1 if mate[g] < g else 0                       # or none
                faces += sizes[g]
                if mate[g] < 0:
                    unmatched[n_unmatched] = g
                    n_unmatched += 1
                    n_waited += 1 if waits[g] > 0 else 0
            while cursor[g] < begins[g + 1] and cursor[adjacent[cursor[g]]] >= 0:
                cursor[g] += 1
            if cursor[g] == begins[g + 1]:
                top -= 1
            else:
                stack[top] = adjacent[cursor[g]]
                top += 1
        excess = groups - ((faces + (1 << halvings) - 1) >> halvings)
        if excess > 0:
            n_disconnected += excess
            match_in_order(mate, waits, unmatched, n_unmatched, excess, n_waited >= 2 * excess)
    return n_disconnected


@routine
def match_in_order(mate, waits, unmatched, n_unmatched, n, only_waited):
    """Make n pairs of the groups in `left`, of neighbours; only of those that have waited, if so told."""
    first = np.int32(-1)
    for k in range(n_unmatched):
        if n == 0:
            return
        g = unmatched[k]
        if only_waited and waits[g] == 0:
            continue
        if first < 0:
            first = g
        else:
            mate[first], mate[g] = g, first
            first = np.int32(-1)
            n -= 1
