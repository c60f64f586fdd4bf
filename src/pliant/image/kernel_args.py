"""Arguments and counters of the CUDA kernels, as named places in arrays.

Arguments: two arrays that the GPU reads from the host's memory, which costs no copy. Integers, then for each buffer where it begins in the
array of its type; and numbers. A new argument is a name here. Counters: one array of int64 on the GPU in which kernels count, read at once.
Boxes are written on the same memory as float64, and layers of surface (`screen.py`) as float32.
"""
import numpy as np

from pliant.image.screen import FRAME_SIZE, SURVEY_SIZE
from pliant.image.separate import BOX_SIZE

SAMPLE, MERGE, SEPARATE, PACK, TEST, N_PASSES = range(6)                # passes

# Passes to run, sizes, choices, and how much room there is.
(FIRST_PASS, END_PASS, N_FACES, N_VERTICES, FIRST_B, IS_SELF, ADJACENT, IN_FILTER_RANGE, SIZE, N_LEVELS, MARGIN, STRIP_BITS, N_STRIP_CELLS,
 SAMPLED, CLOSED, MAX_PEELS, ENDS, MARK_REST,
 MAX_FRAGMENTS, MAX_ENTRIES, MAX_PAIRS, MAX_UNRESOLVED, INT64_BUFFERS) = range(23)
# Where buffers begin, of int64, int32, float32 and uint8.
(COUNTS, FRONTS, BACKS, NEXT_FRONTS, NEXT_BACKS, FRAGMENT_LISTS, TEXELS, LEVEL_BEGINS, LEVEL_SIDES, SPARSE, STRIP_BEGINS, ORDER, CANDIDATES,
 KEYS,
 UNRESOLVED, INCIDENT_BEGINS, SUMS, INT32_BUFFERS) = range(INT64_BUFFERS, INT64_BUFFERS + 18)
PIXEL_BEGINS, LARGE_FACES, PACKED_FACES, STRIP_COUNTS, VALENCES, INCIDENT_FACES, INCIDENT_VERTICES, FLOAT32_BUFFERS = range(
    INT32_BUFFERS, INT32_BUFFERS + 8)
SCREEN, BOXES, SORTED_BOXES, UINT8_BUFFERS = range(FLOAT32_BUFFERS, FLOAT32_BUFFERS + 4)
ACTIVE, IN_CANDIDATE, N_ARGS = range(UINT8_BUFFERS, UINT8_BUFFERS + 3)
BUFFERS_BY_DTYPE = {np.int64: range(INT64_BUFFERS, INT32_BUFFERS), np.int32: range(INT32_BUFFERS, FLOAT32_BUFFERS),
                    np.float32: range(FLOAT32_BUFFERS, UINT8_BUFFERS), np.uint8: range(UINT8_BUFFERS, N_ARGS)}

ERROR_XY, ERROR_Z, VIEW_FRAME, N_FLOATS = 0, 1, 2, 2 + FRAME_SIZE       # the numbers: a view


# How many fragments, the most on one ray, faces that are too large for a thread, passes of peeling, rays that are on, faces left, places in
# the sweep, pairs of boxes compared, candidates, faces in these, pairs found, among them of non-adjacent faces, unresolved, of adjacent
# ones, faces around all vertices, fragments that were dropped.
(N_FRAGMENTS, MAX_DEPTH, N_LARGE_FACES, N_PEELS, N_RAYS, N_PACKED, N_ENTRIES, N_BOX_TESTS, N_CANDIDATES, N_CANDIDATE_FACES, N_PAIRS,
 N_NONADJACENT, N_UNRESOLVED, N_ADJACENT_PAIRS, N_INCIDENT,
 N_DROPPED, N_COUNTERS) = range(17)
# Of each part: rows that are no vertices, no faces, beyond the range of the filters, the sum over edges; then its box, then turned.
BAD_VERTICES, BAD_FACES, OUT_OF_RANGE, EDGE_SUM, N_FLAGS = range(5)
PART_BOXES = N_COUNTERS + 2 * N_FLAGS
VIEW_BOXES = PART_BOXES + 2 * BOX_SIZE
SURVEY_COUNTS = VIEW_BOXES + 2 * BOX_SIZE
COUNTERS_SIZE = SURVEY_COUNTS + SURVEY_SIZE // 2
