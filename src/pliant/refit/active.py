"""Active: what the last queries came to follows before the next one, the rest on demand (Larsson and Akenine-Möller 2006).

Queries of one frame come to much the same nodes as those of the frame before. These are refitted ahead, deepest first: a lane from its
child, if that is one of them, else from the vertices under it. A query that comes to another node waits while that is refitted, as with
`lazy`; from then on it is active, until a frame in which no query comes to it.

Nodes that were refitted ahead are `ready`, but keep their old stamps, so that a loop calls the entry when it comes to one: that stamps it,
and a stamp of the frame before tells the active nodes. The root, where every query begins, always is one.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import jit
from pliant.core.call import CONTEXTS, address_of, array_at, pointer
from pliant.core.jit import kernel
from pliant.core.records import lanes, publish, put_lane, put_whole, stamp, whole
from pliant.refit.lazy import Spans, refresh, spans_of
from pliant.refit.leaves import CONTEXT
from pliant.refit.policy import Policy, register
from pliant.refit.volumes import volume_of
from pliant.tree.nodes import NEVER, node_dtype
from pliant.volume.protocol import merge


class Past:
    """The frame in which nodes were last refitted ahead."""

    frame = -1


class Kept(NamedTuple):
    """The vertices under each lane, as `lazy` has them, and ready (n,) int32: the frame for which a node was refitted ahead."""
    spans: Spans
    ready: np.ndarray
    past: Past


@kernel
def refit_ahead(nodes, points, spans, order, ready, last, frame):
    """Make the root, and all nodes that have this stamp, true to the points; the number of volumes set."""
    updated = 0
    for i in range(len(nodes) - 1, -1, -1):
        if i > 0 and stamp(nodes, i) != last:
            continue
        like = whole(nodes, i)
        for k in range(nodes[i]["count"]):
            child = np.int64(nodes[i]["child"][k])
            if child >= 0 and ready[child] == frame:
                put_lane(nodes, i, k, whole(nodes, child))
            else:
                put_lane(nodes, i, k, volume_of(like, points, order, spans[i, k, 0], spans[i, k, 1]))
        put_whole(nodes, i, merge(lanes(nodes, i)))
        ready[i] = frame
        updated += np.int64(nodes[i]["count"])
    publish(nodes, 0, frame)
    return updated


@cache
def entry_for(volume, width):
    """(address, what keeps it alive) of a visit to nodes of this class and width: `refresh`, for those that are not ready."""
    node = node_dtype(volume, width)

    def enter(context, i):
        about = array_at(pointer(context), 1, CONTEXT)[0]
        nodes, frame = array_at(pointer(about["nodes"]), about["n_nodes"], node), np.int32(about["frame"])
        if array_at(pointer(about["ready"]), about["n_nodes"], np.int32)[i] == frame:
            publish(nodes, i, frame)
            return np.int64(0)
        points = array_at(pointer(about["points"]), about["n_points"], np.float32)
        spans = array_at(pointer(about["spans"]), (about["n_nodes"], width, 2), np.int64)
        order = array_at(pointer(about["order"]), about["n_order"], np.int32)
        levels = array_at(pointer(about["levels"]), about["n_nodes"], np.int32)
        ends = array_at(pointer(about["ends"]), about["n_nodes"], np.int32)
        return np.int64(refresh(nodes, points, spans, order, levels, ends, frame, i, np.int64(0), 1))

    def enter_python(context, i):
        shape = CONTEXTS[context]
        if shape.kept.ready[i] == shape.frame:
            publish(shape.nodes, i, shape.frame)
            return 0
        return refresh(shape.nodes, shape.points, *shape.kept.spans, shape.frame, i, 0, 1)

    return address_of(enter_python if jit.DISABLED else enter)


def prepare(shape):
    """On a new tree: what the entry needs."""
    spans, ready = spans_of(shape.tree, len(shape.points) // 4), np.full(len(shape.nodes), NEVER, np.int32)
    shape.kept = Kept(spans, ready, Past())
    shape.know(spans=spans.spans, order=spans.order, levels=spans.levels, ends=spans.ends, n_order=len(spans.order), ready=ready,
               entry=entry_for(shape.options.family.volume, shape.tree.width)[0])


def follow(shape):
    """Refit what is active."""
    if shape.kept is None:
        prepare(shape)
    spans, ready, past = shape.kept
    if shape.frame < past.frame:                                        # frames have begun again, and these are of long ago
        ready[:] = NEVER
    shape.updated += refit_ahead(shape.nodes, shape.points, spans.spans, spans.order, ready, np.int32(past.frame), np.int32(shape.frame))
    past.frame = shape.frame


register(Policy("active", follow, local=False))
