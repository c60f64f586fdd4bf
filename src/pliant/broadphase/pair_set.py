"""A set of pairs in one array: open addressing, linear probing, at most half full.

A pair i < j is the key i << 32 | j; EMPTY marks a free place. `remove` moves later keys back over the gap, so there are no tombstones and
nothing degrades with time. Kernels neither allocate nor grow: whoever calls `insert` has made sure that there is room, see `has_room`.
"""
import numpy as np

from pliant.core import memory
from pliant.core.jit import helper, kernel
from pliant.errors import TooManyPairsError

EMPTY = -1
LEAST = 1 << 12                                                         # places to begin with
STEP = 1 << 22                                                          # places per kernel call: about 50 ms
HALF = 0xFFFFFFFF
SMALL = 16 << 20                                                        # bytes below which asking the system is not worth 0.1 ms


@helper
def home(key, mask):
    """Where a key would like to be. Factors below 2**31: no overflow, which plain Python would complain about."""
    mixed = (key >> 32) * 0x5BD1E995 + (key & HALF) * 0x2C1B3C6D
    return (mixed ^ (mixed >> 17)) & mask


@helper
def has_room(table, n, more):
    """May `more` keys be added to n without the table being more than half full?"""
    return 2 * (n + more) <= len(table)


@helper
def insert(table, key):
    """1 if the key is new, else 0."""
    mask = len(table) - 1
    at = home(key, mask)
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
    gap = home(key, mask)
    while table[gap] != key:
        if table[gap] == EMPTY:
            return 0
        gap = (gap + 1) & mask
    at = (gap + 1) & mask
    while table[at] != EMPTY:
        if (at - home(table[at], mask)) & mask >= (at - gap) & mask:    # it would rather be at the gap than here
            table[gap], gap = table[at], at
        at = (at + 1) & mask
    table[gap] = EMPTY
    return 1


@helper
def contains(table, key):
    """Is the key there?"""
    mask = len(table) - 1
    at = home(key, mask)
    while table[at] != key and table[at] != EMPTY:
        at = (at + 1) & mask
    return table[at] == key


@kernel
def insert_all(keys, first, last, low, table):
    """Insert keys[first:last], which hold the second slot in their lowest `low` bits; EMPTY ones are passed over."""
    for k in range(first, last):
        if keys[k] != EMPTY:
            insert(table, (keys[k] >> low) << 32 | (keys[k] & ((1 << low) - 1)))


@kernel
def collect(table, first, last, keys, n):
    """Write the keys at table[first:last] to keys[n:], which has one place more than there are keys; the new n."""
    for at in range(first, last):
        keys[n] = table[at]
        n += table[at] != EMPTY
    return n


@kernel
def choose(keys, first, last, alive, low, n):
    """Write those of keys[first:last] whose boxes are both alive to keys[n:], second slot in the lowest `low` bits; the new n."""
    for k in range(first, last):
        i, j = keys[k] >> 32, keys[k] & HALF
        keys[n] = i << low | j
        n += alive[i] & alive[j]
    return n


@kernel
def merge(old, changed, table, low, keys):
    """Sorted keys of the table from those of before and those that may have come or gone since, sorted, any of them twice; how many.

    `old` and `keys` have the second slot in the lowest `low` bits, `changed` and the table in the lowest 32."""
    n, at = 0, 0
    for k in range(len(changed)):
        if k == 0 or changed[k] != changed[k - 1]:
            key = (changed[k] >> 32) << low | (changed[k] & HALF)
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


def table_for(n_pairs):
    """An empty table in which so many pairs take up a quarter at most."""
    size = LEAST
    while size < 4 * n_pairs:
        size *= 2
    refuse_beyond(n_pairs, 8 * size)
    return np.full(size, EMPTY, np.int64)


def filled(table, keys, low):
    """The table with these keys put in; in steps, for the sake of Ctrl-C."""
    for first in range(0, len(keys), STEP):
        insert_all(keys, first, min(first + STEP, len(keys)), low, table)
    return table


def keys_of(table, n, alive, low):
    """The pairs of living boxes among the n in the table, in any order, second slot in the lowest `low` bits."""
    refuse_beyond(n, 8 * n)
    keys, found = np.empty(n + 1, np.int64), 0
    for first in range(0, len(table), STEP):
        found = collect(table, first, min(first + STEP, len(table)), keys, found)
    left = 0
    for first in range(0, n, STEP):
        left = choose(keys, first, min(first + STEP, n), alive, low, left)
    return keys[:left]


def updated(keys, changed, table, low):
    """The keys of the table, from those of before and those that may have come or gone since."""
    found = np.empty(len(keys) + len(changed), np.int64)
    return found[:merge(keys, np.sort(changed), table, low, found)]


def refuse_beyond(n_pairs, size):
    """Pairs that do not fit are refused before memory runs out: sorting them and handing them out takes five times their keys."""
    size += 40 * n_pairs
    if size > SMALL and not memory.fits(size):
        raise TooManyPairsError(f"{n_pairs:,} pairs of boxes overlap or more, and memory for them is not available; "
                                "make the boxes smaller, or test fewer bodies at a time")
