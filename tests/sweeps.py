"""A sweep beside what it should know, for tests of the broad phase; and sizes of them."""

import numba
import numpy as np

import boxes as some
from pliant.broadphase import endpoint_lists
from pliant.broadphase.sweep import SweepAndPrune

OFF = bool(numba.config.DISABLE_JIT)
SIZE = 12 if OFF else 150


class Scene:
    """A sweep, and what it should know."""

    def __init__(self):
        self.sweep, self.boxes = SweepAndPrune(), {}

    def set(self, ids, boxes):
        boxes = np.array(boxes, np.float64).reshape(-1, 6)
        self.sweep.set(np.asarray(ids, np.int64), boxes)
        self.boxes.update(zip(np.asarray(ids).tolist(), boxes, strict=True))

    def remove(self, ids):
        self.sweep.remove(np.asarray(ids, np.int64))
        for i in ids:
            self.boxes.pop(int(i), None)

    def check(self):
        found = self.sweep.pairs()
        assert found.dtype == np.int64 and len(self.sweep) == len(self.boxes)
        np.testing.assert_array_equal(found, some.overlapping(np.array([*self.boxes.values()]).reshape(-1, 6), [*self.boxes]))
        return found


def patiently(self, loop, ids, boxes, allowed, *more, run=endpoint_lists.EndpointLists._run):
    """Lists that are never given up."""
    return run(self, loop, ids, boxes, 10**12, *more)
