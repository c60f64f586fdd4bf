"""The loop of `separate.py` on the CPU."""
import numpy as np

from pliant.core import threads as pool
from pliant.core.jit import kernel
from pliant.image.separate import separated

CHUNK = 1 << 15                                                         # faces between looks at Ctrl-C


@kernel
def separate_some(screen, faces, begin, end, slack, slack_z, size, margin, on, boxes, begins, sides, out):
    for f in range(begin, end):
        out[f] = separated(screen, faces, f, slack, slack_z, size, margin, on, boxes, begins, sides)


def separate(screen, faces, view, margin, on, boxes, begins, sides):
    """(f,) int64: the box of pixels in which each face may collide, or NONE."""
    sparse = np.empty(len(faces) // 3, np.int64)
    pool.in_chunks(len(sparse), CHUNK, lambda begin, end: separate_some(
        screen, faces, begin, end, view.slack, view.slack_z, view.size, margin, on, boxes, begins, sides, sparse))
    return sparse
