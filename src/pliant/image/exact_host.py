"""On the host: pairs of faces that the filters of a GPU left undecided, few as they are, by their corners alone."""
import numpy as np

from pliant.core.function_pointer import invoke
from pliant.core.jit import kernel
from pliant.core.stack import floats
from pliant.geometry.adjacent_faces import beyond
from pliant.query.collide.leaf_overlap import exact_entry


@kernel
def settle_some(names, corners, exact, local, meet, begin, end):
    """meet[k]: do the faces of pair k meet, in more than the vertices they share? names (m, 6), corners (m, 18); `local` (2, 3) is room
    for faces that name corners of a pair, those with one name by the first of them."""
    t = floats(18)
    for k in range(begin, end):
        for i in range(18):
            t[i] = corners[k, i]
        shared = 6
        for i in range(6):
            first = i
            for j in range(i - 1, -1, -1):
                if names[k, j] == names[k, i]:
                    first = j
            local[i // 3, i % 3] = first
            if i >= 3 and first < 3:
                shared = min(shared, first)
        if shared < 6:
            meet[k] = beyond(t, local, 0, 1, shared, False) & 1
        else:
            meet[k] = invoke(exact, t, 0) & 1


def settle(names, corners):
    """(m,) bool: which of the pairs meet."""
    meet, exact = np.zeros(len(names), np.bool_), exact_entry()[0]
    for begin in range(0, len(names), 1 << 12):                         # Ctrl-C is looked at in between
        settle_some(names, corners, exact, np.empty((2, 3), np.int32), meet, begin, min(begin + (1 << 12), len(names)))
    return meet
