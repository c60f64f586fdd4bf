"""The desk: what the host tells the kernels of all passes, in two arrays that the GPU reads from the host's memory, which costs no copy.

Integers, then for each buffer where it begins in the array of its kind; and numbers. A new one is a name here, and no argument more.
"""
import numpy as np

from pliant.image.screen import FRAME_SIZE

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
