"""Compare the speed of all queries in two source trees, before and after a change, on the same core and the same frames.

    python -m benchmarks.before_after OTHER        OTHER: a checkout with the code before the change; options: --help

Each source tree runs in a process of its own, with its own compiled kernels. They take turns: for every query both answer the same frames,
in an order that changes from turn to turn, and only one runs at a time, so that noise affects both equally. Queries that one of them lacks
are left out. Frames are distinct. The table
has the medians of the turns and the median of their ratios, after ÷ before; above 1 the change is slower. Answers are compared by a digest.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
FIELDS = ("faces", "face", "t", "distance", "distances", "depths", "hit", "inside")  # attributes of answers, if they have them


def queries():
    """{name: frame number -> answer}: the timed functions. Every call updates the bodies first."""
    import pliant as pl
    from pliant import shapes

    directions, faces = shapes.icosphere(5)
    small, small_faces = shapes.icosphere(3)
    sheet, sheet_faces = shapes.sheet(120, 120)
    rng = np.random.default_rng(3)
    points, ways = rng.normal(size=(20_000, 3)), rng.normal(size=(20_000, 3))
    picture = np.stack(np.meshgrid(np.linspace(-1.2, 1.2, 200), np.linspace(-1.2, 1.2, 150), [-4.0]), axis=-1).reshape(-1, 3)
    weights = rng.random((len(directions), 3))

    def at(k, shift=0.0):
        return shapes.bumpy(directions, 0.02 * k + shift) + [shift, 0, 0]

    def cloth(k):
        rows = sheet.copy()
        rows[:, 2] = 0.15 * np.sin(9 * rows[:, 0] + 0.05 * k) * np.cos(7 * rows[:, 1])
        rows[:, 0] *= np.cos(3 * rows[:, 0])
        return rows

    a, b, far = pl.Body(at(0), faces), pl.Body(at(0, 0.9), faces), pl.Body(at(0, 2.6), faces)
    oriented = [pl.Body(at(0, x), faces, volume="obb") for x in (0.0, 0.9)]
    lazy, folded, target = pl.Body(at(0), faces, policy="lazy"), pl.Body(cloth(0), sheet_faces), pl.Body(at(0), faces)
    tools = [pl.Body.rigid(at(0), faces), pl.Body.rigid(at(0), faces)]
    morph = pl.Body.morph([at(0), at(20), at(40)], faces)
    skinned = pl.Body.blended(at(0), faces, weights / weights.sum(axis=1, keepdims=True))
    scene = pl.Scene([pl.Body(shapes.bumpy(small, x) + [1.3 * x, 0, 0], small_faces) for x in range(27)])

    def moved(body, k, shift=0.0):
        body.update(at(k, shift))
        return body

    def turned(k, x):
        c, s = np.cos(0.02 * k), np.sin(0.02 * k)
        return [[c, -s, 0, x], [s, c, 0, 0], [0, 0, 1, 0]]

    def rigid(k):
        tools[1].update(turned(k, 1.1))
        return pl.collide(*tools)

    def partly(k):
        some = np.arange(40) + 50 * (k % 100)
        lazy.update(at(k)[some], changed=some)
        return pl.collide(lazy, b)

    def many(k):
        for x, number in enumerate(scene):
            scene[number].update(shapes.bumpy(small, x + 0.02 * k) + [1.3 * x, 0, 0])
        return scene.collide()

    def shaped(k):
        morph.update([0.5, 0.3, 0.2] if k % 2 else [0.2, 0.2, 0.6])
        return pl.collide(morph, b)

    def blended(k):
        skinned.update([turned(k, 0), turned(-k, 0.05), turned(2 * k, 0)])
        return pl.collide(skinned, b)

    def wrinkled(k):
        folded.update(cloth(k))
        return folded

    found = {
        "collide, 2 × 20,480": lambda k: pl.collide(moved(a, k), moved(b, k, 0.9)),
        "collide, oriented boxes": lambda k: pl.collide(moved(oriented[0], k), moved(oriented[1], k, 0.9)),
        "collide with contacts": lambda k: pl.collide(moved(a, k), moved(b, k, 0.9), contacts=True),
        "collide, rigid": rigid,
        "collide after update(changed=…), lazy": partly,
        "collide, morphing": shaped,
        "collide, blended": blended,
        "self_collide, cloth of 28,800": lambda k: pl.self_collide(wrinkled(k)),
        "distance": lambda k: pl.distance(moved(a, k), moved(far, k, 2.6)),
        "within": lambda k: pl.within(moved(a, k), moved(b, k, 0.9), 0.01),
        "self_within, cloth": lambda k: pl.self_within(wrinkled(k), 0.002),
        "closest, 20,000 points": lambda k: pl.closest(moved(target, k), points),
        "inside, 20,000 points": lambda k: pl.inside(moved(target, k), points),
        "cast, a picture": lambda k: pl.cast(moved(target, k), picture, [0, 0, 1]),
        "cast, random rays": lambda k: pl.cast(moved(target, k), 2 * points, ways),
        "occluded, random rays": lambda k: pl.occluded(moved(target, k), 2 * points, ways),
        "cast_all, random rays": lambda k: pl.cast_all(moved(target, k), 2 * points, ways),
        "scene.collide, 27 × 1,280": many,
    }
    return {name: ask for name, ask in found.items() if not name.startswith("inside") or hasattr(pl, "inside")}


def digest(answer):
    """A digest of an answer without its counters and the last bits of its numbers."""
    arrays = [answer] if isinstance(answer, np.ndarray) else [getattr(answer, name) for name in FIELDS if hasattr(answer, name)]
    parts = [np.asarray(array) for array in arrays if array is not None]
    return hashlib.sha1(b"".join((part.astype(np.float32) if part.dtype.kind == "f" else part).tobytes() for part in parts)).hexdigest()


def serve():
    """The process of one source tree: read {"query", "first", "frames"} per line, answer {"ms", "digest"}."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    asked = queries()
    print(json.dumps(list(asked)), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        ask, digests = asked[order["query"]], []
        start = time.perf_counter()
        for k in range(order["first"], order["first"] + order["frames"]):
            digests.append(ask(k))
        seconds = time.perf_counter() - start
        print(json.dumps({"ms": 1e3 * seconds / order["frames"], "digest": [digest(answer) for answer in digests]}), flush=True)


class Tree:
    """A process that runs the code of one source tree."""

    def __init__(self, root):
        paths = os.pathsep.join([str(Path(root, "src")), str(ROOT)])
        self._process = subprocess.Popen([sys.executable, "-m", "benchmarks.before_after", "--serve"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths, "PLIANT_THREADS": "1"})
        self.names = json.loads(self._process.stdout.readline())

    def ask(self, query, first, frames):
        self._process.stdin.write(json.dumps({"query": query, "first": first, "frames": frames}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def compare(before, after, query, turns, seconds):
    """(ms before, ms after, their ratio, whether all answers were the same)."""
    frames = count()
    warm = [tree.ask(query, 0, 1) for tree in (before, after)]
    cost = max(tree.ask(query, 1, 1)["ms"] for tree in (before, after))
    n = max(1, round(1e3 * seconds / turns / 2 / max(cost, 0.05)))
    times, same, start = [], warm[0]["digest"] == warm[1]["digest"], 2
    for turn in range(turns):
        first = start + next(frames) * n
        pair = [before, after] if turn % 2 == 0 else [after, before]
        told = {id(tree): tree.ask(query, first, n) for tree in pair}
        times.append((told[id(before)]["ms"], told[id(after)]["ms"]))
        same &= told[id(before)]["digest"] == told[id(after)]["digest"]
    table = np.array(times)
    return float(np.median(table[:, 0])), float(np.median(table[:, 1])), float(np.median(table[:, 1] / table[:, 0])), same


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description=__doc__.partition("\n")[0])
    parser.add_argument("other", nargs="?", help="a checkout with the code before the change")
    parser.add_argument("--turns", type=int, default=30, help="of each tree, for each query")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each query, both trees together")
    parser.add_argument("--only", default="", help="queries whose name contains this")
    parser.add_argument("--out", help="write all figures to this JSON file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.other is None or not Path(options.other, "src", "pliant").is_dir():
        parser.error(f"other: expected a checkout with src/pliant, got {options.other!r}")
    before, after = Tree(options.other), Tree(ROOT)
    table, rows = Table("query", title="After ÷ before, medians of turns on the same frames"), []
    for column in ("before, ms", "after, ms", "after ÷ before", "answers"):
        table.add_column(column, justify="right")
    for name in track([name for name in after.names if name in before.names and options.only in name], transient=True):
        one, other, ratio, same = compare(before, after, name, options.turns, options.seconds)
        rows.append({"query": name, "before": one, "after": other, "ratio": ratio, "same": same})
        table.add_row(name, f"{one:.3f}", f"{other:.3f}", f"{ratio:.3f}", "same" if same else "differ")
    before.close()
    after.close()
    Console().print(table)
    if options.out:
        Path(options.out).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
