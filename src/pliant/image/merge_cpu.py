"""The loop of `merge.py` on the CPU."""
import numpy as np

from pliant.core.jit import kernel
from pliant.image.merge import level_layout, merge_texel


@kernel
def merge_level(active, boxes, size, margin, below, below_side, begin, side):
    for y in range(side):
        for x in range(side):
            boxes[begin + y * side + x] = merge_texel(active, boxes, size, margin, below, below_side, x, y)


def merge(active, size, margin):
    """The texels of all levels from 1 up, and how they lie: (boxes, begins, sides)."""
    begins, sides, total = level_layout(size)
    boxes = np.empty(total, np.int64)
    for k in range(1, len(sides)):
        merge_level(active, boxes, size, margin, begins[k - 1], sides[k - 1], begins[k], sides[k])
    return boxes, begins, sides
