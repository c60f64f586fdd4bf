"""Which pairs of slots are ignored: rules between bodies or groups, as arrays.

Each slot has two names, numbers of 32 bits: its own and that of its group, or its own twice. A rule is a pair of names. A pair of slots is
ignored if any name of the one and any of the other are a rule; rules are looked up in a sorted list.
"""
import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.sorting import is_among

LOW_32_BITS = 0xFFFFFFFF


@helper
def rule_key(a, b):
    """One number for a pair of names, whatever their order."""
    low, high = min(a, b), max(a, b)
    return low << 32 | (high & LOW_32_BITS)


@helper
def is_rule(rules, a, b):
    """Is this pair of names in the sorted list?"""
    return is_among(rules, 0, len(rules), rule_key(a, b))


@kernel
def find_counted(pairs, names, rules, counted):
    """counted (p,) bool: which pairs (p, 2) of slots no rule ignores."""
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        counted[k] = not (is_rule(rules, names[i, 0], names[j, 0]) or is_rule(rules, names[i, 1], names[j, 1])
                          or is_rule(rules, names[i, 0], names[j, 1]) or is_rule(rules, names[i, 1], names[j, 0]))


class IgnoreRules:
    """The names (s, 2) of slots and the pairs of names that are ignored."""

    def __init__(self, names, rules):
        self._names = np.array(names, np.int64).reshape(-1, 2)
        self._rules = np.array(sorted({rule_key(a, b) for a, b in rules}), np.int64)

    def counted(self, pairs):
        """(p,) bool: which pairs (p, 2) of slots are not ignored."""
        counted = np.ones(len(pairs), np.bool_)
        if len(self._rules):
            find_counted(np.ascontiguousarray(pairs, np.int64), self._names, self._rules, counted)
        return counted
