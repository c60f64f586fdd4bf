"""Many pairs of bodies in one call: the narrow phase of a scene.

A query from Python costs about 25 µs before its first volume; a scene asks dozens of small ones a frame. Here all of them are set up and
run by one entry (`core/call.py`), which finds the bodies by address. It stops for the reasons of `traverse` and can be taken up again.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.call import address_of, array_at, pointer
from pliant.core.jit import DISABLED
from pliant.core.sorting import sorted_pairs
from pliant.core.threads import Reading, threads
from pliant.query.collide import Collide, bits_for
from pliant.query.contacts import contacts_of
from pliant.query.drive import CHUNK, ROOM, grown
from pliant.query.leafpair import exact_entry
from pliant.query.traverse import BUDGET, COUNTERS, FULL, QUERY, begin, traverse
from pliant.results import Pairs, Stats
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

LARGE = 1 << 15                                                         # faces
SIDE = np.dtype([(name, np.int64) for name in (
    "nodes", "n_nodes", "leaves", "n_leaves", "slots", "flat", "n_flat", "frame", "entry", "fill", "context", "plain", "low")]
    + [("reach", np.float64), ("scale", np.float64), ("box", np.float64, (8,)), ("origin", np.float64, (4,))])
JOB = np.dtype([(name, np.int64) for name in (
    "sides", "n_sides", "pairs", "n_pairs", "queries", "ends", "stack", "n_stack", "keys", "n_keys", "exact",
    "total", "budget", "under_way", "reason")])


class Member(NamedTuple):
    """A body of the scene, and its shape, made true."""
    body: object
    shape: object
    updated: int


def possible(body, scale):
    """Can this body be asked together with others? Those with a transform, or of absurd size, are asked one by one; so are large ones if
    there are threads to share them."""
    return body.placement is None and body.motion.scale == scale and not DISABLED and (len(body) < LARGE or threads() == 1)


def alike(shape):
    """Bodies of one kind of node share an entry."""
    return shape.options.family.volume, shape.tree.width


def ask_many(bodies, pairs, contacts):
    """The Pairs of each of these pairs (p, 2) of indices into `bodies`, all of them `possible`, with nodes of one kind."""
    with Reading(*(body.guard for body in bodies)):
        members = [Member(body, body.shape_at(body.motion.scale), 0) for body in bodies]
        for k in np.unique(pairs[meeting(bodies, pairs)]).tolist():     # boxes may be loose: what they part need not follow
            members[k] = members[k]._replace(updated=members[k].shape.follow())
        keys, ends, counters = run(members, pairs)
        needed: dict[int, int] = {}                                     # the first pair that needed each body: what follows counts there
        for row, pair in enumerate(pairs.tolist()):
            for k in pair:
                needed.setdefault(k, row)
        for k, row in needed.items():
            counters[row, COUNTERS.index("n_u")] += members[k].updated
        answers, start = [], 0
        for (i, j), end, work in zip(pairs.tolist(), ends.tolist(), counters.tolist(), strict=True):
            a, b = bodies[i], bodies[j]
            low = bits_for(b)
            found = sorted_pairs(keys[start:end].copy(), bits_for(a) + low, low)
            answers.append(Pairs(found, Stats(*work), **(contacts_of(found, a, b) if contacts else {})))
            start = end
        return answers


def meeting(bodies, pairs):
    """Which pairs have exact boxes that meet?"""
    boxes = np.array([body.motion.box for body in bodies])
    a, b = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    return ((a[:, :3] <= b[:, 4:7]) & (b[:, :3] <= a[:, 4:7])).all(axis=1)


def side_of(body, shape):
    """The row of a body."""
    motion, tree = body.motion, shape.tree
    return (shape.nodes.ctypes.data, len(shape.nodes), shape.leaves.ctypes.data, len(shape.leaves), tree.slots.ctypes.data,
            motion.flat.ctypes.data, len(motion.flat), shape.frame, shape.entry, shape.fill, shape.context, motion.plain, bits_for(body),
            motion.reach, motion.scale, motion.box, motion.origin)


def run(members, pairs):
    """(keys of all pairs one after another, where those of each end, counters (p, 4))."""
    sides = np.array([side_of(member.body, member.shape) for member in members], SIDE)
    pairs = np.ascontiguousarray(pairs, np.int64)
    queries, ends = np.zeros(len(pairs), QUERY), np.zeros(len(pairs), np.int64)
    deepest, widest = max(m.shape.tree.depth for m in members), members[0].shape.tree.width
    stack, keys, job = np.empty((2 * deepest + 2) * widest**2, np.int64), np.empty(ROOM, np.int64), np.zeros(1, JOB)
    for name, array in (("sides", sides), ("pairs", pairs), ("queries", queries), ("ends", ends), ("stack", stack)):
        job[name] = array.ctypes.data
    job["n_sides"], job["n_pairs"], job["n_stack"], job["exact"] = len(sides), len(pairs), len(stack), exact_entry()[0]
    enter, at = pairs_entry(*alike(members[0].shape)), 0
    while at < len(pairs):
        job["keys"], job["n_keys"], job["budget"] = keys.ctypes.data, len(keys), CHUNK
        at = enter(job.ctypes.data, at)
        if at < len(pairs) and job["reason"][0] == FULL:
            keys = grown(keys)
    return keys[:int(job["total"][0])], ends, np.stack([queries[name] for name in COUNTERS], axis=1)


@cache
def pairs_entry(volume, width):
    """The function (address of a JOB, first pair) -> pair at which it stopped, for bodies with nodes of this kind; without the GIL."""
    node = node_dtype(volume, width)
    size = QUERY.itemsize

    def enter(address, p):
        job = array_at(pointer(address), 1, JOB)[0]
        sides = array_at(pointer(job["sides"]), job["n_sides"], SIDE)
        pairs = array_at(pointer(job["pairs"]), (job["n_pairs"], 2), np.int64)
        ends = array_at(pointer(job["ends"]), job["n_pairs"], np.int64)
        stack = array_at(pointer(job["stack"]), job["n_stack"], np.int64)
        while p < job["n_pairs"]:
            a, b = sides[pairs[p, 0]], sides[pairs[p, 1]]
            query = array_at(pointer(job["queries"] + p * size), 1, QUERY)
            state = query[0]
            if not job["under_way"]:
                if not begin(query, a["box"], a["origin"], a["reach"], b["box"], b["origin"], b["reach"], a["scale"]):
                    ends[p] = job["total"]
                    p += 1
                    continue
                state["first"], state["plain"], state["low"], state["exact"] = 0, a["plain"] & b["plain"], b["low"], job["exact"]
                state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"] = a["frame"], a["entry"], a["fill"], a["context"]
                state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"] = b["frame"], b["entry"], b["fill"], b["context"]
                stack[0] = 0
            job["under_way"] = 0
            nodes_a = array_at(pointer(a["nodes"]), a["n_nodes"], node)
            nodes_b = array_at(pointer(b["nodes"]), b["n_nodes"], node)
            leaves_a = array_at(pointer(a["leaves"]), a["n_leaves"], LEAF_DTYPE)
            leaves_b = array_at(pointer(b["leaves"]), b["n_leaves"], LEAF_DTYPE)
            slots_a = array_at(pointer(a["slots"]), (a["n_leaves"], 2), np.int32)
            slots_b = array_at(pointer(b["slots"]), (b["n_leaves"], 2), np.int32)
            flat_a = array_at(pointer(a["flat"]), a["n_flat"], np.float64)
            flat_b = array_at(pointer(b["flat"]), b["n_flat"], np.float64)
            keys = array_at(pointer(job["keys"] + 8 * job["total"]), job["n_keys"] - job["total"], np.int64)
            state["budget"] = job["budget"]
            reason = traverse(Collide(flat_a, flat_b, keys), nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack)
            job["budget"] = max(state["budget"], 1)
            if reason == FULL or reason == BUDGET:
                job["reason"], job["under_way"] = reason, 1
                return p
            job["total"] += state["found"]
            ends[p] = job["total"]
            p += 1
        return p

    return address_of(enter)[1].ctypes
