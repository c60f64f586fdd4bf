"""What comparisons with other libraries share: the clock, the turns, the table, the report.

A scene is a named tuple with `faces` (m, 3), `frames` and `frame(k)`: the vertices (n, 3) float64 of its bodies, and other inputs that a
library needs, in order. Every library has it as `self.scene`.
The rules of a comparison:

- one process, one thread, one core (pinned unless --no-pin); every frame is a new one, computed outside the clock;
- libraries take turns of --turn frames in a rotating order, so that noise affects all equally; with --turn 1 every
  library finds the caches full of the others' data, with more it finds its own, as in a loop that uses one library;
- warm-up frames (compilation, first allocations) do not count and are not among the frames that do;
- a library too slow for --budget runs on every j-th frame; its ratio is computed over exactly those frames;
- answers are compared pair by pair with those of the reference: Pliant, or else the first library that runs. Another kind of `Run` may
  compare other answers, such as distances.
"""

import argparse
import gc
import json
import os
import platform
import re
import sys
import time
from importlib import import_module, metadata, util
from pathlib import Path

import numpy as np
from rich.table import Table

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "PLIANT_THREADS", "IGL_NUM_THREADS")
DISTRIBUTIONS = ("pliant", "numpy", "numba", "warp-lang", "coal", "python-fcl", "libigl", "embreex", "ipctk", "open3d")
SHOWN = 5  # maximum number of differing pairs in a report


def sorted_pairs(keys):
    """Pairs (m, 2) int32 in lexicographic order from keys (m,) int64 with the first face in their upper half."""
    keys = np.sort(keys)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def packed(pairs):
    """The keys (m,) int64 of pairs (m, 2)."""
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    return pairs[:, 0] << 32 | pairs[:, 1]


def require(condition, complaint):
    """Stop when a library fails: a model that was not updated would only seem fast."""
    if not condition:
        raise RuntimeError(complaint)


class Peer:
    """The interface of a library: also a `name` to show, and a `module`, imported as `self.package`.

    Libraries of the same `kind` should give the same pairs; others the same pairs after `common`.
    """

    kind = "all"

    def setup(self, *vertices_and_faces):
        """Build the data that lasts over frames, from the vertices of each body and the faces, which come last. Not timed."""
        self.faces = vertices_and_faces[-1]

    def before(self, *vertices):
        """Prepare the inputs of a frame that are not part of the task. Not timed. `step` comes next and is timed: vertices in, pairs (m, 2)
        out."""

    def after(self, answer):
        """The pairs (m, 2) in the result of `step`, if this conversion is not part of the task. Not timed."""
        return answer

    def common(self, pairs):
        """The pairs that libraries of all kinds have to find."""
        return pairs


class Run:
    """One library on one scene: its state, its times and the differences of its answers from the reference's."""

    def __init__(self, peer):
        self.peer, self.status, self.stride = peer, "ran", 1
        self.times, self.pairs, self.differences = {}, {}, {}  # frame -> seconds, number of pairs, pairs that differ
        self.kin, self.kin_differences, self.examples = None, {}, []  # first of its kind, unless it is the reference; (frame, face, face)

    def prepare(self, scene, budget):
        """Set up and warm up on separate frames; choose the stride that keeps the run within `budget` seconds."""
        if util.find_spec(self.peer.module.partition(".")[0]) is None:
            self.status = "not installed"
            return
        try:
            self.peer.package, self.peer.scene = import_module(self.peer.module), scene
            others = scene._replace(frames=scene.frames + 1)  # other times than those of counted frames
            self.peer.setup(*others.frame(0), scene.faces)
            seconds = [self.step(others.frame(int(q * scene.frames)))[0] for q in (0.25, 0.5, 0.75)]
            self.stride = max(1, int(np.ceil(np.mean(seconds[1:]) * scene.frames / budget)))
        except Exception as error:  # one broken library must not hide the others: the table and the exit status report it
            self.status = f"failed: {type(error).__name__}: {error}"

    def step(self, vertices):
        """Seconds and answer of one frame."""
        self.peer.before(*vertices)
        start = time.perf_counter()
        answer = self.peer.step(*vertices)
        seconds = time.perf_counter() - start
        return seconds, self.peer.after(answer)

    def judge(self, k, answers, reference):
        """Compare the answer to frame k with the reference's, and with that of the first library of the same kind."""
        answer = answers[self, k]
        self.pairs[k] = len(answer)
        differing = np.setxor1d(packed(reference.peer.common(answers[reference, k])), packed(self.peer.common(answer)))
        self.differences[k] = len(differing)
        if (self.kin, k) in answers:
            among_kin = np.setxor1d(packed(answers[self.kin, k]), packed(answer))
            self.kin_differences[k], differing = len(among_kin), np.union1d(differing, among_kin)
        self.examples += [(k, *pair) for pair in sorted_pairs(differing)[: SHOWN - len(self.examples)].tolist()]

    def summary(self, reference):
        """Figures for the table and for JSON. `ratio` is this library's time over the reference's, on the same frames."""
        row = {"library": self.peer.name, "status": self.status}
        if self.status != "ran":
            return row
        seconds, differences = list(self.times.values()), list(self.differences.values())
        row |= {
            "best_ms": 1e3 * min(seconds),
            "median_ms": 1e3 * float(np.median(seconds)),
            "sum_s": sum(seconds),
            "ratio": sum(seconds) / sum(reference.times[k] for k in self.times),
            "every": self.stride,
            "frames": len(self.times),
            "differing_frames": sum(d > 0 for d in differences),
            "largest_difference": max(differences),
            "total_pairs": sum(self.pairs.values()),
            "pairs": list(self.pairs.values()),
            "times_ms": [round(1e3 * t, 4) for t in seconds],
        }
        if self.kin_differences:
            row["kin"] = {"library": self.kin.peer.name, "differing_frames": sum(d > 0 for d in self.kin_differences.values()),
                          "largest_difference": max(self.kin_differences.values())}
        return row | ({"examples": self.examples} if self.examples else {})


def compare(scene, peers, budget, turn, kind=Run):
    """Run libraries (classes, Pliant first) on one scene, in turns of that many frames; a dict with one row for each."""
    runs = [kind(peer()) for peer in peers]
    for run in runs:
        run.prepare(scene, budget)
    active = [run for run in runs if run.status == "ran"]
    for run in active:
        first = next(other for other in active if other.peer.kind == run.peer.kind)
        run.kin = first if first not in (active[0], run) else None
    if active:
        active[0].stride = 1  # the reference has to answer every frame
    gc.collect()
    gc.disable()  # as in timeit: a collection would fall into the time of the next library
    for k in range(0, scene.frames if active else 0, turn):
        take_turns(active, k // turn, {i: scene.frame(i) for i in range(k, min(k + turn, scene.frames))})
    gc.enable()
    rows = [run.summary(active[0] if active else None) for run in runs]
    reference = active[0].peer.name if active else "none"
    return {"faces": len(scene.faces), "frames": scene.frames, "reference": reference, "rows": rows}


def take_turns(runs, number, vertices):
    """These frames for every library, in a rotating order; then compare with the reference, runs[0]."""
    answers = {}
    for run in runs[number % len(runs) :] + runs[: number % len(runs)]:
        for k in vertices:
            if k % run.stride == 0:
                run.times[k], answers[run, k] = run.step(vertices[k])
    for run, k in answers:
        run.judge(k, answers, runs[0])


def shown(difference):
    """A count, or a difference of distances, for the table."""
    return f"{difference:.1e}" if isinstance(difference, float) else f"{difference:,}"


def table_of(result, job):
    """The rich table of one scene."""
    scene = f"{result['faces']:,} triangles a mesh, {result['frames']} frames"
    table = Table("library", title=f"{scene}: {job}; ratio to {result['reference']}")
    for title in ("best ms", "median ms", "sum s", "ratio", "frames", "frames that differ", "most", "answers"):
        table.add_column(title, justify="right")
    kinds, excuses = any("kin" in row for row in result["rows"]), any("excused" in row for row in result["rows"])
    if kinds:
        table.add_column("frames that differ in full, most")
    if excuses:
        table.add_column("excused", justify="right")
    for row in result["rows"]:
        if row["status"] != "ran":
            table.add_row(f"{row['library']}: {row['status']}")
            continue
        cells = [f"{row[name]:.3f}" for name in ("best_ms", "median_ms", "sum_s", "ratio")]
        cells.append(str(row["frames"]) + (f" (1 in {row['every']})" if row["every"] > 1 else ""))
        cells += [shown(row[name]) for name in ("differing_frames", "largest_difference", "total_pairs")]
        if kinds and "kin" in row:
            cells.append("{differing_frames:,}, {largest_difference:,} from {library}".format(**row["kin"]))
        if excuses:
            cells.append(shown(row["excused"]))
        table.add_row(row["library"], *cells)
    return table


def hardware(pinned):
    """A description of the machine."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = re.findall(r"model name\s*: (.*)", info) or [platform.processor() or platform.machine()]
    return f"{models[0]}, {os.cpu_count()} cores, one thread, {'one core pinned' if pinned else 'not pinned'}"


def versions():
    """Version of every library that matters; those that are not installed are marked."""
    present = {d.metadata["Name"].lower().replace("_", "-"): d.version for d in metadata.distributions()}
    return {name: present.get(name, "not installed") for name in DISTRIBUTIONS} | {"python": platform.python_version()}


def parser_for(name, about, peers):
    """A command line with the options that all comparisons have; `peers` are the names to choose from."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about.partition("\n")[0])
    parser.add_argument("--peers", nargs="+", choices=peers, default=list(peers), help="libraries to compare Pliant with")
    parser.add_argument("--pliant", action=argparse.BooleanOptionalAction, default=True, help="run Pliant itself")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--budget", type=float, default=15, help="seconds a library may take for one size")
    parser.add_argument("--turn", type=int, default=20, help="frames that a library runs before the next one does")
    parser.add_argument("--out", help="write all figures to this JSON file")
    return parser


def alone(pin):
    """Restart this program on one core and with thread pools of one thread, unless it already is: importing NumPy has created a pool."""
    if any(os.environ.get(name) != "1" for name in POOLS) or (pin and len(os.sched_getaffinity(0)) > 1):
        if pin:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the last core: interrupts prefer the first
        os.execve(sys.executable, sys.orig_argv, os.environ | dict.fromkeys(POOLS, "1"))


def finish(console, job, results, options, **more):
    """Print the machine and versions, write the JSON file, and exit: the exit status is 1 if an installed library failed."""
    console.print(hardware(options.pin), ", ".join(f"{k} {v}" for k, v in versions().items()), sep="\n", highlight=False)
    if options.out:
        report = {"job": job, "hardware": hardware(options.pin), "versions": versions(), "results": results} | more
        Path(options.out).write_text(json.dumps(report, indent=1), encoding="utf-8")
    sys.exit(any(row["status"].startswith("failed") for result in results for row in result["rows"]))
