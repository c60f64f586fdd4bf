"""Many pairs of bodies in one call: the narrow phase of a scene.

A query from Python costs about 25 µs before its first volume; a scene runs dozens of small ones per frame. Here one entry
(`core/function_pointer.py`) sets up and runs all of them. It knows a body by three addresses: of its BVH's context, its motion record and
its transform. It stops for the reasons of `traverse` and can be resumed.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import address_of, array_at, as_pointer
from pliant.core.jit import DISABLED
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock, threads
from pliant.motion.free import MOTION_DTYPE
from pliant.motion.rigid import IDENTITY
from pliant.query.collide.contacts import CONTACT_FIELDS, contacts_of
from pliant.query.collide.leaf_overlap import COLLIDE_STATE, Collide, exact_entry, face_bits
from pliant.query.collide.transformed import COLLIDE_TRANSFORMED_STATE, TRANSFORMED_STATE, CollideTransformed, init_query_transformed
from pliant.query.scheduler import CALL_BUDGET, INITIAL_KEYS, TIMED_CALL_BUDGET, grow_keys, time_is_up
from pliant.query.traverse import BUDGET_SPENT, COUNTERS, OUTPUT_FULL, QUERY_STATE, bind_contexts, init_query, traverse
from pliant.refit.leaf_fill import CONTEXT
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

MAX_BATCHED_FACES = 1 << 15                                             # larger bodies are shared among threads
KEY_BITS = 62
IDENTITY_ADDRESS = IDENTITY.ctypes.data
BATCH_STATE = np.dtype([(name, np.int64) for name in (
    "bodies", "n_bodies", "pairs", "n_pairs", "query", "counters", "ends", "stack", "n_stack", "keys", "n_keys", "exact_entry", "key_bits",
    "full_sat",
    "first_only", "total", "budget", "in_progress", "reason")])


class PairResults(NamedTuple):
    """Results of many pairs of bodies, concatenated: the rows of pair p end at ends[p], its counters are counters[p] (`COUNTERS`). `arrays`
    holds `faces` (m, 2) int32 and, if requested, the fields of `contacts_of`. `complete` (p,) bool: False where time was up before all
    pairs of faces were tested."""
    ends: np.ndarray
    counters: np.ndarray
    arrays: dict
    complete: np.ndarray

    @property
    def counts(self):
        """The number of pairs of faces of each pair of bodies."""
        return np.diff(self.ends, prepend=0)

    def select(self, rows):
        """The results of these pairs of bodies, in that order."""
        counts, begins = self.counts[rows], (self.ends - self.counts)[rows]
        ends = np.cumsum(counts)
        at = np.repeat(begins - (ends - counts), counts) + np.arange(int(counts.sum()))
        return PairResults(ends, self.counters[rows], {name: array[at] for name, array in self.arrays.items()}, self.complete[rows])


def wrap_pairs(pairs):
    """The Pairs of two bodies as PairResults."""
    names = ("faces", *CONTACT_FIELDS) if pairs.segments is not None else ("faces",)
    return PairResults(np.array([len(pairs)]), np.array([pairs.stats], np.int64), {name: getattr(pairs, name) for name in names},
                       np.array([pairs.complete]))


def empty_results(contacts, n=0):
    """PairResults of n pairs of bodies that were not tested."""
    return PairResults(np.zeros(n, np.int64), np.zeros((n, len(COUNTERS)), np.int64),
                       {"faces": np.zeros((0, 2), np.int32), **(contacts_of([]) if contacts else {})}, np.zeros(n, np.bool_))


def concat_results(results):
    """Several PairResults, concatenated."""
    starts = np.cumsum([0] + [len(part.arrays["faces"]) for part in results])
    return PairResults(np.concatenate([part.ends + start for part, start in zip(results, starts[:-1], strict=True)]),
                       np.concatenate([part.counters for part in results]),
                       {name: np.concatenate([part.arrays[name] for part in results]) for name in results[0].arrays},
                       np.concatenate([part.complete for part in results]))


def can_batch(body):
    """Can this body be queried in a batch? Bodies with a scale other than 1 are queried one by one; so are large ones if there are threads
    to share them."""
    return body._motion.scale == 1.0 and not DISABLED and (len(body) < MAX_BATCHED_FACES or threads() == 1)


def world_boxes(bodies):
    """(n, 2, 3): the `bounds` of each body."""
    boxes = np.array([body._motion.box for body in bodies]).reshape(-1, 2, 4)[:, :, :3].copy()
    for k, body in enumerate(bodies):
        if body._matrix is not None:
            boxes[k] = body._world_box()
    return boxes


def collide_batched(bodies, pairs, full_sat, contacts, first, end_time=None):
    """PairResults of these pairs (p, 2) of indices into `bodies`, which have nodes of one type; None if an update has made it impossible to
    batch one of them. `full_sat`: test all separating axes of bodies with a transform; `first`: at most one pair of faces per pair of
    bodies. At `end_time` the query stops; refits stop between two bodies."""
    used, places = np.unique(pairs, return_inverse=True)
    bodies, pairs = [bodies[k] for k in used.tolist()], places.reshape(-1, 2)
    with ReadLock(*(body._guard for body in bodies)):
        if not all(map(can_batch, bodies)):
            return None
        bvhs, boxes = [body._bvh_at(1.0) for body in bodies], world_boxes(bodies)
        low, high = boxes[pairs, 0], boxes[pairs, 1]
        close = np.flatnonzero(((low[:, 0] <= high[:, 1]) & (low[:, 1] <= high[:, 0])).all(axis=1))
        used_bodies, first_use = np.unique(pairs[close], return_index=True)  # bodies in no close pair are not refitted
        updated = [bvhs[k].refit() for k in used_bodies.tolist() if not time_is_up(end_time)]
        found = run_batches(bodies, bvhs, pairs, full_sat, first, end_time)  # if time ran out during refits, it does nothing
        first_use = first_use[:len(updated)]
        np.add.at(found.counters[:, COUNTERS.index("n_u")], close[first_use // 2], updated)  # counted at the first pair of a body
        if contacts:
            ends, faces = found.ends.tolist(), found.arrays["faces"]
            face_pairs = [(faces[start:end], bodies[i], bodies[j]) for start, end,
                          (i, j) in zip([0, *ends], ends, pairs.tolist(), strict=False)]
            found.arrays.update(contacts_of([part for part in face_pairs if len(part[0])]))
        return found


def run_batches(bodies, bvhs, pairs, full_sat, first, end_time):
    """PairResults without contacts, for refitted BVHs: pairs with and without transforms, each in as many calls as keys have bits for."""
    has_transform = np.array([body._matrix is not None for body in bodies])[pairs].any(axis=1)
    low = max(map(face_bits, bodies))
    batch_size, parts, order = 1 << min(KEY_BITS - 2 * low, 30), [], []
    for wanted in (False, True):
        rows = np.flatnonzero(has_transform == wanted)
        for k in range(0, len(rows), batch_size):
            parts.append(run_batch(bodies, bvhs, pairs[rows[k:k + batch_size]], low, wanted, full_sat, first, end_time))
        order.append(rows)
    return parts[0] if len(parts) == 1 else concat_results(parts).select(np.argsort(np.concatenate(order)))


def run_batch(bodies, bvhs, pairs, low, has_transform, full_sat, first, end_time):
    """PairResults without contacts, for refitted BVHs. A key has the pair in its upper bits, then two faces of `low` bits."""
    addresses = np.array([(shape.context, body._motion.address, IDENTITY_ADDRESS if body._matrix is None else body._matrix.ctypes.data)
                          for shape, body in zip(bvhs, bodies, strict=True)], np.int64)
    query = np.zeros(1, COLLIDE_TRANSFORMED_STATE if has_transform else COLLIDE_STATE)
    counters, ends = np.zeros((len(pairs), len(COUNTERS)), np.int64), np.zeros(len(pairs), np.int64)
    deepest, widest = max(shape.tree.depth for shape in bvhs), bvhs[0].tree.width
    stack, keys, job = np.empty((2 * deepest + 2) * widest**2, np.int64), np.empty(INITIAL_KEYS, np.int64), np.zeros(1, BATCH_STATE)
    state = job[0]
    state["n_bodies"], state["n_pairs"], state["n_stack"] = len(addresses), len(pairs), len(stack)
    state["exact_entry"], state["key_bits"], state["full_sat"], state["first_only"] = exact_entry()[0], low, full_sat, first
    for name, array in (("bodies", addresses), ("pairs", pairs), ("query", query), ("counters", counters), ("ends", ends),
                        ("stack", stack)):
        state[name] = array.ctypes.data
    enter, at = batch_entry(bvhs[0].options.volume_type.volume, widest, has_transform), 0
    budget = CALL_BUDGET if end_time is None else TIMED_CALL_BUDGET
    while at < len(pairs) and not time_is_up(end_time):
        state["keys"], state["n_keys"], state["budget"] = keys.ctypes.data, len(keys), budget
        at = enter(job.ctypes.data, at)
        if at < len(pairs) and state["reason"] == OUTPUT_FULL:
            keys = grow_keys(keys)
    total, done = int(state["total"]), np.arange(len(pairs)) < at
    if state["in_progress"]:                                            # pairs found for the pair of bodies at which time was up
        total += int(query["found"][0])
        keys[int(state["total"]):total] |= at << (2 * low)
        counters[at] = [query[name][0] for name in COUNTERS]
    ends[at:] = total
    return PairResults(ends, counters, {"faces": sort_pairs(keys[:total], low, low, (len(pairs) - 1).bit_length())}, done)


@cache
def batch_entry(volume, width, has_transform):
    """The function (address of a BATCH_STATE, first pair) -> pair at which it stopped, for nodes of this type. `has_transform`: does one
    body of each pair have a transform? (A constant: the other loop is not compiled.) It runs without the GIL."""
    node, dtype = node_dtype(volume, width), COLLIDE_TRANSFORMED_STATE if has_transform else COLLIDE_STATE
    end_dtype = TRANSFORMED_STATE if has_transform else QUERY_STATE     # the end of the state, which the set-up writes
    end_offset = dtype.itemsize - end_dtype.itemsize

    def enter(address, p):
        job = array_at(as_pointer(address), 1, BATCH_STATE)[0]
        bodies = array_at(as_pointer(job["bodies"]), (job["n_bodies"], 3), np.int64)
        pairs = array_at(as_pointer(job["pairs"]), (job["n_pairs"], 2), np.int64)
        counters = array_at(as_pointer(job["counters"]), (job["n_pairs"], 4), np.int64)
        ends = array_at(as_pointer(job["ends"]), job["n_pairs"], np.int64)
        stack = array_at(as_pointer(job["stack"]), job["n_stack"], np.int64)
        query = array_at(as_pointer(job["query"]), 1, dtype)
        query_end = array_at(as_pointer(job["query"] + end_offset), 1, end_dtype)
        state, low, first = query[0], job["key_bits"], job["first_only"]
        state["first_only"] = first
        while p < job["n_pairs"]:
            context_a, context_b = bodies[pairs[p, 0], 0], bodies[pairs[p, 1], 0]
            a, b = array_at(as_pointer(context_a), 1, CONTEXT)[0], array_at(as_pointer(context_b), 1, CONTEXT)[0]
            motion_a = array_at(as_pointer(bodies[pairs[p, 0], 1]), 1, MOTION_DTYPE)[0]
            motion_b = array_at(as_pointer(bodies[pairs[p, 1], 1]), 1, MOTION_DTYPE)[0]
            m_a = array_at(as_pointer(bodies[pairs[p, 0], 2]), 12, np.float64)
            m_b = array_at(as_pointer(bodies[pairs[p, 1], 2]), 12, np.float64)
            if not job["in_progress"]:
                if has_transform:
                    close = init_query_transformed(query_end, motion_a["box"], motion_a["origin"], motion_a["reach"], m_a,
                                                   motion_b["box"], motion_b["origin"], motion_b["reach"], m_b, motion_a["scale"], 0.0,
                                                   job["full_sat"])
                else:
                    close = init_query(query_end, motion_a["box"], motion_a["origin"], motion_a["reach"],
                                       motion_b["box"], motion_b["origin"], motion_b["reach"], motion_a["scale"], 0.0)
                if not close:
                    ends[p] = job["total"]
                    p += 1
                    continue
                state["in_filter_range"], state["key_bits"] = motion_a["in_filter_range"] & motion_b["in_filter_range"], low
                state["exact_entry"] = job["exact_entry"]
                bind_contexts(state, a, context_a, b, context_b)
                stack[0] = 0
            job["in_progress"] = 0
            nodes_a = array_at(as_pointer(a["nodes"]), a["n_nodes"], node)
            nodes_b = array_at(as_pointer(b["nodes"]), b["n_nodes"], node)
            leaves_a = array_at(as_pointer(a["leaves"]), a["n_leaves"], LEAF_DTYPE)
            leaves_b = array_at(as_pointer(b["leaves"]), b["n_leaves"], LEAF_DTYPE)
            slots_a = array_at(as_pointer(a["slots"]), (a["n_leaves"], 2), np.int32)
            slots_b = array_at(as_pointer(b["slots"]), (b["n_leaves"], 2), np.int32)
            flat_a = array_at(as_pointer(motion_a["flat"]), motion_a["n_flat"], np.float64)
            flat_b = array_at(as_pointer(motion_b["flat"]), motion_b["n_flat"], np.float64)
            keys = array_at(as_pointer(job["keys"] + 8 * job["total"]), job["n_keys"] - job["total"], np.int64)
            state["budget"] = job["budget"]
            if has_transform:
                reason = traverse(CollideTransformed(flat_a, flat_b, m_a, m_b), nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b,
                                  query, stack, keys)
            else:
                reason = traverse(Collide(flat_a, flat_b), nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, keys)
            job["budget"] = max(state["budget"], 1)
            if reason == OUTPUT_FULL or reason == BUDGET_SPENT:
                job["reason"], job["in_progress"] = reason, 1
                return p
            found = min(state["found"], 1) if first else state["found"] # a leaf may have found more than one
            for k in range(found):
                keys[k] |= p << (2 * low)
            counters[p, 0], counters[p, 1], counters[p, 2], counters[p, 3] = state["n_v"], state["n_p"], state["n_u"], state["n_exact"]
            job["total"] += found
            ends[p] = job["total"]
            p += 1
        return p

    return address_of(enter)[1].ctypes
