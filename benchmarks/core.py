"""The core compared with physical limits: refit with copying, far from the origin with near, the cost of a call, start-up.

    python -m benchmarks.core [--faces 327680] [--frames 40] [--out core.json]

One process, one thread, one core; frames are distinct and computed outside the clock. Times are sums over frames for comparisons,
interleaved frame by frame; minima of many calls for fixed costs. Start-up is measured in processes of its own, with a warm and with an
empty cache folder. Ratios to other libraries: `benchmarks.peers`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import hardware
from pliant.shapes import bumpy_pair

FAR = np.array([250_000.0, -250_000.0, 250_000.0])
ANSWER = """
import time, sys
start = time.perf_counter()
import pliant as pl
imported = time.perf_counter() - start
from pliant.shapes import bumpy_pair
scene = bumpy_pair(320, 3)
a, b = (pl.Body(vertices, scene.faces) for vertices in scene.frame(1))
assert len(pl.collide(a, b))
print(imported, time.perf_counter() - start)
"""


def seconds(job):
    """The seconds of a call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def refit(faces, frames):
    """Update and bottom-up refit of one body, and copying its vertices and faces."""
    scene = bumpy_pair(faces, frames)
    body = pl.Body(scene.frame(0)[0], scene.faces, policy="bottom_up")
    shape = body._bvh_at(body._motion.scale)
    rows, indices = np.empty_like(scene.frame(0)[0]), np.empty_like(scene.faces)
    times = {"update": 0.0, "refit": 0.0, "copy into place": 0.0, "copy": 0.0}
    for k in range(frames):
        vertices = scene.frame(k)[0]
        times["copy into place"] += seconds(lambda v=vertices: (np.copyto(rows, v), np.copyto(indices, scene.faces)))
        times["copy"] += seconds(lambda v=vertices: (v.copy(), scene.faces.copy()))
        times["update"] += seconds(lambda v=vertices: body.update(v))
        times["refit"] += seconds(shape.refit)
    each = {name: 1e3 * total / frames for name, total in times.items()}
    both = each["update"] + each["refit"]
    note = ", ".join(f"{name} {ms:.3f} ms" for name, ms in each.items())
    return [
        (f"update + refit, {faces:,} triangles, ÷ copying into existing arrays", both / each["copy into place"], "<= 2.5", note),
        ("refit alone ÷ copying into existing arrays", each["refit"] / each["copy into place"], "", ""),
        ("update + refit ÷ vertices.copy() and faces.copy()", both / each["copy"], "", ""),
    ]


def far_away(frames):
    """The same pair of 20,480 near the origin and far from it: time, and pairs."""
    scene = bumpy_pair(20_480, frames)
    near, far = ([pl.Body(v + at, scene.faces) for v in scene.frame(0)] for at in (np.zeros(3), FAR))
    times, differ = [0.0, 0.0], 0
    for k in range(frames):
        answers = []
        order = ((0, near, np.zeros(3)), (1, far, FAR))
        for which, (a, b), at in order if k % 2 else order[::-1]:
            frame = [v + FAR - FAR + at for v in scene.frame(k)]        # the positions that float64 can represent there

            def step(a=a, b=b, frame=frame, answers=answers):
                a.update(frame[0])
                b.update(frame[1])
                answers.append(pl.collide(a, b).faces)
            times[which] += seconds(step)
        differ += not np.array_equal(*answers)
    return [("a pair of 20,480 at 250,000 units ÷ near the origin", times[1] / times[0], "<= 1.1", f"{differ} of {frames} frames differ")]


def call(frames):
    """A query on two bodies that are far apart."""
    scene = bumpy_pair(20_480, 3)
    a, b = pl.Body(scene.frame(0)[0], scene.faces), pl.Body(scene.frame(0)[0] + 50, scene.faces)
    least = min(seconds(lambda: pl.collide(a, b)) for _ in range(50 * frames))
    return [("query on two bodies far apart, µs", 1e6 * least, "<= 25", "")]


def start_up():
    """Import and first answer, in processes of their own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PLIANT_CACHE": folder}

        def ask():
            done = subprocess.run([sys.executable, "-c", ANSWER], env=environment, check=True, capture_output=True, text=True)
            return [float(word) for word in done.stdout.split()]
        cold = ask()[1]
        warm = np.min([ask() for _ in range(5)], axis=0)
        rows = [("import, s", warm[0], "<= 0.5", ""), ("import and first answer, warm cache, s", warm[1], "<= 1", ""),
                ("import and first answer, empty cache, s", cold, "<= 15", "")]
    return rows


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__.partition("\n")[0])
    parser.add_argument("--faces", type=int, default=327_680, help="triangles of the body that is refitted")
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    rows = start_up()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pl.set_threads(1)
    for job in (lambda frames: refit(options.faces, frames), far_away, call):
        job(2)                                                          # loads the kernels
        rows += job(options.frames)
    table = Table("what", "measured", "aim", "", title="The core and physical limits")
    for what, measured, aim, note in rows:
        table.add_row(what, f"{measured:.3f}", aim, note)
    console = Console()
    console.print(table)
    console.print(hardware(hasattr(os, "sched_setaffinity")), highlight=False)
    if options.out:
        Path(options.out).write_text(json.dumps({"hardware": hardware(True), "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
