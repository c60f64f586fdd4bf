"""Pairs of overlapping boxes, kept between frames: what a scene asks before it looks at triangles (thesis A 5.3.4).

Boxes are closed: touching counts. Three ways to the same pairs:

- few boxes: compare all, `brute_force`;
- boxes that moved little, or few of many: three sorted lists, `endpoint_lists.py`, at a cost that depends on what moved alone;
- boxes that moved far, or are new: one sweep in columns, `sweep_columns`, at a cost that depends on the number of boxes alone.

Which one is decided from counts, never from clocks, so a run can be repeated. Whether lists are worth it shows while they are sorted: when
they take more exchanges than a sweep is worth, they are given up; then it takes a while until they are tried again.

A call that Ctrl-C breaks off leaves the boxes, of before or as given, and nothing else; the next `pairs` starts from them.
"""
import numpy as np

from pliant.broadphase import sweep_full
from pliant.broadphase.close_pairs import close_pairs
from pliant.broadphase.endpoint_lists import LOG_SIZE, N_CHANGES, N_PAIRS, N_SWAPS, EndpointLists
from pliant.broadphase.pair_set import alive_keys, check_memory, sort_keys, update_keys
from pliant.broadphase.radix import RadixSorter
from pliant.broadphase.sweep_full import FullSweep
from pliant.core.jit import kernel
from pliant.core.sorting import unpack_pairs
from pliant.errors import ArgumentError

MAX_REST = 32                                                           # frames after which lists are tried again
FEW_BOXES = 32                                                          # all pairs of which are compared
MIN_RADIUS = 2.0**-10                                                   # of the first sweep that looks beyond overlaps, in scene sizes
MAX_SLOTS = 1 << 30                                                     # tags of ends are int32


@kernel
def slot_bound(ids):
    """One more than the largest; 0 if one is negative."""
    largest = np.int64(-1)
    for i in ids:
        if i < 0:
            return np.int64(0)
        largest = max(largest, i)
    return largest + 1


@kernel
def store_boxes(ids, rows, boxes, alive):
    """Take in boxes; how many were not there."""
    n = 0
    for k in range(len(ids)):
        i = ids[k]
        n += not alive[i]
        alive[i] = True
        for end in range(6):
            boxes[i, end] = rows[k, end]
    return n


class SweepAndPrune:
    """The overlapping pairs among axis-aligned boxes, each known by a slot, a small number >= 0.

    moved: boxes that the last `set` was given; swaps: ends that it exchanged, 0 if it kept no lists.
    """

    def __init__(self):
        self.n_swaps = self.n_moved = 0
        self._boxes, self._alive = np.zeros((0, 6)), np.zeros(0, np.bool_)
        self._n, self._slots = 0, None                                  # how many are alive, −1 if that has to be counted; which
        sorter = RadixSorter()
        self._full_sweep, self._lists = FullSweep(sorter), EndpointLists(sorter)
        self._lists_valid = False                                       # lists and table belong to the boxes
        self._keys_valid = False                                        # keys belong to the boxes
        self._keys, self._slot_bits = np.zeros(0, np.int64), 0          # sorted pairs of the last time, second slot in the lowest bits
        self._lists_complete = False                                    # then no box on the lists was gone
        self._rest = self._frames_left = self._moved_at_give_up = 0     # frames to rest, frames left, boxes moved when lists were given up

    def __len__(self):
        if self._n < 0:
            self._slots, self._n = None, int(self._alive.sum())
        return self._n

    @property
    def method(self):
        """How pairs are found: "brute" for few boxes, else "sweep"."""
        return "brute" if len(self) < sweep_full.BRUTE_FORCE_SIZE else "sweep"

    def set(self, ids, boxes):
        """Add or move boxes: slots (k,), lower and upper ends (k, 6) x y z x y z. All others stay where they are, at no cost."""
        ids, boxes = as_array(ids, np.int64), as_array(boxes, np.float64)
        if ids.ndim != 1 or boxes.shape != (len(ids), 6):
            raise ArgumentError(f"expected ids (k,) and boxes (k, 6), got {ids.shape} and {boxes.shape}")
        self.n_moved, self.n_swaps = len(ids), 0
        if len(ids) == 0:
            return
        top = slot_bound(ids)
        if not 0 < top <= MAX_SLOTS:
            raise ArgumentError(f"expected slots from 0 to {MAX_SLOTS - 1:,}, got {ids.min()} to {ids.max()}")
        n, lists_valid, keys_valid = len(self), self._lists_valid, self._keys_valid
        self._lists_valid = self._keys_valid = False                    # whoever is interrupted from here on starts afresh
        if top > len(self._alive):
            self._grow(max(64, 1 << int(top - 1).bit_length()), lists_valid)
        if not lists_valid and keys_valid and self._should_try_lists(len(ids)):
            lists_valid = self._try_lists(self._lists.build, self._boxes, self._used_slots(), self._keys, self._slot_bits)
        self._n = -1
        added = store_boxes(ids, boxes, self._boxes, self._alive)
        self._n, self._slots = n + added, None if added else self._slots
        if lists_valid and self.method == "sweep":
            self._update_lists(ids, keys_valid and not added)

    def remove(self, ids):
        """Take boxes away; slots that are not in use are passed over."""
        ids = as_array(ids, np.int64)
        ids = ids[(ids >= 0) & (ids < len(self._alive))]
        self._n, self._keys_valid = -1, False
        self._alive[ids] = False
        self._lists_valid = self._lists_valid and self._lists.n_boxes <= 2 * len(self)  # boxes that are gone stay on the lists for a while

    def pairs(self):
        """Slots (m, 2) int64 of the boxes that overlap, i < j, sorted."""
        if not self._keys_valid:
            slot_bits, lists, n = self._slot_bits_needed(), self._lists, len(self)
            self._lists_valid = self._lists_valid and self.method == "sweep"
            complete = not self._lists_valid or lists.n_boxes == n
            if not self._lists_valid:
                keys = sort_keys(self._full_sweep.pairs_of(self._boxes, self._used_slots(), slot_bits), 2 * slot_bits)
            elif complete and self._lists_complete and slot_bits == self._slot_bits and lists.state[N_CHANGES] < LOG_SIZE:
                keys = update_keys(self._keys, lists.log[:lists.state[N_CHANGES]], lists.table, slot_bits)
            else:
                keys = sort_keys(alive_keys(lists.table, int(lists.state[N_PAIRS]), self._alive, slot_bits), 2 * slot_bits)
            self._keys, self._slot_bits, self._lists_complete, self._keys_valid = keys, slot_bits, complete, True
            lists.state[N_CHANGES] = 0
        check_memory(len(self._keys), 0)
        pairs = np.empty((len(self._keys), 2), np.int64)
        unpack_pairs(self._keys, self._slot_bits, self._slot_bits, pairs)
        return pairs

    def close_pairs(self, distance):
        """(slots (m, 2) int64, i < j, sorted, gaps (m,)) of the boxes that are at most so far apart. A gap is a lower bound of the measured
        distance of faces in both boxes."""
        slot_bits = self._slot_bits_needed()
        return close_pairs(self._full_sweep, self._boxes, self._used_slots(), slot_bits, distance)

    def larger_radius(self, radius):
        """The next distance to try, where no pair that counts is as close as `radius`; −1: none has been tried. It starts at 0 and doubles
        from the size of a box on, so that a sweep never finds far more pairs than it must; past all boxes it is inf."""
        slots = self._used_slots()
        if len(slots) <= FEW_BOXES:
            return np.inf
        if radius < 0.0:
            return 0.0
        low, high = self._boxes[slots, :3], self._boxes[slots, 3:]
        with np.errstate(over="ignore"):
            extent, usual = (high.max(axis=0) - low.min(axis=0)).max(), np.median((high - low).max(axis=1))
        radius = 2 * radius if radius > 0.0 else max(usual, extent * MIN_RADIUS)
        return radius if radius < 2 * extent else np.inf

    def _update_lists(self, ids, keys_valid):
        """Let the lists follow the boxes, or give them up."""
        self._lists_valid = self._try_lists(self._lists.update, ids, self._boxes)
        self.n_swaps = int(self._lists.state[N_SWAPS])
        if self._lists_valid:
            self._rest, self._keys_valid = 0, bool(keys_valid and self._lists.state[N_CHANGES] == 0)
        else:
            self._rest = min(2 * self._rest + 1, MAX_REST)
            self._frames_left, self._moved_at_give_up = self._rest, len(ids)

    def _try_lists(self, function, *args):
        """The result of the function; False if there is no memory for lists, without which `pairs` may do, or refuse."""
        try:
            return function(*args)
        except MemoryError:
            return False

    def _should_try_lists(self, n_moved):
        """May lists be tried, or tried again? Not soon after they were given up, unless fewer boxes move now."""
        if self.method == "brute":
            return False
        if self._frames_left and 2 * n_moved >= self._moved_at_give_up:
            self._frames_left -= 1
            return False
        return True

    def _slot_bits_needed(self):
        return max(1, (len(self._alive) - 1).bit_length())

    def _used_slots(self):
        if len(self) >= 0 and self._slots is None:                      # counting forgets slots that are not in use any more
            self._slots = np.flatnonzero(self._alive)
        return self._slots

    def _grow(self, capacity, lists_valid):
        boxes, alive = np.zeros((capacity, 6)), np.zeros(capacity, np.bool_)
        boxes[:len(self._boxes)], alive[:len(self._alive)] = self._boxes, self._alive
        if lists_valid:
            self._lists.grow(capacity)
        self._boxes, self._alive = boxes, alive


def as_array(values, dtype):
    """One layout for the kernels: C order, aligned, writable."""
    array = np.ascontiguousarray(values, dtype)
    return array if array.flags.carray else array.copy()
