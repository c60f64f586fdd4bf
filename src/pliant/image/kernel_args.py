"""The board: one array of int64 on the GPU on which kernels note what the host wants to know, so that it is read at once. Boxes are written
on the same memory as float64, and layers of surface (`screen.py`) as float32."""
from pliant.image.pack import BOX_SIZE
from pliant.image.screen import SURVEY_SIZE

# How many fragments, the most on one ray, faces that are too large for a thread, passes of peeling, rays that are on, faces left, places in
# the sweep, pairs of boxes compared, candidates, faces in these, pairs found, among them of faces apart, unresolved, pairs of neighbours,
# faces around all vertices, fragments that were dropped.
(N_FRAGMENTS, MAX_DEPTH, N_LARGE_FACES, N_PEELS, N_RAYS, N_PACKED, N_ENTRIES, N_BOX_TESTS, N_CANDIDATES, N_CANDIDATE_FACES, N_PAIRS,
 N_NONADJACENT, N_UNRESOLVED, N_ADJACENT_PAIRS, N_INCIDENT,
 N_DROPPED, N_COUNTERS) = range(17)
# Of each part: rows that are no vertices, no faces, beyond the range of the filters, the sum over edges; then its box, then turned.
BAD_VERTICES, BAD_FACES, OUT_OF_RANGE, EDGE_SUM, N_FLAGS = range(5)
PART_BOXES = N_COUNTERS + 2 * N_FLAGS
VIEW_BOXES = PART_BOXES + 2 * BOX_SIZE
SURVEY_COUNTS = VIEW_BOXES + 2 * BOX_SIZE
COUNTERS_SIZE = SURVEY_COUNTS + SURVEY_SIZE // 2
