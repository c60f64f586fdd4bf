"""The faces that a query left unresolved when its time was up (Hubbard 1995, interruptible collision detection).

Every pair found is certain. Pairs of nodes or leaves that are on the stack when time is up were not tested, nor were the pairs of faces
below them. A face below none of these entries has all its pairs in the result.
"""
import numpy as np

from pliant.core.jit import kernel


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
