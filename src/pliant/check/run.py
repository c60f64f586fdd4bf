"""All frames of an animation, asked and written down one by one; and, when all are done, the files that people want.

In the folder: `check.journal` while the check is not finished; then `pairs.npz` or `pairs.parquet`, `summary.json`, `report.html` and
plots, each written under another name, synced, and put in its place. The journal goes last: whatever kills the process, what was done is
kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pliant
from pliant.check import results, write_report
from pliant.check.journal import Journal, discard
from pliant.check.plan import Question, allowed, chosen_frames
from pliant.check.worker import Lane, drawing_of, meetings_in
from pliant.core import validate
from pliant.core.archive import whole_file
from pliant.core.threads import only
from pliant.core.validate_table import read_bytes
from pliant.errors import FileError
from pliant.io.animation import Animation

JOURNAL, SUMMARY, REPORT = "check.journal", "summary.json", "report.html"
OUTPUTS = ("pairs.npz", "pairs.parquet", "pairs.png", "bodies.png", REPORT, SUMMARY)
FORMATS = ("npz", "parquet")
MOST_SHAPES = 600_000_000  # bytes of shapes for the report that a journal keeps
MOST_SUMMARY = 1 << 30  # bytes
LOOK_UP = 0.1  # seconds between looks at Ctrl-C


class Done(NamedTuple):
    """How far a check is, after a frame."""

    frame: int
    done: int
    total: int
    pairs: int  # so far


class Output(NamedTuple):
    """What is written, and where."""

    folder: Path
    form: str = "npz"
    report: bool = True
    most_bytes: int = 30_000_000  # of the report
    plots: bool = True


class Result(NamedTuple):
    """A finished check: what `summary.json` says, and the files."""

    summary: dict[str, Any]
    files: list[Path]

    @property
    def pairs(self) -> int:
        """Of faces, in all frames."""
        return int(self.summary["pairs"])


def check_animation(animation: Animation, question: Question, output: Output, *, jobs: int = 1, resume: bool = False,
                    overwrite: bool = False, progress: Callable[[Done], None] | None = None,
                    writing: Callable[[str], None] | None = None) -> Result:  # fmt: skip
    """Check an animation. `jobs`: frames at a time; `resume`: go on with what a stopped check left; `overwrite`: throw that away.

    `progress` is told of every frame, `writing` what is being written. Ctrl-C loses at most the frames that are being worked on.
    """
    began = time.perf_counter()
    if validate.choice("form", output.form, FORMATS) == "parquet":
        results.parquet_package()
    jobs = validate.integer("jobs", jobs, range(1, 1025))
    asked = allowed(question, [actor.name for actor in animation.actors])
    frames, path = chosen_frames(question.frames, animation.frames), output.folder / JOURNAL
    output.folder.mkdir(parents=True, exist_ok=True)
    if path.exists() and overwrite:
        discard(path)
    if path.exists() and not resume:
        raise FileError(f"{path}: a check was stopped here; --resume goes on with it, --overwrite begins anew")
    if output.plots:
        threading.Thread(target=write_report.prepare_plots, daemon=True).start()
    lane = Lane(animation, question, asked)
    lane.move(frames[0])
    cast = write_report.cast_of(animation, lane.bodies, output.report)
    every = math.ceil(len(frames) * 12 * sum(count.vertices for count in cast.counts) / MOST_SHAPES) if output.report else 0
    plan = plan_of(animation, question, frames, every)
    if resume and not path.exists() and (done := finished(output, plan)):
        return done
    with Journal(path, plan) as journal:
        for part in [part for name in OUTPUTS for part in output.folder.glob(f"{name}.*.part")]:
            part.unlink()  # of a check that was killed while it wrote
        try:
            look(lane, frames, journal, cast, jobs, set(frames[::every]) if every else set(), progress)
        except BaseException:
            if not journal.done:
                path.unlink()  # nothing to go on with
            raise
        result = write(animation, question, output, journal, cast, frames, plan, writing or (lambda what: None), began)
    path.unlink()
    return result


def look(lane: Lane, frames: list[int], journal: Journal, cast: write_report.Cast, jobs: int, drawn: set[int],
         progress: Callable[[Done], None] | None) -> None:  # fmt: skip
    """Ask about all frames that the journal does not have, and write each down as soon as it is done."""
    lock, before = threading.Lock(), journal.done

    def work(lane: Lane, frame: int) -> tuple[int, int]:
        answer = lane.answer(frame)
        found = results.rows_of(answer, meetings_in(frame, answer.bodies, answer.faces, lane.bodies))
        shapes = drawing_of(lane.bodies, cast.faces) if frame in drawn else None
        with lock:
            journal.add(frame, found, shapes)
        return frame, len(answer.faces)

    pairs = sum(len(journal.pairs(frame)["faces"]) for frame in before)
    left = [frame for frame in frames if frame not in before]
    for k, (frame, count) in enumerate(worked(lane, left, jobs, work), len(frames) - len(left) + 1):
        pairs += count
        if progress:
            progress(Done(frame, k, len(frames), pairs))


def write(animation: Animation, question: Question, output: Output, journal: Journal, cast: write_report.Cast, frames: list[int],
          plan: dict[str, Any], say: Callable[[str], None], began: float) -> Result:  # fmt: skip
    """Write everything that people want; what an earlier check has left there and this one does not write goes."""
    folder = output.folder
    say("pairs")
    files = [results.write_pairs(folder / f"pairs.{output.form}", journal, frames, cast, question)]
    sums = results.sums_of(journal, frames)
    summary = {**results.summary_of(animation, question, cast, sums), "plan": digest(plan)}
    with ThreadPoolExecutor(1) as beside:
        plots = beside.submit(write_report.write_plots, folder, summary, sums, journal) if output.plots else None
        if output.report:
            say("report")
            files.append(write_report.write(folder / REPORT, animation, cast, journal, sums, summary, output.most_bytes))
        if plots:
            say("plots")
            files += plots.result()
    summary["seconds"]["total"] = round(time.perf_counter() - began, 3)
    files.append(write_summary(folder / SUMMARY, summary))
    for name in OUTPUTS:
        if folder / name not in files:
            (folder / name).unlink(missing_ok=True)
    return Result(summary, files)


def plan_of(animation: Animation, question: Question, frames: list[int], every: int) -> dict[str, Any]:
    """What tells a check from others: answers to the same plan are the same."""
    seen = hashlib.sha256()
    for file in animation.files:
        state = file.stat()
        seen.update(os.fsencode(file.name) + f"\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    options = {name: value for name, value in asdict(question).items() if name not in ("policy", "frames")}
    return {"format": "pliant check 1", "pliant": pliant.__version__, "files": seen.hexdigest(), "rate": animation.rate,
            "clip": animation.asked.clip,
            "bodies": [actor.name for actor in animation.actors], "options": options, "notes": list(animation.notes),
            "frames": [frames[0], frames[-1], len(frames)], "report": f"every {every}" if every else "none"}  # fmt: skip


def digest(plan: dict[str, Any]) -> str:
    """What tells a plan from others, in short."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def finished(output: Output, plan: dict[str, Any]) -> Result | None:
    """What a check with this plan has left, if it came to its end."""
    path = output.folder / SUMMARY
    files = [output.folder / f"pairs.{output.form}", *([output.folder / REPORT] if output.report else []), path]
    try:
        summary = json.loads(read_bytes(path, MOST_SUMMARY, "summary"))
        same = isinstance(summary, dict) and summary["plan"] == digest(plan) and all(file.is_file() for file in files)
    except (FileError, ValueError, KeyError, RecursionError):
        return None
    return Result(summary, files) if same else None


def worked(first: Lane, frames: list[int], jobs: int, work: Callable[[Lane, int], Any]) -> Iterator[Any]:
    """What `work` gives for all frames: in order, or with several jobs as they come."""
    if min(jobs, len(frames)) <= 1:
        yield from (work(first, frame) for frame in frames)
        return
    with only(1):  # a thread for each frame is enough
        yield from in_threads([first, *(Lane(first.animation, first.question, first.asked) for _ in range(jobs - 1))], frames, work)


def in_threads(lanes: list[Lane], frames: list[int], work: Callable[[Lane, int], Any]) -> Iterator[Any]:
    """What `work` gives, as it comes. The threads are daemons: whoever stops need not wait for frames that take long."""
    todo, lock, stop = iter(frames), threading.Lock(), threading.Event()
    given: queue.Queue[Any] = queue.Queue(len(lanes))

    def give(item: Any) -> None:
        while not stop.is_set():
            try:
                return given.put(item, timeout=LOOK_UP)
            except queue.Full:
                continue

    def go(lane: Lane) -> None:
        try:
            while not stop.is_set():
                with lock:
                    frame = next(todo, None)
                if frame is None:
                    break
                give((work(lane, frame), None))
        except BaseException as error:  # the thread that waits raises it
            give((None, error))
        give(None)

    try:
        for lane in lanes:
            threading.Thread(target=go, args=(lane,), daemon=True, name="pliant check").start()
        left = len(lanes)
        while left:
            try:
                item = given.get(timeout=LOOK_UP)
            except queue.Empty:
                continue
            if item is None:
                left -= 1
            elif item[1] is not None:
                raise item[1]
            else:
                yield item[0]
    finally:
        stop.set()


def write_summary(path: Path, summary: dict[str, Any]) -> Path:
    """JSON, for programs; a line for each name, for people who look at it."""
    lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for name, value in summary.items()]
    with whole_file(path) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode(errors="backslashreplace"))  # of file names that are no Unicode
    return path

