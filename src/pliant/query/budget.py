"""Time budgets: stop after so many milliseconds and report what is certain (Hubbard 1995, interruptible collision detection).

Loops are resumable, so a query with a budget runs in small steps and reads the clock between them. Every pair found is certain. Pairs of
nodes or leaves that are on the stack when time is up were not tested, nor were the pairs of faces below them. A face below none of these
entries has all its pairs in the result.
"""
import time

import numpy as np

from pliant.core import validate
from pliant.core.jit import kernel

TIMED_CALL_BUDGET = 1 << 9                                              # pairs of nodes between readings of the clock: about 30 µs
NO_ENTRIES = np.empty(0, np.int64)


def now():
    """Seconds of a monotonic clock. All code reads it through this function, so that tests can set it."""
    return time.perf_counter()


def deadline(budget_ms):
    """The time at which a query that starts now must stop; None: never. Validates the budget."""
    limit = np.inf if budget_ms is None else validate.nonnegative("budget_ms", budget_ms)
    return None if limit == np.inf else now() + limit / 1000.0


def time_is_up(end_time):
    """Has the end time passed?"""
    return end_time is not None and now() >= end_time


@kernel
def mark_faces_below(entries, ranges, faces, range_changes, marks):
    """Set marks[f] = 1 for all faces below these nodes (>= 0) or leaves (~leaf). `range_changes` (m + 1,), 0 at first, counts for each leaf
    how many ranges begin there, less those that end."""
    for k in range(len(entries)):
        entry = entries[k]
        first, last = (ranges[entry, 0], ranges[entry, 1]) if entry >= 0 else (~entry, ~entry + 1)
        range_changes[first] += 1
        range_changes[last] -= 1
    open_ranges = 0
    for i in range(len(faces)):
        open_ranges += range_changes[i]
        if open_ranges > 0:
            for k in range(faces.shape[1]):
                if faces[i, k] >= 0:
                    marks[faces[i, k]] = 1


def faces_below(bvh, entries, n):
    """(n,) bool: which of the n faces of a BVH are below these nodes and leaves."""
    marks = np.zeros(n, np.uint8)
    mark_faces_below(entries, bvh.ranges(), bvh.tree.faces, np.zeros(len(bvh.tree.faces) + 1, np.int64), marks)
    return marks.view(np.bool_)


def unresolved_faces(bvhs, face_counts, unfinished):
    """`Pairs.unresolved` of two BVHs (or one twice), from their face counts and the pairs that a loop left on its stack."""
    a, b = unfinished >> 32, unfinished << 32 >> 32                     # entries are signed
    if bvhs[0] is bvhs[1]:
        both = faces_below(bvhs[0], np.concatenate([a, b]), face_counts[0])
        return both, both
    return faces_below(bvhs[0], a, face_counts[0]), faces_below(bvhs[1], b, face_counts[1])
