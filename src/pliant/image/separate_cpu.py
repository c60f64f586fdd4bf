"""The loop of `separate.py` on the CPU."""
import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import kernel
from pliant.image.separate import separate_face

CHUNK = 1 << 15                                                         # faces between looks at Ctrl-C


@kernel
def separate_range(screen, faces, begin, end, error_xy, error_z, size, margin, active, boxes, begins, sides, out):
    for f in range(begin, end):
        out[f] = separate_face(screen, faces, f, error_xy, error_z, size, margin, active, boxes, begins, sides)


def separate(screen, faces, view, margin, active, boxes, begins, sides):
    """(f,) int64: the box of pixels in which each face may collide, or NONE."""
    sparse = np.empty(len(faces) // 3, np.int64)
    pool.map_chunks(len(sparse), CHUNK, lambda begin, end: separate_range(
        screen, faces, begin, end, view.error_xy, view.error_z, view.size, margin, active, boxes, begins, sides, sparse))
    return sparse
