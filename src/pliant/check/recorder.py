"""A report of frames that the caller computes, such as a simulation that queries collisions in every step anyway.

    with Recorder("out", {"cloth": cloth, "ball": ball}) as recorder:
        for frame in range(200):
            …                                                            # move the bodies
            recorder.add(frame, scene.collide())
    recorder.write()

Frames are kept in a temporary file in the folder, not in memory; `write` deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType

import numpy as np

from pliant.body import Body
from pliant.check import results, write_report
from pliant.check.baseline import NO_BASELINE
from pliant.check.classify import Classifier
from pliant.check.journal import Journal
from pliant.check.plan import CheckOptions
from pliant.check.report_meta import make_meta
from pliant.check.worker import FrameResult, drawn_arrays, find_contacts
from pliant.core import validate
from pliant.errors import ArgumentError
from pliant.io.animation import DEFAULT_RATE, Actor, Animation
from pliant.results import ScenePairs

JOURNAL = "recording.journal"
MAX_EVERY = 1 << 31  # largest `every`


class Recorder:
    """Collects frames for a report, as a context manager.

    folder : where `report.html` is written; created if missing
    bodies : {name: body}, in the order of their ids in the scene
    name : the title of the report
    every : draw every k-th frame; charts and tables have all frames
    rate : frames per second
    up : the axis that points up, "x", "y" or "z"; empty if unknown
    unit : of lengths, such as "m"; empty if unknown
    notes : sentences for the head of the report

    Frames are kept in a temporary file in the folder, not in memory. An exception inside `with` deletes them.
    """

    def __init__(self, folder: Path, bodies: Mapping[str, Body], *, name: str = "recording", every: int = 1, rate: float = DEFAULT_RATE,
                 up: str = "", unit: str = "", notes: tuple[str, ...] = ()) -> None:
        self.every = validate.integer("every", every, range(1, MAX_EVERY))
        self.folder, self.bodies, self.frames = Path(folder), list(bodies.values()), list[int]()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / JOURNAL
        self._path.unlink(missing_ok=True)
        self._animation = Animation(name, [Actor(each, 1) for each in bodies], 1, rate, up, unit, notes)
        self._meta = make_meta(self._animation, self.bodies, True)
        self._journal = Journal(self._path, {})

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.close()

    def add(self, frame: int, pairs: ScenePairs, asking: float = 0.0) -> None:
        """Record the pairs of a frame and the current vertices of the bodies.

        frame : its number, above that of the frame before
        pairs : what `Scene.collide` returned
        asking : seconds that the query took, for the report
        """
        if self.frames and frame <= self.frames[-1]:
            raise ArgumentError(f"frame: expected a number above that of the last frame, {self.frames[-1]}, got {frame}")
        ids = np.asarray(pairs.bodies, np.int32)
        result = FrameResult(frame, ids, pairs.faces, None, 0.0, asking)
        drawn = len(self.frames) % self.every == 0
        shapes = drawn_arrays(self.bodies, self._meta.faces) if drawn else None
        self._journal.add(frame, results.journal_rows(result, find_contacts(frame, ids, pairs.faces, self.bodies)), shapes)
        self.frames.append(frame)

    def write(self, most_bytes: int = 30_000_000) -> Path:
        """Write `report.html`, of at most `most_bytes` bytes, and delete the recorded frames. Returns the path."""
        if not self.frames:
            raise ArgumentError("frames: there are none; call add(frame, pairs) before write()")
        try:
            with closing(results.find_intervals(self._journal, self.frames, self._meta, NO_BASELINE)) as intervals:
                classifier = Classifier(self._meta.offsets, intervals.static, NO_BASELINE.keys, True)  # what stays is as new as all else
                sums = results.sum_frames(self._journal, self.frames, classifier)
                summary = results.make_summary(self._animation, CheckOptions(), self._meta, sums, NO_BASELINE, intervals)
            return write_report.write(self.folder / "report.html", self._animation, self._meta, self._journal, sums, summary, most_bytes,
                                      classifier)  # fmt: skip
        finally:
            self.close()

    def close(self) -> None:
        """Delete the recorded frames."""
        self._journal.close()
        self._path.unlink(missing_ok=True)
