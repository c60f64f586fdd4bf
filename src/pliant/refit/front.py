"""Front: what queries reached in the last frame follows bottom-up, the rest on demand (Steinemann et al. 2008, 4.2).

Queries of one frame reach much the same nodes as those of the last. These form the top of the tree; below its front nothing was looked at.
Before the first query of a frame the nodes above the front follow, deepest first: a lane above a node that has followed is merged from
it, which is tighter than any bound from afar, and cheaper than to go through all vertices again; other lanes are made as on demand. The
nodes on the front itself wait until a query reaches them: so a front that nothing reaches any more moves up by a level a frame, and one
that is reached moves down as far as the query goes. What was reached is written in the stamps; nothing else is kept, and loops know
nothing of it.

A body has one front for all that it is compared with, since it has one volume a node: whoever asks first in a frame pays for what all asked
for in the last. Bits that differ from those on demand are written before anybody reads: at most once a frame, and by one thread.

For any body whose volumes follow on demand: policy "front" of free bodies, and an option of those of morphing and of blended ones.
"""
from typing import NamedTuple

import numpy as np

from pliant.core import check
from pliant.core.call import invoke
from pliant.core.jit import kernel
from pliant.core.records import stamp
from pliant.refit import lazy
from pliant.refit.policy import Policy, register

OPTION = (False, check.flag)                                            # of policies that can have one: {"front": True}


class Front(NamedTuple):
    """Counters of a body's front: nodes that followed along it before the last query that had to, and of the lanes of these how many were
    merged from below; the same summed up over all frames."""
    nodes: int = 0
    merged: int = 0
    all_nodes: int = 0
    all_merged: int = 0


@kernel
def refit_front(nodes, last, frame, entry, context, room, counts):
    """Make true to `frame` the nodes true to `last` that have such nodes right below them; the number of volumes set. `room` (n,) int64;
    counts = (nodes that followed, lanes merged)."""
    n, at, updated = 1, 0, 0
    counts[0] = counts[1] = 0
    if stamp(nodes, np.int64(0)) != last:
        return updated
    room[0] = 0
    while at < n:
        i, here = room[at], n
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0 and stamp(nodes, child) == last:
                room[n] = child
                n += 1
        if n == here:
            room[at] = ~i                                               # on the front
        at += 1
    for at in range(n - 1, -1, -1):
        i = room[at]
        if i < 0:
            continue
        merged = np.int64(0)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0 and stamp(nodes, child) == frame:
                merged |= np.int64(1) << k
                counts[1] += 1
        updated += invoke(entry, context, i | merged << 32)
        counts[0] += 1
    return updated


def advance(shape):
    """Let the nodes above the front follow, if this is the frame's first query."""
    if shape.fronted == shape.frame:
        return
    if shape.room is None:
        shape.room = np.zeros(len(shape.nodes), np.int64)
    counts = np.zeros(2, np.int64)
    last, frame = np.int32(shape.fronted), np.int32(shape.frame)
    shape.updated += refit_front(shape.nodes, last, frame, shape.entry, shape.context, shape.room, counts)
    nodes, merged = counts.tolist()
    before = shape.front or Front()
    shape.front = Front(nodes, merged, before.all_nodes + nodes, before.all_merged + merged)
    shape.fronted = shape.frame


def follow(shape):
    """All on demand, but for the front."""
    lazy.refit(shape)
    advance(shape)


register(Policy("front", follow))
