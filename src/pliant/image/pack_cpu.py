"""The loops of `pack.py` on the CPU."""
import numpy as np

from pliant.core.jit import kernel
from pliant.image.merge import NONE
from pliant.image.pack import SIDES, put_left


@kernel
def pack_some(sparse, left, boxes):
    """Put the faces whose box is not NONE, and these boxes, one after the other; how many."""
    n = 0
    for f in range(len(sparse)):
        if sparse[f] != NONE:
            left[n], boxes[n] = f, sparse[f]
            n += 1
    return n


@kernel
def cut_down(screen, faces, left, pixels, slack, slack_z, boxes):
    """Put what is left of these faces within their boxes of pixels."""
    for i in range(len(left)):
        put_left(screen, faces, np.int64(left[i]), slack, slack_z, pixels[i], boxes, SIDES * i)


def pack(sparse):
    """(faces that are left, their boxes of pixels)."""
    left, boxes = np.empty(len(sparse), np.int32), np.empty(len(sparse), np.int64)
    n = pack_some(sparse, left, boxes)
    return left[:n], boxes[:n]
