"""On the host: pairs of faces that the filters of a GPU left unresolved, few as they are, by their corners alone."""
import numpy as np

from pliant.core.function_pointer import call_address
from pliant.core.jit import kernel
from pliant.core.stack import stack_float64
from pliant.geometry.adjacent_faces import adjacent_overlap
from pliant.query.collide.leaf_overlap import exact_entry


@kernel
def exact_test_range(vertex_ids, corners, exact_address, local_faces, intersects, begin, end):
    """meet[k]: do the faces of pair k meet, in more than the vertices they share? names (m, 6), corners (m, 18); `local` (2, 3) is room
    for faces that name corners of a pair, those with one name by the first of them."""
    t = stack_float64(18)
    for k in range(begin, end):
        for i in range(18):
            t[i] = corners[k, i]
        shared_corner = 6
        for i in range(6):
            same = i
            for j in range(i - 1, -1, -1):
                if vertex_ids[k, j] == vertex_ids[k, i]:
                    same = j
            local_faces[i // 3, i % 3] = same
            if i >= 3 and same < 3:
                shared_corner = min(shared_corner, same)
        if shared_corner < 6:
            intersects[k] = adjacent_overlap(t, local_faces, 0, 1, shared_corner, False) & 1
        else:
            intersects[k] = call_address(exact_address, t, 0) & 1


def exact_tests(vertex_ids, corners):
    """(m,) bool: which of the pairs meet."""
    intersects, exact_address = np.zeros(len(vertex_ids), np.bool_), exact_entry()[0]
    for begin in range(0, len(vertex_ids), 1 << 12):                    # Ctrl-C is looked at in between
        exact_test_range(vertex_ids, corners, exact_address, np.empty((2, 3), np.int32), intersects, begin,
                         min(begin + (1 << 12), len(vertex_ids)))
    return intersects
