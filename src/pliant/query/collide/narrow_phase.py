"""Many pairs of bodies in one call: the narrow phase of a scene.

A query from Python costs about 25 µs before its first volume; a scene runs thousands of small ones per frame. Here one entry
(`core/function_pointer.py`) sets up and runs all of them, for any two types of nodes. It knows a body by three addresses: of its BVH's
context, its motion record and its transform. It stops for the reasons of `traverse` and can be resumed.

What a batch looks for is a task (`query/collide/batch_task.py`): here intersecting pairs, in `query/proximity/batch.py` distances.
"""
import threading
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import array_at, as_pointer, python_entry
from pliant.core.jit import DISABLED, kernel
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock, threads
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.rigid import IDENTITY
from pliant.query.collide.batch_task import (
    BATCH_STATE,
    allowed_gap,
    finish_pair,
    resume_pair,
    start_pair,
    transformed_visitor_of,
    visitor_of,
)
from pliant.query.collide.leaf_overlap import face_bits
from pliant.query.collide.pair_results import PairResults, concat_results
from pliant.query.collide.transformed import TRANSFORMED_STATE, init_query_transformed
from pliant.query.scheduler import CALL_BUDGET, INITIAL_KEYS, MAX_KEPT_KEYS, TIMED_CALL_BUDGET, grow_keys, time_is_up
from pliant.query.traverse import BUDGET_SPENT, COUNTERS, OUTPUT_FULL, QUERY_STATE, bind_contexts, init_query
from pliant.refit.leaf_fill import CONTEXT
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

MAX_BATCHED_FACES = 1 << 15                                             # larger bodies are shared among threads
KEY_BITS = 62
IDENTITY_ADDRESS, NO_ROWS = IDENTITY.ctypes.data, np.zeros(0)
WORDS = {name: BATCH_STATE.fields[name][1] >> 3 for name in BATCH_STATE.names}
_idle = threading.local()


def can_batch(body, one_thread):
    """Can this body be queried in a batch? Bodies with a scale other than 1 are queried one by one; so are large ones if there are threads
    to share them."""
    return body._motion.scale == 1.0 and not DISABLED and (one_thread or len(body._faces) < MAX_BATCHED_FACES)


def batch_types(bodies):
    """(n,): a number for each type of nodes; −1 for bodies that are queried one by one."""
    numbers, few = {}, threads() == 1
    return np.array([numbers.setdefault((body._options.volume_type.name, body._options.arity), len(numbers)) if can_batch(body, few) else -1
                     for body in bodies], np.int64)


def batch_rows(types, pairs):
    """Rows of these pairs (p, 2) of bodies of these types, a batch at a time: all first bodies of one type, and all second ones."""
    if len(pairs) and types[0] >= 0 and (types == types[0]).all() and (pairs[:, 0] != pairs[:, 1]).all():
        return [np.arange(len(pairs))]
    types_of_pairs = types[pairs]
    batched = (types_of_pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    both = types_of_pairs[:, 0] * (len(types) + 1) + types_of_pairs[:, 1]
    return [np.flatnonzero(batched & (both == kind)) for kind in np.unique(both[batched]).tolist()]


def query_batch(bodies, pairs, task, end_time=None):
    """PairResults of these pairs (p, 2) of indices into `bodies`: the nodes of all first bodies have one type, as have those of all second
    ones. None if an update has made it impossible to batch one of them. At `end_time` the query stops; refits stop between two bodies."""
    used = np.zeros(len(bodies), np.bool_)
    if mark_used(pairs, used) < len(bodies):
        bodies, pairs = [bodies[k] for k in np.flatnonzero(used).tolist()], (np.cumsum(used) - 1)[pairs]
    with ReadLock(*[body._guard for body in bodies]):
        one_thread = threads() == 1
        if not all([can_batch(body, one_thread) for body in bodies]):
            return None
        batch, first_rows = bind_bodies(bodies), np.full(len(bodies), -1)  # bodies in no close pair are not refitted
        list_first_rows(pairs, task.close_pairs(batch.addresses, pairs), first_rows)
        updated = [(row, bvh.refit()) for bvh, row in zip(batch.bvhs, first_rows.tolist(), strict=True)
                   if row >= 0 and not time_is_up(end_time)]
        found = run_batches(batch, pairs, task, end_time)        # if time ran out during refits, it does nothing
        for row, n_updated in updated:
            if n_updated:
                found.counters[row, COUNTERS.index("n_u")] += n_updated  # counted at the first pair of a body
        return task.finish(bodies, pairs, found)


@kernel
def mark_used(pairs, used):
    """Set used[k], False at first, for every body k in `pairs` (p, 2); how many."""
    n = 0
    for p in range(len(pairs)):
        for side in range(2):
            n += not used[pairs[p, side]]
            used[pairs[p, side]] = True
    return n


@kernel
def list_first_rows(pairs, rows, first):
    """Set first[k], −1 at first, to the first of these rows of `pairs` (p, 2) that names body k."""
    for at in range(len(rows) - 1, -1, -1):
        row = rows[at]
        first[pairs[row, 0]] = first[pairs[row, 1]] = row


class BatchBodies(NamedTuple):
    """Bodies as a batch knows them: their BVHs, `addresses` (n, 3) of these BVHs' contexts, motion records and transforms, which of them
    have a transform, the transforms, one after another, and the bits of a face."""
    bvhs: list
    addresses: np.ndarray
    transformed: list
    matrices: np.ndarray
    face_bits: int


def bind_bodies(bodies):
    """The BatchBodies of these, which are locked."""
    bvhs, places, matrices, most = [], [], [], 0
    for body in bodies:
        bvh = body._bvh_at(1.0)
        bvhs.append(bvh)
        matrices.append(body._matrix)
        places.append((bvh.context, body._motion.address, IDENTITY_ADDRESS))
        most = max(most, face_bits(body))
    transformed, addresses, rows = [matrix is not None for matrix in matrices], np.array(places), NO_ROWS
    if any(transformed):                                                # the address of each array would take a microsecond
        rows = np.concatenate([IDENTITY if matrix is None else matrix for matrix in matrices])
        first = rows.ctypes.data
        addresses[:, 2] = range(first, first + rows.nbytes, IDENTITY.nbytes)
    return BatchBodies(bvhs, addresses, transformed, rows, most)


def run_batches(batch, pairs, task, end_time=None):
    """PairResults of keys, for refitted BVHs: pairs with and without transforms, each in as many calls as keys have bits for."""
    batch_size, parts, order = 1 << min(KEY_BITS - 2 * batch.face_bits, 30), [], []
    if all(batch.transformed) or not any(batch.transformed):
        groups = [(np.arange(len(pairs)), batch.transformed[0])]
    else:
        has_transform = np.array(batch.transformed)[pairs].any(axis=1)
        groups = [(np.flatnonzero(has_transform == wanted), wanted) for wanted in (False, True)]
    for rows, wanted in groups:
        for k in range(0, len(rows), batch_size):
            chunk = rows[k:k + batch_size]
            parts.append(run_batch(batch, task, pairs if len(chunk) == len(pairs) else pairs[chunk], chunk, wanted, end_time))
        order.append(rows)
    return parts[0] if len(parts) == 1 else concat_results(parts).select(np.argsort(np.concatenate(order)))


class BatchRoom:
    """The state of a running batch, its stack and keys, and their addresses. A thread keeps them, as allocations, addresses and records
    take half of a short batch."""

    def __init__(self):
        self.job = np.zeros(1, BATCH_STATE)
        self.words, self.address, self._queries = self.job.view(np.int64), self.job.ctypes.data, {}
        self.keys, self.stack = np.empty(INITIAL_KEYS, np.int64), np.empty(0, np.int64)
        self.keys_address = self.keys.ctypes.data

    def reset(self, dtype, stack_size):
        """Clear the state, with room for so many pairs on the stack; returns the state (1,) of a query."""
        if dtype not in self._queries:
            query = np.zeros(dtype.itemsize, np.uint8)
            self._queries[dtype] = query, query.view(dtype), query.ctypes.data
        if len(self.stack) < stack_size:
            self.stack, self.lower_bounds = np.empty(stack_size, np.int64), np.empty(stack_size, np.float32)
            self.stack_address, self.bounds_address = self.stack.ctypes.data, self.lower_bounds.ctypes.data
        raw, query, address = self._queries[dtype]
        raw[:] = self.words[:] = 0
        self.set(query=address, stack=self.stack_address, lower_bounds=self.bounds_address, n_stack=len(self.stack))
        return query

    def set(self, **values):
        """Set integers of the job: a tenth of the time that its record takes."""
        for name, value in values.items():
            self.words[WORDS[name]] = value

    def word(self, name):
        """An integer of the job."""
        return self.words.item(WORDS[name])

    def grow_keys(self):
        """More room for keys."""
        self.keys = grow_keys(self.keys)
        self.keys_address = self.keys.ctypes.data


def run_batch(batch, task, pairs, rows, has_transform, end_time=None):
    """PairResults of keys, for refitted BVHs. A key has the pair in its upper bits, then two faces of `face_bits` bits. `rows` of the task
    are these pairs."""
    rooms = _idle.__dict__.setdefault("rooms", [])
    room = rooms.pop() if rooms else BatchRoom()                        # a signal handler may start a batch while another runs
    try:
        return run_batch_in(room, batch, task, pairs, rows, has_transform, end_time)
    finally:
        if len(room.keys) <= MAX_KEPT_KEYS:
            rooms.append(room)


def run_batch_in(room, batch, task, pairs, rows, has_transform, end_time):
    """`run_batch`, with this room."""
    p, low, dtype = len(pairs), batch.face_bits, task.dtypes[has_transform]
    bvh_a, bvh_b = batch.bvhs[pairs[0, 0]], batch.bvhs[pairs[0, 1]]
    query = room.reset(dtype, (2 * max(bvh.tree.depth for bvh in batch.bvhs) + 2) * bvh_a.tree.width * bvh_b.tree.width)
    block = np.zeros((2 + len(COUNTERS) + 1) * p, np.int64)             # one array, as each address takes a microsecond
    block[:2 * p], counters, ends, start = pairs.reshape(-1), block[2 * p:-p].reshape(p, -1), block[-p:], block.ctypes.data
    room.set(bodies=batch.addresses.ctypes.data, n_bodies=len(batch.addresses), pairs=start, n_pairs=p, counters=start + 16 * p,
             ends=start + block.nbytes - ends.nbytes, key_bits=low)
    task.prepare(room.job[0], query, rows, has_transform)
    enter, at = batch_entry(task.wanted, dtype, *node_type(bvh_a), *node_type(bvh_b), has_transform), 0
    budget = CALL_BUDGET if end_time is None else TIMED_CALL_BUDGET
    while at < p and not time_is_up(end_time):
        room.set(keys=room.keys_address, n_keys=len(room.keys), budget=budget)
        at = enter(room.address, at)
        if at < p and room.word("reason") == OUTPUT_FULL:
            room.grow_keys()
    total = room.word("total")
    done = np.ones(p, np.bool_) if at == p else np.arange(p) < at
    if room.word("in_progress"):                                        # pairs found for the pair of bodies at which time was up
        begin, total = total, total + int(query["found"][0])
        room.keys[begin:total] |= at << (2 * low)
        counters[at] = [query[name][0] for name in COUNTERS]
    ends[at:] = total
    task.collect(room.job[0], rows)
    return PairResults(ends, counters, {"faces": sort_pairs(room.keys[:total], low, low, (p - 1).bit_length())}, done)


def node_type(bvh):
    """(bounding-volume class, width) of the nodes of a BVH."""
    return bvh.options.volume_type.volume, bvh.tree.width


@cache
def batch_entry(wanted, dtype, volume_a, width_a, volume_b, width_b, has_transform):
    """The function (address of a BATCH_STATE, first pair) -> pair at which it stopped, for bodies with nodes of these types and states of
    queries of this one. `has_transform`: does one body of each pair have a transform? (A constant: the other loop is not compiled.) It runs
    without the GIL."""
    node_a, node_b = node_dtype(volume_a, width_a), node_dtype(volume_b, width_b)
    end_dtype = TRANSFORMED_STATE if has_transform else QUERY_STATE     # the end of the state, which the set-up writes
    end_offset = dtype.itemsize - end_dtype.itemsize

    def enter(address, p):
        job = array_at(as_pointer(address), 1, BATCH_STATE)[0]
        bodies = array_at(as_pointer(job["bodies"]), (job["n_bodies"], 3), np.int64)
        pairs = array_at(as_pointer(job["pairs"]), (job["n_pairs"], 2), np.int64)
        counters = array_at(as_pointer(job["counters"]), (job["n_pairs"], 4), np.int64)
        ends = array_at(as_pointer(job["ends"]), job["n_pairs"], np.int64)
        stack = array_at(as_pointer(job["stack"]), job["n_stack"], np.int64)
        lower_bounds = array_at(as_pointer(job["lower_bounds"]), job["n_stack"], np.float32)
        gaps = array_at(as_pointer(job["gaps"]), job["n_ranks"], np.float64)
        ranks = array_at(as_pointer(job["ranks"]), job["n_ranks"], np.int64)
        query = array_at(as_pointer(job["query"]), 1, dtype)
        query_end = array_at(as_pointer(job["query"] + end_offset), 1, end_dtype)
        state, low = query[0], job["key_bits"]
        while p < job["n_pairs"]:
            context_a, context_b = bodies[pairs[p, 0], 0], bodies[pairs[p, 1], 0]
            a, b = array_at(as_pointer(context_a), 1, CONTEXT)[0], array_at(as_pointer(context_b), 1, CONTEXT)[0]
            motion_a = array_at(as_pointer(bodies[pairs[p, 0], 1]), 1, MOTION_DTYPE)[0]
            motion_b = array_at(as_pointer(bodies[pairs[p, 1], 1]), 1, MOTION_DTYPE)[0]
            m_a = array_at(as_pointer(bodies[pairs[p, 0], 2]), 12, np.float64)
            m_b = array_at(as_pointer(bodies[pairs[p, 1], 2]), 12, np.float64)
            if not job["in_progress"]:
                max_gap = allowed_gap(wanted, job, gaps, ranks, p, motion_a, motion_b)
                if max_gap < 0.0:
                    close = False
                elif has_transform:
                    close = init_query_transformed(query_end, motion_a["box"], motion_a["origin"], motion_a["reach"], m_a,
                                                   motion_b["box"], motion_b["origin"], motion_b["reach"], m_b, motion_a["scale"], max_gap,
                                                   job["full_sat"])
                else:
                    close = init_query(query_end, motion_a["box"], motion_a["origin"], motion_a["reach"],
                                       motion_b["box"], motion_b["origin"], motion_b["reach"], motion_a["scale"], max_gap)
                if not close:
                    ends[p] = job["total"]
                    p += 1
                    continue
                state["in_filter_range"], state["key_bits"] = motion_a["in_filter_range"] & motion_b["in_filter_range"], low
                bind_contexts(state, a, context_a, b, context_b)
                start_pair(wanted, job, state, lower_bounds, a, motion_a, bodies[pairs[p, 0], 2], b, motion_b, bodies[pairs[p, 1], 2], m_a)
                stack[0] = 0
            job["in_progress"] = 0
            nodes_a = array_at(as_pointer(a["nodes"]), a["n_nodes"], node_a)
            nodes_b = array_at(as_pointer(b["nodes"]), b["n_nodes"], node_b)
            leaves_a = array_at(as_pointer(a["leaves"]), a["n_leaves"], LEAF_DTYPE)
            leaves_b = array_at(as_pointer(b["leaves"]), b["n_leaves"], LEAF_DTYPE)
            slots_a = array_at(as_pointer(a["slots"]), (a["n_leaves"], 2), np.int32)
            slots_b = array_at(as_pointer(b["slots"]), (b["n_leaves"], 2), np.int32)
            flat_a = array_at(as_pointer(motion_a["flat"]), motion_a["n_flat"], np.float64)
            flat_b = array_at(as_pointer(motion_b["flat"]), motion_b["n_flat"], np.float64)
            keys = array_at(as_pointer(job["keys"] + 8 * job["total"]), job["n_keys"] - job["total"], np.int64)
            state["budget"] = job["budget"]
            if has_transform:
                visitor = transformed_visitor_of(wanted, flat_a, flat_b, m_a, m_b)
            else:
                visitor = visitor_of(wanted, flat_a, flat_b)
            reason = resume_pair(wanted, visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, lower_bounds, keys)
            job["budget"] = max(state["budget"], 1)
            if reason == OUTPUT_FULL or reason == BUDGET_SPENT:
                job["reason"], job["in_progress"] = reason, 1
                return p
            found = finish_pair(wanted, job, state, ranks, p)
            for k in range(found):
                keys[k] |= p << (2 * low)
            counters[p, 0], counters[p, 1], counters[p, 2], counters[p, 3] = state["n_v"], state["n_p"], state["n_u"], state["n_exact"]
            job["total"] += found
            ends[p] = job["total"]
            p += 1
        return p

    return python_entry(enter)
