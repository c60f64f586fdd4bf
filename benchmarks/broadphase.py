"""The broad phase on boxes that move a little in every frame: time against the number of boxes, compared with other methods.

    python -m benchmarks.broadphase [--sizes 100 1000 10000 100000] [--frames 60] [--out broadphase.json]

Boxes 0.5 to 1.5 wide in a cube that grows with their number, so that each overlaps one or two others; each has a direction of its own,
moves by 0.1 or 1 % of a width in a frame, and is reflected at the walls. One process, one thread, one core. A frame is `set` of all boxes
that moved and `pairs`; the table has medians over distinct frames, computed outside the clock. All methods run on the same frames, in turns
of 20:

- Sweep: Pliant's sweep and prune;
- afresh: Pliant's sweep in columns, without data of earlier frames;
- k-d tree: SciPy's, of the centres, all within the size of the largest box, then their boxes compared; on some of the frames only;
- NumPy: all pairs of boxes compared, up to 1,000 boxes.

The first turn does not count. Answers are compared with each other in every frame that a method runs.
"""

import argparse
import json
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from benchmarks.harness import hardware
from pliant.broadphase.radix import RadixSorter
from pliant.broadphase.sweep import SweepAndPrune, sort_keys
from pliant.broadphase.sweep_full import FullSweep

DENSITY = 0.22
TURN = 20
LOW = 17                                                                # bits of a slot
STEPS = (0.001, 0.01)
TARGET = 12                                                             # aim: time ratio for ten times as many boxes


class Motion:
    """n boxes, a share of which moves by `step` in a frame."""

    def __init__(self, n, step, share=1.0, seed=1):
        rng = np.random.default_rng(seed)
        self.side = (n / DENSITY) ** (1 / 3)
        self.sizes, self.centres = rng.uniform(0.5, 1.5, (n, 3)), rng.uniform(0, self.side, (n, 3))
        self.velocity = rng.normal(size=(n, 3))
        self.velocity *= step / np.linalg.norm(self.velocity, axis=1, keepdims=True)
        self.ids = np.sort(rng.permutation(n)[:max(1, round(share * n))])
        self.boxes = np.concatenate([self.centres - self.sizes / 2, self.centres + self.sizes / 2], axis=1)

    def go_on(self):
        """The next frame: all boxes; `ids` are those that moved."""
        at = self.centres[self.ids] + self.velocity[self.ids]
        out = (at < 0) | (at > self.side)
        self.velocity[self.ids] = np.where(out, -self.velocity[self.ids], self.velocity[self.ids])
        self.centres[self.ids] = at
        half = self.sizes[self.ids] / 2
        self.boxes[self.ids] = np.concatenate([at - half, at + half], axis=1)


def keep(sweep, ids, rows, boxes):
    """Pliant: a Sweep is given the boxes that moved."""
    sweep.set(ids, rows)
    return sweep.pairs()


def afresh(fresh, ids, rows, boxes):
    """Pliant's sweep in columns, without data of earlier frames."""
    keys = sort_keys(fresh.pairs_of(boxes, np.arange(len(boxes)), LOW), 2 * LOW)
    return np.stack([keys >> LOW, keys & (1 << LOW) - 1], axis=1)


def kd_tree(ids, rows, boxes):
    """SciPy's k-d tree."""
    low, high = boxes[:, :3], boxes[:, 3:]
    near = cKDTree((low + high) / 2).query_pairs((high - low).max(), p=np.inf, output_type="ndarray")
    a, b = near[:, 0], near[:, 1]
    near = near[((low[a] <= high[b]) & (low[b] <= high[a])).all(axis=1)]
    return near[np.lexsort(near.T[::-1])]


def all_pairs(ids, rows, boxes):
    """All pairs of boxes compared."""
    both = np.ones((len(boxes), len(boxes)), bool)
    for axis in range(3):
        low, high = boxes[:, axis], boxes[:, axis + 3]
        both &= (low[:, None] <= high) & (low <= high[:, None])
    return np.argwhere(np.triu(both, 1))


def run(n, step, share, frames):
    """One row: medians in microseconds, and counts."""
    motion, sweep = Motion(n, step, share), SweepAndPrune()
    methods = {"Sweep": partial(keep, sweep), "afresh": partial(afresh, FullSweep(RadixSorter())), "k-d tree": kd_tree}
    if n <= 1000:
        methods["NumPy"] = all_pairs
    times, counts, differ = {name: [] for name in methods}, [], 0
    keep(sweep, np.arange(n), motion.boxes, motion.boxes)
    for turn in range(-1, -(-frames // TURN)):                          # the first turn does not count
        coming = []
        for _ in range(TURN):
            motion.go_on()
            coming.append((motion.ids, motion.boxes[motion.ids], motion.boxes.copy()))
        answers = {}
        for name in [*methods][turn % len(methods):] + [*methods][:turn % len(methods)]:
            for k in range(TURN) if name in ("Sweep", "afresh") else range(0, TURN, max(1, n // 2000)):
                start = time.perf_counter()
                answers[name, k] = methods[name](*coming[k])
                times[name] += [time.perf_counter() - start] * (turn >= 0)
                if name == "Sweep" and turn >= 0:
                    counts.append((sweep.n_swaps, len(answers[name, k]), sweep._lists_valid))
        differ += sum(not np.array_equal(answers["Sweep", k], answer) for (_, k), answer in answers.items())
    swaps, pairs, listed = np.mean(counts, axis=0)
    how = "all pairs" if sweep.method == "brute" else "lists" if listed > 0.5 else "in columns"
    return {"boxes": n, "moved": len(motion.ids), "step": step, "overlaps": 2 * pairs / n, "swaps": swaps / len(motion.ids), "how": how,
            "us": {name: 1e6 * float(np.median(each)) for name, each in times.items() if each}, "differ": differ}


def table_of(title, rows):
    """The rich table of these rows."""
    names = list(dict.fromkeys(name for row in rows for name in row["us"]))
    table = Table("boxes", "moved", "a frame, %", "overlaps per box", "exchanges per moved box", *(f"{name}, µs" for name in names),
                  "ns per moved endpoint", "found", "frames that differ", title=title)
    for row in rows:
        times = [f"{row['us'][name]:,.0f}" if name in row["us"] else "" for name in names]
        table.add_row(f"{row['boxes']:,}", f"{row['moved']:,}", f"{100 * row['step']:.1f}", f"{row['overlaps']:.2f}", f"{row['swaps']:.2f}",
                      *times, f"{1e3 * row['us']['Sweep'] / 6 / row['moved']:.1f}", row["how"], str(row["differ"]))
    return table


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broadphase", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000, 100_000])
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for share in (1.0, 0.01):
        run(1000, 0.01, share, 1)                                       # loads the kernels
    console, results = Console(), []
    for step in STEPS:
        rows = [run(n, step, 1.0, max(10, options.frames // (n // 20_000 + 1))) for n in options.sizes]
        console.print(table_of(f"All boxes move, by {100 * step:.1f} % of their width a frame", rows))
        for few, many in ((few, many) for few in rows for many in rows if many["boxes"] == 10 * few["boxes"]):
            ratio = many["us"]["Sweep"] / few["us"]["Sweep"]
            aim = f", aim {TARGET}" if many["boxes"] == 10_000 else ""
            console.print(f"{many['boxes']:,} boxes take {ratio:.1f} times as long as {few['boxes']:,}{aim}", highlight=False)
        results += rows
    rows = [run(n, STEPS[-1], 0.01, max(10, options.frames // (n // 20_000 + 1))) for n in options.sizes]
    console.print(table_of("1 in 100 boxes moves", rows))
    console.print(hardware(hasattr(os, "sched_setaffinity")), highlight=False)
    if options.out:
        report = {"hardware": hardware(True), "rows": results + rows}
        Path(options.out).write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
