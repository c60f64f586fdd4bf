"""The loops of `pack.py` on the CPU."""
import numpy as np

from pliant.core.jit import kernel
from pliant.image.merge import EMPTY_BOX
from pliant.image.pack import BOX_SIZE, clip_face_box


@kernel
def compact(sparse, packed_faces, boxes):
    """Put the faces whose box is not NONE, and these boxes, one after the other; how many."""
    n = 0
    for f in range(len(sparse)):
        if sparse[f] != EMPTY_BOX:
            packed_faces[n], boxes[n] = f, sparse[f]
            n += 1
    return n


@kernel
def clip_boxes(screen, faces, packed_faces, pixels, error_xy, error_z, boxes):
    """Put what is left of these faces within their boxes of pixels."""
    for i in range(len(packed_faces)):
        clip_face_box(screen, faces, np.int64(packed_faces[i]), error_xy, error_z, pixels[i], boxes, BOX_SIZE * i)


def pack(sparse):
    """(faces that are left, their boxes of pixels)."""
    packed_faces, boxes = np.empty(len(sparse), np.int32), np.empty(len(sparse), np.int64)
    n = compact(sparse, packed_faces, boxes)
    return packed_faces[:n], boxes[:n]
