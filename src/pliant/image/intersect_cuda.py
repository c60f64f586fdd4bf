"""Pass 5 on CUDA: the sweep, and the filters of the exact tests; what these leave open goes to the host. Then faces that share a vertex."""
import numpy as np
from numba import float64, int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, add_up, count_up, cuda, of_kernels
from pliant.geometry.adjacent_faces import beyond_filter
from pliant.geometry.triangle_overlap import OPEN, overlap_filter
from pliant.image.intersect import NAMES, box_at, business, copy_corners, reach_of
from pliant.image.kernel_args import APART, CANDIDATES, ENTRIES, FOUND, LEFT, LOOKS, MET, PAIRS, UNDECIDED, VALENCES
from pliant.image.sample import matters
from pliant.volume.protocol import overlap


@of_kernels
def put_answer(answer, key, keys, room, undecided, few, board):
    """A pair that meets, or that is undecided, goes to the others of its kind, as long as there is room."""
    if answer == OPEN:
        k = cuda.atomic.add(board, UNDECIDED, 1)
        if k < few:
            undecided[k] = key
    elif answer & 1:
        k = cuda.atomic.add(board, FOUND, 1)
        if k < room:
            keys[k] = key


@of_kernels
def meet(faces, vertices, plain, left, lined, size, strip, first_b, itself, begins, order, room, candidates, most, met, keys, undecided,
         few, board):
    """Sweep over as many things as there was room for in the order, and test the candidates, `most` of them at most."""
    grid, tile, t = cuda.cg.this_grid(), cuda.shared.array(TILE, int64), cuda.local.array(18, float64)
    me, all_of_us, looks = cuda.grid(1), cuda.gridsize(1), np.int64(0)
    for at in range(me, board[ENTRIES] if board[ENTRIES] <= room else 0, all_of_us):
        i, row = order[at] & NAMES, order[at] >> 32
        box, end = box_at(lined, room, at), reach_of(lined, room, begins, size, at, row)
        looks += end - at - 1
        for other in range(at + 1, end):
            if overlap(box, box_at(lined, room, other)) and business(lined, room, at, other, row, strip, size):
                j = order[other] & NAMES
                f, g = np.int64(left[i]), np.int64(left[j])
                if matters(faces, f, g, first_b, itself):
                    met[i] = met[j] = 1
                    k = cuda.atomic.add(board, CANDIDATES, 1)
                    if k < most:
                        candidates[k] = (min(f, g) << 32) | max(f, g)
    add_up(looks, tile, board, LOOKS)
    grid.sync()
    for k in range(me, min(board[CANDIDATES], most), all_of_us):
        f, g = candidates[k] >> 32, candidates[k] & NAMES
        copy_corners(vertices, faces, f, 0, t, 0)
        copy_corners(vertices, faces, g, 0, t, 9)
        put_answer(overlap_filter(t, 0, 9) if plain else OPEN, candidates[k], keys, most, undecided, few, board)
    some = np.int64(0)
    for i in range(me, board[LEFT], all_of_us):
        some += np.int64(met[i] != 0)
    add_up(some, tile, board, MET)


@of_kernels
def fresh(faces, f, c):
    """Is corner c of face f none that it has named before?"""
    v = faces[f, c]
    return (c == 0 or v != faces[f, 0]) and (c < 2 or v != faces[f, 1])


@of_kernels
def around(faces, n, vertices, n_vertices, plain, counts, begins, around, owners, keys, room, undecided, few, sums, board):
    """Faces around each vertex, and for each of them those after it: do they meet in more than what they share?"""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    me, all_of_us = cuda.grid(1), cuda.gridsize(1)
    if me == 0:
        board[APART] = min(board[FOUND], room)
    for v in range(me, n_vertices, all_of_us):
        counts[v] = 0
    grid.sync()
    for f in range(me, n, all_of_us):
        for c in range(3):
            if fresh(faces, f, c):
                cuda.atomic.add(counts, faces[f, c], 1)
    count_up(counts, n_vertices, begins, sums, tile, board, VALENCES)
    for f in range(me, n, all_of_us):
        for c in range(3):
            if fresh(faces, f, c):
                v = faces[f, c]
                at = begins[v] + cuda.atomic.add(counts, v, -1) - 1
                around[at], owners[at] = f, v
    grid.sync()
    pairs = np.int64(0)
    for at in range(me, board[VALENCES], all_of_us):
        v, f = np.int64(owners[at]), np.int64(around[at])
        end = begins[v + 1]
        pairs += end - at - 1
        for k in range(at + 1, end):
            g = np.int64(around[k])
            answer = beyond_filter(vertices, faces, f, g, v) if plain else OPEN
            put_answer(answer, (min(f, g) << 32) | max(f, g), keys, room, undecided, few, board)
    add_up(pairs, tile, board, PAIRS)
