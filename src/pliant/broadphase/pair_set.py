"""A set of pairs in one array: open addressing, linear probing, at most half full.

A pair i < j is the key i << 32 | j; EMPTY marks a free place. `remove` moves later keys back over the gap, so there are no tombstones and
nothing degrades with time. Kernels neither allocate nor grow: whoever calls `insert` has made sure that there is room, see `has_room`.
"""
import numpy as np

from pliant.core import memory
from pliant.core.jit import helper, kernel
from pliant.core.sorting import DIGIT_BITS, MIN_RADIX_KEYS, radix_sort
from pliant.errors import TooManyPairsError

EMPTY = -1
MIN_CAPACITY = 1 << 12                                                  # places to begin with
PLACES_PER_CALL = 1 << 22                                               # places per kernel call: about 50 ms
LOW_MASK = 0xFFFFFFFF
MIN_CHECKED_BYTES = 16 << 20                                            # bytes below which asking the system is not worth 0.1 ms


@helper
def hash_place(key, mask):
    """Where a key would like to be. Factors below 2**31: no overflow, which plain Python would complain about."""
    mixed = (key >> 32) * 0x5BD1E995 + (key & LOW_MASK) * 0x2C1B3C6D
    return (mixed ^ (mixed >> 17)) & mask


@helper
def has_room(table, n, more):
    """May `more` keys be added to n without the table being more than half full?"""
    return 2 * (n + more) <= len(table)


@helper
def insert(table, key):
    """1 if the key is new, else 0."""
    mask = len(table) - 1
    at = hash_place(key, mask)
    while table[at] != EMPTY:
        if table[at] == key:
            return 0
        at = (at + 1) & mask
    table[at] = key
    return 1


@helper
def remove(table, key):
    """1 if the key was there, else 0."""
    mask = len(table) - 1
    gap = hash_place(key, mask)
    while table[gap] != key:
        if table[gap] == EMPTY:
            return 0
        gap = (gap + 1) & mask
    at = (gap + 1) & mask
    while table[at] != EMPTY:
        if (at - hash_place(table[at], mask)) & mask >= (at - gap) & mask:  # it would rather be at the gap than here
            table[gap], gap = table[at], at
        at = (at + 1) & mask
    table[gap] = EMPTY
    return 1


@helper
def contains(table, key):
    """Is the key there?"""
    mask = len(table) - 1
    at = hash_place(key, mask)
    while table[at] != key and table[at] != EMPTY:
        at = (at + 1) & mask
    return table[at] == key


@kernel
def insert_all(keys, first, last, slot_bits, table):
    """Insert keys[first:last], which hold the second slot in their lowest `low` bits; EMPTY ones are passed over."""
    for k in range(first, last):
        if keys[k] != EMPTY:
            insert(table, (keys[k] >> slot_bits) << 32 | (keys[k] & ((1 << slot_bits) - 1)))


@kernel
def collect_keys(table, first, last, keys, n):
    """Write the keys at table[first:last] to keys[n:], which has one place more than there are keys; the new n."""
    for at in range(first, last):
        keys[n] = table[at]
        n += table[at] != EMPTY
    return n


@kernel
def filter_alive(keys, first, last, alive, slot_bits, n):
    """Write those of keys[first:last] whose boxes are both alive to keys[n:], second slot in the lowest `low` bits; the new n."""
    for k in range(first, last):
        i, j = keys[k] >> 32, keys[k] & LOW_MASK
        keys[n] = i << slot_bits | j
        n += alive[i] & alive[j]
    return n


@kernel
def merge_changes(old, changed, table, slot_bits, keys):
    """Sorted keys of the table from those of before and those that may have come or gone since, sorted, any of them twice; how many.

    `old` and `keys` have the second slot in the lowest `low` bits, `changed` and the table in the lowest 32."""
    n, at = 0, 0
    for k in range(len(changed)):
        if k == 0 or changed[k] != changed[k - 1]:
            key = (changed[k] >> 32) << slot_bits | (changed[k] & LOW_MASK)
            while at < len(old) and old[at] < key:
                keys[n] = old[at]
                n, at = n + 1, at + 1
            at += at < len(old) and old[at] == key
            keys[n] = key
            n += contains(table, changed[k])
    for rest in range(at, len(old)):
        keys[n] = old[rest]
        n += 1
    return n


def empty_table(n_pairs):
    """An empty table in which so many pairs take up a quarter at most."""
    size = MIN_CAPACITY
    while size < 4 * n_pairs:
        size *= 2
    check_memory(n_pairs, 8 * size)
    return np.full(size, EMPTY, np.int64)


def insert_in_steps(table, keys, slot_bits):
    """The table with these keys put in; in steps, for the sake of Ctrl-C."""
    for first in range(0, len(keys), PLACES_PER_CALL):
        insert_all(keys, first, min(first + PLACES_PER_CALL, len(keys)), slot_bits, table)
    return table


def alive_keys(table, n, alive, slot_bits):
    """The pairs of living boxes among the n in the table, in any order, second slot in the lowest `low` bits."""
    check_memory(n, 8 * n)
    keys, found = np.empty(n + 1, np.int64), 0
    for first in range(0, len(table), PLACES_PER_CALL):
        found = collect_keys(table, first, min(first + PLACES_PER_CALL, len(table)), keys, found)
    n_alive = 0
    for first in range(0, n, PLACES_PER_CALL):
        n_alive = filter_alive(keys, first, min(first + PLACES_PER_CALL, n), alive, slot_bits, n_alive)
    return keys[:n_alive]


def update_keys(keys, changed, table, slot_bits):
    """The keys of the table, from those of before and those that may have come or gone since."""
    found = np.empty(len(keys) + len(changed), np.int64)
    return found[:merge_changes(keys, np.sort(changed), table, slot_bits, found)]


def check_memory(n_pairs, size):
    """Pairs that do not fit are refused before memory runs out: sorting them and handing them out takes five times their keys."""
    size += 40 * n_pairs
    if size > MIN_CHECKED_BYTES and not memory.fits_in_memory(size):
        raise TooManyPairsError(f"{n_pairs:,} pairs of boxes overlap or more, and memory for them is not available; "
                                "make the boxes smaller, or test fewer bodies at a time")


def sort_keys(keys, width):
    """A sorted copy of keys of `width` bits, which are used up."""
    n = len(keys)
    if n < MIN_RADIX_KEYS:
        return np.sort(keys)
    check_memory(n, 8 * n)
    sorted_keys = np.empty(n, np.int64)
    return sorted_keys if radix_sort(keys, sorted_keys, n, width, np.empty(1 << DIGIT_BITS, np.int64)) else keys.copy()
