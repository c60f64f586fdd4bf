"""Kernels of which all threads can wait for each other, so that one launch does many steps; and what they do together.

A launch, with what goes with it, costs Python 60 to 80 µs: what took 40 of them and 4.5 ms takes two here, and 1.8 (`docs/image.md`). All
blocks must be on the GPU at once for that; `Whole` asks how many fit. This is also the only place that says how anything is compiled for
a GPU, as `core/jit.py` is for the CPU: no fast-math, said explicitly.
"""
from functools import wraps

import numpy as np
from numba import cuda

from pliant.core.device import simulated
from pliant.core.jit import silent


class _Running:
    """In the simulator: what `cuda` is within the kernel that runs. It would swap that name in a kernel's own module, and for functions of
    other modules while they are called, where threads get into each other's way. Modules of kernels import `cuda` from here."""

    def __getattr__(self, name):
        from numba.cuda.simulator import kernel
        return getattr(kernel._get_kernel_context(), name)


OPTIONS = {"fastmath": False}


def of_kernels(function):
    """Decorate a function for kernels of other modules to call."""
    return function if simulated() else cuda.jit(device=True, **OPTIONS)(function)


THREADS = 8 if simulated() else 256                                     # of a block, a power of two
TILE = 2 * THREADS                                                      # numbers that a block adds up at a time


def whole(registers):
    """Decorate a kernel whose threads wait for each other: a `Whole`, with so many registers a thread at most."""
    def decorate(function):
        from numba import cuda  # in the simulator, this module's is another
        return Whole(cuda.jit(quiet(function)) if simulated() else cuda.jit(max_registers=registers, **OPTIONS)(function))
    return decorate


def launched(function):
    """Decorate a kernel of which every thread goes its own way, launched as usual: function[blocks, threads](…)."""
    from numba import cuda
    return cuda.jit(quiet(function)) if simulated() else cuda.jit(**OPTIONS)(function)


def quiet(function):
    """In the simulator every thread is a new one of Python, which knows nothing of what its caller has silenced."""
    @wraps(function)
    def body(*args):
        with silent():
            function(*args)
    return body


class Whole:
    """A kernel whose threads wait for each other, with as many blocks as the GPU holds. In the simulator that is one."""

    def __init__(self, kernel):
        self._kernel, self._blocks = kernel, {}

    def __call__(self, *args):
        if simulated():
            return self._kernel[1, THREADS](*args)
        here = cuda.get_current_device()
        kind = here.id, *(getattr(value, "dtype", None) for value in args)              # each is compiled, and fits, on its own
        if kind not in self._blocks:
            self._kernel[here.MULTIPROCESSOR_COUNT, THREADS](*args)     # so many certainly fit
            self._blocks[kind] = min(one.max_cooperative_grid_blocks(THREADS) for one in self._kernel.overloads.values())
        else:
            self._kernel[self._blocks[kind], THREADS](*args)


@of_kernels
def block_sum(value, room):
    """The sum of the values of all threads of a block, through room (TILE,) in shared memory."""
    i = cuda.threadIdx.x
    cuda.syncthreads()
    room[i] = value
    n = THREADS // 2
    while n > 0:
        cuda.syncthreads()
        if i < n:
            room[i] += room[i + n]
        n //= 2
    cuda.syncthreads()
    return room[0]


@of_kernels
def add_up(value, room, totals, slot):
    """totals[slot] += the sum of the values of all threads of the block."""
    total = block_sum(value, room)
    if cuda.threadIdx.x == 0 and total != 0:
        cuda.atomic.add(totals, slot, total)


@of_kernels
def scan_tile(room):
    """Set room (TILE,) to the sums before each; the sum of all. In pairs, then pairs of these (Blelloch 1990)."""
    i = cuda.threadIdx.x
    step, n = 1, THREADS
    while n > 0:
        cuda.syncthreads()
        if i < n:
            room[step * (2 * i + 2) - 1] += room[step * (2 * i + 1) - 1]
        step *= 2
        n //= 2
    cuda.syncthreads()
    total = room[TILE - 1]
    cuda.syncthreads()
    if i == 0:
        room[TILE - 1] = 0
    n = 1
    while n <= THREADS:
        step //= 2
        cuda.syncthreads()
        if i < n:
            a, b = step * (2 * i + 1) - 1, step * (2 * i + 2) - 1
            left = room[a]
            room[a] = room[b]
            room[b] += left
        n *= 2
    cuda.syncthreads()
    return total


@of_kernels
def scan(numbers, n, sums, room, totals, slot):
    """numbers[i], i < n, becomes the sum of those before, numbers[n] and totals[slot] that of all. sums: room for one number a block. Every
    block has a stretch of its own; the grid waits once, and must have waited before."""
    i, block = cuda.threadIdx.x, cuda.blockIdx.x
    stretch = -(-n // cuda.gridDim.x)
    begin, end = min(block * stretch, n), min((block + 1) * stretch, n)
    mine = np.int64(0)
    for k in range(begin + i, end, THREADS):
        mine += numbers[k]
    total = block_sum(mine, room)
    if i == 0:
        sums[block] = total
    cuda.cg.this_grid().sync()
    mine = np.int64(0)
    for k in range(i, block, THREADS):
        mine += sums[k]
    before = block_sum(mine, room)
    for first in range(begin, end, TILE):
        cuda.syncthreads()
        for k in range(i, TILE, THREADS):
            room[k] = numbers[first + k] if first + k < end else 0
        total = scan_tile(room)
        for k in range(i, TILE, THREADS):
            if first + k < end:
                numbers[first + k] = before + room[k]
        before += total
    if block == cuda.gridDim.x - 1 and i == 0:
        numbers[n] = before
        totals[slot] = before


@of_kernels
def count_up(counts, n, begins, sums, room, totals, slot):
    """begins[i], i <= n, becomes the sum of counts[:i], and totals[slot] that of all. The grid waits before, in between and after."""
    cuda.cg.this_grid().sync()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        begins[i] = counts[i]
    cuda.cg.this_grid().sync()
    scan(begins, n, sums, room, totals, slot)
    cuda.cg.this_grid().sync()


def most_blocks():
    """How many blocks a grid can have, at most."""
    return 1 if simulated() else 64 * cuda.get_current_device().MULTIPROCESSOR_COUNT


if simulated():
    cuda = _Running()
