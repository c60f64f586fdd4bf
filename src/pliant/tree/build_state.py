"""What top-down builders share: a stack of sets of faces that become nodes, and the arrays that become a `Tree`.

    while top > 0:
        top -= 1
        depth = pop_set(state, top, n_nodes)
        n = ...                                                         # divide set 0 into n sets, `state.spans`
        n_leaves, top = append_children(state, n_nodes, n, depth, leaf, n_leaves, top)
        n_nodes += 1

A set is a range of the faces in the builder's order, and a label that means something to the builder alone. Children come after their
parents, and a subtree is a range of nodes, since the stack is last in, first out.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.tree.nodes import WIDTH_OF_ARITY, tree_from_spans

MAX_SETS = 8                                                            # of one node


class BuildState(NamedTuple):
    """`stack` (k, 6): parent, lane in it, begin, end, label and depth of a set that becomes a node; `spans` (8, 3): begin, end and label of
    the sets of the present node. Of each node `child` (n, W) and `count` (n,), of each leaf `leaf_spans` (n, 2)."""
    stack: np.ndarray
    spans: np.ndarray
    child: np.ndarray
    count: np.ndarray
    leaf_spans: np.ndarray


def start_build(n, arity, max_depth):
    """The BuildState for n faces, all of them on the stack. Below `max_depth` levels the builder halves sets."""
    stack = np.zeros(((max_depth + n.bit_length() + 2) * arity, 6), np.int64)
    stack[0] = -1, 0, 0, n, 0, 0
    # Every node has two children or more, so there are fewer than n.
    return BuildState(stack, np.zeros((MAX_SETS, 3), np.int64), np.zeros((n, WIDTH_OF_ARITY[arity]), np.int32), np.zeros(n, np.int32),
                      np.zeros((n, 2), np.int64))


def finish_build(state, n_nodes, n_leaves, order, faces):
    """The Tree, with the faces in this order."""
    return tree_from_spans(state.child[:n_nodes], state.count[:n_nodes], state.leaf_spans[:n_leaves], order, faces)


@helper
def pop_set(state, top, node):
    """Make the set at the top of the stack this node, and set 0 of it; its depth."""
    stack, spans = state.stack, state.spans
    if stack[top, 0] >= 0:
        state.child[stack[top, 0], stack[top, 1]] = node
    spans[0, 0], spans[0, 1], spans[0, 2] = stack[top, 2], stack[top, 3], stack[top, 4]
    return stack[top, 5]


@helper
def append_children(state, node, n, depth, leaf, n_leaves, top):
    """Make n sets the children of a node: leaves, or sets on the stack; (leaves, height of the stack)."""
    stack, spans = state.stack, state.spans
    state.count[node] = n
    for s in range(n):
        if spans[s, 1] - spans[s, 0] <= leaf:
            state.leaf_spans[n_leaves, 0], state.leaf_spans[n_leaves, 1] = spans[s, 0], spans[s, 1]
            state.child[node, s] = ~n_leaves
            n_leaves += 1
        else:
            stack[top, 0], stack[top, 1], stack[top, 5] = node, s, depth + 1
            stack[top, 2], stack[top, 3], stack[top, 4] = spans[s, 0], spans[s, 1], spans[s, 2]
            top += 1
    return n_leaves, top


@helper
def largest_span(spans, n):
    """Which of n sets has the most faces; of equal ones the first."""
    largest = 0
    for s in range(1, n):
        largest = s if spans[s, 1] - spans[s, 0] > spans[largest, 1] - spans[largest, 0] else largest
    return largest


@helper
def split_span(spans, s, cut, n):
    """Divide set s: set n begins at the cut."""
    spans[n, 0], spans[n, 1], spans[s, 1] = cut, spans[s, 1], cut


@helper
def leaf_aligned_middle(begin, end, leaf):
    """Where the second half of a set begins. Halves are as near as can be to whole leaves: no set of k leaves becomes k + 1."""
    leaves = (end - begin + leaf - 1) // leaf
    return begin + (end - begin) * (leaves // 2) // leaves
