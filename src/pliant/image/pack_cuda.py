"""Pass 4 on CUDA, stream compaction, and with it the order of the sweep."""
import numpy as np
from numba import int64

import pliant.core.atomic_cuda  # noqa: F401
from pliant.core.cooperative_cuda import TILE, cuda, device_function, scan_counts
from pliant.image.intersect import count_in_strips, list_in_strips
from pliant.image.kernel_args import N_ENTRIES, N_PACKED
from pliant.image.merge import EMPTY_BOX
from pliant.image.pack import BOX_SIZE, clip_face_box


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
