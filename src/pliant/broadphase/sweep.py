"""Pairs of overlapping boxes, kept between frames: what a scene asks before it looks at triangles (thesis A 5.3.4).

Boxes are closed: touching counts. Three ways to the same pairs:

- few boxes: compare all, `fresh.brute`;
- boxes that moved little, or few of many: three sorted lists, `lists.py`, at a cost that depends on what moved alone;
- boxes that moved far, or are new: one sweep in columns, `fresh.sweep`, at a cost that depends on the number of boxes alone.

Which one is decided from counts, never from clocks, so a run can be repeated. Whether lists are worth it shows while they are sorted: when
they take more exchanges than a sweep is worth, they are given up; then it takes a while until they are tried again.

An operation that is broken off, by Ctrl-C or for lack of memory, leaves the boxes and nothing else; the next `pairs` starts from them.
"""
import numpy as np

from pliant.broadphase import fresh
from pliant.broadphase.fresh import Fresh
from pliant.broadphase.lists import CHANGES, LOG, PAIRS, SWAPS, Lists
from pliant.broadphase.order import Sorter
from pliant.broadphase.pairset import keys_of, refuse_beyond, updated
from pliant.core.jit import kernel
from pliant.core.sorting import DIGIT, sort_digits, unpack

SWEEP_COST, LIST_COST = 11, 5                                           # in exchanges: a sweep for each box, sorting for each moved box
LONGEST_REST = 32                                                       # frames after which lists are tried again
SLOTS = 1 << 30                                                         # tags of ends are int32


@kernel
def reach(ids):
    """One more than the largest; 0 if one is negative."""
    largest = np.int64(-1)
    for i in ids:
        if i < 0:
            return np.int64(0)
        largest = max(largest, i)
    return largest + 1


@kernel
def store(ids, given, boxes, alive):
    """Take in boxes; how many were not there."""
    n = 0
    for k in range(len(ids)):
        i = ids[k]
        n += not alive[i]
        alive[i] = True
        for end in range(6):
            boxes[i, end] = given[k, end]
    return n


class Sweep:
    """The overlapping pairs among axis-aligned boxes, each known by a slot, a small number >= 0.

    swaps: ends exchanged in the last `set`; 0 if no lists were kept. moved: boxes that it was given.
    """

    def __init__(self):
        self.swaps = self.moved = 0
        self._n = 0
        self._boxes, self._alive = np.zeros((0, 6)), np.zeros(0, np.bool_)
        self._sorter = Sorter()
        self._fresh, self._lists = Fresh(self._sorter), Lists(self._sorter)
        self._listed = False                                            # lists and table belong to the boxes
        self._known = False                                             # keys belong to the boxes
        self._keys, self._low = np.zeros(0, np.int64), 0                # sorted pairs of the last time, second slot in the lowest bits
        self._whole = False                                             # they were all in the table, also those of boxes that are gone
        self._slots = None                                              # slots in use, where they are known
        self._rest = self._wait = self._gave_up = 0                     # frames to rest, frames left, boxes moved when lists were given up

    def __len__(self):
        return self._n

    @property
    def method(self):
        """How pairs are found: "brute" for few boxes, else "sweep"."""
        return "brute" if self._n < fresh.BRUTE else "sweep"

    def set(self, ids, boxes):
        """Add or move boxes: slots (k,), lower and upper ends (k, 6) x y z x y z. All others stay where they are, at no cost."""
        ids, boxes = as_array(ids, np.int64), as_array(boxes, np.float64)
        if ids.ndim != 1 or boxes.shape != (len(ids), 6):
            raise ValueError(f"expected ids (k,) and boxes (k, 6), got {ids.shape} and {boxes.shape}")
        self.moved, self.swaps = len(ids), 0
        if len(ids) == 0:
            return
        top = reach(ids)
        if not 0 < top <= SLOTS:
            raise ValueError(f"expected slots from 0 to {SLOTS - 1:,}, got {ids.min()} to {ids.max()}")
        listed, known, self._listed, self._known = self._listed, self._known, False, False
        if top > len(self._alive):
            self._grow(max(64, 1 << int(top - 1).bit_length()), listed)
        if not listed and known and self._worth_a_list(len(ids)):
            self._lists.build(self._boxes, self._used(), self._keys, self._low)
            listed = True
        added = store(ids, boxes, self._boxes, self._alive)
        if added:
            self._n, self._slots = self._n + added, None
        if listed and self._n >= fresh.BRUTE:
            self._follow(ids, known and not added)

    def remove(self, ids):
        """Take boxes away; slots that are not in use are passed over."""
        ids = np.unique(as_array(ids, np.int64))
        ids = ids[(ids >= 0) & (ids < len(self._alive))]
        n = int(self._alive[ids].sum())
        if n:
            self._known, self._slots = False, None
            self._alive[ids] = False
            self._n -= n
            self._listed &= self._lists.n_boxes <= 2 * self._n          # boxes that are gone stay on the lists for a while

    def pairs(self):
        """Slots (m, 2) int64 of the boxes that overlap, i < j, sorted."""
        if not self._known:
            low, lists = max(1, (len(self._alive) - 1).bit_length()), self._lists
            if not self._listed or self._n < fresh.BRUTE:
                self._listed = False
                self._keys = in_order(self._fresh.pairs_of(self._boxes, self._used(), low), 2 * low)
            elif lists.state[CHANGES] < LOG and low == self._low and self._whole and lists.n_boxes == self._n:
                self._keys = updated(self._keys, lists.log[:lists.state[CHANGES]], lists.table, low)
            else:
                self._keys = in_order(keys_of(lists.table, int(lists.state[PAIRS]), self._alive, low), 2 * low)
            self._low, self._known, self._whole, lists.state[CHANGES] = low, True, not self._listed or lists.n_boxes == self._n, 0
        refuse_beyond(len(self._keys), 0)
        pairs = np.empty((len(self._keys), 2), np.int64)
        unpack(self._keys, self._low, pairs)
        return pairs

    def _follow(self, ids, known):
        """Let the lists follow the boxes, or give them up."""
        state = self._lists.state
        limit = max(SWEEP_COST * self._n - LIST_COST * len(ids), SWEEP_COST * self._n // 4)
        self._listed = self._lists.follow(ids, self._boxes, limit)
        self.swaps = int(state[SWAPS])
        if self._listed:
            self._rest = 0
            self._known = known and state[CHANGES] == 0
        else:
            self._rest = min(2 * self._rest + 1, LONGEST_REST)
            self._wait, self._gave_up = self._rest, len(ids)

    def _worth_a_list(self, n_moved):
        """May lists be tried (again)? Not soon after they were given up, unless fewer boxes move now."""
        if self._n < fresh.BRUTE:
            return False
        if self._wait and 2 * n_moved >= self._gave_up:
            self._wait -= 1
            return False
        return True

    def _used(self):
        if self._slots is None:
            self._slots = np.flatnonzero(self._alive)
        return self._slots

    def _grow(self, capacity, listed):
        old = len(self._alive)
        boxes, alive = np.zeros((capacity, 6)), np.zeros(capacity, np.bool_)
        boxes[:old], alive[:old] = self._boxes, self._alive
        if listed:
            self._lists.grow(capacity)
        self._boxes, self._alive = boxes, alive


def as_array(values, dtype):
    """One layout for the kernels: C order, aligned, writable."""
    array = np.ascontiguousarray(values, dtype)
    return array if array.flags.carray else array.copy()


def in_order(keys, width):
    """A sorted copy of keys of `width` bits, which are used up."""
    n = len(keys)
    refuse_beyond(n, 8 * n)
    room = np.empty(n, np.int64)
    return room if sort_digits(keys, room, n, width, np.empty(1 << DIGIT, np.int64)) else keys.copy()
