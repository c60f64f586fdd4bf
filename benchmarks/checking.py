"""`pliant check` as a whole: its overhead over reading and queries, memory growth, the cost of a kill, the speed of its report.

    python -m benchmarks.checking [speed] [memory] [kills] [page] [folder] [--faces 50000] [--frames 100] [--kills 100] [--other CHECKOUT]
                                  [--out FILE]

speed    a folding cloth, in an NPZ file of all frames; seconds of the whole command, from the shell and back, compared with those of
         reading, of queries and of depths. The limit: 3 s + 1.5 × (reading + queries + depths), summed over all jobs
memory   peak memory of the process, for the number of frames and for eight times as many (Linux)
kills    a check that is killed at random and resumed, again and again; its pairs must equal those of an uninterrupted run, to the byte,
         and no kill may cost more than one frame for each job
page     the report of such a cloth in Chromium: milliseconds of its JavaScript for a frame, without and with boxes of a level, without the
         time of the graphics card. Needs playwright (the extra `test`) and Chromium

folder   bytes and seconds of a check whose pairs are mostly static: a shirt that a body pierces in every frame, and an arm that swings
         through both. Compared with a row for each pair and frame, which is what files of pairs had before, with a check without
         depths, with one of the motion between frames and, given one, with another checkout, in turns. For 1,000 frames of 60,000
         triangles: folder --faces 60000 --frames 1000

Kernels are compiled before; a file is in the cache of the operating system, as after it was written.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from pliant import shapes
from pliant.check.journal import PAIRS, RECORD_HEADER

COMMAND = "from pliant.cli import main; main()"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
MEASURED = f"""
import atexit, re
@atexit.register
def _():
    print("PEAK", re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])  # since the program began; ru_maxrss is older
{COMMAND}
"""


def write_cloth(path, faces, frames):
    """A folding cloth, frame by frame: never all of them in memory."""
    cloth = shapes.folding_cloth(faces, frames)
    first = cloth.frame(0)
    moving = np.lib.format.open_memmap(path.with_suffix(".npy"), "w+", np.float32, (frames, *first.shape))
    for k in range(frames):
        moving[k] = cloth.frame(k)
    np.savez(path, faces=cloth.faces, vertices=moving)
    path.with_suffix(".npy").unlink()


def check(file, out, *options, code=COMMAND, checkout=None):
    """(seconds, output) of the command in a process of its own; with the source of another checkout, if there is one."""
    begin = time.perf_counter()
    files = [str(each) for each in (file if isinstance(file, list) else [file])]
    done = subprocess.run([sys.executable, "-c", code, "check", *files, "--out", str(out), *map(str, options)], capture_output=True,
                          text=True, check=False, env=os.environ if checkout is None else {**os.environ, "PYTHONPATH": f"{checkout}/src"})
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return time.perf_counter() - begin, done.stdout


def speed(folder, faces, frames):
    """Rows (jobs, seconds of the command, reading, queries, the limit, bytes of the report)."""
    file = folder / "cloth.npz"
    write_cloth(file, faces, frames)
    check(file, folder / "warm", "--frames", "0:3")
    rows = []
    for jobs in (1, os.cpu_count() or 1):
        seconds, _ = check(file, folder / "speed", "--jobs", jobs)
        told = json.loads((folder / "speed" / "summary.json").read_text())["seconds"]
        bar = 3 + 1.5 * (told["reading"] + told["queries"] + told["depths"])
        size = (folder / "speed" / "report.html").stat().st_size
        rows.append({"jobs": jobs, "command": seconds, **told, "bar": bar, "report_bytes": size})
    return rows


def memory(folder, faces, frames):
    """Rows (frames, peak memory in MB)."""
    rows = []
    for count in (frames, 8 * frames):
        file = folder / f"long{count}.npz"
        write_cloth(file, faces, count)
        _, printed = check(file, folder / f"memory{count}", "--jobs", 1, code=MEASURED)
        rows.append({"frames": count, "peak_mb": int(printed.split("PEAK")[1]) / 1024})
        file.unlink()
    return rows


def kills(folder, faces, frames, count):
    """The result of a check that is killed `count` times, and its progress at the kills."""
    file, out = folder / "killed.npz", folder / "killed"
    write_cloth(file, faces, frames)
    whole, _ = check(file, folder / "whole", "--jobs", 1)
    right, chance = (folder / "whole" / "pairs.npz").read_bytes(), random.Random(1)
    arguments = [sys.executable, "-c", COMMAND, "check", str(file), "--out", str(out), "--jobs", "1", "--resume"]
    stopped, finished, different, done = 0, 0, 0, []
    while stopped < count or not finished:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=chance.uniform(0.3, 1.1) * whole if stopped < count else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            stopped += 1
            done.append(records(out / "check.journal"))
        if process.returncode in (0, 1):
            finished += 1
            different += (out / "pairs.npz").read_bytes() != right
            for left in out.iterdir():
                left.unlink()
        elif process.returncode != -signal.SIGKILL:
            raise SystemExit(f"the check ended with {process.returncode}")
    middle = [frames_done for frames_done in done if 0 < frames_done < frames]
    return {"kills": stopped, "in the middle of frames": len(middle), "finished": finished, "different": different}


def page(folder, faces, frames):
    """Rows (level of boxes, their number, median and largest milliseconds of a frame)."""
    from playwright.sync_api import sync_playwright

    file, rows = folder / "played.npz", []
    write_cloth(file, faces, frames)
    check(file, folder / "played")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=next(filter(None, map(shutil.which, BROWSERS)), None), args=BROWSER)
        opened = browser.new_page()
        opened.goto((folder / "played" / "report.html").as_uri())
        opened.evaluate("report.ready")
        for level in (0, 3, 9):
            opened.evaluate(f"report.setLevel({level})")
            costs = opened.evaluate(f"Array.from({{ length: {frames} }}, (_, k) => {{ report.go(k); return report.cost; }})")
            rows.append({"level": level, "boxes": opened.evaluate("report.viewer.shown[0].count"), "median_ms": float(np.median(costs)),
                         "most_ms": max(costs)})
        browser.close()
    return rows


def write_clothed(folder, faces, frames):
    """The files of a body that sways in a shirt with folds, through which it comes at the same faces in every frame, and of an arm that
    swings through both: most pairs of faces are there in all frames. A third of the faces each."""
    per_body = max(8, int((faces / 6) ** 0.5))
    across, along = np.meshgrid(np.arange(per_body), np.arange(per_body), indexing="ij")
    quads = np.stack([across * (per_body + 1) + along, across * (per_body + 1) + along + 1], axis=-1).reshape(-1, 2)
    triangles = np.concatenate([np.column_stack([quads[:, 0], quads[:, 0] + per_body + 1, quads[:, 1]]),
                                np.column_stack([quads[:, 1], quads[:, 0] + per_body + 1, quads[:, 1] + per_body + 1])]).astype(np.int32)
    turn, height = np.meshgrid(np.linspace(0, 2 * np.pi, per_body + 1), np.linspace(-1, 1, per_body + 1), indexing="ij")

    def tube(radius):
        return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=-1).reshape(-1, 3)

    body, arm = tube(0.5 + 0 * turn), 0.3 * tube(0.5 + 0 * turn)[:, [2, 1, 0]]
    shirt = tube(0.5 + 0.02 * np.sin(24 * turn) * np.sin(40 * height))
    sway = 2 * np.pi * np.arange(frames) / frames
    still = 0 * sway
    paths = [np.stack([0.3 * np.sin(sway), still, still], axis=1)] * 2
    paths.append(np.stack([0.75 + 0.3 * np.cos(3 * sway), still, 0.6 * np.sin(7 * sway)], axis=1))
    files = [folder / f"{name}.npz" for name in ("body", "shirt", "arm")]
    for file, vertices, way in zip(files, (body, shirt, arm), paths, strict=True):
        moving = np.lib.format.open_memmap(file.with_suffix(".npy"), "w+", np.float32, (frames, *vertices.shape))
        for k in range(frames):
            moving[k] = vertices + way[k]
        np.savez(file, faces=triangles, vertices=moving)
        file.with_suffix(".npy").unlink()
    return files


def folder(folder, faces, frames, other):
    """Bytes of each file, of the whole folder, and of the rows that it stands for; seconds of the command, and of processors."""
    file, rows = write_clothed(folder, faces, frames), []
    runs = {"depths": ((), None), "no depths": (("--no-depth",), None),
            "between frames": (("--no-depth", "--between-frames"), None)} | ({"other checkout": ((), other)} if other else {})
    for options, checkout in runs.values():
        check(file, folder / "warm", "--frames", "0:3", "--overwrite", *options, checkout=checkout)
    for jobs in (1, os.cpu_count() or 1):
        for name, (options, checkout) in runs.items():
            out, before = folder / "clothed", resource.getrusage(resource.RUSAGE_CHILDREN)
            shutil.rmtree(out, ignore_errors=True)
            seconds, _ = check(file, out, "--jobs", jobs, *options, checkout=checkout)
            after, told = resource.getrusage(resource.RUSAGE_CHILDREN), json.loads((out / "summary.json").read_text())
            sizes = {each.name: each.stat().st_size for each in sorted(out.iterdir())}
            rows.append({"run": name, "jobs": jobs, "command": seconds, **told["seconds"], "pairs": told["pairs"],
                         "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                         "static": round(told.get("by_state", {}).get("static", 0) / max(1, told["pairs"]), 3),
                         "bytes": sizes, "folder_bytes": sum(sizes.values()), "row_bytes": 20 * told["pairs"]})  # fmt: skip
    return rows


def records(path):
    """The number of frames in a journal; a truncated one does not count."""
    count, at = 0, 0
    content = path.read_bytes() if path.exists() else b""
    while at + RECORD_HEADER.size <= len(content):
        kind, _, length, _ = RECORD_HEADER.unpack_from(content, at)
        at += RECORD_HEADER.size + length
        count += kind == PAIRS and at <= len(content)
    return count


JOBS = {"speed": speed, "memory": memory, "kills": kills, "page": page, "folder": folder}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), help="speed, memory, kills, page, folder")
    for name, default in (("faces", 50_000), ("frames", 100), ("kills", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--other", type=Path, help="another checkout, for folder")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    console, found = Console(width=140), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job in given.jobs:
            more = {"kills": [given.kills], "folder": [given.other and given.other.resolve()]}.get(job, [])
            found[job] = JOBS[job](folder, given.faces, given.frames, *more)
            console.print(job, found[job])
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
