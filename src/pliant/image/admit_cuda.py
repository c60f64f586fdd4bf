"""The way in on CUDA: parts are copied, one after the other, into one array of vertices and one of faces, and examined on the way. And the
loops of `screen.py` that find out which way to look."""
import math

import numpy as np
from numba import float64, int64

import pliant.core.atomic_cuda  # noqa: F401  what steps add up, they add up together
from pliant.core.cooperative_cuda import BLOCK_SIZE, TILE, add_block_sum, cooperative_kernel, cuda, device_function
from pliant.geometry.predicates import in_range
from pliant.image.kernel_args import (
    BAD_FACES,
    BAD_VERTICES,
    COUNTERS_SIZE,
    EDGE_SUM,
    N_COUNTERS,
    N_FLAGS,
    OUT_OF_RANGE,
    PART_BOXES,
    SURVEY_COUNTS,
    VIEW_BOXES,
)
from pliant.image.screen import CENTRE, FRAME_SIZE, LOW, MAX_SCALE, ROTATION, SCALE, SURVEY_CELLS, survey_face, view_coord
from pliant.image.separate import BOX_SIZE
from pliant.image.watertight import face_hash

REGISTERS = 64


@device_function
def reduce_box(shared, box, at):
    """box[at : at + SIDES]: low sides and, negative, high sides around the boxes of all threads, in room (SIDES, THREADS)."""
    i = cuda.threadIdx.x
    n = BLOCK_SIZE // 2
    while n > 0:
        cuda.syncthreads()
        if i < n:
            for s in range(BOX_SIZE):
                shared[s, i] = min(shared[s, i], shared[s, i + n])
        n //= 2
    cuda.syncthreads()
    for s in range(i, BOX_SIZE, BLOCK_SIZE):
        cuda.atomic.min(box, at + s, shared[s, 0])


@device_function
def expand_box(shared, i, k, x):
    shared[k, i], shared[3 + k, i] = min(shared[k, i], x), min(shared[3 + k, i], -x)


@device_function
def load_part(rows, indices, vertices, faces, first_vertex, first_face, flags, flag, box, side):
    """vertices = rows and faces = indices, from these places on; note what is wrong with them, whether they are closed, and their box."""
    shared = cuda.shared.array((BOX_SIZE, BLOCK_SIZE), float64)         # each on a line of its own: the simulator knows them by that
    sums = cuda.shared.array(TILE, int64)
    i = cuda.threadIdx.x
    for s in range(BOX_SIZE):
        shared[s, i] = math.inf
    bad, n_out_of_range = np.int64(0), np.int64(0)
    for v in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        invalid, out_of_range = False, False
        for k in range(3):
            x = np.float64(rows[v, k])
            invalid |= not abs(x) < math.inf
            out_of_range |= not in_range(x)
            if abs(x) < math.inf:                                       # what is wrong must do no harm until the host has heard of it
                vertices[3 * (first_vertex + v) + k] = x
                expand_box(shared, i, k, x)
            else:
                vertices[3 * (first_vertex + v) + k] = 0.0
        bad += np.int64(invalid)
        n_out_of_range += np.int64(out_of_range)
    reduce_box(shared, box, side)
    add_block_sum(bad, sums, flags, flag + BAD_VERTICES)
    add_block_sum(n_out_of_range, sums, flags, flag + OUT_OF_RANGE)
    bad, edges = np.int64(0), np.int64(0)
    for f in range(cuda.grid(1), indices.shape[0], cuda.gridsize(1)):
        invalid = False
        for k in range(3):
            invalid |= not 0 <= indices[f, k] < rows.shape[0]
        for k in range(3):
            faces[3 * (first_face + f) + k] = first_vertex + (0 if invalid else indices[f, k])
        bad += np.int64(invalid)
        if not invalid:
            edges += face_hash(faces, first_face + f)
    add_block_sum(bad, sums, flags, flag + BAD_FACES)
    add_block_sum(edges, sums, flags, flag + EDGE_SUM)


@device_function
def bound_part(vertices, first, last, frame, boxes, side):
    """The box around vertices first … last, turned, goes to `side`."""
    shared = cuda.shared.array((BOX_SIZE, BLOCK_SIZE), float64)
    i = cuda.threadIdx.x
    cuda.syncthreads()
    for s in range(BOX_SIZE):
        shared[s, i] = math.inf
    for v in range(first + cuda.grid(1), last, cuda.gridsize(1)):
        for k in range(3):
            expand_box(shared, i, k, view_coord(vertices, v, frame, k))
    reduce_box(shared, boxes, side)


@device_function
def view_frame(rotation, boxes, parts, frame):
    """The frame, about the low corner of the first box, in cells of the window in which parts can meet, whose boxes, turned, are at TURNED;
    of no parts, the turn alone."""
    for k in range(9):
        frame[ROTATION + k] = rotation[k]
    for k in range(3):
        low, high = -math.inf, math.inf
        for part in range(parts):
            low, high = max(low, boxes[VIEW_BOXES + BOX_SIZE * part + k]), min(high, -boxes[VIEW_BOXES + BOX_SIZE * part + 3 + k])
        frame[CENTRE + k], frame[LOW + k] = boxes[PART_BOXES + k], low
        frame[SCALE + k] = min(SURVEY_CELLS / (high - low), MAX_SCALE) if high > low else 0.0


@cooperative_kernel(REGISTERS)
def inspect_parts(rows_a, indices_a, rows_b, indices_b, parts, step, rotation, vertices, faces, counters, boxes, layers, report):
    """Admit one part or two, then look at them: the boxes of the parts, turned about the low corner of the first, go to TURNED, and every
    so many-th face is counted in the window in which they can meet, at LAYERS. All of the counters go to `report`, in the host's memory."""
    grid, frame = cuda.cg.this_grid(), cuda.local.array(FRAME_SIZE, float64)
    thread, n_threads = cuda.grid(1), cuda.gridsize(1)
    first_vertex, first_face = rows_a.shape[0], indices_a.shape[0]
    for k in range(thread, COUNTERS_SIZE, n_threads):
        if PART_BOXES <= k < SURVEY_COUNTS:
            boxes[k] = math.inf
        else:
            counters[k] = 0
    grid.sync()
    load_part(rows_a, indices_a, vertices, faces, 0, 0, counters, N_COUNTERS, boxes, PART_BOXES)
    if parts == 2:
        load_part(rows_b, indices_b, vertices, faces, first_vertex, first_face, counters, N_COUNTERS + N_FLAGS, boxes,
                  PART_BOXES + BOX_SIZE)
    grid.sync()
    view_frame(rotation, boxes, 0, frame)
    bound_part(vertices, 0, first_vertex, frame, boxes, VIEW_BOXES)
    n = first_face
    if parts == 2:
        bound_part(vertices, first_vertex, first_vertex + rows_b.shape[0], frame, boxes, VIEW_BOXES + BOX_SIZE)
        n += indices_b.shape[0]
    grid.sync()
    view_frame(rotation, boxes, parts, frame)
    bad = counters[N_COUNTERS + BAD_VERTICES] + counters[N_COUNTERS + BAD_FACES]
    if parts == 2:
        bad += counters[N_COUNTERS + N_FLAGS + BAD_VERTICES] + counters[N_COUNTERS + N_FLAGS + BAD_FACES]
    for f in range(step * thread, n if bad == 0 else 0, step * n_threads):
        survey_face(vertices, faces, f, 0, step, frame, layers, 2 * SURVEY_COUNTS)
    grid.sync()
    for k in range(thread, COUNTERS_SIZE, n_threads):
        report[k] = counters[k]
