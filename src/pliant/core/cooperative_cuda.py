"""Cooperative CUDA kernels, whose threads synchronise across the grid, so that one launch does many steps; and their block and grid sums.

A launch with its preparation costs Python 60 to 80 µs: what took 40 launches and 4.5 ms takes two here, and 1.8 ms (`docs/image.md`). All
blocks must be resident on the GPU at once; `CooperativeKernel` asks how many fit. This is also the only place that sets compiler options
for the GPU, as `core/jit.py` does for the CPU: no fast-math, explicitly.
"""
from functools import wraps

import numpy as np
from numba import cuda

from pliant.core.device import is_simulated
from pliant.core.jit import ignore_float_errors


class _SimulatedCuda:
    """In the simulator: `cuda` as the running kernel sees it. The simulator would swap that name in a kernel's own module, and in other
    modules during a call of their functions, which is a race between threads. Modules of kernels import `cuda` from here."""

    def __getattr__(self, name):
        from numba.cuda.simulator import kernel
        return getattr(kernel._get_kernel_context(), name)


OPTIONS = {"fastmath": False}


def device_function(function):
    """Decorate a function for kernels of other modules to call."""
    return function if is_simulated() else cuda.jit(device=True, **OPTIONS)(function)


BLOCK_SIZE = 8 if is_simulated() else 256                               # threads of a block, a power of two
TILE = 2 * BLOCK_SIZE                                                   # numbers that a block scans at a time


def cooperative_kernel(registers):
    """Decorate a kernel as a `CooperativeKernel` with at most so many registers a thread."""
    def decorate(function):
        from numba import cuda  # in the simulator, this module's `cuda` is another one
        return CooperativeKernel(cuda.jit(with_errors_ignored(function)) if is_simulated()
                                 else cuda.jit(max_registers=registers, **OPTIONS)(function))
    return decorate


def cuda_kernel(function):
    """Decorate a kernel without grid synchronisation, launched as usual: function[blocks, threads](…)."""
    from numba import cuda
    return cuda.jit(with_errors_ignored(function)) if is_simulated() else cuda.jit(**OPTIONS)(function)


def with_errors_ignored(function):
    """Ignore float errors in every simulated thread: it is a new Python thread, which does not inherit its caller's error state."""
    @wraps(function)
    def body(*args):
        with ignore_float_errors():
            function(*args)
    return body


class CooperativeKernel:
    """A kernel with grid synchronisation, launched with as many blocks as fit on the GPU at once; in the simulator with one."""

    def __init__(self, kernel):
        self._kernel, self._blocks = kernel, {}

    def __call__(self, *args):
        if is_simulated():
            return self._kernel[1, BLOCK_SIZE](*args)
        here = cuda.get_current_device()
        kind = here.id, *(getattr(value, "dtype", None) for value in args)  # each is compiled separately, with a block count of its own
        if kind not in self._blocks:
            self._kernel[here.MULTIPROCESSOR_COUNT, BLOCK_SIZE](*args)  # one block a multiprocessor always fits
            self._blocks[kind] = min(one.max_cooperative_grid_blocks(BLOCK_SIZE) for one in self._kernel.overloads.values())
        else:
            self._kernel[self._blocks[kind], BLOCK_SIZE](*args)


@device_function
def block_sum(value, shared):
    """The sum of the values of all threads of a block, through shared memory (TILE,)."""
    i = cuda.threadIdx.x
    cuda.syncthreads()
    shared[i] = value
    n = BLOCK_SIZE // 2
    while n > 0:
        cuda.syncthreads()
        if i < n:
            shared[i] += shared[i + n]
        n //= 2
    cuda.syncthreads()
    return shared[0]


@device_function
def add_block_sum(value, shared, totals, slot):
    """totals[slot] += the sum of the values of all threads of the block."""
    total = block_sum(value, shared)
    if cuda.threadIdx.x == 0 and total != 0:
        cuda.atomic.add(totals, slot, total)


@device_function
def block_scan(shared):
    """The exclusive prefix sum of shared (TILE,), in place; returns the sum of all. In pairs, then pairs of these (Blelloch 1990)."""
    i = cuda.threadIdx.x
    step, n = 1, BLOCK_SIZE
    while n > 0:
        cuda.syncthreads()
        if i < n:
            shared[step * (2 * i + 2) - 1] += shared[step * (2 * i + 1) - 1]
        step *= 2
        n //= 2
    cuda.syncthreads()
    total = shared[TILE - 1]
    cuda.syncthreads()
    if i == 0:
        shared[TILE - 1] = 0
    n = 1
    while n <= BLOCK_SIZE:
        step //= 2
        cuda.syncthreads()
        if i < n:
            a, b = step * (2 * i + 1) - 1, step * (2 * i + 2) - 1
            left = shared[a]
            shared[a] = shared[b]
            shared[b] += left
        n *= 2
    cuda.syncthreads()
    return total


@device_function
def grid_scan(numbers, n, block_sums, shared, totals, slot):
    """numbers[i], i < n, becomes the sum of those before, numbers[n] and totals[slot] that of all. block_sums: room for one number a block.
    Every block scans a chunk of its own; the grid synchronises once, and must have synchronised before."""
    i, block = cuda.threadIdx.x, cuda.blockIdx.x
    chunk = -(-n // cuda.gridDim.x)
    begin, end = min(block * chunk, n), min((block + 1) * chunk, n)
    partial = np.int64(0)
    for k in range(begin + i, end, BLOCK_SIZE):
        partial += numbers[k]
    total = block_sum(partial, shared)
    if i == 0:
        block_sums[block] = total
    cuda.cg.this_grid().sync()
    partial = np.int64(0)
    for k in range(i, block, BLOCK_SIZE):
        partial += block_sums[k]
    prefix = block_sum(partial, shared)
    for first in range(begin, end, TILE):
        cuda.syncthreads()
        for k in range(i, TILE, BLOCK_SIZE):
            shared[k] = numbers[first + k] if first + k < end else 0
        total = block_scan(shared)
        for k in range(i, TILE, BLOCK_SIZE):
            if first + k < end:
                numbers[first + k] = prefix + shared[k]
        prefix += total
    if block == cuda.gridDim.x - 1 and i == 0:
        numbers[n] = prefix
        totals[slot] = prefix


@device_function
def scan_counts(counts, n, begins, block_sums, shared, totals, slot):
    """begins[i], i <= n, becomes the sum of counts[:i], and totals[slot] that of all. The grid synchronises before, between and after."""
    cuda.cg.this_grid().sync()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        begins[i] = counts[i]
    cuda.cg.this_grid().sync()
    grid_scan(begins, n, block_sums, shared, totals, slot)
    cuda.cg.this_grid().sync()


def max_blocks():
    """The largest number of blocks of a grid."""
    return 1 if is_simulated() else 64 * cuda.get_current_device().MULTIPROCESSOR_COUNT


if is_simulated():
    cuda = _SimulatedCuda()
