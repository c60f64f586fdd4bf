"""Pass 4, packing (paper G, section 3): the faces that are left, one after the other, and what is left of each.

The paper's GPU could not scatter: it counted in rows, shifted along them, and moved rows together. Whoever can scatter needs none of that:
on the CPU it is one loop, on CUDA each face that is left takes the next place, in any order. `benchmarks/packing.py` compares them.
"""
import numpy as np

from pliant.core.jit import helper
from pliant.image.cover import corners_of, extent_of
from pliant.image.merge import unpack_box

LEFT, LOW, NEAR, RIGHT, HIGH, FAR, BOX_SIZE = range(7)                  # numbers of a box, as `volume/aabb.py` has them


@helper
def clip_face_box(screen, faces, f, error_xy, error_z, pixels, boxes, at):
    """Put what is left of face f within a box of pixels at boxes[at : at + SIDES]."""
    box = extent_of(corners_of(screen, faces, f), error_xy, error_z)
    left, low, right, high = unpack_box(pixels)
    boxes[at + LEFT], boxes[at + RIGHT] = max(box.left, np.float32(left)), min(box.right, np.float32(right + 1))
    boxes[at + LOW], boxes[at + HIGH] = max(box.low, np.float32(low)), min(box.high, np.float32(high + 1))
    boxes[at + NEAR], boxes[at + FAR] = box.near, box.far
