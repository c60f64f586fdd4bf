"""Mesh-connectivity trees (paper A, 5.3.2): every subtree is a connected patch of the mesh. Deterministic.

Promise: the faces below a node, and those in a leaf, are a connected patch of one component, or else whole components. Connected means
through links, `tree/face_graph.py`: shared edges, and a shared vertex only where surfaces touch in it.

Whole components come first. They stand in a line, in which neighbours are near each other: the leaves of a SAH tree over their boxes.
That is all that positions are used for. A set of several is cut at the border nearest to its middle, in faces.

A patch is cut in two by growing two regions, face by face over links, from two faces that are far apart; each time the region moves that
has less of what it is to get. A region that is shut in stops, and the other takes the rest. Both are connected whatever happens. If one
gets less than a quarter, the patch is cut instead where one link of a spanning tree parts it best. So of n faces neither part has less
than (n − 1) / max(4, d), d the most links of a face: 3 on ordinary surfaces.

A node starts as one set; the largest is cut until there are `arity`. See `which_to_cut` for how it ends with leaves. Below DEPTH_LIMIT
levels, which it takes a strange mesh with many links to reach, sets are halved without looking at links.

Of two bumpy spheres of 20,480 faces, leaves are 6.5 of 8 full, and queries take 1.09 times as long as with `tree/sah.py`.
"""
import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.tree import sah
from pliant.tree.face_graph import links_of
from pliant.tree.nodes import WIDTHS, Builder, register, tree_of_spans

DEPTH_LIMIT = 96                                                        # with log2 MOST_FACES less than MOST_LEVELS


@routine
def walk(begins, near, owner, patch, begin, first, old, new, up):
    """List the patch that `first` is in, the faces owned by `old`, in patch[begin:], nearest first; they become owned by `new`. up[k]: the
    place from which the face at place k was reached."""
    head, tail = begin, begin + 1
    patch[begin], owner[first], up[begin] = first, new, begin
    while head < tail:
        f = patch[head]
        for k in range(begins[f], begins[f + 1]):
            g = near[k]
            if owner[g] == old:
                owner[g], patch[tail], up[tail] = new, g, head
                tail += 1
        head += 1


@helper
def next_to(begins, near, owner, f, old):
    """A face linked to f that is still owned by `old`; −1: none."""
    for k in range(begins[f], begins[f + 1]):
        if owner[near[k]] == old:
            return near[k]
    return np.int32(-1)


@routine
def grow_two(begins, near, owner, patch, begin, cut, end, one, two, old, new):
    """Grow regions from faces `one` and `two`, at both ends of the patch, owned by `new` and `new + 1`; where the second begins, which is
    the cut if that can be."""
    a, a_next, b, b_next = begin, begin + 1, end - 1, end - 2           # the face whose neighbours are next, the next place to fill
    patch[a], patch[b], owner[one], owner[two] = one, two, new, new + 1
    while a_next <= b_next:
        if b <= b_next or (a < a_next and (a_next - begin) * (end - cut) <= (end - 1 - b_next) * (cut - begin)):
            g = next_to(begins, near, owner, patch[a], old)
            if g < 0:
                a += 1
            else:
                owner[g], patch[a_next] = new, g
                a_next += 1
        else:
            g = next_to(begins, near, owner, patch[b], old)
            if g < 0:
                b -= 1
            else:
                owner[g], patch[b_next] = new + 1, g
                b_next -= 1
    return a_next


@routine
def part_at_link(owner, patch, begin, end, new, up, size, spare):
    """Cut a walk where one of its steps parts it best; where the second part begins."""
    for k in range(begin, end):
        size[k] = 1
    best = begin + 1
    for k in range(end - 1, begin, -1):
        size[up[k]] += size[k]
        best = k if abs(2 * size[k] - (end - begin)) < abs(2 * size[best] - (end - begin)) else best
    left, right = begin, 0
    for k in range(begin, end):
        if k == best or size[up[k]] < 0:
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
def part_patch(begins, near, owner, patch, begin, cut, end, old, new, up, size, spare):
    """Cut a patch in two that are connected, owned by `new` and `new + 1`, as near to the cut as can be; where the second begins."""
    walk(begins, near, owner, patch, begin, patch[begin], old, ~old, up)
    one = patch[end - 1]
    walk(begins, near, owner, patch, begin, one, ~old, old, up)
    found = grow_two(begins, near, owner, patch, begin, cut, end, one, patch[end - 1], old, new)
    if found == cut or 4 * min(found - begin, end - found) >= end - begin - 1:
        return found
    for k in range(begin, end):
        owner[patch[k]] = old
    walk(begins, near, owner, patch, begin, one, old, new, up)
    return part_at_link(owner, patch, begin, end, new, up, size, spare)


@helper
def component_at(starts, n, place):
    """The component that this place in the line belongs to."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= place:
            low = middle
        else:
            high = middle
    return low


@helper
def which_to_cut(spans, n, arity, leaf):
    """The set to cut next, −1: none. The largest, if it is too large for one node of leaves. Then the smallest, if there is room for all
    its leaves here, as in `tree/sah.py`."""
    most, fewest = 0, -1
    for s in range(n):
        faces = spans[s, 1] - spans[s, 0]
        most = s if faces > spans[most, 1] - spans[most, 0] else most
        if faces > leaf and (fewest < 0 or faces < spans[fewest, 1] - spans[fewest, 0]):
            fewest = s
    if spans[most, 1] - spans[most, 0] > leaf * arity:
        return most
    if fewest < 0 or n == 1:
        return fewest
    faces = spans[fewest, 1] - spans[fewest, 0]
    return fewest if (faces + faces // 4 + leaf - 1) // leaf <= arity - n + 1 else -1


@kernel
def grow_tree(begins, near, starts, n_starts, arity, leaf, limit, owner, patch, up, size, spare, spans, waiting, child, count, leaf_spans):
    """Build; (nodes, leaves). `waiting` (k, 6): parent, lane, begin, end, owner, depth; `spans` (arity, 3) begin, end, owner. Leaves are
    numbered as they come."""
    n_nodes, n_leaves, top, new = 0, 0, 1, n_starts
    while top > 0:
        top -= 1
        node, depth = n_nodes, waiting[top, 5]
        n_nodes += 1
        if waiting[top, 0] >= 0:
            child[waiting[top, 0], waiting[top, 1]] = node
        spans[0, 0], spans[0, 1], spans[0, 2] = waiting[top, 2], waiting[top, 3], waiting[top, 4]

        n = 1
        while n < arity:
            s = which_to_cut(spans, n, arity, leaf)
            if s < 0:
                break
            begin, end, old = spans[s, 0], spans[s, 1], spans[s, 2]
            leaves = (end - begin + leaf - 1) // leaf
            cut = begin + (end - begin) * (leaves // 2) // leaves       # whole leaves, all equally full
            first = component_at(starts, n_starts, begin)
            if depth >= limit:
                spans[s, 2] = spans[n, 2] = old
            elif starts[first + 1] < end:
                c = component_at(starts, n_starts, cut)
                c += 1 if c == first or (starts[c + 1] < end and starts[c + 1] - cut < cut - starts[c]) else 0
                cut = starts[c]
                spans[s, 2], spans[n, 2] = first, c
            else:
                cut = part_patch(begins, near, owner, patch, begin, cut, end, old, new, up, size, spare)
                spans[s, 2], spans[n, 2] = new, new + 1
                new += 2
            spans[s, 0], spans[s, 1], spans[n, 0], spans[n, 1] = begin, cut, cut, end
            n += 1

        count[node] = n
        for s in range(n):
            if spans[s, 1] - spans[s, 0] <= leaf:
                leaf_spans[n_leaves, 0], leaf_spans[n_leaves, 1] = spans[s, 0], spans[s, 1]
                child[node, s] = ~n_leaves
                n_leaves += 1
            else:
                waiting[top, 0], waiting[top, 1], waiting[top, 5] = node, s, depth + 1
                waiting[top, 2], waiting[top, 3], waiting[top, 4] = spans[s, 0], spans[s, 1], spans[s, 2]
                top += 1
    return n_nodes, n_leaves


def line_of(corners, starts):
    """The components, of which corners (n, 3, 4) from starts[i] on are the i-th, in an order in which neighbours are near each other."""
    low, high = np.minimum.reduceat(corners.min(1), starts[:-1]), np.maximum.reduceat(corners.max(1), starts[:-1])
    first = np.arange(len(low), dtype=np.int32)
    second = first + len(low)
    return sah.build(np.concatenate([low, high]), np.stack([first, second, second], 1), 2, 1).faces[:, 0]


def build(points, faces, arity, leaf, limit=DEPTH_LIMIT):
    """A tree over the faces (f, 3) int32 of points (n, 4) float32."""
    n, width = len(faces), WIDTHS[arity]
    order, starts, begins, near = links_of(faces, len(points), lambda order, starts: line_of(points[faces[order]], starts))
    components = len(starts) - 1
    owner = np.repeat(np.arange(components, dtype=np.int32), np.diff(starts))
    waiting = np.zeros(((limit + n.bit_length() + 2) * arity, 6), np.int64)
    waiting[0] = -1, 0, 0, n, 0, 0
    child, count = np.zeros((n, width), np.int32), np.zeros(n, np.int32)       # every node has two children or more
    leaf_spans = np.zeros((n, 2), np.int64)
    patch = np.arange(n, dtype=np.int32)
    up, size, spare = np.empty((3, n), np.int32)
    n_nodes, n_leaves = grow_tree(begins, near, starts, components, arity, leaf, limit, owner, patch, up, size, spare,
                                  np.zeros((arity, 3), np.int64), waiting, child, count, leaf_spans)
    return tree_of_spans(child[:n_nodes], count[:n_nodes], leaf_spans[:n_leaves], order[patch], faces)


register(Builder("connectivity", build))
