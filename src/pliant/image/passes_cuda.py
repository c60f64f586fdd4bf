"""All passes on CUDA, in one launch (or one by one, for a clock), and what else kernels do for the host."""
import numpy as np

from pliant.core.cooperative_cuda import cooperative_kernel, cuda, cuda_kernel
from pliant.image import counters as slots
from pliant.image.estimate import shared_rays
from pliant.image.intersect import INDEX_MASK
from pliant.image.intersect_cuda import intersect_faces, test_adjacent
from pliant.image.kernel_args import N_COUNTERS, N_PAIRS
from pliant.image.merge_cuda import merge
from pliant.image.pack_cuda import pack
from pliant.image.sample_cuda import peel, sample
from pliant.image.separate_cuda import separate

REGISTERS = 128                                                         # a thread: two blocks to a multiprocessor


@cooperative_kernel(REGISTERS)
def run_passes(host_args, host_floats, args, floats, int64s, int32s, faces, rows, float32s, uint8s, vertices, counters, host_counters,
               host_keys):
    """What the desk says. `held` and `view` have room for what is on it; `report` and `out` are in the host's memory: the board, and as
    many keys as fit."""
    grid, thread, n_threads = cuda.cg.this_grid(), cuda.grid(1), cuda.gridsize(1)
    if cuda.blockIdx.x == 0:                                            # once, and not by every thread, over the bus
        for k in range(cuda.threadIdx.x, slots.N_ARGS, cuda.blockDim.x):
            args[k] = host_args[k]
        for k in range(cuda.threadIdx.x, slots.N_FLOATS, cuda.blockDim.x):
            floats[k] = host_floats[k]
    grid.sync()
    begin, end, n = args[slots.FIRST_PASS], args[slots.END_PASS], args[slots.N_FACES]
    n_vertices, first_b = args[slots.N_VERTICES], args[slots.FIRST_B]
    size, margin, strip_bits = args[slots.SIZE], args[slots.MARGIN], args[slots.STRIP_BITS]
    is_self, in_filter_range = args[slots.IS_SELF] != 0, args[slots.IN_FILTER_RANGE] != 0
    error_xy, error_z, frame = np.float32(floats[slots.ERROR_XY]), np.float32(floats[slots.ERROR_Z]), floats[slots.VIEW_FRAME:]
    counts, sums = int64s[args[slots.COUNTS]:], int64s[args[slots.SUMS]:]
    texels, sparse = int64s[args[slots.TEXELS]:], int64s[args[slots.SPARSE]:]
    level_begins, level_sides = int64s[args[slots.LEVEL_BEGINS]:], int64s[args[slots.LEVEL_SIDES]:]
    strip_begins, order, packed_faces = int64s[args[slots.STRIP_BEGINS]:], int64s[args[slots.ORDER]:], int32s[args[slots.PACKED_FACES]:]
    screen, boxes, sorted_boxes = float32s[args[slots.SCREEN]:], float32s[args[slots.BOXES]:], float32s[args[slots.SORTED_BOXES]:]
    active, in_candidate, large = uint8s[args[slots.ACTIVE]:], uint8s[args[slots.IN_CANDIDATE]:], int32s[args[slots.LARGE_FACES]:]
    keys, unresolved = int64s[args[slots.KEYS]:], int64s[args[slots.UNRESOLVED]:]
    max_pairs, max_unresolved = args[slots.MAX_PAIRS], args[slots.MAX_UNRESOLVED]

    if begin <= slots.SAMPLE < end:
        if args[slots.SAMPLED] != 0:
            peel(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, args[slots.CLOSED] != 0,
                 args[slots.MAX_PEELS], args[slots.ENDS], args[slots.MARK_REST] != 0, counts, int64s[args[slots.FRONTS]:],
                 int64s[args[slots.BACKS]:],
                 int64s[args[slots.NEXT_FRONTS]:], int64s[args[slots.NEXT_BACKS]:], active, large, counters)
        else:
            sample(vertices, n_vertices, frame, screen, faces, n, first_b, is_self, error_xy, error_z, size, counts,
                   int32s[args[slots.PIXEL_BEGINS]:],
                   int64s[args[slots.FRAGMENT_LISTS]:], args[slots.MAX_FRAGMENTS], active, large, sums, counters)
        grid.sync()
    if begin <= slots.MERGE < end:
        merge(size, margin, active, texels, args[slots.N_LEVELS], level_begins, level_sides, counters)
    if begin <= slots.SEPARATE < end:
        separate(screen, faces, n, error_xy, error_z, size, margin, active, texels, level_begins, level_sides, sparse)
    if begin <= slots.PACK < end:
        pack(screen, faces, n, error_xy, error_z, size, sparse, packed_faces, boxes, in_candidate, strip_bits, args[slots.N_STRIP_CELLS],
             int32s[args[slots.STRIP_COUNTS]:], strip_begins, order, sorted_boxes, args[slots.MAX_ENTRIES], sums, counters)
        grid.sync()
    if begin <= slots.TEST < end:
        intersect_faces(faces, vertices, in_filter_range, packed_faces, sorted_boxes, size, strip_bits, first_b, is_self, strip_begins,
                        order, args[slots.MAX_ENTRIES],
                        int64s[args[slots.CANDIDATES]:], max_pairs, in_candidate, keys, unresolved, max_unresolved, counters)
        grid.sync()
        if args[slots.ADJACENT] != 0:
            test_adjacent(rows, n, vertices, n_vertices, in_filter_range, int32s[args[slots.VALENCES]:],
                          int64s[args[slots.INCIDENT_BEGINS]:],
                          int32s[args[slots.INCIDENT_FACES]:], int32s[args[slots.INCIDENT_VERTICES]:], keys, max_pairs, unresolved,
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
    """Count pairs by the rays through both faces; `screen`, `keys` and `on` say where these begin."""
    k = cuda.grid(1)
    if k < n:
        rays = shared_rays(float32s[screen:], faces, int64s[keys + k], error_xy, error_z, size, margin, uint8s[active:])
        cuda.atomic.add(histogram, rays, 1)
