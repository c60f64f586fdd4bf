"""Local: a few vertices have moved, so only the paths above them follow (thesis C 7.3.4, "local deformation"): O(m + log n) to O(m log n).

Whatever the policy: nodes that are true stay true, nodes that are stale stay stale. A lane above moved vertices is made from its child, or,
where that is stale or a leaf, from the vertices under it. If more than a share of the leaves is touched, everything follows as after any
update: that is never more than a full pass.

An unchanged node does not end the climb in general. An ancestor may have been fitted to vertices, more tightly than its children merge; it
encloses the old positions, and the new ones may lie outside it and inside the unchanged merge. Only for volume types whose fits contain
their merges (`VolumeType.merge_exact`) is an unchanged merge inside every ancestor: there the climb ends.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.soa import lanes, load_bounds, prefetch_stamp, publish, put_bounds, put_lane, stamp
from pliant.refit.refit_node import enclose_range
from pliant.tree.nodes import NEVER_STAMPED
from pliant.volume.protocol import merge

MAX_LEAF_SHARE = 4                                                      # one leaf in so many: more is left to a full pass


class VertexPaths(NamedTuple):
    """The way up from vertices: the leaves that name vertex v are leaves[begins[v] : begins[v + 1]]; parents (n, 3) are the node and lane
    above each node, and its level, 0 for the root. touched (m,) uint8, all 0, and room for leaves are scratch."""
    begins: np.ndarray
    leaves: np.ndarray
    parents: np.ndarray
    dirty: "DirtyNodes"
    touched: np.ndarray
    scratch: np.ndarray


class DirtyNodes(NamedTuple):
    """The nodes with marked lanes, a linked list a level: so the work depends on how many there are, not on the size of the tree. lanes
    (n,) uint8 are the marks of each node, 0 where it is in no list; heads (levels,) int32 the first node of each list, −1 without one;
    next_node (n,) int32 the one after each."""
    lanes: np.ndarray
    heads: np.ndarray
    next_node: np.ndarray


def vertex_paths(tree, n_points):
    """The VertexPaths of a tree."""
    n_nodes = len(tree.child)
    begins, leaves = np.zeros(n_points + 1, np.int32), np.empty(len(tree.vertices), np.int32)
    parents = np.zeros((n_nodes, 3), np.int32)
    n = list_paths(tree.child, tree.count, tree.vertices, tree.begins, begins, leaves, parents)
    dirty = DirtyNodes(np.zeros(n_nodes, np.uint8), np.full(parents[:, 2].max(initial=0) + 1, -1, np.int32), np.zeros(n_nodes, np.int32))
    return VertexPaths(begins, leaves[:n].copy(), parents, dirty, np.zeros(len(tree.faces), np.uint8),
                       np.zeros(len(tree.faces) // MAX_LEAF_SHARE + 1, np.int32))


@kernel
def list_paths(child, count, vertices, leaf_begins, begins, leaves, parents):
    """Fill begins, leaves and parents; how many leaves are listed. The last vertex of a leaf may be named several times in a row."""
    for i in range(len(child)):                                         # children come after parents
        for k in range(count[i]):
            if child[i, k] >= 0:
                parents[child[i, k], 0], parents[child[i, k], 1], parents[child[i, k], 2] = i, k, parents[i, 2] + 1
    for leaf in range(len(leaf_begins) - 1):
        for at in range(leaf_begins[leaf], leaf_begins[leaf + 1]):
            if at == leaf_begins[leaf] or vertices[at] != vertices[at - 1]:
                begins[vertices[at] + 1] += 1
    for v in range(1, len(begins)):
        begins[v] += begins[v - 1]
    n = begins[len(begins) - 1]
    for leaf in range(len(leaf_begins) - 2, -1, -1):
        for at in range(leaf_begins[leaf], leaf_begins[leaf + 1]):
            if at == leaf_begins[leaf] or vertices[at] != vertices[at - 1]:
                v = vertices[at]
                begins[v + 1] -= 1
                leaves[begins[v + 1]] = leaf
    for v in range(len(begins) - 1):
        begins[v] = begins[v + 1]
    begins[len(begins) - 1] = n
    return n


@helper
def mark_lane(dirty, parents, i, k):
    """Mark a lane of a node, which joins the list of its level with its first mark."""
    if dirty.lanes[i] == 0:
        level = parents[i, 2]
        dirty.next_node[i] = dirty.heads[level]
        dirty.heads[level] = i
    dirty.lanes[i] |= np.uint8(1) << np.uint8(k)


@kernel
def mark_leaves(moved, begins, vertex_leaves, slots, leaves, parents, dirty, touched, scratch):
    """Mark the lanes of all leaves that name one of the moved vertices, and let their triangles be filled again; False, and no marks, if
    there is no room for so many."""
    n, capacity = 0, len(scratch) - 1
    for v in moved:
        for at in range(begins[v], begins[v + 1]):
            leaf = np.int64(vertex_leaves[at])
            if touched[leaf] == 0 and n <= capacity:
                touched[leaf], scratch[n] = 1, leaf
                prefetch_stamp(leaves, leaf)                            # cold, most often
                n += 1
        if n > capacity:
            break
    for k in range(n):
        leaf = np.int64(scratch[k])
        touched[leaf] = 0
        if n <= capacity:
            mark_lane(dirty, parents, np.int64(slots[leaf, 0]), slots[leaf, 1])
            publish(leaves, leaf, np.int32(NEVER_STAMPED))
    return n <= capacity


@kernel
def refit_paths(nodes, points, vertices, leaf_begins, spans, order, parents, dirty, frame, merge_exact):
    """Refit what is marked and was up to date, deepest level first; the number of volumes set. Without spans there must be no stale
    nodes."""
    n_refitted = 0
    for level in range(len(dirty.heads) - 1, -1, -1):
        i = np.int64(dirty.heads[level])
        dirty.heads[level] = -1
        while i >= 0:
            dirty_lanes, changed = np.int64(dirty.lanes[i]), True
            dirty.lanes[i] = 0
            if stamp(nodes, i) == frame:
                like = load_bounds(nodes, i)
                for k in range(nodes[i]["count"]):
                    if (dirty_lanes >> k) & 1 == 0:
                        continue
                    child = np.int64(nodes[i]["child"][k])
                    if child < 0:
                        begin, end = np.int64(leaf_begins[~child]), np.int64(leaf_begins[~child + 1])
                        put_lane(nodes, i, k, enclose_range(like, points, vertices, begin, end))
                    elif stamp(nodes, child) == frame:
                        put_lane(nodes, i, k, load_bounds(nodes, child))
                    else:
                        put_lane(nodes, i, k, enclose_range(like, points, order, spans[i, k, 0], spans[i, k, 1]))
                    n_refitted += 1
                made = merge(lanes(nodes, i))
                changed = not merge_exact or made != like
                put_bounds(nodes, i, made)
            if changed and i > 0:
                mark_lane(dirty, parents, np.int64(parents[i, 0]), parents[i, 1])
            i = np.int64(dirty.next_node[i])
    return n_refitted


def refit_partial(bvh, moved):
    """Let the paths above these vertices follow; False if they are too many, and then nothing has changed."""
    tree = bvh.tree
    if bvh.paths is None:
        bvh.paths = vertex_paths(tree, len(bvh.points) // 4)
    paths, spans = bvh.paths, bvh.tree_state
    if not mark_leaves(moved, paths.begins, paths.leaves, tree.slots, bvh.leaves, paths.parents, paths.dirty, paths.touched,
                       paths.scratch):
        return False
    lists = NO_SPANS if spans is None else (spans.spans, spans.order)
    bvh.n_refitted += refit_paths(bvh.nodes, bvh.rows, tree.vertices, tree.begins, *lists, paths.parents, paths.dirty,
                                  np.int32(bvh.frame), bvh.options.volume_type.merge_exact)
    return True


NO_SPANS = np.zeros((0, 0, 2), np.int64), np.zeros(0, np.int32)
