"""Distances of many pairs of bodies in one call: tasks of the narrow phase of a scene (`query/collide/narrow_phase.py`).

`WithinTask` finds all pairs of faces within a tolerance. Candidates come from the batch; they are measured while the bodies are locked.

`NearestTask` finds the nearest pair of faces of all pairs of bodies. These come in the order of lower bounds of their distances (`gaps`),
with ranks, which decide between pairs that are as near. The search of each pair of bodies starts with the least distance so far, so that
most end at their roots; pairs that cannot count any more are skipped.
"""
from typing import NamedTuple

import numpy as np

from pliant.geometry.triangle_distance import triangle_distance_entry
from pliant.query.collide.batch_task import (
    BatchTask,
    allowed_gap,
    finish_pair,
    resume_pair,
    start_pair,
    transformed_visitor_of,
    visitor_of,
)
from pliant.query.collide.pair_results import body_parts
from pliant.query.proximity.branch_and_bound import UNKNOWN_BOUND, branch_and_bound
from pliant.query.proximity.leaf_distance import (
    DISTANCE_ERROR,
    DISTANCE_STATE,
    Candidates,
    Near,
    Nearest,
    NearTransformed,
    leaf_entry,
    max_box_gap,
    max_stretch,
    reset_leaf_stage,
)
from pliant.query.proximity.measure import check_memory, measure_batch
from pliant.query.proximity.within import set_common_points
from pliant.query.traverse import COUNTERS, traverse

NO_RANK = np.iinfo(np.int64).max                                        # above all ranks


class DistanceTask(BatchTask):
    """What both tasks share: pairs of faces that are no farther apart than `max_distance`."""
    dtypes = (DISTANCE_STATE, DISTANCE_STATE)
    max_distance: float

    def prepare(self, job, query, rows, has_transform):
        """The distance, and the entries of the leaf stage."""
        visitor = NearTransformed() if has_transform else Near()
        job["max_distance"] = self.max_distance
        query["address"], query["leaf_entry"] = query.ctypes.data, leaf_entry(self.wanted, visitor)[0]
        query["distance_entry"] = triangle_distance_entry()[0]


# --- within a tolerance ----------------------------------------------------------------------------------------------------------------

class WithinTask(DistanceTask):
    """Pairs of faces within a tolerance: results have `distances` and, if requested, `points`."""
    wanted = Candidates()

    def __init__(self, tolerance, points):
        self.max_distance, self.points = tolerance, points

    def finish(self, bodies, pairs, found):
        """Measure the candidates, and keep those within the tolerance."""
        faces = found.arrays["faces"]
        check_memory(len(faces), self.max_distance)
        distances, points, exact = measure_batch(bodies, np.ascontiguousarray(pairs), found.ends, faces, self.points)
        found.counters[:, COUNTERS.index("n_exact")] += np.diff(count_before(exact)[found.ends], prepend=0)
        in_tolerance = distances <= self.max_distance
        touching = distances == 0.0
        if self.points and touching.any():
            rows = np.flatnonzero(touching)
            set_common_points(points, rows, body_parts(select_rows(found, touching), bodies, pairs))
        found.arrays["distances"] = distances
        if self.points:
            found.arrays["points"] = points.reshape(-1, 2, 3)
        return select_rows(found, in_tolerance)


def count_before(flags):
    """(n + 1,): how many of the first k flags are set."""
    return np.concatenate([[0], np.cumsum(flags)])


def select_rows(found, mask):
    """The PairResults of some of their rows, for the same pairs of bodies."""
    if mask.all():
        return found
    return found._replace(ends=count_before(mask)[found.ends], arrays={name: array[mask] for name, array in found.arrays.items()})


# --- the nearest pair ------------------------------------------------------------------------------------------------------------------

class NearestPair(NamedTuple):
    """The nearest pair of faces so far: the distance, the rank of its two bodies, their row among those of the task, its faces and points,
    flat."""
    distance: float
    rank: int
    row: int
    faces: np.ndarray
    points: np.ndarray


class NearestTask(DistanceTask):
    """The nearest pair of faces. `gaps` (p,) are lower bounds of the distances of pairs of bodies, ascending, `ranks` (p,) decide between
    equal distances. Only pairs count that come before `max_distance` and `max_rank`, in this order; `best` is None if there is none."""
    wanted = Nearest()

    def __init__(self, gaps, ranks, max_distance, max_rank):
        self.gaps, self.ranks, self.max_distance, self.max_rank, self.best = gaps, ranks, max_distance, max_rank, None

    def prepare(self, job, query, rows, has_transform):
        """The bounds and ranks of these rows, and what was found before."""
        super().prepare(job, query, rows, has_transform)
        self.arrays = self.gaps[rows], self.ranks[rows]                 # the job has their addresses
        job["gaps"], job["ranks"], job["n_ranks"] = self.arrays[0].ctypes.data, self.arrays[1].ctypes.data, len(rows)
        job["best_rank"], job["best_row"] = self.max_rank, -1

    def collect(self, job, rows):
        """Note the best of these rows."""
        if job["best_row"] >= 0:
            self.max_distance, self.max_rank = float(job["max_distance"]), int(job["best_rank"])
            self.best = NearestPair(self.max_distance, self.max_rank, int(rows[job["best_row"]]), job["best_faces"].astype(np.int32),
                                    job["best_points"].copy())

    def finish(self, bodies, pairs, found):
        """For faces that intersect both nearest points are a common point."""
        if self.best is not None and self.best.distance == 0.0:
            i, j = pairs[self.best.row].tolist()
            set_common_points(self.best.points[None], [0], [(self.best.faces[None], bodies[i], bodies[j])])
        return found


# --- in kernels ------------------------------------------------------------------------------------------------------------------------

def _visitor(wanted, flat_a, flat_b):
    return Near()


def _transformed_visitor(wanted, flat_a, flat_b, m_a, m_b):
    return NearTransformed()


def _start(wanted, job, state, lower_bounds, a, motion_a, matrix_a, b, motion_b, matrix_b, m_a):
    state["leaves_a"], state["n_leaves_a"], state["leaves_b"], state["n_leaves_b"] = a["leaves"], a["n_leaves"], b["leaves"], b["n_leaves"]
    state["vertices_a"], state["n_vertices_a"] = motion_a["flat"], motion_a["n_flat"]
    state["vertices_b"], state["n_vertices_b"] = motion_b["flat"], motion_b["n_flat"]
    state["matrix_a"], state["n_matrix_a"], state["matrix_b"], state["n_matrix_b"] = matrix_a, 12, matrix_b, 12
    lower_bounds[0] = UNKNOWN_BOUND
    reset_leaf_stage(state, job["max_distance"], motion_a["scale"], max_stretch(m_a),
                     max(motion_a["reach"], motion_b["reach"]) * DISTANCE_ERROR)


for _wanted in (Candidates, Nearest):
    visitor_of.register(_wanted)(_visitor)
    transformed_visitor_of.register(_wanted)(_transformed_visitor)
    start_pair.register(_wanted)(_start)


@allowed_gap.register(Candidates)
def _(wanted, job, gaps, ranks, p, motion_a, motion_b):
    return max_box_gap(job["max_distance"], motion_a["reach"], motion_b["reach"])


@resume_pair.register(Candidates)
def _(wanted, visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, lower_bounds, keys):
    query[0]["keys"], query[0]["n_keys"] = keys.ctypes.data, len(keys)
    return traverse(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, keys)


@finish_pair.register(Candidates)
def _(wanted, job, state, ranks, p):
    return state["found"]


@allowed_gap.register(Nearest)
def _(wanted, job, gaps, ranks, p, motion_a, motion_b):
    best = job["max_distance"]
    if gaps[p] > best or (gaps[p] == best and ranks[p] > job["best_rank"]):
        return -1.0
    return max_box_gap(best, motion_a["reach"], motion_b["reach"])


@resume_pair.register(Nearest)
def _(wanted, visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, query, stack, lower_bounds, keys):
    query[0]["keys"], query[0]["n_keys"] = keys.ctypes.data, len(keys)
    nothing = lower_bounds[:0]                                          # bodies that note how loose volumes are do not come here
    return branch_and_bound(visitor, nodes_a, leaves_a, slots_a, nodes_b, leaves_b, slots_b, nothing, nothing, query, stack, lower_bounds)


@finish_pair.register(Nearest)
def _(wanted, job, state, ranks, p):
    best = state["best"]
    if state["face_a"] >= 0 and (best < job["max_distance"] or (best == job["max_distance"] and ranks[p] < job["best_rank"])):
        job["max_distance"], job["best_rank"], job["best_row"] = best, ranks[p], p
        job["best_faces"][0], job["best_faces"][1] = state["face_a"], state["face_b"]
        for k in range(6):
            job["best_points"][k] = state["ends"][k]
    return np.int64(0)
