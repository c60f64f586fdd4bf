"""Front: what the last queries came to follows before the next one, bottom-up, the rest on demand.

Queries of one frame come to much the same nodes as those of the frame before: the top of the tree, down to a front. Before the first query
of a frame these nodes follow, deepest first: on the front as on demand, above it lanes are merged from the nodes under them (Steinemann,
Otaduy and Gross 2008, 4.2; the active nodes of Larsson and Akenine-Möller 2006). Merged volumes are tighter than bounds from afar, and
cheaper than to go through all vertices under a node. A query that comes to another node waits while that follows; from then on it is
within the front, until a frame in which no query comes to it.

Nodes that followed ahead are `ready`, but keep their old stamps, so that a loop calls the entry when it comes to one: that stamps it, and a
stamp of the frame before tells what the front is. The root, where every query begins, is always within. So loops know nothing of fronts.

A body has one front for all that it is compared with, as it has one volume a node: whoever asks first in a frame lets follow what all
came to in the last. That happens once a frame, by one thread, before anybody reads; all else is on demand, where all threads write
the same bits.

For every body whose volumes follow on demand: policy "active" of free bodies (`active.py`), option `front` of morphing and blended ones.
"""
from typing import NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.function_pointer import call_address
from pliant.core.jit import kernel
from pliant.core.soa import publish, stamp
from pliant.refit.leaf_fill import ahead_request
from pliant.tree.nodes import NEVER_STAMPED

OPTION = (False, validate.flag)                                         # of policies that can have one: {"front": True}


class Counts(NamedTuple):
    """Of the last frame in which a body was asked about: nodes that followed ahead, volumes set in them, and how many of these were merged
    from below."""
    nodes: int = 0
    volumes: int = 0
    merged: int = 0


class ActiveFront:
    """What a shape keeps besides `ready` (n,) int32, the frame for which each node has followed ahead: the frame in which some last did,
    counters, and room."""

    def __init__(self, n):
        self.frame, self.counts, self.scratch = -1, Counts(), np.zeros(n, np.int64)


@kernel
def refit_front(nodes, ready, last_frame, frame, entry, context, queue, counts):
    """Refresh the root, and the nodes with the stamp `last_frame` that are under such nodes. counts = (nodes, volumes set, merged
    ones)."""
    n, at = 1, 0
    queue[0] = 0
    counts[0] = counts[1] = counts[2] = 0
    while at < n:                                                       # parents before children
        i = queue[at]
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0 and stamp(nodes, child) == last_frame:
                queue[n] = child
                n += 1
        at += 1
    for at in range(n - 1, -1, -1):
        i, merged = queue[at], np.int64(0)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0 and ready[child] == frame:
                merged |= np.int64(1) << k
                counts[2] += 1
        counts[1] += call_address(entry, context, ahead_request(i, merged))
        ready[i] = frame
    counts[0] = n
    publish(nodes, np.int64(0), frame)


def advance_front(bvh):
    """Let what the last queries came to follow; a shape that has its entry set, and no front yet, gets one."""
    if bvh.front is None:
        bvh.front = ActiveFront(len(bvh.nodes))
    front, counts = bvh.front, np.zeros(3, np.int64)
    if bvh.frame < front.frame:                                         # frames have begun again, and these are of long ago
        bvh.ready[:] = NEVER_STAMPED
    refit_front(bvh.nodes, bvh.ready, np.int32(front.frame), np.int32(bvh.frame), bvh.entry, bvh.context, front.scratch, counts)
    front.counts, front.frame = Counts(*counts.tolist()), bvh.frame
    bvh.n_refitted += front.counts.volumes
