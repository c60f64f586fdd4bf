"""Three sorted lists of the ends of boxes, kept between frames, and the pairs that follow from them (Cohen et al. 1995; thesis A 5.3.4).

An end is a tag: 2 slot for the lower end of a box, 2 slot + 1 for the upper. A list holds the ends on one axis by value, lower ends before
upper ones where values are equal, so that boxes that touch overlap: boxes i and j overlap on the axis if and only if i's lower end stands
before j's upper end and j's lower before i's upper. A pair is in the set if its boxes overlap on all three axes.

When boxes move, ends are exchanged with their neighbours until every list is in order again. What keeps the set right: all new boxes are
known before the first exchange, and whenever a lower end has been exchanged with an upper one, the pair of their boxes is judged by the NEW
boxes, put into the set if these overlap, taken out if not. Proof: new boxes do not change, so a pair that has been judged is right. For
a pair that has not, on no list has a lower end of one passed an upper end of the other; so it overlaps now if and only if it did before,
and the set was right before. This holds whatever the order of the exchanges is, and if two ends meet several times: ends may be moved
one by one (`move_boxes`, few) or from the front of a list to its back (`resort_lists`, many).

Most boxes whose ends meet on one axis are far apart on another. `near` (s,) int64 tells most of them: 16 bits an axis, for cells about as
wide as a box, the 17th being the first again; a box has the bits of all cells that it touched before or touches now. Boxes that have no
bit in common on some axis overlapped neither before nor now, so there is nothing to judge. That reads 8 bytes instead of two boxes
(10,000 boxes that all move by 1 % of their width: 22 ns an end instead of 30; 100,000: half the time).

`places` (3, 2 s) says where an end was when it was last looked at; others that have passed it since are not written down, since each
would be a write somewhere in memory (a fifth of the time), and `find_end` looks around. −1: the box is on no list.
"""
import numpy as np

from pliant.broadphase.pair_set import empty_table, has_room, insert, insert_in_steps, remove
from pliant.broadphase.sweep_full import measure_axes
from pliant.core.jit import helper, kernel, routine

N_CELLS = 16
CELL_MASK = (1 << N_CELLS) - 1
MAX_CELL_COORD = float(1 << 40)                                         # cells that far out are not told apart
BLOCK_SIZE = 1 << 10                                                    # ends that `resort_lists` looks through at a time
MAX_PENDING = 1 << 9                                                    # exchanges that wait for judgement
LOG_SIZE = 1 << 14                                                      # pairs that came or went which are written down
MAX_DRIFT = 8                                                           # exchanges a box after which places are written down anew
# Boxes are moved one by one if at most 1 in 8 moves: 10,000 boxes take 0.06 ms where 1 in 100 moves, all of them at least 0.3 ms.
SINGLE_MOVE_RATIO = 8
DONE, TABLE_FULL, BUDGET_SPENT = 0, 1, 2                                # why a loop came back; FULL: the table of pairs is

# The state of a loop: ends on each list; the axis and the place or end that it is at; the end that it moves, or where that is, and whether
# it came back in the middle of that; exchanges that wait for judgement; exchanges so far, and when to come back; pairs in the table;
# how many came or went since somebody last asked.
N_ENDS, AXIS, POSITION, CURRENT_END, MID_MOVE, N_PENDING, N_SWAPS, SWAP_LIMIT, N_PAIRS, N_CHANGES, N_STATE = range(11)


@helper
def cell_bits(low, high, scale):
    """The bits of the cells from low to high, all of them if these are many."""
    first, last = float(low) * float(scale), float(high) * float(scale)
    if not (-MAX_CELL_COORD < first and last < MAX_CELL_COORD and last - first < N_CELLS - 1):
        return CELL_MASK
    start, last = int(np.floor(first)), int(np.floor(last))
    mask, rotation = (1 << (last - start + 1)) - 1, start & (N_CELLS - 1)
    return (mask << rotation | mask >> (N_CELLS - rotation)) & CELL_MASK


@helper
def box_cell_bits(boxes, i, scales):
    """All bits of box i."""
    return (cell_bits(boxes[i, 0], boxes[i, 3], scales[0]) | cell_bits(boxes[i, 1], boxes[i, 4], scales[1]) << N_CELLS
            | cell_bits(boxes[i, 2], boxes[i, 5], scales[2]) << 2 * N_CELLS)


@kernel
def update_cells(ids, boxes, scales, current_cells, swept_cells, places):
    """The boxes `ids` have moved: their new bits, and with them those of where they were. How many of them are on no list yet."""
    n = 0
    for i in ids:
        swept_cells[i] = current_cells[i]
    for i in ids:                                                       # a second time: nobody says that a box is named but once
        current_cells[i] = box_cell_bits(boxes, i, scales)
        swept_cells[i] |= current_cells[i]
        n += places[0, 2 * i] < 0
    return n


@helper
def boxes_overlap(boxes, i, j):
    """Do boxes i and j have a point in common?"""
    return ((boxes[i, 0] <= boxes[j, 3]) & (boxes[j, 0] <= boxes[i, 3]) & (boxes[i, 1] <= boxes[j, 4]) & (boxes[j, 1] <= boxes[i, 4])
            & (boxes[i, 2] <= boxes[j, 5]) & (boxes[j, 2] <= boxes[i, 5]))


@routine
def update_pairs(pending, n, boxes, swept_cells, table, log, state):
    """Judge the pairs whose ends have been exchanged."""
    for k in range(n):
        i, j = (pending[k] >> 32) >> 1, (pending[k] & 0xFFFFFFFF) >> 1
        common = swept_cells[i] & swept_cells[j]
        if (common & CELL_MASK != 0) & (common >> N_CELLS & CELL_MASK != 0) & (common >> 2 * N_CELLS != 0):
            key = min(i, j) << 32 | max(i, j)
            change = insert(table, key) if boxes_overlap(boxes, i, j) else -remove(table, key)
            log[min(state[N_CHANGES], LOG_SIZE - 1)] = key
            state[N_PAIRS] += change
            state[N_CHANGES] += abs(change)


@helper
def exchange_down(values, tags, t, value, at, pending, n):
    """Exchange end t, which stands at `at`, with the ends before it that belong after it; (where it is, n). Stops when `met` is full."""
    while at > 0 and n < MAX_PENDING:
        other, u = values[at - 1], tags[at - 1]
        if other < value or (other == value and u & 1 <= t & 1):
            break
        values[at], tags[at] = other, u
        pending[n] = np.int64(t) << 32 | u
        n += (t ^ u) & 1
        at -= 1
    values[at], tags[at] = value, t
    return at, n


@helper
def exchange_up(values, tags, last, t, value, at, pending, n):
    """The same with the ends after it."""
    while at < last and n < MAX_PENDING:
        other, u = values[at + 1], tags[at + 1]
        if other > value or (other == value and u & 1 >= t & 1):
            break
        values[at], tags[at] = other, u
        pending[n] = np.int64(t) << 32 | u
        n += (t ^ u) & 1
        at += 1
    values[at], tags[at] = value, t
    return at, n


@helper
def find_end(tags, last, t, at):
    """Where end t is, which was at `at` when that was written down."""
    low, high = at, at
    while tags[low] != t and tags[high] != t:
        low, high = max(low - 1, 0), min(high + 1, last)
    return low if tags[low] == t else high


@helper
def save_state(reason, axis, at, current_end, mid_move, n_pending, state):
    """Write down where a loop is."""
    state[AXIS], state[POSITION], state[CURRENT_END], state[MID_MOVE], state[N_PENDING] = axis, at, current_end, mid_move, n_pending
    return reason


@kernel
def move_boxes(ids, boxes, swept_cells, values, tags, places, pending, table, log, state):
    """Move the ends of these boxes to where they belong, one after another. A box that is on no list starts at the back.

    Of a box's two ends the upper one goes first if it goes up, else the lower: so neither passes the other."""
    at, t, mid_move, n = state[POSITION], state[CURRENT_END], state[MID_MOVE] != 0, state[N_PENDING]
    while at < 6 * len(ids):
        i, axis = ids[at // 6], at % 6 // 2
        if places[0, 2 * i] < 0:
            append_box(i, values, tags, places, state)
        line, tag, place, last = values[axis], tags[axis], places[axis], state[N_ENDS] - 1
        if not mid_move:
            t = t ^ 1 if at & 1 else 2 * i + (boxes[i, axis + 3] > line[find_end(tag, last, 2 * i + 1, np.int64(place[2 * i + 1]))])
        value, mid_move = boxes[i, axis + 3 * (t & 1)], False
        while True:
            start = find_end(tag, last, t, np.int64(place[t]))
            there, n = exchange_down(line, tag, t, value, start, pending, n)
            there, n = exchange_up(line, tag, last, t, value, there, pending, n)
            place[t] = there
            state[N_SWAPS] += abs(there - start)
            if n < MAX_PENDING:
                break
            if not has_room(table, state[N_PAIRS], n):
                return save_state(TABLE_FULL, 0, at, t, True, n, state)
            update_pairs(pending, n, boxes, swept_cells, table, log, state)
            n = 0
        at += 1
        if state[N_SWAPS] > state[SWAP_LIMIT]:
            return save_state(BUDGET_SPENT, 0, at, t, False, n, state)
    if not has_room(table, state[N_PAIRS], n):
        return save_state(TABLE_FULL, 0, at, t, False, n, state)
    update_pairs(pending, n, boxes, swept_cells, table, log, state)
    return save_state(DONE, 0, at, t, False, 0, state)


@helper
def append_box(i, values, tags, places, state):
    """Box i stands behind all others."""
    for axis in range(3):
        for upper in range(2):
            at = state[N_ENDS] + upper
            values[axis, at], tags[axis, at], places[axis, 2 * i + upper] = np.inf, 2 * i + upper, at
    state[N_ENDS] += 2


@kernel
def resort_lists(ids, boxes, swept_cells, values, tags, places, pending, table, log, state, unsorted):
    """Read all boxes anew, whichever have moved, and sort the lists by insertion, from the front to the back.

    Which ends are not in order is found out in advance, without a branch that nobody could foretell. `unsorted`
    (BLOCK_SIZE + 1,) is scratch."""
    axis, at, current_end, mid_move, n = state[AXIS], state[POSITION], state[CURRENT_END], state[MID_MOVE] != 0, state[N_PENDING]
    while axis < 3:
        line, tag = values[axis], tags[axis]
        while at < state[N_ENDS]:
            stop, n_unsorted = min(at + BLOCK_SIZE, state[N_ENDS]), 0
            if mid_move:
                unsorted[0], n_unsorted, mid_move = current_end, 1, False
            for p in range(at, stop):
                line[p] = boxes[tag[p] >> 1, axis + 3 * (tag[p] & 1)]
            highest = line[max(at - 1, 0)]
            for p in range(max(at, 1), stop):
                unsorted[n_unsorted] = p
                n_unsorted += line[p] <= highest
                highest = max(highest, line[p])
            for k in range(n_unsorted):
                start = np.int64(unsorted[k])
                t, value = np.int64(tag[start]), line[start]
                while True:
                    there, n = exchange_down(line, tag, t, value, start, pending, n)
                    state[N_SWAPS] += start - there
                    if n < MAX_PENDING:
                        break
                    if not has_room(table, state[N_PAIRS], n):
                        return save_state(TABLE_FULL, axis, max(at, unsorted[k]), there, True, n, state)
                    update_pairs(pending, n, boxes, swept_cells, table, log, state)
                    n, start = 0, there
                if state[N_SWAPS] > state[SWAP_LIMIT]:
                    return save_state(BUDGET_SPENT, axis, max(at, unsorted[k] + 1), current_end, False, n, state)
            at = stop
        axis, at = axis + 1, 0
    if not has_room(table, state[N_PAIRS], n):
        return save_state(TABLE_FULL, axis, at, current_end, False, n, state)
    update_pairs(pending, n, boxes, swept_cells, table, log, state)
    return save_state(DONE, axis, at, current_end, False, 0, state)


@kernel
def record_places(tags, n, places):
    """Write down where the first n ends are."""
    for at in range(n):
        places[tags[at]] = at


class EndpointLists:
    """The three lists and the table of pairs."""

    def __init__(self, sorter):
        self.sorter = sorter
        self.state = np.zeros(N_STATE, np.int64)
        self.pending, self.log = np.zeros(MAX_PENDING, np.int64), np.zeros(LOG_SIZE, np.int64)
        self.unsorted = np.zeros(BLOCK_SIZE + 1, np.int32)
        self.scales = np.zeros(3)
        self.table, self.drift = np.zeros(0, np.int64), 0
        self.reserve(0)

    def reserve(self, capacity):
        """Room for so many slots; what was there is lost."""
        self.values, self.tags = np.zeros((3, 2 * capacity)), np.zeros((3, 2 * capacity), np.int32)
        self.places = np.full((3, 2 * capacity), -1, np.int32)
        self.current_cells, self.swept_cells = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)

    def grow(self, capacity):
        """Room for so many slots; what is there stays."""
        old = self.values, self.tags, self.places, self.current_cells, self.swept_cells
        self.reserve(capacity)
        for new, array in zip((self.values, self.tags, self.places, self.current_cells, self.swept_cells), old, strict=True):
            new[..., :array.shape[-1]] = array

    @property
    def n_boxes(self):
        """Boxes that are on the lists."""
        return int(self.state[N_ENDS]) // 2

    def record_places(self):
        """Write down where the ends are."""
        for axis in range(3):
            record_places(self.tags[axis], self.n_boxes * 2, self.places[axis])
        self.drift = 0

    def build(self, boxes, slots, keys, slot_bits):
        """Lists of these boxes, whose pairs are known. True."""
        if len(self.current_cells) < len(boxes):
            self.reserve(len(boxes))
        self.places[:] = -1
        self.table = insert_in_steps(empty_table(len(keys)), keys, slot_bits)
        self.state[:] = 0
        self.state[N_ENDS], self.state[N_PAIRS] = 2 * len(slots), len(keys)
        axis_stats = np.zeros((3, 4))
        measure_axes(boxes, slots, axis_stats)
        self.scales[:] = [1 / extent if 1e-300 < extent < np.inf else 0.0 for extent in axis_stats[:, 2].tolist()]
        update_cells(slots, boxes, self.scales, self.current_cells, self.swept_cells, self.places)
        n = len(slots)
        for axis in range(3):
            values, tags = self.sorter.buffers(2 * n)
            values[:n], values[n:] = boxes[slots, axis], boxes[slots, axis + 3]  # lower ends first: the sort is stable
            tags[:n], tags[n:] = 2 * slots, 2 * slots + 1
            values, tags = self.sorter.sort(2 * n)
            self.values[axis, :2 * n], self.tags[axis, :2 * n] = values, tags
        self.record_places()
        return True

    def update(self, ids, boxes):
        """The boxes `ids` have moved, or are new. False if that takes too many exchanges; then the lists are of no use any more.

        Too many: more than a sweep is worth. For 10,000 boxes that is 0.9 ms. `resort_lists` takes 0.3 ms and 9 ns an exchange,
        `move_boxes` 65 ns an end and 4 ns an exchange, since its exchanges come in long runs."""
        n, k, self.state[N_SWAPS] = self.n_boxes, len(ids), 0
        new = update_cells(ids, boxes, self.scales, self.current_cells, self.swept_cells, self.places)
        if SINGLE_MOVE_RATIO * k <= n:
            return self._run(move_boxes, ids, boxes, 20 * n - 80 * k)
        if new and not self._run(move_boxes, ids[self.places[0, 2 * ids] < 0], boxes, (20 - 6 * new) * n):  # a new one passes 6 n others
            return False
        return self._run(resort_lists, ids, boxes, 6 * n, self.unsorted)

    def _run(self, loop, ids, boxes, max_swaps, *more):
        """Run a loop; False if it takes more exchanges than are allowed, or looks as if it would."""
        if loop is move_boxes and self.drift > MAX_DRIFT * self.n_boxes:
            self.record_places()
        first = int(self.state[N_SWAPS])
        self.state[AXIS:N_SWAPS], self.state[SWAP_LIMIT] = 0, first + max_swaps // 8
        while True:
            args = ids, boxes, self.swept_cells, self.values, self.tags, self.places, self.pending, self.table, self.log, self.state
            reason = loop(*args, *more)
            done = int(self.state[N_SWAPS]) - first
            if reason == DONE:
                self.drift += done
                return True
            if reason == TABLE_FULL:
                self.table = insert_in_steps(empty_table(len(self.table) // 2), self.table, 32)
                continue
            share = self.state[POSITION] / (6 * len(ids)) if loop is move_boxes else (
                self.state[AXIS] + self.state[POSITION] / self.state[N_ENDS]) / 3
            if done > min(max_swaps, 2 * max_swaps * share):
                return False
            self.state[SWAP_LIMIT] += max_swaps // 8
