"""All passes on CUDA, in one launch (or one by one, for a clock), and what else kernels do for the host."""
import numpy as np
from numba import int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, add_block_sum, cooperative_kernel, cuda, cuda_kernel, device_function, scan_counts
from pliant.image import kernel_args
from pliant.image.estimate import shared_rays
from pliant.image.intersect import INDEX_MASK, count_in_strips, list_in_strips
from pliant.image.intersect_cuda import intersect_faces, test_adjacent
from pliant.image.kernel_args import N_COUNTERS, N_ENTRIES, N_PACKED, N_PAIRS, N_RAYS
from pliant.image.merge import EMPTY_BOX, layout_levels, merge_texel
from pliant.image.sample_cuda import peel, sample
from pliant.image.separate import BOX_SIZE, clip_face_box, separate_face


@device_function
def merge(size, margin, active, texels, levels, level_begins, level_sides, counters):
    """Pass 2: all levels from 1 up. The grid waits after each."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads, rays = cuda.grid(1), cuda.gridsize(1), np.int64(0)
    for p in range(thread, size * size, n_threads):
        rays += np.int64(active[p] != 0)
    add_block_sum(rays, tile, counters, N_RAYS)
    if thread == 0:
        layout_levels(size, level_begins, level_sides)
    grid.sync()
    for level in range(1, levels):
        side = level_sides[level]
        for i in range(thread, side * side, n_threads):
            texels[level_begins[level] + i] = merge_texel(active, texels, size, margin, level_begins[level - 1], level_sides[level - 1],
                                                          i % side,
                                                          i // side)
        grid.sync()


@device_function
def separate(screen, faces, n, error_xy, error_z, size, margin, active, texels, level_begins, level_sides, sparse):
    """Pass 3: what is left of each face."""
    for f in range(cuda.grid(1), n, cuda.gridsize(1)):
        sparse[f] = separate_face(screen, faces, f, error_xy, error_z, size, margin, active, texels, level_begins, level_sides)


@device_function
def pack(screen, faces, n, error_xy, error_z, size, sparse, packed_faces, boxes, in_candidate, strip_bits, cells, counts, begins, order,
         sorted_boxes, max_entries, sums, counters):
    """Pass 4: the faces that are left take one place after the other; then the order of the sweep, if there is room for it. A thread finds
    what it has itself put into `sparse`."""
    grid, tile = cuda.cg.this_grid(), cuda.shared.array(TILE, int64)
    thread, n_threads = cuda.grid(1), cuda.gridsize(1)
    for c in range(thread, cells, n_threads):
        counts[c] = 0
    for f in range(thread, n, n_threads):
        if sparse[f] != EMPTY_BOX:
            i = np.int64(cuda.atomic.add(counters, N_PACKED, 1))
            packed_faces[i], in_candidate[i] = f, 0
            clip_face_box(screen, faces, f, error_xy, error_z, sparse[f], boxes, BOX_SIZE * i)
    grid.sync()
    for i in range(thread, counters[N_PACKED], n_threads):
        count_in_strips(boxes, i, size, strip_bits, counts)
    scan_counts(counts, cells, begins, sums, tile, counters, N_ENTRIES)
    if counters[N_ENTRIES] <= max_entries:
        for i in range(thread, counters[N_PACKED], n_threads):
            list_in_strips(boxes, i, size, strip_bits, begins, counts, order, sorted_boxes, max_entries)


REGISTERS = 128                                                         # a thread: two blocks to a multiprocessor


@cooperative_kernel(REGISTERS)
def run_passes(host_args, host_floats, args, floats, int64s, int32s, faces, rows, float32s, uint8s, vertices, counters, host_counters,
               host_keys):
    """The passes that the kernel arguments name (`kernel_args.py`). `host_counters` and `host_keys` are in the host's memory: the counters,
    and as many keys as fit."""
    grid, thread, n_threads = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1)
    if cuda.blockIdx.x == 0:                                            # once, and not by every thread, over the bus
        for k in range(cuda.threadIdx.x, kernel_args.N_ARGS, cuda.blockDim.x):
            args[k] = host_args[k]
        for k in range(cuda.threadIdx.x, kernel_args.N_FLOATS, cuda.blockDim.x):
            floats[k] = host_floats[k]
    grid.sync()
    begin, end, n = args[kernel_args.FIRST_PASS], args[kernel_args.END_PASS], args[kernel_args.N_FACES]
    n_vertices, first_b = args[kernel_args.N_VERTICES], args[kernel_args.FIRST_B]
    size, margin, strip_bits = args[kernel_args.SIZE], args[kernel_args.MARGIN], args[kernel_args.STRIP_BITS]
    is_self, in_filter_range = args[kernel_args.IS_SELF] != 0, args[kernel_args.IN_FILTER_RANGE] != 0
    error_xy, error_z = np.float32(floats[kernel_args.ERROR_XY]), np.float32(floats[kernel_args.ERROR_Z])
    frame = floats[kernel_args.VIEW_FRAME:]
    counts, sums = int64s[args[kernel_args.COUNTS]:], int64s[args[kernel_args.SUMS]:]
    texels, sparse = int64s[args[kernel_args.TEXELS]:], int64s[args[kernel_args.SPARSE]:]
    level_begins, level_sides = int64s[args[kernel_args.LEVEL_BEGINS]:], int64s[args[kernel_args.LEVEL_SIDES]:]
    strip_begins, order = int64s[args[kernel_args.STRIP_BEGINS]:], int64s[args[kernel_args.ORDER]:]
    packed_faces = int32s[args[kernel_args.PACKED_FACES]:]
    screen, boxes = float32s[args[kernel_args.SCREEN]:], float32s[args[kernel_args.BOXES]:]
    sorted_boxes = float32s[args[kernel_args.SORTED_BOXES]:]
    active, in_candidate = uint8s[args[kernel_args.ACTIVE]:], uint8s[args[kernel_args.IN_CANDIDATE]:]
    large = int32s[args[kernel_args.LARGE_FACES]:]
    keys, unresolved = int64s[args[kernel_args.KEYS]:], int64s[args[kernel_args.UNRESOLVED]:]
    max_pairs, max_unresolved = args[kernel_args.MAX_PAIRS], args[kernel_args.MAX_UNRESOLVED]

    if begin <= kernel_args.SAMPLE < end:
        if args[kernel_args.SAMPLED] != 0:
            peel(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, args[kernel_args.CLOSED] != 0,
                 args[kernel_args.MAX_PEELS], args[kernel_args.ENDS], args[kernel_args.MARK_REST] != 0, counts,
                 int64s[args[kernel_args.FRONTS]:],
                 int64s[args[kernel_args.BACKS]:],
                 int64s[args[kernel_args.NEXT_FRONTS]:], int64s[args[kernel_args.NEXT_BACKS]:], active, large, counters)
        else:
            sample(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, counts,
                   int32s[args[kernel_args.PIXEL_BEGINS]:],
                   int64s[args[kernel_args.FRAGMENT_LISTS]:], args[kernel_args.MAX_FRAGMENTS], active, large, sums, counters)
        grid.sync()
    if begin <= kernel_args.MERGE < end:
        merge(size, margin, active, texels, args[kernel_args.N_LEVELS], level_begins, level_sides, counters)
    if begin <= kernel_args.SEPARATE < end:
        separate(screen, faces, n, error_xy, error_z, size, margin, active, texels, level_begins, level_sides, sparse)
    if begin <= kernel_args.PACK < end:
        pack(screen, faces, n, error_xy, error_z, size, sparse, packed_faces, boxes, in_candidate, strip_bits,
             args[kernel_args.N_STRIP_CELLS],
             int32s[args[kernel_args.STRIP_COUNTS]:], strip_begins, order, sorted_boxes, args[kernel_args.MAX_ENTRIES], sums, counters)
        grid.sync()
    if begin <= kernel_args.TEST < end:
        intersect_faces(faces, vertices, in_filter_range, packed_faces, sorted_boxes, size, strip_bits, first_b, is_self, strip_begins,
                        order, args[kernel_args.MAX_ENTRIES],
                        int64s[args[kernel_args.CANDIDATES]:], max_pairs, in_candidate, keys, unresolved, max_unresolved, counters)
        grid.sync()
        if args[kernel_args.ADJACENT] != 0:
            test_adjacent(rows, n, vertices, n_vertices, in_filter_range, int32s[args[kernel_args.VALENCES]:],
                          int64s[args[kernel_args.INCIDENT_BEGINS]:],
                          int32s[args[kernel_args.INCIDENT_FACES]:], int32s[args[kernel_args.INCIDENT_VERTICES]:], keys, max_pairs,
                          unresolved,
                          max_unresolved, sums, counters)
            grid.sync()
        for k in range(thread, min(counters[N_PAIRS], min(max_pairs, len(host_keys))), n_threads):
            host_keys[k] = keys[k]
    for k in range(thread, N_COUNTERS, n_threads):
        host_counters[k] = counters[k]


@cuda_kernel
def gather_pairs(faces, vertices, keys, at, n, vertex_ids, corners):
    """names (m, 6) and corners (m, 18), flat, of the faces of the n pairs from keys[at] on."""
    k = cuda.grid(1)
    if k < n:
        key = keys[at + k]
        for side in range(2):
            f = key >> 32 if side == 0 else key & INDEX_MASK
            for c in range(3):
                v = np.int64(faces[3 * f + c])
                vertex_ids[6 * k + 3 * side + c] = v
                for d in range(3):
                    corners[18 * k + 9 * side + 3 * c + d] = vertices[3 * v + d]


@cuda_kernel
def count_shared_rays(float32s, screen, faces, int64s, keys, n, error_xy, error_z, size, margin, uint8s, active, histogram):
    """Count pairs by the rays through both faces; `screen`, `keys` and `active` say where these begin."""
    k = cuda.grid(1)
    if k < n:
        rays = shared_rays(float32s[screen:], faces, int64s[keys + k], error_xy, error_z, size, margin, uint8s[active:])
        cuda.atomic.add(histogram, rays, 1)
