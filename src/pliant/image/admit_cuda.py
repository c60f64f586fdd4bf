"""The way in on CUDA: parts are copied, one after the other, into one array of vertices and one of faces, and examined on the way. And the
loops of `screen.py` that find out which way to look."""
import math

import numpy as np
from numba import float64, int64

import pliant.core.atomic_cuda  # noqa: F401  what steps add up, they add up together
from pliant.core.cooperative_cuda import THREADS, TILE, add_up, cuda, of_kernels, whole
from pliant.geometry.predicates import fits
from pliant.image.kernel_args import BAD_FACES, BAD_VERTICES, BEYOND, BOARD, BOXES, COUNTERS, EDGES, FLAGS, LAYERS, TURNED
from pliant.image.pack import SIDES
from pliant.image.screen import CELLS, CENTRE, FRAME, LOW, MOST_SCALE, SCALE, TURN, add_layers, turned
from pliant.image.watertight import face_number

REGISTERS = 64


@of_kernels
def put_box(room, box, at):
    """box[at : at + SIDES]: low sides and, negative, high sides around the boxes of all threads, in room (SIDES, THREADS)."""
    i = cuda.threadIdx.x
    n = THREADS // 2
    while n > 0:
        cuda.syncthreads()
        if i < n:
            for s in range(SIDES):
                room[s, i] = min(room[s, i], room[s, i + n])
        n //= 2
    cuda.syncthreads()
    for s in range(i, SIDES, THREADS):
        cuda.atomic.min(box, at + s, room[s, 0])


@of_kernels
def widen(room, i, k, x):
    room[k, i], room[3 + k, i] = min(room[k, i], x), min(room[3 + k, i], -x)


@of_kernels
def admit(rows, indices, vertices, faces, first_vertex, first_face, flags, flag, box, side):
    """vertices = rows and faces = indices, from these places on; note what is wrong with them, whether they are closed, and their box."""
    room = cuda.shared.array((SIDES, THREADS), float64)                 # each on a line of its own: the simulator knows them by that
    sums = cuda.shared.array(TILE, int64)
    i = cuda.threadIdx.x
    for s in range(SIDES):
        room[s, i] = math.inf
    bad, beyond = np.int64(0), np.int64(0)
    for v in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        wrong, outside = False, False
        for k in range(3):
            x = np.float64(rows[v, k])
            wrong |= not abs(x) < math.inf
            outside |= not fits(x)
            if abs(x) < math.inf:                                       # what is wrong must do no harm until the host has heard of it
                vertices[3 * (first_vertex + v) + k] = x
                widen(room, i, k, x)
            else:
                vertices[3 * (first_vertex + v) + k] = 0.0
        bad += np.int64(wrong)
        beyond += np.int64(outside)
    put_box(room, box, side)
    add_up(bad, sums, flags, flag + BAD_VERTICES)
    add_up(beyond, sums, flags, flag + BEYOND)
    bad, edges = np.int64(0), np.int64(0)
    for f in range(cuda.grid(1), indices.shape[0], cuda.gridsize(1)):
        wrong = False
        for k in range(3):
            wrong |= not 0 <= indices[f, k] < rows.shape[0]
        for k in range(3):
            faces[3 * (first_face + f) + k] = first_vertex + (0 if wrong else indices[f, k])
        bad += np.int64(wrong)
        if not wrong:
            edges += face_number(faces, first_face + f)
    add_up(bad, sums, flags, flag + BAD_FACES)
    add_up(edges, sums, flags, flag + EDGES)


@of_kernels
def bound(vertices, first, last, frame, boxes, side):
    """The box around vertices first … last, turned, goes to `side`."""
    room = cuda.shared.array((SIDES, THREADS), float64)
    i = cuda.threadIdx.x
    cuda.syncthreads()
    for s in range(SIDES):
        room[s, i] = math.inf
    for v in range(first + cuda.grid(1), last, cuda.gridsize(1)):
        for k in range(3):
            widen(room, i, k, turned(vertices, v, frame, k))
    put_box(room, boxes, side)


@of_kernels
def put_frame(turn, boxes, parts, frame):
    """The frame, about the low corner of the first box, in cells of the window in which parts can meet, whose boxes, turned, are at TURNED;
    of no parts, the turn alone."""
    for k in range(9):
        frame[TURN + k] = turn[k]
    for k in range(3):
        low, high = -math.inf, math.inf
        for part in range(parts):
            low, high = max(low, boxes[TURNED + SIDES * part + k]), min(high, -boxes[TURNED + SIDES * part + 3 + k])
        frame[CENTRE + k], frame[LOW + k] = boxes[BOXES + k], low
        frame[SCALE + k] = min(CELLS / (high - low), MOST_SCALE) if high > low else 0.0


@whole(REGISTERS)
def outline(rows_a, indices_a, rows_b, indices_b, parts, step, turn, vertices, faces, board, boxes, layers, report):
    """Admit one part or two, then look at them: the boxes of the parts, turned about the low corner of the first, go to TURNED, and every
    so many-th face is counted in the window in which they can meet, at LAYERS. All of the board goes to `report`, in the host's memory."""
    grid, frame = cuda.cg.this_grid(), cuda.local.array(FRAME, float64)
    me, all_of_us = cuda.grid(1), cuda.gridsize(1)
    first_vertex, first_face = rows_a.shape[0], indices_a.shape[0]
    for k in range(me, BOARD, all_of_us):
        if BOXES <= k < LAYERS:
            boxes[k] = math.inf
        else:
            board[k] = 0
    grid.sync()
    admit(rows_a, indices_a, vertices, faces, 0, 0, board, COUNTERS, boxes, BOXES)
    if parts == 2:
        admit(rows_b, indices_b, vertices, faces, first_vertex, first_face, board, COUNTERS + FLAGS, boxes, BOXES + SIDES)
    grid.sync()
    put_frame(turn, boxes, 0, frame)
    bound(vertices, 0, first_vertex, frame, boxes, TURNED)
    n = first_face
    if parts == 2:
        bound(vertices, first_vertex, first_vertex + rows_b.shape[0], frame, boxes, TURNED + SIDES)
        n += indices_b.shape[0]
    grid.sync()
    put_frame(turn, boxes, parts, frame)
    bad = board[COUNTERS + BAD_VERTICES] + board[COUNTERS + BAD_FACES]
    if parts == 2:
        bad += board[COUNTERS + FLAGS + BAD_VERTICES] + board[COUNTERS + FLAGS + BAD_FACES]
    for f in range(step * me, n if bad == 0 else 0, step * all_of_us):
        add_layers(vertices, faces, f, 0, step, frame, layers, 2 * LAYERS)
    grid.sync()
    for k in range(me, BOARD, all_of_us):
        report[k] = board[k]
