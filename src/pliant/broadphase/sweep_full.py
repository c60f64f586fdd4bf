"""All overlapping pairs of boxes from scratch: every pair for few boxes, for many one sweep in columns.

The sweep goes along the axis on which boxes are shortest against the space they fill. The other two axes are cut into strips, about two
boxes wide, and a column is a pair of strips; without columns a sweep compares each of n evenly spread boxes with n^(2/3) others. Boxes
enter every column that they touch, in the order of their lower ends; a pair is reported in the column where its common part begins.
Strips come from a sample and are a monotonous function of the coordinate, so they decide about speed alone: any boxes will do, infinite
ones as well.

`boxes` (s, 6): lower ends x y z, upper ends x y z of each slot; `slots` (n,) those in use. Keys hold the second slot in their lowest
`low` bits.
"""
import numpy as np

from pliant.broadphase.pair_set import check_memory
from pliant.broadphase.radix import RadixSorter
from pliant.core.jit import helper, kernel
from pliant.core.stack import stack_float64

# Boxes below which all pairs are tested. `set` and `pairs` of 200 boxes take 18 µs so; with lists 12, 17, 29 µs where boxes move by 0.2, 1,
# 5 % of their size a frame, and 46 µs in columns. At 1 % a frame lists win from 150 boxes on, at 5 % from 350, columns from 450.
BRUTE_FORCE_SIZE = 200
SAMPLE_SIZE = 64
MAX_COPIES = 6                                                          # entries of large boxes, at most, for each box that there is
COMPARISON_BUDGET = 1 << 26                                             # comparisons per kernel call: about a tenth of a second
POSITION, N_FOUND = 0, 1                                                # a loop's state: how far it is, how many pairs it found
MAX_KEPT_KEYS = 1 << 20                                                 # keys for which room is kept
LOOKAHEAD = 4                                                           # entries looked at before the next branch
SLOT_MASK, STRIP_MASK = 0xFFFFFFFF, 0xFFFF


@kernel
def brute_force(boxes, slots, rows, flags, words, slot_bits, keys, state):
    """Compare each box from state[AT] on with all before it; True when done, False when `keys` might overflow or time is up.

    `rows` (6, n) takes the boxes in order, `flags` (n rounded up to 8,) bytes what comes of a comparison; `words` is the same as int64.
    """
    n, found, first = len(slots), state[N_FOUND], state[POSITION]
    for k in range(n if first == 0 else 0):
        for end in range(6):
            rows[end, k] = boxes[slots[k], end]
    for i in range(first, n):
        if found + i > len(keys) or (i - first) * n > COMPARISON_BUDGET:
            state[POSITION], state[N_FOUND] = i, found
            return False
        lox, loy, loz, hix, hiy, hiz = rows[0, i], rows[1, i], rows[2, i], rows[3, i], rows[4, i], rows[5, i]
        for j in range(i):                                              # no branch in here, and it counts from 0: so it becomes vectors
            flags[j] = ((rows[0, j] <= hix) & (rows[1, j] <= hiy) & (rows[2, j] <= hiz)
                        & (lox <= rows[3, j]) & (loy <= rows[4, j]) & (loz <= rows[5, j]))
        for word in range((i + 7) >> 3):
            if words[word] != 0:
                for j in range(8 * word, min(8 * word + 8, i)):
                    if flags[j]:
                        keys[found] = slots[j] << slot_bits | slots[i]
                        found += 1
    state[N_FOUND] = found
    return True


# --- columns -------------------------------------------------------------------------------------------------------------------

@helper
def insert_sorted(sample, n, value):
    """Insert a value into the first n of a scratch array, which are in order."""
    while n > 0 and sample[n - 1] > value:
        sample[n] = sample[n - 1]
        n -= 1
    sample[n] = value


@kernel
def measure_axes(boxes, slots, axis_stats):
    """For each axis, about[axis] = (start, length, usual extent, …) of the boxes, without the few that are far out."""
    lows, extents = stack_float64(SAMPLE_SIZE), stack_float64(SAMPLE_SIZE)
    n = min(len(slots), SAMPLE_SIZE)
    for axis in range(3):
        for k in range(n):
            i = slots[k * 0x9E3779B1 % len(slots)]                      # scattered: boxes may come in the order of a lattice
            low, high = float(boxes[i, axis]), float(boxes[i, axis + 3])
            insert_sorted(lows, k, low)
            insert_sorted(extents, k, high - low if high > low else 0.0)
        low, high = float(lows[n // 16]), float(lows[n - 1 - n // 16])  # seven eighths of evenly spread boxes
        axis_stats[axis, 0], axis_stats[axis, 1], axis_stats[axis, 2] = low - (high - low) / 14, (high - low) / 7 * 8, extents[n // 2]


@kernel
def plan_columns(axis_stats, n_boxes, axes, cuts):
    """axes (3,): the sweep's, then those with strips; cuts (2, 3): where strips begin, how many there are in a unit, and in all."""
    most = max(1, int((n_boxes / 2) ** 0.5))                            # so that there are fewer columns than boxes
    for axis in range(3):
        length, extent = axis_stats[axis, 1], axis_stats[axis, 2]
        axis_stats[axis, 3] = 0.0 if not 0.0 < length < np.inf else 2.0 * most if extent <= length / (2 * most) else length / extent
    first = 0
    for axis in range(1, 3):
        first = axis if axis_stats[axis, 3] > axis_stats[first, 3] else first
    axes[0], axes[1], axes[2] = first, (first + 1) % 3, (first + 2) % 3
    for k in range(2):
        axis = axes[k + 1]
        n = max(1, int(axis_stats[axis, 3] / 2))
        cuts[k, 0], cuts[k, 1], cuts[k, 2] = axis_stats[axis, 0], n / float(axis_stats[axis, 1]) if n > 1 else 0.0, n


@helper
def strip_of(value, start, scale, n):
    """The strip that a coordinate is in."""
    at = (float(value) - float(start)) * float(scale)
    at = at if at > 0.0 else 0.0                                        # also where infinity times 0 is not a number
    return int(at if at < n - 1 else n - 1)


@kernel
def assign_strips(boxes, slots, axes, cuts, strips, counts):
    """strips (n, 4): of each box the first and last strip on the axes 1 and 2 of `axes`; counts[c + 2]: how many boxes touch column c.

    How many entries that makes; −1 if large boxes make too many of them.
    """
    second, third, total, large = axes[1], axes[2], 0, 0
    start_2, scale_2, n_2, start_3, scale_3, n_3 = cuts[0, 0], cuts[0, 1], int(cuts[0, 2]), cuts[1, 0], cuts[1, 1], int(cuts[1, 2])
    counts[:] = 0
    for k in range(len(slots)):
        i = slots[k]
        first_2, last_2 = strip_of(boxes[i, second], start_2, scale_2, n_2), strip_of(boxes[i, second + 3], start_2, scale_2, n_2)
        first_3, last_3 = strip_of(boxes[i, third], start_3, scale_3, n_3), strip_of(boxes[i, third + 3], start_3, scale_3, n_3)
        strips[k, 0], strips[k, 1], strips[k, 2], strips[k, 3] = first_2, last_2, first_3, last_3
        down, right, column = last_2 - first_2, last_3 - first_3, first_2 * n_3 + first_3 + 2
        total += (down + 1) * (right + 1)
        if (down | right) <= 1:                                         # the usual case, without a branch that nobody could foretell
            counts[column] += 1
            counts[column + right] += right
            counts[column + down * n_3] += down
            counts[column + down * n_3 + right] += down & right
        else:
            large += (down + 1) * (right + 1)
            if large > MAX_COPIES * len(slots):
                return -1
            for row in range(down + 1):
                for c in range(column + row * n_3, column + row * n_3 + right + 1):
                    counts[c] += 1
    return total


@kernel
def gather_lower_ends(boxes, slots, axis, values, tags):
    """What the sweep goes by."""
    for k in range(len(slots)):
        values[k], tags[k] = boxes[slots[k], axis], k


@kernel
def fill_columns(boxes, slots, order, axes, n_3, strips, counts, members, entries, entry_tags):
    """Boxes enter their columns in order: entries[counts[c]:counts[c + 1]] become those of column c, the ends on each of `axes`, lower
    and upper; `entry_tags` say which box, and its first strips. `members` is scratch; its last place is for what is not needed."""
    trash = len(members) - 1
    for c in range(2, len(counts)):
        counts[c] += counts[c - 1]
    for k in order:
        first_2, first_3 = np.int64(strips[k, 0]), np.int64(strips[k, 2])
        down, right, column = strips[k, 1] - first_2, strips[k, 3] - first_3, first_2 * n_3 + first_3 + 1
        if (down | right) <= 1:
            members[counts[column]] = k
            counts[column] += 1
            members[trash + right * (counts[column + right] - trash)] = k
            counts[column + right] += right
            column += down * n_3
            members[trash + down * (counts[column] - trash)] = k
            counts[column] += down
            members[trash + (down & right) * (counts[column + right] - trash)] = k
            counts[column + right] += down & right
        else:
            for row in range(down + 1):
                for c in range(column + row * n_3, column + row * n_3 + right + 1):
                    members[counts[c]] = k
                    counts[c] += 1
    first, second, third = axes[0], axes[1], axes[2]
    for at in range(counts[len(counts) - 2]):
        k = members[at]
        i = slots[k]
        entry_tags[at] = np.int64(strips[k, 0]) << 48 | np.int64(strips[k, 2]) << 32 | i
        entries[at, 0], entries[at, 1] = boxes[i, first], boxes[i, first + 3]
        entries[at, 2], entries[at, 3] = boxes[i, second], boxes[i, second + 3]
        entries[at, 4], entries[at, 5] = boxes[i, third], boxes[i, third + 3]


@helper
def keep_pairs_of_column(keys, first, last, entry_tags, strip_2, strip_3, slot_bits):
    """Turn keys[first:last], pairs of entries of one column, into pairs of slots, without those that belong to another; the new last."""
    n = first
    for k in range(first, last):
        a, b = entry_tags[keys[k] >> 32], entry_tags[keys[k] & SLOT_MASK]
        keys[n] = min(a & SLOT_MASK, b & SLOT_MASK) << slot_bits | max(a & SLOT_MASK, b & SLOT_MASK)
        n += (max(a >> 48, b >> 48) == strip_2) & (max((a >> 32) & STRIP_MASK, (b >> 32) & STRIP_MASK) == strip_3)
    return n


@kernel
def sweep_columns(counts, n_3, entries, entry_tags, slot_bits, keys, state):
    """Compare entries, from state[AT] on, with those of their column that follow before they end; True when done, False when `keys` might
    overflow or time is up."""
    at, n, column, budget = state[POSITION], state[N_FOUND], 0, COMPARISON_BUDGET
    while column < len(counts) - 1:
        last, strip_2, strip_3, found = counts[column + 1], np.int64(column // n_3), np.int64(column % n_3), n
        while at < last:
            if budget < 0 or found + last - at + LOOKAHEAD > len(keys):
                state[POSITION], state[N_FOUND] = at, keep_pairs_of_column(keys, n, found, entry_tags, strip_2, strip_3, slot_bits)
                return False
            upper_end, start_2, end_2, start_3, end_3 = entries[at, 1], entries[at, 2], entries[at, 3], entries[at, 4], entries[at, 5]
            other = at + 1
            while other < last and entries[other, 0] <= upper_end:
                for k in range(other, other + LOOKAHEAD):               # no branch in here: nobody could foretell it
                    keys[found] = np.int64(at) << 32 | k
                    found += ((k < last) & (entries[k, 0] <= upper_end) & (entries[k, 2] <= end_2) & (start_2 <= entries[k, 3])
                              & (entries[k, 4] <= end_3) & (start_3 <= entries[k, 5]))
                other += LOOKAHEAD
            budget -= other - at
            at += 1
        n = keep_pairs_of_column(keys, n, found, entry_tags, strip_2, strip_3, slot_bits)
        column += 1
    state[N_FOUND] = n
    return True


class FullSweep:
    """Finds pairs from scratch, and keeps the room that this takes."""

    def __init__(self, sorter):
        self.sorter: RadixSorter = sorter
        self.n, self.rows, self.words = 0, np.zeros((6, 0)), np.zeros(0, np.int64)
        self.keys, self.state = np.zeros(1024, np.int64), np.zeros(2, np.int64)
        self.axis_stats, self.axes, self.cuts = np.zeros((3, 4)), np.zeros(3, np.int64), np.zeros((2, 3))
        self.strips, self.counts = np.zeros((0, 4), np.int16), np.zeros(0, np.int32)
        self.entries, self.entry_tags, self.members = np.zeros((0, 6)), np.zeros(0, np.int64), np.zeros(0, np.int32)

    def pairs_of(self, boxes, slots, slot_bits):
        """The keys of all pairs among these slots, in any order, good until the next call."""
        self.n = len(slots)
        if len(slots) < BRUTE_FORCE_SIZE:
            return self._run(brute_force, *self._prepare_brute(boxes, slots), slot_bits)
        return self._run(sweep_columns, *self._prepare_columns(boxes, slots), slot_bits)

    def _run(self, loop, *args):
        min_free = self.n + LOOKAHEAD                                   # room that one box may need
        if len(self.keys) > MAX_KEPT_KEYS:
            self.keys = np.empty(MAX_KEPT_KEYS, np.int64)
        self.state[:] = 0
        while not loop(*args, self.keys, self.state):
            found, size = int(self.state[N_FOUND]), len(self.keys)
            if found + min_free > size:
                check_memory(found, 8 * (2 * size + min_free))
                self.keys = np.concatenate([self.keys[:found], np.empty(size + min_free, np.int64)])
        return self.keys[:self.state[N_FOUND]]

    def _prepare_brute(self, boxes, slots):
        n = len(slots)
        if self.rows.shape[1] < n:
            self.words, self.rows = np.zeros((n + 7) >> 3, np.int64), np.zeros((6, n))
        return boxes, slots, self.rows, self.words.view(np.uint8), self.words

    def _prepare_columns(self, boxes, slots):
        n = len(slots)
        if len(self.strips) < n:
            self.strips = np.zeros((n + n // 4, 4), np.int16)
        strips, axis_stats, axes, cuts, total = self.strips[:n], self.axis_stats, self.axes, self.cuts, -1
        measure_axes(boxes, slots, axis_stats)
        plan_columns(axis_stats, n, axes, cuts)
        while total < 0:
            columns = int(cuts[0, 2] * cuts[1, 2])
            if len(self.counts) < columns + 2:
                self.counts = np.zeros(columns + 2, np.int32)
            counts = self.counts[:columns + 2]
            total = assign_strips(boxes, slots, axes, cuts, strips, counts)
            if total < 0:
                cuts[:] = halve_strips(cuts)
        gather_lower_ends(boxes, slots, axes[0], *self.sorter.buffers(n))
        order, n_3 = self.sorter.sort(n)[1], int(cuts[1, 2])
        if len(self.entry_tags) <= total + LOOKAHEAD:
            capacity = total + total // 4 + LOOKAHEAD + 1
            self.entries, self.members = np.zeros((capacity, 6)), np.zeros(capacity, np.int32)
            self.entry_tags = np.zeros(capacity, np.int64)
        fill_columns(boxes, slots, order, axes, n_3, strips, counts, self.members, self.entries, self.entry_tags)
        return counts[:-1], n_3, self.entries, self.entry_tags


def halve_strips(cuts):
    """Half as many strips."""
    half = np.maximum(1, cuts[:, 2] // 2)
    return np.stack([cuts[:, 0], np.where(half > 1, cuts[:, 1] * half / cuts[:, 2], 0.0), half], axis=1)
