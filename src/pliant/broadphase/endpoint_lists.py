"""Three sorted lists of the ends of boxes, kept between frames, and the pairs that follow from them (Cohen et al. 1995; thesis A 5.3.4).

An end is a tag: 2 slot for the lower end of a box, 2 slot + 1 for the upper. A list holds the ends on one axis by value, lower ends before
upper ones where values are equal, so that boxes that touch overlap: boxes i and j overlap on the axis if and only if i's lower end stands
before j's upper end and j's lower before i's upper. A pair is in the set if its boxes overlap on all three axes.

When boxes move, ends are exchanged with their neighbours until every list is in order again. What keeps the set right: all new boxes are
known before the first exchange, and whenever a lower end has been exchanged with an upper one, the pair of their boxes is judged by the NEW
boxes, put into the set if these overlap, taken out if not. Proof: new boxes do not change, so a pair that has been judged is right. For
a pair that has not, on no list has a lower end of one passed an upper end of the other; so it overlaps now if and only if it did before,
and the set was right before. This holds whatever the order of the exchanges is, and if two ends meet several times: ends may be moved
one by one (`move`, few boxes) or from the front of a list to its back (`resort`, many).

Most boxes whose ends meet on one axis are far apart on another. `near` (s,) int64 tells most of them: 16 bits an axis, for cells about as
wide as a box, the 17th being the first again; a box has the bits of all cells that it touched before or touches now. Boxes that have no
bit in common on some axis overlapped neither before nor now, so there is nothing to judge. That reads 8 bytes instead of two boxes
(10,000 boxes that all move by 1 % of their width: 22 ns an end instead of 30; 100,000: half the time).

`places` (3, 2 s) says where an end was when it was last looked at; others that have passed it since are not written down, since each
would be a write somewhere in memory (a fifth of the time), and `find` looks around. −1: the box is on no list.
"""
import numpy as np

from pliant.broadphase.pair_set import filled, has_room, insert, remove, table_for
from pliant.broadphase.sweep_full import measure
from pliant.core.jit import helper, kernel, routine

CELLS = 16
ALL = (1 << CELLS) - 1
FAR = float(1 << 40)                                                    # cells that far out are not told apart
BLOCK = 1 << 10                                                         # ends that `resort` looks through at a time
MET = 1 << 9                                                            # exchanges that wait for judgement
LOG = 1 << 14                                                           # pairs that came or went which are written down
DRIFT = 8                                                               # exchanges a box after which places are written down anew
# Boxes are moved one by one if at most 1 in 8 moves: 10,000 boxes take 0.06 ms where 1 in 100 moves, all of them at least 0.3 ms.
FEW = 8
DONE, FULL, SPENT = 0, 1, 2                                             # why a loop came back; FULL: the table of pairs is

# The state of a loop: ends on each list; the axis and the place or end that it is at; the end that it moves, or where that is, and whether
# it came back in the middle of that; exchanges that wait for judgement; exchanges so far, and when to come back; pairs in the table;
# how many came or went since somebody last asked.
ENDS, AXIS, AT, HELD, MIDDLE, WAITING, SWAPS, LIMIT, PAIRS, CHANGES, N_STATE = range(11)


@helper
def cells(low, high, scale):
    """The bits of the cells from low to high, all of them if these are many."""
    first, last = float(low) * float(scale), float(high) * float(scale)
    if not (-FAR < first and last < FAR and last - first < CELLS - 1):
        return ALL
    start, last = int(np.floor(first)), int(np.floor(last))
    bits, turn = (1 << (last - start + 1)) - 1, start & (CELLS - 1)
    return (bits << turn | bits >> (CELLS - turn)) & ALL


@helper
def cells_of(boxes, i, scales):
    """All bits of box i."""
    return (cells(boxes[i, 0], boxes[i, 3], scales[0]) | cells(boxes[i, 1], boxes[i, 4], scales[1]) << CELLS
            | cells(boxes[i, 2], boxes[i, 5], scales[2]) << 2 * CELLS)


@kernel
def mark(ids, boxes, scales, cell, near, places):
    """The boxes `ids` have moved: their new bits, and with them those of where they were. How many of them are on no list yet."""
    n = 0
    for i in ids:
        near[i] = cell[i]
    for i in ids:                                                       # a second time: nobody says that a box is named but once
        cell[i] = cells_of(boxes, i, scales)
        near[i] |= cell[i]
        n += places[0, 2 * i] < 0
    return n


@helper
def overlap(boxes, i, j):
    """Do boxes i and j have a point in common?"""
    return ((boxes[i, 0] <= boxes[j, 3]) & (boxes[j, 0] <= boxes[i, 3]) & (boxes[i, 1] <= boxes[j, 4]) & (boxes[j, 1] <= boxes[i, 4])
            & (boxes[i, 2] <= boxes[j, 5]) & (boxes[j, 2] <= boxes[i, 5]))


@routine
def judge(met, n, boxes, near, table, log, state):
    """Judge the pairs whose ends have been exchanged."""
    for k in range(n):
        i, j = (met[k] >> 32) >> 1, (met[k] & 0xFFFFFFFF) >> 1
        common = near[i] & near[j]
        if (common & ALL != 0) & (common >> CELLS & ALL != 0) & (common >> 2 * CELLS != 0):
            key = min(i, j) << 32 | max(i, j)
            change = insert(table, key) if overlap(boxes, i, j) else -remove(table, key)
            log[min(state[CHANGES], LOG - 1)] = key
            state[PAIRS] += change
            state[CHANGES] += abs(change)


@helper
def sink(values, tags, t, value, at, met, n):
    """Exchange end t, which stands at `at`, with the ends before it that belong after it; (where it is, n). Stops when `met` is full."""
    while at > 0 and n < MET:
        other, u = values[at - 1], tags[at - 1]
        if other < value or (other == value and u & 1 <= t & 1):
            break
        values[at], tags[at] = other, u
        met[n] = np.int64(t) << 32 | u
        n += (t ^ u) & 1
        at -= 1
    values[at], tags[at] = value, t
    return at, n


@helper
def rise(values, tags, last, t, value, at, met, n):
    """The same with the ends after it."""
    while at < last and n < MET:
        other, u = values[at + 1], tags[at + 1]
        if other > value or (other == value and u & 1 >= t & 1):
            break
        values[at], tags[at] = other, u
        met[n] = np.int64(t) << 32 | u
        n += (t ^ u) & 1
        at += 1
    values[at], tags[at] = value, t
    return at, n


@helper
def find(tags, last, t, at):
    """Where end t is, which was at `at` when that was written down."""
    low, high = at, at
    while tags[low] != t and tags[high] != t:
        low, high = max(low - 1, 0), min(high + 1, last)
    return low if tags[low] == t else high


@helper
def leave(reason, axis, at, held, middle, waiting, state):
    """Write down where a loop is."""
    state[AXIS], state[AT], state[HELD], state[MIDDLE], state[WAITING] = axis, at, held, middle, waiting
    return reason


@kernel
def move(ids, boxes, near, values, tags, places, met, table, log, state):
    """Move the ends of these boxes to where they belong, one after another. A box that is on no list starts at the back.

    Of a box's two ends the upper one goes first if it goes up, else the lower: so neither passes the other."""
    at, t, middle, n = state[AT], state[HELD], state[MIDDLE] != 0, state[WAITING]
    while at < 6 * len(ids):
        i, axis = ids[at // 6], at % 6 // 2
        if places[0, 2 * i] < 0:
            append(i, values, tags, places, state)
        line, tag, place, last = values[axis], tags[axis], places[axis], state[ENDS] - 1
        if not middle:
            t = t ^ 1 if at & 1 else 2 * i + (boxes[i, axis + 3] > line[find(tag, last, 2 * i + 1, np.int64(place[2 * i + 1]))])
        value, middle = boxes[i, axis + 3 * (t & 1)], False
        while True:
            start = find(tag, last, t, np.int64(place[t]))
            there, n = sink(line, tag, t, value, start, met, n)
            there, n = rise(line, tag, last, t, value, there, met, n)
            place[t] = there
            state[SWAPS] += abs(there - start)
            if n < MET:
                break
            if not has_room(table, state[PAIRS], n):
                return leave(FULL, 0, at, t, True, n, state)
            judge(met, n, boxes, near, table, log, state)
            n = 0
        at += 1
        if state[SWAPS] > state[LIMIT]:
            return leave(SPENT, 0, at, t, False, n, state)
    if not has_room(table, state[PAIRS], n):
        return leave(FULL, 0, at, t, False, n, state)
    judge(met, n, boxes, near, table, log, state)
    return leave(DONE, 0, at, t, False, 0, state)


@helper
def append(i, values, tags, places, state):
    """Box i stands behind all others."""
    for axis in range(3):
        for upper in range(2):
            at = state[ENDS] + upper
            values[axis, at], tags[axis, at], places[axis, 2 * i + upper] = np.inf, 2 * i + upper, at
    state[ENDS] += 2


@kernel
def resort(ids, boxes, near, values, tags, places, met, table, log, state, late):
    """Read all boxes anew, whichever have moved, and sort the lists by insertion, from the front to the back.

    Which ends are not in order is found out in advance, without a branch that nobody could foretell. `late` (BLOCK + 1,) is scratch."""
    axis, at, held, middle, n = state[AXIS], state[AT], state[HELD], state[MIDDLE] != 0, state[WAITING]
    while axis < 3:
        line, tag = values[axis], tags[axis]
        while at < state[ENDS]:
            stop, n_late = min(at + BLOCK, state[ENDS]), 0
            if middle:
                late[0], n_late, middle = held, 1, False
            for p in range(at, stop):
                line[p] = boxes[tag[p] >> 1, axis + 3 * (tag[p] & 1)]
            highest = line[max(at - 1, 0)]
            for p in range(max(at, 1), stop):
                late[n_late] = p
                n_late += line[p] <= highest
                highest = max(highest, line[p])
            for k in range(n_late):
                start = np.int64(late[k])
                t, value = np.int64(tag[start]), line[start]
                while True:
                    there, n = sink(line, tag, t, value, start, met, n)
                    state[SWAPS] += start - there
                    if n < MET:
                        break
                    if not has_room(table, state[PAIRS], n):
                        return leave(FULL, axis, max(at, late[k]), there, True, n, state)
                    judge(met, n, boxes, near, table, log, state)
                    n, start = 0, there
                if state[SWAPS] > state[LIMIT]:
                    return leave(SPENT, axis, max(at, late[k] + 1), held, False, n, state)
            at = stop
        axis, at = axis + 1, 0
    if not has_room(table, state[PAIRS], n):
        return leave(FULL, axis, at, held, False, n, state)
    judge(met, n, boxes, near, table, log, state)
    return leave(DONE, axis, at, held, False, 0, state)


@kernel
def locate(tags, n, places):
    """Write down where the first n ends are."""
    for at in range(n):
        places[tags[at]] = at


class Lists:
    """The three lists and the table of pairs."""

    def __init__(self, sorter):
        self.sorter = sorter
        self.state = np.zeros(N_STATE, np.int64)
        self.met, self.log, self.late = np.zeros(MET, np.int64), np.zeros(LOG, np.int64), np.zeros(BLOCK + 1, np.int32)
        self.scales = np.zeros(3)
        self.table, self.drift = np.zeros(0, np.int64), 0
        self.reserve(0)

    def reserve(self, capacity):
        """Room for so many slots; what was there is lost."""
        self.values, self.tags = np.zeros((3, 2 * capacity)), np.zeros((3, 2 * capacity), np.int32)
        self.places = np.full((3, 2 * capacity), -1, np.int32)
        self.cell, self.near = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)

    def grow(self, capacity):
        """Room for so many slots; what is there stays."""
        old = self.values, self.tags, self.places, self.cell, self.near
        self.reserve(capacity)
        for new, array in zip((self.values, self.tags, self.places, self.cell, self.near), old, strict=True):
            new[..., :array.shape[-1]] = array

    @property
    def n_boxes(self):
        """Boxes that are on the lists."""
        return int(self.state[ENDS]) // 2

    def locate(self):
        """Write down where the ends are."""
        for axis in range(3):
            locate(self.tags[axis], self.n_boxes * 2, self.places[axis])
        self.drift = 0

    def build(self, boxes, slots, keys, low):
        """Lists of these boxes, whose pairs are known. True."""
        if len(self.cell) < len(boxes):
            self.reserve(len(boxes))
        self.places[:] = -1
        self.table = filled(table_for(len(keys)), keys, low)
        self.state[:] = 0
        self.state[ENDS], self.state[PAIRS] = 2 * len(slots), len(keys)
        about = np.zeros((3, 4))
        measure(boxes, slots, about)
        self.scales[:] = [1 / extent if 1e-300 < extent < np.inf else 0.0 for extent in about[:, 2].tolist()]
        mark(slots, boxes, self.scales, self.cell, self.near, self.places)
        n = len(slots)
        for axis in range(3):
            values, tags = self.sorter.room(2 * n)
            values[:n], values[n:] = boxes[slots, axis], boxes[slots, axis + 3]         # lower ends first: the sort is stable
            tags[:n], tags[n:] = 2 * slots, 2 * slots + 1
            values, tags = self.sorter.sort(2 * n)
            self.values[axis, :2 * n], self.tags[axis, :2 * n] = values, tags
        self.locate()
        return True

    def follow(self, ids, boxes):
        """The boxes `ids` have moved, or are new. False if that takes too many exchanges; then the lists are of no use any more.

        Too many: more than a sweep is worth. For 10,000 boxes that is 0.9 ms. `resort` takes 0.3 ms and 9 ns an exchange, `move` 65 ns an
        end and 4 ns an exchange, since its exchanges come in long runs."""
        n, k, self.state[SWAPS] = self.n_boxes, len(ids), 0
        new = mark(ids, boxes, self.scales, self.cell, self.near, self.places)
        if FEW * k <= n:
            return self._run(move, ids, boxes, 20 * n - 80 * k)
        if new and not self._run(move, ids[self.places[0, 2 * ids] < 0], boxes, (20 - 6 * new) * n):    # a new one passes 6 n others
            return False
        return self._run(resort, ids, boxes, 6 * n, self.late)

    def _run(self, loop, ids, boxes, allowed, *more):
        """Run a loop; False if it takes more exchanges than are allowed, or looks as if it would."""
        if loop is move and self.drift > DRIFT * self.n_boxes:
            self.locate()
        first = int(self.state[SWAPS])
        self.state[AXIS:SWAPS], self.state[LIMIT] = 0, first + allowed // 8
        while True:
            args = ids, boxes, self.near, self.values, self.tags, self.places, self.met, self.table, self.log, self.state
            reason = loop(*args, *more)
            done = int(self.state[SWAPS]) - first
            if reason == DONE:
                self.drift += done
                return True
            if reason == FULL:
                self.table = filled(table_for(len(self.table) // 2), self.table, 32)
                continue
            share = self.state[AT] / (6 * len(ids)) if loop is move else (self.state[AXIS] + self.state[AT] / self.state[ENDS]) / 3
            if done > min(allowed, 2 * allowed * share):
                return False
            self.state[LIMIT] += allowed // 8
