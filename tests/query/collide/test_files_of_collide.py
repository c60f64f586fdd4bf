"""The path of the code from `collide(a, b)` to the exact test of two triangles: how many files a reader must open, and in which order."""

import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import pliant as pl
from pliant.core.jit import DISABLED

SOURCE = Path(pl.__file__).parent
EXACT_TEST = "overlap_stage"
MAX_FILES = 12


def calls_until_exact_test(a, b):
    """{file: files that call it} of Pliant, from the call of `collide` to the return of the first exact test. `core/` is left out: loads,
    lanes, dispatch and locks are no steps of the algorithm."""
    calls, done = {}, []

    def file_of(frame):
        path = Path(frame.f_code.co_filename)
        return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else "core/"

    def profile(frame, event, _):
        if event == "return" and frame.f_code.co_name == EXACT_TEST:
            done.append(True)
        if done or event != "call" or (file := file_of(frame)).startswith("core/"):
            return
        caller = frame.f_back
        while caller is not None and file_of(caller).startswith("core/"):
            caller = caller.f_back
        calls.setdefault(file, set())
        if caller is not None and file_of(caller) != file:
            calls[file].add(file_of(caller))

    sys.setprofile(profile)
    try:
        pl.collide(a, b)
    finally:
        sys.setprofile(None)
    assert done, "no exact test was reached"
    return calls


@pytest.mark.formulas
@pytest.mark.skipif(not DISABLED, reason="kernels cannot be traced")
def test_files_from_the_call_to_the_exact_test():
    """Both BVHs are up to date: a refit has files of its own."""
    v, f = pl.shapes.icosphere(1)
    a, b = pl.Body(v, f), pl.Body(v + np.array([1.3, 0.0, 0.0]), f)
    pl.collide(a, b)
    calls = calls_until_exact_test(a, b)
    order = list(TopologicalSorter(calls).static_order())               # raises CycleError if two files call each other
    assert order[0] == "query/collide/two_bodies.py"
    assert len(order) <= MAX_FILES, order
