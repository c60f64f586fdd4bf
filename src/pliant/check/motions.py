"""The motions from each checked frame to the next, in parallel, into the journal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pliant.check.baseline import Baseline
from pliant.check.between_frames import MotionFinder
from pliant.check.classify import touching_keys
from pliant.check.jobs import map_frames
from pliant.check.journal import Journal
from pliant.check.report_meta import ReportMeta
from pliant.check.worker import FrameWorker

CHANGED_NOTE = "The motion between frames is not checked of bodies whose faces change: "
MAX_NAMES = 5  # in a note


def check_motions(workers: list[FrameWorker], frames: list[int], journal: Journal, meta: ReportMeta, baseline: Baseline,
                  moving: Callable[[int, int], None] | None) -> tuple[str, ...]:  # fmt: skip
    """Check the motions from each frame to the next that the journal does not have. It has the pairs of all frames. Returns notes."""
    lock, later, finished = threading.Lock(), dict(pairwise(frames)), journal.moved
    finders = {worker: MotionFinder(worker, meta.offsets) for worker in workers}

    def check_motion(worker: FrameWorker, frame: int) -> None:
        ends = frame, later[frame]
        shown = [touching_keys(meta.offsets, journal, end)[0] for end in ends]
        changed = np.union1d(*(journal.pairs(end)["changed"] for end in ends)).astype(np.int32)
        rows = finders[worker].find(*ends, shown, baseline.keys, changed)
        with lock:
            journal.add_motion(frame, rows)

    remaining = [frame for frame in later if frame not in finished]
    for k, _ in enumerate(map_frames(workers, remaining, check_motion), len(later) - len(remaining) + 1):
        if moving:
            moving(k, len(later))
    changing = set[int]()
    for frame in later:
        rows = journal.motion(frame)
        changing.update(rows["changed"].tolist() if rows is not None else ())
    names = [meta.bodies[place].name for place in sorted(changing)]
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return (f"{CHANGED_NOTE}{', '.join(names[:MAX_NAMES])}{more}",) if names else ()
