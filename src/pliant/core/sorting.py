"""Sort packed keys: least significant digit first, eleven bits at a time, over the bits that are in use.

3,589 keys of 30 bits: 17 µs, against 70 µs of a general sort; a large part of a query of 700 µs.
"""
import numpy as np

from pliant.core.jit import kernel

DIGIT = 11
FEW = 256                                                               # below this the general sort is quicker


@kernel
def sort_digits(keys, room, n, width, counts):
    """Sort keys[:n] by their lowest `width` bits, through `room`; True if the result is in `room`."""
    elsewhere = False
    for shift in range(0, width, DIGIT):
        for k in range(1 << DIGIT):
            counts[k] = 0
        for i in range(n):
            counts[(keys[i] >> shift) & ((1 << DIGIT) - 1)] += 1
        total = 0
        for k in range(1 << DIGIT):
            total, counts[k] = total + counts[k], total
        for i in range(n):
            digit = (keys[i] >> shift) & ((1 << DIGIT) - 1)
            room[counts[digit]] = keys[i]
            counts[digit] += 1
        keys, room, elsewhere = room, keys, not elsewhere
    return elsewhere


@kernel
def unpack(keys, high, low, pairs):
    """pairs[i] = (the `high` bits of keys[i] above the lowest `low`, the lowest `low`)."""
    for i in range(len(pairs)):
        pairs[i, 0], pairs[i, 1] = (keys[i] >> low) & ((1 << high) - 1), keys[i] & ((1 << low) - 1)


def sorted_pairs(keys, high, low, more=0):
    """The (n, 2) int32 pairs of these keys, sorted: the lowest `low` bits of a key are the second number, `high` above them the first;
    `more` bits above these count for the order. The keys are used up."""
    n = len(keys)
    if n < FEW:
        keys.sort()
    else:
        room = np.empty_like(keys)
        if sort_digits(keys, room, n, high + low + more, np.empty(1 << DIGIT, np.int64)):
            keys = room
    pairs = np.empty((n, 2), np.int32)
    unpack(keys, high, low, pairs)
    return pairs
