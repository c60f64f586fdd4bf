"""Pass 4 on CUDA, stream compaction, and with it the order of the sweep."""
import numpy as np
from numba import int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, count_up, cuda, of_kernels
from pliant.image.intersect import count_in_strips, list_in_strips
from pliant.image.kernel_args import ENTRIES, LEFT
from pliant.image.merge import NONE
from pliant.image.pack import SIDES, put_left


@of_kernels
def pack(screen, faces, n, slack, slack_z, size, sparse, left, boxes, met, strip, cells, counts, begins, order, lined, room, sums, board):
    """Pass 4: the faces that are left take one place after the other; then the order of the sweep, if there is room for it. A thread finds
    what it has itself put into `sparse`."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us = cuda.grid(1), cuda.gridsize(1)
    for c in range(me, cells, all_of_us):
        counts[c] = 0
    for f in range(me, n, all_of_us):
        if sparse[f] != NONE:
            i = np.int64(cuda.atomic.add(board, LEFT, 1))
            left[i], met[i] = f, 0
            put_left(screen, faces, f, slack, slack_z, sparse[f], boxes, SIDES * i)
    grid.sync()
    for i in range(me, board[LEFT], all_of_us):
        count_in_strips(boxes, i, size, strip, counts)
    count_up(counts, cells, begins, sums, tile, board, ENTRIES)
    if board[ENTRIES] <= room:
        for i in range(me, board[LEFT], all_of_us):
            list_in_strips(boxes, i, size, strip, begins, counts, order, lined, room)
