"""Stop after so many milliseconds, and say what is certain (Hubbard 1995, interruptible collision detection).

Loops are resumable, so a query with a budget runs in small steps and looks at the clock between them. What is found is certain: triangles
meet or they do not. What waits on the stack when time is up was not looked at: pairs of nodes or leaves, and with them all pairs of faces
below. Of a face that is below none of them all pairs are known.
"""
import time

import numpy as np

from pliant.core import validate
from pliant.core.jit import kernel

STEP = 1 << 9                                                           # pairs of nodes between looks at the clock: about 30 µs
NOTHING = np.empty(0, np.int64)


def now():
    """Seconds, of a clock that only goes forward. All looks at it go through here, so that tests can turn it."""
    return time.perf_counter()


def deadline(budget_ms):
    """When a query that begins now must stop; None: never. The budget comes from the user."""
    limit = np.inf if budget_ms is None else validate.limit("budget_ms", budget_ms)
    return None if limit == np.inf else now() + limit / 1000.0


def late(until):
    """Is time up?"""
    return until is not None and now() >= until


@kernel
def mark_below(names, ranges, faces, begun, marks):
    """marks[f] = 1 for all faces below these names of nodes (>= 0) or leaves (~leaf). `begun` (m + 1,), 0 at first, counts for every leaf
    how many ranges begin there, less those that end."""
    for k in range(len(names)):
        name = names[k]
        first, last = (ranges[name, 0], ranges[name, 1]) if name >= 0 else (~name, ~name + 1)
        begun[first] += 1
        begun[last] -= 1
    inside = 0
    for i in range(len(faces)):
        inside += begun[i]
        if inside > 0:
            for k in range(faces.shape[1]):
                if faces[i, k] >= 0:
                    marks[faces[i, k]] = 1


def faces_below(shape, names, n):
    """(n,) bool: which of the n faces of a shape are below these names."""
    marks = np.zeros(n, np.uint8)
    mark_below(names, shape.ranges(), shape.tree.faces, np.zeros(len(shape.tree.faces) + 1, np.int64), marks)
    return marks.view(np.bool_)


def undecided_of(shapes, sizes, left):
    """`Pairs.undecided`, for two shapes (or one twice) of so many faces, and what a loop over them has left on its stack."""
    a, b = left >> 32, left << 32 >> 32                                 # names have a sign
    if shapes[0] is shapes[1]:
        both = faces_below(shapes[0], np.concatenate([a, b]), sizes[0])
        return both, both
    return faces_below(shapes[0], a, sizes[0]), faces_below(shapes[1], b, sizes[1])
