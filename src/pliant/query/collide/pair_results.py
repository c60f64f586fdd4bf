"""The results of many pairs of bodies, concatenated."""
from typing import NamedTuple

import numpy as np

from pliant.query.collide.contacts import CONTACT_FIELDS, contacts_of
from pliant.query.traverse import COUNTERS


class PairResults(NamedTuple):
    """Results of many pairs of bodies, concatenated: the rows of pair p end at ends[p], its counters are counters[p] (`COUNTERS`). `arrays`
    holds `faces` (m, 2) int32 and, if requested, the fields of `contacts_of`. `complete` (p,) bool: False where time was up before all
    pairs of faces were tested."""
    ends: np.ndarray
    counters: np.ndarray
    arrays: dict
    complete: np.ndarray

    @property
    def counts(self):
        """The number of pairs of faces of each pair of bodies."""
        counts = self.ends.copy()
        counts[1:] -= self.ends[:-1]
        return counts

    def select(self, rows):
        """The results of these pairs of bodies, in that order."""
        counts, begins = self.counts[rows], (self.ends - self.counts)[rows]
        ends = np.cumsum(counts)
        at = np.repeat(begins - (ends - counts), counts) + np.arange(int(counts.sum()))
        return PairResults(ends, self.counters[rows], {name: array[at] for name, array in self.arrays.items()}, self.complete[rows])


def wrap_pairs(pairs):
    """The Pairs of two bodies as PairResults."""
    names = ("faces", *CONTACT_FIELDS) if pairs.segments is not None else ("faces",)
    return PairResults(np.array([len(pairs)]), np.array([pairs.stats], np.int64), {name: getattr(pairs, name) for name in names},
                       np.array([pairs.complete]))


def empty_results(contacts, n=0):
    """PairResults of n pairs of bodies that were not tested."""
    return PairResults(np.zeros(n, np.int64), np.zeros((n, len(COUNTERS)), np.int64),
                       {"faces": np.zeros((0, 2), np.int32), **(contacts_of([]) if contacts else {})}, np.zeros(n, np.bool_))


def concat_results(results):
    """Several PairResults, concatenated."""
    starts = np.cumsum([0] + [len(part.arrays["faces"]) for part in results])
    return PairResults(np.concatenate([part.ends + start for part, start in zip(results, starts[:-1], strict=True)]),
                       np.concatenate([part.counters for part in results]),
                       {name: np.concatenate([part.arrays[name] for part in results]) for name in results[0].arrays},
                       np.concatenate([part.complete for part in results]))


def body_parts(found, bodies, pairs):
    """(faces (k, 2), body a, body b) of each pair of bodies that has rows, as `contacts_of` takes them."""
    ends, faces = found.ends.tolist(), found.arrays["faces"]
    return [(faces[start:end], bodies[i], bodies[j]) for start, end, (i, j) in zip([0, *ends], ends, pairs.tolist(), strict=False)
            if start < end]
