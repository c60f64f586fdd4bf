"""Bottom-up: every volume, children first, whenever the body has moved (van den Bergen 1997; thesis A 5.2).

The baseline of every other policy, and hard to beat where queries reach much of the tree: one linear pass over the distinct vertices of
each leaf: 1.2 ns a triangle where the tree fits the caches (20,480), 4.7 where it comes from memory (327,680).

Large bodies are refitted by several threads: each takes subtrees, which are ranges of nodes, and one thread the few nodes above them
(thesis C 7.4 estimates what parallel reconstruction could gain, by eq. 7.1).
"""
import threading
from functools import partial

import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import helper, ignore_float_errors, kernel
from pliant.core.soa import load_bounds, put_lane
from pliant.refit.policy import Policy, register_policy
from pliant.refit.refit_node import enclose_range, merge_and_stamp

MIN_PARALLEL = 1 << 20                                                  # vertices of leaves: below, threads cost more than they gain
SUBTREES_PER_THREAD = 8                                                 # at least, so that threads end at about the same time


@helper
def refit_one(nodes, vertices, begins, points, frame, i):
    """Node i, whose children are up to date; the number of its volumes."""
    like = load_bounds(nodes, i)
    for k in range(nodes[i]["count"]):
        child = np.int64(nodes[i]["child"][k])
        if child < 0:
            put_lane(nodes, i, k, enclose_range(like, points, vertices, np.int64(begins[~child]), np.int64(begins[~child + 1])))
        else:
            put_lane(nodes, i, k, load_bounds(nodes, child))
    return merge_and_stamp(nodes, i, frame)


@kernel
def refit_range(nodes, vertices, begins, points, frame, begin, end):
    """Every volume of these nodes, the last first; the number of volumes."""
    n_refitted = 0
    for i in range(end - 1, begin - 1, -1):
        n_refitted += refit_one(nodes, vertices, begins, points, frame, np.int64(i))
    return n_refitted


@kernel
def refit_list(nodes, vertices, begins, points, frame, listed):
    """Every volume of the listed nodes, which are ascending, the last first; the number of volumes."""
    n_refitted = 0
    for at in range(len(listed) - 1, -1, -1):
        n_refitted += refit_one(nodes, vertices, begins, points, frame, np.int64(listed[at]))
    return n_refitted


def split_tree(skips, child, largest):
    """(subtrees (s, 2): the first node and the one behind the last, ascending; the nodes above them, ascending): no subtree has more than
    `largest` nodes. `skips` as of `Bvh.skips`."""
    subtrees, above, stack = [], [], [0]
    while stack:
        i = stack.pop()
        if skips[i] - i <= largest:
            subtrees.append((i, int(skips[i])))
        else:
            above.append(i)
            stack += [c for c in child[i].tolist() if c > i]            # leaves and empty lanes are not
    return sorted(subtrees), np.array(sorted(above), np.int32)


def refit_bvh(bvh):
    """Refit all of it."""
    tree, n_threads = bvh.tree, pool.threads()
    data = bvh.nodes, tree.vertices, tree.begins, bvh.points, np.int32(bvh.frame)
    if n_threads == 1 or len(tree.vertices) < MIN_PARALLEL or pool.is_worker():
        bvh.n_refitted += refit_range(*data, 0, len(bvh.nodes))
        return
    subtrees, above = split_tree(bvh.skips(), tree.child, max(len(bvh.nodes) // (SUBTREES_PER_THREAD * n_threads), 1))
    counts, cancel = [0] * n_threads, threading.Event()

    def work(k):
        with ignore_float_errors():                                     # a thread has settings of its own
            for begin, end in subtrees[k::n_threads]:
                if cancel.is_set():
                    return
                counts[k] += refit_range(*data, begin, end)
    pool.run_jobs([partial(work, k) for k in range(n_threads)], cancel, "refits")
    bvh.n_refitted += sum(counts) + refit_list(*data, above)


register_policy(Policy("bottom_up", refit_bvh))
