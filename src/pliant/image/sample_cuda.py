"""Pass 1 on CUDA: the steps of `sample.py`, for each mode. A thread has a face, then a ray. A face that covers many pixels
goes onto a list, from which whole blocks take it, row by row: one thread would hold up all others."""
import numpy as np
from numba import int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, add_up, cuda, of_kernels, scan
from pliant.image.cover import corners_of, extent_of, pixel_at
from pliant.image.kernel_args import COUNTERS, DEEPEST, DROPPED, LARGE_FACES, PASSES, TOTAL
from pliant.image.sample import AFTER, BEFORE, COUNTED, MOST, collides, count_face, judge, list_face, peel_face, starts_on, wanted
from pliant.image.screen import STRIDE, put_vertex

LARGE = 256                                                             # pixels of a box


@of_kernels
def rows_of(screen, faces, f, slack, slack_z, size):
    """(first row, rows, pixels) of the box of a face."""
    box = extent_of(corners_of(screen, faces, f), slack, slack_z)
    low, high = pixel_at(box.low, size), pixel_at(box.high, size)
    return low, high - low + 1, (high - low + 1) * (pixel_at(box.right, size) - pixel_at(box.left, size) + 1)


@of_kernels
def is_large(screen, faces, f, slack, slack_z, size):
    _, _, pixels = rows_of(screen, faces, f, slack, slack_z, size)
    return pixels > LARGE


@of_kernels
def put_aside(screen, faces, f, slack, slack_z, size, large, board):
    """Is this face too large for a thread? Then it goes onto the list."""
    if is_large(screen, faces, f, slack, slack_z, size):
        large[cuda.atomic.add(board, LARGE_FACES, 1)] = f
        return True
    return False


@of_kernels
def start(vertices, n_vertices, frame, screen, rays, counts, board):
    """Wipe the counters and counts, and put the vertices on the screen."""
    me, all_of_us = cuda.grid(1), cuda.gridsize(1)
    for k in range(me, COUNTERS, all_of_us):
        board[k] = 0
    for p in range(me, rays, all_of_us):
        counts[p] = 0
    for v in range(me, n_vertices, all_of_us):
        put_vertex(vertices, v, frame, screen, STRIDE * v)


@of_kernels
def note_deepest(deepest, board):
    if deepest > board[DEEPEST]:
        cuda.atomic.max(board, DEEPEST, deepest)


@of_kernels
def sample(vertices, n_vertices, frame, screen, faces, n, first_b, itself, slack, slack_z, size, counts, begins, listed, room, on, large,
           sums, board):
    """Put the vertices on the screen, list fragments by pixel, `room` of them at most, and put on the pixels in which something may
    collide."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us, rays = cuda.grid(1), cuda.gridsize(1), size * size
    start(vertices, n_vertices, frame, screen, rays, counts, board)
    grid.sync()

    for f in range(me, n, all_of_us):
        if not put_aside(screen, faces, f, slack, slack_z, size, large, board):
            count_face(screen, faces, np.int64(f), first_b, slack, slack_z, size, 0, size, counts)
    grid.sync()
    for k in range(cuda.blockIdx.x, board[LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, slack, slack_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            count_face(screen, faces, f, first_b, slack, slack_z, size, y, y + 1, counts)
    grid.sync()

    deepest = np.int64(0)
    for p in range(me, rays, all_of_us):
        found = wanted(counts[p], itself)
        deepest = max(deepest, (counts[p] & COUNTED) + (counts[p] >> 32))
        on[p] = 1 if found > MOST else 0
        begins[p] = found if found <= MOST else 0
    note_deepest(deepest, board)
    grid.sync()
    scan(begins, rays, sums, tile, board, TOTAL)
    grid.sync()
    if board[TOTAL] > room:                                             # the host gives more, and begins again
        return

    for f in range(me, n, all_of_us):
        if not is_large(screen, faces, f, slack, slack_z, size):
            list_face(screen, faces, np.int64(f), first_b, slack, slack_z, size, 0, size, begins, counts, listed)
    for k in range(cuda.blockIdx.x, board[LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, slack, slack_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            list_face(screen, faces, f, first_b, slack, slack_z, size, y, y + 1, begins, counts, listed)
    grid.sync()
    for p in range(me, rays, all_of_us):
        if begins[p + 1] - begins[p] > 1 and collides(faces, first_b, itself, begins[p], begins[p + 1], listed):
            on[p] = 1


@of_kernels
def peel(vertices, n_vertices, frame, screen, faces, n, first_b, itself, slack, slack_z, size, closed, passes, ends, mark, counts,
         fronts, backs, next_fronts, next_backs, on, large, board):
    """Put the vertices on the screen, peel off fragments, pass after pass, and put on the rays in which something collides."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us, rays = cuda.grid(1), cuda.gridsize(1), size * size
    start(vertices, n_vertices, frame, screen, rays, counts, board)
    for p in range(me, rays, all_of_us):
        fronts[p], backs[p], next_fronts[p], next_backs[p] = BEFORE, AFTER, AFTER, BEFORE
    grid.sync()

    for f in range(me, n, all_of_us):
        if not put_aside(screen, faces, f, slack, slack_z, size, large, board):
            peel_face(screen, faces, np.int64(f), slack, slack_z, size, 0, size, True, counts, fronts, backs, next_fronts, next_backs)
    grid.sync()
    peel_large(screen, faces, slack, slack_z, size, True, counts, fronts, backs, next_fronts, next_backs, large, board)
    grid.sync()
    deepest, total = np.int64(0), np.int64(0)
    for p in range(me, rays, all_of_us):
        deepest, total = max(deepest, counts[p]), total + counts[p]
        on[p] = 1 if starts_on(counts[p], closed) else 0
    note_deepest(deepest, board)
    add_up(total, tile, board, TOTAL)
    grid.sync()

    needed = (board[DEEPEST] + ends - 1) // ends
    made = needed if passes < 0 else min(passes, needed)
    for done in range(made):
        for f in range(me, n, all_of_us):
            if not is_large(screen, faces, f, slack, slack_z, size):
                peel_face(screen, faces, np.int64(f), slack, slack_z, size, 0, size, False, counts, fronts, backs, next_fronts, next_backs)
        peel_large(screen, faces, slack, slack_z, size, False, counts, fronts, backs, next_fronts, next_backs, large, board)
        grid.sync()
        for p in range(me, rays, all_of_us):
            if counts[p] > ends * done and on[p] == 0 and judge(
                    screen, faces, first_b, itself, slack, slack_z, p, done, ends, closed, counts, fronts, backs, next_fronts, next_backs):
                on[p] = 1
        grid.sync()
    dropped = np.int64(0)
    for p in range(me, rays, all_of_us):
        if counts[p] > ends * made and on[p] == 0:
            on[p] = mark
            dropped += 0 if mark else counts[p] - ends * made
    add_up(dropped, tile, board, DROPPED)
    if me == 0:
        board[PASSES] = made


@of_kernels
def peel_large(screen, faces, slack, slack_z, size, counting, counts, fronts, backs, next_fronts, next_backs, large, board):
    for k in range(cuda.blockIdx.x, board[LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, slack, slack_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            peel_face(screen, faces, f, slack, slack_z, size, y, y + 1, counting, counts, fronts, backs, next_fronts, next_backs)
