"""Five passes, one after the other (paper G, section 1.1): sample, merge, separate, pack, test. The same for the CPU and for CUDA.

Whoever runs them (`cpu.py`, `cuda.py`) keeps the arrays; here it is decided which way rays go, how fine the screen is, and what becomes of
the answer.
"""
import time
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pliant.image.screen import AXES, NO_TURN, common_box, survey_of, turned_to, view_of
from pliant.results import ImageStats, Passes, Stats

MARGIN = 1                                                              # pixels around a ray that it stands for, in sampled mode
MOST_FRAGMENTS = 1 << 26
OBLIQUE = np.array([0.53, 0.61, 0.59])
PASSES = Passes._fields


class Clock:
    """Seconds by pass, if a way is given to wait for what is under way on a device."""

    def __init__(self, wait=None):
        self.seconds, self.wait = dict.fromkeys(PASSES, 0.0), wait

    @contextmanager
    def __call__(self, name):
        begin = time.perf_counter()
        yield
        if self.wait is not None:
            self.wait()
            self.seconds[name] += time.perf_counter() - begin


class Found(NamedTuple):
    """Keys f << 32 | g of the pairs that meet, in any order; the counters."""
    keys: np.ndarray
    stats: Stats
    image: ImageStats


def nothing():
    """What is found where there is nothing to look at."""
    return Found(np.empty(0, np.int64), Stats(), ImageStats((0.0, 0.0, 0.0), 0))


def run(loops, options, first, adjacent, clock):
    """All pairs of faces that meet, as `Found`. `adjacent`: of a part with itself, those that share a vertex, too."""
    sampled = options.mode == "sampled"
    with clock("sample"):
        view, fragments = view_for(loops, options)
        if view is None:
            return nothing()
        loops.look_through(view, fragments)
        if sampled:
            loops.peel(is_closed(loops, options), options.passes, options.ends, options.rest == "mark")
        else:
            loops.sample()
    with clock("merge"):
        loops.merge(MARGIN if sampled else 0)
    with clock("separate"):
        loops.separate()
    with clock("pack"):
        loops.pack()
    with clock("test"):
        keys, around, looks, tested, exactly, met = loops.meet(first, loops.itself and adjacent)
        missed = loops.unseen(keys) if sampled else 0.0
    keys, direction = np.concatenate([keys, around]), tuple(float(x) for x in view.frame[6:9])
    image = ImageStats(direction, view.size, *loops.sampled(), int(met), int(tested), len(keys), float(missed), int(loops.sent),
                       Passes(**clock.seconds))
    return Found(keys, Stats(int(looks), int(tested), 0, int(exactly)), image)


def is_closed(loops, options):
    """Are all parts closed, as far as anybody knows?"""
    return loops.closed() if options.closed is None else options.closed


def view_for(loops, options):
    """(View, about how many fragments faces have there): along the direction given, or the axis with the fewest layers; as fine as asked
    for or, in conservative mode, as it pays. (None, 0) if parts cannot meet. Open surfaces that are sampled are looked at askew: along an
    axis there are fewest layers where a flat sheet is seen from its edge, which no ray meets."""
    turn = NO_TURN if options.direction is None else turned_to(options.direction)
    centre, boxes, counted = loops.outline(turn)
    given = options.direction is not None
    if not given and options.mode == "sampled" and not is_closed(loops, options):
        given, turn = True, turned_to(OBLIQUE)
        centre, boxes, counted = loops.outline(turn)
    if common_box(boxes) is None:
        return None, 0.0
    found = survey_of(counted, 2 if given else None)
    if not given:
        turn = AXES[found.axis]
        boxes = np.ascontiguousarray(boxes[:, :, turn.argmax(1)])
    size = options.resolution
    if options.mode == "conservative":
        most = min(loops.EACH * found.faces + loops.FEW, MOST_FRAGMENTS)
        while size > 1 and found.fragments(size) > most:
            size = (size + 1) // 2
    return view_of(turn, centre, boxes, size, options.mode == "sampled"), found.fragments(size)
