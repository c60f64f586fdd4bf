"""Stop after so many milliseconds, and say what is certain (Hubbard 1995, interruptible collision detection).

Loops are resumable, so a query with a budget runs in small steps and looks at the clock between them. What is found is certain: triangles
meet or they do not. What waits on the stack when time is up was not looked at: pairs of nodes or leaves, and with them all pairs of faces
below. Of a face that is below none of them all pairs are known.
"""
import time

import numpy as np

from pliant.core import validate
from pliant.core.jit import kernel

TIMED_CALL_BUDGET = 1 << 9                                              # pairs of nodes between looks at the clock: about 30 µs
NO_ENTRIES = np.empty(0, np.int64)


def now():
    """Seconds, of a clock that only goes forward. All looks at it go through here, so that tests can turn it."""
    return time.perf_counter()


def deadline(budget_ms):
    """When a query that begins now must stop; None: never. The budget comes from the user."""
    limit = np.inf if budget_ms is None else validate.nonnegative("budget_ms", budget_ms)
    return None if limit == np.inf else now() + limit / 1000.0


def time_is_up(end_time):
    """Is time up?"""
    return end_time is not None and now() >= end_time


@kernel
def mark_faces_below(entries, ranges, faces, range_changes, marks):
    """marks[f] = 1 for all faces below these names of nodes (>= 0) or leaves (~leaf). `begun` (m + 1,), 0 at first, counts for every leaf
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
    """(n,) bool: which of the n faces of a shape are below these names."""
    marks = np.zeros(n, np.uint8)
    mark_faces_below(entries, bvh.ranges(), bvh.tree.faces, np.zeros(len(bvh.tree.faces) + 1, np.int64), marks)
    return marks.view(np.bool_)


def unresolved_faces(bvhs, face_counts, unfinished):
    """`Pairs.unresolved`, for two shapes (or one twice) of so many faces, and what a loop over them has left on its stack."""
    a, b = unfinished >> 32, unfinished << 32 >> 32                     # names have a sign
    if bvhs[0] is bvhs[1]:
        both = faces_below(bvhs[0], np.concatenate([a, b]), face_counts[0])
        return both, both
    return faces_below(bvhs[0], a, face_counts[0]), faces_below(bvhs[1], b, face_counts[1])
