"""Check all frames of an animation, one by one, into a journal; then write the result files.

In the folder: `check.journal` while the check is not finished; then the files of pairs (TABLES), `summary.json`, `report.html` and plots,
each written under a temporary name, synced, and renamed. The journal is deleted last: whatever kills the process, finished frames are
kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pliant
from pliant.check import results, write_report
from pliant.check.baseline import Baseline, find_baseline
from pliant.check.classify import NEAR, NEW, STATIC, Classifier
from pliant.check.jobs import make_workers, map_frames
from pliant.check.journal import Journal, discard_journal, stored_welds
from pliant.check.motions import check_motions
from pliant.check.pair_files import PairSource, parquet_package, write_events, write_faces, write_pairs
from pliant.check.plan import CheckOptions, make_pair_filter, select_frames
from pliant.check.report_meta import ReportMeta, make_meta
from pliant.check.static_pairs import Intervals
from pliant.check.verdict import fails
from pliant.check.welding import prepare_welds, weld_notes
from pliant.check.worker import FrameWorker, drawn_arrays, find_contacts
from pliant.core import validate
from pliant.core.archive import atomic_file
from pliant.core.validate_table import read_bytes
from pliant.errors import FileError
from pliant.io.animation import Animation

JOURNAL, SUMMARY, REPORT = "check.journal", "summary.json", "report.html"
#: The files of pairs and faces, by `Output.form`.
TABLES = {"npz": ("pairs.npz",), "parquet": ("pairs.parquet", "faces.parquet"), "csv": ("pairs.npz", "pairs.csv", "events.csv")}
OUTPUTS = (*dict.fromkeys(name for names in TABLES.values() for name in names), "pairs.png", "bodies.png", REPORT, SUMMARY)
MAX_SHAPE_BYTES = 600_000_000  # maximum bytes of shapes that a journal keeps for the report
MAX_SUMMARY = 1 << 30  # maximum bytes
MOTION_NOTE = ("Frames are checked, not the motion between them: bodies that pass through each other between two frames are missed; "
               "--between-frames finds them")  # fmt: skip


class CheckProgress(NamedTuple):
    """The progress of a check, after a frame.

    frame : the frame that is finished
    done, total : the number of finished frames, and of all
    pairs : pairs of faces that were found so far
    """

    frame: int
    done: int
    total: int
    pairs: int


class Output(NamedTuple):
    """The files that a check writes.

    folder : created if missing
    form : of the pairs: "npz"; "parquet", and `faces.parquet` beside it; "csv": NPZ, and beside it `pairs.csv` and `events.csv`
    report : write `report.html`, of at most `most_bytes` bytes
    plots : write `pairs.png` and `bodies.png`
    """

    folder: Path
    form: str = "npz"
    report: bool = True
    most_bytes: int = 30_000_000
    plots: bool = True


class CheckResult(NamedTuple):
    """A finished check.

    summary : the content of `summary.json`
    files : the files that were written
    resumed : the check had been finished before; nothing was done
    """

    summary: dict[str, Any]
    files: list[Path]
    resumed: bool = False

    @property
    def pairs(self) -> int:
        """The number of pairs of faces, in all frames: those that intersect, and with a tolerance those that are near."""
        return int(self.summary["pairs"])

    @property
    def failed(self) -> bool:
        """Whether the check found what `fail_on` names."""
        return bool(self.summary["failed"])


class CheckFindings(NamedTuple):
    """What a check found in all frames, before it is written."""

    journal: Journal
    frames: list[int]
    meta: ReportMeta
    baseline: Baseline
    intervals: Intervals
    classifier: Classifier
    enclosed: list[tuple[int, int]]  # outer and inner bodies of any frame


def check_animation(animation: Animation, options: CheckOptions, output: Output, *, jobs: int = 1, resume: bool = False,
                    overwrite: bool = False, progress: Callable[[CheckProgress], None] | None = None,
                    writing: Callable[[str], None] | None = None,
                    welding: Callable[[int, int], None] | None = None,
                    moving: Callable[[int, int], None] | None = None) -> CheckResult:  # fmt: skip
    """Find all intersections in every frame of an animation, and write the result files.

    animation : see `read`
    options : which frames and bodies are tested, and how
    output : which files are written
    jobs : frames that are checked in parallel, each in a thread with its own bodies
    resume : continue a stopped check of the same folder
    overwrite : discard a stopped check of the same folder
    progress : called after every frame
    writing : called with the name of each file before it is written
    welding : called while frames are compared to find vertices that stay together, with the frames so far and of all
    moving : called after each motion from a frame to the next, with the motions so far and of all

    Ctrl-C loses at most the frames in progress: the journal in the folder keeps all others.
    """
    started = time.perf_counter()
    if validate.choice("form", output.form, tuple(TABLES)) == "parquet":
        parquet_package()
    jobs = validate.integer("jobs", jobs, range(1, 1025))
    pair_filter = make_pair_filter(options, [actor.name for actor in animation.actors])
    frames, path = select_frames(options.frames, animation.frames), output.folder / JOURNAL
    output.folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and overwrite:
        discard_journal(path)
    if path.exists() and not resume:
        raise FileError(f"{path}: a check was stopped here; --resume continues it, --overwrite starts again")
    if output.plots:
        threading.Thread(target=write_report.prepare_plots, daemon=True).start()
    expected = {name: value for name, value in make_plan(animation, options, frames, 0).items() if name not in ("report", "known")}
    welds = prepare_welds(animation, options.weld, stored_welds(path, expected) if resume else {}, welding)
    worker = FrameWorker(animation, options, pair_filter)
    worker.move(frames[0])
    notes = weld_notes(worker.bodies) + ((MOTION_NOTE,) if animation.frames > 1 and not options.between_frames else ())
    meta = make_meta(animation, worker.bodies, output.report, frames[0])
    baseline = find_baseline(animation, options, pair_filter, meta)
    worker.first_faces = meta.faces
    workers = make_workers(worker, min(jobs, len(frames)))
    every = math.ceil(len(frames) * 12 * sum(count.vertices for count in meta.counts) / MAX_SHAPE_BYTES) if output.report else 0
    plan = make_plan(animation, options, frames, every, baseline)
    if resume and not path.exists() and (done := finished_result(output, plan, options)):
        return done
    with Journal(path, plan) as journal:
        for part in [part for name in OUTPUTS for part in output.folder.glob(f"{name}.*.part")]:
            part.unlink()  # left by a check that was killed while writing
        journal.add_welds(welds)
        try:
            check_frames(workers, frames, journal, meta, set(frames[::every]) if every else set(), progress)
            if options.between_frames:
                notes += check_motions(workers, frames, journal, meta, baseline, moving)
            intervals = results.find_intervals(journal, frames, meta, baseline)
        except BaseException:
            if not journal.done:
                path.unlink()  # nothing to resume from
            raise
        animation = animation._replace(notes=(*animation.notes, *notes))
        with closing(intervals):
            announce = writing or (lambda what: None)
            enclosed, enclosures = results.find_enclosures(journal, frames, baseline)
            classifier = Classifier(meta.offsets, intervals.static, baseline.keys, baseline.label is not None, enclosures)
            announce("depths")
            measure_frames(workers, frames, journal, classifier)
            found = CheckFindings(journal, frames, meta, baseline, intervals, classifier, enclosed)
            result = write_outputs(animation, options, output, found, plan, announce, started)
    path.unlink()
    return result


def check_frames(workers: list[FrameWorker], frames: list[int], journal: Journal, meta: ReportMeta, drawn: set[int],
                 progress: Callable[[CheckProgress], None] | None) -> None:  # fmt: skip
    """Query all frames that the journal does not have, and append each as soon as it is finished."""
    lock, finished_frames = threading.Lock(), journal.done

    def process_frame(worker: FrameWorker, frame: int) -> tuple[int, int]:
        result = worker.check_frame(frame)
        found = results.journal_rows(result, find_contacts(frame, result.bodies, result.faces, worker.bodies))
        shapes = drawn_arrays(worker.bodies, meta.faces) if frame in drawn else None
        with lock:
            journal.add(frame, found, shapes)
        return frame, len(result.faces)

    pairs = sum(len(journal.pairs(frame)["faces"]) for frame in finished_frames)
    remaining = [frame for frame in frames if frame not in finished_frames]
    for k, (frame, count) in enumerate(map_frames(workers, remaining, process_frame), len(frames) - len(remaining) + 1):
        pairs += count
        if progress:
            progress(CheckProgress(frame, k, len(frames), pairs))


def measure_frames(workers: list[FrameWorker], frames: list[int], journal: Journal, classifier: Classifier) -> None:
    """Find the depths of new pairs, and in the first frame of static ones, where the journal does not have them. Which pairs are static is
    known when all frames are done; so frames with new pairs are read twice."""
    lock = threading.Lock()

    def measure_frame(worker: FrameWorker, frame: int) -> None:
        begin, rows = time.perf_counter(), journal.pairs(frame)
        states = classifier.states(rows)
        wanted = (states == NEW) | ((states == STATIC) if frame == frames[0] else False)
        wanted &= workers[0].options.depth
        touching = states != NEAR if "distance" in rows else slice(None)
        depths = worker.measure(frame, rows["bodies"][touching], rows["faces"][touching], wanted[touching])
        found = results.depth_rows(states, np.flatnonzero(wanted), depths.of(wanted[touching]), time.perf_counter() - begin)
        with lock:
            journal.add_depths(frame, found)

    measured = journal.measured
    for _ in map_frames(workers, [frame for frame in frames if frame not in measured], measure_frame):
        pass


def write_outputs(animation: Animation, options: CheckOptions, output: Output, found: CheckFindings, plan: dict[str, Any],
                  announce: Callable[[str], None], started: float) -> CheckResult:  # fmt: skip
    """Write all result files, and delete those of an earlier check that this one does not write."""
    folder, (journal, frames, meta, baseline, intervals, classifier, enclosed) = output.folder, found
    announce("pairs")
    header = {"within": options.within, "between_frames": options.between_frames, "baseline": baseline.label, "enclosed": enclosed}
    source = PairSource(journal, frames, meta, intervals, baseline.keys, header)
    files = [write_pairs(folder / TABLES[output.form][0], source)]
    if output.form == "parquet":
        files.append(write_faces(folder / "faces.parquet", meta))
    sums = results.sum_frames(journal, frames, classifier)
    summary = {**results.make_summary(animation, options, meta, sums, baseline, intervals), "plan": plan_digest(plan)}
    results.name_bones(summary["events"], meta, journal, classifier)
    if output.form == "csv":
        files += [write_pairs(folder / "pairs.csv", source), write_events(folder / "events.csv", summary, meta)]
    with ThreadPoolExecutor(1) as beside:
        plots = beside.submit(write_report.write_plots, folder, summary, sums, journal, classifier) if output.plots else None
        if output.report:
            announce("report")
            files.append(write_report.write(folder / REPORT, animation, meta, journal, sums, summary, output.most_bytes, classifier))
        if plots:
            announce("plots")
            files += plots.result()
    summary["seconds"]["total"] = round(time.perf_counter() - started, 3)
    files.append(write_summary(folder / SUMMARY, summary))
    for name in OUTPUTS:
        if folder / name not in files:
            (folder / name).unlink(missing_ok=True)
    return CheckResult(summary, files)


def make_plan(animation: Animation, check_options: CheckOptions, frames: list[int], every: int,
              baseline: Baseline | None = None) -> dict[str, Any]:
    """The plan that identifies a check: checks with the same plan have the same result."""
    file_hash = hashlib.sha256()
    for file in animation.files:
        state = file.stat()
        file_hash.update(os.fsencode(file.name) + f"\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    options = {name: value for name, value in asdict(check_options).items() if name not in ("policy", "volume", "frames", "fail_on")}
    return {"format": "pliant check 4", "known": "" if baseline is None else known_digest(baseline),
            "pliant": pliant.__version__, "files": file_hash.hexdigest(), "rate": animation.rate,
            "clip": animation.asked.clip, "as": animation.asked.numbered, "start": animation.asked.start,
            "bodies": [actor.name for actor in animation.actors], "options": options, "notes": list(animation.notes),
            "frames": [frames[0], frames[-1], len(frames)], "report": f"every {every}" if every else "none"}  # fmt: skip


def known_digest(baseline: Baseline) -> str:
    """A name for what is known."""
    return hashlib.sha256(baseline.keys.tobytes() + json.dumps(sorted(baseline.enclosed)).encode()).hexdigest()


def plan_digest(plan: dict[str, Any]) -> str:
    """A short hash of a plan."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def finished_result(output: Output, plan: dict[str, Any], options: CheckOptions) -> CheckResult | None:
    """The result that a finished check with this plan has left, if any; it fails by the rule of these options."""
    path = output.folder / SUMMARY
    files = [output.folder / name for name in (*TABLES[output.form], *((REPORT,) if output.report else ()), SUMMARY)]
    try:
        summary = json.loads(read_bytes(path, MAX_SUMMARY, "summary"))
        same = isinstance(summary, dict) and summary["plan"] == plan_digest(plan) and all(file.is_file() for file in files)
        if not same:
            return None
        summary["failed"], summary["options"]["fail_on"] = fails(summary, options.fail_on), options.fail_on
    except (FileError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return CheckResult(summary, files, True)


def write_summary(path: Path, summary: dict[str, Any]) -> Path:
    """Write the summary as JSON, with a line for each key so that people can read it."""
    lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for name, value in summary.items()]
    with atomic_file(path) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode(errors="backslashreplace"))  # for file names that are not valid Unicode
    return path
