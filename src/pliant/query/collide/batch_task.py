"""What a batch of pairs of bodies looks for (`query/collide/narrow_phase.py`), as Python sets it up and as kernels run it.

A task is a `BatchTask`; the kernel's side of it are the generic functions of this file, chosen by the class of its `wanted`.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import floats_at
from pliant.core.jit import kernel
from pliant.core.stack import stack_float64
from pliant.motion.rigid import IDENTITY, world_bounds
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.leaf_overlap import COLLIDE_STATE, Collide, set_collide_fields
from pliant.query.collide.pair_results import body_parts
from pliant.query.collide.transformed import COLLIDE_TRANSFORMED_STATE, CollideTransformed
from pliant.query.traverse import traverse

# Addresses and lengths of the arrays of a batch; bits of a face in a key; options of the task; progress. `gaps`, `ranks` and what follows
# `max_distance` are for the nearest pair: see `query/proximity/batch.py`.
BATCH_STATE = np.dtype([(name, np.int64) for name in (
    "bodies", "n_bodies", "pairs", "n_pairs", "query", "counters", "ends", "stack", "lower_bounds", "n_stack", "keys", "n_keys", "gaps",
    "ranks", "n_ranks", "key_bits", "full_sat", "first_only", "total", "budget", "in_progress", "reason")] + [
    ("max_distance", np.float64), ("best_rank", np.int64), ("best_row", np.int64), ("best_faces", np.int64, (2,)),
    ("best_points", np.float64, (6,))])


@kernel
def transform_boxes(matrices, rows, boxes, out):
    """Set `out` (6 n,) from the boxes (8 n,) of bodies; those of `rows` are transformed as by `world_bounds`, by matrices (12 k,)."""
    for k in range(len(boxes) // 8):
        for c in range(3):
            out[6 * k + c], out[6 * k + 3 + c] = boxes[8 * k + c], boxes[8 * k + 4 + c]
    for k in range(len(rows)):
        i = rows[k]
        world_bounds(matrices[12 * k:12 * k + 12], boxes[8 * i:8 * i + 8], out[6 * i:6 * i + 6])


def world_boxes(bodies):
    """(n, 2, 3): the `_world_box` of each body."""
    if not bodies:
        return np.zeros((0, 2, 3))
    boxes, matrices = np.empty((len(bodies), 2, 3)), [body._matrix for body in bodies]
    rows = [k for k, matrix in enumerate(matrices) if matrix is not None]
    transform_boxes(np.concatenate([matrices[k] for k in rows]) if rows else IDENTITY, np.array(rows, np.int64),
                    np.concatenate([body._motion.box for body in bodies]), boxes.reshape(-1))
    return boxes


@kernel
def find_overlapping(addresses, pairs, rows):
    """List the rows of `pairs` (p, 2) whose boxes in the world overlap; how many. A body is known by the `addresses` (n, 3) of a batch."""
    n, box_a, box_b = 0, stack_float64(6), stack_float64(6)
    for p in range(len(pairs)):
        a, b, close = pairs[p, 0], pairs[p, 1], True
        world_bounds(floats_at(addresses[a, 2]), floats_at(addresses[a, 1]), box_a)
        world_bounds(floats_at(addresses[b, 2]), floats_at(addresses[b, 1]), box_b)
        for c in range(3):
            close &= (box_a[c] <= box_b[c + 3]) & (box_b[c] <= box_a[c + 3])
        if close:
            rows[n] = p
            n += 1
    return n


class BatchTask:
    """What a batch looks for, as Python sets it up. `wanted` chooses the generic functions of the kernel, `dtypes` are the states of a
    query without transforms and with them. `pairs` (p, 2) are indices into `bodies`, which are locked."""
    wanted: NamedTuple
    dtypes: tuple

    def close_pairs(self, addresses, pairs):
        """Rows of the pairs whose bodies may be traversed, and must be refitted before: by default all. `addresses` are those of a batch
        (`narrow_phase.py`)."""
        return np.arange(len(pairs))

    def prepare(self, job, query, rows, has_transform):
        """Set what is the same for all these rows, in the BATCH_STATE and in the state (1,) of the query."""

    def collect(self, job, rows):
        """Read from the BATCH_STATE what these rows have found besides keys."""

    def finish(self, bodies, pairs, found):
        """The PairResults, completed."""
        return found


@generic("wanted")
def visitor_of(wanted, flat_a, flat_b):
    """The visitor of two bodies without transforms, for these vertices."""


@generic("wanted")
def transformed_visitor_of(wanted, flat_a, flat_b, m_a, m_b):
    """The visitor of two bodies of which at least one has a transform."""


@generic("wanted")
def allowed_gap(wanted, job, gaps, ranks, p, motion_a, motion_b):
    """How far the boxes of the pair of bodies p may be apart along an axis; below 0: skip the pair."""


@generic("wanted")
def start_pair(wanted, job, state, lower_bounds, a, motion_a, matrix_a, b, motion_b, matrix_b, m_a):
    """Set up what the task needs for two bodies, after `init_query`: from their contexts, motion records, and addresses of transforms; m_a
    (12,) is that of the first."""


@generic("wanted")
def resume_pair(wanted, visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, lower_bounds, keys):
    """Start or resume the loop over two BVHs; why it stopped."""


@generic("wanted")
def finish_pair(wanted, job, state, ranks, p):
    """How many keys the pair of bodies p has, when its loop is done."""


# --- intersecting pairs ----------------------------------------------------------------------------------------------------------------

class Intersecting(NamedTuple):
    """All intersecting pairs of faces: keys."""
    wanted: int = 2


class CollideTask(BatchTask):
    """Intersecting pairs of faces. `full_sat`: test all separating axes of bodies with a transform; `first`: at most one pair of faces per
    pair of bodies; `contacts`: with CONTACT_FIELDS."""
    wanted, dtypes = Intersecting(), (COLLIDE_STATE, COLLIDE_TRANSFORMED_STATE)

    def __init__(self, full_sat, first, contacts):
        self.full_sat, self.first, self.contacts = full_sat, first, contacts

    def close_pairs(self, addresses, pairs):
        """The pairs whose boxes overlap; `init_query` decides again, with less rounding."""
        rows = np.empty(len(pairs), np.int64)
        return rows[:find_overlapping(addresses, pairs, rows)]

    def prepare(self, job, query, rows, has_transform):
        """The options of this class."""
        job["full_sat"], job["first_only"] = self.full_sat, self.first
        set_collide_fields(query[0], self.first)

    def finish(self, bodies, pairs, found):
        """With contacts, where they are wanted."""
        if self.contacts:
            found.arrays.update(contacts_of(body_parts(found, bodies, pairs)))
        return found


@visitor_of.register(Intersecting)
def _(wanted, flat_a, flat_b):
    return Collide(flat_a, flat_b)


@transformed_visitor_of.register(Intersecting)
def _(wanted, flat_a, flat_b, m_a, m_b):
    return CollideTransformed(flat_a, flat_b, m_a, m_b)


@allowed_gap.register(Intersecting)
def _(wanted, job, gaps, ranks, p, motion_a, motion_b):
    return 0.0


@start_pair.register(Intersecting)
def _(wanted, job, state, lower_bounds, a, motion_a, matrix_a, b, motion_b, matrix_b, m_a):
    pass


@resume_pair.register(Intersecting)
def _(wanted, visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, lower_bounds, keys):
    return traverse(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, keys)


@finish_pair.register(Intersecting)
def _(wanted, job, state, ranks, p):
    return min(state["found"], 1) if job["first_only"] else state["found"]  # a leaf may have found more than one
