"""CUDA kernels of `core/device_arrays.py`, one thread a row."""
from pliant.core.cooperative_cuda import cuda, cuda_kernel

INF = float("inf")
MAX_INDEX = 2**31 - 1


@cuda_kernel
def copy_rows(rows, target):
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for k in range(3):
            target[i, k] = rows[i, k]


@cuda_kernel
def copy_indices(rows, target):
    """Copy indices as int32; one that does not fit is invalid in any case and becomes −1."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for k in range(3):
            target[i, k] = -1
            if 0 <= rows[i, k] <= MAX_INDEX:
                target[i, k] = rows[i, k]


@cuda_kernel
def find_not_finite(rows, bad):
    """bad: the lowest bad row so far, and the number of bad rows."""
    i = cuda.grid(1)
    if i < rows.shape[0] and not (abs(rows[i, 0]) < INF and abs(rows[i, 1]) < INF and abs(rows[i, 2]) < INF):
        cuda.atomic.min(bad, 0, i)
        cuda.atomic.add(bad, 1, 1)


@cuda_kernel
def find_out_of_range(rows, n, bad):
    i = cuda.grid(1)
    if i < rows.shape[0] and (min(rows[i, 0], min(rows[i, 1], rows[i, 2])) < 0 or max(rows[i, 0], max(rows[i, 1], rows[i, 2])) >= n):
        cuda.atomic.min(bad, 0, i)
        cuda.atomic.add(bad, 1, 1)
