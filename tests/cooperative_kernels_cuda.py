"""Kernels in which all threads add up. A module of its own, because `numba.cuda` is imported with it."""

from numba import int64

from pliant.core.cooperative_cuda import TILE, add_block_sum, block_scan, block_sum, cooperative_kernel, cuda, grid_scan


@cooperative_kernel(64)
def scan_all(numbers, n, sums, totals):
    tile = cuda.shared.array(TILE, int64)
    grid_scan(numbers, n, sums, tile, totals, 1)


@cooperative_kernel(64)
def add_all(numbers, n, totals):
    """totals[1] += all numbers; totals[2]: blocks that found another sum of their threads' numbers than one thread alone."""
    tile = cuda.shared.array(TILE, int64)
    me, mine = cuda.grid(1), 0
    for k in range(me, n, cuda.gridsize(1)):
        mine += numbers[k]
    add_block_sum(mine, tile, totals, 1)
    total, again = block_sum(cuda.threadIdx.x, tile), block_sum(1, tile)
    if total != again * (again - 1) // 2 or again != cuda.blockDim.x:
        cuda.atomic.add(totals, 2, 1)


@cooperative_kernel(64)
def scan_one(numbers, totals):
    """Every block does the same, and the first one writes."""
    tile = cuda.shared.array(TILE, int64)
    for k in range(cuda.threadIdx.x, TILE, cuda.blockDim.x):
        tile[k] = numbers[k]
    total = block_scan(tile)
    if cuda.blockIdx.x == 0:
        for k in range(cuda.threadIdx.x, TILE, cuda.blockDim.x):
            numbers[k] = tile[k]
        if cuda.threadIdx.x == 0:
            totals[1] = total
