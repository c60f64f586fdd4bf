"""All passes on CUDA, in one launch (or one by one, for a clock), and what else kernels do for the host."""
import numpy as np

from pliant.core.cooperative_cuda import cuda, launched, whole
from pliant.image import counters as slots
from pliant.image.estimate import rays_through
from pliant.image.intersect import NAMES
from pliant.image.intersect_cuda import around, meet
from pliant.image.kernel_args import COUNTERS, FOUND
from pliant.image.merge_cuda import merge
from pliant.image.pack_cuda import pack
from pliant.image.sample_cuda import peel, sample
from pliant.image.separate_cuda import separate

REGISTERS = 128                                                         # a thread: two blocks to a multiprocessor


@whole(REGISTERS)
def passes(desk, numbers, held, view, longs, ints, faces, rows, singles, octets, vertices, board, report, out):
    """What the desk says. `held` and `view` have room for what is on it; `report` and `out` are in the host's memory: the board, and as
    many keys as fit."""
    grid, me, all_of_us = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1)
    if cuda.blockIdx.x == 0:                                            # once, and not by every thread, over the bus
        for k in range(cuda.threadIdx.x, slots.DESK, cuda.blockDim.x):
            held[k] = desk[k]
        for k in range(cuda.threadIdx.x, slots.NUMBERS, cuda.blockDim.x):
            view[k] = numbers[k]
    grid.sync()
    begin, end, n, n_vertices, first_b = held[slots.BEGIN], held[slots.END], held[slots.N], held[slots.N_VERTICES], held[slots.FIRST_B]
    size, margin, strip = held[slots.SIZE], held[slots.MARGIN], held[slots.STRIP]
    itself, plain = held[slots.ITSELF] != 0, held[slots.PLAIN] != 0
    slack, slack_z, frame = np.float32(view[slots.SLACK]), np.float32(view[slots.SLACK_Z]), view[slots.VIEW:]
    counts, sums = longs[held[slots.COUNTS]:], longs[held[slots.SUMS]:]
    texels, sparse = longs[held[slots.TEXELS]:], longs[held[slots.SPARSE]:]
    level_begins, level_sides = longs[held[slots.LEVEL_BEGINS]:], longs[held[slots.LEVEL_SIDES]:]
    strip_begins, order, left = longs[held[slots.STRIP_BEGINS]:], longs[held[slots.ORDER]:], ints[held[slots.LEFT]:]
    screen, boxes, lined = singles[held[slots.SCREEN]:], singles[held[slots.BOXES]:], singles[held[slots.LINED]:]
    on, met, large = octets[held[slots.ON]:], octets[held[slots.MET]:], ints[held[slots.LARGE]:]
    keys, undecided, most, few = longs[held[slots.KEYS]:], longs[held[slots.UNDECIDED]:], held[slots.MOST], held[slots.FEW]

    if begin <= slots.SAMPLE < end:
        if held[slots.SAMPLED] != 0:
            peel(vertices, n_vertices, frame, screen, faces, n, first_b, itself, slack, slack_z, size, held[slots.CLOSED] != 0,
                 held[slots.PASSES], held[slots.ENDS], held[slots.MARK] != 0, counts, longs[held[slots.FRONTS]:], longs[held[slots.BACKS]:],
                 longs[held[slots.NEXT_FRONTS]:], longs[held[slots.NEXT_BACKS]:], on, large, board)
        else:
            sample(vertices, n_vertices, frame, screen, faces, n, first_b, itself, slack, slack_z, size, counts, ints[held[slots.BEGINS]:],
                   longs[held[slots.LISTED]:], held[slots.FRAGMENTS], on, large, sums, board)
        grid.sync()
    if begin <= slots.MERGE < end:
        merge(size, margin, on, texels, held[slots.LEVELS], level_begins, level_sides, board)
    if begin <= slots.SEPARATE < end:
        separate(screen, faces, n, slack, slack_z, size, margin, on, texels, level_begins, level_sides, sparse)
    if begin <= slots.PACK < end:
        pack(screen, faces, n, slack, slack_z, size, sparse, left, boxes, met, strip, held[slots.STRIP_CELLS],
             ints[held[slots.STRIP_COUNTS]:], strip_begins, order, lined, held[slots.ENTRIES], sums, board)
        grid.sync()
    if begin <= slots.TEST < end:
        meet(faces, vertices, plain, left, lined, size, strip, first_b, itself, strip_begins, order, held[slots.ENTRIES],
             longs[held[slots.CANDIDATES]:], most, met, keys, undecided, few, board)
        grid.sync()
        if held[slots.ADJACENT] != 0:
            around(rows, n, vertices, n_vertices, plain, ints[held[slots.VALENCES]:], longs[held[slots.AROUND_BEGINS]:],
                   ints[held[slots.AROUND]:], ints[held[slots.OWNERS]:], keys, most, undecided, few, sums, board)
            grid.sync()
        for k in range(me, min(board[FOUND], min(most, len(out))), all_of_us):
            out[k] = keys[k]
    for k in range(me, COUNTERS, all_of_us):
        report[k] = board[k]


@launched
def gather(faces, vertices, keys, at, n, names, corners):
    """names (m, 6) and corners (m, 18), flat, of the faces of the n pairs from keys[at] on."""
    k = cuda.grid(1)
    if k < n:
        key = keys[at + k]
        for side in range(2):
            f = key >> 32 if side == 0 else key & NAMES
            for c in range(3):
                v = np.int64(faces[3 * f + c])
                names[6 * k + 3 * side + c] = v
                for d in range(3):
                    corners[18 * k + 9 * side + 3 * c + d] = vertices[3 * v + d]


@launched
def tally_rays(singles, screen, faces, longs, keys, n, slack, slack_z, size, margin, octets, on, tally):
    """Count pairs by the rays through both faces; `screen`, `keys` and `on` say where these begin."""
    k = cuda.grid(1)
    if k < n:
        rays = rays_through(singles[screen:], faces, longs[keys + k], slack, slack_z, size, margin, octets[on:])
        cuda.atomic.add(tally, rays, 1)
