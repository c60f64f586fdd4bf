"""Trees as tests look at them: links, and what is below a node."""

import numpy as np

from pliant.tree.nodes import BUILDERS


def points_of(vertices):
    """Float32 rows as a body makes them."""
    points = np.zeros((len(vertices), 4), np.float32)
    points[:, :3] = vertices
    return points


def built(mesh, build, arity, leaf):
    """The tree that a builder makes of (vertices, faces)."""
    return BUILDERS[build].build(points_of(mesh[0]), np.ascontiguousarray(mesh[1], np.int32), arity, leaf)


def links(tree):
    """[(node, lane, child)] of all lanes in use."""
    return [(i, k, int(tree.child[i, k])) for i in range(len(tree.child)) for k in range(tree.count[i])]


def under(tree):
    """For every node, the nodes and the leaves of its subtree."""
    found = [({i}, set()) for i in range(len(tree.child))]
    for i, _, child in reversed(links(tree)):
        if child < 0:
            found[i][1].add(~child)
        else:
            found[i][0].update(found[child][0])
            found[i][1].update(found[child][1])
    return found


def leaf_faces(tree):
    """For every leaf the list of its faces."""
    return [[face for face in row if face >= 0] for row in tree.faces.tolist()]


def faces_under(tree):
    """For every node, a list of sets: the faces under each of its children."""
    held, found = leaf_faces(tree), [[] for _ in tree.child]
    for i, _, child in reversed(links(tree)):
        found[i].append(set(held[~child]) if child < 0 else set().union(*found[child]))
    return found
