"""The board: one array of int64 on the GPU on which kernels note what the host wants to know, so that it is read at once. Boxes are written
on the same memory as float64, and layers of surface (`screen.py`) as float32."""
from pliant.image.pack import SIDES
from pliant.image.screen import SURVEY

# How many fragments, the most on one ray, faces that are too large for a thread, passes of peeling, rays that are on, faces left, places in
# the sweep, pairs of boxes compared, candidates, faces in these, pairs found, among them of faces apart, undecided, pairs of neighbours,
# faces around all vertices, fragments that were dropped.
(TOTAL, DEEPEST, LARGE_FACES, PASSES, RAYS, LEFT, ENTRIES, LOOKS, CANDIDATES, MET, FOUND, APART, UNDECIDED, PAIRS, VALENCES,
 DROPPED, COUNTERS) = range(17)
# Of each part: rows that are no vertices, no faces, beyond the range of the filters, the sum over edges; then its box, then turned.
BAD_VERTICES, BAD_FACES, BEYOND, EDGES, FLAGS = range(5)
BOXES = COUNTERS + 2 * FLAGS
TURNED = BOXES + 2 * SIDES
LAYERS = TURNED + 2 * SIDES
BOARD = LAYERS + SURVEY // 2
