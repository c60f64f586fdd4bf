"""Pairs of overlapping boxes, kept between frames: what a scene asks before it looks at triangles (thesis A 5.3.4).

Boxes are closed: touching counts. Three ways to the same pairs:

- few boxes: compare all, `fresh.brute`;
- boxes that moved little, or few of many: three sorted lists, `endpoint_lists.py`, at a cost that depends on what moved alone;
- boxes that moved far, or are new: one sweep in columns, `fresh.sweep`, at a cost that depends on the number of boxes alone.

Which one is decided from counts, never from clocks, so a run can be repeated. Whether lists are worth it shows while they are sorted: when
they take more exchanges than a sweep is worth, they are given up; then it takes a while until they are tried again.

A call that Ctrl-C breaks off leaves the boxes, of before or as given, and nothing else; the next `pairs` starts from them.
"""
import numpy as np

from pliant.broadphase import sweep_full
from pliant.broadphase.endpoint_lists import CHANGES, LOG, PAIRS, SWAPS, Lists
from pliant.broadphase.pair_set import keys_of, refuse_beyond, updated
from pliant.broadphase.radix import Sorter
from pliant.broadphase.sweep_full import Fresh
from pliant.core.jit import kernel
from pliant.core.sorting import DIGIT, FEW, sort_digits, unpack

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

    moved: boxes that the last `set` was given; swaps: ends that it exchanged, 0 if it kept no lists.
    """

    def __init__(self):
        self.swaps = self.moved = 0
        self._boxes, self._alive = np.zeros((0, 6)), np.zeros(0, np.bool_)
        self._n, self._slots = 0, None                                  # how many are alive, −1 if that has to be counted; which
        sorter = Sorter()
        self._fresh, self._lists = Fresh(sorter), Lists(sorter)
        self._listed = False                                            # lists and table belong to the boxes
        self._known = False                                             # keys belong to the boxes
        self._keys, self._low = np.zeros(0, np.int64), 0                # sorted pairs of the last time, second slot in the lowest bits
        self._whole = False                                             # then no box on the lists was gone
        self._rest = self._wait = self._gave_up = 0                     # frames to rest, frames left, boxes moved when lists were given up

    def __len__(self):
        if self._n < 0:
            self._slots, self._n = None, int(self._alive.sum())
        return self._n

    @property
    def method(self):
        """How pairs are found: "brute" for few boxes, else "sweep"."""
        return "brute" if len(self) < sweep_full.BRUTE else "sweep"

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
        n, listed, known = len(self), self._listed, self._known
        self._listed = self._known = False                              # whoever is interrupted from here on starts afresh
        if top > len(self._alive):
            self._grow(max(64, 1 << int(top - 1).bit_length()), listed)
        if not listed and known and self._worth_a_list(len(ids)):
            listed = self._tried(self._lists.build, self._boxes, self._used(), self._keys, self._low)
        self._n = -1
        added = store(ids, boxes, self._boxes, self._alive)
        self._n, self._slots = n + added, None if added else self._slots
        if listed and self.method == "sweep":
            self._follow(ids, known and not added)

    def remove(self, ids):
        """Take boxes away; slots that are not in use are passed over."""
        ids = as_array(ids, np.int64)
        ids = ids[(ids >= 0) & (ids < len(self._alive))]
        self._n, self._known = -1, False
        self._alive[ids] = False
        self._listed = self._listed and self._lists.n_boxes <= 2 * len(self)   # boxes that are gone stay on the lists for a while

    def pairs(self):
        """Slots (m, 2) int64 of the boxes that overlap, i < j, sorted."""
        if not self._known:
            low, lists, n = max(1, (len(self._alive) - 1).bit_length()), self._lists, len(self)
            self._listed = self._listed and self.method == "sweep"
            whole = not self._listed or lists.n_boxes == n
            if not self._listed:
                keys = in_order(self._fresh.pairs_of(self._boxes, self._used(), low), 2 * low)
            elif whole and self._whole and low == self._low and lists.state[CHANGES] < LOG:
                keys = updated(self._keys, lists.log[:lists.state[CHANGES]], lists.table, low)
            else:
                keys = in_order(keys_of(lists.table, int(lists.state[PAIRS]), self._alive, low), 2 * low)
            self._keys, self._low, self._whole, self._known = keys, low, whole, True
            lists.state[CHANGES] = 0
        refuse_beyond(len(self._keys), 0)
        pairs = np.empty((len(self._keys), 2), np.int64)
        unpack(self._keys, self._low, self._low, pairs)
        return pairs

    def _follow(self, ids, known):
        """Let the lists follow the boxes, or give them up."""
        self._listed = self._tried(self._lists.follow, ids, self._boxes)
        self.swaps = int(self._lists.state[SWAPS])
        if self._listed:
            self._rest, self._known = 0, bool(known and self._lists.state[CHANGES] == 0)
        else:
            self._rest = min(2 * self._rest + 1, LONGEST_REST)
            self._wait, self._gave_up = self._rest, len(ids)

    def _tried(self, job, *args):
        """What comes of it; False if there is no memory for lists, without which `pairs` may do, or refuse."""
        try:
            return job(*args)
        except MemoryError:
            return False

    def _worth_a_list(self, n_moved):
        """May lists be tried, or tried again? Not soon after they were given up, unless fewer boxes move now."""
        if self.method == "brute":
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
        boxes, alive = np.zeros((capacity, 6)), np.zeros(capacity, np.bool_)
        boxes[:len(self._boxes)], alive[:len(self._alive)] = self._boxes, self._alive
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
    if n < FEW:
        return np.sort(keys)
    refuse_beyond(n, 8 * n)
    room = np.empty(n, np.int64)
    return room if sort_digits(keys, room, n, width, np.empty(1 << DIGIT, np.int64)) else keys.copy()
