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

from pliant.core.jit import kernel
from pliant.core.soa import lanes, load_bounds, prefetch_stamp, publish, put_bounds, put_lane, stamp
from pliant.refit.refit_node import enclose_range
from pliant.tree.nodes import NEVER_STAMPED
from pliant.volume.protocol import merge

MAX_LEAF_SHARE = 4                                                      # one leaf in so many: more is left to a full pass


class VertexPaths(NamedTuple):
    """The way up from vertices: the leaves that name vertex v are leaves[begins[v] : begins[v + 1]]; parents (n, 2) the node and lane above
    each node; dirty (n,) and touched (m,) uint8, all 0, and room for leaves are scratch."""
    begins: np.ndarray
    leaves: np.ndarray
    parents: np.ndarray
    dirty: np.ndarray
    touched: np.ndarray
    scratch: np.ndarray


def vertex_paths(tree, n_points):
    """The Paths of a tree."""
    begins, leaves = np.zeros(n_points + 1, np.int32), np.empty(len(tree.vertices), np.int32)
    parents = np.zeros((len(tree.child), 2), np.int32)
    n = list_paths(tree.child, tree.count, tree.vertices, tree.begins, begins, leaves, parents)
    return VertexPaths(begins, leaves[:n].copy(), parents, np.zeros(len(tree.child), np.uint8), np.zeros(len(tree.faces), np.uint8),
                       np.zeros(len(tree.faces) // MAX_LEAF_SHARE + 1, np.int32))


@kernel
def list_paths(child, count, vertices, leaf_begins, begins, leaves, parents):
    """Fill begins, leaves and parents; how many leaves are listed. The last vertex of a leaf may be named several times in a row."""
    for i in range(len(child)):
        for k in range(count[i]):
            if child[i, k] >= 0:
                parents[child[i, k], 0], parents[child[i, k], 1] = i, k
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


@kernel
def mark_leaves(moved, begins, vertex_leaves, slots, leaves, dirty, touched, scratch):
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
            dirty[slots[leaf, 0]] |= np.uint8(1) << np.uint8(slots[leaf, 1])
            publish(leaves, leaf, np.int32(NEVER_STAMPED))
    return n <= capacity


@kernel
def refit_paths(nodes, points, vertices, leaf_begins, spans, order, parents, dirty, frame, merge_exact):
    """Refit what is marked and was up to date, upwards; the number of volumes set. Without spans there must be no stale nodes."""
    n_refitted = 0
    for i in range(len(nodes) - 1, -1, -1):
        dirty_lanes = np.int64(dirty[i])
        if dirty_lanes == 0:
            continue
        dirty[i] = 0
        changed = True
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
            dirty[parents[i, 0]] |= np.uint8(1) << np.uint8(parents[i, 1])
    return n_refitted


def refit_partial(bvh, moved):
    """Let the paths above these vertices follow; False if they are too many, and then nothing has changed."""
    tree = bvh.tree
    if bvh.paths is None:
        bvh.paths = vertex_paths(tree, len(bvh.points) // 4)
    paths, spans = bvh.paths, bvh.tree_state
    if not mark_leaves(moved, paths.begins, paths.leaves, tree.slots, bvh.leaves, paths.dirty, paths.touched, paths.scratch):
        return False
    lists = NO_SPANS if spans is None else (spans.spans, spans.order)
    bvh.n_refitted += refit_paths(bvh.nodes, bvh.points, tree.vertices, tree.begins, *lists, paths.parents, paths.dirty,
                                  np.int32(bvh.frame), bvh.options.volume_type.merge_exact)
    return True


NO_SPANS = np.zeros((0, 0, 2), np.int64), np.zeros(0, np.int32)
