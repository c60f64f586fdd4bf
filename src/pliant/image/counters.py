"""The desk: what the host tells the kernels of all passes, in two arrays that the GPU reads from the host's memory, which costs no copy.

Integers, then for each buffer where it begins in the array of its kind; and numbers. A new one is a name here, and no argument more.
"""
import numpy as np

from pliant.image.screen import FRAME

SAMPLE, MERGE, SEPARATE, PACK, TEST, ALL = range(6)                     # passes

# Passes to run, sizes, choices, and how much room there is.
(BEGIN, END, N, N_VERTICES, FIRST_B, ITSELF, ADJACENT, PLAIN, SIZE, LEVELS, MARGIN, STRIP, STRIP_CELLS, SAMPLED, CLOSED, PASSES, ENDS, MARK,
 FRAGMENTS, ENTRIES, MOST, FEW, LONGS) = range(23)
# Where buffers begin, of int64, int32, float32 and uint8.
(COUNTS, FRONTS, BACKS, NEXT_FRONTS, NEXT_BACKS, LISTED, TEXELS, LEVEL_BEGINS, LEVEL_SIDES, SPARSE, STRIP_BEGINS, ORDER, CANDIDATES, KEYS,
 UNDECIDED, AROUND_BEGINS, SUMS, INTS) = range(LONGS, LONGS + 18)
BEGINS, LARGE, LEFT, STRIP_COUNTS, VALENCES, AROUND, OWNERS, SINGLES = range(INTS, INTS + 8)
SCREEN, BOXES, LINED, OCTETS = range(SINGLES, SINGLES + 4)
ON, MET, DESK = range(OCTETS, OCTETS + 3)
KINDS = {np.int64: range(LONGS, INTS), np.int32: range(INTS, SINGLES), np.float32: range(SINGLES, OCTETS), np.uint8: range(OCTETS, DESK)}

SLACK, SLACK_Z, VIEW, NUMBERS = 0, 1, 2, 2 + FRAME                      # the numbers: a view
