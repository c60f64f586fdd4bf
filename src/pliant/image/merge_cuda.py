"""Pass 2 on CUDA: the levels of the mipmap, one after the other."""
import numpy as np
from numba import int64

from pliant.core.cooperative_cuda import TILE, add_block_sum, cuda, device_function
from pliant.image.kernel_args import N_RAYS
from pliant.image.merge import layout_levels, merge_texel


@device_function
def merge(size, margin, active, texels, levels, level_begins, level_sides, counters):
    """Pass 2: all levels from 1 up. The grid waits after each."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads, rays = cuda.grid(1), cuda.gridsize(1), np.int64(0)
    for p in range(thread, size * size, n_threads):
        rays += np.int64(active[p] != 0)
    add_block_sum(rays, tile, counters, N_RAYS)
    if thread == 0:
        layout_levels(size, level_begins, level_sides)
    grid.sync()
    for level in range(1, levels):
        side = level_sides[level]
        for i in range(thread, side * side, n_threads):
            texels[level_begins[level] + i] = merge_texel(active, texels, size, margin, level_begins[level - 1], level_sides[level - 1],
                                                          i % side,
                                                          i // side)
        grid.sync()
