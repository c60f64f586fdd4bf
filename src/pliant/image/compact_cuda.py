"""Stream compaction on CUDA: a scan of the mask, then a launch in which each selected row goes to its place."""
import numpy as np
from numba import int64

from pliant.core.cooperative_cuda import TILE, cooperative_kernel, cuda, cuda_kernel, grid_scan, max_blocks
from pliant.core.device import launch_grid, report_out_of_memory, require_cuda

REGISTERS = 64


@cooperative_kernel(REGISTERS)
def count_selected(mask, n, places, sums, total):
    """places[i], i <= n, becomes the number of selected rows before i, and total[0] that of all."""
    tile = cuda.shared.array(TILE, int64)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        places[i] = 1 if mask[i] else 0
    cuda.cg.this_grid().sync()
    grid_scan(places, n, sums, tile, total, 0)


@cuda_kernel
def move_selected(values, mask, places, out):
    """Row i of (n, k) to its place, if it is selected."""
    i = cuda.grid(1)
    if i < mask.shape[0] and mask[i]:
        for k in range(values.shape[1]):
            out[places[i], k] = values[i, k]


def compact_on_device(rows, selected):
    """The selected rows, a Numba array on the current GPU. Both are `DeviceMemory` of that GPU, of checked shapes."""
    arrays = require_cuda()
    n, width, is_flat = rows.shape[0], int(np.prod(rows.shape[1:], dtype=np.int64)), len(rows.shape) == 1
    if not n or not width:
        count = int(np.count_nonzero(selected.view().copy_to_host())) if n else 0
        return arrays.device_array((count, *rows.shape[1:]), rows.dtype)
    chosen = selected.view()
    with report_out_of_memory("values", 8 * (n + 1) + n * width * rows.dtype.itemsize):
        places, sums, total = (arrays.device_array(size, np.int64) for size in (n + 1, max_blocks(), 1))
        count_selected(chosen, n, places, sums, total)
        count = int(total.copy_to_host()[0])
        out = arrays.device_array((count, width), rows.dtype)
    if count:
        if is_flat:                                                     # rows of one number; strides stay
            rows.strides, rows.shape = (*rows.strides, rows.dtype.itemsize), (n, 1)
        move_selected[launch_grid(n)](rows.view(), chosen, places, out)
    return out.reshape(count) if is_flat else out
