"""Five passes, one after the other (paper G, section 1.1): sample, merge, separate, pack, test. The same for the CPU and for CUDA.

Whoever runs them (`cpu.py`, `cuda.py`) keeps the arrays; here it is decided which way rays go, how fine the screen is, and what becomes of
the answer.
"""
import time
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pliant.core.sorting import sort_pairs
from pliant.image.screen import AXIS_ROTATIONS, IDENTITY_ROTATION, common_box, read_survey, rotation_to, viewport_of
from pliant.results import ImageStats, Passes, Stats

SAMPLED_MARGIN = 1                                                      # pixels around a ray that it stands for, in sampled mode
MAX_FRAGMENTS = 1 << 26
OBLIQUE_DIRECTION = np.array([0.53, 0.61, 0.59])
PASS_NAMES = Passes._fields
INDEX_BITS = 32                                                         # bits of a face index in a key


class PassTimer:
    """Seconds by pass, if a way is given to wait for what is under way on a device."""

    def __init__(self, wait=None):
        self.seconds, self.wait = dict.fromkeys(PASS_NAMES, 0.0), wait

    @contextmanager
    def __call__(self, name):
        begin = time.perf_counter()
        yield
        if self.wait is not None:
            self.wait()
            self.seconds[name] += time.perf_counter() - begin


class EngineResult(NamedTuple):
    """Keys f << 32 | g of the pairs that meet, in any order; the counters."""
    keys: np.ndarray
    stats: Stats
    image: ImageStats


def empty_result():
    """What is found where there is nothing to look at."""
    return EngineResult(np.empty(0, np.int64), Stats(), ImageStats((0.0, 0.0, 0.0), 0))


def run_pipeline(engine, options, first, adjacent, timer):
    """All pairs of faces that intersect, as `EngineResult`. `adjacent`: of a part with itself, those that share a vertex, too."""
    sampled = options.mode == "sampled"
    with timer("sample"):
        view, fragments = choose_viewport(engine, options)
        if view is None:
            return empty_result()
        engine.set_viewport(view, fragments)
        if sampled:
            engine.peel(is_closed(engine, options), options.passes, options.ends, options.rest == "mark")
        else:
            engine.sample()
    with timer("merge"):
        engine.merge(SAMPLED_MARGIN if sampled else 0)
    with timer("separate"):
        engine.separate()
    with timer("pack"):
        engine.pack()
    with timer("test"):
        keys, adjacent_keys, box_tests, tested, n_exact, candidate_faces = engine.intersect(first, engine.is_self and adjacent)
        missed = engine.estimate_missed(keys) if sampled else 0.0
    keys, direction = np.concatenate([keys, adjacent_keys]), tuple(float(x) for x in view.frame[6:9])
    image = ImageStats(direction, view.size, *engine.sampling_counts(), int(candidate_faces), int(tested), len(keys), float(missed),
                       int(engine.sent),
                       Passes(**timer.seconds))
    return EngineResult(keys, Stats(int(box_tests), int(tested), 0, int(n_exact)), image)


def is_closed(engine, options):
    """Are all parts closed, as far as anybody knows?"""
    return engine.closed() if options.closed is None else options.closed


def choose_viewport(engine, options):
    """(Viewport, about how many fragments faces have there): along the direction given, or the axis with the fewest layers; as fine as
    asked
    for or, in conservative mode, as it pays. (None, 0) if parts cannot meet. Open surfaces that are sampled are looked at askew: along an
    axis there are fewest layers where a flat sheet is seen from its edge, which no ray meets."""
    rotation = IDENTITY_ROTATION if options.direction is None else rotation_to(options.direction)
    centre, boxes, survey_counts = engine.inspect(rotation)
    fixed_direction = options.direction is not None
    if not fixed_direction and options.mode == "sampled" and not is_closed(engine, options):
        fixed_direction, rotation = True, rotation_to(OBLIQUE_DIRECTION)
        centre, boxes, survey_counts = engine.inspect(rotation)
    if common_box(boxes) is None:
        return None, 0.0
    survey = read_survey(survey_counts, 2 if fixed_direction else None)
    if not fixed_direction:
        rotation = AXIS_ROTATIONS[survey.axis]
        boxes = np.ascontiguousarray(boxes[:, :, rotation.argmax(1)])
    size = options.resolution
    if options.mode == "conservative":
        max_fragments = min(engine.FRAGMENTS_PER_FACE * survey.faces + engine.MIN_FRAGMENTS, MAX_FRAGMENTS)
        while size > 1 and survey.fragments(size) > max_fragments:
            size = (size + 1) // 2
    return viewport_of(rotation, centre, boxes, size, options.mode == "sampled"), survey.fragments(size)


def unpack_pairs(keys: np.ndarray, first_b: int, first: bool) -> np.ndarray:
    """(m, 2) int32, sorted, from keys f << 32 | g; faces of the second surface begin at `first_b`. With `first` one pair only."""
    pairs = sort_pairs(keys, INDEX_BITS - 1, INDEX_BITS)
    pairs[:, 1] -= first_b
    return pairs[:1].copy() if first else pairs
