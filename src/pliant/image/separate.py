"""Pass 3, primitive separation (paper G, section 6): which faces does a ray that is on meet, and in which box?

A face looks up the bundles at the corners of its own box of pixels, at the level where these are neighbours or one: four texels then hold
all of the box. That is the level whose texels are as large as the box or, where the finer one will do, that: the paper's short cut. What
the boxes of these bundles and its own have in common is where the face may collide. Rays that stand for the pixels around them, too, are
looked for around the box.

Pass 4, packing (paper G, section 3): the faces that are left, one after the other, and what is left of each.

The paper's GPU could not scatter: it counted in rows, shifted along them, and moved rows together. Whoever can scatter needs none of that:
on the CPU it is one loop, on CUDA each face that is left takes the next place, in any order. `benchmarks/packing.py` compares them;
`compact.py` does so for arrays of users, in their order."""
import numpy as np

from pliant.core.jit import helper
from pliant.image.cover import corners_of, extent_of, in_window, pixel_at
from pliant.image.merge import EMPTY_BOX, enclosing, pack_box, ray_box, texel_below, unpack_box


@helper
def finest_level(left, low, right, high):
    """The finest level at which the texels at the corners of a box are neighbours, or one."""
    level = 0
    while (right >> level) - (left >> level) > 1 or (high >> level) - (low >> level) > 1:
        level += 1
    return level


@helper
def texel_at(active, boxes, begins, sides, size, margin, level, x, y):
    return (ray_box(active, x, y, size, margin) if level == 0
            else texel_below(boxes, begins[level], sides[level], x >> level, y >> level))


@helper
def separate_face(screen, faces, f, error_xy, error_z, size, margin, active, boxes, begins, sides):
    """The box of pixels in which face f may collide; NONE: it cannot."""
    box = extent_of(corners_of(screen, faces, f), error_xy, error_z)
    if not in_window(box, size):
        return EMPTY_BOX
    left, low, right, high = pixel_at(box.left, size), pixel_at(box.low, size), pixel_at(box.right, size), pixel_at(box.high, size)
    p, q, r, s = max(left - margin, 0), max(low - margin, 0), min(right + margin, size - 1), min(high + margin, size - 1)
    level = finest_level(p, q, r, s)                                    # rays beside the box stand for pixels in it, too
    bundle = enclosing(enclosing(texel_at(active, boxes, begins, sides, size, margin, level, p, q),
                                 texel_at(active, boxes, begins, sides, size, margin, level, r, q)),
                       enclosing(texel_at(active, boxes, begins, sides, size, margin, level, p, s),
                                 texel_at(active, boxes, begins, sides, size, margin, level, r, s)))
    p, q, r, s = unpack_box(bundle)
    left, low, right, high = max(left, p), max(low, q), min(right, r), min(high, s)
    return pack_box(left, low, right, high) if left <= right and low <= high else EMPTY_BOX


LEFT, LOW, NEAR, RIGHT, HIGH, FAR, BOX_SIZE = range(7)                  # numbers of a box, as `volume/aabb.py` has them


@helper
def clip_face_box(screen, faces, f, error_xy, error_z, pixels, boxes, at):
    """Put what is left of face f within a box of pixels at boxes[at : at + SIDES]."""
    box = extent_of(corners_of(screen, faces, f), error_xy, error_z)
    left, low, right, high = unpack_box(pixels)
    boxes[at + LEFT], boxes[at + RIGHT] = max(box.left, np.float32(left)), min(box.right, np.float32(right + 1))
    boxes[at + LOW], boxes[at + HIGH] = max(box.low, np.float32(low)), min(box.high, np.float32(high + 1))
    boxes[at + NEAR], boxes[at + FAR] = box.near, box.far
