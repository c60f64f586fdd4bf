"""Pass 2 on CUDA: the levels of the mipmap, one after the other."""
import numpy as np
from numba import int64

from pliant.core.cooperative_cuda import TILE, add_up, cuda, of_kernels
from pliant.image.kernel_args import RAYS
from pliant.image.merge import put_levels, texel


@of_kernels
def merge(size, margin, on, texels, levels, level_begins, level_sides, board):
    """Pass 2: all levels from 1 up. The grid waits after each."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us, rays = cuda.grid(1), cuda.gridsize(1), np.int64(0)
    for p in range(me, size * size, all_of_us):
        rays += np.int64(on[p] != 0)
    add_up(rays, tile, board, RAYS)
    if me == 0:
        put_levels(size, level_begins, level_sides)
    grid.sync()
    for level in range(1, levels):
        side = level_sides[level]
        for i in range(me, side * side, all_of_us):
            texels[level_begins[level] + i] = texel(on, texels, size, margin, level_begins[level - 1], level_sides[level - 1], i % side,
                                                    i // side)
        grid.sync()
