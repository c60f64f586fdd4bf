"""Mesh-connectivity trees (paper A, 5.3.2): every subtree is a connected patch of the mesh. Deterministic.

Promise: the faces below a node, and those in a leaf, are a connected patch of one component, or else whole components. Connected means
through links, `tree/face_graph.py`: shared edges, and a shared vertex only where surfaces touch in it.

Whole components come first. They stand in a line, in which neighbours are near each other: the leaves of a SAH tree over their boxes.
That is all that positions are used for. A set of several is cut at the border nearest to its middle, in faces.

A patch is cut in two by growing two regions, face by face over links, from two faces that are far apart; each time the region moves that
has less of what it is to get. A region that is shut in stops, and the other takes the rest. Both are connected whatever happens. If one
gets less than a quarter, the patch is cut instead where one link of a spanning tree parts it best. So of n faces neither part has less
than (n − 1) / max(4, d), d the most links of a face: 3 on ordinary surfaces.

A node starts as one set; the largest is cut until there are `arity`. See `choose_span_to_split` for how it ends with leaves. Below
MAX_DEPTH levels, which it takes a strange mesh with many links to reach, sets are halved without looking at links.

Of two bumpy spheres of 20,480 faces, leaves are 6.5 of 8 full, and queries take 1.09 times as long as with `tree/sah.py`.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.tree import sah
from pliant.tree.build_state import append_children, finish_build, leaf_aligned_middle, pop_set, split_span, start_build
from pliant.tree.face_graph import build_face_graph
from pliant.tree.nodes import Builder, register_builder

MAX_DEPTH = 96                                                          # with log2 MAX_FACES less than MAX_LEVELS


@routine
def walk_patch(begins, adjacent, owner, patch, begin, first, old, new, parent):
    """List the patch that `first` is in, the faces owned by `old`, in patch[begin:], nearest first; they become owned by `new`. up[k]: the
    place from which the face at place k was reached."""
    head, tail = begin, begin + 1
    patch[begin], owner[first], parent[begin] = first, new, begin
    while head < tail:
        f = patch[head]
        for k in range(begins[f], begins[f + 1]):
            g = adjacent[k]
            if owner[g] == old:
                owner[g], patch[tail], parent[tail] = new, g, head
                tail += 1
        head += 1


@helper
def unassigned_neighbor(begins, adjacent, owner, f, old):
    """A face linked to f that is still owned by `old`; −1: none."""
    for k in range(begins[f], begins[f + 1]):
        if owner[adjacent[k]] == old:
            return adjacent[k]
    return np.int32(-1)


@routine
def grow_regions(begins, adjacent, owner, patch, begin, cut, end, one, two, old, new):
    """Grow regions from faces `one` and `two`, at both ends of the patch, owned by `new` and `new + 1`; where the second begins, which is
    the cut if that can be."""
    a, a_next, b, b_next = begin, begin + 1, end - 1, end - 2           # the face whose neighbours are next, the next place to fill
    patch[a], patch[b], owner[one], owner[two] = one, two, new, new + 1
    while a_next <= b_next:
        if b <= b_next or (a < a_next and (a_next - begin) * (end - cut) <= (end - 1 - b_next) * (cut - begin)):
            g = unassigned_neighbor(begins, adjacent, owner, patch[a], old)
            if g < 0:
                a += 1
            else:
                owner[g], patch[a_next] = new, g
                a_next += 1
        else:
            g = unassigned_neighbor(begins, adjacent, owner, patch[b], old)
            if g < 0:
                b -= 1
            else:
                owner[g], patch[b_next] = new + 1, g
                b_next -= 1
    return a_next


@routine
def split_at_link(owner, patch, begin, end, new, parent, size, spare):
    """Cut a walk where one of its steps parts it best; where the second part begins."""
    for k in range(begin, end):
        size[k] = 1
    best = begin + 1
    for k in range(end - 1, begin, -1):
        size[parent[k]] += size[k]
        best = k if abs(2 * size[k] - (end - begin)) < abs(2 * size[best] - (end - begin)) else best
    left, right = begin, 0
    for k in range(begin, end):
        if k == best or size[parent[k]] < 0:
            size[k] = -1
            spare[right] = patch[k]
            right += 1
        else:
            patch[left] = patch[k]
            left += 1
    for k in range(right):
        patch[left + k] = spare[k]
    for k in range(begin, end):
        owner[patch[k]] = new if k < left else new + 1
    return left


@routine
def split_patch(begins, adjacent, owner, patch, begin, cut, end, old, new, parent, size, spare):
    """Cut a patch in two that are connected, owned by `new` and `new + 1`, as near to the cut as can be; where the second begins."""
    walk_patch(begins, adjacent, owner, patch, begin, patch[begin], old, ~old, parent)
    one = patch[end - 1]
    walk_patch(begins, adjacent, owner, patch, begin, one, ~old, old, parent)
    found = grow_regions(begins, adjacent, owner, patch, begin, cut, end, one, patch[end - 1], old, new)
    if found == cut or 4 * min(found - begin, end - found) >= end - begin - 1:
        return found
    for k in range(begin, end):
        owner[patch[k]] = old
    walk_patch(begins, adjacent, owner, patch, begin, one, old, new, parent)
    return split_at_link(owner, patch, begin, end, new, parent, size, spare)


@helper
def component_at(starts, n, position):
    """The component that this place in the line belongs to."""
    low, high = 0, n
    while high - low > 1:
        half_way = (low + high) // 2
        if starts[half_way] <= position:
            low = half_way
        else:
            high = half_way
    return low


@helper
def choose_span_to_split(spans, n, arity, leaf):
    """The set to cut next, −1: none. The largest, if it is too large for one node of leaves. Then the smallest, if there is room for all
    its leaves here, as in `tree/sah.py`."""
    largest, smallest = 0, -1
    for s in range(n):
        faces = spans[s, 1] - spans[s, 0]
        largest = s if faces > spans[largest, 1] - spans[largest, 0] else largest
        if faces > leaf and (smallest < 0 or faces < spans[smallest, 1] - spans[smallest, 0]):
            smallest = s
    if spans[largest, 1] - spans[largest, 0] > leaf * arity:
        return largest
    if smallest < 0 or n == 1:
        return smallest
    faces = spans[smallest, 1] - spans[smallest, 0]
    return smallest if (faces + faces // 4 + leaf - 1) // leaf <= arity - n + 1 else -1


@kernel
def build_nodes(begins, adjacent, starts, n_starts, arity, leaf, limit, owner, patch, parent, size, spare, state):
    """Build; (nodes, leaves). The label of a set is its owner."""
    spans, n_nodes, n_leaves, top, new = state.spans, 0, 0, 1, n_starts
    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)

        n = 1
        while n < arity:
            s = choose_span_to_split(spans, n, arity, leaf)
            if s < 0:
                break
            begin, end, old = spans[s, 0], spans[s, 1], spans[s, 2]
            cut = leaf_aligned_middle(begin, end, leaf)
            first = component_at(starts, n_starts, begin)
            if depth >= limit:
                spans[s, 2] = spans[n, 2] = old
            elif starts[first + 1] < end:
                c = component_at(starts, n_starts, cut)
                c += 1 if c == first or (starts[c + 1] < end and starts[c + 1] - cut < cut - starts[c]) else 0
                cut = starts[c]
                spans[s, 2], spans[n, 2] = first, c
            else:
                cut = split_patch(begins, adjacent, owner, patch, begin, cut, end, old, new, parent, size, spare)
                spans[s, 2], spans[n, 2] = new, new + 1
                new += 2
            split_span(spans, s, cut, n)
            n += 1
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1
    return n_nodes, n_leaves


def order_components(corners, starts):
    """The components, of which corners (n, 3, 4) from starts[i] on are the i-th, in an order in which neighbours are near each other."""
    low, high = np.minimum.reduceat(corners.min(1), starts[:-1]), np.maximum.reduceat(corners.max(1), starts[:-1])
    first = np.arange(len(low), dtype=np.int32)
    second = first + len(low)
    return sah.build(np.concatenate([low, high]), np.stack([first, second, second], 1), 2, 1).faces[:, 0]


def build(points, faces, arity, leaf, limit=MAX_DEPTH):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n = len(faces)
    order, starts, begins, adjacent = build_face_graph(faces, len(points), lambda order,
                                                       starts: order_components(points[faces[order]], starts))
    components = len(starts) - 1
    owner = np.repeat(np.arange(components, dtype=np.int32), np.diff(starts))
    patch, state, scratch = np.arange(n, dtype=np.int32), start_build(n, arity, limit), np.empty((3, n), np.int32)
    n_nodes, n_leaves = build_nodes(begins, adjacent, starts, components, arity, leaf, limit, owner, patch, *scratch, state)
    return finish_build(state, n_nodes, n_leaves, order[patch], faces)


register_builder(Builder("connectivity", build))
