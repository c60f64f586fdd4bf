"""Pass 1 on CUDA: the steps of `sample.py`, for each mode. A thread has a face, then a ray. A face that covers many pixels
goes onto a list, from which whole blocks take it, row by row: one thread would hold up all others."""
import numpy as np
from numba import int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, add_block_sum, cuda, device_function, grid_scan
from pliant.image.cover import corners_of, extent_of, pixel_at
from pliant.image.kernel_args import MAX_DEPTH, N_COUNTERS, N_DROPPED, N_FRAGMENTS, N_LARGE_FACES, N_PEELS
from pliant.image.sample import (
    COUNT_MASK,
    MAX_KEY,
    MAX_LISTED,
    MIN_KEY,
    any_overlap,
    count_face,
    list_face,
    listed_count,
    odd_count,
    peel_face,
    update_ray,
)
from pliant.image.screen import STRIDE, project_vertex

LARGE_PIXELS = 256                                                      # pixels of a box


@device_function
def rows_of(screen, faces, f, error_xy, error_z, size):
    """(first row, rows, pixels) of the box of a face."""
    box = extent_of(corners_of(screen, faces, f), error_xy, error_z)
    low, high = pixel_at(box.low, size), pixel_at(box.high, size)
    return low, high - low + 1, (high - low + 1) * (pixel_at(box.right, size) - pixel_at(box.left, size) + 1)


@device_function
def is_large(screen, faces, f, error_xy, error_z, size):
    _, _, pixels = rows_of(screen, faces, f, error_xy, error_z, size)
    return pixels > LARGE_PIXELS


@device_function
def defer_large(screen, faces, f, error_xy, error_z, size, large, counters):
    """Is this face too large for a thread? Then it goes onto the list."""
    if is_large(screen, faces, f, error_xy, error_z, size):
        large[cuda.atomic.add(counters, N_LARGE_FACES, 1)] = f
        return True
    return False


@device_function
def reset_and_project(vertices, n_vertices, frame, screen, rays, counts, counters):
    """Wipe the counters and counts, and put the vertices on the screen."""
    thread, n_threads = cuda.grid(1), cuda.gridsize(1)
    for k in range(thread, N_COUNTERS, n_threads):
        counters[k] = 0
    for p in range(thread, rays, n_threads):
        counts[p] = 0
    for v in range(thread, n_vertices, n_threads):
        project_vertex(vertices, v, frame, screen, STRIDE * v)


@device_function
def record_max_depth(deepest, counters):
    if deepest > counters[MAX_DEPTH]:
        cuda.atomic.max(counters, MAX_DEPTH, deepest)


@device_function
def sample(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, counts, begins, fragments,
           max_fragments, active, large,
           sums, counters):
    """Put the vertices on the screen, list fragments by pixel, `room` of them at most, and put on the pixels in which something may
    collide."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads, rays = cuda.grid(1), cuda.gridsize(1), size * size
    reset_and_project(vertices, n_vertices, frame, screen, rays, counts, counters)
    grid.sync()

    for f in range(thread, n, n_threads):
        if not defer_large(screen, faces, f, error_xy, error_z, size, large, counters):
            count_face(screen, faces, np.int64(f), first_b, error_xy, error_z, size, 0, size, counts)
    grid.sync()
    for k in range(cuda.blockIdx.x, counters[N_LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, error_xy, error_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            count_face(screen, faces, f, first_b, error_xy, error_z, size, y, y + 1, counts)
    grid.sync()

    deepest = np.int64(0)
    for p in range(thread, rays, n_threads):
        n_listed = listed_count(counts[p], is_self)
        deepest = max(deepest, (counts[p] & COUNT_MASK) + (counts[p] >> 32))
        active[p] = 1 if n_listed > MAX_LISTED else 0
        begins[p] = n_listed if n_listed <= MAX_LISTED else 0
    record_max_depth(deepest, counters)
    grid.sync()
    grid_scan(begins, rays, sums, tile, counters, N_FRAGMENTS)
    grid.sync()
    if counters[N_FRAGMENTS] > max_fragments:                           # the host gives more, and begins again
        return

    for f in range(thread, n, n_threads):
        if not is_large(screen, faces, f, error_xy, error_z, size):
            list_face(screen, faces, np.int64(f), first_b, error_xy, error_z, size, 0, size, begins, counts, fragments)
    for k in range(cuda.blockIdx.x, counters[N_LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, error_xy, error_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            list_face(screen, faces, f, first_b, error_xy, error_z, size, y, y + 1, begins, counts, fragments)
    grid.sync()
    for p in range(thread, rays, n_threads):
        if begins[p + 1] - begins[p] > 1 and any_overlap(faces, first_b, is_self, begins[p], begins[p + 1], fragments):
            active[p] = 1


@device_function
def peel(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, closed, max_peels, ends, mark, counts,
         fronts, backs, next_fronts, next_backs, active, large, counters):
    """Put the vertices on the screen, peel off fragments, pass after pass, and put on the rays in which something collides."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads, rays = cuda.grid(1), cuda.gridsize(1), size * size
    reset_and_project(vertices, n_vertices, frame, screen, rays, counts, counters)
    for p in range(thread, rays, n_threads):
        fronts[p], backs[p], next_fronts[p], next_backs[p] = MIN_KEY, MAX_KEY, MAX_KEY, MIN_KEY
    grid.sync()

    for f in range(thread, n, n_threads):
        if not defer_large(screen, faces, f, error_xy, error_z, size, large, counters):
            peel_face(screen, faces, np.int64(f), error_xy, error_z, size, 0, size, True, counts, fronts, backs, next_fronts, next_backs)
    grid.sync()
    peel_large(screen, faces, error_xy, error_z, size, True, counts, fronts, backs, next_fronts, next_backs, large, counters)
    grid.sync()
    deepest, total = np.int64(0), np.int64(0)
    for p in range(thread, rays, n_threads):
        deepest, total = max(deepest, counts[p]), total + counts[p]
        active[p] = 1 if odd_count(counts[p], closed) else 0
    record_max_depth(deepest, counters)
    add_block_sum(total, tile, counters, N_FRAGMENTS)
    grid.sync()

    needed = (counters[MAX_DEPTH] + ends - 1) // ends
    n_peels = needed if max_peels < 0 else min(max_peels, needed)
    for passes_done in range(n_peels):
        for f in range(thread, n, n_threads):
            if not is_large(screen, faces, f, error_xy, error_z, size):
                peel_face(screen, faces, np.int64(f), error_xy, error_z, size, 0, size, False, counts, fronts, backs, next_fronts,
                          next_backs)
        peel_large(screen, faces, error_xy, error_z, size, False, counts, fronts, backs, next_fronts, next_backs, large, counters)
        grid.sync()
        for p in range(thread, rays, n_threads):
            if counts[p] > ends * passes_done and active[p] == 0 and update_ray(
                    screen, faces, first_b, is_self, error_xy, error_z, p, passes_done, ends, closed, counts, fronts, backs, next_fronts,
                    next_backs):
                active[p] = 1
        grid.sync()
    dropped = np.int64(0)
    for p in range(thread, rays, n_threads):
        if counts[p] > ends * n_peels and active[p] == 0:
            active[p] = mark
            dropped += 0 if mark else counts[p] - ends * n_peels
    add_block_sum(dropped, tile, counters, N_DROPPED)
    if thread == 0:
        counters[N_PEELS] = n_peels


@device_function
def peel_large(screen, faces, error_xy, error_z, size, counting, counts, fronts, backs, next_fronts, next_backs, large, counters):
    for k in range(cuda.blockIdx.x, counters[N_LARGE_FACES], cuda.gridDim.x):
        f = np.int64(large[k])
        low, rows, _ = rows_of(screen, faces, f, error_xy, error_z, size)
        for y in range(low + cuda.threadIdx.x, low + rows, cuda.blockDim.x):
            peel_face(screen, faces, f, error_xy, error_z, size, y, y + 1, counting, counts, fronts, backs, next_fronts, next_backs)
